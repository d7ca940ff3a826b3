"""The words of the course as a page beside the notebooks, from `quizzes/glossary.yaml`."""

from __future__ import annotations

from pathlib import Path

import yaml

from ..language import Language, Text, say, using

NAME = "glossary.md"
_TITLE = Text("Glossary", "词汇表")
_ABOUT = Text(
    "{n} words, in the order of their subjects. Each has one Chinese rendering, which stands beside it.",
    "{n} 个词，按主题排列。每个词只有一种中文写法，英文列在旁边。",
)
_ENTRY = Text("({other}) {definition}", "（{other}）{definition}")


def page(source: Path, lang: Language) -> str:
    """The glossary as Markdown; every word is a heading, so that it can be linked to."""
    entries = yaml.safe_load(source.read_text(encoding="utf-8"))
    other = "en" if lang == "zh" else "zh"
    with using(lang):
        lines = [f"# {say(_TITLE)}", say(_ABOUT, n=len(entries))]
        for entry in entries:
            term, beside = entry["term"][lang], entry["term"][other]
            definition = entry["definition"][lang]
            lines.append(f"## {term}")
            lines.append(
                definition if term == beside else say(_ENTRY, other=beside, definition=definition)
            )
    return "\n\n".join(lines) + "\n"
