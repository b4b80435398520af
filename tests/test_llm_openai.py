"""OpenAI against real local servers: the whole way, parameters, keys, tokens, money."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import histories
import pytest
from servers.choosy import Choosy
from servers.local import Handler, completion, serving
from servers.small import KERNEL, MODEL, small

from workbench.llm import OpenAI, Request, answer, prompts, replies
from workbench.llm.presets import presets
from workbench.records import Message, ModelError, Usage, WorkbenchError

KEY = "sk-secret-0123456789abcdef"
HELLO = (Message(role="system", content="Be brief."), Message(role="user", content="Propose 2"))


def request(purpose: str = "kernel", **more: object) -> Request:
    return Request(address="1/0/0/0", purpose=purpose, messages=HELLO, **more)  # type: ignore[arg-type]


@pytest.fixture
def choosy() -> Iterator[str]:
    Choosy.sent.clear()
    with serving(Choosy) as url:
        yield url


# -- the whole way -------------------------------------------------------------------------


def test_ideas_and_kernels_come_from_a_server_as_from_the_prompts() -> None:
    history = histories.searched(rounds=2)
    branch = history.branches[-1]
    with small() as server:
        model = OpenAI(MODEL, base_url=server.url)
        ask = Request(
            address="1/0/ideas", purpose="ideas", messages=prompts.ideas_prompt(history, branch)
        )
        reply = model.complete(ask)
        ideas = replies.parse_ideas(reply.reply, branch.ideas)
        assert [i.title for i in ideas] == ["Idea number 0", "Idea number 1"]
        assert len({i.category for i in ideas}) == 2
        messages = prompts.kernel_prompt(history, history.ideas[-1], 0)
        reply = model.complete(Request(address="1/0/0/0", purpose="kernel", messages=messages))
        assert replies.extract_kernel(reply.reply, "cpp") == (KERNEL, ())
    assert (reply.model, reply.returned_model, reply.finish) == (MODEL, MODEL, "stop")
    assert reply.messages == messages
    assert reply.seconds > 0
    assert reply.created.endswith("+00:00")
    assert "response_format" not in server.requests[-1]


def test_many_threads_are_answered_side_by_side() -> None:
    with small(delay_s=0.3) as server, ThreadPoolExecutor(16) as pool:
        model = OpenAI(MODEL, base_url=server.url, parallel=16)
        started = time.monotonic()
        assert len(list(pool.map(model.complete, [request()] * 16))) == 16
        assert time.monotonic() - started < 3
        assert server.most_at_once > 8


def test_a_call_inside_a_running_event_loop_is_possible() -> None:
    import asyncio

    with small() as server:
        model = OpenAI(MODEL, base_url=server.url)

        async def notebook_cell() -> str:
            return model.complete(request()).reply

        assert KERNEL in asyncio.run(notebook_cell())


def test_a_limit_of_the_request_goes_before_the_presets() -> None:
    with small() as server:
        reply = OpenAI(MODEL, base_url=server.url).complete(request(max_tokens=5))
    assert reply.finish == "length"
    assert server.requests[0]["max_tokens"] == 5


def test_another_model_that_answers_is_recorded_and_told_once(caplog) -> None:
    class Successor(Handler):
        def post(self, body: dict[str, object]) -> None:
            self.send(200, completion(model="flash-9"))

    with serving(Successor) as url:
        model = OpenAI("pro-2", base_url=url)
        replies_ = [model.complete(request()) for _ in range(2)]
    assert {(r.model, r.returned_model) for r in replies_} == {("pro-2", "flash-9")}
    assert len([r for r in caplog.records if "flash-9" in r.message]) == 1


# -- parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        ("o-series", ("max_tokens -> max_completion_tokens", "drop temperature")),
        ("gemini", ("drop reasoning_effort",)),
        ("llama-cpp-python", ("json_schema -> json_object",)),
        ("grammar", ("json_schema -> json_object", "json_object -> plain text")),
        (
            "strict",
            (
                "max_tokens -> max_completion_tokens",
                "max_completion_tokens -> no limit",
                "drop temperature",
                "drop reasoning_effort",
                "json_schema -> json_object",
                "json_object -> plain text",
            ),
        ),
    ],
)
def test_a_refused_parameter_is_stepped_down_once_and_recorded(choosy, model, steps) -> None:
    asked = OpenAI(model, base_url=choosy, temperature=0.7, reasoning_effort="high")
    first = asked.complete(request("ideas"))
    calls = len(Choosy.sent)
    second = asked.complete(request("ideas"))
    assert first.degraded == second.degraded
    assert set(first.degraded) == set(steps)
    assert calls == len(steps) + 1
    assert len(Choosy.sent) == calls + 1


def test_what_is_refused_in_several_calls_at_once_is_learnt_once(choosy) -> None:
    asked = OpenAI("strict", base_url=choosy, temperature=0.7, reasoning_effort="high")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(asked.complete, [request("ideas")] * 8))
    assert {len(m.degraded) for m in made} == {6}


def test_a_refusal_without_a_cure_ends(choosy) -> None:
    for model in ("nonsense", "stubborn"):
        with pytest.raises(ModelError) as caught:
            OpenAI(model, base_url=choosy).complete(request())
        assert caught.value.kind == "bad_request"
    assert len(Choosy.sent) < 8


def test_nothing_is_sent_as_null(choosy) -> None:
    OpenAI("o-series", base_url=choosy).complete(request())
    assert all(value is not None for body in Choosy.sent for value in body.values())


# -- keys ----------------------------------------------------------------------------------


def test_a_key_is_in_no_error_traceback_repr_record_or_log(monkeypatch, caplog) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with small(key="another") as server:
        model = OpenAI(MODEL, base_url=server.url, api_key_env="TEST_KEY")
        with pytest.raises(ModelError) as caught:
            model.complete(request())
    with small(key=KEY) as server:
        reply = OpenAI(MODEL, base_url=server.url, api_key_env="TEST_KEY").complete(request())
    assert caught.value.kind == "auth"
    assert "[key]" in str(caught.value)
    shown = io.StringIO()
    ours = caught.value.with_traceback(caught.value.__traceback__.tb_next)  # without this test
    trace = traceback.TracebackException.from_exception(ours, capture_locals=True)
    print("".join(trace.format()), repr(model), vars(model), vars(model._client), file=shown)
    print(reply, caplog.text, [vars(r) for r in caplog.records], file=shown)
    assert "0123456789" not in shown.getvalue()


def test_a_key_that_no_header_can_hold_is_not_shown(monkeypatch) -> None:
    monkeypatch.setenv("TEST_KEY", f"{KEY}\n\x01tail")
    with small() as server:
        model = OpenAI(MODEL, base_url=server.url, api_key_env="TEST_KEY", deadline_s=2)
        with pytest.raises(ModelError) as caught:
            model.complete(request())
    assert "0123456789" not in str(caught.value)


def test_a_missing_key_is_told_by_its_name_at_once(monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        OpenAI("some-model")
    assert caught.value.fatal


def test_the_key_of_one_provider_is_sent_to_no_other(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    for chosen in (None, "openai", "gemini"):
        with small(key="none") as server:
            OpenAI(MODEL, base_url=server.url, preset=chosen, reasoning_effort=None)
            reply = OpenAI(MODEL, base_url=server.url, preset=chosen).complete(request())
            assert reply.reply


def test_a_password_in_a_url_is_not_shown() -> None:
    model = OpenAI("m", base_url="http://me:hidden@localhost:1/v1")
    assert repr(model) == "<OpenAI 'm' at http://localhost:1/v1>"


# -- presets, tokens, money ----------------------------------------------------------------


def test_a_preset_is_found_by_name_and_by_host(monkeypatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    url = presets()["gemini"].base_url
    assert OpenAI("g", base_url=url)._preset == OpenAI("g", preset="gemini")._preset
    assert "11434" in repr(OpenAI("m", preset="ollama"))
    with pytest.raises(WorkbenchError, match="there are: openai, gemini"):
        OpenAI("m", preset="nowhere")
    with pytest.raises(WorkbenchError, match="base_url"):
        OpenAI("m", preset="local")


def test_thoughts_that_only_the_total_counts_are_counted(choosy) -> None:
    reply = OpenAI("gemini", base_url=choosy).complete(request())
    assert reply.usage == Usage(prompt=20, completion=60, reasoning=40)


def test_a_known_price_is_told_and_an_unknown_one_is_none() -> None:
    pytest.importorskip("genai_prices")
    usage = Usage(prompt=1_000_000, completion=0)
    assert answer.cost_usd(usage, "gpt-4o", "https://api.openai.com/v1") == pytest.approx(2.5)
    assert answer.cost_usd(usage, "my-own", "https://api.openai.com/v1") is None
    assert answer.cost_usd(usage, "gpt-4o", "http://localhost:8000/v1") is None


# -- the bare machine ----------------------------------------------------------------------

_BARE = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {gone}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import workbench.llm as llm
from workbench.llm import prompts, replies, recording, Human, Replay, Request, Model
from workbench.llm import openai_model
from workbench.records import WorkbenchError
assert replies.extract_kernel('{{"code": "#include <a>",}}', "cpp").source == "#include <a>"
assert not {gone} & set(sys.modules), sys.modules.keys()
"""


def test_people_and_recordings_need_the_standard_library_alone() -> None:
    gone = "{'openai', 'pydantic', 'genai_prices', 'json_repair', 'httpx2', 'numpy', 'pandas'}"
    subprocess.run([sys.executable, "-c", _BARE.format(gone=gone)], check=True)


def test_the_client_library_is_not_imported_before_it_is_used() -> None:
    code = "import sys, workbench.llm as l; l.OpenAI('m', base_url='http://x/v1'); "
    code += "assert 'openai' not in sys.modules and 'genai_prices' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_calls_run_in_one_thread_however_many_models_there_are() -> None:
    with small() as server:
        for _ in range(3):
            OpenAI(MODEL, base_url=server.url).complete(request())
    assert [t.name for t in threading.enumerate()].count("workbench-llm") == 1
