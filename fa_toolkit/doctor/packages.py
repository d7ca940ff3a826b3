"""Which versions this package asks for, and whether the two halves of a widget library fit."""

from __future__ import annotations

import functools
import json
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

#: where a library's browser half lies under share/jupyter/labextensions, and who ships it
_FRONT = {
    "ipywidgets": ("@jupyter-widgets/jupyterlab-manager", "jupyterlab_widgets"),
    "anywidget": ("anywidget", "anywidget"),
}


@functools.cache
def declared() -> tuple[Requirement, ...]:
    """The dependencies of this package: of the installation, else of the checkout."""
    try:
        lines = metadata.requires("fa-toolkit") or []
    except metadata.PackageNotFoundError:
        import tomllib

        from ..study import checkout

        root = checkout()
        text = (root / "pyproject.toml").read_text(encoding="utf-8") if root else ""
        lines = tomllib.loads(text).get("project", {}).get("dependencies", [])
    return tuple(Requirement(line) for line in lines)


def requirement(name: str) -> Requirement | None:
    """What is asked for on this platform; None if nothing is. "triton" is any build of Triton."""
    names = (name, "triton-windows") if name == "triton" else (name,)
    for wanted in declared():
        if wanted.name in names and (
            wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        ):
            return wanted
    return None


def widgets_pair(name: str) -> tuple[str | None, str | None, bool]:
    """Version of the Python half, of the browser half, and whether they fit.

    ipywidgets states the range of jupyterlab_widgets it speaks with; anywidget ships both halves
    itself. Either way the browser half that JupyterLab would load must be the one that the
    package installed, so the files on disk are read too.
    """
    extension, shipper = _FRONT[name]
    back, shipped = version_of(name), version_of(shipper)
    if back is None or shipped is None:
        return back, None, False
    package = Path(sys.prefix, "share/jupyter/labextensions", extension, "package.json")
    try:
        on_disk = str(json.loads(package.read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return back, None, False
    if shipper == name:
        return back, on_disk, on_disk == back
    asked = [Requirement(line) for line in metadata.requires(name) or []]
    fits = all(
        wanted.specifier.contains(shipped)
        for wanted in asked
        if wanted.name.replace("-", "_") == shipper
    )
    return back, shipped, fits


def version_of(name: str) -> str | None:
    """The installed version, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
