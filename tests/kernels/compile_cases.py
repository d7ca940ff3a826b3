"""Compile the attention kernels for GPUs that are not here. Run as a program in a fresh process.

The launcher itself supplies the arguments, so the very configuration a user would get is compiled.
Prints one JSON object: case name -> registers, spills, shared memory and its limit, features.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # doctest collection imports this file too
    os.environ["TRITON_INTERPRET"] = "0"
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import torch

import fa_toolkit.kernels  # noqa: F401  (decides the mode before Triton is imported)

# isort: split
import importlib

from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from fa_toolkit.kernels.configuration import Device, plan_launch

forward = importlib.import_module("fa_toolkit.kernels.flash_forward")
backward = importlib.import_module("fa_toolkit.kernels.flash_backward")
varlen = importlib.import_module("fa_toolkit.kernels.flash_varlen")
launches = [
    importlib.import_module(f"fa_toolkit.kernels.backward_{name}")
    for name in ("delta", "dkdv", "dq")
]

#: compute capability -> shared memory one block may use, in bytes
#: (CUDA programming guide, table of technical specifications, minus 1 KiB kept by the system)
LIMITS = {75: 65536, 80: 166912, 89: 101376, 90: 232448, 100: 232448, 120: 101376}
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


class NoDriver:
    """What the JIT asks of a driver before a launch."""

    capability = 90

    def get_current_device(self) -> int:
        return self.capability  # one compilation cache per capability

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")


class Warmup:
    """Stands in for a kernel: compiles where it would launch, if it is the one that is asked for."""

    asked = ""
    compiled: Any = None

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, grid: Any) -> Any:
        def compile_only(*args: Any, **meta: Any) -> None:
            if Warmup.asked in self.kernel.__name__:
                Warmup.compiled = self.kernel.warmup(*args, grid=grid, **meta)

        return compile_only


def resources(cubin: bytes) -> dict[str, int]:
    """Registers and spill instructions, read from the machine code."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)

        def tool(knob: Any, *flags: str) -> str:
            return subprocess.run(
                [knob.path, *flags, str(path)], capture_output=True, text=True, check=True
            ).stdout

        usage = tool(knobs.nvidia.cuobjdump, "-res-usage")
        code = tool(knobs.nvidia.nvdisasm, "-c")
    registers = re.search(r"REG:(\d+)", usage)
    assert registers
    return {
        "registers": int(registers[1]),
        "spills": len(re.findall(r"\b(?:LDL|STL)\b", code)),
        "lopsided": lopsided_sums(code),
    }


def lopsided_sums(code: str) -> int:
    """Sums across lanes whose first step each lane rounds differently.

    Where a lane holds one product, a*b + (c*d from another lane) as one multiply-add rounds c*d
    only, and the other lane a*b only: the lanes then disagree about their common sum, and which
    of them stores it is nobody's promise.
    """
    brought: set[int] = set()  # registers that hold what a shuffle brought
    found = 0
    for operation, operands in re.findall(r"\b([A-Z][A-Z0-9.]+) ([^;]*);", code):
        registers = [int(number) for number in re.findall(r"\bR(\d+)\b", operands)]
        if not registers:
            continue
        target, addend = registers[0], registers[-1]
        found += operation.startswith("FFMA") and addend in brought
        width = 4 if ".128" in operation else 2 if ".64" in operation or "WIDE" in operation else 1
        brought -= set(range(target, target + width))
        if operation.startswith("SHFL.BFLY"):
            brought.add(target)
    return found


CASE = re.compile(
    r"(?:(delta|dkdv|dq)-)?sm(\d+)-(\w+)-D(\d+)(?::(\d+))?(-causal)?(-window)?(-softcap)?(-dropout)?(-sink)?(-N1)?(-packed)?"
)


def options(found: Any) -> dict[str, Any]:
    """The keywords of a call that a case name asks for."""
    keywords: dict[str, Any] = {"causal": bool(found[6])}
    if found[7]:
        keywords["window"] = (300, 5)
    if found[8]:
        keywords["softcap"] = 20.0
    if found[9]:
        keywords |= {"dropout_p": 0.1, "seed": torch.zeros(1, dtype=torch.int64)}
    if found[10]:
        keywords["sink"] = torch.zeros(4)
    return keywords


def compile_case(name: str) -> dict[str, Any]:
    """`sm90-fp16-D128-causal`, `dkdv-...`, `dq-...`, `delta-...` with a gradient of lse.

    D24:40 is D != Dv, N1 one query, one key.
    """
    found = CASE.fullmatch(name)
    assert found, name
    kernel, capability, dtype = found[1] or "forward", int(found[2]), DTYPES[found[3]]
    d, dv, length = int(found[4]), int(found[5] or found[4]), 1 if found[11] else 1024
    q = torch.empty(1, 4, length, d, dtype=dtype)
    k = torch.empty(1, 2, length, d, dtype=dtype)
    v = torch.empty(1, 2, length, dv, dtype=dtype)
    device = Device(divmod(capability, 10), LIMITS[capability])
    NoDriver.capability, Warmup.asked = capability, kernel
    bounds: dict[str, int] = {}

    def choose(
        problem: Any, _: Any, tile: Any = None, which: Any = "forward", aligned: bool = False
    ) -> Any:
        plan = plan_launch(problem, device, tile, which, aligned=aligned)
        bounds[which] = plan.shared(problem.itemsize, device)
        return plan

    forward.choose_launch = backward.choose_launch = choose
    packed = bool(found[12])
    if packed:
        q, k, v = (x[0].transpose(0, 1) for x in (q, k, v))
    offsets = (torch.zeros(3, dtype=torch.int32),) * 2 * packed
    attend, differentiate = (
        (varlen.flash_forward_varlen, varlen.flash_backward_varlen)
        if packed
        else (forward.flash_forward, backward.flash_backward)
    )
    if kernel == "forward":
        attend(q, k, v, *offsets, **options(found))
    else:
        o = torch.empty(*q.shape[:-1], dv, dtype=dtype)
        lse = torch.empty(4, length) if packed else torch.empty(1, 4, length)
        dlse = lse if kernel == "delta" else None
        differentiate(q, k, v, o, lse, o, dlse, *offsets, **options(found))
    compiled = Warmup.compiled
    return {
        **resources(compiled.asm["cubin"]),
        "shared": compiled.metadata.shared,
        "bound": bounds.get(kernel, LIMITS[capability]),  # delta streams nothing
        "limit": LIMITS[capability],
        "wgmma": "wgmma.mma_async" in compiled.asm["ptx"],
        "mma": "mma.sync" in compiled.asm["ptx"],
        "tcgen05": "tcgen05.mma" in compiled.asm["ptx"],
        "warps": compiled.metadata.num_warps,
    }


def main() -> None:
    driver.set_active(NoDriver())  # type: ignore[arg-type]
    for module in (forward, backward, varlen, *launches):
        module.require_kernels = lambda *tensors: None  # type: ignore[attr-defined]
        for name in [name for name in vars(module) if name.endswith("_kernel")]:
            setattr(module, name, Warmup(getattr(module, name)))
    print(json.dumps({name: compile_case(name) for name in sys.argv[1:]}))


if __name__ == "__main__":
    main()
