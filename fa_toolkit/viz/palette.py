"""One colour per tensor, in both themes, for widgets, figures and prose. Draws nothing.

Colour never carries meaning alone: whoever uses it also writes the tensor's letter. Gradients and
intermediates share the colour of the tensor they belong to (dQ with Q, P with S, acc with O).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from ..errors import ArgumentError, UnknownNameError
from ..language import Text

Theme = Literal["auto", "light", "dark"]

#: What rests in HBM is its tensor's colour at this opacity; what is on chip is solid.
RESTING = 0.22


class Shade(NamedTuple):
    """A colour on a light and on a dark page, as #rrggbb."""

    light: str
    dark: str


#: Tensors by the letter the course writes; `colour` also knows their kin.
TENSORS: Mapping[str, Shade] = {
    "q": Shade("#0072b2", "#56b4e9"),
    "k": Shade("#b84f00", "#ff9a57"),
    "v": Shade("#007a58", "#3ccf9e"),
    "s": Shade("#7a5cc0", "#b39df0"),
    "o": Shade("#8a6508", "#f0c75e"),
    "stat": Shade("#c2255c", "#ff7aa8"),
}

#: Everything that is not a tensor.
GREYS: Mapping[str, Shade] = {
    "text": Shade("#1c2330", "#e8ebf0"),
    "soft": Shade("#667085", "#98a2b3"),
    "line": Shade("#d5d9e0", "#343b46"),
    "ghost": Shade("#c3c9d4", "#4f5866"),
    "panel": Shade("#f6f7f9", "#1c2128"),
    "page": Shade("#fffffe", "#14171c"),
    "focus": Shade("#111827", "#fffffd"),
}

_KIN = {
    "p": "s",
    "acc": "o",
    "m": "stat",
    "l": "stat",
    "lse": "stat",
    "alpha": "stat",
    "factor": "stat",
    "delta": "stat",
    "dq": "q",
    "dk": "k",
    "dv": "v",
    "ds": "s",
    "dp": "s",
    "do": "o",
}

#: JupyterLab's own variable, used before ours where it exists.
_JUPYTER = {
    "text": "--jp-content-font-color1",
    "page": "--jp-layout-color0",
}


def shade(name: str) -> Shade:
    """The two colours of a tensor (any capitalisation, "dQ" included) or of a grey.

    Raises:
        UnknownNameError: if the palette has no such name.

    Example:
        >>> shade("P") == shade("S")
        True
    """
    key = name.lower()
    key = _KIN.get(key, key)
    found = TENSORS.get(key) or GREYS.get(key)
    if found is None:
        known = ", ".join([*TENSORS, *_KIN, *GREYS])
        raise UnknownNameError(
            "name",
            expected=Text("a tensor or a grey of the palette", "调色板里的张量名或灰色名"),
            got=repr(name),
            hint=Text(f"one of {known}", f"可选 {known}"),
        )
    return found


def colour(name: str, theme: Theme = "light") -> str:
    """The #rrggbb of a tensor or grey. "auto" gives the light one, which themed SVG replaces."""
    return shade(name).dark if check_theme(theme) == "dark" else shade(name).light


def check_theme(theme: str) -> str:
    """Return `theme` if it is one we draw.

    Raises:
        ArgumentError: if it is not "auto", "light" or "dark".
    """
    if theme not in ("auto", "light", "dark"):
        raise ArgumentError("theme", expected='"auto" | "light" | "dark"', got=repr(theme))
    return theme


def variable(name: str) -> str:
    """The CSS variable that holds a colour: `var(--fa-q)` is the colour of Q."""
    key = name.lower()
    return f"--fa-{_KIN.get(key, key)}"


def css_variables(selector: str = ".fa-viz") -> str:
    """CSS that defines every colour under `selector`, light and dark.

    The page and text colours are JupyterLab's where its variables exist. Dark applies inside
    JupyterLab's or VS Code's dark theme, or where the element says `data-theme="dark"`.
    """
    every = {**TENSORS, **GREYS}

    def block(theme: Literal["light", "dark"]) -> str:
        rows = []
        for name, pair in every.items():
            value = getattr(pair, theme)
            if name in _JUPYTER:
                value = f"var({_JUPYTER[name]}, {value})"
            rows.append(f"{variable(name)}: {value};")
        return " ".join(rows)

    dark = ", ".join(
        [
            f'[data-jp-theme-light="false"] {selector}',
            f".vscode-dark {selector}",
            f'{selector}[data-theme="dark"]',
        ]
    )
    return f"{selector} {{ {block('light')} }}\n{dark} {{ {block('dark')} }}\n"


def themed(svg: str) -> str:
    """`svg` with every colour of the light palette replaced by its CSS variable.

    Whoever shows the result puts `css_variables()` and a matching class around it; without them
    the light colours remain, as the variables' fallbacks.
    """
    for name, pair in {**TENSORS, **GREYS}.items():
        svg = svg.replace(pair.light, f"var({variable(name)}, {pair.light})")
    return svg


def figure_style(theme: Theme = "auto") -> dict[str, Any]:
    """Settings for `matplotlib.rc_context`: the course's colours, type and grid.

    Direct labels instead of legends, a light grid on one axis only, no frame. The font list ends
    in a Chinese one, checked for its glyphs, so that no label turns into boxes.
    """
    from .fonts import families

    text, soft, line = (colour(name, theme) for name in ("text", "soft", "line"))
    return {
        "font.family": families(),
        "font.size": 11,
        "axes.titlesize": 13,
        "axes.titleweight": "normal",
        "axes.titlelocation": "left",
        "axes.titlecolor": text,
        "axes.titlepad": 10,
        "axes.labelcolor": soft,
        "axes.labelsize": 10,
        "axes.edgecolor": line,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": False,
        "axes.axisbelow": True,
        "axes.unicode_minus": True,
        "grid.color": line,
        "grid.linewidth": 0.8,
        "xtick.color": line,
        "ytick.color": line,
        "xtick.labelcolor": soft,
        "ytick.labelcolor": soft,
        "xtick.labelsize": 10,
        "ytick.labelsize": 10,
        "xtick.minor.visible": False,
        "ytick.minor.visible": False,
        "text.color": text,
        "figure.facecolor": "none" if theme == "auto" else colour("page", theme),
        "savefig.facecolor": "auto",
        "lines.linewidth": 2,
        "hatch.linewidth": 0.8,
        "svg.fonttype": "path",
    }
