"""Every notebook from top to bottom, twice: as it stands, and with every exercise solved.

Unsolved, each check says "not attempted" and the notebook still reaches its end. Solved, each check
says "passed". No cell may fail, write to stderr, or kill the kernel.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from chapters import CHINESE, ENGLISH, FOLDER, ROOT, number, read, wordless
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from fa_toolkit import exercises, kernels

pytestmark = pytest.mark.notebook
#: CPU seconds of the kernel for a whole notebook; wall time depends on who else uses the cores.
MOST_SECONDS = 90
#: a cell that hangs is stopped; far above what any takes
CELL_SECONDS = 240
CHECK = re.compile(r'fa\.course\.check\("([\w.]+)"')
TIMER = "import time\nprint(time.process_time())"


def solve(notebook: Any, chapter: int) -> None:
    """Put the package's solutions into the cells tagged `exercise`.

    Raises:
        LookupError: if an exercise of the chapter has no cell, or a cell no exercise.
    """
    wanted = set(exercises.ids(chapter))
    for cell in notebook.cells:
        name = cell.metadata.get("fa", {}).get("exercise")
        if name is None:
            continue
        if name not in wanted or "exercise" not in cell.metadata.get("tags", []):
            raise LookupError(f"cell {cell.id}: exercise {name} is not one of {sorted(wanted)}")
        wanted.remove(name)
        cell.source = exercises.solved(name)
    if wanted:
        raise LookupError(f"no cell for {sorted(wanted)}")


def run(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> float:
    """Execute in a folder of its own; returns the CPU seconds of the kernel."""
    for name, value in {
        "FA_DATA_DIR": str(folder / "data"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    notebook.cells.append(nbformat.v4.new_code_cell(TIMER))  # type: ignore[no-untyped-call]
    client = NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    try:
        client.execute()
    except DeadKernelError:
        pytest.fail("the kernel died")
    except CellExecutionError as error:
        pytest.fail(str(error)[-3000:])
    return float(notebook.cells.pop().outputs[0].text)


def text_of(cell: Any) -> str:
    """Everything a cell showed, as plain text."""
    return "\n".join(
        output.get("text", "") or output.get("data", {}).get("text/plain", "")
        for output in cell.get("outputs", [])
    )


def look(notebook: Any, outcome: str) -> None:
    """What must hold after a run: no stderr, every check with this outcome."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for output in cell.outputs:
            assert output.output_type != "error", f"{cell.id}: {output.get('evalue')}"
            assert output.get("name") != "stderr", f"{cell.id} wrote to stderr: {output.text}"
            shown = output.get("data", {})
            assert wordless("".join(shown.get("text/html", ""))) == [], f"{cell.id}: no words"
            assert not shown.get("image/png") and not shown.get("image/svg+xml"), cell.id
        checked = CHECK.search(cell.source)
        if checked:
            first = text_of(cell).splitlines()[0]
            assert outcome in first, f"{cell.id}: {text_of(cell)}"


def needs_triton(path: Path) -> bool:
    return any(exercises.get(x).needs_triton for x in exercises.ids(number(path)))


@pytest.mark.parametrize("solved", [False, True], ids=["unsolved", "solved"])
@pytest.mark.parametrize("path", ENGLISH, ids=[p.stem for p in ENGLISH])
def test_it_runs(path: Path, solved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if needs_triton(path) and kernels.mode() == "none":
        pytest.skip("Triton cannot run here")
    notebook = read(path)
    if solved:
        solve(notebook, number(path))
    seconds = run(notebook, tmp_path, monkeypatch)
    look(notebook, "passed" if solved else "not attempted")
    assert seconds < MOST_SECONDS, f"{seconds:.0f} s of CPU"


@pytest.mark.slow
@pytest.mark.parametrize("path", CHINESE, ids=[f"zh-{p.stem}" for p in CHINESE])
def test_the_chinese_one_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = read(path)
    run(notebook, tmp_path, monkeypatch)
    look(notebook, "尚未作答")


def test_a_solution_without_a_cell_is_an_error() -> None:
    notebook = read(FOLDER / "03_softmax_in_blocks.ipynb")
    kept = [c for c in notebook.cells if c.metadata.get("fa", {}).get("exercise") != "03.merge"]
    notebook.cells = kept
    with pytest.raises(LookupError, match=r"03\.merge"):
        solve(notebook, 3)
