"""A kernel's source beside its trace: the line that runs, and what it does to the tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...language import Text
from .. import taking

if TYPE_CHECKING:
    from .widget import KernelView


@taking.takes(predict=taking.yes_or_no)
def kernel_view(
    recording: Any,
    source: Any,
    *,
    first_line: int = 1,
    beside: Any = None,
    names: tuple[str, ...] = (),
    kernel: str | None = None,
    at: tuple[int, ...] | None = None,
    cut: str = "labels",
    start: str | None = None,
    predict: bool = True,
    lang: str | None = None,
) -> KernelView:
    """Play a recorded kernel: its lines light up as they run, loads and stores appear on the tensors.

    Lanes that the mask switches off stand outside their tensor, dashed. The widget stops once and
    asks how many there are. `fa.course.kernel_view` records a kernel and opens this.

    Args:
        recording: what `kernels.record_lines` returned; of `kernels.record`, loads and stores only.
        source: the text of the file the kernel stands in, or a part of it from `first_line` on.
        beside: a second recording of the same kernel, such as one with other blocks.
        names: what the recordings are called, such as "4 × 4".
        kernel: which kernel, if the recording holds several.
        at: indices of the axes that are not drawn, such as (batch, head).
        cut: what a step is: "programs", "labels" (the parts between `# step:` comments) or "lines".
        start: open at the first step of this labelled part, such as "update".
        predict: stop at the question.

    Raises:
        ArgumentError: if `recording` is none, `source` does not hold its lines, or nothing ran; if
            there is no such part.
    """
    from .widget import KernelView

    recordings = [recording] if beside is None else [recording, beside]
    for one in recordings:
        if not all(hasattr(one, name) for name in ("accesses", "visits")):
            raise ArgumentError(
                "recording",
                expected=Text("a recording of a kernel", "kernel 的录制"),
                got=type(one).__name__,
                hint="kernels.record_lines(kernels.flash_forward, q, k, v)",
            )
    if not isinstance(source, str):
        expected = Text("the text of the kernel's file", "kernel 所在文件的文本")
        raise ArgumentError("source", expected=expected, got=type(source).__name__)
    names = names or (("",) if beside is None else ("A", "B"))
    if len(names) != len(recordings):
        raise ArgumentError("names", expected=str(len(recordings)), got=str(len(names)))
    return KernelView(
        recordings, source, names=names, first_line=first_line, kernel=kernel, at=at, cut=cut,
        start=start, predict=predict, lang=lang,
    )  # fmt: skip
