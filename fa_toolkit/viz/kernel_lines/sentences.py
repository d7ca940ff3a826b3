"""The sentence of a step of the kernel view. `static/kernel_frames.js` makes the same strings."""

from __future__ import annotations

from dataclasses import dataclass

from ...language import say
from .frames import Cut, Plate, Reel
from .words import SAYS, UI

MOST_PLACES = 3


@dataclass(frozen=True)
class Span:
    """Lines `start` to `stop` ran in this step, and accesses `first` to `end` were made."""

    start: int
    stop: int
    first: int
    end: int


def span(reel: Reel, cut: Cut, step: int) -> Span:
    """What happens in a step; step 0 is the beginning."""
    stops = reel.cuts[cut]
    step = min(step, len(stops) - 1)
    start, stop = (int(stops[step - 1]) if step else 0), int(stops[step])
    visits = reel.columns["visit"]
    return Span(start, stop, int((visits < start).sum()), int((visits < stop).sum()))


def place(plate: Plate, box: tuple[int, ...]) -> str:
    """A box as it is written in code: `q_ptr[4:8, 0:10]`.

    Example:
        >>> place(Plate("x_ptr", 1, 10, (-1, 0), False), (0, 1, 8, 10))
        'x_ptr[8:10]'
    """
    rows, cols = f"{box[0]}:{box[1]}", f"{box[2]}:{box[3]}"
    inside = cols if plate.axes[0] < 0 else rows if plate.axes[1] < 0 else f"{rows}, {cols}"
    return f"{plate.name}[{inside}]"


def question(reel: Reel, cut: Cut, step: int) -> int | None:
    """The access a question is about: the first of the run with lanes off, in its own step."""
    if cut == "programs" or not step:
        return None
    off = reel.columns["off"].nonzero()[0]
    here = span(reel, cut, step)
    return int(off[0]) if len(off) and here.first <= off[0] < here.end else None


def sentence(reel: Reel, cut: Cut, step: int, code: dict[int, str], *, asked: bool = False) -> str:
    """The one sentence of a step; `asked` gives the question instead."""
    here, c = span(reel, cut, step), reel.columns
    if step == 0 or here.start == here.stop:
        return say(SAYS["begin"], programs=reel.programs)
    program = int(c["program"][here.start])
    numbers = range(here.first, here.end)
    if asked and (access := question(reel, cut, step)) is not None:
        plate = reel.plates[c["tensor"][access]]
        rows, cols = (int(n) for n in c["lanes"][access])
        return say(SAYS["ask"], program=program, block=f"{rows} × {cols}", tensor=plate.name,
                   shape=f"{plate.rows} × {plate.cols}")  # fmt: skip
    label = reel.labels[c["label"][here.stop - 1]]
    line = int(c["line"][here.start])
    fields = {
        "program": program,
        "label": label or say(UI["setup"]),
        "places": _places(reel, numbers),
        "bytes": int(c["bytes"][here.first : here.end].sum()),
        "off": int(c["off"][here.first : here.end].sum()),
        "lanes": sum(
            int(rows * cols) for rows, cols in c["lanes"][here.first : here.end].astype(int)
        ),
        "line": line,
        "code": code.get(line, "").strip().replace("*", "·"),
    }
    return say(SAYS[_name(reel, cut, here, label)], **fields)


def _name(reel: Reel, cut: Cut, here: Span, label: str) -> str:
    kinds = set(reel.columns["kind"][here.first : here.end].tolist())
    if cut == "programs":
        return "both"
    if kinds:
        return "loads" if kinds == {0} else "stores" if kinds == {1} else "both"
    if cut == "lines":
        return "line"
    if label in ("scores", "mask", "update"):
        return label
    return "works" if label else "finds"


def _places(reel: Reel, numbers: range) -> str:
    c = reel.columns
    made = [place(reel.plates[c["tensor"][i]], tuple(c["box"][i].tolist())) for i in numbers]
    shown = list(dict.fromkeys(made))
    return ", ".join(shown if len(shown) <= MOST_PLACES else [*shown[:MOST_PLACES], "…"])
