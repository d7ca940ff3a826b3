"""What every test shares: one thread, a fixed seed, the device, and memory that starts as NaN."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import budgets
import pytest
import ratios
import torch

RECORD = os.environ.get("FA_RECORD", "")  # a JSON file for counts and the worst ratios
FAILURES = os.environ.get("FA_FAILURES", "")  # a file that gets each failure as it happens
MARKERS = {
    "gpu": "needs a CUDA device",
    "notebook": "runs whole notebooks",
    "browser": "needs Chromium",
    "slow": "takes long",
}


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    torch.set_num_threads(1)
    first = not hasattr(config, "workerinput")  # the process that starts the others
    if FAILURES and first:
        config.pluginmanager.register(FailuresAtOnce())
    if RECORD:
        if first:
            Path(RECORD).unlink(missing_ok=True)
        budgets.WATCHERS.append(ratios.Ratios())


class FailuresAtOnce:
    """Writes failures down while a long run goes on, which may be stopped before its summary."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            with Path(FAILURES).open("a") as file:
                file.write(f"== {report.nodeid} ({report.when})\n{report.longreprtext}\n")


def pytest_sessionfinish() -> None:
    for watcher in budgets.WATCHERS:
        if isinstance(watcher, ratios.Ratios):
            watcher.merge_into(Path(RECORD))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if RECORD and Path(RECORD).exists():
        terminalreporter.section(f"worst ratios, {RECORD}")
        for line in ratios.summary(Path(RECORD)):
            terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Nothing below this folder has examples in docstrings, and no file is asked for any.

    An import error is no failure of examples, and the file would be known by then: a test file that
    cannot be imported counted as skipped.
    """
    return [found for found in (yield) if type(found).__name__ != "DoctestModule"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no CUDA device here"))


@pytest.fixture(autouse=True)
def _the_language_of_one_test_is_not_that_of_the_next() -> Iterator[None]:
    from fa_toolkit import language

    before = list(language._started)
    yield
    language._started[:] = before


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
