"""S03, S04, S05, S21: sizes and bandwidths of the memories of a GPU."""

from __future__ import annotations

from matplotlib.figure import Figure

from .. import hardware, io_model
from ..language import Text
from ..measured import ceilings
from ..problem import AttentionProblem
from ..viz.numbers import amount, plain, rate
from .bars import Bar, bars
from .record import HARDWARE, Check, Found, claim, recorded, sentences

_MEGA = 10**6
#: The A100 as the article knows it, and its later form with faster memory.
_A100 = ("a100-40", "a100-80")


@claim("S03")
def on_and_off_the_chip() -> Found:
    """On-chip memory is smaller and faster than HBM on every GPU of the table."""
    from ..viz.figures.ladder import ladder_figure

    cards = [c for c in hardware.GPUS.values() if c.shared and c.hbm_bytes and c.bandwidth_ratio]
    larger = min((c.hbm_bytes or 0) / (c.shared or 1) for c in cards)
    faster = min(c.bandwidth_ratio or 0.0 for c in cards)
    n, least, most = len(cards), plain(larger), plain(faster)
    return Found(
        stated=(
            Check(
                Text(
                    f"On all {n} GPUs of the table HBM is larger than all shared memory together, "
                    f"by {least} times or more.",
                    f"表中 {n} 块 GPU，HBM 都比全部共享内存大，至少大 {least} 倍。",
                ),
                larger > 1,
            ),
            Check(
                Text(
                    f"On all of them shared memory is faster, by {most} times or more.",
                    f"共享内存都更快，至少快 {most} 倍。",
                ),
                faster > 1,
            ),
        ),
        numbers={"gpus": n, "least_size_ratio": larger, "least_speed_ratio": faster},
        short=Text(
            f"{n} GPUs: HBM at least {least}x larger, shared memory at least {most}x faster",
            f"{n} 块 GPU：HBM 至少大 {least} 倍，共享内存至少快 {most} 倍",
        ),
        source=HARDWARE,
        draw=lambda: ladder_figure("a100-40"),
    )


@claim("S04")
def size_of_sram() -> Found:
    """The 20 to 40 MB of an A100 are two levels, and a third is left out."""
    card = hardware.gpu("a100-40")
    l1, l2 = card.need("l1"), card.need("l2")
    block, registers = card.need("shared_per_block"), card.need("registers")
    each = card.need("l1_per_sm")
    low, high = 20 * _MEGA, 40 * 2**20
    return Found(
        stated=(
            Check(
                Text(
                    f"L1 and shared memory: {card.sms} × {amount(each)} = {amount(l1)}, the lower "
                    f"end; L2: {amount(l2)}, the upper end.",
                    f"L1 与共享内存：{card.sms} × {amount(each)} = {amount(l1)}，是下限；"
                    f"L2：{amount(l2)}，是上限。",
                ),
                low <= l1 <= high and low <= l2 <= high,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"Those are two levels, and one thread block reaches {amount(block)} of the "
                    f"first: {block / l1:.1%}.",
                    f"这是两级存储；一个线程块在前一级里最多用 {amount(block)}，占 {block / l1:.1%}。",
                ),
                l1 != l2 and block < l1 / 100,
            ),
            Check(
                Text(
                    f"{amount(registers)} of registers, where accumulators live, are left out; "
                    "they are more than the first level.",
                    f"存放累加器的 {amount(registers)} 寄存器没有算进去，比前一级还大。",
                ),
                registers > l1,
            ),
        ),
        numbers={"l1": l1, "l2": l2, "per_block": block, "registers": registers},
        short=Text(
            f"{amount(l1)} of L1 and shared memory ({amount(block)} for one block), another "
            f"{amount(l2)} of L2, {amount(registers)} of registers left out",
            f"L1 与共享内存 {amount(l1)}（一个线程块 {amount(block)}），另有 L2 {amount(l2)}，"
            f"漏了寄存器 {amount(registers)}",
        ),
        source=HARDWARE,
        draw=_sizes,
    )


def _sizes() -> Figure:
    card = hardware.gpu("a100-40")
    sizes = {
        Text("registers", "寄存器"): (card.need("registers"), "soft"),
        Text("L1 and shared memory", "L1 与共享内存"): (card.need("l1"), "text"),
        Text("L2", "L2"): (card.need("l2"), "text"),
        Text("shared memory of one block", "一个线程块的共享内存"): (
            card.need("shared_per_block"), "stat",
        ),
    }  # fmt: skip
    return bars(
        Text("On-chip memory of an A100", "A100 的片上存储"),
        Text(
            "The range names two levels; one thread block has neither.",
            "这个范围说的是两级存储，一个线程块哪一级都拿不到。",
        ),
        [Bar(name, size / _MEGA, ink, amount(size)) for name, (size, ink) in sizes.items()],
        axis=Text("size, MB (10⁶ bytes)", "容量，MB（10⁶ 字节）"),
        where=HARDWARE,
        band=(20, 40),
    )


