"""What the operator cannot do for a model is refused, and so is a transformers it does not know."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_models import attention, build, causal_model, padding, tokens

import fa_toolkit as fa
from fa_toolkit.errors import ArgumentError, BackendUnavailable, ShapeError

pytest.importorskip("transformers.cache_utils")

#: Keywords of layers that the attention function reads from **kwargs, or that mean nothing to it.
READ = {"cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", "position_ids"}
READ |= {"deterministic"}
EMPTY = torch.empty(2, 12, 0)


@pytest.fixture(scope="module", autouse=True)
def registered() -> str:
    return fa.huggingface.register()


def call(**keywords: Any) -> Any:
    """One call of the attention function, without a mask unless given."""
    from fa_toolkit.huggingface.attention import attention_forward

    q = torch.randn(2, 4, 12, 16)
    keywords = {"attention_mask": None, **keywords}
    return attention_forward(torch.nn.Module(), q, q, q, **keywords)


def mask(builder: str = "create_causal_mask", tokens: Any = None, **keywords: Any) -> Any:
    """The mask a model of this configuration would build for [2, 12] tokens."""
    from transformers import masking_utils

    changes = {key: keywords.pop(key) for key in ("attention_chunk_size",) if key in keywords}
    config = build("mistral", num_hidden_layers=1, **changes).config
    config._attn_implementation = "fa_toolkit"
    return getattr(masking_utils, builder)(config, EMPTY, tokens, cache=None, **keywords)


def test_registering_twice_is_registering_once() -> None:
    from transformers.masking_utils import AttentionMaskInterface
    from transformers.modeling_utils import AttentionInterface

    before = AttentionInterface()["fa_toolkit"], AttentionMaskInterface()["fa_toolkit"]
    assert fa.huggingface.register() == "fa_toolkit" == fa.huggingface.NAME
    assert before == (AttentionInterface()["fa_toolkit"], AttentionMaskInterface()["fa_toolkit"])


def test_a_model_is_built_with_it_by_name() -> None:
    model = build("llama", attn_implementation="fa_toolkit")
    assert model.config._attn_implementation == "fa_toolkit"
    with torch.no_grad():
        ours = model(tokens()).logits
        expected = causal_model("llama")(tokens()).logits
    torch.testing.assert_close(ours, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("found", ["4.57.1", None])
def test_an_old_or_missing_transformers_is_refused(
    found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import PackageNotFoundError

    def version(_: str) -> str:
        if found is None:
            raise PackageNotFoundError
        return found

    monkeypatch.setattr("fa_toolkit.huggingface.version", version)
    with pytest.raises(BackendUnavailable, match=r"fa-toolkit\[huggingface\]") as caught:
        fa.huggingface.register()
    assert fa.huggingface.OLDEST in str(caught.value)
    assert (found or "no such package") in str(caught.value)


def test_a_transformers_that_builds_masks_otherwise_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from transformers import masking_utils

    def other(sliding_window: int) -> Any:
        return lambda b, h, q, k: (k <= q) & (k > q - sliding_window)

    monkeypatch.setattr(masking_utils, "sliding_window_causal_mask_function", other)
    with pytest.raises(BackendUnavailable, match="attention_mask"):
        fa.huggingface.register()


def test_importing_loads_neither_torch_nor_transformers() -> None:
    code = "import fa_toolkit as fa, sys; fa.huggingface.NAME; print(*sys.modules)"
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "fa_toolkit.huggingface" in loaded and not {"torch", "transformers"} & loaded


def refused_names() -> list[str]:
    from fa_toolkit.huggingface.attention import REFUSED

    return list(REFUSED)


@pytest.mark.parametrize("name", refused_names())
def test_what_the_operator_does_not_do_is_refused(name: str) -> None:
    with pytest.raises(BackendUnavailable, match=name):
        call(**{name: torch.ones(1)})
    call(**{name: None})


def test_every_keyword_of_every_layer_is_known() -> None:
    """A new one in a later transformers must be honoured or refused, never swallowed."""
    from fa_toolkit.huggingface.attention import attention_forward

    known = READ | set(refused_names()) | set(inspect.signature(attention_forward).parameters)
    passed = layer_keywords()
    assert {"scaling", "s_aux", "softcap", "position_bias", "indices"} <= passed.keys()
    unknown = {name: files for name, files in passed.items() if name not in known}
    assert not unknown


def layer_keywords() -> dict[str, set[str]]:
    """Keyword -> files, of all calls of a function that came out of `get_interface`."""
    import transformers

    found: dict[str, set[str]] = {}
    for path in Path(transformers.__file__).parent.glob("models/*/modeling_*.py"):
        source = path.read_text(encoding="utf-8")
        if "get_interface(" not in source:
            continue
        callees = set(re.findall(r"^ +(\w+)(?:: \w+)? = \w+\.get_interface\(", source, re.M))
        for callee in callees:
            for match in re.finditer(rf"\b{callee}\(", source):
                for name in keywords_of(source, match.end()):
                    found.setdefault(name, set()).add(path.name)
    return found


def keywords_of(source: str, start: int) -> list[str]:
    """Names before `=` in the call whose parenthesis opens just before `start`."""
    depth, end = 1, start
    outer = []
    while depth:
        character = source[end]
        depth += (character in "([{") - (character in ")]}")
        outer.append(character if depth == 1 else " ")
        end += 1
    return re.findall(r"(\w+)\s*=(?!=)", "".join(outer))


def test_the_keywords_of_a_call_are_read() -> None:
    call = 'f(a, x=g(y=1), z = [k == 2], # w\n u=c["v=1"] if a == b else 0, **rest)'
    assert keywords_of(call, 2) == ["x", "z", "u"]


def test_attention_weights_as_output_are_refused() -> None:
    with (
        attention(causal_model("llama"), "fa_toolkit") as model,
        pytest.raises(BackendUnavailable, match="output_attentions"),
    ):
        model(tokens(), output_attentions=True)


def test_a_mask_of_ones_own_is_refused() -> None:
    own = torch.ones(2, 1, 12, 12, dtype=torch.bool).tril()
    with (
        attention(causal_model("llama"), "fa_toolkit") as model,
        pytest.raises(BackendUnavailable, match=r"\[2, 1, 12, 12\]"),
    ):
        model(tokens(), attention_mask=own)


@pytest.mark.parametrize(
    "keywords",
    [
        {"block_sequence_ids": torch.full((2, 12), -1)},  # images in Gemma 3
        {"or_mask_function": lambda b, h, q, k: q >= 0},  # EmbeddingGemma
        {"and_mask_function": lambda b, h, q, k: k > 1},
    ],
    ids=["blocks", "or", "and"],
)
@pytest.mark.parametrize("builder", ["create_causal_mask", "create_sliding_window_causal_mask"])
def test_masks_with_other_parts_are_refused(builder: str, keywords: dict[str, Any]) -> None:
    with pytest.raises(BackendUnavailable, match="sdpa"):
        mask(builder, **keywords)


def test_chunked_attention_is_refused_once_there_are_two_chunks() -> None:
    one = mask("create_chunked_causal_mask", attention_chunk_size=12)
    assert one.causal and one.window is None
    with pytest.raises(BackendUnavailable, match="attention_chunk_size"):
        mask("create_chunked_causal_mask", attention_chunk_size=11)


def test_padding_between_tokens_under_a_window_is_refused() -> None:
    holes = torch.ones(2, 12, dtype=torch.int64)
    holes[1, 4] = 0
    with pytest.raises(BackendUnavailable, match="left"):
        mask("create_sliding_window_causal_mask", holes)


def test_padding_in_windowed_cross_attention_is_refused() -> None:
    keys, builder = torch.ones(2, 9, dtype=torch.int64), "create_bidirectional_sliding_window_mask"
    keys[0, -1] = 0
    with pytest.raises(BackendUnavailable, match="cross attention"):
        mask(builder, keys, encoder_hidden_states=torch.empty(2, 9, 0))


def test_a_contradiction_about_causality_is_refused() -> None:
    with pytest.raises(ArgumentError, match="is_causal"):
        call(attention_mask=mask(), is_causal=False)
    call(attention_mask=mask(), is_causal=True)


def test_keys_the_mask_does_not_know_are_refused() -> None:
    q, k = torch.randn(2, 4, 12, 16), torch.randn(2, 4, 20, 16)
    from fa_toolkit.huggingface.attention import attention_forward

    with pytest.raises(ShapeError, match="20 keys"):
        attention_forward(torch.nn.Module(), q, k, k, mask())


def test_offsets_are_both_given_and_stand_alone() -> None:
    ends = torch.tensor([0, 12, 24])
    call(cu_seq_lens_q=ends, cu_seq_lens_k=ends)
    with pytest.raises(ArgumentError, match="cu_seq_lens"):
        call(cu_seq_lens_q=ends)
    with pytest.raises(ArgumentError, match="cu_seq_lens"):
        call(attention_mask=mask(tokens=padding("left")), cu_seq_lens_q=ends, cu_seq_lens_k=ends)


@pytest.mark.parametrize(
    "use", [lambda m: torch.zeros(2, 4, 12, 12) + m, lambda m: m + 1, lambda m: m[:, :, :, :5]]
)
def test_a_model_that_calculates_with_its_mask_is_refused(use: Any) -> None:
    """Old modelling code, with attention of its own: our mask would mean nothing to it."""
    with pytest.raises(BackendUnavailable, match="eager"):
        use(mask())
