"""What the kernels for Hopper use of Gluon is looked for before they are chosen."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import fa_toolkit.kernels as kernels  # settles the mode before anything imports Triton

# isort: split
import pytest

from fa_toolkit.kernels.hopper import availability, gluon_names


def _imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """What a file calls the things it takes from Triton -> (module, name)."""
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triton.")
        for alias in node.names
    }


def _used(tree: ast.Module, names: dict[str, tuple[str, str]]) -> set[tuple[str, str]]:
    """(module, name) of everything that a kernel file takes from Triton's experimental parts."""
    modules = {*gluon_names.NEEDED}
    found = {
        home for home in names.values() if home[0] in modules and ".".join(home) not in modules
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = ".".join(names.get(node.value.id, ()))
            if home in modules:
                found.add((home, node.attr))
    return found


def test_the_kernels_use_no_name_that_is_not_looked_for() -> None:
    folder = Path(availability.__file__).parent
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in folder.glob("*.py")]
    shared = _imported(ast.parse((folder / "gluon.py").read_text(encoding="utf-8")))
    used = set().union(*(_used(tree, shared | _imported(tree)) for tree in trees))
    looked_for = {
        (module, name.split(".")[0]) for module, some in gluon_names.NEEDED.items() for name in some
    }
    assert used - looked_for == set()


@pytest.mark.skipif(kernels.mode() == "none", reason="looks at Triton")
def test_a_name_that_moved_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    triton: Any = importlib.import_module("triton")
    version = tuple(int(x) for x in triton.__version__.split(".")[:2])
    fits = gluon_names.SINCE <= version < gluon_names.BEFORE
    absent = gluon_names.why_absent.__wrapped__
    assert (absent() is None) == fits
    if not fits:
        return
    gl: Any = importlib.import_module("triton.experimental.gluon.language")
    hopper: Any = importlib.import_module("triton.experimental.gluon.language.nvidia.hopper")
    with monkeypatch.context() as patch:
        patch.delattr(gl, "warp_specialize")
        assert gluon_names.moved_names() == ["language.warp_specialize"]
        said = absent()
        assert "warp_specialize" in said.en and "warp_specialize" in said.zh
    with monkeypatch.context() as patch:
        patch.setattr(hopper.mbarrier, "wait", lambda mbarrier, parity: None)
        assert gluon_names.moved_names() == ["wait(mbarrier, parity)"]
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "triton.experimental.gluon", None)
        assert "gluon.jit" in gluon_names.moved_names()
    for odd in ("3.5.1", "3.8.0", "4.0.0+git"):
        monkeypatch.setattr(triton, "__version__", odd)
        assert odd in absent().en and odd in absent().zh
