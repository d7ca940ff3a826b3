"""What Python and the browser both work out comes out the same: labels, walks, frames of a film."""

from __future__ import annotations

import base64
import json
import math
import random
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fa_toolkit.io_model import (
    fa1_forward_traffic,
    flash_forward_traffic,
    standard_forward_traffic,
    visible_pairs,
)
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.tiled import trace_flash_decode
from fa_toolkit.viz.flash_tiles.moment import moment
from fa_toolkit.viz.flash_tiles.state import TileState, traced
from fa_toolkit.viz.hbm_traffic.state import TENSORS, moves, trace
from fa_toolkit.viz.numbers import amount, plain, rate, subtrahend
from fa_toolkit.viz.player.words import both, filled
from fa_toolkit.viz.softmax_stepper import frames as softmax
from fa_toolkit.viz.softmax_stepper.sentences import formula, sentence
from fa_toolkit.viz.softmax_stepper.words import SAYS, UI

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")
SCRIPT = Path(__file__).parent / "js" / "parity.mjs"

draw = random.Random(5)
NUMBERS = [
    0.0, 1.0, -2.0, 0.135335, 1234.0, 999.5, 1000.5, 123456.7, 999999.4, 1e6, 2.5e9, 1e-4, 9.99e-5, -3e-7, 0.1, 100.0,
    0.0999999, 7.0, 64.0, 1536.0, 40 * 2**20, 1023.9, 1024.0, float("inf"), float("-inf"), float("nan"),
    *(draw.choice((-1, 1)) * 10 ** draw.uniform(-7, 9) for _ in range(300)),
    *(float(draw.randrange(10**7)) for _ in range(100)),
]  # fmt: skip
TEMPLATES = [
    ("a {0} b *{1}*", [2.0, 0.0189]),
    ("{1}{0}", [1e6, -0.5]),
    ("none", []),
    ("{0}", [0.25]),
]
WALKS = [
    (64, 64, 16, 16, 16, False), (64, 64, 16, 16, 32, True), (60, 60, 8, 16, 16, True), (1, 64, 16, 16, 16, False),
    (1, 50, 8, 64, 16, True), (33, 33, 8, 64, 8, True), (16, 16, 8, 4, 4, True), (40, 40, 24, 8, 64, False),
]  # fmt: skip
FILMS: dict[str, tuple[AttentionProblem, TileShape, bool]] = {
    "causal": (AttentionProblem(len_q=16, len_k=16, head_dim=8, causal=True), TileShape(4, 4), False),
    "ragged": (AttentionProblem(len_q=13, len_k=22, head_dim=4, causal=True), TileShape(4, 8), False),
    "window": (AttentionProblem(len_q=16, len_k=16, head_dim=4, window=(3, 0)), TileShape(4, 2), False),
    "backward": (AttentionProblem(len_q=12, len_k=12, head_dim=8, causal=True), TileShape(4, 4), True),
    "backward-ragged": (AttentionProblem(len_q=10, len_k=15, head_dim=4), TileShape(4, 8), True),
}  # fmt: skip

ROWS: list[tuple[list[float], list[int], list[list[float]] | None]] = [
    ([1, 2, 3, 4], [2, 2], None), ([4, 3, 2, 1], [2, 2], None), ([1000, 1001], [1, 1], None), ([0], [1], [[5]]),
    ([-5, -1, -3], [1, 2], [[1, 2, 3], [4, 5, 6], [-7, 8, 9]]), ([3, 3, 3, 3, 3], [4, 1], None),
    ([-10000, 10000], [1, 1], [[0.5], [1e-6]]), ([float(i % 7) / 3 for i in range(16)], [1, 5, 3, 7], None),
]  # fmt: skip
SOFTMAX_WORDS = both({**UI, **{f"say_{name}": text for name, text in SAYS.items()}})


