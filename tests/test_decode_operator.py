"""The decode operator under PyTorch's own tools: opcheck, compile, export, transforms, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fa_toolkit.kernels as kernels  # settles the mode before torch.compile imports Triton

# isort: split
import pytest
import torch
import torch._dynamo
from decode_cases import Case, Inputs, make
from torch import Tensor

from fa_toolkit import flash_decode
from fa_toolkit.decode_operator import DecodeOptions, decode_op
from fa_toolkit.errors import ArgumentError, BackendUnavailable, DtypeError, ShapeError
from fa_toolkit.language import using

IMPLS = [
    "tiled",
    "reference",
    pytest.param(
        "triton",
        marks=pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs kernels on the CPU"),
    ),
]
PLAIN = Case((20, 0, 33), (4, 2), (8, 12))
PAGED = Case((9, 30), (4, 2), (8, 12), page=8, len_q=3, sink=True, window=(12, 0), softcap=2.0)


def _arguments(x: Inputs, options: DecodeOptions) -> tuple[Any, ...]:
    q = x.q if x.q.ndim == 4 else x.q[:, None]
    table = x.block_table
    if table is not None:  # opcheck compares inputs before and after, page ids must be ids
        table = table.clamp(0, len(x.k_cache) - 1)
    caches = (x.k_cache.nan_to_num(), x.v_cache.nan_to_num())
    return (q, *caches, x.seq_lens, table, x.sink, *options)


@pytest.mark.parametrize("impl", IMPLS)
def test_opcheck(impl: str) -> None:
    torch.library.opcheck(decode_op, _arguments(make(PLAIN), DecodeOptions(impl=impl)))
    options = DecodeOptions(True, 12, 0, 2.0, 0.3, 2, True, impl)
    torch.library.opcheck(decode_op, _arguments(make(PAGED), options))


def _caller(impl: str, **keywords: Any) -> Callable[..., tuple[Tensor, Tensor]]:
    def call(q: Tensor, k: Tensor, v: Tensor, lens: Tensor, table: Tensor | None = None) -> Any:
        return flash_decode(
            q, k, v, seq_lens=lens, block_table=table, return_lse=True, impl=impl, **keywords
        )  # type: ignore[call-overload]

    return call


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("page", [0, 8])
@torch._dynamo.config.patch(error_on_recompile=True)
def test_compile_sees_one_graph_for_any_cache_length_and_batch(impl: str, page: int) -> None:
    torch._dynamo.reset()
    call = _caller(impl, window=(17, 0))
    compiled = torch.compile(call, backend="aot_eager", fullgraph=True, dynamic=True)
    for lens in ((41, 9, 7), (13, 0, 41, 2, 3), (5, 6, 29, 30, 31, 8)):
        x = make(Case(lens, (4, 2), (8, 12), page=page, dtype="float16"))
        arguments = (x.q, x.k_cache, x.v_cache, x.seq_lens, x.block_table)
        for mine, plain in zip(compiled(*arguments), call(*arguments), strict=True):
            assert torch.equal(mine, plain) and mine.stride() == plain.stride()


@pytest.mark.parametrize("impl", IMPLS)
def test_a_compiled_call_follows_the_lengths_and_refuses_what_does_not_fit(impl: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(_caller(impl), backend="aot_eager", fullgraph=True)
    x = make(PLAIN)
    for cache in (x.k_cache, x.v_cache):
        cache.nan_to_num_(0.0)
    outputs = []
    for step in range(3):
        lens = x.seq_lens + step
        outputs.append(compiled(x.q, x.k_cache, x.v_cache, lens)[0])
        assert torch.equal(outputs[-1], _caller(impl)(x.q, x.k_cache, x.v_cache, lens)[0])
    assert not torch.equal(outputs[0], outputs[1])
    with using("en"), pytest.raises(ShapeError, match="seq_lens"):
        compiled(x.q, x.k_cache, x.v_cache, x.seq_lens[:2])
    with using("en"), pytest.raises(DtypeError, match="seq_lens"):
        compiled(x.q, x.k_cache, x.v_cache, x.seq_lens.long())


def test_values_are_checked_in_a_compiled_call_too() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(_caller("tiled", validate=True), backend="aot_eager", fullgraph=True)
    x = make(PLAIN)
    compiled(x.q, x.k_cache, x.v_cache, x.seq_lens)
    with pytest.raises(ArgumentError, match=r"seq_lens\[1\]"):
        compiled(x.q, x.k_cache, x.v_cache, x.seq_lens - 1)


def test_export() -> None:
    class Layer(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor, lens: Tensor) -> Tensor:
            return flash_decode(q, k, v, seq_lens=lens)

    x = make(PLAIN)
    arguments = (x.q, x.k_cache, x.v_cache, x.seq_lens)
    batch, slots = torch.export.Dim("batch"), torch.export.Dim("slots")
    cache = {0: batch, 2: slots}
    shapes = ({0: batch}, cache, cache, {0: batch})
    exported = torch.export.export(Layer(), arguments, dynamic_shapes=shapes)
    assert "fa_toolkit.decode" in exported.graph_module.code
    for case in (PLAIN, Case((3, 50), (4, 2), (8, 12))):
        x = make(case)
        arguments = (x.q, x.k_cache, x.v_cache, x.seq_lens)
        assert torch.equal(exported.module()(*arguments), Layer()(*arguments))


@pytest.mark.parametrize("impl", IMPLS)
def test_the_operator_itself_refuses_gradients(impl: str) -> None:
    q, *rest = _arguments(make(PLAIN), DecodeOptions(impl=impl))
    with using("en"), pytest.raises(BackendUnavailable, match="flash_attention, which has"):
        decode_op(q.requires_grad_(), *rest)
    with torch.no_grad():
        assert not decode_op(q, *rest)[0].requires_grad


def test_a_compiled_call_refuses_gradients() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(_caller("tiled"), backend="aot_eager")
    x = make(PLAIN)
    with using("en"), pytest.raises(Exception, match="flash_attention, which has gradients"):
        compiled(x.q.requires_grad_(), x.k_cache, x.v_cache, x.seq_lens)


def test_transforms_are_refused_with_the_way_out() -> None:
    x = make(PLAIN)

    def call(q: Tensor) -> Tensor:
        return flash_decode(q, x.k_cache, x.v_cache, seq_lens=x.seq_lens)

    with using("en"), pytest.raises(BackendUnavailable, match="vmap"):
        torch.vmap(call)(x.q[None])
    with using("zh"), pytest.raises(BackendUnavailable, match="第一个维度"):
        torch.func.grad(lambda q: call(q).sum())(x.q)


def test_meta_tensors_give_shapes() -> None:
    x = make(PAGED)
    tensors = (x.q, x.k_cache, x.v_cache, x.seq_lens, x.block_table)
    o, lse = _caller("auto")(*(None if t is None else t.to("meta") for t in tensors))
    assert (o.shape, lse.shape) == ((2, 3, 4, 12), (2, 4, 3)) and o.is_meta and lse.is_meta
