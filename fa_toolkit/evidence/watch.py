"""A watch on torch: which operations ran, and the largest tensor that came into being."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operation of the code inside its `with` block, backward included.

    `launches` are the operations that make a new tensor: on a GPU each is a kernel with a trip to
    HBM of its own. `largest` counts numbers.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.launches: list[str] = []
        self.largest = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch loads its compiler, and Triton with it

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not any(r.alias_info is not None for r in func._schema.returns):
            self.launches.append(func._schema.name.split("::")[-1].lstrip("_"))
        for made in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(made, torch.Tensor):
                size = made.untyped_storage().nbytes() // made.element_size()
                self.largest = max(self.largest, size)
        return result
