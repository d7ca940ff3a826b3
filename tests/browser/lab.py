"""A real JupyterLab in a real browser, for tests and for looking at things. No assertions here.

    with Lab(folder_with_notebooks) as lab, lab.open("03_softmax_in_blocks.ipynb") as notebook:
        notebook.run_all()
        notebook.page.screenshot(path="seen.png")

The server works on the folder it is given, so give it a copy. It and the browser keep all their
settings in a temporary folder and talk to 127.0.0.1 only.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "browser-lane"
READY = """() => {
  const app = window.jupyterapp, widget = app && app.shell.currentWidget;
  if (!widget || !widget.sessionContext || !widget.context) return false;
  const kernel = widget.sessionContext.session && widget.sessionContext.session.kernel;
  return widget.sessionContext.isReady && widget.context.isReady && kernel
    && kernel.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
CELLS = """() => Array.from(window.jupyterapp.shell.currentWidget.content.model.cells).map(cell => {
  const json = cell.toJSON();
  return { id: json.id, kind: json.cell_type, source: [].concat(json.source).join(''),
           count: json.execution_count ?? null, outputs: json.outputs ?? [] };
})"""
CHROMIUM_ARGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium() -> str | None:
    """Where Chromium is on this machine, if it is."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("FA_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


class Notebook:
    """One notebook open in the browser."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("pageerror", self._note)
        page.on("request", self._watch)

    def _note(self, error: Any) -> None:
        # React, JupyterLab's own, loses a node now and then on a busy machine; our modules never
        # call removeChild (tests/viz/test_assets.py)
        if "'removeChild' on 'Node'" not in str(error):
            self.problems.append(str(error))

    def _watch(self, request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")):
            self.problems.append(f"request to {request.url}")

    def wait_ready(self, seconds: float = 60) -> None:
        """Wait until the kernel answers, as the application and not the toolbar sees it."""
        self.page.wait_for_function(READY, timeout=seconds * 1000)

    def command(self, name: str) -> None:
        """Carry out a command of JupyterLab and wait until it is done."""
        self.page.evaluate(f"() => window.jupyterapp.commands.execute({name!r}).then(() => null)")

    def run_all(self, seconds: float = 120) -> None:
        """Run every cell and wait for the kernel to be idle again."""
        self.page.set_default_timeout(seconds * 1000)
        self.command("notebook:run-all-cells")
        self.wait_ready(seconds)

    def value(self, cell: int, told: Callable[[str], bool] = lambda shown: True) -> str:
        """Run one cell and return what it shows as text: again, for a while, until `told` says yes.

        Python hears of a step in the page a moment later, and on a busy machine later still.
        """
        shown = ""
        for _ in range(20):
            self.page.evaluate(
                "n => { jupyterapp.shell.currentWidget.content.activeCellIndex = n; }", cell
            )
            self.command("notebook:run-cell")
            self.wait_ready()
            outputs = self.cells()[cell]["outputs"]
            shown = str(outputs[0]["data"]["text/plain"]) if outputs else ""
            if told(shown):
                break
            self.page.wait_for_timeout(250)
        return shown

    def shows(self, cell: int, start: str) -> bool:
        """Whether a cell comes to show something that begins so."""
        return self.value(cell, lambda shown: shown.startswith(start)).startswith(start)

    def save(self) -> None:
        """Save the notebook."""
        self.command("docmanager:save")

    def restart(self) -> None:
        """Restart the kernel without asking."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
            ".restart().then(() => null)"
        )
        self.wait_ready()

    def reload(self) -> None:
        """Load the page again, as a learner does, and wait for the kernel."""
        self.page.reload()
        self.wait_ready()

    def cells(self) -> list[dict[str, Any]]:
        """The cells as the application holds them, outputs included."""
        found: list[dict[str, Any]] = self.page.evaluate(CELLS)
        return found

    def errors(self) -> list[str]:
        """`name: value` of every error output."""
        return [
            f"{output['ename']}: {output['evalue']}"
            for cell in self.cells()
            for output in cell["outputs"]
            if output["output_type"] == "error"
        ]

    def shot(self, path: Path, selector: str | None = None) -> Path:
        """A picture of the page, or of the first element that `selector` names."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if selector is None:
            self.page.screenshot(path=str(path))
        else:
            self.page.locator(selector).first.screenshot(path=str(path))
        return path


class Lab:
    """A JupyterLab server on a folder, and a browser to look at it.

    Args:
        folder: what the server shows; notebooks in it may be changed.
        theme: "light" or "dark".
        environment: further environment variables for the kernels.
    """

    def __init__(
        self, folder: Path, *, theme: str = "light", environment: dict[str, str] | None = None
    ) -> None:
        self.folder, self.theme, self.environment = Path(folder), theme, environment or {}
        self.port = _free_port()

    def __enter__(self) -> Lab:
        self._home = tempfile.TemporaryDirectory(prefix="fa-lab-", ignore_cleanup_errors=True)
        home = Path(self._home.name)
        self._settings(home / "settings")
        folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
        environment = {**os.environ, **{name: str(home / name) for name in folders}}
        environment |= {
            "JUPYTER_DATA_DIR": str(home / "data"),
            "FA_DATA_DIR": str(home / "progress"),
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
            ),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            **self.environment,
        }
        self._log = (home / "server.log").open("wb")
        self._server = subprocess.Popen(
            self._command(home), env=environment, cwd=home, start_new_session=True,
            stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            self._wait_for_server(home / "server.log")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._server.poll() is None:
            os.killpg(self._server.pid, signal.SIGTERM)
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._server.pid, signal.SIGKILL)
                self._server.wait(10)
        self._log.close()
        self._home.cleanup()

    def _settings(self, settings: Path) -> None:
        theme = "JupyterLab Dark" if self.theme == "dark" else "JupyterLab Light"
        files = {
            "notification": {
                "fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True
            },
            "themes": {"theme": theme, "adaptive-theme": False},
        }  # fmt: skip
        folder = settings / "@jupyterlab" / "apputils-extension"
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / f"{name}.jupyterlab-settings").write_text(json.dumps(content))

    def _command(self, home: Path) -> list[str]:
        return [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
            f"--port={self.port}", "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={self.folder}",
            f"--LabApp.user_settings_dir={home / 'settings'}",
            f"--LabApp.workspaces_dir={home / 'workspaces'}",
            "--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True",
        ]  # fmt: skip

    def _wait_for_server(self, log: Path, seconds: float = 60) -> None:
        address = f"http://127.0.0.1:{self.port}/api/status?token={TOKEN}"
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._server.poll() is not None:
                break
            try:
                with urllib.request.urlopen(address, timeout=2):
                    return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-3000:]}")

    @contextmanager
    def open(
        self, name: str, *, width: int = 1280, height: int = 900, scale: float = 1
    ) -> Iterator[Notebook]:
        """One notebook in a browser of its own, its kernel ready."""
        from playwright.sync_api import sync_playwright

        with (
            tempfile.TemporaryDirectory(prefix="fa-chrome-", ignore_cleanup_errors=True) as profile,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch_persistent_context(
                profile, executable_path=chromium(), headless=True, args=CHROMIUM_ARGS,
                viewport={"width": width, "height": height}, device_scale_factor=scale,
            )  # fmt: skip
            try:
                notebook = Notebook(browser.new_page())
                notebook.page.set_default_timeout(60_000)
                notebook.page.goto(
                    f"http://127.0.0.1:{self.port}/doc/tree/{name}?token={TOKEN}&reset"
                )
                notebook.wait_ready()
                yield notebook
            finally:
                browser.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
