"""A person answers by files, now or later; nothing is taken half-written or from another search."""

from __future__ import annotations

import threading
import time

import pytest

from workbench.llm import Human, Request
from workbench.records import Message, ModelError, WorkbenchError


def request(address: str = "1/0/2/0", system: str = "The problem.") -> Request:
    messages = (Message(role="system", content=system), Message(role="user", content="Write it."))
    return Request(address=address, purpose="kernel", messages=messages)


def later(seconds: float, do) -> None:
    threading.Timer(seconds, do).start()


def test_a_reply_that_is_there_is_taken_at_once(tmp_path) -> None:
    human = Human(tmp_path, wait_s=0)
    (tmp_path / "1-0-2-0.reply.md").write_text("\ufeffAn answer. µ\n", encoding="utf-8")
    reply = human.complete(request())
    assert reply.reply == "An answer. µ\n"
    assert (reply.model, reply.returned_model, reply.finish) == ("human", "human", "stop")
    assert (reply.usage, reply.cost_usd) == (None, 0.0)
    assert reply.messages == request().messages


def test_a_prompt_is_written_for_people_to_read(tmp_path) -> None:
    with pytest.raises(ModelError):
        Human(tmp_path / "new", wait_s=0).complete(request())
    text = (tmp_path / "new" / "1-0-2-0.md").read_text()
    assert text.startswith("<!-- 1/0/2/0 · kernel")
    assert "## system\n\nThe problem." in text
    assert "## user\n\nWrite it." in text


def test_an_answer_that_is_awaited_is_named_and_taken_up_later(tmp_path) -> None:
    human = Human(tmp_path, wait_s=0)
    with pytest.raises(ModelError, match=r"1-0-2-0\.reply\.md") as caught:
        human.complete(request())
    assert caught.value.kind == "waiting"
    assert not caught.value.fatal
    (tmp_path / "1-0-2-0.reply.md").write_text("Here.")
    assert human.complete(request()).reply == "Here."


def test_waiting_ends_with_the_reply_or_with_patience(tmp_path) -> None:
    later(0.4, lambda: (tmp_path / "1-0-2-0.reply.md").write_text("Here."))
    reply = Human(tmp_path).complete(request())
    assert reply.reply == "Here."
    assert reply.seconds > 0.3
    started = time.monotonic()
    with pytest.raises(ModelError):
        Human(tmp_path, wait_s=0.3).complete(request("1/0/3/0"))
    assert 0.2 < time.monotonic() - started < 3


def test_a_blank_reply_is_none_yet(tmp_path) -> None:
    (tmp_path / "1-0-2-0.reply.md").write_text(" \n")
    with pytest.raises(ModelError):
        Human(tmp_path, wait_s=0).complete(request())


def test_a_reply_that_is_still_being_written_is_waited_for(tmp_path) -> None:
    file = tmp_path / "1-0-2-0.reply.md"

    def write() -> None:
        with file.open("w") as out:
            for word in range(40):
                out.write(f"{word} ")
                out.flush()
                time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    assert Human(tmp_path, wait_s=20).complete(request()).reply.split()[-1] == "39"
    writer.join()


def test_prompts_wait_side_by_side(tmp_path) -> None:
    human = Human(tmp_path)
    asked = [
        threading.Thread(target=human.complete, args=[request(f"1/0/{i}/0")]) for i in range(8)
    ]
    for thread in asked:
        thread.start()
    while len(list(tmp_path.glob("*.md"))) < 8:
        time.sleep(0.01)
    for i in range(8):
        (tmp_path / f"1-0-{i}-0.reply.md").write_text("Here.")
    for thread in asked:
        thread.join(10)
        assert not thread.is_alive()


def test_replies_to_another_search_are_not_taken(tmp_path) -> None:
    (tmp_path / "1-0-2-0.reply.md").write_text("Here.")
    human = Human(tmp_path, wait_s=0)
    human.complete(request())
    with pytest.raises(WorkbenchError, match="another folder"):
        human.complete(request(system="Another problem."))


def test_a_folder_that_cannot_be_written_is_told(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkbenchError, match="cannot write"):
        Human(tmp_path / "file", wait_s=0).complete(request())
