"""How exact float32 products and sums of them are; PyTorch's own setting decides about `tl.dot`."""

from __future__ import annotations

import torch

#: for launches that add up products across lanes: a fused multiply-add would round the product of
#: the other lane and not its own, so that the lanes disagree about a sum that any of them may store
SAME_SUM = {"enable_fp_fusion": False}


def dot_precision(x: torch.Tensor) -> str:
    """`input_precision` for `tl.dot`: "tf32" where PyTorch would use it too, else "ieee"."""
    if x.dtype != torch.float32 or not x.is_cuda:
        return "ieee"
    if torch.version.hip is None and torch.cuda.get_device_capability(x.device) < (8, 0):
        return "ieee"
    return "tf32" if asked_precision() == "tf32" else "ieee"


def asked_precision() -> str:
    """What PyTorch was told for float32 matrix products on a GPU: "ieee" or "tf32"."""
    matmul = torch.backends.cuda.matmul
    for place in (matmul, torch.backends):  # the general setting holds where the special is unset
        chosen = getattr(place, "fp32_precision", "none")
        if chosen != "none":
            return str(chosen)
    return "ieee"
