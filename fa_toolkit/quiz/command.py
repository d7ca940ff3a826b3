"""`fa quiz lint` and `fa quiz stats`: look at a bank without asking it."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..language import Text, say

ACTS = ("lint", "stats")
_NEITHER = Text(
    "invalid int value: {got!r} (a chapter's number, or lint, or stats)",
    "{got!r} 不是整数（写章号，或 lint、stats）",
)
_GOOD = Text("{n} questions, no fault.", "{n} 题，没有问题。")
_BAD = Text("{n} faults.", "{n} 处问题。")


def chapter_or_act(written: str) -> int | str:
    """What stands after `fa quiz`: a chapter, or one of ACTS."""
    if written in ACTS:
        return written
    try:
        return int(written)
    except ValueError:
        raise argparse.ArgumentTypeError(say(_NEITHER, got=written)) from None


def run(act: str, bank: Path | None) -> int:
    """Carry out one of ACTS; 1 if lint found a fault."""
    from .bank import load_bank

    if act == "stats":
        from .statistics import statistics

        print(statistics(load_bank(bank)))
        return 0
    from .lint import lint

    found = lint(bank)
    for fault in found:
        print(fault)
    print(say(_BAD, n=len(found)) if found else say(_GOOD, n=len(load_bank(bank).questions)))
    return 1 if found else 0


def choose_judge(url: str | None, model: str) -> None:
    """The endpoint of `--judge`, else that of the environment, before the first question.

    Raises:
        ArgumentError: if it cannot be used.
    """
    from . import second_tier

    if url is not None:
        second_tier.use(url, model=model)
        return
    named = second_tier.from_environment()
    if named is not None and model:
        second_tier.use(named.url, model=model)


def chapter_to_ask(chapter: int | None, bank: Path | None) -> int | None:
    """The chapter that is meant: the only one, where a bank of one's own has no more."""
    if chapter is not None or bank is None:
        return chapter
    from .bank import load_bank

    numbers = list(load_bank(bank).chapters)
    return numbers[0] if len(numbers) == 1 else None
