"""pyproject.toml, the lock, environment.yml, make and the wheel say the same. Installs nothing."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
CONDA: dict[str, Any] = yaml.safe_load((ROOT / "environment.yml").read_text())
LOCK = {
    Requirement(line).name: next(iter(Requirement(line).specifier))
    for line in (ROOT / "setup" / "lock.txt").read_text().splitlines()
    if line and not line.startswith("#")
}
OURS = [
    Requirement(line)
    for lines in (PROJECT["dependencies"], *EXTRAS.values())
    for line in lines
    if not line.startswith("fa-toolkit")
]


def load(name: str) -> ModuleType:
    """A script of setup/ as a module."""
    spec = importlib.util.spec_from_file_location(f"fa_setup_{name}", ROOT / "setup" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """setup/env.py with no settings from outside."""
    for name in ("TORCH", "INDEX", "TORCH_INDEX", "ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", [str(ROOT / "setup"), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("FA_LANG", "en")
    yield load("env")
    sys.modules.pop("texts", None)


# the lock


def test_every_line_of_the_lock_is_one_exact_version() -> None:
    assert len(LOCK) > 100
    for name, specifier in LOCK.items():
        assert specifier.operator == "==" and "*" not in specifier.version, name
        assert name == canonicalize_name(name), "not the spelling every index agrees on"
        assert "+" not in specifier.version, f"{name}: a local build, others could not install it"
    assert list(LOCK) == sorted(LOCK)


@pytest.mark.parametrize("wanted", OURS, ids=str)
def test_the_lock_holds_what_pyproject_asks_for(wanted: Requirement) -> None:
    assert wanted.specifier.contains(LOCK[canonicalize_name(wanted.name)].version)


def test_the_lock_is_the_tested_pair_of_torch_and_triton() -> None:
    assert LOCK["torch"].version == "2.13.0"
    assert LOCK["triton"].version == "3.7.1"
    assert LOCK["triton-windows"].version.startswith(LOCK["triton"].version)


def closure(name: str) -> Iterator[str]:
    """Everything an installed package needs here, by what it says itself."""
    from importlib import metadata

    seen, todo = set(), [Requirement(name)]
    while todo:
        wanted = todo.pop()
        key = canonicalize_name(wanted.name)
        for line in metadata.requires(wanted.name) or []:
            needed = Requirement(line)
            extras = wanted.extras or {""}
            if needed.marker and not any(needed.marker.evaluate({"extra": e}) for e in extras):
                continue
            if (found := canonicalize_name(needed.name)) not in seen:
                seen.add(found)
                todo.append(needed)
        seen.add(key)
    yield from seen


@pytest.mark.parametrize("extra", [name for name in EXTRAS if name != "dev"])
def test_the_lock_is_closed(extra: str) -> None:
    """Nothing an extra pulls in, however deep, is left to the day it is installed on."""
    ours = (Requirement(line) for line in EXTRAS[extra] if not line.startswith("fa-toolkit"))
    needed = {name for wanted in ours for name in closure(str(wanted))}
    assert len(needed) > 5
    assert needed - set(LOCK) == set()


def test_what_is_installed_is_what_the_lock_says() -> None:
    """Only in an environment that make built: any other may hold what its owner likes."""
    stamp = ROOT / ".venv" / "fa-stamp.json"
    if Path(sys.prefix).resolve() != (ROOT / ".venv").resolve() or not stamp.exists():
        pytest.skip("these tests do not run in an environment that make built")
    from importlib import metadata

    for found in metadata.distributions():
        name = canonicalize_name(found.metadata["Name"])
        if name != "fa-toolkit":
            assert Version(found.version).public == LOCK[name].version, name


# pyproject.toml


def test_supported_ranges() -> None:
    ranges = {wanted.name: wanted.specifier for wanted in OURS}
    for version in ("3.6.0", "3.7.1", "3.8.0", "3.9.0"):
        assert ranges["triton"].contains(version)
    assert not ranges["triton"].contains("3.10.0") and not ranges["triton"].contains("3.5.1")
    assert ranges["torch"].contains("2.11.0") and not ranges["torch"].contains("2.10.0")
    assert ranges["numpy"].contains("2.0.0") and not ranges["numpy"].contains("3.0.0")


@pytest.mark.parametrize(
    ("system", "names"),
    [("Linux", {"triton"}), ("Windows", {"triton-windows"}), ("Darwin", set())],
)
def test_each_system_gets_the_triton_it_can_have(system: str, names: set[str]) -> None:
    found = {
        wanted.name
        for wanted in map(Requirement, PROJECT["dependencies"])
        if wanted.name.startswith("triton")
        and wanted.marker is not None
        and wanted.marker.evaluate({"platform_system": system})
    }
    assert found == names


def test_a_plain_install_brings_no_course() -> None:
    plain = {Requirement(line).name for line in PROJECT["dependencies"]}
    for extra in ("course", "huggingface"):
        assert not plain & {Requirement(line).name for line in EXTRAS[extra]}
    assert set(EXTRAS) == {"course", "huggingface", "test", "dev"}
    assert PROJECT["scripts"] == {"fa": "fa_toolkit.cli:main"}


def test_py_rattler_is_optional() -> None:
    """It checks environment.yml more closely; nobody has to install it."""
    assert not [wanted for wanted in OURS if wanted.name == "py-rattler"]


#: import name -> the package we ask for that is or brings it, where the names differ
PACKAGES = {
    "yaml": "pyyaml",
    "bs4": "beautifulsoup4",
    "IPython": "ipykernel",
    "matplotlib_inline": "ipykernel",
    "psutil": "ipykernel",
    "pydantic_core": "pydantic",
    "traitlets": "ipywidgets",
}


def test_every_import_of_the_package_is_declared() -> None:
    declared = {
        canonicalize_name(Requirement(line).name)
        for line in (*PROJECT["dependencies"], *EXTRAS["course"], *EXTRAS["huggingface"])
    }
    for path in (ROOT / "fa_toolkit").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for top in {name.partition(".")[0] for name in names}:
                if top in sys.stdlib_module_names or top == "fa_toolkit":
                    continue
                package = canonicalize_name(PACKAGES.get(top, top))
                assert package in declared, f"{path.relative_to(ROOT)} imports {top}"


# environment.yml


def test_conda_brings_python_and_pip_and_nothing_else() -> None:
    assert set(CONDA) == {"name", "channels", "dependencies"}
    assert CONDA["channels"] == ["conda-forge", "nodefaults"]
    python, pip, rest = CONDA["dependencies"]
    assert pip == "pip"
    assert list(rest) == ["pip"]
    name, _, version = python.partition("=")
    assert name == "python"
    assert SpecifierSet(PROJECT["requires-python"]).contains(f"{version}.0")


def test_conda_takes_every_version_from_the_lock() -> None:
    constraint, project = CONDA["dependencies"][-1]["pip"]
    assert constraint == "-c setup/lock.txt"
    assert (ROOT / constraint.split()[1]).is_file()
    match = re.fullmatch(r"-e \.\[(\w+)\]", project)
    assert match is not None and match[1] in EXTRAS


def test_conda_specifications_parse() -> None:
    rattler = pytest.importorskip("rattler", reason="py-rattler is optional")
    for line in CONDA["dependencies"]:
        if isinstance(line, str):
            rattler.MatchSpec(line, strict=True)


# make


def make(*arguments: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=cwd,
        env={**os.environ, "FA_LANG": "en", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_make_help_names_every_target() -> None:
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert targets is not None
    shown = make("help").stdout
    for target in targets[1].split():
        assert target == "help" or f"make {target}" in shown
    assert "做" not in shown and "环境" in make("help", FA_LANG="zh").stdout


def test_every_target_is_known_to_the_script(env: ModuleType) -> None:
    targets = re.search(
        r"^([\w ]+):\n\t@sh setup/run.sh \$@$", (ROOT / "Makefile").read_text(), re.M
    )
    assert targets is not None
    assert set(targets[1].split()) == set(env.NEEDS)
    for name, level in env.NEEDS.items():
        assert level in EXTRAS
        assert isinstance(env.commands(name, []), list)


@pytest.mark.parametrize(
    ("lang", "word"), [("en", "No Python 3.11"), ("zh", "没有找到 Python 3.11")]
)
def test_a_machine_without_python_is_told_what_to_get(tmp_path: Path, lang: str, word: str) -> None:
    """The script runs with a PATH that has a shell and no Python in it."""
    checkout = tmp_path / "新 人"
    (checkout / "setup").mkdir(parents=True)
    script = checkout / "setup" / "run.sh"
    script.write_bytes((ROOT / "setup" / "run.sh").read_bytes())
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "cat", "dirname"):
        (tools / tool).symlink_to(
            f"/bin/{tool}" if Path(f"/bin/{tool}").exists() else f"/usr/bin/{tool}"
        )
    old = tools / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")  # too old: the version test fails
    old.chmod(0o755)
    ran = subprocess.run(
        [tools / "sh", str(script), "lab"],
        env={"PATH": str(tools), "FA_LANG": lang},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert word in ran.stderr and "sudo apt install python3" in ran.stderr


def test_a_chosen_python_that_will_not_do_is_refused() -> None:
    ran = make("env", PYTHON="/nonexistent/python")
    assert ran.returncode != 0
    assert "PYTHON=/nonexistent/python" in ran.stderr


@pytest.mark.parametrize(("lang", "said"), [("en", "ARGS has a quote"), ("zh", "引号")])
def test_arguments_that_cannot_be_cut_are_a_sentence(
    env: ModuleType,
    lang: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FA_LANG", lang)
    monkeypatch.setenv("ARGS", "--port '90")
    monkeypatch.setattr(env, "ensure", lambda level: pytest.fail("nothing is installed for it"))
    assert env.main(["lab"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="a shell and a pipe")
def test_a_reader_that_leaves_is_no_traceback() -> None:
    code = f'"{sys.executable}" setup/env.py help | true; exit ${{PIPESTATUS[0]}}'
    ran = subprocess.run(
        ["bash", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_an_environment_that_stands_costs_nothing(
    env: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(env, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(env, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(env, "build", lambda *_, **__: pytest.fail("it was built again"))
    monkeypatch.setenv("TORCH", "cpu")
    (tmp_path / "stamp.json").write_text(json.dumps(env.stamp_of("test", "cpu")))
    env.ensure("course")
    env.ensure("test")
    monkeypatch.delenv("TORCH")
    env.ensure("course")


@pytest.mark.parametrize("stamp", ["", "{", "[]", '{"level": "course"}', '{"level": 3}'])
def test_a_stamp_that_says_nothing_means_build(
    env: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stamp: str
) -> None:
    built: list[dict[str, str]] = []
    monkeypatch.setattr(env, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(env, "build", lambda wanted, *, moved: built.append({**wanted, "m": moved}))
    (tmp_path / "stamp.json").write_text(stamp)
    env.ensure("test")
    assert [one["level"] for one in built] == ["test"] and not built[0]["m"]


def test_a_moved_checkout_is_only_linked_anew(
    env: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(env, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(env, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(env, "pip", lambda *arguments: commands.append(arguments))
    old = {**env.stamp_of("course", "cpu"), "checkout": "/elsewhere"}
    (tmp_path / "stamp.json").write_text(json.dumps(old))
    env.ensure("course")
    assert commands == [("--no-deps", "--no-build-isolation", "--editable", ".")]
    assert json.loads((tmp_path / "stamp.json").read_text()) == {**old, "checkout": str(ROOT)}


def test_a_cpu_build_that_is_there_asks_no_index(
    env: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    (version,) = re.findall(r"^torch==(.*)$", env.LOCK.read_text(), re.M)
    asked: list[str] = []
    monkeypatch.setattr(env, "reachable", lambda url: bool(asked.append(url)))
    monkeypatch.setattr(env, "pip", lambda *_: None)
    monkeypatch.setattr(env, "installed_torch", lambda: f"{version}+cpu")
    assert env.install_torch("cpu") == "cpu" and not asked
    monkeypatch.setattr(env, "installed_torch", lambda: f"{version}.1+cpu")
    assert env.install_torch("cpu") == "cpu" and asked


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="one build of torch elsewhere")
def test_which_torch_is_taken(env: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env.shutil, "which", lambda _: "/usr/bin/nvidia-smi")
    assert env.chosen_torch(None) == "cuda"
    assert env.chosen_torch("cpu") == "cpu", "what stands is kept until somebody asks"
    monkeypatch.setattr(env.shutil, "which", lambda _: None)
    monkeypatch.setattr(env.Path, "exists", lambda _: False)
    assert env.chosen_torch(None) == "cpu"
    monkeypatch.setenv("TORCH", "CUDA")
    assert env.chosen_torch("cpu") == "cuda"
    monkeypatch.setenv("TORCH", "rocm")
    with pytest.raises(env.SetupError, match="rocm"):
        env.chosen_torch(None)


@pytest.mark.parametrize("asked", ["cpu", ""])
def test_a_cpu_build_out_of_reach_is_said(
    env: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    asked: str,
) -> None:
    def fails(*_: str) -> None:
        raise env.SetupError("pip's own words")

    monkeypatch.setattr(env, "pip", fails)
    monkeypatch.setattr(env, "installed_torch", lambda: "")
    monkeypatch.setattr(env, "reachable", lambda _: False)
    monkeypatch.setenv("TORCH", asked)
    if asked:
        with pytest.raises(env.SetupError, match="TORCH_INDEX=<url>"):
            env.install_torch("cpu")
    else:
        assert env.install_torch("cpu") == "cuda"
        assert "3 GB" in capsys.readouterr().out
    assert not env.reachable("file:///nonexistent")


def test_mirror_and_lock_reach_pip(env: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return subprocess.CompletedProcess(command, len(seen) - 1)

    monkeypatch.setattr(env.subprocess, "run", run)
    monkeypatch.setenv("INDEX", "https://mirror.example/simple")
    env.pip("rich")
    at = seen[0].index("--index-url")
    assert seen[0][at + 1] == "https://mirror.example/simple"
    assert seen[0][seen[0].index("--constraint") + 1] == str(Path("setup/lock.txt"))
    with pytest.raises(env.SetupError, match="INDEX=<url>"):
        env.pip("rich")


# before a commit


def test_hooks_find_what_they_look_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hooks = load("hooks")
    kernel = tmp_path / "kernel.py"
    kernel.write_text("x = 1\np = tl." + "make_" + "block_ptr(q)\n")
    picture = tmp_path / "a.ipynb"
    picture.write_text('{"cells": [{"source": "![](data:' + 'image/png;base64,AA)"}]}')
    big = tmp_path / "big.bin"
    big.write_bytes(bytes(500_001))
    assert hooks.main(["banned", str(kernel), str(picture)]) == 1
    out = capsys.readouterr().out
    assert f"{kernel}:2:" in out and str(picture) in out
    assert hooks.main(["large", str(big)]) == 1
    assert hooks.main(["large", str(kernel), str(tmp_path / "gone")]) == 0


def test_hooks_are_local() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    assert all(hook["language"] == "system" for hook in config["repos"][0]["hooks"])


def test_learners_files_and_environments_are_ignored_by_git() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    for path in ("study/00_start_here.ipynb", ".venv/bin/python", "dist/a.whl"):
        ran = subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False)
        assert ran.returncode == 0, path
