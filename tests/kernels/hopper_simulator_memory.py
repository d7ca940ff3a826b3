"""Shared memory that knows who touched it, mbarriers and named barriers."""

from __future__ import annotations

import math
from typing import Any

import torch
from hopper_simulator import Actor, Clock, RuleError, check, join, machine
from hopper_simulator_registers import Register, gluon_dtype

Region = tuple[Any, ...]


class Allocation:
    """One allocation, and for each part of it who read and wrote it last."""

    def __init__(self, dtype: torch.dtype, shape: list[int], name: str) -> None:
        start = float("nan") if dtype.is_floating_point else -1
        self.data = torch.full(shape, start, dtype=dtype)
        self.name = name
        self.seen: dict[tuple[Any, Region, bool], int] = {}  # source, part, write -> time
        self.unfenced: dict[Region, Actor] = {}
        self._masks: dict[Region, torch.Tensor] = {}
        self._common: dict[tuple[Region, Region], bool] = {}

    def _mask(self, part: Region) -> torch.Tensor:
        if part not in self._masks:
            mask = torch.zeros(self.data.numel(), dtype=torch.bool)
            mask.as_strided(*part).fill_(True)
            self._masks[part] = mask
        return self._masks[part]

    def common(self, a: Region, b: Region) -> bool:
        """Whether two parts share an element."""
        if (a, b) not in self._common:
            self._common[a, b] = bool((self._mask(a) & self._mask(b)).any())
        return self._common[a, b]

    def touch(self, part: Region, source: Any, time: int, clock: Clock, *, write: bool) -> None:
        """An access by event `time` of `source`, made by someone who knows `clock`."""
        for (other, place, wrote), when in self.seen.items():
            if (write or wrote) and other is not source and clock.get(other, 0) < when:  # noqa: SIM102
                if self.common(part, place):
                    raise RuleError(self._race(source, write, other, wrote))
        self.seen[source, part, write] = time

    def _race(self, source: Any, write: bool, other: Any, wrote: bool) -> str:
        def who(source: Any, write: bool) -> str:
            name, kind = (source, "") if not isinstance(source, tuple) else source
            label = name.name if isinstance(name, Actor) else str(name)
            return f"{label} {kind} {'writes' if write else 'reads'}".replace("  ", " ")

        return f"{self.name}: {who(source, write)} while {who(other, wrote)}"


class Tile:
    """A view of an allocation, as a shared memory descriptor is."""

    def __init__(self, allocation: Allocation, x: torch.Tensor) -> None:
        self.allocation, self.x = allocation, x
        self.part: Region = (tuple(x.shape), x.stride(), x.storage_offset())

    @property
    def shape(self) -> list[int]:
        return list(self.x.shape)

    @property
    def dtype(self) -> Any:
        return gluon_dtype(self.x.dtype)

    @property
    def handle(self) -> Tile:
        return self

    def _view(self, x: torch.Tensor) -> Tile:
        return Tile(self.allocation, x)

    def index(self, i: int) -> Tile:
        check(0 <= int(i) < self.shape[0], f"{self.allocation.name}: index {i} of {self.shape[0]}")
        return self._view(self.x[int(i)])

    def reshape(self, shape: list[int]) -> Tile:
        return self._view(self.x.view([int(n) for n in shape]))

    def permute(self, order: tuple[int, ...]) -> Tile:
        return self._view(self.x.permute(*order))

    def slice(self, start: int, length: int, dim: int = 0) -> Tile:
        return self._view(self.x.narrow(dim, int(start), int(length)))

    def _reinterpret(self, dtype: Any, shape: list[int], layout: Any = None) -> Tile:
        """The same bytes with another shape and no swizzle."""
        check(math.prod(shape) == self.x.numel(), "reinterpreted with another size")
        return self._view(self.x.view([int(n) for n in shape]))

    # ------------------------------------------------------------------ accesses
    def load(self, layout: Any = None) -> Register:
        machine().step()
        self.by_actor(write=False)
        return Register(self.x.clone(), read=lambda: self.by_actor(write=False))

    def store(self, value: Register) -> None:
        machine().step()
        self.by_actor(write=True)
        check(value.shape == self.shape, f"{value.shape} is stored into {self.shape}")
        check(value.x.dtype == self.x.dtype, f"{value.x.dtype} is stored into {self.x.dtype}")
        self.x.copy_(value.x)

    def by_actor(self, *, write: bool) -> None:
        """A load or a store by the warps of the actor whose turn it is."""
        actor = machine().actor
        self.allocation.touch(self.part, actor, actor.epoch, actor.clock, write=write)
        if write:
            self.allocation.unfenced[self.part] = actor
            actor.unfenced.append((self.allocation, self.part))

    def by_engine(self, source: Any, time: int, *, write: bool) -> None:
        """An access that an engine makes from now on, until event `time` of `source` is known."""
        area, clock = self.allocation, machine().actor.clock
        for part, actor in area.unfenced.items():
            if not write and area.common(part, self.part):
                raise RuleError(
                    f"{area.name}: no fence after {actor.name} stored what an engine reads"
                )
        area.touch(self.part, source, time, clock, write=write)


