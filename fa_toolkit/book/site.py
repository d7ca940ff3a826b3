"""Builds the book: runs the notebooks, makes a page of each, and writes the folder whole.

The new site is made beside the old one and takes its place at the end, so that a build that fails
leaves the last good book as it was.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import study
from ..errors import ArgumentError
from ..language import LANGUAGES, Language, Text
from . import article, running
from .article import Article
from .editions import Page, pages
from .frame import Frame
from .links import Links

#: A file by which a folder is known as a book, so that nothing else is ever replaced.
MARK = ".fa-book"


@dataclass(frozen=True)
class Built:
    """A finished book."""

    folder: Path
    pages: int
    players: int
    executed: int
    size: int


def build(
    out: Path,
    *,
    langs: Sequence[Language] = LANGUAGES,
    chapters: Iterable[int] | None = None,
    source: Path | None = None,
    kept: Path | None = None,
    jobs: int = 2,
    tell: Callable[[str, float], None] = lambda name, seconds: None,
) -> Built:
    """Build the book into the folder `out`, which is replaced.

    Args:
        langs: the languages; the first one whose contents page is at the top is English.
        chapters: their numbers; all if None.
        source: the folder of the notebooks; the course's own if None.
        kept: where executed notebooks are kept for the next build; beside `out` if None.
        jobs: notebooks that run at a time.
        tell: called with name and seconds of each notebook that was executed.

    Raises:
        ArgumentError: if there is no such chapter, `jobs` is below 1, or `out` is a folder of
            something else.
        RunError: if a notebook does not run to its end.
    """
    source = source or study.source_folder()
    every = pages(source, langs, chapters)
    if jobs < 1:
        raise ArgumentError("jobs", expected=Text("1 or more", "不小于 1"), got=str(jobs))
    out = check_out(out)
    kept = kept or out.with_name(f"{out.name}-executed")
    notebooks = [(page.href, page.file) for page in every if page.is_notebook]
    ran = running.run(notebooks, kept, jobs=jobs, tell=tell)
    running.forget(kept)
    links = Links(every, source)
    out.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        frame = Frame(new, every)
        made: dict[Page, Article] = {}
        for page in every:
            if page.is_notebook:
                made[page] = article.of_notebook(ran[page.href].notebook, page, links)
            else:
                text = page.file.read_text(encoding="utf-8")
                made[page] = article.of_markdown(text, page, links)
            frame.write_page(page, made[page])
        frame.write_contents(made)
        (new / MARK).write_text("")
        new.chmod(0o755)
        _take_place(new, out)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return Built(
        folder=out,
        pages=len(list(out.rglob("*.html"))),
        players=sum(one.shown.players for one in made.values()),
        executed=sum(one.seconds > 0 for one in ran.values()),
        size=sum(file.stat().st_size for file in out.rglob("*") if file.is_file()),
    )


def check_out(out: Path) -> Path:
    """The folder to write, absolute, if it is free, empty, or an earlier book.

    Raises:
        ArgumentError: if something else is there.
    """
    out = out.expanduser().resolve()
    if out.exists() and not (out.is_dir() and ((out / MARK).exists() or not any(out.iterdir()))):
        raise ArgumentError(
            "--out",
            expected=Text(
                "a folder that is new, empty, or a book", "一个新的、空的或已经是本书的文件夹"
            ),
            got=str(out),
            hint=Text("another folder", "换一个文件夹"),
        )
    return out


def _take_place(new: Path, out: Path) -> None:
    """Put the new book where the old one was."""
    old = out.with_name(f".{out.name}-old")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.replace(old)
    new.replace(out)
    shutil.rmtree(old, ignore_errors=True)
