"""Why there is no number: a few reasons with their names in both languages, and their limits."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator

import torch

from ..language import Text, say

#: the beginning of `Speed.failed` -> what a person reads
REASONS = {
    "out of memory": Text("out of memory", "显存不足"),
    "does not fit": Text("does not fit", "放不下"),
    "wrong output": Text("wrong output", "结果不对"),
    "unsupported": Text("not supported", "不支持"),
    "error": Text("error", "出错"),
}
_LONGEST = 240


class Unsupported(Exception):  # noqa: N818  (a provider says no; nothing went wrong)
    """A provider does not do this case."""


class WrongOutput(Exception):  # noqa: N818
    """A provider's answer differs from the reference: it is not timed."""


class DeviceLost(RuntimeError):  # noqa: N818
    """The device does not answer any more; what was measured before is kept."""


def said(failed: str) -> str:
    """A reason in the language in force, its detail as it came."""
    for start, text in REASONS.items():
        if failed.startswith(start):
            return say(text) + failed[len(start) :]
    return failed


def is_fatal(error: BaseException) -> bool:
    """Whether the CUDA context is lost, after which nothing can be measured in this process."""
    text = str(error).lower()
    return any(
        sign in text
        for sign in ("illegal memory access", "unspecified launch failure", "device-side assert")
    )


@contextlib.contextmanager
def explained(note: Callable[[str], None]) -> Iterator[None]:
    """What fails inside is told to `note` in one line; a lost device is raised all the same."""
    try:
        yield
    except Unsupported as no:
        note(f"unsupported: {no}")
    except WrongOutput as wrong:
        note(f"wrong output: {wrong}")
    except torch.OutOfMemoryError:
        note("out of memory")
        free_memory()
    except Exception as error:
        if any(sign in str(error).lower() for sign in ("out of memory", "can't allocate memory")):
            note("out of memory")
            free_memory()
            return
        text = " ".join(f"{type(error).__name__}: {error}".split())
        note(f"error: {text[:_LONGEST]}")
        if is_fatal(error):
            raise DeviceLost(text[:_LONGEST]) from error


def free_memory() -> None:
    """Give back to the GPU what no tensor holds."""
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()
