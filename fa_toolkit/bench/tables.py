"""A run as tables of words and numbers, in the language in force. Prints nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from ..language import Text, say
from ..measured import Memory, Run, Speed, case_name, label, variant_label
from ..measured.providers import OURS, PROVIDERS
from ..measured.variants import SHIPPED
from .failures import said
from .host import over_sdpa

_PASS = {
    "forward": Text("forward", "前向"),
    "backward": Text("backward", "反向"),
    "decode": Text("decode", "解码"),
    "training": Text("forward + backward", "前向 + 反向"),
}
_REGIME = {
    "burst": Text("", ""),
    "sustained": Text(", sustained", "，持续运行"),
    "unpaced": Text(", without pauses", "，无停顿"),
}
_MASK = {True: Text("causal", "因果掩码"), False: Text("no mask", "无掩码")}
_HEADS = Text(", {q} heads on {kv}", "，{q} 个头共用 {kv} 个")
_TITLES = {
    "speed": Text("{pass_}, D = {d}, {mask}{heads}, {dtype}{regime}: {unit}",
                  "{pass_}，D = {d}，{mask}{heads}，{dtype}{regime}：{unit}"),
    "memory": Text("peak memory above the inputs, {case}: MiB", "输入之外的峰值内存，{case}：MiB"),
    "host": Text("host time of a call, N = {n}: µs", "一次调用的主机时间，N = {n}：微秒"),
    "ablations": Text("ablations, {pass_}, N = {n}, D = {d}, {mask}",
                      "消融，{pass_}，N = {n}，D = {d}，{mask}"),
    "bills": Text("bytes asked of memory, counted and modelled", "向内存请求的字节，数出的与算出的"),
    "ceilings": Text("what this device reaches", "这台设备能达到的"),
    "timelines": Text("inside the Hopper forward, {case}: median clocks since the event before",
                      "Hopper 前向内部，{case}：距上一事件的时钟周期，取中位数"),
}  # fmt: skip
_COLUMNS = {
    "of_best": Text("ours / best other", "本工具包 / 最快的其他"),
    "provider": Text("implementation", "实现"),
    "pass": Text("pass", "阶段"),
    "time": Text("µs", "微秒"),
    "over": Text("above SDPA flash", "比 SDPA flash 多"),
    "replayed": Text("from a CUDA graph", "由 CUDA graph 重放"),
    "trained": Text("with its backward", "连同反向"),
    "variant": Text("changed", "改动"),
    "rate": Text("TFLOP/s", "TFLOP/s"),
    "relative": Text("of shipped", "与原样之比"),
    "algorithm": Text("algorithm", "算法"),
    "counted": Text("read + written, counted", "读 + 写，数出"),
    "modelled": Text("by the I/O model", "I/O 模型算出"),
    "ratio": Text("of standard", "与标准之比"),
    "what": Text("what", "项目"),
    "value": Text("measured", "实测"),
    "event": Text("event", "事件"),
    "clocks": Text("clocks", "周期"),
}
_STAMPED = Text(
    "{steps:,} steps of {programs} programs; {plain:.4g} ms a call as shipped, {stamped:.4g} with stamps "
    "({slower:+.1%}); least clocks from one role to another: {skew}",
    "{programs} 个程序实例的 {steps:,} 步；一次调用原样 {plain:.4g} 毫秒，加时间戳 {stamped:.4g} 毫秒"
    "（{slower:+.1%}）；角色之间相隔最少的周期：{skew}",
)
_NO_NUMBER = "—"
_WHY = Text("{who}, N = {n}: {why}", "{who}，N = {n}：{why}")
_NOISE = Text("Differences below {noise:.1%} are noise.", "相差不到 {noise:.1%} 的算噪声。")
_ABSENT = Text("not measured: {names}", "没有测：{names}")


@dataclass
class Table:
    """A title, columns, rows of cells, and lines under it."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def tables(run: Run) -> list[Table]:
    """Every table that the rows of a run fill."""
    shipped = [row for row in run.speeds if not row.variant]
    ablated = [row for row in run.speeds if row.variant]
    found = [
        *_ceilings(run),
        *speed_tables(shipped),
        *_ablations(ablated),
        *_hosts(run),
        *_memories(run.memories),
        *_bills(run),
        *_timelines(run),
    ]
    return found


