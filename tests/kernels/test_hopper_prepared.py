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
    gpu = type("Gpu", (), {"multi_processor_count": 132})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: gpu)
    call = prepared.PreparedForward(causal=causal, scale=0.3)
    kept = []
    for seed in range(3):
        q, k, v = make_qkv(AttentionProblem(2, 4, 2, 300, 500, width), torch.float16, seed=seed)
        if seed == 0:  # one tensor in two places is two places
            v = k
        o, lse = torch.empty_like(q), torch.empty(q.shape[:3])
        call(q, k, v, o, lse)
        kept.append((q, k, v, o, lse, counters[seed]))
    config = prepared.forward_config(width, 300, 500, causal)
    for tensors, (grid, args, options) in zip(kept, kernel.started, strict=True):
        want_grid, want, constants = forward_call.forward_arguments(
            *tensors, causal=causal, scale=0.3, config=config, programs=132
        )
        assert grid == want_grid and options == constants
        assert list(map(plain, args)) == list(map(plain, want))
