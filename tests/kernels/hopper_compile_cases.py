"""Compile the Hopper kernels without a GPU, and read the machine code. Run in a fresh process.

The launchers themselves supply arguments and configuration, so what is compiled is what a call of
those sizes would get. Prints one JSON object: case name -> what was found.
"""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

if __name__ == "__main__":  # doctest collection imports this file too
    os.environ["TRITON_INTERPRET"] = "0"
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import torch

import fa_toolkit.kernels  # decides the mode before Triton is imported

# isort: split
import importlib

from compile_cases import DTYPES, NoDriver, Warmup
from machine_flow import unset_descriptors
from machine_waits import arrivals_beside_loads
from triton import knobs
from triton.runtime import driver

from fa_toolkit.bench import timeline
from fa_toolkit.bench.editing import load_edited
from fa_toolkit.bench.stamps import STAMPED

#: length of rows and keys where a case says nothing
LENGTH = 4096
CASE = re.compile(
    r"(stamped-)?(forward|backward)-(\d+)-(causal|full)(?:-N(\d+)(?:x(\d+))?)?(-fp16)?(-dlse)?"
)
SMS = 132
_LINE = re.compile(r"^(\.L_x_\d+):|^\s+/\*[0-9a-f]+\*/\s+([^;]*);", re.M)


