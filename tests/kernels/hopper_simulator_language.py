"""What stands in for Gluon's language while a kernel's source runs as plain Python."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from hopper_simulator import check, machine
from hopper_simulator_engines import load_tile, store_tile, store_wait
from hopper_simulator_memory import Allocation, Barrier, Barriers, Tile, named_barrier
from hopper_simulator_registers import Pointer, Register, Scalar, as_tensor, torch_dtype
from triton.experimental.gluon import language as gluon_language

FLOATS, INTEGERS = ("float32", "bfloat16", "float16"), ("int16", "int32", "int64")
SHARED_LIMIT = 227 * 1024  # bytes of one program on Hopper


# ------------------------------------------------------------------ arithmetic
def _both(tensors: Callable[..., torch.Tensor], numbers: Callable[..., Any]) -> Callable[..., Any]:
    def apply(a: Any, b: Any) -> Any:
        if isinstance(a, Register) or isinstance(b, Register):
            return Register(tensors(as_tensor(a), as_tensor(b)))
        found = numbers(a, b)
        return Scalar(found) if isinstance(found, int) else found

    return apply


def _where(condition: Any, a: Any, b: Any) -> Any:
    if any(isinstance(v, Register) for v in (condition, a, b)):
        return Register(torch.where(as_tensor(condition).bool(), as_tensor(a), as_tensor(b)))
    found = a if condition else b
    return Scalar(found) if isinstance(found, int) else found


def _reduced(x: torch.Tensor) -> Any:
    return Scalar(int(x)) if x.ndim == 0 and not x.is_floating_point() else Register(x)


def _one(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Register]:
    return lambda x: Register(function(x.x))


def _full(shape: Sequence[int], value: Any, dtype: Any, layout: Any = None) -> Register:
    return Register(torch.full([int(n) for n in shape], value, dtype=torch_dtype(dtype)))


# ------------------------------------------------------------------ inline assembly
_NAMED = re.compile(r"bar(?:rier)?\.(?:cta\.)?(sync|arrive) (\d+|\$1), (\d+);")
_PAIR = re.compile(r"cvt\.rn\.(bf16|f16)x2\.f32 \$0, \$2, \$1;")
_STAMP = re.compile(r".*%clock; mov\.u32 what, (\d+); .* and\.b64 past, next, (\d+);")
_UNARY = {"lg2.approx.f32": torch.log2, "ex2.approx.ftz.f32": torch.exp2}


def _inline(text: str, constraints: str, args: Sequence[Register], **_: Any) -> Register:
    """The few texts that the kernels use; another one is an error here, not a guess."""
    text = " ".join(text.split())
    if found := _NAMED.match(text):
        machine().step()
        ident = int(args[0].x.flatten()[0]) if found[2] == "$1" else int(found[2])
        named_barrier(found[1], ident, int(found[3]))
        return args[0]
    if found := _PAIR.fullmatch(text):
        kind = torch.bfloat16 if found[1] == "bf16" else torch.float16
        halves = [arg.x.to(kind) for arg in args]
        if len(halves) == 1:  # neighbours of one tensor share a register
            return Register(halves[0])
        low, high = (half.view(torch.int16).to(torch.int32) for half in halves)
        return Register((high << 16) | (low & 0xFFFF))
    if found := re.fullmatch(r"(\S+) \$0, \$1;", text):
        return Register(_UNARY[found[1]](args[0].x))
    if found := _STAMP.match(text):
        return _stamp(args[0].x, int(found[1]), int(found[2]))
    if re.search(r"@\w+ st\.volatile", text) and text.endswith("mov.b32 $0, $1; }"):
        return args[0]  # a store that is never done
    raise NotImplementedError(f"the simulator does not know this inline assembly: {text}")


def _stamp(at: torch.Tensor, event: int, inside: int) -> Register:
    """(event, moment) where thread 0 points; the next place, 0 past the region's end and from then on."""
    machine().moment += 1
    place = int(at[0])
    check(not at[1:].any(), "a stamp of more than one thread")
    if place:
        (ctypes.c_uint32 * 2).from_address(place)[:] = event, machine().moment
    after = place + 8 if place and (place + 8) & inside else 0
    return Register(torch.where(torch.arange(at.numel()) == 0, after, 0))


def _cast(x: Any, dtype: Any) -> Any:
    """A pointer as a number is where its memory lies; other values are wide enough as they are."""
    if isinstance(x, Pointer):
        return Register(torch.tensor(x.memory.data_ptr() + x.at * x.memory.element_size()))
    return x


# ------------------------------------------------------------------ memory
def _load(pointer: Pointer, mask: Any = None, other: Any = 0, **_: Any) -> Any:
    machine().step()
    touched, live = pointer.places(mask)
    if live.ndim == 0 and not pointer.memory.is_floating_point():
        return Scalar(int(pointer.memory[touched][0]))
    out = torch.full(live.shape, other, dtype=pointer.memory.dtype)
    out[live] = pointer.memory[touched]
    return Register(out)


def _store(pointer: Pointer, value: Any, mask: Any = None, **_: Any) -> None:
    machine().step()
    touched, live = pointer.places(mask)
    pointer.memory[touched] = as_tensor(value).expand(live.shape)[live].to(pointer.memory.dtype)


