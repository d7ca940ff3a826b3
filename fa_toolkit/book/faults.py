"""Looks over a built book: links, anchors, images, headings, descriptions. Changes nothing.

Knows only the files in the folder, so it judges any static site of this kind.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from ..language import say
from . import words

_LEVELS = re.compile(r"^h[1-6]$")
#: Attributes by which a page loads something; a link to another site loads nothing.
_LOADS = (("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"))
_FORMULA = re.compile(r"\$\$.+?\$\$|(?<![\\\w$])\$[^$\s](?:[^$\n]*[^$\s])?\$(?!\w)", re.DOTALL)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with one page."""

    page: str
    kind: str
    target: str

    def __str__(self) -> str:
        return f"{self.page}: {say(words.FAULTS[self.kind], target=self.target)}"


@dataclass
class Looked:
    """What was found, and how much was looked at."""

    faults: list[Fault] = field(default_factory=list)
    links: int = 0
    figures: int = 0


@dataclass(frozen=True)
class Parsed:
    """One page as it was read, and the names an anchor may lead to."""

    href: str
    soup: BeautifulSoup
    names: frozenset[str]


def read(folder: Path) -> dict[str, Parsed]:
    """The pages of a site by where they lie."""
    pages = {}
    for file in sorted(folder.rglob("*.html")):
        soup = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
        names = frozenset(str(tag["id"]) for tag in soup.find_all(id=True))
        href = file.relative_to(folder).as_posix()
        pages[href] = Parsed(href, soup, names)
    return pages


def look(folder: Path, pages: dict[str, Parsed] | None = None) -> Looked:
    """Every fault of the book in `folder`, page by page; `pages` if they have been read already."""
    pages = read(folder) if pages is None else pages
    found = Looked()
    reached = {"index.html"}
    for page in pages.values():
        _look_at_links(page, pages, folder, found, reached)
        _look_at_loads(page, folder, found)
        _look_at_figures(page, found)
        _look_at_structure(page, found)
    found.faults += [Fault(href, "orphan", "") for href in sorted(set(pages) - reached)]
    return found


def _look_at_links(
    page: Parsed, pages: dict[str, Parsed], folder: Path, found: Looked, reached: set[str]
) -> None:
    for tag in page.soup.find_all(["a", "area"]):
        if not tag.has_attr("href"):
            continue
        target = str(tag["href"])
        found.links += 1
        split = urlsplit(target)
        if split.scheme or split.netloc:
            continue
        if not target.strip("#"):
            found.faults.append(Fault(page.href, "empty", tag.get_text()[:40] or repr(target)))
            continue
        place = page.href if not split.path else _place(page.href, unquote(split.path), folder)
        if place is None:
            found.faults.append(Fault(page.href, "file", target))
        elif place in pages:
            reached |= {place} - {page.href}
            name = unquote(split.fragment)
            if name and name not in pages[place].names:
                found.faults.append(Fault(page.href, "anchor", target))


def _place(page: str, path: str, folder: Path) -> str | None:
    """The file a relative link of a page means, from the top of the site; None if it is not there."""
    file = (folder / page).parent / path
    inside = file.resolve()
    if not inside.is_relative_to(folder.resolve()) or not inside.is_file():
        return None
    return inside.relative_to(folder.resolve()).as_posix()


def _look_at_loads(page: Parsed, folder: Path, found: Looked) -> None:
    for name, attribute in _LOADS:
        for tag in page.soup.find_all(name):
            target = str(tag.get(attribute, ""))
            if not target or target.startswith("data:"):
                continue
            split = urlsplit(target)
            if split.scheme or split.netloc:
                found.faults.append(Fault(page.href, "outside", target))
            elif _place(page.href, unquote(split.path), folder) is None:
                found.faults.append(Fault(page.href, "image", target))
    for style in page.soup.find_all("style"):
        for target in re.findall(r"(?:@import\s+|url\()[\"']?(https?:[^\"')]+)", style.get_text()):
            found.faults.append(Fault(page.href, "outside", target))


def _look_at_figures(page: Parsed, found: Looked) -> None:
    for tag in page.soup.find_all(["img", "svg", "iframe", "figure"]):
        if tag.find_parent("svg") or tag.find_parent(attrs={"aria-hidden": "true"}):
            continue
        if tag.get("aria-hidden") == "true":
            continue
        found.figures += 1
        title = tag.find("title", recursive=False) if tag.name == "svg" else None
        named = tag.get("alt") or tag.get("aria-label") or tag.get("title") or title
        if not named:
            found.faults.append(Fault(page.href, "alt", _outline(tag)))


def _look_at_structure(page: Parsed, found: Looked) -> None:
    html = page.soup.find("html")
    if not (isinstance(html, Tag) and html.get("lang")):
        found.faults.append(Fault(page.href, "language", ""))
    counted = Counter(str(tag["id"]) for tag in page.soup.find_all(id=True))
    for name, times in counted.items():
        if times > 1:
            found.faults.append(Fault(page.href, "twice", name))
    headings = page.soup.find_all(_LEVELS)
    first = sum(tag.name == "h1" for tag in headings)
    if first != 1:
        found.faults.append(Fault(page.href, "title", str(first)))
    above = 0
    for tag in headings:
        level = int(tag.name[1])
        if level > above + 1:
            found.faults.append(Fault(page.href, "heading", tag.get_text()[:60]))
        above = level
    for tag in page.soup.find_all(class_="bk-prose"):
        text = "".join(x for x in tag.strings if x.find_parent(["code", "pre"]) is None)
        for typed in _FORMULA.findall(text):
            found.faults.append(Fault(page.href, "formula", typed[:60]))


def _outline(tag: Tag) -> str:
    """The beginning of an element, to find it by."""
    return str(tag)[:80].replace("\n", " ")
