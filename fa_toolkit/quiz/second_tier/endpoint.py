"""One request to an OpenAI-compatible endpoint, with a limit on time and size. Reads no meaning.

The standard library's client is enough for one request without streams or pools, so that the
package depends on no other; a redirect is refused, because it would carry the key elsewhere.
"""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from ...language import Text, say
from .asking import SCHEMA, NotAReplyError
from .configuration import Settings

LARGEST = 1 << 18  # bytes of a reply
_LATE = Text("no answer within {n:g} s", "{n:g} 秒内没有回答")
_DOWN = Text("{host} cannot be reached: {why}", "连不上 {host}：{why}")
_REFUSED = Text("{host} answered {code}", "{host} 返回 {code}")
_STRANGE = Text("its reply is not of the expected form", "它的回复不是约定的格式")
_EMPTY = Text("it serves no model", "它没有可用的模型")


class NoAnswerError(Exception):
    """The endpoint gave nothing that could be used; the text says why, without address or key."""


class _Refused(Exception):  # noqa: N818  (carries a status, is turned into NoAnswerError)
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def complete(chosen: Settings, messages: list[dict[str, str]]) -> str:
    """The text the model writes to these messages, asked for as JSON of `SCHEMA`.

    Raises:
        NoAnswerError: if there is none in time.
        NotAReplyError: if what came is no chat completion.
    """
    body = {"model": chosen.model, "messages": messages, "temperature": 0, "stream": False}
    schema = {"name": "judgement", "strict": True, "schema": SCHEMA}
    shaped = {"type": "json_schema", "json_schema": schema}
    try:
        found = _request(chosen, "/chat/completions", {**body, "response_format": shaped})
    except _Refused as error:
        if error.code not in (400, 422):
            raise _said(chosen, error) from None
        try:  # some servers know no schema: then the prompt alone asks for the form
            found = _request(chosen, "/chat/completions", body)
        except _Refused as again:
            raise _said(chosen, again) from None
    try:
        text = found["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        text = None
    if not isinstance(text, str):
        raise NotAReplyError(say(_STRANGE))
    return text


def models(chosen: Settings) -> list[str]:
    """The models that the endpoint serves, never empty.

    Raises:
        NoAnswerError: if it does not say, or serves none.
    """
    try:
        found = _request(chosen, "/models", None)
        names = [entry["id"] for entry in found["data"] if isinstance(entry["id"], str)]
    except _Refused as error:
        raise _said(chosen, error) from None
    except (KeyError, TypeError, NotAReplyError):
        names = []
    if not names:
        raise NoAnswerError(say(_EMPTY))
    return names


def _said(chosen: Settings, error: _Refused) -> NoAnswerError:
    return NoAnswerError(say(_REFUSED, host=_host(chosen), code=error.code))


def _host(chosen: Settings) -> str:
    return urlsplit(chosen.url).hostname or ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _request(chosen: Settings, path: str, body: dict[str, Any] | None) -> Any:
    """The JSON of one reply. It runs aside, so that no slow step outlasts the limit."""
    result: list[bytes | BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            result.append(_exchange(chosen, path, body))
        except BaseException as error:  # handed to the thread that waits
            result.append(error)
        done.set()

    threading.Thread(target=run, name="fa-judge", daemon=True).start()
    if not done.wait(chosen.seconds):
        raise NoAnswerError(say(_LATE, n=chosen.seconds))
    outcome = result[0]
    if isinstance(outcome, bytes):
        try:
            return json.loads(outcome)
        except (ValueError, RecursionError):
            raise NotAReplyError(say(_STRANGE)) from None
    if isinstance(outcome, _Refused):
        raise _Refused(outcome.code) from None
    if isinstance(outcome, TimeoutError):
        raise NoAnswerError(say(_LATE, n=chosen.seconds)) from None
    if isinstance(outcome, (OSError, http.client.HTTPException, ValueError)):
        raise NoAnswerError(say(_DOWN, host=_host(chosen), why=_reason(outcome))) from None
    raise outcome


def _reason(error: BaseException) -> str:
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or type(cause).__name__


def _exchange(chosen: Settings, path: str, body: dict[str, Any] | None) -> bytes:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if chosen.key:
        headers["Authorization"] = f"Bearer {chosen.key}"
    data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    request = urllib.request.Request(chosen.url + path, data=data, headers=headers)
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if _host(chosen) in ("localhost", "127.0.0.1", "::1"):
        handlers.append(urllib.request.ProxyHandler({}))  # a proxy would look for its own localhost
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=chosen.seconds) as reply:
            text: bytes = reply.read(LARGEST + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise _Refused(error.code) from None
    if len(text) > LARGEST:
        raise ValueError("too long")
    return text
