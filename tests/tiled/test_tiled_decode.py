"""Decoding in splits of plain torch against float64."""

from __future__ import annotations

import pytest
from decode_cases import CASES, Case, check, random_case, with_

from fa_toolkit.tiled import decode, flash_decode


@pytest.mark.parametrize("splits", [None, 1, 3])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decode_within_budget(
    case: Case, splits: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "BLOCK_N", 16)
    monkeypatch.setattr(decode, "LONGEST_SPLIT", 32)
    check(flash_decode, case, num_splits=splits)
    check(flash_decode, with_(case, dtype="float64"), num_splits=splits)


def test_long_cache_and_more_splits_than_tiles() -> None:
    case = Case((300, 5, 0), (4, 2), sink=True)
    check(flash_decode, case)
    check(flash_decode, case, num_splits=40)


@pytest.mark.parametrize("seed", range(40))
def test_random_calls(seed: int) -> None:
    case = random_case(seed, 150)
    check(flash_decode, case, num_splits=case.splits)
