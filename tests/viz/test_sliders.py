"""Controls and the figure that follows them, without a front end."""

from __future__ import annotations

from typing import Any

import ipywidgets as widgets
import pytest
from matplotlib.figure import Figure

from fa_toolkit.errors import ArgumentError
from fa_toolkit.language import Text
from fa_toolkit.viz import scrub, softmax_bars
from fa_toolkit.viz.figures.canvas import Sheet


def test_moving_a_slider_redraws_on_the_same_sheet() -> None:
    sheets = []

    def draw(blocks: int, figure: Figure | None = None) -> Figure:
        sheets.append(softmax_bars([1, 2, 3, 4], blocks, figure=figure))
        return sheets[-1]

    box = scrub(draw, blocks=(1, 4), lang="en")
    row, _, picture = box.children
    before = picture.value
    row.children[0].value = 3
    assert picture.value != before and "var(--fa-s" in picture.value
    assert len(sheets) == 2 and sheets[0] is sheets[1]


def test_every_kind_of_control() -> None:
    seen: dict[str, Any] = {}

    def draw(**values: Any) -> Figure:
        seen.update(values)
        return Figure()

    own = widgets.Text("x")
    box = scrub(draw, n=(1, 9, 2), x=(0.0, 1.0), size=[64, 128], causal=True, free=own,
                labels={"n": Text("rows", "行")}, lang="zh")  # fmt: skip
    kinds = [type(control) for control in box.children[0].children]
    assert kinds == [widgets.IntSlider, widgets.FloatSlider, widgets.SelectionSlider,
                     widgets.Checkbox, widgets.Text]  # fmt: skip
    assert seen == {"n": 1, "x": 0.0, "size": 64, "causal": True, "free": "x"}
    assert box.children[0].children[0].description == "行"
    assert box.children[2].value.startswith("<svg")


def test_what_the_figure_rejects_is_one_line_and_the_picture_stays() -> None:
    box = scrub(lambda blocks: softmax_bars([1, 2], blocks), blocks=(1, 5), lang="en")
    row, line, picture = box.children
    before = picture.value
    row.children[0].value = 5
    assert "from 1 to 2" in line.value and picture.value == before
    row.children[0].value = 2
    assert line.value == ""


def test_a_bad_specification_is_an_error() -> None:
    for spec in ((3, 1), "abc", [], (1,), (0, 9, 0), (0, 9, 12)):
        with pytest.raises(ArgumentError, match="n:"):
            scrub(lambda n: Sheet(), n=spec, lang="en")


def test_a_slider_begins_where_it_is_told() -> None:
    seen: list[tuple[int, int]] = []

    def draw(n: int, size: int) -> Figure:
        seen.append((n, size))
        return Figure()

    scrub(draw, n=(0, 9), size=[1, 64, 4096], at={"n": 4, "size": 64}, lang="en")
    scrub(draw, n=(2, 9), size=[1, 64, 4096], lang="en")
    assert seen == [(4, 64), (2, 1)]
    for at in ({"n": 10}, {"size": 2}):
        with pytest.raises(ArgumentError, match="at"):
            scrub(draw, n=(0, 9), size=[1, 64], at=at, lang="en")


def test_a_film_holds_every_position_and_moves_nothing() -> None:
    box = scrub(lambda blocks, wide: softmax_bars([1, 2], blocks), blocks=(1, 3), wide=[8, 16],
                at={"wide": 16}, labels={"wide": Text("width", "宽")}, lang="zh")  # fmt: skip
    before = box.children[2].value
    film = box.film()
    assert film is not None
    assert film["controls"] == [
        {"label": "blocks", "choices": ["1", "2", "3"], "at": 0},
        {"label": "宽", "choices": ["8", "16"], "at": 1},
    ]
    assert set(film["frames"]) == {f"{i},{j}" for i in range(3) for j in range(2)}
    one, two, refused = (film["frames"][f"{i},0"] for i in range(3))
    assert "<svg" in one and "<svg" in two and one != two
    assert "<svg" not in refused and "1 到 2" in refused
    assert box.children[2].value == before and box.children[0].children[0].value == 1


def test_no_film_where_positions_cannot_be_listed() -> None:
    assert scrub(lambda n: Figure(), n=(0, 64), lang="en").film() is None
    assert scrub(lambda n: Figure(), n=(0, 64), lang="en").film(most=65) is not None
    assert scrub(lambda x: Figure(), x=(0.0, 1.0), lang="en").film() is None
