"""`explain` and the kernels for Hopper: the choice is the call's, and one line says why."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import fa_toolkit.kernels as kernels  # settles the mode before anything imports Triton

# isort: split
import pytest
import torch
from torch import Tensor

from fa_toolkit import explain, flash_attention, io_model
from fa_toolkit.errors import BackendUnavailable
from fa_toolkit.explanation import Explanation
from fa_toolkit.hardware import GPUS
from fa_toolkit.kernels import routing
from fa_toolkit.kernels.hopper import availability, gluon_names
from fa_toolkit.kernels.hopper.backward_configuration import backward_config
from fa_toolkit.language import Text, using
from fa_toolkit.problem import AttentionProblem

READABLE = ["delta_kernel", "flash_backward_dkdv_kernel", "flash_backward_dq_kernel"]
HOPPER = ["hopper_prepare_kernel", "hopper_backward_kernel", "hopper_finish_kernel"]

pytestmark = pytest.mark.skipif(
    kernels.mode() != "none" and gluon_names.why_absent() is not None,
    reason=f"no kernels for Hopper with this Triton: {gluon_names.why_absent()}",
)


def meta(*sizes: int, grad: bool = True, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.empty(sizes, dtype=dtype, device="meta", requires_grad=grad)


def told(n: int, width: int, gpu: str = "h200", **keywords: Any) -> Explanation:
    q, k = meta(2, 8, n, width), meta(2, 2, n, width)
    return explain(q, k, k, gpu=gpu, **({"causal": True} | keywords))


def launched(answer: Explanation) -> list[str]:
    return [launch.kernel for launch in answer.launches]


def test_both_passes() -> None:
    answer = told(4096, 128)
    assert launched(answer) == ["hopper_forward_kernel", *HOPPER] and answer.refusal is None
    assert answer.impl == "triton"
    with using("en"):
        text = str(answer)
        for kind in ("forward", "backward"):
            first = availability.MEASURED_BETTER[kind, 128, True]  # type: ignore[index]
            assert f"{kind}: the kernel for Hopper, measured better from N = {first:,} on" in text
        assert "32 MiB beyond the gradients, in an order of chance" in text  # 4 · 16 · 4096 · 128 B
        assert "same bits" not in text and "D = 128" in text
    with using("zh"):
        text = str(answer)
        assert "前向：用 Hopper 版 kernel" in text and "另占 32 MiB" in text
        assert "逐位相同；对梯度" not in text


@pytest.fixture
def always_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels for Hopper as the better ones everywhere."""
    table = {
        (kind, d, causal): 1
        for kind, widths in availability.WIDTHS.items()
        for d in widths
        for causal in (True, False)
    }
    monkeypatch.setattr(availability, "MEASURED_BETTER", table)


