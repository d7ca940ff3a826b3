"""Flash attention never makes a storage of Nq x Nk elements; standard attention does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from oracles import make_qkv
from torch.utils._python_dispatch import TorchDispatchMode

from fa_toolkit import reference, tiled
from fa_toolkit.problem import AttentionProblem, TileShape

# 4 x 6 tiles, Nk unlike D and Dv, and enough heads that a careless batching would show
PROBLEM = AttentionProblem(2, 4, 2, 64, 96, 8, 5, "float32", True)
TILE = TileShape(16, 16)


class Storages(TorchDispatchMode):
    """The largest storage, in elements, that any operation returned."""

    largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for x in torch.utils._pytree.tree_leaves(result):
            if isinstance(x, torch.Tensor):
                elements = x.untyped_storage().nbytes() // x.element_size()
                self.largest = max(self.largest, elements)
        return result


def largest(work: Callable[[], object]) -> int:
    with Storages() as watch:
        work()
    return watch.largest


@pytest.fixture
def tensors() -> dict[str, torch.Tensor]:
    q, k, v = make_qkv(PROBLEM)
    o, lse = reference.attention(q, k, v, causal=True)
    return {"q": q, "k": k, "v": v, "o": o, "lse": lse, "do": torch.ones_like(o)}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [1, 4])
def test_flash_never_holds_the_matrix(
    tensors: dict[str, torch.Tensor], heads: int, causal: bool
) -> None:
    square = PROBLEM.len_q * PROBLEM.len_k
    assert all(x.numel() < square for x in tensors.values())
    if heads == 1:
        tensors = {name: x[:1, :1].clone() for name, x in tensors.items()}
    qkv = [tensors[name] for name in "qkv"]
    common: dict[str, Any] = {"tile": TILE, "causal": causal}
    for work in (
        lambda: tiled.flash_forward(*qkv, **common),
        lambda: tiled.flash_backward(**tensors, **common),
        lambda: tiled.trace_flash_forward(*qkv, **common, keep_values=True),
        lambda: tiled.trace_flash_backward(**tensors, **common, keep_values=True),
    ):
        assert 0 < largest(work) < square


def test_many_heads_do_not_make_up_the_matrix_together() -> None:
    p = AttentionProblem(8, 16, 4, 64, 96, 2, 3, "float32")
    q, k, v = make_qkv(p)
    o = p.batch * p.heads_q * p.len_q * p.head_dim_v  # the output itself is larger here
    watched = largest(lambda: tiled.flash_forward(q, k, v, tile=TILE))
    assert watched == o


def test_standard_and_reference_do_hold_it(tensors: dict[str, torch.Tensor]) -> None:
    square = PROBLEM.len_q * PROBLEM.len_k
    qkv = [tensors[name] for name in "qkv"]
    assert largest(lambda: tiled.standard_forward(*qkv, tile=TILE)) >= square
    assert largest(lambda: reference.attention(*qkv)) >= square
