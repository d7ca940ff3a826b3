"""Where the kernels of a call would run: this machine's GPU, its interpreter, or a GPU by name."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from .. import hardware, kernels
from ..hardware import GPU
from ..kernels.configuration import INTERPRETER, Device, device_of
from ..kernels.hopper.availability import Place
from ..kernels.precision import asked_precision
from ..kernels.routing import place_named, place_of
from ..language import Text

_AMPERE, _AMD = (8, 0), (0, 1)


@dataclass(frozen=True)
class Target:
    """A place for kernels.

    Args:
        device: what decides a configuration.
        gpu: its record; None for the interpreter.
        place: what decides whether the kernels for Hopper are there.
    """

    device: Device
    gpu: GPU | None
    name: Text
    place: Place

    @property
    def precision(self) -> str:
        """How float32 products are done there: "ieee" or "tf32", as `kernels.precision` has it."""
        capable = self.device.capability >= _AMPERE or self.device.capability == _AMD
        return asked_precision() if capable and self.gpu is not None else "ieee"


def named(gpu: str | GPU) -> Target:
    """A GPU that need not be here.

    Raises:
        UnknownNameError: if there is no record of it.
        ArgumentError: if its record lacks the shared memory of a block.
    """
    record = gpu if isinstance(gpu, GPU) else hardware.gpu(gpu)
    number = record.arch.removeprefix("sm_")
    capability = divmod(int(number), 10) if number.isdigit() else _AMD
    device = Device(capability, int(record.need("shared_per_block")))
    return Target(device, record, _title(record), place_named(device, record.name))


def of_tensors(q: Tensor, k: Tensor, v: Tensor) -> Target:
    """Where kernels would find these tensors.

    Raises:
        BackendUnavailable, DeviceError: as the launchers, if no kernel can.
    """
    kernels.require()
    from ..kernels.launching import require_kernels  # loads Triton

    require_kernels(q, k, v)
    if not q.is_cuda:
        return Target(
            INTERPRETER,
            None,
            Text("the CPU, in Triton's interpreter", " CPU 的 Triton 解释器"),
            place_of(q.device),
        )
    record = hardware.detect(q.device.index)
    name = Text(str(q.device), f" {q.device} ") if record is None else _title(record)
    return Target(device_of(q.device.index), record, name, place_of(q.device))


def _title(record: GPU) -> Text:
    return Text(f"{record.name} ({record.arch})", f" {record.name}（{record.arch}）")
