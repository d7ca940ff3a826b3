"""Take progress to another machine: export to a JSON file, and import from one.

Reads the exports of every earlier version. Importing twice changes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..language import Text
from .rows import KINDS, Attempt, Interview, Said
from .store import Store

FORMAT, VERSION = "fa_toolkit progress", 2
_NOT_THERE = Text("no such file", "没有这个文件")
_NO_JSON = Text("a file that is no valid JSON", "内容不是合法 JSON 的文件")
_OTHER = Text("JSON of some other kind", "另一种 JSON 文件")
_DAMAGED = Text("an export with an entry that cannot be used", "一份导出文件，但其中有用不了的条目")


def export_to(store: Store, path: Path) -> int:
    """Write everything to a JSON file; how many answers there were.

    Raises:
        StoreError: if the file exists already or cannot be written.
    """
    attempts = store.attempts()
    data = {
        "format": FORMAT,
        "version": VERSION,
        "attempts": [row._asdict() for row in attempts],
        "said_it": [row._asdict() for row in store.said()],
        "interviews": [row._asdict() for row in store.interviews()],
    }
    written = False
    try:
        with path.open("x", encoding="utf-8") as file:
            written = True  # the file is ours: half of it would be worse than none
            json.dump(data, file, indent=1)
    except OSError as error:
        if written:
            path.unlink(missing_ok=True)
        raise StoreError(
            str(path),
            expected=Text("a new file that can be written", "可写的新文件"),
            got=str(error),
        ) from error
    return len(attempts)


def import_from(store: Store, path: Path) -> int:
    """Add what an export holds and is not here yet; how many answers were new.

    Raises:
        StoreError: if it is no export of this package; nothing is added then.
    """
    data = _read(path)
    try:
        attempts = [_attempt(entry) for entry in data["attempts"]]
        said = [_texts(Said(**entry)) for entry in data.get("said_it", [])]
        interviews = [_interview(entry) for entry in data.get("interviews", [])]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise _no_export(path, _DAMAGED) from error
    if data["version"] == 1 and attempts:  # it said nothing of where answers came from
        origin = f"export of {attempts[0].uuid}"
        attempts = [a._replace(origin=origin, seq=n) for n, a in enumerate(attempts, 1)]
    return store.merge(attempts, said, interviews)


def _read(path: Path) -> dict[str, Any]:
    """What a file holds that says it is an export of a version known here.

    Raises:
        StoreError: saying why it is none.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _no_export(path, _NOT_THERE) from None
    except OSError as error:
        raise _no_export(path, str(error.strerror or error)) from error
    except (ValueError, RecursionError) as error:
        raise _no_export(path, _NO_JSON) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _no_export(path, _OTHER)
    version = data.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise _no_export(path, Text(f"version {version!r:.20}", f"版本 {version!r:.20}"))
    return data


def _no_export(path: Path, got: Text | str) -> StoreError:
    expected = Text("a file written by `fa progress --export`", "`fa progress --export` 写出的文件")
    return StoreError(str(path), expected=expected, got=got)


def _attempt(entry: dict[str, Any]) -> Attempt:
    attempt = Attempt(**entry)
    texts = (attempt.uuid, attempt.item, attempt.lang, attempt.outcome, attempt.version, attempt.at)
    known = all(isinstance(text, str) and text for text in texts) and attempt.kind in KINDS
    if not known or not isinstance(attempt.detail, dict) or not isinstance(attempt.origin, str):
        raise ValueError(f"attempt {attempt.uuid!r}")
    if not 0 <= float(attempt.score) <= 100:
        raise ValueError(f"score {attempt.score!r}")
    return attempt._replace(
        chapter=int(attempt.chapter), score=float(attempt.score), seq=int(attempt.seq)
    )


def _texts(said: Said) -> Said:
    if not all(isinstance(text, str) for text in said) or not said.uuid:
        raise ValueError(f"said_it {said.uuid!r}")
    return said


def _interview(entry: dict[str, Any]) -> Interview:
    found = Interview(**entry)
    if not isinstance(found.uuid, str) or not found.uuid or not isinstance(found.report, dict):
        raise ValueError(f"interview {found.uuid!r}")
    return found._replace(finished=bool(found.finished))
