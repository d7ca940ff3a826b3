"""Two halves in one register, for tensors that go from one turn of a loop to the next.

Where a tensor of bf16 or fp16 is carried through two loops, the compiler takes its registers apart at
every edge and puts them together again: for P one instruction for each score. As pairs in 32 bits
nothing is left to take apart.
"""

from __future__ import annotations

from .gluon import gl, gluon


@gluon.constexpr_function
def rounding(dtype):
    """PTX that rounds two float32 to nearest and packs them, the first into the low half."""
    kind = "bf16x2" if dtype == gl.bfloat16 else "f16x2"
    return f"cvt.rn.{kind}.f32 $0, $2, $1;"


@gluon.jit
def pairs_of(x, DTYPE: gl.constexpr):
    """float32 [rows, columns] -> int32 [rows, columns / 2]."""
    low, high = gl.split(x.reshape([x.shape[0], x.shape[1] // 2, 2]))
    TEXT: gl.constexpr = rounding(DTYPE)
    return gl.inline_asm_elementwise(
        TEXT, "=r,f,f", [low, high], dtype=gl.int32, is_pure=True, pack=1
    )


@gluon.jit
def from_pairs(pairs, DTYPE: gl.constexpr, LAYOUT: gl.constexpr):
    """int32 [rows, columns / 2] -> halves [rows, columns]; no value changes its lane."""
    low = (pairs & 0xFFFF).to(gl.int16).to(DTYPE, bitcast=True)
    high = (pairs >> 16).to(gl.int16).to(DTYPE, bitcast=True)
    x = gl.join(low, high).reshape([pairs.shape[0], pairs.shape[1] * 2])
    return gl.convert_layout(x, LAYOUT, assert_trivial=True)
