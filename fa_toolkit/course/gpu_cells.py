"""The cells that need a GPU: what each does there, and the recorded figure shown without one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import Any

from .. import measured
from ..errors import UnknownNameError
from ..language import Text, say
from ..measured import Ceiling, Run
from . import cards
from .cards import Card

_UNITS = {"FLOP/s": (1e12, "TFLOP/s"), "B/s": (1e9, "GB/s")}


@dataclass(frozen=True)
class GpuCell:
    """One cell. `does` completes "On a GPU this cell …"; both functions return what is displayed."""

    id: str
    does: Text
    run: Callable[[], Run]
    live: Callable[[], Any]
    recorded: Callable[[Run], Any]

    def where(self) -> str:
        """Device, versions and day of what is recorded."""
        return self.run().provenance.line()


def cell(cell_id: str) -> GpuCell:
    """A GPU cell by its id.

    Raises:
        UnknownNameError: if there is none; near ones are named.
    """
    if not isinstance(cell_id, str) or cell_id not in CELLS:
        raise UnknownNameError(
            "cell",
            expected=Text("the id of a GPU cell", "一个 GPU 格子的 id"),
            got=repr(cell_id),
            hint=", ".join(difflib.get_close_matches(str(cell_id), CELLS) or CELLS),
        )
    return CELLS[cell_id]


def ceilings_card(rows: Sequence[Ceiling]) -> Card:
    """What a device reached, a line each: name, number, and a bar beside others of its unit."""
    most = {unit: max(row.value for row in rows if row.unit == unit) for unit in _UNITS
            if any(row.unit == unit for row in rows)}  # fmt: skip
    cells, lines = [], []
    for row in rows:
        scale, unit = _UNITS[row.unit]
        number = f"{row.value / scale:,.0f} {unit}"
        width = 100 * row.value / most[row.unit]
        bar = f'<span class="fc-bar"><i style="width:{width:.0f}%"></i></span>'
        alone = [other.unit for other in rows].count(row.unit) == 1  # nothing to be longer than
        cells.append(
            f"<tr><td>{escape(say(row.what))}</td><td>{number}</td>"
            f"<td>{'' if alone else bar}</td></tr>"
        )
        lines.append(f"{number:>16}  {say(row.what)}")
    return Card(f'<table class="fc-table">{"".join(cells)}</table>', "\n".join(lines))


_RIDGE = Text(
    "They meet at {ridge:.0f} FLOP per byte: below it this card waits for memory.",
    "两者在每字节 {ridge:.0f} FLOP 处相交：低于它，这块卡就在等存储。",
)


def ridge_card(rows: Sequence[Ceiling]) -> Card:
    """Both ceilings and the intensity at which they meet."""
    table = ceilings_card(rows)
    rate = {row.unit: row.value for row in rows}
    if set(rate) != {"FLOP/s", "B/s"}:
        return table
    text = say(_RIDGE, ridge=rate["FLOP/s"] / rate["B/s"])
    return Card(table.body + cards.note(text), f"{table.text}\n{text}")


def _ceilings(run: Run) -> Card:
    names = ("hbm_copy", "matmul_bf16_8192")
    return ridge_card(
        [next(c for c in run.ceilings if c.name == n and c.regime == "burst") for n in names]
    )


def _products(run: Run) -> Card:
    """A matrix product in plain Triton and one by cuBLAS, as recorded."""
    shown = [f for f in run.features if f.name.startswith(("tl.make_tensor_descriptor", "cuBLAS"))]
    return ceilings_card(
        [Ceiling(f.name, Text(f.name, f.name), "FLOP/s", f.tflops * 1e12) for f in shown]
    )


def _forward(run: Run) -> Any:
    return rates(run, "forward", providers=("ours_readable", *BESIDE))


def _field(run: Run) -> Any:
    return rates(run, "forward", head_dim=64, causal=False)


def _decode(run: Run) -> Any:
    [hbm] = measured.ceilings("hbm_read", device=run.provenance.device)
    return rates(run, "decode", head_dim=None, causal=None, ceiling=hbm.value)


def rates(
    run: Run,
    pass_: str,
    *,
    head_dim: int | None = 128,
    causal: bool | None = True,
    providers: Sequence[str] = (),
    ceiling: float | None = None,
) -> Any:
    """The rates of one pass of a run, recorded or fresh, as the figure of the chapters."""
    from ..viz.figures.rates import rate_lines

    rows = [
        row
        for row in run.speeds
        if row.pass_ == pass_ and row.regime != "sustained" and not row.variant
        and head_dim in (None, row.problem.head_dim) and causal in (None, row.problem.causal)
        and (pass_ == "decode" or row.problem.group == 1)
        and (not providers or row.provider in providers)
    ]  # fmt: skip
    return rate_lines(rows, ceiling=ceiling, where=run.provenance.line)


_SETS = frozenset({"ours_hopper", "ours_readable"})


def memory(run: Run) -> Any:
    """Peak memory of a training step of a run, recorded or fresh."""
    from ..viz.figures.rates import peak_memory

    rows = [row for row in run.memories if row.pass_ == "training"]
    if any(row.provider in _SETS for row in rows):  # "ours" is now one of the two, now the other
        rows = [row for row in rows if row.provider != "ours"]
    return peak_memory(rows, where=run.provenance.line)


def _live(name: str) -> Callable[[], Any]:
    def measure() -> Any:
        from . import gpu_live  # imports torch.cuda's timers; nobody without a GPU needs them

        return getattr(gpu_live, name)()

    return measure


def _kept(run_id: str) -> Callable[[], Run]:
    return lambda: measured.run(run_id)


#: whom chapter 06's kernel stands beside: standard attention and SDPA
BESIDE = ("eager", "sdpa_flash", "sdpa_math")
CELLS = MappingProxyType(
    {
        one.id: one
        for one in (
            GpuCell(
                "01.ceilings",
                Text(
                    "times a large copy and a large matrix product, and says where your card's "
                    "roofline bends",
                    "测一次大拷贝和一次大矩阵乘，算出你这块卡的 roofline 在哪里转弯",
                ),
                _kept("h200-ceilings"),
                _live("ceilings"),
                _ceilings,
            ),
            GpuCell(
                "05.matmul",
                Text(
                    "compiles this chapter's matrix product for your card and times it beside torch's; "
                    "recorded are one in Triton whose tiles a copy engine fetches, and cuBLAS",
                    "把本章的矩阵乘为你的卡编译，与 torch 的并排计时；"
                    "这里记录的是一个由拷贝引擎取块的 Triton 矩阵乘，以及 cuBLAS",
                ),
                _kept("h200-ceilings"),
                _live("matmul"),
                _products,
            ),
            GpuCell(
                "06.forward",
                Text(
                    "times the readable forward kernel beside eager attention and SDPA, in half a minute",
                    "把可读版前向 kernel 与标准注意力（eager）、SDPA 并排计时，约半分钟",
                ),
                _kept("h200-forward"),
                _live("forward"),
                _forward,
            ),
            GpuCell(
                "07.memory",
                Text(
                    "measures the peak memory of a training step on your card as N grows",
                    "在你的卡上测出训练一步的峰值内存怎样随 N 增长",
                ),
                _kept("h200-memory-ours"),
                _live("training_memory"),
                memory,
            ),
            GpuCell(
                "08.field",
                Text(
                    "runs fa bench --quick: your card, beside whatever else is installed",
                    "运行 fa bench --quick：在你的卡上与装着的其他实现比一比",
                ),
                _kept("h200-peers"),
                _live("bench"),
                _field,
            ),
            GpuCell(
                "09.decode",
                Text(
                    "times one decoding step over a long cache, as bytes a second",
                    "测长缓存上的一步解码，以每秒字节数表示",
                ),
                _kept("h200-decode"),
                _live("decode"),
                _decode,
            ),
        )
    }
)
