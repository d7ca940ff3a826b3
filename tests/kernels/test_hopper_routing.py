"""Who runs a pass: the kernels for Hopper or the readable ones, and every reason for it, in words.

The GPU is made up: facts about it are replaced, and the launchers of the Hopper kernels by ones that
compute the same in torch and remember that they were called.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import fa_toolkit.kernels as kernels  # settles the mode before anything imports Triton

# isort: split
import pytest
import torch
from oracles import LAYOUTS, lay_out, make_qkv
from torch import Tensor

from fa_toolkit import flash_attention, flash_attention_varlen, flash_decode, repeated, tiled
from fa_toolkit.errors import BackendUnavailable
from fa_toolkit.kernels import routing
from fa_toolkit.kernels.call import output_like
from fa_toolkit.kernels.hopper import availability, gluon_names
from fa_toolkit.kernels.hopper.availability import (
    MEASURED_BETTER,
    MEASURED_ON,
    WIDTHS,
    Asked,
    Pass,
    Place,
)
from fa_toolkit.language import Text, using
from fa_toolkit.operator import Options, attention_backward_op, attention_op
from fa_toolkit.problem import AttentionProblem

HERE = Place((9, 0), "a made-up H200")
HOME = "fa_toolkit.kernels.hopper"
PASSES: tuple[Pass, ...] = ("forward", "backward")
Called = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[Called]:
    """A machine whose tensors all lie on a Hopper GPU; what its launchers were called with."""
    seen: Called = []

    def forward(q: Tensor, k: Tensor, v: Tensor, *, out: Any, **options: Any) -> Any:
        seen.append(("forward", {"q": q, "k": k, "v": v, "out": out, **options}))
        for given, found in zip(out, tiled.flash_forward(q, k, v, **options), strict=True):
            given.copy_(found)
        return out

    def backward(*saved: Tensor, dlse: Tensor | None = None, **options: Any) -> Any:
        seen.append(("backward", {"saved": saved, "dlse": dlse, **options}))
        return tiled.flash_backward(*saved, dlse, **options)[:3]

    for name, function in (("forward", forward), ("backward", backward)):
        module = ModuleType(f"{HOME}.{name}_call")
        setattr(module, f"hopper_{name}", function)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(routing, "place_of", lambda _: HERE)
    monkeypatch.setattr(repeated, "_READY", {})
    yield seen


def names(called: Called) -> list[str]:
    return [name for name, _ in called]


def leaves(problem: AttentionProblem, layout: str = "contiguous") -> list[Tensor]:
    return [x.requires_grad_() for x in make_qkv(problem, layout=layout)]


SMALL = AttentionProblem(1, 4, 2, 20, 30, 64, dtype="bfloat16", causal=True)


# ---- every reason, in both languages --------------------------------------------------------

#: name -> (sizes and mask, options, pass, what the error says in English, in Chinese)
REASONS: dict[str, tuple[dict[str, Any], dict[str, Any], Pass, str, str]] = {
    "dtype": ({"dtype": "float32"}, {}, "forward", "float16 or bfloat16, got float32", "float32"),
    "width": ({"head_dim": 80}, {}, "forward", "64 | 128 | 256 (forward), got D = 80", "（前向）"),
    "two widths": ({"head_dim_v": 128}, {}, "forward", "got D = 64, Dv = 128", "Dv = 128"),
    "wide backward": ({"head_dim": 256}, {}, "backward", "64 | 128 (backward), got", "（反向）"),
    "no queries": ({"len_q": 0}, {}, "forward", "at least one head, query and key", "Nq = 0"),
    "no keys": ({"len_k": 0}, {}, "forward", "Nk = 0", "至少一个头、一个查询、一个键"),
    "no batch": ({"batch": 0}, {}, "forward", "B = 0", "B = 0"),
    "window": ({"window": (5, -1)}, {}, "forward", "no window, or causal, got window", "无窗口"),
    "right side": (
        {"causal": False, "window": (-1, 3)}, {}, "forward", "got window=(-1, 3)", "或因果掩码",
    ),
    "cap": ({}, {"softcap": 5.0}, "forward", "no softcap, got a softcap", "不用 softcap"),
    "sink": ({}, {"sink": torch.zeros(4)}, "forward", "no sink, got a sink", "有 sink"),
    "dropout": ({}, {"dropout_p": 0.5}, "forward", "dropout_p=0, got dropout_p > 0", "dropout_p"),
    "scale 0": ({}, {"scale": 0.0}, "forward", "a scale above 0, got 0 or below", "scale 大于 0"),
    "scale below 0": ({}, {"scale": -1.0}, "forward", "a scale above 0", "0 或负数"),
    "deterministic": (
        {}, {"deterministic": True}, "backward", "in an order of chance, got deterministic=True",
        "累加顺序不固定",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REASONS)
def test_every_reason_is_one_clear_error(case: str, called: Called) -> None:
    sizes, options, kind, english, chinese = REASONS[case]
    plain = {name: getattr(SMALL, name) for name in SMALL.__dataclass_fields__}
    plain |= {"head_dim_v": sizes.get("head_dim", 64)}
    problem = AttentionProblem(**(plain | sizes))
    q, k, v = make_qkv(problem) if kind == "forward" else leaves(problem)
    keywords = {"causal": problem.causal, "window": problem.window, "impl": "hopper", **options}
    for language, said in (("en", english), ("zh", chinese)):
        with using(language):
            with pytest.raises(BackendUnavailable) as caught:
                flash_attention(q, k, v, **keywords)
            text = str(caught.value)
        assert said in text and 'impl="hopper"' in text and 'impl="auto"' in text
    assert not called
    if kind == "backward":  # without a gradient nothing stands in the way
        flash_attention(*(x.detach() for x in (q, k, v)), **keywords)
        assert names(called) == ["forward"]


def test_no_reason_is_left_out() -> None:
    """Whatever differs from a call that can run is refused, one thing at a time."""
    for kind in PASSES:
        for causal, group, width in itertools.product((False, True), (1, 4), WIDTHS[kind]):
            p = AttentionProblem(2, 4, 4 // group, 3, 5, width, dtype="float16", causal=causal)
            assert availability.of_call(Asked(p), kind) is None
    p = AttentionProblem(1, 1, 1, 3, 5, 64, window=(-1, 0))  # causal by another name
    assert availability.of_call(Asked(p), "forward") is None


PLACES: dict[str, tuple[Place, str, str]] = {
    "no GPU": (Place(None, "cpu"), "tensors on a Hopper GPU", "张量在 Hopper GPU 上"),
    "A100": (Place((8, 0), "A100"), "compute capability 9.0 (Hopper), got 8.0 (A100)", "计算能力"),
    "B200": (Place((10, 0), "B200"), "got 10.0 (B200)", "10.0（B200）"),
    "AMD": (Place((0, 1), "MI300X"), "got 0.1 (MI300X)", "9.0"),
    "Triton": (
        Place((9, 0), "H200", Text("Triton 3.5.0", "Triton 3.5")),
        "got Triton 3.5.0",
        "Gluon",
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_every_place_is_one_clear_error(
    case: str, called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, english, chinese = PLACES[case]
    monkeypatch.setattr(routing, "place_of", lambda _: place)
    q, k, v = make_qkv(SMALL)
    for language, said in (("en", english), ("zh", chinese)):
        with using(language):
            with pytest.raises(BackendUnavailable) as caught:
                flash_attention(q, k, v, softcap=3.0, impl="hopper")  # the place comes first
            text = str(caught.value)
        assert said in text and 'impl="auto"' in text
    assert not called


def test_on_this_machine() -> None:
    q, k, v = make_qkv(SMALL)
    with using("en"), pytest.raises(BackendUnavailable, match=r"Hopper GPU.*got cpu.*auto"):
        flash_attention(q, k, v, impl="hopper")
    ends = torch.tensor([0, 20], dtype=torch.int32)
    packed = [x[0].transpose(0, 1) for x in (q, q, q)]
    with using("en"), pytest.raises(BackendUnavailable, match="packed sequences"):
        flash_attention_varlen(*packed, cu_seqlens_q=ends, cu_seqlens_k=ends, impl="hopper")
    with pytest.raises(BackendUnavailable, match="varlen"):
        attention_op(*packed, None, None, ends, ends, *Options(impl="hopper"))
    with using("zh"), pytest.raises(BackendUnavailable, match="解码步骤"):
        flash_decode(q[:, :, 0], k, v, seq_lens=torch.tensor([30]), impl="hopper")
    meta = q.to("meta")
    assert flash_attention(meta, meta, meta, impl="hopper").is_meta


def test_place_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = importlib.import_module("fa_toolkit.kernels.configuration")
    runtime = importlib.import_module("fa_toolkit.kernels.runtime")
    assert routing.place_of(torch.device("cpu")) == Place(None, "cpu")
    gpu = torch.device("cuda", 0)
    for name in ("interpreter", "none"):
        mode = runtime.Mode(name, Text("because", "因为"))
        monkeypatch.setattr(runtime, "_decided", [mode])
        assert routing.place_of(gpu) == Place(None, Text("because", "因为"))
    monkeypatch.setattr(runtime, "_decided", [runtime.Mode("gpu", Text("", ""))])
    for capability in ((8, 0), (9, 0), (12, 0)):
        device = configuration.Device(capability, 232448)
        monkeypatch.setattr(routing, "device_of", lambda _, device=device: device)
        absent = gluon_names.why_absent() if capability == (9, 0) else None
        assert routing.place_of(gpu) == Place(capability, "cuda:0", absent)


# ---- where tensors lie ----------------------------------------------------------------------


@pytest.mark.parametrize("layout", [*LAYOUTS, "turned"])
def test_layouts_are_judged_as_descriptors_judge_them(layout: str) -> None:
    readable = importlib.import_module("fa_toolkit.kernels.descriptors").readable
    for sizes in ((2, 2, 2, 20, 20, 64), (2, 2, 2, 20, 20, 60), (1, 1, 1, 1, 1, 64)):
        q, k, v = make_qkv(AttentionProblem(*sizes), torch.float16, layout=layout)
        for x in (q, k, v):
            assert (availability.of_layout(x=x) is None) == readable(x), (layout, x.stride())


def test_a_tensor_the_copy_engine_cannot_read_is_named(called: Called) -> None:
    q, k, v = make_qkv(SMALL)
    past = torch.zeros(k.numel() + 1, dtype=k.dtype)[1:].view(k.shape)
    cases = {
        "k with last stride 1": (q, k.mT.contiguous().mT, v, "strides (3840"),
        "v with last stride 1": (q, k, v[:, :1].expand(1, 2, 30, 64), "strides (3840, 0"),
        "q with last stride 1": (lay_out(q, "padded"), k, v, "strides"),
        "multiples of 16 bytes": (q, past, v, "an address 2 bytes past one"),
    }
    for expected, (a, b, c, got) in cases.items():
        with using("en"):
            with pytest.raises(BackendUnavailable) as caught:
                flash_attention(a, b, c, impl="hopper")
            text = str(caught.value)
        assert expected in text and got in text and "clone" in text
        assert not takes("forward", a, b, c)
    assert not called


def takes(kind: Pass, q: Tensor, k: Tensor, v: Tensor, **options: Any) -> bool:
    """What "auto" does with these tensors, as if their lengths were long enough."""
    p = AttentionProblem(1, 4, 2, 4096, 4096, q.shape[-1], v.shape[-1], "bfloat16", True)
    return routing.takes_hopper("auto", kind, q, k, v, routing.asked_of(p, **options))


# ---- what "auto" takes ----------------------------------------------------------------------


@pytest.mark.parametrize("row", MEASURED_BETTER, ids=str)
def test_auto_follows_the_table(row: tuple[Pass, int, bool], called: Called) -> None:
    kind, width, causal = row
    first = MEASURED_BETTER[row]
    assert width in WIDTHS[kind] and first >= 1
    for nq, nk, want in (
        (first, first, True),
        (first - 1, first, False),
        (first, first - 1, False),
        (4 * first, 2 * first, True),
    ):
        p = AttentionProblem(8, 16, 16, nq, nk, width, dtype="bfloat16", causal=causal)
        q, k, v = (
            torch.empty(8, 16, n, width, dtype=torch.bfloat16, device="meta") for n in (nq, nk, nk)
        )
        assert routing.takes_hopper("auto", kind, q, k, v, routing.asked_of(p)) is want
        assert routing.takes_hopper("hopper", kind, q, k, v, routing.asked_of(p))


def test_a_row_without_a_figure_stays_readable(
    called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {key: n for key, n in MEASURED_BETTER.items() if key != ("forward", 64, True)}
    q, k, v = make_qkv(SMALL)
    assert takes("forward", q, k, v)
    monkeypatch.setattr(availability, "MEASURED_BETTER", table)
    assert not takes("forward", q, k, v) and takes("backward", q, k, v)


def test_the_table_says_where_it_comes_from() -> None:
    assert (
        all(MEASURED_ON) and "H200" in MEASURED_ON.device and MEASURED_ON.command.startswith("fa ")
    )
    for option in MEASURED_ON.command.split("--also ")[1:]:
        module, _, name = option.strip().partition(":")
        assert callable(getattr(importlib.import_module(module), name))


@pytest.fixture
def always_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "MEASURED_BETTER", dict.fromkeys(MEASURED_BETTER, 1))


def run(
    problem: AttentionProblem, impl: str = "auto", deterministic: bool | None = None
) -> tuple[Tensor, ...]:
    """o, lse and gradients by the operator's own backward, for tensors that are on no GPU."""
    q, k, v = (x.detach() for x in make_qkv(problem))
    o, lse = routing.forward(q, k, v, impl=impl, causal=problem.causal)
    do = torch.ones_like(o)
    grads = routing.backward(
        q, k, v, o, lse, do, None, impl=impl, causal=problem.causal, deterministic=deterministic
    )
    return o, lse, *(x for x in grads if x is not None)


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs readable kernels on the CPU")
def test_forward_and_backward_are_chosen_apart(called: Called, always_better: None) -> None:
    wide = AttentionProblem(1, 1, 1, 20, 20, 256, dtype="float16")
    run(wide)
    assert names(called) == ["forward"]
    run(SMALL)
    assert names(called) == ["forward", "forward", "backward"]
    called.clear()
    run(SMALL, deterministic=True)
    assert names(called) == ["forward"]
    called.clear()
    try:
        torch.use_deterministic_algorithms(True)
        run(SMALL)
        run(SMALL, deterministic=False)
    finally:
        torch.use_deterministic_algorithms(False)
    assert names(called) == ["forward", "forward", "backward"]


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs readable kernels on the CPU")
def test_a_part_of_the_gradients_takes_the_readable_kernels(
    called: Called, always_better: None
) -> None:
    q, k, v = make_qkv(SMALL)
    o, lse = routing.forward(q, k, v, impl="auto", causal=True)
    called.clear()
    saved = (q, k, v, o, lse, torch.ones_like(o))
    for needs in ({"needs_dq": False}, {"needs_dkdv": False}):
        routing.backward(*saved, impl="auto", causal=True, **needs)
        assert not called
    routing.backward(*saved, impl="hopper", causal=True, needs_dq=False)
    assert names(called) == ["backward"]


