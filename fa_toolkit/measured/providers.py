"""Who is measured: one id for each implementation, in records, tables and plots. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..language import Text, say

#: id -> what it is called
PROVIDERS: Mapping[str, Text] = MappingProxyType(
    {
        "ours": Text("ours", "本工具包"),
        "ours_hopper": Text("ours, for Hopper", "本工具包，Hopper 版"),
        "ours_readable": Text("ours, readable", "本工具包，可读版"),
        "ours_tiled": Text("ours, tiled torch", "本工具包，分块 torch"),
        "tutorial": Text("Triton tutorial 06", "Triton 教程 06"),
        "tutorial_ws": Text("tutorial 06, WS", "教程 06，warp 专门化"),
        "fa3": Text("FA3", "FA3"),
        "fa3_xformers": Text("FA3 (xformers)", "FA3 (xformers)"),
        "fa4": Text("FA4", "FA4"),
        "flash_attn": Text("flash-attn 2", "flash-attn 2"),
        "xformers": Text("xformers", "xformers"),
        "flashinfer": Text("flashinfer", "flashinfer"),
        "flex": Text("FlexAttention", "FlexAttention"),
        "sdpa_cudnn": Text("SDPA cuDNN", "SDPA cuDNN"),
        "sdpa_flash": Text("SDPA flash (FA2)", "SDPA flash (FA2)"),
        "sdpa_efficient": Text("SDPA efficient", "SDPA efficient"),
        "sdpa_math": Text("SDPA math", "SDPA math"),
        "eager": Text("eager", "eager"),
    }
)

#: functions of ours that `fa bench --also` times -> the id under which they are kept
FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "fa_toolkit.bench.ours_by_name:hopper": "ours_hopper",
        "fa_toolkit.bench.ours_by_name:readable": "ours_readable",
    }
)

#: What is ours, so that `peers()` can leave it out.
OURS = frozenset({"ours", "ours_hopper", "ours_readable", "ours_tiled"})


def label(provider: str) -> str:
    """The name of a provider in the language in force; an unknown one is called as it came."""
    return say(PROVIDERS.get(provider, provider))
