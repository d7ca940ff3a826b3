"""Ragged calls for NVIDIA's compute-sanitizer. Run as a program on a GPU; prints one line a call.

    python tests/kernels/sanitize_cases.py        # first without the tool: compiles, and checks results
    OURS="--kernel-name kns=flash_ --kernel-name kns=delta_kernel --kernel-name kns=merge_parts
          --kernel-name kns=vector_add --kernel-name kns=hopper_"
    PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck --padding 256 $OURS \
        --error-exitcode 9 python tests/kernels/sanitize_cases.py
    compute-sanitizer --tool racecheck $OURS --error-exitcode 9 python tests/kernels/sanitize_cases.py

Without PyTorch's caching allocator each tensor is an allocation of its own, so that an access just
past its end is an error. That the tool sees anything at all is shown by `--planted`, one store past
an end, which must be found. `--part=2/8` runs every eighth call from the third on, for eight tools at
once; other arguments pick calls by name.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # doctest collection imports this file too
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from any_call import AnyCall
from any_call_checks import check as check_attention
from any_decode import check as check_decode
from any_packed import AnyPacked
from any_packed import check as check_packed
from decode_cases import Case
from hopper_calls import check as check_hopper
from hopper_calls import problem_of

import fa_toolkit.kernels as kernels
from fa_toolkit import flash_decode
from fa_toolkit.kernels import routing
from fa_toolkit.kernels.hopper import availability
from fa_toolkit.problem import AttentionProblem

LEAVES = ("q", "k", "v", "sink")
BOTH = ("do", "dlse")


def _attention() -> Iterator[AnyCall]:
    """Widths and lengths off and on the tiles' grid; every feature alone and all together."""
    for d, dtype in ((24, "float16"), (40, "bfloat16"), (64, "float16"), (128, "bfloat16")):
        for n in (1, 63, 100, 130):
            problem = AttentionProblem(1, 2, 1, n, n + 7 * (d == 40), d, d, dtype, d != 24)  # type: ignore[arg-type]
            layouts = ("padded", "gaps", "bnhd", "padded") if n == 100 else ("contiguous",) * 4
            yield AnyCall(problem, layouts)
    ragged = AttentionProblem(1, 4, 2, 100, 130, 40, 64, "float16", True)
    windowed = AttentionProblem(2, 2, 1, 130, 63, 64, 24, "bfloat16", False, (40, 9))
    expanded = ("expand-b", "expand-n", "contiguous", "expand-bhnd")
    yield AnyCall(windowed, grads=BOTH)
    yield AnyCall(ragged, softcap=4.0)
    yield AnyCall(ragged, sink="normal", leaves=LEAVES, grads=BOTH)
    yield AnyCall(ragged, dropout_p=0.3, seed=7)
    yield AnyCall(ragged, expanded)
    yield AnyCall(windowed, softcap=4.0, sink="normal", dropout_p=0.3, leaves=LEAVES, grads=BOTH)
    yield AnyCall(AttentionProblem(1, 1, 1, 63, 100, 256, 200, "float16", True))
    yield AnyCall(AttentionProblem(1, 2, 1, 63, 100, 40, 24, "float32", True), grads=BOTH)
    yield AnyCall(AttentionProblem(1, 2, 1, 5, 0, 16, 16, "float16", True))


def _packed() -> Iterator[AnyPacked]:
    """Sequences of 0, 1 and more tokens, with some of nobody at the end."""
    for d, dtype in ((24, "float16"), (64, "bfloat16"), (128, "float16")):
        problem = AttentionProblem(1, 4, 2, 197, 240, d, d, dtype, True)  # type: ignore[arg-type]
        yield AnyPacked(AnyCall(problem), (63, 0, 1, 130), (100, 7, 0, 130))
    window = AttentionProblem(1, 2, 1, 110, 110, 40, 64, "float16", False, (20, 5))
    call = AnyCall(window, sink="normal", softcap=4.0, leaves=LEAVES, grads=BOTH)
    yield AnyPacked(call, (1, 100), (100, 1), longest=True)


