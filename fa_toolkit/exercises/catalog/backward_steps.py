"""One head's gradients from what forward saved, with one planted bug. Data for the diagnosis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ...language import Text
from ..spec import Variant
from .backward_truth import gradients, inputs, strided

#: (q, k, v, do, lse, delta) of one head
Saved = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
_EPS = torch.finfo(torch.float32).eps

TEXTS = {
    "no-scale": Text("P is rebuilt without the scale 1/√D.", "重算 P 时漏了 1/√D。"),
    "no-lse": Text("P is e^s. Without − lse its rows do not sum to 1.",
                   "P 成了 e^s。不减 lse，每行的和就不是 1。"),
    "exp2-mismatch": Text("You take 2^(s − lse); s and lse are in natural units.",
                          "你用了 2^(s − lse)，而 s 和 lse 是自然单位。"),
    "dv-from-ds": Text("dV is dsᵀ dO. It is pᵀ dO.", "dV 算成了 dsᵀ dO，应为 pᵀ dO。"),
    "dv-scaled": Text("dV is multiplied by the scale. V never met it.", "dV 乘了缩放，而 V 与缩放无关。"),
    "no-delta": Text("Delta is missing: ds = p · (dp − Delta).", "漏了 Delta：ds = p · (dp − Delta)。"),
    "delta-sign": Text("Delta is added. It is subtracted.", "Delta 应当减去，你加上了。"),
    "ds-without-p": Text("ds lacks the factor p.", "ds 漏了因子 p。"),
    "not-scaled": Text("The scale is missing in the gradient: s was scale · q kᵀ.",
                       "梯度里漏了缩放：s 是 scale · q kᵀ。"),
    "scaled-twice": Text("The scale enters the gradient twice.", "梯度里缩放乘了两次。"),
    "scaled-again": Text(
        "The scale multiplies the whole gradient after every tile, so what was finished is scaled "
        "again. It belongs to the tile alone, or once behind both loops.",
        "每算完一块，缩放就把整个梯度都乘一遍，先前算好的又被缩放了。应只乘这一块，"
        "或者在两层循环之后乘一次。"),
    "rows-overwritten": Text("Only the last tile of queries is left: the sum must be added to.",
                             "只留下了最后一块 query 的结果，应当累加。"),
    "keys-overwritten": Text("Only the last tile of keys is left: the sum must be added to.",
                             "只留下了最后一块 key 的结果，应当累加。"),
    "tail-queries-dropped": Text("The last queries, those that fill no whole tile, are left out.",
                                 "最后凑不满一块的 query 被漏掉了。"),
    "tail-keys-dropped": Text("The last keys, those that fill no whole tile, are left out.",
                              "最后凑不满一块的 key 被漏掉了。"),
}  # fmt: skip


def dull(saved: Saved, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """The dull reference: (dq, dk, dv)."""
    q, k, v, do, lse, delta = saved
    p = torch.exp(scale * q @ k.T - lse[:, None])  # [Nq, Nk]
    ds = p * (do @ v.T - delta[:, None])  # [Nq, Nk]
    return scale * ds @ k, scale * ds.T @ q, p.T @ do


@dataclass(frozen=True)
class Step:
    """`dull` with one bug, in tiles of block_m × block_n."""

    bug: str

    def __call__(
        self, saved: Saved, scale: float, block_m: int, block_n: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(dq, dk, dv)."""
        q, k, v, do, lse, delta = (x.double() for x in saved)
        bug = self.bug
        i, j = torch.arange(len(q), device=q.device)[:, None], torch.arange(len(k), device=q.device)
        s = (1.0 if bug == "no-scale" else scale) * q @ k.T
        base = 2.0 if bug == "exp2-mismatch" else math.e
        p = torch.pow(base, s if bug == "no-lse" else s - lse[:, None])
        if bug == "tail-queries-dropped":
            p = p * (i < len(q) - len(q) % block_m)
        if bug == "tail-keys-dropped":
            p = p * (j < len(k) - len(k) % block_n)
        if bug == "rows-overwritten":
            p = p * (i // block_m == (len(q) - 1) // block_m)
        if bug == "keys-overwritten":
            p = p * (j // block_n == (len(k) - 1) // block_n)
        dp, sign = do @ v.T, {"no-delta": 0.0, "delta-sign": -1.0}.get(bug, 1.0)
        ds = (1.0 if bug == "ds-without-p" else p) * (dp - sign * delta[:, None])
        outer = {"not-scaled": 1.0, "scaled-twice": scale**2, "no-scale": 1.0}.get(bug, scale)
        of_v = {"dv-from-ds": ds, "dv-scaled": scale * p}.get(bug, p)
        of_q, of_k = outer * ds @ k, outer * ds.T @ q
        if bug == "scaled-again":
            of_q, of_k = _again(of_q, scale, block_m), _again(of_k, scale, block_n)
        return of_q, of_k, of_v.T @ do


def _again(finished: Tensor, scale: float, block: int) -> Tensor:
    """Every tile of rows multiplied once more for every tile behind it."""
    tiles = torch.arange(len(finished)) // block
    return finished * scale ** (tiles[-1:] - tiles).double()[:, None].to(finished.device)


def left(len_q: int, len_k: int, *, size: float = 1.0, d: int = 8, d_v: int = 8) -> Saved:
    """What forward left of one head."""
    return finished(inputs(len_q, len_k, d=d, d_v=d_v, size=size))


def left_strided() -> Saved:
    """The same, not contiguous, with a dO of stride 0 as .sum() makes it."""
    q, k, v, do = (x[1] for x in strided(20, 26))
    return finished((q, k, v, torch.ones(()).expand(do.shape)))


def finished(tensors: tuple[Tensor, ...]) -> Saved:
    """What forward leaves of these q, k, v and dO."""
    q, k, v, do = tensors
    o, lse, _, _, _ = gradients(q.double(), k.double(), v.double(), do.double())
    return q, k, v, do, lse.float(), (o * do.double()).sum(-1).float()


def step_budget(saved: Saved, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """Largest error of (dq, dk, dv): the rounding of a score times the absolute terms."""
    q, k, v, do, lse, delta = (x.double() for x in saved)
    p = torch.exp(scale * q @ k.T - lse[:, None])
    reach = scale * (q.abs() @ k.abs().T)
    share = 8 * _EPS * (8 + reach.amax(1, keepdim=True) + lse.abs()[:, None]) * p
    g = share * (do.abs() @ v.abs().T + delta.abs()[:, None])
    return scale * g @ k.abs() + _EPS, scale * g.T @ q.abs() + _EPS, share.T @ do.abs() + _EPS


def planted(name: str, fn: object) -> Variant:
    """A variant with its sentence."""
    assert callable(fn)
    return Variant(name, TEXTS[name], fn)
