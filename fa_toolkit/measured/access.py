"""Questions to the recorded runs. Every function reads files once and gives back tuples of rows."""

from __future__ import annotations

import difflib
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from ..errors import ArgumentError, UnknownNameError
from ..language import Text
from ..problem import ITEMSIZE
from .files import load
from .providers import OURS
from .records import Ablated, Ceiling, Feature, Host, Memory, Pass, Ratio, Regime, Run, Speed
from .variants import SHIPPED

DATA = Path(__file__).with_name("data")


@lru_cache(maxsize=1)
def runs() -> tuple[Run, ...]:
    """All recorded runs, oldest first.

    Example:
        >>> [run.id for run in runs() if run.id == "h200-peers"]
        ['h200-peers']
    """
    found = [load(path) for path in sorted(DATA.glob("*.json"))]
    return tuple(sorted(found, key=lambda run: (run.provenance.date, run.id)))


def run(id: str) -> Run:
    """The run of that id.

    Raises:
        UnknownNameError: if there is none; the hint lists near ones.
    """
    known = {each.id: each for each in runs()}
    if not isinstance(id, str) or id not in known:
        near = difflib.get_close_matches(str(id), known)
        raise UnknownNameError(
            "run",
            expected=Text("the id of a recorded run", "一次已记录测量的 id"),
            got=repr(id),
            hint=", ".join(near or known),
        )
    return known[id]


def _known(**given: tuple[Any, Any]) -> None:
    """Refuse a filter that no row could fit: {name: (value, its type, or the words it may be)}."""
    for name, (value, kind) in given.items():
        fits = type(value) is kind if isinstance(kind, type) else value in kind
        if value is not None and not fits:
            words = kind.__name__ if isinstance(kind, type) else " | ".join(kind)
            raise ArgumentError(name, expected=words, got=repr(value))


def speeds(
    *,
    run_id: str | None = None,
    provider: str | None = None,
    pass_: Pass | None = None,
    head_dim: int | None = None,
    causal: bool | None = None,
    dtype: str | None = None,
    regime: Regime | None = None,
    grouped: bool | None = None,
) -> tuple[Speed, ...]:
    """Timed rows as shipped (no ablations), by length; None leaves a field open.

    Args:
        grouped: True: only grouped heads (GQA); False: only one key head per query head.

    Example:
        >>> [row] = [r for r in speeds(provider="fa3", pass_="forward", head_dim=128, causal=True,
        ...          run_id="h200-peers", regime="burst", grouped=False) if r.problem.len_q == 512]
        >>> row.tflops
        320
    """
    _known(
        provider=(provider, str), pass_=(pass_, get_args(Pass)), head_dim=(head_dim, int),
        causal=(causal, bool), dtype=(dtype, tuple(ITEMSIZE)), regime=(regime, get_args(Regime)),
        grouped=(grouped, bool),
    )  # fmt: skip
    chosen = [] if run_id is None else [run(run_id)]
    wanted: dict[str, Any] = {"provider": provider, "pass_": pass_, "regime": regime}
    shape: dict[str, Any] = {"head_dim": head_dim, "causal": causal, "dtype": dtype}
    rows = [
        row
        for each in chosen or runs()
        for row in each.speeds
        if not row.variant
        and all(value is None or getattr(row, name) == value for name, value in wanted.items())
        and all(value is None or getattr(row.problem, n) == value for n, value in shape.items())
        and grouped in (None, row.problem.group > 1)
    ]
    return tuple(sorted(rows, key=lambda row: (row.run, row.problem.len_k)))


def peers(*, run_id: str = "h200-peers", **wanted: Any) -> tuple[Speed, ...]:
    """The implementations of others, of one run. Keywords as in `speeds`.

    Unpaced rows are among them and say so in `.regime`.
    """
    return tuple(row for row in speeds(run_id=run_id, **wanted) if row.provider not in OURS)


def ours(*, run_id: str | None = None, **wanted: Any) -> tuple[Speed, ...]:
    """Our own kernels; without `run_id` those of the newest run that has them."""
    if run_id is None:
        having = [each.id for each in runs() if any(_is_ours(row) for row in each.speeds)]
        if not having:
            return ()
        run_id = having[-1]
    return tuple(row for row in speeds(run_id=run_id, **wanted) if _is_ours(row))


def _is_ours(row: Speed) -> bool:
    return row.provider in OURS and not row.variant and not row.failed


def ablations(
    *,
    run_id: str | None = None,
    pass_: Pass | None = None,
    head_dim: int | None = None,
    causal: bool | None = None,
) -> tuple[Ablated, ...]:
    """Changed kernels beside the shipped one; without `run_id` of the newest run that has any.

    Example:
        >>> [row] = [r for r in ablations(pass_="forward", head_dim=128, causal=True)
        ...          if r.changed.variant == "no causal skipping"]
        >>> f"{row.share:.2f}"
        '0.48'
    """
    _known(pass_=(pass_, get_args(Pass)), head_dim=(head_dim, int), causal=(causal, bool))
    having = [each for each in runs() if any(row.variant for row in each.speeds)]
    if run_id is not None:
        having = [run(run_id)]
    if not having:
        return ()
    rows = having[-1].speeds
    shipped = {(r.provider, r.pass_, r.problem, r.regime): r for r in rows if r.variant == SHIPPED}
    pairs = []
    for row in rows:
        base = shipped.get((row.provider, row.pass_, row.problem, row.regime))
        wanted = (
            (pass_, row.pass_),
            (head_dim, row.problem.head_dim),
            (causal, row.problem.causal),
        )
        if row.variant in ("", SHIPPED) or base is None:
            continue
        if all(value in (None, its) for value, its in wanted):
            pairs.append(Ablated(row, base))
    return tuple(pairs)


def memory(*, provider: str | None = None, run_id: str | None = None) -> tuple[Memory, ...]:
    """Peak memory against N; without `run_id` of the newest run that has any.

    A row that did not fit says why in `.failed`.
    """
    return tuple(r for r in _newest("memories", run_id) if provider in (None, r.provider))


def hosts(*, run_id: str | None = None) -> tuple[Host, ...]:
    """Host time of a call, by provider; without `run_id` of the newest run that has any."""
    return _newest("hosts", run_id)


def _newest(kind: str, run_id: str | None) -> tuple[Any, ...]:
    """The rows of one run: figures of several are never laid side by side."""
    if run_id is not None:
        return tuple(getattr(run(run_id), kind))
    return next((tuple(rows) for each in reversed(runs()) if (rows := getattr(each, kind))), ())


def ceilings(name: str | None = None, *, device: str = "NVIDIA H200") -> tuple[Ceiling, ...]:
    """What a device reached: matrix products, bandwidths, exponentials, latencies."""
    rows = (row for each in runs() if each.provenance.device == device for row in each.ceilings)
    return tuple(row for row in rows if name in (None, row.name))


def bandwidths(*, device: str = "NVIDIA H200") -> tuple[Ceiling, ...]:
    """The ceilings that are bytes per second: HBM, L2, shared memory."""
    return tuple(row for row in ceilings(device=device) if row.unit == "B/s")


def ratios(*, run_id: str | None = None) -> tuple[Ratio, ...]:
    """Speed of flash kernels over standard attention, by mask, width and length."""
    chosen = runs() if run_id is None else (run(run_id),)
    return tuple(row for each in chosen for row in each.ratios)


def features() -> tuple[Feature, ...]:
    """Features of Triton and Gluon that were tried."""
    return tuple(row for each in runs() for row in each.features)
