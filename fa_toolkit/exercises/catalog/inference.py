"""Exercises of chapter 09, first part: the bill of a cache, and the tiles of a window."""

from __future__ import annotations

from functools import partial

from ...language import Text
from ..spec import Case, Exercise, Output, Variant

Bill = tuple[float, float]


def cache_bill(
    layers: int, heads_q: int, heads_kv: int, head_dim: int, tokens: int, itemsize: int
) -> Bill:
    """The dull reference."""
    held = layers * heads_kv * tokens * 2 * head_dim * itemsize  # K and V
    flops = layers * heads_q * tokens * 4 * head_dim  # q kᵀ and p v, a multiply-add is two
    return held, flops / held


def _bill(held: float, layers: int, heads_q: int, head_dim: int, tokens: int) -> Bill:
    return held, layers * heads_q * tokens * 4 * head_dim / held


#: layers, query heads, key heads, head dimension, tokens, bytes an element
_MODELS = (
    (32, 32, 8, 128, 8192, 2), (32, 32, 32, 128, 4096, 2), (80, 64, 8, 128, 1000, 1),
    (24, 16, 1, 64, 100, 4),
)  # fmt: skip

CACHE = Exercise(
    id="09.cache",
    title=Text("The bill of a KV cache", "KV 缓存的账单"),
    spec=Text(
        "A model keeps K and V of every token, layer and key head. Return the bytes of the cache "
        "of one sequence, and the FLOPs per byte of one decoding step: one new query per head and "
        "layer meets every cached token, q kᵀ and p v together, a multiply-add counts two. Of the "
        "bytes count only the cache, which is read once; softmax is left out.",
        "模型为每个 token、每一层、每个 key 头保存 K 和 V。返回一条序列的缓存字节数，以及一步解码每字节的 "
        "FLOP 数：每层每个头有一个新 query，它与缓存中每个 token 相遇，q kᵀ 和 p v 都算，一次乘加算两次。"
        "字节只计缓存，且只读一遍；softmax 不计。",
    ),
    formula="bytes = layers · Hkv · N · 2D · itemsize   I = 4 · layers · Hq · N · D / bytes",
    entry="cache_bill",
    call="cache_bill(layers, heads_q, heads_kv, head_dim, tokens, itemsize) -> (bytes, intensity)",
    reference=cache_bill,
    outputs=(Output("bytes", "bytes", None), Output("intensity", "intensity", None)),
    cases=[
        Case(
            "value",
            f"layers={a}, Hq={b}, Hkv={c}, D={d}, N={n}, itemsize={e}",
            lambda x=(a, b, c, d, n, e): x,  # type: ignore[misc]
        )
        for a, b, c, d, n, e in _MODELS
    ],
    variants=(
        Variant(
            "only-k",
            Text("You count K alone; V is cached too.", "你只算了 K，V 也要缓存。"),
            lambda la, hq, hk, d, n, e: _bill(la * hk * n * d * e, la, hq, d, n),
        ),
        Variant(
            "query-heads",
            Text(
                "You take the query heads. The cache holds key heads, and a group shares one.",
                "你用了 query 头的个数。缓存里放的是 key 头，一组 query 头共用一个。",
            ),
            lambda la, hq, hk, d, n, e: _bill(la * hq * n * 2 * d * e, la, hq, d, n),
        ),
        Variant(
            "one-layer",
            Text("You count one layer; every layer has a cache.", "只算了一层，每一层都有缓存。"),
            lambda la, hq, hk, d, n, e: _bill(hk * n * 2 * d * e, 1, hq, d, n),
        ),
        Variant(
            "no-itemsize",
            Text("You count elements, not bytes.", "你数的是元素个数，不是字节数。"),
            lambda la, hq, hk, d, n, e: _bill(la * hk * n * 2 * d, la, hq, d, n),
        ),
        Variant(
            "two-bytes",
            Text(
                "You take 2 bytes for every element; use itemsize.",
                "每个元素都按 2 字节算了，应该用 itemsize。",
            ),
            lambda la, hq, hk, d, n, e: _bill(la * hk * n * 2 * d * 2, la, hq, d, n),
        ),
        Variant(
            "one-product",
            Text(
                "The bytes are right. You count q kᵀ alone; p v is as much work again.",
                "字节数对了。FLOP 只算了 q kᵀ，p v 还有同样多。",
            ),
            lambda *a: (cache_bill(*a)[0], cache_bill(*a)[1] / 2),
        ),
        Variant(
            "key-heads-compute",
            Text(
                "The bytes are right. Every query head computes, also those that share a key head.",
                "字节数对了。每个 query 头都要算，共用 key 头的也不例外。",
            ),
            lambda *a: (cache_bill(*a)[0], cache_bill(*a)[1] * a[2] / a[1]),
        ),
    ),
    hints=(
        Text(
            "Take one layer, one head, one token: how many numbers does it leave behind?",
            "先看一层、一个头、一个 token：它留下多少个数？",
        ),
        Text(
            "Key heads decide the bytes, query heads the FLOPs. Their quotient is what GQA gains.",
            "字节数由 key 头决定，FLOP 数由 query 头决定，两者之比就是 GQA 的收益。",
        ),
        Text(
            "bytes = layers * heads_kv * tokens * 2 * head_dim * itemsize; "
            "FLOPs = 4 * layers * heads_q * tokens * head_dim",
            "bytes = layers * heads_kv * tokens * 2 * head_dim * itemsize；"
            "FLOPs = 4 * layers * heads_q * tokens * head_dim",
        ),
    ),
)

