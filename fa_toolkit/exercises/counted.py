"""Memory that counts: tensors behind loads and stores of rows, every byte of which is written down.

For exercises that are scored by the bytes they move. Kernels are counted by `kernels.record`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..errors import ArgumentError
from ..language import Text
from ..tiled.ledger import Ledger
from ..tiled.trace import Event, Step

_STEPS = {"Q": Step.LOAD_Q, "S": Step.LOAD_S, "P": Step.LOAD_P, "O": Step.LOAD_O}


class Hbm:
    """Far memory of one head. Rows come by `load` and leave by `store`; both are counted.

    Args:
        given: tensors that may be loaded, by name.
        results: tensors to be stored, by name; they hold NaN until they are. They may be loaded
            again, as may `scratch`.
        sram: numbers that may be held on chip at a time, of those that were loaded.
    """

    def __init__(
        self,
        given: Mapping[str, torch.Tensor],
        results: Mapping[str, tuple[int, ...]],
        *,
        scratch: Mapping[str, tuple[int, ...]] | None = None,
        sram: int,
    ) -> None:
        self.given = dict(given)
        written = {**results, **(scratch or {})}
        self._written = {name: torch.full(shape, torch.nan) for name, shape in written.items()}
        self.sram, self._held = sram, 0
        self._events: list[Event] = []

    def __repr__(self) -> str:
        names = ", ".join(f"{name} {list(x.shape)}" for name, x in self._all().items())
        return f"Hbm({names})"

    def _all(self) -> dict[str, torch.Tensor]:
        return {**self.given, **self._written}

    def _find(self, name: str) -> torch.Tensor:
        if name not in self._all():
            raise ArgumentError("name", expected=", ".join(self._all()), got=repr(name))
        return self._all()[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor; asking costs nothing."""
        return tuple(self._find(name).shape)

    def load(self, name: str, start: int, stop: int) -> torch.Tensor:
        """Rows [start, stop) of a tensor, cut at its end, brought on chip.

        Raises:
            ArgumentError: if more would be held than fits.
        """
        rows = self._find(name)[max(0, start) : max(0, stop)].clone()
        self._held += rows.numel()
        weakref.finalize(rows, self._let_go, rows.numel())
        if self._held > self.sram:
            raise ArgumentError(
                "sram",
                expected=f"<= {self.sram}",
                got=str(self._held),
                hint=Text(
                    "numbers held on chip; let go of a block before you load more",
                    "这是片上同时持有的数；先放掉一块再读下一块",
                ),
            )
        self._note("load", name, start, rows)
        return rows

    def store(self, name: str, start: int, rows: torch.Tensor) -> None:
        """Write rows to a result, beginning at `start`.

        Raises:
            ArgumentError: if the name is that of an input, or the rows do not fit.
        """
        if name not in self._written:
            raise ArgumentError("name", expected=", ".join(self._written), got=repr(name))
        place = self._written[name][start : start + len(rows)]
        if place.shape != rows.shape:
            raise ArgumentError("rows", expected=str(list(place.shape)), got=str(list(rows.shape)))
        place.copy_(rows)
        self._note("store", name, start, place)

    def _let_go(self, count: int) -> None:
        self._held -= count

    def _note(self, kind: Any, name: str, start: int, rows: torch.Tensor) -> None:
        width = rows.shape[1] if rows.dim() > 1 else 1
        box = ((start, start + len(rows)), (0, width))
        step = Step.STORE if kind == "store" else _STEPS.get(name, Step.LOAD_KV)
        moved = rows.numel() * rows.element_size()
        self._events.append(Event("forward", step, kind, (), name, box, bytes=moved))

    @property
    def ledger(self) -> Ledger:
        """What moved so far."""
        return Ledger.of(self._events)

    def result(self, name: str) -> torch.Tensor:
        """What was stored, as the check reads it; this is not counted."""
        return self._written[name]


def with_bytes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Of `fn(hbm, ...)` makes a function that returns the results `names` and the bytes moved."""

    def adapt(fn: Callable[..., Any]) -> Callable[..., Any]:
        def run(hbm: Hbm, *rest: Any) -> tuple[Any, ...]:
            fn(hbm, *rest)
            return (*(hbm.result(name) for name in names), hbm.ledger.total)

        return run

    return adapt


def with_kernel_bytes(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Of `fn`, which launches kernels, makes a function that returns its result and the bytes.

    The interpreter counts them; masked lanes move nothing.
    """

    def run(*args: Any) -> tuple[Any, int]:
        from .. import kernels

        recording = kernels.record(fn, *args)
        return recording.result, recording.bytes_read + recording.bytes_written

    return run
