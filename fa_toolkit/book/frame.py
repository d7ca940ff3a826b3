"""Puts what every page has around its text, and writes pages and their assets into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from ..language import Language, say, using
from . import words
from .article import TEMPLATES, Article
from .editions import Page, contents_href, relative, same_in, short_title
from .players import Asset, model_source

_STATIC = Path(__file__).with_name("static")
_TAGS: Mapping[Language, str] = {"en": "en", "zh": "zh-CN"}
_SCRIPT = '"use strict";\n(() => {{\n{0}\n}})();\n'


class Near(NamedTuple):
    """The chapter before or after."""

    href: str
    label: str


class Frame:
    """The folder of a book in the making.

    Args:
        folder: where files are written.
        every: all pages of the book in reading order.
    """

    def __init__(self, folder: Path, every: Sequence[Page]) -> None:
        self.folder, self.every = folder, every
        self.langs: list[Language] = list(dict.fromkeys(p.lang for p in every if p.is_notebook))
        code = model_source() + _read("book.js")
        self.style = self._asset(Asset.of("book", "css", _read("book.css") + _highlighting()))
        self.script = self._asset(Asset.of("book", "js", _SCRIPT.format(code)))

    @cached_property
    def templates(self) -> Any:
        """The environment of the page templates; variables are HTML that is already escaped."""
        import jinja2

        loader = jinja2.FileSystemLoader(TEMPLATES)
        return jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, autoescape=False)

    def write_page(self, page: Page, made: Article) -> None:
        """One page, and the players it needs."""
        names = {name: self._asset(asset) for name, asset in made.shown.assets.items()}
        scripts = [path for name, path in names.items() if name.endswith(".js")]
        sheets = [path for name, path in names.items() if name.endswith(".css")]
        before, after = self._around(page)
        self._write(
            "page", page.href, page.lang,
            title=_escaped(made.title), article=made.html, headings=made.headings,
            before=before, after=after, styles="\n".join(made.shown.styles), sheets=sheets,
            scripts=[*scripts, self.script], other=self._other(page),
        )  # fmt: skip

    def write_contents(self, made: Mapping[Page, Article]) -> None:
        """The contents page of each language; the top leads to it where there is no English."""
        for lang in self.langs:
            mine = {page: one for page, one in made.items() if page.lang == lang}
            chapters = [
                {"href": page.href, "number": page.name[:2], "title": _escaped(one.title),
                 "lead": one.lead, "needs": one.needs}
                for page, one in mine.items() if page.is_notebook
            ]  # fmt: skip
            more = [
                {"href": page.href, "title": _escaped(one.title), "tag": _TAGS[page.lang]}
                for page, one in made.items()
                if not page.is_notebook
                and (page.lang == lang or not same_in(page, lang, self.every))
            ]
            with using(lang):
                lead, how, book = say(words.LEAD), say(words.HOW), say(words.TITLE)
            others = [contents_href(other) for other in self.langs if other != lang]
            self._write(
                "contents", contents_href(lang), lang,
                title=book, chapters=chapters, more=more, lead=lead, how=how, styles="", sheets=[],
                scripts=[self.script], other=others[0] if others else None,
            )  # fmt: skip
        if "en" not in self.langs:
            with using("zh"):
                made_page = self.templates.get_template("elsewhere.html.j2").render(
                    tag=_TAGS["zh"], book=say(words.TITLE), target=contents_href("zh")
                )
            (self.folder / "index.html").write_text(made_page, encoding="utf-8")

    def _write(self, template: str, href: str, lang: Language, **more: Any) -> None:
        other: Language = "en" if lang == "zh" else "zh"
        with using(lang):
            book = say(words.TITLE)
        text = self.templates.get_template(f"{template}.html.j2").render(
            tag=_TAGS[lang], other_tag=_TAGS[other], ui=words.both(lang), book=book,
            to=partial(relative, href), home=contents_href(lang), style=self.style,
            early=_read("early.js"), **more,
        )  # fmt: skip
        file = self.folder / href
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _asset(self, asset: Asset) -> str:
        """Write an asset once; returns where it lies."""
        href = f"assets/{asset.name}"
        file = self.folder / href
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(asset.text, encoding="utf-8")
        return href

    def _other(self, page: Page) -> str | None:
        """The same page in the other language, else that language's contents."""
        others = [lang for lang in self.langs if lang != page.lang]
        if not others:
            return None
        same = same_in(page, others[0], self.every)
        return same.href if same else contents_href(others[0])

    def _around(self, page: Page) -> tuple[Near | None, Near | None]:
        row = [p for p in self.every if p.lang == page.lang and p.is_notebook]
        if page not in row:
            return None, None
        at = row.index(page)
        return (
            self._near(row[at - 1]) if at else None,
            self._near(row[at + 1]) if at + 1 < len(row) else None,
        )

    @staticmethod
    def _near(page: Page) -> Near:
        with using(page.lang):
            return Near(page.href, f"{page.name[:2]} {_escaped(say(short_title(page) or ''))}")


def _read(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _highlighting() -> str:
    """Colours of code, by JupyterLab's own names, which the style sheet gives values."""
    from jupyterlab_pygments import JupyterStyle  # type: ignore[import-untyped]
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]

    formatter: Any = HtmlFormatter(style=JupyterStyle)
    return str(formatter.get_style_defs(".highlight"))
