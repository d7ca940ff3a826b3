"""`explain`: what it says is what runs, it says it without running, and errors are the door's."""

from __future__ import annotations

import dataclasses
import importlib
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
import torch
from torch import Tensor

import fa_toolkit as fa
from fa_toolkit import explain, flash_attention, hardware, io_model, kernels
from fa_toolkit.errors import BackendUnavailable, DtypeError, FaError, UnknownNameError
from fa_toolkit.explanation import Explanation
from fa_toolkit.explanation.launches import Readings
from fa_toolkit.hardware import GPUS
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem, TileShape

HALF, FLOAT = torch.bfloat16, torch.float32


def meta(*sizes: int, dtype: torch.dtype = HALF, grad: bool = False) -> Tensor:
    return torch.empty(sizes, dtype=dtype, device="meta", requires_grad=grad)


def everything(answer: Explanation) -> str:
    return f"{answer}\n{answer._repr_markdown_()}"


# ---- what it says is what runs --------------------------------------------------------------

KERNELS = {
    "flash_forward_kernel": "flash_forward",
    "delta_kernel": "backward_delta",
    "flash_backward_dkdv_kernel": "backward_dkdv",
    "flash_backward_dq_kernel": "backward_dq",
    "flash_decode_kernel": "flash_decode",
    "merge_parts_kernel": "merge_parts",
}


class Spy:
    """A kernel that remembers how it is started."""

    def __init__(self, name: str, kernel: Any, seen: list[tuple[str, int, dict[str, Any]]]) -> None:
        self.name, self.kernel, self.seen = name, kernel, seen

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        def start(*args: Any, **meta: Any) -> Any:
            self.seen.append((self.name, math.prod(grid), meta))
            return self.kernel[grid](*args, **meta)

        return start


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int, dict[str, Any]]]]:
    seen: list[tuple[str, int, dict[str, Any]]] = []
    for name, home in KERNELS.items():
        kernel = getattr(kernels, name)
        module = sys.modules[f"fa_toolkit.kernels.{home}"]
        monkeypatch.setattr(module, name, Spy(name, kernel, seen))
    yield seen


CALLS: dict[str, tuple[tuple[int, ...], str, dict[str, Any]]] = {
    "plain": ((1, 2, 2, 70, 90, 16, 16), "qkv", {}),
    "causal, groups, D unlike Dv": ((2, 4, 2, 65, 70, 16, 24), "qkv", {"causal": True}),
    "window and cap": ((1, 1, 1, 40, 40, 16, 16), "qkv", {"window": (3, 2), "softcap": 5.0}),
    "dropout": ((1, 1, 1, 40, 40, 16, 16), "v", {"dropout_p": 0.5, "seed": 3}),
    "only q": ((1, 2, 1, 70, 20, 16, 16), "q", {"window": (3, -1)}),
    "only k": ((1, 2, 1, 20, 70, 16, 16), "k", {}),
    "no gradient": ((1, 2, 1, 20, 70, 16, 16), "", {"causal": True}),
    "no queries": ((1, 2, 1, 0, 70, 16, 16), "qkv", {}),
    "no keys": ((1, 2, 1, 20, 0, 16, 16), "qkv", {}),
    "few queries, long keys": ((1, 4, 2, 3, 1100, 16, 16), "qkv", {"causal": True}),
    "few queries, wide values": ((1, 1, 1, 1, 1500, 16, 136), "", {"causal": True}),
    "few queries, cap": ((1, 2, 1, 4, 1200, 16, 16), "", {"softcap": 5.0, "window": (1100, 1)}),
    "few queries, dropout": ((1, 2, 1, 3, 1100, 16, 16), "", {"dropout_p": 0.5, "seed": 3}),
}


def tensors(sizes: tuple[int, ...], wanted: str, device: str) -> tuple[Tensor, Tensor, Tensor]:
    b, hq, hkv, nq, nk, d, dv = sizes
    shapes = {"q": (b, hq, nq, d), "k": (b, hkv, nk, d), "v": (b, hkv, nk, dv)}
    q, k, v = (
        torch.randn(shape, device=device, requires_grad=name in wanted)
        for name, shape in shapes.items()
    )
    return q, k, v


