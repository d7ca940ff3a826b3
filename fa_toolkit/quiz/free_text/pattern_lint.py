"""Every fault of the patterns of one question: what they miss of their own examples, and wild forms.

An example is graded as an answer of its own. `said` is heard, `unsaid` is not, `asked` is asked
about and costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import BankError
from ...language import Text
from ..text_question import TextQuestion
from ..yaml_source import Source, read_yaml
from .judge import Judgement, judge
from .rubric import Patterns, course_words, rules

WIDEST = 300  # characters a bounded repetition may span
_CHINESE = re.compile("[\u4e00-\u9fff]")
_ESCAPED = re.compile(r"\\.|\[[^\]]*\]")
_WILD = re.compile(r"\.[*+]|\)[*+]{2}|\)[*+](?=\)[*+])")
_COUNTED = re.compile(r"\{(\d*),(\d*)\}")
Field = tuple[str | int, ...]

_HEARD = Text("an example that is heard here", "能被检出的例句")
_NOT_HEARD = Text("an example that is not heard here", "不该被检出的例句")
_ASKED = Text("an example that is asked about and costs nothing", "只追问、不扣分的例句")
_BOTH = Text("examples in English and in Chinese, two or more", "中英文例句都要有，至少各一句")
_OF_MAYBE = Text("examples of what is asked about", "`maybe` 的例句")
_BOUNDED = Text(
    f"a bounded repetition such as .{{0,12}}, at most {WIDEST}",
    f"有上限的重复，如 .{{0,12}}，不超过 {WIDEST}",
)
_USED = Text("a concept that a pattern uses", "有规则用到的概念")


def pattern_faults(question: TextQuestion) -> Iterator[BankError]:
    """The faults of a question's pattern file, in the order of its parts."""
    path = question._patterns
    assert path is not None
    try:
        ready, source = rules(question), read_yaml(path)
    except BankError as error:
        yield error
        return
    yield from _wild(source)
    yield from _unused(source, ready)
    for part in ("points", "misconceptions"):
        for name, entry in source.data.get(part, {}).items():
            yield from _examples(source, question, ready, (part, name), entry)


def lexicon_faults(path: Path | None = None) -> Iterator[BankError]:
    """The faults of a lexicon, the course's own without a path."""
    try:
        yield from _wild(read_yaml(course_words() if path is None else path))
    except BankError as error:
        yield error


def _examples(
    source: Source, question: TextQuestion, ready: Patterns, field: Field, entry: Mapping[str, Any]
) -> Iterator[BankError]:
    kinds = ["said", "unsaid", *(["asked"] if entry.get("maybe") or entry.get("asked") else [])]
    for kind in kinds:
        texts = entry.get(kind) or []
        chinese = [bool(_CHINESE.search(text)) for text in texts]
        if not any(chinese) or all(chinese):
            lacking = _OF_MAYBE if kind == "asked" and not texts else _BOTH
            yield BankError(source.place((*field, kind)), expected=lacking, got=str(len(texts)))
        for at, text in enumerate(texts):
            found = judge(text, ready, (), question.weights)
            wanted = _missed(found, field, kind)
            if wanted is not None:
                place = source.place((*field, kind, at))
                yield BankError(place, expected=wanted, got=repr(text))


def _missed(found: Judgement, field: Field, kind: str) -> Text | None:
    """What an example of this kind should have been, if it is not."""
    part, name = field
    heard = name in (found.said if part == "points" else found.wrong)
    if kind == "said":
        return None if heard else _HEARD
    if kind == "asked":
        return None if name in found.asked else _ASKED
    return _NOT_HEARD if heard or name in found.asked else None


def _wild(source: Source) -> Iterator[BankError]:
    """Expressions that could take longer than the text they read is long."""
    for part in ("things", "acts"):
        for name, lines in (source.data.get(part) or {}).items():
            for line in filter(None, map(str.strip, lines.splitlines())):
                bare = _ESCAPED.sub("x", line)
                wide = any(not high or int(high) > WIDEST for _, high in _COUNTED.findall(line))
                if wide or _WILD.search(bare):
                    yield BankError(source.place((part, name)), expected=_BOUNDED, got=repr(line))


def _unused(source: Source, ready: Patterns) -> Iterator[BankError]:
    """Concepts of the file that none of its patterns speaks of."""
    for part in ("things", "acts"):
        for name in source.data.get(part) or {}:
            if name not in ready.names:
                yield BankError(source.place((part, name)), expected=_USED, got=name)
