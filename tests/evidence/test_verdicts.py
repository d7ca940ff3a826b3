"""Every claim has its experiment, and the verdicts found are those the course states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fa_toolkit import evidence
from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.evidence import __main__ as command
from fa_toolkit.evidence import table
from fa_toolkit.evidence.record import Check, Evidence, Found
from fa_toolkit.language import Text, using
from fa_toolkit.quiz import load_bank

ROOT = Path(__file__).resolve().parents[2]
IDS = list(evidence.ALL)
CHINESE = re.compile(r"[一-鿿]")


@pytest.fixture(params=IDS)
def each(request: pytest.FixtureRequest) -> Iterator[Evidence]:
    yield evidence.ALL[request.param]()


def test_there_is_one_for_every_claim_and_no_other() -> None:
    assert list(load_bank().claims) == IDS == [f"S{n:02}" for n in range(1, 25)]
    assert all(evidence.ALL[name]().claim == name == evidence.ALL[name].__name__ for name in IDS)


def test_the_verdict_found_is_the_one_the_claims_state(each: Evidence) -> None:
    stated = load_bank().claims[each.claim]
    assert each.verdict == stated.verdict
    assert each.self_corrected is stated.self_corrected


def test_every_condition_named_was_found(each: Evidence) -> None:
    assert [check.text.en for check in each.found.conditions if not check.found] == []
    missed = [check for check in each.found.stated if not check.found]
    assert bool(missed) == (each.claim == "S21")


def test_the_four_self_corrections() -> None:
    assert [x for x in IDS if evidence.ALL[x]().self_corrected] == ["S11", "S14", "S16", "S18"]


def test_it_speaks_both_languages_and_shows_itself(each: Evidence) -> None:
    texts = [each.says, each.section, each.found.short, *(c.text for c in each.measured)]
    for text in texts:
        assert CHINESE.search(text.zh) and not CHINESE.search(text.en), text
        assert "{" not in text.en + text.zh
    drawn = each.found.draw is not None
    for lang in ("en", "zh"):
        with using(lang):
            assert getattr(each.says, lang) in str(each) and getattr(each.source, lang) in str(each)
    with using("zh"):
        shown = each._repr_html_()
    assert 'class="fa-evidence" lang="zh-Hans"' in shown and each.claim in shown
    assert ("<svg" in shown) == ('role="img" aria-label="' in shown) == drawn
    assert drawn or each.numbers


@pytest.mark.parametrize(
    ("stated", "conditions", "verdict"),
    [
        ([True], [], "holds"),
        ([True], [False], "holds"),
        ([True, True], [False, True], "caveat"),
        ([True, False], [True], "wrong"),
        ([False], [], "wrong"),
    ],
)
def test_a_verdict_follows_from_the_checks(
    stated: list[bool], conditions: list[bool], verdict: str
) -> None:
    text = Text("x", "甲")
    found = Found(
        stated=tuple(Check(text, x) for x in stated),
        conditions=tuple(Check(text, x) for x in conditions),
        short=text,
        source=text,
    )
    assert Evidence("S00", text, text, False, found).verdict == verdict


@pytest.mark.parametrize(("lang", "name"), [("en", "README.md"), ("zh", "README.zh.md")])
def test_the_table_of_the_readme_has_not_drifted(lang: str, name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text == table.written(text, lang), "run python -m fa_toolkit.evidence --write"
    assert text.partition(table.BEGIN)[2].partition(table.END)[0].count("\n| S") == len(IDS)


def test_the_command_writes_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("README.md", "README.zh.md"):
        (tmp_path / name).write_text(f"a\n{table.BEGIN}\nold\n{table.END}\nb\n", encoding="utf-8")
    assert command.main(["--write", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == ["README.md", "README.zh.md"]
    assert command.main(["--write", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""
    english = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert english.startswith("a\n") and english.endswith("\nb\n") and "\nold\n" not in english
    assert command.main(["--lang", "zh"]) == 0
    assert "不成立" in capsys.readouterr().out


def test_a_readme_without_marks_is_refused() -> None:
    with pytest.raises(ArgumentError):
        table.written("no marks", "en")


def test_verdicts_beside_the_readers_own() -> None:
    with using("en"):
        standing = evidence.verdicts(
            {"S21": "holds", "S04": ...}, {"S21": "wrong", "S10": "caveat"}
        )
        assert "1 of 2" in str(standing) and "1 of 2" in standing._repr_html_()
        assert "No verdict" in str(evidence.verdicts({"S01": ...}))
    for wrong in ({"S99": "holds"}, {"S01": "maybe"}):
        with pytest.raises(ArgumentError):
            evidence.verdicts(wrong)


def test_several_are_shown_in_the_order_asked_for() -> None:
    shown = evidence.show("S10", "S04")
    with using("en"):
        assert str(shown).index("S10") < str(shown).index("S04")
        assert shown._repr_html_().count('class="fa-evidence"') == 2
    with pytest.raises(UnknownNameError):
        evidence.show("S25")
