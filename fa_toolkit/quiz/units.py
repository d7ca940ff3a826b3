"""Units a number may carry: bytes, seconds, FLOP and their quotients, percent, times.

A unit is a factor to the base unit and a dimension, the powers of (byte, second, FLOP). No parsing
of numbers here.
"""

from __future__ import annotations

from typing import NamedTuple

from ..language import Text

Dimension = tuple[int, int, int]
NONE: Dimension = (0, 0, 0)
BYTES: Dimension = (1, 0, 0)
SECONDS: Dimension = (0, 1, 0)
FLOP: Dimension = (0, 0, 1)


class Unit(NamedTuple):
    """A factor to the base unit (byte, second, FLOP, 1) and its dimension."""

    factor: float
    dimension: Dimension


_DECIMAL = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def _table() -> dict[str, Unit]:
    units = {"%": Unit(0.01, NONE), "x": Unit(1.0, NONE)}
    for prefix, factor in {**_DECIMAL, **_BINARY}.items():
        units[f"{prefix}B"] = Unit(factor, BYTES)
        units[f"{prefix}B/s"] = Unit(factor, (1, -1, 0))
    for prefix, factor in _DECIMAL.items():
        units[f"{prefix}FLOP"] = Unit(factor, FLOP)
        units[f"{prefix}FLOP/s"] = Unit(factor, (0, -1, 1))
    units["FLOP/B"] = Unit(1.0, (-1, 0, 1))
    return units | {name: Unit(factor, SECONDS) for name, factor in _TIMES.items()}


UNITS: dict[str, Unit] = _table()

_SPELLINGS = {
    "byte": "B", "bytes": "B", "字节": "B", "倍": "x", "times": "x", "×": "x", "X": "x",
    "second": "s", "seconds": "s", "sec": "s", "秒": "s", "毫秒": "ms", "微秒": "us", "纳秒": "ns",
    "µs": "us", "μs": "us", "flop": "FLOP", "flops": "FLOP", "FLOPs": "FLOP", "FLOP/byte": "FLOP/B",
    "FLOPs/byte": "FLOP/B", "FLOP/字节": "FLOP/B", "FLOPs/B": "FLOP/B", "percent": "%",
    "bytes/s": "B/s", "字节/秒": "B/s", "次/字节": "FLOP/B", "次运算/字节": "FLOP/B",
    "ops/byte": "FLOP/B", "op/byte": "FLOP/B", "ops/B": "FLOP/B", "op/B": "FLOP/B",
    "flop/byte": "FLOP/B", "flops/byte": "FLOP/B", "flop/B": "FLOP/B", "flops/B": "FLOP/B",
    "FLOP/Byte": "FLOP/B", "FLOP/bytes": "FLOP/B", "FLOPs/bytes": "FLOP/B",
}  # fmt: skip
for _prefix in ("", "K", "M", "G", "T", "P"):  # FLOPS is a rate, FLOPs a count
    _SPELLINGS[f"{_prefix}FLOPS"] = f"{_prefix}FLOP/s"
    for _second in ("s", "sec", "second", "秒"):
        _SPELLINGS[f"{_prefix}FLOPs/{_second}"] = f"{_prefix}FLOP/s"
        _SPELLINGS[f"{_prefix}FLOP/{_second}"] = f"{_prefix}FLOP/s"
    _SPELLINGS[f"{_prefix}FLOPs"] = f"{_prefix}FLOP"
_SPELLINGS |= {f"k{name[1:]}": name for name in UNITS if name[0] == "K" and name[1] != "i"}

SPELLINGS: dict[str, Unit] = {
    **UNITS, **{written: UNITS[name] for written, name in _SPELLINGS.items()}
}  # fmt: skip

#: FLOPS is a rate and FLOPs a count; what many mean who write the one for the other.
OTHER_READING: dict[str, Unit] = {
    f"{prefix}{written}": UNITS[f"{prefix}{meant}"]
    for prefix in _DECIMAL
    for written, meant in (("FLOPS", "FLOP"), ("FLOPs", "FLOP/s"), ("flops", "FLOP/s"))
}


def _folded() -> dict[str, Unit]:
    """Spellings whose letters may be small or capital: mib, Mbyte, gflops, megabytes."""
    found: dict[str, Unit] = {}
    long = {"K": "kilo", "M": "mega", "G": "giga", "T": "tera", "Ki": "kibi", "Mi": "mebi",
            "Gi": "gibi", "Ti": "tebi"}  # fmt: skip
    for prefix in (*_DECIMAL, *_BINARY):
        byte = [f"{prefix}byte", f"{prefix}bytes"]
        byte += [f"{prefix}B"] if prefix else []
        byte += [f"{long[prefix]}byte", f"{long[prefix]}bytes"] if prefix in long else []
        for name in byte:
            found[name.lower()] = UNITS[f"{prefix}B"]
            for second in ("/s", "/sec", "/second"):
                found[name.lower() + second] = UNITS[f"{prefix}B/s"]
    for prefix in _DECIMAL:
        for name in ("flop", "flops"):
            found[prefix.lower() + name] = UNITS[f"{prefix}FLOP"]
            found[f"{prefix.lower()}{name}/s"] = UNITS[f"{prefix}FLOP/s"]
    return found


#: The same in any case, by their small letters; looked up after `SPELLINGS`.
FOLDED = _folded()

_NAMES: dict[Dimension, Text] = {
    NONE: Text("a plain number", "没有单位的数"),
    BYTES: Text("an amount of data (bytes)", "数据量（字节）"),
    SECONDS: Text("a time (seconds)", "时间（秒）"),
    FLOP: Text("a count of FLOP", "运算次数（FLOP）"),
    (1, -1, 0): Text("a bandwidth (B/s)", "带宽（B/s）"),
    (0, -1, 1): Text("a rate of FLOP/s", "算力（FLOP/s）"),
    (-1, 0, 1): Text("an intensity (FLOP/B)", "计算强度（FLOP/B）"),
}


def describe(dimension: Dimension) -> Text:
    """What a quantity of this dimension is, in words."""
    other = Text("a product of other units", "别的单位组合")
    return _NAMES.get(dimension, other)
