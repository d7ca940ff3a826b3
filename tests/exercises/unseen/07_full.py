"""07.full, from its specification alone: a dozen mistakes in working programs, five right ones."""

# mypy: ignore-errors
# ruff: noqa: E741  (l is the denominator's name on every floor)
import math

import torch

EXERCISE = "07.full"

BUGS = {
    "m_never_moves_on": {"last-tile-alone"},
    "delta_inside_the_loop": {"delta-per-tile"},
    "mask_on_ds_alone": {"dv-unmasked"},
    "scaled_q_scaled_again": {"dk-scaled-twice"},
    "scaled_q_forgotten": {"dq-not-scaled"},
    "indices_without_offset": {"top-left"},
    "everything_in_base_two": {"lse-base-2"},
    "whole_blocks_only": {"tail-keys-dropped"},
    "nan_in_rows_without_keys": {"dead-rows-nan"},
    "tile_not_transposed": {"ds-not-transposed"},
    "brackets_forgotten": {"delta-outside"},
    "stop_rounded_down": {"diagonal-tile-skipped"},
}
RIGHT = [
    "einsum_over_flat_heads",
    "one_row_at_a_time",
    "powers_of_two_and_bounds",
    "parts_merged",
    "maximum_in_a_pass_of_its_own",
]


def whole_forward(q, k, v, causal, block=40):
    """o and lse, right: for functions whose mistake is in backward."""
    q, k, v = (x if x.dtype == torch.float64 else x.float() for x in (q, k, v))
    o, lse = [], []
    for i in range(0, q.shape[-2], 24):
        m = torch.full((*q.shape[:-2], min(24, q.shape[-2] - i), 1), -math.inf, dtype=q.dtype)
        l, acc = torch.zeros_like(m), torch.zeros(())
        for a, b, hidden in tiles(q, k, causal, 24, block, rows=[i]):
            s = q[..., a, :] @ k[..., b, :].mT / math.sqrt(q.shape[-1])
            s[..., hidden] = -math.inf
            new = torch.maximum(m, s.amax(-1, keepdim=True))
            zero = torch.where(new == -math.inf, 0.0, new)
            p, fade = torch.exp(s - zero), torch.exp(m - zero)
            l, acc, m = l * fade + p.sum(-1, keepdim=True), acc * fade + p @ v[..., b, :], new
        o.append(torch.where(l == 0, 0.0, acc / torch.where(l == 0, 1.0, l)))
        lse.append((m + l.log())[..., 0])
    return torch.cat(o, -2), torch.cat(lse, -1).float()


def tiles(q, k, causal, bm, bn, rows=None):
    """Slices of every tile, and which of its pairs are hidden."""
    shift = k.shape[-2] - q.shape[-2]
    for i in range(0, q.shape[-2], bm) if rows is None else rows:
        for j in range(0, k.shape[-2], bn):
            a, b = slice(i, i + bm), slice(j, j + bn)
            places = torch.arange(q.shape[-2])[a, None] + shift
            yield a, b, (places < torch.arange(k.shape[-2])[b]) & torch.tensor(causal)


def whole_backward(q, k, v, do, o, lse, causal, step, bm=32, bn=32):
    """dq, dk, dv by a function `step(s, hidden, lse, dp, delta) -> (p for dv, ds)`."""
    kind, (q, k, v, do) = q.dtype, (x.float() for x in (q, k, v, do))
    scale, delta = q.shape[-1] ** -0.5, (do * o).sum(-1)
    dq, dk, dv = (torch.zeros(x.shape) for x in (q, k, v))
    row = lse.masked_fill(lse == -math.inf, 0.0)
    for a, b, hidden in tiles(q, k, causal, bm, bn):
        s = scale * q[..., a, :] @ k[..., b, :].mT
        dp = do[..., a, :] @ v[..., b, :].mT
        p, ds = step(s, hidden, row[..., a, None], dp, delta[..., a, None])
        dv[..., b, :] += p.mT @ do[..., a, :]
        dk[..., b, :] += scale * ds.mT @ q[..., a, :]
        dq[..., a, :] += scale * ds @ k[..., b, :]
    return dq.to(kind), dk.to(kind), dv.to(kind)


