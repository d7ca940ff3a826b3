"""What a test of a claim found: checks that decide the verdict, numbers, source, figure. No claims.

A verdict is computed, never written: a claim whose own statements fail is wrong; one whose
statements stand while a condition that matters was found is true with a caveat.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ..language import Text, say, using
from ..quiz import load_bank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["holds", "caveat", "wrong"]
Number = int | float | bool

VERDICTS: Mapping[str, Text] = {
    "holds": Text("holds", "成立"),
    "caveat": Text("holds, with a caveat", "成立，但有条件"),
    "wrong": Text("wrong", "不成立"),
}


@dataclass(frozen=True)
class Check:
    """One thing that was tested: the sentence, its numbers in it, and whether it was found so."""

    text: Text
    found: bool


@dataclass(frozen=True)
class Found:
    """What an experiment brings home.

    Args:
        stated: what the claim itself states, tested.
        conditions: what it leaves out; one that is found makes the verdict a caveat.
        numbers: the figures behind the sentences, by name.
        short: the outcome in one line, for the table.
        source: where the numbers come from.
        draw: makes the figure, if there is one.
    """

    stated: tuple[Check, ...]
    short: Text
    source: Text
    conditions: tuple[Check, ...] = ()
    numbers: Mapping[str, Number] = field(default_factory=dict)
    draw: Callable[[], Figure] | None = None


@dataclass(frozen=True)
class Evidence:
    """A claim of the article, in our words, and what became of it when it was put to the test.

    Shows itself as a card in a notebook. `figure()` draws it, `numbers` are the figures.
    """

    claim: str
    section: Text
    says: Text
    self_corrected: bool
    found: Found

    @property
    def verdict(self) -> Verdict:
        """ "wrong" if a stated thing was not found, "caveat" if a condition was, else "holds"."""
        if not all(check.found for check in self.found.stated):
            return "wrong"
        return "caveat" if any(check.found for check in self.found.conditions) else "holds"

    @property
    def numbers(self) -> Mapping[str, Number]:
        """The figures, by name."""
        return self.found.numbers

    @property
    def measured(self) -> tuple[Check, ...]:
        """Everything that was tested, what the claim states first."""
        return self.found.stated + self.found.conditions

    @property
    def source(self) -> Text:
        """Where the figures come from."""
        return self.found.source

    def figure(self) -> Figure | None:
        """The figure, drawn afresh in the language in force; None if numbers say it all."""
        return None if self.found.draw is None else self.found.draw()

    def __str__(self) -> str:
        lines = [f"{self.claim}  {say(self.says)}", f"  = {say(VERDICTS[self.verdict])}"]
        for kind, checks in (("", self.found.stated), ("! ", self.found.conditions)):
            lines += [f"  {kind if c.found else 'x '}{say(c.text)}" for c in checks]
        return "\n".join([*lines, f"  ({say(self.source)})"])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from .card import html

        return html(self)


def claim(id: str) -> Callable[[Callable[[], Found]], Callable[[], Evidence]]:
    """Make an experiment the evidence for claim `id`; it runs once in a process."""

    def decorate(experiment: Callable[[], Found]) -> Callable[[], Evidence]:
        @functools.cache
        def evidence() -> Evidence:
            stated = load_bank().claims[id]
            return Evidence(
                id,
                Text(stated.section.en, stated.section.zh),
                Text(stated.says.en, stated.says.zh),
                stated.self_corrected,
                experiment(),
            )

        evidence.__doc__, evidence.__name__ = experiment.__doc__, id
        evidence.experiment = experiment  # type: ignore[attr-defined]
        return evidence

    return decorate


def both(line: Callable[[], str]) -> Text:
    """A line that is put into words by `say`, in both languages."""
    with using("en"):
        english = line()
    with using("zh"):
        return Text(english, line())


#: Sources that several experiments share.
RAN = Text("Run here, on the CPU, with fixed random numbers.", "在本机 CPU 上运行，随机数固定。")
MODELLED = Text(
    "Computed by fa_toolkit.io_model, and equal to the ledger of a traced run.",
    "由 fa_toolkit.io_model 算出，与逐步记录的账本相等。",
)
HARDWARE = Text(
    "fa_toolkit.hardware, which names a document for every figure.",
    "fa_toolkit.hardware，每个数都注明出处。",
)


def recorded(run_id: str) -> Text:
    """The line under a recorded figure: device, versions, day."""
    from ..measured import run

    provenance = run(run_id).provenance
    return both(lambda: say(_RECORDED, line=provenance.line()))


def sentences(first: Text, second: Text) -> Text:
    """Two sentences one after the other; Chinese sets no space between them."""
    return Text(f"{first.en} {second.en}", first.zh + second.zh)


_RECORDED = Text("Recorded: {line}.", "实测记录：{line}。")
