"""S16 and S23: what is stored, as recorded, as modelled, and as watched while it ran."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from .. import io_model, measured, tiled
from ..attention import flash_attention
from ..language import Text
from ..problem import AttentionProblem, TileShape
from ..viz.figures.growth import fitted_exponent
from ..viz.numbers import amount
from .record import Check, Found, claim, recorded
from .watch import Watch

_RUN_ID = "h200-memory"
#: From this length on a peak is tensors, and no longer what an allocator rounds up to.
_FROM = 4096
ROUNDING = 1e-12


def _recorded(provider: str) -> dict[int, float]:
    """{N: MiB} of a provider's forward pass, as recorded."""
    rows = measured.memory(provider=provider, run_id=_RUN_ID)
    return {
        r.problem.len_q: r.mib
        for r in rows
        if r.pass_ == "forward" and r.mib and r.problem.len_q >= _FROM
    }


def _power(values: dict[int, float]) -> float:
    return fitted_exponent(list(values), list(values.values()))


def _tensors(n: int, d: int, seed: int = 16) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(1, 1, n, d, generator=generator) for _ in "qkv"]


@claim("S16")
def quadratic_to_linear() -> Found:
    """Recorded peak memory, and a blocked algorithm that still stores N x N."""
    n = 256
    q, k, v = _tensors(n, 16)
    tile = TileShape(32, 32)
    with Watch() as blocked:
        tiled.standard_forward(q, k, v, tile=tile)
    with Watch() as fused:
        tiled.flash_forward(q, k, v, tile=tile)
    eager, flash = _power(_recorded("eager")), _power(_recorded("sdpa_flash"))
    problem = AttentionProblem(len_q=4096, len_k=4096)
    inputs = 4 * problem.len_q * problem.head_dim * problem.itemsize
    extra = io_model.standard_extra_memory(problem)
    rest = io_model.flash_extra_memory(problem)
    before = io_model.standard_forward_traffic(problem, TileShape(128, 64)).total
    after = io_model.flash_forward_traffic(problem, TileShape(128, 64)).total
    return Found(
        stated=(
            Check(
                Text(
                    f"Recorded peak memory of the forward pass grows as N^{eager:.2f} for eager "
                    f"attention and as N^{flash:.2f} for flash.",
                    f"实测前向峰值显存：逐算子注意力按 N^{eager:.2f} 增长，flash 按 "
                    f"N^{flash:.2f} 增长。",
                ),
                abs(eager - 2) < 0.05 and abs(flash - 1) < 0.05,
            ),
            Check(
                Text(
                    f"Traffic falls as well: {amount(before)} to {amount(after)} for one head at "
                    "N = 4096, D = 64.",
                    f"读写也少了：一个头、N = 4096、D = 64 时从 {amount(before)} 到 {amount(after)}。",
                ),
                after < before,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"Blocks alone do not do it: the standard way, in the same 32 × 32 tiles, "
                    f"makes a tensor of {blocked.largest:,} = {n}² numbers; the fused one's "
                    f"largest has {fused.largest:,}.",
                    f"光靠分块做不到：标准做法同样用 32 × 32 的块，却生成了 {blocked.largest:,} = {n}² "
                    f"个数的张量；融合做法最大的只有 {fused.largest:,} 个。",
                ),
                blocked.largest == n * n > 4 * fused.largest,
            ),
            Check(
                Text(
                    f"It is the extra memory: Q, K, V and O take {amount(inputs)} before and "
                    f"after; what comes on top falls from {amount(extra)} to {amount(rest)}.",
                    f"说的是额外显存：Q、K、V、O 前后都是 {amount(inputs)}；"
                    f"多出来的部分从 {amount(extra)} 降到 {amount(rest)}。",
                ),
                rest < inputs < extra,
            ),
        ),
        numbers={
            "eager": eager,
            "flash": flash,
            "blocked": blocked.largest,
            "fused": fused.largest,
        },
        short=Text(
            f"recorded peaks grow as N^{eager:.2f} and N^{flash:.2f}; blocks without fusion "
            "still store N²",
            f"实测峰值按 N^{eager:.2f} 与 N^{flash:.2f} 增长；只分块不融合仍要存 N²",
        ),
        source=recorded(_RUN_ID),
        draw=_peaks,
    )


