"""Whether the words of a text stand in an order in which people put them, in English and Chinese.

Pairs of neighbours are weighed by how much oftener they occur in the texts of the course than words
thrown together would, and the same pairs turned round are weighed against them. In English a word
that carries no grammar counts as its ending only, so that the subject spoken of does not matter; in
Chinese pairs of characters count. Notes, formulas and other people's topics stay above what is
called disorder; reversed and sorted words fall below, shuffled ones mostly. Chinese words that stay
whole and only change places are told by chance alone, unless blanks part them.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator

from pydantic import BaseModel

from ..question import Bilingual

_GRAMMAR = frozenset(
    """
    a an the of in on at by for with from into than per onto to is are was were be been has have had
    do does did can could will would should must may might not i we you he she they it this that
    these those which who what how its their your and or but because so if when as while since
    whereas then no never nor neither there here all every each one two only just also still more
    most less fewer same other some any both such once twice again now very too much many after
    before until through over between without instead up out down
    """.split()  # noqa: SIM905  (a list of words reads better as words)
)
_ENDINGS = ("ing", "ed", "ly", "s")
_ENGLISH = re.compile(r"[a-z][a-z']*(?:-[a-z']+)*|[0-9][0-9.,]*[0-9]|[0-9]|[^\sa-z0-9]")
_CHINESE = re.compile(r"[\u4e00-\u9fff]|[a-z0-9_^.]+|[^\s]")
_BETWEEN = re.compile(r"(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])")
_SYMBOLS = frozenset(
    "*0s()"
)  # among themselves they are formulas, which have an order of their own
_MARKS = re.compile(r"[,.;。:!?、\n]|(?<!-)->|→")
_STEPS = re.compile(r"→|->|=|<-")
_RARE = 6  # a character seen less often is like any other rare one

_SURE = 60  # pairs; fewer must be plainer
_LEAST = {"en": 25, "zh": 15}
_RUN = 30  # Chinese pairs on end without a mark: no sentence goes on so long


def disordered(text: str) -> bool:
    """Whether the words of a folded text are thrown together."""
    chinese = len(re.findall(r"[\u4e00-\u9fff]", text))
    lang = "zh" if chinese > 0.05 * len(text) else "en"
    pairs = [pair for pair in _pairs(text, lang) if _tells(pair, lang)]
    if len(pairs) < _LEAST[lang]:
        return False
    least = _least_english(text, len(pairs)) if lang == "en" else _least_chinese(text, len(pairs))
    return _order(pairs, lang) < least


def _least_english(text: str, pairs: int) -> float:
    if pairs >= _SURE:
        return 0.1
    return -0.2 if len(_STEPS.findall(text)) < 2 else -math.inf


def _least_chinese(text: str, pairs: int) -> float:
    """Written without any marks, or word by word with blanks, it has to read the better."""
    if pairs < _RUN:
        return -0.5
    if len(_BETWEEN.findall(text)) > 0.4 * pairs:
        return 2.3
    return 1.5 if pairs >= _RUN * max(1, len(_MARKS.findall(text))) else -0.5


def _order(pairs: list[tuple[str, str]], lang: str) -> float:
    """Mean weight of the pairs, and once more what it is above that of the pairs turned round."""
    weight = _weights(lang)
    return sum(2 * weight(a, b) - weight(b, a) for a, b in pairs) / len(pairs)


def _pairs(text: str, lang: str) -> Iterator[tuple[str, str]]:
    words = _BETWEEN.sub("", text.lower())
    tags = [
        ".",
        *((_english if lang == "en" else _chinese)(w) for w in _WORDS[lang].findall(words)),
        ".",
    ]
    return itertools.pairwise(tags)


_WORDS = {"en": _ENGLISH, "zh": _CHINESE}


def _english(word: str) -> str:
    if word in _GRAMMAR:
        return word
    if word.endswith("n't"):
        return "not"
    if word[0].isdigit():
        return "0"
    if not word[0].isalpha():
        return "." if word in ".;!?" else word if word in ",:()" else "*"
    if len(word) == 1:
        return "s"
    long = (end for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2)
    return "-" + next(long, "") if not word.endswith("ss") else "-"


def _chinese(word: str) -> str:
    if "\u4e00" <= word <= "\u9fff":
        return word
    if word in ".。;!?；！？\n":
        return "."
    return "," if word in ",，、" else "a" if word[0].isalnum() else "*"


def _tells(pair: tuple[str, str], lang: str) -> bool:
    """Whether the order of a pair tells anything."""
    if lang == "en":
        return not _SYMBOLS.issuperset(pair)
    return any(tag > "\u4dff" for tag in pair) and all(
        tag > "\u4dff" or tag in ",." for tag in pair
    )


@functools.cache
def _weights(lang: str) -> Callable[[str, str], float]:
    """The weight of a pair: log of how much oftener it occurs than by chance, within -3..3."""
    pairs = Counter(pair for text in _texts() for pair in _pairs(getattr(text, lang), lang))
    first, second = Counter[str](), Counter[str]()
    for (a, b), count in pairs.items():
        first[a] += count
        second[b] += count
    total = first.total()
    known = {tag for tag, count in first.items() if count >= _RARE or tag < "\u4e00"}

    @functools.lru_cache(maxsize=1 << 15)
    def weight(a: str, b: str) -> float:
        if a not in known or b not in known:
            return 0.0
        chance = first[a] * second[b] / total
        some = 2 * min(1.0, chance)
        if not chance:
            return 0.0
        return max(-3.0, min(3.0, math.log((pairs[a, b] + some) / (chance + some))))

    return weight


def _texts() -> Iterator[Bilingual]:
    """Every text of the course's questions but the model answers, in both languages."""
    from ..bank import load_bank

    for question in load_bank().questions.values():
        yield from _within(question)


def _within(value: object) -> Iterator[Bilingual]:
    if isinstance(value, Bilingual):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            if name != "model_answer":
                yield from _within(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _within(entry)
