"""What the kernel that executes a notebook for the book does in addition. Shows nothing.

Some outputs wait for the reader: a slider whose picture Python draws, a guess to be typed. On a
page nobody answers, so such an output brings along what it would say, under a type of its own that
JupyterLab does not draw.
"""

from __future__ import annotations

from typing import Any

#: Every picture of a figure under sliders: {"controls": [...], "pictures": {"0,2": svg}}.
FILM = "application/vnd.fa.film+json"
#: What a guess was a guess of: {"value": "0.25", "unit": "MiB"}.
PREDICTION = "application/vnd.fa.prediction+json"


def prepare() -> None:
    """Make outputs of this kernel carry what the book needs of them."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type_by_name("fa_toolkit.viz.sliders", "Scrub", _with_film)
    formatter.for_type_by_name("fa_toolkit.course.predictions", "Prediction", _with_value)


def _with_film(scrub: Any, include: Any = None, exclude: Any = None) -> Any:
    made = scrub._repr_mimebundle_()
    data, metadata = made if isinstance(made, tuple) else (made, {})
    film = scrub.film()
    return ({**data, FILM: film} if film else data), metadata


def _with_value(card: Any, include: Any = None, exclude: Any = None) -> Any:
    return {PREDICTION: {"value": card.value, "unit": card.unit}}, {}