def fence() -> None:
    """What this actor has stored so far may be read by the engines."""
    actor = machine().actor
    for area, part in actor.unfenced:
        if area.unfenced.get(part) is actor:
            del area.unfenced[part]
    actor.unfenced.clear()


class Barrier:
    """An mbarrier: a phase ends when all arrivals and all bytes of it are there."""

    def __init__(self) -> None:
        self.expected = self.missing = self.bytes = self.phase = 0
        self.flying = 0  # copies on their way to this phase
        self.gathered: Clock = {}
        self.known: Clock = {}  # what whoever waits successfully learns

    def init(self, count: int) -> None:
        self.expected = self.missing = int(count)

    def arrive(self, clock: Clock, count: int = 1, expect: int = 0) -> None:
        check(self.expected, "an mbarrier was never initialised")
        join(self.gathered, clock)
        self.missing -= count
        self.bytes += expect
        check(self.missing >= 0, "more arrivals at an mbarrier than one phase takes")
        self._settle()

    def promise(self) -> int:
        """A copy is on its way; the event that its landing is."""
        self.flying += 1
        return self.phase + 1

    def land(self, nbytes: int) -> None:
        self.flying -= 1
        self.bytes -= nbytes
        check(self.bytes >= 0, "an mbarrier gets more bytes than it expects")
        self._settle()

    def _settle(self) -> None:
        if self.missing or self.bytes:
            return
        check(not self.flying, "a phase of an mbarrier ends with a copy still on its way")
        self.phase += 1
        self.missing = self.expected
        join(self.known, self.gathered)
        self.known[self, "copies"] = self.phase

    def wait(self, parity: int) -> None:
        check(self.expected, "an mbarrier was never initialised")
        check(parity in (0, 1), f"parity {parity}")
        why = f"parity {parity}, {self.missing} arrivals and {self.bytes} bytes are missing"
        machine().until(lambda: self.phase & 1 != parity, why)
        join(machine().actor.clock, self.known)

    def __str__(self) -> str:
        return "the copy engine"


class Barriers:
    """An array of mbarriers in shared memory, or one of them."""

    def __init__(self, barriers: list[Barrier]) -> None:
        self.barriers = barriers

    def index(self, i: int) -> Barriers:
        check(0 <= int(i) < len(self.barriers), f"mbarrier {i} of {len(self.barriers)}")
        return Barriers([self.barriers[int(i)]])

    @property
    def one(self) -> Barrier:
        check(len(self.barriers) == 1, "an array of mbarriers stands where one should")
        return self.barriers[0]


def named_barrier(action: str, ident: int, threads: int) -> None:
    """bar.sync and bar.arrive by all warps of an actor."""
    m = machine()
    actor, named = m.actor, m.actor.program.named
    free = range(2 + actor.program.partitions, 16)  # Triton keeps two, and one for each partition
    check(ident in free, f"named barrier {ident} is Triton's")
    entry = named.setdefault(ident, [0, 0, {}, {}, threads])  # threads here, turns, gathered, known
    check(entry[4] == threads, f"named barrier {ident} with {threads} and with {entry[4]} threads")
    turn = entry[1]
    entry[0] += 32 * actor.warps
    join(entry[2], actor.told_by_all())
    check(entry[0] <= threads, f"named barrier {ident} is passed twice by one side")
    if entry[0] == threads:
        entry[0] = 0
        entry[1] += 1
        entry[3] = dict(entry[2])
    elif action == "sync":
        m.until(lambda: entry[1] != turn, f"bar.sync {ident}")
    if action == "sync":
        actor.meet()
        join(actor.clock, entry[3])
