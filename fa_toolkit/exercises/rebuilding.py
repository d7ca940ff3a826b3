"""The other side of `carrying`: make the function again, in the process that runs it."""

from __future__ import annotations

import ast
import base64
import builtins
import functools
import importlib
import linecache
import marshal
import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .catalog import devices
from .missing import stand_in
from .sources import FACTORY


def rebuild(packed: dict[str, Any], folder: Path) -> Any:
    """The function that was packed; its definitions become files in `folder`."""
    sys.path[:] = [*packed["path"], *(x for x in sys.path if x not in packed["path"])]
    if packed.get("graded"):  # what is graded may not fetch the package's solutions
        sys.modules[f"{__package__}.solutions"] = None  # type: ignore[assignment]
    return _Builder(packed, folder).value(packed["root"])


class _Builder:
    def __init__(self, packed: dict[str, Any], folder: Path) -> None:
        self.nodes, self.folder = packed["nodes"], folder
        self.spaces = [_space(name, folder) for name in packed["spaces"]]
        self.made: dict[int, Any] = {}

    def value(self, number: int | None) -> Any:
        """The object a node stands for, made once."""
        if number is None:
            return None
        if number not in self.made:
            node = self.nodes[number]
            getattr(self, f"_{node['k']}")(number, node)
        return self.made[number]

    def _many(self, numbers: list[int]) -> list[Any]:
        return [self.value(n) for n in numbers]

    def _value(self, number: int, node: dict[str, Any]) -> None:
        self.made[number] = node["v"]

    def _float(self, number: int, node: dict[str, Any]) -> None:
        self.made[number] = float.fromhex(node["v"])

    def _module(self, number: int, node: dict[str, Any]) -> None:
        try:
            self.made[number] = importlib.import_module(node["name"])
        except ImportError:
            self.made[number] = stand_in(node["name"], "module")

    def _import(self, number: int, node: dict[str, Any]) -> None:
        found = importlib.import_module(node["module"])
        for part in node["name"].split("."):
            found = getattr(found, part)
        self.made[number] = found

    def _list(self, number: int, node: dict[str, Any]) -> None:
        made = self.made[number] = []
        made += self._many(node["items"])

    def _tuple(self, number: int, node: dict[str, Any]) -> None:
        self.made[number] = tuple(self._many(node["items"]))

    def _set(self, number: int, node: dict[str, Any]) -> None:
        self.made[number] = set(self._many(node["items"]))

    def _frozenset(self, number: int, node: dict[str, Any]) -> None:
        self.made[number] = frozenset(self._many(node["items"]))

    def _dict(self, number: int, node: dict[str, Any]) -> None:
        made = self.made[number] = {}
        made.update({self.value(k): self.value(v) for k, v in node["items"]})

    def _tensor(self, number: int, node: dict[str, Any]) -> None:
        dtype = getattr(torch, node["dtype"])
        raw = bytearray(base64.b64decode(node["data"]))
        flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
        made = flat.reshape(node["shape"])
        if node["device"] != "cpu" and devices.may_use_gpu and torch.cuda.is_available():
            made = made.cuda()
        self.made[number] = made.requires_grad_() if node["grad"] else made

    def _pickle(self, number: int, node: dict[str, Any]) -> None:
        self.made[number] = pickle.loads(base64.b64decode(node["data"]))

    def _missing(self, number: int, node: dict[str, Any]) -> None:
        why, seen = node.get("why", ""), node.get("seen", "")
        self.made[number] = stand_in(node["name"], node["type"], why, seen)

    def _partial(self, number: int, node: dict[str, Any]) -> None:
        fn, args, keywords = self._many(node["items"])
        self.made[number] = functools.partial(fn, *args, **keywords)

    def _method(self, number: int, node: dict[str, Any]) -> None:
        self.made[number] = types.MethodType(*self._many(node["items"]))

    def _cached(self, number: int, node: dict[str, Any]) -> None:
        fn = self.value(node["items"][0])
        self.made[number] = functools.lru_cache(maxsize=node["size"])(fn)

    def _object(self, number: int, node: dict[str, Any]) -> None:
        kind = self.value(node["items"][0])
        made = self.made[number] = object.__new__(kind) if isinstance(kind, type) else kind
        if isinstance(kind, type):
            made.__dict__.update(self.value(node["items"][1]))

    def _class(self, number: int, node: dict[str, Any]) -> None:
        self._function(number, node)

    def _function(self, number: int, node: dict[str, Any]) -> None:
        space = self.spaces[node["space"]]
        for name, early in node["early"].items():
            space[name] = self.value(early)
        made = self._defined(node, space) if "text" in node else self._from_code(node, space)
        if node.get("kernel") and isinstance(made, types.FunctionType):
            from .triton_names import triton  # made by a call, not by a decorator

            made = triton.jit(made)
        self.made[number] = made
        if isinstance(made, types.FunctionType):
            for cell, inner in zip(made.__closure__ or (), node["cells"], strict=True):
                if inner is None:
                    del cell.cell_contents
                else:
                    cell.cell_contents = self.value(inner)
            if "defaults" in node:
                made.__defaults__ = self.value(node["defaults"])
                made.__kwdefaults__ = self.value(node["kwdefaults"])
        for name, late in node["late"].items():
            space[name] = self.value(late)

    def _defined(self, node: dict[str, Any], space: dict[str, Any]) -> Any:
        """Run the definition out of a real file, which is where Triton reads a kernel's source."""
        stem = "".join(c if c.isalnum() else "_" for c in node["name"]).strip("_") or "cell"
        file = self.folder / f"{stem}.py"
        while file.exists():
            file = file.with_stem(file.stem + "_")
        file.write_text(node["text"], encoding="utf-8")
        linecache.checkcache(str(file))
        if node.get("own"):  # what is quoted is the learner's line, not one with ours around it
            own = node["own"]
            linecache.cache[str(file)] = (len(own), None, own.splitlines(True), str(file))
        made: dict[str, Any] = {}
        tree = ast.parse(node["text"])
        if "defaults" in node:
            _strip(tree, node["defined"])
        exec(compile(tree, str(file), "exec", dont_inherit=True), space, made)
        factory = made.get(FACTORY)
        return made[node["defined"]] if factory is None else factory(*(None for _ in node["free"]))

    def _from_code(self, node: dict[str, Any], space: dict[str, Any]) -> Callable[..., Any]:
        code = marshal.loads(base64.b64decode(node["code"]))
        cells = tuple(types.CellType() for _ in code.co_freevars)
        return types.FunctionType(code, space, node["name"], None, cells)


def _strip(tree: ast.Module, name: str) -> None:
    """Take defaults and annotations off: their values come along, what they said may not."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if getattr(node, "name", "<lambda>") != name:
            continue
        arguments = node.args
        arguments.defaults[:] = [_empty(node) for _ in arguments.defaults]
        arguments.kw_defaults[:] = [x and _empty(node) for x in arguments.kw_defaults]
        if not isinstance(node, ast.Lambda):
            node.returns = None
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                argument.annotation = None
        return


def _empty(place: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Constant(None), place)


def _space(name: str | None, folder: Path) -> dict[str, Any]:
    """The names a function sees around it: those of an installed module, or a new set."""
    if name is not None:
        return vars(importlib.import_module(name))
    module = types.ModuleType("notebook")
    module.__dict__.update(__file__=str(folder / "notebook.py"), __builtins__=builtins)
    return vars(module)
