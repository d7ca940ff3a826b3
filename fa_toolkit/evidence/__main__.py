"""`python -m fa_toolkit.evidence`: the table of verdicts; `--write` puts it into the READMEs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..language import Text, say
from .table import markdown, write

_WRITE = Text("put the table into README.md and README.zh.md", "把表写进 README.md 与 README.zh.md")


def main(arguments: list[str] | None = None) -> int:
    """Print the table in one language, or write both."""
    parser = argparse.ArgumentParser(prog="python -m fa_toolkit.evidence", description=__doc__)
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    parser.add_argument("--write", action="store_true", help=say(_WRITE))
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parents[2])
    chosen = parser.parse_args(arguments)
    if not chosen.write:
        print(markdown(chosen.lang))
        return 0
    for path in write(chosen.folder):
        print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
