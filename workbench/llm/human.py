"""A person as the model: a prompt goes out as a file, the reply comes in as another."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from workbench.llm.model import Request, now
from workbench.records import Completion, ModelError, WorkbenchError, sha_of

POLL_S = 0.2
_SETTLE_S = 0.05


class Human:
    """Writes `1-0-2-0.md` into a folder and takes the text of `1-0-2-0.reply.md` as the reply.

    `wait_s` None waits for ever; after `wait_s` seconds (0: at once) a ModelError of kind
    "waiting" names the file that is awaited: the same call made later takes it up.
    """

    name = "human"
    parallel = 32  # prompts wait side by side

    def __init__(self, folder: str | Path = "human", wait_s: float | None = None) -> None:
        self.folder = Path(folder)
        self.wait_s = wait_s

    def complete(self, request: Request) -> Completion:
        stem = request.address.replace("/", "-")
        prompt, reply = self.folder / f"{stem}.md", self.folder / f"{stem}.reply.md"
        self._put(prompt, request)
        started = time.monotonic()
        while (text := _settled(reply)) is None:
            waited = time.monotonic() - started
            if self.wait_s is not None and waited >= self.wait_s:
                raise ModelError(
                    f"waiting for a person: answer {str(prompt)!r} in {str(reply)!r}, "
                    "then ask again",
                    kind="waiting",
                )
            time.sleep(POLL_S)
        return Completion(
            address=request.address,
            model=self.name,
            returned_model=self.name,
            messages=request.messages,
            reply=text,
            cost_usd=0.0,
            seconds=time.monotonic() - started,
            created=now(),
        )

    def _put(self, prompt: Path, request: Request) -> None:
        """Write a prompt unless it is there; refuse a folder that serves another search."""
        opening = request.messages[0].content if request.messages else ""
        mark = f"<!-- {request.address} · {request.purpose} · search {sha_of(opening)} -->"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if prompt.exists():
                first = prompt.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
                if first.rpartition(" · ")[2] != mark.rpartition(" · ")[2]:
                    raise WorkbenchError(
                        f"{str(prompt)!r} belongs to another search; give Human another folder"
                    )
                return
            fresh = prompt.with_suffix(f".{threading.get_ident()}.new")
            parts = [mark, *(f"## {m.role}\n\n{m.content}" for m in request.messages)]
            fresh.write_text("\n\n".join(parts) + "\n", encoding="utf-8", errors="replace")
            os.replace(fresh, prompt)
        except OSError as error:
            raise WorkbenchError(
                f"cannot write the prompt {str(prompt)!r}: {error.strerror}"
            ) from error

    def __repr__(self) -> str:
        wait = "for ever" if self.wait_s is None else f"{self.wait_s:g} s"
        return f"<Human, by files in {str(self.folder)!r}, waits {wait}>"


def _settled(reply: Path) -> str | None:
    """The text of a reply that is no longer being written; None while there is none."""
    text = _text(reply)
    if text is None:
        return None
    time.sleep(_SETTLE_S)
    return text if _text(reply) == text else None


def _text(reply: Path) -> str | None:
    try:
        text = reply.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None
    return text if text.strip() else None
