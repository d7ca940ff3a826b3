"""Which kernels run a pass on a Hopper GPU, and what their launchers are given. The GPU is made up."""

from __future__ import annotations

from collections.abc import Callable

import fa_toolkit.kernels as kernels  # settles the mode before anything imports Triton

# isort: split
import pytest
import torch
from hopper_made_up import BETTER, SMALL, Called, leaves, names, takes
from hopper_made_up import called as called
from oracles import lay_out, make_qkv
from torch import Tensor

from fa_toolkit import flash_attention, measured, repeated
from fa_toolkit.errors import BackendUnavailable
from fa_toolkit.kernels import routing
from fa_toolkit.kernels.call import output_like
from fa_toolkit.kernels.hopper import availability
from fa_toolkit.kernels.hopper.availability import MEASURED_BETTER, MEASURED_ON, WIDTHS, Pass
from fa_toolkit.language import using
from fa_toolkit.operator import Options, attention_backward_op, attention_op
from fa_toolkit.problem import AttentionProblem


@pytest.mark.parametrize("row", MEASURED_BETTER, ids=str)
def test_auto_follows_the_table(row: tuple[Pass, int, bool], called: Called) -> None:
    kind, width, causal = row
    first = MEASURED_BETTER[row]
    assert width in WIDTHS[kind] and first >= 1
    for nq, nk, want in (
        (first, first, True),
        (first - 1, first, False),
        (first, first - 1, False),
        (4 * first, 2 * first, True),
    ):
        p = AttentionProblem(8, 16, 16, nq, nk, width, dtype="bfloat16", causal=causal)
        q, k, v = (
            torch.empty(8, 16, n, width, dtype=torch.bfloat16, device="meta") for n in (nq, nk, nk)
        )
        assert routing.takes_hopper("auto", kind, q, k, v, routing.asked_of(p)) is want
        assert routing.takes_hopper("hopper", kind, q, k, v, routing.asked_of(p))


def test_a_row_without_a_figure_stays_readable(
    called: Called, always_better: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {key: n for key, n in BETTER.items() if key != ("forward", 64, True)}
    q, k, v = make_qkv(SMALL)
    assert takes("forward", q, k, v)
    monkeypatch.setattr(availability, "MEASURED_BETTER", table)
    assert not takes("forward", q, k, v) and takes("backward", q, k, v)


def test_the_table_is_what_was_recorded() -> None:
    """In each row the Hopper kernel is ahead at every length from the first on, by more than noise."""
    shortest: dict[tuple[str, int, bool], int] = {}
    for run in map(measured.run, MEASURED_ON.runs):
        assert run.provenance.device == MEASURED_ON.device
        assert run.provenance.date[:10] <= MEASURED_ON.date
        rates: dict[AttentionProblem, dict[tuple[str, str], float]] = {}
        for speed in run.speeds:
            if speed.regime == "burst" and speed.problem.group == 1 and speed.tflops:
                rates.setdefault(speed.problem, {})[speed.pass_, speed.provider] = speed.tflops
        for row, first in MEASURED_BETTER.items():
            kind, width, causal = row
            for p, found in rates.items():
                both = [found.get((kind, f"ours_{name}")) for name in ("hopper", "readable")]
                if (p.head_dim, p.causal) != (width, causal) or None in both:
                    continue
                hopper, readable = (each or 0.0 for each in both)
                assert hopper > readable * (1 + run.method.noise) or p.len_q < first, (row, p, both)
                shortest[row] = min(p.len_q, shortest.get(row, p.len_q))
    assert all(shortest[row] <= first for row, first in MEASURED_BETTER.items())


@pytest.fixture
def always_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "MEASURED_BETTER", BETTER)


