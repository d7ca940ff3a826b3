"""What the compiler made of our forward kernel, tile by tile: registers, spills, shared memory.

No GPU takes part in it, so these rows are no run; they know the compiler, date and command.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..hardware import GPU
from ..problem import TileShape
from .provenance import Provenance

SCHEMA = "fa-compiled/1"
FILE = Path(__file__).with_name("data") / "compiled" / "flash_forward.json"
_WARP = 32  # threads
_CHUNK = 256  # a warp gets registers in such steps: CUDA C++ Programming Guide, occupancy


@dataclass(frozen=True)
class Compiled:
    """One tile of the forward kernel, compiled for one compute capability, float16.

    Args:
        capability: 80 for sm_80.
        limit: bytes of shared memory that one program may have there.
        bound: the launcher's upper bound of the bytes that the kernel needs.
        shared: bytes that the compiler took; None where the launcher refuses the tile.
        registers: 32-bit registers of a thread.
        spills: instructions that move registers to local memory and back, so to HBM's side.
        tensor_cores: "mma" or "wgmma".
        default: the launcher takes this tile where none is asked for, at `compiled_length()` keys.
        descriptors: K and V come by the copy engine (Hopper).
        failed: why there is no kernel; "" if there is one.
    """

    capability: int
    head_dim: int
    causal: bool
    block_m: int
    block_n: int
    limit: int
    bound: int
    warps: int = 0
    stages: int = 0
    registers: int | None = None
    spills: int | None = None
    shared: int | None = None
    tensor_cores: str = ""
    default: bool = False
    descriptors: bool = False
    failed: str = ""

    @property
    def tile(self) -> TileShape:
        """The tile."""
        return TileShape(self.block_m, self.block_n)

    def programs_per_sm(self, gpu: GPU) -> int:
        """Programs that one SM of `gpu` holds at once; 0 if there is no kernel.

        The least of what shared memory, registers and warps allow.

        Raises:
            ArgumentError: if the GPU's memory sizes are not known.

        Example:
            >>> from fa_toolkit.hardware import gpu
            >>> row = find_compiled(gpu("a100-40"), TileShape(128, 64), head_dim=128)
            >>> row.warps, row.programs_per_sm(gpu("a100-40"))
            (8, 1)
        """
        if self.shared is None or self.registers is None:
            return 0
        per_sm, per_block = int(gpu.need("shared_per_sm")), int(gpu.need("shared_per_block"))
        by_shared = per_sm // (self.shared + per_sm - per_block)
        by_registers = int(gpu.need("registers_per_sm")) // (4 * self.registers_of_program)
        by_warps = int(gpu.need("warps_per_sm")) // self.warps
        return min(by_shared, by_registers, by_warps)

    @property
    def registers_of_program(self) -> int:
        """32-bit registers that all warps of a program take, as they are given out."""
        each = -(-(self.registers or 0) * _WARP // _CHUNK) * _CHUNK
        return each * self.warps


@lru_cache(maxsize=1)
def compiled_tiles() -> tuple[Compiled, ...]:
    """Every recorded tile, by capability, head dimension, mask and size."""
    return tuple(Compiled(**row) for row in _file()["rows"])


@lru_cache(maxsize=1)
def compiled_length() -> int:
    """The sequence length that the kernels were planned for."""
    return int(_file()["length"])


@lru_cache(maxsize=1)
def compiled_provenance() -> Provenance:
    """Compiler, versions, date and command of `compiled_tiles()`."""
    return Provenance(**_file()["provenance"])


def find_compiled(
    gpu: GPU, tile: TileShape, *, head_dim: int = 64, causal: bool = True
) -> Compiled:
    """The row of that tile for the architecture of `gpu`.

    Raises:
        ArgumentError: if no such row was recorded.
    """
    wanted = (gpu.arch, head_dim, causal, tile)
    for row in compiled_tiles():
        if (f"sm_{row.capability}", row.head_dim, row.causal, row.tile) == wanted:
            return row
    archs = sorted({f"sm_{row.capability}" for row in compiled_tiles()})
    dims = sorted({row.head_dim for row in compiled_tiles()})
    raise ArgumentError(
        "gpu, tile, head_dim",
        expected=f"{' | '.join(archs)}, head_dim in {dims}, 16 ... 256",
        got=f"{gpu.arch}, {tile}, {head_dim}",
    )


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise ArgumentError("schema", expected=f'"{SCHEMA}"', got=repr(data.get("schema")))
    return data
