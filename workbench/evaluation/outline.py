"""Signatures without a device: shapes, bytes and flop of many problems, nothing allocated.

`python -m workbench.evaluation.outline` is the child process: problems in, signatures out,
one JSON document a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator

from workbench.evaluation import isolation
from workbench.records import DeviceError, Problem, ProblemError, Signature, decode, encode

_LIMIT_S = 600.0


def outline(problems: Iterable[Problem]) -> list[Signature | ProblemError]:
    """What each reference receives and returns, found on torch's meta device in a child process.

    A reference whose shapes depend on its data, or that is broken, gives a ProblemError.
    """
    order = "\n".join(json.dumps(encode(p)) for p in problems)
    try:
        run = subprocess.run(
            [sys.executable, "-m", "workbench.evaluation.outline"],
            input=order,
            env=isolation.judge_environment(),
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DeviceError(f"the references gave no shapes within {_LIMIT_S:g} s") from error
    answers = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    if len(answers) != len(order.splitlines()):
        raise DeviceError(f"the references could not be outlined:\n{run.stderr[-2000:]}")
    return [
        decode(Signature, a["signature"]) if "signature" in a else ProblemError(a["error"])
        for a in answers
    ]


def _answers(lines: Iterable[str]) -> Iterator[dict[str, object]]:
    import torch

    from workbench.evaluation import reference

    device = torch.device("meta")
    for line in lines:
        problem = decode(Problem, json.loads(line))
        try:
            found = reference.described(reference.Reference.load(problem, device, 0), 0)
            yield {"signature": encode(found)}
        except ProblemError as error:
            yield {"error": str(error)}


if __name__ == "__main__":
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a problem file prints is not an answer
    for answer in _answers(sys.stdin.read().splitlines()):
        print(json.dumps(answer), file=answers, flush=True)
