"""Whether the Hopper kernels apply to a call, why not, and where they are the better choice.

Facts in, answer out: imports neither Triton nor the kernels, launches nothing. Who asks: `routing`
for a call, `explain` for a call that is not made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import torch

from ...language import Text
from ...problem import AttentionProblem

Pass = Literal["forward", "backward"]
Wish = Literal["auto", "hopper"]
Why = Literal["asked", "better", "obstacle", "short", "split", "part"]

HOPPER = (9, 0)  # compute capability; wgmma and setmaxnreg of sm_90a exist on no other
SHARED = 232_448  # bytes of shared memory a block, of every GPU of that kind
WIDTHS: Mapping[Pass, tuple[int, ...]] = {"forward": (64, 128, 256), "backward": (64, 128)}
ALIGNMENT = 16  # bytes: what the copy engine asks of addresses and of steps between rows

AUTO = Text(
    'impl="auto", which takes the readable kernel there', 'impl="auto"，那里会用可读版 kernel'
)
READABLE = 'impl="triton"'


class Obstacle(NamedTuple):
    """One thing about a call that keeps the Hopper kernels from it, in the words of an error."""

    expected: Text | str
    got: Text | str
    hint: Text | str = AUTO


class Place(NamedTuple):
    """Where a call would run.

    Args:
        capability: of the GPU; None where kernels do not run on one.
        device: its name or kind, for the message.
        shared: bytes of shared memory that a block may have there.
        absent: why Triton cannot compile these kernels; None if it can.
    """

    capability: tuple[int, int] | None
    device: Text | str
    shared: int = 0
    absent: Text | None = None


@dataclass(frozen=True)
class Asked:
    """What a call asks for besides its sizes.

    Args:
        positive: whether the scale is above 0.
        deterministic: whether a repeated call must give the same bits.
    """

    problem: AttentionProblem
    softcap: bool = False
    sink: bool = False
    dropout: bool = False
    positive: bool = True
    deterministic: bool = False


def of_place(place: Place) -> Obstacle | None:
    """What is wrong with the GPU or with Triton."""
    if place.capability is None:
        expected = Text(
            "tensors on a Hopper GPU, and kernels compiled for it",
            "张量在 Hopper GPU 上，kernel 为它编译",
        )
        return Obstacle(expected, place.device, 'impl="auto"')
    if place.capability != HOPPER:
        found = "{}.{}".format(*place.capability)
        expected = Text("compute capability 9.0 (Hopper)", "计算能力 9.0（Hopper）")
        return Obstacle(expected, Text(f"{found} ({place.device})", f"{found}（{place.device}）"))
    if place.shared < SHARED:
        expected = Text(
            f"{SHARED} bytes of shared memory for a block", f"每个线程块有 {SHARED} 字节共享内存"
        )
        return Obstacle(expected, f"{place.shared}")
    if place.absent is not None:
        expected = Text("a Triton with the Gluon they are written in", "带有相应 Gluon 的 Triton")
        return Obstacle(expected, place.absent)
    return None


@lru_cache(maxsize=4096)
def of_call(asked: Asked, kind: Pass) -> Obstacle | None:
    """The first thing in sizes and options that the kernel of this pass does not do."""
    p = asked.problem
    widths = " | ".join(map(str, WIDTHS[kind]))
    if p.dtype not in ("float16", "bfloat16"):
        return Obstacle(Text("float16 or bfloat16", "float16 或 bfloat16"), p.dtype)
    if p.head_dim != p.head_dim_v or p.head_dim not in WIDTHS[kind]:
        names = Text("forward", "前向") if kind == "forward" else Text("backward", "反向")
        expected = Text(f"D = Dv = {widths} ({names.en})", f"D = Dv = {widths}（{names.zh}）")
        return Obstacle(expected, f"D = {p.head_dim}, Dv = {p.head_dim_v}")
    if 0 in (p.batch, p.heads_q, p.len_q, p.len_k):
        expected = Text("at least one head, query and key", "至少一个头、一个查询、一个键")
        return Obstacle(
            expected, f"B = {p.batch}, Hq = {p.heads_q}, Nq = {p.len_q}, Nk = {p.len_k}"
        )
    if p.left is not None or p.right not in (None, 0):
        expected = Text("no window, or causal", "无窗口，或因果掩码")
        return Obstacle(expected, f"window={p.window}")
    return _of_options(asked, kind)


def _of_options(asked: Asked, kind: Pass) -> Obstacle | None:
    """The rest of `of_call`: options by name."""
    for name, present in (("softcap", asked.softcap), ("sink", asked.sink)):
        if present:
            return Obstacle(Text(f"no {name}", f"不用 {name}"), Text(f"a {name}", f"有 {name}"))
    if asked.dropout:
        return Obstacle("dropout_p=0", "dropout_p > 0")
    if not asked.positive:
        # the maximum is taken of products, before the scale
        return Obstacle(Text("a scale above 0", "scale 大于 0"), Text("0 or below", "0 或负数"))
    if asked.deterministic and kind == "backward":
        expected = Text(
            "deterministic=False: dQ is added up in an order of chance",
            "deterministic=False：dQ 的累加顺序不固定",
        )
        return Obstacle(expected, "deterministic=True")
    return None


def of_layout(**tensors: torch.Tensor) -> Obstacle | None:
    """The first tensor that the copy engine cannot read where it lies."""
    for name, x in tensors.items():
        wrong = _misplaced(x)
        if wrong is not None:
            expected = Text(
                f"{name} with last stride 1, other strides and its address multiples of 16 bytes",
                f"{name} 的最后一维步长为 1，其余步长和首地址都是 16 字节的倍数",
            )
            return Obstacle(expected, wrong, f"{name}.clone(memory_format=torch.contiguous_format)")
    return None


def _misplaced(x: torch.Tensor) -> Text | str | None:
    *outer, inner = x.stride()
    if inner != 1 or any(step <= 0 or step * x.itemsize % ALIGNMENT for step in outer):
        return Text(f"strides {tuple(x.stride())}", f"步长 {tuple(x.stride())}")
    past = 0 if x.is_meta else x.data_ptr() % ALIGNMENT
    if past:
        return Text(f"an address {past} bytes past one", f"首地址超出 {past} 字节")
    return None


class Measurement(NamedTuple):
    """Where the figures of a table come from: recorded runs of `fa_toolkit.measured`, with their commands."""

    device: str
    software: str
    date: str
    runs: tuple[str, ...]


MEASURED_ON = Measurement(
    "NVIDIA H200",
    "torch 2.11.0, Triton 3.6.0",
    "2026-12-01",
    ("h200-hopper", "h200-side-by-side", "h200-side-by-side-3"),
)
#: (pass, D, causal) -> the shortest Nq = Nk, 16,384 tokens in all, from which on the Hopper kernel is
#: better than the readable one; what is not here stays with the readable one
MEASURED_BETTER: Mapping[tuple[Pass, int, bool], int] = {
    ("forward", 64, True): 512,
    ("forward", 64, False): 512,
    ("forward", 128, True): 512,
    ("forward", 128, False): 512,
    ("forward", 256, True): 1024,
    ("forward", 256, False): 1024,
    ("backward", 64, True): 2048,
    ("backward", 64, False): 512,
    ("backward", 128, True): 512,
    ("backward", 128, False): 512,
}


def better_from(problem: AttentionProblem, kind: Pass) -> int | None:
    """From which length on the Hopper kernel of this pass is the better choice; None: never seen so."""
    return MEASURED_BETTER.get((kind, problem.head_dim, problem.right is not None))


def too_short(problem: AttentionProblem, kind: Pass) -> bool:
    """Whether the readable kernel is the better choice, though the other could run.

    The table is of Nq = Nk; of two lengths the shorter one counts.

    Example:
        >>> too_short(AttentionProblem(8, 16, 16, 8, 8, 128, causal=True), "forward")
        True
        >>> too_short(AttentionProblem(1, 16, 16, 16384, 16384, 128, causal=True), "forward")
        False
    """
    first = better_from(problem, kind)
    return first is None or min(problem.len_q, problem.len_k) < first


class Decision(NamedTuple):
    """Whether one pass takes the Hopper kernel.

    Args:
        why: "asked" for by name, measured "better"; or an "obstacle", lengths too "short", few
            queries, whose keys are "split" as in decoding, or only a "part" of the gradients.
    """

    hopper: bool
    why: Why
    obstacle: Obstacle | None = None


def decide(
    wish: Wish,
    kind: Pass,
    problem: AttentionProblem,
    found: Obstacle | None,
    *,
    whole: bool,
    split: Callable[[], bool],
) -> Decision:
    """The choice between two kernels that compute the same.

    Args:
        found: what keeps the Hopper kernel from the call.
        whole: whether all gradients are wanted: for a part of them the readable kernels do fewer
            products.
        split: whether the readable forward would take the path of decoding.
    """
    if found is not None:
        return Decision(False, "obstacle", found)
    if wish == "hopper":
        return Decision(True, "asked")
    if kind == "forward" and split():
        return Decision(False, "split")
    if kind == "backward" and not whole:
        return Decision(False, "part")
    return Decision(False, "short") if too_short(problem, kind) else Decision(True, "better")
