"""Compile cases for a GPU that is not here, in a process of its own: this one may interpret."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def compiled(script: str, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """What a script beside this file prints about its cases: name -> figures."""
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(script)), *names],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))
