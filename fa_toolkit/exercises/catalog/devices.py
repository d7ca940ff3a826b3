"""Where the tensors of Triton exercises live: on the GPU in GPU mode, else on the CPU."""

from __future__ import annotations

import torch

#: True in the process that only compares: what it needs stays on the CPU.
judging = False
#: False in a process that may not open a GPU, though there is one.
may_use_gpu = True


def here(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The tensors on the device that runs kernels, with their strides kept."""
    if judging:
        return tensors
    from ... import kernels  # decides the mode; only where a kernel is about to run

    if kernels.mode() != "gpu":
        return tensors
    return tuple(_on(x, "cuda") for x in tensors)


def _on(x: torch.Tensor, device: str) -> torch.Tensor:
    """x there, with its strides: what lies between its elements goes along."""
    if not x.numel():
        return x.to(device)
    span = 1 + sum((size - 1) * step for size, step in zip(x.shape, x.stride(), strict=True))
    return x.as_strided((span,), (1,)).to(device, copy=True).as_strided(x.shape, x.stride())
