"""`sdpa` against torch's own function: meaning, layouts, gradients, masks, refusals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    Truth,
    assert_no_worse_than_peer,
    assert_within_budget,
    make_grads,
    make_qkv,
    truth,
)
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as torch_sdpa

import fa_toolkit as fa
from fa_toolkit import sdpa
from fa_toolkit.errors import (
    ArgumentError,
    BackendUnavailable,
    DtypeError,
    FaError,
    ShapeError,
)
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem

TORCH = ("tiled", "reference")
LENGTHS = ((9, 9), (5, 12), (12, 5), (1, 7), (7, 1), (70, 130), (130, 70))
NAMES = ("o", "dq", "dk", "dv")


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    """Nothing compiled for another test counts towards the limit of this one."""
    yield
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()


def with_gradients(
    function: Any, tensors: tuple[Tensor, ...], do: Tensor, *more: Any, **keywords: Any
) -> tuple[Tensor, ...]:
    """The result and the gradients of the first three tensors, by any function of them."""
    leaves = [x.detach().requires_grad_() for x in tensors]
    o = function(*leaves, *more, **keywords)
    return (o.detach(), *torch.autograd.grad(o, leaves, do))


def exact(q: Tensor, k: Tensor, v: Tensor, do: Tensor, is_causal: bool) -> Truth:
    """Torch's values in float64, and the budget of the oracle, which must have the same values."""
    len_q, len_k = q.shape[2], k.shape[2]
    wide = tuple(x.double() for x in (q, k, v))
    values = with_gradients(
        torch_sdpa, wide, do.double(), is_causal=is_causal, enable_gqa=q.shape[1] != k.shape[1]
    )
    seen = min(len_q, len_k) if is_causal else len_k
    window = (-1, max(0, len_q - len_k)) if is_causal else None
    found = truth(q, k[:, :, :seen], v[:, :, :seen], window=window, do=do)
    for name, value in zip(NAMES, values, strict=True):
        short = value[:, :, :seen] if name in ("dk", "dv") else value
        torch.testing.assert_close(found[name], short)
        for table in (found.terms, found.through, found.small):
            padded = torch.zeros_like(value)
            padded[:, :, : short.shape[2]] = table[name]
            table[name] = padded
        found.values[name] = value
    return found


@pytest.mark.parametrize("impl", TORCH)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
def test_result_and_gradients(
    lengths: tuple[int, int], dtype: torch.dtype, impl: str, is_causal: bool
) -> None:
    problem = AttentionProblem(2, 4, 2, *lengths, 16, 24)
    q, k, v = make_qkv(problem, dtype, layout="gaps")
    do, _ = make_grads(problem, dtype)
    want = exact(q, k, v, do, is_causal)
    got = with_gradients(sdpa, (q, k, v), do, is_causal=is_causal, enable_gqa=True, impl=impl)
    for name, value in zip(NAMES, got, strict=True):
        assert value.dtype == dtype
        assert_within_budget(name, value, want)


@pytest.mark.parametrize("lengths", ((6, 6), (4, 9), (9, 4)), ids=str)
def test_the_kernel_in_the_interpreter(lengths: tuple[int, int], device: str) -> None:
    problem = AttentionProblem(1, 2, 1, *lengths, 16)
    q, k, v = make_qkv(problem, torch.float32)
    do, _ = make_grads(problem, torch.float32)
    got = with_gradients(
        sdpa,
        tuple(x.to(device) for x in (q, k, v)),
        do.to(device),
        is_causal=True,
        enable_gqa=True,
        impl="triton",
    )
    want = exact(q, k, v, do, True)
    for name, value in zip(NAMES, got, strict=True):
        assert_within_budget(name, value, want)


