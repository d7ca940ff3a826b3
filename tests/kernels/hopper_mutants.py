"""Every planted mistake of both passes, and whether the simulated runs notice it."""

from __future__ import annotations

from pathlib import Path

import hopper_mutants_backward as backward
import hopper_mutants_forward as forward
from hopper_simulator_cases import Mistake, run_backward, run_forward
from hopper_simulator_kernels import plant

EVERY: dict[str, Mistake] = {
    f"{name}: {what}": mistake
    for name, mistakes in (
        ("forward", forward.READ | forward.BLIND),
        ("backward", backward.READ | backward.BLIND),
    )
    for what, mistake in mistakes.items()
}


def notice(name: str, folder: Path) -> str:
    """What the first run that goes wrong says; nothing if all go well."""
    mistake = EVERY[name]
    is_backward = name.startswith("backward")
    run, cases = (run_backward, backward.CASES) if is_backward else (run_forward, forward.CASES)
    modules = plant(mistake.edits, folder)
    for case in (*filter(None, [mistake.case]), *cases):
        try:
            run(modules, case)
        except Exception as error:  # a crash is a notice as much as a wrong number
            return f"{case.name}: {type(error).__name__}: {error}"
    return ""
