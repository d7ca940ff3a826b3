"""Which pages the book has, where each lies, and which page is the same one in the other language.

The site is laid out as `notebooks/` is: English at the top, Chinese under `zh/`, so that a relative
link between notebooks is right between pages once its ending is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .. import study
from ..course.chapters import title
from ..errors import ArgumentError
from ..language import LANGUAGES, Language, Text

#: Pages beside the notebooks: the name of the page, and the file it is made of, from the root of
#: the checkout. A language that has no file of its own links to the English page.
_DOCUMENTS: tuple[tuple[str, str, Language], ...] = (
    ("glossary", "notebooks/glossary.md", "en"),
    ("glossary", "notebooks/zh/glossary.md", "zh"),
    ("performance-log", "docs/performance-log.md", "en"),
)


@dataclass(frozen=True)
class Page:
    """One page: its file here, where it lies in the site, its language, its chapter or -1."""

    file: Path
    href: str
    lang: Language
    chapter: int = -1

    @property
    def name(self) -> str:
        """The name shared by a page in both languages, such as `03_softmax_in_blocks`."""
        return PurePosixPath(self.href).stem

    @property
    def is_notebook(self) -> bool:
        """Whether it is executed; other pages are Markdown."""
        return self.file.suffix == ".ipynb"

    def to(self, href: str) -> str:
        """A link from this page to a place given from the top of the site."""
        return relative(self.href, href)


def relative(page: str, href: str) -> str:
    """A link from one place of the site to another, both given from its top.

    Example:
        >>> relative("zh/03_softmax.html", "assets/book.css")
        '../assets/book.css'
    """
    return os.path.relpath(href, os.path.dirname(page) or ".").replace(os.sep, "/")  # noqa: PTH120


def chapters_of(source: Path) -> list[int]:
    """The chapters that have a notebook in this folder, the gallery included."""
    return sorted(int(path.name[:2]) for path in source.glob("[0-9][0-9]_*.ipynb"))


def pages(
    source: Path, langs: Sequence[Language] = LANGUAGES, chapters: Iterable[int] | None = None
) -> list[Page]:
    """The pages of these chapters and languages in reading order, then the documents.

    Args:
        source: the folder of the notebooks.
        chapters: all if None.

    Raises:
        ArgumentError: if there is no such chapter, or no notebook at all.
    """
    have = chapters_of(source)
    wanted = sorted(set(have if chapters is None else chapters))
    unknown = [number for number in wanted if number not in have]
    if unknown or not wanted:
        raise ArgumentError(
            "chapters",
            expected=Text(f"some of {', '.join(map(str, have))}", f"{'、'.join(map(str, have))}之中的几章"),
            got=", ".join(map(str, unknown)) or Text("none", "没有"),
        )  # fmt: skip
    found = []
    for lang in langs:
        for number in wanted:
            name = study.notebook(number, lang, source)
            if (lang == "zh") == name.startswith("zh/"):
                href = str(PurePosixPath(name).with_suffix(".html"))
                found.append(Page(source / name, href, lang, number))
    return found + documents(source, langs)


def documents(source: Path, langs: Sequence[Language]) -> list[Page]:
    """The pages that are no notebooks and whose file is there, in each language or, once, English."""
    found = []
    for name, where, lang in _DOCUMENTS:
        inside = where.removeprefix("notebooks/")
        file = (source if inside != where else source.parent) / inside
        alone = [other for one, _, other in _DOCUMENTS if one == name] == [lang]
        if file.is_file() and (lang in langs or alone):
            found.append(Page(file, f"{'zh/' if lang == 'zh' else ''}{name}.html", lang))
    return found


def same_in(page: Page, lang: Language, every: Iterable[Page]) -> Page | None:
    """The same page in another language, if the book has it."""
    return next((p for p in every if p.lang == lang and p.name == page.name), None)


def contents_href(lang: Language) -> str:
    """Where the contents page of a language lies."""
    return "zh/index.html" if lang == "zh" else "index.html"


def short_title(page: Page) -> Text | None:
    """The title the course gives a chapter; None for a document."""
    return title(page.chapter) if page.chapter >= 0 else None
