"""One spelling for what people type: width, case, superscripts, LaTeX, minus signs, dashes.

Every folded character remembers where in the answer it came from, so that a verdict can quote.
Knows nothing of questions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from .typos import CHINESE_SLIPS, TRADITIONAL, corrected

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789-+n", strict=True))
_CHARACTERS = {
    **dict.fromkeys("−–‒﹣－", "-"), **dict.fromkeys("—―", " — "), **dict.fromkeys("’‘`´", "'"),
    **dict.fromkeys("“”„«»「」『』", '"'), **dict.fromkeys("×✕╳", "x"), **dict.fromkeys("·∙⋅", "*"),
    **dict.fromkeys("Σ∑σ", " sum "), **dict.fromkeys("≈≃∼", "~"), **dict.fromkeys("⇒➜➔➡⟶", "→"),
    **dict.fromkeys("•●◦▪■", "\n"), "θ": "o", "Θ": "o", "Ω": "o", "ω": "o", "ℓ": "l",
    "←": "<-", "α": "alpha", "∝": " proportional to ",
    "\t": " ", "\r": "\n", "\u2028": "\n", "\u2029": "\n", "\x0b": "\n", "\x0c": "\n",
    "！": "!", "？": "?", "；": ";", "：": ":", "，": ",", "（": "(", "）": ")", "～": "~",
}  # fmt: skip

_Replacement = str | Callable[[re.Match[str]], str]


class Folded(NamedTuple):
    """Folded text; `at[i]` is where character i began in the answer, `at[-1]` its length."""

    text: str
    at: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The piece of the answer that a piece of the folded text stands for."""
        return self.at[start], self.at[max(start, end - 1)] + 1 if end > start else self.at[start]


_DIGITS = str.maketrans("零一二三四五六七八九点", "0123456789.")
_WORD_DIGITS = dict(
    zip(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
        "0123456789",
        strict=True,
    )
) | {"oh": "0"}


def _module(match: re.Match[str]) -> str:
    """`math.exp` as `exp`, `torch.max` as `max`."""
    return "exp" if match[0].startswith("math") else ""


def _spoken(match: re.Match[str]) -> str:
    """ "one point three seven" as 1.37."""
    tail = "".join(_WORD_DIGITS[word] for word in match[2].split())
    return f"{_WORD_DIGITS[match[1]]}.{tail} "


#: (pattern, replacement), in order; each pattern is bounded, so that a pass is linear.
_PASSES: tuple[tuple[re.Pattern[str], _Replacement], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"<[/!a-z][^<>\n]{0,200}>", "\n"),
        (r"\{[^{}\n]{0,300}\"[^{}\n]{0,20}:[^{}\n]{0,300}\}", "\n"),
        (r"\$|\\(?:left|right|,|;|!|\(|\)|\[|\])", " "),
        (r"\\(?:leftarrow|gets)", "<-"),
        (r"\\(?:to|rightarrow|longrightarrow|implies)(?=[^a-z]|o\(|[a-z]\\)", "→"),
        (r"\\(?:mathrm|mathbf|mathcal|mathbb|text|operatorname|boldsymbol)\{([^{}]{1,20})\}", r"\1"),
        (r"\\(?:mathrm|mathbf|mathcal|mathbb|mathit|text|operatorname|tilde|hat|bar|"
         r"boldsymbol)", ""),
        (r"\\d?frac\{([^{}]{1,40})\}\{([^{}]{1,40})\}", r"(\1)/(\2)"),
        (r"\\sum(?:_\{[^{}]{0,20}\}|_\w)?", " sum "),
        (r"\\(?:times)", "x"),
        (r"\\(?:cdot|odot)", "*"),
        (r"\\(?:leftarrow|gets)", "<-"),
        (r"\\(?:to|rightarrow|longrightarrow|implies)(?![a-z])", "→"),
        (r"\\ell", "l"),
        (r"\\([a-z]{2,10})", r" \1"),
        (r"_\{([^{}]{0,24})\}", r"_\1"),
        (r"\{", "("),
        (r"\}", ")"),
        (r"(?<![a-z])e ?(?:\^|\*\*) ?\(", "exp("),
        (r"(?<![a-z])e ?(?:\^|\*\*) ?(-?[0-9a-z_']{1,12}(?: ?- ?(?:m|max)[0-9a-z_']{0,8})?)", r"exp(\1)"),
        (r"(?<![a-z])math\.exp|(?<![a-z])(?:torch|np|tl)\.(?=exp|max|sum|dot)", _module),
        (r"\*\*", "^"),
        (r"(?<=o)\( ?([nltsm]) ?([23]|\^ ?[23])", r"(\1^\2"),
        (r"\^\^", "^"),
        (r"(?<![a-z])hole (?=row|line|matrix|thing|vector)", "whole "),
        (r"[零一二三四五六七八九]点[零一二三四五六七八九]{1,6}", lambda m: m[0].translate(_DIGITS)),
        (r"(?<![a-z])(zero|one) point ((?:(?:zero|oh|one|two|three|four|five|six|"
         r"seven|eight|nine) ?){1,5})", _spoken),
        (r"(?<![a-z0-9_])(d?[a-z](?:_\w{1,2})?|\)) \. (?=sum(?![a-z])|rowsum|\(|d?[a-z](?:_\w{1,2})?(?![a-z0-9]))",
         r"\1 * "),  # the dot of a product, where "·" is not at hand: dO_i . v_j
        (r" {2,}", " "),
        (r"(?<![a-z])(?:sequence|seq(?:_|uence)?)[ _-]?len(?:gth)?s?(?![a-z])", "seqlen"),
        (r"(?<![a-z])queries ?, ?keys,? ?(?:and|&) ?(?:the )?values(?![a-z])", "qkv"),
        (
            r"(?<![a-z])q(?:uer(?:y|ies))? ?[,/、&+和与及] ?k(?:eys?)? ?"
            r"(?:,? ?and|[,/、&+和与及])? ?v(?:alues?)?(?![a-z])",
            "qkv",
        ),
        (r"(?<![a-z0-9])([qkspvmlo]) ?[,、/&] ?([qkspvmlo])(?![a-z0-9])", r"\1 and \2"),
    )
)  # fmt: skip


