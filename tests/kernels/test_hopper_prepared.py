"""A remembered call of the Hopper forward starts the kernel with the new tensors, each in its place."""

from __future__ import annotations

from typing import Any

import fa_toolkit.kernels as kernels  # settles the mode before anything imports Triton

# isort: split
import pytest
import torch
from oracles import make_qkv

from fa_toolkit.kernels.hopper import gluon_names
from fa_toolkit.problem import AttentionProblem

pytestmark = pytest.mark.skipif(
    kernels.mode() == "none" or gluon_names.why_absent() is not None,
    reason=f"no kernels for Hopper with this Triton: {gluon_names.why_absent()}",
)


class Kernel:
    """Remembers what it is started with."""

    def __init__(self, real: Any) -> None:
        self.arg_names, self.started = real.arg_names, []

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        return lambda *args, **options: self.started.append((grid, args, options))


def plain(argument: Any) -> Any:
    """An argument less its tensor, which is compared by its address."""
    tensor = getattr(argument, "base", argument)
    if not isinstance(tensor, torch.Tensor):
        return argument
    rest = (
        {name: x for name, x in vars(argument).items() if name != "base"}
        if tensor is not argument
        else {}
    )
    return tensor.data_ptr(), tensor.dtype, rest


def held(call: Any) -> list[Any]:
    """What a remembered launch keeps of a call's tensors: nothing, or they would never be freed."""
    remembered = [x for _, fixed, _ in call._prepared._launches for x in fixed]
    parts = [x for argument in remembered for x in (argument, getattr(argument, "base", 0))]
    return [x for x in parts if isinstance(x, torch.Tensor)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128, 256])
def test_a_call_again_is_the_call_itself(
    width: int, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fa_toolkit.kernels.hopper import forward_call, prepared

    kernel = Kernel(prepared.hopper_forward_kernel)
    counters = [torch.zeros(1, dtype=torch.int32) for _ in range(3)]
    given = iter(counters)
    monkeypatch.setattr(prepared, "hopper_forward_kernel", kernel)
    monkeypatch.setattr(prepared, "counter_for", lambda _: next(given))
    monkeypatch.setattr(prepared, "processors", lambda _: 132)
    call = prepared.PreparedForward(causal=causal, scale=0.3)
    kept = []
    for seed in range(3):
        q, k, v = make_qkv(AttentionProblem(2, 4, 2, 300, 500, width), torch.float16, seed=seed)
        if seed == 0:  # one tensor in two places is two places
            v = k
        o, lse = torch.empty_like(q), torch.empty(q.shape[:3])
        call(q, k, v, o, lse)
        assert not held(call)
        kept.append((q, k, v, o, lse, counters[seed]))
    config = prepared.forward_config(width, 300, 500, causal)
    for tensors, (grid, args, options) in zip(kept, kernel.started, strict=True):
        want_grid, want, constants = forward_call.forward_arguments(
            *tensors, causal=causal, scale=0.3, config=config, programs=132
        )
        assert grid == want_grid and options == constants
        assert list(map(plain, args)) == list(map(plain, want))


@pytest.mark.parametrize("with_dlse", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128])
def test_a_backward_again_is_the_backward_itself(
    width: int, causal: bool, with_dlse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fa_toolkit.kernels.hopper import backward_call, prepared

    names = ("hopper_prepare_kernel", "hopper_backward_kernel", "hopper_finish_kernel")
    kernels = [Kernel(getattr(backward_call, name)) for name in names]
    for name, kernel in zip(names, kernels, strict=True):
        monkeypatch.setattr(backward_call, name, kernel)
    monkeypatch.setattr(prepared, "processors", lambda _: 132)
    made: list[torch.Tensor] = []
    empty = torch.empty

    def kept(*sizes: Any, **options: Any) -> torch.Tensor:
        made.append(empty(*sizes, **options))
        return made[-1]

    monkeypatch.setattr(torch, "empty", kept)
    call = prepared.PreparedBackward(causal=causal, scale=0.3)
    calls = []
    for seed in range(3):
        q, k, v = make_qkv(AttentionProblem(2, 4, 2, 300, 500, width), torch.float16, seed=seed)
        o, do = torch.randn_like(q), torch.randn_like(q)
        lse = torch.randn(q.shape[:3])
        made.clear()
        grads = call(q, k, v, o, lse, do, lse + 1 if with_dlse else None)
        scratch = made[:3]
        assert not held(call)
        calls.append((q, k, v, o, lse, do, grads, scratch))
    config = prepared.backward_config(width, 300, 500, causal)
    for i, (q, k, v, o, lse, do, grads, scratch) in enumerate(calls):
        want = backward_call.backward_launches(
            q, k, v, o, lse, do, None, *grads, *scratch,
            causal=causal, scale=0.3, config=config, programs=132,
        )  # fmt: skip
        for kernel, (_, want_grid, arguments, constants) in zip(kernels, want, strict=True):
            grid, args, options = kernel.started[i]
            assert grid == want_grid
            assert options == constants | (
                {"HAS_DLSE": with_dlse} if "HAS_DLSE" in constants else {}
            )
            for at, (mine, theirs) in enumerate(zip(args, arguments, strict=True)):
                if with_dlse and kernel is kernels[0] and at == 3:
                    assert torch.equal(mine, lse + 1)
                else:
                    assert plain(mine) == plain(theirs)
