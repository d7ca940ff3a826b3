"""The course's cards: right words in both languages, nothing unescaped, results remembered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fa_toolkit import course, exercises, kernels, language
from fa_toolkit.course import cards, chapters, memory, reports, session, source
from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.exercises import Diagnosis, Finding, Report
from fa_toolkit.language import Text, using


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path))
    course._hints_shown.clear()
    yield
    language._started.clear()


class _Balance(HTMLParser):
    """Raises on a tag that is closed without having been opened, keeps what is left open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def html_of(card: cards.Card) -> str:
    html = card._repr_html_()
    parser = _Balance()
    parser.feed(html)
    assert not parser.open
    return html


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("chapter", sorted(chapters.TITLES))
def test_start_shows_title_mode_and_versions(
    chapter: int, lang: str, capsys: pytest.CaptureFixture[str]
) -> None:
    course.start(chapter, lang=lang)
    shown = capsys.readouterr()
    title = chapters.TITLES[chapter]
    assert (title.zh if lang == "zh" else title.en) in shown.out
    assert "torch 2" in shown.out and "Python 3" in shown.out and f"{chapter:02d}" in shown.out
    assert language.current() == lang and not shown.err
    if kernels.mode() == "interpreter":
        assert ("解释器" if lang == "zh" else "interpreter") in shown.out


def test_start_says_what_it_does_not_know() -> None:
    with pytest.raises(ArgumentError, match="chapter"):
        course.start(77)
    with pytest.raises(ArgumentError, match="lang"):
        course.start(3, lang="fr")


def test_titles_are_those_of_the_quizzes() -> None:
    from fa_toolkit.quiz import load_bank

    for number, chapter in load_bank().chapters.items():
        assert chapters.TITLES[number].en == chapter.title.en
        assert chapters.TITLES[number].zh == chapter.title.zh


def test_another_version_of_the_notebook_is_said() -> None:
    assert chapters.mismatch(None) is None
    assert chapters.mismatch("1.2.3", "1.2.9") is None
    found = chapters.mismatch("1.3.0", "1.2.9")
    assert found is not None and "1.3.0" in found.en and "1.2.9" in found.zh


def test_the_version_is_read_from_the_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "03_x.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(file))
    assert chapters.notebook_version() is None
    file.write_text('{"metadata": {"fa": {"version": "0.9.1"}}}')
    assert chapters.notebook_version() == "0.9.1"
    for broken in ("{", "[]", '{"metadata": {"fa": 3}}', '{"metadata": {"fa": {"version": 2}}}'):
        file.write_text(broken)
        assert chapters.notebook_version() is None


def test_check_shows_the_report_and_remembers(capsys: pytest.CaptureFixture[str]) -> None:
    bug = exercises.get("03.merge").variants[1].fn
    course.check("03.merge", bug)
    assert "without rescaling acc" in capsys.readouterr().out
    assert memory.store().latest(3)["03.merge"]["outcome"] == "not yet"
    assert _passed(3) == 0
    course.check("03.merge", exercises.solution("03.merge"))
    assert _passed(3) == 1
    course.check("03.merge", bug)
    assert _passed(3) == 1, "a pass is not lost by trying again"
    course.progress()
    assert f"1 / {len(exercises.ids(3))}" in capsys.readouterr().out


def _passed(chapter: int) -> int:
    return next(s for s in memory.standings() if s.chapter == chapter).passed


def test_what_was_not_attempted_is_not_kept() -> None:
    def stub(x: Any) -> Any:
        raise NotImplementedError

    course.check("03.three_pass", stub)
    assert "03.three_pass" not in memory.store().latest(3)


def test_a_store_that_fails_does_not_hide_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> Any:
        raise OSError("disk full")

    monkeypatch.setattr(memory, "store", fails)
    course.check("03.merge", exercises.solution("03.merge"))
    out = capsys.readouterr().out
    assert "passed" in out and "disk full" in out


