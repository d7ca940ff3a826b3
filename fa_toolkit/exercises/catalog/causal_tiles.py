"""Exercises of chapter 04: tiles under a causal mask, square and then bottom-right."""

from __future__ import annotations

import torch

from ...language import Text
from ..layouts import blocks
from ..spec import (
    READY_MADE,
    Case,
    Exercise,
    Output,
    Passage,
    Rule,
    attention_budget,
    randn,
    visible,
)
from .causal_bugs import MASKS, STEPS, causal_variant, square_variant
from .extremes import FAR_BELOW, HIDDEN_ABOVE, far_below, rising
from .state_bugs import LSE_MIXED

Pair = tuple[torch.Tensor, torch.Tensor]


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block_m: int = 1, block_n: int = 1
) -> Pair:
    """The dull reference: a row without keys is 0, its lse −inf."""
    hidden = ~visible(len(q), len(k))  # [Nq, Nk]
    s = (q @ k.T * q.shape[1] ** -0.5).masked_fill(hidden, -torch.inf)  # [Nq, Nk]
    p = torch.softmax(s, 1).masked_fill(hidden, 0.0)
    return p @ v, torch.logsumexp(s, 1)  # [Nq, Dv], [Nq]


def square(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int
) -> tuple[torch.Tensor, int]:
    """The dull reference; block row i meets the tiles 0 .. i."""
    rows = -(-len(q) // block)
    return attention(q, k, v)[0], rows * (rows + 1) // 2


def _qkv(
    len_q: int, len_k: int, *, d: int = 8, size: float = 1.0, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k = size * randn(len_q, d, seed=41), size * randn(len_k, d, seed=42)
    return q.to(dtype), k.to(dtype), randn(len_k, d + 2, seed=43).to(dtype)


def _below(len_q: int, len_k: int) -> tuple[torch.Tensor, ...]:
    q, k, v = _qkv(len_q, len_k)
    return (*far_below(q, k), v)


def _rising(len_q: int, len_k: int) -> tuple[torch.Tensor, ...]:
    q, k, v = _qkv(len_q, len_k)
    return (*rising(q, k), v)


SQUARE = Exercise(
    id="04.square",
    title=Text("Causal tiles, as many queries as keys", "因果分块，query 与 key 一样多"),
    spec=Text(
        "One head, Nq = Nk = N, one block size for rows and keys. Query i sees keys 0 .. i. Walk "
        "only over tiles in which some row sees some key, and count the tiles of scores you make; "
        "a tile on the diagonal needs a mask.",
        "一个头，Nq = Nk = N，行和 key 用同一个块大小。query i 能看到 key 0 .. i。"
        "只走至少有一行能看到某个 key 的块，并数出一共算了几个分数块；对角线上的块要加掩码。",
    ),
    formula="s[i, j] = −inf for j > i;   T = ⌈N / block⌉ gives T·(T + 1) / 2 tiles",
    passage=Passage(4, Text("Tiles that need not run", "不必算的块")),
    then="04.causal",
    entry="square_causal",
    layout=blocks(causal=True),
    widget="fa.viz.tile_player()",
    call="square_causal(q, k, v, block) -> (o, tiles)",
    reference=square,
    outputs=(Output("o", dtype="float32"), Output("tiles", "causal", None)),
    allowed=lambda q, k, v, block: [attention_budget(q, k, v, causal=True)[0], 0.0],
    cases=[
        Case("value", "N=8, block=4", lambda: (*_qkv(8, 8), 4)),
        Case("value", "N=12, block=3", lambda: (*_qkv(12, 12), 3)),
        Case("ragged", "N=11, block=4", lambda: (*_qkv(11, 11), 4)),
        Case("ragged", "N=3, block=8", lambda: (*_qkv(3, 3), 8)),
        Case("extreme-logits", "q, k × 30", lambda: (*_qkv(8, 8, size=30.0), 4)),
        Case("extreme-logits", FAR_BELOW, lambda: (*_below(7, 7), 4)),
        Case("extreme-logits", HIDDEN_ABOVE, lambda: (*_rising(8, 8), 4)),
    ],
    rules=(
        Rule("no-n-by-n", lambda: (*_qkv(24, 24, d=4), 4), limit=24 * 24),
        Rule("own-work", lambda: (*_qkv(8, 8), 4), forbidden=READY_MADE),
    ),
    variants=(
        *(square_variant(*item) for item in (*MASKS, *STEPS)),
        square_variant(
            "every-tile",
            "o is right, but tiles that no row sees were made as well: stop the loop earlier.",
            "o 对了，但谁也看不到的块也算了：循环应早点停。",
        ),
        square_variant(
            "rows-counted",
            "o is right; you count blocks of rows. Count every tile of scores, inside the inner loop.",
            "o 对了；你数的是行块。每算一个分数块都要数，在内层循环里数。",
        ),
        square_variant(
            "counted-before-the-end",
            "o is right, but a block of rows makes one tile too many before it stops: ask whether a "
            "tile is needed before you make its scores.",
            "o 对了，但每个行块在停下之前多算了一个分数块：先判断要不要这一块，再算它的分数。",
        ),
        square_variant(
            "diagonal-tile-skipped",
            "The tile on the diagonal is left out: the bound is exclusive.",
            "对角线上的块漏掉了：循环的上界不含端点。",
        ),
    ),
    hints=(
        Text(
            "Draw 3 × 3 tiles. Which are full, which cut by the diagonal, which empty?",
            "画出 3 × 3 个块：哪些全可见，哪些被对角线切开，哪些全空？",
        ),
        Text(
            "Rows and keys carry their numbers of the whole matrix into the mask; the loop ends at "
            "the block's last row.",
            "掩码里用的是整个矩阵里的行号和列号；循环走到这块的最后一行为止。",
        ),
        Text(
            "for j in range(0, i + len(q_tile), block); s.masked_fill(cols > rows[:, None], -torch.inf)",
            "for j in range(0, i + len(q_tile), block); s.masked_fill(cols > rows[:, None], -torch.inf)",
        ),
    ),
)


def _strided() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int, int]:
    q, k, v = _qkv(6, 10)
    return q.T.contiguous().T, k.repeat(2, 1)[::2], v.T.contiguous().T, 4, 4


CAUSAL = Exercise(
    id="04.causal",
    title=Text("Causal tiles, bottom-right", "因果分块，右下对齐"),
    spec=Text(
        "Any Nq and Nk: query i stands at key position i + Nk − Nq, so that the last query sees "
        "the last key. With more queries than keys the first rows see nothing: o = 0 and "
        "lse = −inf there. block_m and block_n may differ, and neither need divide its length.",
        "Nq、Nk 任意：query i 位于 key 位置 i + Nk − Nq，最后一个 query 看得到最后一个 key。"
        "query 比 key 多时，前几行什么都看不到：o = 0，lse = −inf。"
        "block_m 和 block_n 可以不同，也不必整除长度。",
    ),
    formula="row i sees key j  ⇔  j ≤ i + Nk − Nq   lse = m + ln l",
    passage=Passage(4, Text("Tiles that need not run", "不必算的块")),
    then="04.fix_dead_rows",
    entry="causal_forward",
    layout=blocks(causal=True),
    widget="fa.viz.tile_player()",
    call="causal_forward(q, k, v, block_m, block_n) -> (o, lse)",
    reference=attention,
    outputs=(Output("o"), Output("lse", "lse", "float32")),
    allowed=lambda q, k, v, bm, bn: list(attention_budget(q, k, v, causal=True)),
    cases=[
        Case("value", "Nq=Nk=8, block_m=4, block_n=4", lambda: (*_qkv(8, 8), 4, 4)),
        Case("value", "Nq=8, Nk=12, block_m=4, block_n=2", lambda: (*_qkv(8, 12), 4, 2)),
        Case("causal", "Nq=4, Nk=16, block_m=2, block_n=8", lambda: (*_qkv(4, 16), 2, 8)),
        Case("ragged", "Nq=7, Nk=13, block_m=4, block_n=8", lambda: (*_qkv(7, 13), 4, 8)),
        Case("ragged", "Nq=1, Nk=5, block_m=16, block_n=4", lambda: (*_qkv(1, 5), 16, 4)),
        Case("dead-rows", "Nq=10, Nk=4, block_m=4, block_n=2", lambda: (*_qkv(10, 4), 4, 2)),
        Case("dead-rows", "Nk=0", lambda: (*_qkv(3, 0), 2, 2)),
        Case("extreme-logits", "q, k × 30", lambda: (*_qkv(8, 12, size=30.0), 4, 4)),
        Case("extreme-logits", FAR_BELOW, lambda: (*_below(7, 10), 4, 4)),
        Case("extreme-logits", HIDDEN_ABOVE, lambda: (*_rising(7, 10), 4, 4)),
        Case("strides", Text("transposed, every second row", "转置，隔行取"), _strided),
        Case("dtype", "float16", lambda: (*_qkv(6, 9, dtype=torch.float16), 4, 4)),
    ],
    rules=(
        Rule("no-n-by-n", lambda: (*_qkv(20, 32, d=4), 4, 8), limit=20 * 32),
        Rule("own-work", lambda: (*_qkv(8, 12), 4, 4), forbidden=READY_MADE),
    ),
    variants=(
        *(causal_variant(*item) for item in (*MASKS, *STEPS)),
        causal_variant(
            "top-left",
            "The mask is aligned top-left: query i sees keys 0 .. i. The last query should see the "
            "last key.",
            "掩码是左上对齐：query i 看 key 0 .. i。应当让最后一个 query 看到最后一个 key。",
        ),
        causal_variant(
            "diagonal-reversed",
            "The offset has the wrong sign: it is Nk − Nq.",
            "偏移的符号反了：应是 Nk − Nq。",
        ),
        causal_variant(
            "stop-top-left",
            "The mask is right, but the loop stops as if Nq = Nk: later keys are never visited.",
            "掩码对了，但循环按 Nq = Nk 停下：后面的 key 没走到。",
        ),
        causal_variant(
            "stop-of-first-row",
            "The loop stops where the first row of the block ends; its last row sees further.",
            "循环停在这块第一行能看到的地方；最后一行看得更远。",
        ),
        causal_variant(
            "diagonal-tile-skipped",
            "The last tile a block can see is left out.",
            "这块能看到的最后一个 key 块漏掉了。",
        ),
        causal_variant(
            "last-tile-only",
            "Only the last tile of a block is masked. When block_m exceeds block_n, several tiles "
            "are cut by the diagonal.",
            "只给最后一个块加了掩码。block_m 大于 block_n 时，对角线会切过好几个块。",
        ),
        causal_variant(
            "inf-minus-inf",
            "A row that has seen nothing subtracts −inf from −inf: NaN. Subtract 0 there.",
            "什么都没看到的行用 −inf 减 −inf，得 NaN。那里改为减 0。",
        ),
        causal_variant(
            "zero-over-zero",
            "A row without keys divides 0 by 0 at the end. It should be 0.",
            "没有 key 的行最后算了 0 / 0。它应为 0。",
        ),
        causal_variant(
            "finite-mask",
            "Hidden scores are a large negative number, so a row without keys averages what it may "
            "not see. Use −inf.",
            "被遮住的分数是一个很大的负数，没有 key 的行就把不该看的取了平均。应用 −inf。",
        ),
        causal_variant(
            "dead-lse-zero",
            "lse of a row without keys is 0. An empty sum has the logarithm −inf.",
            "没有 key 的行 lse 是 0。空和的对数是 −inf。",
        ),
        causal_variant(
            "lse-no-max", "lse = ln l is relative to m; add m.", "ln l 是相对于 m 的，还要加上 m。"
        ),
        causal_variant(*LSE_MIXED),
        causal_variant(
            "lse-base-2",
            "lse is in base 2; it should be natural.",
            "lse 用了以 2 为底的对数，应为自然对数。",
        ),
    ),
    hints=(
        Text(
            "Take Nq = 2, Nk = 4 on paper: where does row 0 stand, and which keys does it see?",
            "在纸上画 Nq = 2、Nk = 4：第 0 行站在哪里，看得到哪些 key？",
        ),
        Text(
            "Two places need diagonal = Nk − Nq: the bound of the loop, from the last row of the "
            "block, and the mask. Rows that saw nothing need a guard twice: in the exponent and in "
            "the division.",
            "两处要用 diagonal = Nk − Nq：循环的上界（由块的最后一行决定）和掩码。"
            "什么都没看到的行要保护两次：指数里，和除法里。",
        ),
        Text(
            "stop = min(len(k), i + len(q_tile) + diagonal); s.masked_fill(cols > rows[:, None] + "
            "diagonal, -torch.inf)",
            "stop = min(len(k), i + len(q_tile) + diagonal); s.masked_fill(cols > rows[:, None] + "
            "diagonal, -torch.inf)",
        ),
    ),
)

EXERCISES = (SQUARE, CAUSAL)
