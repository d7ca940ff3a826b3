"""Rates and peak memory as figures: what stands on them is what the rows say."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from fa_toolkit import measured
from fa_toolkit.bench.plots import draw
from fa_toolkit.errors import ArgumentError
from fa_toolkit.language import using
from fa_toolkit.measured.adopt import speed_of
from fa_toolkit.viz import fonts
from fa_toolkit.viz.figures.rates import apart, peak_memory, rate_lines

ROWS = measured.peers(pass_="forward", head_dim=128, causal=True, grouped=False, regime="burst")
UNPACED = measured.peers(
    pass_="forward", head_dim=128, causal=True, grouped=False, regime="unpaced"
)


def texts(figure: object) -> str:
    return " | ".join(t.get_text() for t in figure.findobj(lambda x: hasattr(x, "get_text")))  # type: ignore[attr-defined]


def test_the_figure_names_the_fastest_and_every_line() -> None:
    said = texts(rate_lines(ROWS, ceiling=799e12, where="NVIDIA H200", lang="en"))
    assert "At N = 16,384, FA3 is the fastest: 727 TFLOP/s." in said
    for name in ("FA3  727", "FA4  699", "SDPA cuDNN  621", "Triton tutorial 06  516"):
        assert name in said
    assert "matrix product: 799 TFLOP/s" in said and "NVIDIA H200" in said


def test_the_headline_calls_ours_by_a_name_in_the_figures_language() -> None:
    rows = measured.speeds(run_id="h200-side-by-side-3", pass_="forward", head_dim=128,
                           causal=False, regime="burst")  # fmt: skip
    for lang, name in (("en", "ours, for Hopper 718"), ("zh", "本工具包，Hopper 版 718")):
        assert name in rate_lines(rows, lang=lang).fa_alt  # type: ignore[attr-defined]


def test_a_number_left_out_is_a_gap_and_said() -> None:
    rows = [row for row in ROWS if row.provider in ("fa3", "sdpa_cudnn")]
    assert "Gaps" not in texts(rate_lines(rows, lang="en"))
    holed = [r for r in rows if (r.provider, r.problem.len_q) != ("fa3", 2048)]
    figure = rate_lines(holed, lang="en")
    assert "Gaps: not measured" in texts(figure)
    [line] = [x for x in figure.axes[0].lines if any(y != y for y in x.get_ydata())]  # type: ignore[union-attr]
    assert len(line.get_ydata()) == 6
    ended = [r for r in rows if r.provider != "fa3" or r.problem.len_q <= 8192]
    assert "Gaps" not in (said := texts(rate_lines(ended, lang="en"))) and " at 8,192" in said


def test_without_a_chinese_font_no_word_of_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "chinese_family", lambda: None)
    where = measured.run("h200-peers").provenance.line
    with using("zh"):
        said = texts(rate_lines(ROWS, where=where))
    assert "driver" in said and not re.search(r"[\u4e00-\u9fff，。（）]", said), said


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("run_id", [run.id for run in measured.runs() if run.speeds])
def test_names_at_the_line_ends_and_the_source_stay_on_the_page(run_id: str, lang: str) -> None:
    kinds = {
        (r.pass_, r.problem.head_dim, r.problem.causal) for r in measured.speeds(run_id=run_id)
    }
    for pass_, width, causal in sorted(kinds):
        rows = measured.speeds(run_id=run_id, pass_=pass_, head_dim=width, causal=causal)
        if not any(row.rate for row in rows):
            continue
        figure = rate_lines(rows, lang=lang, where=measured.run(run_id).provenance.line)
        FigureCanvasAgg(figure).draw()
        for label in figure.findobj(Text):
            if label.get_visible() and label.get_text().strip():
                # a browser's font may be a little wider than matplotlib's
                assert label.get_window_extent().x1 <= figure.bbox.width - 8, label.get_text()


def test_rows_without_pauses_do_not_win_and_are_told_apart() -> None:
    """flashinfer's 733 was not paced; FA3's 727 was."""
    figure = rate_lines((*ROWS, *UNPACED), lang="en")
    said = texts(figure)
    assert "FA3 is the fastest" in said and "flashinfer  733" in said
    assert "without pauses" in said and "without pauses" not in texts(rate_lines(ROWS, lang="en"))


def test_ours_is_compared_with_the_best_other() -> None:
    longest = max(row.problem.len_k for row in ROWS)
    problem = next(row.problem for row in ROWS if row.problem.len_k == longest)
    fa3 = next(r.milliseconds for r in ROWS if r.provider == "fa3" and r.problem == problem)
    assert fa3 is not None
    mine = speed_of("ours", "forward", problem, 2 * fa3)
    assert "50% of FA3" in texts(rate_lines((*ROWS, mine), lang="en"))


def test_mixed_or_missing_rows_are_refused() -> None:
    for rows in ((), (*ROWS, *measured.peers(pass_="backward"))):
        with pytest.raises(ArgumentError, match="rows"):
            rate_lines(rows)
    with pytest.raises(ArgumentError, match="rows"):
        peak_memory(measured.memory())  # forward and training


def test_memory_says_how_both_grow() -> None:
    rows = [row for row in measured.memory() if row.pass_ == "forward"]
    said = texts(peak_memory(rows, lang="en"))
    assert "eager" in said and "GiB" in said and "times the memory" in said


def test_names_at_line_ends_do_not_touch() -> None:
    crowded = {name: 0.5 + 0.001 * at for at, name in enumerate("abcdef")}
    placed = apart(crowded, least=0.05)
    heights = sorted(placed.values())
    assert min(b - a for a, b in pairwise(heights)) >= 0.05 - 1e-4
    assert sorted(placed, key=lambda n: placed[n]) == sorted(crowded, key=lambda n: crowded[n])
    assert apart({"a": 0.1, "b": 0.9}) == {"a": 0.1, "b": 0.9}


def test_a_run_becomes_files_light_and_dark(tmp_path: Path) -> None:
    import dataclasses

    run = measured.run("h200-peers")
    few = [r for r in run.speeds if (r.pass_, r.problem.head_dim) == ("forward", 256)]
    paths = draw(dataclasses.replace(run, speeds=tuple(few)), tmp_path, prefix="x_")
    assert {path.name for path in paths} == {
        f"x_forward_d256_{mask}_{theme}.png"
        for mask in ("causal", "full")
        for theme in ("light", "dark")
    }
    assert all(path.stat().st_size > 10_000 for path in paths)
