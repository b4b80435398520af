"""An OpenAI-compatible server with a small scripted model that reads what it is asked.

It keeps the protocol: keys, model names, limits, schemas, usage, context length.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from servers.local import Handler, completion, error, serving

MODEL = "small-1"
CONTEXT = 20_000  # tokens, of four characters each
KERNEL = '#include <math.h>\nextern "C" void launch(const float* x, float* out) { out[0] = x[0]; }'
CATEGORIES = ["memory access", "compute and instructions", "control flow and loops"]


@dataclass
class Small:
    """A running server: where it is, what it was sent."""

    url: str = ""
    key: str | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    under_way: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextlib.contextmanager
def small(key: str | None = None, delay_s: float = 0.0) -> Iterator[Small]:
    """Serve the model; with a `key`, only to those who have it."""
    state = Small(key=key)

    class Answering(Handler):
        def post(self, body: dict[str, Any]) -> None:
            with state.lock:
                state.requests.append(body)
                state.under_way += 1
                state.most_at_once = max(state.most_at_once, state.under_way)
            threading.Event().wait(delay_s)
            with state.lock:
                state.under_way -= 1
            self.send(*self.answer(body))

        def answer(self, body: dict[str, Any]) -> tuple[int, object]:
            if self.path != "/v1/chat/completions":
                return 404, error(f"no such path: {self.path}")
            sent = self.headers["authorization"]
            if state.key is not None and sent != f"Bearer {state.key}":
                return 401, error(f"Incorrect API key: {sent}", code="invalid_api_key")
            if body["model"] != MODEL:
                return 404, error(f"no model {body['model']!r}", code="model_not_found")
            if extra := set(body) - {"model", "messages", "max_tokens", "response_format"}:
                return 400, error(f"Unrecognized request argument supplied: {', '.join(extra)}")
            prompt = "\n".join(m["content"] for m in body["messages"])
            if len(prompt) // 4 > CONTEXT:
                return 400, error(f"maximum context length is {CONTEXT} tokens")
            return 200, _answered(body, prompt)

    with serving(Answering) as url:
        state.url = url
        yield state


def _answered(body: dict[str, Any], prompt: str) -> dict[str, Any]:
    if body.get("response_format", {}).get("type") == "json_schema":
        number = int(re.search(r"Propose (\d+)", prompt)[1])  # type: ignore[index]
        ideas = [
            {
                "title": f"Idea number {i}",
                "hypothesis": "It waits on memory.",
                "category": CATEGORIES[i % 3],
            }
            for i in range(number)
        ]
        text = json.dumps({"ideas": ideas})
    else:
        text = f"Here it is.\n```cpp\n{KERNEL}\n```"
    limit = 4 * body.get("max_tokens", 1 << 20)
    tokens = min(len(text), limit) // 4
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": tokens}
    usage["total_tokens"] = sum(usage.values())
    return completion(text[:limit], "length" if len(text) > limit else "stop", usage=usage)
