"""`python -m fa_toolkit.measured`: take a result file into the recorded runs."""

import sys

from .adopt import main

sys.exit(main())
