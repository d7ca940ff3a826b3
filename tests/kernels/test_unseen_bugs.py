"""Bugs written without sight of the tests: the cases of the other mutants must catch each of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from types import ModuleType

import pytest
import test_backward_mutants
import test_decode_mutants
import test_mutants
import test_varlen_mutants
import torch
from oracles import assert_within_budget, make_qkv, truth
from planting import FILES, Bug, noticed, plant
from test_decode_mutants import Mutate, mutate  # noqa: F401  (a fixture)
from unseen_bugs import BUGS

import fa_toolkit.kernels as kernels
from fa_toolkit.problem import AttentionProblem

pytestmark = [
    pytest.mark.usefixtures("poisoned_empty"),
    pytest.mark.skipif(kernels.mode() != "interpreter", reason="mutants run in the interpreter"),
]


def _far_rows(module: ModuleType) -> None:
    """Rows of one tile, the last of which begins past 2^31 elements in a sparse file, are found."""
    q, k, v = make_qkv(AttentionProblem(1, 1, 1, 3, 3, 16, dtype="float16"))
    stride = 2**30 + 8  # a number of 32 bits; twice it is none
    with tempfile.NamedTemporaryFile() as sparse:
        size = 2 * stride + 16
        sparse.truncate(2 * size)
        big = torch.from_file(sparse.name, shared=True, size=size, dtype=torch.float16)
        far = big.as_strided(q.shape, (0, 0, stride, 1)).copy_(q)
        assert_within_budget("o", module.flash_forward(far, k, v)[0], truth(q, k, v))


def _checks(file: str, loaded: dict[str, ModuleType]) -> list[Callable[[], object]]:
    """The checks of every launcher that the file reaches."""
    found: list[Callable[[], object]] = []
    if file in ("tiles", "call", "flash_forward"):
        found += test_mutants.checks(loaded)
    if file in ("tiles", "call") or "backward" in file:
        found += test_backward_mutants.checks(loaded)
    found += test_varlen_mutants.checks(loaded)
    return [*found, partial(_far_rows, loaded["flash_forward"])]


@pytest.mark.parametrize(("file", "old", "new"), [b[1:] for b in BUGS], ids=[b[0] for b in BUGS])
def test_bug_is_caught(file: str, old: str, new: str, mutate: Mutate) -> None:  # noqa: F811
    if file not in FILES:
        assert noticed(test_decode_mutants.checks(mutate(file, old, new)))
    else:
        assert noticed(_checks(file, plant(Bug(file, old, new))))
