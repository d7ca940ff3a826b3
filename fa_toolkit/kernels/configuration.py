"""Which tile, how many warps and stages: chosen by what the device offers. Launches nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import torch

from ..errors import ArgumentError, DtypeError
from ..language import Text
from ..problem import AttentionProblem, TileShape, check_tile
from .launch_rows import ANY, BLACKWELL, HOPPER, TABLES, Row
from .launch_rows import Kernel as Kernel

ALIGNMENT = (
    16  # bytes: of the first element for the copy engine, and of every step but the innermost
)
BARRIERS = 1024  # bytes: of what is in flight, and to align it
LARGEST_COPY = 256  # rows of one copy
SIDE_BYTES = 8 * 2**20  # what heads that take turns may stream together, well within an L2
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
    """One way to launch one of the attention kernels."""

    tile: TileShape
    num_warps: int
    num_stages: int
    block_d: int
    block_dv: int
    kernel: Kernel = "forward"
    descriptors: bool = False  # what is streamed comes by the copy engine, see `descriptors`
    last_first: bool = False  # forward: the last rows begin; the interpreter keeps to the trace
    apart: bool = False  # dK and dV in a launch each
    side: int = 1  # heads whose programs take turns, see `_side`
    on_axes: bool = True  # heads and batches have grid axes of their own, see `_on_axes`
    omits_edge: bool = True  # no loop over tiles that an edge cuts where none is, see `_omits_edge`

    @property
    def meta(self) -> dict[str, int]:
        """The keyword arguments of a launch that this plan decides."""
        return {
            "BLOCK_D": self.block_d,
            "BLOCK_DV": self.block_dv,
            "BLOCK_M": self.tile.block_m,
            "BLOCK_N": self.tile.block_n,
            "num_warps": self.num_warps,
            "num_stages": self.num_stages,
        }

    def has_edge(self, problem: AttentionProblem) -> bool:
        """Whether the kernel has a loop over tiles of keys that a right bound or their end cuts."""
        cut = problem.right is not None or problem.len_k % self.tile.block_n != 0
        return cut or not self.omits_edge

    def shared(self, itemsize: int, device: Device) -> int:
        """Upper bound of the shared memory in bytes: what stays, what streams, scores, row sums.

        Scores, and in dkdv one operand more, count once again where they change their layout; with
        descriptors they stay in the registers of the warps that own their rows, 16 a warp.

        Hopper and the Blackwell of data centres keep a buffer per stage; Ampere, and the Blackwell
        of desktops (sm_120), which multiplies as Ampere does, one less; before that products are
        done without tensor cores, on float32 operands and one buffer.
        """
        each = (9, 0) <= device.capability < (12, 0)
        buffers = self.num_stages if each else max(1, self.num_stages - 1)
        itemsize = itemsize if device.capability >= (8, 0) else 4
        m, n, both = self.tile.block_m, self.tile.block_n, self.block_d + self.block_dv
        stays, streams, scores = {
            "forward": (m * self.block_d, n * both, m * n),
            "dkdv": (n * both, m * both, 2 * m * n + n * max(self.block_d, self.block_dv)),
            "dq": (m * both, n * both, m * n),
        }[self.kernel]
        if self.descriptors:
            streams += 4 * m // itemsize if self.kernel == "dkdv" else 0  # lse and Delta too
            own = n if self.kernel == "dkdv" else m
            scores = scores * (own < 16 * self.num_warps) + BARRIERS // itemsize
        # on Hopper a warp holds its rows whole, so that their sums stay in registers
        hopper = device.capability[0] == 9
        row_sums = 0 if hopper else 4 * self.num_warps * (n if self.kernel == "dkdv" else m)
        return itemsize * (stays + buffers * streams + scores) + row_sums


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


def readable(*tensors: torch.Tensor) -> bool:
    """Whether the copy engine can read all of them: aligned, dense along the last axis, no gaps."""
    return all(_readable(x) for x in tensors)


def _readable(x: torch.Tensor) -> bool:
    *outer, inner = x.stride()
    aligned = all(step > 0 and step * x.itemsize % ALIGNMENT == 0 for step in outer)
    return aligned and inner == 1 and x.data_ptr() % ALIGNMENT == 0 and x.numel() > 0


def _padded(width: int) -> int:
    return max(SMALLEST_DOT, 1 << (width - 1).bit_length())


@lru_cache(maxsize=4096)
def plan_launch(
    problem: AttentionProblem,
    device: Device,
    tile: TileShape | None = None,
    kernel: Kernel = "forward",
    *,
    aligned: bool = True,
) -> LaunchPlan:
    """A configuration of `kernel` that fits `device`.

    Args:
        aligned: whether the copy engine can read the tensors, see `readable`.

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
    table = TABLES[kernel][problem.dtype == "float32"]
    rows = next(rows for widest, rows in table.items() if max(d, dv) <= widest)
    if tile is not None:
        warps = 8 if tile.block_m * max(d, dv) >= 128 * 128 else 4
        m, n = tile.block_m, tile.block_n
        copied = max(m, n) <= LARGEST_COPY and problem.dtype != "float32"
        rows = tuple(
            Row(ANY, m, n, warps, stages, descriptors)
            for descriptors in (True, False)[not copied :]
            for stages in (3, 2, 1)
        )
    aligned = aligned and HOPPER <= device.capability < BLACKWELL
    seen = _keys_seen(problem)
    side, on_axes = _side(problem, device, kernel), _on_axes(problem, device, kernel)
    omits_edge = _omits_edge(max(d, dv), device)
    last_first = problem.right is not None and device != INTERPRETER
    plans = [
        LaunchPlan(
            r.tile,
            r.num_warps,
            r.num_stages,
            d,
            dv,
            kernel,
            r.descriptors,
            last_first,
            r.apart,
            side,
            on_axes,
            omits_edge,
        )
        for r in rows
        if device.capability >= r.since
        and (aligned or not r.descriptors)
        and (r.up_to is None or seen <= r.up_to)
    ]
    for plan in plans:
        if plan.shared(problem.itemsize, device) <= device.shared:
            return plan
    raise ArgumentError(
        "tile",
        expected=Text(
            f"one that fits {device.shared} bytes of shared memory",
            f"能放进 {device.shared} 字节共享内存的分块",
        ),
        got=f"{plans[-1].tile}: {plans[-1].shared(problem.itemsize, device)} B",
        hint=Text("a smaller tile, or tile=None", "用小一些的分块，或 tile=None"),
    )


