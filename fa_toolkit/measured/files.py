"""A `Run` as JSON and back: one row a line, problems named once. Knows nothing of measuring."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..language import Text
from ..problem import AttentionProblem
from .provenance import Method, Provenance
from .records import Accuracy, Bill, Ceiling, Feature, Host, Memory, Ratio, Run, Speed
from .timeline import Stamps, Timeline

SCHEMA = "fa-measured/1"
#: the lists of a run and what their rows are
ROWS: Mapping[str, type[Any]] = {
    "speeds": Speed,
    "memories": Memory,
    "hosts": Host,
    "ceilings": Ceiling,
    "features": Feature,
    "ratios": Ratio,
    "accuracies": Accuracy,
    "bills": Bill,
    "timelines": Timeline,
    "stamps": Stamps,
}
_TEXTS = {"what", "works", "providers", "title"}


def case_name(problem: AttentionProblem) -> str:
    """A problem in words that fit a table.

    Example:
        >>> case_name(AttentionProblem(2, 32, 8, 1, 4096, 128, dtype="bfloat16"))
        'B2 H32/8 N1/4096 D128 full bfloat16'
    """
    p = problem
    heads = f"{p.heads_q}" if p.heads_q == p.heads_kv else f"{p.heads_q}/{p.heads_kv}"
    length = f"{p.len_q}" if p.len_q == p.len_k else f"{p.len_q}/{p.len_k}"
    width = f"{p.head_dim}" if p.head_dim == p.head_dim_v else f"{p.head_dim}/{p.head_dim_v}"
    mask = "causal" if p.causal else "full"
    window = f" window{p.window[0]},{p.window[1]}" if p.window else ""
    return f"B{p.batch} H{heads} N{length} D{width} {mask}{window} {p.dtype}"


def dump(run: Run) -> str:
    """`run` as JSON text, one row a line so that a diff shows which number changed."""
    problems = {
        case_name(row.problem): row.problem for row in _rows(run) if hasattr(row, "problem")
    }
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "id": run.id,
        "title": _plain(run.title),
        "provenance": _fields(run.provenance),
        "method": _fields(run.method),
        "absent": dict(run.absent),
        "left_out": list(run.left_out),
        "complete": run.complete,
    }
    parts = [f"{_json(name)}: {_json(value)}" for name, value in head.items()]
    cases = {name: _without_defaults(problem) for name, problem in problems.items()}
    parts.append(_lines("problems", (f"{_json(n)}: {_json(v)}" for n, v in cases.items()), "{}"))
    for name in ROWS:
        rows = getattr(run, name)
        if rows:
            parts.append(_lines(name, (_json(_row(row)) for row in rows), "[]"))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def load(source: Path | str | Mapping[str, Any]) -> Run:
    """A run from a file, or from JSON that was parsed already.

    Raises:
        ArgumentError: if it is not such a run, or of another version.
    """
    data = source
    if not isinstance(data, Mapping):
        try:
            data = json.loads(Path(data).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ArgumentError(
                "file",
                expected=Text("the JSON of a measured run", "一次测量的 JSON"),
                got=str(error),
            ) from error
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        got = data.get("schema") if isinstance(data, Mapping) else type(data).__name__
        raise ArgumentError("schema", expected=f'"{SCHEMA}"', got=repr(got))
    try:
        return _run(data)
    except (KeyError, TypeError) as error:
        expected = Text("the fields of a measured run", "一次测量应有的字段")
        raise ArgumentError("file", expected=expected, got=str(error)) from error


def _run(data: Mapping[str, Any]) -> Run:
    problems = {name: AttentionProblem(**_tuples(kept)) for name, kept in data["problems"].items()}
    rows = {
        name: tuple(_revived(kind, row, problems, data["id"]) for row in data.get(name, ()))
        for name, kind in ROWS.items()
    }
    return Run(
        id=data["id"],
        title=Text(**data["title"]),
        provenance=Provenance(**data["provenance"]),
        method=Method(**data["method"]),
        absent=dict(data.get("absent", {})),
        left_out=tuple(data.get("left_out", ())),
        complete=data.get("complete", True),
        **rows,
    )


def _rows(run: Run) -> Iterable[Any]:
    for name in ROWS:
        yield from getattr(run, name)


def _row(row: Any) -> dict[str, Any]:
    kept = {name: value for name, value in _without_defaults(row).items() if name != "run"}
    if "problem" in kept:
        kept["problem"] = case_name(row.problem)
    if "pass_" in kept:
        kept["pass"] = kept.pop("pass_")
    return kept


def _revived(
    kind: type[Any], row: Mapping[str, Any], problems: Mapping[str, AttentionProblem], run: str
) -> Any:
    values = {name: Text(**v) if name in _TEXTS else v for name, v in _tuples(row).items()}
    if "problem" in values:
        values["problem"] = problems[row["problem"]]
    if "pass" in values:
        values["pass_"] = values.pop("pass")
    return kind(**values, run=run)


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


def _without_defaults(value: Any) -> dict[str, Any]:
    """The fields that differ from their default; of a problem, those that its maker needs."""
    kept = {}
    for each in fields(value):
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        here = getattr(value, each.name)
        if here != default and not (each.name == "head_dim_v" and here == value.head_dim):
            kept[each.name] = here if each.name == "problem" else _plain(here)
    return kept


def _fields(value: Any) -> dict[str, Any]:
    return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, Text):
        return {"en": value.en, "zh": value.zh}
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(name: str, rows: Iterable[str], brackets: str) -> str:
    body = ",\n".join(f"  {row}" for row in rows)
    return f"{_json(name)}: {brackets[0]}\n{body}\n{brackets[1]}"
