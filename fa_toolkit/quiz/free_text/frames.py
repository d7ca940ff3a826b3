"""In what sense a clause is meant: asserted, somebody else's opinion, a supposition, another system.

Knows the words that set such a frame and those that end it; knows no key points.
"""

from __future__ import annotations

import re

from .clauses import Clause

REPORTED = re.compile(
    r"(?:\b(?:some|many|most|other|few|plenty of) (?:\w+ ){0,3}?(?:say|says|"
    r"think|thinks|claim|claims|believe|assume|like to say|argue|file|call|write|"
    r"describe)\b"
    r"|\b(?:you|one|they|we|i) (?:often|sometimes|frequently|regularly|will|"
    r"may|might|commonly|always) (?:\w+ )?(?:read|hear|see it|told|reads|hears)\b"
    r"|\b(?:people|folks|vendors|colleagues?|blogs?|blog posts|articles|textbooks?|"
    r"critics|someone|somebody|a friend|a colleague|students?|candidates|the internet|"
    r"everybody|everyone)"
    r"(?: \w+){0,3}? (?:say|says|said|think|thinks|thought|claim|claims|claimed|"
    r"believe|believes|assume|assumes|tell|tells|told|read|reads|hear|hears|"
    r"heard|call|calls|mistake|confuse|wrote)\b"
    r"|\b(?:it is|it's|is) (?:often|sometimes|commonly|frequently|widely|wrongly|"
    r"occasionally|usually) (?:said|claimed|believed|thought|assumed|read|described|"
    r"called|listed|presented)"
    r"|\b(?:a |the |one )?(?:common|popular|widespread|frequent|usual|classic|"
    r"typical) (?:myth|misconception|misunderstanding|mistake|belief|error|claim|"
    r"misreading|wrong answer)"
    r"|\b(?:myth|misconception|rumou?r|legend)\b (?:is|has it|says|that)"
    r"|\b(?:i|we) (?:first|once|initially|originally|used to|at first|had|long) (?:\w+ )?(?:think|"
    r"thought|believed?|assumed?)\b"
    r"|\b(?:seen|heard|read) (?:it|this|that|fa|flash attention) (?:\w+ )?(?:described|"
    r"called|listed|classed|labelled|labeled|presented|said|named|filed|sold)"
    r"|\bto (?:claim|say|think|believe|assume) (?:that )?"
    r"|(?:有人|有些人|很多人|不少人|许多人|大家|人们|别人|某些人|网上|网上不少|"
    r"博客|文章|面试者|同事|同学|初学者|新手|候选人|朋友|老师|教程|厂商)[^,。;]{0,8}?(?:说|"
    r"认为|以为|觉得|误以为|误解|声称|宣称|讲|担心|提到|写道|写|传)"
    r"|(?:常见|普遍|流行|典型)的?(?:误解|误区|错误|说法|看法|误会)|误以为|常被(?:误)?(?:认为|"
    r"说成|当成|归为)|容易(?:误)?以为|一种说法|传言|据说|听说)"
)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|suppose|supposing|assuming|imagine if|were)\b(?: \w+){0,8}? (?:would|"
    r"could|might|had|were|used|worked)\b"
    r"|\bwould (?:have|be|need|take|blow|drop|fall|make|save|help|require|still)\b"
    r"|(?:\bwould|'d) (?:\w+ly |otherwise )?(?:need|want|require|keep|store)\b"
    r"|本来(?:.{0,6}?)(?:要用|需要|得存|要存|要留)"
    r"|\b(?:may or may not|might or might not)\b|\b(?:could|might) (?:in theory|perhaps|possibly)\b"
    r"|\b(?:could|might) (?:be|have|do) (?:\w+\s+){0,3}but\b"
    r"|(?:假如|假设|要是|倘若|如若|若是|如果)[^。;]{0,40}?(?:那就|那么|就会|"
    r"就得|就要|才会|则会|会怎样|将会)"
    r"|(?:可能|也许|或许)[^,。;]{0,12}(?:也可能|也许不|可能不|或许不)"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|suppose|supposing|assuming)\b|如果|假如|假设|要是|倘若|如若|若是"
)
_MAYBE = re.compile(
    r"\b(?:may or may not|might or might not|could be .{0,30} but does not have to)\b|"
    r"可能.{0,8}可能不|可变可不变|可有可没有"
)
#: What the speaker says not to know, from the word that asks on: a question, not a statement.
_DOUBT = re.compile(
    r"\b(?:not (?:really |quite |at all )?(?:sure|certain)|no idea|(?:don't|do not|can't|cannot) "
    r"(?:really )?(?:know|remember|recall|say|tell)) (?:if|whether|which)\b[^.;]{0,80}"
    r"|(?:哪|是否|怎么|会不会|有没有|([\u4e00-\u9fff])不\1)[^。;]{0,24}"
    r"(?:不(?:太|大|是很|敢)?(?:确定|清楚|知道|记得|好说)|说不(?:准|好|清)|记不(?:清|得))"
    r"|(?:不(?:太|大|是很|敢)?(?:确定|清楚|知道|记得)|说不(?:准|好|清)|记不(?:清|得)).{0,6}"
    r"(?:哪|是否|会不会|有没有|([\u4e00-\u9fff])不\2)[^。;]{0,24}"
)


