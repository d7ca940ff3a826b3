"""The joined ES module: self-contained, no network, every name once; and its own tests by Node."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fa_toolkit.viz import assets

STATIC = Path(assets.__file__).parent / "static"
NODE = shutil.which("node")
#: Font Awesome, which notebooks load, draws glyphs on these; ours must not share them.
FONT_AWESOME = {"fa-play", "fa-pause", "fa-check", "fa-cut", "fa-table", "fa-header", "fa-eye"}


def test_module_is_self_contained() -> None:
    source = assets.module("stepper.js")
    assert not re.search(r"^\s*import\b", source, re.M)
    assert source.count("export default") == 1 and not re.search(
        r"^export (?!default)", source, re.M
    )
    assert "http://www.w3.org/2000/svg" in source
    assert not re.search(r"https?://(?!www\.w3\.org)", source + assets.style("player.css"))
    names = re.findall(r"^(?:const|let|function|class) (\w+)", source, re.M)
    assert len(names) == len(set(names)), "top-level names must be unique once joined"


def test_classes_in_use_are_styled_and_not_font_awesomes() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in STATIC.glob("*.js"))
    css = assets.style("player.css", "stepper.css")
    used = set(re.findall(r"\bfa-[a-z][\w-]*", code)) | set(re.findall(r"\.(fa-[\w-]+)", css))
    assert not used & FONT_AWESOME
    unknown = set(re.findall(r"\.(fa-[\w-]+)", css)) - set(re.findall(r"fa-[\w-]+", code))
    assert {name for name in unknown if not name.startswith("fa-do-")} == set()


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_javascript_by_nodes_own_runner() -> None:
    tests = Path(__file__).parent / "js"
    result = subprocess.run(
        [NODE or "", "--test", str(tests)], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout[-3000:]


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_joined_module_parses(tmp_path: Path) -> None:
    joined = tmp_path / "stepper.mjs"
    joined.write_text(assets.module("stepper.js"), encoding="utf-8")
    result = subprocess.run([NODE or "", "--check", str(joined)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
