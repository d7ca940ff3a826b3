"""The kernel view without a browser: what it takes from a recording, its steps, sentences, errors."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fa_toolkit import course, kernels, viz
from fa_toolkit.errors import ArgumentError
from fa_toolkit.io_model import flash_forward_traffic
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem, TileShape
from fa_toolkit.viz.kernel_lines.frames import CUTS
from fa_toolkit.viz.kernel_lines.listing import functions
from fa_toolkit.viz.kernel_lines.sentences import question, sentence, span

pytestmark = pytest.mark.skipif(
    kernels.mode() != "interpreter", reason="only the interpreter can be watched"
)
NODE = shutil.which("node")
PROBLEM = AttentionProblem(len_q=7, len_k=7, head_dim=12, dtype="float32", causal=True)
SOURCE = "def k(x_ptr):\n    a = 1\n    return a\n"


@pytest.fixture(scope="module")
def forward() -> Any:
    with using("en"):
        return course.kernel_view(beside={"tile": TileShape(8, 4)})


@pytest.fixture(scope="module")
def adding() -> Any:
    with using("en"):
        x = torch.arange(10.0)
        return course.kernel_view(kernels.vector_add, x, x, block=4, cut="lines")


def test_the_bill_is_the_io_models_for_both_blocks(forward: Any) -> None:
    assert forward.names == ["4 × 4", "8 × 4"]
    for made, tile in zip(forward.reels, (TileShape(4, 4), TileShape(8, 4)), strict=True):
        model = flash_forward_traffic(PROBLEM, tile)
        assert made.moved == (model.reads, model.writes)
        assert made.programs == -(-7 // tile.block_m)
    assert 8 <= len(forward.reels[0].cuts["labels"]) - 1 <= 18


def test_every_cut_runs_every_line_once_and_programs_do_not_mix(forward: Any, adding: Any) -> None:
    for made in (*forward.reels, *adding.reels):
        for cut in CUTS:
            stops = made.cuts[cut].tolist()
            assert stops[0] == 0 and stops[-1] == len(made) and stops == sorted(set(stops))
            spans = [span(made, cut, step) for step in range(1, len(stops))]
            assert [s.start for s in spans[1:]] == [s.stop for s in spans[:-1]]
            assert (spans[0].first, spans[-1].end) == (0, len(made.columns["visit"]))
            for here in spans:
                assert len(set(made.columns["program"][here.start : here.stop])) == 1
        assert len(made.cuts["programs"]) == made.programs + 1


def test_labelled_parts_are_those_of_the_kernel(forward: Any) -> None:
    made = forward.reels[0]
    stops = made.cuts["labels"]
    parts = [made.labels[made.columns["label"][stop - 1]] for stop in stops[1:]]
    first = parts[: parts.index("store") + 1]
    assert first == ["", "load_q", "load_kv", "scores", "mask", "update", "store"]
    for step, part in enumerate(parts, 1):
        here = span(made, "labels", step)
        kinds = set(made.columns["kind"][here.first : here.end].tolist())
        assert kinds == ({0} if part.startswith("load") else {1} if part == "store" else set())


@pytest.mark.parametrize("cut", ["programs", "labels", "lines"])
def test_it_opens_at_a_labelled_part(cut: str) -> None:
    for label in ("load_q", "mask", "store"):
        view = course.kernel_view(cut=cut, start=label)
        made = view.reels[0]
        named = [made.labels[i] for i in made.columns["label"]]
        ends = made.cuts[view.cut][: view.step + 1].tolist()
        assert label in named[ends[-2] : ends[-1]]
        assert label not in [named[end - 1] for end in ends[1:-1]], "the first of its kind"
        assert cut == "programs" or named[ends[-1] - 1] == label
    with pytest.raises(ArgumentError, match=r"start.*load_q.*store.*'stores'"):
        course.kernel_view(start="stores")


def test_masked_lanes_stand_outside_the_tensor(forward: Any) -> None:
    made = forward.reels[0]
    c = made.columns
    for i in range(len(c["visit"])):
        plate = made.plates[c["tensor"][i]]
        mask = c["mask"][c["mask_at"][i] : c["mask_at"][i + 1]].reshape(c["lanes"][i])
        rows, cols = (c["start"][i][axis] + np.arange(mask.shape[axis]) for axis in (0, 1))
        inside = (rows[:, None] < plate.rows) & (cols[None, :] < plate.cols)
        assert (mask.astype(bool) == inside).all(), plate.name  # also K, which is loaded transposed
        assert c["off"][i] == (~inside).sum() and c["bytes"][i] == 4 * inside.sum()


def test_the_source_on_show_holds_every_line_that_ran(forward: Any, adding: Any) -> None:
    for view in (forward, adding):
        shown = {number for number, _ in view.source}
        for made in view.reels:
            assert set(made.columns["line"].tolist()) <= shown
    text = "\n".join(line for _, line in forward.source)
    assert "def flash_forward_kernel(…):" in text and "def online_softmax_step" in text
    assert "class ForwardLaunch" not in text
    code = forward.code
    made = forward.reels[0]
    for i, visit in enumerate(made.columns["visit"]):
        wanted = "tl.store" if made.columns["kind"][i] else "tl.load"
        assert wanted in code[int(made.columns["line"][visit])]


def test_sentences_are_whole_in_both_languages_and_hide_the_answer(forward: Any) -> None:
    made = forward.reels[0]
    steps = range(len(made.cuts["labels"]))
    asked = [step for step in steps if question(made, "labels", step) is not None]
    assert asked == [2]
    for lang in ("en", "zh"):
        with using(lang):
            for cut in CUTS:
                for step in range(len(made.cuts[cut])):
                    said = sentence(made, cut, step, forward.code)
                    assert "{" not in said.replace("{}", "") and said
            asks = sentence(made, "labels", 2, forward.code, asked=True)
            told = sentence(made, "labels", 2, forward.code)
        assert "4 × 16" in asks and "16 " in told and "16" not in asks.replace("4 × 16", "")


def test_a_kernel_without_labels_is_cut_by_lines(adding: Any) -> None:
    made = adding.reels[0]
    assert (made.cuts["labels"] == made.cuts["lines"]).all() and made.programs == 3
    assert [p.name for p in made.plates] == ["x_ptr", "y_ptr", "out_ptr"]
    assert [p.stored for p in made.plates] == [False, False, True]
    assert "x_ptr[8:10]" in str(adding) and "2 of 4 lanes masked off" in str(adding)


def test_accesses_alone_are_enough_and_one_kernel_is_chosen() -> None:
    x = torch.arange(6.0)

    def both() -> torch.Tensor:
        return kernels.row_softmax(kernels.vector_add(x, x, block=4).reshape(2, 3))

    recording = kernels.record(both)
    file = Path(recording.files["vector_add_kernel"]).read_text("utf-8")
    view = viz.kernel_view(recording, file, lang="en")
    assert view.reels[0].kernel == "vector_add_kernel" and len(view.reels[0]) == 6
    other = next(name for name in recording.files if name != "vector_add_kernel")
    text = Path(recording.files[other]).read_text("utf-8")
    assert viz.kernel_view(recording, text, kernel=other).reels[0].moved == (24, 24)


def test_what_cannot_be_shown_is_refused_with_a_sentence() -> None:
    recording = kernels.record(kernels.vector_add, torch.ones(4), torch.ones(4))
    with using("en"):
        for odd in (None, 3, "x", [recording]):
            with pytest.raises(ArgumentError, match=r"recording.*record_lines"):
                viz.kernel_view(odd, SOURCE)
        for source, said in ((SOURCE, "first_line"), ("def (", "source"), (b"x", "source")):
            with pytest.raises(ArgumentError, match=said):
                viz.kernel_view(recording, source)  # type: ignore[arg-type]
        file = Path(recording.files["vector_add_kernel"]).read_text("utf-8")
        with pytest.raises(ArgumentError, match="vector_add_kernel"):
            viz.kernel_view(recording, file, kernel="matmul_kernel")
        with pytest.raises(ArgumentError, match="names"):
            viz.kernel_view(recording, file, names=("a", "b"))
        with pytest.raises(ArgumentError, match="cut"):
            viz.kernel_view(recording, file, cut="words")
        with pytest.raises(ArgumentError, match="launches a kernel"):
            course.kernel_view(torch.zeros, 3)
    assert functions(SOURCE, 1, [2]) == [(1, 3)]


def test_ways_out_of_the_notebook(forward: Any, adding: Any) -> None:
    for view in (forward, adding):
        page = view.to_html()
        assert not re.findall(
            r"""(?:src|href)\s*=\s*["']http|url\(|https?://(?!www\.w3\.org)""", page
        )
        seen = set()
        for lang in ("en", "zh"):
            view.lang = lang
            for step in (0, view.last // 2, view.last):
                view.step = step
                seen.add(view.to_svg(theme="dark"))
            assert str(view).count("\n") >= min(view.last, 39)
        assert len(seen) == 6 and view.to_png(dpi=40).startswith(b"\x89PNG")
        view.lang, view.step = "en", 0
        bundle = view._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        assert data["text/html"].startswith("<iframe") and data["text/html"].count("<") == 2


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_the_browser_says_the_same(forward: Any, adding: Any, tmp_path: Path) -> None:
    views = [(view, lang) for view in (forward, adding) for lang in ("en", "zh")]
    asked = [{"head": dict(view.head), "blob": base64.b64encode(view.blob).decode(), "lang": lang}
             for view, lang in views]  # fmt: skip
    path = tmp_path / "asked.json"
    path.write_text(json.dumps({"kernels": asked}), encoding="utf-8")
    script = Path(__file__).parent / "js" / "parity.mjs"
    done = subprocess.run(
        [NODE or "", str(script), str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for (view, lang), found in zip(views, json.loads(done.stdout)["kernels"], strict=True):
        for made, by_cut in zip(view.reels, found, strict=True):
            for cut in CUTS:
                assert len(by_cut[cut]) == len(made.cuts[cut])
                for step, seen in enumerate(by_cut[cut]):
                    here = span(made, cut, step)
                    assert seen["span"] == [here.start, here.stop, here.first, here.end]
                    access = question(made, cut, step)
                    assert seen["asks"] == (-1 if access is None else access)
                    with using(lang):
                        assert seen["says"] == [
                            sentence(made, cut, step, view.code, asked=open_)
                            for open_ in (False, True)
                        ]
