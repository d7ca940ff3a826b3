"""The table of chapters, as Markdown:

python -m fa_toolkit.course.table                   # what stands in each chapter
python -m fa_toolkit.course.table --run             # and the seconds each takes here, executed now
python -m fa_toolkit.course.table --lang zh
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from .. import study
from ..language import LANGUAGES, Text, choose, current, say
from . import chapters, counting

_COLUMNS = (
    Text("chapter", "章"),
    Text("words", "词数"),
    Text("code lines", "代码行"),
    Text("cells", "格"),
    Text("questions", "题目"),
    Text("exercises", "练习"),
    Text("players", "播放器"),
    Text("minutes, an estimate", "分钟（估计）"),
)
_SECONDS = Text("seconds to run", "运行秒数")
_TOTAL = Text("together", "合计")
_FOOT = Text(
    "Words are those of the English edition; stubs of exercises are not counted as code.",
    "词数按英文版计；练习的待填代码不计入代码行。",
)
_RAN = Text(
    "Executed unsolved, one after the other, on {machine}, {cores} cores, Python {python}, {date}; wall time.",
    "未作答状态下依次执行，{machine}，{cores} 核，Python {python}，{date}；墙钟时间。",
)


def rows(seconds: dict[int, float] | None = None) -> list[list[str]]:
    """A line for each chapter and one for all; with seconds if they were measured."""
    found, sums = [], [0.0] * 8
    for number in counting.numbers():
        counts = counting.of_chapter(number)
        minutes = counting.chapter_minutes(number) if number in chapters.TITLES else 0
        values = [
            counts.words,
            counts.code_lines,
            counts.cells,
            counts.questions,
            counts.exercises,
            counts.widgets,
            minutes,
            (seconds or {}).get(number, 0.0),
        ]
        sums = [a + b for a, b in zip(sums, values, strict=True)]
        found.append(_line(f"{number:02d} {say(chapters.title(number))}", values, seconds))
    return [*found, _line(say(_TOTAL), sums, seconds)]


def _line(name: str, values: Sequence[float], seconds: object) -> list[str]:
    shown = [f"{value:,.0f}" if value else "–" for value in values]
    return [name, *(shown if seconds is not None else shown[:-1])]


def table(seconds: dict[int, float] | None = None) -> str:
    """The table as Markdown, with what was counted and, if run, where."""
    head = [say(column) for column in _COLUMNS]
    head += [say(_SECONDS)] if seconds is not None else []
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows(seconds)]
    drawn = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    notes = [say(_FOOT)]
    if seconds is not None:
        date = f"{datetime.now(UTC):%Y-%m-%d}"
        notes.append(
            say(_RAN, machine=platform.machine(), cores=os.cpu_count(),
                python=platform.python_version(), date=date)
        )  # fmt: skip
    return f"{drawn}\n\n{' '.join(notes)}"


def run_seconds(chapter: int) -> float:
    """Wall time of executing a chapter as it stands, in a folder of its own."""
    import nbformat
    from nbclient import NotebookClient

    path = study.source_folder() / study.notebook(chapter, current())
    with tempfile.TemporaryDirectory(prefix="fa-table-") as folder:
        environment = {**os.environ, "FA_DATA_DIR": str(Path(folder) / "data"),
                       "IPYTHONDIR": str(Path(folder) / "ipython"),
                       "PYTHONPATH": str(study.PACKAGE.parent)}  # fmt: skip
        environment.pop("JPY_SESSION_NAME", None)
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        client = NotebookClient(notebook, timeout=600, kernel_name="python3",
                                resources={"metadata": {"path": folder}})  # fmt: skip
        start = time.perf_counter()
        client.execute(env=environment)
        return time.perf_counter() - start


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m fa_toolkit.course.table", description=__doc__)
    parser.add_argument("--lang", choices=LANGUAGES, default="en")
    parser.add_argument("--run", action="store_true", help="execute every chapter and time it")
    options = parser.parse_args(argv)
    choose(options.lang)
    seconds = {n: run_seconds(n) for n in counting.numbers()} if options.run else None
    print(table(seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
