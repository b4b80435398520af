"""What a search asks of a model: messages for an address, one reply."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal, Protocol

from workbench.records import Completion, Message, sha_of

Purpose = Literal["ideas", "kernel", "repair"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call: where in the search its reply belongs, and what is said.

    Addresses are round/branch/ideas, round/branch/idea/sample and that with /repair.
    `max_tokens` None: as much as the model is set up to write.
    """

    address: str
    purpose: Purpose
    messages: tuple[Message, ...]
    max_tokens: int | None = None


class Model(Protocol):
    """Answers requests, one at a time from each of several threads.

    Raises ModelError or ReplayMiss when there is no usable reply, another WorkbenchError when
    there can be none.
    """

    @property
    def name(self) -> str:
        """What is kept as the run's model."""
        ...

    @property
    def parallel(self) -> int:
        """How many calls may be under way."""
        ...

    def complete(self, request: Request) -> Completion: ...


def prompt_sha(messages: tuple[Message, ...]) -> str:
    """What tells whether a prompt is the one a recorded reply answered."""
    return sha_of("\0".join(f"{m.role}\n{m.content}" for m in messages))


def now() -> str:
    """UTC, to the second, as every record has it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
