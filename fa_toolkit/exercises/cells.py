"""Cells of the notebooks, made from the solution files: the stub, and the solved cell.

A solution file has a line `# cell`; what follows is the cell. In the stub every stretch between
`# solution:begin` and `# solution:end` is replaced, and `# stub: text` lines become `text`. After
`# solution:begin fix` the `# stub:` lines alone stand in its place: a fault to find and mend.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..language import Text, current

_BEGIN, _END, _STUB = "# solution:begin", "# solution:end", "# stub: "


#: what a stub says in comments; code, names and shapes are the same in both languages
SAID = (
    Text("# your code", "# 你的代码"),
    Text("# remove this line when the kernel is written", "# kernel 写好后删掉这一行"),
    Text(
        "# remove this line, run the check, then find the fault",
        "# 删掉这一行，运行检查，再把错找出来",
    ),
    Text(
        "# remove this line: what follows is right, and moves too much",
        "# 删掉这一行：下面的代码结果对，只是搬得太多",
    ),
    Text("# replace both: see the specification", "# 两个都要换掉：见题目"),
    Text("# -inf - -inf would be NaN", "# -inf - -inf 会得到 NaN"),
    Text("# query i stands at key position i + diagonal", "# query i 对应 key 的位置 i + diagonal"),
    Text("# the out tensor is contiguous, x may not be", "# 输出张量是连续的，x 不一定"),
    Text("# one tile: 16 rows of Q, 16 keys a step", "# 一块：Q 的 16 行，每步 16 个 key"),
    Text("# base-2 units", "# 以 2 为底"),
    Text("# sum of 2^(s - m)", "# 2^(s - m) 之和"),
    Text(
        "# one program per (batch, query head), heads count fastest",
        "# 每个 batch 的每个 query 头一个程序实例，头号变得最快",
    ),
    Text("# one query head, [D]", "# 一个 query 头，[D]"),
    Text("# one program a query head", "# 每个 query 头一个程序实例"),
    Text(
        "# one axis: the others of a CUDA grid end at 65,535",
        "# 只用一个轴：CUDA 网格的另外两个轴至多 65,535",
    ),
    Text("# a tile of rows", "# 第几块行"),
    Text("# of a (batch, head)", "# 哪个 batch 的哪个头"),
    Text("# a program owns 16 rows", "# 一个程序实例负责 16 行"),
    Text("# a program owns 16 keys", "# 一个程序实例负责 16 个 key"),
    Text("# a program owns 16 queries", "# 一个程序实例负责 16 个 query"),
    Text("# may be empty", "# 可能为空"),
    Text("# one program: one row, all of its parts", "# 一个程序实例：一行，连同它的各段"),
)


def _module_name(exercise_id: str) -> str:
    chapter, name = exercise_id.split(".")
    return f"{__package__}.solutions.c{chapter}_{name}"


def _cell_lines(exercise_id: str) -> list[str]:
    name = _module_name(exercise_id).rpartition(".")[2]
    file = Path(__file__).with_name("solutions") / f"{name}.py"  # read, not run: it may be a kernel
    lines = file.read_text(encoding="utf-8").splitlines()
    return lines[lines.index("# cell") + 1 :]


def solved(exercise_id: str) -> str:
    """The text of the solved cell."""
    marks = (_BEGIN, _END, _STUB)
    kept = [x for x in _cell_lines(exercise_id) if not x.strip().startswith(marks)]
    return "\n".join(kept).strip()


def solution_lines(exercise_id: str) -> list[tuple[int, int]]:
    """First and last line of every stretch of the solved cell that the learner writes, from 1."""
    found, number, start = [], 0, 0
    lines = _cell_lines(exercise_id)
    while lines and not lines[0].strip():
        lines.pop(0)  # the cell begins with its first line of code
    for line in lines:
        word = line.strip()
        if word.startswith(_BEGIN):
            start = number + 1
        elif word.startswith(_END):
            found.append((start, number))
        elif not word.startswith(_STUB):
            number += 1
    return found


def stub(exercise_id: str, lang: str | None = None) -> str:
    """The text of the cell as the notebook first shows it, in the language in force by default.

    In plain functions the solution becomes `raise NotImplementedError`; in a kernel, which cannot
    raise, it becomes a comment, and the launcher raises.
    """
    lines, kept, inside = _cell_lines(exercise_id), list[str](), False
    launcher = any(x.strip().startswith(_STUB) for x in lines)
    for line in lines:
        word, indent = line.strip(), line[: len(line) - len(line.lstrip())]
        if word.startswith(_BEGIN):
            inside = True
            gap = "# your code" if launcher else "raise NotImplementedError"
            if not word.endswith(" fix"):
                kept.append(indent + gap)
        elif word.startswith(_END):
            inside = False
        elif word.startswith(_STUB):
            kept.append(indent + word.removeprefix(_STUB))
        elif not inside:
            kept.append(line)
    text = "\n".join(kept).strip()
    for said in SAID if (lang or current()) == "zh" else ():
        text = text.replace(said.en, said.zh)
    return text


def solution_of(exercise_id: str, entry: str) -> Any:
    """The solution as a function."""
    return getattr(importlib.import_module(_module_name(exercise_id)), entry)
