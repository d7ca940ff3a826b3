"""Every figure in both themes and languages: nothing clipped, no box, numbers from the package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import pytest
import torch
from made_up_timeline import TIMELINE, stamps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text as Label

from fa_toolkit import hardware, io_model, measured, tiled, viz
from fa_toolkit.errors import ArgumentError
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.viz.figures.growth import fitted_exponent
from fa_toolkit.viz.figures.ladder import ladder_figure
from fa_toolkit.viz.figures.pointers import lanes
from fa_toolkit.viz.figures.tiles import tile_kinds
from fa_toolkit.viz.figures.traffic import traffic_rows
from fa_toolkit.viz.figures.walk_frames import moments
from fa_toolkit.viz.fonts import missing

SQUARE = AttentionProblem(len_q=256, len_k=256, head_dim=64)


def _trace(**more: Any) -> tiled.Trace:
    torch.manual_seed(3)
    q, k, v = (torch.randn(1, 1, 16, 8) for _ in range(3))
    return tiled.trace_flash_forward(q, k, v, tile=TileShape(4, 4), **more)


FIGURES: dict[str, Callable[..., Figure]] = {
    "ladder": lambda **k: ladder_figure("a100-40", tensor=("s", 2**25), **k),
    "ladder-h200": lambda **k: ladder_figure("h200", **k),
    "roofline": lambda **k: viz.roofline_figure("h200", {"flash": 300.0, "decode": 1.0}, **k),
    "roofline-right": lambda **k: viz.roofline_figure(
        "h200", {"standard": 42.2, "flash, requested": 124.0, "flash, read only once": 2048.0}, **k
    ),
    "traffic": lambda **k: viz.traffic_bars(SQUARE, TileShape(64, 64), **k),
    "traffic-heads": lambda **k: viz.traffic_bars(
        AttentionProblem(2, 8, 2, 1, 5000, 64, causal=True), TileShape(16, 64), **k
    ),
    "tiles": lambda **k: viz.score_tiles(
        AttentionProblem(len_q=100, len_k=180, causal=True), TileShape(32, 16), **k
    ),
    "softmax": lambda **k: viz.softmax_bars([1, 2, 3, 4], 2, **k),
    "ablations": lambda **k: viz.ablation_bars(
        measured.ablations(pass_="forward", head_dim=128, causal=True), where="a GPU, 3.5", **k
    ),
    "stages": lambda **k: viz.stage_timeline(TIMELINE, stamps(), where="a made-up GPU", **k),
    "softmax-many": lambda **k: viz.softmax_bars(list(range(12)), 6, **k),
    "growth": lambda **k: viz.memory_growth(measured={"standard": {1024: 4e7}}, **k),
    "pointers-1d": lambda **k: viz.pointer_grid(50, 16, 3, **k),
    "pointers-2d": lambda **k: viz.pointer_grid((6, 10), (4, 8), (1, 1), strides=(12, 1), **k),
    "walk": lambda **k: viz.tile_walk(_trace(causal=True, keep_values=True), 6, **k),
    "walk-bare": lambda **k: viz.tile_walk(_trace(), -1, **k),
}  # fmt: skip


def _recorded() -> Iterator[tuple[str, Callable[..., Figure]]]:
    """Every figure of rates and of memory that the recorded runs give."""
    for run in measured.runs():
        shown = [
            row for row in run.speeds if row.rate and not row.variant and row.regime == "burst"
        ]
        kinds = {(r.pass_, r.problem.head_dim, r.problem.causal, r.problem.group) for r in shown}
        for kind in sorted(kinds):
            rows = [r for r in shown if (r.pass_, r.problem.head_dim, r.problem.causal,
                                         r.problem.group) == kind]  # fmt: skip
            top = 4.5e12 if kind[0] == "decode" else 799e12
            yield (
                f"{run.id}-{'-'.join(map(str, kind))}",
                partial(viz.rate_lines, rows, ceiling=top, where=run.provenance.line),
            )
        for pass_ in sorted({m.pass_ for m in run.memories}):
            peaks = [m for m in run.memories if m.pass_ == pass_]
            yield f"{run.id}-{pass_}", partial(viz.peak_memory, peaks, where=run.provenance.line)


FIGURES |= dict(_recorded())


@pytest.mark.parametrize("given", [{"lang": "fr"}, {"figure": 3}, {"theme": "pink"}])
def test_a_language_a_theme_or_a_figure_that_is_none_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(given))):
        viz.softmax_bars([1, 2], 1, **given)


def _labels(figure: Figure) -> list[Label]:
    return [t for t in figure.findobj(Label) if t.get_visible() and t.get_text().strip()]


@pytest.mark.parametrize("name", FIGURES)
def test_labels_are_inside_drawable_and_in_their_language(name: str) -> None:
    seen = {}
    for theme, lang in (("light", "en"), ("dark", "zh")):
        figure = FIGURES[name](theme=theme, lang=lang)
        FigureCanvasAgg(figure).draw()
        page = figure.bbox
        words = []
        for label in _labels(figure):
            box = label.get_window_extent()
            if box.width == 0 or (label.axes is not None and not label.axes.axison):
                continue
            assert box.x0 >= -1 and box.x1 <= page.width + 1, (name, lang, label.get_text())
            assert box.y0 >= -1 and box.y1 <= page.height + 1, (name, lang, label.get_text())
            words.append(label.get_text())
        text = "\n".join(words)
        assert missing(text) == set()
        assert bool(re.search(r"[\u4e00-\u9fff]", text)) == (lang == "zh")
        seen[lang] = sorted(re.findall(r"\d+\.\d+", text))
    assert seen["en"] == seen["zh"]  # the same figures in both


@pytest.mark.parametrize("name", ["traffic", "walk"])
def test_themed_svg_follows_the_page(name: str) -> None:
    html = FIGURES[name](lang="en").html()  # type: ignore[attr-defined]
    assert "var(--fa-q, #0072b2)" in html and "<style>" in html
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    other = FIGURES[name](lang="en").html()  # type: ignore[attr-defined]
    assert not set(ids) & set(re.findall(r'\bid="([^"]+)"', other))
    for used in chain(re.findall(r'href="#([^"]+)"', html), re.findall(r"url\(#([^)]+)\)", html)):
        assert used in ids
    assert re.search(r'aria-label="[^"]+\d', html)


def test_a_sheet_is_used_again() -> None:
    first = viz.softmax_bars([1, 2], 1)
    count = len(first.findobj(Label))
    assert viz.softmax_bars([1, 2], 1, figure=first) is first
    assert len(first.findobj(Label)) == count


def test_ablations_are_drawn_kind_by_kind_and_without_what_is_shipped_anyway() -> None:
    rows = measured.ablations(pass_="forward", head_dim=128, causal=True)
    figure = viz.ablation_bars(rows, lang="en", theme="light")
    said = [label.get_text() for label in _labels(figure)]
    assert {"tile 128 × 128", "8 warps", "3 stages"}.isdisjoint(said)
    kinds = [
        ["hidden tiles visited too"],
        ["tile 64 × 64", "tile 128 × 64"],
        ["4 warps"],
        ["1 stage", "4 stages"],
    ]
    order = [said.index(name) for names in kinds for name in names]
    assert order == sorted(order)
    shares = [int(text[:-1]) for text in said if re.fullmatch(r"\d+%", text)]
    assert shares[0] == min(shares) == 48 and len(shares) == 11
    assert "does not start: 289 KiB of shared memory, there are 227" in said  # four stages
    alt = figure.fa_alt  # type: ignore[attr-defined]
    assert "As shipped (tile 128 × 128, 8 warps, 3 stages): 529 TFLOP/s." in alt
    assert alt.endswith("leaves 48%: hidden tiles visited too.")
    row = rows[0]
    fast = replace(row, changed=replace(row.changed, tflops=1.3 * row.shipped.tflops))
    figure = viz.ablation_bars([row, fast], lang="en")
    FigureCanvasAgg(figure).draw()
    [bar] = [t for t in _labels(figure) if t.get_text() == "130%"]
    assert bar.get_window_extent().x1 < figure.axes[0].bbox.x1
    odd = replace(row.changed, variant="$x^$")  # no formula
    assert viz.ablation_bars([replace(row, changed=odd)]).svg()  # type: ignore[attr-defined]
    for wrong in (
        {"regime": "sustained"}, {"provider": "fa3"}, {"tflops": float("nan")}, {"tflops": -1.0},
        {"tflops": float("inf")}, {"tflops": "5"}, {"pass_": "x"},
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match="rows"):
            viz.ablation_bars([row, replace(row, changed=replace(row.changed, **wrong))])
    for nothing in (None, row.changed):
        with pytest.raises(ArgumentError, match="rows"):
            viz.ablation_bars([replace(row, shipped=None, changed=nothing)])
    for wrong in ([], rows[:1] + measured.ablations(pass_="backward", head_dim=128, causal=True)):
        with pytest.raises(ArgumentError, match="one pass and one case"):
            viz.ablation_bars(wrong)


def test_traffic_rows_are_the_whole_bill() -> None:
    for problem in (SQUARE, AttentionProblem(2, 4, 2, 33, 70, 24, 40, causal=True)):
        tile = TileShape(32, 16)
        for bill in (
            io_model.standard_forward_traffic(problem, tile),
            io_model.flash_forward_traffic(problem, tile),
        ):
            rows = traffic_rows(bill)
            assert sum(row.bytes for row in rows) == bill.total
            for phase, (read, write) in bill.phases.items():
                of = [r for r in rows if r.phase == phase]
                assert sum(r.bytes for r in of if r.way == "read") == read
                assert sum(r.bytes for r in of if r.way == "write") == write


def test_ladder_names_the_two_levels_of_the_a100_only() -> None:
    def said(key: str) -> str:
        return "".join(t.get_text() for t in _labels(ladder_figure(key, lang="en")))

    assert "20.25 MiB of L1 and shared memory, and 40 MiB of L2" in said("a100-40")
    assert "two levels" not in said("h200")
    for card in hardware.GPUS.values():
        ladder_figure(card)  # figures that are not published are said, not guessed


def test_tile_kinds_are_bottom_right() -> None:
    kinds = tile_kinds(AttentionProblem(len_q=2, len_k=6, causal=True), TileShape(2, 2))
    assert kinds == [["full", "full", "edge"]]


def test_kinds_of_tiles_are_told_apart_only_where_there_are_several() -> None:
    for causal, told in ((False, False), (True, True)):
        problem = AttentionProblem(len_q=16, len_k=16, causal=causal)
        figure = viz.score_tiles(problem, TileShape(4, 4), lang="en")
        said = " ".join(text.get_text() for text in figure.texts)
        assert ("skipped: 6" in said, "All 16 tiles" in said) == (told, not told)


def test_stages_are_named_by_their_tile_and_end_where_their_role_looked() -> None:
    figure = viz.stage_timeline(TIMELINE, stamps(), lang="en", theme="light")
    [ax] = figure.axes
    names = [text.get_text() for text in ax.texts]
    # a step makes the scores of its own tile and P V of the tile before; copies are a step ahead
    assert names.count("S 12") == names.count("PV 11") == names.count("p 12") == 2
    assert names.count("K 13") == names.count("V 12") == 1
    hatched = [bar for bar in ax.patches if bar.get_hatch()]
    assert len(hatched) == 16
    assert {round(bar.get_width()) for bar in hatched} == {760}
    assert "2,400 clocks: 1,200 until S is there, 700 for the softmax, 500 for" in figure.fa_alt  # type: ignore[attr-defined]


def test_lanes_point_where_strides_say() -> None:
    mine = lanes((6, 10), (4, 8), (1, 1), (12, 1))
    assert len(mine) == 32 and [lane.offset for lane in mine if lane.live] == [56, 57, 68, 69]


def test_exponents_are_fitted() -> None:
    assert fitted_exponent([1, 10, 100], [5, 500, 50_000]) == pytest.approx(2)


def test_moments_replay_the_trace() -> None:
    trace = _trace(causal=True, keep_values=True)
    every = moments(trace)
    assert len(every) == 10 + 4  # tiles seen, rows stored
    assert every[-1].moved == trace.ledger.reads + trace.ledger.writes
    assert len(every[-1].visited) == 10 and len(every[-1].stored) == 4
    assert {"q", "k", "v", "s", "p", "m", "l", "acc", "alpha"} <= set(every[0].values)


@pytest.mark.parametrize(
    "make",
    [
        lambda: viz.score_tiles(AttentionProblem(len_q=4096, len_k=4096), TileShape(16, 16)),
        lambda: viz.score_tiles(AttentionProblem(len_q=0, len_k=4)),
        lambda: viz.pointer_grid(10, 4, 3),
        lambda: viz.pointer_grid((3, 4), 2, 0),
        lambda: viz.pointer_grid((300, 300), (16, 16), (0, 0)),
        lambda: viz.memory_growth([128]),
        lambda: viz.roofline_figure("h200", {"x": -1.0}),
        lambda: viz.tile_walk(_trace(), 99),
        lambda: viz.softmax_bars("a, b"),
        lambda: viz.stage_timeline(TIMELINE, []),
        lambda: ladder_figure("a100-40", theme="sepia"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_drawn_is_said(make: Callable[[], Figure]) -> None:
    with pytest.raises(ArgumentError):
        make()


def test_too_many_tiles_are_refused_without_listing_them() -> None:
    problem = AttentionProblem(len_q=10**9, len_k=10**9)
    with pytest.raises(ArgumentError, match=r"tile|1000000000"):
        viz.score_tiles(problem, TileShape(1, 1))


def test_the_roofline_says_where_its_points_stand() -> None:
    points = {"decode": 1.0, "flash": (300.0, 5e14)}
    alt = viz.roofline_figure("h200", points, lang="en").fa_alt
    assert "decode: 1 FLOPs a byte, 4.8 TFLOP/s at most, modelled." in alt
    assert "flash: 300 FLOPs a byte, 500 TFLOP/s measured." in alt
