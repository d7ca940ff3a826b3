"""Every ablation still finds what it changes in the shipped kernels, and still computes attention."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench_fakes import FakeTimer

import fa_toolkit.kernels as kernels
from fa_toolkit.bench import ablations
from fa_toolkit.bench.editing import EVERY, Edit, edited, sources_of
from fa_toolkit.bench.edits import ABLATIONS, SHIPPED, Ablation
from fa_toolkit.errors import ArgumentError
from fa_toolkit.measured.variants import is_launch, variant_text
from fa_toolkit.problem import AttentionProblem

SOURCES = sources_of("fa_toolkit.kernels", ("flash_forward", "flash_backward"))
SOURCE = [each for each in ABLATIONS.values() if each.edits]
interpreted = pytest.mark.skipif(
    kernels.mode() != "interpreter", reason="small sizes, in the interpreter"
)


@pytest.mark.parametrize("name", ABLATIONS)
def test_there_are_words_for_each_in_both_languages(name: str) -> None:
    words = variant_text(name)
    assert words.en != words.zh and not words.zh.isascii()
    assert is_launch(name) is (ABLATIONS[name].launch is not None)


@pytest.mark.parametrize("ablation", SOURCE, ids=lambda each: each.name)
def test_every_edit_finds_its_place(ablation: Ablation) -> None:
    changed = edited(ablation.edits, SOURCES, ablation.name)
    assert changed
    for name, source in changed.items():
        compile(source, name, "exec")


def test_the_natural_exponential_leaves_no_base_two_behind() -> None:
    natural = ABLATIONS["natural exponential"]
    changed = {**SOURCES, **edited(natural.edits, SOURCES, natural.name)}
    assert any("tl.exp2(" in source for source in SOURCES.values())
    assert not any("exp2(" in source or "log2(" in source.replace("math.log2(math.e)", "")
                   for source in changed.values())  # fmt: skip


def test_an_edit_that_finds_nothing_is_an_error() -> None:
    stale = Edit(EVERY, "no such text anywhere", "")
    with pytest.raises(ArgumentError, match="stale"):
        edited([stale], SOURCES, "stale")


@interpreted
@pytest.mark.parametrize(
    ("ablation", "causal"),
    [(each, mask) for each in SOURCE for mask in (True, False) if mask or not each.causal_only],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_an_ablation_is_still_attention(ablation: Ablation, causal: bool) -> None:
    problem = AttentionProblem(1, 1, 1, 70, 70, 16, dtype="float32", causal=causal)
    rows = ablations.measure_ablations(
        problem, ("forward", "backward"), FakeTimer(), names=[ablation.name], device="cpu", rounds=1
    )
    assert [(row.provider, row.variant, row.failed) for row in rows] == [
        ("ours", variant, "") for _ in range(2) for variant in ("shipped", ablation.name)
    ]
    assert all(error < 1e-5 for row in rows for error in row.errors.values())


@interpreted
def test_skipping_is_what_the_ablation_takes_out() -> None:
    """Seen in the work done: without it a causal problem visits every tile, with it about half."""
    import torch

    problem = AttentionProblem(1, 1, 1, 256, 256, 16, dtype="float32", causal=True)
    q, k, v = (torch.randn(1, 1, 256, 16) for _ in range(3))
    visited = {}
    for ablation in (SHIPPED, ABLATIONS["no causal skipping"]):
        counted = [0]
        load = ablations.load(ablation)
        module = sys.modules[load.forward.__module__]
        real = module.online_softmax_step

        class Counting:
            """Counts the tiles that are folded in."""

            def __init__(self, fn: object, counted: list[int]) -> None:
                self.fn, self.counted = fn, counted

            def __call__(self, *args: object, **more: object) -> object:
                self.counted[0] += 1
                return self.fn(*args, **more)  # type: ignore[operator]

        vars(module)["online_softmax_step"] = Counting(real, counted)
        try:
            load.forward(q, k, v, causal=problem.causal)
        finally:
            vars(module)["online_softmax_step"] = real
        visited[ablation.name] = counted[0]
    rows = 256 // 64
    assert visited == {"shipped": rows * (rows + 1) // 2, "no causal skipping": rows * rows}


def test_the_shipped_kernels_stay_as_they_are() -> None:
    loaded = ablations.load(ABLATIONS["natural exponential"])
    assert loaded.forward is not kernels.flash_forward
    home = Path(str(sys.modules[loaded.forward.__module__].__file__)).parent
    assert home != Path(str(kernels.__file__)).parent
    copy = sys.modules[loaded.forward.__module__.rpartition(".")[0] + ".configuration"]
    assert copy is sys.modules["fa_toolkit.kernels.configuration"], "what is not changed is shared"
    assert kernels.flash_forward.__module__ == "fa_toolkit.kernels.flash_forward"


def test_a_launch_edit_replaces_what_it_names_and_keeps_the_rest() -> None:
    import torch

    module = sys.modules[ablations.load(ABLATIONS["4 stages"]).forward.__module__]
    problem = AttentionProblem(1, 1, 1, 64, 64, 64)
    plan = sys.modules["fa_toolkit.kernels.configuration"].choose_launch(
        problem, torch.device("cpu")
    )
    changed = module.choose_launch(problem, torch.device("cpu"))
    assert (changed.num_stages, changed.tile, changed.num_warps) == (4, plan.tile, plan.num_warps)
    tiles = sys.modules[ablations.load(ABLATIONS["tile 256x64"]).forward.__module__]
    changed = tiles.choose_launch(problem, torch.device("cpu"))
    assert (changed.tile.block_m, changed.tile.block_n) == (256, 64)
