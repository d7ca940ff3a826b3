"""Which probabilities dropout keeps: Philox 4x32-10, a function of a seed and a place, in torch.

A counter-based generator has no state to store or replay: the random number of (b, h, i, j) is
computed where it is needed, forward, backward and in any order of tiles. Draws no seed itself.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import ArgumentError, DtypeError
from ..language import Text
from .inputs import number

ROUNDS = 10
RANDOM_BITS = 31  # of a random number that decide about one entry
_LOW = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)


def _product(factor: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """High and low 32 bits of factor * x; the product wraps in int64, its bits are right."""
    wide = factor * x
    return (wide >> 32) & _LOW, wide & _LOW


def philox(key: int, counter: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
    """The first of the four 32-bit words of Philox 4x32-10, as int64.

    Args:
        key: 64 bits, taken modulo 2^64.
        counter: four int64 tensors below 2^32 that broadcast.

    Example:
        >>> zero = torch.zeros((), dtype=torch.int64)
        >>> hex(philox(0, (zero, zero, zero, zero)).item())  # the paper's known answer
        '0x6627e8d5'
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key & _LOW, (key >> 32) & _LOW
    for _ in range(ROUNDS):
        high0, low0 = _product(_MULTIPLIERS[0], c0)
        high1, low1 = _product(_MULTIPLIERS[1], c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + _KEY_STEPS[0]) & _LOW, (k1 + _KEY_STEPS[1]) & _LOW
    return c0


def kept(
    seed: int | Tensor, dropout_p: float, b: Tensor, h: Tensor, rows: Tensor, cols: Tensor
) -> Tensor:
    """Which entries stay, of bool; b, h, rows, cols are int64 and broadcast.

        keep(b, h, i, j)  iff  philox(seed; j, i, h, b) >> 1  >=  round(p * 2^31)

    Example:
        >>> i = torch.arange(1000)
        >>> mask = kept(7, 0.25, torch.tensor(0), torch.tensor(3), i[:, None], i[None, :])
        >>> round(mask.double().mean().item(), 2)
        0.75
    """
    key = int(seed)
    limit = min(round(dropout_p * 2**RANDOM_BITS), 2**RANDOM_BITS - 1)
    keep: Tensor = (philox(key, (cols, rows, h, b)) >> 1) >= limit
    return keep


def check_dropout(dropout_p: float, seed: int | Tensor | None) -> float:
    """The probability as a float.

    Raises:
        ArgumentError: if it is outside [0, 1), or there is dropout and no seed that is whole.
        DtypeError: if the seed is a tensor other than one int64.
    """
    p = number("dropout_p", dropout_p)
    if not 0 <= p < 1:
        raise ArgumentError(
            "dropout_p", expected=Text("0 <= p < 1", "0 <= p < 1"), got=repr(dropout_p)
        )
    if p and seed is None:
        raise ArgumentError(
            "seed",
            expected=Text("a whole number, as dropout_p > 0", "dropout_p > 0 时要给出整数种子"),
            got="None",
        )
    if not isinstance(seed, Tensor) and seed is not None and not hasattr(seed, "__index__"):
        # seeds near 0 would be one seed in floating point, once moved by 2^63
        raise ArgumentError(
            "seed",
            expected=Text("a whole number", "整数"),
            got=f"{seed!r} ({type(seed).__name__})",
            hint="int(seed)",
        )
    if isinstance(seed, Tensor) and (seed.dtype != torch.int64 or seed.numel() != 1):
        got = f"{seed.dtype}, {list(seed.shape)}"
        expected = Text("one int64", "一个 int64")
        raise DtypeError("seed", expected=expected, got=got, hint="torch.tensor([seed])")
    return p
