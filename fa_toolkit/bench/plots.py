"""Plots of a run into a folder, light and dark: rates against N with the ceiling, memory against N."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from ..measured import Run, Speed, ceilings
from ..viz.figures.rates import peak_memory, rate_lines

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_DPI = 160


def draw(run: Run, folder: Path, *, prefix: str = "") -> list[Path]:
    """Write every picture that the rows of `run` fill; returns their paths."""
    ceiling = _ceiling(run)
    where = run.provenance.line
    paths = []
    for name, rows in _groups(run):
        if len({row.problem.len_k for row in rows}) < 2:
            continue
        for theme in THEMES:
            figure = rate_lines(rows, ceiling=ceiling, where=where, theme=theme)
            paths.append(folder / f"{prefix}{name}_{theme}.png")
            figure.savefig(paths[-1], dpi=_DPI)
    for pass_ in ("forward", "training"):
        peaks = [m for m in run.memories if m.pass_ == pass_ and m.mib is not None]
        if len({m.problem.len_k for m in peaks}) < 2:
            continue
        for theme in THEMES:
            figure = peak_memory(peaks, where=where, theme=theme)
            paths.append(folder / f"{prefix}memory_{pass_}_{theme}.png")
            figure.savefig(paths[-1], dpi=_DPI)
    return paths


def _ceiling(run: Run) -> float | None:
    """FLOP/s of a matrix product: of the run itself, else as recorded for the same device."""
    known = [row for row in run.ceilings if row.name == "matmul"]
    recorded = ceilings("matmul_bf16_8192", device=run.provenance.device)
    known += [row for row in recorded if row.regime == "burst"]
    return known[0].value if known else None


def _groups(run: Run) -> list[tuple[str, list[Speed]]]:
    """Rows that belong into one picture, with its name."""

    def key(row: Speed) -> Any:
        mask = "causal" if row.problem.causal else "full"
        return f"{row.pass_}_d{row.problem.head_dim}_{mask}"

    rows = [
        row
        for row in run.speeds
        if row.rate is not None
        and not row.variant
        and row.regime != "sustained"
        and row.timer != "cpu"
        and (row.problem.group == 1 or row.pass_ == "decode")
    ]
    ordered = sorted(rows, key=key)
    return [(name, list(group)) for name, group in groupby(ordered, key=key)]
