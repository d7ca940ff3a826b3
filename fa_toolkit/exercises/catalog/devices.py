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
    return tuple(
        torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda").copy_(x)
        for x in tensors
    )
