"""The one list of what the Hopper kernels use of Gluon, Triton's lower language, and of its builder.

Gluon is experimental: names move between versions. They are looked for once, at the first call that
could run such a kernel; where one is missing the kernels are absent, with the reason. Compiles nothing.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import logging
from collections.abc import Mapping
from typing import Any

from ...language import Text

SINCE, BEFORE = (3, 6), (3, 8)  # versions of Triton whose machine code was looked at
_GLUON = "triton.experimental.gluon"
_HOPPER = f"{_GLUON}.language.nvidia.hopper"

#: module -> names in it, dotted for members of a name
NEEDED: Mapping[str, tuple[str, ...]] = {
    _GLUON: ("jit", "constexpr_function"),
    f"{_GLUON}.nvidia.hopper": ("TensorDescriptor",),
    f"{_GLUON}.language": (
        "BlockedLayout", "DotOperandLayout", "NVMMADistributedLayout", "NVMMASharedLayout",
        "NVMMASharedLayout.get_default_for", "SliceLayout", "allocate_shared_memory", "arange",
        "SwizzledSharedLayout", "atomic_add", "atomic_xchg", "bfloat16", "cast", "constexpr", "convert_layout", "exp2",
        "float16", "float32", "full", "inline_asm_elementwise", "int16", "int32", "int64", "join", "load", "max",
        "maximum", "minimum", "num_programs", "permute", "program_id", "static_assert", "static_range",
        "split", "store", "sum", "to_tensor", "warp_specialize", "where", "zeros",
    ),
    f"{_GLUON}.language._core": ("builtin",),
    _HOPPER: ("fence_async_shared", "mbarrier", "tma", "warpgroup_mma", "warpgroup_mma_wait"),
    f"{_HOPPER}.mbarrier": ("MBarrierLayout", "arrive", "expect", "init", "invalidate", "wait"),
    f"{_HOPPER}.tma": (
        "async_copy_global_to_shared", "async_copy_shared_to_global", "store_wait",
    ),
    "triton._C.libtriton": (
        "ir.DESCRIPTOR_REDUCE_KIND.ADD", "gluon_ir.GluonOpBuilder.create_async_tma_reduce",
    ),
}  # fmt: skip

#: (module, function) -> its first parameters; "*" for one that is only given by place
CALLED: Mapping[tuple[str, str], tuple[str, ...]] = {
    (f"{_GLUON}.language", "warp_specialize"): (
        "functions_and_args", "worker_num_warps", "worker_num_regs",
    ),
    (_HOPPER, "warpgroup_mma"): ("a", "b", "acc"),
    (f"{_HOPPER}.mbarrier", "expect"): ("mbarrier", "*", "pred"),
    (f"{_HOPPER}.mbarrier", "wait"): ("mbarrier", "phase"),
    (f"{_HOPPER}.tma", "async_copy_global_to_shared"): (
        "tensor_desc", "coord", "barrier", "result", "pred",
    ),
}  # fmt: skip
logger = logging.getLogger(__name__)


def moved_names() -> list[str]:
    """What the kernels need and this Triton does not have, or takes otherwise; empty if all is well."""
    found = [
        f"{module.rpartition('.')[2]}.{name}"
        for module, names in NEEDED.items()
        for name in names
        if _looked_up(module, name) is None
    ]
    for (module, name), wanted in CALLED.items():
        function = _looked_up(module, name)
        if function is not None:
            taken = tuple(inspect.signature(function).parameters)[: len(wanted)]
            if tuple("*" if b == "*" else a for a, b in zip(taken, wanted, strict=False)) != wanted:
                found.append(f"{name}({', '.join(taken)})")
    return found


def _looked_up(module: str, name: str) -> Any:
    """The thing of that name, or None."""
    try:
        thing: Any = importlib.import_module(module)
    except Exception:  # an experimental package may fail to import in any way
        return None
    for part in name.split("."):
        thing = getattr(thing, part, None)
    return thing


@functools.cache
def why_absent() -> Text | None:
    """Why the Hopper kernels cannot be compiled by this Triton; None if they can.

    Looks at Triton, so it is asked after the mode of this process is settled.
    """
    triton = importlib.import_module("triton")
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    if not SINCE <= version < BEFORE:
        return Text(
            f"Triton {triton.__version__}; they were tried with 3.6 and 3.7",
            f"Triton {triton.__version__}；只在 3.6 和 3.7 上试过",
        )
    moved = moved_names()
    if not moved:
        return None
    logger.debug("names of Gluon that are not there: %s", ", ".join(moved))
    some = ", ".join(moved[:3]) + (", ..." if moved[3:] else "")
    return Text(
        f"Triton {triton.__version__}, whose Gluon moved or changed {some}",
        f"Triton {triton.__version__}，其 Gluon 移走或改动了 {some}",
    )
