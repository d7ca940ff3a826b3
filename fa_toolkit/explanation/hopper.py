"""The kernels for Hopper in an explanation: whether each pass takes them, why, and their launches."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from ..kernels.decode_configuration import INTERPRETER_SMS, split_plan
from ..kernels.hopper import availability
from ..kernels.hopper.availability import Asked, Decision, Pass, Wish
from ..kernels.routing import refusal
from ..language import Text, apart
from ..problem import AttentionProblem
from .targets import Target
from .wording import listed, whole

_NAMES = {"forward": Text("forward", "前向"), "backward": Text("backward", "反向")}


def decided(
    wish: Wish, asked: Asked, target: Target, gradients: tuple[str, ...], *tensors: Tensor
) -> dict[Pass, Decision]:
    """The choice for each pass of the call, as `kernels.routing` makes it.

    Raises:
        BackendUnavailable: if the kernels were asked for by name and do not apply.
    """
    p, found = asked.problem, {}
    sms = INTERPRETER_SMS if target.gpu is None else int(target.gpu.need("sms"))
    passes: tuple[Pass, ...] = ("forward", "backward") if gradients else ("forward",)
    for kind in passes:
        obstacle = (
            availability.of_place(target.place)
            or availability.of_call(asked, kind)
            or availability.of_layout(**dict(zip("qkv", tensors, strict=True)))
        )
        found[kind] = availability.decide(
            wish, kind, p, obstacle,
            whole="q" in gradients and bool({"k", "v"} & {*gradients}),
            split=lambda: split_plan(p, target.device, sms, dropout=asked.dropout) is not None,
        )  # fmt: skip
        if wish == "hopper" and obstacle is not None:
            raise refusal(obstacle)
    return found


def reasons(
    decisions: dict[Pass, Decision], asked: Asked, target: Target, gradients: tuple[str, ...]
) -> Iterator[Text]:
    """One sentence a pass; one for both where the device is not of the kind, none on a CPU."""
    place = availability.of_place(target.place)
    if place is not None:
        if target.gpu is not None:
            yield _sentence(Text("all passes", "各阶段"), _not(decisions["forward"]))
        return
    for kind, decision in decisions.items():
        yield _sentence(_NAMES[kind], _because(decision, kind, asked.problem, gradients))


def _sentence(name: Text, said: Text) -> Text:
    return Text(f"{name.en}: {said.en}", f"{name.zh}：{said.zh}")


def _not(decision: Decision) -> Text:
    found = decision.obstacle
    assert found is not None
    expected, got = (x if isinstance(x, Text) else Text(x, x) for x in found[:2])
    return Text(
        f"the readable kernels, not those for Hopper, which expect {expected.en}; got {got.en}",
        f"用可读版 kernel，不用 Hopper 版：后者要求{apart(expected.zh)}，实际是 {got.zh}",
    )


def _because(
    decision: Decision, kind: Pass, problem: AttentionProblem, gradients: tuple[str, ...]
) -> Text:
    first = availability.better_from(problem, kind)
    shorter = whole(min(problem.len_q, problem.len_k))
    since = Text(f"from N = {whole(first or 0)} on", f"从 N = {whole(first or 0)} 起")
    if decision.why == "obstacle":
        return _not(decision)
    if decision.why == "asked":
        return Text("the kernel for Hopper, as asked", "按指定用 Hopper 版 kernel")
    if decision.why == "better":
        device, date = availability.MEASURED_ON.device, availability.MEASURED_ON.date
        return Text(
            f"the kernel for Hopper, measured better {since.en} ({device}, {date})",
            f"用 Hopper 版 kernel，实测{since.zh}更快（{device}，{date}）",
        )
    if first is None and decision.why == "short":
        return Text(
            "the readable kernel; the one for Hopper was not measured better at this width and mask",
            "用可读版 kernel；在这个宽度和掩码下，没有测得 Hopper 版更快",
        )
    if decision.why == "short":
        return Text(
            f"the readable kernel; the one for Hopper was measured better {since.en}, here the "
            f"shorter length is {shorter}",
            f"用可读版 kernel；Hopper 版实测{since.zh}更快，这里较短的长度是 {shorter}",
        )
    if decision.why == "part":
        names = listed(gradients)
        return Text(
            f"the readable kernels, not the one for Hopper: for {names.en} alone they do fewer "
            "products",
            f"用可读版 kernel，不用 Hopper 版：只求 {names.zh} 的梯度时矩阵乘更少",
        )
    return Text(
        "the readable kernels, not the one for Hopper: few queries, whose keys are split",
        "用可读版 kernel，不用 Hopper 版：query 少，key 要切开",
    )
