"""Checks of files before a commit: `hooks.py large FILE...`, `hooks.py banned FILE...`.

Prints a line for each fault, with the reason, and exits with 1 if there was one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

LIMIT = 500_000  # bytes
BANNED = (
    # removed from Triton in 3.9; built from pieces here so that this file is not a finding
    (re.compile("make_" + "block_ptr|tl\\." + "advance"), None, "Triton removed block pointers"),
    (re.compile("data:" + "image"), ".ipynb", "a picture belongs in notebooks/figures as SVG"),
)


def large(path: Path) -> Iterator[str]:
    """A file that is too large to be read by anybody."""
    size = path.stat().st_size
    if size > LIMIT:
        yield f"{path}: {size / 1000:.0f} kB, over {LIMIT / 1000:.0f} kB"


def banned(path: Path) -> Iterator[str]:
    """A line that must not come back."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for pattern, suffix, reason in BANNED:
        if suffix in (None, path.suffix):
            for number, line in enumerate(text.splitlines(), start=1):
                if pattern.search(line):
                    yield f"{path}:{number}: {reason}"


def main(arguments: list[str]) -> int:
    """Run one check over the files named."""
    name, *files = arguments
    check = {"large": large, "banned": banned}[name]
    faults = [fault for file in files if Path(file).is_file() for fault in check(Path(file))]
    print(*faults, sep="\n", end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
