"""What one program keeps on chip: tiles in shared memory, accumulators in registers. A model.

It counts what the algorithm must hold. A compiler adds addresses, masks and copies, and may keep Q
in registers or drop a buffer, so treat the answer as "about", never as an occupancy report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ..hardware import GPU
from ..problem import AttentionProblem, TileShape

_FLOAT32 = 4
_SMALLEST_DOT = 16  # a matrix unit takes no narrower operand
_THREADS = {"AMD": (64, 512)}  # threads of a warp, 32-bit registers one thread may have
_NVIDIA_THREADS = (32, 255)


@dataclass(frozen=True)
class Fit:
    """Whether a program fits on one SM of a GPU, and how many at once.

    Args:
        shared: the shared memory suffices for one block.
        registers: the registers suffice; if not, the compiler spills to slow memory.
        blocks_per_sm: programs that one SM can hold at once; 0 if not even one.
    """

    shared: bool
    registers: bool
    blocks_per_sm: int

    def __bool__(self) -> bool:
        return self.shared and self.registers


@dataclass(frozen=True)
class Footprint:
    """Bytes one program holds on chip.

    Args:
        shared: bytes of shared memory.
        registers: bytes of registers.
        parts: bytes of each tile or accumulator, by name.
    """

    shared: int
    registers: int
    parts: Mapping[str, int] = field(default_factory=dict, repr=False, hash=False)

    def fit(self, gpu: GPU, *, warps: int = 4) -> Fit:
        """Whether this fits on one SM of `gpu`, run by so many warps.

        Shared memory is limited per block; registers per SM and, by the instruction set, per
        thread (255 on NVIDIA), so few warps cannot use the whole register file.

        Raises:
            ArgumentError: if the GPU's memory sizes are not known.
        """
        per_block, per_sm = int(gpu.need("shared_per_block")), int(gpu.need("shared_per_sm"))
        register_file = int(gpu.need("registers_per_sm"))
        threads, most = _THREADS.get(gpu.vendor, _NVIDIA_THREADS)
        fits_shared = self.shared <= per_block
        fits_registers = self.registers <= min(register_file, warps * threads * most * 4)
        if not (fits_shared and fits_registers):
            return Fit(fits_shared, fits_registers, 0)
        reserved = per_sm - per_block  # the runtime keeps this much of every block's share
        by_shared = per_sm // max(1, self.shared + reserved)
        by_registers = register_file // max(1, self.registers)
        return Fit(True, True, min(by_shared, by_registers))


def padded(dim: int) -> int:
    """The width a head dimension takes on chip: the next power of two, at least 16."""
    return max(_SMALLEST_DOT, 1 << (dim - 1).bit_length())


def forward_footprint(problem: AttentionProblem, tile: TileShape, *, stages: int = 2) -> Footprint:
    """Bytes one program of the flash forward pass holds on chip.

    One tile of Q stays; `stages` tiles of K and V are in flight, so that the next is loaded while
    this one is worked on. The scores never leave the registers.

        shared    = (BLOCK_M D + stages BLOCK_N (D + Dv)) e
        registers = 4 (BLOCK_M Dv + BLOCK_M BLOCK_N + 2 BLOCK_M)     acc, s, m, l in float32

    Args:
        stages: buffers for K and V each.

    Example:
        >>> from fa_toolkit.hardware import gpu
        >>> problem = AttentionProblem(len_q=4096, len_k=4096, head_dim=128)
        >>> needs = forward_footprint(problem, TileShape(128, 64))
        >>> needs, needs.fit(gpu("a100-80"), warps=4), needs.fit(gpu("t4")).shared
        (Footprint(shared=98304, registers=99328), Fit(shared=True, registers=True, \
blocks_per_sm=1), False)
    """
    dim, dim_v = padded(problem.head_dim), padded(problem.head_dim_v)
    size = problem.itemsize
    return _footprint(
        shared={
            "q": tile.block_m * dim * size,
            "k": stages * tile.block_n * dim * size,
            "v": stages * tile.block_n * dim_v * size,
        },
        registers={
            "acc": tile.block_m * dim_v * _FLOAT32,
            "s": tile.block_m * tile.block_n * _FLOAT32,
            "m": tile.block_m * _FLOAT32,
            "l": tile.block_m * _FLOAT32,
        },
    )


def backward_footprint(problem: AttentionProblem, tile: TileShape, *, stages: int = 2) -> Footprint:
    """Bytes one program of the dkdv launch holds on chip: the tightest place of the backward pass.

    K and V stay, Q and dO stream; dk, dv, s and dp are alive together in float32, which is why a
    tile that suits the forward pass spills here.

    Example:
        >>> from fa_toolkit.hardware import gpu
        >>> problem = AttentionProblem(len_q=4096, len_k=4096, head_dim=128)
        >>> backward_footprint(problem, TileShape(128, 128)).fit(gpu("h100"), warps=4).registers
        False
    """
    dim, dim_v = padded(problem.head_dim), padded(problem.head_dim_v)
    size = problem.itemsize
    scores = tile.block_m * tile.block_n * _FLOAT32
    return _footprint(
        shared={
            "k": tile.block_n * dim * size,
            "v": tile.block_n * dim_v * size,
            "q": stages * tile.block_m * dim * size,
            "do": stages * tile.block_m * dim_v * size,
        },
        registers={
            "dk": tile.block_n * dim * _FLOAT32,
            "dv": tile.block_n * dim_v * _FLOAT32,
            "s": scores,
            "dp": scores,
            "lse": tile.block_m * _FLOAT32,
            "delta": tile.block_m * _FLOAT32,
        },
    )


def _footprint(shared: dict[str, int], registers: dict[str, int]) -> Footprint:
    parts = MappingProxyType({**shared, **registers})
    return Footprint(sum(shared.values()), sum(registers.values()), parts)
