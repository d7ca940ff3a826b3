"""The stepper's words in both languages. `*…*` marks the number a sentence is about.

Which sentence a step says, and with which numbers, is in `sentences.py`.
"""

from __future__ import annotations

from ...language import Text

UI: dict[str, Text] = {
    "title": Text("Softmax, block by block", "softmax，一块一块来"),
    "three": Text("three passes", "三遍"),
    "online": Text("online", "在线"),
    "merged": Text("merged parts", "分头算再合并"),
    "view": Text("Played as", "播放方式"),
    "scores": Text("x, the scores", "x：分数"),
    "terms": Text("e^(x − m), the terms gathered in l", "e^(x − m)：已并入 l 的各项"),
    "own_terms": Text("e^(x − m), each block from its own m", "e^(x − m)：每块以自己的 m 为基准"),
    "probabilities": Text("e^(x − m) / l, the probabilities", "e^(x − m) / l：概率"),
    "whole": Text("tick: softmax of the whole row", "短横线：整行一次算出的 softmax"),
    "ratio": Text("ratio inside", "块内之比"),
    "block": Text("block {n}", "第 {n} 块"),
    "kept": Text("Kept between blocks", "块与块之间只留这些"),
    "kept_three": Text("Kept between passes", "遍与遍之间只留这些"),
    "kept_merged": Text("Gathered", "已合并"),
    "nothing": Text("nothing yet", "还没有"),
    "rules": Text("The sum by three rules", "同一个和，三种规则"),
    "multiply": Text("multiply by the factor", "乘以修正因子"),
    "subtract": Text("subtract the rise of m", "逐项减去 m 的增量"),
    "no_max": Text("no maximum at all", "完全不减最大值"),
    "passes": Text("Numbers of x read", "已读的 x"),
    "pass_1": Text("1 · maximum", "1 · 最大值"),
    "pass_2": Text("2 · sum", "2 · 求和"),
    "pass_3": Text("3 · output", "3 · 输出"),
    "parts": Text("Parts, each from its own m", "各部分，以自己的 m 为基准"),
    "more_parts": Text("… and {n} more", "……还有 {n} 个"),
    "ways": Text("Three ways, one result", "三种做法，同一个结果"),
    "reads": Text("x is read", "读 x"),
    "times": Text("{n} times", "{n} 遍"),
    "once": Text("once", "1 遍"),
    "at_end": Text("the result stands here at the end", "走到最后，结果列在这里"),
    "none_first": Text("no earlier sum to correct", "之前没有和，不用修正"),
    "none_three": Text("none: m is final before the sum begins", "没有：求和之前 m 已定"),
    "none_alone": Text("none: this block stands alone", "没有：这一块自己算"),
    "factor": Text("Your factor", "你猜的因子"),
    "row": Text("x", "x"),
    "blocks": Text("Blocks", "分块"),
    "values": Text("V", "V"),
    "use": Text("Use", "换上"),
    "presets": Text("or", "或选"),
    "unchanged": Text("1 would leave the sum as it was.", "乘 1 等于没改。"),
    "other": Text("e^(x − old m) becomes e^(x − new m).", "e^(x − 旧 m) 要变成 e^(x − 新 m)。"),
    "bad_number": Text(
        "“{piece}” is not a number. Write numbers separated by commas, such as 1, 2, 3, 4.",
        "“{piece}”不是数。请写用逗号隔开的数，例如 1, 2, 3, 4。",
    ),
    "bad_size": Text(
        "{piece} is too large: numbers between −10,000 and 10,000 keep their labels.",
        "{piece} 太大：−10,000 到 10,000 之间的数才标得下。",
    ),
    "bad_length": Text(
        "{n} numbers: 1 to {most} can be shown, so that every bar keeps its label.",
        "{n} 个数：能画 1 到 {most} 个，这样每根柱子都标得下。",
    ),
    "bad_block": Text(
        "“{piece}” is no block: a whole number from 1 to {n}, the length of the row.",
        "“{piece}”不能作块长：要 1 到 {n}（行长）之间的整数。",
    ),
    "bad_sum": Text(
        "The blocks hold {sum} = {total} numbers, and the row has {n}.",
        "各块共 {sum} = {total} 个数，而这一行有 {n} 个。",
    ),
    "bad_empty": Text(
        "How many blocks? Write 2, or the length of each, such as 1, 3.",
        "分成几块？写 2；或逐块写出长度，例如 1, 3。",
    ),
    "bad_rows": Text(
        "V has {got} rows, and there are {n} numbers: one row each, such as 1, 0; 0, 1.",
        "V 有 {got} 行，而数有 {n} 个：每个数一行，例如 1, 0; 0, 1。",
    ),
    "bad_width": Text(
        "Rows of V are equally long, 1 to {most} numbers each.",
        "V 的每行一样长，各 1 到 {most} 个数。",
    ),
}

