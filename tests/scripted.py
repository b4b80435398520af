"""A model that answers by address and an executor that plays verdicts from a table."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path

import histories

from workbench.evaluation import Description
from workbench.history import History
from workbench.llm import Request
from workbench.records import (
    Backend,
    Baseline,
    Candidate,
    Category,
    Completion,
    Evaluation,
    Problem,
    Record,
    Run,
    Settings,
    Status,
)
from workbench.search import Beam, Search
from workbench.store import Store

PROBLEM = Problem(name="linear_relu", source=histories.REFERENCE)
NO_BASELINES = Settings(baselines=())


class Scripted:
    """Answers every address in its own words; `replies` and `before` say otherwise."""

    name = "scripted"

    def __init__(
        self,
        replies: dict[str, str] | None = None,
        *,
        before: Callable[[Request], None] = lambda _: None,
        parallel: int = 1,
    ) -> None:
        self.parallel = parallel
        self.asked: list[str] = []
        self._replies = replies or {}
        self._before = before

    def complete(self, request: Request) -> Completion:
        self.asked.append(request.address)
        self._before(request)
        return Completion(
            address=request.address,
            model=self.name,
            returned_model=self.name,
            messages=request.messages,
            reply=self._replies.get(request.address) or reply_to(request),
        )


def reply_to(request: Request) -> str:
    if request.purpose == "ideas":
        return ideas(*(f"Tile rows by {k} at {request.address}" for k in range(8)))
    return f"```cpp\n{kernel(request.address)}```\n"


def ideas(*titles: str) -> str:
    """A reply with these ideas, their categories in turn."""
    categories = [c.value for c in Category]
    return json.dumps(
        {
            "ideas": [
                {
                    "title": title,
                    "category": categories[k % len(categories)],
                    "hypothesis": f"It is faster since {title}.",
                }
                for k, title in enumerate(titles)
            ]
        }
    )


def kernel(address: str) -> str:
    """A kernel file that no other address has."""
    name = address.replace("/", "_")
    return (
        f"static const int k_{name} = 0;\n"
        'extern "C" void launch(const float* x, const float* linear_weight,\n'
        "                       const float* linear_bias, float* out, void* workspace) {\n"
        f"    out[0] = x[k_{name}];\n}}\n"
    )


class Played:
    """An executor whose verdicts are given by address: a speedup, or the Status of a failure."""

    backend: Backend = "cpu"

    def __init__(self, verdicts: dict[str, float | Status] | None = None) -> None:
        self.submitted: list[int] = []
        self.described = 0
        self.closed = False
        self._verdicts = verdicts or {}

    def describe(self, problem: Problem) -> Description:
        self.described += 1
        return Description(histories.SIGNATURE, histories.ENVIRONMENT)

    def submit(self, run: Run, candidate: Candidate) -> Future[Evaluation]:
        self.submitted.append(candidate.number)
        future: Future[Evaluation] = Future()
        future.set_result(self._verdict(candidate))
        return future

    def _verdict(self, candidate: Candidate) -> Evaluation:
        verdict = self._verdicts.get(candidate.address or "", ratio_of(candidate))
        if isinstance(verdict, Status):
            return histories.evaluation(candidate.number, verdict)
        return histories.evaluation(candidate.number, Status.passed, verdict)

    def baselines(self, run: Run, names: Iterable[str]) -> list[Baseline]:
        return [Baseline(name=name, timing=histories.timing(1.0)) for name in names]

    @property
    def activity(self) -> tuple[str, ...]:
        return ()

    def cancel(self) -> None: ...

    def close(self) -> None:
        self.closed = True


class Stuck(Played):
    """An executor whose jobs end only when they are cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.started = threading.Event()
        self._futures: list[Future[Evaluation]] = []

    def submit(self, run: Run, candidate: Candidate) -> Future[Evaluation]:
        self.submitted.append(candidate.number)
        self._futures.append(Future())
        self.started.set()
        return self._futures[-1]

    def cancel(self) -> None:
        for future in self._futures:
            if not future.done():
                future.set_exception(CancelledError())


def ratio_of(candidate: Candidate) -> float:
    """A speedup between 0.5 and 3.5 that a source always gets."""
    digest = hashlib.sha256(candidate.source.encode()).digest()
    return 0.5 + 3 * digest[0] / 255


def search(
    store: Store | Path,
    llm: Scripted | None = None,
    executor: Played | None = None,
    *,
    strategy: Beam | None = None,
    settings: Settings = NO_BASELINES,
) -> Search:
    return Search(
        PROBLEM, store, llm=llm or Scripted(), strategy=strategy,
        settings=settings, executor=executor or Played(),
    )  # fmt: skip


def measured(history: History) -> Counter[int]:
    """How often each candidate was evaluated."""
    return Counter(e.candidate for e in history.evaluations)


def timeless(history: History) -> list[Record]:
    """Every record without what differs from run to run: ids and times."""
    return [
        replace(history.run, id="", created=""),
        *history.branches,
        *history.all_ideas,
        *(replace(d, at="") for d in history.decisions),
        *history.candidates,
        *(replace(e, created="", seconds=0.0) for e in history.evaluations),
        *(replace(c, created="", seconds=0.0) for c in history.completions),
        *(replace(b, created="") for b in history.baselines),
    ]