def run(
    problem: AttentionProblem, impl: str = "auto", deterministic: bool | None = None
) -> tuple[Tensor, ...]:
    """o, lse and gradients by the operator's own backward, for tensors that are on no GPU."""
    q, k, v = (x.detach() for x in make_qkv(problem))
    o, lse = routing.forward(q, k, v, impl=impl, causal=problem.causal)
    do = torch.ones_like(o)
    grads = routing.backward(
        q, k, v, o, lse, do, None, impl=impl, causal=problem.causal, deterministic=deterministic
    )
    return o, lse, *(x for x in grads if x is not None)


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs readable kernels on the CPU")
def test_forward_and_backward_are_chosen_apart(called: Called, always_better: None) -> None:
    wide = AttentionProblem(1, 1, 1, 20, 20, 256, dtype="float16")
    run(wide)
    assert names(called) == ["forward"]
    run(SMALL)
    assert names(called) == ["forward", "forward", "backward"]
    called.clear()
    run(SMALL, deterministic=True)
    assert names(called) == ["forward"]
    called.clear()
    try:
        torch.use_deterministic_algorithms(True)
        run(SMALL)
        run(SMALL, deterministic=False)
    finally:
        torch.use_deterministic_algorithms(False)
    assert names(called) == ["forward", "forward", "backward"]


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs readable kernels on the CPU")
def test_a_part_of_the_gradients_takes_the_readable_kernels(
    called: Called, always_better: None
) -> None:
    q, k, v = make_qkv(SMALL)
    o, lse = routing.forward(q, k, v, impl="auto", causal=True)
    called.clear()
    saved = (q, k, v, o, lse, torch.ones_like(o))
    for needs in ({"needs_dq": False}, {"needs_dkdv": False}):
        routing.backward(*saved, impl="auto", causal=True, **needs)
        assert not called
    routing.backward(*saved, impl="hopper", causal=True, needs_dq=False)
    assert names(called) == ["backward"]


def test_few_queries_keep_the_path_of_decoding(called: Called, always_better: None) -> None:
    p = AttentionProblem(1, 8, 2, 4, 4096, 64, dtype="float16")
    q, k, v = make_qkv(p)
    assert not routing.takes_hopper("auto", "forward", q, k, v, routing.asked_of(p))
    assert routing.takes_hopper("hopper", "forward", q, k, v, routing.asked_of(p))


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs readable kernels on the CPU")
def test_the_readable_kernel_stays_what_it_is(called: Called, always_better: None) -> None:
    q, k, v = leaves(SMALL)
    flash_attention(q, k, v, causal=True, impl="triton").sum().backward()
    flash_attention(q, k, v, causal=True)
    assert not called


# ---- what the launchers are given -----------------------------------------------------------


@pytest.mark.parametrize("layout", ["contiguous", "bnhd"])
def test_through_the_door(layout: str, called: Called) -> None:
    q, k, v = leaves(SMALL, layout)
    o, lse = flash_attention(q, k, v, causal=True, return_lse=True, impl="hopper")
    assert o.stride() == output_like(q).stride()
    # a sum as the loss: dO has strides of 0, and lse has a gradient
    grads = torch.autograd.grad(o.sum() + lse.sum(), (q, k, v))
    plain_o, plain_lse = flash_attention(q, k, v, causal=True, return_lse=True, impl="tiled")
    plain = torch.autograd.grad(plain_o.sum() + plain_lse.sum(), (q, k, v))
    assert torch.equal(o, plain_o) and torch.equal(lse, plain_lse)
    for mine, theirs, x in zip(grads, plain, (q, k, v), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0.02, atol=0.02)
        assert mine.stride() == output_like(x).stride()
    (_, forward), (_, backward) = called
    assert forward["scale"] == backward["scale"] == 1 / 8 and forward["causal"] is True
    assert availability.of_layout(o=backward["saved"][3], do=backward["saved"][5]) is None
    assert backward["dlse"].dtype == torch.float32 and backward["dlse"].is_contiguous()


def test_gradients_lie_as_the_operator_promises(called: Called) -> None:
    x = torch.randn(20, 1, 4, 64).bfloat16()  # [N, B, H, D], a layout of some training codes
    q = x.permute(1, 2, 0, 3).requires_grad_()
    o = flash_attention(q, q, q, impl="hopper")
    (dq,) = torch.autograd.grad(o.float().square().sum(), q)
    assert dq.stride() == output_like(q).stride() and o.stride() == output_like(q).stride()
    arguments = (q, q, q, None, None, None, None, *Options(impl="hopper"))
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(attention_op, arguments, test_utils=checks)


