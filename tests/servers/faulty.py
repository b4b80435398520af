"""A server on which everything goes wrong that was seen to; the model's name says what.

Bodies have the shape of real ones (OpenAI, Gemini, vLLM, llama.cpp, llama-cpp-python, routers).
"""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from typing import Any, ClassVar

from servers.local import Handler, completion, error

SOON = {"retry_after_ms": "1"}
DELAY = {"retryDelay": "0.01s"}
THOUGHTS_ONLY = {
    "prompt_tokens": 3, "completion_tokens": 4096, "total_tokens": 4099,
    "completion_tokens_details": {"reasoning_tokens": 4096},
}  # fmt: skip
GEMINI_BUSY = [
    {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "RetryInfo"} | DELAY],
        }
    }
]
GEMINI_KEY = [{"error": {"code": 400, "message": "API key not valid. Please pass a valid one."}}]

# Status, body, and what else `send` takes; sent each time.
FIXED: dict[str, tuple[Any, ...]] = {
    "429-long": (429, error("slow down"), {"retry_after": "121"}),
    "429-quota": (429, error("no quota", code="insufficient_quota"), SOON),
    "429-gemini": (429, GEMINI_BUSY, {}),
    "402": (402, error("Insufficient credits"), {}),
    "500": (500, error("boom"), SOON),
    "503-html": (503, b"<html>Service Unavailable</html>", SOON | {"kind": "text/html"}),
    "401": (401, error("bad key", code="invalid_api_key"), {}),
    "403": (403, error("not allowed"), {}),
    "400-gemini-key": (400, GEMINI_KEY, {}),
    "404": (404, error("model not found", code="model_not_found", param="model"), {}),
    "400-context": (400, error("too long", code="context_length_exceeded"), {}),
    "500-context": (500, error("request (27031 tokens) exceeds the available context size"), {}),
    "400-filter": (400, error("blocked", code="content_filter"), {}),
    "400-nonsense": (400, error("the moon is in the wrong phase"), {}),
    "bad-json": (200, b'{"id": "x", "choices": [', SOON),
    "text-plain": (200, b"hello plain", {"kind": "text/plain"}),
    "html-200": (200, b"<html>log in</html>", {"kind": "text/html"}),
    "empty-body": (200, b"", {}),
    "json-list": (200, [1, 2], {}),
    "error-200": (200, {"error": {"message": "upstream failed", "code": 502} | DELAY}, {}),
    "error-200-busy": (200, {"error": {"message": "busy", "code": 429} | DELAY}, {}),
    "empty-choices": (200, completion(choices=[]), {}),
    "null-choices": (200, completion(choices=None), {}),
    "odd-choices": (200, completion(choices=["x"]), {}),
    "null-content": (200, completion(None), {}),
    "empty-content": (200, completion(""), {}),
    "length-null": (200, completion(None, "length", usage=THOUGHTS_ONLY), {}),
    "refusal": (200, completion(None, message={"refusal": "I can't help with that."}), {}),
    "content-filter": (200, completion("", "content_filter"), {}),
    # Odd, but usable.
    "length": (200, completion("```cuda\n__global__ void k(", "length"), {}),
    "odd-finish": (200, completion("hi", "MAX_TOKENS"), {}),
    "no-finish": (200, completion("hi", None), {}),
    "no-usage": (200, completion("hi " * 33, usage=None), {}),
    "reasoning-content": (200, completion(message={"reasoning_content": "a thought"}), {}),
    "reasoning": (200, completion(message={"reasoning": "a thought"}), {}),
    "think": (200, completion("a thought</think>\n\nhello"), {}),
    "parts": (200, completion([{"type": "text", "text": "hel"}, {"text": "lo"}]), {}),
    "surrogate": (200, completion("hello \ud83d"), {}),
}


class Faulty(Handler):
    calls: ClassVar[Counter[str]] = Counter()

    def post(self, body: dict[str, Any]) -> None:
        fault = body["model"]
        self.calls[fault] += 1
        if fault in FIXED:
            status, answer, more = FIXED[fault]
            self.send(status, answer, **more)
        else:
            getattr(self, fault.replace("-", "_"))(self.calls[fault])

    def busy_then_ok(self, call: int) -> None:
        if call < 3:
            self.send(429, error("slow down"), **SOON)
        else:
            self.send(200, completion())

    def broken_then_ok(self, call: int) -> None:
        if call < 2:
            self.send(500, error("boom"), **SOON)
        else:
            self.send(200, completion())

    def silent(self, call: int) -> None:
        time.sleep(2.5)
        self.send(200, completion())

    def trickle(self, call: int) -> None:
        """A byte now and then: the client's own timeout never strikes."""
        body = json.dumps(completion()).encode()
        self._head(len(body))
        for at in range(len(body)):
            self.wfile.write(body[at : at + 1])
            self.wfile.flush()
            time.sleep(0.05)

    def reset(self, call: int) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def cut_body(self, call: int) -> None:
        body = json.dumps(completion()).encode()
        self._head(len(body) + 100)
        self.wfile.write(body[:40])
        self.wfile.flush()
        self.close_connection = True

    def _head(self, length: int) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(length))
        self.end_headers()
