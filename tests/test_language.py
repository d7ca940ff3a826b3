"""Which language is in force, and how a text is said in it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fa_toolkit import language
from fa_toolkit.errors import ArgumentError
from fa_toolkit.language import LANGUAGES, Text, choose, current, say, using

HELLO = Text("hello", "你好")
VARIABLES = ("FA_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(language, "_started", [])
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    token = language._chosen.set(None)
    yield
    language._chosen.reset(token)


def test_english_when_nothing_says_otherwise() -> None:
    assert current() == "en"
    assert say(HELLO) == "hello"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("zh_CN.UTF-8", "zh"), ("zh", "zh"), ("ZH-Hans", "zh"), ("de_DE", "en"), ("C", "en")],
)
def test_the_locale_decides(monkeypatch: pytest.MonkeyPatch, value: str, expected: str) -> None:
    monkeypatch.setenv("LANG", value)
    assert current() == expected


def test_each_way_of_choosing_goes_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    for later, earlier in zip(VARIABLES[::-1], VARIABLES[-2::-1], strict=False):
        monkeypatch.setenv(later, "zh")
        assert current() == "zh"
        monkeypatch.setenv(earlier, "en")
        assert current() == "en"
    assert choose("zh") == "zh"
    assert current() == "zh"  # before the environment
    with using("en") as inside:
        assert inside == current() == "en"  # before what was chosen
    assert current() == "zh"


def test_an_empty_variable_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA_LANG", "")
    monkeypatch.setenv("LANG", "zh_TW")
    assert current() == "zh"


def test_using_ends_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="boom"), using("zh"):
        raise RuntimeError("boom")
    assert current() == "en"


def test_using_nests() -> None:
    with using("zh"):
        with using("en"):
            assert current() == "en"
        assert current() == "zh"


def in_a_thread() -> str:
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(current()))
    thread.start()
    thread.join()
    return answers[0]


def test_choose_is_seen_from_every_thread_and_using_from_its_own_only() -> None:
    choose("zh")
    assert in_a_thread() == "zh"
    with using("en"):
        assert in_a_thread() == "zh"


@pytest.mark.parametrize("bad", ["", "EN", "fr", "chinese"])
def test_an_unknown_language_is_refused_and_changes_nothing(bad: str) -> None:
    choose("zh")
    with pytest.raises(ArgumentError) as caught:
        choose(bad)
    assert current() == "zh"
    assert repr(bad) in str(caught.value)
    with pytest.raises(ArgumentError), using(bad):
        pass


def test_fields_are_filled_in_both_languages() -> None:
    text = Text("{n} of {total}", "{total} 中的 {n}")
    assert {code: _said(text, code) for code in LANGUAGES} == {"en": "3 of 7", "zh": "7 中的 3"}


def _said(text: Text, code: str) -> str:
    with using(code):
        return say(text, n=3, total=7)


def test_a_plain_string_and_braces_without_fields_are_kept() -> None:
    assert say("as {it} is", it=1) == "as {it} is"
    assert say(Text("e^{x}", "e^{x}")) == "e^{x}"


def test_chinese_texts_tell_a_gpu_kernel_from_a_jupyter_kernel() -> None:
    """The glossary keeps "kernel" for the GPU and says "Jupyter 内核" for the notebook's process."""
    package = Path(language.__file__).parent
    texts = {p: p.read_text(encoding="utf-8") for p in package.rglob("*.py")}
    assert any("Jupyter 内核" in text for text in texts.values())
    for path, text in texts.items():
        assert not re.findall(r"(?<!Jupyter )内核", text), path.name
