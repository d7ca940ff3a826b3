"""The fa command: light to ask for help, right exit codes, no traceback, both languages."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit import cli, lab, language, study, terminal
from fa_toolkit.doctor.findings import Finding, Report
from fa_toolkit.errors import ArgumentError, BackendUnavailable

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("torch", "triton", "numpy", "matplotlib", "ipywidgets", "pydantic", "jupyterlab")


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Folders of the test's own, English, and the language put back afterwards."""
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FA_STUDY", str(tmp_path / "学 习"))
    monkeypatch.setenv("FA_LANG", "en")
    monkeypatch.setattr(language, "_started", [])
    yield


def help_of(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom fa_toolkit import cli\n"
        "try: cli.main(['--help'])\nexcept SystemExit: pass\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["lab", "doctor", "quiz", "progress", "check"])
def test_help_speaks_both_languages(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    english = help_of(command, capsys=capsys)
    chinese = help_of("--lang", "zh", command, capsys=capsys)
    assert english != chinese
    assert cli._HELP[command].zh in chinese
    language._started.clear()
    assert help_of(command, "--lang=zh", capsys=capsys) == chinese


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["lab", "--lang", "fr"], ["lab", "--port", "x"]]
)
def test_misuse_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage: fa" in capsys.readouterr().err


def test_known_mistakes_are_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raises(error: BaseException) -> Any:
        def run(_: Any) -> int:
            raise error

        return run

    monkeypatch.setattr(cli, "_doctor", raises(ArgumentError("port", expected="a", got="b")))
    assert cli.main(["doctor"]) == cli.MISUSED
    assert capsys.readouterr().err == "fa: port: expected a, got b.\n"
    monkeypatch.setattr(cli, "_doctor", raises(KeyboardInterrupt()))
    assert cli.main(["doctor"]) == cli.INTERRUPTED


def test_a_closed_pipe_is_no_traceback() -> None:
    ran = subprocess.run(
        f'"{sys.executable}" -m fa_toolkit quiz | true',
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("warning", 0), ("fault", 1)])
def test_doctor_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: Any, code: int
) -> None:
    report = Report((Finding("x", status, "disk", "seen"),))
    monkeypatch.setattr("fa_toolkit.doctor.report", lambda: report)
    assert cli.main(["doctor", "--plain"]) == code
    assert "disk: seen" in capsys.readouterr().out


# lab


def test_lab_stays_inside_the_study_folder(tmp_path: Path) -> None:
    planned = lab.Lab(
        tmp_path / "学 习", "zh/03_softmax_in_blocks.ipynb", "127.0.0.1", 9000, "secret"
    )
    command = planned.command(browser=False)
    assert "--ServerApp.port=9000" in command and "--ServerApp.open_browser=False" in command
    assert f"--ServerApp.root_dir={tmp_path / '学 习'}" in command
    assert "secret" not in " ".join(command), "other users can read a command line"
    environment = planned.environment()
    assert environment["JUPYTER_TOKEN"] == "secret"
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        assert Path(environment[name]).is_relative_to(tmp_path / "学 习")
    assert planned.url == (
        "http://127.0.0.1:9000/lab/tree/zh/03_softmax_in_blocks.ipynb?token=secret"
    )
    assert command[-1] == planned.command(browser=False, extra=("--x",))[-2]


def test_lab_urls_can_be_opened() -> None:
    assert lab.Lab(Path("/s"), None, "0.0.0.0", 1, "t").url == "http://127.0.0.1:1/lab?token=t"
    assert lab.Lab(Path("/s"), None, "::1", 1, "t").url == "http://[::1]:1/lab?token=t"
    assert "%E6%96%B0" in lab.Lab(Path("/s"), "新.ipynb", "h", 1, "t").url


