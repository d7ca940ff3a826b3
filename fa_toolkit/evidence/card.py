"""Evidence as a card: claim, verdict, what was found, the figure. Decides nothing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ..language import Text, current, say

if TYPE_CHECKING:
    from .record import Check, Evidence

_MARKS = {"holds": "✓", "caveat": "△", "wrong": "✗"}
_SELF = Text("the article corrects its original here", "文章在此改正了原稿")
_STATED, _LEFT_OUT = Text("tested", "检验"), Text("what it leaves out", "它没有说的")
_STYLE = """
.fa-evidence { --text: var(--jp-ui-font-color1, #1c2330); --page: var(--jp-layout-color1, #fffffe);
  --soft: color-mix(in srgb, var(--text) 66%, var(--page));
  --line: color-mix(in srgb, var(--text) 17%, var(--page));
  --holds: #00795a; --caveat: #8a5a00; --wrong: #b3163f;
  box-sizing: border-box; max-width: 960px; margin: 2px 0; padding: 14px 20px;
  border: 1px solid var(--line); border-radius: 6px; background: var(--page); color: var(--text);
  font: 14px/1.6 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK SC",
  "PingFang SC", "Microsoft YaHei", sans-serif; font-variant-numeric: tabular-nums; }
[data-jp-theme-light="false"] .fa-evidence, .vscode-dark .fa-evidence {
  --holds: #3ccf9e; --caveat: #f0c75e; --wrong: #ff7aa8; }
.fa-evidence p { margin: 0; }
.fa-evidence .head { display: flex; gap: 12px; align-items: baseline; flex-wrap: wrap; }
.fa-evidence .id { font-weight: 600; font-size: 16px; }
.fa-evidence .soft { color: var(--soft); font-size: 13px; }
.fa-evidence .verdict { margin-left: auto; font-weight: 600; }
.fa-evidence .says { margin: 4px 0 8px; font-size: 15px; }
.fa-evidence .holds { color: var(--holds); } .fa-evidence .caveat { color: var(--caveat); }
.fa-evidence .wrong { color: var(--wrong); }
.fa-evidence .checks { display: grid; grid-template-columns: 20px 1fr; gap: 3px 4px; }
.fa-evidence .kind { grid-column: 1 / -1; color: var(--soft); font-size: 13px; margin-top: 4px; }
.fa-evidence .figure { margin: 10px 0 0; }
.fa-evidence .source { margin: 10px 0 0; padding-top: 8px; border-top: 1px solid var(--line); }
.fa-evidence.fa-evidence table { border-collapse: collapse; margin: 8px 0 0; font-size: 14px; }
.fa-evidence.fa-evidence td, .fa-evidence.fa-evidence th { text-align: left; padding: 4px 16px 4px 0; border: 0;
  background: none; vertical-align: top; font-weight: 400; white-space: normal; }
.fa-evidence.fa-evidence th { color: var(--soft); font-size: 12px; white-space: nowrap; }
.fa-evidence.fa-evidence tr:nth-child(n), .fa-evidence.fa-evidence tr:hover { background: none; }
.fa-evidence td .caveat, .fa-evidence td .holds, .fa-evidence td .wrong { white-space: nowrap; }
"""


def framed(body: str) -> str:
    """`body` in the frame of the card, in the language in force."""
    lang = "zh-Hans" if current() == "zh" else "en"
    return f'<style>{_STYLE}</style><div class="fa-evidence" lang="{lang}">{body}</div>'


def mark(verdict: str) -> str:
    """The verdict with its sign: colour never carries it alone."""
    from .record import VERDICTS

    words = f"{_MARKS[verdict]} {say(VERDICTS[verdict])}"
    return f'<span class="{verdict}">{escape(words)}</span>'


def html(evidence: Evidence) -> str:
    """The whole card."""
    origin = f'<span class="soft">{escape(say(_SELF))}</span>' if evidence.self_corrected else ""
    head = (
        f'<div class="head"><span class="id">{evidence.claim}</span>'
        f'<span class="soft">{escape(say(evidence.section))}</span>{origin}'
        f'<span class="verdict">{mark(evidence.verdict)}</span></div>'
        f'<p class="says">{escape(say(evidence.says))}</p>'
    )
    rows = _rows(_STATED, evidence.found.stated, "holds", "✓")
    rows += _rows(_LEFT_OUT, evidence.found.conditions, "caveat", "△")
    figure = evidence.figure()
    drawn = getattr(figure, "html", None)
    picture = f'<div class="figure">{drawn()}</div>' if drawn is not None else ""
    line = say(evidence.source)
    there = any(text.get_text() == line for text in figure.texts) if figure is not None else False
    source = "" if there else f'<p class="source soft">{escape(line)}</p>'
    return framed(f'{head}<div class="checks">{rows}</div>{picture}{source}')


def _rows(kind: Text, checks: tuple[Check, ...], tone: str, sign: str) -> str:
    if not checks:
        return ""
    cells = [f'<span class="kind">{escape(say(kind))}</span>']
    for check in checks:
        seen, colour = (sign, tone) if check.found else ("✗", "wrong")
        cells.append(f'<span class="{colour}">{seen}</span><span>{escape(say(check.text))}</span>')
    return "".join(cells)
