"""A call like one before goes straight to its launch, and nothing else does."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from oracles import assert_within_budget, make_qkv, truth
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from fa_toolkit import attention, flash_attention, operator, repeated
from fa_toolkit.errors import ArgumentError, BackendUnavailable, DtypeError, ShapeError
from fa_toolkit.kernels import prepared
from fa_toolkit.kernels.descriptors import rows_of
from fa_toolkit.kernels.prepared import Launch
from fa_toolkit.problem import AttentionProblem

PROBLEM = AttentionProblem(2, 4, 2, 33, 40, 16, dtype="float16")


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(repeated, "_READY", {})
    yield


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each call that goes through the checks."""
    calls: list[str] = []
    checked = attention.checked

    def noted(*args: Any, **options: Any) -> Any:
        calls.append("checked")
        return checked(*args, **options)

    monkeypatch.setattr(attention, "checked", noted)
    return calls


def inputs(seed: int = 0, problem: AttentionProblem = PROBLEM) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    return [torch.randn(x.shape).to(x.dtype) for x in make_qkv(problem, torch.float16)]


@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"window": (7, 2)}, {"softcap": 5.0}, {"scale": -0.3}],
    ids=str,
)
def test_the_second_call_checks_nothing_and_is_as_right(
    options: dict[str, Any], long_way: list[str]
) -> None:
    flash_attention(*inputs(0), impl="triton", **options)
    q, k, v = inputs(1)
    o, lse = flash_attention(q, k, v, impl="triton", return_lse=True, **options)
    exact = truth(q, k, v, **options)
    assert_within_budget("o", o, exact)
    assert_within_budget("lse", lse, exact)
    assert long_way == ["checked"]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each choice of a tile, by pass."""
    choices: list[str] = []

    def note(name: str) -> None:
        module = importlib.import_module(f"fa_toolkit.kernels.flash_{name}")
        choose = module.choose_launch

        def noted(*args: Any, **options: Any) -> Any:
            choices.append(name)
            return choose(*args, **options)

        monkeypatch.setattr(module, "choose_launch", noted)

    note("forward")
    note("backward")
    return choices


@pytest.mark.parametrize("cast", [False, True], ids=["plain", "autocast"])
@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"window": (7, 2)}, {"softcap": 5.0}, {"scale": -0.3}],
    ids=str,
)
def test_the_second_step_of_training_chooses_no_tile_and_is_as_right(
    options: dict[str, Any], cast: bool, chosen: list[str], long_way: list[str]
) -> None:
    for seed in (0, 1, 2):
        q, k, v = (x.bfloat16().float() if cast else x for x in inputs(seed))
        q, k, v = (x.requires_grad_() for x in (q, k, v))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cast):
            o, lse = flash_attention(q, k, v, impl="triton", return_lse=True, **options)
        (o.sum() + lse.sum()).backward()
        seen = [x.detach().to(o.dtype) for x in (q, k, v)]
        exact = truth(*seen, do=torch.ones_like(o), dlse=torch.ones_like(lse), **options)
        for name, found in (("o", o), ("lse", lse), ("dq", q.grad), ("dk", k.grad), ("dv", v.grad)):
            assert found is not None
            assert_within_budget(name, found.to(o.dtype) if name[0] == "d" else found, exact)
        # by the first step; from the second on nothing is chosen
        assert chosen == ["forward", "backward", "backward"]
    assert len(long_way) == (3 if cast else 1), "under autocast tensors are cast anew"


def test_of_recorded_calls_what_the_backward_depends_on_is_looked_at_too(
    long_way: list[str],
) -> None:
    def step(recorded: bool = True, strict: bool = False, **options: Any) -> int:
        q, k, v = inputs()
        before, torch_s = len(long_way), torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(strict)
        try:
            o = flash_attention(q.requires_grad_(recorded), k, v, impl="triton", **options)
        finally:
            torch.use_deterministic_algorithms(torch_s)
        assert isinstance(o, torch.Tensor) and o.requires_grad == recorded
        return len(long_way) - before

    different: list[dict[str, Any]] = [
        {}, {"recorded": False}, {"strict": True}, {"deterministic": True}, {"deterministic": False},
    ]  # fmt: skip
    assert [step(**each) for each in different] == [1] * 5
    assert [step(**each) for each in different] == [0] * 5
    # the backward plays no part in a call that nobody records
    assert step(recorded=False, deterministic=True) == step(recorded=False, strict=True) == 0


def test_a_recorded_call_like_one_before_is_refused_what_the_operator_refuses() -> None:
    q, k, v = inputs()
    for _ in range(2):
        leaf = q.clone().requires_grad_()
        o = flash_attention(leaf, k, v, impl="triton")
        assert isinstance(o, torch.Tensor)
        [dq] = torch.autograd.grad(o.float().square().sum(), leaf, create_graph=True)
        with pytest.raises(BackendUnavailable, match=r"reference\.attention"):
            torch.autograd.grad(dq.sum(), leaf)
        o = flash_attention(changed := leaf * 1, k, v, impl="triton")
        assert isinstance(o, torch.Tensor)
        changed.detach().zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            o.sum().backward()  # type: ignore[no-untyped-call]


def _odd(do: torch.Tensor) -> torch.Tensor:
    """The same numbers where no kernel compiled for aligned tensors may read them."""
    odd = torch.empty(do.numel() + 1, dtype=do.dtype)[1:].view(do.shape)
    return odd.copy_(do)


GRADIENTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "another layout": lambda do: do.transpose(1, 2).contiguous().transpose(1, 2),
    "one number expanded": lambda do: do[:1, :1, :1, :1].expand(do.shape),
    "another alignment": _odd,
}
NAMES = ("q", "k", "v")


@pytest.mark.parametrize(
    ("what", "wanted", "with_lse"),
    [
        *((what, NAMES, False) for what in GRADIENTS),
        ("the same", NAMES, True),
        ("the same", ("q",), False),
        ("the same", ("k", "v"), False),
        ("the same", ("v",), False),
        ("one number expanded", ("q",), True),
    ],
)
def test_a_backward_that_differs_is_chosen_anew(
    what: str, wanted: tuple[str, ...], with_lse: bool, chosen: list[str]
) -> None:
    change = GRADIENTS.get(what, lambda do: do)

    def step(seed: int, names: tuple[str, ...], change: Any, with_lse: bool) -> None:
        given = dict(zip(NAMES, inputs(seed), strict=True))
        leaves = [given[name].requires_grad_() for name in names]
        o, lse = flash_attention(**given, impl="triton", causal=True, return_lse=True)
        do = change(torch.randn_like(o))
        dlse = torch.randn_like(lse) if with_lse else None
        found = torch.autograd.grad(
            (o, lse)[: 1 + with_lse], leaves, (do,) if dlse is None else (do, dlse)
        )
        seen = [x.detach() for x in given.values()]
        exact = truth(*seen, do=do, dlse=dlse, causal=True)
        for name, grad in zip(names, found, strict=True):
            assert_within_budget(f"d{name}", grad, exact)

    for seed in (0, 1):
        step(seed, NAMES, lambda do: do, False)
    assert chosen == ["forward", "backward", "backward"]
    step(2, wanted, change, with_lse)
    anew = chosen[3:]
    assert anew in (["backward"], ["backward"] * 2)
    step(3, wanted, change, with_lse)
    # what is not aligned is not remembered
    assert chosen[3 + len(anew) :] == (anew if what == "another alignment" else [])


def test_nothing_keeps_the_tensors_of_a_training_step_alive() -> None:
    import gc
    import weakref

    gone = []
    for seed in (0, 1, 2):
        leaves = [x.requires_grad_() for x in inputs(seed)]
        o = flash_attention(*leaves, impl="triton")
        do = torch.randn_like(o)
        grads = torch.autograd.grad(o, leaves, do)
        gone += [weakref.ref(x) for x in (*leaves, o, do, *grads)]
    del leaves, o, do, grads
    gc.collect()
    assert [x() for x in gone] == [None] * len(gone)


def _other(what: str) -> tuple[list[torch.Tensor], dict[str, Any]]:
    q, k, v = inputs()
    spare = torch.zeros(q.numel() + 1, dtype=q.dtype)
    return {
        "length": (inputs(problem=AttentionProblem(2, 4, 2, 34, 40, 16)), {}),
        "layout": ([q.transpose(1, 2).contiguous().transpose(1, 2), k, v], {}),
        "dtype": ([x.bfloat16() for x in (q, k, v)], {}),
        "alignment": ([spare[1:].view(q.shape), k, v], {}),
        "causal": ([q, k, v], {"causal": True}),
        "window": ([q, k, v], {"window": (3, 3)}),
        "scale": ([q, k, v], {"scale": 0.5}),
        "softcap": ([q, k, v], {"softcap": 1.0}),
        "sink": ([q, k, v], {"sink": torch.zeros(4)}),
        "dropout": ([q, k, v], {"dropout_p": 0.5, "seed": 1}),
        "gradients": ([q.requires_grad_(), k, v], {}),
        "subclass": ([torch.nn.Parameter(q, requires_grad=False), k, v], {}),
        "another implementation": ([q, k, v], {"impl": "tiled"}),
    }[what]


OTHER = ["length", "layout", "dtype", "alignment", "causal", "window", "scale", "softcap", "sink"]
OTHER += ["dropout", "gradients", "subclass", "another implementation"]


@pytest.mark.parametrize("what", OTHER)
def test_what_differs_goes_the_long_way(what: str, long_way: list[str]) -> None:
    flash_attention(*inputs(), impl="triton")
    tensors, options = _other(what)
    flash_attention(*tensors, **{"impl": "triton"} | options)
    assert long_way == ["checked"] * 2


def test_autocast_casts_as_before(long_way: list[str]) -> None:
    flash_attention(*inputs(), impl="triton")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o = flash_attention(*inputs(), impl="triton")
    assert o.dtype == torch.bfloat16
    assert len(long_way) == 2


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (lambda q, k, v: flash_attention(q, k, v, impl="triton", window=(-2, 0)), ArgumentError),
        (lambda q, k, v: flash_attention(q, k, v, impl="triton", window=[1, 2, 3]), ArgumentError),
        (
            lambda q, k, v: flash_attention(q, k, v, impl="triton", scale=float("nan")),
            ArgumentError,
        ),
        (lambda q, k, v: flash_attention(q, k, v.float(), impl="triton"), DtypeError),
        # without dropout these would do no harm, and are refused all the same
        (lambda q, k, v: flash_attention(q, k, v, impl="triton", dropout_p=None), ArgumentError),
        (
            lambda q, k, v: flash_attention(q, k, v, impl="triton", seed=torch.zeros(3)),
            DtypeError,
        ),
        (lambda q, k, v: flash_attention(q, k[:, :1, :3], v, impl="triton"), ShapeError),
        (lambda q, k, v: flash_attention(q.to_sparse(), k, v, impl="triton"), DtypeError),
        (lambda q, k, v: flash_attention(q.tolist(), k, v, impl="triton"), DtypeError),
        (
            lambda q, k, v: torch.vmap(lambda x: flash_attention(x, x, x, impl="triton"))(q[None]),
            BackendUnavailable,
        ),
    ],
)
def test_bad_calls_are_refused_after_good_ones(
    bad: Callable[..., Any], error: type[Exception]
) -> None:
    flash_attention(*inputs(), impl="triton")
    flash_attention(*inputs(), impl="triton", window=(2, 0))
    for _ in range(2):
        with pytest.raises(error):
            bad(*inputs())


def test_numbers_reach_a_remembered_call_as_they_reach_the_first() -> None:
    """A kernel started with 2 is not the one that was compiled for 2.0, and 10**30 fits no integer."""
    for softcap in (10**30, 2, True):
        q, k, v = inputs()
        found = [flash_attention(q, k, v, impl="triton", softcap=softcap) for _ in range(3)]
        alike = flash_attention(q, k, v, impl="triton", softcap=float(softcap))
        assert all(torch.equal(o, alike) for o in found)


@pytest.mark.filterwarnings("ignore:.*nested tensors.*:UserWarning")
@pytest.mark.parametrize("at", range(3))
def test_nested_tensors_of_half_types_are_refused(at: int) -> None:
    given: list[torch.Tensor] = [torch.randn(2, 2, 5, 16).half() for _ in range(3)]
    given[at] = torch.nested.nested_tensor([torch.randn(2, 5, 16)] * 2).half()
    with pytest.raises(DtypeError, match="nested"):
        flash_attention(*given)


@pytest.mark.parametrize("kind", [torch.float16, torch.float32])
def test_zeros_without_memory_are_zeros(kind: torch.dtype) -> None:
    q, k, v = (torch.randn(1, 2, 5, 16).to(kind) for _ in range(3))
    none = torch._efficientzerotensor(q.shape, dtype=kind, device="cpu")
    for _ in range(2):
        o = flash_attention(none, k, v, impl="triton")
        assert torch.equal(o, flash_attention(torch.zeros_like(q), k, v, impl="triton"))
    leaf = q.requires_grad_()
    (dq,) = torch.autograd.grad(flash_attention(leaf, k, v, impl="triton"), leaf, none)
    assert not dq.any()


def test_many_kinds_of_calls_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "MOST", 2)
    for n in range(1, 6):
        flash_attention(*inputs(problem=AttentionProblem(1, 1, 1, n, n, 16)), impl="triton")
    assert len(repeated._READY) <= 2


def test_nothing_keeps_the_tensors_alive() -> None:
    import gc
    import weakref

    q, k, v = inputs()
    flash_attention(q, k, v, impl="triton")
    flash_attention(q, k, v, impl="triton")
    gone = [weakref.ref(x) for x in (q, k, v)]
    del q, k, v
    gc.collect()
    assert [x() for x in gone] == [None] * 3


def test_a_compiled_kernel_is_started_with_its_constants_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the driver's starter takes them: positions of the signature, whatever the order given."""
    started: list[tuple[Any, ...]] = []

    class Compiled:
        def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
            return lambda *args: started.append((grid, *args))

    class Kernel:
        arg_names = ("x_ptr", "n", "FLAG", "BLOCK")

        def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., Compiled]:
            return lambda *args, **options: Compiled()

    monkeypatch.setattr("fa_toolkit.kernels.prepared.CompiledKernel", Compiled)
    launch = Launch(Kernel(), (7,), BLOCK=64, FLAG=True, num_warps=4)
    launch("x", 5)
    assert started == []
    launch("y", 5)
    assert started == [((7, 1, 1), "y", 5, True, 64)]


