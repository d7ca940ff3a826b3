"""The players without a browser: steps, sentences, bills, pages, stills, and what is refused."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
import torch
import traitlets

from fa_toolkit import viz
from fa_toolkit.errors import ArgumentError
from fa_toolkit.io_model import (
    decode_traffic,
    fa1_forward_traffic,
    flash_backward_traffic,
    flash_forward_traffic,
    standard_forward_traffic,
    visited_tiles,
)
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.tiled import trace_flash_decode, trace_flash_forward, trace_standard_forward
from fa_toolkit.viz.flash_tiles import words as tile_words
from fa_toolkit.viz.flash_tiles.frames import CUTS, MOST_NUMBERS, frames
from fa_toolkit.viz.flash_tiles.state import DEFAULT_PROBLEM, DEFAULT_TILE
from fa_toolkit.viz.hbm_traffic import words as traffic_words
from fa_toolkit.viz.kernel_lines import words as kernel_words
from fa_toolkit.viz.player.words import SHELL
from fa_toolkit.viz.softmax_stepper import words as softmax_words

SMALL = AttentionProblem(len_q=12, len_k=12, head_dim=8, causal=True)
TILE = TileShape(4, 4)
MAKERS = [viz.tile_player, viz.traffic_player, viz.stepper]


def _bundle(player: Any) -> dict[str, Any]:
    bundle = player._repr_mimebundle_()
    return dict(bundle[0] if isinstance(bundle, tuple) else bundle)


def test_the_default_has_few_steps_and_one_for_every_tile() -> None:
    player = viz.tile_player(lang="en")
    assert 8 <= len(player.frames) - 1 <= 16
    tiles = [f for f in player.frames if f.say in ("first", "grows", "stays", "joins")]
    assert len(tiles) == visited_tiles(DEFAULT_PROBLEM, DEFAULT_TILE) == 10
    assert [f.say for f in player.frames].count("stored") == 4
    assert 8 <= viz.tile_player(SMALL, tile=TILE, backward=True).last <= 16


@pytest.mark.parametrize("backward", [False, True])
def test_the_last_figure_of_the_ledger_is_the_io_model(backward: bool) -> None:
    player = viz.tile_player(SMALL, tile=TILE, backward=backward)
    model = (flash_backward_traffic if backward else flash_forward_traffic)(SMALL, TILE)
    assert player.tape.moved()[-1].tolist() == [model.reads, model.writes]
    assert player.head["flash"]["bytes"] == model.total
    for cut in CUTS:
        assert player.cuts[cut][-1].stop == len(player.tape)
        stops = [f.stop for f in player.cuts[cut]]
        assert stops == sorted(set(stops)) and stops[0] == 0


def test_a_correction_tells_the_factor_that_was_applied() -> None:
    player = viz.tile_player(lang="en")
    grown = [f for f in player.frames if f.say == "grows"]
    assert grown and [f.asks is not None for f in player.frames].count(True) == 1
    for frame in grown:
        event = max(e for e in range(frame.start, frame.stop) if "alpha" in player.tape.values(e))
        alpha = player.tape.values(event)["alpha"]
        assert frame.numbers[1] == pytest.approx(float(alpha.min())) and alpha.min() < 1
    asked = next(f for f in player.frames if f.asks is not None)
    assert asked is grown[0] and asked.asks == asked.numbers[1]


WORDS = [
    tile_words.UI,
    tile_words.SAYS,
    traffic_words.UI,
    softmax_words.UI,
    kernel_words.UI,
    kernel_words.SAYS,
    softmax_words.SAYS,
    SHELL,
]


@pytest.mark.parametrize("words", WORDS)
def test_both_languages_have_the_same_fields_and_marks(words: dict[str, Any]) -> None:
    for name, text in words.items():
        for pattern in (r"\{\w+\}", r"\*([^*]*)\*", r"\|"):
            found = [sorted(re.findall(pattern, side)) for side in (text.en, text.zh)]
            if pattern == r"\*([^*]*)\*":  # marked words are translated, marked numbers are not
                found = [sorted(x for x in side if "{" in x) for side in found]
                assert text.en.count("*") == text.zh.count("*"), name
            assert found[0] == found[1], name


@pytest.mark.parametrize("backward", [False, True])
def test_every_sentence_has_its_numbers(backward: bool) -> None:
    for keep in (True, False):
        if backward:
            player = viz.tile_player(SMALL, tile=TILE, backward=True, lang="en")
        else:
            q = torch.randn(1, 1, 12, 8, generator=torch.Generator().manual_seed(2))
            made = trace_flash_forward(q, q, q, tile=TILE, causal=True, keep_values=keep)
            player = viz.tile_player(made, lang="en")
        for cut in CUTS:
            player.settings = {**player.settings, "detail": cut}
            for step, frame in enumerate(player.frames):
                assert len(frame.numbers) <= MOST_NUMBERS and frame.say in tile_words.SAYS
                for lang in ("en", "zh"):
                    player.lang = lang
                    said = player.caption(step)
                    assert "{" not in said and "nan" not in said and "*" not in said
    assert frames(player.tape)[0].stop == 0


def test_a_step_outside_is_moved_inside_and_settings_choose_the_cut() -> None:
    player = viz.tile_player(lang="en")
    player.step = 999
    assert player.step == player.last == 14
    player.settings = {**player.settings, "detail": "operations"}
    assert player.last > 14
    player.step = -5
    assert player.step == 0
    with pytest.raises(traitlets.TraitError):
        player.lang = "fr"


@pytest.mark.parametrize(
    ("problem", "tile", "said"),
    [
        (AttentionProblem(len_q=10**6, len_k=10**6), TileShape(), "244,140,625"),
        (AttentionProblem(len_q=0, len_k=16), TileShape(4, 4), "0 queries"),
        (AttentionProblem(len_q=8, len_k=0), TileShape(4, 4), "0 keys"),
    ],
)
def test_sizes_that_cannot_be_played_are_one_line(
    problem: AttentionProblem, tile: TileShape, said: str
) -> None:
    player = viz.tile_player(problem, tile=tile, lang="en")
    assert said in player.error and "\n" not in player.error and str(player) == player.error
    assert "layout" not in player.head and said in player.to_html()
    assert "text/plain" in _bundle(player)
    with pytest.raises(ArgumentError):
        player.to_svg()
    traffic = viz.traffic_player(
        AttentionProblem(len_q=problem.len_k, len_k=problem.len_k), tile=tile, lang="en"
    )
    assert (traffic.error == "") == (problem.len_k == 16)


def test_blocks_larger_than_the_sequence_are_one_tile() -> None:
    player = viz.tile_player(AttentionProblem(len_q=3, len_k=5, head_dim=2), tile=TileShape(64, 64))
    assert [f.say for f in player.frames] == ["start", "first", "stored"]
    assert player.head["shapes"]["s"] == (3, 5)


def test_what_is_no_trace_is_refused_with_the_next_thing_to_try() -> None:
    q = torch.zeros(1, 1, 4, 4)
    for odd in (3, "flash", object(), trace_standard_forward(q, q, q)):
        with using("en"), pytest.raises(ArgumentError, match="trace_flash_forward"):
            viz.tile_player(odd)
    with pytest.raises(ArgumentError, match="detail"):
        viz.tile_player(detail="lines")
    for bad in (AttentionProblem(heads_q=2, heads_kv=2, len_q=4, len_k=4), "N"):
        with pytest.raises(ArgumentError, match="problem"):
            viz.traffic_player(bad)  # type: ignore[arg-type]


def test_many_numbers_are_left_out_and_the_widget_says_so() -> None:
    q = torch.zeros(1, 1, 512, 64)
    made = trace_flash_forward(q, q, q, tile=TileShape(64, 64), keep_values=True)
    player = viz.tile_player(made, lang="en")
    assert not player.tape.has_values and player.head["wanted"] > player.head["most"] == 2**18
    assert len(player.blob) < 100_000
    assert "at most {most}" in player.head["words"]["en"]["toomany"]


def test_the_traffic_player_follows_its_sliders() -> None:
    player = viz.traffic_player(lang="en")
    assert player.bills["standard"].transfers == 6 and player.bills["flash"].transfers == 2
    before = {name: bill.total for name, bill in player.bills.items()}
    player.settings = {**player.settings, "n": 1024}
    assert player.problem.len_q == player.problem.len_k == 1024
    for name, bill in player.bills.items():
        assert 3.4 < bill.total / before[name] < 4.01  # both byte counts grow about four times
    player.settings = {**player.settings, "order": "fa1"}
    assert player.bills["flash"] == fa1_forward_traffic(player.problem, player.tile)
    player.settings = {**player.settings, "order": "fa2", "m": 256}
    taller = flash_forward_traffic(player.problem, TileShape(256, 128)).by_tensor["K"][0]
    assert (
        taller * 2 == flash_forward_traffic(player.problem, TileShape(128, 128)).by_tensor["K"][0]
    )
    player.settings = {**player.settings, "one": True}
    assert player.problem.len_q == 1
    assert (
        standard_forward_traffic(player.problem, player.tile).total
        < 1.05 * player.bills["flash"].total
    )


@pytest.mark.parametrize("make", MAKERS, ids=[make.__name__ for make in MAKERS])
def test_a_page_of_its_own_needs_nothing_else(make: Any, tmp_path: Any) -> None:
    player = make(lang="zh")
    player.step = 3
    path = tmp_path / "page.html"
    page = player.to_html(path, theme="dark")
    assert path.read_text(encoding="utf-8") == page
    code = re.sub(r"/\*\*.*?\*/", "", page, flags=re.S)  # types name modules in comments
    assert not re.findall(r"""(?:src|href)\s*=|url\(|import\b|https?://(?!www\.w3\.org)""", code)
    assert page.count("export default") == 0 and "const widget = { render }" in page
    found = re.search(r'id="fa-state">(.*?)</script>', page, re.S)
    assert found
    state = json.loads(found[1].replace("\\u003c", "<"))
    assert base64.b64decode(state["blob"]) == player.blob and state["step"] == 3
    assert state["lang"] == "zh" and state["head"].keys() == player.head.keys()
    assert len(page) < 200_000


@pytest.mark.parametrize("make", MAKERS, ids=[make.__name__ for make in MAKERS])
def test_outputs_without_a_front_end(make: Any) -> None:
    player = make(lang="en")
    data = _bundle(player)
    assert data["text/plain"] == str(player) and str(player).count("\n") > 8
    assert data["text/html"].startswith("<iframe") and "srcdoc=" in data["text/html"]
    assert data["text/html"].count("<") == 2  # everything inside is escaped
    assert "application/vnd.jupyter.widget-view+json" in data


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_stills_show_the_step_on_show(lang: str, tmp_path: Any) -> None:
    for backward in (False, True):
        player = viz.tile_player(SMALL, tile=TILE, backward=backward, lang=lang)
        seen = set()
        for step in (0, 5, player.last):
            player.step = step
            svg = player.to_svg(tmp_path / "a.svg", theme="dark")
            assert svg.startswith("<svg") and player.caption().split(",")[0][:12] in svg
            seen.add(svg)
        assert len(seen) == 3
        assert player.to_png(dpi=40).startswith(b"\x89PNG")
    assert viz.traffic_player(lang=lang).to_png(tmp_path / "b.png", dpi=40)[:4] == b"\x89PNG"
    wide = viz.tile_player(AttentionProblem(len_q=40, len_k=40, head_dim=2), tile=TileShape(2, 2))
    with pytest.raises(ArgumentError, match="16"):
        wide.to_png()


def test_decoding_is_played_split_by_split_and_merged() -> None:
    draw = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(*s, generator=draw) for s in ((1, 2, 8), (1, 1, 32, 8), (1, 1, 32, 8)))
    lens = torch.tensor([30], dtype=torch.int32)
    made = trace_flash_decode(q, k, v, seq_lens=lens, num_splits=4, tile=TILE, keep_values=True)
    player = viz.tile_player(made, lang="en")
    says = [frame.say for frame in player.frames]
    assert says.count("split_stored") == 4 and says.count("merge") == 2 and len(says) == 15
    assert player.tape.moved()[-1].tolist() == [made.ledger.reads, made.ledger.writes]
    problem = AttentionProblem(
        heads_q=2, heads_kv=1, len_q=1, len_k=30, head_dim=8, dtype="float32"
    )
    assert made.ledger.total == decode_traffic(problem, splits=4).total
    assert (player.head["lenQ"], player.head["lenK"], player.head["splits"]) == (2, 30, 4)
    assert "are merged" in str(player) and player.to_png(dpi=40).startswith(b"\x89PNG")
    for lang in ("en", "zh"):
        player.lang = lang
        for cut in CUTS:
            player.settings = {**player.settings, "detail": cut}
            said = [player.caption(step) for step in range(len(player.frames))]
            assert not any("nan" in text or "{" in text for text in said)


def test_a_notebook_that_is_not_there_is_refused() -> None:
    with pytest.raises(ArgumentError, match="notebook"):
        viz.notebook_page("nowhere.ipynb")
