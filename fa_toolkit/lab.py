"""Starts JupyterLab on the learner's copies, with settings that stay inside their folder.

Jupyter's configuration, kernels, history and window layout go to `study/.jupyter`, so nothing the
course does is seen by another Jupyter of the same person, and nothing of theirs disturbs it.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import secrets
import socket
import subprocess
import sys
import urllib.error
import urllib.request
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from . import __version__, study
from .errors import ArgumentError, BackendUnavailable
from .language import Text

HOST = "127.0.0.1"
FIRST_PORT, LAST_PORT = 8888, 65_535
_QUIET = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
_KERNEL_CONFIG = {"IPKernelApp": {"log_level": 40}}  # its warnings are about remote kernels
_PLACE = "fa-place"
_NOTIFICATIONS = "@jupyterlab/apputils-extension/notification.jupyterlab-settings"


@dataclass(frozen=True)
class Lab:
    """How one JupyterLab will be started."""

    folder: Path
    notebook: str | None
    ip: str
    port: int
    token: str
    cell: str = ""

    @property
    def page(self) -> str:
        """The page to begin with, without the cell."""
        return f"lab/tree/{quote(self.notebook)}" if self.notebook else "lab"

    @property
    def fragment(self) -> str:
        """The cell to begin with, as the last part of an address; `lab_place.js` goes there."""
        return f"#cell-id={self.cell}" if self.cell else ""

    @property
    def url(self) -> str:
        """What to open; the token is the password."""
        host = HOST if self.ip in ("0.0.0.0", "*", "") else self.ip
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/{self.page}?token={self.token}{self.fragment}"

    def command(self, *, browser: bool, extra: tuple[str, ...] = ()) -> list[str]:
        """The command line; `extra` goes to jupyter-lab unchanged and wins over ours."""
        home = self.folder / ".jupyter"
        options = {
            "ServerApp.ip": self.ip,
            "ServerApp.port": str(self.port),
            "ServerApp.port_retries": "0",
            "ServerApp.root_dir": str(self.folder),
            "Application.log_level": "ERROR",  # warnings are about Jupyter, not about the course
            "LabApp.default_url": f"/{self.page}{self.fragment}",
            "LabApp.user_settings_dir": str(home / "lab" / "user-settings"),
            "LabApp.workspaces_dir": str(home / "lab" / "workspaces"),
            "LabApp.extension_manager": "readonly",  # the other kind asks the network
            "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        }
        if not browser:
            options["ServerApp.open_browser"] = "False"
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options["ServerApp.allow_root"] = "True"  # in a container, where there is no other user
        flags = [f"--{name}={value}" for name, value in options.items()]
        return [sys.executable, "-m", "jupyterlab", *flags, *extra]

    def environment(self) -> dict[str, str]:
        """This process's environment with Jupyter's folders inside the study folder.

        The token travels here and not on the command line, which other users can read.
        """
        home = self.folder / ".jupyter"
        ours = {
            "JUPYTER_CONFIG_DIR": home / "config",
            "JUPYTER_DATA_DIR": home / "data",
            "JUPYTER_RUNTIME_DIR": home / "runtime",
            "IPYTHONDIR": home / "ipython",
            "MPLCONFIGDIR": home / "matplotlib",
        }
        paths = {name: str(path) for name, path in ours.items()}
        return {**os.environ, **paths, "JUPYTER_TOKEN": self.token}


def plan(
    folder: Path,
    *,
    notebook: str | None,
    cell: str = "",
    ip: str = HOST,
    port: int | None = None,
) -> Lab:
    """Choose port and token for a notebook of the folder; nothing is started.

    Raises:
        BackendUnavailable: if JupyterLab is not installed.
        ArgumentError: if nothing can listen at the address and port that were asked for.
    """
    require()
    return Lab(folder, notebook, ip, free_port(ip, port), secrets.token_hex(24), cell)


def require() -> None:
    """Nothing if JupyterLab is installed.

    Raises:
        BackendUnavailable: if it is not.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise BackendUnavailable(
            "JupyterLab",
            expected=Text("the packages of the course", "课程所需的软件包"),
            got=Text("a plain installation", "只装了工具包本身"),
            hint=study.INSTALL_COURSE,
        )