SAYS: dict[str, Text] = {
    "start": Text(
        "{count} numbers arrive in blocks of {sizes}. How much of softmax can be done before the last?",
        "{count} 个数分块到来，块长 {sizes}。最后一块到之前，softmax 能算到哪一步？",
    ),
    "arrive": Text("Block {n} arrives: *{values}*.", "第 {n} 块到了：*{values}*。"),
    "max_first": Text(
        "The largest number so far is *{m}*: right for a row that ends here.",
        "到目前为止最大的是 *{m}*：如果这一行到此为止，它就是对的。",
    ),
    "max_grows": Text(
        "The maximum grows from {m_old} to *{m}*, and the sum so far was measured from {m_old}.",
        "最大值从 {m_old} 变成 *{m}*，而之前的和是以 {m_old} 为基准算的。",
    ),
    "max_stays": Text(
        "The maximum stays *{m}*: nothing in this block is larger.",
        "最大值仍是 *{m}*：这一块里没有更大的数。",
    ),
    "ask": Text(
        "The sum {l_old} belongs to maximum {m_old}. Which factor makes it right for {m}?",
        "和 {l_old} 对应最大值 {m_old}。乘以多少，才对应最大值 {m}？",
    ),
    "correct": Text(
        "l and acc are multiplied by *{factor}*: every old term shrinks alike, so no ratio changes.",
        "l 和 acc 都乘以 *{factor}*：旧的各项同样缩小，彼此之比不变。",
    ),
    "correct_one": Text(
        "The maximum did not move, so the factor is *1*, and l and acc stay as they are.",
        "最大值没有变，所以因子是 *1*，l 和 acc 不变。",
    ),
    "add": Text(
        "The block adds its own terms, *{added}*, and the sum is {l}; acc gathers term · v.",
        "这一块加上自己的各项 *{added}*，和变成 {l}；acc 累积 各项 · v。",
    ),
    "add_first": Text(
        "Measured from {m}, the terms of this block sum to *{l}*; acc gathers term · v.",
        "以 {m} 为基准，这一块各项之和是 *{l}*；acc 累积 各项 · v。",
    ),
    "done": Text(
        "Divide by *{l}*: the probabilities and the output of the whole row, and x was read once.",
        "除以 *{l}*：正是整行的概率和输出，而 x 只读了一遍。",
    ),
    "start_three": Text(
        "Three passes over {count} numbers: the maximum, the sum, the output. Each reads all of x.",
        "{count} 个数走三遍：最大值、求和、输出。每一遍都要读完整个 x。",
    ),
    "scan": Text(
        "Pass 1, block {n}: the largest number so far is *{m}*. Nothing can be summed yet.",
        "第 1 遍，第 {n} 块：到目前为止最大的是 *{m}*。还不能求和。",
    ),
    "sum": Text(
        "Pass 2, block {n} again: measured from the final {m}, its terms add *{added}*.",
        "第 2 遍，再读第 {n} 块：以最终的 {m} 为基准，各项加上 *{added}*。",
    ),
    "write": Text(
        "Pass 3, block {n} a third time: its probabilities are final, and o gathers p · v: *{acc}*.",
        "第 3 遍，第三次读第 {n} 块：概率已定，o 累积 p · v：*{acc}*。",
    ),
    "done_three": Text(
        "The same output, and nothing was ever corrected; but *{reads}* numbers were read for {count}.",
        "输出相同，也从不修正；但为 {count} 个数读了 *{reads}* 个。",
    ),
    "start_merged": Text(
        "Blocks of {sizes}, each on a chip of its own: none waits for another’s maximum.",
        "块长 {sizes}，每块在自己的芯片上算：谁也不等别人的最大值。",
    ),
    "own_max": Text(
        "Block {n} alone: its own maximum is *{m}*.", "第 {n} 块自己算：自己的最大值是 *{m}*。"
    ),
    "own_sum": Text(
        "Block {n} alone: measured from its own {m}, its terms sum to *{l}*.",
        "第 {n} 块自己算：以自己的 {m} 为基准，各项之和是 *{l}*。",
    ),
    "meet": Text(
        "Two parts meet, one measured from {m_old}, one from {m_in}: the larger is *{m}*.",
        "两部分相遇，一个以 {m_old} 为基准，一个以 {m_in} 为基准：较大的是 *{m}*。",
    ),
    "ask_weigh": Text(
        "The part measured from {m_low} must be measured from {m}. Which factor does that?",
        "以 {m_low} 为基准的那部分要改以 {m} 为基准。乘以多少？",
    ),
    "weigh": Text(
        "Each part is multiplied once, by *{factor}* and *{factor_in}*: no ratio inside a part changes.",
        "两部分各乘一次，*{factor}* 和 *{factor_in}*：各自内部之比不变。",
    ),
    "join": Text(
        "Measured from the same {m}, the parts are simply added: l is *{l}*, and acc likewise.",
        "同以 {m} 为基准，直接相加即可：l 是 *{l}*，acc 也一样。",
    ),
    "done_merged": Text(
        "Divide by *{l}*: the same output as in one row, whatever the order of the parts.",
        "除以 *{l}*：与整行的输出相同，合并的先后无所谓。",
    ),
}

PRESETS: tuple[tuple[Text, str, str], ...] = (
    (Text("1, 2, 3, 4: the maximum grows", "1, 2, 3, 4：最大值变大"), "1, 2, 3, 4", "2"),
    (Text("4, 3, 2, 1: it stays", "4, 3, 2, 1：最大值不变"), "4, 3, 2, 1", "2"),
    (Text("1000, 1001: overflow", "1000, 1001：溢出"), "1000, 1001", "2"),
)