def _not_after(words: str) -> str:
    """What follows one of these (words with _ for a blank) is not meant."""
    return "".join(f"(?<!{word.replace('_', ' ')})" for word in words.split())


#: Instructions of a processor, and prompts that requests share, are no orders to the grader.
_INSTRUCTIONS = _not_after(
    "one_ an_ single_ extra_ additional_ more_ per_ machine_ hardware_ native_ fma_ ffma_ mma_ "
    "wgmma_ ex2_ exp2_ load_ number_of_ multiply-add_"
)
_INSTRUCTIONS_ZH = _not_after("[条a-z0-9] [条a-z0-9]_ 硬件 乘加 异步 机器 矩阵 加载 搬运 专用")
_PROMPT = _not_after("same_system_ common_system_ shared_system_")
_PROMPT_ZH = _not_after("同样的系统 相同的系统 公共的系统")
GRADER = re.compile(
    r"\b(?:grader|grading|rubric|full (?:marks|score|credit|points)|award (?:\w+ )?(?:all|"
    r"full|100|points|the)|system (?:note|"
    + _PROMPT
    + r"prompt|message|override)(?!'s)|ignore (?:all |"
    r"the |any |previous |prior |above |your )+"
    r"|disregard|"
    + _INSTRUCTIONS
    + r"instructions?|\"?score\"? ?[:=]|\"(?:kp|mis|role|content|status|"
    r"credited|verdict|comment)\"|100 points|100/100|points? awarded|as an ai|"
    r"you are (?:now )?(?:a|an|the) (?:\w+ )?(?:grader|assistant|judge|model)|"
    r"mark (?:this|it|all|everything|my answer)|verified(?! (?:\w+ ){0,3}?(?:against|with|by compar))|"
    r"already been (?:approved|"
    r"checked|graded)|pass(?:ed)? the (?:test|check)|examiner|evaluator|assessor|"
    r"override|key points? (?:are|is|have been) (?:covered|met|satisfied)|developer mode|"
    r"credit (?:all|every|time|for)|maximum score|the candidate(?:'s)? (?:answer|response|has|"
    r"states?|covers?|deserves?|knows?)|(?:my|this|the above|the following|the preceding) (?:answer|"
    r"response|reply) (?:is|was|should|must|deserves?|covers?|contains?|earns?|scores?|has|states?))"
    r"|评分|满分|给分|给.{0,4}打分|打分者|阅卷|判卷|判分|判为|评审|考官请|忽略(?:以上|"
    r"上述|之前|前面|所有|评分|错误)|系统(?:"
    + _PROMPT_ZH
    + r"提示(?!词)|指令|消息)|"
    + _INSTRUCTIONS_ZH
    + r"指令|最高优先级|"
    r"管理员|得分点|全部算对|请给|通过验证|已由专家|标准答案如下|(?:全部)?命中|"
    r"考生(?:的|已|答|回答)|(?:本|以上|上述|下面的?|这份|该)(?:答案|回答|答卷|作答)"
)
_OTHER_NAMES = (
    r"(?:standard|naive|vanilla|ordinary|plain|conventional|traditional|usual|"
    r"regular|classical|classic|textbook|eager|unfused|normal|original|straightforward|"
    r"non-flash|old|pytorch'?s?|materiali[sz]ed)"
)
_OTHER = {
    "standard": re.compile(
        r"^[\s\"'(*\-]*(?:and |so |but |whereas |while |because |although |as |since |"
        r"note that |well |now |ok |recall that |of course |unlike |in contrast to |"
        r"compared (?:to|with) |with |in |for |under |where |when |that |which )*"
        r"(?:an? |the |your |my )?"
        + _OTHER_NAMES
        + r"(?: (?:self-?)?(?:attention|implementation|approach|method|way|version|"
        r"code|pytorch|algorithm|kernel|kernels|one|cook|solution|pipeline|transformer|"
        r"route|technique|tiled attention|tiling)| fashioned| \w+ attention){1,3}"
        r"|^[\s\"'(*\-]*(?:and |so |but |well |ok |while |whereas )*(?:normally|"
        r"usually|ordinarily|traditionally|conventionally|before(?: this| that| flash\w*)?[,: ]|"
        r"without (?:it|flash|fa|this|tiling|fusion)|in (?:plain |standard |vanilla |"
        r"naive |regular )(?:pytorch|attention)|other(?:wise| methods)|previously|"
        r"formerly|the old|what happens normally|linear attention|sparse attention|"
        r"performer|linformer|longformer|reformer|low-?rank|mamba|paged ?attention)"
        r"|^[\s\"'(*\-一-鿿]{0,6}?(?<![和与跟同比像])(?:传统|标准|普通|常规|原来|"
        r"原始|原生|朴素|以前|之前的(?=方法|做法|实现|注意力|算法|版本|标准|方案)|过去|老办法|老做法|旧方法|一般的?|通常|原先|"
        r"不用\s*f|没有\s*f|别人|别的方法|线性注意力|稀疏注意力|低秩|performer|linformer|"
        r"longformer)"
        r"(?!.{0,14}softmax|.{0,6}(?:相同|一样|一致|等价|相等|没有区别|没区别|没差别))"
    ),
    "alternatives": re.compile(
        r"\b(?:sparse|linear|low-?rank|performer|linformer|longformer|reformer|big ?bird)\b(?: attention|"
        r" variants| methods)?|稀疏|线性注意力|线性的|低秩"
    ),
    "flash": re.compile(
        r"^[\s\"'(*\-]*(?:and |so |but |whereas |while |with |in |only |by contrast |"
        r"unlike )*(?:the )?(?:flash|fa[123]?\b|fused|our kernel)"
        r"|^.{0,6}?(?:flash|fa\b|融合后|改进后|优化后)"
    ),
}
_BACK = {
    "alternatives": re.compile(
        r"\bflash|\bfa[123]?\b|flash|(?:而|但)它(?!们)|\bwhereas it\b|\bbut it\b|^\s*it\b"
    ),
    "standard": re.compile(
        r"\bflash|\bfa[123]?\b|\bwhereas\b|\bbut (?:it|here|in|with|now|this)\b|"
        r"\bnow\b|\bhere\b|\binstead\b|^\s*(?:it|this one|ours|the new) |\bthe new (?:cook|"
        r"one|way|method)"
        r"|flash|它|这里|现在|如今|而是|改成|变成|变为|降到|降为|降低|新方法|新的|这种方法|\bfa"
    ),
    "flash": re.compile(r"\bstandard|\btraditional|\bnaive|\bplain|\bvanilla|传统|标准|普通|原来"),
}
_LIKE = re.compile(
    r"\b(?:like|similar to|akin to|close to|kin to|belongs? to|together with|"
    r"family|with linear|than|nor|isn't|not|no|from|as) (?:\w+ ){0,3}?(?:sparse|"
    r"linear|low-?rank|performer|linformer|longformer)"
    r"|(?:像|类似|属于|一种|和|与|跟|不是|没有|也没|并非|比起?)(?<![疏性秩][和与跟]).{0,4}?(?:稀疏|"
    r"线性|低秩)"
)
_NEIGHBOUR = re.compile(
    r"\b(?:layer ?-?norm\w*|welford|mixture of experts|moe|beam search|rnns?|"
    r"recurrent|convolution\w*|state-space|mamba|rope|rotary|alibi|positional?|"
    r"dropout|optimi[sz]er|gradient accumulation|feed-?forward network|retrieval|"
    r"tokeni[sz]er|vocabulary|batch ?norm)\b"
    r"|层归一化|混合专家|束搜索|循环网络|卷积|前馈网络|位置编码|词表|检索增强|"
    r"优化器|贪心解码|批归一化|滑动窗口"
)
#: What the question is about, though a neighbour is named beside it.
_OWN = re.compile(
    r"\b(?:forward|backward|attention matrix|flash|kernel)\b|前向|反向|注意力矩阵|flash"
)
_SAME_AS = re.compile(
    r"\b(?:same|equal|identical|equivalent|exact|matches|agrees?)\b|一样|相同|一致|等价|相等"
)


