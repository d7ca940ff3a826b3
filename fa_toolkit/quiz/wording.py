"""The words of the card and of the plain form, in both languages."""

from __future__ import annotations

from collections.abc import Mapping

from ..language import Text

PROGRESS = Text("{answered} of {total} answered", "已答 {answered} / {total}")
MEAN = Text("mean score {mean}", "平均 {mean} 分")
DOT = Text("Question {n}, {state}", "第 {n} 题，{state}")
OF_100 = Text("of 100", "/ 100")
REREAD = Text("See chapter {chapter}", "见第 {chapter} 章")
FOUND_BY = Text("found by {model}", "由 {model} 指出")
SELF_CORRECTED = Text(
    "Here the article corrects what its own origin said.", "这一点是文章对自己原稿的更正。"
)

STATES: Mapping[str, Text] = {
    "open": Text("not answered", "未答"),
    "right": Text("right", "答对"),
    "part": Text("partly right", "部分答对"),
    "wrong": Text("wrong", "答错"),
    "unsure": Text("to be checked by you", "待自查"),
}
LEVELS: Mapping[str, Text] = {
    "warm-up": Text("warm-up", "热身"),
    "core": Text("core", "核心"),
    "senior": Text("senior", "进阶"),
}
TASKS: Mapping[str, Text] = {
    "choice": Text("Pick one.", "选一项。"),
    "many": Text("Tick every right one.", "选出所有正确的。"),
    "number": Text(
        "A number or a formula: 3/8, 12.5%, 2^20, e^{1/2}",
        "写数或算式都行：3/8、12.5%、2^20、e^{1/2}",
    ),
    "order": Text("First at the top.", "最先的放最上面。"),
    "match": Text("Give each line its letter.", "给每一行选一个字母。"),
    "text": Text(
        "In your own words, English or Chinese, as you would say it aloud.",
        "用自己的话答，中英文都行，像口头回答那样。",
    ),
    "trace": Text(
        "Fill the table; formulas such as e^{1/2} are fine.", "填表；可以写 e^{1/2} 这样的算式。"
    ),
}
HEADLINES: Mapping[str, Text] = {
    "right": Text("Right", "答对了"),
    "part": Text("Partly right", "对了一部分"),
    "wrong": Text("Not yet", "还不对"),
    "unsure": Text("Not sure: compare it with the model answer", "拿不准：请对照参考答案自查"),
}
CLAIM_VERDICTS: Mapping[str, Text] = {
    "holds": Text("holds", "成立"),
    "caveat": Text("holds with a condition", "有条件成立"),
    "wrong": Text("does not hold", "不成立"),
}
COLON = Text(": ", "：")
LABELS: Mapping[str, Text] = {
    "check": Text("Check", "提交"),
    "again": Text("Try again", "再试一次"),
    "follow": Text("Follow-up question", "追问"),
    "follow_answer": Text("What a good answer says", "好的回答会说"),
    "next": Text("Next", "下一题"),
    "previous": Text("Previous", "上一题"),
    "next_open": Text("Next open question", "下一道未答的题"),
    "others": Text("Why not the others", "其余选项为什么不对"),
    "every": Text("Why the right ones are right", "答对的为什么对"),
    "yours": Text("Your answer", "你的答案"),
    "reads": Text("reads as", "读作"),
    "right_value": Text("The value", "正确值"),
    "picked": Text("your pick", "你选的"),
    "right_one": Text("the right one", "正确选项"),
    "missed": Text("not ticked", "漏选"),
    "rightly_left": Text("Rightly left out", "没选也没错的选项"),
    "block": Text("block", "块"),
    "said_it": Text("I did say this", "我说到了"),
    "noted": Text("noted, not counted", "已记下，不计分"),
    "not_detected": Text("not detected", "未检出"),
    "detected": Text("What you said", "你说到的"),
    "lacking": Text("Not detected in your answer", "答案里没有检出"),
    "wrong_ideas": Text("What is wrong, and why", "哪里不对，为什么"),
    "otherwise": Text("this is so; the contrary was said", "应当这样，却说反了"),
    "ask_back": Text("Did you mean this? It would be wrong", "你是这个意思吗？那是不对的"),
    "model": Text("A model answer, as spoken", "参考答案（口语长度）"),
    "listens": Text("What an interviewer listens for", "面试官在听什么"),
    "fatal": Text("In an interview this alone can end the topic.", "面试里单凭这一条就可能出局。"),
    "filling": Text(
        "Lists of terms, words in no order, the question repeated, a text that is called wrong as a "
        "whole, and words to the grader earn nothing.",
        "罗列术语、打乱词序、复述题目、把整段话说成是错的、对评分者说的话，都不得分。",
    ),
    "up": Text("Move up", "上移"),
    "down": Text("Move down", "下移"),
    "choose": Text("–", "–"),
    "not_joined": Text("not joined", "未连"),
    "right_order": Text("The right order", "正确的顺序"),
    "source": Text("What the article says", "文章怎么说"),
    "papers": Text("Paper", "论文"),
    "caveat": Text("Put to the test", "检验之后"),
    "other_language": Text("中文", "English"),
    "questions": Text("Questions", "题目"),
    "done": Text("All questions answered", "全部答完"),
    "offline": Text(
        "The kernel does not answer. Run this cell again.",
        "Jupyter 内核没有响应。请重新运行这一格。",
    ),
}
PLAIN_HEAD = Text(
    "{title}: {n} questions. They can be answered where widgets run, or in a terminal with "
    "`fa quiz`.",
    "{title}：{n} 道题。请在能显示交互组件的地方作答，或在终端里用 `fa quiz`。",
)
