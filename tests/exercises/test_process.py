"""Whatever a learner's function does, a sentence comes back and this process is untouched."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from fa_toolkit import exercises, kernels
from fa_toolkit.exercises import client, connection
from fa_toolkit.exercises.catalog import devices
from fa_toolkit.exercises.checker import Seconds
from fa_toolkit.exercises.rebuilding import rebuild
from fa_toolkit.exercises.report import Report
from fa_toolkit.language import Text, say, using

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="checks are not forked here")
SOFTMAX = exercises.get("03.three_pass")
right = exercises.solution("03.three_pass")
PRECIOUS = Path(__file__).parent / "precious"


@pytest.fixture(autouse=True)
def precious() -> Iterator[Path]:
    """Something outside the check's folder that must survive."""
    PRECIOUS.mkdir(exist_ok=True)
    (PRECIOUS / "kept.txt").write_text("kept")
    yield PRECIOUS
    assert [x.name for x in PRECIOUS.iterdir()] == ["kept.txt"]
    assert (PRECIOUS / "kept.txt").read_text() == "kept"
    shutil.rmtree(PRECIOUS)


def check(fn: Callable[..., Any], call: float = 20.0, whole: float = 60.0) -> Any:
    return client.check(SOFTMAX, fn, seconds=Seconds(call, whole))


# what ends a process, or tries to


def loops(x: torch.Tensor) -> Any:
    while True:
        pass


def blocks_signals(x: torch.Tensor) -> Any:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    while True:
        pass


def sleeps_in_c(x: torch.Tensor) -> Any:
    ctypes.CDLL(None).sleep(60)


def exits_at_once(x: torch.Tensor) -> Any:
    os._exit(7)


def exits(x: torch.Tensor) -> Any:
    sys.exit("bye")


def crashes(x: torch.Tensor) -> Any:
    ctypes.string_at(0)


def asks_for_much(x: torch.Tensor) -> Any:
    return torch.zeros(25_000_000_000)


def grows(x: torch.Tensor) -> Any:
    kept = []
    while True:
        kept.append(torch.empty(1 << 27))


def starts_threads(x: torch.Tensor) -> Any:
    while True:
        threading.Thread(target=time.sleep, args=(9,)).start()


def forks(x: torch.Tensor) -> Any:
    while True:
        os.fork()


def kills_its_judge(x: torch.Tensor) -> Any:
    ctypes.CDLL(None).kill(os.getppid(), 9)
    time.sleep(1)


def starts_a_program(x: torch.Tensor) -> Any:
    subprocess.run(["touch", str(PRECIOUS / "touched")], check=True)


def deletes(x: torch.Tensor) -> Any:
    shutil.rmtree(PRECIOUS)


def writes(x: torch.Tensor) -> Any:
    (PRECIOUS / "kept.txt").write_text("changed")


