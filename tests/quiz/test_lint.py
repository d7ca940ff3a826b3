"""Lint names every fault of a bank, a line each; the command's exit code says whether there is one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import small_bank

from fa_toolkit import cli
from fa_toolkit.errors import BankError
from fa_toolkit.language import using
from fa_toolkit.quiz import grade, load_bank
from fa_toolkit.quiz.command import chapter_to_ask
from fa_toolkit.quiz.lint import FEWEST, lint, tail
from fa_toolkit.quiz.models import KINDS
from fa_toolkit.quiz.session import Session
from fa_toolkit.quiz.view import verdict_view

GOOD = (
    "chapter: 90\ntitle: {en: Mine, zh: 我的题}\nquestions:\n"
    "  - id: Q-90-one\n    kind: choice\n    topic: softmax\n    level: core\n    claims: [S11]\n"
    "    papers: [FA2 3.1]\n    prompt: {en: Which?, zh: 哪个？}\n    choices:\n"
    "      - {text: {en: one, zh: 一}, correct: true, why: {en: Right., zh: 对。}}\n"
    "      - {text: {en: two, zh: 二}, why: {en: Too many., zh: 多了。}}\n"
    "      - {text: {en: nil, zh: 零}, why: {en: Too few., zh: 少了。}}\n"
    "    explain: {en: So it is., zh: 就是这样。}\n    see: '03'\n"
    "  - id: Q-90-two\n    kind: number\n    topic: softmax\n    level: warm-up\n    claims: [S10]\n"
    "    prompt: {en: How many?, zh: 多少？}\n"
    "    answer: {call: arithmetic, args: {expression: '2 + 2'}}\n"
    "    mistakes: [{value: 5, why: {en: One more., zh: 多一。}}]\n"
    "    explain: {en: Four., zh: 四。}\n    see: '03'\n"
)


def written(folder: Path, text: str = GOOD) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def said(path: Path) -> list[str]:
    with using("en"):
        return [str(fault) for fault in lint(path)]


#: what is replaced, by what, what the line of the fault says, what its message says
FAULTS = {
    "speaks of others": ("en: two", "en: all of the above", "all of the above", "misconception"),
    "speaks of others in Chinese": ("zh: 二", "zh: 以上都对", "以上都对", "option of its own"),
    "same feedback": ("en: Too few.", "en: Too many.", "en: nil", "that of another option"),
    "no mistakes": (
        "    mistakes: [{value: 5, why: {en: One more., zh: 多一。}}]\n", "", "id: Q-90-two",
        "known wrong value",
    ),
    "follow-up alone": (
        "    explain: {en: Four., zh: 四。}\n",
        "    explain: {en: Four., zh: 四。}\n    follow_up: {en: And then?, zh: 然后呢？}\n",
        "follow_up", "follow_up_answer",
    ),
    "mistake is right": ("value: 5", "value: 4", "value: 4", "tolerance"),
    "Chinese in English": ("en: Which?", "en: 哪个?", "en: 哪个?", "expected English"),
    "English in Chinese": (
        "zh: 多少？", "zh: How many of them are there", "zh: How many", "expected Chinese",
    ),
    "cannot be computed": ("2 + 2", "2 +", "id: Q-90-two", "formula"),
    "unknown paper": ("FA2 3.1", "FA8 3.1", "FA8 3.1", "source/papers.yaml"),
    "unknown claim": ("[S10]", "[S77]", "[S77]", "claims.yaml"),
    "same id": ("id: Q-90-two", "id: Q-90-one", "kind: number", "used nowhere else"),
    "misspelt field": (
        "    papers: [FA2 3.1]", "    paper: [FA2 3.1]", "paper: [FA2", "correct its name",
    ),
}  # fmt: skip


def test_a_good_bank_has_no_fault(tmp_path: Path) -> None:
    assert said(written(tmp_path)) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_line(tmp_path: Path, fault: str) -> None:
    old, new, line, advice = FAULTS[fault]
    assert GOOD.count(old) == 1 or fault == "same feedback"
    text = GOOD.replace(old, new)
    path = written(tmp_path, text)
    messages = said(path)
    assert messages and advice in messages[0], messages
    assert messages[0].startswith(f"{path}:")
    number = int(re.match(r":(\d+)", messages[0][len(str(path)) :])[1])  # type: ignore[index]
    near = text.splitlines()[number - 2 : number + 1]
    assert any(line in one for one in near), (number, near)
    with using("zh"):
        assert re.search("[一-鿿]", str(lint(path)[0]))


def test_every_fault_is_named_not_the_first_alone(tmp_path: Path) -> None:
    text = GOOD
    for name in ("speaks of others", "same feedback", "mistake is right", "unknown claim"):
        text = text.replace(*FAULTS[name][:2])
    assert len(said(written(tmp_path, text))) >= 3
    both = GOOD.replace("level: core", "level: hard").replace("level: warm-up", "level: easy")
    assert len(said(written(tmp_path, both))) == 2


def lopsided(right: str, wrong: str, place: int) -> str:
    """A bank of which the right option is always as long as `right` and in one place."""
    head, rest = GOOD.split("  - id: Q-90-one")
    question = rest.split("  - id: Q-90-two")[0]
    lines = ["", "", ""]
    for at in range(3):
        text = right if at == place else f"{wrong}{at}"
        mark = "correct: true, " if at == place else ""
        lines[at] = (
            f"      - {{text: {{en: {text}, zh: {text}字}}, {mark}why: {{en: W{at}., zh: 因{at}。}}}}"
        )
    body = re.sub(r"(?:      - .*\n)+", "\n".join(lines) + "\n", question)
    return head + "".join(f"  - id: Q-90-n{n}{body}" for n in range(FEWEST))


def test_a_length_or_place_that_gives_answers_away_is_a_fault(tmp_path: Path) -> None:
    for right, wrong, name in (("a" * 30, "b", "longest"), ("a", "b" * 30, "shortest")):
        messages = said(written(tmp_path, lopsided(right, wrong, 1)))
        assert any(name in message for message in messages), messages
        assert any(f"place 2 in {FEWEST}" in message for message in messages)
    balanced = said(written(tmp_path, lopsided("abc", "de", 0)))
    assert len(balanced) == 1 and f"place 1 in {FEWEST}" in balanced[0]


def test_tail_is_the_binomial_one() -> None:
    assert tail(0, 5, 0.3) == pytest.approx(1)
    assert tail(5, 5, 0.5) == pytest.approx(1 / 32)
    assert tail(1, 2, 0.25) == pytest.approx(7 / 16)


# the command


def test_the_exit_code_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path)
    assert cli.main(["--lang", "en", "quiz", "lint", "--bank", str(path)]) == cli.DONE
    assert "2 questions, no fault" in capsys.readouterr().out
    path = written(tmp_path, GOOD.replace("value: 5", "value: 4").replace("[S11]", "[S00]"))
    assert cli.main(["--lang", "en", "quiz", "lint", "--bank", str(path)]) == cli.NOT_SO
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[-1] == "2 faults."
    assert all(line.startswith(f"{path}:") for line in lines[:2])
    assert cli.main(["quiz", "lint", "--bank", str(tmp_path / "none.yaml")]) == cli.NOT_SO


def test_stats_of_a_bank_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--lang", "en", "quiz", "stats", "--bank", str(written(tmp_path))]) == 0
    said = capsys.readouterr().out
    assert said.startswith("2 questions") and "S10    1  number 1" in said and "FA2 1" in said


def test_the_only_chapter_of_a_bank_of_ones_own_is_asked(tmp_path: Path) -> None:
    path = written(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-m", "fa_toolkit", "quiz", "--lang", "en", "--bank", str(path)],
        input="\n4\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "1 of 2 answered, mean 100" in ran.stdout
    second = tmp_path / "second.yaml"
    second.write_text(GOOD.replace("90", "91"), encoding="utf-8")
    assert chapter_to_ask(None, tmp_path) is None  # two chapters: a list
    assert chapter_to_ask(91, tmp_path) == 91
    assert chapter_to_ask(None, None) is None


def test_the_same_validation_refuses_it_when_asked(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace("[S11]", "[S00]"))
    with pytest.raises(BankError), using("en"):
        load_bank(path)
    assert cli.main(["quiz", "--bank", str(path)]) == cli.MISUSED


def test_papers_are_shown_with_a_verdict(tmp_path: Path) -> None:
    bank = load_bank(written(tmp_path))
    with using("en"):
        session = Session(90, bank=bank)
        verdict = session.answer(0)
        assert verdict.papers == (
            "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning "
            "(arXiv 2307.08691), 3.1",
        )
        assert verdict.papers[0] in str(verdict)
        assert verdict_view(session, verdict)["papers"] == list(verdict.papers)


def test_every_kind_can_be_linted(tmp_path: Path) -> None:
    path = small_bank.write_bank(tmp_path)
    assert {q.kind for q in load_bank(path).questions.values()} == set(KINDS)
    assert [message.rpartition(": questions")[2] for message in said(path)] == [
        "[3].mistakes: expected a known wrong value with its feedback, got none."
    ]


def test_the_sample_for_contributors_is_a_good_bank(tmp_path: Path) -> None:
    guide = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
    sample = guide.read_text("utf-8").split("```yaml\n")[1].split("```")[0]
    path = written(tmp_path, sample)
    assert said(path) == []
    bank = load_bank(path)
    assert {q.kind for q in bank.questions.values()} == {"choice", "number", "trace"}
    assert bank.compute_keys()["Q-90-cache"] == 512


def test_the_sample_of_a_written_answer_is_good_and_grades(tmp_path: Path) -> None:
    guide = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
    samples = [part.split("```")[0] for part in guide.read_text("utf-8").split("```yaml\n")[1:]]
    question, patterns = samples[1:3]
    path = written(tmp_path, f"chapter: 90\ntitle: {{en: Mine, zh: 我的}}\nquestions:\n{question}")
    (tmp_path / "patterns").mkdir()
    (tmp_path / "patterns" / "Q-90-window.yaml").write_text(patterns, encoding="utf-8")
    assert said(path) == []
    bank = load_bank(path)
    for lang in ("en", "zh"):
        best = bank.question("Q-90-window").model_answer[lang]
        assert grade("Q-90-window", best, lang, bank=bank).score == 100


# patterns of written answers

PATTERNS = (Path(__file__).parent / "small_patterns.yaml").read_text("utf-8")


def of_patterns(folder: Path, text: str, lexicon: str | None = None) -> list[str]:
    """What lint says of the small bank with these patterns."""
    path = small_bank.write_bank(folder)
    patterns = next(path.parent.rglob("patterns/Q-03-own-words.yaml"))
    patterns.write_text(text, encoding="utf-8")
    if lexicon is not None:
        patterns.with_name("lexicon.yaml").write_text(lexicon, encoding="utf-8")
    return [line for line in said(path) if "/patterns/" in line]


def test_sound_patterns_have_no_fault(tmp_path: Path) -> None:
    assert of_patterns(tmp_path, PATTERNS) == []


#: what is replaced, by what, the field of the fault, what its message says
WRONG_PATTERNS = {
    "unheard": ("It is multiplied by a factor.", "It is pink.", "points.factor.said[0]", "is heard"),
    "heard": ("It is added.", "It is multiplied.", "points.factor.unsaid[0]", "not heard"),
    "asserted": (
        "It is not subtracted.", "It is subtracted.", "misconceptions.subtract.unsaid[0]", "not heard",
    ),
    "asked though not meant": (
        "It is not subtracted.", "It is taken off.", "misconceptions.subtract.unsaid[0]", "not heard",
    ),
    "not asked": ("It is taken off.", "It is green.", "misconceptions.subtract.asked[0]", "asked about"),
    "asked and asserted": (
        "It is taken off.", "It is subtracted.", "misconceptions.subtract.asked[0]", "asked about",
    ),
    "one language": (", 乘以一个因子。", "", "points.factor.said", "in Chinese"),
    "nothing for maybe": (
        '    asked: [It is taken off., 把差值去掉。]\n', "", "misconceptions.subtract", "asked about",
    ),
    "runs away": ("    taken off\n", "    taken.*off\n    taken off\n", "acts.TAKEN", "bounded"),
    "too wide": ("    taken off\n", "    taken.{0,999}off\n    taken off\n", "acts.TAKEN", "300"),
    "no end": ("    taken off\n", "    taken.{2,}off\n    taken off\n", "acts.TAKEN", "bounded"),
    "unused": ("  TAKEN: |", "  IDLE: |\n    idle\n  TAKEN: |", "acts.IDLE", "a pattern uses"),
    "unknown": ('"c: TAKEN"', '"c: TAKEM"', "misconceptions.subtract.maybe[0]", "TAKEN"),
    "unreadable": ('"c: TAKEN"', '"c: taken"', "misconceptions.subtract.maybe[0]", "taken"),
    "no such point": ("cancels: [factor]", "cancels: [facter]", "cancels[0]", "facter"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_PATTERNS)
def test_faults_of_patterns_are_named(name: str, tmp_path: Path) -> None:
    old, new, field, message = WRONG_PATTERNS[name]
    assert old in PATTERNS
    found = of_patterns(tmp_path, PATTERNS.replace(old, new))
    assert any(field in line and message in line for line in found), found
    assert all("Q-03-own-words.yaml:" in line for line in found)


def test_a_lexicon_of_ones_own_is_looked_at(tmp_path: Path) -> None:
    words = "things:\n  RESCALE: |\n    (?:multiplied)+\n    factor.*\n    乘\nacts:\n  EQUAL: |\n    same\n    一样\n"
    found = of_patterns(tmp_path, PATTERNS, words)
    assert any("lexicon.yaml:" in line and "factor.*" in line for line in found), found
