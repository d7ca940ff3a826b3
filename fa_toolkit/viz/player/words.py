"""Words that every player shows, in both languages, and how templates are filled in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...language import LANGUAGES, Text, using
from ...language import say as speak
from ..numbers import plain

SHELL: dict[str, Text] = {
    "step": Text("step {n} of {total}", "第 {n} 步，共 {total} 步"),
    "play": Text("Play", "播放"),
    "pause": Text("Pause", "暂停"),
    "back": Text("One step back", "后退一步"),
    "next": Text("One step on", "前进一步"),
    "reset": Text("Back to the start", "回到开头"),
    "position": Text("Step", "步骤"),
    "speed": Text("Speed", "速度"),
    "keys": Text("play|step|first, last", "播放|逐步|首尾"),
    "language": Text("中文", "English"),
    "check": Text("Check", "核对"),
    "show": Text("Show me", "看答案"),
    "unreadable": Text(
        "A number, please: 0.5, 1/2, 13.5% or e^(1-2).", "请写一个数：0.5、1/2、13.5% 或 e^(1-2)。"
    ),
    "right": Text("✓ you said {guess}", "✓ 你猜的是 {guess}"),
    "wrong": Text("✗ you said {guess}. {why}", "✗ 你猜的是 {guess}。{why}"),
    "shown": Text("shown without a guess", "没有猜，直接看的"),
    "difference": Text(
        "That is the difference; each term changes by a ratio.", "这是差；每一项变的是倍数。"
    ),
    "inverse": Text("The other way round: the terms shrink.", "反了：各项要变小。"),
    "unchanged": Text("1 would leave everything as it was.", "乘 1 等于没改。"),
    "other": Text("e^(s − old m) becomes e^(s − new m).", "e^(s − 旧 m) 要变成 e^(s − 新 m)。"),
    "stop": Text("stop at questions", "遇到问题先停下"),
    "gpu": Text("GPU", "GPU"),
}


def both(words: Mapping[str, Text | str]) -> dict[str, dict[str, str]]:
    """Every word in every language, so that the browser can change language by itself."""
    table: dict[str, dict[str, str]] = {}
    for lang in LANGUAGES:
        with using(lang):
            table[lang] = {name: speak(text) for name, text in words.items()}
    return table


def filled(template: str, numbers: Sequence[float]) -> str:
    """A template with `{0}`, `{1}` … replaced by numbers as labels; the browser does the same.

    Example:
        >>> filled("row {0}: *{1}*", [2, 0.0189])
        'row 2: *0.0189*'
    """
    for index, number in enumerate(numbers):
        template = template.replace(f"{{{index}}}", plain(number))
    return template
