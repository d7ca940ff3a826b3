"""The Hopper kernels do what they should in every order of events that chance brings up.

Their own source runs on the CPU with all roles and engines interleaved (see `hopper_simulator`),
against float64; and each of many planted mistakes is noticed.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from fa_toolkit.kernels import mode

pytest.importorskip("greenlet", reason="the simulator's actors are greenlets")
pytest.importorskip("triton.experimental.gluon.language", reason="no Gluon in this Triton")
if mode() != "interpreter":
    pytest.skip(
        "needs Triton's interpreter: the small kernels around the backward run in it",
        allow_module_level=True,
    )

import hopper_mutants
from hopper_simulator_cases import Case, Modules, run_backward, run_forward, unknown_switches
from hopper_simulator_kernels import plant

from fa_toolkit.kernels.hopper import configuration


@pytest.fixture(scope="session")
def real() -> Modules:
    """The package's Hopper folder, simulated, as it is."""
    return plant(())


def _varied(cases: list[Case], variants: tuple[dict[str, Any], ...]) -> list[Case]:
    """Cases and variants take turns, so that each variant meets other sizes."""
    return [
        replace(cases[i % len(cases)], seed=i, switches=tuple(variant.items()))
        for i, variant in enumerate(variants)
    ]


# ------------------------------------------------------------------ forward
#: as many tiles of keys as fit the ring twice, and one more
FORWARD_TILES = [
    Case(150, 64 * tiles - tiles % 3, causal, hq=hq, hk=1, seed=tiles,
         multiprocessors=1 + tiles % 3, switches=(("block_n", 64), ("stages", 2 + tiles % 2)))
    for tiles in range(1, 8) for causal, hq in ((False, 1), (True, 2))
]  # fmt: skip
FORWARD_SIZES = [
    Case(200, 333, True, b=2, calls=2),
    Case(1, 1),
    Case(1, 300, True, hq=4, hk=4, seed=1),
    Case(33, 7, True, hq=4, hk=2, seed=2),  # rows that see no key
    Case(300, 130, True, seed=3, calls=2),
    Case(130, 70, hq=8, hk=2, dtype="float16", layout="bnhd", seed=4),
    Case(257, 140, True, hq=2, hk=2, dtype="float16", scale=0.3, seed=5),
    Case(200, 328, True, seed=10),  # the diagonal begins at the corner of a tile
    Case(200, 264, True, d=128, seed=11),  # half a tile off
    Case(330, 202, True, seed=12),
    Case(140, 300, d=128, seed=6),
    Case(200, 140, True, d=128, layout="bnhd", seed=7),
    Case(150, 200, d=256, seed=8),
    Case(140, 100, True, d=256, hq=4, seed=9),
]
_SMALL: dict[str, Any] = {"groups": 1, "pingpong": False, "per_sm": 2}
FORWARD_VARIANTS: tuple[dict[str, Any], ...] = (
    {"schedule": 0}, {"schedule": 1}, {"joined": False}, {"pingpong": False}, {"overlap": False},
    {"q_regs": True, "q_buffers": 1}, {"q_regs": True, "q_buffers": 2}, {"groups": 3},
    {"q_regs": False, "q_buffers": 1, "joined": False}, {"share_qo": True, "joined": False},
    _SMALL, _SMALL | {"q_regs": True, "q_buffers": 1}, _SMALL | {"schedule": 1, "joined": False},
    {"groups": 3, "pingpong": False}, {"groups": 3, "schedule": 1, "q_buffers": 2},
    {"early_k": True, "stages": 2}, {"early_k": True, "stages": 2, "joined": False},
    {"early_k": True, "stages": 3, "groups": 3}, {"early_k": True, "share_qo": True, "joined": False, "q_regs": False},
    {"early_k": True, "overlap": False}, {"early_k": True, "q_regs": True, "halved": True},
)  # fmt: skip
VARIED = [
    Case(200, 333, True, calls=2), Case(330, 512, hq=4, hk=2), Case(33, 7, True, hq=2, hk=2),
    Case(150, 400, True, hq=4, multiprocessors=3), Case(260, 200, multiprocessors=5),
]  # fmt: skip
FORWARD_SIZES += [
    Case(200, 200 + more, True, seed=20 + more, switches=(("halved", True), ("joined", joined)))
    for more, joined in ((0, True), (128, True), (-128, False), (64, True))
]


def _chosen() -> list[Case]:
    """What a length chooses that no run here has, at shorter lengths: each number of tiles up to
    twice the ring and one more, whole and not."""
    cases = []
    for (d, causal), choices in configuration.CHOICES.items():
        (_, short) = choices[-1]
        for _, config in choices[:-1]:
            switches = tuple(
                (f.name, getattr(config, f.name)) for f in fields(config)
                if getattr(config, f.name) != getattr(short, f.name)
            )  # fmt: skip
            cases += [
                Case(200 + 7 * tiles, config.block_n * tiles - less, causal, d=d, hq=2, seed=tiles,
                     multiprocessors=1 + tiles % 3, switches=switches)
                for tiles in range(1, 2 * config.stages + 2) for less in (0, 3)
            ]  # fmt: skip
    return cases


