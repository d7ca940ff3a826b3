"""The right number of a question, computed by the package. No key is typed where code can say it.

A key names a function of the whitelist below and gives literal arguments; nothing else can be
called, and no text is ever evaluated as Python. A key is always in base units: bytes, seconds,
FLOP, a fraction of 1 for a percentage. An `arithmetic` expression may carry its unit ("3 MiB"); its
other arguments are names it may use, numbers or further calls.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import BankError, FaError
from ..language import Text, say
from ..problem import AttentionProblem, TileShape
from .models import Call, Key, TraceQuestion
from .numbers import read_number
from .units import NONE, UNITS

#: Functions a quiz file may call: the name it writes, and where the function lives.
CALLABLE: dict[str, tuple[str, str]] = {
    f"{module.removesuffix('.states')}.{name}": (module, name)
    for module, names in {
        "io_model": (
            "standard_forward_traffic flash_forward_traffic standard_backward_traffic "
            "flash_backward_traffic forward_flops backward_flops issued_flops forward_footprint "
            "standard_extra_memory flash_extra_memory roofline modelled_time fa1_forward_traffic "
            "fa1_tile io_order backward_footprint kv_cache_bytes decode_traffic decode_intensity "
            "exponentials visible_pairs visited_tiles fits_table"
        ),
        "hardware": "gpu",
        "problem": "AttentionProblem row_tiles column_tiles key_tiles query_tiles split_of",
        "quiz.states": "running_states row_gradients merged_parts",
        "reference": "online_softmax_states naive_softmax safe_softmax online_softmax",
        "tiled": "row_states",
    }.items()
    for name in names.split()
}
MAX_NESTING = 4
_SCALARS = (str, int, float, bool, type(None))


def check_call(call: str, args: Mapping[str, Any], where: str, depth: int = 0) -> None:
    """Refuse what is not on the whitelist or not literal, without computing anything.

    Raises:
        BankError: naming the function or argument and what may be written.
    """
    if call == "arithmetic":
        if not isinstance(args.get("expression"), (str, int, float)):
            raise BankError(
                f"{where}.args.expression",
                expected=Text('a formula such as "e^(2-4)"', '算式，例如 "e^(2-4)"'),
                got=repr(args.get("expression")),
            )
    elif call not in CALLABLE:
        near = difflib.get_close_matches(call, [*CALLABLE, "arithmetic"], n=3, cutoff=0.5)
        raise BankError(
            f"{where}.call",
            expected=Text("a function of the whitelist", "白名单里的函数"),
            got=repr(call),
            hint=", ".join(near) or ", ".join(["arithmetic", *CALLABLE]),
        )
    for name, value in args.items():
        _check_literal(value, f"{where}.args.{name}", depth)


def _check_literal(value: object, where: str, depth: int) -> None:
    if depth > MAX_NESTING or (isinstance(value, (list, dict)) and len(value) > 64):
        raise BankError(
            where, expected=Text("a short literal", "简短的字面量"), got=Text("a large one", "过大")
        )
    if isinstance(value, list):
        for at, inner in enumerate(value):
            _check_literal(inner, f"{where}[{at}]", depth + 1)
    elif isinstance(value, dict) and "call" in value:
        check_call(str(value["call"]), value.get("args") or {}, where, depth + 1)
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check_literal(inner, f"{where}.{name}", depth + 1)
    elif not isinstance(value, _SCALARS):
        raise BankError(
            where,
            expected=Text("a number, a text, a list or a mapping", "数、文字、列表或映射"),
            got=type(value).__name__,
        )


def key_value(key: Key, unit: str | None = None) -> float:
    """The value of a key in base units.

    Args:
        unit: the unit of the question; an expression that carries a unit must carry this kind.

    Raises:
        BankError: if the call cannot be carried out or does not give one number.

    Example:
        >>> key_value(Call(call="arithmetic", args={"expression": "108 * 192 KiB"}), "MiB")
        21233664.0
    """
    if not isinstance(key, Call):
        return float(key)
    if key.call == "arithmetic":
        return _arithmetic(key, unit)
    return _number(_take(_called(key.call, key.args), key.take, key.call), key.call)


def _arithmetic(key: Call, unit: str | None) -> float:
    names = {
        name: key_value(Call(**value)) if isinstance(value, dict) else float(value)
        for name, value in key.args.items()
        if name != "expression"
    }
    reading = read_number(key.args["expression"], names)
    where = f"arithmetic {key.args['expression']!r}"
    if reading.value is None:
        expected = Text("a formula that can be read", "能读懂的算式")
        raise BankError(where, expected=expected, got=reading.problem or "")
    asked = NONE if unit is None else UNITS[unit].dimension
    if reading.has_unit and reading.dimension != asked:
        expected = Text(f"a value in {unit or 'no unit'}", f"以 {unit or '无单位'} 计的值")
        raise BankError(where, expected=expected, got=Text("another unit", "别的单位"))
    return reading.value


def _called(call: str, args: Mapping[str, Any]) -> Any:
    check_call(call, args, call)
    return _computed(call, json.dumps(args))


@functools.lru_cache(maxsize=256)
def _computed(call: str, written: str) -> Any:
    module, name = CALLABLE[call]
    args = json.loads(written)
    try:
        function = getattr(importlib.import_module(f"fa_toolkit.{module}"), name)
        result = function(**{key: _argument(call, key, value) for key, value in args.items()})
        return list(result) if isinstance(result, Iterator) else result
    except (FaError, TypeError, ValueError, AttributeError, ImportError) as error:
        raise BankError(
            call,
            expected=Text("arguments the function accepts", "函数接受的参数"),
            got=str(error),
        ) from error


def _argument(call: str, name: str, value: Any) -> Any:
    if name == "problem":
        return AttentionProblem(**_tuples(value))
    if name == "tile":
        return TileShape(**value)
    if name == "gpu" and isinstance(value, str):
        return importlib.import_module("fa_toolkit.hardware").gpu(value)
    if call.endswith("_softmax") and isinstance(value, list):
        torch = importlib.import_module("torch")
        return torch.tensor(value, dtype=torch.float64)
    return value


def _tuples(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in value.items()}


def _take(result: Any, path: str | int | None, call: str) -> Any:
    """Follow a path such as `reads`, `by_tensor.K.0`, `-1.m` or `count` through public names."""
    for step in [] if path is None else str(path).split("."):
        try:
            if step == "count":
                result = len(result)
            elif isinstance(result, Mapping):
                result = result[step]
            elif step.lstrip("-").isdecimal():
                result = result[int(step)]
            elif step.startswith("_"):
                raise AttributeError(step)
            else:
                result = getattr(result, step)
        except (KeyError, IndexError, AttributeError, TypeError) as error:
            raise BankError(
                f"{call} take: {path}",
                expected=Text("a value this result has", "结果里有的值"),
                got=repr(step),
                hint=", ".join(_offered(result)),
            ) from error
    return result


def _offered(result: Any) -> list[str]:
    if isinstance(result, Mapping):
        return [str(name) for name in result]
    if dataclasses.is_dataclass(result):
        return [field.name for field in dataclasses.fields(result)]
    return [f"0..{len(result) - 1}"] if isinstance(result, Sequence) and result else []


def _number(value: Any, call: str) -> float:
    if hasattr(value, "item"):
        value = value.item() if getattr(value, "numel", lambda: 1)() == 1 else value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise BankError(
            call,
            expected=Text("one number", "一个数"),
            got=repr(value)[:80],
            hint=Text("name the part with `take`", "用 `take` 指明取哪一部分"),
        )
    return float(value)


def trace_table(question: TraceQuestion) -> list[dict[str, float]]:
    """The right table of a trace question: one mapping of column to value for each block.

    Raises:
        BankError: if the call gives no such table.
    """
    states = _called(question.call, question.args)
    if not isinstance(states, Sequence) or not states:
        raise BankError(
            question.call,
            expected=Text("a list of states", "状态的列表"),
            got=say(Text("something else", "别的东西")),
        )
    return [
        {name: _number(_take(state, name, question.call), name) for name in question.columns}
        for state in states
    ]