def test_a_taken_port_is_said_and_otherwise_stepped_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ArgumentError, match=str(port)):
            lab.free_port("127.0.0.1", port)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lab, "FIRST_PORT", port)
            assert lab.free_port("127.0.0.1", None) > port
        assert lab.free_port("127.0.0.1", 0) > 0


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--port", "99999999"], "65535"),
        (["--port", "-1"], "65535"),
        (["--ip", "999.1.1.1"], "999.1.1.1"),
        (["--ip", "999.1.1.1", "--port", "9000"], "999.1.1.1"),
        (["--ip", "192.0.2.1"], "192.0.2.1"),
        (["--ip", "x" * 70], "xxx"),
        (["99"], "99"),
        (["--chapter", "99"], "99"),
    ],
    ids=str,
)
def test_what_lab_cannot_do_is_named_before_anything_is_copied(
    options: list[str], named: str, lang: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jupyterlab", reason="the course's packages are not installed")
    assert cli.main(["lab", *options, "--lang", lang]) == cli.MISUSED
    said = capsys.readouterr()
    assert named in said.err and "8888" not in said.err and not said.out
    assert not (tmp_path / "学 习").exists()


def test_lab_without_the_course_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(BackendUnavailable, match=r"\[course\]"):
        lab.plan(tmp_path, notebook=None)
    assert cli.main(["lab"]) == cli.MISUSED
    assert not (tmp_path / "学 习").exists(), "no copies for a course that cannot be opened"


def test_lab_makes_the_copies_and_starts_on_the_chapter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "notebooks"
    (source / "zh").mkdir(parents=True)
    for name in ("00_start_here.ipynb", "03_x.ipynb", "zh/03_x.ipynb"):
        (source / name).write_text('{"cells": []}')
    monkeypatch.setattr(study, "source_folder", lambda: source)
    started: list[tuple[lab.Lab, bool, tuple[str, ...]]] = []

    def serve(planned: lab.Lab, *, browser: bool, extra: tuple[str, ...]) -> int:
        started.append((planned, browser, extra))
        return 0

    monkeypatch.setattr(lab, "serve", serve)
    assert cli.main(["lab", "--no-browser"]) == 0
    assert cli.main(["lab", "3", "--lang", "zh", "--", "--ServerApp.x=1"]) == 0
    assert [one[0].notebook for one in started] == ["00_start_here.ipynb", "zh/03_x.ipynb"]
    assert [one[1] for one in started] == [False, True]
    assert started[1][2] == ("--ServerApp.x=1",)
    assert started[0][0].url in capsys.readouterr().out
    assert (tmp_path / "学 习" / "zh" / "03_x.ipynb").is_file()
    assert cli.main(["lab", "9"]) == cli.MISUSED


def test_a_notebook_of_the_learners_own_opens_by_its_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "学 习" / "90_mine.ipynb"
    own.parent.mkdir()
    own.write_text('{"cells": []}')
    monkeypatch.setattr(study, "source_folder", lambda: tmp_path / "nothing")
    monkeypatch.setattr(lab, "serve", lambda planned, **_: 0 if planned.notebook == own.name else 1)
    assert cli.main(["lab", "90", "--no-browser"]) == 0


def test_an_empty_course_still_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(study, "source_folder", lambda: tmp_path / "nothing")
    monkeypatch.setattr(lab, "serve", lambda planned, **_: 0 if planned.notebook is None else 1)
    assert cli.main(["lab", "--no-browser"]) == 0


def test_settings_of_the_learner_are_kept(tmp_path: Path) -> None:
    lab.settle(tmp_path)
    (file,) = (tmp_path / ".jupyter").rglob("notification.jupyterlab-settings")
    assert json.loads(file.read_text())["fetchNews"] == "false"
    (kernel,) = (tmp_path / ".jupyter").rglob("ipython_kernel_config.json")
    for one in (file, kernel):
        one.write_text("{}")
    lab.settle(tmp_path)
    assert file.read_text() == kernel.read_text() == "{}"


def test_the_extension_that_finds_a_heading_is_where_jupyterlab_looks(tmp_path: Path) -> None:
    lab.settle(tmp_path)
    (manifest,) = (tmp_path / ".jupyter" / "data" / "labextensions").rglob("package.json")
    build = json.loads(manifest.read_text())["jupyterlab"]["_build"]
    script = (manifest.parent / build["load"]).read_text()
    assert f'_JUPYTERLAB["{manifest.parent.name}"]' in script and "http" not in script


def test_a_server_that_was_killed_is_not_taken_for_a_running_one(tmp_path: Path) -> None:
    runtime = tmp_path / ".jupyter" / "runtime"
    runtime.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dead = {"url": f"http://127.0.0.1:{port}/", "token": "t"}
    (runtime / "jpserver-1.json").write_text(json.dumps(dead))
    (runtime / "jpserver-2.json").write_text("{")
    (runtime / "jpserver-3.json").write_text("{}")
    assert lab.running(tmp_path) is None


# quiz, progress, check


def answers(*lines: str) -> Any:
    """An `ask` that gives these lines and then ends the input."""
    left = list(lines)

    def ask(_: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return ask


def test_the_chapters_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["quiz"]) == 0
    out = capsys.readouterr().out
    assert "03" in out and "Softmax in blocks" in out


def test_every_question_can_be_answered_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Each kind is read into what grading takes, and what was answered is there the next time."""
    from fa_toolkit.quiz import load_bank

    kinds = {question.kind for question in load_bank().questions.values()}
    assert kinds >= {"choice", "many", "number", "order", "match", "trace"}
    chapter = load_bank().chapter(3)

    def ask(_: str) -> str:
        question = at[0].question
        if question.kind == "order":
            return "".join("ABCDEFGHI"[: len(question.items)][::-1])
        return {"choice": "A", "many": "A, B", "match": "1A 2 B 3-A"}.get(question.kind, "1")

    from fa_toolkit.quiz import session

    at: list[session.Session] = []
    real = session.Session.go

    def go(self: session.Session, position: int) -> None:
        at[:] = [self]
        real(self, position)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session.Session, "go", go)
        assert terminal.quiz(3, ask=ask) == 0
    total = len(chapter.questions)
    assert f"{total} of {total} answered" in capsys.readouterr().out
    assert terminal.quiz(3, ask=answers()) == 0
    again = capsys.readouterr().out
    assert again.count("answered already") == total
    assert cli.main(["progress"]) == 0
    assert f"answered: {total}" in capsys.readouterr().out


def test_what_cannot_be_read_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal.quiz(0, ask=answers("Z", "AB", "?", "A", "q")) == 0
    out = capsys.readouterr().out
    assert "Z is not among the letters shown" in out and "AB: not read as one letter" in out
    assert "1 of " in out


def test_a_table_is_asked_by_name_and_skipped_by_an_empty_first_cell() -> None:
    shown = {
        "columns": ["m", "l"],
        "rows": [
            {"name": "after <code>[1, 2]</code>", "cells": [{"given": "2"}, {"cell": "a"}]},
            {"name": "after [3, 4]", "cells": [{"cell": "b"}, {"cell": "c"}]},
        ],
    }
    asked: list[str] = []

    def read(*lines: str) -> dict[str, str] | None:
        ask = answers(*lines)
        return terminal._read_table(shown, lambda prompt: (asked.append(prompt), ask(prompt))[1])

    assert read("1", "", "3") == {"a": "1", "c": "3"}
    assert asked == ["after [1, 2]: l = ", "after [3, 4]: m = ", "after [3, 4]: l = "]
    assert read("") is None


def test_leaving_and_skipping_keep_what_was_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal.quiz(0, ask=answers("", "", "Q")) == 0
    assert "0 of " in capsys.readouterr().out
    assert cli.main(["quiz", "77"]) == cli.MISUSED
    assert "Traceback" not in capsys.readouterr().err


def test_a_solution_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "我的 solution.py"
    file.write_text("def _help(): ...\ndef one(x): return x\n")
    assert terminal.load_function(str(file))(3) == 3
    file.write_text("def one(x): return x\ndef two(x): return 2 * x\n")
    assert terminal.load_function(f"{file}:two")(3) == 6
    for target in (str(file), f"{file}:three", str(tmp_path / "none.py"), str(tmp_path)):
        with pytest.raises(ArgumentError):
            terminal.load_function(target)
    assert cli.main(["check"]) == 0
    listed = capsys.readouterr().out.split()
    exercise = next(word for word in listed if word[:2].isdigit())
    file.write_text("def wrong(*args, **more): return None\n")
    assert cli.main(["check", exercise, str(file)]) == cli.NOT_SO
    assert cli.main(["check", "99.none", str(file)]) == cli.MISUSED
    assert cli.main(["check", exercise]) == cli.MISUSED


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["03.merge"], "fa: file: expected the Python file of your solution, got none."),
        (["nope"], "fa: exercise_id: expected the id of an exercise, got 'nope'."),
        (["my/03.ipynb"], "Try: fa check --notebook my/03.ipynb."),
    ],
)
def test_what_cannot_be_checked_is_a_sentence_and_no_list(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", *given]) == cli.MISUSED
    told = capsys.readouterr()
    assert said in told.err and not told.out


@pytest.mark.parametrize(
    "given",
    [
        ["lab", "--study", ""], ["lab", ""], ["book", "--out", ""], ["book", "--chapters", " "],
        ["bench", "--json", ""], ["progress", "--export", ""], ["interview", "--save="],
        ["interview", "--topics", ""], ["quiz", "--bank", ""], ["check", ""], ["check", "a", ""],
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_empty_value_is_none(
    given: list[str], lang: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--lang", lang, *given])
    assert ended.value.code == cli.MISUSED
    assert {"en": "expected one argument", "zh": "后面要写一个值"}[lang] in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [PermissionError(13, "no", "/a b"), IsADirectoryError(21, "no", "/a b")]
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_file_that_cannot_be_used_is_named_in_a_sentence(
    error: OSError, lang: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: Any) -> int:
        raise error

    monkeypatch.setattr(cli, "_doctor", run)
    monkeypatch.setattr(cli, "_silence", lambda: None)
    assert cli.main(["--lang", lang, "doctor"]) == cli.NOT_SO
    said = capsys.readouterr().err
    assert said.startswith({"en": "fa: /a b: expected ", "zh": "fa: /a b：应为"}[lang])
    assert "Errno" not in said


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def factor(a, b:\n", "SyntaxError: '(' was never closed (solution.py, line 1)"),
        ("\nimport nosuch\n", "ModuleNotFoundError in line 2 of "),
        ("raise SystemExit('no')\n", "SystemExit in line 1 of "),
        ("x = 1\n", "a file that defines factor"),
        ("def one(): ...\ndef two(): ...\n", "one of its functions (one, two)"),
    ],
)
def test_a_solution_that_cannot_be_used_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    file = tmp_path / "solution.py"
    file.write_text(source)
    assert cli.main(["check", "00.factor", str(file)]) == cli.MISUSED
    assert said in capsys.readouterr().err


def test_among_several_functions_the_one_of_the_exercise_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "solution.py"
    file.write_text(
        "import math\ndef help(): ...\ndef factor(old, new): return math.exp(old - new)\n"
    )
    assert cli.main(["check", "00.factor", str(file)]) == 0
    caught = capsys.readouterr()
    assert "passed" in caught.out and not caught.err, "nothing is said of Triton where none is used"


# the wheel


@pytest.mark.slow
def test_the_wheel_works_outside_the_checkout(tmp_path: Path) -> None:
    wheel_builder = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling")
    (built,) = wheel_builder.WheelBuilder(str(ROOT)).build(
        directory=str(tmp_path), versions=["standard"]
    )
    with zipfile.ZipFile(built) as wheel:
        names = wheel.namelist()
        wheel.extractall(tmp_path / "site")
    assert "fa_toolkit/_data/quizzes/source/claims.yaml" in names
    assert "fa_toolkit/_data/notebooks/00_start_here.ipynb" in names
    assert not [name for name in names if name.startswith(("tests/", "setup/", "notebooks/"))]
    code = (
        "import sys; from fa_toolkit import study; from fa_toolkit.quiz import load_bank\n"
        "update = study.prepare()\n"
        "assert study.checkout() is None and len(update.copied) >= 7, update\n"
        "assert len(load_bank().questions) > 50\n"
        "print(study.__file__)"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": str(tmp_path / "site"), "FA_STUDY": str(tmp_path / "s")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert str(tmp_path) in ran.stdout


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["quiz", "abc"], ["lab", "--port"], ["progress", "foo"], ["--lang", "xx"]],
    ids=" ".join,
)
def test_a_misused_command_is_told_in_the_language_in_force(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FA_LANG", "zh")
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == cli.MISUSED
    said = capsys.readouterr().err
    assert not re.search("usage|error|invalid|required|expected|unrecognized|argument", said), said


def test_chinese_help_has_no_english_heading(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ([], ["lab"], ["quiz"], ["check"]):
        said = help_of("--lang", "zh", *command, capsys=capsys)
        assert not re.search("usage|arguments|options|show", said), said


@pytest.mark.skipif(sys.platform == "win32", reason="a shell that closes streams")
@pytest.mark.parametrize(
    ("stream", "code"), [("<&-", 0), (">&-", 0), (">/dev/full", 1), ("</dev/null", 0)]
)
def test_a_closed_or_full_stream_is_no_traceback(stream: str, code: int, tmp_path: Path) -> None:
    if "/dev/full" in stream and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    ran = subprocess.run(
        f'"{sys.executable}" -m fa_toolkit quiz 3 {stream}',
        shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr and ran.returncode == code, ran.stderr


@pytest.mark.parametrize("command", [["quiz", "12"], ["interview", "--all"]], ids=" ".join)
def test_an_answer_that_the_encoding_cannot_read_is_no_traceback(
    command: list[str], tmp_path: Path
) -> None:
    typed = "最大值和总和都要修正 é\n".encode() + b"\xff\nq\n"
    ran = subprocess.run(
        [sys.executable, "-m", "fa_toolkit", *command],
        cwd=ROOT, capture_output=True, timeout=120, check=False, input=typed,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert ran.returncode == 0 and b"Traceback" not in ran.stderr, ran.stderr
    if command[0] == "quiz":  # its first question takes words, and these were read
        assert b"1 of " in ran.stdout, ran.stdout


def test_a_width_of_nothing_is_an_unknown_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    assert terminal.console().width >= 40
    assert cli.main(["progress"]) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_encoding_without_our_signs_is_no_traceback(lang: str) -> None:
    for encoding in ("ascii", "cp1252"):
        ran = subprocess.run(
            [sys.executable, "-m", "fa_toolkit", "quiz", "3", "--lang", lang],
            cwd=ROOT, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )  # fmt: skip
        assert ran.returncode == 0 and b"Traceback" not in ran.stderr, ran.stderr
