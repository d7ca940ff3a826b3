"""Runs a plan to its end, its budget, or Ctrl-C, whichever comes first, and keeps what it has."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ..language import Text, say
from ..measured import Method, Run, Speed, case_name, label
from ..problem import AttentionProblem
from . import cpu
from .ceilings import measure_ceilings
from .decode import DECODERS, measure_decode
from .environment import provenance
from .failures import DeviceLost, explained, free_memory, said
from .host import measure_host
from .installed import INSTALLED
from .memory import measure_memory
from .plans import COMPILED_LENGTHS, LEFT_OUT_TO_COMPILE, SLOW_TO_COMPILE, Plan
from .providers import BUILT_IN, Ready, also, find
from .speed import measure_case
from .timing import CpuTimer, GpuTimer, Timer

Tell = Callable[[str], None]
Keep = Callable[[Run], None]
Piece = tuple[str, Callable[[], dict[str, tuple[Any, ...]]]]

_TITLE = Text("fa bench on {device}", "fa bench，{device}")
_STEP = Text("[{seconds:5.0f} s] {what}", "[{seconds:5.0f} 秒] {what}")
_STOPPED = Text("stopped; what was measured is kept", "已停止，测到的都保留")
_LOST = Text(
    "the GPU does not answer any more: {why}; what was measured is kept",
    "GPU 不再响应：{why}；测到的都保留",
)
_BUDGET = Text("{n} cases left out: {budget:g} s are over", "超过 {budget:g} 秒，略去 {n} 项")

CPU_METHOD = Method(0.0, 300.0, rounds=2, cold_l2=False, graph_below_ms=None)


def measure(
    plan: Plan,
    *,
    command: str = "fa bench",
    gpu: bool | None = None,
    timer: Timer | None = None,
    tell: Tell = print,
    keep: Keep = lambda run: None,
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Measure what `plan` asks for and return it as a run.

    Args:
        gpu: whether to use one; None: if torch sees one.
        timer: of the calls; None: the one for the device.
        tell: gets one line for each case.
        keep: gets the run so far after each case, so that nothing is lost.
    """
    on_gpu = torch.cuda.is_available() if gpu is None else gpu
    where = provenance(command, gpu=on_gpu)
    title = Text(*(each.format(device=where.device) for each in _TITLE))
    run = Run("", title, where, plan.method if on_gpu else CPU_METHOD, complete=False)
    start, stopped = clock(), False
    left: list[str] = []  # for want of time
    failed: list[str] = []  # before anything could be measured
    try:
        with _stream(timer, plan, on_gpu) as ticking:
            run = replace(run, absent=_absent(plan, on_gpu))
            for what, piece in _pieces(plan, ticking, on_gpu):
                if clock() - start > plan.budget_s:
                    left.append(what)
                    continue
                why: list[str] = []
                with explained(why.append):
                    fresh = piece()
                if why:
                    failed.append(what)
                    tell(say(_STEP, seconds=clock() - start, what=f"{what}  {said(why[0])}"))
                    continue
                run = _joined(run, fresh)
                tell(say(_STEP, seconds=clock() - start, what=f"{what}  {_brief(fresh)}".rstrip()))
                keep(run)
                free_memory()
    except KeyboardInterrupt:
        stopped = True
        tell(say(_STOPPED))
    except DeviceLost as lost:
        stopped = True
        tell(say(_LOST, why=lost))
    if left:
        tell(say(_BUDGET, n=len(left), budget=plan.budget_s))
    run = replace(run, left_out=(*left, *failed), complete=not (stopped or left or failed))
    keep(run)
    return run


def _joined(run: Run, fresh: dict[str, tuple[Any, ...]]) -> Run:
    longer: dict[str, Any] = {n: (*getattr(run, n), *rows) for n, rows in fresh.items()}
    return replace(run, **longer)


@contextlib.contextmanager
def _stream(timer: Timer | None, plan: Plan, on_gpu: bool) -> Iterator[Timer]:
    """A timer, on a stream of its own where there is a GPU: graphs cannot be captured on the first."""
    ticking = timer or (GpuTimer(plan.method) if on_gpu else CpuTimer())
    if isinstance(ticking, GpuTimer):
        with torch.cuda.stream(ticking.stream):
            yield ticking
    else:
        yield ticking


def _absent(plan: Plan, on_gpu: bool) -> dict[str, str]:
    """Why each provider that is not measured is not."""
    if not on_gpu:
        return {}
    _, absent = _ready(plan)
    for name in plan.without:
        absent[name] = say(LEFT_OUT_TO_COMPILE, name=name)
    return absent


