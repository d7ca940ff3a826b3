"""Exercises of chapter 06, second part: the causal bound and mask, and the mapping of heads."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...language import Text
from ..spec import TORCH_MATHS, Case, Exercise, Output, Passage, Rule, Variant, randn
from .devices import here

_EPS = torch.finfo(torch.float32).eps
Pair = tuple[torch.Tensor, torch.Tensor]


def causal_scores(q: torch.Tensor, k: torch.Tensor, diagonal: int | None = None) -> Pair:
    """The dull reference."""
    diagonal = len(k) - len(q) if diagonal is None else diagonal
    rows, cols = torch.arange(len(q))[:, None], torch.arange(len(k))
    s = (q @ k.T).masked_fill((rows + diagonal < cols).to(q.device), -math.inf)  # [Nq, Nk]
    tiles = range(0, len(q), 16)
    stops = [max(0, min(len(k), min(i + 16, len(q)) + diagonal)) for i in tiles]
    return s, torch.tensor(stops, dtype=torch.float64, device=q.device)


def _unmasked_stop(q: torch.Tensor, k: torch.Tensor) -> Pair:
    s, stops = causal_scores(q, k)
    return s, torch.full_like(stops, len(k))


def _qk_pair(len_q: int, len_k: int) -> tuple[torch.Tensor, ...]:
    return here(randn(len_q, 16, seed=6), randn(len_k, 16, seed=7))


def _causal_budget(q: torch.Tensor, k: torch.Tensor) -> list[Any]:
    return [16 * _EPS * (q.double().abs() @ k.double().abs().T) + _EPS, 0.0]


CAUSAL = Exercise(
    id="06.causal",
    title=Text("Causal: where to stop, what to mask", "因果：到哪里停，遮住什么"),
    spec=Text(
        "Query i stands at key position i + diagonal, diagonal = len_k − len_q. Set stop, the "
        "first key that no row of this tile (rows that exist) can see, within 0 .. len_k; and "
        "visible, which of the keys of a step each row sees.",
        "query i 位于 key 位置 i + diagonal，diagonal = len_k − len_q。写出 stop：本块（实际存在的行）"
        "都看不到的第一个 key，取值在 0 .. len_k 之间；"
        "再写出 visible：每一行看得到这一步里的哪些 key。",
    ),
    formula="row i sees key j  ⇔  i + diagonal ≥ j",
    passage=Passage(6, Text("mask: stop early", "mask：早些停下")),
    widget="fa.viz.tile_player()",
    then="06.fix_diagonal",
    entry="causal_scores",
    call="causal_scores(q, k) -> (s, stops)",
    reference=causal_scores,
    outputs=(Output("s", "causal", None), Output("stops", "causal", None)),
    allowed=_causal_budget,
    cases=[
        Case("causal", "Nq=Nk=32", lambda: _qk_pair(32, 32)),
        Case("causal", "Nq=16, Nk=48", lambda: _qk_pair(16, 48)),
        Case("ragged", "Nq=20, Nk=35", lambda: _qk_pair(20, 35)),
        Case("dead-rows", "Nq=40, Nk=18", lambda: _qk_pair(40, 18)),
    ],
    rules=(Rule("own-work", lambda: _qk_pair(16, 16), forbidden=TORCH_MATHS),),
    variants=(
        Variant(
            "top-left",
            Text("You align top-left: diagonal is missing.", "你用了左上对齐：漏了 diagonal。"),
            lambda q, k: causal_scores(q, k, diagonal=0),
        ),
        Variant(
            "no-stop",
            Text(
                "The mask is right, but every tile of keys is visited.",
                "掩码对了，但每个 key 块都访问了。",
            ),
            _unmasked_stop,
        ),
        Variant(
            "own-key-hidden",
            Text(
                "The query's own position is hidden: ≥, not >.",
                "query 自己的位置被遮住了：应是 ≥，不是 >。",
            ),
            lambda q, k: causal_scores(q, k, diagonal=len(k) - len(q) - 1),
        ),
    ),
    hints=(
        Text(
            "If s holds and stops does not, only the bound of the loop is wrong.",
            "如果 s 对而 stops 不对，只是循环边界错了。",
        ),
        Text(
            "The last row of the tile that exists sees most; it stands at its index + diagonal.",
            "块中实际存在的最后一行看得最远，它位于行号 + diagonal。",
        ),
        Text(
            "stop = min(len_k, min((pid_m + 1) * 16, len_q) + diagonal), and never below 0",
            "stop = min(len_k, min((pid_m + 1) * 16, len_q) + diagonal)，且不小于 0",
        ),
    ),
    needs_triton=True,
)


def gqa_scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """The dull reference."""
    group = q.shape[1] // k.shape[1]
    return q @ k.repeat_interleave(group, dim=1).mT  # [B, Hq, 16, 16]


def _heads(batch: int, heads_q: int, heads_kv: int) -> tuple[torch.Tensor, ...]:
    return here(randn(batch, heads_q, 16, 16, seed=8), randn(batch, heads_kv, 16, 16, seed=9))


def _sliced() -> tuple[torch.Tensor, ...]:
    q, k = randn(2, 4, 16, 16, seed=8), randn(2, 5, 16, 16, seed=9)
    return here(q, k[:, 1:3])


def _one_after_the_other(k: torch.Tensor) -> torch.Tensor:
    """The key heads of all batches as if no other lay between them."""
    heads = k.shape[0] * k.shape[1]
    flat = k.as_strided((heads, 16, 16), k.stride()[1:], k.storage_offset())
    return flat.reshape(k.shape)


def _mapped(q: torch.Tensor, k: torch.Tensor, order: str) -> torch.Tensor:
    heads = torch.arange(q.shape[1])
    index = {"modulo": heads % k.shape[1], "first": heads * 0}[order]
    return q @ k[:, index].mT


def _gqa_budget(q: torch.Tensor, k: torch.Tensor) -> list[Any]:
    return [16 * _EPS * gqa_scores(q.double().abs(), k.double().abs()) + _EPS]


GQA = Exercise(
    id="06.gqa",
    title=Text("Which head is mine", "我是哪个头"),
    spec=Text(
        "The grid has one program per (batch, query head), heads counting fastest. GROUP query "
        "heads in a row share one key/value head. Move q_ptr and k_ptr to the program's tiles.",
        "网格中每个（batch，query 头）对应一个程序实例，"
        "头变化最快。相邻的 GROUP 个 query 头共用一个 key/value 头。"
        "把 q_ptr 和 k_ptr 移到本程序实例的块上。",
    ),
    formula="h_kv = ⌊h / GROUP⌋",
    passage=Passage(6, Text("Heads that share keys", "几个头共用 key")),
    then="06.lean",
    entry="gqa_scores",
    call="gqa_scores(q, k) -> s [B, Hq, 16, 16]",
    reference=gqa_scores,
    outputs=(Output("s", "value", "float32"),),
    allowed=_gqa_budget,
    cases=[
        Case("value", "B=1, Hq=Hkv=2", lambda: _heads(1, 2, 2)),
        Case("heads", "B=1, Hq=4, Hkv=2", lambda: _heads(1, 4, 2)),
        Case("heads", "B=2, Hq=6, Hkv=2", lambda: _heads(2, 6, 2)),
        Case("heads", "B=2, Hq=3, Hkv=1", lambda: _heads(2, 3, 1)),
        Case("strides", Text("k cut out of more heads", "k 从更多的头里切出来"), _sliced),
    ],
    rules=(Rule("own-work", lambda: _heads(1, 2, 1), forbidden=TORCH_MATHS),),
    variants=(
        Variant(
            "modulo",
            Text(
                "You take h % Hkv. Neighbouring query heads share a key head: h // GROUP.",
                "你用的是 h % Hkv。相邻的 query 头共用 key 头：h // GROUP。",
            ),
            lambda q, k: _mapped(q, k, "modulo"),
        ),
        Variant(
            "first-head",
            Text("Every query head reads key head 0.", "所有 query 头都读了第 0 个 key 头。"),
            lambda q, k: _mapped(q, k, "first"),
        ),
        Variant(
            "first-batch",
            Text(
                "Every batch reads the keys of batch 0.", "每个 batch 都读了第 0 个 batch 的 key。"
            ),
            lambda q, k: gqa_scores(q, k[:1].expand_as(k)),
        ),
        Variant(
            "batch-stride-unused",
            Text(
                "k_ptr counts the key heads of all batches one after the other. Where k is part of a "
                "larger tensor a batch starts elsewhere: b * stride_kb + h_kv * stride_kh.",
                "k_ptr 把所有 batch 的 key 头连着数了。k 若是更大张量的一部分，"
                "每个 batch 另有起点：b * stride_kb + h_kv * stride_kh。",
            ),
            lambda q, k: gqa_scores(q, _one_after_the_other(k)),
        ),
        Variant(
            "batch-fastest",
            Text(
                "You take the batch as the faster index; the heads count fastest.",
                "你让 batch 变化最快了；变化最快的是头。",
            ),
            lambda q, k: gqa_scores(q, k).transpose(0, 1).reshape(q.shape[0], q.shape[1], 16, 16),
        ),
    ),
    hints=(
        Text(
            "Write the list pid → (b, h) for B = 2, Hq = 3.",
            "写出 B = 2、Hq = 3 时 pid → (b, h) 的表。",
        ),
        Text(
            "k has fewer heads than q: its stride is taken Hkv times, not Hq times.",
            "k 的头比 q 少：它的步长只走 Hkv 次，不是 Hq 次。",
        ),
        Text(
            "b, h = pid_bh // HEADS_Q, pid_bh % HEADS_Q; key head h // GROUP",
            "b, h = pid_bh // HEADS_Q, pid_bh % HEADS_Q；key 头是 h // GROUP",
        ),
    ),
    needs_triton=True,
)

EXERCISES = (CAUSAL, GQA)
