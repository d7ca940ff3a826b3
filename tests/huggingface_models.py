"""Tiny models of transformers with random weights, offline, and what is done with them.

transformers is imported where it is first needed: collecting tests must not cost seconds.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

VOCABULARY = 97
WINDOW = 5  # shorter than every sequence
#: Weights this large make attention far from uniform, so that a wrong mask or scale shows.
SHARED = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,  # tied, a random model repeats its last token for ever
}
HYBRID = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
GEMMA = {**HYBRID, "query_pre_attn_scalar": 8}  # a scale that is not 1 / sqrt(head_dim)
ROPE = {"rope_type": "default", "rope_theta": 10_000.0}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "gemma2": ("Gemma2", {**GEMMA, "attn_logit_softcapping": 1.0}),
    "gemma3": ("Gemma3", GEMMA),
    "mistral": ("Mistral", {"sliding_window": WINDOW}),
    "qwen2": ("Qwen2", {**HYBRID, "use_sliding_window": True}),
    "gpt-oss": (
        "GptOss",
        {**HYBRID, "num_local_experts": 2, "num_experts_per_tok": 2, "rope_parameters": ROPE},
    ),
}


@functools.cache
def causal_model(name: str, dtype: torch.dtype = torch.float32) -> Any:
    """The model, in evaluation mode; every call returns the same one."""
    return build(name, dtype)


def build(name: str, dtype: torch.dtype = torch.float32, **changes: Any) -> Any:
    """A new model; the same weights for the same name, in every dtype those of `dtype`."""
    import transformers

    family, own = MODELS[name]
    config_class = f"{family}TextConfig" if family == "Gemma3" else f"{family}Config"
    config = getattr(transformers, config_class)(**{**SHARED, **own, **changes})
    torch.manual_seed(0)
    model = getattr(transformers, f"{family}ForCausalLM")(config)
    if name == "gpt-oss":
        model.set_experts_implementation("eager")  # the others know no float64
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:  # norms, biases, sinks: not all 0 or 1
                parameter.add_(0.3 * torch.randn_like(parameter))
            parameter.copy_(parameter.to(torch.bfloat16))  # exact in every dtype
    return model.to(dtype).eval()


@contextmanager
def attention(model: Any, implementation: str) -> Iterator[Any]:
    """The model under an attention implementation."""
    model.set_attn_implementation(implementation)
    try:
        yield model
    finally:
        model.set_attn_implementation("eager")


def tokens(batch: int = 2, length: int = 12) -> Tensor:
    return torch.randint(3, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(1))


def padding(side: str, length: int = 12) -> Tensor | None:
    """[2, length]: three and five tokens of padding on a side, or None."""
    if side == "none":
        return None
    lengths, places = torch.tensor([[length - 3], [length - 5]]), torch.arange(length)
    valid = places < lengths
    return (valid if side == "right" else valid.flip(1)).long()


def spans(side: str = "none", batch: int = 2, length: int = 12) -> list[tuple[int, int, int]]:
    """(row, start, stop) of the tokens that count in `tokens()` under `padding(side)`."""
    mask = padding(side, length)
    if mask is None:
        return [(row, 0, length) for row in range(batch)]
    starts, counts = mask.argmax(1).tolist(), mask.sum(1).tolist()
    return [(row, starts[row], starts[row] + counts[row]) for row in range(len(mask))]


def train_step(
    model: Any, implementation: str, parts: list[tuple[int, int, int]], **inputs: Any
) -> dict[str, Tensor]:
    """Logits of the tokens that count, the loss, and the gradient of every parameter, by name.

    Args:
        parts: (row, start, stop) of each sequence. Its first token is nobody's to predict.
    """
    ids = inputs["input_ids"]
    labels = torch.full_like(ids, -100)
    for row, start, stop in parts:
        labels[row, start + 1 : stop] = ids[row, start + 1 : stop]
    model.zero_grad(set_to_none=True)
    with attention(model, implementation):
        out = model(**{"labels": labels, "use_cache": False, **inputs})
        out.loss.backward()
    logits = [out.logits.detach()[row, start:stop] for row, start, stop in parts]
    return {"logits": torch.cat(logits), "loss": out.loss.detach(), **gradients(model)}


def true_step(
    name: str, parts: list[tuple[int, int, int]], ids: Tensor, positions: Tensor | None = None
) -> dict[str, Tensor]:
    """The same in float64, each sequence alone: no padding, no packing, nothing to mask but time.

    Args:
        positions: [B, N]; the place in the row if None. Told apart from 0 they change rounding only.
    """
    model = causal_model(name, torch.float64)
    model.zero_grad(set_to_none=True)
    predicted = sum(stop - start - 1 for _, start, stop in parts)
    logits, total = [], torch.zeros((), dtype=torch.float64)
    places = torch.arange(ids.shape[1]).expand_as(ids) if positions is None else positions
    for row, start, stop in parts:
        own = ids[row : row + 1, start:stop]
        out = model(
            own, labels=own, position_ids=places[row : row + 1, start:stop], use_cache=False
        )
        share = out.loss * (stop - start - 1) / predicted
        share.backward()
        logits.append(out.logits.detach()[0])
        total += share.detach()
    return {"logits": torch.cat(logits), "loss": total, **gradients(model)}


def gradients(model: Any) -> dict[str, Tensor]:
    """The gradient of every parameter, none missing."""
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    missing = [name for name, gradient in found.items() if gradient is None]
    assert not missing
    return found


def assert_as_good(
    ours: dict[str, Tensor], eager: dict[str, Tensor], truth: dict[str, Tensor]
) -> None:
    """Every result as near to float64 as eager is: twice its error, plus rounding.

    The implementations round in another order and nothing else, so their errors have one size.
    The last term is for entries that eager happens to hit: an error of one unit in a layer's
    attention passes some thirty operations on its way to the results.
    """
    assert ours.keys() == eager.keys() == truth.keys()
    for name, right in truth.items():
        got, plain = ours[name], eager[name]
        assert got.isfinite().all(), name
        unit = torch.finfo(got.dtype).eps * right.abs().max().item()
        allowed = 2 * (plain.double() - right.double()).abs().max().item() + 32 * unit
        error = (got.double() - right.double()).abs().max().item()
        assert error <= allowed, f"{name}: error {error:.2e}, allowed {allowed:.2e}"
