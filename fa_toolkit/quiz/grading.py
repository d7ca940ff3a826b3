"""Grade an answer: a pure function from question and answer to a verdict.

The same answer always gets the same verdict. No answer, however odd, raises an error; what cannot
be judged comes back with a status that says so. Each kind of question has one grader, and a further
kind is one further entry of `GRADERS`.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..language import Language, check, current, using
from . import marks
from .bank import Bank, load_bank
from .models import Claim, Question
from .number_marks import number, trace
from .text_marks import text
from .verdict import Citation, Verdict

MAX_TEXT, MAX_ENTRIES, MAX_DEPTH = 20_000, 200, 4

#: The grader of each kind: (question, plain answer, language) -> verdict without its citations.
GRADERS: Mapping[str, Callable[[Any, Any, Language], Verdict]] = {
    "choice": marks.choice,
    "many": marks.many,
    "number": number,
    "order": marks.order,
    "match": marks.match,
    "trace": trace,
    "text": text,
}


def grade(
    question_id: str, answer: object, lang: str | None = None, *, bank: Bank | None = None
) -> Verdict:
    """Grade one answer.

    What an answer looks like: `choice` one option, `many` a list of options, `number` a number or a
    formula as text, `order` the list of steps, `match` a mapping of left to right sides, `trace` a
    mapping of "row.column" to numbers, or the table as a list of rows, `text` an answer in your own
    words, in English, Chinese or both. An option may be given by
    its key, its id, its text in either language, or its place in the file counted from 0.

    Score:
        choice, number: 100 or 0. many: (right ones ticked - wrong ones ticked) of all right ones,
        never below 0. order: neighbours that follow each other as they should, of all neighbours.
        match: right pairs of all. trace: right cells of all that were asked.
        text: weights of the key points covered, less 15 for each misconception, never below 0.

    Args:
        lang: the language of the verdict; the language in force if None.
        bank: a bank of your own.

    Raises:
        UnknownNameError: if there is no such question.
        ArgumentError: if `lang` is no language we speak.

    Example:
        >>> grade("Q-99-none", "")
        Traceback (most recent call last):
        ...
        fa_toolkit.errors.UnknownNameError: ...
    """
    bank = load_bank() if bank is None else bank
    question = bank.question(question_id)
    language = current() if lang is None else check(lang)
    with using(language):
        try:
            verdict = GRADERS[question.kind](question, _plain(answer), language)
        except marks.NotJudged as reason:
            verdict = Verdict(question.id, language, reason.status, note=reason.note)
    return _cited(verdict, question, bank)


def _plain(answer: object, depth: int = 0) -> Any:
    """`answer` as JSON would hold it, or `NotJudged` if it is nothing of the kind."""
    if answer is None or isinstance(answer, bool):
        return answer
    # what only derives from a number or a text, as np.float64 does, compares in ways of its own
    if isinstance(answer, int):
        return int.__int__(answer)
    if isinstance(answer, float):
        return float.__float__(answer)
    if isinstance(answer, str):
        if str.__len__(answer) > MAX_TEXT:
            raise marks.too_long(MAX_TEXT)
        return str.__str__(answer).encode(errors="replace").decode()  # no half of a surrogate pair
    if isinstance(answer, numbers.Real):
        return _real(answer)
    if depth < MAX_DEPTH and isinstance(answer, (list, tuple, set, frozenset, Mapping)):
        if len(answer) > MAX_ENTRIES:
            raise marks.too_long(MAX_ENTRIES)
        if isinstance(answer, Mapping):
            return {_name(key): _plain(value, depth + 1) for key, value in answer.items()}
        return [_plain(entry, depth + 1) for entry in answer]
    raise marks.not_an_answer()


def _real(answer: numbers.Real) -> int | float:
    """A NumPy scalar or a fraction as Python's own number."""
    try:
        return int(answer) if isinstance(answer, numbers.Integral) else float(answer)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise marks.not_an_answer() from error


def _name(key: object) -> str:
    plain = _plain(key) if isinstance(key, (str, int)) else None
    if isinstance(plain, str):
        return plain
    if isinstance(plain, int) and abs(plain) < MAX_TEXT:
        return str(plain)
    raise marks.not_an_answer()


def _cited(verdict: Verdict, question: Question, bank: Bank) -> Verdict:
    """The verdict with what it rests on; an answer that was not judged reveals nothing."""
    if not verdict.judged:
        return verdict
    lang = verdict.lang
    goes_on = question.follow_up if question.follow_up_answer else None
    return replace(
        verdict,
        explain=question.explain[lang],
        citations=tuple(_citation(bank.claims[name], lang) for name in question.claims),
        papers=tuple(map(bank.cited, question.papers)),
        follow_up=goes_on[lang] if goes_on else "",
        follow_up_answer=question.follow_up_answer[lang]
        if goes_on and question.follow_up_answer
        else "",
        see=question.see,
    )


def _citation(claim: Claim, lang: Language) -> Citation:
    return Citation(
        id=claim.id,
        section=claim.section[lang],
        says=claim.says[lang],
        verdict=claim.verdict,
        caveat=claim.caveat[lang] if claim.caveat else "",
        self_corrected=claim.self_corrected,
    )