def tool(path: str, *args: str) -> str:
    """What a tool of CUDA prints."""
    done = subprocess.run([path, *args], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def machine_code(compiled: Any) -> dict[str, Any]:
    """Registers, spills, the loops around tensor core instructions, and what the assembler remarks."""
    with tempfile.TemporaryDirectory() as folder:
        cubin, ptx = Path(folder) / "kernel.cubin", Path(folder) / "kernel.ptx"
        cubin.write_bytes(compiled.asm["cubin"])
        ptx.write_text(compiled.asm["ptx"])
        usage = tool(knobs.nvidia.cuobjdump.path, "-res-usage", str(cubin))
        code = tool(knobs.nvidia.nvdisasm.path, "-c", str(cubin))
        words = tool(knobs.nvidia.nvdisasm.path, "-c", "-hex", str(cubin))
        made = str(cubin.with_suffix(".again"))
        ptxas = knobs.nvidia.ptxas.path
        remarks = tool(ptxas, "-v", "--gpu-name=sm_90a", str(ptx), "-o", made)
    registers = re.search(r"REG:(\d+)", usage)
    assert registers
    operations = collections.Counter(
        text.split()[-1 if text.startswith("@") and len(text.split()) == 1 else 0].split(".")[0]
        for text in (re.sub(r"^@!?U?P\w+\s+", "", line) for _, line in _LINE.findall(code) if line)
    )
    return {
        "registers": int(registers[1]),
        "spills": operations["LDL"] + operations["STL"],
        "products": operations["HGMMA"],
        "handed_out": operations["USETMAXREG"],
        "added": operations["UTMAREDG"],
        # one arrival of the group before each product instead of before many
        "serialised": operations["WARPGROUP"] > operations["HGMMA"],
        "unset": unset_descriptors(code),
        "early": arrivals_beside_loads(words),
        "remarks": [line.strip() for line in remarks.splitlines() if "erformance" in line],
        "loops": loops(code),
    }


def loops(code: str) -> list[dict[str, Any]]:
    """Innermost loops with more than four tensor core instructions."""
    lines = _LINE.findall(code)
    where = {label: at for at, (label, _) in enumerate(lines) if label}
    found = []
    for end, (_, text) in enumerate(lines):
        jump = re.search(r"BRA(?:\.\w+)* .*`\((\.L_x_\d+)\)", text)
        if jump and (begin := where.get(jump[1], end)) < end:
            body = [line for _, line in lines[begin:end] if line]
            if sum("HGMMA" in line for line in body) > 4:
                found.append((begin, end, body))
    inner = [
        x for x in found if not any(x is not y and x[0] <= y[0] and y[1] <= x[1] for y in found)
    ]
    return [
        {
            "instructions": len(body),
            "spills": sum(bool(re.search(r"\b(LDL|STL)\b", line)) for line in body),
            "exponentials": sum("MUFU.EX2" in line for line in body),
            "beside": exponentials_beside_products(body),
            "stamps": stamps_among(body),
            # the logarithm of a row's sum: it goes round once for each tile of rows, not of keys
            "of_rows": any("MUFU.LG2" in line for line in body),
        }
        for _, _, body in inner
    ]


#: what a stamp of a consumer's step stands between
_MARKS = {
    "turn": r"BAR\.SYNC\S* 0x[89], 0x100",
    "product": r"HGMMA",
    "S": r"DEPBAR\.LE gsb0, 0x1",
    "exponential": r"MUFU\.EX2",
    "slot": r"SYNCS\.PHASECHK",
    "P V": r"DEPBAR\.LE gsb0, 0x0",
    "clock": r"SR_CLOCKLO",
}


def stamps_among(body: list[str]) -> str:
    """The order of clock readings and of what they time, from the first reading on; repeats once."""
    found = [name for line in body for name, text in _MARKS.items() if re.search(text, line)]
    start = found.index("clock") if "clock" in found else 0
    turned = found[start:] + found[:start]
    kept = [
        x for x, before in zip(turned, ["", *turned], strict=False) if x == "clock" or x != before
    ]
    return ", ".join(kept)


def exponentials_beside_products(body: list[str]) -> float:
    """The part of the exponentials that comes before the last wait for products; 1 without any."""
    exponentials = [at for at, line in enumerate(body) if "MUFU.EX2" in line]
    waits = [at for at, line in enumerate(body) if "DEPBAR.LE gsb0, 0x0" in line]
    if not exponentials or not waits:
        return 1.0
    return sum(at < waits[-1] for at in exponentials) / len(exponentials)


def compile_case(name: str) -> dict[str, Any]:
    """`forward-128-causal`, `backward-64-full-N512x300-fp16`: pass, width, mask, lengths, dtype.

    `stamped-forward-...`: with the edits of `fa_toolkit.bench.stamps`.
    """
    found = CASE.fullmatch(name)
    assert found, name
    which, d, causal = found[2], int(found[3]), found[4] == "causal"
    nq = int(found[5] or LENGTH)
    nk = int(found[6] or nq)
    dtype = DTYPES["fp16" if found[7] else "bf16"]
    q = torch.empty(1, 4, nq, d, dtype=dtype)
    k, v = (torch.empty(1, 2, nk, d, dtype=dtype) for _ in "kv")
    options = {"causal": causal, "scale": d**-0.5}
    Warmup.asked, Warmup.compiled = f"hopper_{which}_kernel", None
    call: Any = importlib.import_module(f"fa_toolkit.kernels.hopper.{which}_call")
    if found[1]:
        call = load_edited(timeline.PACKAGE, [timeline.DOOR], STAMPED, "stamped")[timeline.DOOR]
        call.hopper_forward_kernel = Warmup(call.hopper_forward_kernel)
        timeline.handing_buffer(call)
    home = "configuration" if which == "forward" else "backward_configuration"
    choose = importlib.import_module(f"fa_toolkit.kernels.hopper.{home}")
    with no_gpu():
        if which == "forward":
            call.hopper_forward(q, k, v, **options)
        else:
            lse = torch.empty(1, 4, nq)
            call.hopper_backward(q, k, v, q, lse, q, dlse=lse if found[8] else None, **options)
    config = getattr(choose, f"{which}_config")(d, nq, nk, causal)
    groups = getattr(config, "groups", 2)
    return {
        **machine_code(Warmup.compiled),
        "shared": Warmup.compiled.metadata.shared,
        "given": groups * config.consumer_regs + config.producer_regs,
        "groups": groups,
        "pinned": getattr(config, "pin", True),
    }


def no_gpu() -> Any:
    """A Hopper GPU that has everything but itself."""
    stream = SimpleNamespace(cuda_stream=0, synchronize=lambda: None)
    properties = SimpleNamespace(
        multi_processor_count=SMS, major=9, minor=0, L2_cache_size=50 * 2**20
    )
    return mock.patch.multiple(
        torch.cuda,
        get_device_properties=lambda *_: properties,
        get_device_capability=lambda *_: (9, 0),
        current_device=lambda: 0,
        current_stream=lambda *_: stream,
        is_current_stream_capturing=lambda: False,
    )


def main() -> None:
    NoDriver.capability = 90
    driver.set_active(NoDriver())  # type: ignore[arg-type]
    folder = Path(fa_toolkit.kernels.__file__).parent / "hopper"
    for path in folder.glob("*_call.py"):
        module = importlib.import_module(f"fa_toolkit.kernels.hopper.{path.stem}")
        for name in [name for name in vars(module) if name.endswith("_kernel")]:
            setattr(module, name, Warmup(getattr(module, name)))
    print(json.dumps({name: compile_case(name) for name in sys.argv[1:]}))


if __name__ == "__main__":
    main()
