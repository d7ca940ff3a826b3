"""Vector add, row softmax and matmul against float64, in every dtype, ragged and strided."""

from __future__ import annotations

import pytest
import torch

import fa_toolkit.kernels as kernels
from fa_toolkit.errors import DtypeError, ShapeError
from fa_toolkit.kernels.precision import asked_precision

pytestmark = pytest.mark.usefixtures("poisoned_empty")
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def _eps(dtype: torch.dtype) -> float:
    return float(torch.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(0,), (1,), (100,), (64,), (7, 33), (2, 3, 5)], ids=str)
def test_vector_add(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> None:
    x, y = (torch.randn(shape, device=device).to(dtype) for _ in range(2))
    assert torch.equal(kernels.vector_add(x, y, block=32), x + y)


def test_vector_add_of_views(device: str) -> None:
    x, y = torch.randn(50, device=device)[::2], torch.randn(5, 5, device=device).t()
    assert torch.equal(kernels.vector_add(x, x.flip(0), block=16), x + x.flip(0))
    assert torch.equal(kernels.vector_add(y, y.t(), block=16), y + y.t())
    one = torch.ones(1, device=device).expand(9)
    assert torch.equal(kernels.vector_add(one, one), torch.full((9,), 2.0, device=device))


@pytest.mark.parametrize("block", [None, 16], ids=["whole", "streamed"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (3, 100), (5, 16), (2, 2, 33)], ids=str)
def test_row_softmax(
    shape: tuple[int, ...], dtype: torch.dtype, block: int | None, device: str
) -> None:
    x = (10 * torch.randn(shape, device=device)).to(dtype)
    got = kernels.row_softmax(x, block=block).double()
    exact = torch.softmax(x.double(), -1)
    # float32 rounding of x - m, then rounding of the result
    slack = 4 * (_eps(torch.float32) * (1 + 2 * x.double().abs().max()) + _eps(dtype)) * exact
    assert bool(((got - exact).abs() <= slack + torch.finfo(dtype).tiny).all())


def test_row_softmax_of_extremes(device: str) -> None:
    x = torch.tensor([[1000.0, 1000.0, -1000.0], [-1000.0, float("-inf"), -1000.0]], device=device)
    for block in (None, 2):
        got = kernels.row_softmax(x, block=block)
        assert torch.equal(got.cpu(), torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]))


def test_row_softmax_of_a_transposed_matrix_and_of_nothing(device: str) -> None:
    x = torch.randn(20, 7, device=device).t()
    assert torch.allclose(kernels.row_softmax(x), torch.softmax(x, -1))
    assert kernels.row_softmax(torch.empty(0, 5, device=device)).shape == (0, 5)
    assert kernels.row_softmax(torch.empty(5, 0, device=device)).shape == (5, 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (33, 70, 20), (16, 32, 16), (50, 17, 65)], ids=str)
@pytest.mark.parametrize("blocks", [(32, 16, 16), (16, 32, 32)], ids=str)
def test_matmul(
    sizes: tuple[int, int, int], blocks: tuple[int, int, int], dtype: torch.dtype, device: str
) -> None:
    m, n, k = sizes
    a = torch.randn(m, k, device=device).to(dtype)
    b = torch.randn(n, k, device=device).to(dtype).t()
    got = kernels.matmul(a, b, blocks=blocks).double()
    exact, terms = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    slack = 2 * (k * _eps(torch.float32) * terms + _eps(dtype) * exact.abs())
    assert bool(((got - exact).abs() <= slack).all())


def test_matmul_of_nothing(device: str) -> None:
    a, b = torch.empty(3, 0, device=device), torch.empty(0, 4, device=device)
    assert torch.equal(kernels.matmul(a, b), torch.zeros(3, 4, device=device))
    assert kernels.matmul(
        torch.empty(0, 3, device=device), torch.ones(3, 4, device=device)
    ).shape == (
        0,
        4,
    )


def test_wrong_arguments_are_named(device: str) -> None:
    x = torch.zeros(4, device=device)
    with pytest.raises(ShapeError, match="y"):
        kernels.vector_add(x, torch.zeros(5, device=device))
    with pytest.raises(DtypeError, match="y"):
        kernels.vector_add(x, x.half())
    with pytest.raises(ShapeError, match="b"):
        kernels.matmul(torch.zeros(2, 3, device=device), torch.zeros(2, 3, device=device))
    with pytest.raises(DtypeError, match="a, b"):
        kernels.matmul(torch.zeros(2, 2, device=device).double(), torch.zeros(2, 2, device=device))
    with pytest.raises(DtypeError, match="x"):
        kernels.row_softmax(torch.zeros(2, device=device).int())
    with pytest.raises(ShapeError, match="x"):
        kernels.row_softmax(torch.tensor(1.0, device=device))


def test_float32_precision_follows_pytorch() -> None:
    before = torch.get_float32_matmul_precision()
    try:
        for name, wanted in (("highest", "ieee"), ("high", "tf32"), ("medium", "tf32")):
            torch.set_float32_matmul_precision(name)
            assert (asked_precision() == "tf32") == (wanted == "tf32")
    finally:
        torch.set_float32_matmul_precision(before)