def _keys_seen(problem: AttentionProblem) -> int:
    """About how many keys a row sees: a program of a short loop wants a small tile."""
    seen = problem.len_k
    if problem.right is not None:
        seen -= min(problem.len_q, problem.len_k) // 2
    if problem.left is not None:
        seen = min(seen, problem.left + 1)
    return seen


def _side(problem: AttentionProblem, device: Device, kernel: Kernel) -> int:
    """How many heads take turns under a causal mask, so that the heaviest tiles of all come first.

    The last programs of a launch are then light ones, and no SM is left alone with a heavy one. What
    the heads stream together must stay in L2, which is small before Hopper.
    """
    p = problem
    if p.right is None or device.capability < HOPPER or 0 in (p.heads_q, p.heads_kv):
        return 1
    heads, sharing, length = p.heads_q, p.group, p.len_k
    if kernel == "dkdv":
        heads, sharing, length = p.heads_kv, 1, p.len_q * p.group
    each = length * (p.head_dim + p.head_dim_v) * p.itemsize
    side = 1
    while heads % (2 * side) == 0 and -(-2 * side // sharing) * each <= SIDE_BYTES:
        side *= 2
    return side


def _on_axes(problem: AttentionProblem, device: Device, kernel: Kernel) -> bool:
    """Whether heads and batches have grid axes of their own, which saves a program two divisions.

    For GPUs before Hopper ptxas then spills where all registers are taken (D = 128, causal), and on
    an H200 the backward of wide heads without a causal mask is 1 % slower; no reason was found for
    either.
    """
    width = max(problem.head_dim, problem.head_dim_v)
    wide = width > 128 if kernel == "forward" else width > 64
    return device == INTERPRETER or (
        device.capability >= HOPPER and (problem.right is not None or not wide)
    )


def _omits_edge(width: int, device: Device) -> bool:
    """Whether a loop that is never entered is left out of the kernel.

    On an H200 that makes the forward 5 % faster where heads are padded to 128, and 10 % slower where
    they are padded to 64: the compiler then moves 14 registers more for each tile of keys.
    """
    return device == INTERPRETER or width == 128


def _check_tile(tile: TileShape, device: Device) -> None:
    check_tile(tile)
    least = 1 if device == INTERPRETER else SMALLEST_DOT
    for name, side in (("block_m", tile.block_m), ("block_n", tile.block_n)):
        if side & (side - 1) or side < least:
            raise ArgumentError(
                name,
                expected=Text(f"a power of two, at least {least}", f"不小于 {least} 的 2 的幂"),
                got=str(side),
            )


def choose_launch(
    problem: AttentionProblem,
    device: torch.device,
    tile: TileShape | None = None,
    kernel: Kernel = "forward",
    *,
    aligned: bool = False,
) -> LaunchPlan:
    """`plan_launch` for the device that tensors of this call live on."""
    from . import runtime

    index = device.index if device.type == "cuda" and runtime.mode() == "gpu" else None
    return plan_launch(problem, device_of(index), tile, kernel, aligned=aligned)
