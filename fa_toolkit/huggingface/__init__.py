"""`attn_implementation="fa_toolkit"`: this package's operator inside Hugging Face transformers.

`register()` is the one thing to call. Importing this package loads neither torch nor transformers.
Nothing is approximated and nothing falls back: a model that asks for more than the operator does is
refused with the reason. What that is stands in `attention`, what a mask may say in `patterns`.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version

from ..errors import BackendUnavailable
from ..language import Text

NAME = "fa_toolkit"
#: The oldest release whose mask functions are called as `mask` expects; tried, as 5.12 and 5.24 are.
OLDEST = "5.6"

__all__ = ["NAME", "register"]


def register() -> str:
    """Make `attn_implementation="fa_toolkit"` known to transformers; calling it again is harmless.

    It registers two functions under one name: the attention function, which every layer calls, and
    the mask function, which a model calls once per forward pass and kind of mask. Models built
    before the call can switch with `model.set_attn_implementation("fa_toolkit")`.

    Returns:
        The name, ready to be passed as `attn_implementation`.

    Raises:
        BackendUnavailable: if transformers is missing, too old, or builds its masks in a way this
            release does not know.
    """
    _check_version()
    modeling = importlib.import_module("transformers.modeling_utils")
    masking = importlib.import_module("transformers.masking_utils")
    patterns = importlib.import_module(".patterns", __name__)
    attention = importlib.import_module(".attention", __name__)
    mask = importlib.import_module(".mask", __name__)
    patterns.check_reader()
    modeling.AttentionInterface.register(NAME, attention.attention_forward)
    masking.AttentionMaskInterface.register(NAME, mask.mask_function)
    return NAME


def _check_version() -> None:
    try:
        found = version("transformers")
    except PackageNotFoundError:
        found = ""
    if not found or Version(found) < Version(OLDEST):
        raise BackendUnavailable(
            "transformers",
            expected=Text(f"version {OLDEST} or newer", f"{OLDEST} 或更新的版本"),
            got=found or Text("no such package", "没有安装"),
            hint='pip install "fa-toolkit[huggingface]"',
        )