# query, key, value; torch's rules without and with enable_gqa
PLAIN = (
    ((3, 4), (5, 4), (5, 6)),
    ((2, 3, 4), (2, 5, 4), (2, 5, 6)),
    ((2, 3, 2, 3, 4), (2, 3, 2, 5, 4), (2, 3, 2, 5, 6)),
    ((2, 1, 2, 2, 3, 4), (2, 2, 2, 2, 5, 4), (1, 2, 2, 2, 5, 4)),
    ((3, 4), (2, 5, 4), (2, 5, 4)),
    ((2, 5, 4), (3, 4), (3, 4)),
    ((2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)),
    ((1, 2, 3, 4), (3, 2, 5, 4), (3, 2, 5, 4)),
    ((3, 2, 3, 4), (3, 2, 5, 4), (1, 2, 5, 4)),
    ((2, 3, 3, 4), (2, 1, 5, 4), (2, 1, 5, 4)),
    ((2, 3, 3, 4), (2, 1, 5, 4), (2, 3, 5, 4)),
    ((2, 1, 3, 4), (2, 3, 5, 4), (2, 3, 5, 4)),
    ((2, 4, 0, 4), (2, 4, 5, 4), (2, 4, 5, 4)),
    ((2, 4, 3, 4), (2, 4, 0, 4), (2, 4, 0, 4)),
    ((0, 4, 3, 4), (0, 4, 5, 4), (0, 4, 5, 4)),
    ((2, 0, 3, 4), (2, 0, 5, 4), (2, 0, 5, 4)),
    ((2, 0, 2, 3, 4), (2, 0, 2, 5, 4), (2, 0, 2, 5, 4)),
)
GROUPED = (
    ((2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6)),
    ((2, 4, 3, 4), (2, 2, 5, 4), (2, 4, 5, 4)),
    ((2, 4, 3, 4), (2, 4, 5, 4), (2, 1, 5, 4)),
    ((4, 3, 4), (2, 5, 4), (2, 5, 4)),
    ((2, 2, 4, 3, 4), (2, 1, 2, 5, 4), (1, 2, 2, 5, 4)),
    ((2, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)),
)


@pytest.mark.parametrize("impl", TORCH)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(
    ("shapes", "gqa"), [(s, False) for s in PLAIN] + [(s, True) for s in GROUPED], ids=str
)
def test_layouts_and_broadcasting(shapes: Any, gqa: bool, is_causal: bool, impl: str) -> None:
    tensors = tuple(torch.randn(shape, dtype=torch.float64) for shape in shapes)
    keywords: dict[str, Any] = {"is_causal": is_causal, "enable_gqa": gqa, "scale": 0.7}
    do = torch.randn_like(torch_sdpa(*tensors, **keywords))
    got = with_gradients(sdpa, tensors, do, impl=impl, **keywords)
    for mine, theirs in zip(got, with_gradients(torch_sdpa, tensors, do, **keywords), strict=True):
        torch.testing.assert_close(mine, theirs)


@st.composite
def calls(draw: st.DrawFn) -> tuple[tuple[Tensor, Tensor, Tensor], dict[str, Any]]:
    """Shapes torch accepts: axes that broadcast, grouped heads, memory in any order of axes."""
    gqa = draw(st.booleans())
    lead = draw(st.lists(st.integers(0, 3), max_size=2))
    heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    len_q, len_k = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    width, width_v = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    empty = 0 in (*lead, len_q, len_k)  # torch forgets to broadcast where a tensor is empty

    def tensor(count: int, length: int, size: int) -> Tensor:
        batch = lead if empty else [draw(st.sampled_from((n, 1))) for n in lead]
        kept = batch if empty else batch[draw(st.integers(0, len(batch))) :]
        shape = [*kept, count, length, size]
        order = draw(st.permutations(range(len(shape))))
        x = torch.randn([shape[at] for at in order], dtype=torch.float64)
        return x.permute([order.index(at) for at in range(len(shape))])

    def shared() -> int:
        return heads if gqa or empty else draw(st.sampled_from((heads, 1)))

    q = tensor(heads * group if gqa else shared(), len_q, width)
    k, v = tensor(shared(), len_k, width), tensor(shared(), len_k, width_v)
    keywords = {"is_causal": draw(st.booleans()), "enable_gqa": gqa}
    return (q, k, v), keywords


@settings(max_examples=150, deadline=None)
@given(call=calls(), impl=st.sampled_from(TORCH), seed=st.integers(0, 2**16))
def test_any_call_torch_accepts(call: Any, impl: str, seed: int) -> None:
    tensors, keywords = call
    torch.manual_seed(seed)
    want = torch_sdpa(*tensors, **keywords)
    do = torch.randn_like(want)
    got = with_gradients(sdpa, tensors, do, impl=impl, **keywords)
    for mine, theirs in zip(got, with_gradients(torch_sdpa, tensors, do, **keywords), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("impl", TORCH)
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0)], ids=str)
def test_output_strides_follow_query_as_in_torch(order: tuple[int, ...], impl: str) -> None:
    shape = (2, 3, 4)
    x = torch.randn([shape[at] for at in order] + [8]).permute(
        [order.index(at) for at in range(3)] + [3]
    )
    assert x.shape == (2, 3, 4, 8)
    assert sdpa(x, x, x, impl=impl).stride() == torch_sdpa(x, x, x).stride()  # type: ignore[arg-type]
    wider = sdpa(x, x, torch.randn(2, 3, 4, 16), impl=impl)  # type: ignore[arg-type]
    assert wider.stride() == tuple(2 * s if s > 1 else 1 for s in x.stride())
    five = sdpa(x[None], x[None], x[None], impl=impl)  # type: ignore[arg-type]
    assert five.stride()[1:] == x.stride()
    expanded = x[:1].expand(2, 3, 4, 8)
    assert sdpa(expanded, x, x).stride() == torch_sdpa(expanded, x, x).stride()


