"""The joined ES module: self-contained, no network, every name once; and its own tests by Node."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fa_toolkit.viz import assets

STATIC = Path(assets.__file__).parent / "static"
NODE, TSC = shutil.which("node"), shutil.which("tsc")
#: Classes of page elements that Python writes.
OWN_CLASSES: set[str] = {"fa-player", "fa-viz"}

#: A widget's module and the style sheets it comes with.
WIDGETS = {
    "kernel_view.js": ("player.css", "kernel_view.css"),
    "stepper.js": ("player.css", "stepper.css"),
    "tile_player.js": ("player.css", "tile_player.css"),
    "traffic_player.js": ("player.css", "traffic_player.css"),
    "memory_ladder.js": ("player.css", "memory_ladder.css"),
    "block_chooser.js": ("player.css", "block_chooser.css"),
}
#: Classes whose end is computed: the icon, the tensor.
COMPUTED = ("fa-do-", "fa-ink-", "fa-fill-", "fa-rung-of-", "fa-tilecell-")


@pytest.mark.parametrize("widget", WIDGETS)
def test_module_is_self_contained(widget: str) -> None:
    source = assets.module(widget)
    assert not re.search(r"^\s*import\b", source, re.M)
    assert source.count("export default") == 1 and not re.search(
        r"^export (?!default)", source, re.M
    )
    assert "http://www.w3.org/2000/svg" in source
    both = source + assets.style(*WIDGETS[widget])
    assert not re.search(r"https?://(?!www\.w3\.org)", both)
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|WebSocket|eval|innerHTML)\b", source)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('import { a } from "./b.js"; import { c } from "./d.js";\n', "cannot inline"),
        ('import x from "./b.js";\n', "cannot inline"),
        ('import * as x from "./b.js";\n', "cannot inline"),
        ('import { a } from "react";\n', "cannot inline"),
        ("export { a };\n", "cannot inline"),
        ("const a = 1;\nfunction a() {}\n", "two files: a"),
    ],
)
def test_what_cannot_be_joined_is_refused(source: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        assets.check(source, "made_up.js")


def test_an_import_that_renames_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "read", lambda name: 'import { a as b } from "./c.js";\n')
    with pytest.raises(ValueError, match="renames"):
        assets.module.__wrapped__("made_up.js")


def _font_awesome() -> set[str]:
    """Classes on which JupyterLab's Font Awesome draws a glyph; ours must not share them."""
    spec = importlib.util.find_spec("jupyterlab")
    if spec is None or spec.origin is None:
        return set()
    static = Path(spec.origin).parent / "static"
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in static.glob("*.js"))
    return {name for text in texts for name in re.findall(r"\.(fa-[\w-]+):{1,2}before", text)}


def test_classes_in_use_are_styled_and_not_font_awesomes() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in STATIC.glob("*.js"))
    css = assets.style(*dict.fromkeys(sheet for sheets in WIDGETS.values() for sheet in sheets))
    used = set(re.findall(r"(?<!-)\bfa-[a-z][\w-]*", code)) | set(re.findall(r"\.(fa-[\w-]+)", css))
    theirs = _font_awesome()
    assert "fa-plane" in theirs and not used & theirs
    unknown = set(re.findall(r"\.(fa-[\w-]+)", css)) - set(re.findall(r"fa-[\w-]+", code))
    assert {name for name in unknown if not name.startswith(COMPUTED)} <= OWN_CLASSES


def test_two_widgets_on_one_page_say_the_same_of_what_they_share() -> None:
    said: dict[str, dict[str, set[str]]] = {}
    for _, sheet in WIDGETS.values():
        text = re.sub(r"/\*.*?\*/", "", (STATIC / sheet).read_text(encoding="utf-8"), flags=re.S)
        for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
            for selector in selectors.split(","):
                one = said.setdefault(" ".join(selector.split()), {}).setdefault(sheet, set())
                one.update(part.strip() for part in body.split(";") if part.strip())
    differing = {
        selector: sheets
        for selector, sheets in said.items()
        if len({frozenset(each) for each in sheets.values()}) > 1
    }
    assert differing == {}
    assert sum(len(sheets) > 1 for sheets in said.values()) >= 2  # there is something to compare


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_javascript_by_nodes_own_runner() -> None:
    tests = Path(__file__).parent / "js"
    result = subprocess.run(
        [NODE or "", "--test", str(tests)], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stdout[-3000:]


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
@pytest.mark.parametrize("widget", WIDGETS)
def test_joined_module_parses(widget: str, tmp_path: Path) -> None:
    joined = tmp_path / "joined.mjs"
    joined.write_text(assets.module(widget), encoding="utf-8")
    result = subprocess.run([NODE or "", "--check", str(joined)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
@pytest.mark.skipif(TSC is None, reason="tsc is not installed (Debian: node-typescript)")
def test_types_in_jsdoc_hold() -> None:
    result = subprocess.run(
        [TSC or "", "-p", str(STATIC / "tsconfig.json")],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert result.returncode == 0, result.stdout[-3000:]


def test_no_module_of_ours_removes_a_child_of_another() -> None:
    """The browser tests ignore one error of JupyterLab's; it must not be able to be ours."""
    package = STATIC.parents[1]
    files = [*STATIC.glob("*.js"), *package.glob("quiz/*.js"), *package.glob("interview/*.js")]
    assert len(files) > 20
    assert not [path.name for path in files if "removeChild" in path.read_text(encoding="utf-8")]
