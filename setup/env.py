"""Build the project's own environment in .venv, then do one thing in it.

    sh setup/run.sh env | lab | book | test | slow | doctor | notebooks | browser | check | lock | help

Standard library only. Does nothing outside the checkout: packages go to .venv, the learner's files
and Jupyter's settings to study/. A stamp in .venv says what it was built from, so that the next
start installs nothing and needs no network. Settings come from the environment:

    TORCH=cpu | cuda      which build of PyTorch on Linux; without it: cuda where a GPU is seen
    INDEX=<url>           a package index (mirror) in place of PyPI
    TORCH_INDEX=<url>     where PyTorch's CPU build is looked for
    ARGS="..."            more arguments for the command that is run in the end
    FA_LANG=en | zh       the language of the messages
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))
sys.dont_write_bytecode = True

import texts  # noqa: E402  (both are found only after the line above)

from fa_toolkit.language import Text, say  # noqa: E402

VENV = CHECKOUT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "fa-stamp.json"
LOCK = CHECKOUT / "setup" / "lock.txt"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"

LEVELS = ("course", "test", "dev")  # the extras, each holding the one before
NEEDS = {
    "env": "course",
    "lab": "course",
    "doctor": "course",
    "book": "course",
    "test": "test",
    "slow": "test",
    "notebooks": "test",
    "browser": "dev",
    "check": "dev",
    "lock": "dev",
}
SLOW = "slow and not gpu and not notebook and not browser"  # the other lanes hold their own
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # tiles are small: faster so


class SetupError(Exception):
    """Something the person can mend; the message says how."""


def tell(text: Text, **fields: object) -> None:
    """One line on what is being done."""
    print(f"▸ {say(text, **fields)}", flush=True)


def stamp_of(level: str, torch: str) -> dict[str, str]:
    """What an environment of this level is built from."""
    sources = b"".join(
        (CHECKOUT / name).read_bytes() for name in ("pyproject.toml", "setup/lock.txt")
    )
    return {
        "sources": hashlib.sha256(sources).hexdigest(),
        "level": level,
        "torch": torch,
        "checkout": str(CHECKOUT),
    }


def read_stamp() -> dict[str, str]:
    """The stamp of the environment that stands; empty if there is none or it cannot be read."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def ensure(level: str) -> None:
    """Bring .venv to at least this level; returns at once if it is there already."""
    old = read_stamp()
    if old.get("level") in LEVELS:
        level = max(level, old["level"], key=LEVELS.index)
    wanted = stamp_of(level, chosen_torch(old.get("torch")))
    if old == wanted and PYTHON.exists():
        return
    with taking_turns():
        if read_stamp() == wanted and runs(PYTHON):
            return
        build(wanted, moved={**old, "checkout": wanted["checkout"]} == wanted)


def build(wanted: dict[str, str], *, moved: bool) -> None:
    """Install everything and stamp it. A build that was cut short is taken up where it stopped."""
    started = time.monotonic()
    if not runs(PYTHON):
        make_venv()
        moved = False
    STAMP.unlink(missing_ok=True)
    if moved:
        tell(texts.MOVED)
        pip("--no-deps", "--no-build-isolation", "--editable", ".")
    else:
        tell(texts.TOOLS)
        pip("pip", "hatchling", "editables")
        wanted = {**wanted, "torch": install_torch(wanted["torch"])}
        tell(texts.PACKAGES, extra=wanted["level"])
        pip("--no-build-isolation", "--editable", f".[{wanted['level']}]")
    STAMP.write_text(json.dumps(wanted, indent=1), encoding="utf-8")
    tell(texts.READY, seconds=time.monotonic() - started)


def make_venv() -> None:
    """A new .venv, in place of one whose Python is gone."""
    if VENV.exists() and not (VENV / "pyvenv.cfg").exists() and any(VENV.iterdir()):
        raise SetupError(say(texts.NOT_OURS))
    base = getattr(sys, "_base_executable", sys.executable)
    tell(texts.BUILDING, python=f"Python {sys.version.split()[0]}")
    subprocess.run([base, "-m", "venv", "--clear", str(VENV)], check=True)


def runs(python: Path) -> bool:
    """Whether this Python is there and starts (its base may have been removed)."""
    try:
        return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def chosen_torch(recorded: str | None) -> str:
    """ "cpu" or "cuda": as asked, else as it stands, else cuda only where a GPU is seen."""
    asked = os.environ.get("TORCH", "").lower()
    if asked not in ("", "cpu", "cuda"):
        raise SetupError(say(texts.BAD_TORCH, got=asked))
    if not sys.platform.startswith("linux"):
        return "cuda"  # one build only: the one of the package index
    signs = ("/dev/nvidia0", "/proc/driver/nvidia/version", "/usr/lib/wsl/lib/nvidia-smi")
    seen = shutil.which("nvidia-smi") or any(Path(sign).exists() for sign in signs)
    return asked or recorded or ("cuda" if seen else "cpu")


