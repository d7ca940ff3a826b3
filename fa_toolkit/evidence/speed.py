"""S01, S02, S19: accuracy and speed, as run here and as recorded on a GPU."""

from __future__ import annotations

import math

import torch
from matplotlib.figure import Figure
from torch import Tensor

from .. import measured, reference, tiled
from ..language import Text, say
from ..measured import Ratio
from ..problem import TileShape
from ..viz.numbers import plain
from .bars import Bar, bars
from .record import RAN, Check, Found, claim, recorded
from .watch import Watch

_PEERS, _MEMORY, ROUNDING = "h200-peers", "h200-memory", 1e-12
_BOTH = 2  # of (forward, backward, both)
#: What the article says of training.
_CLAIMED = (2.0, 4.0)


def _gains() -> list[float]:
    """Forward and backward together, FA2 over eager, every recorded case."""
    return [row.fa2[_BOTH] for row in measured.ratios(run_id=_PEERS)]


def _decode_gain() -> tuple[int, float]:
    """The longest recorded cache, and flash over eager there, in bytes per second."""
    rows = measured.speeds(run_id=_PEERS, pass_="decode")
    longest = max(row.problem.len_k for row in rows if row.provider == "eager")
    rates = {r.provider: r.gbps or 0.0 for r in rows if r.problem.len_k == longest}
    return longest, rates["sdpa_flash"] / rates["eager"]


