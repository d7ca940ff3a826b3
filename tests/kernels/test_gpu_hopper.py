"""The kernels for Hopper on such a GPU: o, lse and gradients against float64."""

from __future__ import annotations

import importlib
import itertools

import pytest
import torch
from hopper_calls import check, grads_of, problem_of, run
from hopper_calls import hopper_here as hopper_here
from oracles import (
    assert_no_worse_than_peer,
    assert_within_budget,
    make_qkv,
    plain_attention,
    truth,
)

from fa_toolkit.kernels.hopper import availability

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty", "hopper_here")]


@pytest.mark.parametrize("heads", [(2, 2), (8, 2), (8, 1)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128, 256])
def test_within_budget(width: int, causal: bool, heads: tuple[int, int]) -> None:
    for lengths in ((384, 384), (200, 333), (333, 200), (1, 500), (500, 1), (130, 1025)):
        check(problem_of(lengths, width, heads=heads, batch=2, causal=causal))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128, 256])
def test_float16(width: int, causal: bool) -> None:
    for lengths in ((256, 256), (200, 333)):
        check(problem_of(lengths, width, heads=(4, 2), dtype="float16", causal=causal))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128, 256])
def test_long(width: int, causal: bool) -> None:
    """Lengths at which another configuration may be chosen, ragged ones too; and hundreds of tiles."""
    for lengths in ((1024, 1024), (2048, 2048), (2100, 4243), (4096, 2047), (130, 40_000)):
        check(problem_of(lengths, width, heads=(2, 1), causal=causal))


@pytest.mark.parametrize("width", [64, 128])
def test_no_worse_than_plain_torch(width: int) -> None:
    problem = problem_of((600, 700), width, causal=True)
    q, k, v = (x.requires_grad_() for x in make_qkv(problem, device="cuda"))
    peer, _ = plain_attention(q, k, v, causal=True)
    do, _ = grads_of(problem)
    peers = torch.autograd.grad(peer, (q, k, v), do)
    got = run(q, k, v, do, None, causal=True)
    exact = truth(q, k, v, causal=True, do=do)
    for name, theirs in zip(("o", "dq", "dk", "dv"), (peer, *peers), strict=True):
        assert_no_worse_than_peer(name, got[name], theirs, exact)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128, 256])
def test_every_number_of_tiles_up_to_twice_the_ring(width: int, causal: bool) -> None:
    """One tile of keys, as many as the ring holds, one more, twice as many and one: all rounds."""
    configured = importlib.import_module("fa_toolkit.kernels.hopper.configuration")
    config = configured.forward_config(width, 128, 128, causal)
    for tiles, less in itertools.product(range(1, 2 * config.stages + 2), (0, 3)):
        n = tiles * config.block_n - less
        check(problem_of((config.block_n, n), width, causal=causal))
        check(problem_of((n, 128), width, causal=causal))  # the loop of the backward


@pytest.mark.parametrize("causal", [False, True])
def test_what_longer_calls_choose_at_every_number_of_tiles(causal: bool) -> None:
    """Three groups at D = 64, which a length of hundreds or thousands chooses, on short ones too."""
    configured = importlib.import_module("fa_toolkit.kernels.hopper.configuration")
    forward = importlib.import_module("fa_toolkit.kernels.hopper.forward_call").hopper_forward
    (_, config), *_ = configured.CHOICES[64, causal]
    assert config.groups == 3
    rows = config.groups * config.rows
    for tiles, less in itertools.product(range(1, 2 * config.stages + 2), (0, 3)):
        for lengths in ((rows, tiles * config.block_n - less), (rows * tiles - less, 128)):
            problem = problem_of(lengths, 64, heads=(40, 10), batch=2, causal=causal)
            q, k, v = make_qkv(problem, device="cuda")
            o, lse = forward(q, k, v, causal=causal, config=config)
            exact = truth(q, k, v, causal=causal, device="cuda")
            assert_within_budget("o", o, exact, label=str(lengths))
            assert_within_budget("lse", lse, exact, label=str(lengths))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("width", [64, 128])
def test_several_tiles_for_every_program(width: int, causal: bool) -> None:
    check(problem_of((300, 300), width, heads=(160, 40), batch=3, causal=causal))
    check(problem_of((1000, 90), width, heads=(70, 70), causal=causal))


@pytest.mark.parametrize("width", [64, 128, 256])
def test_rows_that_see_no_key(width: int) -> None:
    """With fewer keys than queries whole tiles of rows see nothing."""
    for lengths in ((700, 100), (129, 1), (257, 128)):
        problem = problem_of(lengths, width, causal=True)
        q, k, v = make_qkv(problem, device="cuda")
        grads = grads_of(problem) if width in availability.WIDTHS["backward"] else ()
        got = run(q, k, v, *grads, causal=True)
        blind = lengths[0] - lengths[1]
        assert bool((got["o"][:, :, :blind] == 0).all())
        assert bool((got["lse"][:, :, :blind] == -float("inf")).all())
        if grads:
            assert bool((got["dq"][:, :, :blind] == 0).all())
        assert all(bool(x.isfinite().all()) for name, x in got.items() if name != "lse")
        check(problem)


@pytest.mark.parametrize("width", [64, 128])
def test_large_scores_and_other_scales(width: int) -> None:
    for causal in (False, True):
        check(problem_of((300, 400), width, causal=causal), spread=8.0)
        check(problem_of((300, 400), width, causal=causal), scale=0.7)
        check(problem_of((300, 400), width, causal=causal), scale=1e-6)


def test_gradients_of_o_or_of_lse_alone() -> None:
    problem = problem_of((200, 300), 64, causal=True)
    q, k, v = make_qkv(problem, device="cuda")
    do, dlse = grads_of(problem)
    for pair in ((do, None), (None, dlse)):
        got = run(q, k, v, *pair, causal=True)
        exact = truth(q, k, v, causal=True, do=pair[0], dlse=pair[1])
        for name in ("dq", "dk", "dv"):
            assert_within_budget(name, got[name], exact)
