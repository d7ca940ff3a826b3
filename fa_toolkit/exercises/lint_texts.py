"""What the lint says, by kind of fault. `{fields}` are filled in by `lint`."""

from __future__ import annotations

from ..language import Text

TEXTS: dict[str, Text] = {
    "dot-below-16": Text(
        "a side of {size}: on a GPU every side of tl.dot is at least 16. Pad, and mask.",
        "边长 {size}：在 GPU 上 tl.dot 的每条边至少为 16。应补齐并加掩码。",
    ),
    "no-mask": Text(
        "no mask: the last program reaches past the end unless the length is a multiple of the "
        "block. The interpreter here stops it; a GPU reads and writes someone else's memory.",
        "没有 mask：长度不是块大小的整数倍时，最后一个程序实例会越界。"
        "这里的解释器会拦住；GPU 则会读写别人的内存。",
    ),
    "no-other": Text(
        "mask without other=: on a GPU the lanes that are masked off hold anything. The interpreter "
        "gives 0.",
        "有 mask 却没有 other=：在 GPU 上，被遮住的位置里可以是任何值；解释器给的是 0。",
    ),
    "half-maths": Text(
        "tl.{name} of a half type: on a GPU it takes float32 only. Cast with .to(tl.float32) first.",
        "对半精度用 tl.{name}：GPU 上它只接受 float32。先用 .to(tl.float32) 转换。",
    ),
    "half-accumulator": Text(
        "an accumulator in {name} loses digits with every step; accumulate in float32.",
        "用 {name} 累加，每一步都丢精度；应使用 float32 累加。",
    ),
    "python-only": Text(
        "{name} is Python, not Triton: the interpreter runs it, the compiler refuses it.",
        "{name} 是 Python，不是 Triton：解释器能运行，编译器会拒绝。",
    ),
    "global": Text(
        "{name} is a variable of the notebook: the compiler refuses it unless it is a tl.constexpr. "
        "Pass it as an argument.",
        "{name} 是 notebook 里的变量：除非是 tl.constexpr，否则编译器会拒绝。请作为参数传入。",
    ),
    "not-power-of-two": Text(
        "a block of {size}: every side of a block must be a power of two. Take the next one, and mask.",
        "块的边长为 {size}：块的每条边都必须是 2 的幂。取下一个 2 的幂，并加掩码。",
    ),
    "runtime-as-constexpr": Text(
        "{name} is known only when the kernel runs; the shape of a block must be known when it is "
        "compiled. Declare it {name}: tl.constexpr.",
        "{name} 运行时才知道，而块的形状编译时就要确定。把它声明为 {name}: tl.constexpr。",
    ),
    "tf32": Text(
        'tl.dot of float32 rounds its inputs to TF32 on a GPU; input_precision="ieee" keeps them.',
        'GPU 上 float32 的 tl.dot 会把输入舍入成 TF32；input_precision="ieee" 则保持原样。',
    ),
}
