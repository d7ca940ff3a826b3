"""The doctor finds each fault, says what to do, and never falls over itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from fa_toolkit import doctor
from fa_toolkit.doctor import checks, packages, probe
from fa_toolkit.doctor.findings import Finding, Report
from fa_toolkit.language import Text, using

GOOD: dict[str, Any] = {
    "torch": "2.13.0",
    "mode": "interpreter",
    "reason": ["no GPU here", "这里没有 GPU"],
    "kernel_right": True,
    "kernel_seconds": 0.05,
    "font": "Noto Sans CJK SC",
}


def status(findings: Any) -> dict[str, str]:
    return {finding.id: finding.status for finding in findings}


def child(code: str) -> subprocess.Popen[str]:
    """A child as the probe starts it, doing something else."""
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_real_report_runs_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FA_STUDY", str(tmp_path / "study"))
    report = doctor.report()
    assert report.mode in ("gpu", "interpreter", "none")
    if report.mode != "none":
        assert report["kernel"].status == "ok" and report.facts["kernel_right"] is True
    parts = ("python", "torch", "numpy", "ipywidgets", "anywidget", "exercises", "quiz", "data")
    for finding in (*parts, "study"):
        assert report[finding].status == "ok", report.text()
    assert report.facts["exercises"] > 20 and report.facts["questions"] > 100
    assert report.ok
    assert not (tmp_path / "data").exists(), "looking must not create anything"
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("import a_package_that_is_not_there", "No module named"),
        ("raise SystemExit(3)", "exit code 3"),
        ("import time; time.sleep(60)", "no answer in"),
        (f"print('{probe.MARK}[]')", probe.MARK),
    ],
    ids=["crash", "import-error", "exit", "hang", "garbage"],
)
def test_a_child_that_dies_is_a_finding(code: str, words: str) -> None:
    found = probe.result(child(code), timeout=3)
    assert words in found["error"]
    (finding,) = checks.kernels(found)
    assert finding.status == "fault" and finding.remedy
    with using("zh"):
        assert "失败" in Report((finding,)).text()


def test_noise_around_the_answer_is_no_harm() -> None:
    code = f"print('hello'); print('{probe.MARK}' + '{{}}'); print('bye')"
    assert probe.result(child(code), timeout=10) == {}


def test_each_part_of_the_probe_fails_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> dict[str, Any]:
        raise RuntimeError("the driver is too old")

    broken.__name__ = "_torch"
    monkeypatch.setattr(probe, "_torch", broken)
    monkeypatch.setattr(probe, "_kernel", lambda: {"mode": "none"})
    monkeypatch.setattr(probe.logging, "disable", lambda _: None)
    probe.main()
    found = json.loads(capsys.readouterr().out.removeprefix(probe.MARK))
    assert "driver is too old" in found["torch_error"] and "font" in found


@pytest.mark.parametrize(
    ("part", "module"), [("exercises", "fa_toolkit.exercises"), ("quiz", "fa_toolkit.quiz")]
)
def test_exercises_or_questions_that_cannot_be_loaded_are_a_fault(part: str, module: str) -> None:
    """In a child of its own, as the probe: the package is there and one import of it fails."""
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from fa_toolkit.doctor import probe\n"
        "probe._torch = probe._kernel = probe._font = lambda: {}\n"
        "probe.main()"
    )
    found = probe.result(child(code), timeout=120)
    both = [*checks.exercises(found), *checks.questions(found)]
    assert status(both)[part] == "fault" and not Report(tuple(both)).ok
    (broken,) = (finding for finding in both if finding.id == part)
    assert isinstance(broken.seen, Text) and module in broken.seen.en and broken.remedy
    assert status(checks.exercises({"error": "signal 11"})) == {}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"mode": "ok", "kernel": "ok"}),
        ({"mode": "gpu", "gpu": "NVIDIA H200"}, {"mode": "ok", "kernel": "ok"}),
        ({"hopper_absent": None}, {"mode": "ok", "kernel": "ok", "hopper": "ok"}),
        (
            {"hopper_absent": ["Triton 3.5.0", "Triton 3.5.0"]},
            {"mode": "ok", "kernel": "ok", "hopper": "note"},
        ),
        ({"kernel_right": False}, {"mode": "ok", "kernel": "fault"}),
        ({"mode": "none"}, {"mode": "fault"}),
        ({"kernel_error": "IndexError: x"}, {"kernel": "fault"}),
        ({"torch_error": "OSError: libcudart"}, {"kernel": "fault"}),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no Triton is no fault")
def test_where_kernels_run(change: dict[str, Any], expected: dict[str, str]) -> None:
    assert status(checks.kernels({**GOOD, **change})) == expected


def test_a_hopper_gpu_is_told_about_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    routing = pytest.importorskip("fa_toolkit.kernels.routing")
    availability = routing.availability
    places = {
        (8, 0): {},
        (9, 0): {"hopper_absent": ["moved", "移走"]},
    }
    for capability, found in places.items():
        place = availability.Place(capability, "a GPU", 0, Text("moved", "移走"))
        monkeypatch.setattr(routing, "place_of", lambda _, place=place: place)
        assert probe._hopper("cuda:0") == found
    place = availability.Place((9, 0), "a GPU", 0, None)
    monkeypatch.setattr(routing, "place_of", lambda _: place)
    assert probe._hopper("cuda:0") == {"hopper_absent": None}


def test_no_triton_for_this_system_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS: everything but the kernels works, so the course can be worked."""
    real = checks.requirement
    monkeypatch.setattr(checks, "requirement", lambda n: None if n == "triton" else real(n))
    assert status(checks.versions())["triton"] == "warning"
    assert status(checks.kernels({**GOOD, "mode": "none"})) == {"mode": "warning"}


