"""Compile the decode and merge kernels for GPUs that are not here. Run in a fresh process.

As `compile_cases.py`: the launcher itself supplies the arguments.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import tempfile
from typing import Any

if __name__ == "__main__":  # doctest collection imports this file too
    os.environ["TRITON_INTERPRET"] = "0"
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import compile_cases as base  # decides the mode before Triton is imported

# isort: split
import torch
from triton.runtime import driver

from fa_toolkit.kernels.call import Call
from fa_toolkit.kernels.configuration import Device
from fa_toolkit.kernels.decode_configuration import plan_decode

decode = importlib.import_module("fa_toolkit.kernels.flash_decode")
merge = importlib.import_module("fa_toolkit.kernels.merge_parts")
NO_MERGE = {"spills": 0, "registers": 0, "lopsided": 0}
SMS = {75: 40, 80: 108, 89: 128, 90: 132, 100: 148}


class Warmup(base.Warmup):
    """Keeps what every kernel of a call was compiled to, by name."""

    kept: dict[str, Any]

    def __init__(self, kernel: Any, kept: dict[str, Any]) -> None:
        super().__init__(kernel)
        self.kept = kept

    def __getitem__(self, grid: Any) -> Any:
        def compile_only(*args: Any, **meta: Any) -> None:
            self.kept[self.kernel.fn.__name__] = self.kernel.warmup(*args, grid=grid, **meta)

        return compile_only


def launch(case: re.Match[str]) -> None:
    """Call the launcher that a case name asks for."""
    dtype, d, group, page = base.DTYPES[case[2]], int(case[3]), int(case[5]), int(case[6] or 0)
    dv, flags = int(case[4] or d), bool(case[7])
    batch, heads, slots = (1, 1, 1) if case[8] == "-ones" else (2, 2, 1024 if page else 8192)
    shape = (slots, page, heads) if page else (batch, heads, slots)
    k, v = torch.empty(*shape, d, dtype=dtype), torch.empty(*shape, dv, dtype=dtype)
    if case[8] == "-attend":
        q = torch.empty(batch, heads * group, 4, d, dtype=dtype)
        call = Call.of(q, k, v, causal=True)
        decode.attend_split(call, q, k, v, decode.choose_decode(call.problem, None))
        return
    table = torch.empty(batch, max(slots // page, 1), dtype=torch.int32) if page else None
    decode.flash_decode(
        torch.empty(batch, 4 if flags else 1, heads * group, d, dtype=dtype), k, v,
        seq_lens=torch.empty(batch, dtype=torch.int32), block_table=table,
        sink=torch.empty(heads * group) if flags else None,
        window=(100, 0) if flags else None, softcap=30.0 if flags else None,
    )  # fmt: skip


def compile_case(name: str, kept: dict[str, Any]) -> dict[str, Any]:
    """`sm90-fp16-D128-G8-page16-all`: group of 8, pages of 16, every flag; or D24:40 for D != Dv.

    `-attend`: attention of few queries, without lengths; `-ones`: one sequence, key head and slot,
    so that Triton makes constants of the sizes.
    """
    found = re.fullmatch(
        r"sm(\d+)-(\w+)-D(\d+)(?::(\d+))?-G(\d+)(?:-page(\d+))?(-all)?(-ones|-attend)?", name
    )
    assert found, name
    capability = int(found[1])
    device = Device(divmod(capability, 10), base.LIMITS[capability])
    base.NoDriver.capability = capability
    bounds: list[int] = []

    def choose(problem: Any, _: Any, **keywords: Any) -> Any:
        plan = plan_decode(problem, device, SMS[capability], **keywords)
        bounds.append(plan.launch.shared(problem.itemsize, device))
        return plan

    decode.choose_decode = choose
    kept.clear()
    launch(found)
    kernel, merging = kept["flash_decode_kernel"], kept.get("merge_parts_kernel")
    merged = base.resources(merging.asm["cubin"]) if merging else dict(NO_MERGE)
    ahead = "griddepcontrol.launch_dependents" in kernel.asm["ptx"]
    waits = bool(merging) and "griddepcontrol.wait" in merging.asm["ptx"]
    assert ahead == waits == (bool(merging) and merging.metadata.launch_pdl)
    return {
        **base.resources(kernel.asm["cubin"]),
        "merge_spills": merged["spills"],
        "merge_registers": merged["registers"],
        "merge_lopsided": merged["lopsided"],
        "overlap": waits,
        "shared": kernel.metadata.shared,
        "bound": bounds[0],
        "limit": base.LIMITS[capability],
        "vector_loads": len(
            re.findall(r"ld\.global\S*\.v[248]|cp\.async\S* .*16", kernel.asm["ptx"])
        ),
    }


def main() -> None:
    driver.set_active(base.NoDriver())  # type: ignore[arg-type]
    kept: dict[str, Any] = {}
    decode.require_kernels = lambda *tensors: None
    decode.flash_decode_kernel = Warmup(decode.flash_decode_kernel, kept)
    merge.merge_parts_kernel = Warmup(merge.merge_parts_kernel, kept)
    print(json.dumps({name: compile_case(name, kept) for name in sys.argv[1:]}))


if __name__ == "__main__":
    main()