def right_step(s, hidden, lse, dp, delta):
    p = torch.exp(s - lse).masked_fill(hidden, 0.0)
    return p, p * (dp - delta)


def finished(q, k, v, do, causal, o, lse, step=right_step, **sizes):
    return o.to(q.dtype), lse, *whole_backward(q, k, v, do, o, lse, causal, step, **sizes)


def m_never_moves_on(q, k, v, do, causal):
    scale, o = q.shape[-1] ** -0.5, torch.zeros(*q.shape[:-1], v.shape[-1])
    lse = torch.full(q.shape[:-1], -math.inf)
    for i in range(0, q.shape[-2], 32):
        m, l, acc = torch.tensor(-math.inf), 0.0, 0.0
        for a, b, hidden in tiles(q, k, causal, 32, 32):
            if a.start != i:
                continue
            s = scale * q[..., a, :].float() @ k[..., b, :].float().mT
            s = s.masked_fill(hidden, -math.inf)
            m_new = torch.maximum(m, s.amax(-1, keepdim=True))
            safe = m_new.masked_fill(m_new == -math.inf, 0.0)
            alpha, p = torch.exp(m - safe), torch.exp(s - safe)
            l = alpha * l + p.sum(-1, keepdim=True)
            acc = alpha * acc + p @ v[..., b, :].float()
        rows = slice(i, i + 32)
        o[..., rows, :] = acc / torch.where(l == 0, 1.0, l)
        lse[..., rows] = (m_new + l.log())[..., 0]
    return finished(q, k, v, do, causal, o, lse)


def delta_inside_the_loop(q, k, v, do, causal):
    def step(s, hidden, lse, dp, delta):
        p = torch.exp(s - lse).masked_fill(hidden, 0.0)
        return p, p * (dp - (p * dp).sum(-1, keepdim=True))

    return finished(q, k, v, do, causal, *whole_forward(q, k, v, causal), step, bm=64, bn=64)


def mask_on_ds_alone(q, k, v, do, causal):
    def step(s, hidden, lse, dp, delta):
        p = torch.exp(s - lse)
        return p, (p * (dp - delta)).masked_fill(hidden, 0.0)

    return finished(q, k, v, do, causal, *whole_forward(q, k, v, causal), step)


def scaled_q_scaled_again(q, k, v, do, causal):
    scale = q.shape[-1] ** -0.5
    o, lse, dq, dk, dv = finished(q, k, v, do, causal, *whole_forward(q, k, v, causal))
    return o, lse, dq, (dk.float() * scale).to(dk.dtype), dv  # q had been multiplied in place of s


def scaled_q_forgotten(q, k, v, do, causal):
    kind, o, lse = q.dtype, *whole_forward(q, k, v, causal)
    k32, v32, do32 = k.float(), v.float(), do.float()
    scaled = q.float() * q.shape[-1] ** -0.5
    delta, row = (do32 * o).sum(-1), lse.masked_fill(lse == -math.inf, 0.0)
    dq, dk, dv = torch.zeros(q.shape), torch.zeros(k.shape), torch.zeros(v.shape)
    for a, b, hidden in tiles(q, k, causal, 16, 48):
        p = torch.exp(scaled[..., a, :] @ k32[..., b, :].mT - row[..., a, None])
        p = p.masked_fill(hidden, 0.0)
        ds = p * (do32[..., a, :] @ v32[..., b, :].mT - delta[..., a, None])
        dv[..., b, :] += p.mT @ do32[..., a, :]
        dk[..., b, :] += ds.mT @ scaled[..., a, :]
        dq[..., a, :] += ds @ k32[..., b, :]
    return o.to(kind), lse, dq.to(kind), dk.to(kind), dv.to(kind)


