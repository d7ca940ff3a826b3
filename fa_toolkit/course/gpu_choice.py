""" "I have a GPU" or "I do not": which of the two a chapter's GPU cells show, and how to say it.

Found out by itself; `fa.course.gpu("no")` or FA_GPU=no shows what a reader without one sees, "yes"
insists on measuring. Concerns these cells alone: where kernels run is decided elsewhere.
"""

from __future__ import annotations

import os
from html import escape
from typing import Any, Literal, get_args

from ..errors import ArgumentError, BackendUnavailable
from ..language import Text, say
from . import cards
from .cards import Card, shell
from .gpu_cells import GpuCell, cell

Choice = Literal["auto", "yes", "no"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
VARIABLE = "FA_GPU"
_chosen: list[Choice] = []

LIVE = Text("measured live on {device}", "在 {device} 上现场测量")
RECORDED = Text("recorded figures, as there is no GPU here", "这里没有 GPU，显示记录下来的数字")
CHOSEN_RECORDED = Text(
    'recorded figures, as chosen; fa.course.gpu("auto") measures {device}',
    '按你的选择显示记录下来的数字；fa.course.gpu("auto") 会在 {device} 上测',
)
_TITLE = Text("GPU cells", "需要 GPU 的格子")
_LIVE_HEAD = Text("Live on {device}", "在 {device} 上现场运行")
_RECORDED_HEAD = Text("No GPU here: recorded", "这里没有 GPU：以下为记录")
_AS_CHOSEN_HEAD = Text("Recorded, as you chose", "按你的选择，以下为记录")
_WOULD = Text("On a GPU this cell {does}.", "有 GPU 时，这一格{does}。")
_SOURCE = Text("Recorded on: {where}", "记录于：{where}")
_NOT = Text("no GPU that kernels can be compiled for", "没有能为它编译 kernel 的 GPU")


def choose(choice: str) -> Choice:
    """Decide for the rest of this process.

    Raises:
        ArgumentError: if it is none of auto, yes, no.
    """
    for known in CHOICES:
        if choice == known:
            _chosen[:] = [known]
            return known
    expected = Text('"auto", "yes" or "no"', "“auto”、“yes” 或 “no”")
    raise ArgumentError("gpu", expected=expected, got=repr(choice))


def choice() -> Choice:
    """What was chosen: by `choose`, else by FA_GPU, else "auto"."""
    if _chosen:
        return _chosen[-1]
    asked = os.environ.get(VARIABLE, "").lower()
    return next((known for known in CHOICES if known == asked), "auto")


def device() -> str | None:
    """The GPU for which kernels are compiled here; None if there is none."""
    import torch

    from .session import quiet_mode

    if not torch.cuda.is_available() or quiet_mode() != "gpu":
        return None
    return str(torch.cuda.get_device_name())


def live() -> bool:
    """Whether GPU cells measure.

    Raises:
        BackendUnavailable: if that was insisted on and there is no GPU.
    """
    found, wanted = device(), choice()
    if wanted == "yes" and found is None:
        raise BackendUnavailable(
            "gpu",
            expected=Text("an NVIDIA GPU", "一块 NVIDIA GPU"),
            got=_NOT,
            hint=Text(
                'fa.course.gpu("auto") shows recorded figures where there is none',
                'fa.course.gpu("auto")：没有 GPU 时显示记录下来的数字',
            ),
        )
    return found is not None and wanted != "no"


def sentence() -> str:
    """How the GPU cells of this session answer, for the card at the top of a chapter."""
    found = device()
    if found is None:
        return say(RECORDED)
    return say(CHOSEN_RECORDED if choice() == "no" else LIVE, device=found)


def choice_card() -> Card:
    """The answer of `fa.course.gpu`."""
    title, text = say(_TITLE), sentence()
    return Card(cards.head(title) + f"<p>{escape(text)}</p>", f"{title}: {text}")


def show(cell_id: str) -> None:
    """Run a GPU cell: live where there is a GPU, else the sentence and the recorded figure.

    Raises:
        UnknownNameError: if there is no such cell.
        BackendUnavailable: if "yes" was chosen and there is no GPU.
    """
    found = cell(cell_id)
    if live():
        _head_card(found, say(_LIVE_HEAD, device=device())).show()
        _display(found.live())
        return
    head = say(_AS_CHOSEN_HEAD if device() else _RECORDED_HEAD)
    _head_card(found, head, found.where()).show()
    _display(found.recorded(found.run()))


def _head_card(found: GpuCell, head: str, where: str = "") -> Card:
    """What the cell does, and where recorded figures come from."""
    lines = [say(_WOULD, does=say(found.does)), say(_SOURCE, where=where)] if where else []
    body = cards.head(head, before=found.id) + "".join(f"<p>{escape(line)}</p>" for line in lines)
    return Card(body, "\n".join([f"{found.id}  {head}", *lines]))


def _display(shown: Any) -> None:
    if shell() is None:
        print(shown.text if isinstance(shown, Card) else shown)
        return
    from IPython.display import display

    display(shown)  # type: ignore[no-untyped-call]
