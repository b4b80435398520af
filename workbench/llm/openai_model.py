"""Any server that speaks OpenAI's chat.completions, hosted or local."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import importlib.util
import logging
import os
import threading
import time
import typing
from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from workbench.llm import answer as answers
from workbench.llm.answer import Answer
from workbench.llm.faults import ATTEMPTS, LONGEST_WAIT_S, Fault, Rejection, without_key
from workbench.llm.ladder import STEPS, Ladder
from workbench.llm.model import Request, now
from workbench.llm.presets import Preset, find_preset
from workbench.llm.prompts import IDEAS_SCHEMA
from workbench.records import Completion, ModelError, WorkbenchError

if typing.TYPE_CHECKING:
    import openai

_log = logging.getLogger(__name__)
_FIRST_WAIT_S, _LAST_WAIT_S = 0.5, 60.0  # doubled in between


class OpenAI:
    """A model by name, at OpenAI or at `base_url`; a preset fills in what is None.

    The key is read from the environment variable `api_key_env` at each call and kept nowhere.
    `timeout_s` is how long the server may be silent, `deadline_s` how long a reply may take in
    all. Parameters a server refuses are left out from then on and told in Completion.degraded.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        preset: str | None = None,
        api_key_env: str | None = None,
        parallel: int = 4,
        temperature: float | None = None,
        reasoning_effort: str | None = None,
        max_tokens: int | None = None,
        timeout_s: float | None = None,
        deadline_s: float | None = None,
    ) -> None:
        if importlib.util.find_spec("openai") is None:
            raise WorkbenchError("the package openai is not installed: pip install 'openai>=3,<4'")
        chosen = {
            "base_url": base_url, "api_key_env": api_key_env, "temperature": temperature,
            "reasoning_effort": reasoning_effort, "max_tokens": max_tokens,
            "timeout_s": timeout_s, "deadline_s": deadline_s,
        }  # fmt: skip
        given = {name: value for name, value in chosen.items() if value is not None}
        found = find_preset(preset, base_url)
        if base_url is not None and base_url != found.base_url and api_key_env is None:
            found = dataclasses.replace(found, api_key_env=_same_host_key(found, base_url))
        self._preset: Preset = dataclasses.replace(found, **given)  # type: ignore[arg-type]
        if self._preset.base_url is None:
            raise WorkbenchError(f"the preset {preset or 'local'!r} needs a base_url")
        self.name = model
        self.parallel = parallel
        self._base_url = self._preset.base_url
        self._ladder = Ladder.of(self._base_url)
        self._returned: set[str] = set()
        self._client: openai.AsyncOpenAI | None = None
        self._connecting = threading.Lock()
        self._key()

    def complete(self, request: Request) -> Completion:
        """The model's reply; a ModelError says why there is none."""
        self._connect()
        started = time.monotonic()
        future = asyncio.run_coroutine_threadsafe(self._within_deadline(request), _loop())
        try:
            outcome = future.result()
        finally:
            future.cancel()  # interrupted: the call under way ends as well
        if isinstance(outcome, Fault):
            # Raised here, where no frame and no context of the SDK's is left that knows the key.
            raise self._error(outcome)
        answer = outcome.answer
        self._warn_of_another_model(answer.model)
        usage = answer.usage or answers.estimated_usage(request.messages, answer)
        return Completion(
            address=request.address,
            model=self.name,
            returned_model=answer.model,
            messages=request.messages,
            reply=answer.text,
            reasoning=answer.reasoning,
            finish=answer.finish,
            usage=usage,
            cost_usd=answers.cost_usd(usage, answer.model or self.name, self._base_url),
            seconds=time.monotonic() - started,
            created=now(),
            degraded=outcome.degraded,
        )

    async def _within_deadline(self, request: Request) -> _Reply | Fault:
        limit = self._preset.deadline_s
        try:
            async with asyncio.timeout(limit):  # the SDK's own timeout starts anew with each byte
                return await self._ask(request)
        except TimeoutError:
            return Fault("deadline", f"no complete reply in {limit:g} s")

    async def _ask(self, request: Request) -> _Reply | Fault:
        """Ask until there is an answer, stepping down the ladder and waiting as told."""
        failures: Counter[str] = Counter()
        steps = 0
        while True:
            body = self._ladder.body(
                request, model=self.name, preset=self._preset, schema=IDEAS_SCHEMA
            )
            degraded = tuple(self._ladder.degraded)
            outcome = await self._send(body)
            if isinstance(outcome, Answer):
                return _Reply(outcome, degraded)
            if isinstance(outcome, Rejection):
                if steps < STEPS and self._ladder.step(body, outcome):
                    steps += 1
                    continue
                outcome = outcome.fault()
            failures[outcome.kind] += 1
            own = min(_FIRST_WAIT_S * 2 ** (failures.total() - 1), _LAST_WAIT_S)
            wait_s = outcome.wait_s or own
            if failures[outcome.kind] >= ATTEMPTS.get(outcome.kind, 1) or wait_s > LONGEST_WAIT_S:
                return outcome
            _log.info("%s: %s; again in %.1f s", request.address, outcome.kind, wait_s)
            await asyncio.sleep(wait_s)

    async def _send(self, body: dict[str, typing.Any]) -> Answer | Rejection | Fault:
        """One HTTP exchange. Exceptions end here: their frames and their words hold the key."""
        import openai

        try:
            key = self._key()
        except ModelError as error:
            return Fault(error.kind, str(error))
        try:
            raw = await self._connect().chat.completions.with_raw_response.create(
                **body, extra_headers={"Authorization": f"Bearer {key}"}
            )
            return answers.read(raw.text)
        except openai.APIStatusError as error:
            response = error.response
            return Rejection(
                response.status_code, without_key(response.text, key), response.headers
            )
        except openai.APITimeoutError:
            return Fault("timeout", f"silent for {self._preset.timeout_s:g} s")
        except openai.APIConnectionError as error:
            words = f"no connection: {error.__cause__ or error}"
            return Fault("connection", without_key(words, key))
        except Exception as error:  # whatever a foreign server provokes in the SDK
            return Fault("malformed", without_key(f"{type(error).__name__}: {error}", key))

    def _connect(self) -> openai.AsyncOpenAI:
        """The client, made once and not in the event loop: it takes the better part of a second."""
        import openai

        with self._connecting:
            if self._client is None:
                self._client = openai.AsyncOpenAI(
                    api_key="none",
                    base_url=self._base_url,
                    timeout=self._preset.timeout_s,
                    max_retries=0,
                )
            return self._client

    def _key(self) -> str:
        """The key as the environment has it now; "none" for a server that wants none."""
        variable = self._preset.api_key_env
        if variable is None:
            return "none"
        if key := os.environ.get(variable, "").strip():
            return key
        raise ModelError(
            f"{self.name!r} at {self._address} needs a key: set {variable} in the environment, "
            "or name the variable with api_key_env",
            kind="auth",
            fatal=True,
        )

    def _error(self, fault: Fault) -> ModelError:
        advice = f" ({fault.advice})" if fault.advice else ""
        message = f"{self.name!r} at {self._address}: {fault.words}{advice}"
        return ModelError(message, kind=fault.kind, fatal=fault.fatal)

    @property
    def _address(self) -> str:
        """The base URL without a user's name and password."""
        parts = urlsplit(self._base_url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))

    def _warn_of_another_model(self, returned: str) -> None:
        """Retired models are answered by others, at their prices; say so once."""
        asked = self.name.rsplit("/", 1)[-1]
        if returned and returned not in self._returned:
            self._returned.add(returned)
            if not returned.rsplit("/", 1)[-1].startswith(asked):
                _log.warning("%r was asked for, %r answers", self.name, returned)

    def __repr__(self) -> str:
        return f"<OpenAI {self.name!r} at {self._address}>"


@dataclass(frozen=True, slots=True)
class _Reply:
    answer: Answer
    degraded: tuple[str, ...]  # what the body that it answers went without


_starting = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """The event loop all calls run in: a thread of its own, since a notebook's is taken."""
    with _starting:
        return _started_loop()


@functools.cache
def _started_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="workbench-llm", daemon=True).start()
    return loop


def _same_host_key(preset: Preset, base_url: str) -> str | None:
    """A preset's key goes to the preset's host and nowhere else."""
    same = urlsplit(preset.base_url or "").hostname == urlsplit(base_url).hostname
    return preset.api_key_env if same else None
