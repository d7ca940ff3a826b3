"""The implementations that are timed, each a function (q, k, v) -> o for one problem.

Providers of this file come with torch or are ours; `installed` has those of other packages.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as functional
from torch import Tensor

from ..errors import ArgumentError
from ..language import Text, say
from ..measured.providers import FUNCTIONS
from ..problem import AttentionProblem
from .failures import Unsupported

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Provider:
    """One implementation.

    Args:
        setup: imports what it needs and gives back `make(problem) -> Attend`; raises if absent.
        layout: "bhnd" or "bnhd", of q, k, v and o.
        backward: whether it has gradients.
        scores: N x N tensors, of the problem's dtype, that it holds at its peak; 0 for flash.
        dtypes: what it computes in; empty: anything.
    """

    id: str
    setup: Callable[[], Callable[[AttentionProblem], Attend]]
    layout: Literal["bhnd", "bnhd"] = "bhnd"
    backward: bool = True
    scores: int = 0


def _ours() -> Callable[[AttentionProblem], Attend]:
    from ..attention import flash_attention

    def make(problem: AttentionProblem) -> Attend:
        causal = problem.causal
        return lambda q, k, v: flash_attention(q, k, v, causal=causal)

    return make


def _eager() -> Callable[[AttentionProblem], Attend]:
    """Standard attention as a textbook writes it, in the dtype of the inputs."""

    def make(problem: AttentionProblem) -> Attend:
        p, scale = problem, 1 / math.sqrt(problem.head_dim)
        masks: list[Tensor] = []

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            if p.group > 1:
                k, v = k.repeat_interleave(p.group, 1), v.repeat_interleave(p.group, 1)
            s = (q @ k.mT) * scale
            if p.causal:
                if not masks:
                    ones = torch.ones(p.len_q, p.len_k, dtype=torch.bool, device=q.device)
                    masks.append(ones.triu(1 + p.diagonal))
                s = s.masked_fill(masks[0], -math.inf)
            return torch.softmax(s, -1) @ v

        return attend

    return make


def _sdpa(backend: str) -> Callable[[], Callable[[AttentionProblem], Attend]]:
    def setup() -> Callable[[AttentionProblem], Attend]:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        kind = getattr(SDPBackend, backend)

        def make(problem: AttentionProblem) -> Attend:
            causal, grouped = problem.causal, problem.group > 1
            if problem.causal and problem.diagonal:
                raise Unsupported("top-left causal mask")
            if grouped and backend == "EFFICIENT_ATTENTION":
                raise Unsupported("grouped heads")

            def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                with sdpa_kernel(kind):
                    return functional.scaled_dot_product_attention(
                        q, k, v, is_causal=causal, enable_gqa=grouped
                    )

            return attend

        return make

    return setup


def _flex() -> Callable[[AttentionProblem], Attend]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    compiled = torch.compile(flex_attention, dynamic=False)

    def make(problem: AttentionProblem) -> Attend:
        if problem.head_dim > 128:
            raise Unsupported("left out: head dimension above 128")
        grouped, masks = problem.group > 1, []
        if problem.causal:
            shift = problem.diagonal
            masks.append(
                create_block_mask(
                    lambda b, h, i, j: i + shift >= j, None, None, problem.len_q, problem.len_k,
                    device="cuda",
                )
            )  # fmt: skip

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            mask = masks[0] if masks else None
            return compiled(q, k, v, block_mask=mask, enable_gqa=grouped)

        return attend

    return make


OURS = Provider("ours", _ours)
EAGER = Provider("eager", _eager, scores=4)
BUILT_IN = (
    OURS,
    Provider("sdpa_cudnn", _sdpa("CUDNN_ATTENTION")),
    Provider("sdpa_flash", _sdpa("FLASH_ATTENTION")),
    Provider("flex", _flex),
    Provider("sdpa_efficient", _sdpa("EFFICIENT_ATTENTION")),
    Provider("sdpa_math", _sdpa("MATH"), scores=10),
    EAGER,
)


@dataclass(frozen=True)
class Ready:
    """A provider whose imports succeeded."""

    provider: Provider
    make: Callable[[AttentionProblem], Attend]


def find(
    providers: Iterable[Provider], *, only: Iterable[str] = (), without: Iterable[str] = ()
) -> tuple[list[Ready], dict[str, str]]:
    """Those that can be used here, and why each of the others cannot.

    Raises:
        ArgumentError: if `only` names one that does not exist.
    """
    known, wanted, left = list(providers), set(only), set(without)
    unknown = wanted - {each.id for each in known}
    if unknown:
        ids = ", ".join(each.id for each in known)
        raise ArgumentError("providers", expected=ids, got=", ".join(sorted(unknown)))
    ready, absent = [], {}
    for each in known:
        if each.id in left or (wanted and each.id not in wanted):
            continue
        try:
            ready.append(Ready(each, each.setup()))
        except Exception as error:  # a package may fail to import in any way
            absent[each.id] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return ready, absent


def also(target: str) -> Provider:
    """A learner's own f(q, k, v, *, causal) -> o as a provider: "module:name" or "file.py:name".

    Its id is the target, for functions of ours that of the recorded runs.

    Raises:
        ArgumentError: if there is no such function.
    """
    home, _, name = target.rpartition(":")
    expected = Text(
        "module:function or file.py:function of f(q, k, v, causal=...)",
        "模块:函数 或 文件.py:函数，函数形如 f(q, k, v, causal=...)",
    )
    try:
        module = _load(Path(home)) if home.endswith(".py") else importlib.import_module(home)
        function = getattr(module, name)
    except Exception as error:
        got = f"{target} ({type(error).__name__}: {error})"
        raise ArgumentError("--also", expected=expected, got=got) from error
    if not callable(function):
        raise ArgumentError("--also", expected=expected, got=say(target))

    def make(problem: AttentionProblem) -> Attend:
        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return first(function(q, k, v, causal=problem.causal))

        return attend

    return Provider(FUNCTIONS.get(target, target), lambda: make)


def first(x: Any) -> Tensor:
    """The output of a function that may also return a log-sum-exp."""
    o: Tensor = x[0] if isinstance(x, (tuple, list)) else x
    return o


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"fa_also_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
