"""One colour per tensor: both themes, CSS, fonts without boxes."""

from __future__ import annotations

import re
import warnings

import matplotlib
import pytest

from fa_toolkit.errors import ArgumentError, UnknownNameError
from fa_toolkit.viz import fonts, palette


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a: str, b: str) -> float:
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_kin_share_the_colour_of_their_tensor() -> None:
    assert palette.shade("P") == palette.shade("s")
    assert palette.shade("dQ") == palette.shade("Q")
    assert palette.shade("acc") == palette.shade("O")
    assert palette.shade("m") == palette.shade("l") == palette.shade("lse")
    assert palette.colour("K", "light") == "#b84f00" and palette.colour("K", "dark") == "#ff9a57"


def test_unknown_names_and_themes_are_errors() -> None:
    with pytest.raises(UnknownNameError, match="'z'"):
        palette.shade("z")
    with pytest.raises(ArgumentError, match="sepia"):
        palette.figure_style("sepia")  # type: ignore[arg-type]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_and_tensors_seen_on_their_page(theme: palette.Theme) -> None:
    page = palette.colour("page", theme)
    assert _contrast(palette.colour("text", theme), page) > 7
    assert _contrast(palette.colour("soft", theme), page) > 4.5
    panel = palette.colour("panel", theme)
    for name in palette.TENSORS:  # their letters are text, on the page and on panels
        ink = palette.colour(name, theme)
        assert min(_contrast(ink, page), _contrast(ink, panel)) > 4.5, name


def test_light_colours_are_distinct_so_that_svg_can_be_themed() -> None:
    light = [pair.light for pair in (*palette.TENSORS.values(), *palette.GREYS.values())]
    assert len(set(light)) == len(light)
    themed = palette.themed('<rect fill="#0072b2"/>')
    assert themed == '<rect fill="var(--fa-q, #0072b2)"/>'


def test_css_defines_every_variable_in_both_themes() -> None:
    css = palette.css_variables(".x")
    for name in (*palette.TENSORS, *palette.GREYS):
        assert len(re.findall(rf"{palette.variable(name)}:", css)) == 2, name
    assert '[data-jp-theme-light="false"] .x' in css and "var(--jp-layout-color0" in css


def test_no_character_of_our_figures_becomes_a_box() -> None:
    if fonts.chinese_family() is None:
        pytest.skip("no Chinese font on this machine; figures then speak English")
    assert fonts.missing("标准注意力搬的字节 ✓╲╱ ○● N²·⁰ → − ᵀ") == set()


def test_without_a_chinese_font_figures_speak_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "CHINESE", ("No Such Font",))
    fonts.chinese_family.cache_clear()
    try:
        assert fonts.drawable_language("zh") == "en"
        assert fonts.families() == list(fonts.LATIN)
    finally:
        monkeypatch.undo()
        fonts.chinese_family.cache_clear()


def test_style_is_valid_matplotlib() -> None:
    for theme in ("auto", "light", "dark"):
        with warnings.catch_warnings(), matplotlib.rc_context(palette.figure_style(theme)):
            warnings.simplefilter("error")
            assert not matplotlib.rcParams["axes.spines.top"]
