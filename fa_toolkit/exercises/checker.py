"""Judge one learner function against one exercise. Shows nothing; returns a `Report`.

The function is called by a `Runner`, which may live in another process; what comes back is data.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import torch

from ..language import Text
from .calling import Outcome, Runner, on_cpu
from .clock import charge
from .compare import budgets, mismatch, parts, truth_of, wrong_dtype
from .departure import find_departure
from .diagnose import Attempt, diagnose, whole_tiles
from .edited import Failure
from .report import Diagnosis, Finding, Report
from .report import Outcome as Verdict
from .rules import broken
from .spec import Case, Exercise, Rule, leaves


@dataclass(frozen=True)
class Seconds:
    """How long one call may take, and all calls of a check together, as `clock` counts it."""

    call: float
    check: float


#: The interpreter needs longer than torch.
TORCH_SECONDS, TRITON_SECONDS = Seconds(5.0, 20.0), Seconds(20.0, 90.0)


def limits(exercise: Exercise) -> Seconds:
    """The limits of an exercise; its `time_factor` times the usual."""
    found = TRITON_SECONDS if exercise.needs_triton else TORCH_SECONDS
    return Seconds(found.call * exercise.time_factor, found.check * exercise.time_factor)


class _Check:
    """One run over all cases and rules; collects what each property showed."""

    def __init__(self, exercise: Exercise, runner: Runner, seconds: Seconds) -> None:
        self.exercise, self.runner, self.seconds = exercise, runner, seconds
        self.notes: dict[str, Text | str] = {}  # property: what failed first
        self.scores: dict[str, Text] = {}  # property that held: its figure and its target
        self.errors_of: dict[str, tuple[float, float]] = {}  # largest error, and the baseline's
        self.run: set[str] = set()
        self.errors: list[Text | str] = []
        self.attempts: list[Attempt] = []
        self.failures: list[Failure] = []
        self.tiles: list[tuple[int, int]] = []  # sizes, where the learner chooses them
        self.left = seconds.check  # for all calls together; judging is not the learner's time
        self.stopped = self.untouched = False

    def call(self, what: Any, index: int, keys: int | None = None) -> Outcome:
        began = time.monotonic()
        found = self.runner.call(what, index, max(0.1, min(self.seconds.call, self.left)), keys)
        self.left -= charge(time.monotonic() - began, found.used)
        if found.kind == "stopped":
            self.stopped = True
        return found

    def fail(self, name: str, note: Text | str) -> None:
        self.run.add(name)
        self.notes.setdefault(name, note)

    def case(self, index: int) -> None:
        case = self.exercise.cases[index]
        args = case.make()
        found = self.call("case", index)
        names = self.names(case)
        self.run |= set(names)
        if found.kind != "ok":
            self.untouched = found.kind == "stub" and not self.attempts and not self.errors
            note = found.sentence or _LEFT_OUT
            self.errors.append(note)
            if found.kind == "error":
                self.failures.append(Failure(index, note))
            for name in names:
                self.fail(name, note)
            return
        self.unchanged(args, found.after)
        self.attempts.append(Attempt(index, case.property, case.make, found.value))
        self.judge(case, args, found.value)

    def names(self, case: Case) -> list[str]:
        if case.property == "value":
            return [output.property for output in self.exercise.outputs]
        return [case.property]

    def judge(self, case: Case, args: tuple[Any, ...], value: Any) -> None:
        got = parts(self.exercise, value)
        if isinstance(got, Text):
            for name in self.names(case):
                self.fail(name, got)
            return
        truth = truth_of(self.exercise, args)
        allowed = budgets(self.exercise, args, truth)
        base = _baseline(self.exercise, args)
        outputs = zip(self.exercise.outputs, got, truth, allowed, base, strict=True)
        for output, g, t, a, b in outputs:
            plain = case.property == "value" or output.at_most
            name = output.property if plain else case.property
            found = None
            if case.property == "dtype":  # first: a coarser type shows in the values too
                found = wrong_dtype(output.name, output.dtype, g, args)
            if output.at_most and found is None:
                found = self.at_most(name, g, t)
            else:
                found = found or mismatch(output.name, g, t, a, b)
            if found is not None:
                self.fail(name, _at(case.label, found))
            self.error(name, g, t, b)

    def error(self, name: str, got: Any, truth: Any, base: Any) -> None:
        """The largest error of a property so far, with that of plain torch in the same place."""
        pair = _worst_error(got, truth), _worst_error(base, truth)
        if None not in pair:
            before = self.errors_of.get(name, (0.0, 0.0))
            self.errors_of[name] = (max(before[0], pair[0]), max(before[1], pair[1]))

    def at_most(self, name: str, got: float, target: float) -> Text | None:
        sentence = Text(
            f"{got:,} bytes moved, {target:,} are enough.",
            f"搬运了 {got:,} 字节，{target:,} 字节就够。",
        )
        self.scores[name] = sentence
        return sentence if got > target else None

    def unchanged(self, args: tuple[Any, ...], after: list[Any]) -> None:
        self.run.add("inputs-unchanged")
        for index, (before, now) in enumerate(zip(on_cpu(leaves(args)), after, strict=False)):
            if not isinstance(before, torch.Tensor):
                continue
            same = isinstance(now, torch.Tensor) and now.shape == before.shape
            if not (same and bool(((now == before) | (now.isnan() & before.isnan())).all())):
                self.fail(
                    "inputs-unchanged",
                    Text(
                        f"Tensor {index + 1} of the arguments was written to. In-place operations "
                        "end with an underscore or use +=, *=.",
                        f"参数里的第 {index + 1} 个张量被改动了。"
                        f"带下划线的方法和 +=、*= 都是就地操作。",
                    ),
                )

    def rule(self, index: int) -> None:
        rule: Rule = self.exercise.rules[index]
        found = self.call("rule", index)
        if found.kind != "ok":  # it cannot be seen how a result was made that was not made
            self.errors.append(found.sentence or _LEFT_OUT)
            return
        self.run.add(rule.property)
        self.tiles = self.tiles or whole_tiles(found.seen.tiles, rule.make())
        note = broken(rule, found.seen)
        if note is not None:
            self.fail(rule.property, note)

    def findings(self) -> tuple[Finding, ...]:
        rows: list[Finding] = []
        for name in self.exercise.properties:
            errors = self.errors_of.get(name)
            if name in self.notes:
                rows.append(Finding(name, "failed", self.notes[name], errors))
            else:
                held = name in self.run
                score = self.scores.get(name, "")
                rows.append(Finding(name, "held" if held else "not run", score, errors))
        return tuple(rows)


_LEFT_OUT = Text(
    "This part still raises NotImplementedError.", "这部分仍然抛出 NotImplementedError。"
)


def judge(exercise: Exercise, runner: Runner, seconds: Seconds | None = None) -> Report:
    """Run every case and rule of `exercise` through `runner`."""
    state = _Check(exercise, runner, seconds or limits(exercise))
    for index in range(len(exercise.cases)):
        if not state.stopped:
            state.case(index)
        if state.untouched:
            return not_attempted(exercise, _stub_note(exercise))
    for index in range(len(exercise.rules)):
        if not state.stopped:
            state.rule(index)
    return _report(exercise, state)


def not_attempted(exercise: Exercise, note: Text | str) -> Report:
    """A report that nothing was checked, and why."""
    return Report(exercise.id, exercise.title, "not attempted", note=note)


def not_made(exercise: Exercise, note: Text | str) -> Report:
    """A report on a function whose definition alone failed: nothing could be run."""
    findings = tuple(Finding(name, "not run") for name in exercise.properties)
    return Report(exercise.id, exercise.title, "not yet", findings, note=note)


def _stub_note(exercise: Exercise) -> Text:
    return Text(
        f"{exercise.entry} still raises NotImplementedError. Replace that line with your code.",
        f"{exercise.entry} 还在抛出 NotImplementedError，把那一行换成你的代码。",
    )


def _report(exercise: Exercise, state: _Check) -> Report:
    findings = state.findings()
    passed = all(item.status == "held" for item in findings)
    outcome: Verdict = "passed" if passed else "not yet"
    named: tuple[Diagnosis, ...] = ()
    departure = None
    if not passed:
        named = diagnose(exercise, state.attempts, state.failures, state.tiles)
    if not passed and not state.stopped:
        departure = find_departure(exercise, state.attempts, state.call)
    note: Text | str = state.errors[-1 if state.stopped else 0] if state.errors else ""
    # a sentence that heads the report is not repeated under each property
    findings = tuple(
        Finding(f.id, f.status, "" if f.note == note else f.note, f.errors) for f in findings
    )
    return Report(exercise.id, exercise.title, outcome, findings, named, note, departure)


def _baseline(exercise: Exercise, args: tuple[Any, ...]) -> list[Any]:
    """Plain torch in the precision of the arguments; None where it has no answer."""
    fn = exercise.baseline or exercise.reference
    try:
        found = fn(*args)
    except (RuntimeError, TypeError, ValueError):  # an operator that a half type lacks
        return [None] * len(exercise.outputs)
    return list(found) if len(exercise.outputs) > 1 else [found]


def _worst_error(got: Any, truth: Any) -> Any:
    """The largest difference, infinite where a number should be finite and is not; or None."""
    if not (isinstance(got, torch.Tensor) and isinstance(truth, torch.Tensor)):
        return None
    got, truth = got.detach().double().cpu(), truth.double().cpu()
    if got.shape != truth.shape or not bool(truth.isfinite().any()):
        return None
    difference = (got - truth)[truth.isfinite()].abs()
    return float(difference.nan_to_num(math.inf, math.inf).max())


def _at(label: Text | str, found: Text) -> Text:
    en, zh = label if isinstance(label, Text) else (label, label)
    return Text(f"{en}: {found.en}", f"{zh}：{found.zh}")
