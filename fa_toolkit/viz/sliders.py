"""A figure that follows sliders: ordinary controls above, one picture below, redrawn in place."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
from matplotlib.figure import Figure

from ..errors import ArgumentError, FaError
from ..language import Text, check, current, say, using
from .figures.canvas import Sheet
from .taking import function, mapping, takes

_SPEC = Text(
    "(first, last), (first, last, step), a list of choices, True/False, or a widget",
    "(first, last)、(first, last, step)、选项列表、True/False 或一个控件",
)


@takes(draw=function, labels=mapping, at=mapping)
def scrub(
    draw: Callable[..., Figure],
    *,
    labels: dict[str, Text | str] | None = None,
    at: dict[str, Any] | None = None,
    lang: str | None = None,
    **controls: Any,
) -> Scrub:
    """Controls and a figure that follows them, drawn on one sheet that is used again and again.

    Arrow keys move a slider that has the focus. What `draw` rejects appears as one line under the
    controls; the last good picture stays.

    Args:
        draw: called with one keyword per control; returns a figure of `viz` or of matplotlib.
        labels: names to show instead of the keywords.
        at: keyword -> where a slider stands at first; the first value otherwise.
        controls: keyword -> (first, last[, step]), a list of choices, a bool, or an ipywidget.

    Raises:
        ArgumentError: if a control cannot be made from what was given.

    Example:
        >>> from fa_toolkit.viz import softmax_bars
        >>> box = scrub(lambda blocks: softmax_bars([1, 2, 3, 4], blocks), blocks=(1, 4))
        >>> box.children[0].children[0].value
        1
    """
    spoken = current() if lang is None else check(lang)
    with using(spoken):
        made = {
            name: _control(name, spec, say((labels or {}).get(name, name)), (at or {}).get(name))
            for name, spec in controls.items()
        }
    picture = widgets.HTML(layout=widgets.Layout(width="auto"))
    line = widgets.HTML()
    show = _Redraw(draw, made, picture, line, spoken)
    for control in made.values():
        control.observe(show, names="value")
    show()
    return Scrub(show)


class Scrub(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """Controls, a line for what was rejected, and the figure."""

    def __init__(self, show: _Redraw) -> None:
        controls = list(show.controls.values())
        row = widgets.HBox(controls, layout=widgets.Layout(flex_flow="row wrap"))
        super().__init__([row, show.line, show.picture])
        self.add_class("fa-scrub")
        self._show = show

    def film(self, most: int = 64) -> dict[str, Any] | None:
        """Every position of the controls with its picture, for a page without a kernel.

        Returns:
            `controls`: label, choices as text and `at`, the position now, of each; `frames`: the
            picture, or one line of text, by positions such as "0,2". None if there are more than
            `most` combinations, or a control has no list of positions.
        """
        choices = [_positions(control) for control in self._show.controls.values()]
        if not all(choices) or math.prod(map(len, choices)) > most:
            return None
        frames = {}
        for at in itertools.product(*(range(len(values)) for values in choices)):
            picked = [values[i] for values, i in zip(choices, at, strict=True)]
            picture, wrong = self._show.drawn(dict(zip(self._show.controls, picked, strict=True)))
            frames[",".join(map(str, at))] = picture or f"<p>{_escaped(wrong)}</p>"
        controls = [
            {"label": control.description, "choices": [str(value) for value in values],
             "at": values.index(control.value)}
            for control, values in zip(self._show.controls.values(), choices, strict=True)
        ]  # fmt: skip
        return {"controls": controls, "frames": frames}


def _positions(control: Any) -> list[Any]:
    """The values a control can take; empty if they cannot be listed."""
    if isinstance(control, widgets.Checkbox):
        return [False, True]
    if isinstance(control, widgets.SelectionSlider):
        return list(control.options)
    if isinstance(control, widgets.IntSlider):
        values = list(range(control.min, control.max + 1, control.step))
        return values if control.value in values else []
    return []


class _Redraw:
    """Draws with the controls' values and puts the result into the picture."""

    def __init__(
        self,
        draw: Callable[..., Figure],
        controls: dict[str, Any],
        picture: widgets.HTML,
        line: widgets.HTML,
        lang: str,
    ) -> None:
        self.draw, self.controls, self.picture, self.line = draw, controls, picture, line
        self.lang = lang
        self.sheet: Sheet | None = None
        self.reuses = "figure" in inspect.signature(draw).parameters

    def __call__(self, change: Any = None) -> None:
        picture, wrong = self.drawn({name: box.value for name, box in self.controls.items()})
        self.line.value = f"<span role='alert'>{_escaped(wrong)}</span>" if wrong else ""
        if picture:
            self.picture.value = picture

    def drawn(self, values: dict[str, Any]) -> tuple[str, str]:
        """The picture for these values of the controls, or "" and why there is none."""
        more = {"figure": self.sheet} if self.reuses and self.sheet is not None else {}
        with using(self.lang):
            try:
                figure = self.draw(**values, **more)
            except FaError as wrong:
                return "", str(wrong)
        self.sheet = figure if isinstance(figure, Sheet) else None
        return figure.html() if isinstance(figure, Sheet) else _plain_svg(figure), ""


def _plain_svg(figure: Figure) -> str:
    import io

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _control(name: str, spec: Any, label: str, at: Any) -> Any:
    """An ipywidget for a short specification, standing at `at` if that is not None."""
    named = {"description": label, "style": {"description_width": "initial"}}
    if isinstance(spec, widgets.Widget):
        return spec
    if isinstance(spec, bool):
        return widgets.Checkbox(value=spec, indent=False, **named)
    if isinstance(spec, list) and spec:
        if at is not None and at not in spec:
            raise ArgumentError(
                f"at[{name!r}]", expected=Text(f"one of {spec}", f" {spec} 之一"), got=repr(at)
            )
        return widgets.SelectionSlider(options=spec, value=spec[0] if at is None else at, **named)
    if _is_range(spec):
        first, last, *step = spec
        at = first if at is None else at
        if not first <= at <= last:
            within = Text(f"from {first} to {last}", f" {first} 到 {last}")
            raise ArgumentError(f"at[{name!r}]", expected=within, got=repr(at))
        kind = widgets.IntSlider if all(isinstance(v, int) for v in spec) else widgets.FloatSlider
        extra = {"step": step[0]} if step else {}
        return kind(value=at, min=first, max=last, **extra, **named)
    raise ArgumentError(name, expected=_SPEC, got=repr(spec))


def _is_range(spec: Any) -> bool:
    numbers = isinstance(spec, Sequence) and not isinstance(spec, str | list)
    if not numbers or len(spec) not in (2, 3):
        return False
    if not all(isinstance(v, int | float) for v in spec):
        return False
    return bool(spec[0] < spec[1] and (len(spec) == 2 or 0 < spec[2] <= spec[1] - spec[0]))
