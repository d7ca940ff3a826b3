"""S06, S07, S08, S20: what crosses between HBM and the chip, counted while it ran."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from .. import io_model, tiled
from ..language import Text
from ..problem import AttentionProblem, TileShape
from ..tiled import Trace
from ..viz.numbers import amount, plain
from .bars import Bar, bars
from .record import MODELLED, RAN, Check, Found, claim
from .watch import Watch

#: Small enough to trace every tile, large enough that a block of Q is not the whole of it.
_RUN = AttentionProblem(len_q=64, len_k=64, head_dim=16, dtype="float32")
_TILE = TileShape(16, 16)
#: The size at which the course counts bytes.
LARGE = AttentionProblem(len_q=4096, len_k=4096, head_dim=64)
LARGE_TILE = TileShape(128, 64)


def _traces() -> tuple[Trace, Trace]:
    generator = torch.Generator().manual_seed(7)
    q, k, v = (torch.randn(1, 1, 64, 16, generator=generator) for _ in "qkv")
    return (
        tiled.trace_standard_forward(q, k, v, tile=_TILE),
        tiled.trace_flash_forward(q, k, v, tile=_TILE),
    )


def _eager(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor) -> Tensor:
    s = (torch.bmm(q, k.mT) * 0.25).masked_fill(hidden, float("-inf"))
    return torch.bmm(torch.softmax(s, -1), v)


@claim("S06")
def three_phases() -> Found:
    """The phases of the traced run, its bytes, and the launches of eager code."""
    standard, _ = _traces()
    model = io_model.standard_forward_traffic(_RUN, _TILE)
    phases = list(dict.fromkeys(event.phase for event in standard.events))
    q, hidden = torch.ones(1, 64, 16), torch.ones(64, 64).triu(1) > 0
    with Watch() as seen:
        _eager(q, q, q, hidden)
    again = standard.ledger.total == model.total
    return Found(
        stated=(
            Check(
                Text(
                    f"The traced run has the phases {', '.join(phases)}, in this order, each a loop "
                    "over tiles that stores what it made.",
                    f"逐步记录里依次是 {'、'.join(phases)} 三个阶段，每个都逐块循环并写回结果。",
                ),
                phases == ["scores", "softmax", "output"],
            ),
            Check(
                Text(
                    f"Its ledger and the I/O model agree to the byte: {standard.ledger.total:,}.",
                    f"账本与访存模型逐字节一致：{standard.ledger.total:,}。",
                ),
                again,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"Eager code with a scale and a mask launches {len(seen.launches)} kernels, "
                    f"not 3: {', '.join(seen.launches)}. Dropout adds more.",
                    f"带缩放和掩码的逐算子代码启动 {len(seen.launches)} 个 kernel，不是 3 个："
                    f"{'、'.join(seen.launches)}；加上 dropout 还要更多。",
                ),
                len(seen.launches) > len(phases),
            ),
        ),
        numbers={"phases": len(phases), "eager_launches": len(seen.launches)},
        short=Text(
            f"{len(phases)} phases, as traced; eager code with scale and mask: "
            f"{len(seen.launches)} launches",
            f"逐步记录是 {len(phases)} 个阶段；带缩放和掩码的逐算子代码启动 "
            f"{len(seen.launches)} 次",
        ),
        source=RAN,
    )


@claim("S07")
def six_transfers() -> Found:
    """Three ways to count the same run."""
    from ..viz.figures.traffic import traffic_bars

    ledger = _traces()[0].ledger
    reads = sum(read > 0 for read, _ in ledger.by_phase.values())
    writes = sum(written > 0 for _, written in ledger.by_phase.values())
    loaded, stored = len(ledger.tensors_read), len(ledger.tensors_written)
    size = io_model.standard_forward_traffic(LARGE, LARGE_TILE).total
    return Found(
        stated=(
            Check(
                Text(
                    f"By phases: {reads} that read and {writes} that write, {ledger.transfers} in "
                    "all.",
                    f"按阶段数：{reads} 读 {writes} 写，共 {ledger.transfers} 次。",
                ),
                (reads, writes, ledger.transfers) == (3, 3, 6),
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"By tensors: {loaded} read ({', '.join(ledger.tensors_read)}), {stored} "
                    f"written ({', '.join(ledger.tensors_written)}).",
                    f"按张量数：读 {loaded} 个（{'、'.join(ledger.tensors_read)}），"
                    f"写 {stored} 个（{'、'.join(ledger.tensors_written)}）。",
                ),
                (loaded, stored) != (reads, writes),
            ),
            Check(
                Text(
                    f"In bytes it is a third number: {amount(size)} for one head at N = 4096, "
                    "D = 64, float16.",
                    f"按字节数又是一个数：一个头、N = 4096、D = 64、float16 时 {amount(size)}。",
                ),
                size > 0,
            ),
        ),
        numbers={"transfers": ledger.transfers, "tensors_read": loaded, "tensors_written": stored},
        short=Text(
            f"{ledger.transfers} by phases; {loaded} reads and {stored} writes by tensors; "
            f"{amount(size)} at N = 4096, D = 64",
            f"按阶段 {ledger.transfers} 次；按张量 {loaded} 读 {stored} 写；"
            f"N = 4096、D = 64 时 {amount(size)}",
        ),
        source=MODELLED,
        draw=lambda: traffic_bars(LARGE, LARGE_TILE),
    )


@claim("S08")
def two_transfers() -> Found:
    """One phase, in which K and V come by once for every block of Q."""
    _, flash = _traces()
    ledger = flash.ledger
    size = _RUN.len_k * _RUN.head_dim * _RUN.itemsize
    times = ledger.by_tensor["K"][0] // size
    low, high = (io_model.flash_forward_traffic(LARGE, TileShape(m, 64)).total for m in (64, 128))
    order = io_model.io_order(LARGE, 32768) / io_model.io_order(LARGE, 65536)
    standard = io_model.standard_forward_traffic(LARGE, LARGE_TILE).total
    return Found(
        stated=(
            Check(
                Text(
                    f"The traced run has {len(ledger.by_phase)} phase: {ledger.transfers} transfers "
                    "by the article's count.",
                    f"逐步记录只有 {len(ledger.by_phase)} 个阶段：按文章的数法是 {ledger.transfers} 次。",
                ),
                ledger.transfers == 2,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"In that one phase K is read {times} times, once for every block of Q.",
                    f"就在这一个阶段里，K 被读了 {times} 遍，每一块 Q 读一遍。",
                ),
                times == _RUN.len_q // _TILE.block_m > 1,
            ),
            Check(
                Text(
                    f"So the height of a block decides. Twice the rows, 64 to 128: {amount(low)} "
                    f"to {amount(high)}. Twice the SRAM: 1/{plain(order)} of N²d²/M.",
                    f"所以取决于块高。行数加倍，64 到 128：{amount(low)} 降到 {amount(high)}。"
                    f"SRAM 加倍：N²d²/M 变成 1/{plain(order)}。",
                ),
                1.8 < low / high < 2 and order == 2,
            ),
            Check(
                Text(
                    f"In bytes asked for it is not 6 to 2: {amount(standard)} against {amount(high)}, "
                    f"{plain(standard / high)} times fewer. What L2 answers is not taken off.",
                    f"按请求的字节并不是 6 比 2：{amount(standard)} 对 {amount(high)}，"
                    f"差 {plain(standard / high)} 倍；由 L2 应答的没有扣除。",
                ),
                abs(standard / high - 3) > 0.25,
            ),
        ),
        numbers={"transfers": ledger.transfers, "k_read": times, "ratio": standard / high},
        short=Text(
            f"{ledger.transfers} by phases, but K and V are read once per block of Q; in bytes "
            f"asked for, caches ignored, {plain(standard / high)} times fewer at N = 4096, BLOCK_M = 128",
            f"按阶段 {ledger.transfers} 次，但每块 Q 都要读一遍 K、V；N = 4096、BLOCK_M = 128 时，"
            f"请求的字节（不计缓存）少 {plain(standard / high)} 倍",
        ),
        source=MODELLED,
        draw=lambda: _heights((32, 64, 128, 256)),
    )


def _heights(heights: tuple[int, ...]) -> Figure:
    rows = [
        Bar(
            Text("standard", "标准"),
            io_model.standard_forward_traffic(LARGE, LARGE_TILE).total / 2**20,
            "s",
        )
    ]
    for m in heights:
        size = io_model.flash_forward_traffic(LARGE, TileShape(m, 64)).total / 2**20
        rows.append(Bar(Text(f"flash, BLOCK_M = {m}", f"flash，BLOCK_M = {m}"), size, "k"))
    return bars(
        Text("Bytes between HBM and the chip, one head", "一个头在 HBM 与芯片之间搬的字节"),
        Text(
            "Two transfers by name; a taller block of Q means fewer bytes.",
            "名义上都是两次；Q 块越高，字节越少。",
        ),
        rows,
        axis=Text("MiB, N = 4096, D = 64, float16", "MiB，N = 4096，D = 64，float16"),
        where=MODELLED,
    )


@claim("S20")
def where_the_work_lives() -> Found:
    """The same products in both runs; S and P leave the chip in one of them only."""
    standard, flash = _traces()
    left = {name: sum(standard.ledger.by_tensor[name]) for name in ("S", "P")}
    gone = sum(sum(flash.ledger.by_tensor.get(name, (0, 0))) for name in ("S", "P"))
    steps = {
        name: sum(event.step in ("scores", "update") for event in trace.events
                  if event.kind == "work")
        for name, trace in (("standard", standard), ("flash", flash))
    }  # fmt: skip
    outside = [e for t in (standard, flash) for e in t.events if e.kind == "work" and e.bytes]
    same = bool(torch.allclose(standard.outputs["O"], flash.outputs["O"], atol=1e-5))
    return Found(
        stated=(
            Check(
                Text(
                    f"S and P cross the boundary with {amount(sum(left.values()))} in the standard "
                    f"run and with {amount(gone)} in the flash run, for the same output.",
                    f"得到同样的输出，S 和 P 在标准做法里过边界 {amount(sum(left.values()))}，"
                    f"在 flash 里是 {amount(gone)}。",
                ),
                same and gone == 0 < sum(left.values()),
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"The products are the same {steps['flash']} in both, and all of them work on "
                    "what was loaded: none happens in HBM in either.",
                    f"两边的乘法同样是 {steps['flash']} 次，都作用在已读上来的数据上：哪一边都没有在 HBM 里计算。",
                ),
                steps["flash"] == steps["standard"] and not outside,
            ),
        ),
        numbers={"standard_s_p": sum(left.values()), "flash_s_p": gone, **steps},
        short=Text(
            f"same products on chip in both; S and P cross with {amount(sum(left.values()))} or "
            f"{amount(gone)} (N = 64, D = 16, float32)",
            f"两边在片上做同样的乘法；S、P 过边界的字节是 {amount(sum(left.values()))} 与 "
            f"{amount(gone)}（N = 64，D = 16，float32）",
        ),
        source=RAN,
        draw=lambda: bars(
            Text("Bytes of S and P that leave or enter the chip", "S 和 P 进出芯片的字节"),
            Text("The work is the same; its intermediates stay.", "活一样多，中间结果留在片上。"),
            [
                Bar(Text("standard", "标准"), sum(left.values()) / 1024, "s"),
                Bar("flash", gone / 1024, "s", "0"),
            ],
            axis=Text("KiB, N = 64, D = 16, float32", "KiB，N = 64，D = 16，float32"),
            where=RAN,
        ),
    )
