"""Check one learner function against one exercise. Shows nothing; returns a `Report`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from ..language import Text
from .compare import budgets, mismatch, parts, truth_of
from .diagnose import Attempt, diagnose
from .guard import Call, call
from .report import Diagnosis, Finding, Outcome, Report
from .spec import Case, Exercise, Rule, leaves
from .watch import PoisonedEmpty, watching

#: Seconds for one call, and for a whole check. The interpreter needs longer.
CALL_SECONDS, CHECK_SECONDS = 5.0, 20.0
TRITON_SECONDS, TRITON_CHECK_SECONDS = 20.0, 90.0


class _Check:
    """One run over all cases and rules; collects what each property showed."""

    def __init__(self, exercise: Exercise, fn: Callable[..., Any]) -> None:
        self.exercise, self.fn = exercise, exercise.adapt(fn)
        self.notes: dict[str, Text | str] = {}  # property: what failed first
        self.scores: dict[str, Text] = {}  # property that held: its figure and its target
        self.run: set[str] = set()
        self.errors: list[Text | str] = []
        self.attempts: list[Attempt] = []
        slow = exercise.needs_triton
        self.seconds = TRITON_SECONDS if slow else CALL_SECONDS
        self.deadline = time.monotonic() + (TRITON_CHECK_SECONDS if slow else CHECK_SECONDS)
        self.stopped = self.untouched = False

    def call(self, args: tuple[Any, ...]) -> Call:
        left = self.deadline - time.monotonic()
        guard: AbstractContextManager[Any] = nullcontext()
        if self.exercise.needs_triton:
            guard = PoisonedEmpty()  # type: ignore[no-untyped-call]
        with guard:
            result = call(self.fn, args, seconds=max(0.1, min(self.seconds, left)))
        if result.kind == "stopped":
            self.stopped = True
        return result

    def fail(self, name: str, note: Text | str) -> None:
        self.run.add(name)
        self.notes.setdefault(name, note)

    def case(self, case: Case) -> None:
        args = case.make()
        kept = [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves(args)]
        result = self.call(args)
        names = self.names(case)
        self.run |= set(names)
        if result.kind != "ok":
            self.untouched = result.kind == "stub" and not self.attempts and not self.errors
            note = result.sentence or _LEFT_OUT
            self.errors.append(note)
            for name in names:
                self.fail(name, note)
            return
        self.unchanged(args, kept)
        self.attempts.append(Attempt(case.property, case.make, result.value))
        self.judge(case, args, result.value)

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
        for output, g, t, a in zip(self.exercise.outputs, got, truth, allowed, strict=True):
            name = output.property if case.property == "value" else case.property
            found = None
            if case.property == "dtype":  # first: a coarser type shows in the values too
                found = _wrong_dtype(output.name, output.dtype, g, args)
            if output.at_most and found is None:
                found = self.at_most(name, g, t)
            else:
                found = found or mismatch(output.name, g, t, a)
            if found is not None:
                self.fail(name, _at(case.label, found))

    def at_most(self, name: str, got: float, target: float) -> Text | None:
        sentence = Text(
            f"{got:,} bytes moved, {target:,} are enough.",
            f"搬运了 {got:,} 字节，{target:,} 字节就够。",
        )
        self.scores[name] = sentence
        return sentence if got > target else None

    def unchanged(self, args: tuple[Any, ...], kept: list[Any]) -> None:
        self.run.add("inputs-unchanged")
        for index, (now, before) in enumerate(zip(leaves(args), kept, strict=True)):
            if not isinstance(now, torch.Tensor):
                continue
            same = now.shape == before.shape and bool(
                ((now == before) | (now.isnan() & before.isnan())).all()
            )
            if not same:
                self.fail(
                    "inputs-unchanged",
                    Text(
                        f"Tensor {index + 1} of the arguments was written to. In-place operations "
                        "end with an underscore or use +=, *=.",
                        f"参数里的第 {index + 1} 个张量被改动了。"
                        f"带下划线的方法和 +=、*= 都是就地操作。",
                    ),
                )

    def rule(self, rule: Rule) -> None:
        args = rule.make()
        with watching() as seen:
            result = self.call(args)
        if result.kind != "ok":  # it cannot be seen how a result was made that was not made
            self.errors.append(result.sentence or _LEFT_OUT)
            return
        self.run.add(rule.property)
        if rule.property == "no-n-by-n" and seen.largest >= rule.limit:
            shape = list(seen.largest_shape)
            self.fail(
                rule.property,
                Text(
                    f"A tensor of shape {shape} came into being: {seen.largest} elements, "
                    f"and N × N has {rule.limit}.",
                    f"生成了形状为 {shape} 的张量，共 {seen.largest} 个元素；"
                    f"N × N 是 {rule.limit} 个。",
                ),
            )
        elif rule.property == "one-block" and seen.read > rule.limit:
            self.fail(
                rule.property,
                Text(
                    f"One operation read {seen.read} numbers at once, a block holds {rule.limit}.",
                    f"有一步操作一次读了 {seen.read} 个数，一个块只有 {rule.limit} 个。",
                ),
            )
        elif rule.property == "own-work":
            used = {n for n in seen.called if n in rule.forbidden or n.startswith("fa_toolkit: ")}
            if used:
                names = ", ".join(sorted(used))
                self.fail(
                    rule.property,
                    Text(f"This does the work for you: {names}.", f"这些函数替你做了题：{names}。"),
                )

    def findings(self) -> tuple[Finding, ...]:
        rows: list[Finding] = []
        for name in self.exercise.properties:
            if name in self.notes:
                rows.append(Finding(name, "failed", self.notes[name]))
            else:
                held = name in self.run
                score = self.scores.get(name, "")
                rows.append(Finding(name, "held" if held else "not run", score))
        return tuple(rows)


_LEFT_OUT = Text(
    "This part still raises NotImplementedError.", "这部分仍然抛出 NotImplementedError。"
)


def check(exercise: Exercise, fn: Callable[..., Any]) -> Report:
    """Run every case and rule of `exercise` on `fn`."""
    blocked = _cannot_start(exercise, fn)
    if blocked is not None:
        return Report(exercise.id, exercise.title, "not attempted", note=blocked)
    state = _Check(exercise, fn)
    for case in exercise.cases:
        if not (state.stopped or state.untouched):
            state.case(case)
    if state.untouched:
        note = Text(
            f"{exercise.entry} still raises NotImplementedError. Replace that line with your code.",
            f"{exercise.entry} 还在抛出 NotImplementedError，把那一行换成你的代码。",
        )
        return Report(exercise.id, exercise.title, "not attempted", note=note)
    for rule in exercise.rules:
        if not state.stopped:
            state.rule(rule)
    return _report(exercise, state)


def _report(exercise: Exercise, state: _Check) -> Report:
    findings = state.findings()
    passed = all(item.status == "held" for item in findings)
    outcome: Outcome = "passed" if passed else "not yet"
    named: tuple[Diagnosis, ...] = ()
    if not passed and not state.stopped:
        named = diagnose(exercise, state.attempts)
    note: Text | str = state.errors[-1 if state.stopped else 0] if state.errors else ""
    # a sentence that heads the report is not repeated under each property
    findings = tuple(Finding(f.id, f.status, "" if f.note == note else f.note) for f in findings)
    return Report(exercise.id, exercise.title, outcome, findings, named, note)


def _cannot_start(exercise: Exercise, fn: Any) -> Text | str | None:
    if not callable(fn):
        return Text(
            f"Pass the function itself, without brackets: "
            f"check({exercise.id!r}, {exercise.entry}). "
            f"It received {type(fn).__name__}.",
            f"请传函数本身，不带括号：check({exercise.id!r}, {exercise.entry})。"
            f"现在收到的是 {type(fn).__name__}。",
        )
    if exercise.needs_triton:
        from .. import kernels

        mode = kernels.mode()
        if mode.name == "none":
            return Text(
                f"This exercise runs a Triton kernel, and Triton cannot run here. {mode.reason}",
                f"这道题要运行 Triton kernel，而这里无法运行 Triton。{mode.reason}",
            )
    return None


def _wrong_dtype(name: str, rule: str | None, got: Any, args: tuple[Any, ...]) -> Text | None:
    if rule is None or not isinstance(got, torch.Tensor):
        return None
    first = next(x for x in leaves(args) if isinstance(x, torch.Tensor))
    want = torch.float32 if rule == "float32" else first.dtype
    if got.dtype == want:
        return None
    return Text(f"{name} is {got.dtype}, expected {want}.", f"{name} 是 {got.dtype}，应为 {want}。")


def _at(label: Text | str, found: Text) -> Text:
    en, zh = label if isinstance(label, Text) else (label, label)
    return Text(f"{en}: {found.en}", f"{zh}：{found.zh}")
