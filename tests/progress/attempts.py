"""One attempt as a quiz hands it over."""

from __future__ import annotations

from typing import Any


def attempt(item: str = "Q-03-a", **changes: Any) -> dict[str, Any]:
    return {
        "item": item, "kind": "quiz", "chapter": 3, "lang": "zh", "answer": {"行": "1.5"},
        "score": 50, "outcome": "part", **changes,
    }  # fmt: skip