Span = tuple[int, int]


def window_range(
    start_m: int, stop_m: int, len_q: int, len_k: int, window: int, block_n: int
) -> Span:
    """The dull reference."""
    rows = range(start_m, min(stop_m, len_q))
    seen = [j for i in rows for j in range(len_k) if 0 <= i + len_k - len_q - j < window]
    return (min(seen) // block_n * block_n, max(seen) + 1) if seen else (0, 0)


def _window(
    start_m: int, stop_m: int, len_q: int, len_k: int, window: int, block_n: int, bug: str
) -> Span:
    diagonal = 0 if bug == "top-left" else len_k - len_q
    first, last = start_m + diagonal, min(stop_m, len_q) - 1 + diagonal
    if last < 0 or start_m >= len_q or len_k == 0:
        return 0, 0
    low = (last if bug == "last-row-starts" else first) - window + 1
    low = low - 1 if bug == "one-too-far" else low
    low = low if bug == "below-zero" else max(0, low)
    low = 0 if bug == "from-zero" else low
    if bug == "rounded-up":
        low = -(-low // block_n) * block_n
    elif bug != "off-the-grid":
        low = low // block_n * block_n
    if bug == "rows-past-the-end":
        return low, stop_m + diagonal
    return low, last if bug == "own-key-left-out" else min(len_k, last + 1)


def _window_variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), partial(_window, bug=bug))


#: property, then start_m, stop_m, len_q, len_k, window, block_n
_WINDOWS = (
    ("value", 0, 4, 16, 16, 5, 4), ("value", 8, 12, 16, 16, 5, 4), ("value", 12, 16, 16, 16, 6, 4),
    ("value", 12, 16, 16, 16, 1, 4), ("causal", 4, 8, 8, 32, 7, 8), ("causal", 2, 4, 4, 20, 40, 4),
    ("ragged", 8, 16, 13, 29, 9, 8), ("ragged", 64, 128, 100, 100, 33, 16),
    ("value", 0, 1, 1, 1, 3, 1), ("dead-rows", 0, 4, 12, 6, 3, 4), ("dead-rows", 4, 8, 12, 6, 3, 2),
)  # fmt: skip

