"""Any call on a GPU: large random calls against float64, and no worse than plain torch.

`FA_EXAMPLES=n` tries about n attention calls (400) and a third as many packed and decode calls;
`FA_RECORD=file.json` writes counts and the worst ratios down. Shards run side by side (`-n 16`).
"""

from __future__ import annotations

import any_decode
import any_packed
import pytest
import torch
from any_call import AnyCall, calls
from any_call_checks import check, check_peer
from any_decode import decode_calls
from any_packed import AnyPacked, packed_calls
from decode_cases import Case
from hypothesis import given, seed
from lanes import examples, lane

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("poisoned_empty"), pytest.mark.timeout(900)]
DTYPES = ("float16", "bfloat16", "float32")
SHARDS = range(16)
#: at most so many scores in a call, so that float64 matrices of them fit beside each other
LARGE = {"longest": 1500, "pairs": 2_000_000}
#: exact float32 products of wide heads compile for minutes; test_every_head_dimension has them
WIDEST = {"float16": 256, "bfloat16": 256, "float32": 128}
DEVICE = "cuda"


def _share(part: int) -> int:
    """Examples of one shard, where all shards of all types try a `part`-th of FA_EXAMPLES."""
    return max(1, examples(400) // (part * len(SHARDS) * len(DTYPES)))


@pytest.fixture(autouse=True)
def _exact_float32() -> None:
    """The peer multiplies float32 as exactly as the kernels do by default."""
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("shard", SHARDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_attention(dtype: str, shard: int) -> None:
    @seed(shard)
    @lane(_share(1), shrink=False)
    @given(call=calls(dtypes=(dtype,), widest=WIDEST[dtype], **LARGE))
    def any_call(call: AnyCall) -> None:
        check(call, "triton", DEVICE)
        check_peer(call, "triton", DEVICE)

    any_call()


@pytest.mark.parametrize("shard", SHARDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_packed(dtype: str, shard: int) -> None:
    @seed(shard)
    @lane(_share(3), shrink=False)
    @given(call=packed_calls(dtypes=(dtype,), longest=600, sequences=6, widest=WIDEST[dtype]))
    def any_call(call: AnyPacked) -> None:
        any_packed.check(call, "triton", DEVICE)

    any_call()


@pytest.mark.parametrize("shard", SHARDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_decode(dtype: str, shard: int) -> None:
    @seed(shard)
    @lane(_share(3), shrink=False)
    @given(case=decode_calls(dtypes=(dtype,), widest=WIDEST[dtype], longest=3000))
    def any_call(case: Case) -> None:
        any_decode.check(case, "triton", DEVICE)

    any_call()
