"""Recordings come back as they were written, byte for byte; what is torn or foreign is told."""

from __future__ import annotations

import dataclasses
import gzip
import json
import random

import pytest

from workbench.llm import Replay, Request
from workbench.llm.model import prompt_sha
from workbench.llm.recording import (
    Header,
    RecordedBranch,
    RecordedCompletion,
    RecordedDecision,
    RecordedResult,
    Recording,
    address_order,
    read,
    write,
)
from workbench.records import Message, ReplayMiss, Status, Usage, WorkbenchError

HEADER = Header(
    problem="softmax",
    problem_sha="0123456789abcdef",
    source="import torch\n",
    backend="cpu",
    strategy="Beam(width=2, ideas=2, samples=2)",
    author="a person",
    provenance="Ideas and kernels were written by hand.",
    device="AMD EPYC 7B13",
    created="2026-12-01T10:00:00+00:00",
    license="MIT",
    workbench="0.1.0",
)
MESSAGES = (Message(role="user", content="Write it."),)


def completion(address: str, reply: str = "Here.") -> RecordedCompletion:
    return RecordedCompletion(
        address=address,
        model="a-model",
        returned_model="a-model-2026",
        reply=reply,
        reasoning="Let me see.",
        usage=Usage(prompt=900, completion=400, reasoning=100),
        cost_usd=0.01,
        created="2026-12-01T10:02:00+00:00",
        prompt_sha=prompt_sha(MESSAGES),
    )


RECORDING = Recording(
    header=HEADER,
    branches=(
        RecordedBranch(round=0, index=0, ideas=0, samples=1),
        RecordedBranch(round=1, index=0, parents=("0/0/0/0",), lane=1, ideas=2, samples=2),
    ),
    completions=(
        completion("0/0/0/0", "µ 🙂 \u2028 ```cpp\n```"),
        completion("1/0/ideas"),
        completion("1/0/0/0", "half a pair \ud83d"),
        completion("1/0/0/0/repair"),
        completion("1/0/1/0"),
        completion("1/0/10/0"),
    ),
    decisions=(
        RecordedDecision(address="1/0/1", approved=False, note="tried"),
        RecordedDecision(address="1/0/1/0", approved=False),
    ),
    results=(
        RecordedResult(address="0/0/0/0", status=Status.passed, median_us=182.5, speedup=2.31,
                       low=2.2, high=2.4),
        RecordedResult(address="1/0/0/0", status=Status.compile_error, detail="no `k`"),
    ),
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "softmax.jsonl", RECORDING)


def test_a_recording_comes_back_as_it_was(path) -> None:
    assert read(path) == RECORDING
    assert read(path).note == "Ideas and kernels were written by hand."


def test_the_same_recording_gives_the_same_bytes_in_any_order_and_place(path, tmp_path) -> None:
    rng = random.Random(3)
    mixed = dataclasses.replace(
        RECORDING,
        completions=tuple(rng.sample(RECORDING.completions, k=6)),
        branches=RECORDING.branches[::-1],
    )
    assert write(tmp_path / "other.jsonl", mixed).read_bytes() == path.read_bytes()
    first, second = (write(tmp_path / f"{n}.jsonl.gz", mixed).read_bytes() for n in "ab")
    assert first == second
    assert gzip.decompress(first) == path.read_bytes()


def test_a_compressed_recording_is_read_whatever_its_name(tmp_path) -> None:
    packed = write(tmp_path / "a.jsonl.gz", RECORDING)
    assert read(packed) == RECORDING
    assert read(packed.rename(tmp_path / "a.jsonl")) == RECORDING


def test_lines_tell_the_search_in_its_order_without_prompts(path) -> None:
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    kinds = [next(iter(line)) for line in lines]
    assert kinds[:4] == ["header", "branch", "completion", "result"]
    told = [line["completion"]["address"] for line in lines if "completion" in line]
    assert told == sorted(told, key=address_order)
    assert told[-1] == "1/0/10/0"
    assert "Write it." not in path.read_text()
    assert "µ 🙂" in path.read_text()


def test_nothing_is_left_when_a_recording_cannot_be_written(tmp_path) -> None:
    with pytest.raises(WorkbenchError, match="cannot write"):
        write(tmp_path / "none" / "a.jsonl", RECORDING)
    assert list(tmp_path.iterdir()) == []


# -- torn and foreign files ----------------------------------------------------------------


