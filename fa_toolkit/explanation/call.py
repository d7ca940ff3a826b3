"""`explain`: the checks and choices of `flash_attention`, without the call. Allocates nothing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from ..door import Impl, Implementation, check_flag, check_sink, choose, refuse
from ..errors import DeviceError, FaError
from ..hardware import GPU
from ..io_model import (
    Traffic,
    flash_backward_traffic,
    flash_forward_traffic,
    standard_forward_traffic,
)
from ..language import Text
from ..operator import refuse_transforms
from ..problem import AttentionProblem, TileShape
from ..reference import check_dropout
from ..reference.inputs import check_scalars, check_tensors, problem_of
from ..repeated import is_recorded
from ..tiled.forward import DEFAULT_TILE
from . import reasons
from .answer import Explanation, Launch

if TYPE_CHECKING:  # they load the kernels floor
    from ..kernels.hopper.availability import Pass, Wish
    from .targets import Target


def explain(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    sink: Tensor | None = None,
    dropout_p: float = 0.0,
    seed: int | Tensor | None = None,
    deterministic: bool | None = None,
    return_lse: bool = False,
    impl: Impl = "auto",
    gpu: str | GPU | None = None,
) -> Explanation:
    """What `flash_attention` would run for the same arguments, and why.

    Runs, launches and allocates nothing, so the tensors may be on the meta device and of any size.
    Arguments that fit no call raise here as they do there. What fits but cannot run on this device
    is no error here: the answer holds the refusal.

    Args:
        q, k, v, causal, ..., impl: as in `flash_attention`.
        gpu: a name as in `fa.hardware.gpu`, or a record: answer as if the tensors were on that GPU,
            which need not be here; None: where the tensors are.

    Raises:
        ShapeError, DtypeError, DeviceError, ArgumentError: as `flash_attention`.
        UnknownNameError: if there is no record of `gpu`.

    Example:
        >>> q = torch.empty(1, 16, 4096, 128, dtype=torch.bfloat16, device="meta")
        >>> answer = explain(q, q, q, causal=True, gpu="a100")
        >>> [launch.kernel for launch in answer.launches], answer.launches[0].shared_limit
        (['flash_forward_kernel'], 166912)
        >>> explain(q.double(), q.double(), q.double(), gpu="h200").refusal.hint
        'impl="tiled"'
    """
    check_flag("deterministic", deterministic)
    check_flag("return_lse", return_lse)
    check_tensors(q=q, k=k, v=v, **({} if sink is None else {"sink": sink}))
    place = q.device.type if gpu is None else "cuda"
    described = _as_cast(place, q, k, v)
    check_sink(sink, q)
    chosen = choose(impl, q)
    if impl == "auto" and gpu is not None:
        chosen = "triton"
    if torch._C._are_functorch_transforms_active():
        refuse_transforms()
    problem = problem_of(*described, causal=causal, window=window, sink=sink)
    _, cap = check_scalars(problem, scale, softcap)
    dropout_p = check_dropout(dropout_p, 0 if seed is None else seed)
    features = {"HAS_SOFTCAP": cap > 0, "HAS_DROPOUT": dropout_p > 0, "HAS_SINK": sink is not None}
    why = [reasons.of_choice(impl, place, gpu is not None)]
    cast = None if described[0].dtype == q.dtype else str(q.dtype).removeprefix("torch.")
    wanted = _gradients(q=q, k=k, v=v, sink=sink)
    why += reasons.of_call(problem, place, cast, gradients=bool(wanted))
    call = _Call(problem, chosen, wanted, tuple(n for n, on in features.items() if on), why)
    if chosen not in ("triton", "hopper"):
        return call.in_torch(q.device)
    if impl not in ("auto", "hopper"):
        return call.in_triton((q, k, v), described, gpu)
    options: dict[str, Any] = {"softcap": cap, "scale": scale, "sink": sink}
    options |= {"dropout_p": dropout_p, "deterministic": deterministic}
    return call.in_triton((q, k, v), described, gpu, Choosing(impl, options))


Tensors = tuple[Tensor, Tensor, Tensor]


class Choosing(NamedTuple):
    """What the choice between readable kernels and those for Hopper depends on.

    Args:
        options: as `kernels.routing.asked_of` takes them.
    """

    wish: Wish
    options: dict[str, Any]


class _Call:
    """What has been settled before the implementation is asked."""

    def __init__(
        self,
        problem: AttentionProblem,
        impl: Implementation,
        gradients: tuple[str, ...],
        features: tuple[str, ...],
        why: list[Text],
    ) -> None:
        self.problem, self.impl, self.gradients = problem, impl, gradients
        self.features, self.why = features, why

    def in_torch(self, device: torch.device) -> Explanation:
        """Loops or plain formulas in torch, wherever the tensors are."""
        tile, backward = None, None
        if self.impl == "tiled":
            tile = DEFAULT_TILE
            forward = flash_forward_traffic(self.problem, tile)
            backward = flash_backward_traffic(self.problem, tile) if self.gradients else None
        else:
            forward = standard_forward_traffic(self.problem, DEFAULT_TILE)
        self.why += reasons.of_torch(self.impl, self.problem)
        name = Text(f"{device}", f" {device} ")
        return self._answer(name, None, (), tile, forward, backward)

    def in_triton(
        self,
        given: Tensors,
        cast: Tensors,
        gpu: str | GPU | None,
        choosing: Choosing | None = None,
    ) -> Explanation:
        """Kernels, on the GPU asked for or where the tensors are; or the reason why not.

        Args:
            given, cast: q, k, v as they came, and as autocast leaves them.
        """
        q, k, v = given
        targets = importlib.import_module(".targets", __package__)  # loads the kernels floor
        target = None if gpu is None else targets.named(gpu)
        try:
            refuse(self.impl, q.dtype)
            if target is None and q.is_meta:
                return self._answer(Text("meta", " meta "), None, (), None, None, None)
            target = target or targets.of_tensors(q, k, v)
            from .launches import Readings, planned

            hopper = () if choosing is None else self._hopper(choosing, target, cast)
            seen = Readings.of(self.problem, *cast)
            launches = planned(
                self.problem, target, self.gradients, tuple(self._flags()), seen, hopper
            )
        except FaError as refusal:
            name = Text(str(q.device), f" {q.device} ") if target is None else target.name
            self.why.append(reasons.of_refusal())
            known = None if target is None else target.gpu
            return self._answer(name, known, (), None, None, None, refusal)
        forward, backward = _summed(launches, "forward"), None
        if self.gradients:
            backward = _summed(launches, "backward")
        if launches:
            self.why += reasons.of_kernels(self.problem, target, launches[0])
        if target.gpu is not None:
            self.why += reasons.of_bound(self.problem, forward, target.gpu)
        return self._answer(target.name, target.gpu, launches, None, forward, backward)

    def _hopper(self, choosing: Choosing, target: Target, tensors: Tensors) -> tuple[Pass, ...]:
        """The passes that take the kernels for Hopper, with the reasons noted."""
        from . import hopper

        routing = importlib.import_module("..kernels.routing", __package__)
        asked = routing.asked_of(self.problem, **choosing.options)
        made = hopper.decided(choosing.wish, asked, target, self.gradients, *tensors)
        self.why += hopper.reasons(made, asked, target, self.gradients)
        return tuple(kind for kind, decision in made.items() if decision.hopper)

    def _flags(self) -> Iterator[str]:
        """The constexprs that are set, by the names in the kernels' signatures."""
        if self.problem.left is not None:
            yield "HAS_LEFT"
        if self.problem.right is not None:
            yield "HAS_RIGHT"
        yield from self.features

    def _answer(
        self,
        name: Text,
        gpu: GPU | None,
        launches: tuple[Launch, ...],
        tile: TileShape | None,
        forward: Traffic | None,
        backward: Traffic | None,
        refusal: FaError | None = None,
    ) -> Explanation:
        if refusal is None:
            sums = any(launch.kernel == "hopper_backward_kernel" for launch in launches)
            self.why += reasons.of_gradients(self.gradients, self.problem, sums=sums)
        return Explanation(
            self.problem, self.impl, name, gpu, self.gradients, launches, tile,
            forward, backward, tuple(self.why), refusal,
        )  # fmt: skip


def _as_cast(place: str, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The tensors as autocast would leave them on that kind of device, on meta where it casts."""
    q, k, v = tensors
    if place == "meta" or not torch.is_autocast_enabled(place):
        return q, k, v
    for name, x in (("k", k), ("v", v)):
        if x.device != q.device:
            raise DeviceError(
                name,
                expected=Text(f"the device of q, {q.device}", f"与 q 同在 {q.device}"),
                got=str(x.device),
                hint=f"{name}.to(q.device)",
            )
    wanted = torch.get_autocast_dtype(place)

    def cast(x: Tensor) -> Tensor:
        castable = x.is_floating_point() and x.dtype != torch.float64
        return torch.empty(x.shape, dtype=wanted if castable else x.dtype, device="meta")

    return cast(q), cast(k), cast(v)


def _gradients(**named: Tensor | None) -> tuple[str, ...]:
    """The inputs whose gradient autograd would ask for."""
    return tuple(name for name, x in named.items() if is_recorded(x))


def _summed(launches: tuple[Launch, ...], part: str) -> Traffic:
    """The bytes of all launches of one pass."""
    own = [launch for launch in launches if launch.part == part]
    return Traffic(sum(x.reads for x in own), sum(x.writes for x in own))
