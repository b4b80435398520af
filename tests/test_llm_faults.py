"""Every fault of a server ends as a ModelError that says what to do, or is waited out."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers.faulty import FIXED, Faulty
from servers.local import serving

from workbench.llm import OpenAI, Request
from workbench.records import Completion, Message, ModelError

REQUEST = Request(
    address="1/0/0/0", purpose="kernel", messages=(Message(role="user", content="Write it."),)
)
# Fault -> kind, whether it stops the run, HTTP calls made.
FAULTS = {
    "429-long": ("rate_limit", False, 1),
    "429-quota": ("quota", True, 1),
    "429-gemini": ("rate_limit", False, 12),
    "402": ("quota", True, 1),
    "500": ("server", False, 6),
    "503-html": ("server", False, 6),
    "401": ("auth", True, 1),
    "403": ("auth", True, 1),
    "400-gemini-key": ("auth", True, 1),
    "404": ("not_found", True, 1),
    "400-context": ("context", False, 1),
    "500-context": ("context", False, 1),
    "400-filter": ("content_filter", False, 1),
    "400-nonsense": ("bad_request", False, 1),
    "silent": ("timeout", False, 2),
    "trickle": ("deadline", False, 1),
    "reset": ("connection", False, 4),
    "cut-body": ("connection", False, 4),
    "bad-json": ("malformed", False, 2),
    "text-plain": ("malformed", False, 2),
    "html-200": ("malformed", False, 2),
    "empty-body": ("malformed", False, 2),
    "json-list": ("malformed", False, 2),
    "error-200": ("server", False, 6),
    "error-200-busy": ("rate_limit", False, 12),
    "empty-choices": ("empty", False, 2),
    "null-choices": ("empty", False, 2),
    "odd-choices": ("empty", False, 2),
    "null-content": ("empty", False, 2),
    "empty-content": ("empty", False, 2),
    "length-null": ("length", False, 1),
    "refusal": ("refusal", False, 1),
    "content-filter": ("content_filter", False, 1),
    "nobody-there": ("connection", False, 0),
}
USABLE = [*sorted(set(FIXED) - set(FAULTS)), "busy-then-ok", "broken-then-ok"]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[dict[str, Completion | BaseException]]:
    """All faults at once, each from a thread of its own, as a search asks."""
    with serving(Faulty) as gone:
        pass
    with serving(Faulty) as url:

        def ask(fault: str) -> Completion | BaseException:
            deadline_s = 3.0 if fault == "trickle" else 30.0
            place = gone if fault == "nobody-there" else url
            model = OpenAI(fault, base_url=place, timeout_s=0.8, deadline_s=deadline_s)
            try:
                return model.complete(REQUEST)
            except BaseException as error:
                return error

        names = [*FAULTS, *USABLE]
        with ThreadPoolExecutor(len(names)) as pool:
            yield dict(zip(names, pool.map(ask, names), strict=True))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_becomes_a_model_error_of_its_kind(outcomes, fault) -> None:
    kind, fatal, calls = FAULTS[fault]
    error = outcomes[fault]
    assert isinstance(error, ModelError), repr(error)
    assert (error.kind, error.fatal) == (kind, fatal)
    assert Faulty.calls[fault] == calls
    assert repr(fault) in str(error)


@pytest.mark.parametrize("fault", USABLE)
def test_an_odd_but_usable_reply_is_used(outcomes, fault) -> None:
    reply = outcomes[fault]
    assert isinstance(reply, Completion), repr(reply)
    assert reply.reply


def test_a_busy_server_is_waited_for(outcomes) -> None:
    assert outcomes["busy-then-ok"].reply == "hello"
    assert Faulty.calls["busy-then-ok"] == 3
    assert Faulty.calls["broken-then-ok"] == 2


def test_an_error_carries_the_words_of_the_server_and_no_foreign_exception(outcomes) -> None:
    error = outcomes["503-html"]
    assert "Service Unavailable" in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


def test_reasoning_is_kept_apart_whichever_way_it_comes(outcomes) -> None:
    for fault in ("reasoning-content", "reasoning", "think"):
        assert outcomes[fault].reply == "hello"
        assert outcomes[fault].reasoning == "a thought"


def test_a_reply_that_was_cut_says_so(outcomes) -> None:
    assert outcomes["length"].finish == "length"
    assert outcomes["odd-finish"].finish == "length"
    assert outcomes["no-finish"].finish == "unknown"


def test_usage_a_server_does_not_count_is_estimated_and_marked(outcomes) -> None:
    usage = outcomes["no-usage"].usage
    assert usage.estimated
    assert usage.completion == 30
    assert not outcomes["length"].usage.estimated
