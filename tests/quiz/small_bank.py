"""A small bank with one question of every kind, written for tests; not part of the course."""

from __future__ import annotations

from pathlib import Path

FILE = """
chapter: 3
title: {en: "Softmax in blocks", zh: "分块 softmax"}
questions:
  - id: Q-03-factor
    kind: choice
    topic: online-softmax
    level: core
    claims: [S11]
    prompt:
      en: "The second block of [1, 2, 3, 4] brings a maximum of 4. What happens to the sum `l` of the first block?"
      zh: "把 [1, 2, 3, 4] 切成两块，第二块的最大值是 4。第一块的和 `l` 要怎么改？"
    choices:
      - text: {en: "It is multiplied by `e^(2 - 4)`", zh: "乘以 `e^(2 - 4)`"}
        correct: true
        why: {en: "Every term was e^(x - 2) and should be e^(x - 4): one factor for all of them.", zh: "每一项原来是 e^(x - 2)，本该是 e^(x - 4)，差的是同一个倍数。"}
      - text: {en: "The difference 4 - 2 is subtracted from it", zh: "减去差值 4 - 2"}
        why: {en: "Subtracting is right inside the exponent; outside it becomes a product.", zh: "减法只在指数里成立；到了指数外面就是乘法。"}
      - text: {en: "It is set to zero and the block is read again", zh: "清零，再把这一块重读一遍"}
        why: {en: "Reading again is what the running state avoids.", zh: "保存累积状态，就是为了不用重读。"}
      - text: {en: "Nothing, until the last block has been seen", zh: "先不动，等最后一块看完再说"}
        why: {en: "Then the old terms and the new ones would be relative to different maxima.", zh: "那样新旧各项相对的就不是同一个最大值了。"}
    explain: {en: "A softmax is the same whatever is subtracted, as long as it is the same for the whole row.", zh: "只要整行减去的是同一个数，softmax 就不变。"}
    follow_up: {en: "What else needs the same factor when the output is accumulated too?", zh: "如果输出也在累积，还有什么要乘同一个倍数？"}
    see: "03"
  - id: Q-03-true
    kind: many
    topic: exactness
    level: core
    claims: [S12, S22]
    prompt: {en: "Which of these hold for online softmax?", zh: "关于在线 softmax，哪些说法成立？"}
    choices:
      - text: {en: "It equals the plain softmax in exact arithmetic", zh: "精确算术下等于普通 softmax"}
        correct: true
        why: {en: "The factors cancel exactly.", zh: "各个倍数恰好抵消。"}
      - text: {en: "Its rounding may differ in the last bits", zh: "最后几位的舍入可能不同"}
        correct: true
        why: {en: "The sums are taken in another order.", zh: "求和的次序不一样。"}
      - text: {en: "It drops the small probabilities", zh: "它舍弃了很小的概率"}
        why: {en: "Nothing is dropped; it is exact attention.", zh: "什么都没有舍弃，这是精确注意力。"}
      - text: {en: "Blocks must be of equal length", zh: "各块必须一样长"}
        why: {en: "The merge takes parts of any length.", zh: "合并时各部分长度随意。"}
    explain: {en: "Exact in algebra, equal up to rounding in floats.", zh: "代数上完全相等，浮点下只差舍入。"}
    see: "04"
  - id: Q-03-value
    kind: number
    topic: online-softmax
    level: warm-up
    claims: [S11]
    prompt: {en: "By what number is the first sum multiplied when the maximum rises from 2 to 4?", zh: "最大值从 2 变成 4，原来的和要乘以多少？"}
    answer: {call: reference.online_softmax_states, args: {x: [1, 2, 3, 4], blocks: 2}, take: 1.factor}
    tolerance: 0.01
    mistakes:
      - value: {call: arithmetic, args: {expression: "e^(4-2)"}}
        why: {en: "The sign is turned: the old terms must shrink.", zh: "正负号反了：旧的各项应当变小。"}
    explain: {en: "e^(2 - 4) is about 0.135.", zh: "e^(2 - 4) 约为 0.135。"}
    see: "03"
  - id: Q-03-traffic
    kind: number
    topic: io-counting
    level: senior
    claims: [S08]
    prompt: {en: "Bytes of one `1024 × 64` tensor of float16?", zh: "一个 `1024 × 64` 的 float16 张量占多少字节？"}
    answer: {call: arithmetic, args: {expression: "128 KiB"}}
    unit: KiB
    explain: {en: "1024 · 64 · 2 bytes.", zh: "1024 · 64 · 2 字节。"}
    see: "02"
  - id: Q-03-steps
    kind: order
    topic: flash-forward
    level: core
    claims: [S17]
    prompt: {en: "One turn of the inner loop: in which order?", zh: "内层循环转一圈，先后次序是？"}
    items:
      - {id: load_kv, text: {en: "Load a tile of K and V", zh: "载入 K、V 的一块"}}
      - {id: scores, text: {en: "Compute the scores `s = q kᵀ`", zh: "计算分数 `s = q kᵀ`"}}
      - {id: mask, text: {en: "Mask what may not be seen", zh: "遮住看不到的位置"}}
      - {id: update, text: {en: "Update `m`, `l` and `acc`", zh: "更新 `m`、`l`、`acc`"}}
    why_wrong: {en: "The mask must come before the maximum is taken, or hidden keys would raise it.", zh: "先遮掩再取最大值，否则看不见的键也会把它抬高。"}
    explain: {en: "The same steps stand in the kernel as `# step:` labels.", zh: "kernel 里的 `# step:` 标签就是这几步。"}
    see: "04"
  - id: Q-03-pairs
    kind: match
    topic: online-softmax
    level: core
    claims: [S09, S13]
    prompt: {en: "What does each name hold?", zh: "每个名字各存什么？"}
    pairs:
      - {left: {en: "`m`", zh: "`m`"}, right: {en: "the largest score so far", zh: "目前最大的分数"}, why: {en: "It only ever rises.", zh: "它只升不降。"}}
      - {left: {en: "`l`", zh: "`l`"}, right: {en: "the sum of exponentials relative to it", zh: "相对于它的指数之和"}, why: {en: "The running denominator.", zh: "就是累积的分母。"}}
      - {left: {en: "`acc`", zh: "`acc`"}, right: {en: "the output before division", zh: "还没做除法的输出"}, why: {en: "Divided once, at the end.", zh: "最后只除一次。"}}
    explain: {en: "Three things are all a row needs.", zh: "一行只需要这三样。"}
    see: "03"
  - id: Q-03-table
    kind: trace
    topic: online-softmax
    level: core
    claims: [S10, S11]
    prompt: {en: "Scores 1, 2, 3, 4 in two blocks, values 1, 0, 0, 1. Fill in the state after each block.", zh: "分数 1、2、3、4 分两块，值为 1、0、0、1。填出每一块之后的状态。"}
    call: quiz.running_states
    args: {x: [1, 2, 3, 4], v: [1, 0, 0, 1], blocks: 2}
    columns: [m, factor, l, acc]
    given: ["0.m", [0, factor]]
    feedback:
      m: {en: "The largest score of all blocks so far.", zh: "到目前为止所有块里最大的分数。"}
      factor: {en: "e to the old maximum minus the new one.", zh: "e 的（旧最大值 − 新最大值）次方。"}
      l: {en: "The old sum times the factor, plus the new terms.", zh: "旧的和乘以倍数，再加上新的各项。"}
      acc: {en: "Repaired by the same factor as `l`.", zh: "和 `l` 乘同一个倍数。"}
    explain: {en: "After the last block, acc divided by l is the output.", zh: "最后一块之后，acc 除以 l 就是输出。"}
    see: "03"
"""


def write_bank(folder: Path, text: str = FILE) -> Path:
    """The bank as a file in `folder`."""
    path = folder / "03_softmax_in_blocks.yaml"
    path.write_text(text, encoding="utf-8")
    return path
