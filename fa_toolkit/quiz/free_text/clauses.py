"""Cut folded text into clauses and say in what sense each is meant.

A clause may be dropped (a question, a list of words, an order to the grader), be somebody else's
opinion, be a supposition, or speak of another system. Knows no key points.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Frame = Literal["asserted", "other", "reported", "supposed", "dropped"]

_SENTENCE_END = re.compile(r"(?<![0-9])\.(?=\s|$|[\"')\]])|(?<=[0-9])\.(?=\s+[a-z\u4e00-\u9fff]|\s*$|\s*\n)|[!?。;|]|\n|\.(?=[\u4e00-\u9fff])")
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|vs|approx|etc|cf|fig|eq|resp)$")
_CLAUSE_END = re.compile(
    r",(?![0-9]{3})| — | -- |: ?(?=(?:those|these|they|both|the former|the latter|它们|那些|前者|后者))"
    r"|(?<= )(?:but|whereas|although|though|because|which|so that|and then|then|and so|yet|unlike|while)(?= )"
    r"|(?<=[\u4e00-\u9fff])(?=而是|而不是|但是?(?!凡)|不过|因此|所以|然而|然后|于是|却(?!说))"
)  # fmt: skip


@dataclass(slots=True)
class Clause:
    """A stretch of folded text that says one thing."""

    start: int
    end: int
    sentence: int
    text: str
    frame: Frame = "asserted"


def sentences(text: str) -> list[tuple[int, int, str]]:
    """(start, end, mark that ends it) of every sentence."""
    found, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if match[0] == "." and _ABBREVIATION.search(text, max(start, match.start() - 7), match.start()):
            continue
        if text[start : match.start()].strip():
            found.append((start, match.start(), match[0]))
        elif found and match[0] == "?":
            found[-1] = (*found[-1][:2], "?")
        start = match.end()
    if text[start:].strip():
        found.append((start, len(text), ""))
    return found


def clauses(text: str) -> list[Clause]:
    """All clauses in order, not yet framed."""
    found = []
    for number, (start, end, mark) in enumerate(sentences(text)):
        last = start
        for match in _CLAUSE_END.finditer(text, start, end):
            if text[last : match.start()].strip():
                found.append(Clause(last, match.start(), number, text[last : match.start()]))
                last = match.start() if match[0][:1].isalpha() else match.end()
        if text[last:end].strip():
            found.append(Clause(last, end, number, text[last:end]))
        if mark == "?":
            _drop_question(found, number)
    return found


_QUESTION_WORD = re.compile(
    r"\b(?:what|why|how|when|where|which|is|are|does|do|can|could|would|should)\b|吗|呢|什么|怎么|如何|为何|哪|是否|多少|几"
)


def _drop_question(found: list[Clause], number: int) -> None:
    """A sentence that asks states nothing; what stands before the question in it may."""
    for clause in reversed([c for c in found if c.sentence == number]):
        clause.frame = "dropped"
        if _QUESTION_WORD.search(clause.text):
            break


# ---- frames

REPORTED = re.compile(
    r"(?:\b(?:some|many|most|other|few|plenty of) (?:\w+ ){0,3}?(?:say|says|think|thinks|claim|claims|believe|assume|like to say|argue|file|call|write|describe)\b"
    r"|\b(?:you|one|they|we|i) (?:often|sometimes|frequently|regularly|will|may|might|commonly|always) (?:\w+ )?(?:read|hear|see it|told|reads|hears)\b"
    r"|\b(?:people|folks|vendors|colleagues?|blogs?|blog posts|articles|textbooks?|critics|someone|somebody|a friend|a colleague|students?|candidates|the internet|everybody|everyone)"
    r"(?: \w+){0,3}? (?:say|says|said|think|thinks|thought|claim|claims|claimed|believe|believes|assume|assumes|tell|tells|told|read|reads|hear|hears|heard|call|calls|mistake|confuse|wrote)\b"
    r"|\b(?:it is|it's|is) (?:often|sometimes|commonly|frequently|widely|wrongly|occasionally|usually) (?:said|claimed|believed|thought|assumed|read|described|called|listed|presented)"
    r"|\b(?:a |the |one )?(?:common|popular|widespread|frequent|usual|classic|typical) (?:myth|misconception|misunderstanding|mistake|belief|error|claim|misreading|wrong answer)"
    r"|\b(?:myth|misconception|rumou?r|legend)\b (?:is|has it|says|that)"
    r"|\b(?:i|we) (?:first|once|initially|originally|used to|at first|had|long) (?:\w+ )?(?:think|thought|believed?|assumed?)\b"
    r"|\b(?:seen|heard|read) (?:it|this|that|fa|flash attention) (?:\w+ )?(?:described|called|listed|classed|labelled|labeled|presented|said|named|filed|sold)"
    r"|\bto (?:claim|say|think|believe|assume) (?:that )?"
    r"|(?:有人|有些人|很多人|不少人|许多人|大家|人们|别人|某些人|网上|网上不少|博客|文章|面试者|同事|同学|初学者|新手|候选人|朋友|老师|教程|厂商)[^,。;]{0,8}?(?:说|认为|以为|觉得|误以为|误解|声称|宣称|讲|担心|提到|写道|写|传)"
    r"|(?:常见|普遍|流行|典型)的?(?:误解|误区|错误|说法|看法|误会)|误以为|常被(?:误)?(?:认为|说成|当成|归为)|容易(?:误)?以为|一种说法|传言|据说|听说)"
)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|suppose|supposing|assuming|imagine if|were)\b(?: \w+){0,8}? (?:would|could|might|had|were|used|worked)\b"
    r"|\bwould (?:have|be|need|take|blow|drop|fall|make|save|help|require|still)\b"
    r"|\b(?:may or may not|might or might not)\b|\b(?:could|might) (?:in theory|perhaps|possibly)\b"
    r"|\b(?:could|might) (?:be|have|do) (?:\w+\s+){0,3}but\b"
    r"|(?:假如|假设|要是|倘若|如若|若是|如果)[^。;]{0,40}?(?:那就|那么|就会|就得|就要|才会|则会|会怎样|将会)"
    r"|(?:可能|也许|或许)[^,。;]{0,12}(?:也可能|也许不|可能不|或许不)"
)
_CONDITION = re.compile(r"\b(?:if|unless|suppose|supposing|assuming)\b|如果|假如|假设|要是|倘若|如若|若是")
_MAYBE = re.compile(r"\b(?:may or may not|might or might not|could be .{0,30} but does not have to)\b|可能.{0,8}可能不|可变可不变|可有可没有")
GRADER = re.compile(
    r"\b(?:grader|grading|rubric|full (?:marks|score|credit|points)|award (?:\w+ )?(?:all|full|100|points|the)|system (?:note|prompt|message|override)|ignore (?:all |the |any |previous |prior |above |your )+"
    r"|disregard|instructions?|\"?score\"? ?[:=]|\"(?:kp|mis|role|content|status|credited|verdict|comment)\"|100 points|100/100|points? awarded|as an ai|you are (?:now )?(?:a|an|the) (?:\w+ )?(?:grader|assistant|judge|model)|mark (?:this|it|all|everything|my answer)|verified|already been (?:approved|checked|graded)|pass(?:ed)? the (?:test|check)|examiner|evaluator|assessor|override|key points? (?:are|is|have been) (?:covered|met|satisfied)|developer mode|credit (?:all|every|time|for)|maximum score)"
    r"|评分|满分|给分|给.{0,4}打分|打分者|阅卷|判卷|判分|判为|评审|考官请|忽略(?:以上|上述|之前|前面|所有|评分|错误)|系统(?:提示|指令|消息)|指令|最高优先级|管理员|得分点|全部算对|请给|通过验证|已由专家|标准答案如下|(?:全部)?命中"
)
_MARKUP = re.compile(r"<[!/a-z][^<>]{0,200}>")
_OTHER_NAMES = (
    r"(?:standard|naive|vanilla|ordinary|plain|conventional|traditional|usual|regular|classical|classic|textbook|eager|unfused|normal|original|straightforward|non-flash|old|pytorch'?s?|materiali[sz]ed)"
)
_OTHER = {
    "standard": re.compile(
        r"^[\s\"'(*\-]*(?:and |so |but |whereas |while |because |although |as |since |note that |well |now |ok |recall that |of course |unlike |in contrast to |compared (?:to|with) |with |in |for |under |where |when |that |which )*"
        r"(?:an? |the |your |my )?" + _OTHER_NAMES +
        r"(?: (?:self-?)?(?:attention|implementation|approach|method|way|version|code|pytorch|algorithm|kernel|kernels|one|cook|solution|pipeline|transformer|route|technique|tiled attention|tiling)| fashioned| \w+ attention){1,3}"
        r"|^[\s\"'(*\-]*(?:and |so |but |well |ok |while |whereas )*(?:normally|usually|ordinarily|traditionally|conventionally|before(?: this| that| flash\w*)?[,: ]|without (?:it|flash|fa|this|tiling|fusion)|in (?:plain |standard |vanilla |naive |regular )(?:pytorch|attention)|other(?:wise| methods)|previously|formerly|the old|what happens normally|linear attention|sparse attention|performer|linformer|longformer|reformer|low-?rank|mamba|paged ?attention)"
        r"|^[\s\"'(*\-一-鿿]{0,6}?(?<![和与跟同比像])(?:传统|标准|普通|常规|原来|原始|原生|朴素|以前|之前的|过去|老办法|老做法|旧方法|一般的?|通常|原先|不用\s*f|没有\s*f|别人|别的方法|线性注意力|稀疏注意力|低秩|performer|linformer|longformer)"
        r"(?!.{0,14}softmax|.{0,6}(?:相同|一样|一致|等价|相等|没有区别|没区别|没差别))"
    ),
    "alternatives": re.compile(
        r"\b(?:sparse|linear|low-?rank|performer|linformer|longformer|reformer|big ?bird)\b(?: attention| variants| methods)?|稀疏|线性注意力|线性的|低秩"
    ),
    "flash": re.compile(
        r"^[\s\"'(*\-]*(?:and |so |but |whereas |while |with |in |only |by contrast |unlike )*(?:the )?(?:flash|fa[123]?\b|fused|our kernel)"
        r"|^.{0,6}?(?:flash|fa\b|融合后|改进后|优化后)"
    ),
}
_BACK = {
    "alternatives": re.compile(r"\bflash|\bfa[123]?\b|flash|(?:而|但)它(?!们)|\bwhereas it\b|\bbut it\b|^\s*it\b"),
    "standard": re.compile(
        r"\bflash|\bfa[123]?\b|\bwhereas\b|\bbut (?:it|here|in|with|now|this)\b|\bnow\b|\bhere\b|\binstead\b|^\s*(?:it|this one|ours|the new) |\bthe new (?:cook|one|way|method)"
        r"|flash|它|这里|现在|如今|而是|改成|变成|变为|降到|降为|降低|新方法|新的|这种方法|\bfa"
    ),
    "flash": re.compile(r"\bstandard|\btraditional|\bnaive|\bplain|\bvanilla|传统|标准|普通|原来"),
}
_LIKE = re.compile(
    r"\b(?:like|similar to|akin to|close to|kin to|belongs? to|together with|family|with linear|than|nor|isn't|not|no|from|as) (?:\w+ ){0,3}?(?:sparse|linear|low-?rank|performer|linformer|longformer)"
    r"|(?:像|类似|属于|一种|和|与|跟|不是|没有|也没|并非|比起?)(?<![疏性秩][和与跟]).{0,4}?(?:稀疏|线性|低秩)"
)
_NEIGHBOUR = re.compile(
    r"\b(?:layer ?-?norm\w*|welford|mixture of experts|moe|beam search|rnns?|recurrent|convolution\w*|state-space|mamba|rope|rotary|alibi|positional?|dropout|optimi[sz]er|gradient accumulation|feed-?forward network|retrieval|tokeni[sz]er|vocabulary|batch ?norm)\b"
    r"|层归一化|混合专家|束搜索|循环网络|卷积|前馈网络|位置编码|词表|检索增强|优化器|贪心解码|批归一化|滑动窗口"
)
_SAME_AS = re.compile(r"\b(?:same|equal|identical|equivalent|exact|matches|agrees?)\b|一样|相同|一致|等价|相等")


def frame(parts: list[Clause], other: str | None) -> None:
    """Set the frame of every clause; `other` names the system the question is not about."""
    sentence, reported, supposed, elsewhere = -1, False, False, False
    for at, clause in enumerate(parts):
        if clause.sentence != sentence:
            sentence = clause.sentence
            whole = " ".join(c.text for c in parts[at : at + 12] if c.sentence == sentence)
            supposed = bool(_SUPPOSED.search(whole)) and bool(_CONDITION.search(whole))
            reported = False
            goes_on = _THEY if other == "alternatives" else _GOES_ON
            elsewhere = elsewhere and bool(goes_on.match(clause.text))
        if clause.frame == "dropped":
            continue
        if _CORRECTION.search(clause.text):
            _withdraw(parts, at)
        said = REPORTED.search(clause.text)
        if said and not _refuted_inside(clause.text, said.end()):
            reported = True
        elif reported and _TURN.search(clause.text):
            reported = False
        if other:
            names = _OTHER[other].search(clause.text)
            names_before = at > 0 and _OTHER[other].search(parts[at - 1].text)
            if other == "alternatives":
                if _THEY.match(clause.text) and names_before:
                    elsewhere = True
                elif _LIKE.search(clause.text) or (names and _BACK[other].match(clause.text.strip())):
                    names = None
                elif names:
                    elsewhere = True
            elif names and not _SAME_AS.search(clause.text):
                elsewhere = True
            elif other == "standard" and _NEIGHBOUR.search(clause.text):
                elsewhere = True
            if not names and _BACK[other].search(clause.text):
                elsewhere = False
        if reported:
            clause.frame = "reported"
        elif _MAYBE.search(clause.text) or _SUPPOSED.search(clause.text):
            clause.frame = "supposed"
        elif supposed and _CONDITION.search(clause.text):
            clause.frame = "supposed"
        elif elsewhere:
            clause.frame = "other"


_THEY = re.compile(r"\s*(?:they|both|these|those|such|there|all of (?:these|those))\b|(?:它们|两者|这些|那些|二者|都)")


def _withdraw(parts: list[Clause], at: int) -> None:
    """What was said before "no, wait" in this sentence, or in the one before, is taken back."""
    first = at == 0 or parts[at - 1].sentence != parts[at].sentence
    taken = parts[at].sentence - first
    for part in parts[:at]:
        if part.sentence == taken:
            part.frame = "dropped"


_GOES_ON = re.compile(
    r"\s*(?:that|this|so|hence|therefore|thus|as a result|which|then|after that|next|finally|because of)\b|(?:所以|因此|于是|这样|这就|结果)"
)
_CORRECTION = re.compile(
    r"\b(?:no,? wait|wait,? no|scratch that|i mean|correction|other way (?:a)?round|sorry,? (?:no|that's wrong|i mean|other)|let me correct|i take that back|strike that|no,? that's (?:wrong|not right))\b"
    r"|不对,?|说反了|说错了|更正|反了|搞反了|哦不|口误|纠正一下"
)
_TURN = re.compile(
    r"\bbut (?:they|that|it|this|in fact|actually|that's|it's)|\bthey(?:'re| are) (?:wrong|mistaken)|\b(?:which|that|this) (?:is|was) (?:wrong|not|false|a)|\bactually\b|\bthat(?:'s| is) an? (?:error|mistake|myth)|\bin (?:fact|truth|reality)\b|\bhowever\b"
    r"|其实|实际上|事实上|这是(?:误解|错|不对)|并非如此|不对|但(?:它|实际|其实)|而是|错了"
)
_REFUTED = re.compile(r"\b(?:not|n't|never)\b")


def _refuted_inside(text: str, end: int) -> bool:
    """ "people rarely say ..." and the like: nothing is reported."""
    return bool(re.match(r"\s*(?:the paper|from the paper)", text[end:]))
