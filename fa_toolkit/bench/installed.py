"""Providers of other packages, timed where these are installed. Absent ones say why."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import torch
from torch import Tensor

from ..problem import AttentionProblem
from .failures import Unsupported
from .providers import Attend, Provider, first

_WORKSPACE = 256 * 2**20  # bytes, as flashinfer advises


def _flash_attn(*homes: str) -> Callable[[], Callable[[AttentionProblem], Attend]]:
    """flash_attn_func(q, k, v, causal=...) of whichever module has it."""

    def setup() -> Callable[[AttentionProblem], Attend]:
        function = None
        for home in homes:
            try:
                function = importlib.import_module(home).flash_attn_func
                break
            except ImportError as error:
                last = error
        if function is None:
            raise last

        def make(problem: AttentionProblem) -> Attend:
            causal = problem.causal
            return lambda q, k, v: first(function(q, k, v, causal=causal))

        return make

    return setup


def _xformers() -> Callable[[AttentionProblem], Attend]:
    ops = importlib.import_module("xformers.ops")

    def make(problem: AttentionProblem) -> Attend:
        if problem.group > 1:
            raise Unsupported("grouped heads")
        if problem.causal and problem.diagonal:
            raise Unsupported("top-left causal mask")
        bias = ops.LowerTriangularMask() if problem.causal else None
        return lambda q, k, v: ops.memory_efficient_attention(q, k, v, attn_bias=bias)

    return make


def _flashinfer() -> Callable[[AttentionProblem], Attend]:
    flashinfer = importlib.import_module("flashinfer")

    def make(problem: AttentionProblem) -> Attend:
        p = problem
        space = torch.empty(_WORKSPACE, dtype=torch.uint8, device="cuda")
        wrapper = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(space, "NHD")
        ends = torch.arange(p.batch + 1, dtype=torch.int32, device="cuda")
        wrapper.plan(
            ends * p.len_q, ends * p.len_k, p.heads_q, p.heads_kv, p.head_dim,
            causal=p.causal, q_data_type=getattr(torch, p.dtype),
        )  # fmt: skip

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            packed: Tensor = wrapper.run(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1))
            return packed.view(q.shape)

        return attend

    return make


INSTALLED = (
    Provider("flash_attn", _flash_attn("flash_attn"), layout="bnhd"),
    Provider("fa3", _flash_attn("flash_attn_interface", "fa3_fwd_interface"), layout="bnhd"),
    Provider("fa4", _flash_attn("flash_attn.cute.interface"), layout="bnhd"),
    Provider("xformers", _xformers, layout="bnhd"),
    Provider("flashinfer", _flashinfer, layout="bnhd", backward=False),
)  # fmt: skip
