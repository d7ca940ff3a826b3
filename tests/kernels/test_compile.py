"""The kernels compile for GPUs that are not here: they fit, and standard cases do not spill.

The interpreter accepts code that the compiler rejects, so this is the only proof without a GPU.
"""

from __future__ import annotations

import functools
from importlib.metadata import version
from typing import Any

import pytest
from compiling import compiled

STANDARD = (
    "sm80-fp16-D128-causal",
    "sm90-fp16-D64-causal",
    "sm90-fp16-D128-causal",
    "sm100-fp16-D128-causal",
    "dkdv-sm90-fp16-D64-causal",
    "dkdv-sm90-fp16-D128-causal",
    "dq-sm90-fp16-D128-causal",
)
#: one number written before the loops and read after them (Triton 3.7; none with 3.6)
OUTSIDE_THE_LOOPS = {"dkdv-sm90-fp16-D128-causal": 2}
#: narrow rows, of which a lane may hold one number
SUMS = ("delta-sm90-fp32-D24", "delta-sm90-bf16-D24:40-packed")
DEFAULT = (*STANDARD, *SUMS, "sm75-fp32-D256", "sm89-fp16-D256")
EVERYTHING = "D128-causal-window-softcap-dropout-sink"
MORE_STANDARD = (
    "sm80-fp16-D64-causal",
    "sm89-fp16-D128-causal",
    "dkdv-sm80-fp16-D128-causal",
    "dkdv-sm100-fp16-D64-causal",
    "dq-sm80-fp16-D128-causal",
)
MORE = (
    *MORE_STANDARD,
    "sm75-fp16-D64-causal",
    "sm80-fp32-D64",
    "sm90-bf16-D24:40-causal-N1",
    "sm90-bf16-D256-causal",
    f"dkdv-sm90-bf16-{EVERYTHING}",
    "dkdv-sm89-fp16-D256",
    "dkdv-sm75-fp32-D256",
    "sm120-bf16-D128-causal",
    "dkdv-sm120-bf16-D128-causal",
    "dq-sm75-fp32-D256",
    "sm90-bf16-D128-causal-packed",
)
REST_STANDARD = (
    "dkdv-sm80-fp16-D64-causal",
    "dkdv-sm89-fp16-D128-causal",
    "dq-sm80-fp16-D64-causal",
    "dq-sm90-fp16-D64-causal",
    "dq-sm100-fp16-D128-causal",
)
REST = (
    *REST_STANDARD,
    f"sm90-bf16-{EVERYTHING}",
    f"dq-sm90-bf16-{EVERYTHING}",
    "dkdv-sm75-fp16-D64-causal",
    "dkdv-sm90-fp32-D128",
    "dkdv-sm90-bf16-D256-causal",
    "dkdv-sm100-fp16-D128-causal",
    "dq-sm89-fp32-D256",
    "dq-sm90-bf16-D24:40-causal-N1",
    "sm80-fp16-D64-causal-window-dropout-sink-packed",
    "dkdv-sm90-bf16-D128-causal-packed",
    "dq-sm90-bf16-D128-causal-packed",
    "dkdv-sm75-fp16-D64-causal-packed",
)
BATCH = 4  # cases compiled in one process


def _compile(names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return compiled("compile_cases.py", names)


@functools.cache
def _batch(names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return _compile(names)


def _found(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """What compiling `name`, one of `names`, gave."""
    pytest.importorskip("triton")
    start = names.index(name) // BATCH * BATCH
    return _batch(names[start : start + BATCH])[name]


def _fits(found: dict[str, Any]) -> None:
    assert 0 < found["shared"] <= found["bound"] <= found["limit"]
    assert found["registers"] <= 255
    assert found["lopsided"] == 0


@pytest.mark.parametrize("name", DEFAULT)
def test_compiles_and_fits(name: str) -> None:
    _fits(_found(name, DEFAULT))


@pytest.mark.parametrize("name", STANDARD)
def test_no_spills_and_tensor_cores(name: str) -> None:
    found = _found(name, DEFAULT)
    assert found["spills"] <= OUTSIDE_THE_LOOPS.get(name, 0)
    generation = name.split("sm")[1][0]
    assert found[{"8": "mma", "9": "wgmma", "1": "tcgen05"}[generation]]


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_compiles_and_fits_more(name: str) -> None:
    found = _found(name, MORE)
    _fits(found)
    assert name not in MORE_STANDARD or found["spills"] == 0


@pytest.mark.gpu  # needs none, but a machine that has one has the cores for these too
@pytest.mark.parametrize("name", REST)
def test_compiles_and_fits_everywhere(name: str) -> None:
    found = _found(name, REST)
    _fits(found)
    # Triton 3.6 spills 4 to 8 instructions in two of these; the pinned version in none
    few = 8 if version("triton").startswith("3.6.") else 0
    assert name not in REST_STANDARD or found["spills"] <= few
