"""A run ends at its end, its budget, Ctrl-C or a lost device, and keeps what it has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import FakeTimer

from fa_toolkit.bench import cpu, session
from fa_toolkit.bench.failures import DeviceLost
from fa_toolkit.bench.plans import Plan, plan_of
from fa_toolkit.bench.session import measure
from fa_toolkit.measured import Run, dump, load, problems_of
from fa_toolkit.measured.adopt import speed_of
from fa_toolkit.problem import AttentionProblem


def small(length: int) -> AttentionProblem:
    return AttentionProblem(1, 1, 1, length, length, 16, dtype="float32", causal=True)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setattr(cpu, "problems", lambda extent, asked=(): [small(32), small(48)])
    return plan_of("quick")


def rows_of(provider: str, length: int) -> dict[str, tuple[Any, ...]]:
    return {"speeds": (speed_of(provider, "forward", small(length), 1.0),)}


def pieces(*steps: Callable[[], dict[str, tuple[Any, ...]]]) -> Callable[..., Iterator[Any]]:
    return lambda *_: ((f"step {at}", step) for at, step in enumerate(steps))


def test_a_cpu_run_is_whole_believable_and_survives_its_file(quick: Plan, tmp_path: Path) -> None:
    kept: list[Run] = []
    told: list[str] = []
    run = measure(quick, gpu=False, timer=FakeTimer(), tell=told.append, keep=kept.append)
    assert run.complete and not run.left_out and len(told) == 3
    assert {(row.provider, row.problem.len_q) for row in run.speeds} == {
        (name, n) for name in ("ours_tiled", "eager") for n in (32, 48)
    }
    assert len(run.memories) == 4 and len(run.bills) == 4 and not any(r.failed for r in run.speeds)
    assert run.provenance.device.startswith("CPU") and "torch" in run.provenance.versions
    assert not run.method.cold_l2, "the method of a CPU is its own"
    file = tmp_path / "run.json"
    file.write_text(dump(run), encoding="utf-8")
    assert dump(load(file)) == dump(run)
    assert problems_of(load(file)) == ["id is missing"]
    # kept after each case, so that a crash loses one case at most
    assert [len(each.speeds) for each in kept] == [0, 2, 4, 4]
    assert [each.complete for each in kept] == [False, False, False, True]


def test_after_its_budget_no_case_starts(quick: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        session, "_pieces", pieces(lambda: rows_of("a", 16), lambda: rows_of("a", 32), lambda: {})
    )
    seconds = itertools.count(0.0, 25.0)  # quick has 60
    told: list[str] = []
    run = measure(
        quick, gpu=False, timer=FakeTimer(), tell=told.append, clock=lambda: next(seconds)
    )
    assert [row.problem.len_q for row in run.speeds] == [16]
    assert run.left_out == ("step 1", "step 2") and not run.complete
    assert "2" in told[-1] and "60" in told[-1]


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), DeviceLost("illegal memory access")])
def test_what_was_measured_before_a_stop_is_kept(
    stop: BaseException, quick: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped() -> dict[str, tuple[Any, ...]]:
        raise stop

    never: list[int] = []
    monkeypatch.setattr(
        session,
        "_pieces",
        pieces(lambda: rows_of("a", 16), stopped, lambda: never.append(1) or {}),  # type: ignore[func-returns-value]
    )
    kept: list[Run] = []
    run = measure(quick, gpu=False, timer=FakeTimer(), tell=lambda line: None, keep=kept.append)
    assert [row.provider for row in run.speeds] == ["a"] and not run.complete and not never
    assert kept[-1] == run


def test_the_pieces_of_a_gpu_run_follow_its_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_ready", lambda plan, known=(): ([], {}))

    def names(*suites: str) -> list[str]:
        plan = plan_of("quick", suites=suites, head_dims=[64], lengths=[1024])
        return [what.split()[0] for what, _ in session._pieces(plan, FakeTimer(), True)]

    assert names() == ["ceilings", "host", "memory", "B16"]
    assert names("memory") == ["memory"] and names("host") == ["host"]
    assert names("decode") == ["ceilings", "B16"]
    assert names("ablations") == ["ablations", "ablations"]
    assert names("forward", "ablations") == ["ceilings", "ablations"]


def test_absent_providers_say_why() -> None:
    absent = session._absent(plan_of(), True)
    assert "flex" in absent and "--full" in absent["flex"]
    assert "ModuleNotFoundError" in absent["xformers"] or "ImportError" in absent["xformers"]
    assert "ours" not in absent and session._absent(plan_of(), False) == {}
