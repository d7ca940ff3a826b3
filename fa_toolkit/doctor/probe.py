"""What can only be found out by importing torch and running a kernel: done in a child process.

The child prints one line of JSON. A crash, a hang or an import error there is a finding here,
never a dead notebook.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from typing import Any

MARK = "fa-probe:"
CODE = "from fa_toolkit.doctor.probe import main; main()"


def start() -> subprocess.Popen[str]:
    """Start the child; it works while the parent looks at other things."""
    return subprocess.Popen(
        [sys.executable, "-c", CODE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def result(child: subprocess.Popen[str], timeout: float) -> dict[str, Any]:
    """What the child found; under "error" why it found nothing."""
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return {"error": f"no answer in {timeout:.0f} s"}
    for line in reversed(out.splitlines()):
        if line.startswith(MARK):
            found = json.loads(line.removeprefix(MARK))
            return found if isinstance(found, dict) else {"error": line}
    if child.returncode and child.returncode < 0:
        return {"error": f"signal {-child.returncode}"}
    lines = [line for line in err.splitlines() if line.strip()]
    return {"error": lines[-1] if lines else f"exit code {child.returncode}"}


def main() -> None:
    """Runs in the child: each part on its own, so that one failure does not hide the others."""
    logging.disable(logging.CRITICAL)
    found: dict[str, Any] = {}
    for part in (_torch, _kernel, _exercises, _quiz, _font):
        try:
            found.update(part())
        except Exception as error:
            found[f"{part.__name__.strip('_')}_error"] = f"{type(error).__name__}: {error}"
    print(MARK + json.dumps(found), flush=True)


def _torch() -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {"torch": torch.__version__, "cuda_build": torch.version.cuda}
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        found["gpu"] = properties.name
        found["gpu_memory"] = properties.total_memory
    return found


def _kernel() -> dict[str, Any]:
    """Add two vectors whose length fits no block, and compare with torch, element by element."""
    import torch

    from .. import kernels

    mode = kernels.mode()
    found: dict[str, Any] = {"mode": str(mode), "reason": list(mode.reason)}
    if mode == "none":
        return found
    device = "cuda" if mode == "gpu" else "cpu"
    x = torch.arange(1000, dtype=torch.float32, device=device)
    started = time.perf_counter()
    total = kernels.vector_add(x, 2 * x)
    found["kernel_right"] = bool(torch.equal(total, 3 * x))
    found["kernel_seconds"] = time.perf_counter() - started
    if mode == "gpu":
        found.update(_hopper(torch.device("cuda", 0)))
    return found


def _hopper(device: Any) -> dict[str, Any]:
    """Whether the kernels for Hopper can be had; nothing where the GPU is of another kind."""
    from ..kernels import routing
    from ..kernels.hopper import availability

    place = routing.place_of(device)
    if place.capability != availability.HOPPER:
        return {}
    return {"hopper_absent": None if place.absent is None else list(place.absent)}


def _exercises() -> dict[str, Any]:
    from .. import exercises

    return {"exercises": len(exercises.ids())}


def _quiz() -> dict[str, Any]:
    from ..quiz import load_bank

    bank = load_bank()
    return {"questions": len(bank.questions), "chapters": len(bank.chapters)}


def _font() -> dict[str, Any]:
    from ..viz.fonts import chinese_family

    return {"font": chinese_family()}
