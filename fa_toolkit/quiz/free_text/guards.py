"""What must earn nothing: lists of words, words in no order, copies of the question, orders to the grader, filling.

Every guard only takes clauses away; none gives credit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from .clauses import Clause
from .frames import GRADER
from .word_order import disordered

_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|being|has|have|had|do|does|did|can|can't|"
    r"cannot|could|will|would|should|must|may|might|"
    r"the|it|its|they|them|you|we|i|he|this|that|these|which|who|there|"
    r"to|of|in|on|at|by|for|with|from|into|onto|than|as|so|if|when|because|since|"
    r"but|while|per|up|out|away|back|no|not|never|"
    r"get|gets|got|go|goes|come|comes|keep|keeps|kept|make|makes|take|takes|"
    r"use|uses|need|needs|read|reads|write|writes|load|loads|store|stores|stored|"
    r"compute|computes|computed|split|splits|cut|cuts|fits?|save|saves|saved|"
    r"hold|holds|stay|stays|stays?|becomes?|remains?|grows?|drops?|fall|falls|"
    r"multiply|multiplied|scale|scaled|add|adds|divide|reduce[sd]?|avoid\w*|"
    r"merge[sd]?|fuse[sd]?|carry|carries|done|only|just|even|all|every|each|"
    r"more|less|fewer|still|now|before|afterwards|previously|"
    r"works?|working|runs?|change[sd]?|updates?|want|wanna|moves?|hit|hits|touch|"
    r"touches|spill|win|idle|costs?|dominates?|equals?|throw|drop|dropped|tiny|"
    r"same|either|without|unchanged|bigger|smaller|larger|faster|written|stored|"
    r"glued|fused|pinned|lives?|dumped|fetched|nothing|zero|nope|yes|spent|seen|"
    r"knows?|sees?|appl(?:y|ies)|normali[sz]es?)\b|n't\b"
    r"|[=≤≥<>]|→|->|\d ?(?:x|times|mb|kb|gb|tb|倍)|~ ?\d|\d ?r\b|\dr\dw"
    r"|[的是把在了就会被从不没有比要用让使由而再都也还需能可到得给跟为]|[读写存算乘加减除搬扫切放装]|"
    r"因此|[一总]共|要(?!点)|维护|更新|合并成|融合|常驻|驻留|降|变|等于|不|→"
)  # fmt: skip
_SEPARATOR = re.compile(r"[,;|、·\n。:+&]|/(?!s\b)|\.(?=\s|$)|→|->|>|\band\b|和|与|以及")


_EDGES = " \t-*()[]\"'"  # what stands around a part of a list


def is_list(text: str, least: int = 4, share: float = 0.75) -> bool:
    """Whether a text is a bare list of terms: hardly one of its parts says something."""
    if least > 4 and "=" in text and re.search(r"\d", text):
        return False  # a line of a calculation
    parts = [part.strip(_EDGES) for part in _SEPARATOR.split(text)]
    parts = [part for part in parts if len(part) > 1 or part.isalpha()]
    if len(parts) >= least and sum(map(_bare, parts)) >= share * len(parts):
        return True
    stops = [part.strip(_EDGES) for part in _STOPS.split(text)]
    stops = [part for part in stops if part]
    if len(stops) >= 5 and sum(map(_term, stops)) >= 0.8 * len(stops):
        return True
    if len(stops) >= least == 4 and all(_term(stop, wide=True) for stop in stops):
        return sum(map(_bare, stops)) >= len(stops) / 2
    if not re.search(r"[a-df-z]{2}|[\u4e00-\u9fff=]", text.replace("exp", "")):
        return len(re.findall(r"\d+(?:\.\d+)?", text)) >= 3
    return _run_of_words(text)


def _run_of_words(text: str) -> bool:
    """Terms one after another with nothing between them but blanks."""
    if re.search(r"[=<>≤≥→;:.?!。]|,(?! ?[kv]\b)| [x*] .{1,40} [x*] ", text.strip(" .。")):
        return False
    words = text.split()
    if _growth(text):
        return False
    if re.search(r"[\u4e00-\u9fff]{2}", text):
        short = sum(len(word) <= 6 or word.isascii() for word in words)
        plain = _COMPOUNDS.sub("词", text)
        if _FUNCTION.search(plain) or re.search(r"[要占,;。:]|\d ?[次读写个]", plain):
            return False
        if len(_DOES.findall(plain)) >= 2:  # what is read, computed and written is told
            return False
        return len(words) >= 7 and short >= 0.85 * len(words)
    if len(words) >= 7 and not any(says.search(text) for says in (_GLUE, _ACTS, _JOINS)):
        return True
    glue = len(_GLUE.findall(text))
    most = 0.16 if len(words) >= 12 else 0.05
    return len(words) >= 9 and glue <= most * len(words) and not _ACTS.search(text)


_STOPS = re.compile(r"[,;|、·\n。]|/(?!s\b)|\.(?=\s|$)")
_FUNCTION = re.compile(
    r"[的是把在了就会被从让用使给靠拿]|都|必须|因为|所以|只要|需要|不再|变成|降到|[一总]共"
)
#: Words that make a part a sentence; participles and nouns that look like verbs are left out.
_FINITE = re.compile(
    r"\b(?:is|are|was|were|be|been|isn't|aren't|has|have|had|do|does|did|don't|"
    r"doesn't|didn't|can|can't|cannot|could|will|won't|would|should|must|may|"
    r"might|"
    r"it|its|it's|they|them|you|we|i|he|this|that|these|those|which|who|there|"
    r"gets?|goes|comes?|keeps?|kept|makes?|takes?|needs?|stays?|becomes?|remains?|"
    r"grows?|falls?|holds?|carr(?:y|ies)|avoids?|reduces?|adds?|divides?|saves?|"
    r"lives?|sits?|"
    r"computes|reads|writes|loads|stores|splits|cuts|fits|drops|moves|runs|works|"
    r"uses|changes|updates|multiplies|scales|touch(?:es)?|wins?|hits|"
    r"saved|pinned|not|so|because|since|when|if|while|than|as|then|instead|only|"
    r"just|never|always|u|gonna|wanna|thats|its)\b"
    r"|(?:^|[,:;] ?)(?:tile|keep|cut|split|load|read|write|store|fuse|save|drop|"
    r"throw|multiply|divide|add|take|use|rescale|recompute|compute|merge|update|"
    r"subtract|trade)\b|\d ?(?:mb|gb|kb|tb)"
)


_LEAD = re.compile(
    r"(?:关键词|要点|key ?words?|key (?:ideas|terms|points)|terms|topics|flash ?attention|fa):"
)
_ACTS = re.compile(
    _FINITE.pattern.partition("|(?:^|[,:;]")[0]
    + r"|\b(?:throws|swaps|drops|leaves|replaces|skips|approximates|regenerates|"
    r"rebuilds|recomputes|discards|cuts|applies|gives|(?:drop|fall|go|grow)(?= (?:from|to))|"
    r"shares?|returns?|loses?|sees?|attends?|spills?|shrinks?|exceeds?|(?:hardly|barely|fits?) (?:fits?|in|into|on))\b"
)
_DOES = re.compile(r"[读写乘加减除算切取存搬留装]|(?<![\^(_a-z])\d|并一|进一|出一|不再|只能")


_JOINS = re.compile(r"\b(?:and|or|between|twice|once|per|then|more|less|fewer|instead|through)\b")
_GOES_ON = re.compile(r"(?:but|because|which|so|then|while|whereas|though|although|yet)\b|但|而")
#: An order of growth said of something: "extra memory O(N)", "O(n) per row".
_ORDER = re.compile(r"\bo ?\([^()]{1,24}(?:\)|$)")
_COUNTS = re.compile(r"\d+ ?[次趟]?(?: ?(?:变|变成|降到|到|→|->) ?)\d+ ?[次趟]?")


def _growth(part: str) -> bool:
    return bool(_ORDER.search(part)) and bool(
        re.search(r"[a-z]{3}|[\u4e00-\u9fff]", _ORDER.sub(" ", part))
    )


def _term(part: str, wide: bool = False) -> bool:
    """Whether a part is a term and no statement; `wide` counts an English word as one character."""
    if _growth(part) or _GOES_ON.match(part):
        return False
    if _COUNTS.fullmatch(part):
        return True
    part = _COMPOUNDS.sub("词", part)
    if re.search(r"[<>→]|=(?!.{0,8}$)|: ", part) and not _LEAD.match(part):
        return False
    if re.search(r"[\u4e00-\u9fff]", part):
        length = len(re.sub(r"[a-z]+", "a", part) if wide else part)
        return length <= 9 and not _FUNCTION.search(part) and not _DOES.search(part)
    return len(part.split()) <= 5 and not _FINITE.search(part)


_GLUE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|"
    r"should|must|the|a|an|it|its|they|them|you|we|i|"
    r"this|that|these|which|who|to|of|in|on|at|by|for|with|from|into|than|as|"
    r"so|if|when|because|since|but|while|no|not|never)(?![a-z-])|n't\b"
)
_FORMULA = re.compile(r"[a-z]{1,2} ?= ?[a-z^*@ ]{1,8}$")
_COMPOUNDS = re.compile(
    r"重计算|计算量|计算|在线|读写|存储|显存|缓存|访存|注意力|乘法|加法|减法|除法|"
    r"不变|放大|内存|归一化|一致|装载|三读三写|一读一写"
)


def _bare(part: str) -> bool:
    if _FORMULA.fullmatch(part):
        return True
    if _growth(part):
        return False
    if re.search(r"(?<![\^(_a-z])\d", part):
        return False
    part = _COMPOUNDS.sub("词", part)
    if len(part) > (14 if part[:1] > "\x7f" else 42):
        return False
    return len(part.split()) <= 5 and not _VERB.search(part)


def grams(text: str) -> list[str]:
    """English words and pairs of Chinese characters."""
    found = [_stem(word) for word in re.findall(r"[a-z0-9]{2,}", text) if word not in _SMALL]
    for run in re.findall(r"[\u4e00-\u9fff]+", text):
        found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return found


def _stem(word: str) -> str:
    return re.sub(r"(?:ations?|ing|ed|es|s|e|ly|ion)$", "", word) if len(word) > 4 else word


_SMALL = frozenset(
    """
    the a an and or of to in is are it its for on by be do does this that with as at from
    how what when why which where so can you me about my i we would will let us your answer
    question first then now next also etc has have not explain describe
    """.split()  # noqa: SIM905  (a list of words reads better as words)
)
_TITLE = re.compile(
    r"\byou(?:'re| are) asking (?:me )?(?:about|for|how|why|what)|\bthe question (?:is|"
    r"asks|was|reads|concerns|at hand)\b|\bi (?:was|am|have been) asked\b|本题|"
    r"题目(?:是|:|问)|(?:问题|题目|这题)(?:问|要求)的?是|您问的|你问的"
)
_ASKS = re.compile(
    r"\b(?:you (?:are|'re) asking|the question (?:is|asks|was|reads|concerns)|"
    r"(?:i|we) (?:am|'m|was|have been|are) (?:asked|being asked)|asked (?:to|"
    r"about|for)|in other words|"
    r"(?:i|we) (?:will|shall|'ll|am going to|want to|would like to|should|have to|"
    r"need to) (?:now )?(?:explain|describe|discuss|answer|talk|address|look|"
    r"derive|compare|show|say)|your question|to answer (?:this|the) question|"
    r"the task is)\b"
    r"|题目|这个问题|这道题|问的是|问题是|您问|你问|请(?:说明|描述|比较|推导|"
    r"写出|问)|我将|我要回答|本题|围绕|需要(?:说明|推导|描述|回答)|要求(?:说明|"
    r"推导|描述|写出)|即推导|换句话说"
)


def is_echo(sentence: str, prompts: Sequence[frozenset[str]]) -> bool:
    """Whether a sentence says little that the question itself does not say."""
    said = set(grams(_OPINION.sub(" ", sentence)))  # a name said twice repeats no more
    if len(said) < 3:
        return False
    if _TITLE.search(sentence):
        return True
    limit = 0.5 if _ASKS.search(sentence) else 0.85 if len(said) > 5 else 0.7
    return any(sum(word in prompt for word in said) >= limit * len(said) for prompt in prompts)


#: Adds nothing to what a sentence repeats.
_OPINION = re.compile(
    r"\b(?:i (?:really |do )?(?:think|believe|feel|guess|find)|in my (?:opinion|view)|really|very|"
    r"indeed|definitely|certainly|surely|obviously)\b"
    r"|我(?:个人)?(?:觉得|认为|想|感觉|相信)|的确|确实|真的|非常|十分|当然|显然|很"
)
_VALUE = re.compile(
    r"\b(?:is|are|was) (?:very |really |so |extremely |quite )?(?:important|"
    r"essential|crucial|key|relevant|vital|central|critical|significant|great|"
    r"useful|related to|connected to|involved)\b"
    r"|\b(?:thanks to|due to|related to|because of|relates to|involves?(?! (?:all|every|each|the whole)\b)|matters?|"
    r"plays? a role|(?<=it )features|(?<=attention )features|leverages?|utili[sz]es?|employs|includes?|concerns?)\b"
    r"|很重要|非常重要|至关重要|是关键|很关键|有关|相关|涉及(?!.{0,2}(?:所有|全部|整|每))|起作用|发挥.{0,4}作用|体现"
)


def guard(
    parts: list[Clause],
    sentences: dict[int, str],
    prompts: Sequence[frozenset[str]],
    whole: str = "",
) -> bool:
    """Drop every clause that earns nothing, all if `whole` has no order. True if most was such."""
    before = sum(part.frame != "dropped" for part in parts) or 1
    asked = {part.sentence for part in parts if part.frame == "dropped"}
    stated = [text for number, text in sentences.items() if number not in asked]
    if stated and (is_list("\n".join(stated)) or disordered(whole)):
        for part in parts:
            part.frame = "dropped"
        return True
    for number, text in sentences.items():
        if is_list(text, 5, 0.85) or is_echo(text, prompts) or GRADER.search(text):
            _drop(parts, number)
    _drop_repeated_openings(parts)
    for part in parts:
        if _VALUE.search(part.text) and len(part.text) < 60:
            part.frame = "dropped"
    return sum(part.frame == "dropped" for part in parts) > 0.6 * before


def _drop(parts: list[Clause], sentence: int) -> None:
    for part in parts:
        if part.sentence == sentence:
            part.frame = "dropped"


def _drop_repeated_openings(parts: list[Clause]) -> None:
    """ "It uses A. It uses B. It uses C.": one frame filled with words again and again."""
    openings = [(part, _opening(part.text)) for part in parts if part.frame != "dropped"]
    counts = Counter(opening for _, opening in openings if opening)
    for part, opening in openings:
        if counts[opening] >= 3 and len(part.text.strip()) < (34 if opening.isascii() else 12):
            part.frame = "dropped"


_FILLER = re.compile(
    r"\s*(?:and |then |also )*((?:it|there|this|flash ?attention|fa|they|we|"
    r"you) (?:is|are|uses?|has|have|involves?|needs?|applies|employs?|does|includes?|"
    r"exploits?|mentions?|say|says|know|get)"
    r"|(?:uses?|using|with|has|have|via|through|thanks to|by) (?=[a-z]))"
    r"|\s*((?:它|并|还|也|又)?(?:用到|用了|使用|采用|利用|通过|包括|涉及|有|"
    r"具有|需要|提到|实现|依靠|借助|运用))"
)


def _opening(text: str) -> str:
    match = _FILLER.match(text)
    return (match[1] or match[2] or "").strip() if match else ""
