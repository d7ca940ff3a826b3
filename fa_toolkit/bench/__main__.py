"""`python -m fa_toolkit.bench`: the benchmark where only torch is installed."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
