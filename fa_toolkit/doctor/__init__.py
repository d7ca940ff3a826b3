"""Looks at this machine and says whether the course can be worked here, and what to do if not.

    report()          a `Report`: findings, `.ok`, `.text()`, `.table()`, and a table in a notebook
    fa doctor         the same in the terminal; the exit code is 0 if the course can be worked

Installs and changes nothing. Whatever could crash or be slow runs in a child process (`probe`).
"""

from __future__ import annotations

from .checks import examine
from .findings import Finding, Report

__all__ = ["Finding", "Report", "report"]


def report(*, timeout: float = 120.0) -> Report:
    """Run every check. Takes about as long as importing torch and running one small kernel.

    Args:
        timeout: seconds the child process may take before it counts as hung.

    Example:
        >>> report().ok  # doctest: +SKIP
        True
    """
    return examine(timeout)
