"""S17 and S18: what survives a tile, and what the backward pass keeps."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from .. import reference, tiled
from ..attention import flash_attention
from ..language import Text
from ..problem import AttentionProblem, TileShape
from ..viz.numbers import plain
from .bars import Bar, bars
from .record import RAN, Check, Found, claim

ROUNDING = 1e-12


def _tensors(n: int, d: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(1, 1, n, d, generator=generator) for _ in "qkv"]


@claim("S17")
def tile_by_tile() -> Found:
    """What is held between two tiles, for sequences of several lengths."""
    from ..viz.figures.tiles import score_tiles

    d, rows, held, worst = 8, 4, {}, 0.0
    for n in (16, 64, 256):
        q, k, v = (x[0, 0].double() for x in _tensors(n, d, seed=17))
        state = tiled.SoftmaxState.empty([rows], d, dtype=torch.float64)
        for start in range(0, n, 16):
            s = q[:rows] @ k[start : start + 16].T * d**-0.5
            state = state.update(s, v[start : start + 16])
            held[n] = sum(x.numel() for x in state)
        wanted = torch.softmax(q[:rows] @ k.T * d**-0.5, 1) @ v
        worst = max(worst, float((state.finish()[0] - wanted).abs().max()))
    sizes = set(held.values())
    size = rows * (2 + d)
    return Found(
        stated=(
            Check(
                Text(
                    f"Between two tiles {rows} rows hold m, l and acc: {max(sizes)} numbers, for "
                    f"N = {', '.join(map(str, held))} alike.",
                    f"两块之间，{rows} 行只留下 m、l 和 acc：{max(sizes)} 个数，"
                    f"N = {'、'.join(map(str, held))} 都一样。",
                ),
                sizes == {size},
            ),
            Check(
                Text(
                    "After the last tile they give the output of the whole row, to 10⁻¹².",
                    "最后一块之后，由它们得到整行的输出，误差小于 10⁻¹²。",
                ),
                worst < ROUNDING,
            ),
        ),
        numbers={"held": max(sizes), "worst": worst},
        short=Text(
            f"{max(sizes)} numbers survive a tile (4 rows, D = {d}), whatever N is",
            f"两块之间留下 {max(sizes)} 个数（4 行，D = {d}），与 N 无关",
        ),
        source=RAN,
        draw=lambda: score_tiles(AttentionProblem(len_q=16, len_k=16, head_dim=8), TileShape(4, 4)),
    )


@claim("S18")
def what_backward_keeps() -> Found:
    """Saved tensors, gradients, and weights rebuilt from local instead of final statistics."""
    q, k, v = (x.double().requires_grad_() for x in _tensors(48, 8, seed=18))
    kept: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        o = flash_attention(q, k, v, impl="tiled")
    seed = torch.ones_like(o).cumsum(-1)
    grads = torch.autograd.grad(o, (q, k, v), seed)
    wanted = torch.autograd.grad(reference.attention(q, k, v)[0], (q, k, v), seed)
    error = max(float((a - b).abs().max()) for a, b in zip(grads, wanted, strict=True))
    largest = max(x.numel() for x in kept)
    rows = [x for x in kept if x.ndim == 3]
    local, final = _rebuilt(q, k)
    return Found(
        stated=(
            Check(
                Text(
                    f"Kept for the backward pass: {len(kept)} tensors, the largest of "
                    f"{largest} numbers, where N × N would be {48 * 48:,}.",
                    f"为反向传播留下 {len(kept)} 个张量，最大的 {largest} 个数；"
                    f"N × N 会是 {48 * 48:,} 个。",
                ),
                largest < 48 * 48,
            ),
            Check(
                Text(
                    "The gradients made from them are those of whole-row attention, to 10⁻¹².",
                    "由它们算出的梯度与整行注意力的一致，误差小于 10⁻¹²。",
                ),
                error < ROUNDING,
            ),
        ),
        conditions=(
            Check(
                Text(
                    f"Of softmax one number a row is kept ({rows[0].numel()} for 48 rows), "
                    "the final log-sum-exp, not a maximum and a normaliser for each "
                    "block.",
                    f"softmax 每行只留一个数（48 行共 {rows[0].numel()} 个数），"
                    "是最终的对数指数和，不是每块一个最大值和归一化量。",
                ),
                len(rows) == 1 and rows[0].numel() == 48,
            ),
            Check(
                Text(
                    f"Local ones would not do: weights rebuilt from them add up to {plain(local)} "
                    f"in a row; from the final one, to {plain(final)}.",
                    f"局部的值不够用：由它们重建的权重，一行之和是 {plain(local)}；"
                    f"由最终值重建，和是 {plain(final)}。",
                ),
                abs(final - 1) < ROUNDING < abs(local - 1),
            ),
        ),
        numbers={"kept": len(kept), "largest": largest, "local": local, "final": final},
        short=Text(
            f"kept: Q, K, V, O and one lse a row; weights from local statistics would add up to "
            f"{plain(local)} a row",
            f"留下 Q、K、V、O 和每行一个 lse；用局部统计量重建，一行权重之和会是 {plain(local)}",
        ),
        source=RAN,
        draw=_kept_bars,
    )


def _rebuilt(q: Tensor, k: Tensor, blocks: int = 3) -> tuple[float, float]:
    """Sum of the first row's weights rebuilt from the statistics of each block, and of the row."""
    s = (q @ k.mT * q.shape[-1] ** -0.5)[0, 0, 0].detach()
    parts = [torch.exp(part - torch.logsumexp(part, 0)) for part in s.chunk(blocks)]
    final = torch.exp(s - torch.logsumexp(s, 0))
    return float(torch.cat(parts).sum()), float(final.sum())


def _kept_bars() -> Figure:
    n, d = 4096, 64
    sizes = {"Q": n * d, "K": n * d, "V": n * d, "O": n * d}
    rows = [Bar(name, 2 * size / 2**20, name.lower()) for name, size in sizes.items()]
    rows += [
        Bar("lse", 4 * n / 2**20, "lse"),
        Bar(Text("P, not kept", "P，没有留"), 2 * n * n / 2**20, "p"),
    ]
    return bars(
        Text("Kept for the backward pass", "为反向传播留下的"),
        Text("One number a row stands for all of P.", "每行一个数，就代替了整个 P。"),
        rows,
        axis=Text(
            "MiB, one head, N = 4096, D = 64, float16", "MiB，一个头，N = 4096，D = 64，float16"
        ),
        where=Text("Computed from the sizes.", "由形状算出。"),
    )
