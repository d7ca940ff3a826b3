"""Models of transformers give the same results on this package's operator as on their own eager.

Forward, one training step and generated tokens, on the families whose attention differs: plain,
grouped, windowed, capped, with sinks. What is refused stands in test_huggingface_refusals.py.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from huggingface_models import (
    MODELS,
    assert_as_good,
    attention,
    build,
    causal_model,
    padding,
    spans,
    tokens,
    train_step,
    true_step,
)
from torch import Tensor

import fa_toolkit as fa

pytest.importorskip("transformers.cache_utils")
pytestmark = pytest.mark.usefixtures("registered")

#: Logits here are below 10, so float32 rounds them by 1e-6 or less; a wrong mask moves them by 0.1.
CLOSE = 2e-5
LENGTHS = (5, 4, 3)  # of packed sequences


@pytest.fixture(scope="module")
def registered() -> str:
    return fa.huggingface.register()


def compare(
    name: str,
    parts: list[tuple[int, int, int]],
    dtype: torch.dtype = torch.float32,
    **inputs: Any,
) -> None:
    """One training step against eager in the same dtype, both judged by float64."""
    model = causal_model(name, dtype)
    ours, eager = (train_step(model, impl, parts, **inputs) for impl in ("fa_toolkit", "eager"))
    truth = true_step(name, parts, inputs["input_ids"], inputs.get("position_ids"))
    assert_as_good(ours, eager, truth)


@pytest.mark.parametrize("side", ["none", "left", "right"])
@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_equals_eager(name: str, side: str) -> None:
    compare(name, spans(side), input_ids=tokens(), attention_mask=padding(side))


@pytest.mark.parametrize("name", ["gemma2", "gpt-oss"])
def test_a_training_step_equals_eager_in_bfloat16(name: str) -> None:
    inputs = {"input_ids": tokens(), "attention_mask": padding("left")}
    compare(name, spans("left"), torch.bfloat16, **inputs)


@pytest.mark.parametrize("how", ["position_ids", "cu_seq_lens", "cached"])
@pytest.mark.parametrize("name", MODELS)
def test_packed_sequences_do_not_see_each_other(name: str, how: str) -> None:
    """Whichever way they are told apart: judged by each sequence alone, since eager has no other
    than position ids, and those without a cache only."""
    ids, ends = tokens(batch=1), torch.tensor(LENGTHS).cumsum(0).tolist()
    parts = [(0, end - n, end) for n, end in zip(LENGTHS, ends, strict=True)]
    positions = torch.cat([torch.arange(n) for n in LENGTHS])[None]
    offsets = torch.tensor([0, *ends])
    extra: dict[str, Any] = {"position_ids": positions, "use_cache": how == "cached"}
    if how == "cu_seq_lens":  # as DataCollatorWithFlattening hands them over
        longest = max(LENGTHS)
        extra |= {"cu_seq_lens_q": offsets, "cu_seq_lens_k": offsets}
        extra |= {"max_length_q": longest, "max_length_k": longest}
    model = causal_model(name)
    ours = train_step(model, "fa_toolkit", parts, input_ids=ids, **extra)
    eager = train_step(model, "eager", parts, input_ids=ids, position_ids=positions)
    assert_as_good(ours, eager, true_step(name, parts, ids, positions))


def test_rows_may_be_packed_too() -> None:
    positions = torch.cat([torch.arange(n) for n in LENGTHS]).expand(2, -1)
    inputs = {"input_ids": tokens(), "position_ids": positions, "use_cache": False}
    with attention(causal_model("llama"), "eager") as model, torch.no_grad():
        expected = model(**inputs).logits
    with attention(model, "fa_toolkit"), torch.no_grad():
        torch.testing.assert_close(model(**inputs).logits, expected, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("side", ["none", "left"])
@pytest.mark.parametrize("name", MODELS)
def test_generated_tokens_equal_eager(name: str, side: str, cache: str) -> None:
    model, mask = causal_model(name), padding(side)
    keywords: dict[str, Any] = {"max_new_tokens": 8, "min_new_tokens": 8, "do_sample": False}
    keywords |= {"cache_implementation": cache, "attention_mask": mask, "output_logits": True}
    keywords |= {"return_dict_in_generate": True}
    if mask is None:
        keywords["attention_mask"] = torch.ones_like(tokens())
    with attention(model, "eager"):
        eager = model.generate(tokens(), **keywords)
    with attention(model, "fa_toolkit"):
        ours = model.generate(tokens(), **keywords)
    assert ours.sequences.tolist() == eager.sequences.tolist()
    assert len(set(ours.sequences[0, 12:].tolist())) > 2  # not stuck on one token
    torch.testing.assert_close(ours.logits, eager.logits, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("side", ["none", "left"])
@pytest.mark.parametrize("name", MODELS)
def test_prefill_in_chunks_equals_eager(name: str, side: str, cache: str) -> None:
    """The last chunk is longer than the window and crosses its end; then one token, then two."""
    model = causal_model(name)
    with attention(model, "eager"):
        expected = in_chunks(model, side, cache)
    with attention(model, "fa_toolkit"):
        got = in_chunks(model, side, cache)
    torch.testing.assert_close(got, expected, rtol=0, atol=CLOSE)


def in_chunks(model: Any, side: str, cache: str) -> list[Tensor]:
    """Logits at tokens that count, for 12 tokens fed as 3, 6, 1 and 2 to a cache with room for 20."""
    from transformers import DynamicCache, StaticCache

    static = cache == "static"
    past = (
        StaticCache(model.config, max_cache_len=20) if static else DynamicCache(config=model.config)
    )
    mask, ids, done, logits = padding(side), tokens(), 0, []
    for size in (3, 6, 1, 2):
        seen = slice(done, done + size)
        known = None if mask is None else mask[:, : seen.stop]
        with torch.no_grad():
            out = model(ids[:, seen], attention_mask=known, cache=past).logits
        logits.append(out if mask is None else out[mask[:, seen].bool()])
        done += size
    return logits


def test_padding_between_tokens_is_left_out() -> None:
    """As after a padded answer in a chat: keys keep their order, so causal stays causal."""
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[0, 3:6] = mask[0, 8] = mask[1, 5] = 0
    with attention(causal_model("llama"), "eager") as model, torch.no_grad():
        expected = model(tokens(), attention_mask=mask).logits[mask.bool()]
    with attention(model, "fa_toolkit"), torch.no_grad():
        got = model(tokens(), attention_mask=mask).logits[mask.bool()]
    torch.testing.assert_close(got, expected, rtol=0, atol=CLOSE)


def test_a_decoder_without_causality() -> None:
    """`config.is_causal = False` turns a decoder into an encoder."""
    model = copy.deepcopy(causal_model("llama"))
    model.config.is_causal = False
    mask = padding("right")
    keywords = {"attention_mask": mask, "use_cache": False}
    with torch.no_grad():
        expected = model(tokens(), **keywords).logits[mask.bool()]
        model.set_attn_implementation("fa_toolkit")
        got = model(tokens(), **keywords).logits[mask.bool()]
    torch.testing.assert_close(got, expected, rtol=0, atol=CLOSE)


def test_padding_gives_zero() -> None:
    from transformers.masking_utils import create_causal_mask

    layer = causal_model("llama").model.layers[0].self_attn
    q, k = torch.randn(2, 4, 12, 16), torch.randn(2, 2, 12, 16)
    with attention(causal_model("llama"), "fa_toolkit") as model:
        mask = create_causal_mask(model.config, torch.empty(2, 12, 0), padding("left"), None)
        o, weights = function()(layer, q, k, k, mask)
    assert weights is None
    assert o.shape == (2, 12, 4, 16) and o.is_contiguous()
    zero = (o == 0).flatten(2).all(-1)
    assert torch.equal(zero, padding("left") == 0)


def function() -> Any:
    """The attention function, fetched as a layer fetches it."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    return ALL_ATTENTION_FUNCTIONS.get_interface("fa_toolkit", None)


