"""Tables say what the rows say: who is best, what failed, in both languages, in straight columns."""

from __future__ import annotations

import io

import pytest

from fa_toolkit import language, measured
from fa_toolkit.bench.render import plain, show, width
from fa_toolkit.bench.tables import Table, footer, speed_tables, tables
from fa_toolkit.measured import Bill, Host, Memory, Method, Provenance, Run, Speed
from fa_toolkit.measured.adopt import speed_of
from fa_toolkit.problem import AttentionProblem


def problem(length: int, causal: bool = True) -> AttentionProblem:
    return AttentionProblem(1, 16, 16, length, length, 128, dtype="bfloat16", causal=causal)


def a_run() -> Run:
    p = problem(4096)
    memory = AttentionProblem(1, 8, 8, 1024, 1024, 64, dtype="bfloat16", causal=True)
    where = Provenance("GPU", "1.0", {"torch": "2"}, "2026-11-30", "fa bench", "fa bench")
    return Run(
        "x",
        language.Text("a", "甲"),
        where,
        Method(0.15, 25.0, 2, True, 1.0),
        speeds=(
            speed_of("ours", "forward", p, 1.0),
            speed_of("sdpa_flash", "forward", p, 2.0),
            Speed("eager", "forward", p, failed="does not fit: 9 GiB > 8 GiB"),
            speed_of("ours", "backward", p, 3.0, variant="shipped"),
            speed_of("ours", "backward", p, 6.0, variant="natural exponential"),
            Speed("ours", "backward", p, variant="4 stages", failed="error: OutOfResources"),
        ),
        memories=(
            Memory("ours", "forward", memory, 1.5),
            Memory("eager", "forward", memory, None, "out of memory"),
        ),
        hosts=(Host("ours", p, 42.0, 9.0, 131.0), Host("sdpa_flash", p, 20.0)),
        bills=(Bill("standard_forward", p, (64, 64), (100, 100), (100, 100)),
               Bill("flash_forward", p, (64, 64), (40, 10), (40, 10))),
        absent={"flex": "left out"},
    )  # fmt: skip


def test_ours_stands_beside_the_best_other_and_failures_under_the_table() -> None:
    with language.using("en"):
        [table] = speed_tables([row for row in a_run().speeds if not row.variant])
    ours, flash = (f"{2 * 16 * 128 * 4096**2 / ms / 1e9:,.0f}" for ms in (1.0, 2.0))
    assert table.columns == ["N", "ours", "SDPA flash (FA2)", "eager", "ours / best other"]
    assert table.rows == [["4,096", ours, flash, "—", "2.00"]]
    assert table.notes == ["eager, N = 4096: does not fit: 9 GiB > 8 GiB"]


def test_every_kind_of_row_has_its_table() -> None:
    with language.using("en"):
        found = {table.title.split(",")[0]: table for table in tables(a_run())}
    assert found["ablations"].rows[1][-1] == "0.50" and found["ablations"].rows[0][-1] == "1.00"
    assert found["ablations"].rows[2][-1] == "error: OutOfResources"
    names = [row[0] for row in found["ablations"].rows]
    assert names == ["as shipped", "e^x instead of 2^x", "4 stages"]
    assert found["host time of a call"].rows == [
        ["ours", "42.0", "+22.0", "9.0", "131.0"], ["SDPA flash (FA2)", "20.0", "", "—", "—"],
    ]  # fmt: skip
    assert found["peak memory above the inputs"].rows == [
        ["ours", "forward", "1.5"], ["eager", "forward", "out of memory"],
    ]  # fmt: skip
    assert found["bytes asked of memory"].rows[1][-1] == "0.25"


def test_regimes_are_never_mixed_in_one_table() -> None:
    rows = measured.peers(pass_="forward", head_dim=128, causal=True, grouped=False)
    with language.using("en"):
        titles = [table.title for table in speed_tables(rows)]
    assert len(titles) == 3 and len(set(titles)) == 3
    assert sum("without pauses" in title for title in titles) == 1
    assert sum("sustained" in title for title in titles) == 1


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_both_languages_line_up(lang: str) -> None:
    out = io.StringIO()
    with language.using(lang):
        show(tables(a_run()), footer(a_run()), out)
    said = out.getvalue()
    assert ("显存不足" in said) == (lang == "zh") and ("out of memory" in said) == (lang == "en")
    assert ("GPU" in said) and "{" not in said
    table = Table("t", ["N", "本工具包"], [["512", "1"], ["16,384", "1,234"]])
    lines = plain(table).splitlines()[1:]
    assert {width(line) for line in lines} == {width("16,384  本工具包")}


def test_chinese_tables_have_no_english_words_but_names() -> None:
    with language.using("zh"):
        text = " ".join(t.title + " ".join(t.columns) for t in tables(a_run()))
    for word in ("forward", "backward", "causal", "memory", "best", "other", "time"):
        assert word not in text.replace("standard_forward", "").replace("flash_forward", "")


def test_rich_tables_show_the_same_cells() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    with language.using("en"):
        show(tables(a_run()), [], out)
    for table in tables(a_run()):
        for row in table.rows:
            assert all(cell in out.getvalue() for cell in row if len(cell) < 12)
