"""What an access outside a tensor says about the mistake: a mask, or the address itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..language import Text
from .edited import Failure
from .report import Diagnosis
from .spec import Exercise

_OUTSIDE = re.compile(
    r"(\w+?)(?:_ptr)?: expected offsets 0\.\.(\d+), got (load|store|atomic) at offset (-?\d+)(?:\.\.(-?\d+))?"
)
#: Properties whose cases fit no block, or lie in memory in their own way.
_UNEVEN, _LAYOUT = {"ragged", "dead-rows", "more-keys", "more-queries"}, {"strides", "sum-gradient"}
_DID = {"load": ("read", "读"), "store": ("written", "写"), "atomic": ("changed", "改")}


def outside(exercise: Exercise, failures: Sequence[Failure]) -> Diagnosis | None:
    """The first access outside a tensor, and whether mask, strides or address are to blame."""
    for failure in failures:
        en = failure.sentence.en if isinstance(failure.sentence, Text) else failure.sentence
        found = _OUTSIDE.search(en)
        if found is None:
            continue
        name, last, kind, low, high = found.groups()
        failed = {exercise.cases[f.index].property for f in failures}
        (did_en, did_zh), span = _DID[kind], f"{low}..{high or low}"
        head = Text(
            f"{name} is {did_en} outside its memory (offsets {span} of 0..{last})",
            f"{did_zh}到了 {name} 的内存之外（偏移 {span}，应在 0..{last} 之内）",
        )
        why, kind = _why(failed, int(low) < 0)
        return Diagnosis(f"outside-{kind}", Text(f"{head.en}{why.en}", f"{head.zh}{why.zh}"))
    return None


def _why(failed: set[str], negative: bool) -> tuple[Text, str]:
    if failed <= _UNEVEN and not negative:
        return Text(
            ", and only where the sizes fit no block: the mask is missing or lacks a side. Rows, "
            "keys and width that can overrun each need a comparison with their own length, < and "
            "not ≤.",
            "，而且只在尺寸不是块大小整数倍时发生：漏了掩码，或掩码少了一边。"
            "会越界的行、key、宽度，每一个都要与自己的长度比较，用 < 而不是 ≤。",
        ), "mask"
    if failed <= _LAYOUT:
        return Text(
            ", and only where the input is not contiguous: a stride is assumed, swapped, or taken "
            "from another tensor.",
            "，而且只在输入不连续时发生：步长是想当然的、写反了，或用了别的张量的步长。",
        ), "strides"
    return Text(
        ", also where every block fits: not the mask but the address is wrong. Look at its strides, "
        "the number that each index is multiplied by, and the program index.",
        "，块刚好放得下时也这样：错的不是掩码，而是地址。看看步长、每个下标乘的数，以及程序实例编号。",
    ), "address"