def _peaks() -> Figure:
    from ..viz.figures.rates import peak_memory

    rows = [
        row
        for name in ("eager", "sdpa_flash", "sdpa_cudnn")
        for row in measured.memory(provider=name, run_id=_RUN_ID)
        if row.pass_ == "forward"
    ]
    return peak_memory(rows, where=measured.run(_RUN_ID).provenance.line)


@claim("S23")
def never_stored() -> Found:
    """A watch on every tensor that comes into being, forward and backward."""
    n, d = 512, 16
    q, k, v = (x.requires_grad_() for x in _tensors(n, d))
    with Watch() as seen:
        flash_attention(q, k, v, impl="tiled").sum().backward()  # type: ignore[no-untyped-call]
    lengths = (1024, 2048, 4096, 8192)
    extra: dict[str, list[int]] = {"standard": [], "flash": []}
    for length in lengths:
        problem = AttentionProblem(len_q=length, len_k=length)
        extra["standard"].append(io_model.standard_extra_memory(problem, training=True))
        extra["flash"].append(io_model.flash_extra_memory(problem, training=True))
    powers = {name: fitted_exponent(lengths, values) for name, values in extra.items()}
    o, lse = (x.detach() for x in flash_attention(q, k, v, impl="tiled", return_lse=True))
    again = _recomputes(q, k, v, o, lse)
    reach = {name: max(_recorded_any(name)) for name in ("eager", "sdpa_flash")}
    return Found(
        stated=(
            Check(
                Text(
                    f"Forward and backward at N = {n}: the largest tensor ever made has "
                    f"{seen.largest:,} numbers = N · D; N × N would be {n * n:,}.",
                    f"N = {n} 的前向与反向：出现过的最大张量有 {seen.largest:,} 个数 = N · D；"
                    f"N × N 会是 {n * n:,} 个。",
                ),
                seen.largest <= n * d,
            ),
            Check(
                Text(
                    f"Extra memory in training grows as N^{powers['flash']:.2f} instead of "
                    f"N^{powers['standard']:.2f}.",
                    f"训练的额外显存按 N^{powers['flash']:.2f} 增长，而不是 "
                    f"N^{powers['standard']:.2f}。",
                ),
                abs(powers["flash"] - 1) < 0.01 and abs(powers["standard"] - 2) < 0.01,
            ),
            Check(
                Text(
                    f"The backward pass recomputes: its trace has {again} steps that build P again.",
                    f"反向传播确实在重算：记录里有 {again} 步重新算出 P。",
                ),
                again > 0,
            ),
            Check(
                Text(
                    f"Longer contexts: on the recorded GPU eager training ends at N = "
                    f"{reach['eager']:,}, flash still runs at {reach['sdpa_flash']:,}.",
                    f"上下文更长：实测的 GPU 上，逐算子注意力训练到 N = {reach['eager']:,} 为止，"
                    f"flash 到 {reach['sdpa_flash']:,} 仍能跑。",
                ),
                reach["sdpa_flash"] > reach["eager"],
            ),
        ),
        numbers={"largest": seen.largest, "n_by_d": n * d, "recomputed": again, **reach},
        short=Text(
            f"largest tensor N · D; training fits N = {reach['eager']:,} eager, "
            f"{reach['sdpa_flash']:,} and more with flash",
            f"最大的张量是 N · D；训练时逐算子放得下 N = {reach['eager']:,}，"
            f"flash 到 {reach['sdpa_flash']:,} 以上",
        ),
        source=recorded(_RUN_ID),
        draw=_growth,
    )


def _recorded_any(provider: str) -> list[int]:
    rows = measured.memory(provider=provider, run_id=_RUN_ID)
    return [r.problem.len_q for r in rows if r.pass_ == "training" and r.mib]


def _recomputes(q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor) -> int:
    """Steps of a traced backward pass that build a tile of P again."""
    q, k, v, o = (x.detach()[:, :, :64] for x in (q, k, v, o))
    trace = tiled.trace_flash_backward(q, k, v, o, lse[:, :, :64], o, tile=TileShape(16, 16))
    return sum(event.step == "recompute" for event in trace.events)


def _growth() -> Figure:
    from ..viz.figures.growth import memory_growth

    return memory_growth()
