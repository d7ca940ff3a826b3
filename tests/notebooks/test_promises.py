"""What a chapter promises in words is there when its cells run: shown sources, names on a track."""

from __future__ import annotations

import builtins
import re
import symtable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chapters import CHINESE, ENGLISH, FOLDER, code, prose, read

import fa_toolkit as fa
from fa_toolkit.course.parts import FULL, mark_of
from fa_toolkit.course.source import source_card
from fa_toolkit.course.tracks import TRACKS
from fa_toolkit.exercises import solved

SIX = {"LOAD_Q", "LOAD_KV", "SCORES", "MASK", "UPDATE", "STORE"}
BOTH = [*ENGLISH, *CHINESE]
BOTH_IDS = [path.relative_to(FOLDER).with_suffix("").as_posix() for path in BOTH]


def shown(path: Path) -> dict[str, str]:
    """The sources that a notebook shows, by cell."""
    found = {}
    for cell in code(path):
        match = re.fullmatch(r"fa\.course\.show_source\(([\w.]+)\)", cell.source)
        if match:
            thing: Any = fa
            for name in match.group(1).split(".")[1:]:
                thing = getattr(thing, name)
            found[cell.id] = source_card(thing).text
    return found


@pytest.mark.parametrize("folder", [FOLDER, FOLDER / "zh"], ids=["en", "zh"])
def test_the_loop_of_chapter_04_is_the_one_that_is_shown(folder: Path) -> None:
    """The text names a loop, `state.fold`, `hidden` and six steps, two of them outside the loop."""
    path = next(folder.glob("04_*.ipynb"))
    sources = shown(path)
    inner, outer = sources["show-loop"], sources["show-forward"]
    assert "for cols in tiles" in inner and "state.fold(" in inner and "hidden" in inner
    steps = {name: set(re.findall(r"\bStep\.(\w+)", text)) for name, text in sources.items()}
    assert steps["show-forward"] == {"LOAD_Q", "STORE"}
    assert steps["show-loop"] | steps["show-forward"] == SIX
    assert "stream_keys" in outer
    words = "\n".join(cell.source for cell in prose(path))
    assert all(f"`{name}`" in words for name in SIX)


def on_track(cells: list[Any], track: str) -> Iterator[tuple[str, str]]:
    """Id and source of the code cells that a reader of this track runs, stubs solved."""
    included = True
    for cell in cells:
        mark = mark_of(cell)
        if mark is not None:
            included = track == FULL or track in mark["tracks"]
        if included and cell.cell_type == "code":
            exercise = cell.metadata.get("fa", {}).get("exercise")
            yield cell.id, solved(exercise) if exercise else cell.source


def bound_and_used(source: str) -> tuple[set[str], set[str]]:
    """Global names that a cell binds, and those that it or a function in it uses."""
    top = symtable.symtable(source, "<cell>", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    used = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    waiting = list(top.get_children())
    while waiting:
        table = waiting.pop()
        used |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
        waiting += table.get_children()
    return bound, used


def missing(cells: list[Any], track: str) -> dict[str, set[str]]:
    """Names that a cell uses and nothing before it on this track has made, by cell."""
    known, found = set(dir(builtins)), {}
    for name, source in on_track(cells, track):
        bound, used = bound_and_used(source)
        if used - known - bound:
            found[name] = used - known - bound
        known |= bound
    return found


@pytest.mark.parametrize("track", list(TRACKS))
@pytest.mark.parametrize("path", BOTH, ids=BOTH_IDS)
def test_every_track_has_the_names_it_uses(path: Path, track: str) -> None:
    assert missing(read(path).cells, track) == {}


def test_the_walk_sees_a_name_that_a_track_leaves_out() -> None:
    cells = read(FOLDER / "03_softmax_in_blocks.ipynb").cells
    first = next(cell for cell in cells if cell.id == "first-half")
    first.source = first.source.replace("x = torch.tensor([1.0, 2.0, 3.0, 4.0])\n", "")
    assert missing(cells, "short")["first-half"] == {"x"}
    assert missing(cells, FULL) == {}, "the full track makes it earlier"
