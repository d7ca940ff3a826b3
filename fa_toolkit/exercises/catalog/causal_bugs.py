"""The causal forward pass in tiles with one planted bug, in float64. No exercise by itself."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math

import torch

from ..spec import Variant
from .state_bugs import BLOCKS, UPDATES, State, folded, variant

_INF = math.inf
Triple = tuple[torch.Tensor, torch.Tensor, int]

#: Bugs of the mask: which keys (cols) a row may not see, from rows, cols, diagonal and the tile.
_HIDDEN = {
    "own-key-hidden": lambda r, c, d: c >= r + d,
    "own-key-hidden/patched": lambda r, c, d: c >= r + d,
    "future-seen": lambda r, c, d: c > r + d + 1,
    "past-hidden": lambda r, c, d: c < r + d,
    "top-left": lambda r, c, d: c > r,
    "diagonal-reversed": lambda r, c, d: c > r - d,
    "no-mask": lambda r, c, d: c < 0 * r,
}


#: What stands for a hidden score.
_VALUES = {
    "masked-to-zero": 0.0, "finite-mask": -1e9, "finite-mask/6": -1e6, "finite-mask/5": -1e5,
    "finite-mask/4": -1e4, "finite-mask/most": torch.finfo(torch.float32).min,
}  # fmt: skip


def _stop(start: int, rows: int, block: int, len_k: int, diagonal: int, bug: str) -> int:
    stop = start + rows + diagonal
    if bug == "every-tile" or bug in _HIDDEN:  # the mask decides, not the bound
        stop = len_k
    if bug == "diagonal-tile-skipped":
        stop = (stop - 1) // block * block
    if bug == "diagonal-tile-skipped/floor":
        stop = stop // block * block
    if bug == "stop-of-first-row":
        stop = start + 1 + diagonal
    if bug == "stop-top-left":
        stop = start + rows
    return max(0, min(len_k, stop))


def causal_tiles(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block_m: int, block_n: int, bug: str = ""
) -> Triple:
    """(o, lse, number of tiles) with one planted bug."""
    q, k, v = q.double(), k.double(), v.double()
    diagonal, scale = len(k) - len(q), q.shape[1] ** -0.5
    o, lse, tiles = q.new_zeros(len(q), v.shape[1]), q.new_full([len(q)], -_INF), 0
    for i in range(0, len(q), block_m):
        rows = torch.arange(i, min(i + block_m, len(q)))[:, None]
        x = q[i : i + block_m] * (1.0 if bug == "no-scale" else scale)
        m = x.new_full([len(x)], -_INF)
        l, acc = x.new_zeros(len(x)), x.new_zeros(len(x), v.shape[1])
        stop = _stop(i, len(x), block_n, len(k), diagonal, bug)
        for j in range(0, stop, block_n):
            s = x @ k[j : j + block_n].T
            seen = _masked(s, rows, j, stop, diagonal, bug)
            if bug == "denominator-unmasked":
                m, l, acc = _unmasked_sum((m, l, acc), s, seen, v[j : j + block_n])
            elif bug == "maximum-of-hidden":
                m, l, acc = _highest_of_all((m, l, acc), s, seen, v[j : j + block_n])
            else:
                m, l, acc = folded((m, l, acc), seen, v[j : j + block_n], bug)
            tiles += 1
        o[i : i + block_m] = _divided(acc, l, bug)
        lse[i : i + block_m] = _lse(m, l, bug)
    return o, lse, tiles


def _masked(
    s: torch.Tensor, rows: torch.Tensor, start: int, stop: int, diagonal: int, bug: str
) -> torch.Tensor:
    cols = torch.arange(start, start + s.shape[1])
    hidden = _HIDDEN.get(bug, lambda r, c, d: c > r + d)(rows, cols, diagonal)
    if bug.startswith("mask-within-tile"):
        near = torch.arange(len(s))[:, None], torch.arange(s.shape[1])
        rows = rows if bug.endswith("/cols") else near[0]
        hidden = (cols if bug.endswith("/rows") else near[1]) > rows + diagonal
    if not _is_cut(bug, rows + diagonal, cols):
        hidden = torch.zeros_like(hidden)
    if bug == "last-tile-only" and start + s.shape[1] < stop:
        hidden = torch.zeros_like(hidden)
    return s.masked_fill(hidden, _VALUES.get(bug, -_INF))


def _is_cut(bug: str, positions: torch.Tensor, cols: torch.Tensor) -> bool:
    """Whether a tile is taken to be cut by the diagonal: its last key beyond its first row."""
    first, last = int(positions[0]), int(positions[-1])
    return {
        "cut-tile-unmasked": int(cols[-1]) > last,
        "cut-tile-unmasked/first-key": int(cols[0]) > first,
        "cut-tile-unmasked/one-less": int(cols[-1]) > first + 1,
        "cut-tile-unmasked/same-start": int(cols[0]) == first,
    }.get(bug, True)


def _unmasked_sum(state: State, s: torch.Tensor, seen: torch.Tensor, v: torch.Tensor) -> State:
    """Hidden weights are 0 where they meet V, and whole in the denominator."""
    m, l, acc = state
    new = torch.maximum(m, s.amax(1))
    alpha, p = (m - new).exp(), (s - new[:, None]).exp()
    return new, l * alpha + p.sum(1), acc * alpha[:, None] + p * seen.isfinite() @ v


def _highest_of_all(state: State, s: torch.Tensor, seen: torch.Tensor, v: torch.Tensor) -> State:
    """The maximum is that of all scores, hidden ones too; what is far below it vanishes."""
    m, l, acc = state
    new = torch.maximum(m, s.amax(1))
    alpha = (m - new).exp()
    new, l, acc = folded((new, l * alpha, acc * alpha[:, None]), seen, v)
    return new, l.float().double(), acc.float().double()


def _divided(acc: torch.Tensor, l: torch.Tensor, bug: str) -> torch.Tensor:
    if bug in ("not-normalised", "normalised-each-step"):
        return acc
    if bug in ("zero-over-zero", "inf-minus-inf"):
        return acc / l[:, None]
    return acc / torch.where(l == 0, 1.0, l)[:, None]


def _lse(m: torch.Tensor, l: torch.Tensor, bug: str) -> torch.Tensor:
    right = m + l.log()
    if bug.startswith("finite-mask"):  # so far down, float32 rounds ln l away
        return (m.float() + l.log().float()).double()
    if bug == "dead-lse-zero":
        return torch.where(l == 0, 0.0, right)
    if bug == "lse-no-max":
        return l.log()
    if bug == "lse-base-2":
        return right / math.log(2)
    if bug.startswith("lse-base-mixed"):
        return m + l.log2() if bug.endswith("/l") else m / math.log(2) + l.log()
    return right


#: (bug, English, Chinese) of the mask and the bound of the loop.
MASKS = (
    (
        "no-mask",
        "Your result equals the one without a mask.",
        "你的结果等于没有加掩码的结果。",
    ),
    (
        "own-key-hidden",
        "A query's own position is hidden too: a row sees keys up to and including it.",
        "query 自己的位置也被遮住了：应看到自己为止，含自己。",
    ),
    (
        "future-seen",
        "Every row sees one key too many, the one after its own.",
        "每一行多看了一个 key，就是自己后面那个。",
    ),
    (
        "past-hidden",
        "The comparison is turned round: rows see the future and not the past.",
        "比较的方向反了：看到的是后面，看不到前面。",
    ),
    (
        "mask-within-tile",
        "Rows and columns are counted within the tile. The mask needs their numbers in the whole "
        "matrix: add where the tile begins.",
        "行号和列号是在块内数的。掩码要用整个矩阵里的编号：加上块的起点。",
    ),
    (
        "denominator-unmasked",
        "Hidden keys get no weight at V, but they are in the denominator: mask the scores before "
        "the sum.",
        "被遮住的 key 不乘 V 了，却还在分母里：要在求和之前就遮住分数。",
    ),
    (
        "cut-tile-unmasked",
        "A tile that the diagonal cuts goes unmasked. It needs the mask as soon as its last key lies "
        "beyond what its first row sees.",
        "有的块被对角线切开却没有加掩码。只要块里最后一个 key 超出第一行能看到的范围，就要加。",
    ),
    (
        "maximum-of-hidden",
        "The maximum is taken before the mask. Where a hidden score is far above the visible ones, "
        "all weights of the row become 0. Mask first.",
        "求最大值在加掩码之前。被遮住的分数远高于看得到的分数时，整行的权重都成了 0。应先加掩码。",
    ),
    (
        "masked-to-zero",
        "Hidden scores are 0, and e^0 counts. They must be −inf.",
        "被遮住的分数是 0，而 e^0 会计入。应为 −inf。",
    ),
)
#: The same, of the update and what follows it.
STEPS = (
    *UPDATES,
    *BLOCKS,
    (
        "no-scale",
        "Your result equals the one without the scale 1/√D.",
        "你的结果等于漏掉缩放 1/√D 的结果。",
    ),
    ("not-normalised", "acc is not divided by l at the end.", "最后没有把 acc 除以 l。"),
)


#: With square tiles and as many queries as keys these do nothing wrong.
_HARMLESS = frozenset(["cut-tile-unmasked/one-less", "cut-tile-unmasked/same-start"])


def square_variant(bug: str, en: str, zh: str) -> Variant:
    """The bug in 04.square, whose outputs are o and the number of tiles."""
    return variant(
        bug, en, zh, lambda form: lambda q, k, v, block: _square(q, k, v, block, form), _HARMLESS
    )


def _square(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int, bug: str
) -> tuple[torch.Tensor, int]:
    o, _, tiles = causal_tiles(q, k, v, block, block, bug)
    rows = -(-len(q) // block)
    if bug == "rows-counted":
        tiles = rows
    if bug.startswith("counted-before-the-end"):
        tiles += rows - bug.endswith("/but-last")
    if bug == "own-key-hidden/patched":
        tiles = rows * (rows + 1) // 2
    return o, tiles


def causal_variant(bug: str, en: str, zh: str) -> Variant:
    """The bug in 04.causal, whose outputs are o and lse."""
    return variant(
        bug, en, zh, lambda form: lambda q, k, v, bm, bn: causal_tiles(q, k, v, bm, bn, form)[:2]
    )
