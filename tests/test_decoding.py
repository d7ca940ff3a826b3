"""The door of decoding: every implementation behind it, and clear refusals."""

from __future__ import annotations

from typing import Any

import decode_cases
import pytest
import torch
from decode_cases import CASES, Case
from torch import Tensor

import fa_toolkit as fa
from fa_toolkit import flash_decode
from fa_toolkit.errors import ArgumentError, BackendUnavailable, DtypeError, ShapeError
from fa_toolkit.language import using

INT = torch.tensor([5, 0], dtype=torch.int32)
CACHE = torch.ones(2, 1, 8, 4)


def good(**change: Any) -> dict[str, Any]:
    base = {"q": torch.ones(2, 2, 4), "k_cache": CACHE, "v_cache": CACHE, "seq_lens": INT}
    return base | change


def test_the_names_are_the_doors() -> None:
    assert fa.flash_decode is fa.decoding.flash_decode
    assert fa.flash_attention_varlen is fa.varlen.flash_attention_varlen


@pytest.mark.parametrize("impl", ["auto", "tiled", "reference"])
@pytest.mark.parametrize("case", CASES[:6], ids=lambda case: case.name)
def test_within_budget(case: Case, impl: str) -> None:
    decode_cases.check(flash_decode, case, impl=impl, return_lse=True, validate=True)


@pytest.mark.parametrize("len_q", [0, 2])
def test_triton_through_the_door(len_q: int) -> None:
    if fa.kernels.mode() != "interpreter":
        pytest.skip(f"CPU tensors need the interpreter: {fa.kernels.mode().reason.en}")
    case = Case((20, 3), page=8, len_q=len_q, sink=True, window=(9, 0), softcap=4.0)
    decode_cases.check(flash_decode, case, impl="triton", num_splits=2, return_lse=True)


def test_only_o_by_default() -> None:
    o = flash_decode(**good())
    assert isinstance(o, Tensor) and o.shape == (2, 2, 4)


@pytest.mark.parametrize("impl", ["tiled", "reference"])
def test_no_gradients(impl: Any) -> None:
    leaf = CACHE.clone().requires_grad_()
    with pytest.raises(BackendUnavailable, match="flash_attention, which has gradients"):
        flash_decode(**good(v_cache=leaf), impl=impl)
    with pytest.raises(BackendUnavailable, match="gradient"):
        flash_decode(**good(sink=torch.ones(2, requires_grad=True)), impl=impl)
    with torch.no_grad():
        assert not flash_decode(**good(v_cache=leaf), impl=impl).requires_grad


def test_values_are_checked_where_looking_costs_nothing_and_on_request() -> None:
    wrong = torch.tensor([9, 0], dtype=torch.int32)
    with pytest.raises(ArgumentError, match=r"seq_lens\[0\]: expected a whole number 0..8, got 9"):
        flash_decode(**good(seq_lens=wrong))
    with pytest.raises(ArgumentError, match="seq_lens"):
        flash_decode(**good(seq_lens=wrong), validate=True)
    same = flash_decode(**good(seq_lens=torch.tensor([8, 0], dtype=torch.int32)))
    assert torch.equal(flash_decode(**good(seq_lens=wrong), validate=False), same)


def test_a_layout_of_another_package_is_told() -> None:
    heads_first = torch.ones(2, 4, 1, 4)  # [B, Hq, Nq, D]
    caches = {name: torch.ones(2, 2, 8, 4) for name in ("k_cache", "v_cache")}
    with pytest.raises(ArgumentError, match=r"heads_q: .*q is \[B, Hq, D\] or \[B, Nq, Hq, D\]"):
        flash_decode(heads_first, **caches, seq_lens=INT)


def test_parts_merge_with_the_rows_of_lse_turned() -> None:
    q, cache = torch.randn(1, 3, 2, 4), torch.randn(1, 2, 8, 4)
    whole, part = (torch.tensor([n], dtype=torch.int32) for n in (8, 4))
    keywords: dict[str, Any] = {"causal": False, "return_lse": True}
    want, _ = flash_decode(q, cache, cache, seq_lens=whole, **keywords)
    halves = [flash_decode(q, x, x, seq_lens=part, **keywords) for x in cache.split(4, dim=2)]
    outs = [o for o, _ in halves]
    with pytest.raises(ShapeError, match=r"lse\.transpose"):
        fa.merge_partials(outs, [lse for _, lse in halves])
    got, _ = fa.merge_partials(outs, [lse.transpose(1, 2) for _, lse in halves])
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("splits", [1, 3])
def test_a_fixed_number_of_splits_gives_the_bits_of_any_batch(splits: int) -> None:
    q, cache = torch.randn(4, 2, 16), torch.randn(4, 1, 64, 16)
    lens = torch.tensor([64, 5, 33, 60], dtype=torch.int32)
    together = flash_decode(q, cache, cache, seq_lens=lens, num_splits=splits)
    alone = [
        flash_decode(
            q[i : i + 1], *(cache[i : i + 1],) * 2, seq_lens=lens[i : i + 1], num_splits=splits
        )
        for i in range(4)
    ]
    assert torch.equal(together, torch.cat(alone))


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"impl": "cuda"}, ArgumentError, "impl"),
        ({"num_splits": 0}, ArgumentError, "num_splits"),
        ({"num_splits": 1.5}, ArgumentError, "num_splits"),
        ({"window": 5}, ArgumentError, "window"),
        ({"validate": "no"}, ArgumentError, "validate"),
        ({"window": (1, 2, 3)}, ArgumentError, "window"),
        ({"sink": torch.ones(2, dtype=torch.int32)}, DtypeError, "sink"),
        ({"softcap": -1.0}, ArgumentError, "softcap"),
        ({"window": (-2, 0)}, ArgumentError, "window left"),
        ({"seq_lens": INT.long()}, DtypeError, "seq_lens"),
        ({"seq_lens": [8, 3]}, DtypeError, "seq_lens"),
        ({"v_cache": torch.ones(2, 1, 7, 4)}, ShapeError, "v_cache"),
    ],
)
def test_refuses(change: dict[str, Any], error: type[Exception], name: str) -> None:
    with pytest.raises(error, match=f"^{name}: "):
        flash_decode(**good(**change))


def test_float64_has_no_kernel_and_says_so_in_chinese() -> None:
    x = CACHE.double()
    call = good(q=torch.ones(2, 2, 4).double(), k_cache=x, v_cache=x)
    with pytest.raises(BackendUnavailable, match="tiled"):
        flash_decode(**call, impl="triton")
    with using("zh"), pytest.raises(ArgumentError) as caught:
        flash_decode(**good(), num_splits=-1)
    with using("zh"):
        assert "不小于 1 的整数" in str(caught.value)


def test_autocast_leaves_the_cache_alone() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert flash_decode(**good(), impl="tiled").dtype == torch.float32


def test_more_splits_than_keys_are_as_many_as_keys() -> None:
    q, cache = torch.randn(2, 2, 4), torch.randn(2, 1, 8, 4)
    call = {"q": q, "k_cache": cache, "v_cache": cache, "seq_lens": INT}
    assert torch.equal(flash_decode(**call, num_splits=10**9), flash_decode(**call, num_splits=8))
