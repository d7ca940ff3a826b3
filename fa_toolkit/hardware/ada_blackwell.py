"""Records of NVIDIA GPUs with the Ada and Blackwell architectures. Data only."""

from __future__ import annotations

from dataclasses import replace

from .ampere import BANKS, DISSECTED, EXP, GUIDE
from .record import GPU, GiB, KiB, MiB

_AD102 = "NVIDIA Ada GPU Architecture, whitepaper V2.1 (2023)"
_ADA_TUNING = (
    "NVIDIA, Tuning CUDA Applications for the NVIDIA Ada GPU Architecture,"
    " section 'Unified Shared Memory/L1/Texture Cache'"
)
_GB202 = "NVIDIA RTX Blackwell GPU Architecture, whitepaper V1.1 (2025), appendix A"
_B200_TUNING = "NVIDIA, Tuning CUDA Applications for Blackwell GPU Architecture"
_B200_SHEET = (
    "NVIDIA Blackwell, datasheet (2025), 'Individual Blackwell GPU Specifications', HGX B200"
)

RTX_4090 = GPU(
    key="rtx-4090",
    name="GeForce RTX 4090",
    vendor="NVIDIA",
    arch="sm_89",
    sms=128,
    registers_per_sm=256 * KiB,
    l1_per_sm=128 * KiB,
    shared_per_sm=100 * KiB,
    shared_per_block=99 * KiB,
    l2=72 * MiB,
    warps_per_sm=48,
    pcie_generation=4,
    hbm_bytes=24 * GiB,
    hbm_bandwidth=1008e9,
    peak_flops={
        "float16": 165.2e12,
        "bfloat16": 165.2e12,
        "tf32": 82.6e12,
        "float8": 330.3e12,
        "float32": 82.6e12,
    },
    boost_clock=2.52e9,
    shared_bytes_per_clock=128,
    exp_per_clock=16,
    latency={"shared": 30.1, "l2": 273.0, "hbm": 541.5},
    sources={
        "sms": f"{_AD102}, appendix A, GeForce RTX 4090",
        "registers_per_sm": f"{_AD102}, appendix A, GeForce RTX 4090",
        "l1_per_sm": f"{_AD102}, section 'Ada SM' (128 KB)",
        "shared_per_sm": _ADA_TUNING,
        "shared_per_block": _ADA_TUNING,
        "l2": f"{_AD102}, appendix A, GeForce RTX 4090 (73728 KB)",
        "warps_per_sm": GUIDE,
        "pcie_generation": f"{_AD102}, appendix A, GeForce RTX 4090 (PCI Express Gen 4)",
        "hbm_bytes": f"{_AD102}, appendix A, GeForce RTX 4090 (GDDR6X)",
        "hbm_bandwidth": f"{_AD102}, appendix A, GeForce RTX 4090 (1008 GB/s)",
        "peak_flops": f"{_AD102}, appendix A, GeForce RTX 4090, fp32 accumulation, no sparsity",
        "boost_clock": f"{_AD102}, appendix A, GeForce RTX 4090 (2520 MHz)",
        "shared_bytes_per_clock": BANKS,
        "exp_per_clock": EXP,
        "latency": f"{DISSECTED} (RTX 4090)",
    },
    device_names=("NVIDIA GeForce RTX 4090",),
)

_L4_SHEET = "NVIDIA L4 Tensor Core GPU, datasheet (2023), specification table"
_L4_TABLE = f"{_AD102}, appendix on the L4"

L4 = replace(
    RTX_4090,
    key="l4",
    name="L4",
    sms=58,
    l2=48 * MiB,
    hbm_bandwidth=300e9,
    peak_flops={
        "float16": 121e12,
        "bfloat16": 121e12,
        "tf32": 60e12,
        "float8": 242.5e12,
        "float32": 30.3e12,
    },
    boost_clock=2.04e9,
    latency={},
    sources={
        **{name: text for name, text in RTX_4090.sources.items() if name != "latency"},
        "sms": f"{_L4_TABLE} (7424 cores, 128 a SM)",
        "registers_per_sm": GUIDE,
        "l2": f"{_L4_TABLE} (49152 KB)",
        "pcie_generation": f"{_L4_SHEET} (PCIe Gen4 x16: 64 GB/s, both directions together)",
        "hbm_bytes": f"{_L4_SHEET} (24 GB GDDR6)",
        "hbm_bandwidth": f"{_L4_SHEET} (300 GB/s)",
        "peak_flops": f"{_L4_SHEET}; half of the printed rates, which are with sparsity",
        "boost_clock": f"{_L4_TABLE} (2040 MHz)",
    },
    device_names=("NVIDIA L4",),
)

_L40S_SHEET = "NVIDIA L40S, datasheet (2023), specification table"

