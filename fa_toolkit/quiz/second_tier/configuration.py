"""Which endpoint is asked, if any: named in this process, or by environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ...errors import ArgumentError
from ...language import Text

URL, MODEL, KEY, SECONDS = "FA_JUDGE_URL", "FA_JUDGE_MODEL", "FA_JUDGE_KEY", "FA_JUDGE_TIMEOUT"
PATIENCE = 20.0  # seconds
_WANTED = Text(
    "the base address of an OpenAI-compatible endpoint, or off",
    "OpenAI 兼容接口的基地址，或 off",
)
_HINT = Text(
    "http://localhost:11434/v1 for Ollama, http://localhost:8000/v1 for vLLM",
    "Ollama 是 http://localhost:11434/v1，vLLM 是 http://localhost:8000/v1",
)


@dataclass(frozen=True)
class Settings:
    """An endpoint of the user's.

    Args:
        url: its base address, up to and with `/v1`.
        model: the model to ask; the first that the endpoint serves if empty.
        key: sent as a bearer token if not empty; neither printed nor kept.
        seconds: how long an answer may take before the first tier's verdict stands.
    """

    url: str
    model: str = ""
    key: str = field(default="", repr=False)
    seconds: float = PATIENCE


_chosen: list[Settings | None] = []


def use(url: str | None, *, model: str = "", key: str = "", seconds: float | None = None) -> None:
    """Ask this endpoint about written answers from now on; None asks nobody.

    What is not given comes from `FA_JUDGE_MODEL`, `FA_JUDGE_KEY` and `FA_JUDGE_TIMEOUT`.

    Args:
        url: such as `http://localhost:11434/v1`.
        model: the first that the endpoint serves if named nowhere.
        seconds: how long an answer may take.

    Raises:
        ArgumentError: if it is no http address, or `seconds` not above 0.
    """
    _chosen[:] = [None if url is None else _completed("url", url, model, key, seconds)]


def checked(name: str, url: str, model: str, key: str, seconds: float) -> Settings | None:
    """Settings that can be used; None for "off".

    Raises:
        ArgumentError: under the name that the user knows.
    """
    address = url.strip().rstrip("/")
    if address.lower() in ("", "off", "none", "0"):
        return None
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query
        _ = parts.port
    except ValueError:
        sound = False
    if not sound or any(char.isspace() or char < " " for char in address):
        raise ArgumentError(name, expected=_WANTED, got=repr(url), hint=_HINT)
    if not 0 < seconds < 3600:
        raise _no_patience(repr(seconds))
    if any(char < "!" or char > "~" for char in key):
        wanted = Text("a key of visible ASCII characters", "由可见 ASCII 字符组成的密钥")
        raise ArgumentError(KEY, expected=wanted, got=Text("something else", "别的内容"))
    return Settings(address, model.strip(), key, seconds)


def settings() -> Settings | None:
    """The endpoint in force: the one of `use`, else of the environment, else none.

    Raises:
        ArgumentError: if an environment variable cannot be used.
    """
    return _chosen[0] if _chosen else from_environment()


def from_environment() -> Settings | None:
    """The endpoint that environment variables name.

    Raises:
        ArgumentError: if one of them cannot be used.
    """
    url = os.environ.get(URL, "")
    if not url:
        return None
    return _completed(URL, url, "", "", None)


def _completed(name: str, url: str, model: str, key: str, seconds: float | None) -> Settings | None:
    if seconds is None:
        written = os.environ.get(SECONDS, "")
        try:
            seconds = float(written) if written else PATIENCE
        except ValueError:
            raise _no_patience(repr(written)) from None
    model, key = model or os.environ.get(MODEL, ""), key or os.environ.get(KEY, "")
    return checked(name, url, model, key, seconds)


def _no_patience(got: str) -> ArgumentError:
    wanted = Text("seconds between 0 and 3600", "0 到 3600 之间的秒数")
    return ArgumentError(SECONDS, expected=wanted, got=got)
