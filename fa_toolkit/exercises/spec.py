"""What an exercise is, as data: specification, truth, cases, properties, planted variants, hints.

How to declare one, and what a content author may leave out: CONTRIBUTING.md, "Add an exercise".

Nothing here runs a learner's code; `checker` does. Texts are bilingual and shown by `course`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from ..language import Text
from ..problem import AttentionProblem, TileShape

#: Every property a check can name, as a report shows it.
PROPERTIES: dict[str, Text] = {
    "value": Text("values", "数值"),
    "flops": Text("FLOPs", "FLOP 数"),
    "bytes": Text("bytes", "字节数"),
    "intensity": Text("intensity", "算术强度"),
    "denominator": Text("denominator l", "分母 l"),
    "accumulator": Text("accumulator acc", "累加器 acc"),
    "lse": Text("log-sum-exp", "对数指数和 lse"),
    "gradients": Text("gradients for a random dO", "随机 dO 的梯度"),
    "sum-gradient": Text("gradients of .sum(): dO with stride 0", ".sum() 的梯度：dO 的步长为 0"),
    "leading": Text("any leading dimensions", "任意个前导维度"),
    "more-keys": Text("more keys than queries", "key 比 query 多"),
    "more-queries": Text("more queries than keys", "query 比 key 多"),
    "ragged": Text("lengths that no block divides", "长度不是块大小的整数倍"),
    "causal": Text("causal mask, bottom-right", "右下对齐的因果掩码"),
    "dead-rows": Text("rows that see no key", "一个 key 都看不到的行"),
    "extreme-logits": Text("very large and very small scores", "极大与极小的分数"),
    "strides": Text("inputs that are not contiguous", "内存不连续的输入"),
    "dtype": Text("dtype of inputs and outputs", "输入与输出的 dtype"),
    "heads": Text("several heads that share keys", "多个头共用 key"),
    "no-n-by-n": Text("no N × N tensor", "不出现 N × N 张量"),
    "one-block": Text("one block in hand at a time", "一次只用一个块"),
    "inputs-unchanged": Text("inputs left as they were", "不改动输入"),
    "own-work": Text("your own work, no ready-made function", "自己完成，不用现成函数"),
}


@dataclass(frozen=True)
class Case:
    """One call: which property it tests, how its arguments read, and how to make them afresh."""

    property: str
    label: Text | str
    make: Callable[[], tuple[Any, ...]]


@dataclass(frozen=True)
class Output:
    """One returned value: its name, the property its plain case tests, and its dtype rule.

    Args:
        at_most: less than the reference is right too; such a number is shown beside its target.
    """

    name: str
    property: str = "value"
    dtype: Literal["input", "float32"] | None = "input"
    at_most: bool = False


@dataclass(frozen=True)
class Passage:
    """A place to reread: the chapter and the heading of its section, in both languages."""

    chapter: int
    section: Text


@dataclass(frozen=True)
class Variant:
    """A planted bug: a function that is wrong in one known way, and the sentence that names it.

    Args:
        id: short and lower case, the same for the same mistake in every exercise.
        text: what is wrong, in one or two sentences, for the learner.
        fn: takes what the exercise's function takes; must be caught by the exercise's cases.
        also: the same mistake with other numbers where its outcome depends on a choice that is
            the learner's, such as the size of a tile.
        passage: where this mistake is explained, if elsewhere than `Exercise.passage`.
        sized: gives the forms for the size of tile that the learner was seen to use, from the
            variant, block_m and block_n; they are tried before `fn` and `also`.
    """

    id: str
    text: Text
    fn: Callable[..., Any]
    also: tuple[Callable[..., Any], ...] = ()
    passage: Passage | None = None
    sized: Callable[[Variant, int, int], Sequence[Callable[..., Any]]] | None = None


@dataclass(frozen=True)
class Rule:
    """A property of how the result was made: watched while `make()`'s case runs.

    Args:
        property: "no-n-by-n", "one-block" or "own-work".
        make: arguments of the watched call.
        limit: "no-n-by-n": elements a new storage must stay below; "one-block": elements of the
            largest operand that may be read.
        forbidden: names of functions that may not be called ("own-work").
    """

    property: str
    make: Callable[[], tuple[Any, ...]]
    limit: int = 0
    forbidden: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Args:
        id: "NN.name"; NN is the chapter.
        entry: name of the function that the learner writes.
        call: how the checker calls it, for the reader.
        reference: the dull truth, run in float64. Its result is what `outputs` name.
        allowed: largest error per output, from the arguments and the float64 results.
        hints: where to look, the invariant that broke, and the line to write. They are shown at
            levels 1, 2 and, where no mistake could be named, 3; level 4 comes from the solution.
        adapt: makes of the learner's function (and of a variant's) the one that is called, for
            results that the function does not return itself, such as the bytes it moved.
        baseline: plain torch in the precision of the arguments, whose error is printed beside the
            learner's; the reference itself if left out.
        passage: what to reread.
        widget: the call that shows the invariant, such as "fa.viz.stepper([1, 2, 3, 4], blocks=2)".
        layout: the attention problem and the tile that the arguments of a call stand for; with it a
            report can say, and the tile player show, in which tile the answer departs first.
        shorter: the arguments of a call with only the first `keys` keys (not for causal calls);
            with it the first tile of keys that goes wrong is found by trying.
        time_factor: times the usual seconds that its calls may take.
        then: id of an exercise to solve after the solution of this one was shown.
    """

    id: str
    title: Text
    spec: Text
    formula: str
    entry: str
    call: str
    reference: Callable[..., Any]
    cases: Sequence[Case]
    hints: tuple[Text, ...]
    outputs: tuple[Output, ...] = (Output("value"),)
    rules: tuple[Rule, ...] = ()
    variants: tuple[Variant, ...] = ()
    allowed: Callable[..., Sequence[Any]] | None = None
    needs_triton: bool = False
    adapt: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda fn: fn
    baseline: Callable[..., Any] | None = None
    passage: Passage | None = None
    widget: str = ""
    layout: Callable[..., tuple[AttentionProblem, TileShape]] | None = None
    shorter: Callable[[tuple[Any, ...], int], tuple[Any, ...]] | None = None
    time_factor: float = 1.0
    then: str = ""

    @property
    def chapter(self) -> int:
        """The chapter it belongs to."""
        return int(self.id[:2])

    @property
    def counts_bytes(self) -> bool:
        """Whether the bytes its kernels move are counted, which only the interpreter can."""
        return self.needs_triton and any(output.at_most for output in self.outputs)

    @property
    def properties(self) -> tuple[str, ...]:
        """Ids of the properties it checks, in the order a report shows them."""
        named = [case.property for case in self.cases if case.property != "value"]
        found = [output.property for output in self.outputs] + named
        found += [rule.property for rule in self.rules]
        if any(isinstance(leaf, torch.Tensor) for leaf in leaves(self.cases[0].make())):
            found.append("inputs-unchanged")
        return tuple(dict.fromkeys(found))


