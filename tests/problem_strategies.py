"""Random attention problems and tiles for property tests, small enough for brute force."""

from __future__ import annotations

from hypothesis import strategies as st

from fa_toolkit.problem import ITEMSIZE, AttentionProblem, TileShape

windows = st.none() | st.tuples(st.integers(-1, 12), st.integers(-1, 12))
tiles = st.builds(TileShape, block_m=st.integers(1, 9), block_n=st.integers(1, 9))


@st.composite
def problems(draw: st.DrawFn, *, longest: int = 24) -> AttentionProblem:
    """Every kind of mask, lengths that differ and may be 0, grouped heads, D unlike Dv."""
    heads_kv = draw(st.integers(0, 2))
    return AttentionProblem(
        batch=draw(st.integers(0, 2)),
        heads_q=heads_kv * draw(st.integers(1, 3)),
        heads_kv=heads_kv,
        len_q=draw(st.integers(0, longest)),
        len_k=draw(st.integers(0, longest)),
        head_dim=draw(st.integers(1, 40)),
        head_dim_v=draw(st.integers(1, 40)),
        dtype=draw(st.sampled_from(sorted(ITEMSIZE))),
        causal=draw(st.booleans()),
        window=draw(windows),
    )
