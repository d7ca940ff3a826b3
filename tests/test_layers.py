"""Imports point down the floors of the package, and heavy packages stay on theirs.

The checker reads sources with `ast` and runs nothing; it is itself tried on made-up sources.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = "fa_toolkit"
ROOT = Path(__file__).parents[1] / PACKAGE

#: Every module (or package) of fa_toolkit and the floor it stands on; imports go to lower floors.
FLOORS = {
    "errors": 0,
    "language": 0,
    "hardware": 1,
    "problem": 1,
    "io_model": 2,
    "reference": 3,
    "measured": 3,
    "tiled": 4,
    "kernels": 5,
    "repeated": 6,
    "launches": 6,
    "operator": 6,
    "attention": 6,
    "decode_operator": 6,
    "decoding": 6,
    "door": 6,
    "scaled_dot_product": 6,
    "explanation": 6,
    "varlen": 6,
    "huggingface": 7,
    "viz": 7,
    "bench": 8,
    "quiz": 8,
    "exercises": 8,
    "progress": 9,
    "interview": 9,
    "evidence": 9,
    "book": 10,
    "course": 10,
    "cli": 10,
    "doctor": 10,
    "study": 10,
    "lab": 10,
    "terminal": 10,
    "rehearsing": 10,
    "command_texts": 10,
    "__main__": 10,
}
#: On these floors modules may import each other: the base, the door and its operator, the wiring.
SHARED_FLOORS = (0, 6, 10)
#: Forbidden though they point down: (who, whom, the one module of it that is allowed).
NEVER = (
    ("kernels", "reference", None),
    ("kernels", "tiled", "tiled.trace"),  # the words Step and Event, no algorithm
    ("viz", "kernels", None),
)
#: Who may import a heavy package at all.
GUARDED = {
    "triton": {"kernels"},
    "ipywidgets": {"viz", "quiz", "course"},
    "anywidget": {"viz", "quiz", "interview", "course"},
    "transformers": {"huggingface"},
}
#: Single files that may all the same: solutions of exercises are kernels a learner writes, and
#: this file hands them Triton after the kernels floor has set the mode.
EXCEPTIONS = {("exercises/triton_names.py", "triton")}


class Import(NamedTuple):
    """One imported name, in full: `fa_toolkit.tiled.trace.Step`, `torch.nn`."""

    line: int
    name: str


def imports(module: str, source: str, *, is_package: bool) -> Iterator[Import]:
    """Everything `source` imports, relative names resolved, literal `import_module` included."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            yield from (Import(node.lineno, f"{stem}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            first = node.args[0]
            if (
                called in ("import_module", "__import__")
                and isinstance(first, ast.Constant)
                and isinstance(first.value, str)
            ):
                name = first.value.lstrip(".")
                dots = len(first.value) - len(name)
                base = package[: len(package) - dots + 1] if dots else []
                yield Import(node.lineno, ".".join([*base, name]))


def violations(sources: Mapping[str, str]) -> list[str]:
    """What is wrong with the imports of `sources`, given as {path under fa_toolkit: text}."""
    found = []
    for path, source in sources.items():
        parts = list(Path(path).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        parts = parts[:-1] if is_package else parts
        if not parts:
            continue  # fa_toolkit/__init__.py only names things lazily: test_import_light
        unit = parts[0]
        if unit not in FLOORS:
            found.append(f"{path}: {unit} stands on no floor; add it to FLOORS")
            continue
        for line, name in imports(".".join([PACKAGE, *parts]), source, is_package=is_package):
            why = _why_not(unit, name)
            if why and (path, name.partition(".")[0]) not in EXCEPTIONS:
                found.append(f"{path}:{line}: {why}")
    return found


def _why_not(unit: str, name: str) -> str:
    top, *rest = name.split(".")
    if top in GUARDED and unit not in GUARDED[top]:
        return f"{top} belongs to {', '.join(sorted(GUARDED[top]))}"
    if top != PACKAGE or not rest or rest[0] == "__version__" or rest[0] == unit:
        return ""
    target = rest[0]
    if target not in FLOORS:
        return f"imports {name}, which stands on no floor"
    for who, whom, allowed in NEVER:
        if (unit, target) == (who, whom) and ".".join(rest[:2]) != allowed:
            return f"{unit} never imports {target}"
    here, there = FLOORS[unit], FLOORS[target]
    if there > here or (there == here and here not in SHARED_FLOORS):
        return f"{unit} (floor {here}) imports {target} (floor {there})"
    return ""


def test_imports_of_the_package_point_down() -> None:
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted(ROOT.rglob("*.py"))
        if "_data" not in path.parts
    }
    assert len(sources) > 10
    assert violations(sources) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("io_model/forward.py", "from ..tiled import Ledger"),
        ("io_model/forward.py", "from .. import tiled"),
        ("problem.py", "from . import io_model"),
        ("problem.py", "from .hardware import gpu"),
        ("problem.py", "def f():\n    import fa_toolkit.attention"),
        ("hardware/__init__.py", "from ..io_model import Traffic"),
        ("hardware/lookup.py", "import importlib\nimportlib.import_module('fa_toolkit.viz')"),
        ("tiled/loops.py", "__import__('fa_toolkit.kernels')"),
        ("quiz/bank.py", "from importlib import import_module\nimport_module('..progress', 'x')"),
        ("quiz/bank.py", "from ..progress import store"),
        ("quiz/bank.py", "from ..exercises import check"),
        ("viz/figures.py", "from ..kernels import mode"),
        ("viz/figures.py", "from fa_toolkit.kernels.flash import flash_forward_kernel"),
        ("kernels/flash.py", "from ..reference import attention"),
        ("kernels/flash.py", "from ..tiled import flash_forward"),
        ("kernels/flash.py", "from ..tiled.forward import Step"),
        ("exercises/checks.py", "import triton"),
        ("tiled/loops.py", "import triton.language as tl"),
        ("doctor.py", "from triton import jit"),
        ("attention.py", "try:\n    import triton\nexcept ImportError:\n    pass"),
        ("tiled/loops.py", "import ipywidgets"),
        ("exercises/checks.py", "import anywidget"),
        ("cli.py", "from anywidget import AnyWidget"),
        ("novelty.py", "x = 1"),
        ("course.py", "from .novelty import x"),
    ],
)
def test_the_checker_sees_what_is_wrong(path: str, source: str) -> None:
    assert len(violations({path: source})) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("__init__.py", "from .attention import flash_attention"),
        ("language.py", "def f():\n    from .errors import ArgumentError"),
        ("io_model/forward.py", "from ..problem import TileShape\nfrom .bill import Traffic"),
        ("kernels/flash.py", "import triton\nfrom ..tiled.trace import Event, Step"),
        ("exercises/triton_names.py", "import importlib\nimportlib.import_module('triton')"),
        ("kernels/__init__.py", "from .flash import flash_forward"),
        ("quiz/widget.py", "import ipywidgets\nfrom .. import io_model, viz"),
        ("cli.py", "from . import course, doctor\nfrom . import __version__"),
        ("viz/stepper.py", "import anywidget\nfrom ..tiled.trace import Trace"),
        ("tiled/loops.py", "import torch\nimport tritonish\nname = 'triton'"),
    ],
)
def test_the_checker_lets_pass_what_is_right(path: str, source: str) -> None:
    assert violations({path: source}) == []