def test_a_launch_is_remembered_for_calls_that_are_alike(called: Called) -> None:
    q, k, v = make_qkv(SMALL)
    o, lse = routing.forward(q, k, v, impl="hopper", causal=True)
    wide = torch.zeros(lse.numel() + 1)
    aligned, odd = wide[:-1].view(lse.shape), wide[1:].view(lse.shape)

    def kinds(**change: Tensor) -> int:
        given = {"q": q, "k": k, "v": v, "o": o, "lse": lse, "do": o, "dlse": aligned} | change
        routing.backward(*given.values(), impl="hopper", causal=True)
        return routing._launch_for.cache_info().currsize

    first = kinds()
    assert kinds(q=q.clone(), dlse=torch.ones_like(lse)) == first  # other numbers only
    assert kinds(dlse=odd) == first + 1  # a kernel compiled for aligned rows would read beside them
    assert kinds(do=lay_out(o, "bnhd")) == first + 2
    assert kinds(q=lay_out(q, "bnhd")) == first + 3


def test_calls_like_one_before_take_the_same_kernel(called: Called) -> None:
    q, k, v = make_qkv(SMALL)
    first = flash_attention(q, k, v, causal=True, impl="hopper")
    known = len(repeated._READY)
    assert known
    other = [torch.randn_like(x) for x in (q, k, v)]
    again = flash_attention(*other, causal=True, impl="hopper")
    assert names(called) == ["forward"] * 2 and len(repeated._READY) == known
    assert torch.equal(again, flash_attention(*other, causal=True, impl="tiled"))
    assert not torch.equal(again, first)


def test_a_refusal_does_not_depend_on_calls_before(called: Called) -> None:
    """Under inference mode nothing is recorded, whatever asks for gradients: forward is all there is."""
    wide = make_qkv(AttentionProblem(1, 1, 1, 20, 20, 256, dtype="float16"))

    def forward_alone() -> None:
        with torch.inference_mode(), torch.enable_grad():
            o = flash_attention(*(x.clone().requires_grad_() for x in wide), impl="hopper")
        assert not o.requires_grad

    forward_alone()
    flash_attention(*wide, impl="hopper")
    forward_alone()
    for _ in range(2):
        with using("en"), pytest.raises(BackendUnavailable, match="backward"):
            flash_attention(*(x.clone().requires_grad_() for x in wide), impl="hopper")


def test_double_backward_and_transforms_are_refused(called: Called) -> None:
    q, k, v = leaves(SMALL)
    o = flash_attention(q, k, v, impl="hopper")
    (dq,) = torch.autograd.grad(o.sum(), q, create_graph=True)
    with using("en"), pytest.raises(BackendUnavailable, match="first order"):
        dq.square().sum().backward()
    with using("en"), pytest.raises(BackendUnavailable, match="vmap"):
        torch.vmap(lambda x: flash_attention(x, k, v, impl="hopper"))(q.detach()[None])


def test_compiled_it_is_the_same_operator(called: Called) -> None:
    torch._dynamo.reset()

    def call(*tensors: Tensor) -> Tensor:
        return flash_attention(*tensors, causal=True, impl="hopper")

    compiled: Callable[..., Tensor] = torch.compile(call, backend="aot_eager", fullgraph=True)
    q, k, v = leaves(SMALL)
    o = compiled(q, k, v)
    assert torch.equal(o, call(q, k, v))
    mine = torch.autograd.grad(o.float().sum(), (q, k, v))
    assert names(called) == ["forward", "forward", "backward"]
    assert all(bool(x.isfinite().all()) for x in mine)


def test_the_operator_takes_auto_and_deterministic() -> None:
    q, k, v = leaves(AttentionProblem(1, 2, 1, 5, 7, 8, dtype="float32"))
    for deterministic in (None, True, False):
        options = Options(causal=True, impl="auto", deterministic=deterministic)
        torch.library.opcheck(attention_op, (q, k, v, None, None, None, None, *options))
    o, lse = (x.detach() for x in attention_op(q, k, v, *[None] * 4, *options))
    saved = (*(x.detach() for x in (q, k, v)), o, lse, torch.ones_like(o), None, *[None] * 4)
    torch.library.opcheck(attention_backward_op, (*saved, True, True, *options))


def test_traced_for_a_gpu_it_promises_the_layout_of_the_kernels() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(2, 5, 4, 64, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
        arguments = (x, x, x, *[None] * 4, *Options(impl="auto"))
        o, lse = attention_op(*arguments)
        grads = attention_backward_op(
            x, x, x, o, lse, o, None, *[None] * 4, True, True, *arguments[7:]
        )
        assert all(y.stride() == x.stride() and y.is_cuda for y in (o, *grads[:3]))
        assert lse.is_contiguous() and lse.dtype == torch.float32
