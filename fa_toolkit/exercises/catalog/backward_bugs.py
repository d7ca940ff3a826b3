"""Attention, forward and backward, with one planted bug; the dull dense way, in float64.

What a wrong order of tiles does is modelled by masks: which pairs a loop reaches, and which running
maximum was in force when a key came by. Data for the diagnosis of `07.full`; texts are elsewhere.
"""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .backward_truth import Tensors

_INF = math.inf
#: what people write instead of -inf
_FINITE = (-1e9, -1e4, -1e6, float(torch.finfo(torch.float32).min))


@dataclass(frozen=True)
class Wrong:
    """One bug: its name, the size of the learner's tiles, and which of several ways it is done."""

    bug: str
    block: int = 16
    form: int = 0
    block_n: int = 0  # of keys; 0: as many as rows

    @property
    def keys(self) -> int:
        """Keys in a tile."""
        return self.block_n or self.block

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, do: Tensor, causal: bool) -> Tensors:
        """What a function with this bug returns."""
        q, k, v, do = (x.double() for x in (q, k, v, do))
        if self.bug == "do-as-ones":
            do = torch.ones_like(do)
        if self.bug == "first-head" and k.dim() > 2:
            k, v = (x[(0,) * (x.dim() - 2)].expand_as(x) for x in (k, v))
        scale = {"no-scale": 1.0, "scale-1-over-d": 1 / q.shape[-1]}.get(self.bug)
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        s, last = scale * (q @ k.mT), self.last(q, k, causal)
        o, lse, m, acc = self.forward(s, self.seen(q, k, causal), v, last)
        p = self.rebuilt(q, k, s, lse, m, self.seen(q, k, causal, backward=True))
        ds = self.grad_scores(p, do @ v.mT, self.delta(o, do, acc))
        if self.bug == "dv-unmasked":
            p = (s - lse.masked_fill(lse == -_INF, 0.0)[..., None]).exp()
        dq, dk, dv = self.gradients(q, k, do, p, ds, scale, last)
        return o, self.shown(lse, m, acc), dq, dk, dv

    def seen(self, q: Tensor, k: Tensor, causal: bool, *, backward: bool = False) -> Tensor:
        """Which pairs the loops reach and the mask lets through: bool [Nq, Nk]."""
        len_q, len_k, b, n = q.shape[-2], k.shape[-2], self.block, self.keys
        i, j = torch.arange(len_q)[:, None], torch.arange(len_k)[None, :]
        bug, only_backward = self.bug, self.bug.startswith("backward-")
        if (only_backward and not backward) or (backward and self.form and not only_backward):
            bug = ""  # form 1 of a bug of both passes: only forward has it
        offset, seen = len_k - len_q, torch.ones(len_q, len_k, dtype=torch.bool)
        if causal and bug not in ("causal-ignored", "backward-no-mask"):
            shift = {"top-left": 0, "backward-top-left": 0, "offset-sign": -offset}.get(bug, offset)
            shift += {"own-key-hidden": -1, "one-key-too-many": 1}.get(bug, 0)
            seen = i + shift >= j
        if causal and bug == "diagonal-tile-skipped":
            seen = seen & (j // n * n < i // b * b + offset)
        if causal and bug == "backward-first-tile-skipped":
            seen = seen & (i // b > (j // n * n - offset).clamp(min=0) // b)
        if bug in ("tail-keys-dropped", "backward-tail-keys"):
            seen = seen & (j < len_k - len_k % n)
        if bug in ("tail-queries-dropped", "backward-tail-queries"):
            seen = seen & (i < len_q - len_q % b)
        return seen

    def last(self, q: Tensor, k: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
        """Pairs in the tile of keys a row meets last; rows in the last tile: [Nq, Nk], [Nq, 1]."""
        len_q, len_k, b, n = q.shape[-2], k.shape[-2], self.block, self.keys
        i, j = torch.arange(len_q)[:, None], torch.arange(len_k)[None, :]
        stop = torch.full_like(i, len_k)
        if causal and not self.form:  # the loop ends where the mask does
            stop = ((i // b + 1) * b).clamp(max=len_q) + len_k - len_q
        stop = stop.clamp(1, len_k)
        return j // n == (stop - 1) // n, i // b == (len_q - 1) // b

    def forward(self, s: Tensor, seen: Tensor, v: Tensor, last: tuple[Tensor, Tensor]) -> Tensors:
        """(o, lse, m, acc) as this bug leaves them; m is 0 in rows without keys."""
        bug = self.bug
        full, s = (
            s,
            s.masked_fill(~seen, _FINITE[self.form // 2] if bug == "finite-mask" else -_INF),
        )
        highest = (full if bug == "mask-after-sum" else s).amax(-1, keepdim=True)
        m = highest.masked_fill(highest == -_INF, 0.0)
        if bug == "no-maximum":
            m = torch.zeros_like(m)
            p = s.float().exp().double()  # overflows where float32 does
        else:
            p = (s - m).exp()
        l, acc = p.sum(-1, keepdim=True), p @ v
        if bug == "mask-after-sum":
            l = (full - m).exp().sum(-1, keepdim=True)
        if bug in ("acc-not-rescaled", "l-not-rescaled", "nothing-rescaled"):
            w = (s - self.running(s)).exp().nan_to_num(0.0)
            acc = acc if bug == "l-not-rescaled" else w @ v
            l = l if bug == "acc-not-rescaled" else w.sum(-1, keepdim=True)
        if bug == "last-tile-alone":  # what was gathered before is multiplied by 0
            s = s.masked_fill(~last[0], -_INF)
            m = s.amax(-1, keepdim=True).nan_to_num(neginf=0.0)
            p = (s - m).exp()
            l, acc = p.sum(-1, keepdim=True), p @ v
        if bug == "o-overwritten":
            acc = (p * last[0]) @ v
        if bug == "normalised-each-step":
            acc = self.divided(s, v)
        o = acc / l.masked_fill(l == 0, 1.0)
        if bug == "not-normalised" or (bug == "normalised-each-step" and self.form == 0):
            o = acc
        lse = (m + l.log()).float().double()
        if bug == "dead-rows-nan":
            o = o.masked_fill(l == 0, math.nan)
            lse = lse.masked_fill(l == 0, math.nan) if self.form < 3 else lse
        return o, lse.squeeze(-1), m, acc

    def running(self, s: Tensor) -> Tensor:
        """The running maximum in force when a key's tile came by: as s."""
        tiles = range(0, s.shape[-1], self.keys)
        highest = [s[..., : j + self.keys].amax(-1) for j in tiles]
        return torch.stack(highest, -1).repeat_interleave(self.keys, -1)[..., : s.shape[-1]]

    def divided(self, s: Tensor, v: Tensor) -> Tensor:
        """acc when it is divided by l after every tile."""
        m, l = s.new_full((*s.shape[:-1], 1), -_INF), s.new_zeros(*s.shape[:-1], 1)
        acc = s.new_zeros(*s.shape[:-1], v.shape[-1])
        for j in range(0, s.shape[-1], self.keys):
            part = s[..., j : j + self.keys]
            new = torch.maximum(m, part.amax(-1, keepdim=True))
            pivot = new.masked_fill(new == -_INF, 0.0)
            alpha, p = (m - pivot).exp(), (part - pivot).exp()
            m, l = new, l * alpha + p.sum(-1, keepdim=True)
            acc = (acc * alpha + p @ v[..., j : j + self.keys, :]) / l.masked_fill(l == 0, 1.0)
        return acc

    def rebuilt(
        self, q: Tensor, k: Tensor, s: Tensor, lse: Tensor, m: Tensor, seen: Tensor
    ) -> Tensor:
        """P as backward has it."""
        if self.bug == "recompute-no-scale":
            s = q @ k.mT
        lse = lse.masked_fill(lse == -_INF, 0.0)[..., None]
        if self.bug == "p-not-normalised":
            lse = m
        if self.bug == "finite-mask" and self.form % 2:
            return (s.masked_fill(~seen, _FINITE[self.form // 2]) - lse).exp()
        p = torch.exp2(s - lse) if self.bug == "backward-exp2" else torch.exp(s - lse)
        if self.bug == "dead-rows-nan" and self.form % 3 == 2:  # masked scores, then exp
            dead = ~seen.any(-1, keepdim=True)
            return p.masked_fill(~seen, 0.0).masked_fill(dead, math.nan)
        return torch.where(seen, p, 0.0)

    def delta(self, o: Tensor, do: Tensor, acc: Tensor) -> Tensor:
        """Delta, [..., Nq, 1]."""
        left, right = {
            "delta-of-o": (o, o),
            "delta-of-do": (do, do),
            "delta-of-acc": (do, acc),
        }.get(self.bug, (do, o))
        delta = (left * right).sum(-1, keepdim=True)
        factors = {"no-delta": 0.0, "delta-sign": -1.0, "delta-mean": 1 / o.shape[-1]}
        return delta * factors.get(self.bug, 1.0)

    def grad_scores(self, p: Tensor, dp: Tensor, delta: Tensor) -> Tensor:
        """dS."""
        if self.bug == "ds-without-p":
            return torch.where(p != 0, dp - delta, 0.0)
        if self.bug == "jacobian-diagonal":
            return p * (1 - p) * dp
        if self.bug == "delta-outside":
            return torch.where(p != 0, p * dp - delta, 0.0) if self.form else p * dp - delta
        if self.bug == "delta-per-tile":
            sums = [x.sum(-1) for x in torch.split(p * dp, self.keys, -1)]
            delta = torch.stack(sums, -1).repeat_interleave(self.keys, -1)[..., : p.shape[-1]]
        ds = p * (dp - delta)
        right = self.bug == "dead-rows-nan" and self.form % 3 == 1
        return torch.where(p != 0, ds, 0.0) if right else ds

    def gradients(
        self, q: Tensor, k: Tensor, do: Tensor, p: Tensor, ds: Tensor, scale: float,
        last: tuple[Tensor, Tensor],
    ) -> Tensors:  # fmt: skip
        """(dq, dk, dv)."""
        bug = self.bug
        dq_scale = {"dq-not-scaled": 1.0, "dq-scaled-twice": scale**2}.get(bug, scale)
        dk_scale = {"dk-not-scaled": 1.0, "dk-scaled-twice": scale**2}.get(bug, scale)
        if bug == "gradients-not-scaled":
            dq_scale = dk_scale = 1.0
        of_v = {"dv-from-ds": ds, "dv-scaled": scale * p}.get(bug, p)
        if bug == "p-not-transposed":
            of_v = self.turned(p, 1 / p.shape[-1])
        if bug in ("dv-overwritten", "dkdv-overwritten"):
            of_v = torch.where(last[1], of_v, 0.0)
        of_k = (
            torch.where(last[1], ds, 0.0) if bug in ("dk-overwritten", "dkdv-overwritten") else ds
        )
        of_k = self.turned(ds, 0.0) if bug == "ds-not-transposed" else of_k
        of_q = torch.where(last[0], ds, 0.0) if bug == "dq-overwritten" else ds
        return dq_scale * of_q @ k, dk_scale * of_k.mT @ q, of_v.mT @ do

    def turned(self, x: Tensor, padding: float) -> Tensor:
        """x with every tile transposed in its place; torch refuses tiles that are not square.

        Form 1 has whole tiles: rows past the end, whose weights are `padding`, and keys past it.
        """
        (m, n), b = x.shape[-2:], self.block
        if self.keys != b or (not self.form and (m % b or n % b) and not m == n <= b):
            raise ValueError("a tile is not square")
        b = m if not self.form and m == n <= b else b
        x = torch.nn.functional.pad(x, (0, 0, 0, -m % b), value=padding)
        x = torch.nn.functional.pad(x, (0, -n % b))
        cut = x.reshape(*x.shape[:-2], x.shape[-2] // b, b, x.shape[-1] // b, b)
        return cut.transpose(-3, -1).reshape(x.shape)[..., :m, :n]

    def shown(self, lse: Tensor, m: Tensor, acc: Tensor) -> Tensor:
        """The lse that is returned, where only that is wrong."""
        if not self.bug.startswith("lse-"):
            return lse
        m = m.squeeze(-1)
        l = (lse - m).exp()
        wrong = {
            "lse-no-maximum": l.log(),
            "lse-base-2": lse / math.log(2),
            "lse-no-log": m + l,
            "lse-is-m": m,
            "lse-dead-zero": lse.masked_fill(lse == -_INF, 0.0),
            "lse-sign": l.log() - m,
        }
        return wrong.get(self.bug, lse)
