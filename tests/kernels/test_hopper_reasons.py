"""Every reason that keeps a call from the kernels for Hopper: one clear error, in both languages."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

# isort: split
import pytest
import torch
from hopper_made_up import HERE, PASSES, SMALL, Called, leaves, names, takes
from hopper_made_up import called as called
from oracles import LAYOUTS, lay_out, make_qkv

from fa_toolkit import flash_attention, flash_attention_varlen, flash_decode
from fa_toolkit.errors import BackendUnavailable
from fa_toolkit.kernels import routing
from fa_toolkit.kernels.hopper import availability, gluon_names
from fa_toolkit.kernels.hopper.availability import WIDTHS, Asked, Pass, Place
from fa_toolkit.language import Text, using
from fa_toolkit.operator import Options, attention_op
from fa_toolkit.problem import AttentionProblem

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
    "a small one": (Place((9, 0), "odd", 1000), "232448 bytes of shared memory", "实际是 1000"),
    "Triton": (
        HERE._replace(absent=Text("Triton 3.5.0", "Triton 3.5.0")),
        "got Triton 3.5.0",
        "带有相应 Gluon 的 Triton",
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
        assert routing.place_of(gpu) == Place(capability, "cuda:0", 232448, absent)


# ---- where tensors lie ----------------------------------------------------------------------


@pytest.mark.parametrize("layout", [*LAYOUTS, "turned"])
def test_layouts_are_judged_as_descriptors_judge_them(layout: str) -> None:
    readable = importlib.import_module("fa_toolkit.kernels.configuration").readable
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
