"""Executes notebooks for the book, each in a kernel of its own, and keeps what came out.

A kept notebook is used again while its cells, the package, the quizzes and the libraries that draw
are the same. The learner's answers are never seen: every run has an empty data folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ..errors import FaError
from ..language import Text

PACKAGE = Path(__file__).resolve().parents[1]
#: One cell may take this long; far above what any takes.
CELL_SECONDS = 600
#: Libraries whose version shows in an output.
_SHOWN = ("torch", "triton", "numpy", "matplotlib", "ipywidgets", "anywidget", "pygments")
#: What a kernel runs before the first cell; the cell is taken out again.
_PRELUDE = "from fa_toolkit.book import inside\ninside.prepare()"
#: Colours of a terminal in a traceback.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_COMPILED = {".pyc", ".pyo"}


class RunError(FaError, RuntimeError):
    """A notebook that did not reach its end."""


@dataclass(frozen=True)
class Ran:
    """An executed notebook, and the seconds it took; 0 if it was kept from an earlier build."""

    notebook: Any
    seconds: float


@lru_cache(maxsize=1)
def package_mark() -> str:
    """A hash of everything but a notebook's own cells that can change its outputs."""
    found = hashlib.sha256()
    data = PACKAGE / "_data" / "quizzes"
    for root in (PACKAGE, data if data.is_dir() else PACKAGE.parent / "quizzes"):
        for path in sorted(root.rglob("*")):
            within = path.relative_to(root)
            if not path.is_file() or path.suffix in _COMPILED or _draws_nothing(within):
                continue
            found.update(f"{within.as_posix()}\0".encode() + path.read_bytes())
    for name in _SHOWN:
        try:
            found.update(f"{name} {metadata.version(name)}\n".encode())
        except metadata.PackageNotFoundError:
            found.update(f"{name} none\n".encode())
    gpu = Path("/proc/driver/nvidia/version").exists()
    found.update(f"{sys.version_info[:2]} {sys.platform} {gpu}".encode())
    return found.hexdigest()


def _draws_nothing(within: Path) -> bool:
    """Whether a file is the book's own: what it does with outputs happens after the run."""
    return within.parts[:1] == ("book",) and within.name != "inside.py"


def mark(source: bytes) -> str:
    """The name under which the outputs of these notebook bytes are kept."""
    return hashlib.sha256(package_mark().encode() + source).hexdigest()[:32]


async def _execute(notebook: Any, name: str, folder: Path) -> None:
    """Run every cell in a fresh kernel that sees none of the learner's folders."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    environment = {
        **os.environ,
        "FA_DATA_DIR": str(folder / "data"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": os.pathsep.join(
            [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }
    for extra in ("JPY_SESSION_NAME", "FA_LANG"):
        environment.pop(extra, None)
    new: Any = nbformat.v4.new_code_cell
    notebook.cells.insert(0, new(_PRELUDE))
    work = folder / "work"
    work.mkdir()
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(work)}},
    )  # fmt: skip
    try:
        await client.async_execute(env=environment)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise RunError(
            name,
            expected=Text("a notebook that runs to its end", "能一直运行到末尾的 notebook"),
            got=_COLOURS.sub("", str(error)).strip()[-1500:],
        ) from None
    del notebook.cells[0]


async def _one(
    path: Path, name: str, kept: Path, tell: Callable[[str, float], None], gate: asyncio.Semaphore
) -> Ran:
    import nbformat

    source = path.read_bytes()
    file = kept / f"{mark(source)}.ipynb"
    read: Any = nbformat.read
    if file.is_file():
        file.touch()  # still needed: `forget` goes by it
        return Ran(read(file, as_version=4), 0.0)
    async with gate:
        started = time.monotonic()
        notebook = read(path, as_version=4)
        with tempfile.TemporaryDirectory(prefix="fa-book-") as folder:
            await _execute(notebook, name, Path(folder))
        seconds = time.monotonic() - started
    new = file.with_suffix(".tmp")
    new.write_text(nbformat.writes(notebook), encoding="utf-8")  # type: ignore[no-untyped-call]
    new.replace(file)
    tell(name, seconds)
    return Ran(notebook, seconds)


def run(
    notebooks: Iterable[tuple[str, Path]],
    kept: Path,
    *,
    jobs: int,
    tell: Callable[[str, float], None] = lambda name, seconds: None,
) -> dict[str, Ran]:
    """Execute notebooks, or take what an earlier run kept in the folder `kept`.

    Args:
        notebooks: (name, file) of each; names are used in messages and as keys of the result.
        jobs: kernels at a time.
        tell: called with the name and the seconds of each that was executed.

    Raises:
        RunError: if a notebook does not reach its end.
    """
    wanted = list(notebooks)
    kept.mkdir(parents=True, exist_ok=True)

    async def every() -> list[Ran]:
        gate = asyncio.Semaphore(jobs)
        return await asyncio.gather(*(_one(path, name, kept, tell, gate) for name, path in wanted))

    return dict(zip((name for name, _ in wanted), asyncio.run(every()), strict=True))


def forget(kept: Path, *, days: float = 30) -> None:
    """Remove kept notebooks that no build has needed for some time."""
    oldest = time.time() - days * 86400
    for file in kept.glob("*.ipynb"):
        if file.stat().st_mtime < oldest:
            file.unlink(missing_ok=True)
