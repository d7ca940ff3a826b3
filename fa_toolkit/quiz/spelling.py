"""How people write a number, brought to the one spelling that the formula reader knows.

Text in, text out: TeX, Chinese numerals, words for counts, typographic signs. Decides no value.
"""

from __future__ import annotations

import re
import unicodedata

_SAME = str.maketrans(
    {
        "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "·": "*", "⋅": "*", "∙": "*", "÷": "/",
        "∕": "/", "⁄": "/", "。": ".", "[": "(", "]": ")", "{": "(", "}": ")", "\u00a0": " ",
        "⌈": "ceil(", "⌉": ")", "⌊": "floor(", "⌋": ")",
    }
)  # fmt: skip
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾", "0123456789+-()")
_RAISED_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾]+")

_FRACTION = re.compile("(\\d*)([¼-¾⅐-⅞↉])")

#: TeX before its braces become brackets.
_TEX_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), into)
    for pattern, into in (
        (r"\$|\\[()\[\],;:! ]|\\(?:left|right|displaystyle)(?![A-Za-z])", " "),
        (r"\\(?:text|mathrm|mathit|operatorname)\s*\{([^{}]*)\}", r" \1 "),
        (r"\\[dt]frac(?![A-Za-z])", r"\\frac"),
        (r"\\frac\s*(\d)", r"\\frac{\1}"),
        (r"(\\frac\s*\{[^{}]*\})\s*(\d)", r"\1{\2}"),
    )
)
_TEX = {r"\frac": "frac", r"\sqrt": "√", r"\times": "*", r"\cdot": "*", r"\div": "/", r"\%": "%",
        r"\pi": "π", r"\exp": "exp", r"\ln": "ln", r"\infty": "∞", r"\approx": "≈",
        r"\lceil": "ceil(", r"\rceil": ")", r"\lfloor": "floor(", r"\rfloor": ")"}  # fmt: skip

#: What is counted, when the question has already said what it is.
_COUNTED = "|".join(
    [
        "tiles?", "blocks?", "keys?", "programs?", "lanes?", "elements?", "passes", "pass",
        "crossings?", "op(?:eration)?s?", "reads?", "writes?", "heads?",
    ]
)  # fmt: skip
_CHINESE_COUNTED = "个元素|个程序|个分块|个块|个键|次运算|个|次|块|条|遍|行|号|趟"
_PLAIN_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), into)
    for pattern, into in (
        (r"^\*\*(.*)\*\*$", r"\1"),
        (r"^[\s'\"`“”‘’]+|[\s'\"`“”‘’]+$", ""),  # quotes around the whole
        (r"(?<=[\w)%×])\s*(?:\.{1,3}|!)$", ""),  # the end of a sentence
        (r"(?:左右|上下)$", ""),
        (r"(?<![\w.])(?:np|numpy|math|torch)\.(?=[a-z])", ""),
        (r"^[x×X]\s*(?=\d)", ""),  # ×12.5
        (r"(?<=[\d)])\s*(?:×|[xX](?!\s*10-\d))\s*(?=[\d(])", "*"),  # 8 x 64; 3x10-2 says nothing
        (r"(\d)\s*[:∶]\s*(?=\d)", r"\1/"),  # 12.5:1
        (r"(?<=\d)\s*-?\s*fold$", "x"),
        (r"((?:\d\s*[x×X]|times|倍))\s*(?:faster|quicker|larger|bigger|more|as (?:fast|many|much))$",
         r"\1"),
        (r"\s+per\s+(?=[A-Za-z])", "/"),
        (r"每(?=字节|秒|B)", "/"),
        (rf"(?<=[\d)万亿])\s*(?:(?:{_COUNTED})\b|{_CHINESE_COUNTED})(?!\s*/)", " "),
    )
)  # fmt: skip
_HEX = re.compile(r"(?<![\w.])0[xX]([0-9A-Fa-f]{1,15})(?![\w.])")
_ABOUT = re.compile(r"^\s*(?:≈|~|=|≃|∼|大约|约|about\b|approx\.?)\s*")
_EQUAL = re.compile(r"=+|[≈≃∼~⇒→>≥]")
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ '’]\d{3})+(?![.,]?\d)")

_DIGITS = {c: value for value, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_CHINESE = re.compile("[零〇一二两三四五六七八九十][零〇一二两三四五六七八九十百千万亿点]*")
_PERCENT = re.compile(r"百分之\s*(\d[\d.]*)")
_PARTS = re.compile(r"(\d[\d.]*)\s*分之\s*(\d[\d.]*)")
_WORDS = {
    word: str(value)
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ]
    )
}


def one_spelling(written: str) -> str:
    """`written` in ASCII signs, one side of an equation or several.

    Example:
        >>> one_spelling(r"$\\dfrac{1}{e^3}$"), one_spelling("十二分之一"), one_spelling("２²")
        ('frac (1)(e^3)', '(1/12)', '2^(2)')
    """
    text = _RAISED_RUN.sub(lambda run: f"^({run[0].translate(_RAISED)})", written)
    for pattern, into in _TEX_FORMS if "\\" in text or "$" in text else ():
        text = pattern.sub(into, text)
    text = _FRACTION.sub(_mixed, text)
    text = unicodedata.normalize("NFKC", text.translate(_SAME)).translate(_SAME)
    for tex, plain in _TEX.items():
        text = text.replace(tex, f" {plain} ")
    text = text.replace("负无穷", "-inf").replace("无穷大", "inf").replace("无穷", "inf")
    text = _CHINESE.sub(lambda run: _chinese(run[0]), text)
    text = _PARTS.sub(r"(\2/\1)", _PERCENT.sub(r"\1%", text))
    return text.strip()


def sides(text: str) -> list[str]:
    """The sides of `e^-3 ≈ 0.05`, each cleared of what says nothing about its value."""
    found = [_side(side) for side in _EQUAL.split(text)]
    return [side for side in found if side]


def _side(text: str) -> str:
    text = _ABOUT.sub("", text).strip()
    text = _HEX.sub(lambda digits: str(int(digits[1], 16)), text)
    text = _GROUPS.sub(lambda groups: re.sub(r"\D", "", groups[0]), text)
    for pattern, into in _PLAIN_FORMS:
        text = pattern.sub(into, text).strip()
    return _WORDS.get(text.lower(), text)


def _mixed(found: re.Match[str]) -> str:
    """2½ as (2+0.5)."""
    return f"({found[1] or 0}+{unicodedata.numeric(found[2])!r})"


def _chinese(run: str) -> str:
    """A numeral such as 五百一十二 or 十二点五 in digits; what is none stays as it is."""
    whole, point, part = run.partition("点")
    if point and (not part or any(c not in _DIGITS for c in part)):
        return run
    total = section = digit = 0
    for c in whole:
        if c in _DIGITS:
            digit = digit * 10 + _DIGITS[c]  # 二〇四八 is read digit by digit
        elif c in _PLACES:
            section, digit = section + (digit or 1) * _PLACES[c], 0
        elif c == "万":
            total, section, digit = total + (section + digit) * 10**4, 0, 0
        else:
            total, section, digit = (total + section + digit) * 10**8, 0, 0
    fraction = "".join(str(_DIGITS[c]) for c in part)
    return f"{total + section + digit}{'.' + fraction if fraction else ''}"