def test_launches_that_compile_alike_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_LAUNCHES", {})
    store = torch.zeros(64, dtype=torch.float16)
    aligned, odd = store[:8], store[1:9]
    table = [rows_of(store.view(1, 1, 4, 16), rows, 16) for rows in (1, 2)]

    def like(*args: Any, grid: tuple[int, ...] = (7,), kernel: Any = print, **options: Any) -> Any:
        return prepared.launch_like(kernel, grid, args, {"BLOCK": 8} | options)

    first = like(aligned, table[0], 5, 0.5, None)
    assert first is like(
        store[16:24], rows_of(torch.zeros(1, 1, 9, 16).half(), 1, 16), 5, 0.5, None
    )
    others = (
        like(odd, table[0], 5, 0.5, None),
        like(aligned.float(), table[0], 5, 0.5, None),
        like(aligned, table[1], 5, 0.5, None),
        like(aligned, table[0], 6, 0.5, None),
        like(aligned, table[0], 5.0, 0.5, None),
        like(aligned, table[0], 1, 0.5, None),
        like(aligned, table[0], True, 0.5, None),
        like(aligned, table[0], 5, 0.5, aligned),
        like(aligned, table[0], 5, 0.5, None, grid=(8,)),
        like(aligned, table[0], 5, 0.5, None, BLOCK=16),
        like(aligned, table[0], 5, 0.5, None, kernel=repr),
    )
    assert len({id(x) for x in (first, *others)}) == 1 + len(others)
    monkeypatch.setattr(prepared, "MOST", 12)
    like(aligned, 1)
    assert len(prepared._LAUNCHES) == 1


