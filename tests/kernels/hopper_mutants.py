"""Every planted mistake of both passes, and whether the simulated runs notice it."""

from __future__ import annotations

import hopper_mutants_backward as backward
import hopper_mutants_forward as forward
from hopper_simulator_cases import Case, Mistake, run_backward, run_forward
from hopper_simulator_kernels import plant

EVERY: dict[str, Mistake] = {
    f"{name}: {what}": mistake
    for name, mistakes in (
        ("forward", forward.READ | forward.BLIND),
        ("backward", backward.READ | backward.BLIND),
    )
    for what, mistake in mistakes.items()
}


def cases(which: str) -> list[Case]:
    """Every run of that pass that a mistake may be noticed by."""
    own = [mistake.case for name, mistake in EVERY.items() if name.startswith(which)]
    always = backward.CASES if which == "backward" else forward.CASES
    return list(dict.fromkeys([*always, *filter(None, own)]))


def notice(name: str) -> str:
    """What the first run that goes wrong says; nothing if all go well."""
    mistake = EVERY[name]
    is_backward = name.startswith("backward")
    run, rest = (run_backward, backward.CASES) if is_backward else (run_forward, forward.CASES)
    modules = plant(mistake.edits, ["backward_call" if is_backward else "forward_call"])
    for case in (*filter(None, [mistake.case]), *rest):
        try:
            run(modules, case)
        except Exception as error:  # a crash is a notice as much as a wrong number
            return f"{case.name}: {type(error).__name__}: {error}"
    return ""
