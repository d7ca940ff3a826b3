"""Texts of the bank as safe HTML: escaped first, then code, `code` and **bold**. Nothing else.

Lines of code stand between ``` fences, a sentence's code between single backticks.
"""

from __future__ import annotations

import html
import re
import textwrap

_FENCE = re.compile(r"\s*```[a-z]*[ \t]*\n(.*?)\n?[ \t]*```[ \t]*\n?", re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")


def to_html(text: str) -> str:
    """One text as HTML that is safe to show, whatever the text says.

    Example:
        >>> to_html("`exp` of <b> is **not** it")
        '<code>exp</code> of &lt;b&gt; is <strong>not</strong> it'
    """
    parts = []
    for at, part in enumerate(_FENCE.split(text)):
        if at % 2:
            parts.append(f"<pre><code>{html.escape(textwrap.dedent(part))}</code></pre>")
        else:
            parts.append(_prose(part.strip() if "```" in text else part))
    return "".join(parts)


def _prose(text: str) -> str:
    parts = []
    for at, part in enumerate(_CODE.split(html.escape(text, quote=True))):
        if at % 2:
            parts.append(f"<code>{part}</code>")
        else:
            parts.append(_BOLD.sub(r"<strong>\1</strong>", part).replace("\n\n", "<br>"))
    return "".join(parts).replace("\n", " ")


def to_plain(text: str) -> str:
    """One text without its markup, for a terminal; lines of code are indented.

    Example:
        >>> to_plain("Which is wrong?\\n```python\\na = `1`\\n```\\nOne **is**.")
        'Which is wrong?\\n    a = `1`\\nOne is.'
    """
    parts = []
    for at, part in enumerate(_FENCE.split(text)):
        if at % 2:
            parts.append(f"\n{textwrap.indent(textwrap.dedent(part), '    ')}\n")
        else:
            parts.append(_BOLD.sub(r"\1", part).replace("`", ""))
    return "".join(parts).strip()
