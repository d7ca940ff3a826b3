"""The interpreter forgives what a compiler does not: every solved kernel is compiled for a GPU.

In a process of its own that does not interpret; no GPU is needed. Nothing is run.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fa_toolkit import exercises

KERNELS = [x for x in exercises.ids() if "05" <= x[:2] <= "06"]
#: Compile every kernel of the files named on the command line for an H100; print those that fail.
COMPILE = """
import importlib.util, sys, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SIZES = dict(BLOCK=16, BLOCK_D=16, D=16, GROUP=4, HEADS_Q=4, IS_CAUSAL=True)

def kind(name):
    if name.endswith("_ptr"):
        return "*i32" if name == "stop_ptr" else "*fp32"
    return "fp32" if name == "scale" else "i32"

count = 0
for number, file in enumerate(sys.argv[1:]):
    spec = importlib.util.spec_from_file_location(f"cell_{number}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, kernel in vars(module).items():
        if not isinstance(kernel, triton.runtime.jit.JITFunction):
            continue
        fixed = {p.name: SIZES[p.name] for p in kernel.params if p.is_constexpr}
        types = {p.name: "constexpr" if p.is_constexpr else kind(p.name) for p in kernel.params}
        try:
            source = ASTSource(kernel, types, constexprs=fixed)
            triton.compile(source, target=GPUTarget("cuda", 90, 32))
            count += 1
        except Exception as error:
            print("FAILED", name, str(error)[-400:])
print("compiled", count)
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_every_solved_kernel_compiles_for_a_gpu(tmp_path: Path) -> None:
    files = []
    for name in KERNELS:
        file = tmp_path / f"{name.replace('.', '_')}.py"
        imports = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
        file.write_text(imports + exercises.solved(name))
        files.append(str(file))
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path / "cache")
    found = subprocess.run(
        [sys.executable, "-c", COMPILE, *files],
        capture_output=True, text=True, timeout=300, env=environment, check=False,
    )  # fmt: skip
    assert "FAILED" not in found.stdout, found.stdout
    assert f"compiled {len(KERNELS)}" in found.stdout, found.stdout + found.stderr
