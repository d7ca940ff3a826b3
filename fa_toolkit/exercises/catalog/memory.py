"""Exercises of chapter 01: what a matrix product costs, and what limits it."""

from __future__ import annotations

from typing import Any, Literal

from ...hardware import gpu
from ...language import Text
from ..spec import Case, Exercise, Output, Passage, Variant


def matmul_cost(m: int, n: int, k: int, itemsize: int) -> tuple[float, float, float]:
    """The dull reference."""
    flops = 2 * m * n * k  # one multiply and one add per term of C [m, n]
    moved = (m * k + k * n + m * n) * itemsize  # A and B in, C out
    return flops, moved, flops / moved


def bound(intensity: float, device: Any) -> Literal["memory", "compute"]:
    """The dull reference."""
    ridge = device.peak_flops["float16"] / device.hbm_bandwidth  # FLOP per byte
    return "memory" if intensity < ridge else "compute"


def _with(flops: float, moved: float) -> tuple[float, float, float]:
    return flops, moved, flops / moved


_SIZES = ((64, 96, 32, 2), (4096, 4096, 4096, 2), (1, 4096, 4096, 2), (128, 128, 64, 4))

INTENSITY = Exercise(
    id="01.intensity",
    title=Text("The intensity of a matrix product", "矩阵乘的算术强度"),
    spec=Text(
        "C = A B with A [m, k] and B [k, n]. A and B are read from HBM once, C is written once. "
        "Return the FLOPs (a multiply-add is two), the bytes moved, and FLOPs per byte.",
        "C = A B，A 为 [m, k]，B 为 [k, n]。A、B 各从 HBM 读一次，C 写一次。"
        "返回 FLOP 数（一次乘加算两次）、搬运的字节数，以及每字节的 FLOP 数。",
    ),
    formula="I = 2·m·n·k / ((m·k + k·n + m·n) · itemsize)",
    passage=Passage(1, Text("Work per byte", "每个字节做多少计算")),
    then="01.bound",
    entry="matmul_cost",
    call="matmul_cost(m, n, k, itemsize) -> (flops, bytes, intensity)",
    reference=matmul_cost,
    outputs=(
        Output("flops", "flops", None),
        Output("bytes", "bytes", None),
        Output("intensity", "intensity", None),
    ),
    cases=[
        Case("value", f"m={m}, n={n}, k={k}, itemsize={e}", lambda a=(m, n, k, e): a)  # type: ignore[misc]
        for m, n, k, e in _SIZES
    ],
    variants=(
        Variant(
            "one-flop-per-term",
            Text(
                "You count a multiply-add as one FLOP. It is two.",
                "你把一次乘加算成了 1 次 FLOP，应算 2 次。",
            ),
            lambda m, n, k, e: _with(m * n * k, (m * k + k * n + m * n) * e),
        ),
        Variant(
            "one-addition-less",
            Text(
                "You count k − 1 additions for each element. The convention is a multiply-add for each "
                "of the k terms: 2·m·n·k.",
                "每个元素你只算了 k − 1 次加法。惯例是 k 项各算一次乘加：2·m·n·k。",
            ),
            lambda m, n, k, e: _with(m * n * (2 * k - 1), (m * k + k * n + m * n) * e),
        ),
        Variant(
            "no-itemsize",
            Text("You count elements, not bytes.", "你数的是元素个数，不是字节数。"),
            lambda m, n, k, e: _with(2 * m * n * k, m * k + k * n + m * n),
        ),
        Variant(
            "no-output",
            Text("C has to be written, and that is missing.", "漏算了写回 C 的字节。"),
            lambda m, n, k, e: _with(2 * m * n * k, (m * k + k * n) * e),
        ),
        Variant(
            "no-reuse",
            Text(
                "You read A and B again for every term. Each element crosses the boundary once.",
                "你为每一项都重读了 A 和 B。这里每个元素只搬一次。",
            ),
            lambda m, n, k, e: _with(2 * m * n * k, (2 * m * n * k + m * n) * e),
        ),
    ),
    hints=(
        Text(
            "Count first the terms of C, then the elements of A, B and C.",
            "先数 C 里有多少个乘积项，再数 A、B、C 的元素。",
        ),
        Text(
            "Each of the m·n elements of C is a sum of k products.",
            "C 的 m·n 个元素，每个都是 k 个乘积之和。",
        ),
        Text(
            "flops = 2·m·n·k, bytes = (m·k + k·n + m·n)·itemsize.",
            "flops = 2·m·n·k，bytes = (m·k + k·n + m·n)·itemsize。",
        ),
    ),
)

