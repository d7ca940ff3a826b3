"""A recorded kernel as columns: lines, loads and stores in the order they happened, and three cuts.

Takes any object with `accesses` and `visits` (a `kernels.Recording`) and imports no
kernels. One kernel and one slice of its tensors (one batch and head) are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...language import Text

Cut = Literal["programs", "labels", "lines"]
CUTS: tuple[Cut, ...] = ("programs", "labels", "lines")
KINDS = ("load", "store", "atomic")
MOST_LINES = 1 << 15


class Recorded(Protocol):
    """What the view needs of a recording."""

    @property
    def accesses(self) -> Sequence[Any]: ...
    @property
    def visits(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Plate:
    """One tensor as it is drawn: two axes of it, and which slice of the others.

    Args:
        axes: the tensor's axes that run down and across; -1 where it has none.
    """

    name: str
    rows: int
    cols: int
    axes: tuple[int, int]
    stored: bool
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Reel:
    """One recording, ready to be drawn.

    Args:
        columns: per line that ran: `line`, `program`, `label`; per access: `visit` (the line it
            belongs to), `kind`, `tensor`, `bytes`, `box` (rows, columns), `start` (row and column
            of lane 0), `lanes` (rows and columns of the block, as drawn), `off`, `mask_at` (into
            `mask`, one byte a lane, 1 where it is on).
        cuts: for each cut the number of lines that have run after every step; 0 first.
    """

    kernel: str
    programs: int
    labels: tuple[str, ...]
    plates: tuple[Plate, ...]
    columns: Mapping[str, NDArray[Any]] = field(repr=False)
    cuts: Mapping[Cut, NDArray[Any]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.columns["line"])

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes read and written in all."""
        size, store = self.columns["bytes"].astype(int), self.columns["kind"] == 1
        return int(size[~store].sum()), int(size[store].sum())


def reel(
    recording: Recorded, *, kernel: str | None = None, at: tuple[int, ...] | None = None
) -> Reel:
    """The lines and accesses of one kernel on one slice of its tensors.

    Args:
        kernel: which, if the recording holds several; None takes the first.
        at: indices of the leading axes, such as (batch, head); None takes the first of each.

    Raises:
        ArgumentError: if there is nothing to show, no such kernel, or too much.
    """
    kernels = list(dict.fromkeys(access.kernel for access in recording.accesses))
    if not kernels or (kernel is not None and kernel not in kernels):
        expected = Text("a kernel of the recording", "录制里有的 kernel")
        got = repr(kernel) if kernels else Text("an empty recording", "空的录制")
        raise ArgumentError("kernel", expected=expected, got=got, hint=", ".join(kernels))
    kernel = kernel or kernels[0]
    plates = _plates(recording, kernel)
    kept = [(i, a) for i, a in enumerate(recording.accesses)
            if a.kernel == kernel and _in_slice(a, plates, at)]  # fmt: skip
    if not kept:
        raise ArgumentError(
            "at", expected=Text("a slice that was accessed", "访问过的一片"), got=str(at)
        )
    ids = list(dict.fromkeys(access.program for _, access in kept))
    visits = [v for v in recording.visits if v.kernel == kernel and v.program in set(ids)]
    if len(visits) > MOST_LINES:
        expected = Text(f"at most {MOST_LINES:,} lines", f"最多 {MOST_LINES:,} 行")
        raise ArgumentError("recording", expected=expected, got=f"{len(visits):,}",
                            hint=Text("smaller tensors or larger blocks", "更小的张量，或更大的块"))  # fmt: skip
    rows = _rows(visits, kept)
    labels = tuple(dict.fromkeys(step for _, _, step, _ in rows))
    columns = {
        "line": np.array([line for line, _, _, _ in rows], "i4"),
        "program": np.array([ids.index(program) for _, program, _, _ in rows], "i4"),
        "label": np.array([labels.index(step) for _, _, step, _ in rows], "u1"),
        **_access_columns(rows, plates),
    }
    cuts = {cut: _cut(rows, cut) for cut in CUTS}
    return Reel(kernel, len(ids), labels, tuple(plates.values()), columns, cuts)


def _plates(recording: Recorded, kernel: str) -> dict[str, Plate]:
    """The tensors in the order they were first touched; a vector stands beside rows it matches."""
    mine = [access for access in recording.accesses if access.kernel == kernel]
    stored = {access.argument for access in mine if access.kind != "load"}
    shapes: dict[str, tuple[int, ...]] = {}
    for access in mine:
        shapes.setdefault(access.argument, access.shape)
    rows = {shape[-2] for shape in shapes.values() if len(_long(shape)) > 1}
    plates = {}
    for name, shape in shapes.items():
        axes = _long(shape)
        if len(axes) > 1:
            plates[name] = Plate(
                name, shape[-2], shape[-1], (len(shape) - 2, len(shape) - 1), name in stored, shape
            )
            continue
        axis = axes[-1] if axes else len(shape) - 1
        size = shape[axis] if shape else 1
        upright = size in rows
        plates[name] = (Plate(name, size, 1, (axis, -1), name in stored, shape) if upright
                        else Plate(name, 1, size, (-1, axis), name in stored, shape))  # fmt: skip
    return plates


