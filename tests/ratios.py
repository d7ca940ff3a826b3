"""Counts and the worst ratios to the budgets, per test file, output, dtype and feature, as JSON.

Switched on by `FA_RECORD=file.json`; the processes of one run add to one file. Decides nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

Row = dict[str, Any]
_KEYS = ("kind", "file", "output", "dtype", "feature")
_features: tuple[str, ...] = ()


@contextmanager
def noting(features: tuple[str, ...]) -> Iterator[None]:
    """What is compared in here counts for these features too."""
    global _features
    before, _features = _features, features
    try:
        yield
    finally:
        _features = before


class Ratios:
    """A watcher of `budgets` that keeps the worst of each kind of comparison."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, ...], Row] = {}

    def __call__(
        self, kind: str, output: str, dtype: torch.dtype, ratio: float, elements: int, label: str
    ) -> None:
        """Note one comparison, once for all features together and once for each."""
        test = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")
        file = Path(test.split("::")[0]).stem
        name = str(dtype).removeprefix("torch.")
        for feature in ("all", *_features):
            key = (kind, file, output, name, feature)
            new = {"calls": 1, "elements": elements, "worst": ratio, "where": f"{test} {label}"}
            self._add(key, new)

    def _add(self, key: tuple[str, ...], new: Row) -> None:
        row = self.rows.setdefault(key, new | {"calls": 0, "elements": 0})
        row["calls"] += new["calls"]
        row["elements"] += new["elements"]
        # not >: whatever is not below the worst so far, NaN among it, replaces it
        if not new["worst"] <= row["worst"]:
            row |= {"worst": new["worst"], "where": new["where"]}

    def merge_into(self, path: Path) -> None:
        """Add what was noted to the file, while no other process does."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            for row in json.loads(file.read() or '{"rows": []}')["rows"]:
                self._add(tuple(row[key] for key in _KEYS), row)
            named = [dict(zip(_KEYS, key, strict=True)) | row for key, row in self.rows.items()]
            rows = sorted(named, key=lambda row: [row[key] for key in _KEYS])
            file.seek(0)
            file.truncate()
            json.dump({"made_on": _machine(), "rows": rows}, file, indent=1)
        self.rows.clear()


def _machine() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"torch": torch.__version__}
    try:
        found["triton"] = version("triton")
    except PackageNotFoundError:
        found["triton"] = "none"
    here = torch.cuda.is_available()
    return found | {"device": torch.cuda.get_device_name() if here else "cpu"}


def summary(path: Path) -> list[str]:
    """One line for each kind, file, output and dtype: how many calls, elements, the worst ratio."""
    rows = [row for row in json.loads(path.read_text())["rows"] if row["feature"] == "all"]
    return [
        "{kind:7}{file:28}{output:7}{dtype:9}{calls:7} calls {elements:12} elements"
        "  worst {worst:.3f}".format(**row)
        for row in rows
    ]
