"""The body of a chat completion -> text, reasoning, finish, usage; or the fault that it is."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.llm import fences
from workbench.llm.faults import Fault, of_status
from workbench.records import Message, Usage

CHARACTERS_PER_TOKEN = 3.3  # measured on prose and CUDA with one tokenizer: 3.2 to 3.9
_LENGTH = ("length", "max_tokens", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered; no usage: it did not say."""

    text: str
    reasoning: str
    finish: str
    model: str
    usage: Usage | None


def read(body: str) -> Answer | Fault:
    """The first choice of a reply; servers send anything with status 200."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Fault("malformed", f"the reply is not JSON: {body[:120]!r}")
    if not isinstance(value, dict):
        return Fault("malformed", f"the reply is no chat completion: {body[:120]!r}")
    if value.get("error"):
        return _error(value["error"])
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return Fault("empty", "the reply has no choices")
    return _choice(value, choices[0])


def _choice(value: Mapping[str, object], choice: Mapping[str, object]) -> Answer | Fault:
    message = _object(choice.get("message"))
    finish = str(choice.get("finish_reason") or "unknown").lower()
    finish = "length" if finish in _LENGTH else finish
    if refusal := message.get("refusal"):
        return Fault("refusal", f"the model refused: {str(refusal)[:300]}")
    if finish == "content_filter":
        return Fault("content_filter", "the provider's filter held the reply back")
    raw = _text(message.get("content"))
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    text = raw
    if not reasoning:
        inside, answer, truncated = fences.split_reasoning(raw)
        if inside and not truncated:
            reasoning, text = inside.strip(), answer.strip()
    usage = _usage(_object(value.get("usage")), reasoning)
    if not text.strip():
        spent = f"finish {finish!r}" + (f", {usage.completion} tokens spent" if usage else "")
        return Fault("length" if finish == "length" else "empty", f"the reply is empty, {spent}")
    return Answer(text, reasoning, finish, str(value.get("model") or ""), usage)


def _error(error: object) -> Fault:
    """An error that came with status 200, as some routers send what happened upstream."""
    code = _object(error).get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    return of_status(status, json.dumps(error))


def _text(content: object) -> str:
    """Content as a text, or as a list of parts."""
    if isinstance(content, list):
        return "".join(_text(_object(part).get("text")) for part in content)
    return content if isinstance(content, str) else ""


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _usage(sent: Mapping[str, object], reasoning: str) -> Usage | None:
    """Tokens in one normal form, whichever way a server counts them.

    Gemini counts thoughts in the total alone; SGLang puts reasoning beside the details; vLLM and
    llama.cpp do not count it apart, so it is estimated from its text.
    """
    prompt, completion = _count(sent.get("prompt_tokens")), _count(sent.get("completion_tokens"))
    if not prompt + completion:
        return None
    details = _object(sent.get("completion_tokens_details"))
    reported = _count(details.get("reasoning_tokens")) or _count(sent.get("reasoning_tokens"))
    hidden = max(0, _count(sent.get("total_tokens")) - prompt - completion)
    completion += hidden
    counted = max(reported, hidden)
    estimate = min(completion, tokens(reasoning)) if not counted else 0
    cached = _count(_object(sent.get("prompt_tokens_details")).get("cached_tokens"))
    return Usage(
        prompt=prompt,
        completion=completion,
        reasoning=counted or estimate,
        cached=min(cached, prompt),
        estimated=bool(estimate),
    )


def tokens(text: str) -> int:
    """About how many tokens a text is."""
    return round(len(text) / CHARACTERS_PER_TOKEN)


def estimated_usage(messages: tuple[Message, ...], answer: Answer) -> Usage:
    """Tokens by the lengths of the texts, for a server that counts none."""
    thought = tokens(answer.reasoning)
    return Usage(
        prompt=tokens("".join(m.content for m in messages)),
        completion=tokens(answer.text) + thought,
        reasoning=thought,
        estimated=True,
    )


def cost_usd(usage: Usage, model: str, base_url: str) -> float | None:
    """Today's price of a reply from the genai-prices table; None where it knows none."""
    try:
        import genai_prices
    except ImportError:
        return None
    counts = genai_prices.Usage(
        input_tokens=usage.prompt,
        output_tokens=usage.completion,
        cache_read_tokens=usage.cached,
    )
    try:
        price = genai_prices.calc_price(
            counts,
            model_ref=model,
            provider_api_url=base_url,
            genai_request_timestamp=datetime.datetime.now(datetime.UTC),
        )
    except (LookupError, ValueError):
        return None
    return float(price.total_price)
