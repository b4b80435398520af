"""A model that answers from a recording: same addresses, same replies, no network."""

from __future__ import annotations

import logging
from pathlib import Path

from workbench.llm.model import Request, prompt_sha
from workbench.llm.recording import Recording, address_order, read
from workbench.records import Completion, ReplayMiss

_log = logging.getLogger(__name__)


class Replay:
    """Answers each request with the reply recorded at its address.

    Replies cost nothing now; their model, tokens and date are those of the recording.
    """

    parallel = 1  # replies are at hand, and kernels get the same numbers in every replay

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.recording: Recording = read(path)

    @property
    def name(self) -> str:
        return f"replay of {self.path.name}"

    def complete(self, request: Request) -> Completion:
        """The recorded reply; raises ReplayMiss, which names the nearest address there is."""
        found = self.recording.completion(request.address)
        if found is None:
            raise ReplayMiss(
                f"{self.path.name!r} holds no reply for {request.address!r}; "
                f"{self._nearest(request.address)}"
            )
        if found.prompt_sha and found.prompt_sha != prompt_sha(request.messages):
            _log.debug("%s: the prompt differs from the recorded one", request.address)
        return Completion(
            address=request.address,
            model=found.model,
            returned_model=found.returned_model,
            messages=request.messages,
            reply=found.reply,
            reasoning=found.reasoning,
            finish=found.finish,
            usage=found.usage,
            cost_usd=0.0,
            created=found.created,
        )

    def _nearest(self, address: str) -> str:
        """The recorded address with the longest common beginning, then the closest number."""
        wanted = address_order(address)

        def distance(other: str) -> tuple[int, int, int]:
            parts = address_order(other)
            pairs = list(zip(wanted, parts, strict=False))
            common = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
            gap = abs(wanted[common] - parts[common]) if common < len(pairs) else 0
            return -common, abs(len(wanted) - len(parts)), gap

        recorded = [c.address for c in self.recording.completions]
        if not recorded:
            return "it holds none at all"
        return f"the nearest it has is {min(recorded, key=distance)!r}"

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.recording.completions)} replies>"
