"""Records of NVIDIA GPUs with the Turing and Ampere architectures. Data only."""

from __future__ import annotations

from dataclasses import replace

from .record import GPU, GiB, KiB, MiB

GUIDE = (
    "NVIDIA, CUDA C++ Programming Guide, Compute Capabilities,"
    " table 'Technical Specifications per Compute Capability'"
)
EXP = (
    "NVIDIA, CUDA C++ Programming Guide, Arithmetic Instructions,"
    " table 'Throughput of Native Arithmetic Instructions' (exponential: 16 per clock per SM)"
)
BANKS = (
    "NVIDIA, CUDA C++ Programming Guide, Shared Memory: 32 banks of 4 bytes, each one access a"
    " clock"
)
DISSECTED = (
    "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture (arXiv 2402.13499),"
    " table of memory latencies in clocks"
)

_GA100 = "NVIDIA A100 Tensor Core GPU Architecture, whitepaper V1.0 (2020)"
_A100_SHEET = "NVIDIA A100 Tensor Core GPU, datasheet (2021), specification table"
_A100_TUNING = (
    "NVIDIA, Tuning CUDA Applications for the NVIDIA Ampere GPU Architecture,"
    " section 'Unified Shared Memory/L1/Texture Cache'"
)
_T4 = "NVIDIA Turing GPU Architecture, whitepaper (2018), appendix 'Tesla T4'"
_T4_TUNING = "NVIDIA, Tuning CUDA Applications for Turing"
_GA102 = "NVIDIA Ampere GA102 GPU Architecture, whitepaper V2.0 (2020)"

A100_40 = GPU(
    key="a100-40",
    name="A100 40 GB",
    vendor="NVIDIA",
    arch="sm_80",
    sms=108,
    registers_per_sm=256 * KiB,
    l1_per_sm=192 * KiB,
    shared_per_sm=164 * KiB,
    shared_per_block=163 * KiB,
    l2=40 * MiB,
    l2_bandwidth=5120 * 1.41e9,
    warps_per_sm=64,
    pcie_generation=4,
    hbm_bytes=40 * GiB,
    hbm_bandwidth=1555e9,
    peak_flops={"float16": 312e12, "bfloat16": 312e12, "tf32": 156e12, "float32": 19.5e12},
    boost_clock=1.41e9,
    shared_bytes_per_clock=128,
    exp_per_clock=16,
    latency={"shared": 29.0, "l2": 261.5, "hbm": 466.3},
    sources={
        "sms": f"{_GA100}, table 'Comparison of NVIDIA Data Center GPUs'",
        "registers_per_sm": f"{_GA100}, table 'Comparison of NVIDIA Data Center GPUs'",
        "l1_per_sm": f"{_GA100}, section 'A100 SM Architecture' (192 KB of L1 and shared memory)",
        "shared_per_sm": _A100_TUNING,
        "shared_per_block": _A100_TUNING,
        "l2": f"{_GA100}, table 'Comparison of NVIDIA Data Center GPUs' (40960 KB)",
        "l2_bandwidth": f"{_GA100}, section 'A100 L2 Cache': 5120 B/clk x boost_clock",
        "warps_per_sm": GUIDE,
        "pcie_generation": f"{_A100_SHEET} (PCIe Gen4: 64 GB/s, both directions together)",
        "hbm_bytes": _A100_SHEET,
        "hbm_bandwidth": f"{_GA100}, table 'Comparison of NVIDIA Data Center GPUs' (1555 GB/s)",
        "peak_flops": f"{_A100_SHEET}, without sparsity",
        "boost_clock": f"{_GA100}, table 'Comparison of NVIDIA Data Center GPUs' (1410 MHz)",
        "shared_bytes_per_clock": BANKS,
        "exp_per_clock": EXP,
        "latency": f"{DISSECTED} (A100)",
    },
    device_names=("NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB", "A100-SXM4-40GB"),
)

A100_80 = replace(
    A100_40,
    key="a100-80",
    name="A100 80 GB SXM",
    hbm_bytes=80 * GiB,
    hbm_bandwidth=2039e9,
    sources={**A100_40.sources, "hbm_bandwidth": f"{_A100_SHEET} (SXM: 2,039 GB/s)"},
    device_names=("NVIDIA A100-SXM4-80GB",),
)

A100_80_PCIE = replace(
    A100_80,
    key="a100-80-pcie",
    name="A100 80 GB PCIe",
    hbm_bandwidth=1935e9,
    sources={**A100_40.sources, "hbm_bandwidth": f"{_A100_SHEET} (PCIe: 1,935 GB/s)"},
    device_names=("NVIDIA A100 80GB PCIe",),
)

_A800_SHEET = (
    "NVIDIA A800 Tensor Core GPU, datasheet (2022), specification table; an A100 whose NVLink runs"
    " at 400 GB/s instead of 600"
)
_A800_SOURCES = {
    "hbm_bytes": _A800_SHEET,
    "hbm_bandwidth": _A800_SHEET,
    "peak_flops": f"{_A800_SHEET}; without sparsity",
}

