"""Finds a GPU record by name, or for the device that is present."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..errors import UnknownNameError
from ..language import Text
from . import ada_blackwell, amd, ampere, hopper
from .record import GPU

#: Every record by its key, oldest architecture first.
GPUS: Mapping[str, GPU] = MappingProxyType(
    {
        record.key: record
        for records in (ampere.RECORDS, ada_blackwell.RECORDS, hopper.RECORDS, amd.RECORDS)
        for record in records
    }
)

_NOISE = ("nvidia", "amd", "geforce", "instinct", "tesla", "gb", "gpu")
#: Short names that would fit several records, and the one that is meant.
_MEANT = {"a100": "a100-80", "h100": "h100-sxm", "a10080sxm": "a100-80", "a10040sxm": "a100-40"}


def _plain(name: str) -> str:
    letters = "".join(c if c.isalnum() else " " for c in name.lower()).split()
    joined = "".join(letters)
    for noise in _NOISE:
        joined = joined.replace(noise, "")
    return joined


def gpu(name: str) -> GPU:
    """The record of the GPU called `name`.

    Spaces, dashes, capitals, "NVIDIA", "GeForce" and "GB" do not matter; a bare "a100" means the
    80 GB SXM module and a bare "h100" the SXM module.

    Raises:
        UnknownNameError: if no GPU or several are called so; the error lists near names.

    Example:
        >>> gpu("A100-40").sms, gpu("RTX 4090").name, gpu("h100").key
        (108, 'GeForce RTX 4090', 'h100-sxm')
    """
    wanted = _plain(str(name))
    if wanted in _MEANT:
        return GPUS[_MEANT[wanted]]
    names: dict[str, str] = {}
    for key, record in GPUS.items():
        for spelling in (key, record.name, *record.device_names):
            names[_plain(spelling)] = key
    if wanted in names:
        return GPUS[names[wanted]]
    starting = sorted({key for spelling, key in names.items() if wanted and wanted in spelling})
    if len(starting) == 1:
        return GPUS[starting[0]]
    near = starting or [names[n] for n in difflib.get_close_matches(wanted, names, n=4, cutoff=0.5)]
    raise UnknownNameError(
        "gpu",
        expected=Text("the name of one GPU we have figures for", "一块我们有数据的 GPU 的名字"),
        got=repr(name),
        hint=", ".join(dict.fromkeys(near)) or ", ".join(GPUS),
    )


def detect(device: int | None = None) -> GPU | None:
    """The GPU of this machine, or None where there is none (or no torch).

    A GPU without a record comes back with what its driver tells (SMs, memories) and None for the
    rest, such as bandwidth and peak rates: see `GPU.need`.

    Args:
        device: index of the CUDA device; None is the current one.
    """
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(
        torch.cuda.current_device() if device is None else device
    )
    return known(properties.name) or from_properties(properties)


def known(device_name: str) -> GPU | None:
    """The record of exactly this device, by the name torch gives it; None if we have none.

    Nothing fuzzy here: an "RTX 4090 Laptop GPU" or a MIG slice is another machine.
    """
    wanted = " ".join(device_name.split()).lower()
    for record in GPUS.values():
        if wanted in (spelling.lower() for spelling in record.device_names):
            return record
    return None


def from_properties(properties: Any) -> GPU:
    """A record of what `torch.cuda.get_device_properties` tells; the rest stays None."""
    amd_arch = str(getattr(properties, "gcnArchName", "")).split(":")[0]
    is_amd = amd_arch.startswith("gfx")
    registers = getattr(properties, "regs_per_multiprocessor", None)
    # ROCm reports the L2 of one die of several, so it is left out there
    figures: dict[str, Any] = {
        "sms": getattr(properties, "multi_processor_count", None),
        "registers_per_sm": None if registers is None or is_amd else 4 * registers,
        "shared_per_sm": getattr(properties, "shared_memory_per_multiprocessor", None),
        "shared_per_block": getattr(properties, "shared_memory_per_block_optin", None),
        "l2": None if is_amd else getattr(properties, "L2_cache_size", None),
        "hbm_bytes": getattr(properties, "total_memory", None),
    }
    figures = {name: value or None for name, value in figures.items()}
    return GPU(
        key=_plain(properties.name),
        name=properties.name,
        vendor="AMD" if is_amd else "NVIDIA",
        arch=amd_arch if is_amd else f"sm_{properties.major}{properties.minor}",
        sources={
            name: "device property, as the driver reports it"
            for name, value in figures.items()
            if value is not None
        },
        device_names=(properties.name,),
        **figures,
    )
