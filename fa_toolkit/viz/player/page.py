"""A player as a page of its own: one HTML file, no kernel, no network, nothing else to load."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping
from typing import Any

from ...language import Language
from .. import assets
from ..palette import Theme, check_theme

_SHOW = """
const model = bareModel(JSON.parse(document.getElementById("fa-state").textContent));
const asked = document.documentElement.dataset.theme;
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => {
  const theme = asked === "auto" ? (dark.matches ? "dark" : "light") : asked;
  document.body.dataset.jpThemeLight = String(theme === "light");
};
dark.addEventListener("change", paint);
paint();
const place = document.getElementById("fa-place");
widget.render({ model, el: place });
const frame = window.frameElement;
if (frame) {
  const fit = () => { frame.style.height = document.documentElement.scrollHeight + "px"; };
  new ResizeObserver(fit).observe(place);
}
"""
_PAGE = """<!doctype html>
<html lang="{lang}" data-theme="{theme}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{css}
html, body {{ margin: 0; }}
body {{ background: {light}; }}
body[data-jp-theme-light="false"] {{ background: {dark}; }}
.fa-player {{ margin: 0 auto; }}
</style>
<div id="fa-place"></div>
<noscript><pre>{text}</pre></noscript>
<script type="application/json" id="fa-state">{state}</script>
<script type="module">
{esm}
{model}{show}
</script>
</html>
"""


def page(
    esm: str,
    css: str,
    state: Mapping[str, Any],
    *,
    title: str,
    text: str,
    lang: Language,
    theme: Theme = "auto",
) -> str:
    """One self-contained document that plays `state`; "auto" follows the reader's system.

    Args:
        esm: the widget's module; its `export default` becomes a name of this page's script.
        state: trait name -> value; `blob` is bytes.
    """
    from ..palette import GREYS

    check_theme(theme)
    kept = {**state, "blob": base64.b64encode(bytes(state["blob"])).decode("ascii")}
    data = json.dumps(kept, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    module = esm.replace("export default", "const widget =").replace("</script", "<\\/script")
    return _PAGE.format(
        lang=lang, theme=theme, title=html.escape(title), css=css, text=html.escape(text),
        state=data, esm=module, model=assets.plain("bare_model.js"), show=_SHOW,
        light=GREYS["page"].light, dark=GREYS["page"].dark,
    )  # fmt: skip


def framed(document: str, *, title: str, height: int) -> str:
    """A page as an element of another one: its styles and scripts stay inside."""
    return (
        f'<iframe title="{html.escape(title)}" srcdoc="{html.escape(document)}" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )
