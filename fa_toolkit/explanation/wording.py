"""The words of an explanation, in both languages, and its numbers."""

from __future__ import annotations

from ..language import Text
from ..problem import AttentionProblem

RUNS = Text("{impl}, on {device}", "{impl}，运行在{device}上")
REFUSED = Text("refused, on {device}: {error}", "在{device}上会被拒绝：{error}")
IMPLS = {
    "hopper": Text("Triton kernels for Hopper", "Hopper 版 Triton kernel"),
    "triton": Text("Triton kernels", "Triton kernel"),
    "tiled": Text("tile loops in torch", "torch 分块循环"),
    "reference": Text("plain torch, every score written out", "普通 torch，写出全部分数"),
}
PARTS = {"forward": Text("forward", "前向"), "backward": Text("backward", "反向")}
TILE = Text(
    "tile {m} x {n}, warps: {warps}, stages: {stages}",
    "块 {m} x {n}，warp 数 {warps}，流水线级数 {stages}",
)
ROWS = Text("{m} rows a program, warps: {warps}", "每个程序实例 {m} 行，warp 数 {warps}")
SHARED = Text("at most {shared} of {limit} shared memory", "共享内存至多 {shared}，上限 {limit}")
PROGRAMS = Text("{programs} programs", "{programs} 个程序实例")
WAVE = Text(
    "{programs} programs on {sms} SMs: one wave at most",
    "{programs} 个程序实例，{sms} 个 SM：至多一波",
)
WAVES = Text(
    "{programs} programs on {sms} SMs: at most {waves} waves",
    "{programs} 个程序实例，{sms} 个 SM：至多 {waves} 波",
)
MOVED = Text(
    "reads {reads}, writes {writes} (modelled HBM), {flops} issued",
    "读 {reads}，写 {writes}（HBM 模型值），发出 {flops}",
)
FLAGS = Text("compiled in: {flags}", "编译进去的开关：{flags}")
FORWARD = Text(
    "forward in all: reads {reads}, writes {writes} (modelled), {flops} useful",
    "前向合计：读 {reads}，写 {writes}（模型值），有效 {flops}",
)
BACKWARD = Text(
    "backward in all: reads {reads}, writes {writes} (modelled), {flops} useful",
    "反向合计：读 {reads}，写 {writes}（模型值），有效 {flops}",
)
WHY = Text("why", "原因")
HEADS = (
    Text("kernel", "kernel"),
    Text("tile", "块"),
    Text("warps", "warp"),
    Text("stages", "流水线级数"),
    Text("shared ≤", "共享内存 ≤"),
    Text("programs", "程序实例"),
    Text("waves ≤", "波 ≤"),
    Text("reads", "读"),
    Text("writes", "写"),
    Text("issued", "发出"),
)


def problem(p: AttentionProblem) -> str:
    """One line: type, sizes, mask."""
    heads = f"H {p.heads_q}" if p.heads_q == p.heads_kv else f"Hq {p.heads_q}, Hkv {p.heads_kv}"
    length = f"N {p.len_q}" if p.len_q == p.len_k else f"Nq {p.len_q}, Nk {p.len_k}"
    width = (
        f"D {p.head_dim}" if p.head_dim == p.head_dim_v else f"D {p.head_dim}, Dv {p.head_dim_v}"
    )
    parts = [p.dtype, f"B {p.batch}", heads, length, width]
    parts += [f"causal={p.causal}"] if p.causal else []
    parts += [f"window={p.window}"] if p.window else []
    return ", ".join(parts)


def whole(number: int) -> str:
    """A whole number with its thousands apart."""
    return f"{number:,}"


def amount(count: int) -> str:
    """Bytes in binary units, three digits.

    Example:
        >>> amount(232448), amount(100), amount(3 * 2**30)
        ('227 KiB', '100 B', '3 GiB')
    """
    return _scaled(count, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def flop(count: int) -> str:
    """Operations in decimal units, three digits.

    Example:
        >>> flop(137438953472), flop(0)
        ('137 GFLOP', '0 FLOP')
    """
    return _scaled(count, 1000, tuple(f"{p}FLOP" for p in ("", "k", "M", "G", "T", "P", "E")))


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    step = 0
    while value >= base and step < len(units) - 1:
        value, step = value / base, step + 1
    digits = 0 if value >= 100 or step == 0 else 1 if value >= 10 else 2
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if digits else text} {units[step]}"


def listed(names: tuple[str, ...]) -> Text:
    """Names one after the other, as each language separates them."""
    return Text(", ".join(names), "、".join(names))
