"""Any call at all: the tiled algorithms, and the kernels in the interpreter."""

from __future__ import annotations

import fa_toolkit.kernels as kernels  # settles the mode before anything else imports Triton

# isort: split
import any_decode
import any_packed
import pytest
from any_call import AnyCall, calls
from any_call_checks import check
from any_decode import decode_calls
from any_packed import AnyPacked, packed_calls
from decode_cases import Case
from hypothesis import given
from lanes import examples, lane

pytestmark = pytest.mark.usefixtures("poisoned_empty")
ALL = ("float16", "bfloat16", "float32", "float64")
interpreted = pytest.mark.skipif(
    kernels.mode() != "interpreter", reason="runs kernels on the CPU; see test_gpu_any_call.py"
)


@lane(examples(100))
@given(call=calls(dtypes=ALL, sides=(1, 5, 16, 24), longest=60))
def test_tiled(call: AnyCall) -> None:
    check(call, "tiled")


@lane(examples(60))
@given(call=packed_calls(dtypes=ALL))
def test_tiled_packed(call: AnyPacked) -> None:
    any_packed.check(call, "tiled")


@lane(examples(60))
@given(case=decode_calls(dtypes=ALL))
def test_tiled_decode(case: Case) -> None:
    any_decode.check(case, "tiled")


@interpreted
@lane(examples(30))
@given(call=calls(pairs=2500))
def test_triton(call: AnyCall) -> None:
    check(call, "triton")


@interpreted
@lane(examples(10))
@given(call=packed_calls(sequences=3, longest=20, widest=80))
def test_triton_packed(call: AnyPacked) -> None:
    any_packed.check(call, "triton")


@interpreted
@lane(examples(12))
@given(case=decode_calls())
def test_triton_decode(case: Case) -> None:
    any_decode.check(case, "triton")