@pytest.mark.parametrize(
    ("installed", "expected"),
    [(None, "fault"), ("2.10.0", "warning"), ("2.13.0+cpu", "ok"), ("2.14.0.dev1", "ok")],
)
def test_versions_against_the_declared_range(
    monkeypatch: pytest.MonkeyPatch, installed: str | None, expected: str
) -> None:
    monkeypatch.setattr(checks, "version_of", lambda name: installed if name == "torch" else "2.1")
    found = {finding.id: finding for finding in checks.versions()}
    assert found["torch"].status == expected
    assert (found["torch"].remedy is None) == (expected == "ok")


def test_a_missing_course_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "version_of", lambda _: None)
    (finding,) = checks.jupyter()
    assert finding.status == "fault" and "[course]" in str(finding.remedy)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ((None, None, False), "fault"),
        (("8.1.9", None, False), "fault"),
        (("8.1.9", "2.0.0", False), "fault"),
        (("8.1.9", "3.0.17", True), "ok"),
    ],
)
def test_widgets_need_both_halves(
    monkeypatch: pytest.MonkeyPatch, pair: tuple[Any, Any, bool], expected: str
) -> None:
    monkeypatch.setattr(checks, "widgets_pair", lambda _: pair)
    assert set(status(checks.widgets()).values()) == {expected}


def test_the_browser_half_is_read_from_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    back, front, fits = packages.widgets_pair("anywidget")
    assert back == front and fits
    monkeypatch.setattr(packages.sys, "prefix", str(tmp_path))
    assert packages.widgets_pair("anywidget") == (back, None, False)
    other = tmp_path / "share/jupyter/labextensions/anywidget/package.json"
    other.parent.mkdir(parents=True)
    other.write_text('{"version": "0.0.1"}')
    assert packages.widgets_pair("anywidget") == (back, "0.0.1", False)


def test_an_ipywidgets_that_asks_for_another_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert packages.widgets_pair("ipywidgets")[2]
    monkeypatch.setattr(packages.metadata, "requires", lambda _: ["jupyterlab_widgets~=1.0"])
    assert not packages.widgets_pair("ipywidgets")[2]


@pytest.mark.parametrize(("free", "expected"), [(8e9, "ok"), (0.4e9, "warning")])
def test_memory_and_disk(monkeypatch: pytest.MonkeyPatch, free: float, expected: str) -> None:
    monkeypatch.setattr(checks, "_free_memory", lambda: free)
    assert status(checks.memory()) == {"memory": expected}
    usage = type("Usage", (), {"free": free})()
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: usage)
    assert status(checks.disk()) == {"disk": expected}


def test_unknown_memory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_free_memory", lambda: None)
    assert list(checks.memory()) == []


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FA_DATA_DIR", str(tmp_path / "not yet" / "there"))
    assert status(checks.data_folder()) == {"data": "ok"}

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(checks.tempfile, "TemporaryFile", refuse)
    for check, name, way_out in (
        (checks.data_folder, "data", "FA_DATA_DIR"),
        (checks.study, "study", "FA_STUDY"),
    ):
        (finding,) = check()
        assert (finding.id, finding.status) == (name, "fault")
        assert way_out in finding.remedy.zh  # type: ignore[union-attr]


def test_only_a_reader_of_chinese_is_warned_about_the_font() -> None:
    for lang, expected in (("en", "note"), ("zh", "warning")):
        with using(lang):
            (finding,) = checks.font({"font": None})
            assert finding.status == expected
    assert status(checks.font(GOOD)) == {"font": "ok"}


def test_a_check_that_breaks_is_a_finding() -> None:
    def memory() -> list[Finding]:
        raise ZeroDivisionError("odd machine")

    (finding,) = checks._safe(memory)
    assert finding.status == "warning" and "odd machine" in str(finding.seen)


def test_a_report_in_every_form_and_language() -> None:
    fault = Finding("x", "fault", Text("disk <full>", "磁盘"), Text("0 B & less", "没有空间"), "rm")
    report = Report((fault,))
    assert not report.ok
    with using("en"):
        assert report.text().splitlines()[:2] == ["✗ disk <full>: 0 B & less", "    → rm"]
        page = report._repr_html_()
        assert "disk &lt;full&gt;" in page and "0 B &amp; less" in page and "<full>" not in page
    with using("zh"):
        assert report.text().startswith("✗ 磁盘: 没有空间") and "不能学" in report.verdict
    assert report.table().row_count == 1
    assert Report((Finding("x", "warning", "a", "b"),)).ok


def test_what_is_declared_is_read_from_the_checkout_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> list[str]:
        raise packages.metadata.PackageNotFoundError

    packages.declared.cache_clear()
    monkeypatch.setattr(packages.metadata, "requires", missing)
    try:
        torch = packages.requirement("torch")
        assert isinstance(torch, Requirement) and torch.specifier.contains("2.13.0")
        assert packages.requirement("no-such-package") is None
    finally:
        packages.declared.cache_clear()
