"""Bugs planted in the decode kernel, the merge and their launchers, each of which must be caught.

A mutant is one real source file with one text replaced, loaded in place of it for one call.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from decode_cases import Case, check, make
from oracles import assert_within_budget, make_qkv, truth
from planting import noticed
from torch import Tensor

import fa_toolkit.kernels as kernels
from fa_toolkit.kernels.call import Call, output_like
from fa_toolkit.kernels.configuration import LaunchPlan
from fa_toolkit.kernels.decode_configuration import DecodePlan
from fa_toolkit.problem import AttentionProblem, TileShape

pytestmark = [
    pytest.mark.usefixtures("poisoned_empty"),
    pytest.mark.skipif(kernels.mode() != "interpreter", reason="mutants run in the interpreter"),
]
HOME = Path(kernels.__file__).parent
TILE = TileShape(16, 16)
FILES = ("flash_decode", "decode_call", "decode_tiles", "merge_parts")

#: the smallest set that kills every mutant, those that kill most first; with the splits of each
KILLERS = (
    (Case((90, 3), (4, 2), (8, 12), page=6, len_q=3, layout="gaps", window=(40, 0)), 2),
    (Case((40, 0), (2, 1), (12, 8), softcap=2.0, sink=True, layout="gaps"), 3),
    (Case((20,), (12, 1), (8, 8), len_q=2, causal=False, window=(-1, 0), dtype="bfloat16"), 2),
    (Case((150, 3), (4, 1), (8, 8), spread=2.0), 10),
    (Case((32,), (3, 1), (8, 8), len_q=6, window=(4, -1), scale=0.0), 1),
    # queries see to the right of themselves, past the end of a sequence that does not fill its tile
    (Case((37, 21), (2, 1), (8, 8), len_q=5, causal=False, window=(-1, 2)), 2),
)

SPLIT: dict[str, tuple[str, str]] = {
    "length not clamped above": (", capacity)\n", ", 1 << 30)\n"),
    "length of the first sequence": ("lens_ptr + b * stride_lens", "lens_ptr"),
    "query counted from the start": ("partners_seen(queries, len_k - len_q,", "partners_seen(queries, 0,"),
    "diagonal one too far": ("partners_seen(queries, len_k - len_q,", "partners_seen(queries, len_k - len_q + 1,"),
    "heads before queries": ("queries = offs_m // group", "queries = offs_m % len_q"),
    "head of the packed row": ("heads = h_kv * group + offs_m % group", "heads = h_kv * group + offs_m // len_q"),
    "key head not multiplied": ("heads = h_kv * group +", "heads = h_kv +"),
    "rows of one query only": ("rows = group * len_q", "rows = group"),
    "split after the row tile": (
        "pid_m = tl.program_id(0) // num_splits % row_tiles",
        "pid_m = tl.program_id(0) % row_tiles",
    ),
    "heads and batches swapped": (
        "b = (pid_bh // heads_kv).to(tl.int64)\n    h_kv = (pid_bh % heads_kv).to(tl.int64)",
        "b = (pid_bh % heads_kv).to(tl.int64)\n    h_kv = (pid_bh // heads_kv).to(tl.int64)",
    ),
    "splits of tiles rounded down": (
        "tl.cdiv(tl.cdiv(tl.maximum(high - low, 0), BLOCK_N), num_splits)",
        "(tl.cdiv(tl.maximum(high - low, 0), BLOCK_N) // num_splits)",
    ),
    "splits from key 0": ("start = low + split * span", "start = split * span"),
    "splits overlap": ("start = low + split * span", "start = low + split * (span - 1)"),
    "splits run on": ("stop = tl.minimum(start + span, high)", "stop = high"),
    "last split past the keys": ("stop = tl.minimum(start + span, high)", "stop = start + span"),
    "keys guarded by the capacity": ("mask_n = cols < stop", "mask_n = cols < capacity"),
    "one key too many": ("mask_n = cols < stop", "mask_n = cols <= stop"),
    "keys past the split not masked": ("left, right, stop, HAS_LEFT", "left, right, capacity, HAS_LEFT"),
    "window by the wrong position": ("partners_seen(queries, len_k", "partners_seen(queries + 1, len_k"),
    "window sides exchanged": ("len_k - len_q, left, right, stop", "len_k - len_q, right, left, stop"),
    "softcap after log2 e": (
        "            s = cap * tanh(s / cap)\n        s *= LOG2_E\n",
        "            s = cap * tanh(s * LOG2_E / cap)\n        else:\n            s *= LOG2_E\n",
    ),
    "softcap not undone": ("s = cap * tanh(s / cap)", "s = tanh(s / cap)"),
    "softcap left out": ("s = cap * tanh(s / cap)", "s = s"),
    "no log2 e": ("s *= LOG2_E", "s *= 1.0"),
    "scale left out": ("input_precision=DOT_PRECISION) * scale", "input_precision=DOT_PRECISION)"),
    "sink in every split": ("mask=mask_m & (split == 0)", "mask=mask_m"),
    "sink without weight": ('l_i = tl.where(m_i == -float("inf"), 0.0, 1.0)', "l_i = m_i * 0.0"),
    "sink in natural units": ("m_i = sink.to(tl.float32) * LOG2_E", "m_i = sink.to(tl.float32)"),
    "sink of the key head": ("sink_ptr + heads * stride_sh", "sink_ptr + h_kv * stride_sh + offs_m * 0"),
    "table of the first sequence": ("table_ptr += b * stride_tb", "table_ptr += 0"),
    "next page not looked up": ("locate(cols + BLOCK_N, stop", "locate(cols, stop"),
    "first page of the sequence": ("locate(start + offs_n, stop", "locate(offs_n, stop"),
    "key head of the first": ("k_ptr += h_kv * stride_kh", "k_ptr += 0"),
    "value head by the stride of k": ("v_ptr += h_kv * stride_vh", "v_ptr += h_kv * stride_kh"),
    "values by the strides of keys": (
        "block * stride_vb + slot * stride_vn, offs_dv",
        "block * stride_kb + slot * stride_kn, offs_dv",
    ),
    "values with unit stride": ("offs_dv, 1, stride_vd)", "offs_dv, 1, 1)"),
    "keys with unit stride": ("stride_kn, stride_kd, 1)", "stride_kn, 1, 1)"),
    "query rows by the stride of heads": (
        "queries.to(tl.int64) * stride_qn + heads",
        "queries.to(tl.int64) * stride_qh + heads",
    ),
    "head dimension not masked": ("offs_d < HEAD_DIM,", "offs_d < BLOCK_D,"),
    "width of v not masked": ("offs_dv < HEAD_DIM_V\n", "offs_dv < BLOCK_DV\n"),
    "rows not masked": ("mask_m, mask_d, mask_dv = offs_m < rows", "mask_m, mask_d, mask_dv = offs_m >= 0"),
    "dead rows divided by zero": ("tl.where(l_i == 0.0, 1.0, l_i)", "l_i"),
    "o not divided": ("o = acc / l_safe[:, None]", "o = acc"),
    "lse in base 2": ("(m_i + tl.log2(l_safe)) * LN_2", "(m_i + tl.log2(l_safe))"),
    "parts stored over each other": ("o_ptr += split.to(tl.int64) * stride_os + b", "o_ptr += b"),
    "lse of parts stored over each other": ("lse_ptr += split.to(tl.int64) * stride_ls + b", "lse_ptr += b"),
    "o of the first sequence": ("stride_os + b * stride_ob", "stride_os"),
    "lse by the strides of o": (
        "lse_rows = queries.to(tl.int64) * stride_ln + heads * stride_lh",
        "lse_rows = queries.to(tl.int64) * stride_on + heads * stride_oh",
    ),
    "queries and heads exchanged": (
        "queries.to(tl.int64) * stride_on + heads * stride_oh",
        "queries.to(tl.int64) * stride_oh + heads * stride_on",
    ),
    "lengths not looked at": ("HAS_LENS=seq_lens is not None", "HAS_LENS=False"),
    "attention lays o out by itself": ("output_like(q, call.problem", "output_like(q.contiguous(), call.problem"),
    "attention forgets the sink": ("scale=call.scale, sink=call.sink", "scale=call.scale"),
    "attention forgets the cap": ("softcap=call.softcap, scale=call.scale", "scale=call.scale"),
    "attention by the default scale": ("softcap=call.softcap, scale=call.scale", "softcap=call.softcap"),
    "attention takes heads for queries": ("q.transpose(1, 2), k, v, o.transpose", "q, k, v, o.transpose"),
    "parts rounded to the type of q": (
        "*x.shape, dtype=torch.float32",
        "*x.shape, dtype=q.dtype",
    ),
    "default scale of Dv": ("math.sqrt(problem.head_dim)", "math.sqrt(problem.head_dim_v)"),
    "pages not put in order": ("x.transpose(1, 2) if paged else x for", "x for"),
    "row tiles left out of the grid": ("problem.heads_kv * row_tiles * plan.splits", "problem.heads_kv * plan.splits"),
}  # fmt: skip
TILES: dict[str, tuple[str, str]] = {
    "page id not clamped": ("tl.minimum(tl.maximum(block, 0), pages - 1)", "block"),
    "last page out of reach": ("pages - 1)", "pages - 2)"),
    "slot not wrapped": ("slot = cols % PAGE_SIZE", "slot = cols"),
    "table entry per key": ("(cols // PAGE_SIZE)", "cols"),
    "range from the last query": ("first, last = start_m // group,", "first, last = (rows - 1) // group,"),
    "range to the first query": ("(tl.minimum(start_m + BLOCK_M, rows) - 1) // group", "start_m // group"),
    "range short on the right": ("last + diagonal + right + 1", "last + diagonal + right"),
    "range short on the left": ("first + diagonal - left, 0)", "first + diagonal - left + 1, 0)"),
    "range below key 0": ("tl.maximum(first + diagonal - left, 0)", "first + diagonal - left"),
}  # fmt: skip
CALL: dict[str, tuple[str, str]] = {
    "a right bound dropped": ("right < problem.len_q - 1", "right < 0"),
    "a right bound of one key less": ("right < problem.len_q - 1", "right < problem.len_q - 2"),
    "a left bound cut at the queries": ("min(left or 0, problem.len_k)", "min(left or 0, problem.len_q)"),
    "capacity of one page": ("columns * page if pages", "page if pages"),
}  # fmt: skip
MERGE: dict[str, tuple[str, str]] = {
    "maximum of the chunk only": ("tl.maximum(m_i, tl.max(lse, axis=0))", "tl.max(lse, axis=0)"),
    "parts that saw nothing": ('tl.where(m_new == -float("inf"), 0.0, m_new)', "m_new"),
    "no rescale of l": ("l_i = l_i * alpha +", "l_i = l_i +"),
    "no rescale of acc": ("acc = acc * alpha +", "acc = acc +"),
    "parts weigh the same": ("tl.sum(p[:, None] * o, axis=0)", "tl.sum(o, axis=0)"),
    "lse of parts in natural units": ('other=-float("inf")) * LOG2_E', 'other=-float("inf"))'),
    "parts past the last": ("mask_p = start_p + offs_p < parts", "mask_p = start_p + offs_p < parts + 1"),
    "last part forgotten": ("mask_p = start_p + offs_p < parts", "mask_p = start_p + offs_p < parts - 1"),
    "first chunk only": ("range(0, parts, BLOCK_PARTS)", "range(0, BLOCK_PARTS, BLOCK_PARTS)"),
    "one chunk again and again": ("part_rows = (start_p + offs_p)", "part_rows = offs_p"),
    "merge not divided": ("o = acc / l_safe", "o = acc"),
    "merged lse in base 2": ("(m_i + tl.log2(l_safe)) * LN_2", "(m_i + tl.log2(l_safe))"),
    "merged rows without keys": ("tl.where(l_i == 0.0, 1.0, l_i)", "l_i"),
    "merged rows counted head by head": (
        "row // heads // len_q, row // heads % len_q, row % heads",
        "row // heads // len_q, row % len_q, row // len_q % heads",
    ),
    "merged rows of the first sequence": ("o_ptr + b * stride_ob + query", "o_ptr + query"),
    "merged lse of the first sequence": ("lse_ptr += b * stride_lb + query", "lse_ptr += query"),
    "merged o over queries exchanged": ("query * stride_on + head * stride_oh", "query * stride_oh + head * stride_on"),
    "merged lse over queries exchanged": (
        "query * stride_ln + head * stride_lh",
        "query * stride_lh + head * stride_ln",
    ),
    "width not masked in the merge": ("offs_dv < HEAD_DIM_V", "offs_dv < BLOCK_DV"),
}  # fmt: skip
MUTANTS = {
    f"{file}: {name}": (file, *change)
    for file, changes in (
        ("flash_decode", SPLIT),
        ("decode_call", CALL),
        ("decode_tiles", TILES),
        ("merge_parts", MERGE),
    )
    for name, change in changes.items()
}
Decode = Callable[..., tuple[Tensor, Tensor]]


class Planted(NamedTuple):
    """The launchers of the mutated files."""

    decode: Decode
    attend: Decode


Mutate = Callable[[str, str, str], Planted]


def _load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"fa_toolkit.kernels.{name}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def mutate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mutate:
    """Loads the launcher with one text of one file replaced."""
    for name in FILES:
        importlib.import_module(f"fa_toolkit.kernels.{name}")
        full = f"fa_toolkit.kernels.{name}"
        monkeypatch.setitem(sys.modules, full, sys.modules[full])

    # a merge of ten parts takes three steps
    monkeypatch.setattr("fa_toolkit.problem.MERGED_PARTS", 4)

    def load(file: str, old: str, new: str) -> Planted:
        source = (HOME / f"{file}.py").read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times"
        path = tmp_path / f"{file}.py"
        path.write_text(source.replace(old, new), encoding="utf-8")
        module = _load(path, file)
        if file != "flash_decode":
            module = _load(HOME / "flash_decode.py", "flash_decode")
        launcher = module.flash_decode

        def decode(q: Tensor, *rest: Tensor, **keywords: Any) -> tuple[Tensor, Tensor]:
            o, lse = launcher(q if q.ndim == 4 else q[:, None], *rest, tile=TILE, **keywords)
            return (o, lse) if q.ndim == 4 else (o[:, 0], lse[..., 0])

        return Planted(decode, module.attend_split)

    return load


def _wrong_values(decode: Decode) -> None:
    """Lengths and page ids outside the cache; the guarded interpreter raises at any wild access."""
    x = make(Case((9, 14), (1, 1), (8, 8), page=8))
    for cache in (x.k_cache, x.v_cache):
        cache.nan_to_num_(0.0)
    assert x.block_table is not None
    lens = torch.tensor([-40, 10**6], dtype=torch.int32)
    o, lse = decode(x.q, x.k_cache, x.v_cache, seq_lens=lens, block_table=x.block_table)
    assert bool((o[0] == 0).all() and (lse[0] == -float("inf")).all())
    x.block_table[0] = -1
    x.block_table[1] = 2**31 - 1
    decode(x.q, x.k_cache, x.v_cache, seq_lens=x.seq_lens, block_table=x.block_table)


def _attends(attend: Decode) -> None:
    """Attention by the path of decoding: outputs laid out as q, every flag, one split and two."""
    sizes = (2, 4, 2, 3, 40, 8, 12, "float32", False, (25, 1))
    problem = AttentionProblem(*sizes)  # type: ignore[arg-type]
    options: dict[str, Any] = {"window": problem.window, "softcap": 2.0, "scale": 0.5}
    options["sink"] = torch.linspace(-1, 2, 4)
    launch = LaunchPlan(TILE, 4, 1, 16, 16)
    for layout, splits in (("contiguous", 2), ("bnhd", 1)):
        q, k, v = make_qkv(problem, layout=layout)
        call = Call.of(q, k, v, **options)
        o, lse = attend(call, q, k, v, DecodePlan(launch, splits))
        assert o.stride() == output_like(q, 12).stride() and lse.is_contiguous()
        exact = truth(q, k, v, **options)
        assert_within_budget("o", o, exact)
        assert_within_budget("lse", lse, exact)


def checks(planted: Planted) -> list[Callable[[], object]]:
    """Everything that may notice a bug."""
    every: list[Callable[[], object]] = [
        partial(check, planted.decode, case, num_splits=splits) for case, splits in KILLERS
    ]
    return [*every, partial(_wrong_values, planted.decode), partial(_attends, planted.attend)]


@pytest.mark.parametrize("file", FILES)
def test_the_real_kernels_pass(file: str, mutate: Mutate) -> None:
    first_line = (HOME / f"{file}.py").read_text(encoding="utf-8").splitlines()[0]
    for run in checks(mutate(file, first_line, first_line)):
        run()


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(name: str, mutate: Mutate) -> None:
    assert noticed(checks(mutate(*MUTANTS[name]))), f"no case noticed: {name}"
