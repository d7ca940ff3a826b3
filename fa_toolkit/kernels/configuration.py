"""Which tile, how many warps and stages: chosen by what the device offers. Launches nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch

from ..errors import ArgumentError, DtypeError
from ..language import Text
from ..problem import AttentionProblem, TileShape

SMALLEST_DOT = 16  # tl.dot needs at least this many rows, columns and terms


@dataclass(frozen=True)
class Device:
    """What decides a configuration: compute capability and shared memory per block in bytes.

    `capability` is (0, 0) for the interpreter, where nothing has to fit.
    """

    capability: tuple[int, int]
    shared: int


@dataclass(frozen=True)
class LaunchPlan:
    """One way to launch the forward kernel."""

    tile: TileShape
    num_warps: int
    num_stages: int
    block_d: int
    block_dv: int

    def shared(self, itemsize: int) -> int:
        """Upper bound of the shared memory in bytes: Q, and K and V once per stage."""
        q = self.tile.block_m * self.block_d
        kv = self.tile.block_n * (self.block_d + self.block_dv)
        p = self.tile.block_m * self.tile.block_n  # where the scores change their layout
        return itemsize * (q + self.num_stages * kv + p)


INTERPRETER = Device((0, 0), 2**62)


@cache
def device_of(index: int | None) -> Device:
    """The CUDA device of that index; None is the interpreter."""
    if index is None:
        return INTERPRETER
    properties = torch.cuda.get_device_properties(index)
    default = 64 * 1024
    shared = getattr(properties, "shared_memory_per_block_optin", default)
    capability = (0, 1) if torch.version.hip else (properties.major, properties.minor)
    return Device(capability, shared)


def _padded(width: int) -> int:
    return max(SMALLEST_DOT, 1 << (width - 1).bit_length())


# widest head -> (BLOCK_M, BLOCK_N, warps, stages), fastest first; the first that fits is taken
_HALF: dict[int, tuple[tuple[int, int, int, int], ...]] = {
    64: ((128, 64, 4, 3), (64, 64, 4, 2), (64, 32, 4, 1)),
    128: ((128, 64, 8, 3), (128, 64, 8, 2), (64, 32, 4, 2), (32, 32, 4, 1)),
    256: ((128, 64, 8, 2), (64, 64, 4, 2), (64, 32, 4, 2), (32, 16, 4, 1), (16, 16, 4, 1)),
}
_SINGLE: dict[int, tuple[tuple[int, int, int, int], ...]] = {
    64: ((64, 32, 4, 2), (32, 32, 4, 2), (16, 16, 4, 1)),
    128: ((64, 32, 4, 2), (32, 32, 4, 2), (16, 16, 4, 1)),
    256: ((32, 32, 4, 2), (32, 16, 4, 2), (16, 16, 4, 1)),
}


def plan_launch(
    problem: AttentionProblem, device: Device, tile: TileShape | None = None
) -> LaunchPlan:
    """A configuration of the forward kernel that fits `device`.

    Raises:
        DtypeError: if the device cannot compute this type.
        ArgumentError: if the given tile is no power of two, too small or too large.
    """
    d, dv = _padded(problem.head_dim), _padded(problem.head_dim_v)
    if problem.dtype == "bfloat16" and (7, 0) <= device.capability < (8, 0):
        raise DtypeError(
            "q, k, v",
            expected=Text("float16 or float32 on this GPU", "在这块 GPU 上用 float16 或 float32"),
            got="bfloat16",
            hint=Text("q.half()", "q.half()"),
        )
    if tile is not None:
        _check_tile(tile, device)
    elif device == INTERPRETER:
        tile = TileShape(64, 64)
    table = _SINGLE if problem.dtype == "float32" else _HALF
    rows = next(rows for widest, rows in table.items() if max(d, dv) <= widest)
    if tile is not None:
        warps = 8 if tile.block_m * max(d, dv) >= 128 * 128 else 4
        rows = tuple((tile.block_m, tile.block_n, warps, stages) for stages in (3, 2, 1))
    plans = [LaunchPlan(TileShape(m, n), warps, s, d, dv) for m, n, warps, s in rows]
    for plan in plans:
        if plan.shared(problem.itemsize) <= device.shared:
            return plan
    raise ArgumentError(
        "tile",
        expected=Text(
            f"one that fits {device.shared} bytes of shared memory",
            f"能放进 {device.shared} 字节共享内存的分块",
        ),
        got=f"{plans[-1].tile}: {plans[-1].shared(problem.itemsize)} B",
        hint=Text("a smaller tile, or tile=None", "用小一些的分块，或 tile=None"),
    )


def _check_tile(tile: TileShape, device: Device) -> None:
    least = 1 if device == INTERPRETER else SMALLEST_DOT
    for name, side in (("block_m", tile.block_m), ("block_n", tile.block_n)):
        if side & (side - 1) or side < least:
            raise ArgumentError(
                name,
                expected=Text(f"a power of two, at least {least}", f"不小于 {least} 的 2 的幂"),
                got=str(side),
            )


def choose_launch(
    problem: AttentionProblem, device: torch.device, tile: TileShape | None = None
) -> LaunchPlan:
    """`plan_launch` for the device that tensors of this call live on."""
    from . import runtime

    index = device.index if device.type == "cuda" and runtime.mode() == "gpu" else None
    return plan_launch(problem, device_of(index), tile)
