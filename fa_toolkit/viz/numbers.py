"""Numbers as labels: bytes, bandwidths and rates in three digits and a unit."""

from __future__ import annotations

_MINUS = "\u2212"


def plain(value: float, digits: int = 3) -> str:
    """`value` in `digits` significant digits, without exponent where it fits, a true minus sign.

    Example:
        >>> plain(0.135335), plain(1234.0), plain(-2.0)
        ('0.135', '1,234', '−2')
    """
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 10**digits:
        text = f"{size:,.0f}" if size < 1e6 else f"{size:.{digits - 1}e}"
    elif size < 1e-4:
        text = f"{size:.{digits - 1}e}"
    else:
        text = f"{size:#.{digits}g}"
        if "e" in text:  # 999.7 rounds up to 1,000
            text = f"{size:,.0f}"
        elif "." in text:
            text = text.rstrip("0").rstrip(".")
    return (_MINUS if value < 0 else "") + text


def amount(count: float, digits: int = 4) -> str:
    """Bytes in binary units, as memory is sold and documented.

    Example:
        >>> amount(64), amount(1536), amount(40 * 2**20)
        ('64 B', '1.5 KiB', '40 MiB')
    """
    return _scaled(count, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"), digits)


def rate(per_second: float, unit: str = "B/s") -> str:
    """Bytes or operations per second in decimal units, as data sheets give them.

    Example:
        >>> rate(1.555e12), rate(312e12, "FLOP/s")
        ('1.555 TB/s', '312 TFLOP/s')
    """
    return _scaled(per_second, 1000, tuple(p + unit for p in ("", "k", "M", "G", "T", "P", "E")))


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them.

    Example:
        >>> duration(2), duration(4.65e-6), duration(5e-10)
        ('2 s', '4.65 µs', '0.5 ns')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{plain(seconds / size)} {unit}"
    return f"{plain(seconds / 1e-9)} ns"


def _scaled(value: float, base: int, units: tuple[str, ...], digits: int = 4) -> str:
    step = 0
    while value >= base and step < len(units) - 1:
        value, step = value / base, step + 1
    text = f"{value:.0f}" if step == 0 else plain(value, digits)
    return f"{text} {units[step]}"


def subtrahend(value: float, digits: int = 3) -> str:
    """A number as it stands after a minus sign: a negative one in brackets.

    Example:
        >>> subtrahend(2.0), subtrahend(-0.5)
        ('2', '(−0.5)')
    """
    text = plain(value, digits)
    return f"({text})" if text.startswith(_MINUS) else text