def test_few_queries_keep_the_path_of_decoding(called: Called, always_better: None) -> None:
    p = AttentionProblem(1, 8, 2, 4, 4096, 64, dtype="float16")
    q, k, v = make_qkv(p)
    assert not routing.takes_hopper("auto", "forward", q, k, v, routing.asked_of(p))
    assert routing.takes_hopper("hopper", "forward", q, k, v, routing.asked_of(p))


@pytest.mark.skipif(kernels.mode() != "interpreter", reason="runs readable kernels on the CPU")
def test_the_readable_kernel_stays_what_it_is(called: Called, always_better: None) -> None:
    q, k, v = leaves(SMALL)
    flash_attention(q, k, v, causal=True, impl="triton").sum().backward()
    flash_attention(q, k, v, causal=True)
    assert not called and repeated._READY == {}


# ---- what the launchers are given -----------------------------------------------------------


@pytest.mark.parametrize("layout", ["contiguous", "bnhd"])
def test_through_the_door(layout: str, called: Called) -> None:
    q, k, v = leaves(SMALL, layout)
    o, lse = flash_attention(q, k, v, causal=True, return_lse=True, impl="hopper")
    assert o.stride() == output_like(q).stride()
    # a sum as the loss: dO has strides of 0, and lse has a gradient
    grads = torch.autograd.grad(o.sum() + lse.sum(), (q, k, v))
    plain_o, plain_lse = flash_attention(q, k, v, causal=True, return_lse=True, impl="tiled")
    plain = torch.autograd.grad(plain_o.sum() + plain_lse.sum(), (q, k, v))
    assert torch.equal(o, plain_o) and torch.equal(lse, plain_lse)
    for mine, theirs, x in zip(grads, plain, (q, k, v), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0.02, atol=0.02)
        assert mine.stride() == output_like(x).stride()
    (_, forward), (_, backward) = called
    assert forward["scale"] == backward["scale"] == 1 / 8 and forward["causal"] is True
    assert availability.of_layout(o=backward["saved"][3], do=backward["saved"][5]) is None
    assert backward["dlse"].dtype == torch.float32 and backward["dlse"].is_contiguous()


