"""Messages between processes: a JSON head and raw bytes, both of limited length. Never pickle."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: Bytes of a head, and of everything behind it, that a reader accepts.
HEAD, BODY = 96 << 20, 320 << 20


class WireError(Exception):
    """The other side has gone, was too late, or spoke nonsense."""


@dataclass(frozen=True)
class Message:
    """One message: a JSON object, and the bytes that it refers to by number."""

    head: dict[str, Any]
    blobs: list[bytes] = field(default_factory=list)


def packed(head: dict[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
    """A message as bytes; half a surrogate pair, which no reader could write down, becomes `?`."""
    told = {"head": head, "blobs": [len(b) for b in blobs]}
    text = json.dumps(told, ensure_ascii=False).encode(errors="replace")
    return b"".join([struct.pack("<Q", len(text)), text, *blobs])


def send(fd: int, head: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
    """Write one message to a file descriptor.

    Raises:
        WireError: if nobody reads.
    """
    view = memoryview(packed(head, blobs))
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError as error:
        raise WireError("closed") from error


def receive(fd: int, deadline: float | None = None) -> Message:
    """Read one message.

    Args:
        deadline: of `time.monotonic`; POSIX only.

    Raises:
        WireError: at the end of the stream, at the deadline, or if it is no message.
    """
    (length,) = struct.unpack("<Q", _exactly(fd, 8, deadline))
    if length > HEAD:
        raise WireError("too long")
    try:
        text = json.loads(_exactly(fd, length, deadline))
        head, sizes = text["head"], [int(size) for size in text["blobs"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WireError("no message") from error
    if not isinstance(head, dict) or min(sizes, default=0) < 0 or sum(sizes) > BODY:
        raise WireError("no message")
    return Message(head, [_exactly(fd, size, deadline) for size in sizes])


def _exactly(fd: int, count: int, deadline: float | None) -> bytes:
    parts, missing = [], count
    while missing:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise WireError("late")
        try:
            part = os.read(fd, min(missing, 1 << 20))
        except OSError as error:
            raise WireError("closed") from error
        if not part:
            raise WireError("closed")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
