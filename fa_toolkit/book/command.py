"""`fa book`: builds the book and looks it over. Exit status 1 if a notebook or a page is at fault."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from .. import study
from ..errors import ArgumentError, BackendUnavailable
from ..language import LANGUAGES, Language, Text, say
from .words import SAID

OPTIONS = {
    "out": Text("the folder of the site (build/book)", "网站的文件夹（build/book）"),
    "only": Text("one language; both without it", "只要一种语言；不写则两种都要"),
    "chapters": Text(
        "some chapters, as 3,4 or 0-4; all without it", "只要几章，如 3,4 或 0-4；不写则全部"
    ),
    "jobs": Text("notebooks that run at a time", "同时运行的 notebook 数"),
    "check": Text("look over a site that is built already", "只检查已经建好的网站"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fa book`."""
    most = min(4, os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("build/book"), metavar="DIR",
                        help=say(OPTIONS["out"]))  # fmt: skip
    parser.add_argument("--only", choices=LANGUAGES, help=say(OPTIONS["only"]))
    parser.add_argument("--chapters", default="", metavar="N,N-N", help=say(OPTIONS["chapters"]))
    parser.add_argument("--jobs", type=int, default=most, help=say(OPTIONS["jobs"]))
    parser.add_argument("--check", action="store_true", help=say(OPTIONS["check"]))


def numbers(text: str) -> list[int] | None:
    """The chapters that "3,4" or "0-4" names; None for all.

    Raises:
        ArgumentError: if it names none.

    Example:
        >>> numbers("0-2,12")
        [0, 1, 2, 12]
    """
    if not text.strip():
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            ends = int(first), int(last if dash else first)
        except ValueError:
            ends = -1, -1
        if not 0 <= min(ends) <= max(ends) < 100:  # two digits
            found = []
            break
        found += range(ends[0], ends[1] + 1)
    if not found:
        raise ArgumentError("--chapters", expected="3,4 | 0-4", got=repr(text))
    return found


#: Packages of the course without which there is no book.
_NEEDED = ("anywidget", "bs4", "ipykernel", "jinja2", "nbclient", "nbconvert")


def require() -> None:
    """Nothing if the packages of the course are installed.

    Raises:
        BackendUnavailable: if one is not.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise BackendUnavailable(
            "fa book",
            expected=Text("the packages of the course", "课程所需的软件包"),
            got=Text(f"no {', '.join(missing)}", f"没有 {'、'.join(missing)}"),
            hint=study.INSTALL_COURSE,
        )


def run(options: argparse.Namespace) -> int:
    """Build, look, say; returns the exit status."""
    require()
    from . import faults, keys, site
    from .running import RunError

    if not options.check:
        langs: tuple[Language, ...] = (options.only,) if options.only else LANGUAGES

        def tell(name: str, seconds: float) -> None:
            print(say(SAID["ran"], name=name, seconds=seconds), flush=True)

        try:
            built = site.build(
                options.out, langs=langs, chapters=numbers(options.chapters),
                jobs=options.jobs, tell=tell,
            )  # fmt: skip
        except RunError as error:
            print(f"fa: {error}", file=sys.stderr)
            return 1
        where = (built.folder / "index.html").as_uri()
        print(say(SAID["done"], pages=built.pages, size=built.size / 1e6, players=built.players,
                  where=where))  # fmt: skip
    folder = options.out.expanduser().resolve()
    if not (folder / "index.html").is_file():
        raise ArgumentError("--out", expected=Text("a built book", "建好的书"), got=str(folder))
    pages = faults.read(folder)
    found = faults.look(folder, pages)
    found.faults += keys.look(folder, pages)
    for fault in found.faults:
        print(fault, file=sys.stderr)
    if found.faults:
        print(say(SAID["faults"], n=len(found.faults)), file=sys.stderr)
        return 1
    print(say(SAID["sound"], links=found.links, figures=found.figures))
    return 0
