"""Sentences and words of the traffic player, in both languages. `*…*` marks the number in question."""

from __future__ import annotations

from ...language import Text

UI: dict[str, Text] = {
    "title": Text(
        "What crosses between HBM and the chip, on one clock", "HBM 与芯片之间搬了什么，同一只钟"
    ),
    "standard": Text("Standard", "标准"),
    "flash": Text("Flash", "Flash"),
    "flash1": Text("Flash (FA1 order)", "Flash（FA1 顺序）"),
    "phase_scores": Text("1  S = QKᵀ", "1  S = QKᵀ"),
    "phase_softmax": Text("2  P = softmax(S)", "2  P = softmax(S)"),
    "phase_output": Text("3  O = PV", "3  O = PV"),
    "phase_forward": Text("1  all in one", "1  一次做完"),
    "phase_init": Text("0  O, m, l start", "0  O、m、l 置初值"),
    "never": Text("never in HBM", "从不进 HBM"),
    "reads": Text("reads {names}", "读 {names}"),
    "writes": Text("writes {names}", "写 {names}"),
    "finished": Text("finished", "做完了"),
    "read": Text("read", "读"),
    "written": Text("written", "写"),
    "moved": Text("Requested from HBM so far", "到目前为止向 HBM 请求的字节"),
    "time": Text("Modelled time on {gpu}", "{gpu} 上的模型时间"),
    "kept": Text("Kept in HBM beside Q, K, V, O", "Q、K、V、O 之外还留在 HBM 里的"),
    "pale": Text("pale: the whole run; caches ignored", "浅色：整次运行；不计缓存"),
    "model": Text(
        "modelled, not measured: max(bytes / bandwidth, FLOPs / peak)",
        "按模型算，不是实测：max(字节 / 带宽，FLOPs / 峰值)",
    ),
    "crossings": Text("phases that read or write: {a} against {b}", "读或写的趟数：{a} 比 {b}"),
    "causal": Text("causal", "因果"),
    "causal_on": Text("causal on", "加上因果掩码"),
    "causal_off": Text("causal off", "去掉因果掩码"),
    "one": Text("one query (decode)", "只有一个 query（解码）"),
    "order": Text("Flash loops", "Flash 的循环"),
    "fa2": Text("rows outside (FA2)", "行在外层（FA2）"),
    "fa1": Text("keys outside (FA1)", "key 在外层（FA1）"),
    "detail": Text("a step is", "一步是"),
    "programs": Text("a row of tiles", "一行块"),
    "tiles": Text("a tile", "一块"),
    "guess": Text("Guess", "猜"),
    "ask": Text(
        "Before it starts: how many times Flash's bytes will standard attention move?",
        "开始之前：标准注意力搬的字节会是 Flash 的几倍？",
    ),
    "ask_short": Text("Standard moves", "标准是 Flash 的"),
    "guessed": Text(" You said {g}.", "你猜的是 {g}。"),
    "toomany": Text(
        "That would be {n} tiles, and at most {most} are played: a shorter N, or larger blocks.",
        "这样有 {n} 块，最多播放 {most} 块：请把 N 调小，或把块调大。",
    ),
    "changed": Text(
        "{what}: standard moves *{a}* the bytes, Flash *{b}*; kept beside the tensors: {c} and {d}.",
        "{what}：标准搬的字节 *{a}*，Flash *{b}*；张量之外留下的：{c} 和 {d}。",
    ),
    "say_start": Text(
        "{n} queries, {k} keys. Nothing has moved; Q, K and V rest in HBM.",
        "{n} 个 query，{k} 个 key。还什么都没搬；Q、K、V 在 HBM 里。",
    ),
    "say_scores": Text(
        "Scores of rows {a} to {b} go out to HBM. So far *{x}*; Flash *{y}*.",
        "第 {a} 到 {b} 行的分数写出到 HBM。到此 *{x}*；Flash *{y}*。",
    ),
    "say_softmax": Text(
        "Rows {a} to {b} of S come back, and go out again as P. So far *{x}*; Flash *{y}*.",
        "S 的第 {a} 到 {b} 行读回来，变成 P 再写出去。到此 *{x}*；Flash *{y}*。",
    ),
    "say_output": Text(
        "Rows {a} to {b} of P come back and meet all of V. So far *{x}*; Flash *{y}*.",
        "P 的第 {a} 到 {b} 行读回来，遇上整个 V。到此 *{x}*；Flash *{y}*。",
    ),
    "say_forward": Text(
        "Flash works on rows {a} to {b}. So far standard *{x}*; Flash *{y}*.",
        "Flash 在做第 {a} 到 {b} 行。到此标准 *{x}*；Flash *{y}*。",
    ),
    "say_init": Text(
        "O, m and l of rows {a} to {b} start in HBM. So far standard *{x}*; Flash *{y}*.",
        "第 {a} 到 {b} 行的 O、m、l 先写进 HBM。到此标准 *{x}*；Flash *{y}*。",
    ),
    "say_flash_done": Text(" Flash has finished.", "Flash 已经做完。"),
    "say_standard_done": Text(" Standard has finished.", "标准的已经做完。"),
    "say_end": Text(
        "The whole run: {x} against {y}. Standard attention moves *{r}* times the bytes.",
        "整次运行：{x} 比 {y}。标准注意力搬的字节是 *{r}* 倍。",
    ),
    "say_end_less": Text(
        "The whole run: {x} against {y}. Here Flash moves *{r}* times the bytes.",
        "整次运行：{x} 比 {y}。这里 Flash 反而搬了 *{r}* 倍的字节。",
    ),
}