def test_quiz_remembers_answers() -> None:
    first = course.quiz(3).session
    first.answer("4")  # whatever the first question is, this is a form it can refuse or judge
    first.go(len(first.questions) - 1)
    kept = memory.store().latest(3)
    again = course.quiz(3).session
    assert set(again.answers) == {q for q in kept if q.startswith(("Q-", "O"))}


def test_ask_shows_one_question_and_keeps_its_answer() -> None:
    card = course.ask("Q-00-first-win")
    assert [q.id for q in card.session.questions] == ["Q-00-first-win"]
    assert card.session.chapter.number == 0
    with pytest.raises(UnknownNameError):
        course.ask("Q-00-first-loss")


def test_hints_come_one_after_another(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for _ in range(5):
        course.hint("03.merge")
        shown.append(capsys.readouterr().out)
    assert len(set(shown[:4])) == 4 and shown[3] == shown[4]
    assert "____" in shown[3] and 'fa.course.solution("03.merge")' in shown[3]
    course.hint("03.merge", 1)
    assert capsys.readouterr().out == shown[0]
    with pytest.raises(UnknownNameError):
        course.hint("03.nothing")
    with pytest.raises(ArgumentError):
        course.hint("03.merge", 9)


def test_hints_speak_of_the_last_check(capsys: pytest.CaptureFixture[str]) -> None:
    course.check("03.merge", exercises.get("03.merge").variants[1].fn)
    capsys.readouterr()
    course.hint("03.merge", 1)
    first = capsys.readouterr().out
    assert "What fails first: accumulator acc." in first and "acc[" in first
    assert "without rescaling acc" not in first, "the mistake is not named yet"
    course.hint("03.merge", 3)
    assert "without rescaling acc" in capsys.readouterr().out
    course.reset("03.merge")
    assert "raise NotImplementedError" in capsys.readouterr().out
    course.hint("03.merge")
    assert "Hint 1 of 4" in (after := capsys.readouterr().out) and "What fails first" not in after


def test_solution_is_the_solved_cell(capsys: pytest.CaptureFixture[str]) -> None:
    course.solution("04.ranges")
    assert exercises.solved("04.ranges") in capsys.readouterr().out


def test_a_pass_after_the_solution_does_not_count() -> None:
    course.solution("03.merge")
    assert memory.store().latest(3)["03.merge"]["outcome"] == memory.SHOWN
    course.check("03.merge", exercises.solution("03.merge"))
    assert memory.store().latest(3)["03.merge"]["outcome"] == memory.HELPED
    assert _passed(3) == 0
    chapter = next(c for c in memory.store().summary().chapters if c.chapter == 3)
    assert (chapter.exercises, chapter.passed) == (1, 0)


def test_a_pass_before_the_solution_stays_one() -> None:
    course.check("03.merge", exercises.solution("03.merge"))
    course.solution("03.merge")
    assert _passed(3) == 1


def test_the_wrong_tile_is_shown_in_the_player() -> None:
    from fa_toolkit import AttentionProblem, TileShape
    from fa_toolkit.course.helping import departure_view

    problem = AttentionProblem(len_q=16, len_k=16, head_dim=8, dtype="float32")
    found = exercises.Departure("o", "", (5, 0), problem, TileShape(4, 4), (4, 8), (8, 12))
    report = Report("04.forward", Text("t", "题"), "not yet", departure=found)
    player = departure_view("04.forward", report)
    frame = player.frames[player.step]
    boxes = player.tape.columns["box"][frame.start : frame.stop].tolist()
    assert [4, 8, 8, 12] in boxes
    assert "queries 4–7 and keys 8–11" in str(found)
    with pytest.raises(ArgumentError, match="check"):
        course.departure("04.forward")


NASTY = "<script>alert('&')</script>"


def test_nothing_a_learner_writes_becomes_markup() -> None:
    report = Report(
        "03.merge", Text(NASTY, NASTY), "not yet",
        (Finding("value", "failed", NASTY), Finding("strides", "not run")),
        (Diagnosis("x", Text(NASTY, NASTY)),), NASTY,
    )  # fmt: skip
    html = html_of(reports.report_card(report))
    assert "<script" not in html and html.count("&lt;script") == 4

    def learner() -> str:
        return "<b>bold</b>"

    html = html_of(source.source_card(learner))
    assert "<b>" not in html and "&lt;b&gt;" in html


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_cards_are_whole_and_say_their_language(lang: str) -> None:
    with using(lang):
        made = [
            session.start_card(3),
            reports.hint_card("03.merge", 1),
            reports.hint_card("03.merge", 3),
            reports.solution_card("06.loop"),
            reports.progress_card(memory.standings()),
            source.source_card(exercises.get("03.merge").reference),
        ]
        for card in made:
            html = html_of(card)
            assert f'lang="{"zh-Hans" if lang == "zh" else "en"}"' in html
            assert repr(card).strip() and "<" not in re.sub(
                r"<[^>]*>", "", repr(card).split("\n")[0]
            )
            has_chinese = any("一" <= sign <= "鿿" for sign in card.body)
            assert has_chinese == (lang == "zh") or "merge(" in card.body


def test_colours_come_from_variables_only() -> None:
    for card in (session.start_card(3), reports.solution_card("03.merge")):
        assert not re.search(r"#[0-9a-fA-F]{3,6}\b", card.body), "colours belong in card.css"


def test_source_of_functions_classes_and_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    from fa_toolkit.problem import AttentionProblem

    course.show_source(AttentionProblem)
    assert "fa_toolkit/problem.py, line" in capsys.readouterr().out
    course.show_source(AttentionProblem.visible_keys)
    out = capsys.readouterr().out
    assert "def visible_keys" in out
    if kernels.mode() != "none":
        course.show_source(kernels.vector_add_kernel)
        out = capsys.readouterr().out
        assert "@triton.jit" in out and "fa_toolkit/kernels/vector_add.py" in out
        assert "# fmt" not in out and "# [BLOCK]" in out  # for readers, not for tools
    with pytest.raises(ArgumentError, match="show_source"):
        course.show_source(3)
    with pytest.raises(ArgumentError):
        course.show_source(len)


def test_source_around_a_name() -> None:
    code = (
        "def f(\n    FLAG: tl.constexpr,\n):\n    if FLAG:\n        a = 1\n\n    b = 2\n"
        "    for i in g(FLAG):\n        c = (\n            FLAG\n        )\n    d = FLAG2"
    )
    wanted = (
        "...\n    if FLAG:\n        a = 1\n    ...\n    for i in g(FLAG):\n"
        "        c = (\n            FLAG\n        )\n    ...\n"
    )
    assert source.lines_around(code, "FLAG") == wanted
    with pytest.raises(ArgumentError):
        source.lines_around(code, "FLA")


def test_a_plain_figure_follows_the_theme() -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from fa_toolkit.viz.palette import colour, figure_style

    with rc_context(figure_style("auto")):
        figure = Figure()
        figure.subplots().set(title="Rate", xlabel="length <N>")
        html = session.figure_html(figure)
    assert 'role="img" aria-label="Rate; length &lt;N&gt;"' in html
    assert "<svg" in html and "var(--fa-text" in html
    bare = re.sub(r"<style>.*?</style>", "", html, flags=re.S)
    assert colour("text") not in re.sub(r"var\([^)]*\)", "", bare)


@pytest.mark.parametrize(
    ("guess", "value", "unit", "says"),
    [
        ("2 MiB", 2, "MiB", "You said 2 MiB. It is 2 MiB."),
        ("1/512 GiB", 2, "MiB", "You said 2 MiB. It is 2 MiB."),
        ("...", 2, "", "No guess yet."),
        ("inf", 2, "", "You said ∞. It is 2."),
        (torch.tensor([1, 2]), 2, "", "Not read as a number"),
        (np.array([1, 2]), 2, "", "Not read as a number"),
        (np.array([2]), 2, "", "You said 2. It is 2."),
        (1, float("nan"), "", "You said 1. It is NaN."),
    ],
)
def test_a_guess_however_it_is_written(guess: object, value: float, unit: str, says: str) -> None:
    from fa_toolkit.course.predictions import prediction_card

    with using("en"):
        assert prediction_card(guess, value, unit).text.startswith(says)
