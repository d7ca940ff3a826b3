"""S13 to S15: how often softmax walks over a row, and how its operations grow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from matplotlib.figure import Figure

from .. import reference, tiled
from ..language import Text
from ..problem import TileShape
from ..viz.figures.growth import fitted_exponent
from .bars import Bar, bars
from .record import RAN, Check, Found, claim

LENGTHS = (16, 32, 64, 128)


class Counted:
    """A number that counts every operation done with it."""

    operations = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def _make(self, value: float) -> Counted:
        Counted.operations += 1
        return Counted(value)

    def __add__(self, other: Counted) -> Counted:
        return self._make(self.value + other.value)

    def __sub__(self, other: Counted) -> Counted:
        return self._make(self.value - other.value)

    def __mul__(self, other: Counted) -> Counted:
        return self._make(self.value * other.value)

    def __truediv__(self, other: Counted) -> Counted:
        return self._make(self.value / other.value)

    def exp(self) -> Counted:
        return self._make(math.exp(self.value))

    def larger(self, other: Counted) -> Counted:
        return self._make(max(self.value, other.value))


Row = list[Counted]


def _safe(row: Row) -> Row:
    m = row[0]
    for x in row[1:]:
        m = m.larger(x)
    e = [(x - m).exp() for x in row]
    l = e[0]  # noqa: E741  (the letter of the formula)
    for x in e[1:]:
        l = l + x  # noqa: E741
    return [x / l for x in e]


def _online(row: Row) -> tuple[Counted, Counted]:
    """m and l of a row in one walk."""
    m, l = row[0], Counted(1.0)  # noqa: E741
    for x in row[1:]:
        new = m.larger(x)
        m, l = new, l * (m - new).exp() + (x - new).exp()  # noqa: E741
    return m, l


def _scores(q: list[Row], k: list[Row]) -> list[Row]:
    return [[_dot(a, b) for b in k] for a in q]


def _dot(a: Row, b: Row) -> Counted:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def _count(run: Callable[[], object]) -> int:
    Counted.operations = 0
    run()
    return Counted.operations


def _row(n: int) -> Row:
    return [Counted(math.sin(i)) for i in range(n)]


def _growth(counts: Sequence[int]) -> float:
    return fitted_exponent(LENGTHS[: len(counts)], counts)


@claim("S13")
def three_walks() -> Found:
    """Walks over the row, counted in each form of softmax."""
    walks = _walks()
    limit = math.ceil(math.log(torch.finfo(torch.float32).max))
    overflowed = reference.naive_softmax(torch.tensor([float(limit), 0.0]))
    return Found(
        stated=(
            Check(
                Text(
                    f"The safe softmax walks over the row {walks['safe']} times.",
                    f"安全 softmax 把一行走 {walks['safe']} 遍。",
                ),
                walks["safe"] == 3,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"The naive one walks {walks['naive']} times, and gives NaN for [{limit}, 0] "
                    "in float32.",
                    f"朴素 softmax 只走 {walks['naive']} 遍，但在 float32 下 [{limit}, 0] 会得出 NaN。",
                ),
                walks["naive"] < walks["safe"] and bool(overflowed.isnan().any()),
            ),
        ),
        numbers=dict(walks),
        short=Text(
            f"safe: {walks['safe']} walks; naive: {walks['naive']}, and NaN from x = {limit} on",
            f"安全：{walks['safe']} 遍；朴素：{walks['naive']} 遍，x 到 {limit} 就出 NaN",
        ),
        source=RAN,
        draw=_walk_bars,
    )


def _walks() -> dict[str, int]:
    """How often each form walks over its row; "fused": tiles of K loaded for one row of Q."""
    found = {}
    x = torch.randn(16, generator=torch.Generator().manual_seed(13))
    for name, run in (("naive", reference.naive_softmax), ("safe", reference.safe_softmax)):
        passes = reference.PassCounter()
        run(x, passes=passes)
        found[name] = passes.count
    passes = reference.PassCounter()
    reference.online_softmax(x, 4, passes=passes)
    found["online"] = passes.count
    one, keys = torch.randn(1, 1, 1, 4), torch.randn(1, 1, 16, 4)
    trace = tiled.trace_flash_forward(one, keys, keys, tile=TileShape(1, 4))
    loads = [event.box[0] for event in trace.events if event.kind == "load" and event.tensor == "K"]
    found["fused"] = len(loads) // len(set(loads))
    return found


_FORMS = {
    "naive": Text("naive (overflows)", "朴素（会溢出）"),
    "safe": Text("safe", "安全"),
    "online": Text("online", "在线"),
    "fused": Text("fused, division deferred", "融合，除法推迟"),
}


def _walk_bars() -> Figure:
    walks = _walks()
    rows = [Bar(_FORMS[k], n, "stat" if k in ("online", "fused") else "soft", str(n))
            for k, n in walks.items()]  # fmt: skip
    return bars(
        Text("Walks over a row of scores", "一行分数被走了几遍"),
        Text("Counted while it ran.", "在运行中数出。"),
        rows,
        axis=Text("walks", "遍数"),
        where=RAN,
    )


@claim("S14")
def linear_softmax() -> Found:
    """Operations counted one by one, and the exponent of their growth."""
    softmax = [_count(lambda n=n: _safe(_row(n))) for n in LENGTHS]  # type: ignore[misc]
    d = 8
    scores = [
        _count(lambda n=n: _scores([_row(d)] * n, [_row(d)] * n))  # type: ignore[misc]
        for n in LENGTHS
    ]
    one, two = _growth(softmax), _growth(scores)
    per_row = [n * ops for n, ops in zip(LENGTHS, softmax, strict=True)]
    every = _growth(per_row)
    return Found(
        stated=(
            Check(
                Text(
                    f"Softmax of one row: {softmax[0]} operations for n = {LENGTHS[0]}, "
                    f"{softmax[-1]} for n = {LENGTHS[-1]}; they grow as n^{one:.2f}.",
                    f"一行 softmax：n = {LENGTHS[0]} 时 {softmax[0]} 次运算，n = {LENGTHS[-1]} 时 "
                    f"{softmax[-1]} 次，按 n^{one:.2f} 增长。",
                ),
                abs(one - 1) < 0.05,
            ),
            Check(
                Text(
                    f"QKᵀ with d = {d}: {scores[0]:,} and {scores[-1]:,}; they grow as "
                    f"n^{two:.2f}. The softmax of all n rows: n^{every:.2f}.",
                    f"QKᵀ（d = {d}）：{scores[0]:,} 和 {scores[-1]:,}，按 n^{two:.2f} 增长；"
                    f"全部 n 行的 softmax 是 n^{every:.2f}。",
                ),
                abs(two - 2) < 0.05 and abs(every - 2) < 0.05,
            ),
        ),
        numbers={"softmax": one, "scores": two, "all_rows": every},
        short=Text(
            f"counted operations grow as n^{one:.2f} for one row, n^{two:.2f} for QKᵀ",
            f"数出的运算次数：一行按 n^{one:.2f} 增长，QKᵀ 按 n^{two:.2f} 增长",
        ),
        source=RAN,
    )


@claim("S15")
def one_walk() -> Found:
    """The same counters on the online and the fused form."""
    walks = _walks()
    online = [_count(lambda n=n: _online(_row(n))) for n in LENGTHS]  # type: ignore[misc]
    order = _growth(online)
    m, l = _online(_row(64))  # noqa: E741
    row = torch.tensor([x.value for x in _row(64)], dtype=torch.float64)
    right = m.value == float(row.max()) and abs(l.value - float((row - m.value).exp().sum())) < 1e-9
    return Found(
        stated=(
            Check(
                Text(
                    "One walk over the row gives both the maximum and the sum, and they are right.",
                    "走一遍就同时得到最大值与和，而且都对。",
                ),
                right and walks["online"] == walks["safe"] - 1,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"{walks['safe']} walks become {walks['online']}, for the final values need "
                    f"another; only the fused kernel, which divides last, has {walks['fused']}.",
                    f"{walks['safe']} 遍变成 {walks['online']} 遍，因为得出最终值还要一遍；"
                    f"只有把除法留到最后的融合 kernel 才是 {walks['fused']} 遍。",
                ),
                walks["fused"] < walks["online"],
            ),
            Check(
                Text(
                    f"The order of growth stays: operations grow as n^{order:.2f}.",
                    f"增长阶没有变：运算次数按 n^{order:.2f} 增长。",
                ),
                abs(order - 1) < 0.05,
            ),
        ),
        numbers={**walks, "order": order},
        short=Text(
            f"{walks['safe']} walks become {walks['online']}, or {walks['fused']} with the division "
            "deferred; still O(n)",
            f"{walks['safe']} 遍变成 {walks['online']} 遍，除法推迟则 {walks['fused']} 遍；仍是 O(n)",
        ),
        source=RAN,
        draw=_walk_bars,
    )
