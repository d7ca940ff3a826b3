"""The language messages are spoken in: English or Chinese. Holds no texts of its own.

A text that a person reads is a `Text`, which always has both languages. It is turned into a
string with `say`, as late as possible, so that a change of language takes effect at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple, get_args

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_chosen: ContextVar[Language | None] = ContextVar("fa_language", default=None)
_started: list[Language] = []  # what the notebook chose; seen from every thread and callback


class Text(NamedTuple):
    """One message in both languages. `{name}` fields are filled in by `say`."""

    en: str
    zh: str


def current() -> Language:
    """The language in force: `using`, else `choose`, else `FA_LANG`, else the locale, else English.

    Example:
        >>> with using("zh"):
        ...     current()
        'zh'
    """
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    if _started:
        return _started[-1]
    for variable in ("FA_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable, "").lower()
        if value:
            return "zh" if value.startswith("zh") else "en"
    return "en"


def choose(language: str) -> Language:
    """Choose the language for the rest of this process."""
    checked = check(language)
    _started[:] = [checked]
    return checked


@contextmanager
def using(language: str) -> Iterator[Language]:
    """Speak `language` inside a `with` block only."""
    checked = check(language)
    token = _chosen.set(checked)
    try:
        yield checked
    finally:
        _chosen.reset(token)


def check(language: str) -> Language:
    """Return `language` if it is one we speak.

    Raises:
        ArgumentError: if it is neither "en" nor "zh".
    """
    for known in LANGUAGES:
        if language == known:
            return known
    from .errors import ArgumentError

    raise ArgumentError(
        "lang",
        expected=Text('"en" or "zh"', "“en” 或 “zh”"),
        got=repr(language),
        hint=Text(
            'lang="en" for English, lang="zh" for Chinese', 'lang="zh" 为中文，lang="en" 为英文'
        ),
    )


def say(text: Text | str, /, **fields: object) -> str:
    """`text` in the language in force, its `{fields}` filled in. A plain string is kept as it is.

    Example:
        >>> with using("en"):
        ...     say(Text("{n} of 100", "{n} / 100"), n=60)
        '60 of 100'
    """
    if isinstance(text, Text):
        text = text.zh if current() == "zh" else text.en
        return text.format(**fields) if fields else text
    return text


def apart(text: str) -> str:
    """`text` as it stands behind a Chinese sign: what begins in ASCII has a space before it.

    Example:
        >>> "应为" + apart("float16"), "应为" + apart("整数")
        ('应为 float16', '应为整数')
    """
    return f" {text}" if text[:1].isascii() and text.strip() else text