def frame(parts: list[Clause], other: str | None) -> None:
    """Set the frame of every clause; `other` names the system the question is not about."""
    sentence, reported, supposed, elsewhere = -1, False, False, False
    doubt, place = None, 0
    for at, clause in enumerate(parts):
        if clause.sentence != sentence:
            sentence = clause.sentence
            whole = " ".join(c.text for c in parts[at : at + 12] if c.sentence == sentence)
            supposed = bool(_SUPPOSED.search(whole)) and bool(_CONDITION.search(whole))
            doubt, place = _DOUBT.search(whole), 0
            reported = False
            goes_on = _THEY if other == "alternatives" else _GOES_ON
            elsewhere = elsewhere and bool(goes_on.match(clause.text))
        began, place = place, place + len(clause.text) + 1
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
                if (
                    _THEY.match(clause.text)
                    and names_before
                    and not _COMPARED.search(parts[at - 1].text)
                ):
                    elsewhere = True
                elif _LIKE.search(clause.text) or (
                    names and _BACK[other].match(clause.text.strip())
                ):
                    names = None
                elif names:
                    elsewhere = True
            elif (names and not _SAME_AS.search(clause.text)) or (
                other == "standard"
                and _NEIGHBOUR.search(clause.text)
                and not _OWN.search(clause.text)
            ):
                elsewhere = True
            if not names and _BACK[other].search(clause.text):
                elsewhere = False
        if reported:
            clause.frame = "reported"
        elif (
            _MAYBE.search(clause.text)
            or _SUPPOSED.search(clause.text)
            or (supposed and _CONDITION.search(clause.text))
            or (doubt and doubt.start() < place and began < doubt.end())
        ):
            clause.frame = "supposed"
        elif elsewhere:
            clause.frame = "other"