def test_gradients_lie_as_the_operator_promises(called: Called) -> None:
    x = torch.randn(20, 1, 4, 64).bfloat16()  # [N, B, H, D], a layout of some training codes
    q = x.permute(1, 2, 0, 3).requires_grad_()
    o = flash_attention(q, q, q, impl="hopper")
    (dq,) = torch.autograd.grad(o.float().square().sum(), q)
    assert dq.stride() == output_like(q).stride() and o.stride() == output_like(q).stride()
    arguments = (q, q, q, None, None, None, None, *Options(impl="hopper"))
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    torch.library.opcheck(attention_op, arguments, test_utils=checks)


def test_calls_like_one_before_take_the_same_kernel(called: Called) -> None:
    q, k, v = make_qkv(SMALL)
    first = flash_attention(q, k, v, causal=True, impl="hopper")
    assert len(repeated._READY) == 1
    other = [torch.randn_like(x) for x in (q, k, v)]
    again = flash_attention(*other, causal=True, impl="hopper")
    assert names(called) == ["forward"] * 2 and len(repeated._READY) == 1
    assert torch.equal(again, flash_attention(*other, causal=True, impl="tiled"))
    assert not torch.equal(again, first)


def test_double_backward_and_transforms_are_refused(called: Called) -> None:
    q, k, v = leaves(SMALL)
    o = flash_attention(q, k, v, impl="hopper")
    (dq,) = torch.autograd.grad(o.sum(), q, create_graph=True)
    with using("en"), pytest.raises(BackendUnavailable, match="first order"):
        dq.square().sum().backward()
    with using("en"), pytest.raises(BackendUnavailable, match="vmap"):
        torch.vmap(lambda x: flash_attention(x, k, v, impl="hopper"))(q.detach()[None])


