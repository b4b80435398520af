"""A server whose models refuse parameters the way real endpoints do; the name says which."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from servers.local import Handler, completion, error


class Choosy(Handler):
    sent: ClassVar[list[dict[str, Any]]] = []

    def post(self, body: dict[str, Any]) -> None:
        self.sent.append(body)
        self.send(*getattr(self, body["model"].replace("-", "_"))(body))

    def o_series(self, body: dict[str, Any]) -> tuple[int, object]:
        if "max_tokens" in body:
            words = "Unsupported parameter: 'max_tokens' is not supported with this model."
            return 400, error(words, code="unsupported_parameter", param="max_tokens")
        if body.get("temperature", 1) != 1:
            words = "Unsupported value: 'temperature' does not support 0.7 with this model."
            return 400, error(words, code="unsupported_value", param="temperature")
        return 200, completion()

    def gemini(self, body: dict[str, Any]) -> tuple[int, object]:
        if "reasoning_effort" in body:
            words = 'Invalid JSON payload received. Unknown name "reasoning_effort": Cannot find.'
            return 400, [{"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}]
        usage = {"prompt_tokens": 20, "completion_tokens": 20, "total_tokens": 80}
        return 200, completion(usage=usage)

    def llama_cpp_python(self, body: dict[str, Any]) -> tuple[int, object]:
        if body.get("response_format", {}).get("type") == "json_schema":
            words = "1 validation error: {'loc': ('body', 'response_format', 'type'), 'msg': 'x'}"
            return 500, error(words, kind="internal_server_error")
        return 200, completion('{"ideas": []}')

    def strict(self, body: dict[str, Any]) -> tuple[int, object]:
        """Names one unknown field at a time, like FastAPI."""
        extra = [k for k in body if k not in ("model", "messages", "stream")]
        if extra:
            words = {"loc": ["body", extra[0]], "msg": "extra fields not permitted"}
            return 422, {"detail": [words]}
        return 200, completion()

    def grammar(self, body: dict[str, Any]) -> tuple[int, object]:
        if "response_format" in body:
            return 400, error("failed to parse grammar")
        return 200, completion('{"ideas": []}')

    def nonsense(self, body: dict[str, Any]) -> tuple[int, object]:
        return 400, error("temperature of the room is too high")

    def stubborn(self, body: dict[str, Any]) -> tuple[int, object]:
        """Refuses a parameter, whatever is left of the request."""
        return 400, error("no", param=json.dumps(sorted(body)) if len(body) < 3 else "max_tokens")
