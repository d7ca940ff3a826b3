"""What a learner's function uses and cannot take along: a stand-in that says so wherever it is used.

Compiled code looks at a stand-in's type and says its name in an error of its own. So every stand-in
has a class of a name that nothing else has, by which `behind` finds it again.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, NoReturn

from ..errors import ArgumentError
from ..language import Text

#: Bytes of the tensors and objects that one function may take along.
LARGEST = 64 << 20
_NAME = "_fa_not_here_"
_numbers = itertools.count()
_made: dict[str, Missing] = {}


class Missing:
    """Stands for something that could not be taken along; any use of it says so.

    Args:
        name: what the learner calls it.
        kind: its type.
        why: "" or one of the keys of `_WHY`; `seen` is what that one tells.
    """

    def __init__(self, name: str, kind: str, why: str = "", seen: str = "") -> None:
        object.__setattr__(self, "_fa", (name, kind, why, seen))


def stand_in(name: str, kind: str, why: str = "", seen: str = "") -> Missing:
    """A stand-in of a class of its own."""
    own = f"{_NAME}{next(_numbers)}"
    _made[own] = type(own, (Missing,), {})(name, kind, why, seen)
    return _made[own]


def behind(error: BaseException) -> BaseException:
    """What to say of an error: if a stand-in is named in its text, that this was not taken along."""
    if isinstance(error, ArgumentError) or not _made:
        return error
    try:
        found = re.search(rf"{_NAME}\d+", str(error))
    except ArgumentError as refusal:  # the text was to hold a stand-in
        return refusal
    except BaseException:  # an error of the learner's own that cannot speak
        return error
    return _refusal(_made[found[0]]) if found and found[0] in _made else error


def _refusal(missing: Missing) -> ArgumentError:
    name, kind, why, seen = object.__getattribute__(missing, "_fa")
    expected, got, hint = _WHY[why if why in _WHY else ""]
    fields = {"name": name, "kind": kind, "seen": seen, "limit": f"{LARGEST >> 20} MiB"}
    texts = [Text(t.en.format(**fields), t.zh.format(**fields)) for t in (expected, got, hint)]
    return ArgumentError(name, expected=texts[0], got=texts[1], hint=texts[2])


def _refuse(self: Missing, *args: Any, **kwargs: Any) -> NoReturn:
    raise _refusal(self)


_INSIDE = Text("make {name} inside the function", "在函数里面创建 {name}")
_WHY = {
    "": (
        Text(
            "a number, text, list, tensor, function or module: checks run in a process of their own",
            "数、文字、列表、张量、函数或模块，因为检查在单独的进程里运行",
        ),
        Text("a {kind} of your notebook", "notebook 里的 {kind} 对象"),
        _INSIDE,
    ),
    "size": (
        Text(
            "at most {limit} of tensors from outside the function (they are copied to the check)",
            "合计至多 {limit} 的外部张量（它们要复制到检查进程里）",
        ),
        Text("{seen}", "{seen}"),
        _INSIDE,
    ),
    "layout": (
        Text(
            "a dense tensor with values (others cannot be taken along to the check)",
            "存有数值的普通稠密张量（别的没法带到检查进程里）",
        ),
        Text("a tensor of kind {seen}", "{seen} 张量"),
        _INSIDE,
    ),
    "derived": (
        Text(
            "a plain torch.Tensor (classes derived from Tensor cannot be taken along to the check)",
            "普通的 torch.Tensor（由 Tensor 派生的类没法带到检查进程里）",
        ),
        Text("{seen}, which is derived from Tensor", "{seen}（由 Tensor 派生）"),
        Text("do without the class", "不用这个类"),
    ),
}
_WORDS = """
getattribute getattr setattr call getitem setitem iter next len bool contains enter exit hash index
int float array add radd sub rsub mul rmul truediv rtruediv floordiv matmul rmatmul pow rpow mod
rmod and or xor invert neg pos abs lt le gt ge eq ne repr str format
"""
for _word in _WORDS.split():
    setattr(Missing, f"__{_word}__", _refuse)