@pytest.mark.parametrize("causal", [True, False])
def test_without_a_mask_the_layer_decides(causal: bool) -> None:
    """Vision towers build none: `is_causal` and `sliding_window` of the call, then of the module."""
    module = torch.nn.Module()
    module.is_causal = causal
    q = torch.randn(1, 4, 6, 16)
    plain, _ = function()(module, q, q, q, None)
    said, _ = function()(torch.nn.Module(), q, q, q, None, is_causal=causal)
    near, _ = function()(module, q, q, q, None, sliding_window=2)
    o = fa.flash_attention(q, q, q, causal=causal).transpose(1, 2)
    window = (1, 0) if causal else (1, 1)
    narrow = fa.flash_attention(q, q, q, causal=causal, window=window).transpose(1, 2)
    assert torch.equal(plain, o) and torch.equal(said, o) and torch.equal(near, narrow)
    assert not torch.equal(o, narrow)


@pytest.mark.parametrize("side", ["none", "left"])
def test_dropout_is_for_training_and_replayed_by_checkpointing(side: str) -> None:
    model = build("gpt-oss", attention_dropout=0.4)
    inputs = {"input_ids": tokens(), "attention_mask": padding(side)}
    steps = {}
    calm = train_step(model, "fa_toolkit", spans(side), **inputs)
    for name in ("one", "two", "checkpointed"):
        model.train()
        if name == "checkpointed":
            model.activation_checkpointing_enable()
        torch.manual_seed(3)
        steps[name] = train_step(model, "fa_toolkit", spans(side), **inputs)
        assert not torch.equal(steps[name]["loss"], calm["loss"])
    for name in ("two", "checkpointed"):
        for key, value in steps["one"].items():
            assert torch.equal(steps[name][key], value), key
    torch.testing.assert_close(
        train_step(model.eval(), "fa_toolkit", spans(side), **inputs), calm, rtol=0, atol=0
    )


def test_a_layer_in_evaluation_drops_nothing() -> None:
    """Whatever rate it hands over, as in eager."""
    module, q = torch.nn.Module().eval(), torch.randn(1, 4, 6, 16)
    o, _ = function()(module, q, q, q, None, dropout=0.5)
    assert torch.equal(o, function()(module, q, q, q, None)[0])


def test_a_sink_has_a_gradient() -> None:
    name, parts = "gpt-oss", spans()
    step = train_step(causal_model(name), "fa_toolkit", parts, input_ids=tokens())
    sinks = [g for key, g in step.items() if key.endswith("sinks")]
    assert len(sinks) == 2 and all(g.count_nonzero() == len(g) for g in sinks)