FORWARD_CHOSEN = _chosen()
FORWARD = FORWARD_TILES + FORWARD_SIZES + FORWARD_CHOSEN + _varied(VARIED, FORWARD_VARIANTS)

# ------------------------------------------------------------------ backward
_NARROW: dict[str, Any] = {"block_m": 64, "rounded_p": False, "persistent": False}
BACKWARD_TILES = [
    Case(64 * tiles - tiles % 3, 150 - tiles, causal, hq=hq, seed=tiles, switches=tuple(_NARROW.items()))
    for tiles in range(1, 6) for causal, hq in ((False, 1), (True, 2))
]  # fmt: skip
BACKWARD_TILES += [
    Case(128 * tiles - tiles % 3, 300 - tiles, causal, hq=hq, seed=tiles)
    for tiles in range(1, 6) for causal, hq in ((False, 1), (True, 2))
]  # fmt: skip
BACKWARD_SIZES = [
    Case(200, 333, True, b=2, dlse=True),
    Case(1, 1),
    Case(1, 300, True, hq=4, hk=4, seed=1),
    Case(130, 7, True, hq=4, hk=2, seed=2),  # rows that see no key
    Case(130, 70, hq=8, hk=2, dtype="float16", layout="bnhd", dlse=True, seed=3),
    Case(257, 140, True, hq=2, hk=2, dtype="float16", scale=0.3, seed=4),
    Case(140, 200, d=128, seed=5),
    Case(200, 140, True, d=128, layout="bnhd", dlse=True, seed=6),
    Case(140, 200, d=128, seed=7, switches=(("persistent", False),)),
    Case(
        200, 140, True, d=128, layout="bnhd", dlse=True, seed=8, switches=(("persistent", False),)
    ),
]
BACKWARD_VARIANTS: tuple[dict[str, Any], ...] = tuple(_NARROW | variant for variant in (
    {"late": False}, {"late": False, "prefetch": True}, {"prefetch": True}, {"turns": True},
    {"turns": True, "prefetch": True}, {"late": False, "turns": True}, {"rounded_p": True},
    {"fresh": False}, {"stages": 3}, {"stages": 3, "prefetch": True}, {"section": 1},
    {"block_m": 128}, {"block_m": 128, "late": False},
    {"persistent": True}, {"persistent": True, "late": False},
    {"persistent": True, "prefetch": True}, {"persistent": True, "turns": True},
    {"block_m": 128, "rounded_p": True}, {"block_m": 128, "rounded_p": True, "persistent": True, "turns": True},
))  # fmt: skip
BACKWARD_VARIED = [
    Case(130, 200, True), Case(150, 140, hq=4, hk=2), Case(130, 7, True, hq=2, hk=2),
    Case(100, 264, True, hq=4, dlse=True), Case(190, 200),
]  # fmt: skip
BACKWARD = BACKWARD_TILES + BACKWARD_SIZES + _varied(BACKWARD_VARIED, BACKWARD_VARIANTS)


def _wide(cases: list[Case]) -> list[Case]:
    """Other orders of events, and other numbers of programs that run at once."""
    return [
        replace(case, seed=seed, multiprocessors=1 + seed % 4)
        for case in cases for seed in range(101, 106)
    ]  # fmt: skip


def _run(run: Any, modules: Modules, case: Case) -> None:
    if unknown := unknown_switches(modules, case, run):
        pytest.skip(f"the configuration has no {', '.join(unknown)}")
    run(modules, case)


@pytest.mark.parametrize("case", FORWARD, ids=lambda case: case.name)
def test_forward(real: Modules, case: Case) -> None:
    _run(run_forward, real, case)


@pytest.mark.parametrize("case", BACKWARD, ids=lambda case: case.name)
def test_backward(real: Modules, case: Case) -> None:
    _run(run_backward, real, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", _wide(FORWARD), ids=lambda case: case.name)
def test_forward_in_other_orders(real: Modules, case: Case) -> None:
    _run(run_forward, real, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", _wide(BACKWARD), ids=lambda case: case.name)
def test_backward_in_other_orders(real: Modules, case: Case) -> None:
    _run(run_backward, real, case)


@pytest.mark.parametrize("name", hopper_mutants.EVERY)
def test_mistake_is_noticed(name: str) -> None:
    assert hopper_mutants.notice(name), f"no run noticed: {name}"


@pytest.mark.parametrize("case", hopper_mutants.cases("forward"), ids=lambda case: case.name)
def test_real_forward_passes_what_notices_mistakes(real: Modules, case: Case) -> None:
    run_forward(real, case)


@pytest.mark.parametrize("case", hopper_mutants.cases("backward"), ids=lambda case: case.name)
def test_real_backward_passes_what_notices_mistakes(real: Modules, case: Case) -> None:
    run_backward(real, case)
