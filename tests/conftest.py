"""What every test shares: one thread, a fixed seed, the device, and memory that starts as NaN."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

MARKERS = {
    "gpu": "needs a CUDA device",
    "notebook": "runs whole notebooks",
    "browser": "needs Chromium",
    "slow": "takes more than ten seconds",
}


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no CUDA device here"))


@pytest.fixture(autouse=True)
def seed() -> int:
    """Every test starts from the same random state."""
    torch.manual_seed(0)
    return 0


@pytest.fixture
def device() -> str:
    """Where kernels run: the GPU if there is one, else the CPU through the interpreter."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def _poisoned(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def empty(*args: Any, **kwargs: Any) -> torch.Tensor:
        fresh = make(*args, **kwargs)
        with torch.no_grad():
            return fresh.fill_(float("nan")) if fresh.is_floating_point() else fresh

    return empty


@pytest.fixture
def poisoned_empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`torch.empty` and its kin hand out NaN, so an element nobody stores cannot look right."""
    for name in ("empty", "empty_like", "empty_strided"):
        monkeypatch.setattr(torch, name, _poisoned(getattr(torch, name)))
    monkeypatch.setattr(torch.Tensor, "new_empty", _poisoned(torch.Tensor.new_empty))
    yield
