"""Whether a run can be believed: nothing missing, and its numbers agree with each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from ..io_model import decode_traffic
from ..language import Text, say
from ..problem import AttentionProblem
from .records import Ratio, Run, Speed, counted_flops
from .timeline import CONSUMER, PRODUCER

_MISSING = Text("{field} is missing", "缺少 {field}")
_DATE = Text("date {date!r} is no ISO date", "日期 {date!r} 不是 ISO 格式")
_RATE = Text(
    "{who}: {stated:g} stated, {computed:.4g} follows from {ms:g} ms",
    "{who}：写的是 {stated:g}，由 {ms:g} 毫秒算出的是 {computed:.4g}",
)
_NUMBER = Text("{who}: {name} = {value}", "{who}：{name} = {value}")
_NEITHER = Text("{who}: neither a number nor a reason", "{who}：既没有数，也没有原因")
_TWICE = Text("{who} stands there twice", "{who} 出现了两次")
_BOTH = Text(
    "{who}: {stated:g} for both passes does not lie between {low:g} and {high:g}",
    "{who}：两遍合计 {stated:g}，不在 {low:g} 与 {high:g} 之间",
)
#: clocks after a copy's arrival within which the producer, asleep at its barrier, stamps it
_WAKING = 250


def problems_of(run: Run) -> list[str]:
    """What is wrong with `run`, a line each; empty if nothing is."""
    return [*_provenance(run), *_rows(run), *_speeds(run), *_ratios(run), *_timelines(run)]


def last_place(value: float) -> float:
    """Half a unit of the last decimal that `value` is written with: how far it was rounded.

    Example:
        >>> last_place(320), last_place(0.104)
        (0.5, 0.0005)
    """
    text = repr(value)
    if "e" in text:
        mantissa, exponent = text.split("e")
        return 0.5 * 10.0 ** (int(exponent) - len(mantissa.partition(".")[2]))
    decimals = text.partition(".")[2]
    return 0.5 * 10.0 ** -(0 if decimals in ("", "0") else len(decimals))


def _provenance(run: Run) -> Iterator[str]:
    p = run.provenance
    cpu = p.device.startswith("CPU")
    needed = {
        "id": run.id, "title.en": run.title.en, "title.zh": run.title.zh, "device": p.device,
        "driver": p.driver or cpu, "versions.torch": p.versions.get("torch"), "date": p.date,
        "command": p.command, "source": p.source,
    }  # fmt: skip
    for name, value in needed.items():
        if not value:
            yield say(_MISSING, field=name)
    try:
        datetime.fromisoformat(p.date)
    except ValueError:
        yield say(_DATE, date=p.date)


def _rows(run: Run) -> Iterator[str]:
    counts = (*run.speeds, *run.memories, *run.hosts, *run.ceilings, *run.features, *run.ratios,
              *run.bills, *run.timelines)  # fmt: skip
    if not counts:
        yield say(_MISSING, field="rows")
    seen = set()
    for m in run.memories:
        who = f"{m.provider} {m.pass_} {m.problem}"
        if (m.mib is None) == (not m.failed):
            yield say(_NEITHER, who=who)
        if m.mib is not None and not 0 <= m.mib < math.inf:
            yield say(_NUMBER, who=who, name="mib", value=m.mib)
        if who in seen:
            yield say(_TWICE, who=who)
        seen.add(who)
    for h in run.hosts:
        for name in ("microseconds", "replayed", "trained"):
            value = getattr(h, name)
            if value is not None and not 0 < value < math.inf:
                yield say(_NUMBER, who=h.provider, name=name, value=value)
    for b in run.bills:
        if b.counted != b.modelled:
            yield say(_NUMBER, who=b.algorithm, name="bytes", value=f"{b.counted} {b.modelled}")
    for c in run.ceilings:
        inside = (c.low or c.value) <= c.value <= (c.high or c.value)
        if not (0 < c.value < math.inf and inside):
            yield say(_NUMBER, who=c.name, name="value", value=c.value)


def _speeds(run: Run) -> Iterator[str]:
    seen = set()
    for row in run.speeds:
        who = f"{row.provider} {row.variant} {row.pass_} {row.regime} {row.problem}"
        if who in seen:
            yield say(_TWICE, who=who)
        seen.add(who)
        if (row.rate is None) == (not row.failed):
            yield say(_NEITHER, who=who)
        for name in ("ms", "tflops", "gbps", "clock_mhz", "watts"):
            value = getattr(row, name)
            if value is not None and not 0 < value < math.inf:
                yield say(_NUMBER, who=who, name=name, value=value)
        for name, error in row.errors.items():
            if not 0 <= error < 0.05:
                yield say(_NUMBER, who=who, name=f"error of {name}", value=error)
        yield from _rate(row, who)


def _rate(row: Speed, who: str) -> Iterator[str]:
    """A stated rate and a stated time may differ by the rounding of both, no more."""
    if not row.ms or not row.rate:
        return
    if row.pass_ == "decode":
        work = decode_traffic(row.problem).total / 1e6
    else:
        work = counted_flops(row.problem, row.pass_) / 1e9
    computed = work / row.ms
    allowed = last_place(row.rate) + computed * last_place(row.ms) / row.ms
    if abs(computed - row.rate) > allowed * 1.01:
        yield say(_RATE, who=who, stated=row.rate, computed=computed, ms=row.ms)


def _ratios(run: Run) -> Iterator[str]:
    """Eager over flash for both passes lies between the ratios of the single passes."""
    for row in run.ratios:
        for name in ("fa2", "best"):
            forward, backward, both = getattr(row, name)
            low, high = sorted((forward, backward))
            if not low <= both <= high:
                who = f"{name} {row.problem}"
                yield say(_BOTH, who=who, stated=both, low=low, high=high)
    yield from _ratios_against_speeds(run)


def _ratios_against_speeds(run: Run) -> Iterator[str]:
    times: dict[tuple[str, str, AttentionProblem], float | None] = {
        (r.provider, r.pass_, r.problem): r.milliseconds
        for r in run.speeds
        if r.regime != "sustained"
    }
    for row in run.ratios:
        for at, pass_ in enumerate(("forward", "backward")):
            flash = times.get(("sdpa_flash", pass_, row.problem))
            if flash is not None and not _agrees(row, at, flash):
                computed = row.eager_ms[at] / flash
                who = f"fa2 {pass_} {row.problem}"
                yield say(
                    _RATE, who=who, stated=row.fa2[at], computed=computed, ms=row.eager_ms[at]
                )


def _agrees(row: Ratio, at: int, flash_ms: float) -> bool:
    computed = row.eager_ms[at] / flash_ms
    # the rate behind flash_ms is a whole number of TFLOP/s of at least 100: half a percent
    allowed = last_place(row.fa2[at]) + computed * (
        0.005 + last_place(row.eager_ms[at]) / row.eager_ms[at]
    )
    return abs(computed - row.fa2[at]) <= allowed


def _timelines(run: Run) -> Iterator[str]:
    """Stamps stand in the order of their events, of cases that were timed, by one clock."""
    for row in run.timelines:
        who = f"{row.problem}"
        for name in ("plain_ms", "stamped_ms"):
            value = getattr(row, name)
            if not 0 < value < math.inf:
                yield say(_NUMBER, who=who, name=name, value=value)
        if row.skew["filled"] < -_WAKING:
            yield say(_NUMBER, who=who, name="skew of filled", value=row.skew["filled"])
    timed = {row.problem for row in run.timelines}
    for each in run.stamps:
        who = f"{each.role} {each.tile} {each.problem}"
        moments = list(each.clocks.values())
        if tuple(each.clocks) not in (CONSUMER, PRODUCER) or moments != sorted(moments):
            yield say(_NUMBER, who=who, name="clocks", value=each.clocks)
        if each.problem not in timed:
            yield say(_MISSING, field=f"timeline of {each.problem}")
