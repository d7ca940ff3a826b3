"""An executed notebook as one HTML page in which the players still play. Executes nothing.

A page that nbconvert makes by itself loads a widget manager from the network, and shows no widget
without it. Here the outputs bring their own page with them, so nothing is loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..language import Text

#: A player's own page before the widget that would need a manager.
_PRIORITY = ["text/html", "image/svg+xml", "image/png", "text/markdown", "text/latex", "text/plain"]


def notebook_page(notebook: str | Path, path: str | Path | None = None) -> str:
    """The notebook with its outputs as one document; written to `path` if one is given.

    Formulas between dollar signs stay as they are typed: typesetting them would need the network.

    Args:
        notebook: an .ipynb file that has been run and saved.

    Raises:
        ArgumentError: if there is no such notebook.
    """
    import nbformat
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    file = Path(notebook)
    if not file.is_file():
        raise ArgumentError(
            "notebook", expected=Text("an .ipynb file", ".ipynb 文件"), got=str(file)
        )
    content: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    content.metadata.pop("widgets", None)
    settings: Any = Config()
    for name in ("require_js_url", "mathjax_url", "jquery_url", "widget_renderer_url"):
        settings.HTMLExporter[name] = ""
    settings.NbConvertBase.display_data_priority = _PRIORITY
    exporter: Any = HTMLExporter
    made, _ = exporter(config=settings).from_notebook_node(content)
    if path is not None:
        Path(path).write_text(made, encoding="utf-8")
    return str(made)
