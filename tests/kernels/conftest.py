"""Kernel tests let the package choose the mode: it is imported before Triton can be."""

from __future__ import annotations

import pytest

import fa_toolkit.kernels as kernels


@pytest.fixture(autouse=True)
def _kernels_run_here() -> None:
    if kernels.mode() == "none":
        pytest.skip(f"no kernels here: {kernels.mode().reason.en}")
