"""Why a call runs as it does: one sentence each, in both languages. Chooses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..door import Implementation
from ..hardware import GPU
from ..io_model import (
    Traffic,
    compulsory_traffic,
    forward_flops,
    intensity,
    roofline,
    visible_pairs,
    visited_tiles,
)
from ..io_model.footprint import padded
from ..language import Text
from ..problem import AttentionProblem
from .wording import amount, listed, whole

if TYPE_CHECKING:  # it loads the kernels floor
    from .answer import Launch
    from .targets import Target

_ASKED = Text('impl="{impl}" asks for it', '由 impl="{impl}" 指定')
_CUDA = Text('impl="auto": the tensors are on a GPU', 'impl="auto"：张量在 GPU 上')
_NAMED = Text(
    'impl="auto": on a GPU that is Triton; gpu=... asks about one that need not be here',
    'impl="auto"：在 GPU 上就用 Triton；gpu=... 问的是一块不必在本机的 GPU',
)
_CPU = Text(
    'impl="auto": the tensors are on the CPU. impl="triton" runs the kernels in the interpreter; '
    'gpu="h200" asks this function about a GPU',
    'impl="auto"：张量在 CPU 上。impl="triton" 让解释器运行 kernel；gpu="h200" 可以查询某块 GPU',
)
_TORCH = Text('impl="auto": the tensors are on no GPU', 'impl="auto"：张量不在 GPU 上')
_META = Text(
    'meta tensors have no data, so a call gives shapes only; gpu="h200" asks what a GPU would run',
    'meta 张量没有数据，调用只得到形状；gpu="h200" 可以查询 GPU 上会运行什么',
)


def of_choice(asked: str, device: str, gpu_named: bool) -> Text:
    """Why this implementation."""
    if asked != "auto":
        return Text(_ASKED.en.format(impl=asked), _ASKED.zh.format(impl=asked))
    if gpu_named:
        return _NAMED
    return {"cuda": _CUDA, "cpu": _CPU}.get(device, _TORCH)


def of_call(
    problem: AttentionProblem, device: str, cast_from: str | None, *, gradients: bool
) -> Iterator[Text]:
    """What the sizes and the surroundings bring with them."""
    p = problem
    if device == "meta":
        yield _META
    if cast_from is not None:
        yield Text(
            f"autocast is on: {cast_from} becomes {p.dtype}",
            f"autocast 已打开：{cast_from} 转为 {p.dtype}",
        )
    if not p.batch * p.heads_q * p.len_q:
        yield Text("no query: nothing is launched", "没有 query：什么也不启动")
    if p.group > 1:
        summed = Text("; dK and dV are summed inside the kernel", "；dK、dV 在 kernel 内求和")
        en, zh = summed if gradients else ("", "")
        yield Text(
            f"{p.group} query heads share a key head{en}",
            f"每 {p.group} 个 query 头共用一个 key 头{zh}",
        )
    blind = sum(
        p.visible_keys(row, row + 1)[0] == p.visible_keys(row, row + 1)[1] for row in _edge(p)
    )
    if blind:
        yield Text(
            "some queries see no key: o = 0 and lse = -inf there, or the sink",
            "有些 query 一个 key 也看不到：那里 o = 0、lse = -inf（有 sink 时为 sink）",
        )


def _edge(problem: AttentionProblem) -> tuple[int, ...]:
    """The first and the last query: if any sees nothing, one of them does."""
    return (0, problem.len_q - 1) if problem.len_q else ()


def of_kernels(problem: AttentionProblem, target: Target, first: Launch) -> Iterator[Text]:
    """What decides configuration, arithmetic and the tiles that are visited."""
    split = first.kernel == "flash_decode_kernel"
    if split:
        yield from _of_split(problem, first.splits)
    if target.gpu is None:
        yield Text(
            "the interpreter runs programs one after the other on the CPU, nothing has to fit: "
            "small sizes only",
            "解释器在 CPU 上逐个运行程序实例，没有容量限制：只适合小尺寸",
        )
    elif first.kernel.startswith("hopper_"):
        yield Text(
            f"its tile, warps and stages are those measured best for D = {problem.head_dim}",
            f"它的块、warp 数和流水线级数取 D = {problem.head_dim} 实测最快的一组",
        )
    elif not split:
        limit = amount(target.device.shared)
        widths = f"{padded(problem.head_dim)}, {padded(problem.head_dim_v)}"
        yield Text(
            f"the first tile in the table for {target.gpu.arch} that fits {limit} of shared memory, "
            f"with D and Dv padded to {widths}",
            f"{target.gpu.arch} 的配置表里第一个放得进 {limit} 共享内存的块，D、Dv 补齐到 {widths}",
        )
    yield from _of_padding(problem)
    if target.gpu is not None and target.gpu.sms and first.programs < target.gpu.sms:
        idle = target.gpu.sms - first.programs
        yield Text(
            f"{first.programs} programs: {idle} of {target.gpu.sms} SMs have nothing to do",
            f"只有 {first.programs} 个程序实例：{target.gpu.sms} 个 SM 里有 {idle} 个无事可做",
        )
    yield _arithmetic(problem, target.precision)
    if split:
        return
    tile = first.tile
    full = -(-problem.len_q // tile.block_m) * -(-problem.len_k // tile.block_n)
    seen = visited_tiles(problem, tile)
    if seen < full:
        yield Text(
            f"the mask leaves {whole(seen)} of {whole(full)} tiles a head to visit",
            f"按掩码，每个头的 {whole(full)} 块只访问 {whole(seen)} 块",
        )


def _of_padding(problem: AttentionProblem) -> Iterator[Text]:
    """What head dimensions between powers of two cost."""
    asked = problem.head_dim + problem.head_dim_v
    run = padded(problem.head_dim) + padded(problem.head_dim_v)
    if run > asked:
        yield Text(
            f"D and Dv run as {padded(problem.head_dim)} and {padded(problem.head_dim_v)}: "
            f"{1 - asked / run:.0%} of the products multiply zeros",
            f"D、Dv 按 {padded(problem.head_dim)}、{padded(problem.head_dim_v)} 运行："
            f"{1 - asked / run:.0%} 的乘法乘的是 0",
        )


def _of_split(problem: AttentionProblem, splits: int) -> Iterator[Text]:
    if problem.group > 1:
        yield Text(
            "few queries over many keys, so the path of decoding: the query heads of a group are "
            "rows of one tile and share its loads",
            "query 少、key 多，走解码的路径：同组的 query 头是同一块里的行，共用一次读入",
        )
    if splits > 1:
        yield Text(
            f"too few programs for the device, so the keys are cut into {splits} parts for as many "
            "programs; a second launch merges them",
            f"程序实例数不足以占满设备，于是把 key 切成 {splits} 份，每份一个程序实例；再启动一次合并",
        )


def _arithmetic(problem: AttentionProblem, precision: str) -> Text:
    if problem.dtype != "float32":
        return Text(
            f"products of {problem.dtype} add up in float32",
            f"{problem.dtype} 的乘积用 float32 累加",
        )
    if precision == "tf32":
        return Text(
            "float32 products in TF32, as PyTorch's fp32_precision says",
            "float32 乘积按 PyTorch 的 fp32_precision 设置使用 TF32",
        )
    return Text(
        "float32 products are exact, without TF32; "
        'torch.backends.cuda.matmul.fp32_precision = "tf32" allows it',
        "float32 乘积保持精确，不用 TF32；"
        'torch.backends.cuda.matmul.fp32_precision = "tf32" 可以放开',
    )


def of_torch(impl: Implementation, problem: AttentionProblem) -> Iterator[Text]:
    """What the implementations in torch do with the type and the memory."""
    wide = "float64" if problem.dtype == "float64" else "float32"
    yield Text(f"computed in {wide}, rounded once", f"用 {wide} 计算，只舍入一次")
    if impl == "reference":
        scores = problem.batch * problem.heads_q * problem.len_q * problem.len_k
        size = amount(scores * (8 if wide == "float64" else 4))
        yield Text(
            f"every N x N matrix is written out, {size} each; "
            "modelled forward as the three phases of standard attention",
            f"每个 N x N 矩阵都写出来，各占 {size}；前向按标准注意力的三个阶段建模",
        )


def of_gradients(
    gradients: tuple[str, ...], problem: AttentionProblem, *, sums: bool = False
) -> Iterator[Text]:
    """Which gradients, and what is refused about them; `sums`: whether dQ is added up in memory."""
    if not gradients:
        yield Text(
            "no input requires a gradient, or torch.no_grad: no backward",
            "没有输入要求梯度，或处于 torch.no_grad：没有反向",
        )
        return
    names = listed(gradients)
    same = Text("", "") if sums else Text(", the same bits in every run", "，每次运行逐位相同")
    yield Text(
        f"gradients of {names.en}{same.en}; a gradient of a gradient is refused "
        "(reference.attention has it)",
        f"求 {names.zh} 的梯度{same.zh}；对梯度再求梯度会被拒绝（可用 reference.attention）",
    )
    if sums:
        yield of_sums(problem)


def of_sums(problem: AttentionProblem) -> Text:
    """What the backward for Hopper costs besides time."""
    size = amount(4 * problem.batch * problem.heads_q * problem.len_q * problem.head_dim)
    return Text(
        f"dQ is added up in float32, {size} beyond the gradients, in an order of chance: its last "
        "bits may differ between runs, those of dK and dV do not; deterministic=True takes the "
        "readable kernels",
        f"dQ 用 float32 累加，除梯度外另占 {size}，累加顺序不固定：每次运行 dQ 的末位可能不同，"
        "dK、dV 则逐位相同；deterministic=True 改用可读版 kernel",
    )


def of_bound(problem: AttentionProblem, traffic: Traffic, gpu: GPU) -> Iterator[Text]:
    """What the roofline says of the forward pass, where it knows this GPU and type."""
    known = gpu.hbm_bandwidth is not None and problem.dtype in gpu.peak_flops
    if not known or not traffic.total or not visible_pairs(problem):
        return
    line, flops = roofline(gpu, problem.dtype), forward_flops(problem)
    least = intensity(flops, traffic)
    most = max(least, intensity(flops, compulsory_traffic(problem)))
    if line.bound(least) == line.bound(most):
        by = {"memory": Text("memory", "访存"), "compute": Text("arithmetic", "计算")}
        name = by[line.bound(least)]
        yield Text(
            f"forward: {least:.0f} useful FLOP for a byte asked for, ridge at {line.ridge:.0f}: "
            f"bound by {name.en}, with or without caches",
            f"前向：每请求一字节做 {least:.0f} 次有效运算，拐点在 {line.ridge:.0f}："
            f"无论缓存命中与否，都受限于{name.zh}",
        )
        return
    yield Text(
        f"forward: between {least:.0f} useful FLOP a byte, if every re-read of K and V comes from HBM, "
        f"and {most:.0f}, if L2 answers them all; the ridge, at {line.ridge:.0f}, lies between: "
        "the cache decides what binds",
        f"前向：若每次重读 K、V 都来自 HBM，每字节 {least:.0f} 次有效运算；若全由 L2 应答，则为 "
        f"{most:.0f}；拐点 {line.ridge:.0f} 在两者之间：瓶颈在哪一边，要看缓存",
    )


def of_refusal() -> Text:
    """Why there are no launches."""
    return Text(
        "flash_attention would raise this error; nothing is run instead",
        "flash_attention 会抛出这个错误，不会改用别的实现",
    )
