"""Records of NVIDIA GPUs with the Hopper architecture (H100, H800, H200, H20). Data only."""

from __future__ import annotations

from dataclasses import replace

from .ampere import BANKS, DISSECTED, EXP, GUIDE
from .record import GPU, Figure, GiB, KiB, MiB

_GH100 = "NVIDIA H100 Tensor Core GPU Architecture, whitepaper V1.04 (2023)"
_TABLE = f"{_GH100}, table 'Comparison of NVIDIA A100 and H100 Data Center GPUs'"
_SHEET = "NVIDIA H100 Tensor Core GPU, datasheet (2024), specification table"
_TUNING = (
    "NVIDIA, Tuning CUDA Applications for the Hopper GPU Architecture,"
    " section 'Unified Shared Memory/L1/Texture Cache'"
)

H100_SXM = GPU(
    key="h100-sxm",
    name="H100 SXM",
    vendor="NVIDIA",
    arch="sm_90",
    sms=132,
    registers_per_sm=256 * KiB,
    l1_per_sm=256 * KiB,
    shared_per_sm=228 * KiB,
    shared_per_block=227 * KiB,
    l2=50 * MiB,
    warps_per_sm=64,
    pcie_generation=5,
    hbm_bytes=80 * GiB,
    hbm_bandwidth=3352e9,
    peak_flops={
        "float16": 989.4e12,
        "bfloat16": 989.4e12,
        "tf32": 494.7e12,
        "float8": 1978.9e12,
        "float32": 66.9e12,
    },
    boost_clock=1.98e9,
    shared_bytes_per_clock=128,
    exp_per_clock=16,
    sources={
        "sms": _TABLE,
        "registers_per_sm": _TABLE,
        "l1_per_sm": f"{_GH100}, section 'H100 SM Architecture' (256 KB)",
        "shared_per_sm": _TUNING,
        "shared_per_block": _TUNING,
        "l2": f"{_TABLE} (51200 KB)",
        "warps_per_sm": GUIDE,
        "pcie_generation": f"{_SHEET} (PCIe Gen5: 128 GB/s, both directions together)",
        "hbm_bytes": _SHEET,
        "hbm_bandwidth": f"{_SHEET} (3.35 TB/s); whitepaper table: 3352 GB/s",
        "peak_flops": f"{_TABLE}, without sparsity; the tensor rates are at 1,830 MHz",
        "boost_clock": f"{_TABLE} (1,980 MHz; tensor cores are rated at 1,830 MHz)",
        "shared_bytes_per_clock": BANKS,
        "exp_per_clock": EXP,
    },
    device_names=("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM5 80GB"),
)

H100_PCIE = replace(
    H100_SXM,
    key="h100-pcie",
    name="H100 PCIe",
    sms=114,
    hbm_bandwidth=2000e9,
    peak_flops={
        "float16": 756e12,
        "bfloat16": 756e12,
        "tf32": 378e12,
        "float8": 1513e12,
        "float32": 51.2e12,
    },
    boost_clock=1.755e9,
    latency={"shared": 29.0, "l2": 263.0, "hbm": 478.8},
    sources={
        **H100_SXM.sources,
        "hbm_bandwidth": "NVIDIA H100 PCIe GPU, product brief PB-11133-001 (2,000 GB/s, HBM2e)",
        "peak_flops": f"{_TABLE}, PCIe column, without sparsity",
        "boost_clock": f"{_TABLE}, PCIe column (1,755 MHz)",
        "latency": f"{DISSECTED} (H100 PCIe)",
    },
    device_names=("NVIDIA H100 PCIe",),
)

_H800_SHEET = (
    "NVIDIA H800 Tensor Core GPU, datasheet (2023), specification table; an H100 whose NVLink runs"
    " at 400 GB/s instead of 900 and whose float64 is cut to 1 TFLOP/s"
)

H800 = replace(
    H100_SXM,
    key="h800",
    name="H800 SXM",
    sources={
        **H100_SXM.sources,
        "hbm_bytes": _H800_SHEET,
        "hbm_bandwidth": _H800_SHEET,
        "peak_flops": f"{_H800_SHEET}; without sparsity",
    },
    device_names=("NVIDIA H800",),
)

_OURS = "measured on one H200, driver 580.159, torch 2.11, 2026-11-29"

H200 = replace(
    H100_SXM,
    key="h200",
    name="H200 SXM",
    l2=60 * MiB,
    hbm_bytes=141 * GiB,
    hbm_bandwidth=4800e9,
    latency={"shared": 29.0, "l2": 287.0, "hbm": 669.0},
    sources={
        **H100_SXM.sources,
        "l2": "device property l2CacheSize of an H200 (62,914,560 bytes); not in the datasheet",
        "hbm_bytes": "NVIDIA H200 Tensor Core GPU, datasheet (2024), specification table (141 GB)",
        "hbm_bandwidth": "NVIDIA H200 Tensor Core GPU, datasheet (2024) (4.8 TB/s)",
        "peak_flops": (
            "NVIDIA H200 Tensor Core GPU, datasheet (2024), without sparsity;"
            f" unrounded in {_TABLE}"
        ),
        "latency": f"{_OURS} (L2 at a footprint of 1 MB, HBM at 2 GB)",
    },
    measured={
        "hbm_bandwidth": Figure(4505e9, "B/s", f"{_OURS}: read; copy 4,300, write 4,589 GB/s"),
        "l2_bandwidth": Figure(8850e9, "B/s", f"{_OURS}: read, middle of 8,650 to 9,050 GB/s"),
        "sram_bandwidth": Figure(32.5e12, "B/s", f"{_OURS}: 16-byte reads, no bank conflicts"),
        "shared_bytes_per_clock": Figure(125.9, "B/clk/SM", f"{_OURS}: 16-byte reads"),
        "exp_rate": Figure(4.14e12, "1/s", f"{_OURS}: ex2.approx.f32, 16.0 per clk per SM"),
        "bfloat16_matmul": Figure(799e12, "FLOP/s", f"{_OURS}: cuBLAS 8192^3, burst"),
        "bfloat16_matmul_sustained": Figure(668e12, "FLOP/s", f"{_OURS}: the same for 1.5 s"),
    },
    device_names=("NVIDIA H200",),
)

_H20 = (
    "secondary: NVIDIA's H20 datasheet is not public; figures as circulated by server vendors"
    " (96 GB, 4.0 TB/s, 148 / 74 / 44 / 296 TFLOP/s fp16 / TF32 / fp32 / FP8, no sparsity)"
)

_LINK = ("pcie_generation", "host_bandwidth")  # not told for the H20

H20 = replace(
    H100_SXM,
    key="h20",
    name="H20",
    sms=78,
    pcie_generation=None,
    l2=60 * MiB,
    hbm_bytes=96 * GiB,
    hbm_bandwidth=4000e9,
    peak_flops={
        "float16": 148e12,
        "bfloat16": 148e12,
        "tf32": 74e12,
        "float8": 296e12,
        "float32": 44e12,
    },
    sources={
        **{name: text for name, text in H100_SXM.sources.items() if name not in _LINK},
        "sms": "device property multi_processor_count of an H20 (78)",
        "l2": _H20.replace("96 GB,", "60 MB of L2, 96 GB,"),
        "hbm_bytes": _H20,
        "hbm_bandwidth": _H20,
        "peak_flops": _H20,
        "boost_clock": "secondary: the largest SM clock that nvidia-smi reports (1,980 MHz)",
    },
    device_names=("NVIDIA H20",),
)

RECORDS = (H100_SXM, H100_PCIE, H800, H200, H20)