WINDOW = Exercise(
    id="09.window",
    title=Text("Which tiles a sliding window visits", "滑动窗口要访问哪些块"),
    spec=Text(
        "Causal, bottom-right, and each query sees the last `window` keys, its own included. For "
        "rows [start_m, stop_m) return (start, stop): start is where the first tile begins that "
        "has to be visited, a multiple of block_n; stop is one past the last key that a row sees. "
        "Rows past len_q do not exist. A block of rows that sees nothing gives (0, 0).",
        "右下对齐的因果掩码，每个 query 只看最近的 `window` 个 key，包括它自己那个。"
        "对第 [start_m, stop_m) 行返回 "
        "(start, stop)：start 是必须访问的第一块的起点，是 block_n 的整数倍；stop 是这些行看到的最后一个 "
        "key 再加 1。"
        "超出 len_q 的行不存在；一个 key 都看不到的块返回 (0, 0)。",
    ),
    formula="row i sees key j  ⇔  0 ≤ i + (Nk − Nq) − j < window",
    entry="window_range",
    call="window_range(start_m, stop_m, len_q, len_k, window, block_n) -> (start, stop)",
    reference=window_range,
    outputs=(Output("start", dtype=None), Output("stop", dtype=None)),
    cases=[
        Case(
            p,
            f"[{a}, {b}), Nq={lq}, Nk={lk}, window={w}, block_n={n}",
            lambda x=(a, b, lq, lk, w, n): x,  # type: ignore[misc]
        )
        for p, a, b, lq, lk, w, n in _WINDOWS
    ],
    variants=(
        _window_variant(
            "from-zero",
            "Every tile from key 0 on is visited: right numbers, and the window saves nothing.",
            "从第 0 个 key 起每块都访问：结果不会错，但窗口白设了。",
        ),
        _window_variant(
            "last-row-starts",
            "You take the last row for the left edge. The first row of the block looks back "
            "furthest.",
            "左边界用了最后一行。往回看得最远的是块的第一行。",
        ),
        _window_variant(
            "one-too-far",
            "The window holds its own key: the first of `window` keys is position − window + 1.",
            "窗口包括自己的 key：`window` 个 key 中的第一个是 position − window + 1。",
        ),
        _window_variant(
            "off-the-grid",
            "start is the first key that is seen. Round it down to the tile that holds it.",
            "start 取成了第一个可见的 key，还要向下取整到它所在的块。",
        ),
        _window_variant(
            "rounded-up",
            "start is rounded up, and the tile that the left edge cuts is lost.",
            "start 向上取整了，左边界切过的那一块就丢了。",
        ),
        _window_variant(
            "below-zero",
            "start falls below 0 where the window reaches past the first key.",
            "窗口伸到第一个 key 之前时，start 成了负数。",
        ),
        _window_variant(
            "rows-past-the-end",
            "You count rows past Nq, which do not exist.",
            "你把超出 Nq 的行也算进去了。",
        ),
        _window_variant(
            "top-left",
            "You align top-left: the offset Nk − Nq is missing.",
            "你用了左上对齐：漏了偏移 Nk − Nq。",
        ),
        _window_variant(
            "own-key-left-out",
            "stop is one too small: it is exclusive, so one past the last visible key.",
            "stop 小了 1：它不含端点，应是最后一个可见 key 再加 1。",
        ),
    ),
    hints=(
        Text(
            "Two rows decide: one for the left edge, one for the right. Which?",
            "起作用的只有两行：一行定左边界，一行定右边界。是哪两行？",
        ),
        Text(
            "The first row of the block looks back furthest, the last one that exists looks on "
            "furthest. A tile is visited whole, so its start lies on the grid.",
            "块的第一行往回看得最远，实际存在的最后一行往前看得最远。块要整块访问，起点在网格上。",
        ),
        Text(
            "low = max(0, start_m + len_k - len_q - window + 1); start = low - low % block_n",
            "low = max(0, start_m + len_k - len_q - window + 1)；start = low - low % block_n",
        ),
    ),
)


EXERCISES = (CACHE, WINDOW)