def test_a_recording_cut_anywhere_is_read_whole_lines_only_or_told(path) -> None:
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        if whole[:end].endswith(b"\n"):
            assert read(path).header == HEADER
            continue
        with pytest.raises(WorkbenchError, match=r"softmax\.jsonl"):
            read(path)


def test_a_compressed_recording_that_is_cut_or_damaged_is_told(tmp_path) -> None:
    packed = write(tmp_path / "a.jsonl.gz", RECORDING)
    whole = packed.read_bytes()
    for damaged in (whole[:-9], whole[:30], whole[:40] + b"\0\0\0\0" + whole[44:]):
        packed.write_bytes(damaged)
        with pytest.raises(WorkbenchError, match="torn"):
            read(packed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty|no header"),
        ("hello\n", "not a recording"),
        ("[1]\n", "not a recording"),
        ('{"v": 1, "key": "x"}\n', "not a recording"),
        ('{"header": {"format": 2}}\n', "format 2; this workbench reads format 1"),
        ('{"header": {"format": 1}}\n', "not a recording"),
        ('{"header": null}\n', "not a recording"),
    ],
)
def test_a_foreign_file_is_told_by_its_first_line(tmp_path, text, words) -> None:
    file = tmp_path / "foreign.jsonl"
    file.write_text(text)
    with pytest.raises(WorkbenchError, match=words):
        read(file)


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        "{}",
        '{"verdict": {}}',
        '{"branch": {"round": 0}}',
        '{"branch": {"round": 0, "index": 0, "ideas": 1, "samples": 1, "colour": "red"}}',
        '{"completion": {"address": "nowhere", "model": "", "returned_model": "", "reply": ""}}',
        '{"completion": {"address": "0/0/0/0", "model": "", "returned_model": "", "reply": 7}}',
        '{"result": {"address": "0/0/0/0", "status": "splendid"}}',
        '{"decision": {"address": "0/0/0", "approved": true}, "branch": {}}',
    ],
)
def test_a_line_of_another_kind_is_told_by_its_number(path, line) -> None:
    number = path.read_bytes().count(b"\n") + 1
    with path.open("a") as out:
        out.write(line + "\n")
    with pytest.raises(WorkbenchError, match=f"line {number}"):
        read(path)


def test_two_replies_at_one_address_are_told(path) -> None:
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:-1], lines[2], ""]))
    with pytest.raises(WorkbenchError, match="two replies"):
        read(path)


# -- replay --------------------------------------------------------------------------------


def request(address: str) -> Request:
    return Request(address=address, purpose="kernel", messages=MESSAGES)


def test_a_replay_answers_by_address_and_costs_nothing(path) -> None:
    model = Replay(path)
    reply = model.complete(request("1/0/1/0"))
    recorded = RECORDING.completion("1/0/1/0")
    assert recorded is not None
    assert (reply.address, reply.messages) == ("1/0/1/0", MESSAGES)
    assert (reply.reply, reply.reasoning) == (recorded.reply, recorded.reasoning)
    assert (reply.model, reply.returned_model) == ("a-model", "a-model-2026")
    assert (reply.usage, reply.created) == (recorded.usage, recorded.created)
    assert reply.cost_usd == 0.0
    assert model.complete(request("1/0/1/0")) == reply


def test_a_replay_is_named_after_its_file(path) -> None:
    assert Replay(path).name == "replay of softmax.jsonl"
    assert Replay(str(path)).recording == RECORDING


@pytest.mark.parametrize(
    ("address", "nearest"),
    [
        ("1/0/9/0", "1/0/10/0"),
        ("1/0/2/1", "1/0/1/0"),
        ("1/0/1/1", "1/0/1/0"),
        ("1/0/1/0/repair", "1/0/1/0"),
        ("0/0/ideas", "0/0/0/0"),
        ("7/3/ideas", "1/0/ideas"),
    ],
)
def test_a_miss_names_the_address_and_the_nearest_there_is(path, address, nearest) -> None:
    with pytest.raises(ReplayMiss) as caught:
        Replay(path).complete(request(address))
    assert repr(address) in str(caught.value)
    assert str(caught.value).endswith(repr(nearest))


def test_a_recording_without_replies_misses_politely(tmp_path) -> None:
    path = write(tmp_path / "a.jsonl", Recording(header=HEADER))
    with pytest.raises(ReplayMiss, match="none at all"):
        Replay(path).complete(request("0/0/0/0"))


def test_what_is_not_a_file_is_never_replaced(tmp_path) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    with pytest.raises(WorkbenchError, match="not a file"):
        write(place, RECORDING)
    assert place.is_dir()
