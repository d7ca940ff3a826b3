"""The guarded interpreter: wrong indices become errors, bf16 is right, errors point at the line."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import fa_toolkit.kernels as kernels
from fa_toolkit.errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    OutOfBoundsError,
    ShapeError,
)
from fa_toolkit.language import using

pytestmark = pytest.mark.skipif(
    kernels.mode() != "interpreter", reason="kernels are compiled here: nothing to guard"
)


@triton.jit
def copy_kernel(x_ptr, out_ptr, shift, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs + shift, mask=offs < n)
    tl.store(out_ptr + offs, x, mask=offs < n)


@triton.jit
def unmasked_store_kernel(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


@triton.jit
def atomic_kernel(out_ptr, offset):
    tl.atomic_add(out_ptr + offset, 1.0)


@triton.jit
def two_tensors_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    ptrs = tl.where(offs % 2 == 0, x_ptr + offs, y_ptr + offs)
    tl.store(out_ptr + offs, tl.load(ptrs))


@triton.jit
def assert_kernel(n):
    tl.device_assert(n < 10, "n is too large")


@triton.jit
def overflow_kernel(out_ptr, stride):
    tl.store(out_ptr, stride * 65536)


@triton.jit
def bf16_kernel(x_ptr, y_ptr, out_ptr, OP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offs), tl.load(y_ptr + offs)
    if OP == "arithmetic":
        z = (x + y) * x - y * 0.5
    elif OP == "select":
        z = tl.where(x > y, x, tl.maximum(x, y))
    elif OP == "sum":
        z = x * 0 + tl.sum(x, axis=0)
    elif OP == "negative":
        z = -tl.abs(x)
    elif OP == "constant":
        z = tl.full([BLOCK], 1.3, tl.bfloat16) + x
    elif OP == "integers":
        z = x * 0 + offs.to(tl.bfloat16)
    elif OP == "truncate":
        z = (x * 10).to(tl.int32).to(tl.bfloat16)
    else:
        z = (x.to(tl.float32) * y.to(tl.float32)).to(tl.bfloat16)
    tl.store(out_ptr + offs, z)


@triton.jit
def bf16_dot_kernel(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + offs, tl.dot(tl.load(a_ptr + offs), tl.load(b_ptr + offs)))


@pytest.mark.parametrize("direct", [True, False], ids=["kernel[grid]", "launch"])
@pytest.mark.parametrize(("shift", "offsets"), [(1, "offset 100 "), (-3, "offset -3..-1 ")])
def test_a_wrong_load_is_an_error(direct: bool, shift: int, offsets: str) -> None:
    x, out = torch.arange(100.0), torch.zeros(100)
    with using("en"), pytest.raises(OutOfBoundsError) as caught:
        if direct:
            copy_kernel[(4,)](x, out, shift, 100, BLOCK=32)
        else:
            kernels.launch(copy_kernel, 4, x, out, shift, 100, BLOCK=32)
    message = str(caught.value)
    assert caught.value.name == "x_ptr"
    assert "offsets 0..99" in message and offsets in message
    assert f"program ({3 if shift > 0 else 0}, 0, 0)" in message
    last = caught.traceback[-1]
    assert "tl.load(x_ptr" in str(last.statement)


def test_a_load_that_lands_in_another_tensor_is_still_an_error() -> None:
    memory = torch.arange(64.0)
    x, neighbour = memory[:32], memory[32:]
    with pytest.raises(OutOfBoundsError, match="x_ptr"):
        copy_kernel[(1,)](x, neighbour, 1, 32, BLOCK=32)


def test_bounds_are_those_of_the_view() -> None:
    x, out = torch.arange(100.0)[10:60:2], torch.zeros(49)
    copy_kernel[(1,)](x, out, 0, 49, BLOCK=64)  # 25 elements, 49 apart
    assert torch.equal(out, torch.arange(10.0, 59.0))
    with pytest.raises(OutOfBoundsError, match=r"0\.\.48"):
        copy_kernel[(1,)](x, out, 1, 49, BLOCK=64)


def test_store_atomic_and_empty_tensors() -> None:
    with pytest.raises(OutOfBoundsError, match="out_ptr"):
        unmasked_store_kernel[(1,)](torch.zeros(10), BLOCK=16)
    with pytest.raises(OutOfBoundsError, match="out_ptr"):
        atomic_kernel[(1,)](torch.zeros(10), 10)
    with pytest.raises(OutOfBoundsError, match="empty"), using("en"):
        unmasked_store_kernel[(1,)](torch.zeros(0), BLOCK=16)
    total = torch.zeros(3)
    atomic_kernel[(5,)](total, 2)
    assert total.tolist() == [0, 0, 5]


def test_the_same_tensor_twice_and_pointers_of_two_tensors() -> None:
    x = torch.arange(32.0)
    copy_kernel[(1,)](x, x, 0, 32, BLOCK=32)
    assert torch.equal(x, torch.arange(32.0))
    out = torch.zeros(32)
    two_tensors_kernel[(1,)](x, -x, out, BLOCK=32)
    assert torch.equal(out, torch.where(torch.arange(32) % 2 == 0, x, -x))


def test_launches_after_an_error_are_right() -> None:
    with pytest.raises(OutOfBoundsError):
        unmasked_store_kernel[(1,)](torch.zeros(1), BLOCK=16)
    out = torch.zeros(16)
    unmasked_store_kernel[(1,)](out, BLOCK=16)
    assert bool((out == 1).all())


def test_device_assert_fires_and_points_at_the_program() -> None:
    assert_kernel[(2,)](9)
    with using("en"), pytest.raises(AssertionError, match="n is too large") as caught:
        assert_kernel[(2,)](10)
    assert caught.value.__notes__ == ["in kernel assert_kernel, program (0, 0, 0)"]


def test_int32_overflow_is_named() -> None:
    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(AssertionError, match="overflow"):
        overflow_kernel[(1,)](out, 65536)


def test_launch_refuses_a_plain_function() -> None:
    with using("en"), pytest.raises(ArgumentError, match=r"@triton\.jit"):
        kernels.launch(lambda x: x, (1,), torch.zeros(1))


@pytest.mark.parametrize(
    "grid", ["4", 4.0, None, (), (1, 2, 3, 4), (4.0,), -1, True, [-1], torch.ones(2)], ids=repr
)
def test_launch_refuses_what_is_no_grid(grid: Any) -> None:
    x = torch.zeros(8)
    with using("en"), pytest.raises(ArgumentError, match="grid: expected how many programs"):
        kernels.launch(copy_kernel, grid, x, x, 0, 8, BLOCK=8)


@pytest.mark.parametrize("grid", [1, (1,), [1], np.int64(1), torch.tensor(1), lambda meta: 1])
def test_launch_takes_a_grid_of_any_kind(grid: Any) -> None:
    x, out = torch.arange(8.0), torch.zeros(8)
    kernels.launch(copy_kernel, grid, x, out, 0, np.int64(8), BLOCK=np.int64(8))
    assert torch.equal(x, out)


@pytest.mark.parametrize("odd", [[1.0], np.ones(8)], ids=["list", "ndarray"])
def test_launch_names_the_argument_that_no_kernel_can_read(odd: Any) -> None:
    with using("en"), pytest.raises(ArgumentError, match="x_ptr: expected a torch tensor"):
        kernels.launch(copy_kernel, 1, odd, torch.zeros(8), 0, 8, BLOCK=8)


def test_tensors_without_data_and_no_tensors_are_refused() -> None:
    x = torch.zeros(8)
    with pytest.raises(DeviceError):
        kernels.launch(copy_kernel, 1, x.to("meta"), x.to("meta"), 0, 8, BLOCK=8)
    for odd in (None, 2, [1.0], x.to_sparse()):
        with pytest.raises(DtypeError):
            kernels.vector_add(x, odd)  # type: ignore[arg-type]
        with pytest.raises(DtypeError):
            kernels.row_softmax(odd)  # type: ignore[arg-type]
    for dtype in (torch.bool, torch.complex64):
        with pytest.raises(DtypeError):
            kernels.vector_add(x.to(dtype), x.to(dtype))


def test_the_forward_launcher_refuses_tensors_that_do_not_fit() -> None:
    q = torch.zeros(1, 2, 5, 16)
    for k, v, error in (
        (q, q.half(), DtypeError),
        (q.double(), q, DtypeError),
        (q[..., :3], q, ShapeError),
        (q, q[:, :, :3], ShapeError),
        (q, q[0], ShapeError),
        (q, q[..., :0], ShapeError),
    ):
        with pytest.raises(error):
            kernels.flash_forward(q, k, v)
    with pytest.raises(ArgumentError):
        kernels.flash_forward(q, q, q, tile=(16, 16))  # type: ignore[arg-type]


EXPECTED: dict[str, Any] = {
    "arithmetic": lambda x, y: (x + y) * x - y * 0.5,
    "select": lambda x, y: torch.maximum(x, y),
    "sum": lambda x, y: torch.zeros_like(x) + x.float().sum().bfloat16(),
    "negative": lambda x, y: -x.abs(),
    "constant": lambda x, y: torch.tensor(1.3).bfloat16() + x,
    "integers": lambda x, y: torch.arange(x.numel()).bfloat16(),
    "truncate": lambda x, y: (x * 10).to(torch.int32).bfloat16(),
    "through float32": lambda x, y: (x.float() * y.float()).bfloat16(),
}


@pytest.mark.parametrize("op", EXPECTED)
def test_bf16_equals_torch_bit_for_bit(op: str) -> None:
    x, y = torch.randn(1024).bfloat16(), torch.randn(1024).bfloat16()
    out = torch.full_like(x, float("nan"))
    bf16_kernel[(1,)](x, y, out, OP=op, BLOCK=1024)
    assert torch.equal(out, EXPECTED[op](x, y))


def test_bf16_rounds_to_nearest_even_and_keeps_specials() -> None:
    from fa_toolkit.kernels.interpreter_bf16 import narrow, widen

    values = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, float("inf"), -float("inf"), 0.0, -0.0, 3e38])
    bits = torch.from_numpy(narrow(values.numpy()).astype("int32")).to(torch.int16)
    assert torch.equal(bits.view(torch.bfloat16), values.bfloat16())
    assert torch.isnan(torch.from_numpy(widen(narrow(torch.tensor([float("nan")]).numpy()))))


def test_bf16_dot() -> None:
    a, b = torch.randn(32, 32).bfloat16(), torch.randn(32, 32).bfloat16()
    out = torch.empty(32, 32)
    bf16_dot_kernel[(1,)](a, b, out, N=32)
    exact = a.double() @ b.double()
    allowed = 32 * torch.finfo(torch.float32).eps * (a.double().abs() @ b.double().abs())
    assert bool(((out - exact).abs() <= allowed).all())


def test_no_private_name_is_missing_and_a_missing_one_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fa_toolkit.kernels import interpreter

    assert interpreter.missing_names() == []
    monkeypatch.delattr(interpreter.private.InterpreterBuilder, "create_masked_load")
    assert interpreter.missing_names() == ["InterpreterBuilder.create_masked_load"]


def _python(code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` where no GPU is seen, so that the package chooses the interpreter."""
    import os

    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=environment | {"FA_LANG": "en"},
        check=False,
    )


def test_the_process_survives_an_access_far_outside() -> None:
    """Without the guard this load is a segmentation fault; kernels need a file, so one is made."""
    done = _python(
        """
        import tempfile, pathlib, sys
        folder = tempfile.mkdtemp(); sys.path.insert(0, folder)
        pathlib.Path(folder, "wild.py").write_text('''
        import triton, triton.language as tl
        @triton.jit
        def wild_kernel(x_ptr, far):
            tl.store(x_ptr, tl.load(x_ptr + far))
        '''.replace("\\n        ", "\\n"))
        import fa_toolkit.kernels
        import torch, wild
        for far in (2**40, -2**40, 2**30):
            try:
                wild.wild_kernel[(1,)](torch.zeros(4), far)
            except IndexError as error:
                print(type(error).__name__)
        print("alive")
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["OutOfBoundsError"] * 3 + ["alive"]
