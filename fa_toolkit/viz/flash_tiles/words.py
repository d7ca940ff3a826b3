"""Sentences and words of the tile player, in both languages. `*…*` marks the number in question."""

from __future__ import annotations

from ...language import Text

TITLES: dict[str, Text] = {
    "flash_forward": Text("Flash Attention, tile by tile", "Flash Attention，一块一块来"),
    "flash_backward": Text(
        "Flash Attention backward, tile by tile", "Flash Attention 反向，一块一块来"
    ),
    "decode": Text("Decoding over splits, tile by tile", "分段解码，一块一块来"),
}

UI: dict[str, Text] = {
    "which": Text("", ""),
    "program": Text("program {n}", "程序实例 {n}"),
    "hbm": Text("HBM", "HBM"),
    "parts": Text("parts", "各段"),
    "never": Text("{n} × {k} scores: never stored", "{n} × {k} 个分数：从不写出"),
    "done": Text("done", "已做"),
    "skipped": Text("skipped", "跳过"),
    "masked": Text("masked at the edge", "边上有掩码"),
    "chip": Text("On chip, {gpu}: {fit}", "芯片上，{gpu}：{fit}"),
    "shared": Text("shared memory", "共享内存"),
    "registers": Text("registers", "寄存器"),
    "of": Text("about {a} of {b}", "约 {a}，共 {b}"),
    "fits": Text("{n} programs fit on one SM", "一个 SM 容得下 {n} 个程序实例"),
    "many": Text("many programs fit on one SM", "一个 SM 容得下很多程序实例"),
    "pale": Text("pale: the whole run", "浅色：整次运行"),
    "nofit": Text("one program does not fit on an SM", "一个 SM 容不下一个程序实例"),
    "moved": Text("Requested from HBM so far", "到目前为止向 HBM 请求的字节"),
    "kept": Text("Kept in HBM beside the tensors", "张量之外还留在 HBM 里的"),
    "flash": Text("Flash", "Flash"),
    "standard": Text("Standard", "标准"),
    "row": Text("row {r}", "第 {r} 行"),
    "pair": Text("row {r}, key {c}", "第 {r} 行，key {c}"),
    "first_row": Text("nothing gathered before", "之前什么也没有"),
    "hover": Text("point at a value; click one to follow it", "指着看数值；点一个就跟着它"),
    "pooled": Text("1 cell = {a} × {b} values, mean", "1 格 = {a} × {b} 个数的均值"),
    "novalues": Text(
        "No numbers here: a trace holds them with keep_values=True, and at most {most} are shown.",
        "这里没有数值：轨迹要用 keep_values=True 记录，而且最多显示 {most} 个。",
    ),
    "legend_small": Text(
        "violet: done   grey: skipped   faint: masked at the edge",
        "紫色：已做   灰色：跳过   浅紫：边上有掩码",
    ),
    "toomany": Text(
        "The numbers are not shown: {n} of them, and at most {most} travel to the page.",
        "数值没有显示：共 {n} 个，最多传 {most} 个到页面。",
    ),
    "detail": Text("a step is", "一步是"),
    "tiles": Text("a tile", "一块"),
    "operations": Text("an operation", "一个操作"),
    "guess_tiles": Text(
        "Before it starts: click the tiles that the mask lets the kernel *skip*, then check.",
        "开始之前：点出因为掩码可以*跳过*的块，然后核对。",
    ),
    "guess_factor": Text(
        "Row {0} finds a larger score: m goes from {1} to {2}. What are l and acc multiplied by?",
        "第 {0} 行遇到更大的分数：m 从 {1} 变成 {2}。l 和 acc 要乘以多少？",
    ),
    "guess_all": Text(
        "✓ all {n} marked: each would have been computed only to be masked away.",
        "✓ {n} 块全对：算了也会被掩码抹掉。",
    ),
    "guess_some": Text(
        "{right} of {n} found; {wrong} marked that some query still needs.",
        "找到 {right} 块，共 {n} 块；多标了 {wrong} 块，那里还有 query 要看。",
    ),
    "guess_shown": Text("{n} tiles are skipped.", "跳过 {n} 块。"),
    "tile_name": Text("rows {a} to {b}, keys {c} to {d}", "第 {a} 到 {b} 行，key {c} 到 {d}"),
    "bytes_here": Text("this step: {n}", "这一步：{n}"),
    "factor": Text("Your factor", "你猜的因子"),
    "nothing": Text("There is nothing to play.", "没有可播放的内容。"),
}

