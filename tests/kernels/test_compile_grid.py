"""The recorded tiles are those of the kernels and the launcher as they are now."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from fa_toolkit import measured
from fa_toolkit.errors import ArgumentError
from fa_toolkit.kernels.configuration import Device, LaunchPlan, plan_launch
from fa_toolkit.problem import AttentionProblem

AGAIN = "record again: python tests/kernels/compile_grid.py (see its docstring)"
CASES = ("90/64/causal/128x64", "80/64/full/32x32", "80/128/causal/256x128")


def _plan(row: measured.Compiled) -> tuple[LaunchPlan | None, bool, Device]:
    """What the launcher does for that row now, and whether it would choose the tile by itself."""
    length = measured.compiled_length()
    device = Device(divmod(row.capability, 10), row.limit)
    problem = AttentionProblem(len_q=length, len_k=length, head_dim=row.head_dim, causal=row.causal)
    own = plan_launch(problem, device)
    if own.tile == row.tile:
        return own, True, device
    try:
        return plan_launch(problem, device, row.tile), False, device
    except ArgumentError:
        return None, False, device


def test_the_launcher_still_plans_what_was_recorded() -> None:
    for row in measured.compiled_tiles():
        plan, default, device = _plan(row)
        assert row.default == default, (row, AGAIN)
        assert (plan is None) == bool(row.failed), (row, AGAIN)
        if plan is not None:
            now = (plan.num_warps, plan.num_stages, plan.shared(2, device))
            assert now == (row.warps, row.stages, row.bound), (row, AGAIN)


@pytest.mark.slow
def test_the_compiler_still_makes_what_was_recorded() -> None:
    pytest.importorskip("triton")
    made = measured.compiled_provenance().versions["triton"]
    if version("triton") != made:
        pytest.skip(f"recorded with Triton {made}")
    script = Path(__file__).with_name("compile_grid.py")
    path = os.pathsep.join(
        filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")))
    )
    done = subprocess.run(
        [sys.executable, str(script), *CASES], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": path}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["schema"] == "fa-compiled/1" and len(found["rows"]) == len(CASES)
    recorded = measured.compiled_tiles()
    for row in found["rows"]:
        assert measured.Compiled(**row) in recorded, (row, AGAIN)