def fold(answer: str) -> Folded:
    """The folded form of an answer."""
    out: list[str] = []
    at: list[int] = []
    raised = False
    wrapped = _wrapped(answer)
    for place, char in enumerate(answer):
        if place in wrapped:
            if answer[place - 1] == "-" and answer[place - 2].isalnum():  # cut at a hyphen
                continue
            char = " "
        if char in _SUPERSCRIPTS:
            piece = _SUPERSCRIPTS[char] if raised else "^" + _SUPERSCRIPTS[char]
            raised = True
        else:
            raised = False
            piece = _character(char)
        out.append(piece)
        at.extend([place] * len(piece))
    folded = Folded("".join(out), [*at, len(answer)])
    for slip, right in CHINESE_SLIPS.items():
        if slip in folded.text:
            folded = _replace(folded, re.compile(slip), right)
    for pattern, replacement in _PASSES:
        folded = _replace(folded, pattern, replacement)
    return _replace(folded, _WORD, lambda m: corrected(m[0]))


#: a line that goes on: it ends within a sentence and the next begins within one
_GOES_ON = re.compile(
    r"(?<=[A-Za-z0-9,)*=+\u4e00-\u9fff，、·−–-])\r?\n"
    r"(?=[a-z(=*+\u4e00-\u9fff]|[A-Z](?![a-z])|[0-9]+(?![0-9.)、]))"
    r"|(?<=[=*+·−–])\r?\n(?=[A-Za-z])"
)
_FULL_LINE = {"latin": 45, "chinese": 25}  # shorter lines are notes, each of them a sentence


def _wrapped(answer: str) -> set[int]:
    """Places of line breaks that only wrap a long line."""
    found: set[int] = set()
    for match in _GOES_ON.finditer(answer):
        at = match.start()
        begins = answer.rfind("\n", max(0, at - 200), at) + 1
        kind = "chinese" if "\u4e00" <= answer[match.end()] <= "\u9fff" else "latin"
        if at - begins >= _FULL_LINE[kind] or answer[at - 1] in "-−–=*+·":
            found.update(range(*match.span()))
    return found


_WORD = re.compile(r"(?<![a-z'])[a-z]{3,24}(?![a-z'])")


def _character(char: str) -> str:
    if char < "\x7f":
        return char.lower() if char >= " " or char == "\n" else _CHARACTERS.get(char, " ")
    if char in _CHARACTERS:
        return _CHARACTERS[char]
    if "\u4e00" <= char <= "\u9fff":
        return TRADITIONAL.get(char, char)
    if unicodedata.category(char) in ("Cf", "Cc", "Cs", "Co", "Mn"):
        return ""
    plain = unicodedata.normalize("NFKC", char).lower()
    return "".join(_CHARACTERS.get(c, c) for c in plain)


def _replace(folded: Folded, pattern: re.Pattern[str], replacement: _Replacement) -> Folded:
    text, at = folded
    pieces: list[str] = []
    places: list[int] = []
    last = 0
    for match in pattern.finditer(text):
        new = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
        if new == match[0]:
            continue
        start, end = match.span()
        pieces += (text[last:start], new)
        places += at[last:start]
        places += _spread(at[start:end], len(new))
        last = end
    if not pieces:
        return folded
    pieces.append(text[last:])
    places += at[last:]
    return Folded("".join(pieces), places)


def _spread(old: list[int], length: int) -> list[int]:
    """Places of `length` new characters over the old ones, first to first and last to last."""
    if not old or length == 0:
        return []
    if length == 1:
        return [old[0]]
    return [old[round(i * (len(old) - 1) / (length - 1))] for i in range(length)]
