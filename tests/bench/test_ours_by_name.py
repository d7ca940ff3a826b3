"""The two sets of kernels that `fa bench --also` times beside each other."""

from __future__ import annotations

import fa_toolkit.kernels as kernels  # settles the mode before anything imports Triton

# isort: split
import pytest
import torch
from oracles import assert_within_budget, make_qkv, truth

from fa_toolkit.bench import ours_by_name
from fa_toolkit.errors import BackendUnavailable
from fa_toolkit.problem import AttentionProblem


def test_each_runs_its_own_kernels_or_says_why_not(device: str) -> None:
    problem = AttentionProblem(1, 2, 1, 20, 20, 64, dtype="bfloat16", causal=True)
    q, k, v = make_qkv(problem, device=device)
    exact = truth(q, k, v, causal=True)
    if kernels.mode() != "none":
        assert_within_budget("o", ours_by_name.readable(q, k, v, causal=True), exact)
    if device == "cpu" or torch.cuda.get_device_capability() != (9, 0):
        with pytest.raises(BackendUnavailable, match="hopper"):
            ours_by_name.hopper(q, k, v, causal=True)
    else:
        assert_within_budget("o", ours_by_name.hopper(q, k, v, causal=True), exact)
