"""Decode calls for every implementation: caches whose unused entries are NaN, and their check."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from oracles import DTYPES, assert_within_budget, truth
from torch import Tensor

from fa_toolkit.problem import TileShape

Decode = Callable[..., tuple[Tensor, Tensor]]
NAN = float("nan")


@dataclass(frozen=True)
class Case:
    """One decode call.

    Args:
        lens: keys of each sequence.
        page: slots of a page, 0 for a contiguous cache.
        len_q: new queries of each sequence; 0 for one query without that axis.
        layout: "plain", or "gaps": every stride of every tensor differs, nonsense between.
    """

    lens: tuple[int, ...]
    heads: tuple[int, int] = (2, 1)
    dims: tuple[int, int] = (16, 16)
    page: int = 0
    len_q: int = 0
    dtype: str = "float32"
    causal: bool = True
    window: tuple[int, int] | None = None
    softcap: float | None = None
    scale: float | None = None
    sink: bool = False
    layout: str = "plain"
    splits: int | None = None
    tile: TileShape | None = None
    spread: float = 1.0

    @property
    def name(self) -> str:
        """A readable test id, such as `L5,0-H4:2-D16-page8-sink`."""
        parts = [f"L{','.join(map(str, self.lens))}", "H{}:{}".format(*self.heads)]
        parts.append("D{}:{}".format(*self.dims))
        base = Case(self.lens, self.heads, self.dims)
        for field in self.__dataclass_fields__:
            value = getattr(self, field)
            if value != getattr(base, field):
                parts.append(f"{field}{value}" if field != "tile" else str(value))
        return "-".join(parts).replace(" ", "")

    @property
    def keywords(self) -> dict[str, Any]:
        """What the oracle takes too, without the sink."""
        names = ("causal", "window", "softcap", "scale")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Inputs:
    """The tensors of a case, and the keys and values of each sequence laid out plainly."""

    q: Tensor
    k_cache: Tensor
    v_cache: Tensor
    seq_lens: Tensor
    block_table: Tensor | None
    sink: Tensor | None
    sequences: list[tuple[Tensor, Tensor]]


def _spaced(x: Tensor) -> Tensor:
    """The same values with NaN between them in every axis but the first."""
    wide = x.new_full((x.shape[0], *(2 * n + 1 for n in x.shape[1:])), NAN)
    view = wide[(slice(None), *(slice(1, None, 2) for _ in x.shape[1:]))]
    view.copy_(x)
    return view


def _every_second(x: Tensor | None, between: float) -> Tensor | None:
    """The same values at stride 2 along the last axis."""
    return None if x is None else torch.stack((x, torch.full_like(x, between)), -1)[..., 0]


def _pages(rows: list[Tensor], page: int, heads: int, width: int, ids: list[list[int]]) -> Tensor:
    count = sum(map(len, ids)) + 1  # page 0 belongs to nobody
    cache = rows[0].new_full((count, page, heads, width), NAN)
    for row, mine in zip(rows, ids, strict=True):
        for j, number in enumerate(mine):
            part = row[:, j * page : (j + 1) * page].transpose(0, 1)
            cache[number, : len(part)] = part
    return cache


def _table(case: Case) -> tuple[list[list[int]], Tensor]:
    """Page ids of each sequence, shuffled, and the table with wild entries past what is needed."""
    needed = [-(-n // case.page) for n in case.lens]
    rng = torch.Generator().manual_seed(3)
    order = (torch.randperm(sum(needed), generator=rng) + 1).tolist()
    ids = [[order.pop() for _ in range(count)] for count in needed]
    highest = sum(needed)
    for mine in ids:  # the very last page of the cache holds the newest keys of a sequence
        if highest in mine:
            mine[mine.index(highest)], mine[-1] = mine[-1], highest
    table = torch.full((len(ids), max(needed, default=0) + 1), 10**9, dtype=torch.int32)
    table[:, 1::2] = -7
    for b, mine in enumerate(ids):
        table[b, : len(mine)] = torch.tensor(mine, dtype=torch.int32)
    return ids, table


def make(case: Case, device: str = "cpu") -> Inputs:
    """Random inputs of the case; whatever lies past a length is NaN."""
    rng = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        x = torch.randn(*shape, generator=rng, dtype=torch.float64)
        return (case.spread * x).to(DTYPES[case.dtype])

    (hq, hkv), (d, dv), batch = case.heads, case.dims, len(case.lens)
    q = normal(batch, case.len_q, hq, d) if case.len_q else normal(batch, hq, d)
    sequences = [(normal(hkv, n, d), normal(hkv, n, dv)) for n in case.lens]
    block_table = None
    if case.page:
        ids, block_table = _table(case)
        caches = [
            _pages([s[i] for s in sequences], case.page, hkv, case.dims[i], ids) for i in (0, 1)
        ]
    else:
        caches = [q.new_full((batch, hkv, max(case.lens) + 5, w), NAN) for w in case.dims]
        for b, pair in enumerate(sequences):
            for cache, x in zip(caches, pair, strict=True):
                cache[b, :, : x.shape[1]] = x
    sink = normal(hq).float() if case.sink else None
    lens: Tensor | None = torch.tensor(case.lens, dtype=torch.int32)
    if case.layout == "gaps":
        q, caches = _spaced(q), [_spaced(x) for x in caches]
        lens, sink = _every_second(lens, 10**6), _every_second(sink, NAN)
        block_table = _every_second(block_table, 10**9)
    move = (q, *caches, lens, block_table, sink)
    return Inputs(*(None if x is None else _moved(x, device) for x in move), sequences)  # type: ignore[arg-type]


def _moved(x: Tensor, device: str) -> Tensor:
    """`x` on the device with the strides and the surroundings it has here."""
    count = x.untyped_storage().nbytes() // x.element_size()
    whole = x.as_strided((count,), (1,), 0).to(device)
    return whole.as_strided(x.shape, x.stride(), x.storage_offset())


def check(decode: Decode, case: Case, device: str = "cpu", **keywords: Any) -> None:
    """Run `decode` on the case and hold o and lse of every sequence to their budgets."""
    x = make(case, device)
    o, lse = decode(
        x.q,
        x.k_cache,
        x.v_cache,
        seq_lens=x.seq_lens,
        block_table=x.block_table,
        sink=x.sink,
        **case.keywords,
        **keywords,
    )
    batch, hq, dv = len(case.lens), case.heads[0], case.dims[1]
    rows = (case.len_q,) if case.len_q else ()
    assert (o.shape, o.dtype) == ((batch, *rows, hq, dv), x.q.dtype)
    wide = torch.float64 if case.dtype == "float64" else torch.float32
    assert (lse.shape, lse.dtype) == ((batch, hq, *rows), wide)
    q = x.q if case.len_q else x.q[:, None]
    o, lse = (o, lse) if case.len_q else (o[:, None], lse[..., None])
    for b, (k, v) in enumerate(x.sequences):
        exact = truth(q[b].transpose(0, 1)[None], k[None], v[None], sink=x.sink, **case.keywords)
        label = f"{case.name} sequence {b}"
        assert_within_budget("o", o[b].transpose(0, 1)[None], exact, label=label)
        assert_within_budget("lse", lse[b][None], exact, label=label)


#: Shapes, lengths and flags that hurt; every implementation runs them all.
CASES = (
    Case((33, 0, 70)),
    Case((70, 33), (8, 2), (24, 40), page=16, dtype="bfloat16"),
    Case((5, 40), (4, 4), (16, 16), page=5, layout="gaps"),
    Case((40, 3), (6, 2), (20, 12), len_q=5, layout="gaps", dtype="float16"),
    Case((40, 2, 0), (4, 1), (16, 24), len_q=4, page=8, sink=True),
    Case((65, 17), (4, 2), (16, 16), window=(20, 3), softcap=2.0, page=16),
    Case((50, 30), (2, 2), (8, 8), len_q=6, causal=False, window=(9, 2), sink=True),
    Case((50, 7), (2, 1), (8, 16), len_q=9, causal=False, window=(-1, 1), scale=-0.4),
    Case((130,), (3, 1), (1, 3), spread=6.0, softcap=30.0, len_q=2, causal=False),
    Case((90, 64), (2, 1), (16, 16), window=(0, 0), page=64, dtype="bfloat16", sink=True),
    Case((70,), (20, 1), (16, 16), len_q=2, page=32, layout="gaps"),
)


def random_case(seed: int, longest: int) -> Case:
    """Any legal combination of sizes and flags; lengths up to `longest`."""
    rng = random.Random(seed)
    heads_kv = rng.choice((1, 2, 3))
    window = rng.choice((None, (rng.randrange(-1, longest), rng.randrange(-1, 4))))
    return Case(
        tuple(rng.choice((0, 1, rng.randrange(longest + 1))) for _ in range(rng.randrange(1, 4))),
        (heads_kv * rng.choice((1, 2, 5, 8)), heads_kv),
        (rng.randrange(1, 257), rng.randrange(1, 257)),
        page=rng.choice((0, 1, 7, 16, 64)),
        len_q=rng.choice((0, 1, 2, 5, 17)),
        dtype=rng.choice(("float16", "bfloat16", "float32")),
        causal=rng.random() < 0.5,
        window=window,
        softcap=rng.choice((None, 0.5, 30.0)),
        scale=rng.choice((None, 0.1, -0.2)),
        sink=rng.random() < 0.5,
        layout=rng.choice(("plain", "gaps")),
        splits=rng.choice((None, 1, 2, 11)),
        spread=rng.choice((1.0, 4.0)),
    )


def with_(case: Case, **changes: Any) -> Case:
    """The case with some fields changed."""
    return replace(case, **changes)
