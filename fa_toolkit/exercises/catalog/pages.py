"""Exercises of chapter 09, second part: a sequence found again in the pages of a cache."""

from __future__ import annotations

from functools import partial

import torch

from ...language import Text
from ..spec import READY_MADE, Case, Exercise, Output, Rule, Variant, randn


def gather_pages(pages: torch.Tensor, table: torch.Tensor, length: int) -> torch.Tensor:
    """The dull reference."""
    page = pages.shape[1]
    rows = [pages[int(table[t // page]), t % page] for t in range(length)]  # [Hkv, D] each
    if not rows:
        return pages.new_zeros(pages.shape[2], 0, pages.shape[3])
    return torch.stack(rows, dim=1)  # [Hkv, length, D]


def _gathered(pages: torch.Tensor, blocks: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    blocks, slots = blocks.long() % len(pages), slots.long() % pages.shape[1]
    return pages[blocks, slots].transpose(0, 1)


def _lookup(pages: torch.Tensor, table: torch.Tensor, length: int, bug: str) -> torch.Tensor:
    size, t = pages.shape[1], torch.arange(length)
    blocks, slots = table[t // size], t % size
    if bug == "no-table":
        blocks = t // size
    elif bug == "no-slot":
        slots = torch.zeros_like(t)
    elif bug == "modulo-page":
        blocks = table[t % size % len(table)]
    elif bug == "one-short":
        blocks, slots = blocks[:-1], slots[:-1]
    elif bug == "whole-pages":
        t = torch.arange(-(-length // size) * size)
        blocks, slots = table[t // size], t % size
    if not bug.startswith("partial-page-lost"):
        return _gathered(pages, blocks, slots)
    full = length // size * size
    found = _gathered(pages, blocks[:full], slots[:full])
    rest = pages.new_full((pages.shape[2], length - full, pages.shape[3]), _REST.get(bug, 0.0))
    return torch.cat([found, rest], dim=1) if bug in _REST else found


#: What stands where the tokens of the last page should.
_REST = {"partial-page-lost": 0.0, "partial-page-lost/nan": float("nan")}


def _reshaped(pages: torch.Tensor, table: torch.Tensor, length: int) -> torch.Tensor:
    right = _lookup(pages, table, length, "")  # [H, L, D]
    return right.transpose(0, 1).reshape(right.shape)


def _pages_variant(bug: str, en: str, zh: str) -> Variant:
    return Variant(bug, Text(en, zh), partial(_lookup, bug=bug))


def _pages(length: int, size: int, *, heads: int = 2, d: int = 4) -> tuple[object, ...]:
    """Ten pages of which the sequence has a few, out of order; the rest of the table is noise."""
    used = -(-length // size)
    pages = randn(10, size, heads, d, seed=40)
    table = torch.tensor([*(7, 2, 9, 0, 5)[:used], -1, 10**6], dtype=torch.int32)
    for block in set(range(10)) - set(table[:used].tolist()):
        pages[block] = float("nan")  # belongs to others
    if length % size:
        pages[int(table[used - 1]), length % size :] = float("nan")  # not written yet
    return pages, table, length


PAGES = Exercise(
    id="09.pages",
    title=Text("Find a sequence in its pages", "按页表找回一条序列"),
    spec=Text(
        "pages is [blocks, page, Hkv, D], the cache of all sequences; table lists the pages of "
        "one sequence in order. Token t lies in the page table[t // page], slot t % page. Return "
        "the first `length` tokens as [Hkv, length, D]. Entries of the table past the pages that "
        "are needed may hold anything, and so may slots past the length.",
        "pages 为 [blocks, page, Hkv, D]，是所有序列共用的缓存；table 依次列出一条序列的页。第 t 个 token 在第 "
        "table[t // page] 页的第 t % page 格。返回前 `length` 个 token，形状 [Hkv, length, D]。"
        "表里用不到的项可以是任何值，超出长度的格子也是。",
    ),
    formula="K[h, t] = pages[table[⌊t / page⌋], t mod page, h]",
    entry="gather_pages",
    call="gather_pages(pages, table, length) -> keys [Hkv, length, D]",
    reference=gather_pages,
    outputs=(Output("keys"),),
    cases=[
        Case("value", Text("8 tokens, pages of 4", "8 个 token，每页 4"), lambda: _pages(8, 4)),
        Case("value", Text("6 tokens, pages of 2", "6 个 token，每页 2"), lambda: _pages(6, 2)),
        Case("value", Text("5 tokens, pages of 1", "5 个 token，每页 1"), lambda: _pages(5, 1)),
        Case("ragged", Text("11 tokens, pages of 4", "11 个 token，每页 4"), lambda: _pages(11, 4)),
        Case("ragged", Text("3 tokens, pages of 16", "3 个 token，每页 16"), lambda: _pages(3, 16)),
        Case("heads", Text("5 key heads", "5 个 key 头"), lambda: _pages(7, 4, heads=5)),
        Case("dead-rows", Text("length 0", "长度为 0"), lambda: _pages(0, 4)),
    ],
    rules=(Rule("own-work", lambda: _pages(7, 4), forbidden=READY_MADE),),
    variants=(
        _pages_variant(
            "no-table",
            "You read the pages in the order of memory; the table says which page comes next.",
            "你按内存里的次序读页了，下一页是哪一页要看 table。",
        ),
        _pages_variant(
            "no-slot",
            "Every token reads slot 0 of its page; the slot is t % page.",
            "每个 token 都读了所在页的第 0 格，格号是 t % page。",
        ),
        _pages_variant(
            "modulo-page",
            "You look up t % page in the table; the number of the page is t // page.",
            "你用 t % page 查表了，页的序号是 t // page。",
        ),
        _pages_variant(
            "one-short",
            "The last token, your newest key, is left out.",
            "漏了最后一个 token，也就是最新的 key。",
        ),
        Variant(
            "partial-page-lost",
            Text(
                "The tokens of the last, partly filled page are left out: the number of pages is "
                "length / page rounded up, not down.",
                "最后那个没有填满的页漏掉了：页数是 length / page 向上取整，不是向下。",
            ),
            partial(_lookup, bug="partial-page-lost"),
            tuple(partial(_lookup, bug=f"partial-page-lost/{x}") for x in ("short", "nan")),
        ),
        Variant(
            "reshaped",
            Text(
                "The numbers are right and stand in the wrong places: a reshape keeps the order of "
                "memory. Swap the axes of tokens and heads.",
                "数都对，位置错了：reshape 不改变内存里的次序。要对调 token 和头这两个轴。",
            ),
            _reshaped,
        ),
        _pages_variant(
            "whole-pages",
            "You return whole pages; cut at length, the rest was never written.",
            "你返回了整页。要按 length 截断，后面的格子还没写过。",
        ),
        Variant(
            "heads-last",
            Text(
                "The order of axes is the cache's; the heads come first in the result.",
                "轴的次序还是缓存里的；结果中头在最前。",
            ),
            lambda *args: gather_pages(*args).transpose(0, 1),
        ),
    ),
    hints=(
        Text(
            "Write down page and slot of tokens 0 to 5 for pages of 4.",
            "每页 4 个，写出第 0 到 5 个 token 的页和格。",
        ),
        Text(
            "Look up only the entries that the length needs: the others may name no page at all.",
            "只查长度用得到的表项：其余的可能根本不是页号。",
        ),
        Text(
            "t = torch.arange(length); pages[table[t // page], t % page] is [length, Hkv, D]",
            "t = torch.arange(length)；pages[table[t // page], t % page] 是 [length, Hkv, D]",
        ),
    ),
)

EXERCISES = (PAGES,)
