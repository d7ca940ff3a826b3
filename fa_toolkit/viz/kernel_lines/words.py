"""The kernel view's words in both languages. `*…*` marks the number a sentence is about."""

from __future__ import annotations

from ...language import Text

UI: dict[str, Text] = {
    "title": Text("The kernel, line by line", "逐行看 kernel"),
    "cut": Text("A step is", "一步是"),
    "programs": Text("a program", "一个程序实例"),
    "labels": Text("a labelled part", "一个标注的段落"),
    "lines": Text("a line", "一行"),
    "program": Text("program {n} ({total} in all)", "程序实例 {n}（共 {total} 个）"),
    "start": Text("before the first line", "第一行之前"),
    "setup": Text("set-up", "准备"),
    "ended": Text("all programs have ended", "所有程序实例都已结束"),
    "source": Text("{kernel}, lines that run are lit", "{kernel}：正在运行的行点亮"),
    "read": Text("read", "读"),
    "written": Text("written", "写"),
    "moved": Text("Requested from HBM so far", "到目前为止向 HBM 请求"),
    "off": Text("Lanes masked off so far", "到目前为止被掩掉的 lane"),
    "off_short": Text("off", "掩掉"),
    "lanes": Text("{off} of {all}", "{off} / {all}"),
    "legend": Text(
        "solid: the lanes of this step   dashed, outside: lanes masked off   half-tone: stored before",
        "实心：这一步的 lane   外面的虚线：被掩掉的 lane   半透明：之前已写出",
    ),
    "factor": Text("Lanes masked off", "被掩掉的 lane 数"),
    "count_again": Text(
        "Count the lanes outside the tensor: rows past its end, columns past its width.",
        "数一数张量外面的 lane：超出行数的，和超出列数的。",
    ),
}

SAYS: dict[str, Text] = {
    "begin": Text(
        "{programs} programs will run this source, one after another here, together on a GPU.",
        "{programs} 个程序实例都运行这段代码：这里一个接一个，GPU 上同时进行。",
    ),
    "loads": Text(
        "Program {program} loads {places}: *{bytes}* bytes, {off} of {lanes} lanes masked off.",
        "程序实例 {program} 读入 {places}：*{bytes}* 字节，{lanes} 个 lane 掩掉 {off} 个。",
    ),
    "stores": Text(
        "Program {program} stores {places}: *{bytes}* bytes, {off} of {lanes} lanes masked off.",
        "程序实例 {program} 写出 {places}：*{bytes}* 字节，{lanes} 个 lane 掩掉 {off} 个。",
    ),
    "both": Text(
        "Program {program} from start to end: *{bytes}* bytes moved, {off} of {lanes} lanes masked off.",
        "程序实例 {program} 从头到尾：搬运 *{bytes}* 字节，{lanes} 个 lane 掩掉 {off} 个。",
    ),
    "scores": Text(
        "Program {program}: a tile of scores, q · k, is born on chip; no memory is touched.",
        "程序实例 {program}：一块分数 q · k 在芯片上算出；不碰内存。",
    ),
    "mask": Text(
        "Program {program}: in a tile that an edge cuts, scores that a query may not see become −∞; "
        "a whole tile has none, and this is left out.",
        "程序实例 {program}：被边缘切到的块里，query 看不到的分数变成 −∞；完整的块里没有这种分数，这步省去。",
    ),
    "update": Text(
        "Program {program}: the tile is folded into m, l and acc, by the function at the top.",
        "程序实例 {program}：这一块并入 m、l 和 acc，由最上面的函数完成。",
    ),
    "works": Text(
        "Program {program}, {label}: everything is on chip, no memory is touched.",
        "程序实例 {program}，{label}：一切都在芯片上，不碰内存。",
    ),
    "finds": Text(
        "Program {program} works out which rows are its own; no memory is touched yet.",
        "程序实例 {program} 算出哪些行归自己；还没有碰内存。",
    ),
    "line": Text(
        "Program {program} runs line {line}: *{code}*",
        "程序实例 {program} 运行第 {line} 行：*{code}*",
    ),
    "ask": Text(
        "Program {program} loads a block of {block} lanes from {tensor}, which is {shape}. How many are masked off?",
        "程序实例 {program} 从 {shape} 的 {tensor} 读一块，共 {block} 个 lane。掩掉了几个？",
    ),
}