SAYS: dict[str, Text] = {
    "start": Text(
        "{0} queries, {1} keys, tiles of {2} × {3}. Nothing is on chip yet.",
        "{0} 个 query，{1} 个 key，块是 {2} × {3}。芯片上还什么都没有。",
    ),
    "first": Text(
        "Rows {0} to {1} meet their first keys, {2} to {3}: m, l and acc begin here.",
        "第 {0} 到 {1} 行遇到第一批 key，{2} 到 {3}：m、l 和 acc 从这里开始。",
    ),
    "joins": Text("Keys {0} to {1} join rows {2} to {3}.", "key {0} 到 {1} 并入第 {2} 到 {3} 行。"),
    "grows": Text(
        "A larger score arrived in row {0}, so everything gathered before is multiplied by *{1}*.",
        "第 {0} 行来了更大的分数，先前累积的一切都乘以 *{1}*。",
    ),
    "stays": Text(
        "Keys {0} to {1} join; no row has a new maximum, so nothing gathered before changes.",
        "key {0} 到 {1} 并入；没有哪行的最大值变了，先前累积的都不用改。",
    ),
    "stored": Text(
        "Rows {0} to {1} are finished: acc is divided by l, and O leaves the chip once.",
        "第 {0} 到 {1} 行做完了：acc 除以 l，O 只写出一次。",
    ),
    "split_stored": Text(
        "Split {0} of {1} is finished on its own: its o and lse go out in float32, to be merged.",
        "第 {0} 段（共 {1} 段）自己做完了：它的 o 和 lse 以 float32 写出，等着合并。",
    ),
    "merge": Text(
        "Row {0}: the splits come back and are merged, each weighted by e^(its lse − the largest).",
        "第 {0} 行：各段读回来合并，每段的权重是 e^(自己的 lse − 最大的 lse)。",
    ),
    "load_o_merge": Text(
        "The o and lse of every split of row {0} come back: *{2}* bytes.",
        "第 {0} 行各段的 o 和 lse 读回来：*{2}* 字节。",
    ),
    "store_merge": Text("Row {0} of O is stored, once.", "O 的第 {0} 行写出，只写一次。"),
    "load_q_split": Text(
        "Packed rows {0} to {1} of Q come on chip, *{2}* bytes: the heads that share these keys.",
        "Q 打包后的第 {0} 到 {1} 行进芯片，*{2}* 字节：共用这些 key 的各个头。",
    ),
    "load_kv_split": Text(
        "Keys and values {0} to {1} of the cache come on chip: *{2}* bytes.",
        "缓存里第 {0} 到 {1} 个 key 和 value 进芯片：*{2}* 字节。",
    ),
    "load_q_forward": Text(
        "Rows {0} to {1} of Q come on chip, *{2}* bytes, and stay for the whole program.",
        "Q 的第 {0} 到 {1} 行进芯片，*{2}* 字节，整个程序实例都留着。",
    ),
    "load_kv_forward": Text(
        "Keys and values {0} to {1} come on chip: *{2}* bytes.",
        "第 {0} 到 {1} 个 key 和 value 进芯片：*{2}* 字节。",
    ),
    "scores": Text(
        "s = scale · q kᵀ: {0} scores are born on chip, the largest *{1}*.",
        "s = scale · q kᵀ：{0} 个分数在芯片上算出，最大的是 *{1}*。",
    ),
    "scores_plain": Text(
        "s = scale · q kᵀ: {0} scores are born on chip.",
        "s = scale · q kᵀ：{0} 个分数在芯片上算出。",
    ),
    "mask": Text(
        "Where a query may not look, s becomes −∞: *{0}* of {1} scores.",
        "query 不能看的地方，s 变成 −∞：{1} 个分数里有 *{0}* 个。",
    ),
    "delta": Text(
        "Delta of rows {0} to {1}: rowsum(dO · O), one number a row, read by both other launches.",
        "第 {0} 到 {1} 行的 Delta：rowsum(dO · O)，一行一个数，后两次启动都要读它。",
    ),
    "dkdv": Text(
        "Rows {0} to {1} pass keys {2} to {3}: P is computed again, and dV and dK gather their share.",
        "第 {0} 到 {1} 行经过 key {2} 到 {3}：P 重新算出，dV 和 dK 各累积一份。",
    ),
    "dkdv_last": Text(
        "Rows {0} to {1} are the last for keys {2} to {3}: their dK and dV are stored, once.",
        "第 {0} 到 {1} 行是 key {2} 到 {3} 的最后一批：dK 和 dV 写出，只写一次。",
    ),
    "dq": Text(
        "Keys {0} to {1} pass rows {2} to {3}: P again, then dS; dQ gathers dS · K.",
        "key {0} 到 {1} 经过第 {2} 到 {3} 行：P 再算一遍，然后 dS；dQ 累积 dS · K。",
    ),
    "dq_last": Text(
        "Keys {0} to {1} are the last for rows {2} to {3}: their dQ is stored, once.",
        "key {0} 到 {1} 是第 {2} 到 {3} 行的最后一批：dQ 写出，只写一次。",
    ),
    "load_o_delta": Text(
        "Rows {0} to {1} of O and dO come on chip: *{2}* bytes.",
        "O 和 dO 的第 {0} 到 {1} 行进芯片：*{2}* 字节。",
    ),
    "load_kv_dkdv": Text(
        "Keys and values {0} to {1} come on chip, *{2}* bytes, and stay for the whole program.",
        "第 {0} 到 {1} 个 key 和 value 进芯片，*{2}* 字节，整个程序实例都留着。",
    ),
    "load_q_dkdv": Text(
        "Rows {0} to {1} of Q, dO, lse and Delta come on chip: *{2}* bytes.",
        "Q、dO、lse、Delta 的第 {0} 到 {1} 行进芯片：*{2}* 字节。",
    ),
    "load_q_dq": Text(
        "Rows {0} to {1} of Q, dO, lse and Delta come on chip, *{2}* bytes, and stay.",
        "Q、dO、lse、Delta 的第 {0} 到 {1} 行进芯片，*{2}* 字节，一直留着。",
    ),
    "load_kv_dq": Text(
        "Keys and values {0} to {1} come on chip: *{2}* bytes.",
        "第 {0} 到 {1} 个 key 和 value 进芯片：*{2}* 字节。",
    ),
    "recompute": Text(
        "P = e^(s − lse): {0} probabilities computed again, and not one of them read from HBM.",
        "P = e^(s − lse)：{0} 个概率重新算出，一个也不从 HBM 读。",
    ),
    "grad_v": Text("dV gathers Pᵀ dO.", "dV 累积 Pᵀ dO。"),
    "grad_p": Text(
        "dP = dO Vᵀ: {0} numbers that stay on chip.", "dP = dO Vᵀ：{0} 个数，留在芯片上。"
    ),
    "grad_s": Text("dS = P · (dP − Delta).", "dS = P · (dP − Delta)。"),
    "grad_k": Text("dK gathers scale · dSᵀ Q.", "dK 累积 scale · dSᵀ Q。"),
    "grad_q": Text("dQ gathers scale · dS K.", "dQ 累积 scale · dS K。"),
    "store_delta": Text("Delta of rows {0} to {1} is stored.", "第 {0} 到 {1} 行的 Delta 写出。"),
    "store_dkdv": Text(
        "dK and dV of keys {0} to {1} are stored, once.",
        "key {0} 到 {1} 的 dK 和 dV 写出，只写一次。",
    ),
    "store_dq": Text(
        "dQ of rows {0} to {1} is stored, once.", "第 {0} 到 {1} 行的 dQ 写出，只写一次。"
    ),
}
