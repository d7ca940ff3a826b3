"""`python -m fa_toolkit` is the `fa` command."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
