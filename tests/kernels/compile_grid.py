"""Compile the forward kernel for a grid of tiles and GPUs that are not here; what the picture reads.

    python tests/kernels/compile_grid.py > fa_toolkit/measured/data/compiled/flash_forward.json
    python tests/kernels/compile_grid.py 90/128/causal/128x128 --into <that file>   # after a change

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
from pathlib import Path
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
LENGTH = 4096  # the launcher takes smaller tiles for a few hundred keys
COMMAND = "python tests/kernels/compile_grid.py"


def compile_tile(capability: int, head_dim: int, causal: bool, tile: TileShape) -> dict[str, Any]:
    """One row: float16, the warps and stages that the launcher takes for this tile.

    `default` marks the tile that it takes where none is asked for.
    """
    q, k = (torch.empty(1, 1, LENGTH, head_dim, dtype=torch.float16) for _ in range(2))
    device = Device(divmod(capability, 10), base.LIMITS[capability])
    base.NoDriver.capability, base.Warmup.asked, base.Warmup.compiled = capability, "forward", None
    row: dict[str, Any] = {
        "capability": capability, "head_dim": head_dim, "causal": causal,
        "block_m": tile.block_m, "block_n": tile.block_n, "limit": device.shared,
    }  # fmt: skip

    def choose(
        problem: Any, _: Any, tile: Any = None, which: Any = "forward", aligned: bool = False
    ) -> Any:
        own = plan_launch(problem, device, None, which, aligned=aligned)
        if own.tile == tile:
            row["default"] = True
        asked = own.tile != tile
        plan = plan_launch(problem, device, tile, which, aligned=aligned) if asked else own
        row["warps"], row["stages"] = plan.num_warps, plan.num_stages
        row["bound"] = plan.shared(problem.itemsize, device)
        row["descriptors"] = plan.descriptors
        return plan

    base.forward.choose_launch = choose
    try:
        base.forward.flash_forward(q, k, k, causal=causal, tile=tile)
    except ArgumentError as refused:
        needed = re.search(r"(\d+) B", refused.got or "")
        return {**row, "bound": int(needed[1]) if needed else 0, "failed": "shared memory"}
    found = base.Warmup.compiled
    used = base.resources(found.asm["cubin"])
    return {
        **row, "registers": used["registers"], "spills": used["spills"], "shared": found.metadata.shared,
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
    parser.add_argument("--into", type=Path, help="a recording whose rows are replaced, no output")
    options = parser.parse_args()
    asked = set(options.only)
    base.driver.set_active(base.NoDriver())
    base.forward.require_kernels = lambda *tensors: None
    for name in [name for name in vars(base.forward) if name.endswith("_kernel")]:
        setattr(base.forward, name, base.Warmup(getattr(base.forward, name)))
    head = {
        "schema": "fa-compiled/1", "kernel": "flash_forward_kernel", "dtype": "float16",
        "length": LENGTH, "provenance": provenance(),
    }  # fmt: skip
    made = list(rows(asked))
    if options.into:
        old = json.loads(options.into.read_text(encoding="utf-8"))["rows"]
        fresh = {place(row): row for row in made}
        made = [fresh.get(place(row), row) for row in old]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in made)
    top = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
    text = f'{{\n{top},\n"rows": [\n{lines}\n]\n}}\n'
    if options.into:
        options.into.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


def place(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is found by."""
    return tuple(row[name] for name in ("capability", "head_dim", "causal", "block_m", "block_n"))


if __name__ == "__main__":
    main()
