"""Where a run takes place: device, driver, versions, day. What `Provenance` asks for, looked up."""

from __future__ import annotations

import importlib.metadata
import platform
from datetime import datetime
from pathlib import Path

import torch

from .. import __version__
from ..measured import Provenance
from .clocks import Card, card

_PACKAGES = (
    "triton", "flash-attn", "flash-attn-3", "fa3-fwd", "flash-attn-4", "xformers", "flashinfer-python",
)  # fmt: skip


def provenance(command: str, *, gpu: bool) -> Provenance:
    """This machine, now."""
    found = card() if gpu else Card("", None, None)
    return Provenance(
        device=torch.cuda.get_device_name() if gpu else f"CPU: {cpu_name()}",
        driver=(found.driver or "unknown") if gpu else "",
        versions=versions(gpu=gpu),
        date=datetime.now().astimezone().isoformat(timespec="minutes"),
        command=command,
        source="fa bench",
        max_clock_mhz=found.max_clock_mhz,
        power_limit_w=found.power_limit_w,
    )


def versions(*, gpu: bool) -> dict[str, str]:
    """Versions of what can change a number."""
    found = {"python": platform.python_version(), "torch": str(torch.__version__)}
    if gpu:
        found["cuda"] = str(torch.version.cuda or torch.version.hip)
        found["cudnn"] = str(torch.backends.cudnn.version())  # type: ignore[no-untyped-call]
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found | {"fa-toolkit": __version__}


def cpu_name() -> str:
    """The processor's name and how many threads torch uses."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{name}, torch threads: {torch.get_num_threads()}"
