"""Records of AMD GPUs, data only. A compute unit stands for an SM, LDS for shared memory."""

from __future__ import annotations

from .record import GPU, GiB, KiB, MiB

_SHEET = "AMD Instinct MI300X Accelerator, data sheet (2023)"
_CDNA3 = "AMD CDNA 3 Architecture, white paper (2023)"
_ISA = "AMD Instinct MI300 (CDNA 3) Instruction Set Architecture, reference guide"

MI300X = GPU(
    key="mi300x",
    name="Instinct MI300X",
    vendor="AMD",
    arch="gfx942",
    sms=304,
    registers_per_sm=512 * KiB,
    l1_per_sm=96 * KiB,
    shared_per_sm=64 * KiB,
    shared_per_block=64 * KiB,
    l2=8 * 4 * MiB,
    l2_bandwidth=8 * 2048 * 2.1e9,
    pcie_generation=5,
    hbm_bytes=192 * GiB,
    hbm_bandwidth=5300e9,
    peak_flops={
        "float16": 1307.4e12,
        "bfloat16": 1307.4e12,
        "tf32": 653.7e12,
        "float8": 2614.9e12,
        "float32": 163.4e12,
    },
    boost_clock=2.1e9,
    shared_bytes_per_clock=128,
    sources={
        "sms": f"{_SHEET} (304 compute units)",
        "registers_per_sm": f"{_ISA}: 4 SIMDs with 128 KB of vector registers each",
        "l1_per_sm": f"{_CDNA3}: 64 KB of LDS and, apart from it, 32 KB of vector L1",
        "shared_per_sm": f"{_ISA}, section on LDS (64 KB)",
        "shared_per_block": f"{_ISA}, section on LDS (64 KB a work-group)",
        "l2": (
            f"{_CDNA3}: 4 MB on each of 8 dies; 256 MB of Infinity Cache lie between L2 and HBM"
            " and have no field here"
        ),
        "l2_bandwidth": f"{_CDNA3}: 2 KB/clk on each of 8 dies x boost_clock",
        "pcie_generation": f"{_SHEET} (PCIe Gen 5 x16)",
        "hbm_bytes": f"{_SHEET} (192 GB HBM3)",
        "hbm_bandwidth": f"{_SHEET} (5.3 TB/s)",
        "peak_flops": f"{_SHEET}, matrix rates without sparsity",
        "boost_clock": f"{_SHEET} (2100 MHz)",
        "shared_bytes_per_clock": f"{_ISA}, section on LDS: 32 banks of 4 bytes",
    },
    device_names=("AMD Instinct MI300X", "AMD Instinct MI300X OAM"),
)

RECORDS = (MI300X,)
