"""The command line of the benchmark: options, where results go, and what a CPU is told."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from .. import language, measured
from ..errors import ArgumentError, BackendUnavailable, FaError
from ..language import LANGUAGES, Text, say
from ..measured import Run, Speed
from ..measured.providers import OURS
from ..problem import ITEMSIZE, Dtype
from .plans import BUDGET, STANDARD, SUITES, TOKENS, plan_of

_HELP = {
    "quick": Text("two lengths, causal, in half a minute", "只测两个长度、因果掩码，约半分钟"),
    "full": Text("every length, width and mask; many minutes", "所有长度、宽度和掩码，要很多分钟"),
    "suite": Text(
        "{names}; several with commas; without it {standard}. TFLOP/s count 4·B·H·N²·D, half of it "
        "under a causal mask, 2.5 times for the backward pass",
        "{names}；几个之间用逗号；不写则测 {standard}。TFLOP/s 按 4·B·H·N²·D 计，因果掩码减半，反向乘 2.5",
    ),
    "shape": Text(
        "time this shape in place of the built-in ones; may be given several times",
        "只测这个形状，不用内置的；可以写多次",
    ),
    "json": Text("write the result here, after each case", "结果写到这个文件，每测完一项写一次"),
    "plot": Text("draw the result into this folder", "把图画到这个文件夹"),
    "dtype": Text("without it the half type of this GPU", "不写则用这块 GPU 的半精度类型"),
    "dims": Text("head dimensions, such as 64,128", "头的宽度，如 64,128"),
    "lengths": Text("sequence lengths, such as 1024,4096", "序列长度，如 1024,4096"),
    "mask": Text("only causal, or only without a mask", "只测因果掩码，或只测无掩码"),
    "providers": Text("only these implementations, with commas", "只测这些实现，用逗号隔开"),
    "also": Text(
        "time your own f(q, k, v, causal=...) too: module:function or file.py:function",
        "把你自己的 f(q, k, v, causal=...) 也测上：模块:函数 或 文件.py:函数",
    ),
    "budget": Text(
        "start no case after so many seconds; without it {quick:.0f} (--quick), {default:.0f} or "
        "{full:.0f} (--full)",
        "超过这么多秒就不再开始新的一项；不写则为 {quick:.0f}（--quick）、{default:.0f} 或 {full:.0f}（--full）",
    ),
    "sustain": Text("also run each so many seconds without pause", "每个再不停顿地连续跑这么多秒"),
    "lang": Text("en or zh", "en 或 zh"),
}
_NO_GPU = Text(
    "No GPU here: bytes, memory and tiled torch are measured; GPU figures below are recorded ones. "
    "Tiled torch is written to be read: its bytes and its memory mean something, its time does not.",
    "这里没有 GPU：只测字节数、内存和分块 torch；下面的 GPU 数字是记录下来的。"
    "分块 torch 是写给人读的：看它的字节数和内存，别看它的时间。",
)
_NEEDS_GPU = Text(
    "Without a GPU this has no effect: {options}.", "没有 GPU 时不起作用：{options}。"
)
_RECORDED = Text("Recorded, not measured here: {title}", "记录，并非在这里测得：{title}")
_WROTE = Text("written: {path}", "已写入：{path}")
SHAPE = "B,Hq,Hkv,N,D"
#: what a run that was stopped ends with, as shells have it
DONE, INTERRUPTED = 0, 130
_SMALL = 6 * 2**30  # bytes; below this all cases are cut to a quarter


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fa bench`, in the language in force."""
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help=say(_HELP["quick"]))
    size.add_argument("--full", action="store_true", help=say(_HELP["full"]))
    names = " | ".join(SUITES)
    usual = ", ".join(STANDARD)
    suites = say(_HELP["suite"], names=names, standard=usual)
    parser.add_argument("--suite", default="", metavar="S", help=suites)
    parser.add_argument("--json", type=Path, metavar="FILE", help=say(_HELP["json"]))
    parser.add_argument("--plot", type=Path, metavar="DIR", help=say(_HELP["plot"]))
    kinds = [name for name in ITEMSIZE if name != "float64"]
    parser.add_argument("--dtype", choices=kinds, help=say(_HELP["dtype"]))
    parser.add_argument("--dims", default="", metavar="D", help=say(_HELP["dims"]))
    parser.add_argument("--lengths", default="", metavar="N", help=say(_HELP["lengths"]))
    parser.add_argument("--mask", choices=("causal", "full"), help=say(_HELP["mask"]))
    parser.add_argument(
        "--shape", action="append", default=[], metavar=SHAPE, help=say(_HELP["shape"])
    )
    parser.add_argument("--providers", default="", metavar="P", help=say(_HELP["providers"]))
    parser.add_argument("--also", action="append", default=[], metavar="F", help=say(_HELP["also"]))
    budget = say(_HELP["budget"], **BUDGET)
    parser.add_argument("--budget", type=float, metavar="SEC", help=budget)
    parser.add_argument(
        "--sustain", type=float, default=0.0, metavar="SEC", help=say(_HELP["sustain"])
    )


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m fa_toolkit.bench`: the same as `fa bench`, where only torch is installed."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for at, argument in enumerate(arguments[:-1]):
        if argument == "--lang" and arguments[at + 1] in LANGUAGES:
            language.choose(arguments[at + 1])
    parser = argparse.ArgumentParser(prog="python -m fa_toolkit.bench", description=__doc__)
    parser.add_argument("--lang", choices=LANGUAGES, help=say(_HELP["lang"]))
    add_options(parser)
    options = parser.parse_args(arguments)
    try:
        return run(options, arguments=arguments, program="python -m fa_toolkit.bench")
    except FaError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


def run(
    options: argparse.Namespace,
    *,
    arguments: Sequence[str] = (),
    program: str = "fa bench",
    out: TextIO | None = None,
) -> int:
    """Measure as asked, show the tables, write what was asked for; returns the exit code.

    Raises:
        ArgumentError: if an option cannot be used.
        BackendUnavailable: if plots are asked for and matplotlib is not installed.
    """
    stream = out or sys.stdout
    for name in ("budget", "sustain"):
        seconds = getattr(options, name) or 0.0
        if not 0 <= seconds < float("inf"):
            expected = Text("seconds, 0 or more", "不小于 0 的秒数")
            raise ArgumentError(f"--{name}", expected=expected, got=str(seconds))
    _check_targets(options)
    import torch

    from .providers import also
    from .render import show
    from .session import measure
    from .tables import footer, tables

    for target in options.also:
        also(target)  # a function that is not there is named at once, with and without a GPU
    gpu = torch.cuda.is_available()
    if not gpu:
        print(say(_NO_GPU), file=stream)
    plan = plan_of(
        "quick" if options.quick else "full" if options.full else "default",
        suites=_names(options.suite),
        dtype=options.dtype or _half_type(gpu),
        head_dims=_numbers("--dims", options.dims),
        lengths=_numbers("--lengths", options.lengths),
        causal=None if options.mask is None else options.mask == "causal",
        providers=_names(options.providers),
        also=options.also,
        budget_s=options.budget,
        sustain_s=options.sustain,
        tokens=TOKENS if not gpu or _memory() >= _SMALL else TOKENS // 4,
        shapes=[_shape(text) for text in options.shape],
    )
    idle = [] if gpu else [f"--{name}" for name in _idle(options, plan.asked)]
    if idle:
        print(say(_NEEDS_GPU, options=", ".join(idle)), file=stream)
    command = " ".join([program, *arguments])
    result = measure(
        plan, command=command, gpu=gpu,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
        keep=lambda run: _keep(run, options.json),
    )  # fmt: skip
    show(tables(result), footer(result), stream)
    if not gpu:
        _show_recorded(stream)
    for path in [*([options.json] if options.json else []), *_plots(result, options.plot, gpu)]:
        print(say(_WROTE, path=path), file=stream)
    return DONE if result.complete or result.left_out else INTERRUPTED


#: what a file would be called, and no folder
_PICTURES = frozenset({".png", ".svg", ".pdf", ".jpg"})


def _idle(options: argparse.Namespace, asked: bool) -> list[str]:
    """The options that were given and that a run on a CPU does not look at."""
    names = ("suite", "dtype", "providers", "also", "sustain", *(() if asked else ("mask",)))
    return [name for name in names if getattr(options, name)]


def _check_targets(options: argparse.Namespace) -> None:
    """What cannot be written is said before anything is measured."""
    if options.plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise BackendUnavailable(
            "--plot",
            expected=Text("matplotlib", "装有 matplotlib"),
            got=Text("none installed", "没有安装"),
            hint='pip install "fa-toolkit[course]"',
        )
    if options.plot is not None and options.plot.suffix in _PICTURES:
        folder = Text("a folder for the pictures", "放图的文件夹")
        hint = str(options.plot.with_suffix(""))
        raise ArgumentError("--plot", expected=folder, got=str(options.plot), hint=hint)
    for target in (options.json and options.json.parent, options.plot):
        if target is None:
            continue
        try:
            target.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=target).close()
        except OSError as error:
            expected = Text("a folder that can be written", "可以写入的文件夹")
            raise ArgumentError(str(target), expected=expected, got=str(error)) from error
    if options.json is not None and options.json.is_dir():
        expected, got = Text("a file", "文件"), Text("a folder", "文件夹")
        raise ArgumentError(str(options.json), expected=expected, got=got)


def _keep(result: Run, path: Path | None) -> None:
    if path is not None:
        named = replace(result, id=f"bench-{result.provenance.date[:16]}".replace(":", ""))
        path.write_text(measured.dump(named), encoding="utf-8")


def _plots(result: Run, folder: Path | None, gpu: bool) -> list[Path]:
    """Pictures of what was measured; on a CPU also of what is recorded."""
    if folder is None:
        return []
    from .plots import draw

    drawn = draw(result, folder)
    return drawn if gpu else [*drawn, *draw(_recorded_part(), folder, prefix="recorded_")]


def _recorded() -> Run:
    """The recorded run with the most implementations beside ours, the newest of equals."""

    def beside(each: Run) -> int:
        shown = {row.provider for row in _first_look(each)}
        return len(shown) if shown & OURS else 0

    return max(reversed(measured.runs()), key=beside)


def _first_look(run: Run) -> tuple[Speed, ...]:
    """What a learner looks at first: D = 128, causal, one key head for each query head."""
    return tuple(
        row
        for row in run.speeds
        if not row.variant and row.regime != "sustained" and row.pass_ != "decode"
        and (row.problem.head_dim, row.problem.causal, row.problem.group) == (128, True, 1)
    )  # fmt: skip


def _recorded_part() -> Run:
    whole = _recorded()
    return replace(whole, speeds=_first_look(whole))


def _show_recorded(stream: TextIO) -> None:
    from .render import show
    from .tables import footer, speed_tables

    recorded = _recorded_part()
    rows = [row for row in recorded.speeds if row.pass_ == "forward"]
    print(f"\n{say(_RECORDED, title=say(recorded.title))}", file=stream)
    show(speed_tables(rows), footer(recorded), stream)


def _half_type(gpu: bool) -> Dtype:
    import torch

    return "bfloat16" if not gpu or torch.cuda.get_device_capability() >= (8, 0) else "float16"


def _memory() -> int:
    import torch

    index = torch.cuda.current_device()
    return int(torch.cuda.get_device_properties(index).total_memory)


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(name: str, text: str) -> list[int]:
    try:
        numbers = [int(part) for part in _names(text)]
    except ValueError:
        numbers = [0]
    if any(number < 1 for number in numbers):
        expected = Text("whole numbers with commas", "用逗号隔开的正整数")
        raise ArgumentError(name, expected=expected, got=text)
    return numbers


def _shape(text: str) -> tuple[int, int, int, int, int]:
    numbers = _numbers("--shape", text)
    if len(numbers) != 5:
        raise ArgumentError("--shape", expected=SHAPE, got=text, hint="--shape 4,32,8,4096,128")
    b, heads_q, heads_kv, length, dim = numbers
    return b, heads_q, heads_kv, length, dim