def _ready(plan: Plan, known: Iterable[Any] = ()) -> tuple[list[Ready], dict[str, str]]:
    every = [*(known or (*BUILT_IN, *INSTALLED))]
    ids = {each.id for each in every}
    named = {each.id for each in (*BUILT_IN, *INSTALLED, *DECODERS)}
    only = [name for name in plan.providers if name in ids or name not in named]
    if plan.providers and not only:
        return [], {}
    ready, absent = find(every, only=only, without=plan.without)
    if known:
        return ready, absent
    extra, missing = find(also(target) for target in plan.also)
    return [*extra, *ready], {**absent, **missing}


def _pieces(plan: Plan, timer: Timer, on_gpu: bool) -> Iterator[Piece]:
    """(what it is, how it is measured) in the order in which a budget would cut it."""
    if not on_gpu:
        yield from _cpu_pieces(plan, timer)
        return
    suites, problem = set(plan.suites), plan.host
    ready, _ = _ready(plan)
    if suites & {"forward", "backward", "decode"}:
        yield "ceilings", _rows("ceilings", measure_ceilings, timer, problem.dtype)
    if "host" in suites:
        yield f"host {case_name(problem)}", _rows("hosts", measure_host, problem, ready)
    if "memory" in suites:
        for p in plan.memory:
            yield f"memory {case_name(p)}", _rows("memories", measure_memory, p, ready)
    if plan.passes and "ablations" not in suites:
        for p in plan.speed:
            yield case_name(p), _rows("speeds", _speeds, plan, p, ready, timer)
    if "decode" in suites:
        decoders, _ = _ready(plan, DECODERS)
        for p in plan.decode:
            yield case_name(p), _rows("speeds", measure_decode, p, decoders, timer)
    if "ablations" in suites:
        from .ablations import measure_ablations

        for p in plan.ablations:
            for pass_ in plan.passes or ("forward", "backward"):
                made = _rows("speeds", measure_ablations, p, (pass_,), timer)
                yield f"ablations {pass_} {case_name(p)}", made
    if "timeline" in suites:
        from .timeline import measure_timelines

        for p in plan.timeline:
            yield (
                f"timeline {case_name(p)}",
                partial(measure_timelines, p, timer, rounds=plan.method.rounds, seed=plan.seed),
            )


def _rows(
    kind: str, measured: Callable[..., Iterable[Any]], *arguments: Any
) -> Callable[[], dict[str, tuple[Any, ...]]]:
    """The piece that fills the rows of that kind."""
    return lambda: {kind: tuple(measured(*arguments))}


def _speeds(plan: Plan, problem: AttentionProblem, ready: list[Ready], timer: Timer) -> list[Speed]:
    if problem.len_k not in COMPILED_LENGTHS:  # one compilation a shape: few of them, or as asked
        left = SLOW_TO_COMPILE - set(plan.providers)
        ready = [each for each in ready if each.provider.id not in left]
    return measure_case(
        problem, plan.passes, ready, timer,
        seed=plan.seed, rounds=plan.method.rounds, sustain_s=plan.sustain_s,
    )  # fmt: skip


def _cpu_pieces(plan: Plan, timer: Timer) -> Iterator[Piece]:
    ready, _ = find(cpu.ON_CPU)
    yield "bytes", lambda: {"bills": tuple(cpu.bills())}
    for p in cpu.problems(plan.extent, plan.speed if plan.asked else ()):

        def piece(p: AttentionProblem = p) -> dict[str, tuple[Any, ...]]:
            rows = measure_case(p, ("forward",), ready, timer, device="cpu", seed=plan.seed)
            peaks = measure_memory(p, ready, device="cpu", passes=("forward",))
            return {"speeds": tuple(rows), "memories": tuple(peaks)}

        yield case_name(p), piece


def _brief(fresh: dict[str, tuple[Any, ...]]) -> str:
    """The numbers of a case in a few words, for the line of progress."""
    words = []
    for row in (*fresh.get("speeds", ()),):
        if row.regime == "sustained":
            continue
        name = row.variant or label(row.provider)
        value = f"{row.ms:.3g} ms" if row.timer == "cpu" else f"{row.rate or 0:.3g}"
        words.append(f"{name} {row.pass_[0]} {said(row.failed)[:40] or value}")
    return ", ".join(words)
