"""Turns links between the course's files into links between pages of the book."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .editions import Page, relative

#: A link of HTML that an output brings along.
_HREF = re.compile(r'\shref="([^"]*)"')
#: What the glossary is made of counts as the glossary.
_INSTEAD = {"glossary.yaml": "glossary.md"}


class Links:
    """Where every file of the course is found in this book."""

    def __init__(self, every: Sequence[Page], source: Path) -> None:
        self.source = source.resolve()
        self.places: Mapping[Path, str] = {page.file.resolve(): page.href for page in every}

    def link(self, page: Page, target: str) -> str | None:
        """What a link of the page's file becomes; None if the book does not have what it means.

        A link with a scheme, and one within the page, stays as it is.
        """
        split = urlsplit(target)
        if split.scheme or split.netloc or not split.path:
            return target
        file = (page.file.parent / unquote(split.path)).resolve()
        if file.name in _INSTEAD:
            folder = self.source / "zh" if page.lang == "zh" else self.source
            file = folder / _INSTEAD[file.name]
        href = self.places.get(file)
        if href is None:
            return target if self._must_exist(file) and not file.exists() else None
        end = f"#{split.fragment}" if split.fragment else ""
        return relative(page.href, href) + end

    def _must_exist(self, file: Path) -> bool:
        """Whether a missing file is a mistake: an installed package has only the notebooks."""
        in_checkout = self.source.parent.joinpath("pyproject.toml").is_file()
        return in_checkout or file.is_relative_to(self.source)

    def in_html(self, page: Page, html: str) -> str:
        """The same for every link of a piece of HTML; one the book does not have loses its target."""

        def mended(found: re.Match[str]) -> str:
            target = self.link(page, unescape(found[1]))
            return "" if target is None else f' href="{escape(target)}"'

        return _HREF.sub(mended, html)
