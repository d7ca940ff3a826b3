"""Decoding and packed sequences, the dull way, against the oracle."""

from __future__ import annotations

from typing import Any

import decode_cases
import pytest
import torch
from decode_cases import CASES, Case

from fa_toolkit import errors
from fa_toolkit.reference import decode_attention
from fa_toolkit.reference.cache import check_values, decode_problem


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decode_within_budget(case: Case) -> None:
    decode_cases.check(decode_attention, case)
    decode_cases.check(decode_attention, decode_cases.with_(case, dtype="float64"))


def test_a_query_before_its_sequence_sees_nothing() -> None:
    x = decode_cases.make(Case((2,), len_q=4))
    o, lse = decode_attention(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens)
    assert bool((o[0, :2] == 0).all() and (lse[0, :, :2] == -float("inf")).all())
    assert bool((o[0, 2:] != 0).all() and lse[0, :, 2:].isfinite().all())


def test_no_sequences() -> None:
    x = torch.zeros(0, 2, 4)
    cache, none = torch.zeros(0, 1, 8, 4), torch.zeros(0, dtype=torch.int32)
    o, lse = decode_attention(x, cache, cache, seq_lens=none)
    assert (o.shape, lse.shape) == ((0, 2, 4), (0, 2))


@pytest.mark.parametrize("page", [0, 8])
def test_wrong_values_stay_inside_and_are_named_on_request(page: int) -> None:
    x = decode_cases.make(Case((9, 20), page=page))
    problem = decode_problem(x.q, x.k_cache, x.v_cache, x.seq_lens, x.block_table)
    check_values(problem, x.k_cache, x.seq_lens, x.block_table)
    for value in (-1, problem.len_k + 1, 2**31 - 1):
        wrong = x.seq_lens.clone()
        wrong[1] = value
        o, _ = decode_attention(
            x.q, x.k_cache, x.v_cache, seq_lens=wrong, block_table=x.block_table
        )
        assert o.shape == x.q.shape
        with pytest.raises(errors.ArgumentError, match=rf"seq_lens\[1\].*got {value}"):
            check_values(problem, x.k_cache, wrong, x.block_table)
    if x.block_table is not None:
        x.block_table[0, 1] = len(x.k_cache)
        with pytest.raises(errors.ArgumentError, match=r"block_table\[0, 1\]"):
            check_values(problem, x.k_cache, x.seq_lens, x.block_table)


INT = torch.ones(2, dtype=torch.int32)
CACHE = torch.ones(2, 1, 8, 4)


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"q": torch.ones(2, 4)}, errors.ShapeError, "q"),
        ({"q": torch.ones(2, 2, 4).int()}, errors.DtypeError, "q"),
        ({"q": torch.ones(2, 2, 5)}, errors.ShapeError, "k_cache"),
        ({"q": torch.ones(3, 2, 4)}, errors.ShapeError, "seq_lens"),
        ({"k_cache": torch.ones(3, 1, 8, 4)}, errors.ShapeError, "k_cache"),
        ({"k_cache": CACHE.half()}, errors.DtypeError, "k_cache"),
        ({"v_cache": torch.ones(2, 1, 9, 4)}, errors.ShapeError, "v_cache"),
        ({"v_cache": torch.ones(2, 1, 8, 0)}, errors.ShapeError, "v_cache"),
        ({"seq_lens": INT.long()}, errors.DtypeError, "seq_lens"),
        ({"seq_lens": INT[:1]}, errors.ShapeError, "seq_lens"),
        ({"block_table": INT}, errors.ShapeError, "block_table"),
        ({"block_table": INT.float()[:, None]}, errors.DtypeError, "block_table"),
        ({"sink": torch.ones(3)}, errors.ShapeError, "sink"),
        ({"q": torch.ones(2, 3, 4), "k_cache": torch.ones(2, 2, 8, 4),
          "v_cache": torch.ones(2, 2, 8, 4)}, errors.ArgumentError, "heads_q"),
    ],
)  # fmt: skip
def test_refuses(change: dict[str, Any], error: type[Exception], name: str) -> None:
    good = {"q": torch.ones(2, 2, 4), "k_cache": CACHE, "v_cache": CACHE, "seq_lens": INT}
    with pytest.raises(error, match=f"^{name}: "):
        decode_attention(**(good | change))
