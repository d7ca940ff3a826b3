"""Packed sequences, the dull way, against the oracle one sequence at a time."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import varlen_cases
from varlen_cases import CASES, Case

from fa_toolkit import errors
from fa_toolkit.reference import varlen_attention
from fa_toolkit.reference.varlen import check_offsets


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_varlen_within_budget(case: Case) -> None:
    varlen_cases.check(varlen_attention, case)


def offsets(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("wrong", [(0, 3, 2, 5), (0, 9), (-4, 2), (0, 2**31 - 1), (1, 4)])
def test_wrong_offsets_stay_inside_and_are_named_on_request(wrong: tuple[int, ...]) -> None:
    x = torch.ones(5, 1, 4)
    cu = offsets(*wrong)
    o, lse = varlen_attention(x, x, x, cu_seqlens_q=cu, cu_seqlens_k=cu)
    assert (o.shape, lse.shape) == (x.shape, (1, 5))
    with pytest.raises(errors.ArgumentError, match=r"^cu_seqlens_q: "):
        check_offsets("cu_seqlens_q", cu, 5)
    check_offsets("cu_seqlens_q", offsets(0, 3, 3, 5), 5)


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"q": torch.ones(1, 5, 1, 4)}, errors.ShapeError, "q"),
        ({"v": torch.ones(4, 1, 4)}, errors.ShapeError, "v"),
        ({"k": torch.ones(5, 1, 3), "v": torch.ones(5, 1, 3)}, errors.ShapeError, "k"),
        ({"k": torch.ones(5, 1, 4).half()}, errors.DtypeError, "k"),
        ({"cu_seqlens_q": offsets(0, 5).long()}, errors.DtypeError, "cu_seqlens_q"),
        ({"cu_seqlens_k": offsets(0, 2, 5)}, errors.ShapeError, "cu_seqlens_k"),
        ({"cu_seqlens_q": offsets()}, errors.ShapeError, "cu_seqlens_q"),
        ({"sink": torch.ones(3)}, errors.ShapeError, "sink"),
    ],
)
def test_refuses(change: dict[str, Any], error: type[Exception], name: str) -> None:
    x, cu = torch.ones(5, 1, 4), offsets(0, 5)
    good = {"q": x, "k": x, "v": x, "cu_seqlens_q": cu, "cu_seqlens_k": cu}
    with pytest.raises(error, match=f"^{name}: "):
        varlen_attention(**(good | change))
