"""Other kinds of attention in transformers, caches and compilation, on this package's operator."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from huggingface_models import (
    SHARED,
    attention,
    build,
    causal_model,
    padding,
    tokens,
    train_step,
)
from torch import Tensor

import fa_toolkit as fa

pytest.importorskip("transformers.cache_utils")

#: As in test_huggingface.py.
CLOSE = 2e-5


@pytest.fixture(scope="module", autouse=True)
def registered() -> str:
    return fa.huggingface.register()


def both(model: Any, counts: Tensor, output: str, **inputs: Any) -> None:
    """The same outputs from eager and from us, at tokens that count."""
    results = []
    for implementation in ("eager", "fa_toolkit"):
        with attention(model, implementation), torch.no_grad():
            results.append(model(**inputs)[output][counts])
    assert not torch.equal(*results)  # another way of rounding: eager did not run twice
    torch.testing.assert_close(*results, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_encoder_sees_both_ways(side: str) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig(**{**SHARED, "hidden_dropout_prob": 0.0})
    torch.manual_seed(0)
    model, mask = BertModel(config).eval(), padding(side)
    # rows that are padding see the tokens too, as in eager: decoders and encoders may differ in rows
    everything = torch.ones(2, 12, dtype=torch.bool)
    both(model, everything, "last_hidden_state", input_ids=tokens(), attention_mask=mask)


@pytest.mark.parametrize("side", ["none", "left", "right"])
def test_an_encoder_with_a_window_on_both_sides(side: str) -> None:
    from transformers import ModernBertConfig, ModernBertModel

    changes = {"local_attention": 4, "global_attn_every_n_layers": 2, "cls_token_id": 1}
    changes |= {"sep_token_id": 2}
    torch.manual_seed(0)
    config = ModernBertConfig(**{**SHARED, **changes, "head_dim": 8})
    model = ModernBertModel(config).eval()
    mask = padding(side)
    counts = torch.ones(2, 12).bool() if mask is None else mask.bool()
    both(model, counts, "last_hidden_state", input_ids=tokens(), attention_mask=mask)


@pytest.mark.parametrize("length", [12, 7])
def test_cross_attention_leaves_out_the_encoders_padding(length: int) -> None:
    """With 12 queries and 12 keys too, where an unpadding that guesses would drop queries."""
    from transformers import BartConfig, BartModel

    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "init_std": 0.3}
    sizes |= {f"{side}_ffn_dim": 32 for side in ("encoder", "decoder")}
    sizes |= {f"{side}_attention_heads": 4 for side in ("encoder", "decoder")}
    torch.manual_seed(0)
    model = BartModel(BartConfig(**{**SHARED, **sizes})).eval()
    inputs = {"input_ids": tokens(), "attention_mask": padding("right")}
    decoded = {"decoder_input_ids": tokens(length=length), "use_cache": False}
    everything = torch.ones(2, length).bool()
    both(model, everything, "last_hidden_state", **inputs, **decoded)


def test_a_vision_tower_builds_no_mask() -> None:
    from transformers import SiglipVisionConfig, SiglipVisionModel

    config = SiglipVisionConfig(**{**SHARED, "image_size": 16, "patch_size": 4})
    torch.manual_seed(0)
    model = SiglipVisionModel(config).eval()
    everything = torch.ones(2, 16).bool()
    both(model, everything, "last_hidden_state", pixel_values=torch.randn(2, 3, 16, 16))


def test_a_static_cache_is_never_read_past_what_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its empty end is NaN here; the next token goes through `flash_decode`, in every layer."""
    from transformers import StaticCache

    from fa_toolkit.huggingface import attention as door

    lengths: list[list[int]] = []

    def counted(*tensors: Tensor, seq_lens: Tensor, **keywords: Any) -> Any:
        lengths.append(seq_lens.tolist())
        return fa.flash_decode(*tensors, seq_lens=seq_lens, **keywords)

    monkeypatch.setattr(door, "flash_decode", counted)
    with attention(causal_model("llama"), "fa_toolkit") as model, torch.no_grad():
        cache = StaticCache(model.config, max_cache_len=20)
        expected = model(tokens(length=12)).logits[:, 9:]
        got = [model(tokens()[:, :9], cache=cache).logits[:, :0]]
        for layer in cache.layers:
            for states in (layer.keys, layer.values):
                states[:, :, 9:] = torch.nan
        for i in (9, 10):
            got.append(model(tokens()[:, i : i + 1], cache=cache).logits)
        assert lengths == [[10, 10]] * 2 + [[11, 11]] * 2
    with attention(model, "fa_toolkit"):  # with gradients: the differentiable way
        got.append(model(tokens()[:, 11:], cache=cache).logits.detach())
    assert len(lengths) == 4
    torch.testing.assert_close(torch.cat(got, 1), expected, rtol=0, atol=CLOSE)


def test_a_mask_moves_between_devices() -> None:
    """As hooks move it for a model spread over several."""
    from transformers.masking_utils import create_causal_mask

    with attention(causal_model("llama"), "fa_toolkit") as model:
        mask = create_causal_mask(model.config, torch.empty(2, 12, 0), padding("left"), None)
    moved = mask.to("meta", non_blocking=True)
    tensors = [moved.packing.tokens_q, moved.packing.tokens_k, moved.packing.cu_seqlens_q]
    assert all(x.is_meta for x in tensors)
    assert not mask.packing.tokens_q.is_meta and moved.shape == mask.shape


@pytest.mark.slow
# Dynamo looks at the attributes of tensors where it resumes after the mask function
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_a_compiled_model_equals_itself() -> None:
    """Compiled around the mask function, which looks at values; packed and padded too."""
    model = build("gpt-oss", num_hidden_layers=1, layer_types=["sliding_attention"])
    torch.compiler.reset()
    positions = torch.cat([torch.arange(n) for n in (5, 7)])[None]
    cases: list[tuple[dict[str, Any], list[tuple[int, int, int]]]] = [
        ({"input_ids": tokens()}, [(0, 0, 12), (1, 0, 12)]),
        ({"input_ids": tokens(), "attention_mask": padding("left")}, [(0, 3, 12), (1, 5, 12)]),
        ({"input_ids": tokens(1), "position_ids": positions}, [(0, 0, 5), (0, 5, 12)]),
    ]
    for inputs, parts in cases:
        plain = train_step(model, "fa_toolkit", parts, **inputs)
        forward, model.forward = model.forward, torch.compile(model.forward, backend="eager")
        compiled = train_step(model, "fa_toolkit", parts, **inputs)
        model.forward = forward
        torch.testing.assert_close(compiled, plain, rtol=0, atol=CLOSE)


@pytest.mark.slow
def test_a_model_compiles_in_one_graph_once_its_mask_is_built() -> None:
    """As `generate` does for a static cache: the mask first, then the compiled forward."""
    from transformers.masking_utils import create_causal_mask

    model = build("llama", num_hidden_layers=1)
    torch.compiler.reset()
    with attention(model, "fa_toolkit"), torch.no_grad():
        mask = create_causal_mask(model.config, torch.empty(2, 12, 0), None, None)
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        got = compiled(tokens(), attention_mask=mask, use_cache=False).logits
        torch.testing.assert_close(got, model(tokens()).logits, rtol=0, atol=CLOSE)
