"""Decode calls drawn at random; a call and its check are those of `decode_cases`."""

from __future__ import annotations

from typing import Any

import torch
from decode_cases import Case, make
from decode_cases import check as check_case
from hypothesis import strategies as st
from ratios import noting

from fa_toolkit import flash_decode


def features(case: Case) -> tuple[str, ...]:
    """What is special about the call, for the record of ratios."""
    found = {
        "paged": case.page > 0,
        "several queries": case.len_q > 1,
        "window": case.window is not None,
        "softcap": bool(case.softcap),
        "sink": case.sink,
        "gqa": case.heads[0] != case.heads[1],
        "strides": case.layout != "plain",
        "splits": case.splits is not None,
        "empty sequence": 0 in case.lens,
    }
    return tuple(name for name, there in found.items() if there) or ("plain",)


def check(case: Case, impl: Any, device: str = "cpu") -> None:
    """Within the budgets of float64, and the same bits in a second run."""
    keywords = {"impl": impl, "num_splits": case.splits, "return_lse": True}
    with noting(features(case)):
        check_case(flash_decode, case, device, **keywords)
    x = make(case, device)
    runs = [
        flash_decode(
            x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, block_table=x.block_table,
            sink=x.sink, **case.keywords, **keywords,
        )
        for _ in range(2)
    ]  # fmt: skip
    for one, other in zip(*runs, strict=True):
        assert torch.equal(one, other)


@st.composite
def decode_calls(
    draw: st.DrawFn,
    *,
    longest: int = 60,
    widest: int = 256,
    dtypes: tuple[str, ...] = ("float16", "bfloat16", "float32"),
) -> Case:
    """Any legal call: lengths 0 and more, contiguous or paged, some queries, any flags."""
    heads_kv = draw(st.integers(1, 3))
    width = st.sampled_from([d for d in (1, 16, 17, 24, 64, 80, 128) if d <= widest])
    width |= st.integers(1, widest)
    d, side = draw(width), st.integers(-1, longest)
    lengths = st.sampled_from((0, 1)) | st.integers(0, longest) | st.integers(0, longest)
    return Case(
        tuple(draw(st.lists(lengths, min_size=1, max_size=3))),
        (heads_kv * draw(st.sampled_from((1, 2, 3, 8))), heads_kv),
        (d, draw(st.just(d) | width)),
        page=draw(st.just(0) | st.sampled_from((1, 7, 16, 64))),
        len_q=draw(st.sampled_from((0, 0, 1, 2, 5, 17))),
        dtype=draw(st.sampled_from(dtypes)),
        causal=draw(st.booleans()),
        window=draw(st.none() | st.tuples(side, side | st.sampled_from((-1, 0, 1)))),
        softcap=draw(st.none() | st.sampled_from((0.5, 30.0))),
        scale=draw(st.none() | st.sampled_from((0.0, 0.1, -0.2))),
        sink=draw(st.booleans()),
        layout=draw(st.sampled_from(("plain", "gaps"))),
        splits=draw(st.none() | st.sampled_from((1, 2, 3, 11))),
        spread=draw(st.sampled_from((1.0, 4.0))),
    )
