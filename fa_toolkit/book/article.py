"""One executed notebook, or one Markdown file, as the body of a page. Writes no file.

nbconvert renders: Markdown, code, attachments. Its template here has the cells only. What was shown
is taken out before and put back after it, so that it passes through no second parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

from ..language import say, using
from . import words
from .editions import Page
from .links import Links
from .outputs import Shown, html_of
from .players import states

TEMPLATES = Path(__file__).with_name("templates")
#: Cells of links to other chapters, which a page has in its own frame.
_FRAME = ("links-top", "links-end")
_LEVELS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(frozen=True)
class Heading:
    """One heading of the table of contents."""

    level: int
    anchor: str
    html: str
    minutes: int = 0


@dataclass(frozen=True)
class Article:
    """The body of a page, its title, the sentence after it, and its headings below the title."""

    html: str
    title: str
    lead: str
    needs: str
    headings: tuple[Heading, ...]
    shown: Shown


def of_notebook(notebook: Any, page: Page, links: Links) -> Article:
    """An executed notebook as an article, in its own language."""
    shown = Shown()
    models = states(notebook)
    minutes: dict[str, int] = {}
    cells = [cell for cell in notebook.cells if cell.id not in _FRAME]
    with using(page.lang):
        for cell in cells:
            if cell.cell_type == "code":
                html = links.in_html(page, html_of(cell, models, shown))
                cell.metadata["shown"] = shown.slot(html) if html else ""
                cell.outputs = [] if not html else cell.outputs[:1] or [_nothing()]
            minutes[cell.id] = cell.metadata.get("fa", {}).get("part", {}).get("minutes", 0)
        notebook.cells = cells
        html = _exported(notebook, say(words.NOTES["stub"]))
    return _article(html, page, links, shown, lambda cell: minutes.get(cell, 0))


def of_markdown(text: str, page: Page, links: Links) -> Article:
    """A Markdown file as an article."""
    import nbformat

    new: Any = nbformat.v4
    notebook = new.new_notebook(cells=[new.new_markdown_cell(text, id="text")])
    return _article(_exported(notebook, ""), page, links, Shown(), lambda cell: 0)


def _nothing() -> Any:
    """An output for the template of a cell that showed none: the sentence stands in its place."""
    import nbformat

    new: Any = nbformat.v4
    return new.new_output("stream", text="")


def _exported(notebook: Any, stub: str) -> str:
    """The cells as HTML by nbconvert."""
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    settings: Any = Config()
    settings.TemplateExporter.extra_template_basedirs = [str(TEMPLATES)]
    settings.HTMLExporter.exclude_anchor_links = True
    exporter: Any = HTMLExporter
    resources = {"book": {"stub": stub}}
    made, _ = exporter(config=settings, template_name="article").from_notebook_node(
        notebook, resources
    )
    return str(made)


def _article(
    html: str, page: Page, links: Links, shown: Shown, minutes: Callable[[str], int]
) -> Article:
    soup = BeautifulSoup(html, "html.parser")
    _mend_links(soup, page, links)
    for table in soup.find_all("table"):
        table.wrap(soup.new_tag("div", attrs={"class": "bk-table", "tabindex": "0"}))
    title, lead, needs = _opening(soup)
    headings = tuple(_headings(soup, page, minutes))
    return Article(shown.fill(str(soup)), title, lead, needs, headings, shown)


def _mend_links(soup: BeautifulSoup, page: Page, links: Links) -> None:
    for anchor in soup.find_all("a", href=True):
        target = links.link(page, str(anchor["href"]))
        if target is None:
            anchor.unwrap()
            continue
        anchor["href"] = target
        if target.startswith("http"):
            anchor["rel"] = "noopener"


def _opening(soup: BeautifulSoup) -> tuple[str, str, str]:
    """The title as text, and the promise and the needs under it as HTML."""
    first = soup.find("h1")
    if not isinstance(first, Tag):
        return "", "", ""
    below = list(first.find_next_siblings("p"))
    lead = below[0].decode_contents() if below else ""
    needs = below[1].decode_contents() if len(below) > 1 else ""
    return first.get_text(), lead, needs


def _headings(soup: BeautifulSoup, page: Page, minutes: Callable[[str], int]) -> list[Heading]:
    """Give every heading its anchor, the one JupyterLab links to, and list those below the title."""
    found, taken = [], set()
    for tag in soup.find_all(_LEVELS):
        inner = tag.decode_contents()
        anchor = re.sub(r"\s", "-", tag.get_text().strip())
        while anchor in taken:
            anchor += "-2"
        taken.add(anchor)
        tag["id"] = anchor
        level = int(tag.name[1])
        if level == 1:
            continue
        cell = tag.find_parent(class_="bk-cell")
        own = minutes(str(cell["id"])) if isinstance(cell, Tag) and level == 2 else 0
        found.append(Heading(level, anchor, inner, own))
        link = soup.new_tag("a", attrs={"class": "bk-anchor", "href": f"#{anchor}"})
        link["aria-label"] = words.both(page.lang)["anchor"]
        link.string = "#"
        tag.append(" ")
        tag.append(link)
    return found
