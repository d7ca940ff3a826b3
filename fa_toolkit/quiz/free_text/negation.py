"""Whether a word in a clause is asserted or denied. Two denials assert.

Knows the words that deny, how far each reaches, and those that only look like one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Looks like a denial and is none; matched first and passed over.
_NONE = (
    r"not only|not just|not merely|not simply|no wonder|no matter|no doubt|not to mention|no less|"
    r"nothing (?:but|else than|except|more than)|none other than|not least|no problem|"
    r"no longer than|"
    r"no more than|not (?:sure|certain|in detail)|if not|whether or not|or not\b|"
    r"without (?:loss|approximation|error)|"
    r"cannot (?:fit|hold)|can't (?:fit|hold)|not fit|n't fit|not big enough|"
    r"not large enough|not enough|never mind|"
    r"no accuracy|can't (?:be|get) (?:done|away) without|"
    r"不分块|不切块|不分开|不拆|不仅|不光|不止|不但|不单|不只|不过|不管|不论|无论|不断|不同|不少|不错|"
    r"不然|不如|不愧|不妨|不料|不由|"
    r"差不多|不一样|不久|不禁|不等于说|不好说|(?<=[放装容塞存摆盛])不[下了完]|"
    r"放得?不下|不够|不足|不大|不了|"
    r"无非|无妨|无所谓|无穷|无限|(?<=能)不能|(?<=是)不是(?=.{0,12}[?吗])|要不|"
    r"不变|不知|不清|不太记|没记|没想|没问题|没办法|别的|别人|分别|区别|类别|"
    r"级别|特别|差别|个别|识别|辨别|告别|"
    r"未来|未必|不必等|不小|从未见过|是非|非常|非线性|非矩阵|并非常|除非|不可变"
)
#: Two denials in one.
_TWICE = (
    r"少不了|离不开|不得不|不能不|不可不|免不了|不可或缺|不可缺少|必不可少|不无|"
    r"没有不|并非不|不是不|无不|不会不|不该不|not un\w+|cannot (?:but|do without)|"
    r"can't do without|not without|nothing .{0,12}without|避免不了|不可避免"
)
_DENY = (
    r"\bnot\b|n't\b|\bcannot\b|\bnever\b|\bno longer\b|\bno (?:need|reason|point) (?:to|"
    r"for|of|in)\b|\bno one\b|\bno\b|\bnone\b|\bnothing\b|\bneither\b|\bnor\b|"
    r"\bnowhere\b|"
    r"\bwithout\b|\binstead of\b|\brather than\b|\bavoid(?:s|ed|ing)?\b|\bskip(?:s|"
    r"ped|ping)? (?:the )?(?:writ|stor|materiali|sav)|\brefus(?:e|es|ing) to\b|"
    r"\bhardly\b|\bscarcely\b|\bfail(?:s|ed)? to\b|"
    r"\bstop(?:s|ped)? (?:writ|stor|keep|sav)|\bgets? rid of\b|\bfree of\b|\bdispens(?:es|"
    r"ing) with\b|\bfar from\b|\bby no means\b|\bin no way\b|\bno such\b|\bbar(?:s|"
    r"red)? from\b|\bnot even\b|"
    r"\bwrong(?:ly)? to\b|\bfalse that\b|\bunnecessary to\b|\buntrue that\b|"
    r"\bcontrary to\b|\bzero\b|"
    r"不需要|不必|不用|无需|无须|毋须|不再|不会|不能|不可以|不要|不该|不应|不把|"
    r"不将|不是|并不|绝不|从不|决不|毫不|不属于|不存在|不(?!变)|没有?|无(?![限穷论])|"
    r"未(?!来|必)|"
    r"非(?!常|线)|不(?=[\u4e00-\u9fff])|别(?=把|让|去|老|总|再)|免去|免得|避免|"
    r"省去|省掉|免于|而非|杜绝|防止|谈不上|算不上|休想|勿|拒绝|停止"
)
_TOKENS = re.compile(f"(?P<none>{_NONE})|(?P<twice>{_TWICE})|(?P<deny>{_DENY})")
_STOP = re.compile(
    r"\b(?:and (?:\w{2,6}n't|does|do|was|has|have|never|not|no|it|they|then|recompute|instead|"
    r"just|only|rather|so|the|gives?|is|are|you|keeps?|merely|everything)|but|"
    r"so|only|just|merely|except|because|since|unless|until|it's|its|still|remains|"
    r"anyway|yet)\b"
    r"|=>|->|→|[也又更](?=[没不无未])|而是|而且|而只|但|却|就(?!地)|只(?!有|要)|所以|因此|反而|因为|,|:"
)
_LONG = re.compile(r"neither|nor|把|将|让|去|再")
_AFTER = re.compile(
    r"^,? ?(?:(?:\b(?:is|are|was|were|has been|have been)(?: \w{2,9}ly)?(?: not|"
    r"n't| never| in no way| neither)\b(?! (?:exactly |just |only |simply )?(?:the only|"
    r"just|only|merely|enough|known|in)))"
    r"|\b(?:is|are|was|were) (?:wrong|false|a myth|nonsense|unnecessary|unneeded|"
    r"avoided|eliminated|skipped|gone|out of the question|absent|missing|beside the point|"
    r"irrelevant)\b"
    r"|\b(?:has|have|had) nothing to do)"
    r"|^.{0,3}?(?:不需要|没有?必要|不必要|并不存在|不存在|是错的|是不对的|不成立|"
    r"都不(?!变)|都没|并不|.{0,3}?没(?:什么|有)?关系|.{0,3}?无关)"
)


MOST = 40  # denials of one clause that are looked at


class Denial(NamedTuple):
    """A word that denies: what follows it up to `reach` is denied."""

    start: int
    end: int
    reach: int
    times: int


def denials(text: str) -> list[Denial]:
    """Every denial of a clause, with how far it reaches."""
    found: list[Denial] = []
    for match in _TOKENS.finditer(text):
        if match.lastgroup == "none" or (match[0] == "nor" and found):
            continue  # "neither ... nor" denies once
        end = match.end()
        chinese = match[0][-1] > "\x7f"
        limit = 18 if chinese else 90
        if chinese and _LONG.match(text, end):
            limit = 40
        if match[0] in ("instead of", "rather than"):
            limit = 60
        stop = _STOP.search(text, end + (1 if chinese else 6), end + limit)
        reach = min(len(text), end + limit, stop.start() if stop else len(text))
        if len(found) == MOST:
            break
        found.append(Denial(match.start(), end, reach, 2 if match.lastgroup == "twice" else 1))
    return found


_BUT = re.compile(r"\bbut\b|而是")


def denied(text: str, start: int, end: int, found: list[Denial], said: str) -> bool:
    """Whether what stands at start..end of a clause is denied in it.

    Args:
        said: its words, which may themselves deny ("is not averaged"); "" where they are the
            wording of a denial anyway.
    """
    count = sum(d.times for d in found if d.start < start < d.reach and d.end <= start + 1)
    count += sum(d.times for d in denials(_BUT.split(said)[-1])) if said else 0
    count += bool(_AFTER.match(text[end : end + 40]))
    return count % 2 == 1
