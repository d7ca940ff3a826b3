"""Whatever a picture is asked for, it is drawn or refused in one sentence of ours."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import pytest
import torch
from made_up_timeline import TIMELINE, stamps

from fa_toolkit import measured, tiled, viz
from fa_toolkit.errors import FaError
from fa_toolkit.language import using
from fa_toolkit.problem import AttentionProblem, TileShape

ODD = (
    None, -1, 0, 2.5, float("nan"), "nope", b"x", [], {}, [float("nan")], [1, "a"], (), object(),
    torch.randn(3), torch.tensor(2), True,
)  # fmt: skip


def _trace() -> Any:
    q, k, v = (torch.randn(1, 1, 8, 4) for _ in range(3))
    return tiled.trace_flash_forward(q, k, v, tile=TileShape(4, 4), keep_values=True)


def _draw(n: int = 3, *, theme: str = "light", lang: str = "en", figure: Any = None) -> Any:
    return viz.softmax_bars(range(n), 1)


#: What a function cannot do without; the others can do without anything.
NEEDED: dict[str, Callable[[], dict[str, Any]]] = {
    "ablation_bars": lambda: {
        "rows": measured.ablations(pass_="forward", head_dim=64, causal=True)
    },
    "peak_memory": lambda: {
        "rows": [row for row in measured.memory(run_id="h200-memory") if row.pass_ == "forward"]
    },
    "pointer_grid": lambda: {"shape": (8, 8), "block": (4, 4)},
    "rate_lines": lambda: {
        "rows": measured.peers(pass_="forward", head_dim=128, causal=True, regime="burst")
    },
    "roofline_figure": lambda: {"gpu": "h200"},
    "score_tiles": lambda: {"problem": AttentionProblem(len_q=64, len_k=64)},
    "scrub": lambda: {"draw": _draw, "n": [2, 3]},
    "stage_timeline": lambda: {"timeline": TIMELINE, "stamps": stamps()},
    "tile_walk": lambda: {"trace": _trace()},
    "traffic_bars": lambda: {"problem": AttentionProblem(len_q=64, len_k=64)},
}
#: Made from files and recordings, whose own tests show what they refuse.
ELSEWHERE = {"kernel_view", "notebook_page"}
FUNCTIONS = [n for n in viz.__all__ if callable(getattr(viz, n)) and n not in ELSEWHERE]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_odd_value_is_drawn_or_refused_in_a_sentence(name: str) -> None:
    function = getattr(viz, name)
    good = NEEDED.get(name, dict)()
    broken = []
    for parameter in inspect.signature(function).parameters:
        if parameter in ("figure", "controls"):
            continue
        for odd in ODD:
            try:
                with using("en"):
                    function(**good | {parameter: odd})
            except FaError as error:
                if "\n" in str(error) or len(str(error)) > 500:
                    broken.append(f"{parameter}={odd!r}: {error}")
            except Exception as error:
                broken.append(f"{parameter}={odd!r}: {type(error).__name__}: {error}")
            plt.close("all")
    assert not broken, "\n".join(broken)
