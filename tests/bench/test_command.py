"""`fa bench` from end to end on a CPU, and where only torch is installed."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fa_toolkit import cli, language, measured
from fa_toolkit.bench import command, cpu
from fa_toolkit.measured import load
from fa_toolkit.measured.adopt import speed_of
from fa_toolkit.problem import AttentionProblem

ROOT = Path(__file__).parents[2]
#: what the GPU machine of a recorded run need not have
WITHOUT = ("rich", "matplotlib", "pydantic", "yaml", "platformdirs", "packaging", "numpy.testing")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    sizes = [AttentionProblem(1, 1, 1, n, n, 16, dtype="float32", causal=True) for n in (32, 64)]
    monkeypatch.setattr(cpu, "problems", lambda extent, asked=(): sizes)
    monkeypatch.setenv("FA_LANG", "en")
    monkeypatch.setattr(language, "_started", [])
    yield


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_on_a_cpu_it_measures_what_is_honest_and_shows_what_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new folder" / "run.json"
    assert cli.main(["bench", "--quick", "--json", str(file)]) == cli.DONE
    said = capsys.readouterr().out
    assert said.startswith("No GPU here") and "recorded" in said.splitlines()[0]
    assert said.index("ours, tiled torch") < said.index("Recorded, not measured here")
    assert "NVIDIA H200" in said and "FA4" in said and "2026-" in said
    assert said.index("Recorded, not") < said.index("ours, for Hopper"), "ours beside the others"
    run = load(file)
    assert run.complete and run.provenance.command == f"fa bench --quick --json {file}"
    assert run.id.startswith("bench-2") and {b.algorithm for b in run.bills}


def test_the_recorded_table_is_of_the_newest_run_that_has_most_beside_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peers = measured.run("h200-peers")

    def with_ours(id: str, head_dim: int, *others: str) -> measured.Run:
        p = AttentionProblem(1, 16, 16, 4096, 4096, head_dim, dtype="bfloat16", causal=True)
        rows = tuple(speed_of(name, "forward", p, 1.0) for name in ("ours_hopper", *others))
        return dataclasses.replace(peers, id=id, speeds=rows)

    runs = (peers, with_ours("old", 128, "fa3"), with_ours("new", 128, "fa4"),
            with_ours("alone", 128), with_ours("narrow", 64, "fa3", "fa4"))  # fmt: skip
    monkeypatch.setattr(measured, "runs", lambda: runs)
    assert command._recorded().id == "new", "D = 64 is not what is shown"


def test_it_speaks_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--quick", "--lang", "zh"]) == cli.DONE
    said = capsys.readouterr()
    assert said.out.startswith("这里没有 GPU") and "峰值内存" in said.out and "秒]" in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--suite", "speed"],
        ["--dims", "many"],
        ["--lengths", "0"],
        ["--lengths", "64,x"],
        ["--json", "/dev/null/x/run.json"],
        ["--budget", "nan"],
        ["--budget", "-1"],
        ["--sustain", "inf"],
        ["--json", "/proc/run.json"],  # the folder is there
        ["--json", "/tmp"],
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_sentence_before_anything_is_measured(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fa_toolkit.bench import session

    monkeypatch.setattr(session, "measure", lambda *a, **k: pytest.fail("measured"))
    assert cli.main(["bench", *arguments]) == cli.MISUSED
    said = capsys.readouterr().err
    assert said.startswith("fa: ") and "Traceback" not in said


def test_a_case_that_memory_cannot_hold_is_a_line_and_the_next_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cases(extent: str, asked: object = ()) -> list[AttentionProblem]:
        return [AttentionProblem(len_q=n, len_k=n, dtype="float32") for n in (10**13, 32)]

    monkeypatch.setattr(cpu, "problems", cases)
    file = tmp_path / "run.json"
    assert cli.main(["bench", "--json", str(file)]) == cli.DONE
    assert "out of memory" in capsys.readouterr().err
    kept = load(file)
    assert len(kept.left_out) == 1 and {row.problem.len_k for row in kept.speeds} == {32}


def test_what_a_cpu_does_not_look_at_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cpu, "problems", lambda extent, asked=(): [])
    mine = tmp_path / "mine.py"
    mine.write_text("def f(q, k, v, *, causal): return q\n")
    given = ["--also", f"{mine}:f", "--providers", "fa3", "--mask", "full"]
    assert cli.main(["bench", *given]) == cli.DONE
    said = capsys.readouterr().out
    assert "Without a GPU this has no effect: --providers, --also, --mask." in said
    assert cli.main(["bench", "--lengths", "512", "--mask", "full"]) == cli.DONE
    assert "no effect" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--also", "nofile.py:attention"], "nofile.py"),
        (["--also", "mine.py"], "module:function"),
        (["--also", "json:nothing"], "json:nothing"),
        (["--plot", "rates.png"], "a folder for the pictures"),
    ],
)
def test_what_cannot_be_used_is_named_before_anything_is_measured(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *arguments]) == cli.MISUSED
    told = capsys.readouterr()
    assert said in told.err and "measured" not in told.out


def test_plots_without_matplotlib_are_refused_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["bench", "--plot", str(tmp_path)]) == cli.MISUSED
    assert "matplotlib" in capsys.readouterr().err


def test_a_stopped_run_says_so_in_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(extent: str, asked: object = ()) -> list[AttentionProblem]:
        raise KeyboardInterrupt

    monkeypatch.setattr(cpu, "problems", stop)
    file = tmp_path / "run.json"
    assert cli.main(["bench", "--json", str(file)]) == cli.INTERRUPTED
    kept = load(file)
    assert kept.bills and not kept.complete


def test_it_runs_where_only_torch_is_installed(tmp_path: Path) -> None:
    """No rich, matplotlib, pydantic: their import is an error, and the JSON is there all the same."""
    blocked = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name in {WITHOUT!r} or name.partition('.')[0] in {WITHOUT!r}:
            raise ImportError(f"blocked: {{name}}")
sys.meta_path.insert(0, Block())
from fa_toolkit.bench import cpu
from fa_toolkit.problem import AttentionProblem
cpu.problems = lambda extent, asked=(): [AttentionProblem(1, 1, 1, 32, 32, 16, dtype="float32")]
from fa_toolkit.bench.command import main
sys.exit(main(["--quick", "--json", {str(tmp_path / "run.json")!r}]))
"""
    ran = subprocess.run([sys.executable, "-c", blocked], cwd=ROOT, capture_output=True, text=True,
                         check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    data = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert data["schema"] == "fa-measured/1" and data["speeds"]


def test_the_module_answers_for_help() -> None:
    ran = subprocess.run([sys.executable, "-m", "fa_toolkit.bench", "--help", "--lang", "zh"],
                         cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    assert ran.returncode == 0 and "--json" in ran.stdout and "把图画到" in ran.stdout


def test_asking_for_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom fa_toolkit import cli\n"
        "try: cli.main(['bench', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'triton', 'numpy', 'matplotlib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                         check=False)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
