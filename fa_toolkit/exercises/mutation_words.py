"""The words for a single edit of a solution, and the tables of what is taken for what."""

from __future__ import annotations

import ast

from ..language import Text

#: Kinds of edits, the likelier first: of several that explain an answer, the first is told.
KINDS = (
    "mask", "fill", "stride", "axis", "statement", "comparison", "missing", "twice", "moved", "function",
    "operator", "swapped", "order", "loop", "broadcast", "sign", "size", "name", "constant", "everywhere",
    "coarse", "extra",
)  # fmt: skip

OPERATORS = {
    "+": ("-", "*"), "-": ("+",), "*": ("/", "+"), "/": ("*",), "//": ("%",), "%": ("//",),
    "&": ("|",), "|": ("&",), "@": (), "**": ("*",),
}  # fmt: skip
COMPARISONS = {
    "<": ("<=", ">", ">="), "<=": ("<", ">", ">="), ">": (">=", "<", "<="), ">=": (">", "<", "<="),
    "==": ("!=", "<="), "!=": ("==",),
}  # fmt: skip
CALLS = {
    "exp": ("exp2",), "exp2": ("exp",), "log": ("log2",), "log2": ("log",), "max": ("min", "sum"),
    "min": ("max",), "sum": ("max",), "maximum": ("minimum",), "minimum": ("maximum",),
    "amax": ("amin", "sum"), "zeros": ("ones",), "next_power_of_2": ("cdiv",),
    "transpose": (), "logsumexp": ("amax",),
}  # fmt: skip
#: Whole numbers, and others.
COUNTS = {0: ("1",), 1: ("0",), 16: ("8", "32"), 2: ("4", "1"), 4: ("2", "1")}
CONSTANTS = {
    0.0: ("1.0", '-float("inf")'), 1.0: ("0.0",), 0.6931471805599453: ("1.4426950408889634",),
    1.4426950408889634: ("0.6931471805599453",), -0.5: ("0.5", "-1.0"), 0.5: ("1.0",),
}  # fmt: skip

_SAID = {
    "put": ("{a} stands where {b} belongs", "该写 {b} 的地方写成了 {a}"),
    "missing": ("“{gone}” is missing", "漏了“{gone}”"),
    "twice": ("the factor {gone} enters twice", "因子 {gone} 乘了两次"),
    "on-the-new": ("the factor {gone} multiplies the new terms; it belongs to the old sum",
                   "{gone} 乘到了新的各项上，应乘旧的和"),
    "on-both": ("the factor {gone} multiplies the new terms as well; it belongs to the old sum",
                "{gone} 连新的各项也乘了，只应乘旧的和"),
    "swapped": ("{a} and {b} are swapped", "{a} 和 {b} 写反了"),
    "no-mask-load": (
        "the load has no mask: lanes past the end are read", "load 没有加掩码，读过了末尾"),
    "no-mask-store": (
        "the store has no mask: lanes past the end are written", "store 没有加掩码，写过了末尾"),
    "fill": ("masked lanes are filled with {a}; they must hold {b}",
             "被屏蔽的位置填了 {a}，应填 {b}"),
    "axis": ("the reduction runs along axis {a}; it must run along axis {b}",
             "沿第 {a} 轴归约了，应沿第 {b} 轴"),
    "axes": ("every reduction runs along axis {a} in place of axis {b}",
             "所有归约都沿第 {a} 轴做了，应沿第 {b} 轴"),
    "one-step-less": ("the loop stops one step too early", "循环早停了一步"),
    "whole-steps": ("the loop leaves out the last, incomplete step", "循环漏了最后不满的一步"),
    "one-step-late": ("the loop begins one step too late", "循环晚了一步才开始"),
    "half-operand": ("{a} is rounded to half precision before the product",
                     "{a} 在相乘之前舍入成了半精度"),
    "half": ("it is rounded to half precision", "舍入成了半精度"),
    "extra": ("it is multiplied by {gone}, which does not belong there", "多乘了 {gone}"),
    "overwritten": ("the sum is overwritten, not added to", "应当累加，却被覆盖了"),
    "subtracted": ("the terms are subtracted, not added", "应当相加，却减掉了"),
    "left-out": ("the step is left out", "漏了这一步"),
    "always": ("this is done always, not only where {a}", "不管 {a} 成不成立都做了"),
    "never": ("this is never done, also where {a}", "{a} 成立时也没有做"),
    "order": ("this comes too late: {a} is worked out before it", "这一步太晚了：{a} 已先算好"),
    "everywhere": ("{a} stands where {b} belongs, in every place.", "该写 {b} 的地方都写成了 {a}。"),
    "strides-of": ("{b} is read with the strides of {a}. It has strides of its own.",
                   "{b} 用了 {a} 的步长来读。它有自己的步长。"),
    "strides-swapped": ("Two strides of {a} are swapped.", "{a} 的两个步长用反了。"),
}  # fmt: skip


def said(key: str, **fields: str) -> Text:
    """The words for one kind of edit."""
    en, zh = _SAID[key]
    return Text(en.format(**fields), zh.format(**fields))


def put(new: str, old: str) -> Text:
    """`new` stands where `old` belongs."""
    return said("put", a=new, b=old)


def place_of(statement: ast.stmt) -> Text:
    """Where a statement's edit is, as a sentence with a gap for what it is."""
    if isinstance(statement, ast.Return):
        return Text("In what is returned: {}.", "返回值里：{}。")
    if isinstance(statement, ast.For):
        over = ast.unparse(statement.target)
        return Text(f"In the loop over {over}: {{}}.", f"{over} 的循环里：{{}}。")
    if isinstance(statement, ast.If):
        return Text("In the condition: {}.", "判断条件里：{}。")
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr == "store":
            where = _braced(ast.unparse(call.args[0]).split(" ")[0])
            return Text(f"In the store to {where}: {{}}.", f"写 {where} 时：{{}}。")
        return Text("Where it is kept: {}.", "保存结果时：{}。")
    target = ""
    if isinstance(statement, ast.Assign):
        target = ast.unparse(statement.targets[0]).strip("()")
        value = statement.value
        if isinstance(value, ast.Call) and ast.unparse(value.func).endswith(".load"):
            target = _braced(target)
            return Text(f"In the load of {target}: {{}}.", f"读 {target} 时：{{}}。")
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        target = ast.unparse(statement.target)
    target = _braced(target)
    return Text(f"Where {target} is worked out: {{}}.", f"算 {target} 的地方：{{}}。")


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