def check_address(ip: str, port: int | None) -> None:
    """Refuse where nothing can listen; with no port, or port 0, the address alone is looked at.

    Raises:
        ArgumentError: naming the address or the port.
    """
    hint = Text("another one, or none: a free one is found", "换一个，或不写，会自动找空闲的")
    if port is not None and not 0 <= port <= LAST_PORT:
        expected = Text(f"0 to {LAST_PORT}; 0: any free one", f"0 到 {LAST_PORT}，0 表示找空闲的")
        raise ArgumentError("port", expected=expected, got=str(port), hint=hint)
    if _problem(ip, 0) is not None:
        raise ArgumentError(
            "ip",
            expected=Text("an address of this machine", "这台机器的地址"),
            got=ip,
            hint=HOST,
        )
    problem = _problem(ip, port or 0)
    if problem is not None:
        free = Text("a free port", "空闲的端口")
        got = Text(f"{port}, which is taken", f"{port}，已被占用")
        if problem.errno == errno.EACCES:
            free = Text("a port that you may open", "你有权打开的端口")
            got = Text(str(port), str(port))
        raise ArgumentError("port", expected=free, got=got, hint=hint)


def free_port(ip: str, wanted: int | None) -> int:
    """The port asked for, or, for None or 0, the first free one from 8888 on."""
    check_address(ip, wanted)
    if wanted:
        return wanted
    several = range(FIRST_PORT, min(FIRST_PORT + 100, LAST_PORT + 1))
    for port in several:
        if _problem(ip, port) is None:
            return port
    raise ArgumentError(
        "port",
        expected=Text("a free port", "空闲的端口"),
        got=Text(
            f"{several[0]} to {several[-1]}, all taken", f"{several[0]} 到 {several[-1]} 都被占用"
        ),
        hint=Text("name one with --port", "用 --port 指定一个"),
    )


def _problem(ip: str, port: int) -> OSError | None:
    """Why nothing can listen there; None if something can."""
    address = "" if ip == "*" else ip
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            if os.name == "posix":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except UnicodeError as error:  # no name at all
        return OSError(str(error))
    except OSError as error:
        return error
    return None


def running(folder: Path, notebook: str | None = None, cell: str = "") -> str | None:
    """The address of this notebook in a JupyterLab that serves the folder already, with its token."""
    page = Lab(folder, notebook, HOST, 0, "", cell)
    for record in sorted((folder / ".jupyter" / "runtime").glob("jpserver-*.json")):
        try:
            server = json.loads(record.read_text(encoding="utf-8"))
            url, token = f"{server['url']}", f"{server['token']}"
            with urllib.request.urlopen(f"{url}api/status?token={token}", timeout=2) as answer:
                if answer.status == 200:
                    return f"{url}{page.page}?token={token}{page.fragment}"
        except (OSError, ValueError, KeyError, urllib.error.URLError):
            continue  # left by a server that was killed
    return None


def settle(folder: Path) -> None:
    """No news, no update dialogs, no chatter; a choice the learner made later is not touched."""
    home = folder / ".jupyter"
    for file, content in (
        (home / "lab" / "user-settings" / _NOTIFICATIONS, _QUIET),
        (home / "ipython" / "profile_default" / "ipython_kernel_config.json", _KERNEL_CONFIG),
    ):
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content, indent=2), encoding="utf-8")
    install_place(home / "data")


def install_place(data: Path) -> None:
    """Put the extension that goes to the cell of an address into Jupyter's data folder."""
    home = data / "labextensions" / _PLACE
    build = {"load": "static/remoteEntry.js", "extension": "./extension"}
    manifest = {"name": _PLACE, "version": __version__,
                "jupyterlab": {"extension": True, "outputDir": "static", "_build": build}}  # fmt: skip
    script = Path(__file__).with_name("lab_place.js").read_text(encoding="utf-8")
    for file, text in (
        (home / "package.json", json.dumps(manifest, indent=2)),
        (home / "static" / "remoteEntry.js", script),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def serve(lab: Lab, *, browser: bool, extra: tuple[str, ...] = ()) -> int:
    """Run JupyterLab until it ends; on POSIX it takes the place of this process."""
    settle(lab.folder)
    command, environment = lab.command(browser=browser, extra=extra), lab.environment()
    if os.name == "posix":
        sys.stdout.flush()
        os.execve(command[0], command, environment)
    return subprocess.run(command, env=environment, check=False).returncode


def show(url: str) -> None:
    """Open a browser on a server that is running already."""
    webbrowser.open(url)