MASKS = ((5, 7), (1, 7), (5, 1), (4, 1, 7), (2, 1, 1, 7), (2, 4, 5, 7), (1, 1, 1, 1))


@pytest.mark.parametrize("shape", MASKS, ids=str)
@pytest.mark.parametrize("kind", ["bool", "additive"])
def test_reference_honours_masks(shape: tuple[int, ...], kind: str) -> None:
    tensors = make_qkv(AttentionProblem(2, 4, 2, 5, 7, 8), torch.float64)
    hidden = torch.rand(shape) < 0.4  # some rows see nothing
    mask = ~hidden
    if kind == "additive":
        mask = torch.randn(shape, dtype=torch.float64).masked_fill(hidden, -float("inf"))
    do = torch.randn(2, 4, 5, 8, dtype=torch.float64)
    keywords: dict[str, Any] = {"scale": 0.3, "enable_gqa": True}
    got = with_gradients(sdpa, tensors, do, mask, impl="reference", **keywords)
    want = with_gradients(torch_sdpa, tensors, do, mask, **keywords)
    for mine, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_a_row_that_sees_nothing() -> None:
    tensors = make_qkv(AttentionProblem(1, 1, 1, 3, 4, 8), torch.float32)
    mask = torch.tensor([[True] * 4, [False] * 4, [True, False, False, True]])
    o, *grads = with_gradients(sdpa, tensors, torch.ones(1, 1, 3, 8), mask, impl="reference")
    assert bool((o[0, 0, 1] == 0).all()) and bool((grads[0][0, 0, 1] == 0).all())
    assert all(bool(x.isfinite().all()) for x in (o, *grads)) and bool(o[0, 0, 0].any())


def test_gradient_of_an_additive_mask() -> None:
    q, k, v = make_qkv(AttentionProblem(2, 3, 3, 5, 7, 8), torch.float64)
    bias = torch.randn(1, 3, 5, 7, dtype=torch.float64, requires_grad=True)
    (got,) = torch.autograd.grad(sdpa(q, k, v, bias, impl="reference").square().sum(), bias)
    (want,) = torch.autograd.grad(torch_sdpa(q, k, v, bias).square().sum(), bias)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_masks_in_lower_precision_are_no_worse_than_torch(dtype: torch.dtype) -> None:
    tensors = make_qkv(AttentionProblem(2, 4, 4, 20, 30, 16), dtype)
    bias = torch.randn(20, 30)
    wide = torch_sdpa(*(x.double() for x in tensors), bias.double())
    want = Truth({"o": wide}, {}, {}, {}, dtype)
    got = sdpa(*tensors, bias, impl="reference")
    assert got.dtype == dtype
    assert_no_worse_than_peer("o", got, torch_sdpa(*tensors, bias), want)


@pytest.mark.parametrize("impl", ["auto", "tiled", "triton"])
def test_other_implementations_refuse_a_mask(impl: str) -> None:
    q = torch.randn(1, 2, 3, 8)
    for mask in (torch.ones(3, 3, dtype=torch.bool), torch.zeros(3, 3)):
        with using("en"), pytest.raises(BackendUnavailable, match='impl="reference"') as caught:
            sdpa(q, q, q, mask, impl=impl)  # type: ignore[arg-type]
        assert all(word in str(caught.value) for word in ("window", "varlen", "torch's own"))


@pytest.mark.parametrize("lengths", [(3, 5), (5, 5)])
def test_causal_biases_run_everywhere(lengths: tuple[int, int]) -> None:
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    q = torch.randn(1, 2, lengths[0], 8, dtype=torch.float64)
    k = torch.randn(1, 2, lengths[1], 8, dtype=torch.float64)
    for make in (causal_lower_right, causal_upper_left):
        bias = make(*lengths)
        torch.testing.assert_close(sdpa(q, k, k, bias), torch_sdpa(q, k, k, bias))
        run = torch.compile(lambda q, k, b=bias: sdpa(q, k, k, b), fullgraph=True, backend="eager")
        torch.testing.assert_close(run(q, k), torch_sdpa(q, k, k, bias))
        with pytest.raises(ShapeError, match="attn_mask"):
            sdpa(q, k[:, :, 1:], k[:, :, 1:], bias)
        with pytest.raises(ArgumentError, match="is_causal"):
            sdpa(q, k, k, bias, is_causal=True)
    assert not torch.equal(
        sdpa(q[:, :, :3], k[:, :, :5], k[:, :, :5], causal_lower_right(3, min(5, lengths[1]))),
        sdpa(q[:, :, :3], k[:, :, :5], k[:, :, :5], is_causal=True),
    )


