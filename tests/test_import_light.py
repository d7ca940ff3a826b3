"""`import fa_toolkit` is instant, loads nothing heavy and changes nothing in the process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import fa_toolkit

ROOT = Path(__file__).parents[1]
HEAVY = (
    "torch",
    "triton",
    "transformers",
    "numpy",
    "matplotlib",
    "ipywidgets",
    "anywidget",
    "traitlets",
    "IPython",
    "pydantic",
    "yaml",
    "sqlite3",
)
LIGHT_FLOORS = ("errors", "language", "problem", "hardware", "io_model")
MOST_SECONDS = 0.050

PROBE = """
import os, sys, time
before, environ = set(sys.modules), dict(os.environ)
wall, cpu = time.perf_counter(), time.process_time()
{statement}
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
import json
print(json.dumps({{"loaded": sorted(set(sys.modules) - before), "cpu": cpu, "wall": wall,
                  "environ": environ == dict(os.environ)}}))
"""


def probe(statement: str) -> dict[str, object]:
    """What a fresh Python does when it runs `statement`: modules loaded, seconds taken."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(statement=statement)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def heavy(statement: str) -> set[str]:
    loaded = probe(statement)["loaded"]
    assert isinstance(loaded, list)
    return {name.partition(".")[0] for name in loaded} & set(HEAVY)


@pytest.mark.parametrize(
    "statement",
    ["import fa_toolkit", *(f"import fa_toolkit.{floor}" for floor in LIGHT_FLOORS)],
)
def test_nothing_heavy_is_loaded(statement: str) -> None:
    assert heavy(statement) == set()


def test_names_are_listed_without_loading_them() -> None:
    assert heavy("import fa_toolkit; assert 'flash_attention' in dir(fa_toolkit)") == set()


def test_the_probe_would_notice() -> None:
    assert heavy("import fa_toolkit, yaml") == {"yaml"}
    assert heavy("import fa_toolkit, sqlite3.dbapi2") == {"sqlite3"}


def test_import_takes_less_than_50_ms_over_bare_python() -> None:
    """Processor time, which other processes do not inflate; the median of seven runs."""
    seconds = [float(str(probe("import fa_toolkit")["cpu"])) for _ in range(7)]
    assert statistics.median(seconds) < MOST_SECONDS


def test_the_time_would_notice() -> None:
    busy = "import fa_toolkit\nwhile time.process_time() - cpu < 0.06: pass"
    assert float(str(probe(busy)["cpu"])) > MOST_SECONDS


def test_the_environment_is_left_alone() -> None:
    assert probe("import fa_toolkit")["environ"] is True
    assert probe("import fa_toolkit, os; os.environ['FA_LANG_'] = '1'")["environ"] is False


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="flash_atention"):
        _ = fa_toolkit.flash_atention
    assert set(fa_toolkit.__all__) <= set(dir(fa_toolkit))
