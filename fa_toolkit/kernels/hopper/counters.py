"""Counters in global memory from which programs draw the number of their next tile.

A kernel leaves its counter at 0, so that no launch need clear it first. Two launches that may run
at the same time must not share one: each stream has its own, and every launch that a graph
captures has one that is never given out again, since nobody knows where the graph will be replayed.
"""

from __future__ import annotations

import threading

import torch

_CHUNK = 1024
_of_stream: dict[tuple[int, int], torch.Tensor] = {}
_for_graphs: dict[int, list[torch.Tensor]] = {}
_chunks: list[torch.Tensor] = []  # graphs do not keep what they write to alive
_lock = threading.Lock()


def counter_for(device: torch.device) -> torch.Tensor:
    """An int32 that is 0 whenever a kernel on the present stream begins, aligned to 16 bytes."""
    index = torch.cuda.current_device() if device.index is None else device.index
    if torch.cuda.is_current_stream_capturing():
        with _lock:
            spare = _for_graphs.get(index)
            if spare:
                return spare.pop()
        # none was laid by before the capture: this one is cleared inside the graph
        return torch.zeros(1, dtype=torch.int32, device=device)
    key = index, torch.cuda.current_stream(device).cuda_stream
    with _lock:
        found = _of_stream.get(key)
        if found is None:
            found = _of_stream[key] = torch.zeros(1, dtype=torch.int32, device=device)
        if not _for_graphs.get(index):
            _chunks.append(torch.zeros(4 * _CHUNK, dtype=torch.int32, device=device))
            _for_graphs[index] = list(_chunks[-1].split(4))
            # cleared on this stream, drawn from on any
            torch.cuda.current_stream(device).synchronize()
    return found
