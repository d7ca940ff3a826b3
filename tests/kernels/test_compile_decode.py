"""The decode kernels compile for GPUs that are not here, fit, and do not spill where it matters."""

from __future__ import annotations

from typing import Any

import pytest
from compiling import compiled

#: one in the default lane, which is held to a few minutes; the others in the slow one
STANDARD = (
    "sm90-bf16-D128-G8-page16-all",
    pytest.param("sm80-fp16-D128-G8", marks=pytest.mark.slow),
    pytest.param("sm90-fp16-D64-G1-page1-ones", marks=pytest.mark.slow),
    pytest.param("sm90-bf16-D128-G4-attend", marks=pytest.mark.slow),
)
MORE = (
    "sm75-fp32-D256-G16-all",
    "sm80-fp32-D64-G1-page1-all",
    "sm89-bf16-D256-G40-page64",
    "sm90-fp16-D24:40-G1",
    "sm100-bf16-D128-G8",
    "sm80-fp16-D256-G2-attend",
)


def _compile(names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return compiled("compile_decode.py", names)


@pytest.fixture(scope="module")
def more() -> dict[str, dict[str, Any]]:
    pytest.importorskip("triton")
    return _compile(MORE)


def _fits(found: dict[str, Any]) -> None:
    assert 0 < found["shared"] <= found["bound"] <= found["limit"]
    assert found["registers"] <= 255
    assert found["lopsided"] == found["merge_lopsided"] == 0
    assert found["spills"] == found["merge_spills"] == 0


@pytest.mark.parametrize("name", STANDARD)
def test_compiles_fits_and_loads_whole_lines(name: str) -> None:
    pytest.importorskip("triton")
    found = _compile((name,))[name]
    _fits(found)
    assert found["vector_loads"] > 0
    assert 2 * found["shared"] <= found["limit"]  # two blocks on an SM
    # Hopper launches the merge ahead, where there is one
    assert found["overlap"] == (name.startswith("sm90") and "ones" not in name)


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_compiles_and_fits_more(name: str, more: dict[str, dict[str, Any]]) -> None:
    _fits(more[name])