def test_apart(always_better: None, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = told(4096, 256)
    delta, dkdv, dq = READABLE
    assert launched(answer) == ["hopper_forward_kernel", delta, dkdv, dkdv, dq]
    with using("en"):
        assert "backward: the readable kernels, not those for Hopper, which expect D = Dv" in str(
            answer
        )
        assert "same bits" in str(answer)
    monkeypatch.setitem(availability.MEASURED_BETTER, ("forward", 128, True), 2048)  # type: ignore[arg-type]
    short = told(1024, 128)  # long enough for the backward only
    assert launched(short) == ["flash_forward_kernel", *HOPPER]
    with using("en"):
        assert "better from N = 2,048 on, here the shorter length is 1,024" in str(short)
    with using("zh"):
        assert "实测从 N = 2,048 起更快，这里较短的长度是 1,024" in str(short)
    monkeypatch.delitem(availability.MEASURED_BETTER, ("forward", 128, True))  # type: ignore[arg-type]
    with using("en"):
        assert "forward: the readable kernel; the one for Hopper was not measured better" in str(
            told(1024, 128)
        )


WHY_NOT: dict[str, tuple[dict[str, Any], str, str]] = {
    "window": ({"window": (100, 0)}, "no window, or causal; got window=(100, 0)", "无窗口"),
    "cap": ({"softcap": 5.0}, "no softcap; got a softcap", "有 softcap"),
    "dropout": ({"dropout_p": 0.1}, "dropout_p=0; got dropout_p > 0", "dropout_p > 0"),
    "scale": ({"scale": -1.0}, "a scale above 0", "scale 大于 0"),
    "readable": ({"impl": "triton"}, 'impl="triton" asks for it', '由 impl="triton" 指定'),
}


@pytest.mark.parametrize("case", WHY_NOT)
def test_why_not(case: str) -> None:
    keywords, english, chinese = WHY_NOT[case]
    answer = told(4096, 128, **keywords)
    assert launched(answer) == ["flash_forward_kernel", *READABLE]
    for language, said in (("en", english), ("zh", chinese)):
        with using(language):
            assert said in str(answer)


def test_deterministic_and_a_part_of_the_gradients() -> None:
    for keywords in ({"deterministic": True}, {"deterministic": None}):
        torch.use_deterministic_algorithms(keywords["deterministic"] is None)
        try:
            answer = told(4096, 128, **keywords)
        finally:
            torch.use_deterministic_algorithms(False)
        assert launched(answer) == ["hopper_forward_kernel", *READABLE]
        with using("en"):
            assert "got deterministic=True" in str(answer) and "same bits" in str(answer)
    q, k = meta(1, 8, 4096, 128), meta(1, 8, 4096, 128, grad=False)
    part = explain(q, k, k, causal=True, gpu="h200")
    assert launched(part) == ["hopper_forward_kernel", "delta_kernel", "flash_backward_dq_kernel"]
    with using("en"):
        assert "for q alone they do fewer products" in str(part)
    with torch.no_grad():
        assert launched(explain(q, k, k, causal=True, gpu="h200")) == ["hopper_forward_kernel"]


def test_where_tensors_lie() -> None:
    q, k = meta(1, 8, 4096, 128, grad=False), meta(1, 8, 4096, 136, grad=False)[..., :128]
    assert launched(explain(q, k, q, gpu="h200")) == ["hopper_forward_kernel"]  # rows of 272 bytes
    odd = meta(1, 8, 4096, 129, grad=False)[..., :128]
    answer = explain(q, odd, q, gpu="h200")
    assert launched(answer) == ["flash_forward_kernel"]
    with using("en"):
        assert "k with last stride 1" in str(answer)


@pytest.mark.parametrize("key", GPUS)
def test_other_gpus_say_it_once(key: str) -> None:
    x = meta(1, 8, 4096, 128, dtype=torch.float16)
    answer = explain(x, x, x, gpu=key)
    hopper = GPUS[key].arch == "sm_90"
    assert any(name.startswith("hopper_") for name in launched(answer)) == hopper
    with using("en"):
        assert str(answer).count("all passes: the readable kernels") == (not hopper)
    asked = explain(x, x, x, gpu=key, impl="hopper")
    assert (asked.refusal is None) == hopper
    if not hopper:
        with using("en"):
            assert "compute capability 9.0" in str(asked.refusal) and GPUS[key].name in str(asked)


def test_asked_for_by_name_it_says_what_the_call_says() -> None:
    x = torch.randn(1, 2, 8, 64, dtype=torch.bfloat16)
    for language in ("en", "zh"):
        with using(language):
            with pytest.raises(BackendUnavailable) as caught:
                flash_attention(x, x, x, impl="hopper")
            refused = explain(x, x, x, impl="hopper")
            assert str(refused.refusal) == str(caught.value) and not refused.launches
    short = told(64, 128, impl="hopper", gpu="h100")
    assert launched(short) == ["hopper_forward_kernel", *HOPPER] and short.impl == "hopper"
    with using("zh"):
        assert "按指定用 Hopper 版 kernel" in str(short)
    assert isinstance(told(4096, 256, impl="hopper").refusal, BackendUnavailable)
    with using("en"):
        assert "Hopper" not in str(explain(x, x, x, impl="triton"))


def test_a_triton_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gluon_names, "why_absent", lambda: Text("Triton 3.5.0", "Triton 3.5.0"))
    answer = told(4096, 128)
    assert launched(answer) == ["flash_forward_kernel", *READABLE]
    with using("en"):
        assert "which expect a Triton with the Gluon they are written in; got Triton 3.5.0" in str(
            answer
        )
    runtime = routing.runtime
    monkeypatch.setattr(runtime, "installed", lambda: False)  # that GPU need not be here
    assert launched(told(4096, 128))[0] == "hopper_forward_kernel"