def footer(run: Run) -> list[str]:
    """Device and versions, method, what is missing and why."""
    lines = [run.provenance.line()]
    if (run.speeds or run.timelines) and not run.bills:
        lines.append(f"{run.method.line()}. {say(_NOISE, noise=run.method.noise)}")
    if run.absent:
        names = "; ".join(f"{label(name)} ({why})" for name, why in run.absent.items())
        lines.append(say(_ABSENT, names=names))
    return lines


def speed_tables(rows: Iterable[Speed]) -> list[Table]:
    """A table for each pass, width, mask and regime: N down, implementations across."""

    def kind(row: Speed) -> tuple[Any, ...]:
        p = row.problem
        group = (p.heads_q, p.heads_kv) if p.group > 1 and row.pass_ != "decode" else (0, 0)
        order = ("forward", "backward", "decode").index(row.pass_)
        return order, -p.head_dim, not p.causal, group, p.dtype, row.regime

    ordered = sorted(rows, key=kind)
    return [_speed_table(list(group)) for _, group in groupby(ordered, key=kind)]


def _speed_table(rows: list[Speed]) -> Table:
    first, p = rows[0], rows[0].problem
    heads = say(_HEADS, q=p.heads_q, kv=p.heads_kv) if p.group > 1 else ""
    unit = "GB/s" if first.pass_ == "decode" else "TFLOP/s"
    if p.dtype == "float32" and first.timer == "cpu":
        unit = "ms"
    title = say(_TITLES["speed"], pass_=say(_PASS[first.pass_]), d=p.head_dim, heads=heads,
                mask=say(_MASK[p.causal]), dtype=p.dtype, regime=say(_REGIME[first.regime]),
                unit=unit)  # fmt: skip
    names = _in_order(row.provider for row in rows)
    mine = [name for name in names if name in OURS and unit != "ms"]
    others = [name for name in names if name not in mine]
    compare = bool(mine and others)
    columns = ["N", *(label(name) for name in names)]
    table = Table(title, [*columns, *([say(_COLUMNS["of_best"])] if compare else [])])
    for length in sorted({row.problem.len_k for row in rows}):
        at = {row.provider: row for row in rows if row.problem.len_k == length}
        cells = [_cell(at.get(name), unit) for name in names]
        if compare:
            best = max((at[n].rate or 0 for n in others if n in at), default=0)
            own = at[mine[0]].rate if mine[0] in at else None
            cells.append(f"{own / best:.2f}" if own and best else _NO_NUMBER)
        table.rows.append([f"{length:,}", *cells])
    for row in rows:
        if row.failed:
            who = label(row.provider)
            table.notes.append(say(_WHY, who=who, n=row.problem.len_k, why=said(row.failed)))
    return table


def _in_order(names: Iterable[str]) -> list[str]:
    """Unknown ones first: they are the reader's own; then as `PROVIDERS` lists them."""
    known = list(PROVIDERS)
    found = dict.fromkeys(names)
    return sorted(found, key=lambda name: known.index(name) if name in known else -1)


def _cell(row: Speed | None, unit: str) -> str:
    if row is None or row.rate is None:
        return _NO_NUMBER if row is not None else ""
    if unit == "ms":
        return f"{row.milliseconds:.3g}"
    return f"{row.rate:,.0f}" if row.rate >= 10 else f"{row.rate:.1f}"


def _memories(rows: Iterable[Memory]) -> list[Table]:
    every = list(rows)
    if not every:
        return []
    lengths = sorted({row.problem.len_k for row in every})
    p = every[0].problem
    case = f"B{p.batch} H{p.heads_q} D{p.head_dim} {say(_MASK[p.causal])} {p.dtype}"
    table = Table(
        say(_TITLES["memory"], case=case),
        [say(_COLUMNS["provider"]), say(_COLUMNS["pass"]), *(f"{n:,}" for n in lengths)],
    )
    keys = dict.fromkeys((row.provider, row.pass_) for row in every)
    for name, pass_ in sorted(
        keys, key=lambda key: _in_order(r.provider for r in every).index(key[0])
    ):
        at = {r.problem.len_k: r for r in every if (r.provider, r.pass_) == (name, pass_)}
        cells = [_mib(at.get(n)) for n in lengths]
        table.rows.append([label(name), say(_PASS[pass_]), *cells])
    return [table]


