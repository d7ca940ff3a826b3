"""Replies kept on disk, so that an answer is sent once: one small file each, with the words it quotes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from pathlib import Path

import platformdirs

from ..free_text.judge import MAX_CHARS
from ..text_question import TextQuestion
from .asking import PROMPT_VERSION, messages

MOST = 1000  # replies; the oldest go
LARGEST = 1 << 18


def folder() -> Path:
    """In `FA_DATA_DIR` beside the progress file if set, else where the system keeps caches."""
    own = os.environ.get("FA_DATA_DIR")
    home = Path(own).expanduser() if own else Path(platformdirs.user_cache_dir("fa_toolkit", False))
    return home / "judge"


def name(question: TextQuestion, answer: str, model: str) -> str:
    """The name under which a reply is kept: of question and rubric, answer, model, prompt version."""
    told = messages(question, answer[:MAX_CHARS])
    parts = [question.id, told, model, PROMPT_VERSION]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def get(name: str) -> str | None:
    """A reply as the model wrote it; None if there is none that can be read."""
    try:
        path = folder() / f"{name}.json"
        if path.stat().st_size > LARGEST:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def put(name: str, text: str) -> None:
    """Keep a reply, whole or not at all; a disk that cannot be written to keeps none."""
    place = folder()
    beside = place / f"{name}.{secrets.token_hex(4)}.part"
    try:
        place.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(place / f"{name}.json")
        _thin(place)
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def forget(name: str) -> None:
    """Drop one reply."""
    with contextlib.suppress(OSError):
        (folder() / f"{name}.json").unlink(missing_ok=True)


def _thin(place: Path) -> None:
    files = list(place.glob("*.json"))
    if len(files) > MOST:
        files.sort(key=lambda path: path.stat().st_mtime)
        for path in files[: len(files) - MOST]:
            path.unlink(missing_ok=True)
