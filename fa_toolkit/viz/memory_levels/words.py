"""Sentences and words of the memory ladder, in both languages. `*…*` marks the number in question."""

from __future__ import annotations

from ...language import Text

LEVEL_NAMES: dict[str, Text] = {
    "registers": Text("registers", "寄存器"),
    "shared": Text("shared memory", "共享内存"),
    "l2": Text("L2 cache", "L2 缓存"),
    "hbm": Text("HBM", "显存 HBM"),
    "host": Text("host memory", "主机内存"),
}

UI: dict[str, Text] = {
    "title": Text("The memories of a GPU, and what fits where", "GPU 的各级存储，什么放得下"),
    **{f"level_{name}": text for name, text in LEVEL_NAMES.items()},
    "size": Text("size of the whole chip", "整块芯片的容量"),
    "bandwidth": Text("bandwidth", "带宽"),
    "latency": Text("latency, clocks", "延迟，时钟周期"),
    "pass": Text("one pass over {t}", "把 {t} 过一遍"),
    "log": Text("log scale", "对数刻度"),
    "true": Text("true to scale", "真实比例"),
    "scale": Text("scale", "刻度"),
    "unknown": Text("not published", "未公布"),
    "machine": Text("what the machine has", "看机器装了多少"),
    "measured": Text("measured", "实测"),
    "each": Text("{n} × {each}", "{n} × {each}"),
    "with_l1": Text("{a}; {b} with the L1", "{a}；连 L1 共 {b}"),
    "over": Text("over PCIe {g}", "经 PCIe {g}"),
    "cache": Text("one, for all SMs", "一份，所有 SM 共用"),
    "tensor": Text("tensor", "张量"),
    "what_q": Text("a tile of Q", "Q 的一块"),
    "what_k": Text("K of one head", "一个头的 K"),
    "what_s": Text("S of one head", "一个头的 S"),
    "what_heads": Text("S of {h} heads", "{h} 个头的 S"),
    "row_size": Text("size", "大小"),
    "row_fits": Text("fits", "放得下"),
    "row_there": Text("there", "在那里"),
    "row_hbm": Text("in HBM", "在 HBM"),
    "nowhere": Text("nowhere on this GPU", "这块 GPU 上哪一级都放不下"),
    "no_rate": Text("bandwidth not published", "带宽未公布"),
    "model": Text(
        "One pass is modelled: bytes / bandwidth. ○ bandwidth we measured.",
        "过一遍的时间按模型算：字节 / 带宽。○ 表示我们实测的带宽。",
    ),
    "source": Text("Source", "出处"),
    "sources": Text(
        "Every figure is in fa_toolkit.hardware with its source; a level on show names its own.",
        "每个数都在 fa_toolkit.hardware 里注明出处；走到哪一级，这里就写出那一级的出处。",
    ),
    "ask": Text(
        "Before it is shown: {t} is *{b}*. Click the first level from above that holds all of it.",
        "先猜：{t} 有 *{b}*。从上往下，最先放得下它的是哪一级？点那一行。",
    ),
    "guess_right": Text("✓ you chose {level}", "✓ 你选的是{level}"),
    "guess_wrong": Text("✗ you chose {level}", "✗ 你选的是{level}"),
    "say_start": Text(
        "The memories of the {gpu}: near and fast above, far and slow below. Step down the ladder.",
        "{gpu} 的各级存储：上面的近而快，下面的远而慢。一级一级往下走。",
    ),
    "say_registers": Text(
        "Registers: {n} SMs × {each} = *{total}*. The scores of a tile, m, l and acc live here.",
        "寄存器：{n} 个 SM × {each} = *{total}*。一块的分数、m、l、acc 都住在这里。",
    ),
    "say_shared": Text(
        "Shared memory: {n} SMs × {each} = *{total}*; one program gets at most {block}. "
        "Tiles of Q, K and V wait here.",
        "共享内存：{n} 个 SM × {each} = *{total}*；一个程序实例最多用 {block}。Q、K、V 的块在这里等着。",
    ),
    "say_l2": Text(
        "L2: *{total}* that all SMs share. It caches HBM by itself; a kernel cannot place a tile here.",
        "L2：*{total}*，所有 SM 共用。它自动缓存 HBM，kernel 不能指定把哪一块放进来。",
    ),
    "say_hbm": Text(
        "HBM: *{total}*, {larger} times all shared memory, and {slower} times slower. Q, K, V, O rest here.",
        "HBM：*{total}*，是全部共享内存的 {larger} 倍，速度却只有它的 1/{slower}。Q、K、V、O 平时在这里。",
    ),
    "say_host": Text(
        "The host, over PCIe {g}: *{slower}* times slower than HBM. Attention should never wait for it.",
        "主机内存，经 PCIe {g}：比 HBM 还慢 *{slower}* 倍。注意力绝不该等它。",
    ),
    "say_host_unknown": Text(
        "The host: the speed of its link is not published for the {gpu}.",
        "主机内存：{gpu} 到主机的速度没有公布。",
    ),
    "say_fits": Text(
        "{t} is {b}. The first level that holds it: *{level}*. One pass there: {here}; from HBM: {hbm}.",
        "{t} 有 {b}。最先放得下它的是*{level}*。在那里过一遍要 {here}，从 HBM 要 {hbm}。",
    ),
    "say_fits_hbm": Text(
        "{t} is {b}: nothing on chip holds it, only *{level}*. One pass takes {here}.",
        "{t} 有 {b}：片上哪一级都放不下，只有*{level}*放得下。过一遍要 {here}。",
    ),
    "say_claim": Text(
        "“20 to 40 MB of SRAM” is two levels: *{l1}* of L1 and shared memory, {n} × {each}, and *{l2}* of L2.",
        "“SRAM 约 20～40 MB”说的是两级：L1 与共享内存共 *{l1}*（{n} × {each}），L2 另有 *{l2}*。",
    ),
}

NOTHING = Text("There is nothing to place: N = {n}, D = {d}.", "没有可放的：N = {n}，D = {d}。")
TOO_LONG = Text(
    "N = {n:,} is beyond this picture: at most {most:,}.", "N = {n:,} 超出了这张图：最多 {most:,}。"
)
