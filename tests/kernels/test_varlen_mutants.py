"""Bugs planted in how kernels and launchers find packed sequences; the cases must catch each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
import torch
from planting import Bug, noticed, on_grids, plant
from torch import Tensor
from varlen_cases import Case, check_gradients

import fa_toolkit.kernels as kernels
from fa_toolkit.problem import TileShape

pytestmark = [
    pytest.mark.usefixtures("poisoned_empty"),
    pytest.mark.skipif(kernels.mode() != "interpreter", reason="mutants run in the interpreter"),
]

#: lengths around the sides of the tile, empty sequences inside and at both ends, tokens of nobody
KILLERS = (
    Case((16, 0, 33, 5), (20, 3, 17, 0), (2, 1), (8, 4), spare=(19, 18), flags={"causal": True}),
    Case((0, 7, 15, 0), (0, 18, 16, 4), (2, 2), (4, 8), spare=(0, 17), sink=True),
    Case((3, 20), (20, 5), spare=(2, 0), sink=True, dropout_p=0.4, flags={"window": (6, 4)}),
    Case((16, 16), (5, 11), (2, 1), (4, 4), apart=True),
)
TILE = TileShape(16, 16)

FORWARD, DKDV, DQ = "flash_forward", "backward_dkdv", "backward_dq"


def _start(file: str, tensor: str, own: str) -> Bug:
    """The bug that leaves a tensor at the first token of all."""
    line = f"{tensor}_ptr += start_{own}.to(tl.int64) * stride_{tensor.replace('lse', 'l')}n\n"
    line = line.replace("stride_deltan", "stride_sn")
    return Bug(file, line, f"{tensor}_ptr += 0\n")


MUTANTS: dict[str, Bug] = {
    "edges told by the length of all together": Bug(
        "call", "self.cu_seqlens is not None or plan.has_edge", "plan.has_edge"
    ),
    **{
        f"{file}: {tensor} begins with the first sequence": _start(file, tensor, own)
        for file, tensors in (
            (FORWARD, {"q": "q", "k": "k", "v": "k", "o": "q", "lse": "q"}),
            (DKDV, {"q": "q", "k": "k", "v": "k", "do": "q", "lse": "q", "delta": "q",
                    "dk": "k", "dv": "k"}),
            (DQ, {"q": "q", "k": "k", "v": "k", "do": "q", "lse": "q", "delta": "q", "dq": "q"}),
        )
        for tensor, own in tensors.items()
    },
    "keys of the queries' offsets": Bug(
        FORWARD, "sequence_span(cu_k_ptr, b,", "sequence_span(cu_q_ptr, b,"
    ),
    "rows found in the keys' offsets": Bug(
        FORWARD, "sequence_at(cu_q_ptr, pid_m", "sequence_at(cu_k_ptr, pid_m"
    ),
    "dq: keys of the queries' offsets": Bug(
        DQ, "sequence_span(cu_k_ptr, b,", "sequence_span(cu_q_ptr, b,"
    ),
    "dkdv: queries of the keys' offsets": Bug(
        DKDV, "sequence_span(cu_q_ptr, b,", "sequence_span(cu_k_ptr, b,"
    ),
    "rows of nobody see keys": Bug(
        FORWARD,
        "(b < sequences) & (pid_m * BLOCK_M < len_q), len_k, 0)",
        "(pid_m * BLOCK_M < len_q), tl.maximum(len_k, 1), 0)",
    ),
    "a slot for each sequence but none for nobody": Bug(
        FORWARD, "len_q // BLOCK_M + sequences + 1 if", "len_q // BLOCK_M + sequences if"
    ),
    "dkdv: no slot for the keys of nobody": Bug(
        DKDV, "len_k // BLOCK_N + sequences + 1 if", "len_k // BLOCK_N + sequences if"
    ),
    "dq: no slot for the rows of nobody": Bug(
        DQ, "len_q // BLOCK_M + sequences + 1 if", "len_q // BLOCK_M + sequences if"
    ),
    "rows of nobody have a sink": Bug(
        FORWARD, 'mask=b < sequences, other=-float("inf")', "mask=b <= sequences, other=0.0"
    ),
    "grid without the last slot": Bug(
        "call", "self.sequences + 1, heads", "self.sequences, heads"
    ),
    "one sequence too few": Bug(
        "call", "len(self.cu_seqlens[0]) - 1", "max(len(self.cu_seqlens[0]) - 2, 0)"
    ),
    "batch stride kept": Bug(
        "call", "(0, *x.stride()[1:])", "x.stride()"
    ),
    "search stops one too early": Bug("tiles", "above - b > 1", "above - b > 2"),
    "slots begin one later": Bug("tiles", "// BLOCK + middle", "// BLOCK + middle + 1"),
    "search never reaches the last": Bug(
        "tiles", "above = b + sequences + 1", "above = b + sequences"
    ),
    "slots without a spare one": Bug("tiles", "// BLOCK + middle", "// BLOCK"),
    "tile counted from the first token": Bug(
        "tiles", "slot - (start // BLOCK + b)", "slot - b"
    ),
    "tile without the sequences before": Bug(
        "tiles", "slot - (start // BLOCK + b)", "slot - start // BLOCK"
    ),
    "length is the end": Bug("tiles", "return start, stop - start", "return start, stop"),
    "every sequence ends with the tokens": Bug(
        "tiles", "mask=b < sequences, other=tokens", "mask=b < 0, other=tokens"
    ),
    "the last sequence ends with the tokens": Bug(
        "tiles", "mask=b < sequences, other=tokens", "mask=b < sequences - 1, other=tokens"
    ),
    "dropout of the first sequence everywhere": Bug(
        FORWARD,
        "kept(seed, b, h, offs_m[:, None], cols",
        "kept(seed, b * 0, h, offs_m[:, None], cols",
    ),
    "dropout of packed rows": Bug(
        DQ, "kept(seed, b, h, rows[:, None]", "kept(seed, b, h, (rows + start_q)[:, None]"
    ),
    "offsets exchanged": Bug(
        "flash_varlen",
        "dropout_p=dropout_p, seed=seed, cu_seqlens=(cu_seqlens_q, cu_seqlens_k),\n    )  # fmt: skip\n    o, lse",
        "dropout_p=dropout_p, seed=seed, cu_seqlens=(cu_seqlens_k, cu_seqlens_q),\n    )  # fmt: skip\n    o, lse",
    ),
    "gradient of lse forgotten": Bug(
        "flash_varlen", "None if dlse is None else dlse[None]", "None"
    ),
}  # fmt: skip


class _Differentiable(torch.autograd.Function):
    """The planted launchers under autograd."""

    @staticmethod
    def forward(ctx: Any, module: Any, call: Any, q: Any, k: Any, v: Any, sink: Any) -> Any:
        cu, flags = call
        o, lse = module.flash_forward_varlen(q, k, v, *cu, sink=sink, tile=TILE, **flags)
        ctx.save_for_backward(q, k, v, o, lse, sink)
        ctx.module, ctx.call = module, call
        return o, lse

    @staticmethod
    def backward(ctx: Any, do: Tensor, dlse: Tensor) -> Any:  # type: ignore[override]
        *saved, sink = ctx.saved_tensors
        cu, flags = ctx.call
        grads = ctx.module.flash_backward_varlen(
            *saved, do, dlse, *cu, sink=sink, tile=TILE, **flags
        )
        return (None, None, *grads)


def _attend(module: ModuleType) -> Any:
    def varlen(
        q: Tensor, k: Tensor, v: Tensor, *, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, sink: Any,
        **flags: Any,
    ) -> Any:  # fmt: skip
        return _Differentiable.apply(module, ((cu_seqlens_q, cu_seqlens_k), flags), q, k, v, sink)  # type: ignore[no-untyped-call]

    return varlen


def checks(loaded: dict[str, ModuleType]) -> list[Callable[[], object]]:
    """Everything that may notice a bug."""
    attend = _attend(loaded["flash_varlen"])
    every: list[Callable[[], object]] = [partial(check_gradients, attend, c) for c in KILLERS]
    one_axis = [partial(on_grids, loaded, check, one_axis=True) for check in every]
    return [*every, *one_axis, partial(on_grids, loaded, every[1], one_axis=True, side=2)]


def test_the_real_launchers_pass() -> None:
    for run in checks(plant(None)):
        run()


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(name: str) -> None:
    assert noticed(checks(plant(MUTANTS[name]))), f"no case noticed: {name}"