def install_torch(build_name: str) -> str:
    """PyTorch first, since only this step needs another index. Returns the build that was taken."""
    version = next(
        line.partition("==")[2]
        for line in LOCK.read_text().splitlines()
        if line.startswith("torch==")
    )
    if build_name == "cuda":
        if installed_torch().endswith("+cpu") and os.environ.get("TORCH"):
            subprocess.run(
                [PYTHON, "-m", "pip", "uninstall", "--yes", "--quiet", "torch"], check=True
            )
        return "cuda"  # comes with the packages
    if installed_torch() == f"{version}+cpu":
        return "cpu"
    tell(texts.TORCH_CPU)
    url = os.environ.get("TORCH_INDEX") or TORCH_INDEX
    index = ("--extra-index-url", url) if reachable(url) else ()
    if not index:
        tell(texts.NO_INDEX, url=url)
    try:
        pip(f"torch=={version}+cpu", *index)
    except SetupError:
        if os.environ.get("TORCH"):
            raise SetupError(say(texts.NO_CPU_BUILD, version=version, url=url)) from None
        tell(texts.FALLING_BACK, version=version)
        return "cuda"
    return "cpu"


def installed_torch() -> str:
    """The version of torch in .venv, or nothing."""
    code = "import importlib.metadata as m; print(m.version('torch'))"
    if not PYTHON.exists():
        return ""
    return subprocess.run(
        [PYTHON, "-c", code], capture_output=True, text=True, check=False
    ).stdout.strip()


def reachable(url: str) -> bool:
    """Whether an index answers at all, asked briefly: pip itself would wait for minutes."""
    try:
        request = urllib.request.Request(url.rstrip("/") + "/torch/", method="HEAD")
        urllib.request.urlopen(request, timeout=10).close()
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False
    return True


def pip(*arguments: str) -> None:
    """`pip install` in .venv under the lock."""
    index = ["--index-url", os.environ["INDEX"]] if os.environ.get("INDEX") else []
    command = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--constraint", str(LOCK.relative_to(CHECKOUT)), *index, *arguments]
    if subprocess.run(command, cwd=CHECKOUT, check=False).returncode:
        raise SetupError(say(texts.PIP_FAILED, free=shutil.disk_usage(CHECKOUT).free / 1e9))


@contextmanager
def taking_turns() -> Iterator[None]:
    """One installation at a time, also with two terminals open."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with Path(__file__).open() as this_file:
        try:
            fcntl.flock(this_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            tell(texts.WAITING)
            fcntl.flock(this_file, fcntl.LOCK_EX)
        yield


def commands(name: str, more: list[str]) -> list[list[str]]:
    """What is run in the finished environment, each a list for `python`."""
    pytest, workers = ["-m", "pytest"], ["-n", "auto", "--maxprocesses", "4"]
    return {
        "env": [],
        "lab": [["-m", "fa_toolkit", "lab", *more]],
        "doctor": [["-m", "fa_toolkit", "doctor", *more]],
        "book": [["-m", "fa_toolkit", "book", *more]],
        "test": [[*pytest, *workers, *more]],
        "slow": [[*pytest, *workers, "-m", SLOW, *more]],
        "notebooks": [[*pytest, *workers, "-m", "notebook", *more]],
        "browser": [[*pytest, "-m", "browser", *more]],
        "check": [
            ["-m", "ruff", "check", "."],
            ["-m", "ruff", "format", "--check", "."],
            ["-m", "mypy"],
        ],
        "lock": [["setup/lock.py"]],
    }[name]


def arguments_of(written: str) -> list[str]:
    """ARGS cut as a shell would."""
    try:
        return shlex.split(written)
    except ValueError:
        raise SetupError(say(texts.BAD_ARGS, got=written)) from None


def main(arguments: list[str]) -> int:
    """Make the environment fit for a command and run it; the exit code is the command's."""
    name, *more = arguments or ["help"]
    if name not in NEEDS:
        print(say(texts.HELP))
        return 0 if name == "help" else 2
    os.chdir(CHECKOUT)
    try:
        more += arguments_of(os.environ.get("ARGS", ""))
        ensure(NEEDS[name])
        if name == "env":
            tell(texts.STANDS)
    except SetupError as error:
        print(f"\n✗ {error}", file=sys.stderr)
        return 1
    environment = {**os.environ, **({} if name in ("lab", "doctor") else ONE_THREAD)}
    wanted = [[str(PYTHON), *command] for command in commands(name, more)]
    if len(wanted) == 1 and os.name == "posix":
        os.execve(PYTHON, wanted[0], environment)  # Ctrl+C then reaches the command alone
    codes = [subprocess.run(command, env=environment, check=False).returncode for command in wanted]
    return int(any(codes))


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader of a pipe has gone: make help | head -3
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
