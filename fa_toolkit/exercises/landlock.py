"""Have Linux itself keep a process from changing files outside a few folders (Landlock, 5.13).

Python's audit hook explains what it refuses, but code in C passes it by; the kernel does not. Where
there is no Landlock nothing happens, and the answer says so.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from typing import Any

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same on every architecture
_VERSION = 1  # flag: answer with the version of the interface
_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
_NO_NEW_PRIVILEGES = 38


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def confine_writes(folders: Iterable[str], written: Iterable[str] = ("/dev",)) -> bool:
    """From now on this process changes files in `folders` only.

    Args:
        written: folders, such as that of devices, whose files are written to but not made or removed.

    Returns:
        whether the system enforces it.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        call = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return False
    version = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    if version < 1:
        return False
    # without _REFER no file moves from one folder to another, even inside an allowed one
    writes = _WRITE_FILE | _REMOVE_AND_MAKE
    writes |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled = ctypes.c_uint64(writes)
    ruleset = call(_CREATE, ctypes.byref(handled), ctypes.c_size_t(8), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        only_write = writes & (_WRITE_FILE | _TRUNCATE)
        for path in written:
            _allow(call, ruleset, path, only_write)
        for path in folders:
            _allow(call, ruleset, path, writes)
        ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(call(_RESTRICT, ruleset, ctypes.c_uint32(0)) == 0)
    finally:
        os.close(ruleset)


def _allow(call: Any, ruleset: int, path: str, rights: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it is not there, so nothing in it can be changed
        return
    try:
        rule = _Rule(rights, folder)
        call(_ADD, ruleset, 1, ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(folder)