def test_a_mask_over_no_pairs_runs_everywhere() -> None:
    q, none = torch.randn(1, 2, 3, 8), torch.randn(1, 2, 0, 8)
    for mask in (torch.ones(3, 0, dtype=torch.bool), torch.ones(1, 0)):
        o = sdpa(q, none, none, mask)
        assert torch.equal(o, torch_sdpa(q, none, none, mask)) and not bool(o.any())
    assert sdpa(none, q, q, torch.ones(0, 3)).shape == (1, 2, 0, 8)
    with pytest.raises(ShapeError, match="attn_mask"):
        sdpa(q, none, none, torch.ones(3, 3))


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(shape, dtype=dtype)


X = ones(2, 4, 3, 8)
LONG, HALF = ones(2, 4, 3, 8, dtype=torch.int64), ones(2, 4, 3, 8, dtype=torch.float16)
REFUSED: dict[str, tuple[Any, dict[str, Any], type[FaError], str]] = {
    "a mask and is_causal": ((X, X, X, ones(3, 3)), {"is_causal": True}, ArgumentError, "attn_mask"),
    "heads differ": ((X, ones(2, 2, 3, 8), ones(2, 2, 3, 8)), {}, ShapeError, "enable_gqa"),
    "heads of value differ": ((X, X, ones(2, 2, 3, 8)), {}, ShapeError, "value"),
    "groups do not divide": (
        (X, ones(2, 3, 3, 8), ones(2, 3, 3, 8)), {"enable_gqa": True}, ShapeError, "key",
    ),
    "more key heads than query heads": (
        (ones(2, 2, 3, 8), X, X), {"enable_gqa": True}, ShapeError, "key",
    ),
    "no head axis": ((ones(3, 8),) * 3, {"enable_gqa": True}, ShapeError, "query"),
    "one axis": ((ones(8),) * 3, {}, ShapeError, "query"),
    "batches": ((X, ones(3, 4, 3, 8), ones(3, 4, 3, 8)), {}, ShapeError, "key"),
    "widths": ((X, ones(2, 4, 3, 9), X), {}, ShapeError, "key"),
    "lengths": ((X, X, ones(2, 4, 5, 8)), {}, ShapeError, "value"),
    "no width": ((ones(2, 4, 3, 0),) * 2 + (X,), {}, ArgumentError, "head_dim"),
    "too wide": ((ones(1, 1, 3, 257),) * 3, {}, ArgumentError, "head_dim"),
    "mixed types": ((X, HALF, X), {}, DtypeError, "key"),
    "whole numbers": ((LONG, LONG, LONG), {}, DtypeError, "query"),
    "no tensor": ((X, X.tolist(), X), {}, DtypeError, "key"),
    "another device": ((X, X, X.to("meta")), {}, ValueError, "value"),  # type: ignore[dict-item]
    "is_causal no bool": ((X, X, X), {"is_causal": 1}, DtypeError, "is_causal"),
    "enable_gqa no bool": ((X, X, X), {"enable_gqa": "no"}, DtypeError, "enable_gqa"),
    "mask of integers": ((X, X, X, ones(3, 3, dtype=torch.int64)), {}, DtypeError, "attn_mask"),
    "mask in float64": ((X, X, X, ones(3, 3, dtype=torch.float64)), {}, DtypeError, "attn_mask"),
    "mask of one axis": ((X, X, X, ones(3)), {}, ShapeError, "attn_mask"),
    "mask too large": ((X, X, X, ones(1, 2, 4, 3, 3)), {}, ShapeError, "attn_mask"),
    "mask that enlarges": ((X[:1], X[:1], X[:1], ones(2, 1, 3, 3)), {}, ShapeError, "attn_mask"),
    "mask that does not fit": ((X, X, X, ones(3, 4)), {}, ShapeError, "attn_mask"),
    "mask on another device": ((X, X, X, ones(3, 3).to("meta")), {}, ValueError, "attn_mask"),  # type: ignore[dict-item]
    "mask that is a list": ((X, X, X, [[1.0]]), {}, DtypeError, "attn_mask"),
    "dropout above 1": ((X, X, X), {"dropout_p": 1.5}, ArgumentError, "dropout_p"),
    "dropout below 0": ((X, X, X), {"dropout_p": -0.5}, ArgumentError, "dropout_p"),
    "infinite scale": ((X, X, X), {"scale": float("inf")}, ArgumentError, "scale"),
    "unknown impl": ((X, X, X), {"impl": "flash"}, ArgumentError, "impl"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("impl", ["auto", "reference"])
def test_refusals(case: str, impl: str) -> None:
    arguments, keywords, kind, match = REFUSED[case]
    for language in ("zh", "en"):
        with using(language), pytest.raises(kind, match=match):
            sdpa(*arguments, **{"impl": impl, **keywords})


@pytest.mark.parametrize("mask", [None, torch.zeros(3, 3)], ids=["plain", "mask"])
def test_refusals_of_numbers_hold_with_a_mask(mask: Tensor | None) -> None:
    for keywords in ({"dropout_p": 2.0}, {"scale": float("nan")}):
        with pytest.raises(ArgumentError, match=next(iter(keywords))):
            sdpa(X, X, X, mask, impl="reference", **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize("mask", [None, torch.zeros(40, 50)], ids=["plain", "mask"])
def test_dropout(mask: Tensor | None) -> None:
    q, k = torch.zeros(2, 2, 40, 8), torch.zeros(2, 2, 50, 8)
    v = torch.ones(2, 2, 50, 1)
    torch.manual_seed(3)
    first = sdpa(q, k, v, mask, 0.25, impl="reference")
    again = sdpa(q, k, v, mask, 0.25, impl="reference")
    torch.manual_seed(3)
    replayed = sdpa(q, k, v, mask, 0.25, impl="reference")
    assert torch.equal(first, replayed) and not torch.equal(first, again)
    # a mean of 8,000 kept-or-dropped entries: six standard deviations
    assert abs(first.mean().item() - 1) < 6 * (0.25 / 0.75 / (160 * 50)) ** 0.5
    leaf = v.clone().requires_grad_()
    o = sdpa(q, k, leaf, mask, 1.0, impl="reference")
    o.sum().backward()
    assert not bool(o.any()) and leaf.grad is not None and not bool(leaf.grad.any())


@pytest.mark.parametrize("mask", [None, torch.zeros(3, 3)], ids=["plain", "mask"])
def test_autocast(mask: Tensor | None) -> None:
    q = X.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o = sdpa(q, X, HALF, mask, impl="reference")
        wide = sdpa(*(x.double() for x in (X, X, X)), impl="reference")
    assert o.dtype == torch.bfloat16 and wide.dtype == torch.float64
    o.sum().backward()
    assert q.grad is not None and q.grad.dtype == torch.float32


def test_compiles_whole_and_for_any_length() -> None:
    def call(q: Tensor, k: Tensor) -> Tensor:
        return sdpa(q, k, k, is_causal=True)

    run = torch.compile(call, fullgraph=True, dynamic=True, backend="aot_eager")

    def check(len_q: int, len_k: int) -> None:
        q = torch.randn(2, len_q, 3, 8, dtype=torch.float64).transpose(1, 2).requires_grad_()
        k = torch.randn(2, 3, len_k, 8, dtype=torch.float64)
        got, want = run(q, k), torch_sdpa(q, k, k, is_causal=True)
        torch.testing.assert_close(got, want)
        assert got.stride() == want.stride() == call(q, k).stride()
        (mine,) = torch.autograd.grad(got.square().sum(), q)
        (theirs,) = torch.autograd.grad(want.square().sum(), q)
        torch.testing.assert_close(mine, theirs)

    check(9, 4), check(4, 9)  # more queries than keys, and fewer, are two programs
    with torch.compiler.set_stance("fail_on_recompile"):
        check(12, 5), check(30, 7), check(5, 30), check(6, 31)


def test_the_masked_reference_compiles_whole() -> None:
    def call(q: Tensor, mask: Tensor) -> Tensor:
        return sdpa(q, q, q, mask, 0.5, impl="reference")

    q, mask = torch.randn(1, 2, 5, 8), torch.ones(5, 5, dtype=torch.bool)
    run = torch.compile(call, fullgraph=True, backend="aot_eager")
    assert run(q, mask).shape == q.shape


def test_on_the_cpu_it_loads_no_triton() -> None:
    code = (
        "import sys, torch, fa_toolkit as fa\n"
        "q = torch.ones(2, 4, 8)\n"
        "fa.sdpa(q, q, q, is_causal=True), fa.sdpa(q, q, q, torch.ones(4, 4), impl='reference')\n"
        "print('triton' in sys.modules, 'torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_name_is_the_function() -> None:
    assert fa.sdpa is fa.sdpa is sdpa and callable(fa.sdpa)
