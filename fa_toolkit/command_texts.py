"""What `fa --help` and its errors say, in both languages."""

from __future__ import annotations

from .language import Text

ABOUT = Text(
    "Flash Attention, taught and built: the course and its toolkit.",
    "Flash Attention：讲清楚，写出来。课程与工具包。",
)
HELP = {
    "lab": Text("open the course in JupyterLab", "用 JupyterLab 打开课程"),
    "doctor": Text(
        "look at this machine; the exit code says whether the course can be worked",
        "检查这台机器；退出码表示能不能学这门课",
    ),
    "quiz": Text("answer the questions of a chapter here", "在终端里做一章的题目"),
    "review": Text("answer again what you are about to forget", "复习快要忘记的题"),
    "interview": Text(
        "a mock interview against the clock, with a report at the end",
        "限时模拟面试，结束后出报告",
    ),
    "progress": Text(
        "what you answered, chapter by chapter, and how ready you are", "各章的答题情况与准备程度"
    ),
    "check": Text(
        "check your solution of an exercise, or grade a notebook; exit status 0: all passed, "
        "1: not all, 2: it could not be read",
        "检查一道练习的解答，或给一个 notebook 评分；退出码 0：全部通过，1：没有全部通过，2：无法读取",
    ),
    "book": Text(
        "build every chapter as a web site that needs no kernel, and check its links",
        "把所有章节做成不用 kernel 的网站，并检查链接",
    ),
    "bench": Text(
        "time our kernels beside others on this GPU; without one, bytes and recorded figures",
        "在这块 GPU 上与其他实现并排计时；没有 GPU 则看字节数和记录下来的数字",
    ),
}
OPTIONS = {
    "lang": Text("en or zh; without it the system's language", "en 或 zh；不写则用系统语言"),
    "port": Text("port; without it the first free one from 8888", "端口；不写则从 8888 起找空闲的"),
    "ip": Text("address to listen on", "监听的地址"),
    "no_browser": Text("do not open a browser", "不打开浏览器"),
    "study": Text("folder of your copies of the notebooks", "存放你自己那份 notebook 的文件夹"),
    "chapter": Text(
        "number of the chapter to open; without it the place where you were last, at first 00",
        "打开哪一章；不写则回到上次的地方，第一次是 00",
    ),
    "extra": Text("after --: options for jupyter-lab itself", "-- 之后的选项原样交给 jupyter-lab"),
    "plain": Text("plain lines instead of a table", "纯文本，不画表格"),
    "quiz_chapter": Text(
        "number of a chapter, without it a list; lint: name every fault of a bank; stats: count it",
        "章号，不写则列出各章；lint：列出题库的所有问题；stats：统计题库",
    ),
    "by": Text(
        "the day of your interview, 2026-12-08: review is planned towards it; none forgets it",
        "面试日期，如 2026-12-08：复习按它来安排；写 none 则取消",
    ),
    "limit": Text("at most so many questions, 20 if not said", "最多几道题，不写则 20"),
    "minutes": Text("how long it lasts, 20 if not said", "多少分钟，不写则 20"),
    "topics": Text(
        "ids of topics, with commas between; without it all of them",
        "主题的 id，用逗号隔开；不写则全部",
    ),
    "level": Text(
        "adaptive (the default) follows your answers; warm-up, core, senior",
        "adaptive（默认）随回答调整；也可 warm-up、core、senior",
    ),
    "everything": Text(
        "ask about all chapters, not only about those that were opened",
        "问所有章的题，不只问打开过的章",
    ),
    "save": Text("write the report to a .md or .html file", "把报告写成 .md 或 .html 文件"),
    "export": Text("write every answer to a new file", "把全部作答写入新文件"),
    "import": Text("add the answers of an exported file", "加入导出文件里的作答"),
    "reset": Text("forget every answer; asks first", "删除全部作答，会先询问"),
    "yes": Text("with --reset: do not ask", "与 --reset 同用：不再询问"),
    "bank": Text("another question bank: a YAML file or a folder", "另一个题库：YAML 文件或文件夹"),
    "judge": Text(
        "also ask a language model about written answers: the address of your own "
        "OpenAI-compatible endpoint, such as http://localhost:11434/v1 (off)",
        "简答题再请一个语言模型看一遍：你自己的 OpenAI 兼容接口地址，如 "
        "http://localhost:11434/v1（默认不用）",
    ),
    "judge_model": Text(
        "the model to ask; the first that the endpoint serves",
        "用哪个模型；默认取接口列出的第一个",
    ),
    "notebook": Text(
        "grade all exercises of a notebook; its code runs in confined processes",
        "给 notebook 里的全部练习评分；其中的代码在受限的进程里运行",
    ),
    "json": Text("the report of --notebook as JSON", "--notebook 的报告以 JSON 输出"),
    "exercise": Text("id such as 03.merge; without it a list", "编号，如 03.merge；不写则列出全部"),
    "file": Text(
        "your solution: solution.py, or solution.py:function",
        "你的解答：solution.py 或 solution.py:函数名",
    ),
}
WORDS = {
    "help": Text("show this help message and exit", "显示这份帮助"),
    "version": Text("show program's version number and exit", "显示版本号"),
    "positional": Text("positional arguments", "参数"),
    "optional": Text("options", "选项"),
    "usage": Text("usage: ", "用法："),
    "error": Text("{prog}: error: {message}\n", "{prog}：{message}\n"),
}
#: What argparse says, and the same in Chinese.
SAID = (
    (r"the following arguments are required: (.*)", r"还缺：\1"),
    (r"argument (.*?): invalid choice: (.*) \(choose from (.*)\)", r"\1：没有 \2，可以写 \3"),
    (r"argument (.*?): invalid int value: (.*)", r"\1：\2 不是整数"),
    (r"argument (.*?): invalid float value: (.*)", r"\1：\2 不是数"),
    (r"argument (.*?): expected one argument", r"\1：后面要写一个值"),
    (r"argument (.*?): not allowed with argument (.*)", r"\1 不能与 \2 同用"),
    (r"unrecognized arguments: (.*)", r"不认识：\1"),
    (r"argument (.*?): (.*[\u4e00-\u9fff].*)", r"\1：\2"),
)
