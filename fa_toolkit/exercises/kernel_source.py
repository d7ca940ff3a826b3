"""A kernel as the lint sees it: parameters, definitions, and the sizes it is launched with."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field


@dataclass
class KernelSource:
    """What is known of one kernel: its parameters, its definitions, the sizes it is launched with."""

    node: ast.FunctionDef
    constexprs: set[str] = field(default_factory=set)
    runtime: set[str] = field(default_factory=set)
    assigned: dict[str, ast.expr] = field(default_factory=dict)  # the last of each name
    steps: dict[str, str] = field(default_factory=dict)  # loop variable: its step, as written
    launched: dict[str, tuple[int, int]] = field(default_factory=dict)  # constexpr: value, line


def is_kernel(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    return any("jit" in ast.unparse(d) and "triton" in ast.unparse(d) for d in node.decorator_list)


def read(node: ast.FunctionDef) -> KernelSource:
    kernel = KernelSource(node)
    for argument in (*node.args.args, *node.args.kwonlyargs):
        note = ast.unparse(argument.annotation) if argument.annotation else ""
        (kernel.constexprs if "constexpr" in note else kernel.runtime).add(argument.arg)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign):
            for target in inner.targets:
                _assign(kernel, target, inner.value)
        elif isinstance(inner, ast.For) and isinstance(inner.target, ast.Name):
            call = inner.iter
            if isinstance(call, ast.Call) and len(call.args) == 3:
                kernel.steps[inner.target.id] = ast.unparse(call.args[2])
    return kernel


def _assign(kernel: KernelSource, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        kernel.assigned[target.id] = value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, item in zip(target.elts, value.elts, strict=False):
            _assign(kernel, one, item)


def note_launches(tree: ast.Module, kernels: dict[str, KernelSource]) -> None:
    """Literal sizes at the launches: `kernel[grid](..., BLOCK=8)`."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)):
            continue
        name = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        for keyword in node.keywords if name in kernels else ():
            value = keyword.value
            if keyword.arg and isinstance(value, ast.Constant) and type(value.value) is int:
                kernels[name].launched[keyword.arg] = value.value, node.lineno
