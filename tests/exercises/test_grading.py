"""A notebook is graded headless, whatever its cells do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit import cli, exercises
from fa_toolkit.errors import ArgumentError
from fa_toolkit.exercises import client, grading

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="checks are not forked here")
SETUP = "%matplotlib inline\nimport math\nimport torch\nimport fa_toolkit as fa\nfa.course.start(1)"

CHECK = 'fa.course.check("01.bound", bound)'


def notebook(folder: Path, *cells: str, version: str = "") -> Path:
    """A notebook file with a Markdown cell and these code cells."""
    made: dict[str, Any] = {"cells": [{"cell_type": "markdown", "source": ["# T"]}], "nbformat": 4}
    made["cells"] += [{"cell_type": "code", "source": text.splitlines(True)} for text in cells]
    made["metadata"] = {"fa": {"version": version}} if version else {}
    file = folder / "student.ipynb"
    file.write_text(json.dumps(made), encoding="utf-8")
    return file


def outcomes(grades: grading.Grades) -> dict[str, str]:
    return {report.exercise: report.outcome for report in grades.reports}


def test_a_solved_notebook_passes_and_a_wrong_one_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solved = exercises.solved("01.intensity")
    entry = exercises.get("01.intensity").entry
    wrong = 'def bound(intensity, gpu):\n    return "memory"\n'
    file = notebook(
        tmp_path, SETUP, solved, f'fa.course.check("01.intensity", {entry})', "print(undefined)",
        wrong, version="0.0.1",
    )  # fmt: skip
    assert cli.main(["check", "--notebook", str(file), "--json"]) == cli.NOT_SO
    told = json.loads(capsys.readouterr().out)
    found = {r["exercise"]: r for r in told["reports"]}
    assert found["01.intensity"]["outcome"] == "passed"
    assert found["01.bound"]["outcome"] == "not yet"  # found by its name, without a check
    assert set(found) == set(exercises.ids(1)) and told["passed"] == 1
    assert told["cell_errors"][0]["cell"] == 5
    assert "NameError" in told["cell_errors"][0]["sentence"]["en"]
    assert told["notebook_version"] == "0.0.1"


HOSTILE = {
    "ends": "import os\nos._exit(0)",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "deletes": "import shutil\nshutil.rmtree({precious!r})",
    "patches": "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True",
    "forges": "import fa_toolkit.exercises.report as r\nr.Report.outcome = 'passed'",
    "floods": "import os\nos.write(4, b'x' * 4096)",
}


def test_a_hostile_notebook_hurts_nobody(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "kept").write_text("kept")
    cells = [text.format(precious=str(precious)) for text in HOSTILE.values()]
    solved = exercises.solved("01.intensity")
    stolen = (
        'import fa_toolkit as fa\nfa.course.check("01.bound", fa.exercises.solution("01.bound"))'
    )
    grades = grading.grade(notebook(tmp_path, SETUP, *cells, solved, stolen))
    assert outcomes(grades)["01.intensity"] == "passed"
    assert outcomes(grades)["01.bound"] == "not yet", "the package's own solution is no answer"
    assert (precious / "kept").read_text() == "kept"
    named = {error.cell: str(error) for error in grades.errors}
    assert "exit status 0" in named[3] and "SIGSEGV" in named[4] and "own folder" in named[5]
    assert set(named) <= {3, 4, 5, 7, 8}


def test_a_solution_fetched_at_the_call_is_no_answer(tmp_path: Path) -> None:
    fetched = (
        "import fa_toolkit as fa\ndef bound(i, g):\n"
        "    return fa.exercises.solution('01.bound')(i, g)\n"
        "fa.course.check('01.bound', bound)"
    )
    report = grading.grade(notebook(tmp_path, fetched)).reports[1]
    assert report.exercise == "01.bound" and report.outcome == "not yet"


def test_an_endless_cell_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CELL", 0.5)
    file = notebook(tmp_path, "while True:\n    pass", SETUP, exercises.solved("01.bound"), CHECK)
    grades = grading.grade(file)
    assert outcomes(grades)["01.bound"] == "passed"
    assert "still running" in str(grades.errors[0])


NO_NOTEBOOKS = {
    "": "no valid JSON",
    "{": "no valid JSON",
    "[]": "without a list of cells",
    "{}": "without a list of cells",
    '{"cells": 3}': "without a list of cells",
    '{"cells": [1, {"source": 2}]}': "with exercises of the course",
}


@pytest.mark.parametrize("text", NO_NOTEBOOKS)
def test_what_is_no_notebook_of_the_course_is_misuse(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.ipynb"
    file.write_text(text)
    with pytest.raises(ArgumentError):
        grading.grade(file)
    assert cli.main(["check", "--notebook", str(file)]) == cli.MISUSED
    said = capsys.readouterr().err
    assert NO_NOTEBOOKS[text] in said and str(file) in said and "Error" not in said
    with pytest.raises(ArgumentError, match="does not exist"):
        grading.grade(tmp_path / "none.ipynb")
    with pytest.raises(ArgumentError, match="cannot be read: Is a directory"):
        grading.grade(tmp_path)