def _atomic(change: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """Nobody comes between reading and writing; what masked lanes get back is no number to use."""

    def apply(pointer: Pointer, value: Any, mask: Any = None, **_: Any) -> Any:
        machine().step()
        touched, live = pointer.places(mask)
        new = as_tensor(value).expand(live.shape)[live].to(pointer.memory.dtype)
        old = pointer.memory[touched].clone()
        if change is torch.add:
            pointer.memory.index_add_(0, touched, new)
        else:
            pointer.memory[touched] = change(old, new)
        out = torch.full(live.shape, UNUSABLE, dtype=old.dtype)
        out[live] = old
        return _reduced(out)

    return apply


UNUSABLE = -987654


def _allocate(dtype: Any, shape: Sequence[int], layout: Any, value: Any = None) -> Any:
    shape = [int(n) for n in shape]
    program = machine().actor.program
    if layout == "mbarrier":
        count = shape[0] if len(shape) == 2 else 1
        program.shared_bytes += 8 * count
        return Barriers([Barrier() for _ in range(count)])
    area = Allocation(torch_dtype(dtype), shape, f"shared {shape}")
    program.shared_bytes += area.data.numel() * area.data.element_size()
    check(program.shared_bytes <= SHARED_LIMIT, f"{program.shared_bytes} bytes of shared memory")
    tile = Tile(area, area.data)
    if value is not None:
        tile.store(value)
    return tile


# ------------------------------------------------------------------ partitions
def _warp_specialize(
    parts: Sequence[tuple[Callable[..., None], Sequence[Any]]],
    worker_num_warps: Sequence[int],
    worker_num_regs: Sequence[int] = (),
) -> None:
    warps = [4, *worker_num_warps]
    check(len(warps) == len(parts), "each partition but the first has its number of warps")
    m = machine()

    def start(part: Callable[..., None], args: Sequence[Any]) -> Callable[[], None]:
        return lambda: part(*args)

    m.spawn(
        m.actor.program,
        [
            (f"{part.__name__} {n}", count, start(part, args))
            for n, ((part, args), count) in enumerate(zip(parts, warps, strict=True))
        ],
    )


def _group_barrier() -> None:
    machine().step()
    machine().actor.meet()


# ------------------------------------------------------------------ mbarrier, tma
def _arrive(bar: Barriers, *, count: int = 1, pred: Any = True) -> None:
    """Triton lets the group meet before one of its threads arrives."""
    machine().step()
    if pred:
        machine().actor.meet()
        bar.one.arrive(machine().actor.told_by_one(), count)


def _expect(bar: Barriers, nbytes: int, pred: Any = True) -> None:
    """One thread arrives, for itself, and says how many bytes are to come."""
    machine().step()
    if pred:
        bar.one.arrive(machine().actor.told_by_one(), 1, int(nbytes))


def _wait(bar: Barriers, phase: Any, pred: Any = True, deps: Sequence[Any] = ()) -> None:
    machine().step()
    if pred:
        bar.one.wait(int(phase))


class Semantic:
    """The builder that a function of the package marked `builtin` talks to."""

    builder: Any

    def __init__(self) -> None:
        self.builder = self

    def _convert_to_ir_values(self, values: Sequence[Any], require_i64: bool = True) -> Any:
        return values

    def create_async_tma_reduce(self, kind: Any, desc: Any, coord: Any, src: Tile) -> None:
        check(str(kind).endswith("ADD"), f"the copy engine is asked to {kind}")
        store_tile(desc, coord, src, add=True)


def _token(*_: Any, **__: Any) -> None:
    """A layout: where values lie among the threads is not modelled."""


def _actor_index(_: int = 0) -> Scalar:
    return Scalar(machine().actor.program.index)


mbarrier = SimpleNamespace(
    MBarrierLayout=lambda *_: "mbarrier", arrive=_arrive, expect=_expect, wait=_wait,
    init=lambda bar, count: bar.one.init(count), invalidate=lambda bar: None,
)  # fmt: skip
tma = SimpleNamespace(
    async_copy_global_to_shared=load_tile, async_copy_shared_to_global=store_tile,
    store_wait=store_wait,
)  # fmt: skip
gl = SimpleNamespace(
    **{kind: getattr(gluon_language, kind) for kind in (*FLOATS, *INTEGERS)},
    **dict.fromkeys(("BlockedLayout", "DotOperandLayout", "NVMMADistributedLayout"), _token),
    **dict.fromkeys(("SliceLayout", "SwizzledSharedLayout", "AutoLayout"), _token),
    NVMMASharedLayout=SimpleNamespace(get_default_for=_token),
    constexpr=lambda x: x, static_range=range, static_assert=lambda rule, *_: check(rule, "assert"),
    to_tensor=lambda x: Scalar(x) if type(x) is int else x, cast=_cast,
    program_id=_actor_index, num_programs=lambda _: Scalar(machine().actor.program.count),
    arange=lambda a, b, layout=None: Register(torch.arange(a, b, dtype=torch.int32)),
    zeros=lambda shape, dtype, layout=None: _full(shape, 0, dtype), full=_full, where=_where,
    minimum=_both(torch.minimum, min), maximum=_both(torch.maximum, max),
    max=lambda x, axis: _reduced(x.x.amax(axis)),
    sum=lambda x, axis: _reduced(x.x.sum(axis, dtype=x.x.dtype)),
    exp2=_one(torch.exp2), log2=_one(torch.log2), exp=_one(torch.exp),
    convert_layout=lambda x, layout=None, assert_trivial=False: x,
    permute=lambda x, *order: x.permute(*order), reshape=lambda x, shape: x.reshape(shape),
    join=lambda a, b: Register(torch.stack((a.x, b.x), -1)), split=lambda x: x.split(),
    load=_load, store=_store, atomic_add=_atomic(torch.add),
    atomic_xchg=_atomic(lambda _, new: new), allocate_shared_memory=_allocate,
    inline_asm_elementwise=_inline, warp_specialize=_warp_specialize,
    barrier=_group_barrier, thread_barrier=_group_barrier,
)  # fmt: skip