#: Functions that would do a softmax or an attention for the learner.
READY_MADE = frozenset(
    [
        "softmax",
        "log_softmax",
        "logsumexp",
        "logaddexp",
        "scaled_dot_product_attention",
        "cumsum",
        "logcumsumexp",
        "_softmax",
        "_log_softmax",
        "_safe_softmax",
    ]
)
#: Torch arithmetic that a launcher may not use: the kernel is to do the work.
TORCH_MATHS = READY_MADE | frozenset(
    [
        "add",
        "mul",
        "matmul",
        "mm",
        "bmm",
        "addmm",
        "dot",
        "einsum",
        "exp",
        "exp2",
        "sum",
        "amax",
        "max",
        "div",
        "linear",
        "__add__",
        "__matmul__",
    ]
)


def leaves(value: Any) -> list[Any]:
    """The tensors and numbers inside nested tuples and lists, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def as_float64(value: Any) -> Any:
    """The same arguments with every floating tensor in float64."""
    if isinstance(value, torch.Tensor):
        return value.to(torch.float64) if value.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return type(value)(as_float64(item) for item in value)
    return value


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Normal numbers from a generator of its own; the reader's random state is not touched."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def attention_budget(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
    scores_in: torch.dtype = torch.float32,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Largest error of o and of lse, elementwise: rounding of the scores and of the sum P|V|.

    A score errs by eps * scale * sum|q k| (eps of `scores_in`); p by that factor, and by eps of
    its dtype where it is rounded before P V; o by the same times P|V|, and by its own rounding.
    Nobody has to compute in more than float32.
    """
    single = torch.finfo(torch.float32).eps
    eps, eps_s = (max(single, torch.finfo(kind).eps) for kind in (q.dtype, scores_in))
    q, k, v = q.double(), k.double(), v.double()
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    s, reach = scale * (q @ k.transpose(-1, -2)), scale * (q.abs() @ k.abs().transpose(-1, -2))
    if causal:
        s = s.masked_fill(~visible(q.shape[-2], k.shape[-2]), -math.inf)
    longest = reach.amax(-1, keepdim=True) if k.shape[-2] else reach.new_zeros(*q.shape[:-1], 1)
    rounding = eps_s * (8 + longest)
    p = torch.softmax(s, -1).nan_to_num(0.0)
    return 4 * (rounding + eps) * (p @ v.abs()) + eps_s, 4 * rounding.squeeze(-1)


def visible(len_q: int, len_k: int) -> torch.Tensor:
    """Which key each query sees under the bottom-right causal mask: bool [len_q, len_k]."""
    rows = torch.arange(len_q)[:, None] + (len_k - len_q)
    return rows >= torch.arange(len_k)[None, :]
