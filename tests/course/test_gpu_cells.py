"""GPU cells: measured where there is a GPU, one sentence and the recorded figure elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fa_toolkit import course, language, measured
from fa_toolkit.bench import providers
from fa_toolkit.course import gpu_cells, gpu_choice, gpu_live, session
from fa_toolkit.course.cards import Card
from fa_toolkit.errors import ArgumentError, BackendUnavailable, UnknownNameError
from fa_toolkit.language import using
from fa_toolkit.measured import Ceiling

CARD = "NVIDIA Test 9000"


@pytest.fixture(autouse=True)
def undecided(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(gpu_choice.VARIABLE, raising=False)
    language.choose("en")
    yield
    gpu_choice._chosen.clear()
    language._started.clear()


def with_gpu(monkeypatch: pytest.MonkeyPatch, name: str | None = CARD) -> None:
    monkeypatch.setattr(gpu_choice, "device", lambda: name)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", sorted(gpu_cells.CELLS))
def test_without_a_gpu_it_says_what_one_would_show_and_where_the_figure_is_from(
    name: str, lang: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_gpu(monkeypatch, None)
    shown: list[Any] = []
    monkeypatch.setattr(gpu_choice, "_display", shown.append)
    with using(lang):
        course.on_gpu(name)
    head, does, where = capsys.readouterr().out.strip().splitlines()
    assert head.startswith(name) and {"en": "recorded", "zh": "记录"}[lang] in head
    assert does.startswith({"en": "On a GPU this cell ", "zh": "有 GPU 时，这一格"}[lang])
    assert does.endswith(("。", ".")), "one sentence"
    assert "NVIDIA H200" in where and re.search(r"\d{4}-\d\d-\d\d", where)
    [figure] = shown
    assert isinstance(figure, Card) or re.search(
        r'<svg role="img" aria-label="[^"]*\d[^"]*"', figure.html()
    )


@pytest.mark.parametrize("name", sorted(gpu_cells.CELLS))
def test_with_a_gpu_it_measures_and_shows_nothing_recorded(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_gpu(monkeypatch)
    recorded = {
        "ceilings": lambda: Card("", "live"), "matmul": lambda: Card("", "live"),
        "forward": lambda: Card("", "live"), "training_memory": lambda: Card("", "live"),
        "bench": lambda: Card("", "live"), "decode": lambda: Card("", "live"),
    }  # fmt: skip
    for function, stand_in in recorded.items():
        assert callable(getattr(gpu_live, function))
        monkeypatch.setattr(gpu_live, function, stand_in)
    course.on_gpu(name)
    said = capsys.readouterr().out
    assert f"Live on {CARD}" in said and "live" in said.splitlines()[-1]
    assert "H200" not in said


def test_the_choice_overrides_what_was_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_gpu(monkeypatch)
    assert gpu_choice.live()
    course.gpu("no")
    assert not gpu_choice.live() and "as chosen" in capsys.readouterr().out
    course.gpu("auto")
    assert gpu_choice.live() and CARD in capsys.readouterr().out
    with_gpu(monkeypatch, None)
    assert not gpu_choice.live()
    course.gpu("yes")
    with pytest.raises(BackendUnavailable, match="auto"):
        course.on_gpu("01.ceilings")
    with pytest.raises(ArgumentError, match="maybe"):
        course.gpu("maybe")


def test_the_environment_chooses_for_every_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpu(monkeypatch)
    monkeypatch.setenv(gpu_choice.VARIABLE, "no")
    assert not gpu_choice.live()
    course.gpu("auto")
    assert gpu_choice.live(), "what is said in the notebook wins"


def test_the_card_of_a_chapter_with_gpu_cells_says_how_they_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_gpu(monkeypatch, None)
    assert "GPU cells: recorded figures, as there is no GPU here" in session.start_card(6).text
    assert "GPU cells" not in session.start_card(3).text
    with_gpu(monkeypatch)
    assert f"GPU cells: measured live on {CARD}" in session.start_card(6).text


def test_an_unknown_cell_names_near_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"06\.forward"):
        course.on_gpu("06.forwards")


def test_live_plans_are_short_and_about_what_the_cell_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans: list[Any] = []

    def measure(plan: Any, **_: Any) -> Any:
        plans.append(plan)
        providers.find(providers.BUILT_IN, only=plan.providers)  # who can be measured, not recorded
        return measured.run("h200-memory" if "memory" in plan.suites else "h200-peers")

    monkeypatch.setattr(gpu_live, "measure", measure)
    monkeypatch.setattr(gpu_live, "_half", lambda: "bfloat16")
    figures = [gpu_live.forward(), gpu_live.training_memory(), gpu_live.decode()]
    assert [plan.suites for plan in plans] == [("forward",), ("memory",), ("decode",)]
    assert all(plan.budget_s <= 60 for plan in plans)
    assert {case.head_dim for case in plans[0].speed} == {128} and len(plans[0].speed) >= 4
    assert all(case.causal for case in plans[0].speed) and "eager" in plans[0].providers
    [readable] = map(providers.also, plans[0].also)
    assert readable.id == "ours_readable", "the kernel of chapter 06, on every card"
    assert all("aria-label" in figure.html() for figure in figures)


def test_progress_of_a_benchmark_is_not_red(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bench(arguments: list[str]) -> int:
        print("[    1 s] ceilings", file=sys.stderr)
        return 0

    monkeypatch.setattr(gpu_live, "bench_main", bench)
    assert gpu_live.bench().text == ""
    told = capsys.readouterr()
    assert "ceilings" in told.out and told.err == ""


def test_ceilings_say_where_the_roofline_bends() -> None:
    rows = [
        Ceiling("copy", language.Text("copy", "复制"), "B/s", 2e12),
        Ceiling("product", language.Text("product", "乘积"), "FLOP/s", 300e12),
    ]
    text = gpu_cells.ridge_card(rows).text
    assert "2,000 GB/s" in text and "300 TFLOP/s" in text and "at 150 FLOP per byte" in text
    assert gpu_cells.ridge_card(rows[:1]).text.strip() == "2,000 GB/s  copy"
