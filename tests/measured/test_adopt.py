"""Result files become recorded runs only when they are whole and agree with themselves."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit.errors import ArgumentError
from fa_toolkit.language import Text
from fa_toolkit.measured import counted_flops, dump, load, run
from fa_toolkit.measured.adopt import adopt, main, speed_of
from fa_toolkit.problem import AttentionProblem

TITLE = Text("A run", "一次测量")


def row(**changes: Any) -> dict[str, Any]:
    base = {"provider": "tut06", "pass": "bwd", "D": 128, "N": 4096, "causal": True, "B": 4,
            "Hq": 16, "Hk": 16, "Nq": 4096, "err": {"dq": 2e-3}, "ms": 3.1234567,
            "ms_rounds": [3.12, 3.13], "tflops": 1.0, "timer": "eager"}  # fmt: skip
    return {**base, **changes}


def harness(**changes: Any) -> dict[str, Any]:
    base = {
        "env": {"torch": "2.11.0", "triton": "3.6.0", "gpu": "NVIDIA H200", "cudnn": 91900,
                "smi": "580.159, 345 MHz, 3201 MHz, 700.00 W, 30"},
        "args": {"suite": "main", "gap_s": 0.2, "rep_ms": 25.0},
        "absent": {"flex": "ImportError"},
        "results": [row(), row(provider="ours:flash_attention", ms=2.5, ms_sustained=2.75,
                               sm_mhz=1700.0, watts=650.0)],
        "memory": [],
    }  # fmt: skip
    return {**base, **changes}


def written(data: object, folder: Path) -> Path:
    path = folder / "result.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_a_side_by_side_file_is_taken_in(tmp_path: Path) -> None:
    kept = load(adopt(written(harness(), tmp_path), id="h200-x", title=TITLE, folder=tmp_path,
                      date="2026-11-30"))  # fmt: skip
    assert (kept.id, kept.title, kept.provenance.driver) == ("h200-x", TITLE, "580.159")
    assert kept.provenance.power_limit_w == 700 and kept.method.pause_s == 0.2
    assert "--suite main" in kept.provenance.command and kept.absent == {"flex": "ImportError"}
    tutorial, ours, sustained = kept.speeds
    assert [tutorial.provider, ours.provider, sustained.regime] == ["tutorial", "ours", "sustained"]
    problem = AttentionProblem(4, 16, 16, 4096, 4096, 128, dtype="bfloat16", causal=True)
    assert tutorial.problem == problem and tutorial.errors == {"dq": 2e-3}
    # the rate is computed anew: the file's own is never trusted
    assert tutorial.tflops == pytest.approx(counted_flops(problem, "backward") / 3.1234567e9, 1e-5)
    assert (sustained.clock_mhz, sustained.watts) == (1700.0, 650.0)


def test_our_two_sets_keep_their_names_and_what_was_left_out_is_said(tmp_path: Path) -> None:
    ours = [row(provider=f"ours:{name}") for name in ("hopper", "readable", "flash_attention")]
    file = written(harness(results=ours, left_out=["a case"]), tmp_path)
    kept = load(adopt(file, id="h200-x", title=TITLE, folder=tmp_path, date="2026-12-01"))
    assert [each.provider for each in kept.speeds] == ["ours_hopper", "ours_readable", "ours"]
    assert kept.left_out == ("a case",)


def test_decode_and_memory_and_failures_of_a_side_by_side_file(tmp_path: Path) -> None:
    decode = row(Nq=1, N=8192, causal=False, ms=0.08, **{"pass": "fwd"})
    wrong = row(provider="fa4", error="RuntimeError: no")
    del wrong["ms"]
    peak = {**row(), "pass": "fwd+bwd", "peak_mib": 12.5}
    lost = {**row(provider="eager"), "pass": "fwd", "error": "out of memory"}
    data = harness(results=[decode, wrong], memory=[peak, lost])
    path = adopt(written(data, tmp_path), id="d", title=TITLE, folder=tmp_path, date="2026-11-30")
    kept = load(path)
    assert kept.speeds[0].pass_ == "decode" and kept.speeds[0].gbps
    assert kept.speeds[1].failed == "RuntimeError: no"
    assert [(m.pass_, m.mib, m.failed) for m in kept.memories] == [
        ("training", 12.5, ""),
        ("forward", None, "out of memory"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        harness(results=[], memory=[]),
        harness(env={"torch": "2.11.0"}),
        harness(results=[row(err={"dq": 0.4})]),
        harness(results=[row(), row()]),
        {"schema": "fa-measured/0"},
    ],
    ids=["no rows", "no device", "wrong output", "twice", "schema"],
)
def test_what_cannot_be_believed_is_refused(data: dict[str, Any], tmp_path: Path) -> None:
    file = written(data, tmp_path)
    with pytest.raises(ArgumentError):
        adopt(file, id="x", title=TITLE, folder=tmp_path, date="2026-11-30")
    assert list(tmp_path.iterdir()) == [file]


def test_without_a_date_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="date"):
        adopt(written(harness(), tmp_path), id="x", title=TITLE, folder=tmp_path)


def test_a_run_survives_the_file(tmp_path: Path) -> None:
    before = run("h200-memory")
    again = load(adopt(written(dump(before), tmp_path), id="again", title=TITLE, folder=tmp_path))
    same = dataclasses.replace(again, id=before.id, title=before.title)
    assert dump(same) == dump(before)


def test_a_broken_file_is_a_sentence(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"schema": "fa-measured/1"}'):
        with pytest.raises(ArgumentError):
            load(written(text, tmp_path))


def test_the_rate_of_a_row_follows_from_its_rounded_time() -> None:
    problem = AttentionProblem(1, 8, 8, 512, 512, 64)
    made = speed_of("ours", "forward", problem, 0.12345678901)
    assert made.ms == 0.123457 and made.tflops == pytest.approx(
        4 * 8 * 512**2 * 64 / 0.123457 / 1e9, rel=1e-5
    )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(harness(), tmp_path)
    arguments = [str(file), "--id", "h200-cmd", "--title", "A", "甲", "--date", "2026-11-30",
                 "--folder", str(tmp_path), "--source", "the harness"]  # fmt: skip
    assert main(arguments) == 0
    kept = load(Path(capsys.readouterr().out.strip()))
    assert kept.title == Text("A", "甲") and kept.provenance.source == "the harness"
