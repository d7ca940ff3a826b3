"""The public door: every implementation against float64, gradients, and clear refusals."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from oracles import (
    SHAPES_THAT_HURT,
    assert_within_budget,
    case_id,
    make_grads,
    make_qkv,
    truth,
)
from torch.autograd import forward_ad

import fa_toolkit as fa
from fa_toolkit import flash_attention, tiled
from fa_toolkit.errors import (
    ArgumentError,
    BackendUnavailable,
    DeviceError,
    DtypeError,
    ShapeError,
)
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem

TORCH = ("tiled", "reference")
SMALL = AttentionProblem(1, 4, 2, 9, 13, 8, 12, dtype="float32")


def _gradients(
    problem: AttentionProblem, impl: str, dtype: torch.dtype, **keywords: Any
) -> dict[str, torch.Tensor]:
    q, k, v = (x.requires_grad_() for x in make_qkv(problem, dtype, layout="bnhd"))
    sink = keywords.get("sink")
    do, dlse = make_grads(problem, dtype)
    o, lse = flash_attention(
        q,
        k,
        v,
        causal=problem.causal,
        window=problem.window,
        return_lse=True,
        impl=impl,
        **keywords,
    )
    loss = [o, lse.masked_fill(lse == -float("inf"), 0.0)]
    inputs = [q, k, v] + ([] if sink is None else [sink])
    grads = torch.autograd.grad(loss, inputs, [do, dlse.to(lse.dtype)])
    found = dict(zip(("dq", "dk", "dv", "dsink"), grads, strict=False))
    return found | {"o": o, "lse": lse}


@pytest.mark.parametrize("impl", TORCH)
@pytest.mark.parametrize("problem", SHAPES_THAT_HURT, ids=case_id)
def test_forward_and_gradients(problem: AttentionProblem, impl: str) -> None:
    q, k, v = make_qkv(problem, torch.float32)
    do, dlse = make_grads(problem, torch.float32)
    exact = truth(q, k, v, causal=problem.causal, do=do, dlse=dlse)
    for name, got in _gradients(problem, impl, torch.float32).items():
        assert_within_budget(name, got, exact)


@pytest.mark.parametrize("impl", TORCH)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_window_softcap_sink_scale(impl: str, dtype: torch.dtype) -> None:
    problem = AttentionProblem(1, 4, 2, 20, 31, 16, 8, causal=True, window=(5, 2))
    q, k, v = make_qkv(problem, dtype)
    do, dlse = make_grads(problem, dtype)
    sink = torch.randn(4, dtype=torch.float64).to(dtype)
    options: dict[str, Any] = {"softcap": 3.0, "scale": 0.3}
    exact = truth(q, k, v, causal=True, window=(5, 2), sink=sink, do=do, dlse=dlse, **options)
    got = _gradients(problem, impl, dtype, sink=sink.requires_grad_(), **options)
    for name in ("o", "lse", "dq", "dk", "dv", "dsink"):
        assert_within_budget(name, got[name], exact)


@pytest.mark.parametrize("impl", TORCH)
def test_gradcheck(impl: str) -> None:
    small = AttentionProblem(1, 2, 1, 3, 4, 3, 2)
    q, k, v = (x.requires_grad_() for x in make_qkv(small, torch.float64))

    def call(*tensors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return flash_attention(*tensors, causal=True, return_lse=True, impl=impl)  # type: ignore[call-overload]

    assert torch.autograd.gradcheck(call, (q, k, v))


@pytest.mark.parametrize("impl", TORCH)
def test_partial_gradients(impl: str) -> None:
    q, k, v = make_qkv(SMALL)
    v.requires_grad_()
    o = flash_attention(q, k, v, impl=impl)  # type: ignore[call-overload]
    o.sum().backward()
    assert q.grad is None and k.grad is None and v.grad is not None
    _, lse = flash_attention(q, k.requires_grad_(), v, return_lse=True, impl=impl)  # type: ignore[call-overload]
    (dk,) = torch.autograd.grad(lse.sum(), k)
    exact = truth(q, k, v, dlse=torch.ones_like(lse))
    assert_within_budget("dk", dk, exact)


def test_double_backward_is_refused() -> None:
    q, k, v = (x.requires_grad_() for x in make_qkv(SMALL))
    (dq,) = torch.autograd.grad(flash_attention(q, k, v).sum(), q, create_graph=True)
    with using("en"), pytest.raises(BackendUnavailable, match="first order"):
        (flash_attention(q, k, v).sum() + dq.square().sum()).backward()
    second = fa.reference.attention(q, k, v)[0].sum()
    (dq,) = torch.autograd.grad(second, q, create_graph=True)
    dq.square().sum().backward()
    assert q.grad is not None and bool(q.grad.abs().sum() > 0)


def test_auto_on_the_cpu_is_tiled_and_loads_no_triton() -> None:
    code = (
        "import sys, torch, fa_toolkit as fa\n"
        "q = torch.ones(1, 1, 4, 8)\n"
        "fa.flash_attention(q, q, q)\n"
        "print('triton' in sys.modules, 'fa_toolkit.kernels' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_autocast() -> None:
    q, k, v = (x.requires_grad_() for x in make_qkv(SMALL))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o = flash_attention(q, k, v)
        mixed = flash_attention(q.bfloat16(), k, v)
        assert flash_attention(q.double(), k.double(), v.double()).dtype == torch.float64
    assert o.dtype == mixed.dtype == torch.bfloat16
    o.sum().backward()
    assert q.grad is not None and q.grad.dtype == torch.float32


def test_output_forms() -> None:
    q, k, v = make_qkv(SMALL)
    alone = flash_attention(q, k, v)
    o, lse = flash_attention(q, k, v, return_lse=True)
    assert torch.equal(alone, o) and o.shape == (1, 4, 9, 12) and lse.shape == (1, 4, 9)
    assert lse.dtype == torch.float32


def test_parts_merge_to_the_whole() -> None:
    q, k, v = make_qkv(SMALL)
    whole = flash_attention(q, k, v, return_lse=True)
    parts = [
        flash_attention(q, k[:, :, a:b], v[:, :, a:b], return_lse=True)
        for a, b in ((0, 4), (4, 4), (4, 13))
    ]
    o, lse = fa.merge_partials([p[0] for p in parts], [p[1] for p in parts])
    exact = truth(q, k, v)
    for name, got in (("o", o), ("lse", lse), ("o", whole[0])):
        assert_within_budget(name, got, exact)


def _call(**changes: Any) -> Any:
    q, k, v = make_qkv(SMALL)
    arguments: dict[str, Any] = {"q": q, "k": k, "v": v} | changes
    tensors = [arguments.pop(name) for name in "qkv"]
    return flash_attention(*tensors, **arguments)


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"q": torch.ones(4, 9, 8)}, ShapeError, r"q: expected \[B, H, N, D\]"),
        ({"k": torch.ones(1, 2, 13, 9)}, ShapeError, "k: expected"),
        ({"v": torch.ones(1, 2, 12, 8)}, ShapeError, "k: expected|v: expected"),
        ({"v": torch.ones(2, 2, 13, 8)}, ShapeError, "k: expected|v: expected"),
        ({"q": torch.ones(1, 3, 9, 8)}, ArgumentError, "heads_q: expected a multiple"),
        ({"k": torch.ones(1, 2, 13, 8).half()}, DtypeError, "k: expected the dtype of q"),
        ({"q": torch.ones(1, 4, 9, 8).int()}, DtypeError, "q: expected"),
        ({"window": (-2, 0)}, ArgumentError, "window left"),
        ({"window": (1,)}, ArgumentError, "window"),
        ({"softcap": -1.0}, ArgumentError, "softcap"),
        ({"scale": float("nan")}, ArgumentError, "scale"),
        ({"sink": torch.ones(3)}, ShapeError, "sink"),
        ({"sink": torch.ones(4).int()}, DtypeError, "sink"),
        ({"dropout_p": 1.0}, ArgumentError, "dropout_p"),
        ({"dropout_p": 0.1, "seed": torch.ones(1)}, DtypeError, "seed"),
        ({"dropout_p": 0.1, "seed": 42.0}, ArgumentError, "seed"),
        ({"dropout_p": None}, ArgumentError, "dropout_p"),
        ({"dropout_p": "x"}, ArgumentError, "dropout_p"),
        ({"dropout_p": "0.1"}, ArgumentError, "dropout_p: expected a number"),
        ({"scale": b"0.5"}, ArgumentError, "scale: expected a number"),
        ({"softcap": np.str_("2")}, ArgumentError, "softcap: expected a number"),
        ({"dropout_p": 0.1, "seed": torch.tensor(1, device="meta")}, DeviceError, "seed"),
        ({"scale": 3e38}, ArgumentError, "scale"),
        ({"impl": "cuda"}, ArgumentError, '"auto" | "triton"'),
        ({"q": None}, DtypeError, "q: expected a torch tensor, got NoneType"),
        ({"k": [1.0]}, DtypeError, "k: expected a torch tensor, got list"),
        ({"v": np.ones((1, 2, 13, 8))}, DtypeError, r"v: .*ndarray.*torch.as_tensor\(v\)"),
        ({"q": torch.ones(1, 4, 9, 8).to_sparse()}, DtypeError, "q: expected a dense tensor"),
        ({"sink": 0.5}, DtypeError, "sink: expected a torch tensor, got float"),
        ({"causal": "no"}, ArgumentError, "causal: expected True or False, got 'no'"),
        ({"causal": None}, ArgumentError, "causal"),
        ({"causal": torch.tensor([1, 0])}, ArgumentError, "causal"),
        ({"window": 3}, ArgumentError, r"window: expected \(left, right\)"),
        ({"window": {0: 1, 1: 2}}, ArgumentError, "window"),
        ({"scale": "x"}, ArgumentError, "scale: expected a number"),
        ({"scale": 1e300}, ArgumentError, "scale: expected a finite number"),
        ({"scale": 10**400}, ArgumentError, "scale: expected a number"),
        ({"scale": torch.tensor([1.0, 2.0])}, ArgumentError, "scale: expected a number"),
        ({"scale": torch.tensor(1.0, requires_grad=True)}, ArgumentError, "scale: .*no gradient"),
        ({"softcap": 1e-300}, ArgumentError, "softcap: expected 0, or at least"),
        ({"softcap": 1j}, ArgumentError, "softcap: expected a number"),
        ({"return_lse": "no"}, ArgumentError, "return_lse: expected True"),
        ({"deterministic": 1.5}, ArgumentError, "deterministic: expected True"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_wrong_arguments_are_named(
    changes: dict[str, Any], error: type[Exception], says: str
) -> None:
    with using("en"), pytest.raises(error, match=says):
        _call(**changes)


@pytest.mark.parametrize("impl", TORCH)
def test_numbers_of_other_types_are_numbers(impl: str) -> None:
    plain = _call(impl=impl, causal=True, window=(2, 1), softcap=2.0, scale=0.5)
    other = _call(
        impl=impl,
        causal=np.int64(1),
        window=[np.int64(2), torch.tensor(1)],
        softcap=np.float32(2),
        scale=torch.tensor(0.5),
    )
    assert torch.equal(plain, other)
    assert torch.equal(_call(impl=impl), _call(impl=impl, window=(10**30, 10**30)))
    assert not _call(impl=impl, q=torch.zeros(1, 4, 9, 8), softcap=1e-30).isnan().any()


@pytest.mark.parametrize("impl", [*TORCH, "auto"])
def test_meta_tensors_give_shapes(impl: str) -> None:
    q = torch.empty(2, 4, 9, 8, device="meta")
    o, lse = flash_attention(q, q, q[..., :5], impl=impl, return_lse=True)  # type: ignore[call-overload]
    assert (o.device.type, o.shape, lse.shape) == ("meta", (2, 4, 9, 5), (2, 4, 9))


def test_head_dimension_257_is_refused() -> None:
    q = torch.ones(1, 1, 2, 257)
    with using("en"), pytest.raises(ArgumentError, match=r"head_dim: expected .*256"):
        flash_attention(q, q, q)


def test_triton_says_what_it_cannot_do() -> None:
    double = {"q": torch.ones(1, 4, 9, 8), "k": torch.ones(1, 2, 9, 8), "v": torch.ones(1, 2, 9, 8)}
    changes = {name: x.double() for name, x in double.items()}
    with using("en"), pytest.raises(BackendUnavailable, match=r'float64.*Try: impl="tiled"'):
        _call(impl="triton", **changes)


def test_triton_in_the_interpreter() -> None:
    kernels = pytest.importorskip("fa_toolkit.kernels")
    if kernels.mode() != "interpreter":
        pytest.skip(f"mode is {kernels.mode()}")
    problem = AttentionProblem(1, 4, 2, 30, 40, 16, 8, causal=True)
    q, k, v = make_qkv(problem, torch.bfloat16)
    o, lse = flash_attention(q, k, v, causal=True, return_lse=True, impl="triton")
    exact = truth(q, k, v, causal=True)
    assert_within_budget("o", o, exact)
    assert_within_budget("lse", lse, exact)
    with torch.no_grad():
        again = flash_attention(q.requires_grad_(), k, v, causal=True, impl="triton")
    assert torch.equal(o, again)
    unbounded = flash_attention(q.detach(), k, v, window=(-1, -1), softcap=0.0, impl="triton")
    assert_within_budget("o", unbounded, truth(q, k, v))


@pytest.mark.parametrize("tile", [(16, 16), None, 16])
def test_a_tile_is_a_tile_shape(tile: Any) -> None:
    q, k, v = make_qkv(SMALL)
    with using("en"), pytest.raises(ArgumentError, match="tile: expected TileShape"):
        tiled.flash_forward(q, k, v, tile=tile)


@pytest.mark.parametrize("impl", ["triton", "tiled", "reference"])
def test_a_tensor_with_the_negative_bit_is_what_it_shows(impl: Any) -> None:
    if impl == "triton" and fa.kernels.mode() != "interpreter":
        pytest.skip("CPU tensors need the interpreter")
    q, k, v = torch.randn(3, 1, 2, 5, 16).unbind(0)
    turned = torch.complex(v, v).conj().imag
    assert turned.is_neg()
    for which in range(3):
        plain, lazy = [q, k, v], [q, k, v]
        plain[which] = -v
        lazy[which] = turned
        assert torch.equal(flash_attention(*lazy, impl=impl), flash_attention(*plain, impl=impl))


# torch's own make_dual loads scripts the first time
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_forward_mode_differentiation_is_refused() -> None:
    q, k, v = torch.randn(3, 1, 2, 5, 16).unbind(0)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(q, q)
        with pytest.raises(BackendUnavailable, match="forward-mode"):
            flash_attention(dual, k, v)
        with pytest.raises(BackendUnavailable, match="forward-mode"):
            fa.flash_decode(dual[:, :, 0], k, v, seq_lens=torch.tensor([5], dtype=torch.int32))
        assert flash_attention(q, k, v).shape == q.shape


def test_a_seed_of_numpy_is_a_seed() -> None:
    x = torch.ones(1, 1, 32, 16)
    mine, numpys = (flash_attention(x, x, x, dropout_p=0.5, seed=s) for s in (3, np.int64(3)))
    assert torch.equal(mine, numpys)
