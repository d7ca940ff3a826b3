"""Exercises of chapter 09: they ask what the package does, and accept it written differently."""

# ruff: noqa: E741  (l is the denominator's name on every floor)
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fa_toolkit import AttentionProblem, TileShape, exercises, io_model
from fa_toolkit.attention import merge_partials
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
    report = exercises.check(exercise_id, fn)
    assert report.outcome == "passed", str(report)


def test_all_keys_at_once_are_seen() -> None:
    def whole(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, splits: int) -> Any:
        if not len(k):
            return q.new_zeros(len(q), v.shape[1]), q.new_full([len(q)], -math.inf)
        s = q @ k.T * q.shape[1] ** -0.5
        m = s.amax(1)
        e = (s - m[:, None]).exp()
        return e @ v / e.sum(1)[:, None], m + e.sum(1).log()

    report = exercises.check("09.split", whole)
    assert report.failed == ("one-block",)
