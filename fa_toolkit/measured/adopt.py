"""Takes a result file into the recorded runs: read, checked, given an id and a title, written.

Reads the JSON of `fa bench` and that of side-by-side harnesses which list
{provider, pass, B, Hq, Hk, Nq, N, D, causal, ms, ...} under "results".
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..io_model import decode_traffic
from ..language import Text
from ..problem import AttentionProblem
from .access import DATA
from .checks import problems_of
from .files import dump, load
from .provenance import Method, Provenance
from .providers import FUNCTIONS
from .records import Memory, Pass, Run, Speed, counted_flops

_NAMES = {
    "fa3x": "fa3_xformers",
    "tut06": "tutorial",
    "tut06_ws": "tutorial_ws",
    "ours:hopper": "ours_hopper",
    "ours:readable": "ours_readable",
    **FUNCTIONS,
}
_PASSES: Mapping[str, Pass] = {"fwd": "forward", "bwd": "backward"}
_DIGITS = 6  # significant, of what is computed from measured times


def rounded(value: float) -> float:
    """Six significant digits: more than any clock gives, and short to read."""
    return float(f"{value:.{_DIGITS}g}")


def speed_of(
    provider: str, pass_: Pass, problem: AttentionProblem, ms: float, **more: Any
) -> Speed:
    """A row from a measured time: the rate is computed from the rounded time, so both agree."""
    ms = rounded(ms)
    if pass_ == "decode":
        more["gbps"] = rounded(decode_traffic(problem).total / ms / 1e6)
    else:
        more["tflops"] = rounded(counted_flops(problem, pass_) / ms / 1e9)
    return Speed(provider, pass_, problem, ms=ms, **more)


def adopt(
    file: Path,
    *,
    id: str,
    title: Text,
    folder: Path = DATA,
    source: str = "",
    command: str = "",
    date: str = "",
) -> Path:
    """Write the run in `file` to `folder` under a new id; returns the path written.

    Args:
        source, command, date: replace those of the file, where it has none or others are meant.

    Raises:
        ArgumentError: if the file is no run, lacks provenance or contradicts itself.
    """
    data = json.loads(file.read_text(encoding="utf-8"))
    if "results" in data and "env" in data:
        read = from_side_by_side(data)
    else:
        read = load(data)
        renamed: dict[str, Any] = {
            kind: tuple(replace(row, provider=_name(row.provider)) for row in getattr(read, kind))
            for kind in ("speeds", "memories", "hosts")
        }
        read = replace(read, **renamed)
    provenance = replace(
        read.provenance,
        source=source or read.provenance.source or file.name,
        command=command or read.provenance.command,
        date=date or read.provenance.date,
    )
    run = replace(read, id=id, title=title, provenance=provenance)
    wrong = problems_of(run)
    if wrong:
        expected = Text("a run that agrees with itself", "前后一致的测量")
        raise ArgumentError(file.name, expected=expected, got="; ".join(wrong[:5]))
    path = folder / f"{id.replace('-', '_')}.json"
    path.write_text(dump(run), encoding="utf-8")
    return path


def from_side_by_side(data: Mapping[str, Any]) -> Run:
    """A run from {"env", "args", "absent", "results", "memory"}; times are kept, rates recomputed."""
    env, args = data["env"], data.get("args", {})
    smi = [part.strip() for part in env.get("smi", "").split(",")]
    versions = {key: str(env[key]) for key in ("torch", "triton", "cudnn", "python") if key in env}
    said = (f"--{key.replace('_', '-')} {value}" for key, value in args.items() if value)
    speeds = [row for result in data["results"] for row in _speeds(result)]
    return Run(
        id="",
        title=Text("", ""),
        provenance=Provenance(
            device=env.get("gpu", ""),
            driver=smi[0],
            versions=versions,
            date=str(env.get("date", "")),
            command=" ".join(["side-by-side benchmark", *said]),
            source="",
            power_limit_w=float(smi[3].split()[0]) if len(smi) > 3 else None,
        ),
        method=Method(
            pause_s=args.get("gap_s", 0.15), burst_ms=args.get("rep_ms", 25.0), rounds=2,
            cold_l2=True, graph_below_ms=1.0,
        ),
        speeds=tuple(speeds),
        memories=tuple(_memory(row) for row in data.get("memory", ())),
        absent={_name(key): str(why) for key, why in data.get("absent", {}).items()},
        left_out=tuple(data.get("left_out", ())),
    )  # fmt: skip


def _name(provider: str) -> str:
    """The id of a provider: "ours:flash_attention" is "ours", "ours:other" keeps its name."""
    kind, _, function = provider.partition(":")
    if kind == "ours" and function in ("", "flash_attention"):
        return "ours"
    return _NAMES.get(provider, provider)


def _problem(row: Mapping[str, Any]) -> AttentionProblem:
    return AttentionProblem(
        row["B"], row["Hq"], row["Hk"], row["Nq"], row["N"], row["D"],
        dtype="bfloat16", causal=row["causal"],
    )  # fmt: skip


def _speeds(row: Mapping[str, Any]) -> list[Speed]:
    problem, name = _problem(row), _name(row["provider"])
    pass_ = "decode" if row["Nq"] != row["N"] else _PASSES[row["pass"]]
    if "ms" not in row:
        why = row.get("error") or row.get("skip") or "no time"
        return [Speed(name, pass_, problem, failed=why)]
    kept: dict[str, Any] = {"errors": row.get("err", {}), "timer": row.get("timer", "")}
    rounds = tuple(rounded(each) for each in row.get("ms_rounds", ()))
    made = [speed_of(name, pass_, problem, row["ms"], rounds=rounds, **kept)]
    if "ms_sustained" in row:
        made.append(
            speed_of(
                name, pass_, problem, row["ms_sustained"], regime="sustained",
                clock_mhz=row.get("sm_mhz"), watts=row.get("watts"),
            )
        )  # fmt: skip
    return made


def _memory(row: Mapping[str, Any]) -> Memory:
    pass_ = "forward" if row["pass"] == "fwd" else "training"
    mib = row.get("peak_mib")
    failed = "" if mib is not None else row.get("error", "no number")
    kept = None if mib is None else rounded(mib)
    return Memory(_name(row["provider"]), pass_, _problem(row), kept, failed)  # type: ignore[arg-type]


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m fa_toolkit.measured FILE --id ID --title EN ZH`."""
    parser = argparse.ArgumentParser(prog="python -m fa_toolkit.measured", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--id", required=True, help="such as h200-ours")
    parser.add_argument("--title", nargs=2, required=True, metavar=("EN", "ZH"))
    parser.add_argument("--source", default="", help="where the numbers come from")
    parser.add_argument("--command", default="", help="replaces the command in the file")
    parser.add_argument("--date", default="", help="ISO; for a file that does not say it")
    parser.add_argument("--folder", type=Path, default=DATA)
    options = parser.parse_args(argv)
    path = adopt(
        options.file, id=options.id, title=Text(*options.title), folder=options.folder,
        source=options.source, command=options.command, date=options.date,
    )  # fmt: skip
    print(path)
    return 0