@claim("S01")
def same_result_faster_smaller() -> Found:
    """Error against float64 attention; recorded gains in speed and in memory."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, 2, 130, 24, generator=generator, dtype=torch.float64) for _ in "qkv")
    wanted = reference.attention(q, k, v, causal=True)[0]
    error = float((tiled.flash_forward(q, k, v, causal=True)[0] - wanted).abs().max())
    gains, (cache, decode) = _gains(), _decode_gain()
    memory = {
        name: {r.problem.len_q: r.mib for r in measured.memory(provider=name, run_id=_MEMORY)
               if r.pass_ == "training" and r.mib}
        for name in ("eager", "sdpa_flash")
    }  # fmt: skip
    common = max(memory["eager"])
    less = memory["eager"][common] / memory["sdpa_flash"][common]
    return Found(
        stated=(
            Check(
                Text(
                    "Accuracy: in float64 the tiled forward pass differs from whole-row attention "
                    "by less than 10⁻¹².",
                    "精度：float64 下分块前向与整行注意力相差不到 10⁻¹²。",
                ),
                error < ROUNDING,
            ),
            Check(
                Text(
                    f"Speed: in all {len(gains)} recorded cases forward and backward are faster "
                    f"than eager attention, by {plain(min(gains))} to {plain(max(gains))} times.",
                    f"速度：实测的 {len(gains)} 种情形，前向加反向都快于逐算子注意力，"
                    f"快 {plain(min(gains))} 到 {plain(max(gains))} 倍。",
                ),
                min(gains) > 1,
            ),
            Check(
                Text(
                    f"Memory: at N = {common:,} training takes {plain(less)} times less.",
                    f"显存：N = {common:,} 时训练所需只有原来的 1/{plain(less)}。",
                ),
                less > 1,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"How much depends: decoding with a cache of {cache:,} gains "
                    f"{plain(decode)} times, for the cache has to be read anyway.",
                    f"快多少要看情形：缓存 {cache:,} 个 token 的解码只快 {plain(decode)} 倍，"
                    "因为缓存总得读一遍。",
                ),
                decode < 1.5 < max(gains),
            ),
        ),
        numbers={"least": min(gains), "most": max(gains), "decode": decode, "memory": less},
        short=Text(
            f"error below 10⁻¹²; recorded {plain(min(gains))} to {plain(max(gains))} times faster, "
            f"but {plain(decode)} in decoding, over eager code that reads each K and V once",
            f"误差小于 10⁻¹²；实测快 {plain(min(gains))} 到 {plain(max(gains))} 倍，"
            f"解码只有 {plain(decode)} 倍（对照的逐算子代码也只把 K、V 读一遍）",
        ),
        source=recorded(_PEERS),
        draw=_gain_bars,
    )


def _gain_bars() -> Figure:
    rows = [r for r in _cases() if r.problem.head_dim == 64 and not r.problem.causal]
    cache, decode = _decode_gain()
    label = say(Text("decoding, cache {n:,}", "解码，缓存 {n:,}"), n=cache)
    training = Text("training, N = {n:,}", "训练，N = {n:,}")
    return bars(
        Text("FA2 over eager attention, times faster", "FA2 比逐算子注意力快多少倍"),
        Text(
            "No mask, D = 64: little at short N, least of all in decoding.",
            "无掩码，D = 64：短序列收益小，解码最小。",
        ),
        [Bar(say(training, n=r.problem.len_q), r.fa2[_BOTH]) for r in rows]
        + [Bar(label, decode, "stat")],
        axis=Text(
            "times (forward + backward; decoding: one step)", "倍（前向 + 反向；解码为一步）"
        ),
        where=recorded(_PEERS),
    )


def _cases() -> tuple[Ratio, ...]:
    return measured.ratios(run_id=_PEERS)


@claim("S02")
def two_things() -> Found:
    """Both are needed: without the merge the result is wrong, without tiles N x N is stored."""
    generator = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(64, 8, generator=generator, dtype=torch.float64) for _ in "qkv")
    wanted = torch.softmax(q @ k.T * 8**-0.5, 1) @ v
    with Watch() as whole:
        torch.softmax(q @ k.T * 8**-0.5, 1) @ v
    with Watch() as tiles:
        o = tiled.flash_forward(*(x[None, None] for x in (q, k, v)), tile=TileShape(8, 8))[0]
    lone = _lone_blocks(q, k, v)
    error, unmerged = (float((x - wanted).abs().max()) for x in (o[0, 0], lone))
    return Found(
        stated=(
            Check(
                Text(
                    f"Tiles without a softmax in blocks (each block normalised alone, then "
                    f"averaged) are wrong by {plain(unmerged)}.",
                    f"只有分块、没有分块 softmax（每块各自归一化再平均），误差达 {plain(unmerged)}。",
                ),
                unmerged > 0.01,
            ),
            Check(
                Text(
                    f"A softmax over whole rows stores {whole.largest:,} = 64² numbers; with both, "
                    f"the largest tensor has {tiles.largest} and the result is right to 10⁻¹².",
                    f"按整行做 softmax 要存 {whole.largest:,} = 64² 个数；两样都用，"
                    f"最大的张量只有 {tiles.largest} 个数，误差小于 10⁻¹²。",
                ),
                whole.largest == 64 * 64 > tiles.largest and error < ROUNDING,
            ),
        ),
        numbers={"unmerged": unmerged, "whole": whole.largest, "tiles": tiles.largest},
        short=Text(
            "leave out the merge and the result is wrong; leave out the tiles and N² is stored",
            "少了合并结果就错，少了分块就要存 N²",
        ),
        source=RAN,
    )


def _lone_blocks(q: Tensor, k: Tensor, v: Tensor, block: int = 16) -> Tensor:
    parts = [
        torch.softmax(q @ k[i : i + block].T * 8**-0.5, 1) @ v[i : i + block]
        for i in range(0, len(k), block)
    ]
    return torch.stack(parts).mean(0)


@claim("S19")
def two_to_four_times() -> Found:
    """Every recorded ratio of forward plus backward, and the growth of memory."""
    rows = _cases()
    fa2, best = ([getattr(r, name)[_BOTH] for r in rows] for name in ("fa2", "best"))
    inside = sum(_CLAIMED[0] <= x <= _CLAIMED[1] for x in fa2)
    peaks = {
        name: [(r.problem.len_q, r.mib) for r in measured.memory(provider=name, run_id=_MEMORY)
               if r.pass_ == "training" and r.mib and r.problem.len_q >= 4096]
        for name in ("eager", "sdpa_flash")
    }  # fmt: skip
    growth = {name: _exponent(points) for name, points in peaks.items()}
    low, high = plain(min(fa2)), plain(max(fa2))
    fastest = f"{plain(min(best))} to {plain(max(best))}"
    fastest_zh = f"{plain(min(best))} 到 {plain(max(best))}"
    return Found(
        stated=(
            Check(
                Text(
                    f"{inside} of {len(rows)} recorded cases lie between 2 and 4 times (FA2 over "
                    "eager, forward and backward).",
                    f"实测 {len(rows)} 种情形里有 {inside} 种在 2 到 4 倍之间"
                    "（FA2 对逐算子，前向加反向）。",
                ),
                inside > 0,
            ),
            Check(
                Text(
                    f"Memory in training grows as N^{growth['sdpa_flash']:.2f} instead of "
                    f"N^{growth['eager']:.2f}.",
                    f"训练显存按 N^{growth['sdpa_flash']:.2f} 增长，而不是 "
                    f"N^{growth['eager']:.2f}。",
                ),
                abs(growth["sdpa_flash"] - 1) < 0.05 and abs(growth["eager"] - 2) < 0.05,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"Mask, head dimension, length and kernel decide: FA2 gains {low} to {high} "
                    f"times, the fastest kernel of each case {fastest}.",
                    f"取决于掩码、头维度、长度和 kernel：FA2 快 {low} 到 {high} 倍，"
                    f"每种情形里最快的 kernel 快 {fastest_zh} 倍。",
                ),
                min(fa2) < _CLAIMED[0] and max(best) > _CLAIMED[1],
            ),
        ),
        numbers={"least": min(fa2), "most": max(best), "inside": inside, "cases": len(rows)},
        short=Text(
            f"the operator, recorded: FA2 {low} to {high} times, {inside} of {len(rows)} cases in "
            f"the range; the fastest kernel of each case {fastest}",
            f"算子实测：FA2 快 {low} 到 {high} 倍，{len(rows)} 种情形有 {inside} 种在范围内；"
            f"每种情形里最快的 kernel 快 {fastest_zh} 倍",
        ),
        source=recorded(_PEERS),
        draw=_ratio_bars,
    )


def _exponent(points: list[tuple[int, float]]) -> float:
    (a, x), (b, y) = points[0], points[-1]
    return math.log(y / x) / math.log(b / a)


_CASE = Text("{mask}, D = {d}, N = {n:,}", "{mask}，D = {d}，N = {n:,}")
_MASK = {True: Text("causal", "因果"), False: Text("no mask", "无掩码")}


def _ratio_bars() -> Figure:
    rows = [r for r in _cases() if r.problem.len_q in (512, 4096, 16384)]
    rows.sort(key=lambda r: r.fa2[_BOTH])
    return bars(
        Text("Forward and backward, FA2 over eager attention", "前向加反向，FA2 对逐算子注意力"),
        Text(
            "The range holds for some cases of one kernel.",
            "这个范围只对一个 kernel 的一部分情形成立。",
        ),
        [
            Bar(
                say(
                    _CASE,
                    mask=say(_MASK[r.problem.causal]),
                    d=r.problem.head_dim,
                    n=r.problem.len_q,
                ),
                r.fa2[_BOTH],
            )
            for r in rows
        ],
        axis=Text("times faster", "倍"),
        where=recorded(_PEERS),
        band=_CLAIMED,
    )
