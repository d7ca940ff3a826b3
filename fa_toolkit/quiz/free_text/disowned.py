"""An answer that its own author takes back as a whole: "None of the following is true: ...".

A stretch of text is such a denial only if it speaks of nothing but the text around it: every word
of it is one of those below, so that "none of the scores is written" and "this is not true of
standard attention" are none.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .clauses import Clause
from .frames import REPORTED

_STRETCH = re.compile(r"[^.。;!?\n:]+")
_COMMA = re.compile(r",| — | -- |\bbut\b|\band\b")
_TOKEN = re.compile(r"[a-z']+|[^\sa-z'\"()*\-_,]")

#: What points at the text that follows, or at what went before.
_AHEAD = re.compile(
    r"\b(?:following|below|(?:what|as) follows|next)\b|[以如]下|下面|下述|下列|接下来|后面"
)
_BEHIND = re.compile(
    r"\b(?:above|preceding|previous|so far|just (?:now|said|wrote)|i (?:just )?(?:said|wrote))\b"
    r"|以上|上面|上述|前面|刚才|刚刚"
)
_ALL = re.compile(  # of many things; "that is entirely wrong" speaks of one
    r"(?<!at )\ball\b|\b(?:every|everything|any|anything|none|nothing|whole|not (?:one|a)|kidding|joking)\b"
    r"|全|都|所有|每|没有?(?:一|半|哪)|任何|一律|均|皆|通篇|统统|通通|开玩笑"
)
_PART = re.compile(
    r"\bnot (?:all|every|everything|entirely|completely)\b|[不没](?:全|都)|并非全|不完全"
)
_SOMEBODY = re.compile(
    r"\b(?:claim|claims|claimed|says?|said|told|tells|wrote|writes|think|thinks|thought|stated|"
    r"insists?|insisted|argued|believes?|explained)\b|[说讲写]|声称|认为|告诉"
)
_DENIES = re.compile(
    r"\b(?:no|not|none|nothing|neither|nor|never|cannot)\b|n't\b"
    r"|\b(?:wrong|false|incorrect|untrue|nonsense|rubbish|garbage|bullshit|lies?|mistaken|myth|"
    r"invalid|inaccurate|opposite|contrary|reverse|disagree|reject|deny|retract|disown|kidding|joking)\b"
    r"|不|没|并?非|别|错|假|胡说|胡扯|瞎说|瞎编|谎话|相反|反对|否认|收回|撤回|开玩笑"
)
_JUDGES = re.compile(
    r"\b(?:true|right|correct|holds?|valid|accurate|believe|agree|accept|trust|support|endorse)\b"
    r"|\b(?:wrong|false|incorrect|untrue|nonsense|rubbish|garbage|bullshit|lies?|mistaken|myth|"
    r"invalid|inaccurate|opposite|contrary|reverse|disagree|reject|deny|retract|disown|kidding|joking)\b"
    r"|对|正确|成立|属实|真|同意|相信|错|假|胡说|胡扯|瞎说|瞎编|谎话|相反|反对|否认|收回|撤回|开玩笑"
)
_WORDS = frozenset(
    """
    i we you he she they it this that these those the a an my his her their our of in with about to
    at by on as is are was were be been am has have had do does did all any every each everything
    anything none nothing neither nor no not never cannot one single bit part parts whole entire
    above below following preceding previous next so far follow follows what statement statements sentence
    sentences claim claims claimed point points word words paragraph text answer line lines thing
    things said say says written wrote write told tell tells stated thought think thinks heard read
    list listed just now me entirely completely totally absolutely utterly fully simply quite really
    actually fact however but and because though yet also friend colleague someone somebody people
    blog article post book model chatbot student true false wrong incorrect right correct untrue
    nonsense rubbish garbage bullshit lie lies mistaken myth invalid inaccurate accurate holds hold
    valid opposite contrary reverse believe agree disagree reject deny retract accept trust support
    endorse disown kidding joking only insists insisted argued explained believes
    don't doesn't didn't isn't aren't wasn't weren't can't won't it's that's i'm he's she's
    """.split()  # noqa: SIM905  (a list of words reads better as words)
)
_CHINESE = re.compile(
    r"以上|上面|上述|前面|刚才|刚刚|以下|下面|下述|下列|如下|接下来|后面|这些|那些|这样|那样|这么|那么|"
    r"它们|他们|我们|大家|有人|有个|朋友|同事|同学|网友|别人|某人|老师|博客|文章|所有|全部|全都|没有|"
    r"句话|说法|内容|观点|陈述|论述|描述|答案|回答|结论|文字|东西|声称|告诉|认为|但是?|可是|不过|其实|"
    r"完全|根本|纯属|统统|通通|彻底|任何|正确|错误|成立|胡说|八道|胡扯|瞎说|瞎编|谎话|属实|同意|反对|"
    r"否认|相信|不要|事实|相反|反过来|恰恰|正好|收回|撤回|开玩笑|一律|里面|其中|通篇|整[段篇]|我是|"
    r"[这那它他她我你某全都每一句点条个段处话字讲说写的是了在里中也而可没哪半不对错假真别信并非和与为均皆请地得就]"
)
#: From here on somebody tells what holds instead.
_TURN = re.compile(
    r"(?:^|[.。;!?\n,]\s*)(?:(?:but )?in (?:fact|truth|reality)|actually|the truth|instead|"
    r"what (?:is|holds)|the (?:right|correct)|correct(?:ly)?\b|right:|"
    r"(?:而|但)?(?:其实|实际上|事实上|正确的|真相|应该是))"
)
_TOLD = re.compile(
    REPORTED.pattern
    + r"|\b(?:myths?|misconceptions?|rumou?rs?|claims?|the idea|might think|may think|might say)\b"
    r"|误区|误解|谣言|以为|认为"
)


class Denial(NamedTuple):
    """A stretch start..end that denies the text behind or ahead of it."""

    start: int
    end: int
    ahead: bool


def disown(parts: list[Clause], text: str) -> bool:
    """Drop what the answer itself calls wrong. True if that leaves nothing asserted."""
    found = list(_denials(text))
    for denial in found:
        if denial.ahead:
            turn = _TURN.search(text, denial.end)
            first, last = denial.start, turn.start() if turn else len(text)
        else:
            first, last = _begin(parts, text, denial.start), denial.end
        for part in parts:
            if first <= part.start and part.start < last:
                part.frame = "dropped"
    return bool(found) and all(part.frame == "dropped" for part in parts)


def _denials(text: str) -> list[Denial]:
    found = []
    for match in _STRETCH.finditer(text):
        opens = text[match.end() : match.end() + 1] == ":"
        first = not text[: match.start()].strip()
        for start in _starts(match):
            words = text[start : match.end()]
            way = _way(words, first and start == match.start(), opens)
            if way:
                found.append(Denial(start, match.end(), way == "ahead"))
                break
    return found


_LONGEST = 120  # of a stretch that only denies


def _starts(match: re.Match[str]) -> list[int]:
    """Where a denial that ends with this stretch may begin: with it, or behind a comma in it."""
    start, end = match.span()
    commas = [
        comma.end() for comma in _COMMA.finditer(match.string, max(start, end - _LONGEST), end)
    ]
    return [at for at in (start, *commas) if end - at <= _LONGEST]


def _way(words: str, first: bool, opens: bool) -> str:
    """ "ahead" or "behind" if the words only deny what stands there, else ""."""
    if not _JUDGES.search(words) or not _odd(words) or _PART.search(words):
        return ""
    if not _only_of_text(words, spare=opens and bool(_SOMEBODY.search(words))):
        return ""
    told = opens and first and _SOMEBODY.search(words)
    if _AHEAD.search(words):
        return "ahead"
    if _BEHIND.search(words):
        return "behind"
    if not (_ALL.search(words) or told):
        return ""
    if first:
        return "ahead" if opens or not re.search(r"\b(?:that|those)\b|那", words) else ""
    return "behind"


def _odd(words: str) -> bool:
    """Whether some clause of it denies, and does not deny a denial."""
    return any(
        len(_DENIES.findall(part)) % 2 == 1 and _JUDGES.search(part) for part in _COMMA.split(words)
    )


def _only_of_text(words: str, spare: bool) -> bool:
    """Whether every word is one that speaks of text; `spare` leaves room for who said it."""
    tokens = _TOKEN.findall(_CHINESE.sub("", words))
    other = [token for token in tokens if token not in _WORDS]
    return len(other) <= (3 if spare and len(tokens) >= 6 else 0)


def _begin(parts: list[Clause], text: str, end: int) -> int:
    """Where that begins which a denial at `end` looks back on.

    After others have been quoted, it is they who are contradicted, and what stands before them stays.
    """
    before = [part for part in parts if part.end <= end]
    numbers = sorted({part.sentence for part in before}, reverse=True)
    for at, number in enumerate(numbers):
        said = [part for part in before if part.sentence == number]
        if _TOLD.search(text[said[0].start : said[-1].end]):
            return said[0].start
        if at == 0 and all(part.frame != "asserted" for part in said):
            return said[0].start
    return 0
