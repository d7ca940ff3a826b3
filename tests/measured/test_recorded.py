"""The recorded runs: where each came from, whether its numbers agree, and some read off by hand."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit import hardware, language, measured
from fa_toolkit.bench.host import over_sdpa
from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.measured import Run, Speed, problems_of
from fa_toolkit.measured.checks import last_place
from fa_toolkit.problem import AttentionProblem

RUNS = measured.runs()


def find(**wanted: object) -> Speed:
    length = wanted.pop("length")
    rows = measured.speeds(**{"grouped": False, **wanted})  # type: ignore[arg-type]
    [row] = [row for row in rows if row.problem.len_k == length]
    return row


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.id)
def test_every_run_has_its_provenance_and_agrees_with_itself(run: Run) -> None:
    assert problems_of(run) == []
    assert set(run.provenance.versions) >= {"torch"}


def test_ids_are_unique_and_name_their_file() -> None:
    files = {path.stem for path in Path(measured.__file__).parent.joinpath("data").glob("*.json")}
    assert {run.id.replace("-", "_") for run in RUNS} == files
    assert len(RUNS) == len(files) >= 3


@pytest.mark.parametrize(
    ("wanted", "tflops"),
    [
        (("fa3", "forward", 128, True, 16384, "burst"), 727),
        (("fa4", "forward", 64, False, 512, "burst"), 323),
        (("sdpa_cudnn", "forward", 64, False, 512, "burst"), 385),
        (("tutorial_ws", "forward", 128, False, 16384, "burst"), 612),
        (("tutorial", "backward", 128, False, 16384, "burst"), 104),
        (("fa3_xformers", "backward", 256, True, 4096, "burst"), 449),
        (("flex", "backward", 128, False, 16384, "unpaced"), 415),
        (("eager", "forward", 128, True, 8192, "unpaced"), 25),
        (("sdpa_flash", "backward", 64, True, 8192, "sustained"), 256),
    ],
)
def test_numbers_read_off_by_hand(
    wanted: tuple[str, str, int, bool, int, str], tflops: int
) -> None:
    provider, pass_, head_dim, causal, length, regime = wanted
    row = find(
        provider=provider, pass_=pass_, head_dim=head_dim, causal=causal, length=length,
        regime=regime, run_id="h200-peers",
    )  # fmt: skip
    assert row.tflops == tflops and row.run == "h200-peers"


def test_the_tables_are_whole() -> None:
    """Four full tables of six lengths, two short ones, forward and backward; GQA; decode."""
    fa3 = measured.peers(provider="fa3", regime="burst", pass_="forward", grouped=False)
    assert len(fa3) == 4 * 6 + 2 * 3
    assert len(measured.peers(provider="sdpa_flash", regime="burst", grouped=False)) == 2 * 30
    assert len(measured.peers(grouped=True, regime="burst", pass_="backward")) == 4
    assert len(measured.peers(pass_="decode", provider="sdpa_cudnn")) == 4
    assert len(measured.ratios()) == 4 * 6
    assert {row.regime for row in measured.peers(provider="flashinfer", pass_="forward")} == {
        "unpaced"
    }


def test_decode_and_memory() -> None:
    row = measured.peers(provider="sdpa_cudnn", pass_="decode")[-1]
    assert (row.problem.len_k, row.gbps, row.ms) == (65536, 4378, 0.491)
    eager = {
        (m.pass_, m.problem.len_q): m
        for m in measured.memory(provider="eager", run_id="h200-memory")
    }
    assert eager["forward", 32768].mib == 32800
    assert eager["training", 65536].failed == "out of memory"
    flash = measured.memory(provider="sdpa_flash", run_id="h200-memory")
    assert [m.mib for m in flash if m.pass_ == "training"][-1] == 1032


@pytest.mark.parametrize(
    "wanted",
    [
        {"pass_": "forwards"}, {"pass_": 3}, {"head_dim": "128"}, {"head_dim": 128.5},
        {"causal": "yes"}, {"causal": 1},
    ],
)  # fmt: skip
def test_a_filter_that_no_row_could_fit_is_refused(wanted: dict[str, Any]) -> None:
    name = next(iter(wanted))
    for ask in (measured.speeds, measured.peers, measured.ours, measured.ablations):
        with pytest.raises(ArgumentError, match=f"^{name}: expected"):
            ask(**wanted)
    for more in ({"regime": "quick"}, {"grouped": "no"}, {"dtype": "int8"}, {"provider": 3}):
        with pytest.raises(ArgumentError, match=next(iter(more))):
            measured.speeds(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize("id", [None, 5, [], {}, "h200-peer", b"h200-peers"])
def test_a_run_that_is_none_is_refused(id: Any) -> None:
    with pytest.raises(UnknownNameError, match="h200-"):
        measured.run(id)


def test_rows_of_two_runs_are_never_mixed() -> None:
    for rows in (measured.memory(), measured.hosts(), measured.ours(), measured.peers()):
        assert rows and len({row.run for row in rows}) == 1


def test_our_memory_is_at_the_floor() -> None:
    """o and lse; for training o, three gradients and two rows of statistics: nothing else."""
    mine = [m for m in measured.memory() if m.provider == "ours_readable" and m.mib]
    assert max(m.problem.len_q for m in mine) == 2**17
    for m in mine:
        p = m.problem
        rows = p.batch * p.heads_q * p.len_q
        tensors, vectors = (1, 1) if m.pass_ == "forward" else (4, 2)
        floor = rows * (tensors * p.head_dim * p.itemsize + vectors * 4)
        assert m.mib == pytest.approx(floor / 2**20, rel=0.01)


def test_a_call_costs_its_host_no_more_than_that_of_torch() -> None:
    """At most 30 microseconds above SDPA's flash backend at N = 512; a graph's replay less still."""
    over = over_sdpa(measured.hosts())
    assert {"ours", "ours_readable", "ours_hopper"} <= set(over)
    assert all(microseconds < 30 for microseconds in over.values())


def test_bandwidths_are_those_of_the_hardware_record() -> None:
    reached = {row.name: row.value for row in measured.bandwidths()}
    record = hardware.gpu("h200").measured
    assert reached["hbm_read"] == record["hbm_bandwidth"].value
    assert reached["l2_read"] == record["l2_bandwidth"].value
    assert reached["shared_read"] == record["sram_bandwidth"].value
    assert reached["hbm_copy"] < reached["hbm_write"] < reached["l2_read"] < reached["shared_read"]


def test_a_time_follows_from_a_rate() -> None:
    row = find(provider="fa4", pass_="forward", head_dim=128, causal=False, length=4096,
               regime="burst", run_id="h200-peers")  # fmt: skip
    assert row.ms is None and row.milliseconds == pytest.approx(4 * 2048 * 16384 * 4096 / 689e9)


def _broken(run: Run, **changes: object) -> list[str]:
    first, *rest = run.speeds
    return problems_of(
        dataclasses.replace(run, speeds=(dataclasses.replace(first, **changes), *rest))  # type: ignore[arg-type]
    )


def test_what_is_wrong_is_seen() -> None:
    run = measured.run("h200-peers")
    best = find(provider="fa3", pass_="forward", head_dim=128, causal=True, length=16384,
                regime="burst", run_id="h200-peers")  # fmt: skip
    run = dataclasses.replace(run, speeds=(best,), ratios=())
    assert best.ms is not None and problems_of(run) == []
    assert _broken(run, ms=best.ms * 1.01)
    assert _broken(run, tflops=None)
    assert _broken(run, tflops=float("nan"))
    assert _broken(run, errors={"o": float("nan")})
    assert problems_of(dataclasses.replace(run, speeds=(best, best)))
    assert problems_of(dataclasses.replace(run, speeds=()))
    for name in ("device", "driver", "date", "command", "source"):
        gone = dataclasses.replace(run.provenance, **{name: ""})
        assert problems_of(dataclasses.replace(run, provenance=gone)), name
    no_torch = dataclasses.replace(run.provenance, versions={"triton": "3.6.0"})
    assert problems_of(dataclasses.replace(run, provenance=no_torch))
    wrong = dataclasses.replace(measured.ratios()[0], best=(1.0, 2.0, 3.0))
    assert problems_of(dataclasses.replace(run, ratios=(wrong,)))


@pytest.mark.parametrize(("value", "half"), [(320, 0.5), (1.0, 0.5), (4.25, 0.005), (2e-05, 5e-06)])
def test_last_place(value: float, half: float) -> None:
    assert last_place(value) == pytest.approx(half)


def test_counted_flops_are_the_model_s_but_for_the_diagonal() -> None:
    from fa_toolkit.io_model import backward_flops, forward_flops

    for causal in (False, True):
        p = AttentionProblem(2, 4, 2, 512, 512, 64, causal=causal)
        diagonal = 513 / 512 if causal else 1
        assert measured.counted_flops(p, "forward") * diagonal == forward_flops(p)
        assert measured.counted_flops(p, "backward") * diagonal == backward_flops(p)


def test_an_unknown_run_lists_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="h200-peers"):
        measured.run("h200-pears")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_provenance_and_method_are_said_in_both_languages(lang: str) -> None:
    with language.using(lang):
        run = measured.run("h200-peers")
        said = f"{run.provenance.line()} {run.method.line()} {measured.label('tutorial')}"
    assert "NVIDIA H200" in said and "580.159" in said and "2026-11-29" in said and "0.15" in said
    assert ("清空" in said) == (lang == "zh") and ("教程" in said) == (lang == "zh")


def test_reading_needs_nothing_heavy() -> None:
    code = (
        "import sys, fa_toolkit as fa; assert fa.measured.peers(provider='fa3')\n"
        "heavy = {'torch', 'triton', 'numpy', 'matplotlib', 'rich', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                         cwd=Path(__file__).parents[2])  # fmt: skip
    assert ran.returncode == 0, ran.stderr