@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("case", CALLS)
def test_the_launches_are_those_of_the_call(
    case: str, sink: bool, started: list[tuple[str, int, dict[str, Any]]], device: str
) -> None:
    sizes, wanted, keywords = CALLS[case]
    q, k, v = tensors(sizes, wanted, device)
    if sink:
        keywords = {**keywords, "sink": torch.zeros(q.shape[1], device=device, requires_grad=True)}
    answer = explain(q, k, v, impl="triton", **keywords)
    assert answer.refusal is None and not started
    o = flash_attention(q, k, v, impl="triton", **keywords)
    if o.requires_grad:
        o.sum().backward()
    told = [(x.kernel, x.programs, x.num_warps, x.tile.block_m) for x in answer.launches]
    seen = [(name, n, meta["num_warps"], meta.get("BLOCK_M", 1)) for name, n, meta in started]
    assert told == seen
    for launch, (_, _, meta) in zip(answer.launches, started, strict=True):
        flags = {name for name, on in meta.items() if name.startswith("HAS_") and on is True}
        assert set(launch.flags) == flags
        if launch.shared is not None:
            assert (launch.tile.block_n, launch.num_stages) == (meta["BLOCK_N"], meta["num_stages"])


LAYOUTS: dict[str, Callable[[int, int], Tensor]] = {
    "dense": lambda n, d: torch.randn(2, 2, n, d).half(),
    "rows beside each other": lambda n, d: torch.randn(2, n, 2, d).half().transpose(1, 2),
    "expanded": lambda n, d: torch.randn(1, 2, n, d).half().expand(2, 2, n, d),
    "wider rows": lambda n, d: torch.randn(2, 2, n, d + 3).half()[..., :d],
    "late by one": lambda n, d: torch.randn(2, 2, n, d + 8).half()[..., 1 : d + 1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("nq", "nk", "d", "dv"), [
    (40, 40, 16, 16), (37, 40, 16, 16), (40, 37, 16, 24), (40, 40, 20, 16), (40, 40, 16, 20),
    (0, 40, 16, 16), (40, 0, 16, 16),
])  # fmt: skip
def test_the_copy_engine_is_told_of_as_the_launchers_use_it(
    layout: str, nq: int, nk: int, d: int, dv: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, bool] = {}
    for name in ("flash_forward", "flash_backward"):
        module = importlib.import_module(f"fa_toolkit.kernels.{name}")

        def noted(
            problem: Any, device: Any, tile: Any = None, kernel: str = "forward", *,
            aligned: bool = False, real: Any = module.choose_launch,
        ) -> Any:  # fmt: skip
            asked[kernel] = aligned
            return real(problem, device, tile, kernel)

        monkeypatch.setattr(module, "choose_launch", noted)
    made = LAYOUTS[layout]
    q, k, v = (x.requires_grad_() for x in (made(nq, d), made(nk, d), made(nk, dv)))
    o = flash_attention(q, k, v, impl="triton")
    o.backward(torch.ones_like(o))
    told = Readings.of(AttentionProblem(2, 2, 2, nq, nk, d, dv, "float16"), q, k, v)
    assert told._asdict() == {**told._asdict(), **asked} and {"forward", "dq"} <= set(asked)


def test_tensors_the_copy_engine_cannot_read_get_another_tile() -> None:
    plain, odd = (
        torch.empty(1, 16, 4096, d, dtype=torch.bfloat16, device="meta") for d in (96, 100)
    )
    tiles = [
        explain(x, x, x, gpu="h200", impl="triton").launches[0].tile.block_m for x in (plain, odd)
    ]
    assert tiles == [128, 64]


def test_dk_and_dv_of_a_wide_head_are_two_launches_on_hopper() -> None:
    q = meta(1, 16, 4096, 256, grad=True)
    answer = explain(q, q, q, gpu="h200", impl="triton")
    first, second = (x for x in answer.launches if x.kernel == "flash_backward_dkdv_kernel")
    assert first.writes == second.writes == 16 * 4096 * 256 * 2
    assert first.reads == second.reads and 2 * first.flops == 3 * second.flops
    together = explain(q, q, q, gpu="a100", impl="triton").launches
    assert [x.kernel for x in together].count("flash_backward_dkdv_kernel") == 1


def test_bytes_and_flops_are_the_models() -> None:
    q, k = meta(2, 8, 300, 64, grad=True), meta(2, 2, 500, 64, grad=True)
    answer = explain(q, k, k, causal=True, window=(100, 0), gpu="a100")
    problem = AttentionProblem(2, 8, 2, 300, 500, 64, 64, "bfloat16", True, (100, 0))
    forward, delta, dkdv, dq = answer.launches
    assert answer.problem == problem and answer.gradients == ("q", "k", "v")
    traffic = io_model.flash_forward_traffic(problem, forward.tile)
    assert (forward.reads, forward.writes) == (traffic.reads, traffic.writes)
    assert forward.flops == io_model.issued_flops(problem, forward.tile)
    for launch, phase in ((delta, "delta"), (dkdv, "dkdv"), (dq, "dq")):
        phases = io_model.flash_backward_traffic(problem, launch.tile).phases
        assert (launch.reads, launch.writes) == phases[phase]
    whole = AttentionProblem(2, 8, 2, 512, 512, 64, 64, "bfloat16")
    _, _, dkdv, dq = explain(
        meta(2, 8, 512, 64, grad=True), *(meta(2, 2, 512, 64, grad=True),) * 2, gpu="a100"
    ).launches  # no mask and no ragged edge: any tile issues the same
    assert dkdv.flops + dq.flops == io_model.issued_flops(whole, TileShape(64, 64), "backward")
    assert answer.forward is not None and answer.forward.total == forward.reads + forward.writes
    assert answer.backward is not None
    assert answer.backward.reads == sum(x.reads for x in answer.launches[1:])
    assert answer.forward_flops == io_model.forward_flops(problem)
    assert answer.backward_flops == io_model.backward_flops(problem)


def test_few_queries_over_long_keys_take_the_path_of_decoding() -> None:
    q, k = meta(1, 32, 1, 128), meta(1, 8, 8192, 128)
    answer = explain(q, k, k, causal=True, gpu="h200")
    split, merge = answer.launches
    assert (split.kernel, merge.kernel) == ("flash_decode_kernel", "merge_parts_kernel")
    assert split.splits > 1 and split.programs == 8 * split.splits and merge.programs == 32
    problem = AttentionProblem(1, 32, 8, 1, 8192, 128, 128, "bfloat16", True)
    traffic = io_model.decode_traffic(problem, splits=split.splits, tile=split.tile)
    assert answer.forward is not None and answer.forward.reads == traffic.reads
    assert answer.forward.writes == traffic.writes
    assert split.flops == 8 * 8192 * split.tile.block_m * 4 * 128
    with using("en"):
        assert f"cut into {split.splits} parts" in str(answer) and "share its loads" in str(answer)
        long = meta(1, 32, 8192, 128)
        assert "path of decoding" not in str(explain(long, k, k, causal=True, gpu="h200"))


def test_torch_implementations() -> None:
    q = torch.randn(1, 2, 100, 16, requires_grad=True)
    tiled = explain(q, q, q, causal=True)
    problem = AttentionProblem(1, 2, 2, 100, 100, 16, dtype="float32", causal=True)
    assert tiled.impl == "tiled" and tiled.tile is not None and not tiled.launches
    assert tiled.forward == io_model.flash_forward_traffic(problem, tiled.tile)
    trace = fa.tiled.trace_flash_forward(q, q, q, causal=True)
    assert trace.tile == tiled.tile and trace.ledger.reads == tiled.forward.reads
    with using("en"):
        assert 'impl="triton"' in str(tiled) and "interpreter" in str(tiled)
    plain = explain(q, q, q, impl="reference")
    assert plain.impl == "reference" and plain.tile is None and plain.backward is None
    assert explain(meta(1, 2, 8, 16), *(meta(1, 2, 8, 16),) * 2).impl == "tiled"


# ---- GPUs that need not be here -------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, HALF, FLOAT], ids=str)
@pytest.mark.parametrize("width", [16, 64, 128, 256])
@pytest.mark.parametrize("key", GPUS)
def test_every_gpu_on_record_gets_a_plan_that_fits(
    key: str, width: int, dtype: torch.dtype
) -> None:
    q = meta(1, 8, 2048, width, dtype=dtype, grad=True)
    answer = explain(q, q, q, causal=True, gpu=key)
    if dtype == HALF and GPUS[key].arch == "sm_75":
        assert isinstance(answer.refusal, DtypeError) and not answer.launches
        return
    # dK and dV in a launch each
    apart = width == 256 and GPUS[key].arch == "sm_90" and dtype != torch.float32
    assert answer.refusal is None and len(answer.launches) == 4 + apart
    assert answer.gpu == GPUS[key]
    for launch in answer.launches:
        assert launch.shared_limit == GPUS[key].shared_per_block
        assert launch.shared is None or launch.shared <= GPUS[key].shared_per_block
        assert launch.waves is not None and GPUS[key].sms is not None
        assert 0 <= launch.waves * GPUS[key].sms - launch.programs < GPUS[key].sms


@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0)])
def test_a_gpu_by_name_is_the_device_of_that_capability(capability: tuple[int, int]) -> None:
    configuration = importlib.import_module("fa_toolkit.kernels.configuration")
    arch = "sm_{}{}".format(*capability)
    record = next(x for x in GPUS.values() if x.arch == arch)
    problem = AttentionProblem(1, 8, 8, 2048, 2048, 128, 128, "float16")
    limit = record.shared_per_block
    plan = configuration.plan_launch(problem, configuration.Device(capability, limit))
    q = meta(1, 8, 2048, 128, dtype=torch.float16)
    (launch,) = explain(q, q, q, impl="triton", gpu=record).launches
    assert (launch.tile, launch.num_warps, launch.num_stages) == (
        plan.tile, plan.num_warps, plan.num_stages,
    )  # fmt: skip


