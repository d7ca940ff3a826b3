"""Live widgets of the book: their modules as files, their state in the page. Runs nothing.

Every player draws from its state alone (`viz.player`), so a page that has the module and the state
needs no kernel. Modules are written as ordinary scripts, since a browser refuses to load a module
from a file: address.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from ..language import Text
from ..viz import assets
from ..viz.player.widget import _SYNCED as SYNCED
from ..viz.player.widget import Player

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
_SCRIPT = """\
"use strict";
(() => {{
{module}
(window.faPlayers ??= {{}})[{name}] = widget;
}})();
"""


@dataclass(frozen=True)
class Asset:
    """A file of the site; its name holds a hash of its text, so that no browser keeps an old one."""

    name: str
    text: str

    @classmethod
    def of(cls, stem: str, ending: str, text: str) -> Asset:
        """An asset named after its text."""
        return cls(f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.{ending}", text)


@functools.cache
def kind_of(identity: str) -> type[Player] | None:
    """The class behind a widget's name if it is a player; None for a widget that needs a kernel."""
    import pydoc

    found = pydoc.locate(identity)
    return found if isinstance(found, type) and issubclass(found, Player) else None


@functools.cache
def files_of(kind: type[Player]) -> tuple[Asset, Asset]:
    """The script and the style sheet of a player."""
    module = str(kind._esm).replace("export default", "const widget =")
    script = _SCRIPT.format(module=module, name=json.dumps(kind.__name__))
    stem = kind.__name__
    return Asset.of(stem, "js", script), Asset.of(stem, "css", str(kind._css))


def states(notebook: Any) -> Mapping[str, Any]:
    """The widgets of an executed notebook by their model's name."""
    found: Mapping[str, Any] = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    return found


def played(model: Mapping[str, Any]) -> type[Player] | None:
    """The player a model belongs to; None if the widget would be dead without a kernel."""
    return kind_of(str(model["state"].get("_anywidget_id", "")))


def place(model: Mapping[str, Any], kind: type[Player], text: str, words: Text | str) -> str:
    """The HTML in which a player unfolds; without scripts, its steps in words.

    Args:
        text: every step in words.
        words: the sentence before them.
    """
    state = {name: model["state"][name] for name in SYNCED if name in model["state"]}
    buffers = {tuple(one["path"]): one["data"] for one in model.get("buffers", [])}
    blob = buffers.get(("blob",), "")
    state["blob"] = blob if isinstance(blob, str) else base64.b64encode(blob).decode("ascii")
    data = json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<div class="bk-player" data-player="{kind.__name__}">'
        f"<noscript><p>{escape(str(words))}</p><pre>{escape(text)}</pre></noscript>"
        f'<script type="application/json">{data}</script></div>'
    )


@functools.cache
def model_source() -> str:
    """The model that every player of a page is given."""
    return assets.plain("bare_model.js")
