"""Loading a bank: what is right is loaded, what is wrong is named by file, line and field."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from small_bank import FILE, write_bank

from fa_toolkit.errors import BankError, UnknownNameError
from fa_toolkit.language import LANGUAGES, using
from fa_toolkit.quiz import Bank, load_bank
from fa_toolkit.quiz import bank as bank_module
from fa_toolkit.quiz.models import KINDS


def test_every_kind_is_in_the_small_bank(bank: Bank) -> None:
    assert {question.kind for question in bank.questions.values()} == set(KINDS)


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


#: what is replaced, by what, part of the line that is at fault, field named, word of the advice
WRONG = {
    "no feedback": (
        'why: {en: "Every term was e^(x - 2) and should be e^(x - 4): one factor for all of them.", '
        'zh: "每一项原来是 e^(x - 2)，本该是 e^(x - 4)，差的是同一个倍数。"}', "",
        "It is multiplied by", "questions[0].choices[0].why", "add `why: {en",
    ),
    "no Chinese": (
        'prompt: {en: "What does each name hold?", zh: "每个名字各存什么？"}',
        'prompt: {en: "What does each name hold?"}',
        "prompt: {en: \"What does each name hold?", "questions[5].prompt.zh", "add `zh:",
    ),
    "empty text": (
        'zh: "每个名字各存什么？"', 'zh: " "', 'zh: " "', "questions[5].prompt.zh", "not empty",
    ),
    "plain text": (
        'explain: {en: "Three things are all a row needs.", zh: "一行只需要这三样。"}',
        'explain: "Three"', 'explain: "Three"', "questions[5].explain", "{en:",
    ),
    "misspelt field": (
        "tolerance: 0.01", "tolerence: 0.01", "tolerence", "questions[2].tolerence", "correct its name",
    ),
    "unknown kind": (
        "kind: many", "kind: several", "kind: several", "questions[1].kind", "choice | many",
    ),
    "unknown claim": ("claims: [S17]", "claims: [S99]", "S99", "claims[0]", "S09"),
    "no claim": ("claims: [S17]", "claims: []", "id: Q-03-steps", "questions[4]", "papers: [FA2 3.3]"),
    "unknown paper": (
        "claims: [S17]", "claims: [S17]\n    papers: [FA9 3.3]", "FA9", "papers[0]", "FA",
    ),
    "unknown topic": (
        "topic: exactness", "topic: exactnes", "topic: exactnes", "questions[1].topic", "exactness",
    ),
    "level": ("level: senior", "level: expert", "level: expert", "questions[3].level", "senior"),
    "two right": (
        'why: {en: "Subtracting is right', 'correct: true\n        why: {en: "Subtracting is right',
        "id: Q-03-factor", "questions[0]", "exactly one choice",
    ),
    "same id": (
        "id: Q-03-pairs", "id: Q-03-steps", "id: Q-03-pairs", "questions[5].id", "used nowhere else",
    ),
    "other chapter": (
        "id: Q-03-pairs", "id: Q-04-pairs", "id: Q-03-pairs", "questions[5].id", "Q-03-...",
    ),
    "unknown unit": ("unit: KiB", "unit: Kib", "id: Q-03-traffic", "questions[3]", "KiB"),
    "unknown call": (
        "call: quiz.running_states", "call: os.system", "call: quiz.running_states",
        "questions[6].call", "whitelist",
    ),
    "unknown nested call": (
        'expression: "128 KiB"', 'expression: "a", a: {call: os.system}', "128 KiB",
        "questions[3].answer", "whitelist",
    ),
    "column without feedback": (
        "columns: [m, factor, l, acc]", "columns: [m, factor, l, acc, p]", "id: Q-03-table",
        "questions[6]", "lacks the column 'p'",
    ),
    "twice": (
        "level: senior", "level: senior\n    level: core", "level: core\n    claims: [S08]", "", "each field once",
    ),
    "not YAML": ("columns: [m,", "columns: [m,]]", "columns: [m,", "", "YAML"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_a_fault_is_named_by_line_field_and_advice(tmp_path: Path, fault: str) -> None:
    old, new, near, field, advice = WRONG[fault]
    assert FILE.count(old) >= 1
    text = FILE.replace(old, new, 1)
    path = write_bank(tmp_path, text)
    with pytest.raises(BankError) as caught, using("en"):
        load_bank(path)
    with using("en"):
        message = str(caught.value)
    assert message.startswith(f"{path}:")
    line = int(re.match(r":(\d+)", message[len(str(path)) :])[1])  # type: ignore[index]
    assert line == line_of(text if near in text else FILE, near), message
    assert field in message
    assert advice in message
    with using("zh"):
        assert re.search("[一-鿿]", str(caught.value))


def test_later_faults_are_counted(tmp_path: Path) -> None:
    path = write_bank(tmp_path, FILE.replace("level: core", "level: hard"))
    with pytest.raises(BankError, match=r"5 more after this one"), using("en"):
        load_bank(path)


@pytest.mark.parametrize("content", ["", "[]", "1", "- a\n- b", "\ufeff", "a: &a [*a]", "{"])
def test_a_file_of_another_sort_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(BankError):
        load_bank(write_bank(tmp_path, content))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BankError, match="nowhere"):
        load_bank(tmp_path / "nowhere.yaml")
    with pytest.raises(BankError):
        load_bank(tmp_path)


def test_claims_need_their_caveat(tmp_path: Path) -> None:
    shutil.copytree(bank_module.data_folder() / "source", tmp_path / "source")
    (tmp_path / "topics.yaml").write_text("a: {en: x, zh: y}")
    claims = tmp_path / "source" / "claims.yaml"
    claims.write_text(
        "- {id: S01, section: {en: a, zh: b}, says: {en: a, zh: b}, verdict: wrong}\n"
    )
    (tmp_path / "00_a.yaml").write_text(FILE)
    with pytest.raises(BankError, match=r"claims\.yaml:1.*caveat"), using("en"):
        load_bank(tmp_path)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write_bank(tmp_path)
    first = load_bank(path)
    assert load_bank(path) is first
    write_bank(tmp_path, FILE.replace("Softmax in blocks", "Softmax in many blocks"))
    assert load_bank(path).chapter(3).title.en == "Softmax in many blocks"


def test_an_unknown_question_names_near_ones(bank: Bank) -> None:
    with pytest.raises(UnknownNameError, match="Q-03-steps"), using("en"):
        bank.question("Q-03-step")
    with pytest.raises(UnknownNameError):
        bank.chapter(99)


def test_data_is_found_in_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "fa_toolkit"
    shutil.copytree(bank_module.data_folder(), package / "_data" / "quizzes")
    monkeypatch.setattr(bank_module, "_PACKAGE", package)
    assert bank_module.data_folder() == package / "_data" / "quizzes"
    assert len(load_bank().claims) == 24
    shutil.rmtree(package / "_data")
    with pytest.raises(BankError, match=r"claims\.yaml"):
        load_bank()


def test_all_claims_are_there_in_both_languages() -> None:
    claims = load_bank().claims
    assert list(claims) == [f"S{n:02d}" for n in range(1, 25)]
    assert [c.id for c in claims.values() if c.self_corrected] == ["S11", "S14", "S16", "S18"]
    assert [c.id for c in claims.values() if c.verdict == "wrong"] == ["S21"]
    for claim in claims.values():
        for lang in LANGUAGES:
            assert claim.says[lang]
            assert claim.section[lang]
