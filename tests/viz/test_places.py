"""The ladder and the chooser: figures of the package, the same sums in Python and in the browser."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fa_toolkit import hardware, measured, viz
from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.io_model import (
    flash_forward_traffic,
    forward_flops,
    roofline,
    standard_forward_traffic,
)
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.viz.block_choice import words as choice_words
from fa_toolkit.viz.block_choice.state import PATH
from fa_toolkit.viz.memory_levels import levels as rows
from fa_toolkit.viz.memory_levels import words as ladder_words
from fa_toolkit.viz.numbers import duration

NODE = shutil.which("node")
SCRIPT = Path(__file__).parent / "js" / "places.mjs"
TENSORS = [("q", 4096, 64), ("k", 512, 128), ("s", 2048, 64), ("s", 4096, 64), ("s", 65536, 64),
           ("heads", 4096, 64), ("heads", 1 << 20, 64)]  # fmt: skip
PROBLEMS = [
    (1024, 1024, 64, 128, 64, True), (1000, 1000, 64, 128, 48, True), (1, 777, 128, 64, 64, False),
    (1, 50, 8, 16, 16, True),
    (300, 900, 64, 16, 256, True), (4096, 4096, 128, 256, 32, False), (100, 100, 32, 256, 256, True),
]  # fmt: skip
MAKERS = {"ladder": viz.memory_ladder, "chooser": viz.block_chooser}
DURATIONS = [2.0, 1.5e-3, 4.2e-7, 5e-10, 0.9996, 21.6e-6, 1.0, 1e-3]
each_player = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@pytest.mark.parametrize("words", [ladder_words.UI, choice_words.UI], ids=MAKERS)
def test_both_languages_have_the_same_fields_and_marks(words: dict[str, Any]) -> None:
    for name, text in words.items():
        fields = [sorted(re.findall(r"\{\w+\}", side)) for side in (text.en, text.zh)]
        assert fields[0] == fields[1], name
        assert text.en.count("*") == text.zh.count("*"), name


def test_every_figure_of_a_ladder_is_the_records_and_has_its_source() -> None:
    for card in hardware.GPUS.values():
        found = rows.levels(card)
        assert [row.name for row in found] == list(rows.LEVELS)
        for row, rung in zip(found, hardware.ladder(card), strict=False):
            assert (row.bytes, row.bandwidth, row.latency) == (
                rung.bytes,
                rung.bandwidth,
                rung.latency,
            )
        for row in found:
            for figure, source in (("bandwidth", row.bandwidth), ("latency", row.latency)):
                assert (figure in row.sources) == (source is not None), (card.key, row.name)
            assert all(len(text) > 15 for text in row.sources.values())
        assert found[-1].bandwidth == card.host_bandwidth and found[-1].bytes is None


def test_a_tensor_fits_first_where_it_has_room() -> None:
    ladder = viz.memory_ladder("a100-40", lang="en")
    assert (ladder.bytes, ladder.first, ladder.last) == (2**25, "l2", 7)
    for n, first in ((1024, "registers"), (4096, "l2"), (8192, "hbm"), (1 << 20, "host")):
        ladder.settings = {**ladder.settings, "n": n}
        assert ladder.first == first
    ladder.settings = {**ladder.settings, "gpu": "h200"}
    assert ladder.last == 6  # the claim is about the A100


@pytest.mark.parametrize("n", [0, -4, 1 << 21])
@each_player
def test_sizes_that_cannot_be_shown_are_one_line(make: Any, n: int) -> None:
    player = make(n=n, lang="en")
    assert player.error and "\n" not in player.error and str(player) == player.error
    assert "layout" not in player.head and player.error.split(":")[0] in player.to_html()
    with pytest.raises(ArgumentError):
        player.to_svg()


def test_what_is_unknown_is_refused_with_what_is_known() -> None:
    with pytest.raises(UnknownNameError, match="a100"):
        viz.memory_ladder("a100x")
    with using("en"), pytest.raises(ArgumentError, match="heads"):
        viz.memory_ladder(tensor="o")
    for make in MAKERS.values():
        with pytest.raises(ArgumentError, match="n: "):
            make(n="many")
    with using("en"), pytest.raises(ArgumentError, match=r"64 \| 128"):
        viz.block_chooser(head_dim=96)
    with using("en"), pytest.raises(ArgumentError, match="h100-sxm"):
        viz.block_chooser("t4")


def test_the_recorded_kernels_fit_what_they_are_recorded_for() -> None:
    every = measured.compiled_tiles()
    assert len({(r.capability, r.head_dim, r.causal, r.tile) for r in every}) == len(every) == 200
    made = measured.compiled_provenance()
    assert made.versions["triton"] and made.versions["ptxas"] and "compile_grid" in made.command
    limits = {
        int(c.arch[3:]): c.shared_per_block for c in hardware.GPUS.values() if c.vendor == "NVIDIA"
    }
    for row in every:
        assert row.limit == limits[row.capability]
        if row.failed:
            assert row.bound > row.limit and row.shared is row.registers is None
            continue
        assert row.shared is not None and row.registers is not None
        assert 0 < row.shared <= row.bound <= row.limit and 24 < row.registers <= 255
        assert row.warps in (4, 8) and row.tensor_cores in ("mma", "wgmma")
    defaults = [row for row in every if row.default]
    assert len(defaults) == 8
    assert all(row.spills == 0 for row in defaults)


def test_programs_are_limited_by_what_runs_out_first() -> None:
    card = hardware.gpu("a100-40")
    row = measured.find_compiled(card, TileShape(16, 16))
    assert row.registers is not None and row.shared is not None
    by_shared = card.need("shared_per_sm") // (row.shared + 1024)
    by_registers = 65536 // (row.registers * 32 * row.warps)
    assert row.programs_per_sm(card) == min(by_shared, by_registers, 64 // row.warps) > 1
    refused = measured.find_compiled(card, TileShape(256, 256), head_dim=128)
    assert refused.failed and refused.programs_per_sm(card) == 0
    with pytest.raises(ArgumentError, match="sm_75"):
        measured.find_compiled(hardware.gpu("t4"), TileShape(16, 16))


def test_the_walk_doubles_block_m_and_then_block_n() -> None:
    chooser = viz.block_chooser(lang="en")
    ratios = []
    for step in range(1, chooser.last):
        chooser.step = step
        bill = flash_forward_traffic(chooser.problem, chooser.tile)
        assert chooser.bills["flash"] == bill
        ratios.append(chooser.intensity)
    rises = [b / a for a, b in itertools.pairwise(ratios[:5])]
    assert all(1.8 < rise < 2.01 for rise in rises)  # BLOCK_M doubles what a byte is worth
    assert max(ratios[5:]) / min(ratios[5:]) < 1.1  # BLOCK_N does not
    chooser.step = chooser.last
    assert chooser.row is not None and chooser.row.default
    assert PATH[-1][0] == "default" and 8 <= chooser.last <= 16


def test_a_click_chooses_and_a_button_loads_the_tile_player() -> None:
    chooser = viz.block_chooser("h100", head_dim=128, lang="en")
    chooser.step = 2
    chooser.settings = {**chooser.settings, "tile": [64, 128], "at": 2}
    assert chooser.tile == TileShape(64, 128)
    chooser.step = 3
    assert chooser.tile == TileShape(64, 64)  # the click was for another step
    assert not chooser.settings["player"], "no button for a player that is not there"
    player = chooser.player
    assert chooser.settings["player"]
    assert player.tape is not None and player.tape.tile == TileShape(64, 64)
    player.step = 5
    seen = []
    player.observe(lambda change: seen.append(change.name), ["head", "blob"])
    chooser.settings = {**chooser.settings, "load": "128x32"}
    assert chooser.settings["loaded"] == "128x32" and chooser.player is player
    assert player.tape.tile == TileShape(128, 32) and player.step == 0
    assert seen == ["blob", "head"]  # the browser rebuilds on head, so the bytes come first
    assert player.head["lenQ"] == 512 and player.head["footprint"]["shared"] > 0
    player.step = player.last
    total = flash_forward_traffic(player.tape.problem, player.tape.tile).total
    assert player.tape.moved()[-1].sum() == total


@each_player
def test_a_page_of_its_own_needs_nothing_else(make: Any, tmp_path: Path) -> None:
    player = make(lang="zh")
    player.step = 3
    page = player.to_html(tmp_path / "page.html", theme="dark")
    code = re.sub(r"/\*\*.*?\*/", "", page, flags=re.S)
    assert not re.findall(r"""(?:src|href)\s*=|url\(|import\b|https?://(?!www\.w3\.org)""", code)
    found = re.search(r'id="fa-state">(.*?)</script>', page, re.S)
    assert found
    state = json.loads(found[1].replace("\\u003c", "<"))
    assert base64.b64decode(state["blob"]) == player.blob and state["step"] == 3
    assert len(page) < 120_000


@each_player
def test_outputs_without_a_front_end_and_stills(make: Any) -> None:
    for lang in ("en", "zh"):
        player = make(lang=lang)
        bundle = player._repr_mimebundle_()
        data = dict(bundle[0] if isinstance(bundle, tuple) else bundle)
        assert data["text/plain"] == str(player) and str(player).count("\n") > 4
        assert data["text/html"].startswith("<iframe")
        assert player.to_svg(theme="dark").startswith("<svg")
        assert player.to_png(dpi=40).startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Everything asked of Node, in one process."""
    if NODE is None:
        pytest.skip("Node is not installed")
    made = {name: make(lang="en") for name, make in MAKERS.items()}
    sent = {
        name: {"head": dict(p.head), "blob": base64.b64encode(p.blob).decode()}
        for name, p in made.items()
    }
    names = ("lenQ", "lenK", "d", "blockM", "blockN", "causal")
    asked = {
        "ladder": {"state": sent["ladder"], "tensors": TENSORS},
        "chooser": {"state": sent["chooser"]},
        "problems": [{**dict(zip(names, case, strict=True)), "itemsize": 2} for case in PROBLEMS],
        "durations": DURATIONS,
    }
    path = tmp_path_factory.mktemp("places") / "asked.json"
    path.write_text(json.dumps(asked), encoding="utf-8")
    done = subprocess.run(
        [str(NODE), str(SCRIPT), str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_the_browser_places_tensors_as_python_does(answers: Any) -> None:
    found = answers["ladders"]
    assert found["bytes"] == [rows.tensor_bytes(*tensor) for tensor in TENSORS]
    assert {gpu[0]["key"] for gpu in found["gpus"]} == set(hardware.GPUS)
    for gpu in found["gpus"]:
        card = hardware.GPUS[gpu[0]["key"]]
        for size, entry in zip(found["bytes"], gpu, strict=True):
            assert entry["first"] == rows.first_fit(card, size)
            assert entry["seconds"] == pytest.approx(list(rows.passes(card, size)))
    assert answers["durations"] == [duration(x) for x in DURATIONS]


def test_the_browser_counts_bytes_as_the_io_model_does(answers: Any) -> None:
    for case, found in zip(PROBLEMS, answers["sums"], strict=True):
        q, k, d, m, n, causal = case
        problem = AttentionProblem(len_q=q, len_k=k, head_dim=d, causal=causal)
        tile = TileShape(m, n)
        assert found["flash"] == flash_forward_traffic(problem, tile).total, case
        assert found["standard"] == standard_forward_traffic(problem, tile).total, case
        assert found["flops"] == forward_flops(problem), case


def test_the_browser_counts_programs_as_python_does(answers: Any) -> None:
    seen = answers["choices"]
    assert len(seen) == 100 * len(viz.block_chooser(lang="en").head["gpus"])
    for entry in seen:
        card = hardware.GPUS[entry["gpu"]]
        row = measured.find_compiled(
            card, TileShape(entry["m"], entry["n"]), head_dim=entry["d"], causal=entry["causal"]
        )
        assert entry["programs"] == row.programs_per_sm(card) and entry["standard"] == row.default
        assert entry["roof"] == pytest.approx(roofline(card).attainable(100))
