"""The copy engine and the tensor cores: work that goes on beside the warps that ask for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from hopper_simulator import check, machine
from hopper_simulator_memory import Barriers, Tile
from hopper_simulator_registers import Register
from triton.experimental.gluon import language as gluon_language


class Descriptor:
    """Tiles of a tensor in global memory: what is outside of it reads as 0 and is never written."""

    def __init__(self, host: Any) -> None:
        base = host.base
        self.x = base.as_strided(host.shape, host.strides, base.storage_offset())
        self.block_shape = list(host.block_shape)
        self.layout = host.layout
        self.dtype = getattr(gluon_language, str(base.dtype).removeprefix("torch."))
        self.nbytes_per_cta = math.prod(self.block_shape) * base.element_size()
        self.block_type = self  # its bytes are asked for by this name too
        self.nbytes = self.nbytes_per_cta

    @property
    def handle(self) -> Descriptor:
        return self

    def parts(self, at: Sequence[Any]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """(slices of the tensor, slices of the tile) of what exists."""
        whole, part = [], []
        check(len(at) == len(self.block_shape), "coordinates of another rank")
        for start, size, total in zip(at, self.block_shape, self.x.shape, strict=True):
            low = max(int(start), 0)
            high = max(min(int(start) + size, total), low)
            whole.append(slice(low, high))
            part.append(slice(low - int(start), high - int(start)))
        return tuple(whole), tuple(part)


def load_tile(
    desc: Descriptor, coord: Sequence[Any], bar: Barriers, result: Tile, pred: Any = True
) -> None:
    """Global to shared memory; nobody may read what is there until the barrier's phase has ended."""
    machine().step()
    if not pred:
        return
    whole, part = desc.parts(coord)
    barrier = bar.one
    check(
        result.x.numel() == math.prod(desc.block_shape), "a tile lands in a place of another size"
    )
    check(result.x.dtype == desc.x.dtype, "a tile lands in a place of another type")
    result.by_engine((barrier, "copies"), barrier.promise(), write=True)
    result.x.fill_(float("nan"))

    def land() -> None:
        tile = torch.zeros(desc.block_shape, dtype=desc.x.dtype)
        tile[part] = desc.x[whole]
        result.x.copy_(tile.view(result.x.shape))
        barrier.land(desc.nbytes)

    machine().copies.append(land)


def store_tile(desc: Descriptor, coord: Sequence[Any], src: Tile, *, add: bool = False) -> None:
    """Shared to global memory: the tile is read at some time before this actor's `store_wait`."""
    m = machine()
    m.step()
    actor = m.actor
    whole, part = desc.parts(coord)
    actor.stores_issued += 1
    src.by_engine((actor, "stores"), actor.stores_issued, write=False)
    if add:
        begins = all(0 <= int(c) < n for c, n in zip(coord, desc.x.shape, strict=True))
        check(begins, "the copy engine refuses to add outside of a tensor")
    else:
        place = (desc.x.data_ptr(), *(int(c) for c in coord))
        check(place not in m.stored, f"the tile at {place[1:]} is stored twice")
        m.stored.add(place)

    def read() -> None:
        tile = src.x.reshape(desc.block_shape)[part]
        if add:
            desc.x[whole] += tile
        else:
            desc.x[whole] = tile

    actor.stores.append(read)


def store_wait(pendings: int = 0) -> None:
    """All stores of this actor but the last `pendings` have read their tiles."""
    machine().step()
    actor = machine().actor
    _drain(actor.stores, pendings)
    key = (actor, "stores")
    actor.clock[key] = max(actor.clock.get(key, 0), actor.stores_issued - pendings)


def _drain(queue: list[Callable[[], None]], left: int) -> None:
    while len(queue) > left:
        queue.pop(0)()


def multiply(
    a: Any, b: Tile, acc: Register, *, use_acc: Any = True, is_async: bool = False, **_: Any
) -> Register:
    """wgmma: a from registers or shared memory, b from shared memory."""
    m = machine()
    m.step()
    actor = m.actor
    check(is_async, "a product that is waited for at once")
    check(actor.warps == 4, "a product needs four warps")
    check(acc.shape == [a.shape[0], b.shape[1]], f"a product of {a.shape} and {b.shape}")
    check(a.shape[1] == b.shape[0], f"a product of {a.shape} and {b.shape}")
    left = a.x if isinstance(a, Register) else None  # must be a value now
    actor.products_issued += 1
    actor.marks.append(actor.turn_page())
    number, source = actor.products_issued, (actor, "products")
    for operand in (a, b):
        if isinstance(operand, Tile):
            operand.by_engine(source, number, write=False)
    out = Register(torch.empty(0), number=number, shape=acc.shape)

    def run() -> None:
        product = (a.x if left is None else left).float() @ b.x.float()
        out.raw = product + acc.raw if use_acc else product

    actor.products.append(run)
    return out


def wait_products(num_outstanding: int = 0, deps: Sequence[Any] = ()) -> Any:
    """All products of this actor but the last few are done; `deps` are values from here on."""
    m = machine()
    m.step()
    actor = m.actor
    _drain(actor.products, num_outstanding)
    done = actor.products_issued - num_outstanding
    key = (actor, "products")
    actor.clock[key] = max(actor.clock.get(key, 0), done)
    if done:
        actor.met = max(actor.met, actor.marks[done - 1])
    out = []
    for value in deps:
        if isinstance(value, Register):
            check(value.number <= done, "a wait that does not cover the product it waits for")
            value = Register(value.raw)
        out.append(value)
    return out[0] if len(out) == 1 else tuple(out)
