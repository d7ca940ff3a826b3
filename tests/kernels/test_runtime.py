"""Where kernels run is decided once, before Triton, and every dead end says the way out."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

BLOCK_TRITON = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name == "triton" or name.startswith("triton."):
            raise ModuleNotFoundError("No module named 'triton'", name="triton")
sys.meta_path.insert(0, Block())
"""
NO_GPU = "import torch; torch.cuda.is_available = lambda: False\n"
GPU = "import torch; torch.cuda.is_available = lambda: True\n"


def _run(code: str, **environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=kept | {"FA_LANG": "en"} | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


TRY = """
import fa_toolkit.kernels as kernels
print(kernels.mode())
try:
    kernels.vector_add
    print("usable")
except RuntimeError as error:
    print(type(error).__name__, error)
"""


def test_without_triton_import_works_and_use_says_why() -> None:
    said = _run(BLOCK_TRITON + TRY)
    assert said.startswith("none\nBackendUnavailable")
    assert "no wheel for this platform" in said and 'impl="tiled"' in said


def test_without_a_gpu_the_interpreter_is_switched_on_and_said_once() -> None:
    said = _run(NO_GPU + TRY)
    assert "interpreter\nusable" in said
    assert said.count("No GPU found") == 1


def test_with_a_gpu_nothing_is_changed() -> None:
    said = _run(
        GPU + "import os, sys, fa_toolkit.kernels as kernels\n"
        "print(kernels.mode(), 'TRITON_INTERPRET' in os.environ, 'triton' in sys.modules)"
    )
    assert said.split() == ["gpu", "False", "False"]


def test_the_environment_is_obeyed() -> None:
    assert "interpreter\nusable" in _run(GPU + TRY, TRITON_INTERPRET="1")
    said = _run(NO_GPU + TRY, TRITON_INTERPRET="0")
    assert said.startswith("none\nBackendUnavailable") and "compiled but not run" in said


@pytest.mark.parametrize("first", ["triton", "triton.language"])
def test_triton_first_without_a_gpu_asks_for_a_restart(first: str) -> None:
    said = _run(NO_GPU + f"import {first}\n" + TRY)
    assert said.startswith("none\nBackendUnavailable")
    assert "restart the kernel and import fa_toolkit.kernels first" in said


def test_setting_the_variable_too_late_is_noticed() -> None:
    said = _run(NO_GPU + "import triton, os; os.environ['TRITON_INTERPRET'] = '1'\n" + TRY)
    assert said.startswith("none\nBackendUnavailable") and "restart" in said


def test_a_triton_that_already_interprets_is_used() -> None:
    said = _run(NO_GPU + "import triton.language\n" + TRY, TRITON_INTERPRET="1")
    assert "interpreter\nusable" in said


def test_launchers_win_over_the_files_that_hold_them() -> None:
    said = _run(
        NO_GPU + "import fa_toolkit.kernels.flash_forward, fa_toolkit.kernels as kernels\n"
        "print(callable(kernels.flash_forward), callable(kernels.matmul))"
    )
    assert "True True" in said