class Seen(TorchDispatchMode):
    """The operators of this package that run under it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "fa_toolkit":
            self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_training_takes_the_way_around_the_operator_only_where_nobody_looks_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    q, k, v = (
        x.requires_grad_() for x in make_qkv(AttentionProblem(1, 2, 1, 5, 7, 8, dtype="float32"))
    )
    sink = torch.nn.Parameter(torch.tensor([0.5, -1.0]))  # as a model holds what it learns

    def grads() -> tuple[torch.Tensor, ...]:
        o, lse = flash_attention(q, k, v, causal=True, sink=sink, return_lse=True)
        return torch.autograd.grad((o * o).sum() + lse.sum(), (q, k, v, sink))

    with Seen() as seen:
        wanted = grads()
    assert seen.names == ["attention.default", "attention_backward.default"]
    for name in ("attention_op", "attention_backward_op"):
        monkeypatch.setattr(operator, name, None)  # whoever calls it fails
    assert all(torch.equal(a, b) for a, b in zip(grads(), wanted, strict=True))


def test_a_second_derivative_is_refused_on_either_way() -> None:
    q, k, v = (
        x.requires_grad_() for x in make_qkv(AttentionProblem(1, 2, 1, 5, 7, 8, dtype="float32"))
    )
    for look in (nullcontext(), Seen()):
        with look:
            (dq,) = torch.autograd.grad(flash_attention(q, k, v).sum(), q, create_graph=True)
        with pytest.raises(BackendUnavailable, match="first order"):
            torch.autograd.grad(dq.sum(), q)


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("recorded", [False, True])
def test_a_trace_holds_the_operator(recorded: bool) -> None:
    """A kernel that is launched while PyTorch traces would leave nothing in the trace but empty memory."""
    q, k, v = (
        x.requires_grad_(recorded)
        for x in make_qkv(AttentionProblem(1, 2, 1, 5, 7, 8, dtype="float32"))
    )
    flash_attention(q, k, v)  # remembered, if it can be
    traced = torch.jit.trace(lambda q, k, v: flash_attention(q, k, v), (q, k, v))
    assert "fa_toolkit::attention" in str(traced.graph)
    torch.testing.assert_close(traced(2 * q, k, v), flash_attention(2 * q, k, v))


def _leaves() -> list[torch.Tensor]:
    made = make_qkv(AttentionProblem(1, 2, 1, 5, 7, 8, dtype="float32"))
    return [x.requires_grad_() for x in made]


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("impl", ["tiled", "triton"])
def test_transforms_of_the_backward_reach_the_operator(impl: Any) -> None:
    """What they hand in looks like a tensor and has no memory."""
    q, k, v = _leaves()
    o = flash_attention(q, k, v, impl=impl)
    many = torch.randn(3, *o.shape)

    def pull(w: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(o, q, w, retain_graph=True)[0]

    wanted = torch.stack([pull(w) for w in many])
    (batched,) = torch.autograd.grad(o, q, many, is_grads_batched=True, retain_graph=True)
    torch.testing.assert_close(batched, wanted)
    torch.testing.assert_close(torch.func.vmap(pull)(many), wanted)
    torch.testing.assert_close(torch.func.functionalize(pull)(many[0]), wanted[0])
    jacobian = torch.autograd.functional.jacobian(
        lambda q: flash_attention(q, k.detach(), v.detach(), impl=impl), q.detach(), vectorize=True
    )
    torch.testing.assert_close(torch.einsum("abcd,abcdefgh->efgh", many[0], jacobian), wanted[0])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_a_derivative_by_the_gradient_that_comes_in_is_refused() -> None:
    q, k, v = _leaves()
    o = flash_attention(q, k, v)
    w = torch.randn_like(o)

    def pull(w: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(o, q, w, retain_graph=True)[0]

    def dual() -> None:
        with torch.autograd.forward_ad.dual_level():
            pull(torch.autograd.forward_ad.make_dual(w, w))

    for differentiate in (
        lambda: torch.func.grad(lambda w: pull(w).square().sum())(w),
        lambda: torch.func.jvp(pull, (w,), (w,)),
        dual,
    ):
        with pytest.raises(BackendUnavailable, match="transform"):
            differentiate()


def test_gradients_asked_for_inside_inference_mode_are_none() -> None:
    q, k, v = _leaves()
    with torch.inference_mode(), torch.enable_grad():
        assert not flash_attention(q, k, v).requires_grad


def test_a_trace_before_dispatch_holds_the_operator() -> None:
    q, k, v = _leaves()
    graph = make_fx(lambda q, k, v: flash_attention(q, k, v), pre_dispatch=True)(q, k, v).graph
    assert "fa_toolkit.attention" in str([node.target for node in graph.nodes])


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("change", ["another alignment", "lse alone", "the same"])
def test_a_checkpoint_of_a_call_like_one_before(change: str, reentrant: bool) -> None:
    """It makes what was saved anew, and once: whatever way the backward takes."""
    found = []
    for _ in range(3):
        leaves = [x.requires_grad_() for x in inputs()]
        o, lse = checkpoint(
            lambda q, k, v: flash_attention(q, k, v, impl="triton", return_lse=True),
            *leaves, use_reentrant=reentrant,
        )  # fmt: skip
        do = torch.ones_like(o)
        do = _odd(do) if change == "another alignment" else do
        if change == "lse alone":
            lse.sum().backward()
        else:
            torch.autograd.backward(o, do)
        found.append([x.grad for x in leaves])
    assert all(torch.equal(a, b) for a, b in zip(found[0], found[2], strict=True))


@pytest.mark.parametrize("transform", ["grad", "vmap"])
@pytest.mark.parametrize("recorded", [False, True])
def test_what_was_kept_from_inside_a_transform_is_not_taken_for_memory(
    transform: str, recorded: bool
) -> None:
    """The same answer, or the same refusal, as for a type that is never remembered."""

    def call(dtype: torch.dtype) -> Any:
        kept: list[torch.Tensor] = []

        def inside(x: torch.Tensor) -> torch.Tensor:
            kept.append(x * 1)
            return kept[0].sum()

        q = torch.ones(1, 2, 5, 16, dtype=dtype)
        if transform == "grad":
            torch.func.grad(inside)(q)
        else:
            torch.vmap(inside)(q[None])
        with nullcontext() if recorded else torch.no_grad():
            try:
                o = flash_attention(kept[0], q, q, impl="triton")
            except (ShapeError, RuntimeError) as error:
                return type(error)
        assert isinstance(o, torch.Tensor)
        return o.float().sum().item()

    for _ in range(2):
        assert call(torch.float16) == call(torch.float32)
