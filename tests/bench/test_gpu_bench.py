"""The benchmark on a GPU: small sizes, but every suite, every provider that is here, every ablation."""

from __future__ import annotations

import pytest

from fa_toolkit.bench.plans import plan_of
from fa_toolkit.bench.session import measure
from fa_toolkit.measured import problems_of
from fa_toolkit.measured.records import Run

pytestmark = pytest.mark.gpu


def run(*suites: str, **more: object) -> Run:
    plan = plan_of("quick", suites=suites, lengths=[512, 1024], head_dims=[64], budget_s=240.0,
                   dtype="float16", **more)  # type: ignore[arg-type]  # fmt: skip
    found = measure(plan, tell=lambda line: None)
    assert [said for said in problems_of(found) if said != "id is missing"] == []
    assert found.complete
    return found


def test_forward_and_backward_with_others() -> None:
    found = run("forward", "backward", "host", sustain_s=0.2)
    done = {(row.provider, row.pass_, row.regime) for row in found.speeds if not row.failed}
    for provider in ("ours", "sdpa_flash", "eager"):
        assert {(provider, "forward", "burst"), (provider, "backward", "burst")} <= done
    assert ("ours", "forward", "sustained") in done
    assert {"ours", "sdpa_flash"} <= {row.provider for row in found.hosts}
    mine = next(row for row in found.hosts if row.provider == "ours")
    assert mine.replayed is not None and mine.replayed < mine.microseconds
    assert {row.name for row in found.ceilings} == {"matmul", "hbm_copy"}
    short = [r for r in found.speeds if r.provider == "ours" and r.regime == "burst" and r.ms]
    assert all(row.timer == "graph" for row in short if row.ms < 0.5), "it can be captured"  # type: ignore[operator]


def test_decode_and_memory() -> None:
    found = run("decode", "memory")
    assert any(row.provider == "ours" and row.gbps for row in found.speeds)
    peaks = {(m.provider, m.pass_, m.problem.len_q): m.mib for m in found.memories}
    for pass_ in ("forward", "training"):
        assert peaks["ours", pass_, 1024] < 3 * peaks["ours", pass_, 512]  # type: ignore[operator]
        assert peaks["eager", pass_, 1024] > 3 * peaks["eager", pass_, 512]  # type: ignore[operator]


def test_ablations() -> None:
    found = run("ablations", causal=True)
    done = {(row.variant, row.pass_) for row in found.speeds if not row.failed}
    for name in ("shipped", "natural exponential", "no causal skipping", "masks on every tile"):
        assert {(name, "forward"), (name, "backward")} <= done
    # a tile or a number of stages may not fit this GPU, and then says so
    assert all(row.failed.startswith("error") for row in found.speeds if row.failed)
