"""The Hopper folder of the package as plain Python, with a mistake planted in it or with none.

The files are loaded anew under another name. Their launchers run as they are; where one starts a
kernel in Gluon, the simulator runs that kernel's source instead.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import hopper_simulator_engines as engines
import hopper_simulator_language as language
import torch
from hopper_simulator import Machine
from hopper_simulator_memory import fence
from hopper_simulator_registers import Pointer, Scalar
from triton.experimental.gluon import language as gluon_language
from triton.experimental.gluon._runtime import GluonJITFunction
from triton.experimental.gluon.language.nvidia import hopper as gluon_hopper
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.language.core import constexpr

from fa_toolkit.bench import editing

PACKAGE = "fa_toolkit.kernels.hopper"
LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


@dataclass(frozen=True)
class Edit:
    """`old` occurs once in the files whose names begin with `files`; `new` stands there instead."""

    files: str
    old: str
    new: str


def plant(
    edits: Sequence[Edit], doors: Sequence[str] = ("forward_call", "backward_call")
) -> dict[str, ModuleType]:
    """The modules of the Hopper folder that `doors` need, by their names, with `edits` made.

    All of them are loaded anew: what one remembers of a call is not for the others.
    """
    sources = editing.sources_of(PACKAGE, doors)
    made = []
    for edit in edits:
        holders = [n for n in sources if n.startswith(edit.files) and edit.old in sources[n]]
        times = sum(sources[name].count(edit.old) for name in holders)
        assert times == 1, f"{edit.old!r} occurs {times} times in {edit.files}*.py: {holders}"
        made.append(editing.Edit.of_text(holders[0], edit.old, edit.new))
    found = editing.load_edited(PACKAGE, sources, made, "planted")
    simulate(found)
    return found


# ------------------------------------------------------------------ one module's names
_STAND_INS = {
    id(gluon_language): language.gl,
    id(gluon_hopper.mbarrier): language.mbarrier,
    id(gluon_hopper.tma): language.tma,
    id(gluon_hopper.warpgroup_mma): engines.multiply,
    id(gluon_hopper.warpgroup_mma_wait): engines.wait_products,
    id(gluon_hopper.fence_async_shared): fence,
}


class _Names(dict[str, Any]):
    """The names of one module, as the kernels see them while they are simulated."""

    def __init__(self, module: ModuleType, modules: dict[str, _Names]) -> None:
        super().__init__(__builtins__=__builtins__, __name__=module.__name__)
        modules[module.__name__] = self
        self.modules = modules
        for name, value in vars(module).items():
            if not name.startswith("__"):
                self[name] = value

    def translate(self) -> None:
        """Once all modules are there: functions of a kernel may call those of another module."""
        for name, value in list(self.items()):
            self[name] = self._translated(value)

    def _translated(self, value: Any) -> Any:
        if id(value) in _STAND_INS:
            return _STAND_INS[id(value)]
        if isinstance(value, GluonJITFunction):
            names = self.modules.get(value.fn.__module__)
            assert names is not None, f"{value.fn.__qualname__} is not ours and not simulated"
            return FunctionType(value.fn.__code__, names, value.fn.__name__, value.fn.__defaults__)
        if isinstance(value, constexpr):
            return value.value
        if getattr(value, "__triton_builtin__", False) and value.__module__ in self.modules:
            return functools.partial(value, _semantic=language.Semantic())
        return value


# ------------------------------------------------------------------ launches
@dataclass
class Chance:
    """What the next launch is run with."""

    seed: int = 0
    late: float = 0.6
    resident: int = 3
    skew: bool = True


class SimulatedKernel:
    """Takes the place of a kernel in a launcher."""

    chance = Chance()

    def __init__(self, kernel: Any, body: Callable[..., None]) -> None:
        self.signature = inspect.signature(kernel.fn)
        self.body = body
        self.fn = kernel.fn
        self.arg_names = kernel.arg_names

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return functools.partial(self._launch, grid)

    def _launch(self, grid: Any, *args: Any, **options: Any) -> None:
        options = {k: v for k, v in options.items() if k not in LAUNCH_OPTIONS}
        bound = self.signature.bind(*args, **options)
        bound.apply_defaults()
        given = {name: self._argument(name, v) for name, v in bound.arguments.items()}
        grid = tuple(grid) + (1,) * (3 - len(tuple(grid)))
        assert grid[1:] == (1, 1), "a grid of more than one axis"
        chance = SimulatedKernel.chance
        machine = Machine(chance.seed, chance.late, chance.resident, chance.skew)
        machine.launch(grid[0], lambda: self.body(**given))

    def _argument(self, name: str, value: Any) -> Any:
        if isinstance(value, TensorDescriptor):
            return engines.Descriptor(value)
        if isinstance(value, torch.Tensor):
            return Pointer.to(value)
        is_constant = "constexpr" in str(self.signature.parameters[name].annotation)
        return Scalar(value) if type(value) is int and not is_constant else value


def simulate(modules: dict[str, ModuleType]) -> None:
    """Their kernels run in the simulator from now on: those of modules that were loaded anew."""
    tables: dict[str, _Names] = {}
    for module in modules.values():
        _Names(module, tables)
    for table in tables.values():
        table.translate()
    for module in modules.values():
        for name, value in list(vars(module).items()):
            if isinstance(value, GluonJITFunction) and name.endswith("_kernel"):
                setattr(module, name, SimulatedKernel(value, tables[module.__name__][name]))
