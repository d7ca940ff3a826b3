"""The operator `fa_toolkit::decode`, as PyTorch's compiler and autograd see it.

Every implementation runs behind it, so shapes for tracing and the refusal of gradients exist once.
Chooses nothing: that is `decoding`.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor

from .errors import BackendUnavailable
from .language import Text
from .reference.cache import check_values, decode_problem

_SCHEMA = (
    "(Tensor q, Tensor k_cache, Tensor v_cache, Tensor seq_lens, Tensor? block_table, "
    "Tensor? sink, bool causal, SymInt left, SymInt right, float softcap, float? scale, "
    "SymInt? num_splits, bool validate, str impl) -> (Tensor, Tensor)"
)


class DecodeOptions(NamedTuple):
    """What the operator takes besides tensors, in the order of its schema.

    Args:
        left, right: the window, -1 for unbounded.
        softcap: 0 for none.
        scale: None for 1/sqrt(D).
        num_splits: None for as many as suit.
        validate: look at the values of seq_lens and block_table first.
    """

    causal: bool = True
    left: int = -1
    right: int = -1
    softcap: float = 0.0
    scale: float | None = None
    num_splits: int | None = None
    validate: bool = False
    impl: str = "tiled"

    @property
    def keywords(self) -> dict[str, Any]:
        """As the implementation takes them; the reference knows no splits."""
        window = None if self.left < 0 and self.right < 0 else (self.left, self.right)
        keywords = {"causal": self.causal, "window": window, "softcap": self.softcap}
        splits = {} if self.impl == "reference" else {"num_splits": self.num_splits}
        return keywords | splits | {"scale": self.scale}


def _function(impl: str) -> Any:
    home, name = {
        "reference": ("reference", "decode_attention"),
        "tiled": ("tiled", "flash_decode"),
        "triton": ("kernels", "flash_decode"),
    }[impl]
    return getattr(importlib.import_module(f".{home}", __package__), name)


def _decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    seq_lens: Tensor,
    block_table: Tensor | None,
    sink: Tensor | None,
    *options: Any,
) -> tuple[Tensor, Tensor]:
    """(o, lse) for q [B, Nq, Hq, D], laid out as `_fake` says whichever implementation runs."""
    settings = DecodeOptions(*options)
    decode = _function(settings.impl)
    if settings.validate:
        mask = {name: settings.keywords[name] for name in ("causal", "window")}
        problem = decode_problem(q, k_cache, v_cache, seq_lens, block_table, sink=sink, **mask)
        check_values(problem, k_cache, seq_lens, block_table)
    with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
        o, lse = decode(
            q, k_cache, v_cache,
            seq_lens=seq_lens, block_table=block_table, sink=sink, **settings.keywords,
        )  # fmt: skip
    # no copies but for the reference
    return o.contiguous(), lse.transpose(1, 2).contiguous().transpose(1, 2)


def _fake(q: Tensor, k_cache: Tensor, v_cache: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    kind = torch.float64 if q.dtype == torch.float64 else torch.float32
    batch, len_q, heads, _ = q.shape
    o = q.new_empty(batch, len_q, heads, v_cache.shape[-1])
    return o, q.new_empty(batch, len_q, heads, dtype=kind).transpose(1, 2)


def refuse_gradients(*_: Any, **__: Any) -> NoReturn:
    """Say that decoding has no gradients, and what has.

    Raises:
        BackendUnavailable: always.
    """
    raise BackendUnavailable(
        "flash_decode",
        expected=Text("a call without gradients", "不求梯度的调用"),
        got=Text("an input that requires a gradient", "有输入要求梯度"),
        hint=Text(
            "torch.no_grad(), or flash_attention, which has gradients",
            "torch.no_grad()，或改用有梯度的 flash_attention",
        ),
    )


def refuse_decode_transforms() -> NoReturn:
    """Say that vmap, forward-mode differentiation and the transforms of torch.func stop here.

    Raises:
        BackendUnavailable: always.
    """
    raise BackendUnavailable(
        "flash_decode",
        expected=Text("a plain call", "普通调用"),
        got=Text(
            "a call inside vmap, forward-mode AD or another transform of torch.func",
            "在 vmap、前向模式微分或 torch.func 变换中调用",
        ),
        hint=Text("sequences as the first axis of q and of seq_lens", "把序列作为 q 与 seq_lens 的第一个维度"),
    )  # fmt: skip


# not `torch.library.custom_op`, for the reason given in `operator`; that file defines the namespace
_LIBRARY: Any = torch.library.Library("fa_toolkit", "FRAGMENT")  # type: ignore[no-untyped-call]
_LIBRARY.define(f"decode{_SCHEMA}", tags=(torch.Tag.pt2_compliant_tag,))
_LIBRARY.impl("decode", _decode, "CompositeExplicitAutograd")
torch.library.register_fake("fa_toolkit::decode", _fake, lib=_LIBRARY)
# at the moment a graph would be recorded, not at its backward: nobody waits for the end of a step
torch.library.register_autograd(
    "fa_toolkit::decode", refuse_gradients, setup_context=refuse_gradients, lib=_LIBRARY
)
decode_op = torch.ops.fa_toolkit.decode.default
