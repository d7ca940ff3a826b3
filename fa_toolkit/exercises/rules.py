"""Whether a watched call broke a rule about how a result is made, and in which words to say so."""

from __future__ import annotations

from ..language import Text
from .spec import Rule
from .watch import Seen


def broken(rule: Rule, seen: Seen) -> Text | None:
    """What broke the rule; None if nothing did."""
    if rule.property == "no-n-by-n" and seen.largest >= rule.limit:
        shape = list(seen.largest_shape)
        return Text(
            f"A tensor of shape {shape} came into being: {seen.largest} elements, "
            f"and N × N has {rule.limit}.",
            f"生成了形状为 {shape} 的张量，共 {seen.largest} 个元素；N × N 是 {rule.limit} 个。",
        )
    if rule.property == "one-block" and seen.read > rule.limit:
        return Text(
            f"One operation read {seen.read} numbers at once, a block holds {rule.limit}.",
            f"有一步操作一次读了 {seen.read} 个数，一个块只有 {rule.limit} 个。",
        )
    if rule.property == "own-work":
        used = {n for n in seen.called if n in rule.forbidden or n.startswith("fa_toolkit: ")}
        names = ", ".join(sorted(used))
        if used:
            return Text(f"This does the work for you: {names}.", f"这些函数替你做了题：{names}。")
    return None
