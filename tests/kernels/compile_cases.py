"""Compile the forward kernel for GPUs that are not here. Run as a program in a fresh process.

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

flash = importlib.import_module("fa_toolkit.kernels.flash_forward")

#: compute capability -> shared memory one block may use, in bytes
#: (CUDA programming guide, table of technical specifications, minus 1 KiB kept by the system)
LIMITS = {75: 65536, 80: 166912, 89: 101376, 90: 232448, 100: 232448}
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
    """Stands in for the kernel: compiles where it would launch."""

    compiled: Any = None

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, grid: Any) -> Any:
        def compile_only(*args: Any, **meta: Any) -> None:
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
    }


def compile_case(name: str) -> dict[str, Any]:
    """`sm90-fp16-D128-causal`, or D24:40 for D != Dv, N1 for one query and one key."""
    found = re.fullmatch(r"sm(\d+)-(\w+)-D(\d+)(?::(\d+))?(-causal)?(-N1)?", name)
    assert found, name
    capability, dtype, d, dv = int(found[1]), DTYPES[found[2]], int(found[3]), found[4]
    length = 1 if found[6] else 1024
    q = torch.empty(1, 4, length, d, dtype=dtype)
    k = torch.empty(1, 2, length, d, dtype=dtype)
    v = torch.empty(1, 2, length, int(dv or d), dtype=dtype)
    device = Device(divmod(capability, 10), LIMITS[capability])
    NoDriver.capability = capability
    bounds: list[int] = []

    def choose(problem: Any, _: Any, tile: Any = None) -> Any:
        plan = plan_launch(problem, device, tile)
        bounds.append(plan.shared(problem.itemsize, device))
        return plan

    flash.choose_launch = choose
    flash.flash_forward(q, k, v, causal=bool(found[5]))
    kernel = Warmup.compiled
    return {
        **resources(kernel.asm["cubin"]),
        "shared": kernel.metadata.shared,
        "bound": bounds[0],
        "limit": LIMITS[capability],
        "wgmma": "wgmma.mma_async" in kernel.asm["ptx"],
        "mma": "mma.sync" in kernel.asm["ptx"],
        "tcgen05": "tcgen05.mma" in kernel.asm["ptx"],
        "warps": kernel.metadata.num_warps,
    }


def main() -> None:
    driver.set_active(NoDriver())  # type: ignore[arg-type]
    flash.require_kernels = lambda *tensors: None
    flash.flash_forward_kernel = Warmup(flash.flash_forward_kernel)
    print(json.dumps({name: compile_case(name) for name in sys.argv[1:]}))


if __name__ == "__main__":
    main()