def indices_without_offset(q, k, v, do, causal):
    n, o = k.shape[-2], torch.zeros(*q.shape[:-1], v.shape[-1])
    lse = torch.zeros(q.shape[:-1])
    for i in range(q.shape[-2]):
        stop = min(i + 1, n) if causal else n
        o1, l1 = whole_forward(q[..., i : i + 1, :], k[..., :stop, :], v[..., :stop, :], False)
        o[..., i : i + 1, :], lse[..., i : i + 1] = o1, l1

    def step(s, hidden, lse, dp, delta):
        p = torch.exp(s - lse)
        where = step.places[step.at]
        step.at += 1
        p = p.masked_fill(where & torch.tensor(causal), 0.0)
        return p, p * (dp - delta)

    step.at, step.places = 0, []
    for a, b, _ in tiles(q, k, causal, 32, 32):
        step.places.append(torch.arange(q.shape[-2])[a, None] < torch.arange(n)[b])
    return finished(q, k, v, do, causal, o, lse, step)


def everything_in_base_two(q, k, v, do, causal):
    o, lse = whole_forward(q, k, v, causal)
    base_two = lse / math.log(2)

    def step(s, hidden, lse, dp, delta):
        p = torch.exp2(s / math.log(2) - lse).masked_fill(hidden, 0.0)
        return p, p * (dp - delta)

    return finished(q, k, v, do, causal, o, base_two, step)


def whole_blocks_only(q, k, v, do, causal):
    stop = k.shape[-2] // 24 * 24
    shift = k.shape[-2] - q.shape[-2]
    o, lse = torch.zeros(*q.shape[:-1], v.shape[-1]), torch.full(q.shape[:-1], -math.inf)
    for i in range(q.shape[-2]):
        end = min(stop, max(0, i + shift + 1)) if causal else stop
        if end:
            row = q[..., i : i + 1, :], k[..., :end, :], v[..., :end, :]
            o[..., i : i + 1, :], lse[..., i : i + 1] = whole_forward(*row, False)
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    row = lse.masked_fill(lse == -math.inf, 0.0)[..., None]
    delta = (do.float() * o).sum(-1, keepdim=True)
    for j in range(0, stop, 24):
        b, scale = slice(j, j + 24), q.shape[-1] ** -0.5
        s = scale * q.float() @ k[..., b, :].float().mT
        hidden = torch.arange(q.shape[-2])[:, None] + shift < torch.arange(j, j + 24)
        p = torch.exp(s - row).masked_fill(hidden & torch.tensor(causal), 0.0)
        ds = scale * p * (do.float() @ v[..., b, :].float().mT - delta)
        dv[..., b, :] = (p.mT @ do.float()).to(v.dtype)
        dk[..., b, :] = (ds.mT @ q.float()).to(k.dtype)
        dq += (ds @ k[..., b, :].float()).to(q.dtype)
    return o.to(q.dtype), lse, dq, dk, dv


def nan_in_rows_without_keys(q, k, v, do, causal):
    o, lse = whole_forward(q, k, v, causal)
    dead = lse == -math.inf
    return finished(q, k, v, do, causal, o.masked_fill(dead[..., None], math.nan), lse)


def tile_not_transposed(q, k, v, do, causal):
    o, lse, dq, _, dv = finished(q, k, v, do, causal, *whole_forward(q, k, v, causal))
    q32, k32, v32, do32 = (x.float() for x in (q, k, v, do))
    scale, dk = q.shape[-1] ** -0.5, torch.zeros(k.shape)
    row, delta = lse.masked_fill(lse == -math.inf, 0.0), (do32 * o.float()).sum(-1)
    for a, b, hidden in tiles(q, k, causal, 8, 8):
        s = scale * q32[..., a, :] @ k32[..., b, :].mT
        p = torch.exp(s - row[..., a, None]).masked_fill(hidden, 0.0)
        ds = p * (do32[..., a, :] @ v32[..., b, :].mT - delta[..., a, None])
        dk[..., b, :] += scale * ds @ q32[..., a, :]
    return o, lse, dq, dk.to(k.dtype), dv


