"""An OpenAI-compatible endpoint on this machine that says what a test wants it to say."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from fa_toolkit.quiz import load_bank
from fa_toolkit.quiz.text_question import TextQuestion

JSON = dict[str, Any]


class Endpoint:
    """What it answers, and every request it got."""

    def __init__(self) -> None:
        self.url = ""
        self.served = ["a-model"]
        self.say: Callable[[JSON], str] = lambda told: reply(told)
        self.code = 200
        self.refuses_schema = False
        self.sleep = 0.0
        self.raw: bytes | None = None
        self.moved = ""
        self.requests: list[tuple[str, JSON, dict[str, str]]] = []

    @property
    def asked(self) -> list[JSON]:
        """The bodies of the requests for a completion."""
        return [body for path, body, _ in self.requests if path.endswith("/chat/completions")]


def reply(
    told: JSON, covered: dict[str, str] | None = None, wrong: Any = None, **other: Any
) -> str:
    """A well-formed reply to what the model was told; ids not named are missing."""
    covered, wrong = covered or {}, wrong or {}
    return json.dumps(
        {
            "points": [
                {
                    "id": point["id"],
                    "verdict": other.get(point["id"], "covered"),
                    "quote": covered[point["id"]],
                }
                if point["id"] in covered
                else {"id": point["id"], "verdict": "missing", "quote": ""}
                for point in told["key_points"]
            ],
            "misconceptions": [
                {
                    "id": idea["id"],
                    "asserted": idea["id"] in wrong,
                    "quote": wrong.get(idea["id"], ""),
                }
                for idea in told["misconceptions"]
            ],
        },
        ensure_ascii=False,
    )


def question(name: str) -> TextQuestion:
    found = load_bank().question(name)
    assert isinstance(found, TextQuestion)
    return found


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # without looking its own name up
        self.server_name, self.server_port = "localhost", self.server_address[1]


@contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint that runs until the block ends."""
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            endpoint.requests.append((self.path, {}, dict(self.headers)))
            self._send({"object": "list", "data": [{"id": name} for name in endpoint.served]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.requests.append((self.path, body, dict(self.headers)))
            time.sleep(endpoint.sleep)
            told = json.loads(body["messages"][-1]["content"])
            text = endpoint.say(told)
            self._send({"choices": [{"message": {"role": "assistant", "content": text}}]}, body)

        def _send(self, made: JSON, body: JSON | None = None) -> None:
            code = endpoint.code
            if endpoint.refuses_schema and body and "response_format" in body:
                code = 400
            data = endpoint.raw if endpoint.raw is not None else json.dumps(made).encode()
            try:
                self.send_response(code)
                if endpoint.moved:
                    self.send_header("Location", endpoint.moved)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # whoever asked has gone: that is what a test of time-outs does

    server = _Server(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
