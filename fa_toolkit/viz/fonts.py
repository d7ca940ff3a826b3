"""Which fonts matplotlib can draw our labels with. Chinese labels never become boxes."""

from __future__ import annotations

from functools import lru_cache

from ..language import LANGUAGES, Language, current

#: Looked for in this order; the first that has the glyphs wins.
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Microsoft YaHei",
    "Hiragino Sans GB",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "SimHei",
    "Heiti SC",
    "Noto Sans CJK JP",
    "Arial Unicode MS",
)
LATIN = ("DejaVu Sans",)  # comes with matplotlib: has the ticks, superscripts and arrows we write
SAMPLE = "显存带宽读写块掩码跳过，。："


def _glyphs_missing(family: str, text: str) -> set[str] | None:
    """Characters of `text` that `family` lacks; None if the family is not installed."""
    from matplotlib import font_manager

    try:
        path = font_manager.findfont(
            font_manager.FontProperties(family=[family]), fallback_to_default=False
        )
    except ValueError:
        return None
    font = font_manager.get_font(path)
    return {c for c in text if not c.isspace() and font.get_char_index(ord(c)) == 0}


@lru_cache(maxsize=1)
def chinese_family() -> str | None:
    """The first installed font that has every Chinese character of a sample, or None."""
    for family in CHINESE:
        if _glyphs_missing(family, SAMPLE) == set():
            return family
    return None


def families() -> list[str]:
    """Font families for matplotlib, Latin first; glyphs it lacks come from the Chinese one."""
    found = chinese_family()
    return [*LATIN, *([found] if found else [])]


def missing(text: str) -> set[str]:
    """Characters of `text` that none of our fonts can draw."""
    left = set(text)
    for family in families():
        lacking = _glyphs_missing(family, "".join(left))
        left = left if lacking is None else lacking
    return {c for c in left if not c.isspace()}


def drawable_language(lang: str | None = None) -> Language:
    """The language a figure can be labelled in: `lang`, or English where no font has Chinese."""
    wanted = next((known for known in LANGUAGES if known == lang), None) or current()
    return "en" if wanted == "zh" and chinese_family() is None else wanted
