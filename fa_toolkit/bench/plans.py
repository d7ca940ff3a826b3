"""What a run measures: suites, sizes, providers and habits as values. Measures nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..errors import ArgumentError
from ..language import Text
from ..measured import Method
from ..problem import AttentionProblem, Dtype

Suite = Literal["forward", "backward", "decode", "memory", "host", "ablations", "timeline"]
SUITES: tuple[Suite, ...] = get_args(Suite)
Extent = Literal["quick", "default", "full"]

TOKENS, HIDDEN = 16_384, 2_048  # of every training case, as in published tables
_LENGTHS = {
    "quick": (1024, 4096),
    "default": (1024, 4096, 16384),
    "full": (512, 1024, 2048, 4096, 8192, 16384),
}
_DECODE = {"quick": (8192,), "default": (8192, 32768), "full": (8192, 16384, 32768, 65536)}
_MEMORY = {
    "quick": (1024, 4096),
    "default": tuple(2**power for power in range(10, 15)),
    "full": tuple(2**power for power in range(10, 18)),
}
#: seconds after which no case starts
BUDGET = {"quick": 60.0, "default": 120.0, "full": 1200.0}
STANDARD: tuple[Suite, ...] = ("forward", "backward", "host", "memory")
#: compiling takes a minute, so it is for a full run or for who asks
SLOW_TO_COMPILE = frozenset({"flex"})
COMPILED_LENGTHS = (4096, 16384)  # where those are timed in a full run


@dataclass(frozen=True)
class Plan:
    """One run of the benchmark.

    Args:
        speed: training cases, the most telling first.
        passes: which of forward and backward are timed.
        providers: ids; empty: all that are installed.
        also: "module:function" or "file.py:function", timed as providers of their own.
        budget_s: no case starts after this many seconds.
        sustain_s: seconds of back-to-back running that are timed as well; 0: none.
        seed: of the inputs.
        asked: the shapes, lengths or widths are the reader's own; else a CPU gets smaller ones.
    """

    suites: tuple[Suite, ...]
    speed: tuple[AttentionProblem, ...]
    decode: tuple[AttentionProblem, ...]
    memory: tuple[AttentionProblem, ...]
    host: AttentionProblem
    ablations: tuple[AttentionProblem, ...]
    timeline: tuple[AttentionProblem, ...]
    extent: Extent = "default"
    providers: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    also: tuple[str, ...] = ()
    budget_s: float = 120.0
    sustain_s: float = 0.0
    seed: int = 1
    asked: bool = False
    method: Method = Method(  # noqa: RUF009  (frozen)
        pause_s=0.15, burst_ms=25.0, rounds=2, cold_l2=True, graph_below_ms=1.0
    )

    @property
    def passes(self) -> tuple[Literal["forward", "backward"], ...]:
        """Those of forward and backward that the suites ask for."""
        return tuple(name for name in ("forward", "backward") if name in self.suites)


def training_problem(
    head_dim: int,
    length: int,
    causal: bool,
    dtype: Dtype = "bfloat16",
    *,
    group: int = 1,
    tokens: int = TOKENS,
) -> AttentionProblem:
    """`tokens` tokens of width 2,048, cut into sequences of `length` and heads of `head_dim`.

    Example:
        >>> training_problem(128, 4096, True).batch
        4
    """
    heads = HIDDEN // head_dim
    return AttentionProblem(
        max(1, tokens // length), heads, heads // group, length, length, head_dim,
        dtype=dtype, causal=causal,
    )  # fmt: skip


def plan_of(
    extent: Extent = "default",
    *,
    suites: Iterable[str] = (),
    dtype: Dtype = "bfloat16",
    head_dims: Iterable[int] = (),
    lengths: Iterable[int] = (),
    causal: bool | None = None,
    providers: Iterable[str] = (),
    also: Iterable[str] = (),
    budget_s: float | None = None,
    sustain_s: float = 0.0,
    tokens: int = TOKENS,
    shapes: Iterable[tuple[int, int, int, int, int]] = (),
) -> Plan:
    """The sizes of an extent, narrowed by what is given.

    Args:
        tokens: batch times length of a training case; fewer for a GPU with little memory.
        shapes: (B, Hq, Hkv, N, D) of cases of the reader's own, in place of all others; decoding
            takes one query over N keys.

    Raises:
        ArgumentError: if a suite is unknown, or a shape is impossible.
    """
    chosen = tuple(suites) or STANDARD
    for name in chosen:
        if name not in SUITES:
            raise ArgumentError("suite", expected=" | ".join(SUITES), got=repr(name))
    dims = tuple(head_dims) or (128, 64)
    ns = tuple(sorted(set(lengths) or _LENGTHS[extent], reverse=True))
    masks = (True, False) if causal is None else (causal,)
    if extent == "quick" and causal is None:
        masks = (True,)
    speed = [
        training_problem(d, n, mask, dtype, tokens=tokens)
        for d in dims
        for mask in masks
        for n in ns
    ]
    if extent == "full" and not (tuple(head_dims) or tuple(lengths)):
        speed.append(training_problem(128, 8192, True, dtype, group=8, tokens=tokens))
        speed += [
            training_problem(256, n, m, dtype, tokens=tokens)
            for m in masks
            for n in (16384, 4096, 1024)
        ]
    own = [
        AttentionProblem(b, hq, hkv, n, n, d, dtype=dtype, causal=mask)
        for b, hq, hkv, n, d in shapes
        for mask in masks
    ]
    wanted = frozenset(providers)
    plan = Plan(
        suites=tuple(name for name in SUITES if name in chosen),
        speed=tuple(speed),
        decode=tuple(
            AttentionProblem(16, 32, 4, 1, n, 128, dtype=dtype)
            for n in tuple(lengths) or _DECODE[extent]
        ),
        memory=tuple(
            AttentionProblem(1, 8, 8, n, n, 64, dtype=dtype, causal=True)
            for n in tuple(sorted(lengths)) or _MEMORY[extent]
        ),
        host=training_problem(dims[0], 512, True, dtype, tokens=tokens),
        ablations=tuple(
            training_problem(d, n, mask, dtype, tokens=tokens)
            for d in dims
            for mask in masks
            for n in (tuple(lengths) or (4096,))
        ),
        timeline=tuple(
            training_problem(d, n, mask, dtype, tokens=tokens)
            for d in tuple(head_dims) or (128,)
            for mask in masks
            for n in (tuple(lengths) or (4096,))
        ),
        extent=extent,
        providers=tuple(providers),
        without=frozenset() if extent == "full" else SLOW_TO_COMPILE - wanted,
        also=tuple(also),
        budget_s=BUDGET[extent] if budget_s is None else budget_s,
        sustain_s=sustain_s,
        asked=bool(tuple(head_dims) or tuple(lengths) or own),
    )
    if plan.suites == ("timeline",):  # it compares bits with the kernel as shipped
        plan = replace(plan, method=replace(plan.method, reference="hopper_forward"))
    return _only(plan, own) if own else plan


def _only(plan: Plan, own: list[AttentionProblem]) -> Plan:
    """The plan with these cases in every suite."""
    whole = tuple(dict.fromkeys(replace(p, causal=False) for p in own))
    return replace(
        plan,
        speed=tuple(own),
        decode=tuple(replace(p, len_q=1) for p in whole),
        memory=tuple(own),
        host=own[0],
        ablations=tuple(own),
        timeline=tuple(own),
    )


LEFT_OUT_TO_COMPILE = Text(
    "compiling takes a minute: --full, or --providers {name}",
    "编译要一分钟：用 --full，或 --providers {name}",
)
