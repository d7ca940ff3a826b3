"""S24: where the speed comes from. Transfers, FLOPs, and what bounds the operator."""

from __future__ import annotations

from matplotlib.figure import Figure

from .. import io_model, measured
from ..hardware import gpu
from ..language import Text, say
from ..viz.numbers import amount, plain
from .record import Check, Found, claim, recorded, sentences
from .transfers import LARGE, LARGE_TILE

_PEERS = "h200-peers"


@claim("S24")
def where_the_speed_comes_from() -> Found:
    """Transfers, bytes, FLOPs and the roofline of both ways."""
    card = gpu("a100-80")
    ways = {
        "standard": io_model.standard_forward_traffic(LARGE, LARGE_TILE),
        "flash": io_model.flash_forward_traffic(LARGE, LARGE_TILE),
    }
    flops = io_model.forward_flops(LARGE)
    line = io_model.roofline(card)
    # K and V of a head stay in L2: what then crosses HBM is each tensor once
    once = 4 * LARGE.len_q * LARGE.head_dim * LARGE.itemsize
    dense = {name: io_model.intensity(flops, bill) for name, bill in ways.items()}
    dense["flash, L2"] = flops / once
    bound = {name: line.bound(value) for name, value in dense.items()}
    reached = _shares()
    issued = io_model.issued_flops(LARGE, LARGE_TILE, "backward")
    forward = [row.fa2[0] for row in measured.ratios(run_id=_PEERS)]
    more = issued / (4 / 5 * io_model.backward_flops(LARGE))  # standard kept P: four of five
    return Found(
        stated=(
            Check(
                Text(
                    f"Transfers fall from {ways['standard'].transfers} to "
                    f"{ways['flash'].transfers}, bytes {plain(ways['standard'].total / ways['flash'].total)} times.",
                    f"传输从 {ways['standard'].transfers} 次减到 {ways['flash'].transfers} 次，"
                    f"字节减到 1/{plain(ways['standard'].total / ways['flash'].total)}。",
                ),
                (ways["standard"].transfers, ways["flash"].transfers) == (6, 2),
            ),
            Check(
                Text(
                    f"Recorded, the forward pass is {plain(min(forward))} to {plain(max(forward))} "
                    "times faster.",
                    f"实测前向快 {plain(min(forward))} 到 {plain(max(forward))} 倍。",
                ),
                min(forward) > 1,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"FLOPs do not fall: {flops / 1e9:.2f} GFLOP for the forward pass of both; "
                    f"three launches of backward do {plain(more)} times those of the standard one.",
                    f"FLOPs 没有少：两边前向都是 {flops / 1e9:.2f} GFLOP；"
                    f"反向的三个 kernel 做的是标准反向的 {plain(more)} 倍。",
                ),
                io_model.issued_flops(LARGE, LARGE_TILE) >= flops and more > 1,
            ),
            Check(
                Text(
                    f"What changes is the bound: {plain(dense['standard'])} FLOPs a byte before; "
                    f"after, {plain(dense['flash'])} a byte asked for, and "
                    f"{plain(dense['flash, L2'])} a byte of HBM, since K and V of a head "
                    f"({amount(once // 2)}) stay in L2 ({amount(card.need('l2'))}). The ridge of "
                    f"an A100 is {plain(line.ridge)}.",
                    f"变的是瓶颈：原来每字节 {plain(dense['standard'])} FLOP；之后按请求算是 "
                    f"{plain(dense['flash'])}，按 HBM 算是 {plain(dense['flash, L2'])}，因为一个头的 "
                    f"K、V（{amount(once // 2)}）留在 L2（{amount(card.need('l2'))}）里。A100 的拐点是 "
                    f"{plain(line.ridge)}。",
                ),
                (bound["standard"], bound["flash, L2"]) == ("memory", "compute")
                and once // 2 < card.need("l2"),
            ),
            Check(
                Text(
                    f"Recorded at N = 16,384, D = 128: the fastest kernel reaches "
                    f"{reached['best']:.0%} of the rate of a matrix product, eager attention "
                    f"{reached['eager']:.0%}. Arithmetic is the limit now.",
                    f"实测 N = 16,384、D = 128：最快的 kernel 达到矩阵乘速率的 {reached['best']:.0%}，"
                    f"逐算子注意力是 {reached['eager']:.0%}。现在的瓶颈是算力。",
                ),
                reached["best"] > 0.5 > reached["eager"],
            ),
        ),
        numbers={**dense, **reached, "ridge": line.ridge, "backward": more, "flops": flops},
        short=Text(
            f"6 to 2 transfers, but FLOPs stay; recorded: eager reaches {reached['eager']:.0%} of "
            f"a matrix product's rate, the fastest kernel {reached['best']:.0%}",
            f"6 次变 2 次，但 FLOPs 不减；实测：逐算子达到矩阵乘速率的 {reached['eager']:.0%}，"
            f"最快的 kernel {reached['best']:.0%}",
        ),
        source=sentences(_MODEL, recorded(_PEERS)),
        draw=lambda: _roofline(dense),
    )


_MODEL = Text("Points: computed by fa_toolkit.io_model.", "图中各点由 fa_toolkit.io_model 算出。")


def _shares() -> dict[str, float]:
    """Rates of the forward pass over that of a matrix product, both as recorded."""
    top = measured.ceilings("matmul_bf16_8192")[0].value / 1e12
    rows = [
        row
        for row in measured.peers(pass_="forward", head_dim=128, causal=False, grouped=False)
        if row.problem.len_k == 16384 and row.tflops
    ]
    rates = {row.provider: row.tflops or 0.0 for row in rows}
    return {"best": max(rates.values()) / top, "eager": rates["eager"] / top}


def _roofline(dense: dict[str, float]) -> Figure:
    from ..viz.figures.roofline import roofline_figure

    names = {
        "standard": Text("standard", "标准"),
        "flash": Text("flash", "flash"),
        "flash, L2": Text("flash, HBM", "flash，HBM"),
    }
    return roofline_figure("a100-80", {say(names[k]): value for k, value in dense.items()})