def _mib(row: Memory | None) -> str:
    if row is None:
        return ""
    if row.mib is None:
        return said(row.failed).split(":")[0]
    return f"{row.mib:,.0f}" if row.mib >= 10 else f"{row.mib:.1f}"


def _hosts(run: Run) -> list[Table]:
    if not run.hosts:
        return []
    over = over_sdpa(run.hosts)
    columns = [say(_COLUMNS[name]) for name in ("provider", "time", "over", "replayed", "trained")]
    table = Table(say(_TITLES["host"], n=run.hosts[0].problem.len_k), columns)
    for row in run.hosts:
        extra = f"{over[row.provider]:+.1f}" if row.provider in over else ""
        more = (_NO_NUMBER if x is None else f"{x:.1f}" for x in (row.replayed, row.trained))
        table.rows.append([label(row.provider), f"{row.microseconds:.1f}", extra, *more])
    return [table]


def _ablations(rows: list[Speed]) -> list[Table]:
    found = []
    for problem, pass_ in dict.fromkeys((row.problem, row.pass_) for row in rows):
        here = [r for r in rows if (r.problem, r.pass_) == (problem, pass_) and r.regime == "burst"]
        base = next((r.tflops for r in here if r.variant == SHIPPED), None)
        title = say(_TITLES["ablations"], pass_=say(_PASS[pass_]), n=problem.len_k,
                    d=problem.head_dim, mask=say(_MASK[problem.causal]))  # fmt: skip
        table = Table(title, [say(_COLUMNS[n]) for n in ("variant", "rate", "relative")])
        for row in here:
            relative = f"{row.tflops / base:.2f}" if row.tflops and base else said(row.failed)[:60]
            table.rows.append([variant_label(row.variant), _cell(row, "TFLOP/s"), relative])
        found.append(table)
    return found


def _bills(run: Run) -> list[Table]:
    if not run.bills:
        return []
    columns = ["N", *(say(_COLUMNS[n]) for n in ("algorithm", "counted", "modelled", "ratio"))]
    table = Table(say(_TITLES["bills"]), columns)
    standard = {b.problem: sum(b.counted) for b in run.bills if b.algorithm == "standard_forward"}
    for bill in run.bills:
        ratio = (
            f"{sum(bill.counted) / standard[bill.problem]:.2f}" if bill.problem in standard else ""
        )
        table.rows.append([
            f"{bill.problem.len_k:,}", bill.algorithm, f"{sum(bill.counted):,}",
            f"{sum(bill.modelled):,}", ratio,
        ])  # fmt: skip
    return [table]


def _ceilings(run: Run) -> list[Table]:
    if not run.ceilings:
        return []
    table = Table(say(_TITLES["ceilings"]), [say(_COLUMNS["what"]), say(_COLUMNS["value"])])
    for row in run.ceilings:
        scale, unit = (1e12, "TFLOP/s") if row.unit == "FLOP/s" else (1e9, "GB/s")
        table.rows.append([say(row.what), f"{row.value / scale:,.0f} {unit}"])
    return [table]


def _timelines(run: Run) -> list[Table]:
    found = []
    for row in run.timelines:
        table = Table(
            say(_TITLES["timelines"], case=case_name(row.problem)),
            [say(_COLUMNS["event"]), say(_COLUMNS["clocks"])],
            [[event, f"{clocks:,.0f}"] for event, clocks in row.clocks.items()],
        )
        skew = ", ".join(f"{name} {clocks}" for name, clocks in row.skew.items())
        table.notes.append(
            say(_STAMPED, steps=row.steps, programs=row.programs, plain=row.plain_ms,
                stamped=row.stamped_ms, slower=row.slowdown, skew=skew)
        )  # fmt: skip
        found.append(table)
    return found
