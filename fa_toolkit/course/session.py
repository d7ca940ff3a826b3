"""What `start` finds out about this session and sets up in it. Initialises no GPU."""

from __future__ import annotations

import importlib.util
import io
import logging
import platform
from html import escape
from importlib import metadata
from typing import Any

from .. import __version__
from ..language import Text, say
from . import cards, chapters, gpu_choice
from .cards import Card, shell
from .gpu_cells import CELLS

_MEANING = {
    "gpu": Text("compiled for this GPU", "为这块 GPU 编译后运行"),
    "interpreter": Text(
        "Triton's interpreter on the CPU: same results, small sizes",
        "由 Triton 解释器在 CPU 上运行：结果相同，只适合小尺寸",
    ),
    "none": Text(
        "cannot run here; everything that needs no Triton works",
        "这里无法运行；不需要 Triton 的部分都能用",
    ),
}
_NO_GPU = Text("CPU ({kind}); no GPU, none is needed", "CPU（{kind}）；没有 GPU，也不需要")
_LABELS = {
    "device": Text("Device", "设备"),
    "kernels": Text("Kernels", "Kernel"),
    "gpu": Text("GPU cells", "GPU 格子"),
    "versions": Text("Versions", "版本"),
}
_FIGURE = Text("a figure without a title", "没有标题的图")


def start_card(chapter: int) -> Card:
    """Title, device, what kernels run on, versions."""
    title = chapters.title(chapter)
    mode = quiet_mode()
    rows = [
        (say(_LABELS["device"]), _device()),
        (say(_LABELS["kernels"]), _kernels(mode)),
        (say(_LABELS["versions"]), _versions()),
    ]
    if any(cell.startswith(f"{chapter:02d}.") for cell in CELLS):
        rows.insert(2, (say(_LABELS["gpu"]), gpu_choice.sentence()))
    warning = chapters.mismatch(chapters.notebook_version())
    body = (
        cards.head(say(title), before=f"{chapter:02d}")
        + cards.facts(rows)
        + cards.note(say(warning) if warning else "")
    )
    colon = say(Text(": ", "："))
    lines = [f"{chapter:02d}  {say(title)}", *(f"{name}{colon}{value}" for name, value in rows)]
    lines += [say(warning)] if warning else []
    return Card(body, "\n".join(lines))


def quiet_mode() -> Any:
    """The mode of the kernels; its one notice on the console is spared, as the card says it."""
    log = logging.getLogger("fa_toolkit.kernels.runtime")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        from .. import kernels

        return kernels.mode()
    finally:
        log.setLevel(level)


def _device() -> str:
    import torch

    if not torch.cuda.is_available():  # asks the driver, creates no context
        return say(_NO_GPU, kind=platform.machine())
    from ..hardware import detect

    known = detect()
    return known.name if known is not None else torch.cuda.get_device_name()


def _kernels(mode: Any) -> str:
    text = say(_MEANING[str(mode)])
    return f"{text} ({say(mode.reason)})" if mode == "none" else text


def _versions() -> str:
    found = [f"fa_toolkit {__version__}", f"Python {platform.python_version()}"]
    for name in ("torch", "triton"):
        if importlib.util.find_spec(name) is None:
            continue
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(name)
    return " · ".join(found)


def set_up_figures() -> None:
    """Matplotlib's figures inline, as SVG whose colours follow the page's theme."""
    active: Any = shell()
    if active is None or importlib.util.find_spec("matplotlib") is None:
        return
    import matplotlib

    from ..viz.palette import figure_style

    if hasattr(active, "kernel"):
        active.run_line_magic("matplotlib", "inline")
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        # no picture of matplotlib's own: the HTML below is the one that follows the page's theme
        set_matplotlib_formats()  # type: ignore[no-untyped-call]
    settings: Any = matplotlib.rcParams
    settings.update(figure_style("auto"))
    formatter = active.display_formatter.formatters["text/html"]
    formatter.for_type_by_name("matplotlib.figure", "Figure", figure_html)


def figure_html(figure: Any) -> str:
    """A matplotlib figure as HTML that follows the page's theme, as the course's own figures do."""
    own = getattr(figure, "html", None)
    if own is not None:
        return str(own())
    from ..viz.palette import css_variables, themed

    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None}
    )
    svg = buffer.getvalue()
    style = css_variables(".fa-figure") + ".fa-figure svg { max-width: 100%; height: auto; }"
    drawn = themed(svg[svg.index("<svg") :])
    alt = escape(spoken(figure), quote=True)
    drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
    return f'<div class="fa-figure"><style>{style}</style>{drawn}</div>'


def spoken(figure: Any) -> str:
    """What can be read aloud of a plain matplotlib figure: its titles and the names of its axes."""
    words = [figure.get_suptitle()]
    for ax in figure.axes:
        words += [ax.get_title(loc=place) for place in ("left", "center", "right")]
        words += [ax.get_xlabel(), ax.get_ylabel()]
    return "; ".join(filter(None, words)) or say(_FIGURE)
