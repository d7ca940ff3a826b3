"""Texts of the bank as safe HTML: escaped first, then `code` and **bold**. Nothing else is markup."""

from __future__ import annotations

import html
import re

_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")


def to_html(text: str) -> str:
    """One text as HTML that is safe to show, whatever the text says.

    Example:
        >>> to_html("`exp` of <b> is **not** it")
        '<code>exp</code> of &lt;b&gt; is <strong>not</strong> it'
    """
    parts = []
    for at, part in enumerate(_CODE.split(html.escape(text, quote=True))):
        if at % 2:
            parts.append(f"<code>{part}</code>")
        else:
            parts.append(_BOLD.sub(r"<strong>\1</strong>", part).replace("\n\n", "<br>"))
    return "".join(parts).replace("\n", " ")


def to_plain(text: str) -> str:
    """One text without its markup, for a terminal."""
    return _BOLD.sub(r"\1", text).replace("`", "")
