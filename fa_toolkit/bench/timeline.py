"""Watches the Hopper forward from inside: a copy of it with stamps runs, and its stamps are read.

The copy must give the same bits as the shipped kernel; how much longer it takes is measured too.
"""

from __future__ import annotations

import importlib
import statistics
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ..errors import BackendUnavailable
from ..problem import AttentionProblem
from .checking import make_inputs
from .editing import load_edited
from .failures import WrongOutput
from .stamp_reading import Step, rows_of, steps_of
from .stamps import REGION, STAMPED
from .timing import Timer

PACKAGE, DOOR = "fa_toolkit.kernels.hopper", "forward_call"
_WORDS = REGION // 4


class Launcher:
    """Takes the place of the kernel in its launcher: hands it the buffer for its stamps as well."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.buffer = torch.empty(0, dtype=torch.int32)

    def __getitem__(self, grid: Any) -> Any:
        return lambda *arguments, **constants: self.kernel[grid](
            *arguments, self.buffer, **constants
        )


@cache
def load_stamped() -> tuple[Any, Launcher]:
    """The module of the launcher with stamps in its kernel, and what hands it the buffer."""
    module = load_edited(PACKAGE, [DOOR], STAMPED, "stamped")[DOOR]
    return module, handing_buffer(module)


def handing_buffer(module: Any) -> Launcher:
    """From now on the launcher in that module gives its kernel a buffer too."""
    module.hopper_forward_kernel = launcher = Launcher(module.hopper_forward_kernel)
    return launcher


def read(buffer: Tensor, roles: int) -> list[list[list[Step]]]:
    """The steps of each role of each program."""
    programs = buffer.view(-1, roles, _WORDS // 2, 2).tolist()
    return [[steps_of(role) for role in program] for program in programs]


def stamp_buffer(programs: int, roles: int, device: torch.device | str) -> Tensor:
    """Zeros for every role's region: int32 [programs * roles * REGION / 4], aligned to REGION bytes."""
    words = programs * roles * _WORDS
    whole = torch.zeros(words + _WORDS, dtype=torch.int32, device=device)
    past = -whole.data_ptr() % REGION // 4
    return whole[past : past + words]


def measure_timelines(
    problem: AttentionProblem, timer: Timer, *, rounds: int = 2, seed: int = 1
) -> dict[str, tuple[Any, ...]]:
    """The rows of one case, by the names they have in a run: "timelines", "stamps".

    Raises:
        BackendUnavailable: where the Hopper kernels do not run.
        WrongOutput: if the stamped kernel gives other bits than the shipped one.
    """
    inputs = make_inputs(problem, "cuda", seed)
    _require_hopper(inputs.q.device)
    plain: Any = importlib.import_module(f"{PACKAGE}.{DOOR}")
    stamped, launcher = load_stamped()
    config = plain.forward_config(problem.head_dim, problem.len_q, problem.len_k, problem.causal)
    roles = config.groups + 1
    programs = plain.processors(inputs.q.device) * config.per_sm
    launcher.buffer = stamp_buffer(programs, roles, inputs.q.device)

    def call(module: Any) -> Any:
        return lambda: module.hopper_forward(*inputs[:3], causal=problem.causal)

    for one, other in zip(call(plain)(), call(stamped)(), strict=True):
        different = int((one.view(torch.int16) != other.view(torch.int16)).sum())
        if different:
            raise WrongOutput(f"the kernel with stamps gives other bits in {different} places")
    ready = {module: timer.prepare(call(module)) for module in (plain, stamped)}
    times: dict[Any, list[float]] = {module: [] for module in ready}
    for _ in range(rounds):
        for module, prepared in ready.items():
            times[module].append(statistics.median(timer.burst(prepared)))
    launcher.buffer.zero_()
    call(stamped)()
    seen = read(launcher.buffer, roles)
    plain_ms, stamped_ms = (round(statistics.median(times[m]), 5) for m in (plain, stamped))
    return rows_of(problem, seen, plain_ms=plain_ms, stamped_ms=stamped_ms)


def _require_hopper(device: torch.device) -> None:
    from ..kernels.hopper.availability import of_place
    from ..kernels.routing import place_of

    found = of_place(place_of(device))
    if found is not None:
        raise BackendUnavailable(
            "--suite timeline", expected=found.expected, got=found.got, hint="--suite forward"
        )
