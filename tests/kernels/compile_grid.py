"""Compile the forward kernel for a grid of tiles and GPUs that are not here; what the picture reads.

    python tests/kernels/compile_grid.py > fa_toolkit/measured/data/compiled/flash_forward.json

Prints what `measured.compiled` loads: one row a tile with registers, spills and shared memory, or
the reason why the launcher refuses the tile. As `compile_cases.py`: the launcher supplies the
arguments, so these are the very kernels that a call with `tile=...` would run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from typing import Any

if __name__ == "__main__":  # doctest collection imports this file too
    os.environ["TRITON_INTERPRET"] = "0"
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import compile_cases as base  # decides the mode before Triton is imported

# isort: split
import torch
import triton
from triton import knobs

from fa_toolkit.errors import ArgumentError
from fa_toolkit.kernels.configuration import Device, plan_launch
from fa_toolkit.problem import TileShape

CAPABILITIES = (80, 90)
HEAD_DIMS = (64, 128)
CAUSAL = (True, False)
BLOCKS = (16, 32, 64, 128, 256)
COMMAND = "python tests/kernels/compile_grid.py"


def compile_tile(capability: int, head_dim: int, causal: bool, tile: TileShape) -> dict[str, Any]:
    """One row: float16, the warps and stages that the launcher takes for this tile.

    `default` marks the tile that it takes where none is asked for.
    """
    q, k = (torch.empty(1, 1, 1024, head_dim, dtype=torch.float16) for _ in range(2))
    device = Device(divmod(capability, 10), base.LIMITS[capability])
    base.NoDriver.capability, base.Warmup.asked, base.Warmup.compiled = capability, "forward", None
    row: dict[str, Any] = {
        "capability": capability, "head_dim": head_dim, "causal": causal,
        "block_m": tile.block_m, "block_n": tile.block_n, "limit": device.shared,
    }  # fmt: skip

    def choose(problem: Any, _: Any, tile: Any = None, which: Any = "forward") -> Any:
        own = plan_launch(problem, device, None, which)
        if own.tile == tile:
            row["default"] = True
        plan = own if own.tile == tile else plan_launch(problem, device, tile, which)
        row["warps"], row["stages"] = plan.num_warps, plan.num_stages
        row["bound"] = plan.shared(problem.itemsize, device)
        return plan

    base.forward.choose_launch = choose
    try:
        base.forward.flash_forward(q, k, k, causal=causal, tile=tile)
    except ArgumentError as refused:
        needed = re.search(r"(\d+) B", refused.got or "")
        return {**row, "bound": int(needed[1]) if needed else 0, "failed": "shared memory"}
    found = base.Warmup.compiled
    return {
        **row, **base.resources(found.asm["cubin"]), "shared": found.metadata.shared,
        "tensor_cores": "wgmma" if "wgmma.mma_async" in found.asm["ptx"] else "mma",
    }  # fmt: skip


def provenance() -> dict[str, Any]:
    """Who compiled: no device takes part."""
    said = subprocess.run(
        [knobs.nvidia.ptxas.path, "--version"], capture_output=True, text=True, check=True
    ).stdout
    release = re.search(r"V([\d.]+)", said)
    return {
        "device": "none: compiled for " + ", ".join(f"sm_{c}" for c in CAPABILITIES),
        "driver": "",
        "versions": {
            "torch": torch.__version__, "triton": triton.__version__,
            "ptxas": release[1] if release else "", "python": platform.python_version(),
        },
        "date": datetime.date.today().isoformat(),
        "command": COMMAND,
        "source": "registers and spills from cuobjdump and nvdisasm, shared memory from Triton",
    }  # fmt: skip


def rows(only: set[str]) -> Iterator[dict[str, Any]]:
    """The rows of the grid, small tiles first."""
    for capability, d, causal in product(CAPABILITIES, HEAD_DIMS, CAUSAL):
        mask = "causal" if causal else "full"
        for m, n in sorted(product(BLOCKS, BLOCKS), key=lambda tile: tile[0] * tile[1]):
            if only and f"{capability}/{d}/{mask}/{m}x{n}" not in only:
                continue
            print(f"sm_{capability} D{d} {mask} {m}x{n}", file=sys.stderr, flush=True)
            yield compile_tile(capability, d, causal, TileShape(m, n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "only", nargs="*", help="such as 90/64/causal/128x64; the whole grid if none"
    )
    asked = set(parser.parse_args().only)
    base.driver.set_active(base.NoDriver())
    base.forward.require_kernels = lambda *tensors: None
    for name in [name for name in vars(base.forward) if name.endswith("_kernel")]:
        setattr(base.forward, name, base.Warmup(getattr(base.forward, name)))
    head = {
        "schema": "fa-compiled/1", "kernel": "flash_forward_kernel", "dtype": "float16",
        "provenance": provenance(),
    }  # fmt: skip
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows(asked))
    top = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
    print(f'{{\n{top},\n"rows": [\n{lines}\n]\n}}')


if __name__ == "__main__":
    main()