def _problem(case: tuple[int, int, int, int, int, bool]) -> tuple[AttentionProblem, TileShape]:
    q, k, d, m, n, causal = case
    return AttentionProblem(len_q=q, len_k=k, head_dim=d, causal=causal), TileShape(m, n)


def _decoding() -> TileState:
    """Four splits of a cache of 32 keys that holds 30, two heads packed into rows."""
    draw = torch.Generator().manual_seed(3)
    q, k, v = (
        torch.randn(*shape, generator=draw) for shape in ((1, 2, 8), (1, 1, 32, 8), (1, 1, 32, 8))
    )
    lens = torch.tensor([30], dtype=torch.int32)
    return TileState(
        trace_flash_decode(
            q, k, v, seq_lens=lens, num_splits=4, tile=TileShape(4, 4), keep_values=True
        ),
        lang="en",
    )


def _state(name: str) -> TileState:
    problem, tile, backward = FILMS[name]
    run, error = traced(problem, tile, backward=backward, seed=3)
    assert error == ""
    return TileState(run, lang="en")


@pytest.fixture(scope="module")
def films() -> dict[str, TileState]:
    return {**{name: _state(name) for name in FILMS}, "decode": _decoding()}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, films: dict[str, TileState]) -> Any:
    """Everything asked of Node, in one process."""
    plain_json = {math.inf: "inf", -math.inf: "-inf"}
    asked = {
        "numbers": ["nan" if x != x else plain_json.get(x, x) for x in NUMBERS],
        "filled": TEMPLATES,
        "walks": [
            {"lenQ": q, "lenK": k, "d": d, "blockM": m, "blockN": n, "causal": c, "itemsize": 2}
            for q, k, d, m, n, c in WALKS
        ],
        "films": [
            {"head": dict(state.head), "blob": base64.b64encode(state.blob).decode()}
            for state in films.values()
        ],
        "softmaxes": [
            {"x": x, "blocks": blocks, "v": v, "words": SOFTMAX_WORDS[lang]}
            for x, blocks, v in ROWS
            for lang in ("en", "zh")
        ],
    }
    path = tmp_path_factory.mktemp("parity") / "asked.json"
    path.write_text(json.dumps(asked), encoding="utf-8")
    done = subprocess.run(
        [NODE or "", str(SCRIPT), str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_labels_are_the_same_strings(answers: Any) -> None:
    for x, found in zip(NUMBERS, answers["numbers"], strict=True):
        assert found["plain"] == plain(x), x
        assert found["four"] == plain(x, 4), x
        assert found["subtrahend"] == subtrahend(x), x
        if math.isfinite(x):
            assert found["amount"] == amount(abs(x)), x
            assert found["rate"] == rate(abs(x)), x
    assert answers["filled"] == [filled(template, values) for template, values in TEMPLATES]


@pytest.mark.parametrize("index", range(len(WALKS)), ids=[str(case) for case in WALKS])
def test_a_walk_is_the_traced_run_event_by_event(answers: Any, index: int) -> None:
    problem, tile = _problem(WALKS[index])
    walked = answers["walks"][index]
    for side, tape in zip(("standard", "flash"), trace(problem, tile), strict=True):
        wanted = moves(tape)
        assert walked[side]["phases"] == list(tape.phases)
        for name in ("phase", "program", "kind", "tensor", "bytes", "box"):
            assert walked[side][name] == wanted[name].ravel().tolist(), (side, name)


@pytest.mark.parametrize("index", range(len(WALKS)), ids=[str(case) for case in WALKS])
def test_a_walk_costs_what_the_io_model_says(answers: Any, index: int) -> None:
    problem, tile = _problem(WALKS[index])
    bills = {
        "standard": standard_forward_traffic(problem, tile),
        "flash": flash_forward_traffic(problem, tile),
        "fa1": fa1_forward_traffic(problem, tile),
    }
    walked = answers["walks"][index]
    assert walked["pairs"] == visible_pairs(problem)
    for name, bill in bills.items():
        found = {
            tensor: tuple(moved)
            for tensor, moved in zip(TENSORS, walked["byTensor"][name], strict=True)
            if any(moved)
        }
        assert found == dict(bill.by_tensor), name
    for run in walked["ends"]:
        assert run["totals"] == run["moved"] == [bills["standard"].total, bills["flash"].total]
        assert run["rising"]


@pytest.mark.parametrize("name", [*FILMS, "decode"])
@pytest.mark.parametrize("cut", ["tiles", "operations"])
def test_every_frame_of_a_film_is_pythons_moment(
    answers: Any, films: dict[str, TileState], name: str, cut: str
) -> None:
    state = films[name]
    assert state.tape is not None
    roll = answers["films"][list(films).index(name)][cut]
    frames = state.cuts[cut]
    assert len(roll) == len(frames)
    cols = -(-state.tape.keys // state.tape.tile.block_n)
    for step in range(0, len(frames), 1 if cut == "tiles" else 3):
        now, found = moment(state.tape, frames, step), roll[step]
        assert found["now"] == (-1 if now.now is None else now.now[0] * cols + now.now[1]), step
        assert found["done"] == sorted(r * cols + c for r, c in now.done), step
        assert found["lit"] == now.lit and tuple(found["moved"]) == now.moved, step
        assert found["stored"] == {k: sorted(v) for k, v in now.stored.items()}, step
        assert found["chip"].keys() == now.chip.keys(), step
        for key, (rows, width, *first) in found["chip"].items():
            values = now.chip[key]
            assert (rows, width) == values.shape
            assert np.allclose([float(x.replace("Infinity", "inf")) if isinstance(x, str) else x for x in first],
                               values.ravel()[:3], rtol=1e-6)  # fmt: skip


def _same(mine: Any, theirs: Any) -> bool:
    """Equal, numbers up to the last bits; the browser writes infinities as text."""
    if isinstance(mine, (list, tuple)):
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))
    if isinstance(mine, float) and theirs is not None:
        other = float(str(theirs).replace("Infinity", "inf"))
        return mine == other or math.isclose(mine, other, rel_tol=1e-6 if mine > 1e30 else 1e-12)
    return bool(mine == theirs)


@pytest.mark.parametrize("index", range(len(ROWS)), ids=[str(row[0][:4]) for row in ROWS])
def test_softmax_is_stepped_the_same_way_in_the_same_words(answers: Any, index: int) -> None:
    x, blocks, v = ROWS[index]
    run = softmax.run(x, blocks, v)
    for found, lang in zip(answers["softmaxes"][2 * index : 2 * index + 2], ("en", "zh"), strict=True):  # fmt: skip
        assert _same(run.whole, found["run"]["whole"]) and _same(run.out, found["run"]["out"])
        for rule, p in run.first.items():
            seen = float(str(found["run"]["first"][rule]).replace("Infinity", "inf"))
            both_nan = math.isnan(p) and math.isnan(seen)
            assert both_nan or math.isclose(p, seen, rel_tol=1e-6, abs_tol=1e-9), rule
        for view, frames in run.views.items():
            assert len(frames) == len(found["run"]["views"][view]) == len(found["said"][view])
            steps = zip(frames, found["run"]["views"][view], found["said"][view], strict=True)
            for frame, shown, said in steps:
                for name, value in asdict(frame).items():
                    close = _same(value, shown[name]) or (
                        name == "no_max" and math.isclose(value, float(shown[name]), rel_tol=1e-6)
                    )
                    assert close, (view, frame.kind, name, value, shown[name])
                with using(lang):
                    for open_, told in enumerate(said):
                        assert told["says"] == sentence(run, view, frame, asked=bool(open_))
                        rows = formula(run, view, frame, asked=bool(open_))
                        assert told["rows"] == [list(row) for row in rows]
