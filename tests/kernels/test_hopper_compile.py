"""The Hopper kernels compile for sm_90a without one: they fit, nothing in their inner loops spills,
products are not serialised, and exponentials run beside products.

That a product is waited for late in the source says little: the assembler moves waits. So the
machine code is read.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
from compiling import compiled

pytest.importorskip("triton.experimental.gluon.language", reason="no Gluon in this Triton")
from fa_toolkit.kernels.hopper import gluon_names

if why := gluon_names.why_absent():
    pytest.skip(f"no Hopper kernels here: {why.en}", allow_module_level=True)

DEFAULT = ("forward-128-causal", "backward-128-causal")
MORE = (
    "forward-64-full",
    "forward-128-full",
    "forward-64-causal",
    "forward-256-causal",
    "forward-256-full",
    "forward-128-causal-N512",
    "forward-64-full-N256",
    "forward-64-causal-N512",
    "forward-128-full-N1024x300-fp16",
    "backward-128-full",
    "backward-128-causal-N512",
    "backward-128-full-N512",
    "backward-64-causal",
    "backward-64-full",
    "backward-64-causal-N512x300-fp16-dlse",
    # where the diagonal meets no corner of a tile there are two loops
    "forward-64-causal-N200x333",
    "forward-64-causal-N9000x9333",
    "forward-64-full-N1000x700-fp16",
    "forward-128-causal-N200x333",
    "forward-256-causal-N200x333",
    "backward-128-causal-N200x333",
)
SHARED_LIMIT = 232_448  # bytes a block may have, compute capability 9.0
#: instructions that spill in a loop over tiles of keys (backward: of rows); all are reloads of
#: scalars, descriptors and addresses, which the uniform registers do not hold
SPILLS = {
    "backward-128-causal": 4,  # Triton 3.6; 1 with 3.7
    "backward-128-causal-N200x333": 4,
    "backward-128-causal-N512": 1,  # Triton 3.7; none with 3.6
}
BATCH = 3  # cases compiled in one process


@functools.cache
def _batch(names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return compiled("hopper_compile_cases.py", names)


def _found(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    start = names.index(name) // BATCH * BATCH
    return _batch(names[start : start + BATCH])[name]


def _is_of_tiles(name: str, loop: dict[str, Any]) -> bool:
    """Not the loop over rows: in the forward it rescales, two exponentials more than those of P."""
    return "backward" in name or (not loop["of_rows"] and loop["exponentials"] % 8 == 2)


def _is_as_it_should(name: str, found: dict[str, Any]) -> None:
    assert found["shared"] <= SHARED_LIMIT
    # what is handed out anew is what the launch had: one share for each group, one for the producer
    assert found["handed_out"]
    assert found["given"] <= found["registers"] * (found["groups"] + 1)
    assert found["products"]
    assert not found["unset"], "the assembler left a descriptor unset on some path"
    assert not found["early"], "a place is given back before it is read"
    assert not found["serialised"]
    assert not found["remarks"], "the assembler serialised the products"
    if name.startswith("forward-64"):
        assert not found["spills"], "three groups have 160 registers each: all must fit"
    inner = [loop for loop in found["loops"] if _is_of_tiles(name, loop)]
    assert inner
    for loop in inner:
        assert loop["spills"] <= SPILLS.get(name, 0), loop
        if found["pinned"] and name.startswith("forward"):
            assert loop["beside"] == 1, f"exponentials wait for P V: {loop}"
    if name.startswith("backward"):
        assert found["added"], "dQ is not added by the copy engine"


@pytest.mark.parametrize("name", DEFAULT)
def test_compiles_as_it_should(name: str) -> None:
    _is_as_it_should(name, _found(name, DEFAULT))


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_compiles_as_it_should_more(name: str) -> None:
    _is_as_it_should(name, _found(name, MORE))


#: the first reading of a step's clock, and what stands between the others
STAMPS = "clock, turn, clock, product, clock, S, clock, exponential, clock, slot, clock, P V, clock"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stamped-forward-128-full", "stamped-forward-128-causal"])
def test_stamps_stand_where_they_say(name: str) -> None:
    """No spill comes with them, and the assembler moved no reading of the clock past what it times."""
    found = _batch(("stamped-forward-128-full", "stamped-forward-128-causal"))[name]
    assert not found["serialised"] and not found["unset"] and not found["early"]
    inner = [loop for loop in found["loops"] if _is_of_tiles(name, loop)]
    assert len(inner) == found["groups"]
    for loop in inner:
        assert loop["spills"] == 0 and loop["beside"] == 1, loop
        assert loop["stamps"] == STAMPS
