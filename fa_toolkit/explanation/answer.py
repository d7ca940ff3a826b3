"""What `explain` answers: facts as fields, and how a person reads them. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..door import Implementation
from ..errors import FaError
from ..hardware import GPU
from ..io_model import Traffic, backward_flops, forward_flops
from ..language import Text, say
from ..problem import AttentionProblem, TileShape
from . import wording
from .wording import amount, flop, whole


@dataclass(frozen=True)
class Launch:
    """One kernel that the call would start.

    Args:
        kernel: its name in `fa_toolkit.kernels`, for `show_source`.
        programs: how many are started.
        waves: how often the SMs would be filled, with one program on each at a time; the registers
            a compiler needs decide whether more fit, so this is the most. None in the interpreter.
        tile: BLOCK_M and BLOCK_N; only its rows count for a kernel without `shared`.
        shared: upper bound of the shared memory of a program, in bytes; None: no tile lies there.
        shared_limit: bytes a program may have; None where nothing has to fit.
        reads, writes: bytes asked of HBM, by `io_model`.
        flops: of the matrix products, masked pairs of visited tiles included.
        flags: the features compiled in, as the kernel's constexprs call them.
        splits: programs that share the keys of one tile of rows.
    """

    kernel: str
    part: Literal["forward", "backward"]
    programs: int
    waves: int | None
    tile: TileShape
    num_warps: int
    num_stages: int
    shared: int | None
    shared_limit: int | None
    reads: int
    writes: int
    flops: int
    flags: tuple[str, ...] = ()
    splits: int = 1


@dataclass(frozen=True, repr=False)
class Explanation:
    """What would run, and why. `print` it, or take its fields.

    Args:
        impl: "triton", "tiled" or "reference"; "hopper" if just those kernels were asked for. Which
            kernels "triton" means here, the launches say.
        device: where, in words.
        gpu: what is known of the GPU; None on a CPU.
        gradients: the inputs whose gradient is wanted, of "q", "k", "v" and "sink".
        launches: Triton kernels in order; none for the torch implementations.
        tile: the tile of the torch loops; None otherwise.
        forward, backward: bytes asked of HBM by each pass, by `io_model`; None where that has no
            model of it, or nothing runs.
        reasons: why it is so, each in both languages.
        refusal: the error `flash_attention` would raise instead; None if it runs.
    """

    problem: AttentionProblem
    impl: Implementation
    device: Text
    gpu: GPU | None
    gradients: tuple[str, ...]
    launches: tuple[Launch, ...]
    tile: TileShape | None
    forward: Traffic | None
    backward: Traffic | None
    reasons: tuple[Text, ...]
    refusal: FaError | None = None

    @property
    def forward_flops(self) -> int:
        """Useful FLOPs of the forward pass."""
        return forward_flops(self.problem)

    @property
    def backward_flops(self) -> int:
        """Useful FLOPs of a whole backward pass; 0 if no gradient is wanted."""
        return backward_flops(self.problem) if self.gradients else 0

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield self._title
        yield f"  {wording.problem(self.problem)}"
        for launch in self.launches:
            yield f"{say(wording.PARTS[launch.part])}: {launch.kernel}"
            yield from (f"  {line}" for line in _details(launch, self.gpu))
        yield from self._totals()
        yield say(wording.WHY)
        yield from (f"  - {say(reason)}" for reason in self.reasons)

    @property
    def _title(self) -> str:
        if self.refusal is not None:
            return say(wording.REFUSED, device=say(self.device), error=self.refusal)
        return say(wording.RUNS, impl=say(wording.IMPLS[self.impl]), device=say(self.device))

    def _totals(self) -> Iterator[str]:
        passes = [(wording.FORWARD, self.forward, self.forward_flops)]
        if self.gradients:
            passes.append((wording.BACKWARD, self.backward, self.backward_flops))
        for title, traffic, flops in passes:
            if traffic is not None:
                yield say(
                    title,
                    reads=amount(traffic.reads),
                    writes=amount(traffic.writes),
                    flops=flop(flops),
                )

    def _repr_markdown_(self) -> str:
        """A table of the launches and a list of the reasons, as Jupyter shows them."""
        lines = [f"**{self._title}**", "", f"`{wording.problem(self.problem)}`", ""]
        if self.launches:
            lines += [f"| {' | '.join(say(head) for head in wording.HEADS)} |"]
            lines += ["|---|" + "---:|" * (len(wording.HEADS) - 1)]
            lines += [f"| {' | '.join(_cells(launch))} |" for launch in self.launches] + [""]
        lines += [f"- {line}" for line in self._totals()]
        return "\n".join([*lines, *(f"- {say(reason)}" for reason in self.reasons)])


def _details(launch: Launch, gpu: GPU | None) -> Iterator[str]:
    yield say(
        wording.TILE if launch.shared is not None else wording.ROWS,
        m=launch.tile.block_m,
        n=launch.tile.block_n,
        warps=launch.num_warps,
        stages=launch.num_stages,
    )
    if launch.shared is not None and launch.shared_limit is not None:
        yield say(wording.SHARED, shared=amount(launch.shared), limit=amount(launch.shared_limit))
    if launch.waves is None or gpu is None:
        yield say(wording.PROGRAMS, programs=whole(launch.programs))
    else:
        yield say(
            wording.WAVE if launch.waves == 1 else wording.WAVES,
            programs=whole(launch.programs),
            sms=gpu.sms,
            waves=whole(launch.waves),
        )
    yield say(
        wording.MOVED,
        reads=amount(launch.reads),
        writes=amount(launch.writes),
        flops=flop(launch.flops),
    )
    if launch.flags:
        yield say(wording.FLAGS, flags=", ".join(launch.flags))


def _cells(launch: Launch) -> tuple[str, ...]:
    return (
        f"`{launch.kernel}`",
        _sides(launch),
        str(launch.num_warps),
        str(launch.num_stages),
        "" if launch.shared is None or launch.shared_limit is None else amount(launch.shared),
        whole(launch.programs),
        "" if launch.waves is None else whole(launch.waves),
        amount(launch.reads),
        amount(launch.writes),
        flop(launch.flops),
    )


def _sides(launch: Launch) -> str:
    rows = str(launch.tile.block_m)
    return rows if launch.shared is None else f"{rows} × {launch.tile.block_n}"
