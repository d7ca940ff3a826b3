"""The dropout mask: Philox's known answers, a fair share, and a function of the place alone."""

from __future__ import annotations

import math

import pytest
import torch

from fa_toolkit.errors import ArgumentError, DtypeError
from fa_toolkit.problem import TileShape
from fa_toolkit.reference import attention, attention_backward, check_dropout, kept, philox
from fa_toolkit.tiled import flash_backward, flash_forward


@pytest.mark.parametrize(
    ("key", "counter", "word"),
    [  # the vectors of Random123's kat_vectors, first word
        (0, (0, 0, 0, 0), 0x6627E8D5),
        (2**64 - 1, (2**32 - 1,) * 4, 0x408F276D),
        (-1, (2**32 - 1,) * 4, 0x408F276D),
        (
            0x299F31D0A4093822,
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            0xD16CFE09,
        ),
    ],
)
def test_known_answers(key: int, counter: tuple[int, int, int, int], word: int) -> None:
    c0, c1, c2, c3 = (torch.tensor(c) for c in counter)
    assert philox(key, (c0, c1, c2, c3)).item() == word


def _mask(seed: int, p: float, n: int = 200) -> torch.Tensor:
    place = torch.meshgrid(*(torch.arange(k) for k in (2, 3, n, n)), indexing="ij")
    return kept(seed, p, *place)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_the_share_kept_is_fair_in_every_head_row_and_column(p: float) -> None:
    mask = _mask(5, p).double()
    for axes in ((0, 1, 2, 3), (2, 3), (0, 1, 2), (0, 1, 3)):
        share = mask.mean(axes)
        terms = mask.numel() / share.numel()
        assert bool(((share - (1 - p)).abs() <= 6 * math.sqrt(p * (1 - p) / terms)).all())


def test_masks_of_heads_batches_and_seeds_are_independent() -> None:
    p = 0.5
    mask = _mask(5, p)
    others = [mask[0, 1], mask[1, 0], mask[0, 0].T, _mask(6, p)[0, 0], _mask(5 + 2**32, p)[0, 0]]
    for other in others:
        agree = (mask[0, 0] == other).double().mean().item()
        assert abs(agree - 0.5) <= 6 * math.sqrt(0.25 / other.numel()) + 0.01


def test_the_mask_does_not_depend_on_tiles_or_on_the_implementation() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, h, n, 8).double() for h, n in ((4, 9), (2, 13), (2, 13)))
    options = {"causal": True, "dropout_p": 0.4, "seed": 11}
    o, lse = attention(q, k, v, **options)
    do = torch.randn_like(o)
    grads = attention_backward(q, k, v, o, lse, do, **options)
    for tile in (TileShape(4, 3), TileShape(16, 16), TileShape(5, 13)):
        tiled_o, tiled_lse = flash_forward(q, k, v, tile=tile, **options)
        torch.testing.assert_close(tiled_o, o)
        torch.testing.assert_close(tiled_lse, lse)
        tiled_grads = flash_backward(q, k, v, o, lse, do, tile=tile, **options)
        for mine, theirs in zip(tiled_grads[:3], grads[:3], strict=True):
            torch.testing.assert_close(mine, theirs)
    assert torch.equal(lse, attention(q, k, v, causal=True)[1])


def test_gradients_of_dropped_attention() -> None:
    q, k, v = (torch.randn(1, 2, n, 4).double().requires_grad_() for n in (3, 5, 5))
    o, lse = attention(q, k, v, dropout_p=0.4, seed=2)
    do = torch.randn_like(o)
    wanted = torch.autograd.grad(o, (q, k, v), do)
    got = attention_backward(q, k, v, o, lse, do, dropout_p=0.4, seed=2)
    for mine, theirs in zip(got[:3], wanted, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_wrong_dropout_is_named() -> None:
    for p in (-0.1, 1.0, float("nan")):
        with pytest.raises(ArgumentError, match="dropout_p"):
            check_dropout(p, 0)
    with pytest.raises(ArgumentError, match="seed"):
        check_dropout(0.5, None)
    with pytest.raises(DtypeError, match="seed"):
        check_dropout(0.5, torch.zeros(2, dtype=torch.int64))
    assert check_dropout(0.0, None) == 0.0
