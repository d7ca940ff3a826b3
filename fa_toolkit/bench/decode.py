"""One new query against a long cache: bytes per second of K, V, Q and O, by all providers."""

from __future__ import annotations

import importlib
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as functional
from torch import Tensor

from ..measured import Speed
from ..measured.adopt import rounded, speed_of
from ..problem import AttentionProblem
from .checking import errors, in_layout, make_inputs, poison, reference, refuse_wrong
from .failures import Unsupported, explained
from .providers import Attend, Provider, Ready, first
from .timing import Prepared, Timer

_PAGE = 64
_WORKSPACE = 256 * 2**20


def _ours() -> Callable[[AttentionProblem], Attend]:
    from ..decoding import flash_decode

    def make(problem: AttentionProblem) -> Attend:
        lens: list[Tensor] = []

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            if not lens:
                lens.append(torch.full((problem.batch,), problem.len_k, dtype=torch.int32,
                                       device=q.device))  # fmt: skip
            o = flash_decode(q.transpose(1, 2), k, v, seq_lens=lens[0])
            return o.transpose(1, 2)

        return attend

    return make


def _eager() -> Callable[[AttentionProblem], Attend]:
    """The query heads of a group folded into rows, so that each key is read once."""

    def make(problem: AttentionProblem) -> Attend:
        p, scale = problem, 1 / math.sqrt(problem.head_dim)

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            rows = q.reshape(p.batch, p.heads_kv, p.group * p.len_q, p.head_dim)
            o = torch.softmax((rows @ k.mT) * scale, -1) @ v
            return o.reshape(p.batch, p.heads_q, p.len_q, p.head_dim_v)

        return attend

    return make


def _sdpa(backend: str) -> Callable[[], Callable[[AttentionProblem], Attend]]:
    def setup() -> Callable[[AttentionProblem], Attend]:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        kind = getattr(SDPBackend, backend)

        def make(problem: AttentionProblem) -> Attend:
            def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                with sdpa_kernel(kind):
                    return functional.scaled_dot_product_attention(
                        q, k, v, enable_gqa=problem.group > 1
                    )

            return attend

        return make

    return setup


def _with_kvcache(*homes: str) -> Callable[[], Callable[[AttentionProblem], Attend]]:
    def setup() -> Callable[[AttentionProblem], Attend]:
        function = None
        for home in homes:
            try:
                function = importlib.import_module(home).flash_attn_with_kvcache
                break
            except (ImportError, AttributeError) as error:
                last = error
        if function is None:
            raise last

        def make(problem: AttentionProblem) -> Attend:
            lens = torch.full((problem.batch,), problem.len_k, dtype=torch.int32, device="cuda")

            def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
                return first(function(q, k, v, cache_seqlens=lens, causal=False))

            return attend

        return make

    return setup


def _flashinfer() -> Callable[[AttentionProblem], Attend]:
    flashinfer = importlib.import_module("flashinfer")

    def make(problem: AttentionProblem) -> Attend:
        p = problem
        if p.len_k % _PAGE or p.len_q != 1:
            raise Unsupported("one query, whole pages")
        pages = p.len_k // _PAGE
        space = torch.empty(_WORKSPACE, dtype=torch.uint8, device="cuda")
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(space, "NHD", use_tensor_cores=True)
        ends = torch.arange(p.batch + 1, dtype=torch.int32, device="cuda") * pages
        ids = torch.arange(p.batch * pages, dtype=torch.int32, device="cuda")
        last = torch.full((p.batch,), _PAGE, dtype=torch.int32, device="cuda")
        wrapper.plan(
            ends, ids, last, p.heads_q, p.heads_kv, p.head_dim, _PAGE,
            q_data_type=getattr(torch, p.dtype),
        )  # fmt: skip

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            cache = tuple(x.view(-1, _PAGE, p.heads_kv, p.head_dim) for x in (k, v))
            o: Tensor = wrapper.run(q[:, 0], cache)
            return o[:, None]

        return attend

    return make


DECODERS = (
    Provider("ours", _ours),
    Provider("sdpa_cudnn", _sdpa("CUDNN_ATTENTION")),
    Provider("sdpa_flash", _sdpa("FLASH_ATTENTION")),
    Provider("flash_attn", _with_kvcache("flash_attn"), layout="bnhd"),
    Provider("fa3", _with_kvcache("flash_attn_interface", "fa3_fwd_interface"), layout="bnhd"),
    Provider("flashinfer", _flashinfer, layout="bnhd"),
    Provider("sdpa_math", _sdpa("MATH")),
    Provider("eager", _eager),
)


@dataclass
class _Live:
    row: Speed
    prepared: Prepared
    samples: list[float]


def measure_decode(
    problem: AttentionProblem,
    providers: Sequence[Ready],
    timer: Timer,
    *,
    device: str = "cuda",
    seed: int = 1,
) -> list[Speed]:
    """One row for each provider: checked against float32, then timed in two interleaved rounds."""
    made = make_inputs(problem, device, seed + problem.len_k)
    exact = reference(problem, made, gradients=False)
    rows: list[Speed] = []
    live: list[_Live] = []
    for ready in providers:
        name, layout = ready.provider.id, ready.provider.layout
        failed: list[str] = []
        with explained(failed.append):
            q, k, v, _ = in_layout(made, layout)
            attend = ready.make(problem)
            poison(q)

            def call(attend: Attend = attend, x: tuple[Tensor, ...] = (q, k, v)) -> Tensor:
                with torch.no_grad():
                    return attend(*x)

            found = errors(problem, {"o": call()}, exact, layout)
            refuse_wrong(problem, found)
            prepared = timer.prepare(call)
            kept = {each: rounded(error) for each, error in found.items()}
            row = Speed(name, "decode", problem, errors=kept, timer=prepared.timer)
            live.append(_Live(row, prepared, timer.burst(prepared)))
        if failed:
            rows.append(Speed(name, "decode", problem, failed=failed[0]))
    for each in reversed(live):
        first = statistics.median(each.samples)
        again = timer.burst(each.prepared)
        middle = statistics.median(each.samples + again)
        rows.append(
            speed_of(
                each.row.provider, "decode", problem, middle, errors=each.row.errors,
                timer=each.row.timer, rounds=(rounded(first), rounded(statistics.median(again))),
            )
        )  # fmt: skip
    order = [ready.provider.id for ready in providers]
    return sorted(rows, key=lambda row: order.index(row.provider))
