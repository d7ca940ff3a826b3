"""What the book and its command say, in both languages."""

from __future__ import annotations

from ..language import Language, Text

TITLE = Text("Flash Attention, taught and built", "Flash Attention：讲清楚，写出来")
LEAD = Text(
    "The chapters as they look when they have been run: text, code, results, figures. The players "
    "are live: press a key, move a slider. What needs Python, the exercises, the quizzes and the "
    "mock interview, is answered in JupyterLab.",
    "这里是各章运行之后的样子：正文、代码、结果和图。播放器是活的，按键、拖动滑块都行。要用到 Python 的练习、测验和"
    "模拟面试，请到 JupyterLab 里做。",
)
HOW = Text("To work through it: <code>make lab</code>.", "动手学：<code>make lab</code>。")

#: What stands around the text of a page.
UI: dict[str, Text] = {
    "contents": Text("Contents", "目录"),
    "on_page": Text("On this page", "本页内容"),
    "previous": Text("Previous", "上一章"),
    "next": Text("Next", "下一章"),
    "other": Text("中文", "English"),
    "other_label": Text("这一页的中文版", "This page in English"),
    "theme": Text("Theme", "主题"),
    "auto": Text("as the system", "跟随系统"),
    "light": Text("light", "浅色"),
    "dark": Text("dark", "深色"),
    "skip": Text("To the text", "跳到正文"),
    "more": Text("Besides", "另外"),
    "anchor": Text("Link to this heading", "此标题的链接"),
    "chapters": Text("Chapters", "各章"),
    "no_scripts": Text(
        "This player needs JavaScript. In words:", "这个播放器需要 JavaScript。用文字说："
    ),
}

#: What stands in the place of an output that lives only where Python runs.
NOTES: dict[str, Text] = {
    "check": Text(
        "Checked in JupyterLab, where a report says what holds and what does not.",
        "在 JupyterLab 里检查，报告会说明哪些成立、哪些不成立。",
    ),
    "yours": Text(
        "In JupyterLab this shows what you have done so far.",
        "在 JupyterLab 里，这里显示你目前做到了哪一步。",
    ),
    "machine": Text(
        "In JupyterLab this shows what your machine can do.",
        "在 JupyterLab 里，这里显示你的机器能做什么。",
    ),
    "verdict": Text(
        "In JupyterLab this shows the verdict. It is left out here, since it ends with a model answer.",
        "在 JupyterLab 里，这里显示评语。评语末尾有参考答案，所以本书里略去。",
    ),
    "interview": Text(
        "The interview runs in JupyterLab, or in a terminal with <code>fa interview</code>.",
        "面试在 JupyterLab 里进行，也可以在终端里用 <code>fa interview</code>。",
    ),
    "still": Text(
        "A still picture: it moves in JupyterLab, where Python computes it anew.",
        "这是静止的画面：在 JupyterLab 里它会动，由 Python 重新计算。",
    ),
    "stub": Text("To be written by you, in JupyterLab", "由你来写，在 JupyterLab 里"),
    "guess": Text("Guess first, then open", "先猜，再打开"),
    "answer": Text("It is {value}.", "是 {value}。"),
}

#: What the command says.
SAID: dict[str, Text] = {
    "ran": Text("{name}  {seconds:.0f} s", "{name}  {seconds:.0f} 秒"),
    "done": Text(
        "{pages} pages, {size:.1f} MB, {players} live players: {where}",
        "{pages} 页，{size:.1f} MB，{players} 个可操作的播放器：{where}",
    ),
    "sound": Text(
        "{links} links and {figures} figures checked: no fault",
        "检查了 {links} 个链接、{figures} 张图：没有问题",
    ),
    "faults": Text("{n} faults", "{n} 处问题"),
}
#: Faults of a built site; every line begins with the page.
FAULTS: dict[str, Text] = {
    "file": Text("leads to {target}, which is not in the book", "链接到 {target}，书里没有"),
    "anchor": Text(
        "leads to {target}, where nothing has that name", "链接到 {target}，那里没有这个锚点"
    ),
    "empty": Text("a link without a target: {target}", "没有目标的链接：{target}"),
    "image": Text("shows {target}, which is not in the book", "要显示 {target}，书里没有"),
    "outside": Text("loads {target} from the network", "要从网络加载 {target}"),
    "alt": Text("a figure without a description: {target}", "没有文字说明的图：{target}"),
    "heading": Text("heading “{target}” leaves out a level", "标题“{target}”跳了一级"),
    "title": Text(
        "has {target} headings of the first level, not one", "一级标题有 {target} 个，应当是一个"
    ),
    "twice": Text("two elements are called {target}", "有两个元素都叫 {target}"),
    "language": Text("does not say its language", "没有标明语言"),
    "formula": Text(
        "shows a formula as it was typed, {target}: write it without dollar signs",
        "公式没有排版，{target}：请不要用美元符号",
    ),
    "key": Text(
        "shows what {target} keeps until it is answered", "露出了 {target} 要答完才给看的内容"
    ),
    "solution": Text("shows the solution of {target}", "露出了 {target} 的解答"),
    "orphan": Text("no page leads here", "没有任何页面链接到这里"),
}


def both(lang: Language) -> dict[str, str]:
    """The words around a page in one language."""
    return {name: text.zh if lang == "zh" else text.en for name, text in UI.items()}