@claim("S05")
def what_does_not_fit() -> Found:
    """Q, K and V outgrow the chip at some N; the scores do so long before."""
    card, d = hardware.gpu("a100-40"), 64
    shared = next(r for r in io_model.fits_table(card, head_dim=d) if r.place == "shared")
    inputs, scores = shared.inputs, shared.scores
    n = 2 ** (inputs.bit_length() + 1)  # a power of two that is clearly too long
    problem = AttentionProblem(len_q=n, len_k=n, head_dim=d)
    qkv = 3 * n * d * problem.itemsize
    square = 4096 * 4096 * 2
    return Found(
        stated=(
            Check(
                Text(
                    f"One head of D = {d} in float16: at N = {n:,} Q, K and V take {amount(qkv)}, "
                    f"and all shared memory of an A100 is {amount(shared.capacity)}.",
                    f"float16、D = {d} 的一个头：N = {n:,} 时 Q、K、V 共 {amount(qkv)}，"
                    f"A100 全部共享内存是 {amount(shared.capacity)}。",
                ),
                qkv > shared.capacity,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"The scores stop fitting far earlier, at N = {scores:,} against {inputs:,} "
                    "for Q, K, V and O: it is the N × N table that hurts.",
                    f"分数矩阵早就放不下了：N = {scores:,}，而 Q、K、V、O 能到 {inputs:,}。"
                    "真正的负担是 N × N 的表。",
                ),
                scores < inputs,
            ),
            Check(
                Text(
                    f"Any matrix product is tiled: one 4096 × 4096 operand is {amount(square)}, a "
                    f"block has {amount(card.need('shared_per_block'))}.",
                    f"任何矩阵乘都要分块：一个 4096 × 4096 的操作数就有 {amount(square)}，"
                    f"一个线程块只有 {amount(card.need('shared_per_block'))}。",
                ),
                square > card.need("shared_per_block"),
            ),
        ),
        numbers={"longest_inputs": inputs, "longest_scores": scores},
        short=Text(
            f"on an A100 Q, K, V, O of one head fit up to N = {inputs:,}; the scores only up to "
            f"{scores:,}",
            f"A100 上一个头的 Q、K、V、O 放得下 N = {inputs:,}，分数矩阵只到 {scores:,}",
        ),
        source=HARDWARE,
        draw=lambda: bars(
            Text("The longest sequence all shared memory holds", "全部共享内存放得下的最长序列"),
            Text("The scores run out of room first.", "最先放不下的是分数矩阵。"),
            [
                Bar(Text("Q, K, V, O", "Q、K、V、O"), inputs, "q", f"{inputs:,}"),
                Bar(Text("S alone", "只放 S"), scores, "s", f"{scores:,}"),
                Bar(Text("Q, K, V, O, S, P", "Q、K、V、O、S、P"), shared.everything, "text",
                    f"{shared.everything:,}"),
            ],
            axis=Text("N, one head, D = 64, float16, A100", "N，一个头，D = 64，float16，A100"),
            where=HARDWARE,
        ),
    )  # fmt: skip


@claim("S21")
def twenty_times() -> Found:
    """Shared memory against HBM, whole chip against whole chip, on each GPU of the table."""
    ratios = {key: hardware.gpu(key).bandwidth_ratio or 0.0 for key in _A100}
    low, high = min(ratios.values()), max(ratios.values())
    shared, hbm = (ceilings(name)[0].value for name in ("shared_read", "hbm_read"))
    above = [card.name for card in hardware.GPUS.values() if (card.bandwidth_ratio or 0.0) > 20]
    sram = hardware.gpu("a100-40").need("sram_bandwidth")
    return Found(
        stated=(
            Check(
                Text(
                    f"On an A100 the ratio would have to be about 20. It is {plain(low)} (80 GB) to "
                    f"{plain(high)} (40 GB): {rate(sram)} against {_hbm('a100-80')} and "
                    f"{_hbm('a100-40')}.",
                    f"A100 上这个比值应在 20 左右，实际是 {plain(low)}（80 GB）到 {plain(high)}"
                    f"（40 GB）：{rate(sram)} 对 {_hbm('a100-80')} 和 {_hbm('a100-40')}。",
                ),
                any(15 <= ratio <= 25 for ratio in ratios.values()),
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"Measured on an H200 it is {plain(shared / hbm)}: {rate(shared)} against "
                    f"{rate(hbm)}.",
                    f"H200 上实测为 {plain(shared / hbm)}：{rate(shared)} 对 {rate(hbm)}。",
                ),
                shared / hbm < 15,
            ),
            Check(
                Text(
                    f"It exceeds 20 only where memory is slow for the chip: {', '.join(above)}.",
                    f"只有显存相对慢的卡才超过 20：{'、'.join(above)}。",
                ),
                bool(above) and len(above) < len(hardware.GPUS) / 2,
            ),
        ),
        numbers={"a100_40": ratios["a100-40"], "a100_80": ratios["a100-80"], "h200": shared / hbm},
        short=Text(
            f"A100: {plain(low)} to {plain(high)} times; H200, measured: {plain(shared / hbm)} times",
            f"A100：{plain(low)} 到 {plain(high)} 倍；H200 实测：{plain(shared / hbm)} 倍",
        ),
        source=sentences(HARDWARE, recorded("h200-ceilings")),
        draw=_ratios,
    )


def _hbm(key: str) -> str:
    return rate(hardware.gpu(key).need("hbm_bandwidth"))


def _ratios() -> Figure:
    known = [card for card in hardware.GPUS.values() if card.bandwidth_ratio]
    by_name = {card.name: card.bandwidth_ratio or 0.0 for card in known}
    rows = [
        Bar(name, ratio, "stat" if name.startswith("A100") else "soft")
        for name, ratio in sorted(by_name.items(), key=lambda item: item[1])
    ]
    return bars(
        Text("Bandwidth of shared memory over that of HBM", "共享内存带宽与 HBM 带宽之比"),
        Text(
            "The A100 of the article has {a} to {b}, not 20.",
            "文章说的 A100 是 {a} 到 {b}，不是 20。",
        ),
        rows,
        axis=Text("times", "倍"),
        where=HARDWARE,
        band=(20, 20),
        a=plain(hardware.gpu("a100-80").bandwidth_ratio or 0.0),
        b=plain(hardware.gpu("a100-40").bandwidth_ratio or 0.0),
    )
