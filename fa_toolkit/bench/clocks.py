"""Clock and power of the GPU while something runs. Reads only; never sets anything."""

from __future__ import annotations

import importlib
import statistics
import subprocess
import threading
from types import TracebackType
from typing import Any, NamedTuple

_EVERY = 0.02  # seconds
_QUERY = "driver_version,clocks.max.sm,power.limit"


class Card(NamedTuple):
    """What the driver says of itself; unknown is "" or None."""

    driver: str
    max_clock_mhz: float | None
    power_limit_w: float | None


def nvml() -> Any | None:
    """The initialised NVML module, or None where it is not installed or has no device."""
    try:
        module = importlib.import_module("pynvml")
        module.nvmlInit()
    except Exception:  # not installed, or no driver: both mean that there is nothing to read
        return None
    return module


def _handle(module: Any) -> Any:
    """The device torch runs on, also where CUDA_VISIBLE_DEVICES renumbers them."""
    import torch

    uuid = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", None)
    if uuid is not None:
        for prefix in ("GPU-", "MIG-"):
            try:
                return module.nvmlDeviceGetHandleByUUID(f"{prefix}{uuid}")
            except Exception:  # not under this prefix
                continue
    return module.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())


def card() -> Card:
    """Driver and limits, from NVML or from nvidia-smi, whichever is there."""
    module = nvml()
    if module is not None:
        try:
            handle = _handle(module)
            driver = module.nvmlSystemGetDriverVersion()
            clock = float(module.nvmlDeviceGetMaxClockInfo(handle, module.NVML_CLOCK_SM))
            limit = module.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000
            return Card(driver.decode() if isinstance(driver, bytes) else driver, clock, limit)
        except Exception:  # some virtual GPUs answer only a part
            pass
    return _smi()


def _smi() -> Card:
    command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        driver, clock, limit = (part.strip() for part in ran.stdout.splitlines()[0].split(","))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return Card("", None, None)
    return Card(driver, _number(clock), _number(limit))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # "[N/A]"
        return None


class Sampler:
    """SM clock and power, read in the background inside a `with` block; empty without NVML."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Sampler:
        module = nvml()
        if module is not None:
            self._thread = threading.Thread(target=self._run, args=(module,), daemon=True)
            self._thread.start()
        return self

    def _run(self, module: Any) -> None:
        try:
            handle = _handle(module)
            while not self._stop.wait(_EVERY):
                clock = module.nvmlDeviceGetClockInfo(handle, module.NVML_CLOCK_SM)
                self.rows.append((float(clock), module.nvmlDeviceGetPowerUsage(handle) / 1000))
        except Exception:  # a device that does not tell: no rows
            return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def settled(self) -> tuple[float | None, float | None]:
        """Median clock (MHz) and power (W) of the second half; None where nothing was read."""
        half = self.rows[len(self.rows) // 2 :]
        if not half:
            return None, None
        clock = statistics.median(row[0] for row in half)
        return clock, statistics.median(row[1] for row in half)
