"""The softmax of one warp group, in registers: mask, exponentials, running maximum and sum.

Scores stay in the units of the product; `unit` = scale * log2(e) turns them into base-2 units inside
the one multiply-add that every exponential needs anyway. The sum of a row is kept as four partial
sums until the row is done: the lanes that share a row need not speak to each other before.
"""

from __future__ import annotations

from .gluon import gl, gluon

LN_2 = gl.constexpr(0.6931471805599453)


@gluon.jit
def log2(x):
    """One instruction, right to 2^-22 where x is between 1 and the number of keys."""
    return gl.inline_asm_elementwise(
        "lg2.approx.f32 $0, $1;", "=f,f", [x], dtype=gl.float32, is_pure=True, pack=1
    )


@gluon.jit
def exp2_fma(x):
    """2^x for x <= 0 on the multiply-add units: round to an integer, a polynomial for the rest.

    The integer goes into the exponent by an addition of bits. Below -126 the result is 0 up to
    2^-126. Largest relative error 2.9e-6, of which rounding to bf16 (2e-3) or fp16 (2.4e-4) leaves nothing.
    """
    x = gl.maximum(x, -126.0)
    shifted = x + 12582912.0  # 1.5 * 2^23: the integer part lands in the low bits
    f = x - (shifted - 12582912.0)  # in [-0.5, 0.5]
    p = f * 0.00958283 + 0.0559064
    p = p * f + 0.24024099
    p = p * f + 0.6931242
    p = p * f + 1.0
    bits = shifted.to(gl.int32, bitcast=True) << 23
    return (p.to(gl.int32, bitcast=True) + bits).to(gl.float32, bitcast=True)


@gluon.jit
def exponentials(s, unit, pivot, FMA_COLUMNS: gl.constexpr):
    """2^(s * unit - pivot); FMA_COLUMNS of every eight eights of columns without the exp unit."""
    x = s * unit - pivot[:, None]
    if FMA_COLUMNS == 0:
        p = gl.exp2(x)
    else:
        # eight neighbouring columns are two registers of each of four lanes: which eight it is, is
        # known for each register when compiling, so that the choice costs nothing
        j = gl.arange(0, x.shape[1], layout=gl.SliceLayout(0, x.type.layout)) // 8
        p = gl.where((j % 8 < FMA_COLUMNS)[None, :], exp2_fma(x), gl.exp2(x))
    return p


@gluon.jit
def masked_scores(s, diagonal, col, work, CAUSAL: gl.constexpr, S_L: gl.constexpr):
    """-inf where row i may not see key j; the first row's last key is `diagonal`.

    A lane holds columns 8 j + c, c below 8 and two of its own: with c on the side of the limit, 8 j is
    a constant in the instruction, and no column numbers sit in registers.
    """
    cols = gl.arange(0, s.shape[1], layout=gl.SliceLayout(0, S_L))
    low = cols & 7
    rows = gl.arange(0, s.shape[0], layout=gl.SliceLayout(1, S_L))
    limit = work.len_k - 1 - col + rows * 0  # the last key, counted from the tile
    if CAUSAL:
        # the maximum changes nothing, but keeps sums of rows and constants from waiting in registers
        limit = gl.minimum(limit, rows + gl.maximum(diagonal - col, -s.shape[0]))
    return gl.where((cols - low)[None, :] <= limit[:, None] - low[None, :], s, -float("inf"))


@gluon.jit
def row_sums(p):
    """[rows, columns] -> [rows, 4]: each of the four lanes that share a row adds up its own."""
    return gl.sum(gl.sum(p.reshape([p.shape[0], p.shape[1] // 8, 4, 2]), axis=1), axis=2)


@gluon.jit
def pivot_of(m_i, MASKED: gl.constexpr):
    """What is subtracted: the maximum, but 0 for a row that has seen no key yet."""
    return gl.where(m_i == -float("inf"), 0.0, m_i) if MASKED else m_i


@gluon.jit
def softmax_start(s, unit, MASKED: gl.constexpr, FMA_COLUMNS: gl.constexpr):
    """The first tile of scores of a row: m_i, l_i, p."""
    m_i = gl.max(s, axis=1)
    p = exponentials(s, unit, pivot_of(m_i, MASKED) * unit, 0 if MASKED else FMA_COLUMNS)
    return m_i, row_sums(p), p


@gluon.jit
def softmax_step(s, m_i, l_i, unit, MASKED: gl.constexpr, FMA_COLUMNS: gl.constexpr):
    """Fold one more tile of scores into (m_i, l_i): m_i, l_i, p, factor for what was summed before."""
    m_new = gl.maximum(m_i, gl.max(s, axis=1))
    pivot = pivot_of(m_new, MASKED)
    # a difference: of two products one is rounded and one is not, and alpha misses 1 in every tile
    alpha = gl.exp2((m_i - pivot) * unit)
    p = exponentials(s, unit, pivot * unit, 0 if MASKED else FMA_COLUMNS)
    wide = gl.convert_layout(alpha, gl.SliceLayout(1, l_i.type.layout), assert_trivial=True)
    return m_new, l_i * wide[:, None] + row_sums(p), p, alpha


@gluon.jit
def softmax_end(m_i, l_i, unit, S_L: gl.constexpr):
    """lse in natural units and the factor 1 / l_i; a row without keys has -inf and 1."""
    row = gl.convert_layout(gl.sum(l_i, axis=1), gl.SliceLayout(1, S_L), assert_trivial=True)
    row = gl.where(row == 0.0, 1.0, row)
    return (m_i * unit + log2(row)) * LN_2, 1.0 / row