_COMPARED = re.compile(r"\bcompar\w+|比(?!如)|相较")
_THEY = re.compile(
    r"\s*(?:they|both|these|those|such|there|all of (?:these|those))\b|(?:它们|"
    r"两者|这些|那些|二者|都)"
)


def _withdraw(parts: list[Clause], at: int) -> None:
    """What was said before "no, wait" in this sentence, or in the one before, is taken back."""
    first = at == 0 or parts[at - 1].sentence != parts[at].sentence
    taken = parts[at].sentence - first
    for part in parts[:at]:
        if part.sentence == taken:
            part.frame = "dropped"


_GOES_ON = re.compile(
    r"\s*(?:that|this|so|hence|therefore|thus|as a result|which|then|after that|"
    r"next|finally|because of)\b|(?:所以|因此|于是|这样|这就|结果)"
)
_CORRECTION = re.compile(
    r"\b(?:no,? wait|wait,? no|scratch that|i mean|correction(?=:)|other way (?:a)?round|"
    r"sorry,? (?:no|that's wrong|i mean|other)|let me correct that|i take that back|"
    r"strike that|no,? that's (?:wrong|not right)|no,? (?:sorry|my mistake|my bad))\b"
    r"|^\s*(?:sorry|oops),?\s*$|^\s*(?:no )?that(?:'s| is| was) (?:wrong|not right|incorrect)\s*$"
    r"|(?<![就都也会果数得是对])不对,?|说反了|说错了|更正|反了|搞反了|哦不|口误|纠正一下"
)
_TURN = re.compile(
    r"\bbut (?:they|that|it|this|in fact|actually|that's|it's)|\bthey(?:'re|"
    r" are) (?:wrong|mistaken)|\b(?:which|that|this) (?:is|was) (?:wrong|not|"
    r"false|a)|\bactually\b|\bthat(?:'s| is) an? (?:error|mistake|myth)|\bin (?:fact|"
    r"truth|reality)\b|\bhowever\b"
    r"|其实|实际上|事实上|这是(?:误解|错|不对)|并非如此|不对|但(?:它|实际|其实)|而是|错了"
)


def _refuted_inside(text: str, end: int) -> bool:
    """ "people rarely say ..." and the like: nothing is reported."""
    return bool(re.match(r"\s*(?:the paper|from the paper)", text[end:]))
