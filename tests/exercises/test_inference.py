"""Exercises of chapter 09: they ask what the package does, and accept it written differently."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fa_toolkit import AttentionProblem, TileShape, exercises, io_model, kernels
from fa_toolkit.attention import merge_partials
from fa_toolkit.exercises.calling import Local
from fa_toolkit.exercises.checker import judge
from fa_toolkit.problem import key_tiles
from fa_toolkit.reference.cache import cached

Fn = Callable[..., Any]


def test_the_bill_is_the_io_models() -> None:
    problem = AttentionProblem(heads_q=32, heads_kv=8, len_q=1, len_k=777, head_dim=128)
    held, intensity = exercises.solution("09.cache")(5, 32, 8, 128, 777, 2)
    assert held == io_model.kv_cache_bytes(problem, layers=5)
    assert intensity * held == 5 * io_model.forward_flops(problem)


@pytest.mark.parametrize(("len_q", "len_k"), [(20, 20), (13, 40), (20, 9)])
def test_the_tiles_of_a_window_are_the_packages(len_q: int, len_k: int) -> None:
    for window in (1, 4, 7, 100):
        problem = AttentionProblem(len_q=len_q, len_k=len_k, causal=True, window=(window - 1, 0))
        for start_m in range(0, len_q, 8):
            tiles = list(key_tiles(problem, TileShape(8, 4), start_m, start_m + 8))
            start, stop = exercises.solution("09.window")(
                start_m, start_m + 8, len_q, len_k, window, 4
            )
            mine = [(n, min(n + 4, len_k)) for n in range(start, stop, 4)]
            assert mine == tiles


def test_pages_and_merge_are_the_packages() -> None:
    pages, table = torch.randn(6, 4, 2, 3), torch.tensor([[5, 1, 0, -1]], dtype=torch.int32)
    gathered = exercises.solution("09.pages")(pages, table[0], 10)
    assert torch.equal(gathered, cached(pages, 0, 10, table))
    outs, lses = torch.randn(4, 3, 8), torch.randn(4, 3)
    o, lse = exercises.get("09.merge").reference(outs, lses)
    wanted = merge_partials(outs, lses)
    assert torch.allclose(o.float(), wanted[0]) and torch.allclose(lse.float(), wanted[1])


# right, and written differently


def page_by_page(pages: torch.Tensor, table: torch.Tensor, length: int) -> torch.Tensor:
    size, found = pages.shape[1], []
    for start in range(0, length, size):
        found.append(pages[int(table[start // size]), : length - start])
    if not found:
        return pages[0, :0].permute(1, 0, 2)
    return torch.cat(found).permute(1, 0, 2)


def folded(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> Any:
    """Parts are merged one by one as they come, through logaddexp written by hand."""
    o, lse = q.new_zeros(len(q), v.shape[1]), q.new_full([len(q)], -math.inf)
    size = max(1, math.ceil(len(k) / splits))
    for keys, values in zip(torch.split(k, size), torch.split(v, size), strict=True):
        if not len(keys):
            continue
        s = torch.einsum("gd,nd->gn", q, keys) / math.sqrt(q.shape[1])
        top = s.max(dim=1, keepdim=True).values
        e = (s - top).exp()
        l = e.sum(1)
        part, own = e @ values / l[:, None], top[:, 0] + l.log()
        m = torch.maximum(lse, own)
        both = m + ((lse - m).exp() + (own - m).exp()).log()
        o = (lse - both).exp()[:, None] * o + (own - both).exp()[:, None] * part
        lse = both
    return o, lse


def counted(
    start_m: int, stop_m: int, len_q: int, len_k: int, window: int, block_n: int
) -> tuple[int, int]:
    problem = AttentionProblem(len_q=len_q, len_k=len_k, causal=True)
    seen = [
        j
        for i in range(start_m, min(stop_m, len_q))
        for j in range(len_k)
        if problem.sees(i, j) and i + problem.diagonal - j < window
    ]
    return (seen[0] - seen[0] % block_n, seen[-1] + 1) if seen else (0, 0)


@pytest.mark.parametrize(
    ("exercise_id", "fn"),
    [("09.pages", page_by_page), ("09.split", folded), ("09.window", counted)],
)
def test_a_right_answer_written_differently_passes(exercise_id: str, fn: Fn) -> None:
    exercise = exercises.get(exercise_id)
    report = judge(exercise, Local(exercise, fn))
    assert report.outcome == "passed", str(report)


def test_all_keys_at_once_are_seen() -> None:
    def whole(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> Any:
        if not len(k):
            return q.new_zeros(len(q), v.shape[1]), q.new_full([len(q)], -math.inf)
        s = q @ k.T * q.shape[1] ** -0.5
        m = s.amax(1)
        e = (s - m[:, None]).exp()
        return e @ v / e.sum(1)[:, None], m + e.sum(1).log()

    exercise = exercises.get("09.split")
    report = judge(exercise, Local(exercise, whole))
    assert report.failed == ("one-block",)


# wrong: every planted bug, and the same mistakes as other hands make them


@pytest.mark.parametrize("exercise_id", exercises.ids(9))
def test_every_planted_bug_is_caught_and_named(exercise_id: str) -> None:
    exercise = exercises.get(exercise_id)
    if exercise.needs_triton and kernels.mode() == "none":
        pytest.skip("Triton cannot run here")
    for variant in exercise.variants:
        report = judge(exercise, Local(exercise, variant.fn))
        assert report.outcome == "not yet" and set(report.failed) - {"own-work"}, variant.id
        assert report.diagnosis[0].id == variant.id, str(report)


def test_there_are_enough_of_them() -> None:
    assert sum(len(exercises.get(x).variants) for x in exercises.ids(9)) >= 35


def left_edge_of_a_window(
    start_m: int, stop_m: int, len_q: int, len_k: int, window: int, block_n: int
) -> tuple[int, int]:
    """`window` keys before the own one, as (window, 0) would be."""
    shift = len_k - len_q
    seen = [
        j
        for i in range(start_m, min(stop_m, len_q))
        for j in range(max(0, i + shift - window), min(len_k, i + shift + 1))
    ]
    return (min(seen) // block_n * block_n, max(seen) + 1) if seen else (0, 0)


def hidden_in_the_first_tile(
    start_m: int, stop_m: int, len_q: int, len_k: int, window: int, block_n: int
) -> tuple[int, int]:
    """Starts where every row sees: what only early rows see is lost."""
    last = min(stop_m, len_q) - 1 + len_k - len_q
    if last < 0:
        return 0, 0
    return max(0, last + 1 - window) // block_n * block_n, last + 1


def page_of_the_token_itself(pages: torch.Tensor, table: torch.Tensor, length: int) -> torch.Tensor:
    flat = pages.flatten(0, 1)  # [tokens, Hkv, D], in the order of memory
    return flat[:length].permute(1, 0, 2)


def first_slot_only(pages: torch.Tensor, table: torch.Tensor, length: int) -> torch.Tensor:
    rows = [pages[int(table[t // pages.shape[1]])][0] for t in range(length)]
    return torch.stack(rows, 1) if rows else pages.new_zeros(pages.shape[2], 0, pages.shape[3])


def _parts(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> Any:
    size = -(-len(k) // splits)
    for i in range(0, len(k), max(1, size)):
        s = q @ k[i : i + size].mT / math.sqrt(q.shape[1])
        m = s.max(1).values
        e = (s - m[:, None]).exp()
        yield e @ v[i : i + size], e.sum(1), m


def mean_of_parts(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> Any:
    found = list(_parts(q, k, v, splits))
    if not found:
        return q.new_zeros(len(q), v.shape[1]), q.new_full([len(q)], -math.inf)
    o = sum(acc / l[:, None] for acc, l, _ in found) / splits
    lses = torch.stack([m + l.log() for _, l, m in found])
    top = lses.amax(0)
    return o, top + (lses - top).exp().sum(0).log()


def bare_exponentials(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> Any:
    o, total = q.new_zeros(len(q), v.shape[1]), q.new_zeros(len(q))
    for acc, l, m in _parts(q, k, v, splits):
        weight = (m + l.log()).exp()
        o, total = o + weight[:, None] * acc / l[:, None], total + weight
    return (o / total[:, None] if len(k) else o), total.log()


@pytest.mark.parametrize(
    ("exercise_id", "fn", "name"),
    [
        ("09.window", left_edge_of_a_window, "one-too-far"),
        ("09.window", hidden_in_the_first_tile, "last-row-starts"),
        ("09.pages", page_of_the_token_itself, "no-table"),
        ("09.pages", first_slot_only, "no-slot"),
        ("09.split", mean_of_parts, "average"),
        ("09.split", bare_exponentials, "edit-missing"),
        ("09.cache", lambda la, hq, hk, d, n, e: (2 * la * hq * n * d * e, 2 / e), "query-heads"),
        ("09.cache", lambda la, hq, hk, d, n, e: (2 * la * hk * n * d * e, 2 / e),
         "key-heads-compute"),
    ],
)  # fmt: skip
def test_a_mistake_written_differently_is_named(exercise_id: str, fn: Fn, name: str) -> None:
    exercise = exercises.get(exercise_id)
    report = judge(exercise, Local(exercise, fn))
    assert report.outcome == "not yet"
    assert report.diagnosis and report.diagnosis[0].id == name, str(report)