def test_a_gpu_record_of_ones_own() -> None:
    q = meta(1, 8, 2048, 128)
    small = dataclasses.replace(GPUS["h200"], name="Small", sms=2, shared_per_block=100 * 1024)
    (launch,) = explain(q, q, q, gpu=small).launches
    assert launch.shared is not None and launch.shared <= 100 * 1024
    assert launch.waves == -(-launch.programs // 2)
    assert explain(q, q, q, gpu="h200").launches[0] != launch
    with pytest.raises(UnknownNameError):
        explain(q, q, q, gpu="h2000")
    with pytest.raises(FaError, match="shared_per_block"):
        explain(q, q, q, gpu=dataclasses.replace(small, shared_per_block=None))


@pytest.fixture
def tf32() -> Iterator[None]:
    """PyTorch told that float32 products may be rounded."""
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    matmul.fp32_precision = "tf32"
    yield
    matmul.fp32_precision = before


def test_float32_products_are_exact_unless_torch_was_told() -> None:
    q = meta(1, 8, 64, 64, dtype=FLOAT)
    with using("en"):
        assert "products are exact" in str(explain(q, q, q, gpu="a100"))


def test_float32_products_follow_torch(tf32: None) -> None:
    q, half = meta(1, 8, 64, 64, dtype=FLOAT), meta(1, 8, 64, 64)
    with using("en"):
        assert "products in TF32" in str(explain(q, q, q, gpu="a100"))
        assert "products are exact" in str(explain(q, q, q, gpu="t4"))
        assert "TF32" not in str(explain(half, half, half, gpu="a100"))


def test_autocast_is_that_of_the_device_asked_about() -> None:
    q = torch.randn(1, 2, 8, 16)
    with torch.autocast("cpu", dtype=HALF):
        assert explain(q, q.half(), q).problem.dtype == "bfloat16"
        assert flash_attention(q, q.half(), q).dtype == HALF
        assert explain(q, q, q, gpu="a100").problem.dtype == "float32"
        assert explain(q.double(), q.double(), q.double()).problem.dtype == "float64"
        with pytest.raises(FaError, match="device of q"), using("en"):
            explain(q, q.to("meta"), q)


# ---- refusals and errors --------------------------------------------------------------------


def test_what_cannot_run_is_explained_in_the_words_of_the_error() -> None:
    q = torch.randn(1, 2, 8, 16, dtype=torch.float64)
    for language in ("en", "zh"):
        with using(language):
            answer = explain(q, q, q, impl="triton")
            with pytest.raises(BackendUnavailable) as caught:
                flash_attention(q, q, q, impl="triton")
            assert type(answer.refusal) is BackendUnavailable and not answer.launches
            assert str(answer.refusal) == str(caught.value) and str(caught.value) in str(answer)
            assert str(caught.value) in answer._repr_markdown_()
    on_gpu = explain(meta(1, 2, 8, 16, dtype=torch.float64), *(q.to("meta"),) * 2, gpu="h200")
    assert isinstance(on_gpu.refusal, BackendUnavailable) and on_gpu.forward is None


def test_meta_tensors_without_a_gpu_give_shapes() -> None:
    x = meta(1, 2, 8, 16)
    answer = explain(x, x, x, impl="triton")
    assert flash_attention(x, x, x, impl="triton").is_meta
    assert answer.refusal is None and not answer.launches and answer.forward is None
    with using("en"):
        assert "shapes only" in str(answer) and "gpu=" in str(answer)


def test_without_triton_the_kernels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = importlib.import_module("fa_toolkit.kernels.runtime")
    monkeypatch.setattr(runtime, "_decided", [runtime.Mode("none", runtime._REASONS["missing"])])
    monkeypatch.setattr(runtime, "_cause", ["missing"])
    q = torch.randn(1, 2, 8, 16)
    answer = explain(q, q, q, impl="triton")
    assert isinstance(answer.refusal, BackendUnavailable)
    with using("en"):
        assert "not installed" in str(answer) and "WSL2" in str(answer)
    assert explain(q, q, q, gpu="h200").refusal is None  # that GPU need not be here, nor Triton


X = torch.zeros(1, 4, 5, 8)
WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "a list": ((X, X.tolist(), X), {}),
    "three axes": ((X[0], X, X), {}),
    "mixed types": ((X, X.half(), X), {}),
    "mixed devices": ((X, X.to("meta"), X), {}),
    "whole numbers": ((X.int(), X.int(), X.int()), {}),
    "heads": ((X, X[:, :3], X[:, :3]), {}),
    "widths": ((X, X[..., :4], X), {}),
    "too wide": ((torch.zeros(1, 1, 2, 257),) * 3, {}),
    "window": ((X, X, X), {"window": (-2, 0)}),
    "cap": ((X, X, X), {"softcap": -1.0}),
    "scale": ((X, X, X), {"scale": float("nan")}),
    "causal": ((X, X, X), {"causal": "yes"}),
    "sink": ((X, X, X), {"sink": torch.zeros(3)}),
    "sink of whole numbers": ((X, X, X), {"sink": torch.zeros(4, dtype=torch.int64)}),
    "sink elsewhere": ((X, X, X), {"sink": torch.zeros(4, device="meta")}),
    "dropout": ((X, X, X), {"dropout_p": 1.0}),
    "impl": ((X, X, X), {"impl": "flash"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_raises_what_the_call_raises(case: str) -> None:
    arguments, keywords = WRONG[case]
    with using("en"):
        with pytest.raises(FaError) as call:
            flash_attention(*arguments, **keywords)
        with pytest.raises(FaError) as mine:
            explain(*arguments, **keywords)
        assert type(mine.value) is type(call.value) and str(mine.value) == str(call.value)


def test_it_takes_the_keywords_of_the_call() -> None:
    import inspect

    ours = inspect.signature(explain).parameters
    theirs = inspect.signature(flash_attention).parameters
    assert list(ours)[:-1] == list(theirs) and list(ours)[-1] == "gpu"
    assert all(ours[name].default == theirs[name].default for name in theirs)


# ---- it runs nothing ------------------------------------------------------------------------


def test_it_runs_nothing() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    ran: list[str] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            ran.append(str(func))
            return func(*args, **(kwargs or {}))

    q = torch.zeros(1, 4, 100, 16, requires_grad=True)
    sink = torch.zeros(4)
    with Watch():  # type: ignore[no-untyped-call]
        for impl in ("auto", "triton", "reference"):
            explain(q, q, q, causal=True, sink=sink, dropout_p=0.5, impl=cast(Any, impl))
            explain(q, q, q, causal=True, sink=sink, impl=cast(Any, impl), gpu="h200")
        assert ran == []
        with torch.autocast("cpu", dtype=HALF):
            explain(q, q, q)
        assert all("empty" in name for name in ran)  # shapes on the meta device


def test_on_the_cpu_it_loads_no_triton() -> None:
    code = (
        "import sys, torch, fa_toolkit as fa\n"
        "q = torch.ones(1, 1, 4, 8)\n"
        "print(len(str(fa.explain(q, q, q))) > 0, 'triton' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


# ---- how it reads ---------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_text_says_the_facts(language: str) -> None:
    q, k = meta(2, 32, 4096, 128, grad=True), meta(2, 8, 4096, 128, grad=True)
    answer = explain(q, k, k, causal=True, softcap=30.0, gpu="h200")
    with using(language):
        text, table = str(answer), answer._repr_markdown_()
        assert repr(answer) == text
    for launch in answer.launches:
        assert launch.kernel in text and f"`{launch.kernel}`" in table
        assert f"{launch.programs:,}" in text and f"{launch.programs:,}" in table
    assert "HAS_SOFTCAP" in text and "sm_90" in text and "132" in text
    assert all(getattr(reason, language) in text for reason in answer.reasons)
    chinese = [c for c in text + table if "\u4e00" <= c <= "\u9fff"]
    assert bool(chinese) == (language == "zh")
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(answer.launches)
    assert len({row.count("|") for row in rows}) == 1


def test_reasons_that_come_and_go() -> None:
    q, k = meta(1, 4, 8, 64), meta(1, 2, 5, 64)
    with using("en"):
        masked = str(explain(q, k, k, causal=True, gpu="a100"))
        assert "see no key" in masked and "query heads share" in masked
        plain = str(explain(q, q, q, gpu="a100"))
        assert "see no key" not in plain and "query heads share" not in plain
        assert "no backward" in plain
        none = explain(q[:, :, :0], k, k, gpu="a100")
        assert not none.launches and "nothing is launched" in str(none)
        with torch.no_grad():
            wanted = meta(1, 4, 8, 64, grad=True)
            assert not explain(wanted, wanted, wanted, gpu="a100").gradients
        long = meta(1, 4, 4096, 64)
        assert "tiles a head" in str(explain(long, long, long, causal=True, gpu="a100"))
        assert "bound by arithmetic" in str(
            explain(*(meta(1, 4, 4096, 64, dtype=FLOAT),) * 3, gpu="h200")
        )
        assert "bound by memory" in str(explain(*(meta(1, 4, 64, 64),) * 3, gpu="rtx-4090"))
        # FlashAttention-3 beats this call's bytes over the bandwidth: L2 answers its re-reads
        long = meta(1, 16, 4096, 128)
        assert "the cache decides" in str(explain(long, long, long, gpu="h200"))
        odd = meta(1, 16, 4096, 80)
        said = explain(odd, odd, odd, gpu="h200")
        assert "38% of the products" in str(said) and "multiply zeros" not in str(
            explain(long, long, long, gpu="h200")
        )
        assert said.launches[0].flops * 80 / 128 >= said.forward_flops
        few = meta(1, 2, 512, 64)
        assert "SMs have nothing to do" in str(explain(few, few, few, gpu="h200"))
        grouped = explain(meta(1, 4, 64, 64), *(meta(1, 2, 64, 64),) * 2, gpu="h200")
        assert "dK and dV are summed" not in str(grouped)


def test_names() -> None:
    assert fa.explain is fa.explain is explain
    assert hardware.gpu("h200").name in everything(explain(*(meta(1, 1, 8, 16),) * 3, gpu="h200"))
