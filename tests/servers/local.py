"""A real HTTP server on a free port of this machine, for as long as a test needs it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    request_queue_size = 256  # the default of 5 makes concurrent clients wait
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class Handler(BaseHTTPRequestHandler):
    """JSON in, JSON out; subclasses answer a POST's body in `post`."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.post(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def post(self, body: dict[str, Any]) -> None:
        raise NotImplementedError

    def send(
        self, status: int, body: object, kind: str = "application/json", **headers: str
    ) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)


@contextlib.contextmanager
def serving(handler: type[Handler]) -> Iterator[str]:
    """The base URL of a server that answers with `handler`."""
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def completion(text: object = "hello", finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    """A chat completion; `message` adds to the message, anything else to the whole."""
    message = {"role": "assistant", "content": text} | more.pop("message", {})
    return {
        "id": "cmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8},
    } | more


def error(message: str, *, kind: str = "x", code: object = None, param: object = None) -> Any:
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}
