"""Take progress to another machine: export to a JSON file, and import from one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..language import Text
from .store import KINDS, Attempt, Store

FORMAT, VERSION = "fa_toolkit progress", 1


def export_to(store: Store, path: Path) -> int:
    """Write every attempt to a JSON file; how many there were.

    Raises:
        StoreError: if the file exists already or cannot be written.
    """
    attempts = store.attempts()
    data = {"format": FORMAT, "version": VERSION, "attempts": [a._asdict() for a in attempts]}
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False, indent=1)
    except OSError as error:
        raise StoreError(
            str(path),
            expected=Text("a new file that can be written", "可写的新文件"),
            got=str(error),
        ) from error
    return len(attempts)


def import_from(store: Store, path: Path) -> int:
    """Add the attempts of an export that are not here yet; how many were new.

    Raises:
        StoreError: if it is no export of this package; nothing is added then.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT or data["version"] != VERSION:
            raise ValueError(f"{data['format']} {data['version']}")
        attempts = [_read(entry) for entry in data["attempts"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            str(path),
            expected=Text(
                "a file written by `fa progress --export`", "`fa progress --export` 写出的文件"
            ),
            got=str(error),
        ) from error
    return store.merge(attempts)


def _read(entry: dict[str, Any]) -> Attempt:
    attempt = Attempt(**entry)
    texts = (attempt.uuid, attempt.item, attempt.lang, attempt.outcome, attempt.version, attempt.at)
    if not all(isinstance(text, str) and text for text in texts) or attempt.kind not in KINDS:
        raise ValueError(f"attempt {attempt.uuid!r}")
    return attempt._replace(chapter=int(attempt.chapter), score=float(attempt.score))
