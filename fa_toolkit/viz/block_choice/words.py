"""Sentences and words of the block chooser, in both languages. `*…*` marks the number in question."""

from __future__ import annotations

from ...language import Text

UI: dict[str, Text] = {
    "title": Text(
        "Which tile? The roofline and the room on chip", "块取多大？roofline 与片上的地方"
    ),
    "x": Text("FLOPs per byte of HBM (log scale)", "每搬一字节 HBM 做多少次运算（对数刻度）"),
    "y": Text("FLOP/s (log scale)", "FLOP/s（对数刻度）"),
    "standard": Text("standard", "标准"),
    "flash": Text("Flash", "Flash"),
    "decode": Text("one query", "单个 query"),
    "needed": Text("{x} needed", "要 {x}"),
    "named": Text("{name}: {x}", "{name}：{x}"),
    "causal": Text("causal", "因果"),
    "metric": Text("in the grid", "格子里写"),
    "programs": Text("programs per SM", "每个 SM 的程序实例数"),
    "shared": Text("shared memory", "共享内存"),
    "registers": Text("registers of a thread", "每线程寄存器数"),
    "bytes": Text("bytes of HBM", "HBM 字节"),
    "toolarge": Text("too large", "放不下"),
    "spilling": Text("spills {s}", "溢出 {s}"),
    "default": Text("our choice", "默认"),
    "legend": Text(
        "╱ does not fit   ╲ spills registers: that many instructions",
        "╱ 放不下   ╲ 寄存器溢出：这么多条指令",
    ),
    "grid": Text("Our forward kernel", "我们的前向 kernel"),
    "room": Text("One program of {m} × {k}: {w} warps", "{m} × {k} 的一个程序实例：{w} 个 warp"),
    "nokernel": Text("{m} × {k} is not launched", "{m} × {k} 不会启动"),
    "bar_shared": Text("shared memory", "共享内存"),
    "bar_registers": Text("registers of a thread", "每线程寄存器"),
    "bar_bytes": Text("HBM, Flash", "HBM，Flash"),
    "bar_standard": Text("HBM, standard", "HBM，标准"),
    "of": Text("{a} of {b}", "{a} / {b}"),
    "row_ratio": Text("FLOPs/B", "FLOPs/B"),
    "row_rate": Text("at most", "上限"),
    "row_time": Text("time", "时间"),
    "row_programs": Text("per SM", "每个 SM"),
    "sum_programs": Text(
        "min(shared {a}, registers {b}, warps {c}) = *{p}*",
        "min(共享内存 {a}，寄存器 {b}，warp {c}) = *{p}*",
    ),
    "sum_none": Text("shared memory: {a} > {b}", "共享内存：{a} > {b}"),
    "play_tile": Text("Play this tile", "播放这一块"),
    "load_note": Text("in the tile player below, or run", "在下面的块播放器里播放，或运行"),
    "load_alone": Text("To play this tile in JupyterLab:", "在 JupyterLab 里播放这一块："),
    "loaded": Text("The tile player plays {m} × {k} now.", "块播放器现在播放 {m} × {k}。"),
    "model": Text(
        "Points are modelled: the most this intensity allows; small ones are other N. "
        "Standard's products use tiles of {s} × {s}.",
        "点是模型值：该强度下的上限；小点是别的 N。标准注意力的矩阵乘按 {s} × {s} 分块。",
    ),
    "made": Text(
        "Registers, spills and shared memory: compiled for sm_{c} with Triton {v}, {date}; fp16, {mask}.",
        "寄存器、溢出、共享内存：用 Triton {v} 为 sm_{c} 编译，{date}；fp16，{mask}。",
    ),
    "full": Text("no mask", "无掩码"),
    "ask_m": Text(
        "BLOCK_M goes from {a} to {b}. What happens to the FLOPs per byte?",
        "BLOCK_M 从 {a} 变成 {b}。每字节的运算次数会怎样？",
    ),
    "ask_n": Text(
        "BLOCK_N goes from {a} to {b}. What happens to the FLOPs per byte?",
        "BLOCK_N 从 {a} 变成 {b}。每字节的运算次数会怎样？",
    ),
    "same": Text("stays", "不变"),
    "say_start": Text(
        "{n} queries and keys: standard attention does *{x}* FLOPs a byte; the {gpu} needs {r} to be busy.",
        "{n} 个 query 和 key：标准注意力每字节做 *{x}* 次运算；{gpu} 要 {r} 次才不闲着。",
    ),
    "say_m": Text(
        "BLOCK_M = {m}: a tile of K and V serves {m} queries, so *{x}* FLOPs a byte. {fit}",
        "BLOCK_M = {m}：一块 K、V 服务 {m} 个 query，每字节 *{x}* 次运算。{fit}",
    ),
    "say_n": Text(
        "BLOCK_N = {k}: still *{x}* FLOPs a byte; only the room on chip changes. {fit}",
        "BLOCK_N = {k}：每字节仍是 *{x}* 次运算，变的只是片上占的地方。{fit}",
    ),
    "say_default": Text(
        "What our launcher takes for {n} keys: {m} × {k}, *{x}* FLOPs a byte. {fit}",
        "{n} 个 key 时，我们的启动器取 {m} × {k}，每字节 *{x}* 次运算。{fit}",
    ),
    "say_chosen": Text(
        "{m} × {k}: *{x}* FLOPs a byte. {fit}", "{m} × {k}：每字节 *{x}* 次运算。{fit}"
    ),
    "fit_ok": Text("{p} programs fit on an SM.", "一个 SM 放得下 {p} 个程序实例。"),
    "fit_one": Text("One program fits on an SM.", "一个 SM 只放得下一个程序实例。"),
    "fit_spills": Text(
        "It spills: {s} instructions move registers to memory.",
        "寄存器溢出：有 {s} 条指令在搬寄存器。",
    ),
    "fit_none": Text(
        "It does not fit: {a} of shared memory, and a program may have {b}.",
        "放不下：要 {a} 共享内存，一个程序实例最多 {b}。",
    ),
}

NOTHING = Text("There is nothing to choose for: N = {n}.", "没有可选的：N = {n}。")
TOO_LONG = Text(
    "N = {n:,} is beyond this picture: at most {most:,}.", "N = {n:,} 超出了这张图：最多 {most:,}。"
)
