"""All verdicts on one page: for the READMEs, and beside a reader's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..errors import ArgumentError, UnknownNameError
from ..language import Text, say, using
from .record import VERDICTS, Evidence

BEGIN, END = "<!-- evidence: begin -->", "<!-- evidence: end -->"
_README = {"en": "README.md", "zh": "README.zh.md"}
_HEAD = Text("| | claim | verdict | what was found |", "| | 说法 | 结论 | 检验结果 |")
_NOTE = Text(
    "Made by `python -m fa_toolkit.evidence --write`. ¹ The article corrects its original here.",
    "由 `python -m fa_toolkit.evidence --write` 生成。¹ 文章在此改正了原稿。",
)
_COUNTS = Text(
    "You agree with the experiments on {same} of {said}.",
    "你有 {said} 条判断，其中 {same} 条与实验一致。",
)
_NONE = Text(
    "No verdict of yours yet: put one of holds, caveat, wrong in place of the dots.",
    "还没有你的判断：把省略号换成 holds、caveat、wrong 之一。",
)
_COLUMNS = (Text("you", "你的判断"), Text("verdict", "结论"), Text("what was found", "检验结果"))


def _every() -> list[Evidence]:
    from . import ALL

    return [evidence() for evidence in ALL.values()]


def markdown(lang: str = "en") -> str:
    """The table of the README in one language, without the marks around it."""
    with using(lang):
        lines = [say(_HEAD), "|---|---|---|---|"]
        for each in _every():
            origin = "¹" if each.self_corrected else ""
            verdict = say(VERDICTS[each.verdict])
            lines.append(
                f"| {each.claim}{origin} | {say(each.says)} | {verdict} | {say(each.found.short)} |"
            )
        return "\n".join([*lines, "", say(_NOTE)])


def written(text: str, lang: str) -> str:
    """`text` of a README with the table between its marks made anew.

    Raises:
        ArgumentError: if the marks are not there.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ArgumentError(_README[lang], expected=f"{BEGIN} ... {END}", got="-")
    return f"{before}{BEGIN}\n{markdown(lang)}\n{END}{after}"


def write(folder: Path) -> list[Path]:
    """Make the tables of both READMEs anew; those that changed."""
    changed = []
    for lang, name in _README.items():
        path = folder / name
        text = path.read_text(encoding="utf-8")
        fresh = written(text, lang)
        if fresh != text:
            path.write_text(fresh, encoding="utf-8")
            changed.append(path)
    return changed


@dataclass(frozen=True)
class Shown:
    """Several pieces of evidence, one under the other."""

    evidence: tuple[Evidence, ...]

    def __repr__(self) -> str:
        return "\n\n".join(map(str, self.evidence))

    def _repr_html_(self) -> str:
        return "".join(each._repr_html_() for each in self.evidence)


def show(*ids: str) -> Shown:
    """The evidence for several claims, such as `show("S03", "S04")`.

    Raises:
        UnknownNameError: for an id that is no claim.
    """
    from . import ALL

    for id in ids:
        if id not in ALL:
            raise UnknownNameError("claim", expected="S01..S24", got=repr(id))
    return Shown(tuple(ALL[id]() for id in ids))


@dataclass(frozen=True)
class Standing:
    """A reader's verdicts beside those of the experiments."""

    said: Mapping[str, str]

    def _counts(self) -> str:
        if not self.said:
            return say(_NONE)
        same = sum(each.verdict == self.said.get(each.claim) for each in _every())
        return say(_COUNTS, same=same, said=len(self.said))

    def _row(self, each: Evidence) -> tuple[str, str, str, str]:
        mine = self.said.get(each.claim)
        yours = say(VERDICTS[mine]) if mine else "…"
        return each.claim, yours, say(VERDICTS[each.verdict]), say(each.found.short)

    def __repr__(self) -> str:
        return "\n".join([self._counts(), *("  ".join(self._row(x)) for x in _every())])

    def _repr_html_(self) -> str:
        from .card import framed, mark

        head = "".join(f"<th>{escape(say(name))}</th>" for name in _COLUMNS)
        rows = []
        for each in _every():
            id, yours, _, short = self._row(each)
            cells = f"<td>{escape(yours)}</td><td>{mark(each.verdict)}</td><td>{escape(short)}</td>"
            rows.append(f"<tr><td>{id}</td>{cells}</tr>")
        table = f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>"
        return framed(f"<p>{escape(self._counts())}</p>{table}")


def verdicts(*guesses: Mapping[str, object]) -> Standing:
    """Your verdicts beside those of the experiments; `...` is none yet.

    Args:
        guesses: such as {"S04": "caveat", "S21": ...}; later ones count.

    Raises:
        ArgumentError: for an id that is no claim, or a verdict that is none.

    Example:
        >>> print(str(verdicts({"S21": "wrong", "S04": ...})).splitlines()[0])
        You agree with the experiments on 1 of 1.
    """
    from . import ALL

    said: dict[str, str] = {}
    for guess in guesses:
        for id, verdict in guess.items():
            if id not in ALL:
                raise ArgumentError("guesses", expected="S01..S24", got=repr(id))
            if verdict is ... or verdict is None:
                said.pop(id, None)
                continue
            if verdict not in VERDICTS:
                raise ArgumentError(id, expected=" | ".join(VERDICTS), got=repr(verdict))
            said[id] = str(verdict)
    return Standing(said)