L40S = replace(
    L4,
    key="l40s",
    name="L40S",
    sms=142,
    l2=96 * MiB,
    hbm_bytes=48 * GiB,
    hbm_bandwidth=864e9,
    peak_flops={
        "float16": 362.05e12,
        "bfloat16": 362.05e12,
        "tf32": 183e12,
        "float8": 733e12,
        "float32": 91.6e12,
    },
    boost_clock=2.52e9,
    sources={
        **L4.sources,
        "sms": f"{_L40S_SHEET} (18,176 cores, 128 a SM)",
        "l2": f"{_AD102}, full AD102 (98304 KB)",
        "pcie_generation": f"{_L40S_SHEET} (PCIe Gen4 x16: 64 GB/s, both directions together)",
        "hbm_bytes": f"{_L40S_SHEET} (48 GB GDDR6)",
        "hbm_bandwidth": f"{_L40S_SHEET} (864 GB/s)",
        "peak_flops": f"{_L40S_SHEET}, without sparsity",
        "boost_clock": "NVIDIA L40S GPU Accelerator, product brief (2,520 MHz)",
    },
    device_names=("NVIDIA L40S",),
)

RTX_5090 = replace(
    RTX_4090,
    key="rtx-5090",
    name="GeForce RTX 5090",
    arch="sm_120",
    pcie_generation=5,
    sms=170,
    l2=96 * MiB,
    hbm_bytes=32 * GiB,
    hbm_bandwidth=1792e9,
    peak_flops={
        "float16": 209.5e12,
        "bfloat16": 209.5e12,
        "tf32": 104.8e12,
        "float8": 419e12,
        "float32": 104.8e12,
    },
    boost_clock=2.407e9,
    latency={},
    sources={
        "sms": f"{_GB202}, GeForce RTX 5090",
        "registers_per_sm": f"{_GB202}, GeForce RTX 5090",
        "l1_per_sm": f"{_GB202}, GeForce RTX 5090 (128 KB a SM)",
        "shared_per_sm": GUIDE,
        "shared_per_block": GUIDE,
        "l2": f"{_GB202}, GeForce RTX 5090 (98304 KB)",
        "warps_per_sm": GUIDE,
        "pcie_generation": f"{_GB202}, GeForce RTX 5090 (PCI Express Gen 5)",
        "hbm_bytes": f"{_GB202}, GeForce RTX 5090 (GDDR7)",
        "hbm_bandwidth": f"{_GB202}, GeForce RTX 5090 (1792 GB/s)",
        "peak_flops": f"{_GB202}, GeForce RTX 5090, fp32 accumulation, no sparsity",
        "boost_clock": f"{_GB202}, GeForce RTX 5090 (2407 MHz)",
        "shared_bytes_per_clock": BANKS,
        "exp_per_clock": EXP,
    },
    device_names=("NVIDIA GeForce RTX 5090",),
)

B200 = GPU(
    key="b200",
    name="B200",
    vendor="NVIDIA",
    arch="sm_100",
    sms=148,
    registers_per_sm=256 * KiB,
    l1_per_sm=256 * KiB,
    shared_per_sm=228 * KiB,
    shared_per_block=227 * KiB,
    l2=126 * MiB,
    warps_per_sm=64,
    hbm_bytes=180 * GiB,
    hbm_bandwidth=7700e9,
    peak_flops={
        "float16": 2250e12,
        "bfloat16": 2250e12,
        "tf32": 1100e12,
        "float8": 4500e12,
        "float32": 75e12,
    },
    boost_clock=1.965e9,
    shared_bytes_per_clock=128,
    exp_per_clock=16,
    sources={
        "sms": "device property multi_processor_count of a B200 (148); not in the datasheet",
        "registers_per_sm": f"{_B200_TUNING}, section 'Occupancy' (64K 32-bit registers)",
        "l1_per_sm": f"{_B200_TUNING}, section 'Unified Shared Memory/L1/Texture Cache' (256 KB)",
        "shared_per_sm": f"{_B200_TUNING}, section 'Unified Shared Memory/L1/Texture Cache'",
        "shared_per_block": f"{_B200_TUNING}, section 'Unified Shared Memory/L1/Texture Cache'",
        "l2": f"{_B200_TUNING}, section 'Increased L2 Capacity' (126 MB)",
        "warps_per_sm": f"{_B200_TUNING}, section 'Occupancy' (64 warps)",
        "hbm_bytes": f"{_B200_SHEET} (180 GB; 192 GB was announced)",
        "hbm_bandwidth": f"{_B200_SHEET} (7.7 TB/s; 8 TB/s was announced)",
        "peak_flops": f"{_B200_SHEET}; half of the printed tensor rates, which are with sparsity",
        "boost_clock": "secondary: the largest SM clock that nvidia-smi reports (1,965 MHz)",
        "shared_bytes_per_clock": BANKS,
        "exp_per_clock": EXP,
    },
    device_names=("NVIDIA B200",),
)

RECORDS = (L4, L40S, RTX_4090, RTX_5090, B200)