def _decode() -> Iterator[Case]:
    """Contiguous and paged, few and many splits, lengths of 0, wild table entries past a length."""
    half = {"dtype": "float16"}
    yield Case((63, 0, 130), (4, 1), (64, 64), **half)  # type: ignore[arg-type]
    yield Case((1, 100), (8, 2), (24, 40), page=16, sink=True, **half)  # type: ignore[arg-type]
    yield Case((100, 130), (2, 2), (128, 128), page=7, len_q=5, window=(40, 0), splits=3, **half)  # type: ignore[arg-type]
    yield Case((130, 1), (4, 2), (40, 24), len_q=2, layout="gaps", splits=11, dtype="bfloat16")


def _hopper() -> Iterator[AttentionProblem]:
    """For the kernels for Hopper: one tile and more, ragged, more tiles than programs, blind rows."""
    if availability.of_place(routing.place_of(torch.device("cuda", 0))) is not None:
        return
    for width in (64, 128, 256):
        for causal in (False, True):
            for lengths in ((1, 1), (63, 130), (300, 515), (515, 300)):
                yield problem_of(lengths, width, heads=(4, 2), causal=causal)
        yield problem_of((130, 130), width, heads=(80, 80), batch=2, dtype="float16", causal=True)


def _wild_values() -> None:
    """Lengths and pages that lie: wrong numbers are allowed, accesses outside the tensors not."""
    q, cache = torch.randn(2, 2, 64).half().cuda(), torch.randn(5, 16, 1, 64).half().cuda()
    lens = torch.tensor([-5, 2**31 - 1], dtype=torch.int32, device="cuda")
    table = torch.tensor([[7, -1, 2**31 - 1]] * 2, dtype=torch.int32, device="cuda")
    flash_decode(q, cache, cache, seq_lens=lens, block_table=table)
    torch.cuda.synchronize()


def _planted() -> None:
    """One element past the end of a tensor is written."""
    x, out = torch.ones(1025, device="cuda"), torch.empty(1024, device="cuda")
    kernels.vector_add_kernel[(2,)](x, x, out, 1, 1, 1025, BLOCK=1024)
    torch.cuda.synchronize()


def calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name and what to run for each call."""
    for call in _attention():
        yield f"attention {call}", lambda call=call: check_attention(call, "triton", "cuda")
    for packed in _packed():
        yield f"packed {packed}", lambda packed=packed: check_packed(packed, "triton", "cuda")
    for case in _decode():
        yield f"decode {case.name}", lambda case=case: check_decode(case, "triton", "cuda")
    for problem in _hopper():
        yield f"hopper {problem}", lambda problem=problem: check_hopper(problem)
    yield "decode wild values", _wild_values


def main(arguments: list[str]) -> int:
    """Run the calls whose name holds every argument; 1 if a result is wrong, 2 if none ran."""
    if kernels.mode() != "gpu":
        sys.stderr.write(f"needs a GPU: {kernels.mode().reason.en}\n")
        return 2
    if "--planted" in arguments:
        _planted()
        return 0
    wrong = 0
    parts = [word.removeprefix("--part=") for word in arguments if word.startswith("--part=")]
    words = [word for word in arguments if not word.startswith("--")]
    chosen = [(name, run) for name, run in calls() if all(word in name for word in words)]
    for part in parts:
        first, step = map(int, part.split("/"))
        chosen = chosen[first::step]
    if not chosen:
        sys.stderr.write(f"no call is left of: {' '.join(arguments)}\n")
        return 2
    for name, run in chosen:
        start = time.perf_counter()
        try:
            run()
            torch.cuda.synchronize()
            outcome = "ok"
        except AssertionError as error:
            wrong, outcome = wrong + 1, f"WRONG: {error}"
        sys.stdout.write(f"{time.perf_counter() - start:6.1f} s  {outcome}  {name[:160]}\n")
        sys.stdout.flush()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