def _long(shape: tuple[int, ...]) -> list[int]:
    """Axes that are drawn: the last two, a leading one of a batch or a head is not."""
    drawn = list(range(max(0, len(shape) - 2), len(shape)))
    if len(shape) == 3:  # one number a row: the log-sum-exp of [batch, head, row]
        drawn = [2]
    return drawn


def _in_slice(access: Any, plates: Mapping[str, Plate], at: tuple[int, ...] | None) -> bool:
    """Whether an access lies in the chosen slice of the axes that are not drawn."""
    plate = plates[access.argument]
    if access.shape != plate.shape:
        return False  # a later launch on other tensors
    others = [axis for axis in range(len(access.box)) if axis not in plate.axes]
    wanted = at if at is not None else (0,) * len(others)
    return all(low <= index < high for (low, high), index in
               zip((access.box[axis] for axis in others), wanted, strict=False))  # fmt: skip


Row = tuple[int, tuple[int, ...], str, list[Any]]


def _rows(visits: Sequence[Any], kept: Sequence[tuple[int, Any]]) -> list[Row]:
    """Lines with the accesses they made. Without lines, each access is a line of its own."""
    if not visits:
        return [(a.line, a.program, a.step, [a]) for _, a in kept]
    numbers = [visit.accesses for visit in visits]
    rows: list[Row] = [(v.line, v.program, v.step, []) for v in visits]
    for number, access in kept:
        rows[int(np.searchsorted(numbers, number, side="right")) - 1][3].append(access)
    return rows


def _access_columns(rows: Sequence[Row], plates: Mapping[str, Plate]) -> dict[str, NDArray[Any]]:
    names = list(plates)
    found = [(i, access) for i, row in enumerate(rows) for access in row[3]]
    drawn = [_drawn(access, plates[access.argument]) for _, access in found]
    masks = [mask for _, _, _, mask in drawn]
    sizes = [mask.size for mask in masks]

    def column(numbers: Iterable[Any], kind: str) -> NDArray[Any]:
        return np.array(list(numbers), kind)

    return {
        "visit": column((i for i, _ in found), "i4"),
        "kind": column((KINDS.index(access.kind) for _, access in found), "u1"),
        "tensor": column((names.index(access.argument) for _, access in found), "u1"),
        "bytes": column((access.bytes for _, access in found), "u4"),
        "box": column((box for box, _, _, _ in drawn), "i4").reshape(-1, 4),
        "start": column((start for _, start, _, _ in drawn), "i4").reshape(-1, 2),
        "lanes": column((shape for _, _, shape, _ in drawn), "i4").reshape(-1, 2),
        "off": column((int((mask == 0).sum()) for mask in masks), "i4"),
        "mask_at": column([0, *np.cumsum(sizes).tolist()], "i4"),
        "mask": np.concatenate(masks).astype("u1") if masks else np.zeros(0, "u1"),
    }


def _drawn(
    access: Any, plate: Plate
) -> tuple[tuple[int, int, int, int], tuple[int, int], tuple[int, int], NDArray[Any]]:
    """An access on its plate: the box, where lane 0 stands, the block turned as it is drawn."""
    spans = [access.box[axis] if axis >= 0 else (0, 1) for axis in plate.axes]
    box = (*spans[0], *spans[1])
    lanes = access.lanes
    if lanes is None or any(
        a == -1 and n > 1 for a, n in zip(lanes.axes, lanes.shape, strict=True)
    ):
        shape = (box[1] - box[0], box[3] - box[2])
        return box, (box[0], box[2]), shape, np.ones(math.prod(shape), "u1")
    start = tuple(lanes.start[axis] if axis >= 0 else 0 for axis in plate.axes)
    on, order = lanes.on, []
    for axis in plate.axes:
        order.append(lanes.axes.index(axis) if axis in lanes.axes and axis >= 0 else None)
    kept = [axis for axis in order if axis is not None]
    rest = [axis for axis in range(on.ndim) if axis not in kept]
    turned = on.transpose([*kept, *rest]) if on.ndim else on
    turned = turned.reshape([on.shape[axis] for axis in kept]) if on.ndim else turned.reshape(())
    down, across = (on.shape[axis] if axis is not None else 1 for axis in order)
    return box, (start[0], start[1]), (down, across), turned.astype("u1").ravel()


def _cut(rows: Sequence[Row], cut: Cut) -> NDArray[Any]:
    """Lines that have run after each step; the first step is the beginning.

    A labelled part that moves nothing though its label says load is the head of a loop: it belongs
    to the part that follows. A kernel without labels is cut line by line.
    """
    if cut == "labels" and not any(row[2] for row in rows):
        cut = "lines"
    ends = [0]
    for i, (_, program, step, _) in enumerate(rows):
        last = i + 1 == len(rows)
        if cut == "lines":
            ends.append(i + 1)
            continue
        other = last or rows[i + 1][1] != program
        if cut == "labels" and not other:
            other = rows[i + 1][2] != step
            span = rows[ends[-1] : i + 1]
            if other and step.startswith("load") and not any(row[3] for row in span):
                other = False
        if other:
            ends.append(i + 1)
    return np.array(ends, "i4")