def test_compiled_it_is_the_same_operator(called: Called) -> None:
    torch._dynamo.reset()

    def call(*tensors: Tensor) -> Tensor:
        return flash_attention(*tensors, causal=True, impl="hopper")

    compiled: Callable[..., Tensor] = torch.compile(call, backend="aot_eager", fullgraph=True)
    q, k, v = leaves(SMALL)
    o = compiled(q, k, v)
    assert torch.equal(o, call(q, k, v))
    mine = torch.autograd.grad(o.float().sum(), (q, k, v))
    assert names(called) == ["forward", "forward", "backward"]
    assert all(bool(x.isfinite().all()) for x in mine)


def test_the_operator_takes_auto_and_deterministic() -> None:
    q, k, v = leaves(AttentionProblem(1, 2, 1, 5, 7, 8, dtype="float32"))
    for deterministic in (None, True, False):
        options = Options(causal=True, impl="auto", deterministic=deterministic)
        torch.library.opcheck(attention_op, (q, k, v, None, None, None, None, *options))
    o, lse = (x.detach() for x in attention_op(q, k, v, *[None] * 4, *options))
    saved = (*(x.detach() for x in (q, k, v)), o, lse, torch.ones_like(o), None, *[None] * 4)
    torch.library.opcheck(attention_backward_op, (*saved, True, True, *options))


