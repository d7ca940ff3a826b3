"""The words of an interview and its report, in both languages."""

from __future__ import annotations

from collections.abc import Mapping

from ..language import Text

LEADS: Mapping[str, Text] = {
    "claim": Text("A follow-up, on something your answer left open.", "顺着刚才的回答，追问一题。"),
    "challenge": Text(
        "You said: “{quote}”. Would you stand by that? Defend it or correct it.",
        "你刚才说：“{quote}”。这句话你还坚持吗？可以辩护，也可以改正。",
    ),
    "mean": Text(
        "You said: “{quote}”. What exactly do you mean by that?",
        "你刚才说：“{quote}”。具体是什么意思？",
    ),
    "more": Text("There is more to it. What would you add?", "还不完整。你会补充什么？"),
    "again": Text(
        "I could not follow all of that. Once more, in two or three plain sentences?",
        "刚才有些地方我没听明白。能用两三句话再说一遍吗？",
    ),
}
LEVELS: Mapping[str, Text] = {
    "adaptive": Text("follows my answers", "随回答调整"),
    "warm-up": Text("warm-up", "热身"),
    "core": Text("core", "核心"),
    "senior": Text("senior", "进阶"),
}
LABELS: Mapping[str, Text] = {
    "title": Text("Mock interview", "模拟面试"),
    "report_title": Text("Interview report", "面试报告"),
    "choose": Text(
        "Questions against a clock, with follow-ups on what you miss. No verdict until the end.",
        "限时提问，没说到的会追问。中途不给评判，结束时出报告。",
    ),
    "minutes": Text("Minutes", "分钟"),
    "level": Text("Level", "难度"),
    "topics": Text("Topics", "主题"),
    "all": Text("all topics", "全部主题"),
    "start": Text("Begin", "开始"),
    "hand_in": Text("Answer", "作答"),
    "skip": Text("Pass", "跳过"),
    "finish": Text("End the interview", "结束面试"),
    "again": Text("Another interview", "再来一场"),
    "left": Text("left", "剩余"),
    "last_minute": Text("last minute", "最后一分钟"),
    "time_up": Text("time is up: finish this answer", "时间到：答完这一题"),
    "about": Text("On the question", "关于这一题"),
    "other_language": Text("中文", "English"),
    "offline": Text(
        "The kernel does not answer. Run this cell again.",
        "Jupyter 内核没有响应。请重新运行这一格。",
    ),
    "score": Text("Score", "得分"),
    "of": Text("of 100", "/ 100"),
    "by_topic": Text("By topic", "各主题得分"),
    "missed": Text("Missed, and where to read it", "没说到的，以及去哪里读"),
    "wrong": Text("Wrong, and why", "说错的，以及为什么"),
    "reread": Text("Chapters to reread", "值得重读的章节"),
    "questions": Text("Question by question", "逐题回顾"),
    "yours": Text("Your answer", "你的回答"),
    "probed": Text("When asked again", "追问之后"),
    "said": Text("Said", "说到了"),
    "model": Text("A model answer, as spoken", "参考答案（口语长度）"),
    "explained": Text("Explanation", "讲解"),
    "listens": Text("What an interviewer listens for", "面试官在听什么"),
    "recovered": Text("said only when asked again: half its weight", "追问后才说到：按一半计分"),
    "taken_back": Text("taken back and put right: half the penalty", "追问后改正：扣分减半"),
    "withdrawn": Text(
        "taken back without saying what is right: the penalty stays",
        "只说收回，没说正确的是什么：照扣",
    ),
    "cleared": Text("defended when asked, with good reason: it counts", "追问后说清了理由：计分"),
    "fatal": Text("in an interview this alone can end the topic", "面试里单凭这一条就可能出局"),
    "otherwise": Text("the contrary was said", "说反了"),
    "elsewise": Text("this is how it goes; you had it otherwise", "应当这样，你答的不同"),
    "passed": Text("passed", "跳过"),
    "nothing": Text("Nothing was answered.", "没有作答。"),
    "none_missed": Text("Nothing was missed.", "没有遗漏。"),
    "markdown": Text("Save as Markdown", "存为 Markdown"),
    "html": Text("Save as HTML", "存为 HTML"),
    "chapter": Text("chapter {number}", "第 {number} 章"),
    "follow": Text("A real interviewer might go on", "真实面试可能接着问"),
    "follow_answer": Text("What a good answer says", "好的回答会说"),
    "scope": Text("Chapters", "章节"),
    "opened": Text("those I have opened: {n}", "我打开过的：{n}"),
    "all_chapters": Text("all", "全部"),
    "careful": Text("Rightly said, with a caveat", "说对了，但要留意"),
    "note": Text("Why so little counted", "为什么不计分"),
}
QUESTION = Text("Question {n}", "第 {n} 题")
FOLLOW_UP = Text("Question {n}, follow-up", "第 {n} 题，追问")
ABOUT_SO_MANY = Text("about {n} questions", "约 {n} 题")
SUMMARY = Text(
    "{score} of 100 over {n} questions, in {used} of {minutes}:00 minutes.",
    "{n} 题，{score} / 100 分，用时 {used}（共 {minutes}:00）。",
)
BLOCKED = Text(
    "A fatal misconception stands: {texts}. Whatever the score, this is not ready.",
    "还有致命误解没有改正：{texts}。无论多少分，都还不算准备好。",
)
ASKED = Text("{n} asked", "{n} 题")
HALVES = Text(
    "{before} at first, {score} after the follow-up (half of what was recovered)",
    "起初 {before} 分，追问后 {score} 分（补上的按一半计）",
)
