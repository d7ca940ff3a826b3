"""The Hopper kernels' own source on a CPU: every role of every program, in an order of chance.

Read the files in this order: this one (who runs, who knows what), `_memory` (shared memory and
barriers), `_engines` (copies and products), `_language` (what stands in for Gluon), `_kernels`
(the package's functions as plain Python).

Modelled:
 - every partition of `warp_specialize` of several programs at once, switched between at random;
 - copies that land late and in any order, with the bytes that an mbarrier counts for them; copies
   back to memory, and the copy engine's additions, that read their tile late;
 - products (wgmma) that read shared memory at some moment between issue and wait, in order of issue,
   and whose result is no value before a wait that covers it;
 - mbarriers (arrivals, bytes, parity), named barriers, atomics, division that truncates;
 - who knows what, as a vector of clocks: an access to shared memory is wrong if nothing orders it
   after a conflicting one, even if this run happened to be lucky;
 - loads from shared memory that may read as late as their value is first used;
 - a fence between a warp's own store and the engine that reads it; and that an arrival by one thread
   (`expect`) speaks for what the other warps of its group did only if the group met in between: at
   a barrier, or because a product is done to which all four had to come.

Not modelled: the four warps of a group (one actor), what Triton itself puts between two accesses of
one partition, registers that a product still reads, order in
global memory (but a tile stored twice is seen), numbers past 32 bits, layouts, registers, time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import greenlet

import fa_toolkit.kernels  # noqa: F401  (decides the mode before Triton is imported)

#: what an actor knows: source of events -> how many of them are before this moment
Clock = dict[Any, int]


class RuleError(AssertionError):
    """A rule of the machine is broken."""


class DeadlockError(RuleError):
    """Nobody can go on."""


def check(rule: object, what: str) -> None:
    """`rule` holds, or the kernel is wrong in the way of `what`."""
    if not rule:
        raise RuleError(what)


def join(into: Clock, other: Clock) -> None:
    """Whoever holds `into` now knows what `other` knew as well."""
    for source, time in other.items():
        if into.get(source, 0) < time:
            into[source] = time


@dataclass(eq=False)
class Actor:
    """One partition of one program: a warp, or a group of four."""

    program: Program
    name: str
    warps: int
    body: Callable[[], None]
    weight: float
    clock: Clock = field(default_factory=dict)
    epoch: int = 1  # of its own accesses; a new one starts when it tells others
    met: int = 0  # the last epoch that all its warps have left behind
    products: list[Any] = field(default_factory=list)  # issued, not yet done, in order
    products_issued: int = 0
    marks: list[int] = field(default_factory=list)  # epoch in which each was issued
    stores: list[Callable[[], None]] = field(default_factory=list)  # of the copy engine, in order
    stores_issued: int = 0
    unfenced: list[Any] = field(default_factory=list)
    waits: tuple[Callable[[], bool], str] | None = None

    def __post_init__(self) -> None:
        self.thread = greenlet.greenlet(self.body)
        self.clock[self] = self.epoch

    def turn_page(self) -> int:
        """What the actor does from now on is in a new epoch; the one that ends here."""
        self.epoch += 1
        self.clock[self] = self.epoch
        return self.epoch - 1

    def meet(self) -> None:
        """All warps of the group have come here."""
        self.met = self.turn_page()

    def told_by_all(self) -> Clock:
        """What a barrier learns when each warp arrives for itself."""
        return self.clock | {self: self.turn_page()}

    def told_by_one(self) -> Clock:
        """What a barrier learns when one thread arrives: of the others only what it has seen."""
        if self.warps == 1:
            self.meet()
        return self.clock | {self: self.met}


@dataclass(eq=False)
class Program:
    """One block of threads: its place in the grid, its shared memory and named barriers."""

    index: int
    count: int
    named: dict[int, list[Any]] = field(default_factory=dict)
    shared_bytes: int = 0
    partitions: int = 1


class Machine:
    """Runs the programs of one launch, `resident` at a time.

    `late`: how much more often an actor goes on than the copy engine. `skew`: some actors are much
    slower than others.
    """

    def __init__(self, seed: int, late: float = 0.6, resident: int = 3, skew: bool = True) -> None:
        self.random, self.late = random.Random(seed), late
        self.resident, self.skew = resident, skew
        self.copies: list[Callable[[], None]] = []  # of the engine, in any order
        self.actors: list[Actor] = []
        self.main = greenlet.getcurrent()
        self._running: Actor | None = None
        self.stored: set[Any] = set()  # places in memory that a copy has written
        self.moment = 0  # what a clock shows: operations so far

    # ------------------------------------------------------------------ seen by the language
    @property
    def actor(self) -> Actor:
        """Whose turn it is."""
        assert self._running is not None, "an operation of a kernel outside of a launch"
        return self._running

    def step(self) -> None:
        """Here another actor may go on."""
        self.moment += 1
        if self.random.random() < 0.4:
            self.main.switch()

    def until(self, ready: Callable[[], bool], why: str) -> None:
        """Block this actor."""
        actor = self.actor
        while not ready():
            actor.waits = (ready, why)
            self.main.switch()
        actor.waits = None

    def spawn(self, program: Program, parts: Iterable[tuple[str, int, Callable[[], None]]]) -> None:
        """Run the partitions of a program beside each other, and wait for them."""
        parent, children = self.actor, []
        for name, warps, body in parts:
            weight = self.random.choice((1.0, 1.0, 0.1)) if self.skew else 1.0
            children.append(Actor(program, name, warps, body, weight, dict(parent.clock)))
        self.actors += children
        program.partitions = len(children)
        self.until(lambda: all(child.thread.dead for child in children), "its partitions")

    # ------------------------------------------------------------------ scheduling
    def launch(self, grid: int, body: Callable[[], None]) -> None:
        """Run `body` in each of `grid` programs."""
        waiting: Iterator[int] = iter(range(grid))
        with running(self):
            while True:
                self.actors = [a for a in self.actors if not self._ended(a)]
                while len({a.program for a in self.actors}) < self.resident:
                    if (index := next(waiting, None)) is None:
                        break
                    program = Program(index, grid)
                    self.actors.append(Actor(program, "program", 4, body, 1.0))
                if not self.actors and not self.copies:
                    return
                self._go_on()

    def _go_on(self) -> None:
        ready = [a for a in self.actors if not a.thread.dead and (not a.waits or a.waits[0]())]
        if self.copies and (not ready or self.random.random() > self.late):
            self.copies.pop(self.random.randrange(len(self.copies)))()
            return
        if self.random.random() < 0.1:
            queues = [q for a in self.actors for q in (a.products, a.stores) if q]
            if queues:
                self.random.choice(queues).pop(0)()
        if not ready:
            reasons = (
                f"{a.name} of {a.program.index}: {a.waits[1]}" for a in self.actors if a.waits
            )
            raise DeadlockError("; ".join(reasons))
        weights = [a.weight for a in ready]
        self._running = self.random.choices(ready, weights)[0] if self.skew else ready[0]
        self._running.thread.switch()

    def _ended(self, actor: Actor) -> bool:
        if not actor.thread.dead:
            return False
        check(not actor.products, f"{actor.name} ends with products in flight")
        read = actor.clock.get((actor, "stores"), 0)
        check(read == actor.stores_issued, f"{actor.name} ends before its tiles are read")
        return True


_current: list[Machine] = []


@contextmanager
def running(machine: Machine) -> Iterator[None]:
    """`machine` is the one that the kernels' operations act on."""
    _current.append(machine)
    try:
        yield
    finally:
        _current.pop()


def machine() -> Machine:
    """The machine that runs now."""
    return _current[-1]