# ---- the interfaces of Gluon ----------------------------------------------------------------


def _used(source: str) -> set[tuple[str, str]]:
    """(module, name) of everything that a kernel file takes from Triton's experimental parts."""
    tree, homes, found = ast.parse(source), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triton."):
            for alias in node.names:
                homes[alias.asname or alias.name] = (node.module or "", alias.name)
    modules = {*gluon_names.NEEDED}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = homes.get(node.value.id)
            if home is not None and ".".join(home) in modules:
                found.add((".".join(home), node.attr))
    for home, name in homes.values():
        if f"{home}.{name}" not in modules and home in modules:
            found.add((home, name))
    return found


def test_the_kernels_use_no_name_that_is_not_looked_for() -> None:
    files = sorted(Path(availability.__file__).parent.glob("*.py"))
    used = set().union(*(_used(file.read_text(encoding="utf-8")) for file in files))
    looked_for = {
        (module, part)
        for module, some in gluon_names.NEEDED.items()
        for name in some
        for part in (name, name.split(".")[0])
    }
    assert used - looked_for == set()
    assert len(used) > 20  # the kernels are there


@pytest.mark.skipif(kernels.mode() == "none", reason="looks at Triton")
def test_a_name_that_moved_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    triton: Any = importlib.import_module("triton")
    version = tuple(int(x) for x in triton.__version__.split(".")[:2])
    fits = gluon_names.SINCE <= version < gluon_names.BEFORE
    absent = gluon_names.why_absent.__wrapped__
    assert (absent() is None) == fits
    if not fits:
        return
    gl: Any = importlib.import_module("triton.experimental.gluon.language")
    hopper: Any = importlib.import_module("triton.experimental.gluon.language.nvidia.hopper")
    with monkeypatch.context() as patch:
        patch.delattr(gl, "warp_specialize")
        assert gluon_names.moved_names() == ["language.warp_specialize"]
        said = absent()
        assert "warp_specialize" in said.en and "warp_specialize" in said.zh
    with monkeypatch.context() as patch:
        patch.setattr(hopper.mbarrier, "wait", lambda mbarrier, parity: None)
        assert gluon_names.moved_names() == ["wait(mbarrier, parity)"]
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "triton.experimental.gluon", None)
        assert "gluon.jit" in gluon_names.moved_names()
    for odd in ("3.5.1", "3.8.0", "4.0.0+git"):
        monkeypatch.setattr(triton, "__version__", odd)
        assert odd in absent().en and odd in absent().zh