def deletes_in_c(x: torch.Tensor) -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    if library.unlink(str(PRECIOUS / "kept.txt").encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def calls_home(x: torch.Tensor) -> Any:
    socket.create_connection(("127.0.0.1", 9))


def interrupts(x: torch.Tensor) -> Any:
    raise KeyboardInterrupt


class Hostile(Exception):  # noqa: N818
    def __str__(self) -> str:
        while True:
            pass

    __repr__ = __str__


def raises_hostile(x: torch.Tensor) -> Any:
    raise Hostile


def returns_a_lot(x: torch.Tensor) -> Any:
    return torch.empty(1 << 28)


def yields(x: torch.Tensor) -> Any:
    yield x


def talks_on_the_wire(x: torch.Tensor) -> Any:
    os.write(4, b"\x10" * 4096)
    return right(x)


class Liar(torch.Tensor):
    """Says that it equals everything."""

    def __eq__(self, other: object) -> Any:
        return torch.ones(self.shape, dtype=torch.bool)

    def detach(self) -> Any:
        raise RuntimeError("no")


def lies(x: torch.Tensor) -> Any:
    return torch.zeros_like(x).as_subclass(Liar)


HOSTILE: dict[Callable[..., Any], tuple[str, str]] = {
    loops: ("still running after 0.6 s", "已停止"),
    blocks_signals: ("still running after 0.6 s", "已停止"),
    sleeps_in_c: ("ctypes.CDLL(None).sleep(60)", "已停止"),
    exits_at_once: ("ended its own process (exit status 7)", "结束了自己的进程"),
    exits: ("SystemExit: bye", "SystemExit"),
    crashes: ("crashed its process (SIGSEGV); your notebook is untouched. It was at line", "崩溃"),
    asks_for_much: ("asked for 93.1 GiB", "93.1 GiB"),
    grows: ("GiB", "GiB"),
    starts_threads: ("more threads than a check allows", "线程太多"),
    forks: ("no other programs during a check", "不启动别的程序"),
    kills_its_judge: ("ended from outside", "被外部终止"),
    starts_a_program: ("no other programs during a check", "不启动别的程序"),
    deletes: ("the check's own folder only", "只动检查自己文件夹里的文件"),
    writes: ("the check's own folder only", "只动检查自己文件夹里的文件"),
    deletes_in_c: ("Permission denied", "Permission denied"),
    calls_home: ("no network during a check", "不用网络"),
    interrupts: ("KeyboardInterrupt", "KeyboardInterrupt"),
    raises_hostile: ("still running", "已停止"),
    returns_a_lot: ("returned 1 GiB of numbers", "返回了 1 GiB"),
    yields: ("should be a tensor, it is generator", "generator"),
    talks_on_the_wire: ("answered nonsense", "无法理解"),
    lies: ("RuntimeError", "RuntimeError"),
}


@pytest.mark.parametrize("fn", HOSTILE, ids=lambda fn: fn.__name__)
def test_a_sentence_in_both_languages_comes_back(fn: Callable[..., Any]) -> None:
    if fn is starts_threads and sys.platform != "linux":
        pytest.skip("address space is not limited here")
    if fn is deletes_in_c and not _landlock():
        pytest.skip("this system has no Landlock: code in C is not kept from files")
    began = time.monotonic()
    english, chinese = HOSTILE[fn]
    # only what never ends is held to a short time: all else would meet it on a busy machine
    report = check(fn, 0.6, 3.0) if chinese == "已停止" else check(fn)
    assert report.outcome == "not yet"
    assert english in str(report)
    with using("zh"):
        assert chinese in str(report)
    assert "Traceback" not in str(report)
    assert time.monotonic() - began < 90


def _landlock() -> bool:
    """Whether the system confines a process; tried in one that ends at once."""
    from fa_toolkit.exercises.landlock import confine_writes

    pid = os.fork()
    if pid == 0:
        os._exit(0 if confine_writes([]) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_where_kernels_are_compiled_threads_have_names_and_caches_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA names its threads, in files of the process, and does not start where it cannot."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # this checkout may lie in the real one
    if not _landlock():
        pytest.skip("this system has no Landlock")
    from fa_toolkit.exercises import limits

    libc = ctypes.CDLL(None, use_errno=True)

    def can_write(path: str) -> bool:
        fd = libc.open(path.encode(), os.O_WRONLY)
        return fd >= 0 and libc.write(fd, b"named", 5) == 5

    outside = PRECIOUS / "kept.txt"
    pid = os.fork()
    if pid == 0:
        named: list[bool] = []
        try:
            limits.confine(tmp_path, on_gpu=True)
            (tmp_path / "new").mkdir()  # as a compiler's cache does: made beside, then moved
            (tmp_path / "new" / "kernel").write_text("")
            (tmp_path / "new" / "kernel").replace(tmp_path / "kernel")
            thread = threading.Thread(
                target=lambda: named.append(
                    can_write(f"/proc/self/task/{threading.get_native_id()}/comm")
                )
            )
            thread.start()
            thread.join()
        finally:
            os._exit(0 if named == [True] and not can_write(str(outside)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_an_interrupt_ends_the_check_and_the_next_one_works() -> None:
    # what a shell starts in the background is told to ignore interrupts; a notebook's kernel is not
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    done = threading.Event()

    def press() -> None:  # again, as a learner does: a finalizer may swallow the first
        wait = 0.7
        while not done.wait(wait):
            os.kill(os.getpid(), signal.SIGINT)
            wait = 5.0

    threading.Thread(target=press).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            print(check(sleeps_in_c, 60, 90))  # what it says if it is not interrupted
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)
    assert check(right).outcome == "passed"


def test_a_server_that_dies_under_a_check_is_replaced() -> None:
    assert check(right).outcome == "passed"
    process = client._server.process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)  # it hears of the check and never answers
    threading.Timer(0.5, lambda: os.kill(process.pid, signal.SIGKILL)).start()
    assert check(right).outcome == "passed"
    assert client._server.process is not process


def test_a_patched_torch_neither_passes_nor_lasts() -> None:
    def patches(x: torch.Tensor) -> torch.Tensor:
        torch.Tensor.exp = lambda self: self  # type: ignore[method-assign]
        torch.Tensor.__eq__ = lambda a, b: torch.tensor(True)  # type: ignore[method-assign,assignment]
        torch.allclose = lambda *a, **k: True
        torch.Tensor.abs = lambda self: self * 0  # type: ignore[method-assign]
        return x * 0

    report = check(patches)
    assert report.outcome == "not yet" and "value" in report.failed
    assert check(right).outcome == "passed"


def test_what_it_prints_is_shown_and_cut() -> None:
    def prints(x: torch.Tensor) -> torch.Tensor:
        print("the maximum is", float(x.max()))
        return right(x)

    def prints_much(x: torch.Tensor) -> torch.Tensor:
        for _ in range(100):
            print("x" * 1_000_000)
        return right(x)

    report = check(prints)
    assert report.outcome == "passed" and "the maximum is 4.0" in str(report)
    report = check(prints_much, 5, 5)
    assert 4000 < len(report.printed) < 4100 and report.printed.endswith("bytes)")


def gets_a_third_of_the_processor(x: torch.Tensor) -> Any:
    """As on a machine that others use: it runs for a while, then waits for its turn."""
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        turn = time.thread_time() + 0.02
        while time.thread_time() < turn:
            pass
        time.sleep(0.04)
    return right(x)


def test_a_busy_machine_costs_nobody_an_exercise() -> None:
    began = time.monotonic()
    report = check(gets_a_third_of_the_processor, call=0.5, whole=60)
    calls = len(SOFTMAX.cases) + len(SOFTMAX.rules)
    assert time.monotonic() - began > 0.5 * calls  # by the wall clock each call was over its limit
    assert report.outcome == "passed", report.note


def test_after_all_of_that_a_check_is_quick_and_leaves_nothing() -> None:
    check(right)
    folder = Path(client._server.folder.name)
    began = time.monotonic()
    assert check(right).outcome == "passed"
    assert time.monotonic() - began < 20
    assert not list(folder.iterdir())


def test_a_server_that_died_is_replaced() -> None:
    check(right)
    assert client._server.process is not None
    client._server.process.kill()
    client._server.process.wait()
    assert check(right).outcome == "passed"


@pytest.mark.slow
def test_in_one_process_where_the_system_cannot_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    client.stop()
    monkeypatch.setattr(connection, "arguments", ["--one-process"])
    try:
        report = client.check(SOFTMAX, lambda x: right(x) / 3)
        assert report.outcome == "not yet" and report.diagnosis[0].id == "factor"
        ended = client.check(SOFTMAX, exits_at_once)
        assert ended.outcome == "not yet" and "came to an end" in say(ended.note)
    finally:
        client.stop()


# what is taken along

SCALE = 2.0


def halve(value: torch.Tensor) -> torch.Tensor:
    return value / SCALE


class Row:
    """A class of the learner's."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x = x

    def terms(self) -> torch.Tensor:
        return (halve(self.x) * SCALE - self.x.max()).exp()


def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(x: torch.Tensor, *, offset: float = 0.0) -> Any:
        return fn(x) + offset

    return wrapper


@functools.cache
def one(n: int) -> float:
    return 1.0 if n == 0 else one(n - 1)


@decorated
def by_class(x: torch.Tensor) -> torch.Tensor:
    terms = Row(x).terms()
    return terms / terms.sum() * one(3)


def with_closure(weights: list[float]) -> Callable[..., Any]:
    table = {"unit": torch.ones(1)}

    def inner(x: torch.Tensor, power: int = len(weights)) -> Any:
        y = (x - x.max()).exp()
        return y / y.sum() * table["unit"].to(x.dtype) * weights[0] ** power

    return inner


@pytest.mark.parametrize(
    "fn",
    [
        by_class,
        with_closure([1.0, 1.0]),
        functools.partial(lambda k, x: right(x) * k, 1),
        torch.no_grad()(lambda x: right(x)),
        lambda x: right(x), (lambda x: right(x) + 0),
        eval("lambda x: (x - x.max()).exp() / (x - x.max()).exp().sum()"),
    ],
    ids=["class", "closure", "partial", "no-grad", "lambda", "second-lambda", "no-source"],
)  # fmt: skip
def test_what_a_function_uses_comes_along(fn: Callable[..., Any]) -> None:
    assert "passed" in str(check(fn)).splitlines()[0]


def test_what_cannot_come_along_is_named_only_if_it_is_used() -> None:
    lock = threading.Lock()

    def uses(x: torch.Tensor) -> torch.Tensor:
        with lock:
            return right(x)

    def mentions(x: torch.Tensor) -> torch.Tensor:
        return right(x) if len(x) else lock  # type: ignore[return-value]

    assert "make lock inside the function" in str(check(uses))
    assert check(mentions).outcome == "passed"


def test_a_definition_that_fails_is_no_pass() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        return right(x)

    source = "def bad(fn):\n    raise ValueError('in the decorator')\n"
    names: dict[str, Any] = {}
    exec(source, names)
    kept = Row(torch.ones(1))
    kept.x = names["bad"]  # type: ignore[assignment]

    def fn(x: torch.Tensor) -> Any:
        return kept.x(broken)  # type: ignore[operator]

    report = check(fn)
    assert report.outcome == "not yet" and "in the decorator" in str(report)


def test_the_same_function_defined_again_is_the_new_one() -> None:
    def cell(body: str, number: int) -> Callable[..., Any]:
        import linecache

        text = f"import torch\ndef mine(x):\n    {body}\n"
        name = f"/tmp/ipykernel_1/{number}.py"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        names: dict[str, Any] = {}
        exec(compile(text, name, "exec"), names)
        made: Callable[..., Any] = names["mine"]
        return made

    first = cell("return x", 1)
    second = cell("return torch.exp(x - x.max()) / torch.exp(x - x.max()).sum()", 2)
    assert check(second).outcome == "passed"
    report = check(first)
    assert report.outcome == "not yet" and report.failed
    with contextlib.suppress(KeyError):
        del first, second


def test_bytes_are_counted_in_the_interpreter_though_kernels_are_compiled_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exercise = exercises.get("05.lean")
    answer = exercises.solution("05.lean")
    packed = client.pack(answer)
    monkeypatch.setattr(kernels, "mode", lambda: kernels.Mode("gpu", Text("", "")))
    # what a process that compiles hands down; with it kernels run nowhere on a CPU
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    report = client.check_packed(exercise, packed)
    client.stop()
    assert report.outcome == "passed", str(report)
    assert "interpreter" in say(report.unchecked)
    plain = exercises.get("05.vector_add")
    assert not client._is_interpreted(plain) and client._is_interpreted(exercise)
    assert client._compiled(plain) and not client._compiled(exercise)


def test_the_function_runs_where_kernels_run_and_not_where_it_is_judged() -> None:
    def asks(x: torch.Tensor) -> Any:
        from fa_toolkit.exercises.catalog import devices

        assert not devices.judging, "its tensors would stay on the CPU"
        return right(x)

    report = check(asks)
    assert report.outcome == "passed", str(report)


def test_what_fails_on_a_gpu_is_named_in_the_interpreter() -> None:
    exercise = exercises.get("03.three_pass")
    wrong = check(lambda x: right(x) / 3)
    unnamed = replace(wrong, diagnosis=())
    named = client._interpreted_too(unnamed, wrong.as_dict())
    assert named.diagnosis == wrong.diagnosis and named.findings == wrong.findings
    good = Report(exercise.id, exercise.title, "passed")
    assert "two that write to one place" in str(client._interpreted_too(unnamed, good.as_dict()))
    with using("zh"):
        assert "写到同一处" in str(client._interpreted_too(unnamed, good.as_dict()))
    assert client._interpreted_too(unnamed, None) == unnamed


def test_a_tensor_of_a_gpu_comes_along_to_a_process_that_may_not_open_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packed = client.pack(with_closure([1.0]))
    tensors = [node for node in packed["nodes"] if node["k"] == "tensor"]
    for node in tensors:
        node["device"] = "cuda:0"
    assert tensors
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(devices, "may_use_gpu", False)
    x = torch.randn(4)
    torch.testing.assert_close(rebuild(packed, tmp_path)(x), torch.softmax(x, 0))


def half_a_pair(x: torch.Tensor) -> Any:
    raise ValueError("half \ud800")


def returns_half_a_pair(x: torch.Tensor) -> Any:
    return "half \ud800"


@pytest.mark.parametrize("fn", [half_a_pair, returns_half_a_pair])
def test_text_that_nobody_can_write_down_ends_no_check(fn: Callable[..., Any]) -> None:
    report = check(fn)
    assert report.outcome == "not yet" and report.failed, "the answer was judged"
    str(report).encode()


def sets_the_dtype(x: torch.Tensor) -> Any:
    torch.set_default_dtype(torch.float64)
    return right(x)


def sets_the_device(x: torch.Tensor) -> Any:
    torch.set_default_device("meta")
    return right(x)


@pytest.mark.parametrize("fn", [sets_the_dtype, sets_the_device])
def test_what_a_right_answer_sets_for_all_of_torch_is_not_held_against_it(
    fn: Callable[..., Any],
) -> None:
    assert str(check(fn).outcome) == "passed"