A800 = replace(
    A100_80,
    key="a800",
    name="A800 80 GB SXM",
    sources={**A100_80.sources, **_A800_SOURCES},
    device_names=("NVIDIA A800-SXM4-80GB",),
)

A800_PCIE = replace(
    A100_80_PCIE,
    key="a800-pcie",
    name="A800 80 GB PCIe",
    sources={**A100_80_PCIE.sources, **_A800_SOURCES},
    device_names=("NVIDIA A800 80GB PCIe",),
)

RTX_3090 = GPU(
    key="rtx-3090",
    name="GeForce RTX 3090",
    vendor="NVIDIA",
    arch="sm_86",
    sms=82,
    registers_per_sm=256 * KiB,
    l1_per_sm=128 * KiB,
    shared_per_sm=100 * KiB,
    shared_per_block=99 * KiB,
    l2=6 * MiB,
    warps_per_sm=48,
    pcie_generation=4,
    hbm_bytes=24 * GiB,
    hbm_bandwidth=936e9,
    peak_flops={"float16": 71.2e12, "bfloat16": 71.2e12, "tf32": 35.6e12, "float32": 35.6e12},
    boost_clock=1.695e9,
    shared_bytes_per_clock=128,
    exp_per_clock=16,
    sources={
        "sms": f"{_GA102}, appendix A, GeForce RTX 3090",
        "registers_per_sm": f"{_GA102}, appendix A, GeForce RTX 3090",
        "l1_per_sm": f"{_GA102}, section 'GA10x SM' (128 KB)",
        "shared_per_sm": GUIDE,
        "shared_per_block": GUIDE,
        "l2": f"{_GA102}, appendix A, GeForce RTX 3090 (6144 KB)",
        "warps_per_sm": GUIDE,
        "pcie_generation": f"{_GA102}, section on PCI Express 4.0",
        "hbm_bytes": f"{_GA102}, appendix A, GeForce RTX 3090 (GDDR6X)",
        "hbm_bandwidth": f"{_GA102}, appendix A, GeForce RTX 3090 (936 GB/s)",
        "peak_flops": f"{_GA102}, appendix A, GeForce RTX 3090, fp32 accumulation, no sparsity",
        "boost_clock": f"{_GA102}, appendix A, GeForce RTX 3090 (1695 MHz)",
        "shared_bytes_per_clock": f"{_GA102}, section 'Larger and Faster Unified Shared Memory'",
        "exp_per_clock": EXP,
    },
    device_names=("NVIDIA GeForce RTX 3090",),
)

_T4_DISSECTED = (
    "Jia et al., Dissecting the NVidia Turing T4 GPU via Microbenchmarking (arXiv 1903.07486),"
    " chapter on the memory hierarchy"
)

T4 = GPU(
    key="t4",
    name="T4",
    vendor="NVIDIA",
    arch="sm_75",
    sms=40,
    registers_per_sm=256 * KiB,
    l1_per_sm=96 * KiB,
    shared_per_sm=64 * KiB,
    shared_per_block=64 * KiB,
    l2=4 * MiB,
    warps_per_sm=32,
    pcie_generation=3,
    hbm_bytes=16 * GiB,
    hbm_bandwidth=320e9,
    peak_flops={"float16": 65e12, "float32": 8.1e12},
    boost_clock=1.59e9,
    shared_bytes_per_clock=64,
    exp_per_clock=16,
    latency={"shared": 19.0, "l2": 188.0},
    sources={
        "sms": f"{_T4} (40 SMs)",
        "registers_per_sm": _T4,
        "l1_per_sm": f"{_T4_TUNING}, section 'Unified Shared Memory/L1/Texture Cache' (96 KB)",
        "shared_per_sm": GUIDE,
        "shared_per_block": GUIDE,
        "l2": f"{_T4} (4096 KB)",
        "warps_per_sm": GUIDE,
        "pcie_generation": "NVIDIA T4 Tensor Core GPU, datasheet (2019) (x16 PCIe Gen3)",
        "hbm_bytes": f"{_T4} (GDDR6)",
        "hbm_bandwidth": f"{_T4} (320 GB/s)",
        "peak_flops": f"{_T4}; no bfloat16 and no TF32 in these tensor cores",
        "boost_clock": f"{_T4} (1590 MHz)",
        "shared_bytes_per_clock": (
            f"{_GA102}, section 'Larger and Faster Unified Shared Memory': 64 B/clk in Turing"
        ),
        "exp_per_clock": EXP,
        "latency": _T4_DISSECTED,
    },
    device_names=("Tesla T4", "NVIDIA T4"),
)

RECORDS = (A100_40, A100_80, A100_80_PCIE, A800, A800_PCIE, RTX_3090, T4)
