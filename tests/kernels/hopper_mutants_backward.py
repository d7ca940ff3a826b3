"""Mistakes planted in the Hopper backward; `READ` and `BLIND` as in `hopper_mutants_forward`."""

from __future__ import annotations

from hopper_simulator_cases import Case, Mistake

CASES = (
    Case(130, 140, True),
    Case(200, 300, hq=4, hk=2, b=2, dlse=True, seed=1),
    Case(130, 7, True, hq=2, hk=2, seed=2),
    Case(100, 300, True, hq=4, seed=3),
)

READ: dict[str, Mistake] = {
}  # fmt: skip

BLIND: dict[str, Mistake] = {
}  # fmt: skip
