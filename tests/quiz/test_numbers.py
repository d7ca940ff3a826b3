"""Numbers as people write them; whatever else is written ends at once and in a sentence."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fa_toolkit.language import LANGUAGES, using
from fa_toolkit.quiz.numbers import read_number, show, spoken
from fa_toolkit.quiz.units import BYTES, FLOP, NONE, SECONDS

E2 = math.exp(-2)
READ = {
    "e^{2-4}": E2, "1/e^2": E2, "e⁻²": E2, "e^-2": E2, "e^(2-4)": E2, "exp(-2)": E2, "e**-2": E2,
    r"\frac{1}{e^2}": E2, "13.5%": 0.135, "１３．５％": 0.135, "1.5e9": 1.5e9, "1.5E+9": 1.5e9,
    "2^20": 2.0**20, "２＾２０": 2.0**20, "2²⁰": 2.0**20, "2×3": 6, "2·3": 6, "6÷4": 1.5,
    "６／４": 1.5, "1,048,576": 1048576, "1，048，576": 1048576, "1_000": 1000, "−3": -3, "--3": 3,
    "2^3^2": 512, "-2^2": -4, "2^-1": 0.5, "(1+2)*3": 9, "[1+2]*3": 9, "1-2-3": -4, "8/4/2": 1,
    "sqrt(2)": 2**0.5, "√2": 2**0.5, "√(2)": 2**0.5, r"\sqrt{2}": 2**0.5, "ln(e)": 1,
    "log2(8)": 3, "log10(100)": 2, "2*pi": 2 * math.pi, "π": math.pi, "abs(-2)": 2, ".5": 0.5,
    "5.": 5, "≈ 0.135": 0.135, "约 0.135": 0.135, "about 7": 7, "3 万": 30000, "1.5 亿": 1.5e8,
    "-inf": -math.inf, "−∞": -math.inf, "负无穷": -math.inf, "20x": 20, "20 倍": 20, "20 ×": 20,
    "3。5": 3.5, "1/0.5": 2, "  7\n": 7, "19 TB/s / 1.9 TB/s": 10, "½": 0.5, "2½": 2.5,
    "三": 3, "五百一十二": 512, "二〇四八": 2048, "一亿二千万": 1.2e8, "十二点五倍": 12.5,
    "1亿3421万7728": 134217728, "百分之5": 0.05, "十二分之一": 1 / 12, "five": 5, "72 tiles": 72,
    "24个": 24, "1.34亿次": 1.34e8, "4 writes + 4 reads": 8, "134 million": 134e6, "0x10": 16,
    "134 217 728": 134217728, "134'217'728": 134217728, "sqrt 2": 2**0.5, "ln 65504":
    math.log(65504), "exp -2": E2, "EXP(-2)": E2, "E^-2": E2, "np.exp(-2)": E2, "$e^{-2}$": E2,
    r"\(e^{-2}\)": E2, r"\dfrac{1}{e^{2}}": E2, r"\frac1{e^2}": E2, r"\mathrm{e}^{-2}": E2,
    "e^‑2": E2, "0.135...": 0.135, "7.": 7, "7。": 7, "'1'": 1, "`7`": 7, "**7**": 7, "x = 7": 7,
    "x > 7": 7, "1 == 1": 1, "e^-2 ≈ 0.135": E2, "4N²d/(8N²) = 32": 32, "8 x 64": 512,
    "1.3 x 10^8": 1.3e8, "2x1024x64": 131072, "×7": 7, "12.5:1": 12.5, "12.5-fold": 12.5,
    "12.5x faster": 12.5, "7左右": 7, "13//4": 3, "ceil(1000/128)": 8, "⌈1000/128⌉": 8,
    "cdiv(1000,128)": 8, "floor(13/4)": 3, "1 - 5%": 0.95,
}  # fmt: skip


@pytest.mark.parametrize("written", READ)
def test_reads(written: str) -> None:
    reading = read_number(written)
    assert reading.problem is None
    assert reading.value == pytest.approx(READ[written], rel=1e-12)
    assert reading.dimension == NONE


@pytest.mark.parametrize(
    ("written", "value", "dimension"),
    [
        ("3 MiB", 3 * 2**20, BYTES), ("3MB", 3e6, BYTES), ("20.25 MiB", 20.25 * 2**20, BYTES),
        ("128 × 192 KiB", 128 * 192 * 1024, BYTES), ("2 kB", 2000, BYTES), ("8 字节", 8, BYTES),
        ("1.555 TB/s", 1.555e12, (1, -1, 0)), ("312 TFLOPS", 312e12, (0, -1, 1)),
        ("2 GFLOP", 2e9, FLOP), ("3 ms", 3e-3, SECONDS), ("5 µs", 5e-6, SECONDS),
        ("5 微秒", 5e-6, SECONDS), ("200 FLOP/B", 200, (-1, 0, 1)), ("(1+1) KiB", 2048, BYTES),
        ("2^10 B", 1024, BYTES), ("6 MiB / 2 s", 3 * 2**20, (1, -1, 0)),
        ("1 MiB + 512 KiB", 1.5 * 2**20, BYTES), ("3 mib", 3 * 2**20, BYTES),
        ("3 Mbytes", 3e6, BYTES), ("3 megabytes", 3e6, BYTES), ("2 gflops", 2e9, FLOP),
        ("0.5 FLOP / byte", 0.5, (-1, 0, 1)), ("0.5 FLOPs per byte", 0.5, (-1, 0, 1)),
        ("200 FLOP每字节", 200, (-1, 0, 1)), ("200 次/字节", 200, (-1, 0, 1)),
        ("1 FLOP / 12 bytes", 1 / 12, (-1, 0, 1)), ("32 + 32 MiB", 2**26, BYTES),
        (r"3 \text{ MiB}", 3 * 2**20, BYTES), ("2^21 B = 2 MiB", 2**21, BYTES),
    ],
)  # fmt: skip
def test_reads_units(written: str, value: float, dimension: tuple[int, int, int]) -> None:
    reading = read_number(written)
    assert reading.value == pytest.approx(value)
    assert (reading.dimension, reading.has_unit) == (dimension, True)


REFUSED = [
    "2 pi", "2(3)", "2e", "e2^", "1/0", "ln(-1)", "ln(0)", "sqrt(-1)", "(-8)^(1/3)", "0^-1",
    "inf-inf", "9^9^9", "1e400", "10^400*10^400", "(1+2", "1)", "()", "1+", "*3", "3 4", "0,135",
    "1,5", "3 MiB + 2 s", "3 MiB^2", "sqrt(4 B)", "2 KiB KiB", "log(2)", "x", "foo",
    "__import__('os')", "().__class__", "lambda: 1", "1;2", "1j", "True", "nan",
    "e^(1 B)", "sqrt", "1 = 2", "3 > 2", "134 M", "4.98x10-2", "12 KB/head", "<b>1</b>", "1\x000", "\u202e1",
]  # fmt: skip


@pytest.mark.parametrize("written", REFUSED)
def test_refuses_with_a_sentence_in_both_languages(written: str) -> None:
    reading = read_number(written)
    assert reading.value is None
    for lang in LANGUAGES:
        with using(lang):
            assert spoken(reading.problem)


@pytest.mark.parametrize("nothing", ["", "   ", "\n\t", "　", None])
def test_nothing_is_empty_not_wrong(nothing: str | None) -> None:
    assert read_number(nothing).empty


@pytest.mark.parametrize(
    "hostile",
    [
        "(" * 100_000, "-" * 190 + "1", "9" * 1_000_000, "2^" * 90 + "2", "1+" * 99 + "1",
        "((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))", "e" * 200, "," * 200,
        "9999999999^999", "1.5e999999999", "√" * 200, "²" * 200, "\ud800", "=" * 10_000,
    ],
)  # fmt: skip
def test_ends_at_once(hostile: str) -> None:
    began = time.thread_time()  # a busy machine does not count
    read_number(hostile)
    assert time.thread_time() - began < 0.25


@given(st.one_of(st.text(), st.text("0123456789.+-*/^(){}[]eE %xKMGiB/sπ√²⁻，。×万", max_size=60)))
@settings(max_examples=400, deadline=None)
def test_never_raises_and_never_is_both(written: str) -> None:
    reading = read_number(written)
    assert (reading.value is None) == (reading.problem is not None)


@given(st.floats(allow_nan=False, allow_infinity=True))
def test_what_is_shown_can_be_read_back(value: float) -> None:
    reading = read_number(show(value))
    if math.isfinite(value) and not 1e-290 < abs(value) < 1e290 and value:
        return  # four digits of the outermost floats may lie outside them
    assert reading.value == pytest.approx(value, rel=1e-3)


def test_only_authors_have_names() -> None:
    assert read_number("rows * 2", {"rows": 3.0}).value == 6
    assert read_number("rows * 2").value is None


@pytest.mark.parametrize(
    ("written", "value", "dimension"),
    [
        ("1/12 FLOP/B", 1 / 12, (-1, 0, 1)), ("(4096*4096*2)/(1024*1024) MiB", 2**25, BYTES),
        ("1/2^5 GiB", 2**25, BYTES), ("134 MFLOPS", 134e6, FLOP),
        ("312 TFLOPs / 1.5 TB/s", 208, (-1, 0, 1)),
    ],
)  # fmt: skip
def test_a_unit_may_be_meant_otherwise(
    written: str, value: float, dimension: tuple[int, int, int]
) -> None:
    reading = read_number(written)
    assert any(d == dimension and v == pytest.approx(value) for v, d in reading.meanings)