_BOUND_CASES = [
    (8.0, "a100-80"), (300.0, "a100-80"), (200.0, "h100"), (1000.0, "h100"), (30.0, "h20"),
    (60.0, "h20"), (250.0, "t4"), (100.0, "rtx4090"),
]  # fmt: skip


def _at_ridge() -> tuple[float, Any]:
    device: Any = gpu("h20")  # whose ridge point is a whole number, so that nothing is rounded
    return device.peak_flops["float16"] / device.hbm_bandwidth, device


BOUND = Exercise(
    id="01.bound",
    title=Text("Memory-bound or compute-bound", "访存受限还是算力受限"),
    spec=Text(
        'Say what limits float16 work of a given intensity on a given GPU: "memory" below the '
        'ridge point, "compute" at it and above. The GPU has .hbm_bandwidth in B/s and '
        '.peak_flops["float16"] in FLOP/s.',
        '给定算术强度和 GPU，判断 float16 计算受什么限制：低于拐点返回 "memory"，'
        '等于或高于拐点返回 "compute"。GPU 有 .hbm_bandwidth（B/s）'
        '和 .peak_flops["float16"]（FLOP/s）。',
    ),
    formula="ridge = peak FLOP/s ÷ bandwidth",
    passage=Passage(1, Text("Work per byte", "每个字节做多少计算")),
    entry="bound",
    call='bound(intensity, gpu) -> "memory" | "compute"',
    reference=bound,
    outputs=(Output("bound", "value", None),),
    cases=[
        Case("value", f"{i:g} FLOP/B, {name}", lambda a=i, b=name: (a, gpu(b)))  # type: ignore[misc]
        for i, name in _BOUND_CASES
    ]
    + [Case("value", Text("at the ridge point, h20", "正好在拐点，h20"), _at_ridge)],
    variants=(
        Variant(
            "swapped",
            Text("The two answers are swapped.", "两个答案反了。"),
            lambda i, g: "compute" if bound(i, g) == "memory" else "memory",
        ),
        Variant(
            "wrong-peak",
            Text(
                "You use the float32 peak. The work is float16, on the matrix units.",
                "你用了 float32 的峰值。这里是 float16，走矩阵单元。",
            ),
            lambda i, g: "memory" if i < g.peak_flops["float32"] / g.hbm_bandwidth else "compute",
        ),
        Variant(
            "ridge-counted-as-memory",
            Text(
                "At the ridge point itself the answer is compute: below it, <, is memory.",
                "正好在拐点时答案是 compute：低于拐点（<）才是 memory。",
            ),
            lambda i, g: "memory" if i <= g.peak_flops["float16"] / g.hbm_bandwidth else "compute",
        ),
    ),
    hints=(
        Text(
            "Which finishes later: moving the bytes or doing the FLOPs?",
            "搬完这些字节，和算完这些 FLOP，哪个更晚？",
        ),
        Text("They finish together at the ridge point.", "在拐点处两者同时完成。"),
        Text(
            'ridge = gpu.peak_flops["float16"] / gpu.hbm_bandwidth',
            'ridge = gpu.peak_flops["float16"] / gpu.hbm_bandwidth',
        ),
    ),
)

EXERCISES = (INTENSITY, BOUND)