def test_a_small_record_is_taken_at_its_word() -> None:
    small = dataclasses.replace(GPUS["h200"], shared_per_block=100 * 1024)
    answer = explain(*(meta(1, 8, 4096, 128),) * 3, gpu=small)
    assert launched(answer) == ["flash_forward_kernel", *READABLE]


def test_the_choice_is_that_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over every width, mask, length around the table's edges, and kind of gradient."""
    monkeypatch.setattr(
        routing, "place_of", lambda _: availability.Place((9, 0), "", availability.SHARED)
    )
    lengths = {n + d for n in availability.MEASURED_BETTER.values() for d in (-1, 0)} | {4}
    for width, causal, n, grads in itertools.product(
        (32, 64, 128, 256), (False, True), sorted(lengths), ("", "q", "kv", "qkv")
    ):
        q, k, v = (meta(1, 8, n, width, grad=name in grads) for name in "qkv")
        answer = explain(q, k, v, causal=causal, gpu="h200")
        asked = routing.asked_of(AttentionProblem(1, 8, 8, n, n, width, width, "bfloat16", causal))
        forward = routing.takes_hopper("auto", "forward", q, k, v, asked)
        backward = bool(grads) and routing.takes_hopper(
            "auto", "backward", q, k, v, asked, whole=grads == "qkv"
        )
        said = launched(answer)
        assert ("hopper_forward_kernel" in said, "hopper_backward_kernel" in said) == (
            forward, backward,
        ), (width, causal, n, grads)  # fmt: skip


def test_launches_fit_and_their_figures_are_the_models(always_better: None) -> None:
    draws: set[bool] = set()
    for n, width, causal in itertools.product((2048, 2100, 16384), (64, 128), (False, True)):
        answer = told(n, width, causal=causal)
        forward, prepare, main, finish = answer.launches
        problem = AttentionProblem(2, 8, 2, n, n, width, width, "bfloat16", causal)
        for launch in (forward, main):
            assert launch.shared is not None and launch.shared_limit is not None
            assert 0 < launch.shared <= launch.shared_limit
            assert launch.flags == (("CAUSAL",) if causal else ())
        traffic = io_model.flash_forward_traffic(problem, forward.tile)
        assert (forward.reads, forward.writes) == (traffic.reads, traffic.writes)
        unmade = 0
        if causal and forward.tile.block_m == forward.tile.block_n:
            # the upper 64 rows of a tile on the diagonal make 64 of its 128 columns of scores
            unmade = 2 * 8 * -(-n // 128) * 64 * 64 * 2 * width
        assert forward.flops == io_model.issued_flops(problem, forward.tile) - unmade
        tiles = 2 * 2 * -(-n // 128)  # of keys, which the programs of a persistent grid draw
        assert forward.programs <= 132 * 3
        persistent = backward_config(width, n, n, causal).persistent
        assert main.programs == (min(tiles, 132) if persistent else tiles)
        draws.add(persistent)
        sums = 4 * 2 * 8 * -(-n // main.tile.block_m) * main.tile.block_m * width
        assert finish.reads == sums and finish.writes == 2 * 2 * 8 * n * width
        assert prepare.writes >= sums and main.flops * 5 >= answer.backward_flops * 5
        assert main.writes - main.reads < 0 < sums <= main.writes
    assert draws == {False, True}
