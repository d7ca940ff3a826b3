"""Write setup/lock.txt: one exact version for every package that any install here can bring.

    make lock        (or: .venv/bin/python setup/lock.py)

Asks pip to resolve, installs nothing. Two resolutions are joined: everything `[dev]` needs on this
machine, and what PyTorch's CUDA build adds on Linux. Packages that only other systems install are
named below. The result is a constraints file: a line for a package that a system does not need
does nothing there. Needs the network, pip 24 or newer, and Linux.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LOCK = CHECKOUT / "setup" / "lock.txt"
PINNED = ("torch==2.13.0", "triton==3.7.1", "numpy==2.4.6")
ELSEWHERE = {  # packages that no Linux machine installs, and where they are
    "appnope": "macOS",
    "colorama": "Windows",
    "pywinpty": "Windows",
    "triton-windows==3.7.1.*": "Windows",
}
OPTIONAL = {"py-rattler": "checks environment.yml more closely; the tests run without it"}

HEAD = """\
# Exact versions for every install of this project: `pip install -c setup/lock.txt -e .[course]`.
# Written by `make lock`; do not edit. Serves the CPU and the CUDA build of torch alike.
"""


def resolve(*wanted: str, options: tuple[str, ...] = ()) -> dict[str, str]:
    """Name -> version of all that pip would install for `wanted`, the project itself left out."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        command += ["--quiet", "--report", str(report), *options, *wanted]
        subprocess.run(command, cwd=CHECKOUT, check=True)
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    versions = {canonical(item["metadata"]["name"]): item["metadata"]["version"] for item in found}
    versions.pop("fa-toolkit", None)
    # 2.13.0+cpu and 2.13.0 are the same release: the lock fits both
    return {name: version.partition("+")[0] for name, version in versions.items()}


def canonical(name: str) -> str:
    """The spelling of a package name that every index agrees on."""
    return re.sub(r"[-_.]+", "-", name).lower()


def cuda_build() -> dict[str, str]:
    """What torch from PyPI adds on Linux x86-64; read from its metadata, nothing is downloaded."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("--only-binary=:all:", "--python-version", "3.12", "--target", folder)
        return resolve(PINNED[0], options=options)


def main() -> None:
    """Resolve, join, write."""
    here = resolve(*PINNED, "pip", "setuptools", ".[dev]")
    elsewhere = {**ELSEWHERE, **OPTIONAL}
    others = resolve(*elsewhere, options=("--no-deps", *_any_platform()))
    lock = {**cuda_build(), **others, **here}
    lines = [f"{name}=={version}" for name, version in sorted(lock.items())]
    LOCK.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{LOCK.relative_to(CHECKOUT)}: {len(lines)} packages")


def _any_platform() -> tuple[str, ...]:
    target = tempfile.gettempdir()
    platforms = ("win_amd64", "manylinux_2_28_x86_64", "any")
    chosen = tuple(flag for name in platforms for flag in ("--platform", name))
    return ("--only-binary=:all:", "--target", target, *chosen)


if __name__ == "__main__":
    main()