def brackets_forgotten(q, k, v, do, causal):
    def step(s, hidden, lse, dp, delta):
        p = torch.exp(s - lse).masked_fill(hidden, 0.0)
        return p, p * dp - delta

    return finished(q, k, v, do, causal, *whole_forward(q, k, v, causal), step)


def stop_rounded_down(q, k, v, do, causal):
    if not causal:
        return finished(q, k, v, do, causal, *whole_forward(q, k, v, causal))
    block, shift = 16, k.shape[-2] - q.shape[-2]
    o, lse = torch.zeros(*q.shape[:-1], v.shape[-1]), torch.full(q.shape[:-1], -math.inf)
    dq, dk, dv = (torch.zeros(x.shape) for x in (q, k, v))
    for i in range(0, q.shape[-2], block):
        stop = max(0, (i + shift) // block * block)  # one past what every row of the block sees
        if not stop:
            continue
        a, past = slice(i, i + block), slice(0, stop)
        part = q[..., a, :], k[..., past, :], v[..., past, :], do[..., a, :]
        found = finished(*part, False, *whole_forward(*part[:3], False))
        o[..., a, :], lse[..., a], dq[..., a, :] = found[:3]
        dk[..., past, :] += found[3]
        dv[..., past, :] += found[4]
    return o.to(q.dtype), lse, dq.to(q.dtype), dk.to(q.dtype), dv.to(q.dtype)


def einsum_over_flat_heads(q, k, v, do, causal):
    lead, kind = q.shape[:-2], q.dtype
    q, k, v, do = (x.reshape(-1, *x.shape[-2:]).float() for x in (q, k, v, do))
    o, lse = whole_forward(q, k, v, causal)
    q = q / math.sqrt(q.shape[-1])
    grads = [torch.zeros_like(x) for x in (q, k, v)]
    gone = torch.where(lse.isfinite(), lse, torch.inf)
    for a, b, hidden in tiles(q, k, causal, 50, 30):
        s = torch.einsum("hid,hjd->hij", q[:, a], k[:, b])
        p = torch.where(hidden, 0.0, (s - gone[:, a, None]).exp())
        inner = torch.einsum("hid,hjd->hij", do[:, a], v[:, b])
        inner -= torch.einsum("hid,hid->hi", do[:, a], o[:, a])[..., None]
        grads[2][:, b] += torch.einsum("hij,hid->hjd", p, do[:, a])
        grads[1][:, b] += torch.einsum("hij,hij,hid->hjd", p, inner, q[:, a])
        grads[0][:, a] += torch.einsum("hij,hij,hjd->hid", p, inner, k[:, b])
    grads[0] /= math.sqrt(q.shape[-1])
    shaped = [x.reshape(*lead, *x.shape[1:]).to(kind) for x in (o, *grads)]
    return shaped[0], lse.reshape(*lead, -1), *shaped[1:]


def one_row_at_a_time(q, k, v, do, causal):
    o, lse = whole_forward(q.double(), k.double(), v.double(), causal, block=7)
    dq, dk, dv = (torch.zeros(x.shape, dtype=torch.float64) for x in (q, k, v))
    shift, scale = k.shape[-2] - q.shape[-2], q.shape[-1] ** -0.5
    for i in range(q.shape[-2]):
        n = max(0, min(k.shape[-2], i + 1 + shift)) if causal else k.shape[-2]
        q1, do1 = q[..., i, :].double()[..., None], do[..., i, :].double()[..., None]
        k1, v1 = k[..., :n, :].double(), v[..., :n, :].double()
        p = (scale * k1 @ q1 - lse[..., i, None, None].double()).exp()  # [..., n, 1]
        ds = p * (v1 @ do1 - (do1[..., 0] * o[..., i, :].double()).sum(-1)[..., None, None])
        dv[..., :n, :] += p @ do1.mT
        dk[..., :n, :] += scale * ds @ q1.mT
        dq[..., i, :] = (scale * k1.mT @ ds)[..., 0]
    return o.to(q.dtype), lse, *(x.to(q.dtype) for x in (dq, dk, dv))


def powers_of_two_and_bounds(q, k, v, do, causal):
    kind, n, shift = q.dtype, k.shape[-2], k.shape[-2] - q.shape[-2]
    o, lse = whole_forward(q, k, v, causal, block=16)
    unit, q, k, v, do = q.shape[-1] ** -0.5, q.float(), k.float(), v.float(), do.float()
    delta, row = (o * do).sum(-1, keepdim=True), (lse / math.log(2)).clamp(min=-1e30)[..., None]
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for j in range(0, n, 64):  # keys own dk and dv
        b, start = slice(j, j + 64), max(0, j - shift) if causal else 0
        for a in torch.arange(start, q.shape[-2]).split(32):
            s = q[..., a, :] @ k[..., b, :].mT * (unit / math.log(2)) - row[..., a, :]
            open_ = (a[:, None] + shift >= torch.arange(n)[b]) | torch.tensor(not causal)
            p = torch.where(open_, torch.exp2(torch.where(open_, s, 0.0)), 0.0)
            ds = unit * p * (do[..., a, :] @ v[..., b, :].mT - delta[..., a, :])
            dv[..., b, :] += p.mT @ do[..., a, :]
            dk[..., b, :] += ds.mT @ q[..., a, :]
            dq[..., a, :] += ds @ k[..., b, :]
    return o.to(kind), lse, dq.to(kind), dk.to(kind), dv.to(kind)


def parts_merged(q, k, v, do, causal):
    shift, half = k.shape[-2] - q.shape[-2], k.shape[-2] // 2
    o, lse = torch.zeros(*q.shape[:-1], v.shape[-1]), torch.full(q.shape[:-1], -math.inf)
    for part in (slice(half, None), slice(0, half)):  # the later half first
        for i in range(q.shape[-2]):
            n = max(0, min(k.shape[-2], i + 1 + shift)) if causal else k.shape[-2]
            keys = slice(part.start, min(n, part.stop or n))
            if keys.stop <= keys.start:
                continue
            one = q[..., i : i + 1, :], k[..., keys, :], v[..., keys, :]
            new, lse_new = whole_forward(*one, False)
            new, lse_new, old = new[..., 0, :], lse_new[..., 0], lse[..., i]
            top = torch.maximum(old, lse_new)
            x, y = (old - top).exp(), (lse_new - top).exp()
            mixed = x[..., None] * o[..., i, :] + y[..., None] * new
            o[..., i, :], lse[..., i] = mixed / (x + y)[..., None], top + (x + y).log()
    return finished(q, k, v, do, causal, o, lse, bm=17, bn=90)


def maximum_in_a_pass_of_its_own(q, k, v, do, causal):
    scale, kind = q.shape[-1] ** -0.5, q.dtype
    q, k, v, do = (x.float() for x in (q, k, v, do))
    m, l = torch.full((*q.shape[:-1], 1), -1e38), torch.zeros(*q.shape[:-1], 1)
    o = torch.zeros(*q.shape[:-1], v.shape[-1])

    def scores(a, b, hidden):
        return (scale * q[..., a, :] @ k[..., b, :].mT).masked_fill(hidden, -math.inf)

    for a, b, hidden in tiles(q, k, causal, 100, 20):
        m[..., a, :] = torch.maximum(m[..., a, :], scores(a, b, hidden).amax(-1, keepdim=True))
    for a, b, hidden in tiles(q, k, causal, 100, 20):
        p = torch.exp(scores(a, b, hidden) - m[..., a, :])
        l[..., a, :] += p.sum(-1, keepdim=True)
        o[..., a, :] += p @ v[..., b, :]
    o = torch.where(l > 0, o / l, 0.0)
    lse = torch.where(l > 0, m + l.log(), -math.inf)[..., 0]
    return finished(q.to(kind), k.to(kind), v.to(kind), do.to(kind), causal, o, lse)
