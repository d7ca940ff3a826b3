"""Take a learner's function along to another process: its source and what it uses, as plain data.

Functions and classes travel as the lines that define them; numbers, texts, containers and tensors
as data; modules and installed functions by name. What cannot travel becomes an error that is
raised only if the function touches it there.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import marshal
import pickle
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

import torch

from ..errors import ArgumentError
from ..language import Text
from . import sources
from .missing import LARGEST
from .values import odd_kind

#: How many values may be carried.
MOST = 20_000
_PACKAGE = str(Path(__file__).resolve().parents[1])
_INSTALLED = tuple(
    str(Path(sysconfig.get_paths()[key]).resolve()) for key in ("stdlib", "purelib", "platlib")
)
Node = dict[str, Any]


def pack(fn: Any) -> dict[str, Any]:
    """`fn` and everything it needs, as one JSON object.

    Raises:
        ArgumentError: if it needs more values than can be carried.
    """
    packer = _Packer()
    root = packer.ref(fn, "fn")
    return {"root": root, "nodes": packer.nodes, "spaces": packer.spaces, "path": _path()}


def _path() -> list[str]:
    return [entry or str(Path.cwd()) for entry in sys.path]


class _Packer:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.spaces: list[str | None] = []  # an importable module's name, or None: the learner's
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # ids stay taken while their objects live
        self._space_of: dict[int, int] = {}
        self._bytes = 0  # of tensors and objects

    def ref(self, value: Any, name: str) -> int:
        """The number of the node that stands for `value`."""
        known = self._seen.get(id(value))
        if known is not None:
            return known
        number = len(self.nodes)
        if number >= MOST:
            raise ArgumentError(
                "fn",
                expected=Text(f"at most {MOST} values", f"至多 {MOST} 个值"),
                got=Text("a function that uses more", "用到更多值的函数"),
                hint=Text("make long lists inside the function", "长列表放到函数里面去建"),
            )
        self._seen[id(value)] = number
        self._kept.append(value)
        self.nodes.append({})
        try:
            self.nodes[number] = self._node(value, name)
        except (ArgumentError, RecursionError):
            raise
        except Exception:  # an object of the learner's that does not even let itself be looked at
            self.nodes[number] = _missing(value, name)
        return number

    def _node(self, value: Any, name: str) -> Node:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return {"k": "value", "v": value}
        if kind is float:
            return {"k": "float", "v": value.hex()}
        if isinstance(value, types.ModuleType):
            return {"k": "module", "name": value.__name__}
        if kind in (list, tuple, set, frozenset):
            return {"k": kind.__name__, "items": [self.ref(x, name) for x in value]}
        if kind is dict:
            pairs = [(self.ref(k, name), self.ref(v, name)) for k, v in value.items()]
            return {"k": "dict", "items": pairs}
        found = importable(value)
        if found is not None:
            return {"k": "import", "module": found[0], "name": found[1]}
        if isinstance(value, torch.Tensor):
            return self._tensor(value, name)
        return self._made(value, name)

    def _made(self, value: Any, name: str) -> Node:
        """Functions, kernels, classes and objects."""
        if isinstance(value, types.FunctionType):
            return self._function(value, decorated=False)
        if isinstance(value, functools.partial):
            parts = (value.func, value.args, value.keywords)
            return {"k": "partial", "items": [self.ref(part, name) for part in parts]}
        if isinstance(value, types.MethodType):
            return {
                "k": "method",
                "items": [self.ref(x, name) for x in (value.__func__, value.__self__)],
            }
        kernel = _function_of_kernel(value)
        if kernel is not None:
            return {**self._function(kernel, decorated=True), "kernel": True}
        if isinstance(value, functools._lru_cache_wrapper):
            size = value.cache_parameters()["maxsize"]
            return {"k": "cached", "size": size, "items": [self.ref(value.__wrapped__, name)]}
        if isinstance(value, type):
            return self._class(value, name)
        pickled = _pickled(value)
        if pickled is not None:
            return self._measured(len(pickled), value, name) or {
                "k": "pickle",
                "data": base64.b64encode(pickled).decode(),
            }
        if hasattr(value, "__dict__") and importable(type(value)) is None:
            return {
                "k": "object",
                "items": [self.ref(type(value), name), self.ref(dict(vars(value)), name)],
            }
        return _missing(value, name)

    def _tensor(self, value: torch.Tensor, name: str) -> Node:
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            return _missing(value, name, "derived", type(value).__name__[:60])
        kind = odd_kind(value)
        if kind and kind != "complex":
            return _missing(value, name, "layout", kind)
        refused = self._measured(value.numel() * value.element_size(), value, name)
        if refused is not None:
            return refused
        raw = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        return {
            "k": "tensor", "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape), "grad": value.requires_grad, "device": value.device.type,
            "data": base64.b64encode(raw).decode(),
        }  # fmt: skip

    def _measured(self, size: int, value: Any, name: str) -> Node | None:
        """Count what is to be carried; a node that says how large it is where that is too much."""
        if self._bytes + size <= LARGEST:
            self._bytes += size
            return None
        shape = getattr(value, "shape", None)
        seen = f"{list(shape)}, " if isinstance(shape, torch.Size) else ""
        seen += f"{size / 2**20:.4g} MiB"
        seen += f" + {self._bytes / 2**20:.4g} MiB" if self._bytes else ""
        return _missing(value, name, "size", seen)

    def _function(self, fn: types.FunctionType, *, decorated: bool) -> Node:
        code, space = fn.__code__, self._space(fn.__globals__)
        found = sources.function(code, decorated=decorated)
        names = found.names if found is not None else sources.names_in(code)
        node: Node = {"k": "function", "space": space, "name": fn.__name__}
        node["defined"] = code.co_name
        if found is not None:
            node |= {"text": found.text, "file": found.file, "free": list(found.free)}
            node["own"] = found.own
        else:
            node["code"] = base64.b64encode(marshal.dumps(code)).decode()
        node |= self._outside(fn.__globals__, names, space)
        cells: list[int | None] = []
        for variable, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
            try:
                cells.append(self.ref(cell.cell_contents, variable))
            except ValueError:  # not filled yet
                cells.append(None)
        node["cells"] = cells
        if not decorated:
            node["defaults"] = self.ref(fn.__defaults__, fn.__name__)
            node["kwdefaults"] = self.ref(fn.__kwdefaults__, fn.__name__)
        return node

    def _class(self, kind: type, name: str) -> Node:
        found = sources.class_(kind)
        if found is None:
            why = "derived" if issubclass(kind, torch.Tensor) else ""
            return _missing(kind, name, why, kind.__name__[:60])
        scope = getattr(sys.modules.get(kind.__module__), "__dict__", {})
        space = self._space(scope)
        node = {"k": "class", "space": space, "name": kind.__name__, "free": [], "cells": []}
        node |= {"text": found.text, "file": found.file, "defined": kind.__name__}
        return node | self._outside(scope, found.names, space)

    def _outside(self, scope: dict[str, Any], names: sources.Names, space: int) -> Node:
        """The names a definition reads from its module, each with the number of its value."""
        if self.spaces[space] is not None:  # the other side imports the whole module
            return {"early": {}, "late": {}}
        return {
            when: {x: self.ref(scope[x], x) for x in sorted(wanted) if x in scope}
            for when, wanted in (("early", names.early), ("late", names.late))
        }

    def _space(self, scope: dict[str, Any]) -> int:
        number = self._space_of.get(id(scope))
        if number is None:
            name = str(scope.get("__name__", ""))
            module = sys.modules.get(name)
            own = module is not None and vars(module) is scope and _installed(name)
            number = self._space_of[id(scope)] = len(self.spaces)
            self.spaces.append(name if own else None)
            self._kept.append(scope)
        return number


@functools.cache
def _installed(module: str) -> bool:
    """Whether the other process finds the same module: the standard library's, a package's, ours."""
    if module in sys.builtin_module_names:
        return True
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return False
    if found is None or module == "__main__":
        return False
    if found.origin in (None, "built-in", "frozen"):
        return True
    return str(Path(str(found.origin)).resolve()).startswith((_PACKAGE, *_INSTALLED))


def importable(value: Any) -> tuple[str, str] | None:
    """Module and qualified name by which an installed module has exactly this object."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, types.BuiltinFunctionType) and module is None:  # of torch and its kin
        module, name = "torch", value.__name__
    if not (isinstance(module, str) and isinstance(name, str)) or module not in sys.modules:
        return None
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value and _installed(module) else None


def _function_of_kernel(value: Any) -> types.FunctionType | None:
    """The function inside what `@triton.jit` and its kin make, or None."""
    if not type(value).__module__.startswith("triton."):
        return None
    inner, steps = value, 0
    while hasattr(inner, "fn") and not isinstance(inner, types.FunctionType) and steps < 8:
        inner, steps = inner.fn, steps + 1
    return inner if isinstance(inner, types.FunctionType) else None


def _pickled(value: Any) -> bytes | None:
    """Bytes of an object whose class is installed; nothing of the learner's own is in them."""
    kind = type(value)
    if importable(kind) is None or isinstance(value, types.GeneratorType):
        return None
    try:
        data = pickle.dumps(value)
    except Exception:
        return None
    return None if b"__main__" in data else data


def _missing(value: Any, name: str, why: str = "", seen: str = "") -> Node:
    kind = f"class {value.__name__}" if isinstance(value, type) else type(value).__name__
    return {"k": "missing", "name": name, "type": kind[:60], "why": why, "seen": seen}
