"""One function a command: what was typed in, exit code out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from workbench import evaluation, export
from workbench.cli import demo, doctor, drawing, evaluate, listing, places, running, show, text
from workbench.history import History
from workbench.problems import load_problems
from workbench.records import Settings, Status, WorkbenchError
from workbench.search import Beam

OK, FAILED, NOT_PASSED = 0, 1, 3


def problems(asked: argparse.Namespace) -> int:
    found = load_problems(asked.path or places.problem_folder())
    listed = listing.examine(found, asked.backend or evaluation.default_backend())
    _print(asked, lambda: listing.as_text(listed), lambda: listing.as_json(listed))
    return OK


def run(asked: argparse.Namespace) -> int:
    problem = places.find_problem(asked.problem, asked.size)
    backend = asked.backend or evaluation.default_backend()
    order = running.Order(
        problem=problem,
        backend=backend,
        store=Path(asked.store or f"{problem.name}-{backend}.db"),
        writer=running.Writer(
            replay=asked.replay,
            model=asked.model,
            base_url=asked.base_url,
            preset=asked.preset,
            human=asked.human,
            wait_s=asked.wait,
        ),
        settings=Settings(tier=asked.tier) if asked.tier else None,
        rounds=asked.rounds,
        beam=Beam(width=asked.beam[0], ideas=asked.beam[1], samples=asked.beam[2])
        if asked.beam
        else None,
        seed=asked.seed,
        ask=asked.ask,
    )
    with running.search(order) as search:
        history = search.history
    _print_run(asked, history)
    return OK


def show_run(asked: argparse.Namespace) -> int:
    _print_run(asked, show.read(asked.store))
    return OK


def evaluate_kernel(asked: argparse.Namespace) -> int:
    problem = places.find_problem(asked.problem, asked.size)
    file = Path(asked.kernel)
    backend = evaluate.backend_of(file, asked.backend)
    judged = evaluate.judge(problem, file, backend, asked.tier or "search")
    _print(asked, lambda: evaluate.as_text(judged), lambda: evaluate.as_json(judged))
    return OK if judged.evaluation.status is Status.passed else NOT_PASSED


def export_run(asked: argparse.Namespace) -> int:
    history = show.read(asked.store)
    name = Path(asked.store).stem
    match asked.kind:
        case "recording":
            written = export.recording(
                history,
                asked.out or f"{name}.jsonl",
                author=asked.author,
                provenance=asked.provenance,
                license=asked.license,
            )
        case "training":
            written = export.training_data(history, asked.out or f"{name}-training.jsonl")
        case "folder":
            written = export.folder(history, asked.out or name)
        case _:
            number = _chosen(history, asked.candidate)
            written = export.kernelbench_module(history, number, asked.out or f"{name}.py")
    _print(asked, lambda: str(written), lambda: {"written": [str(written)]})
    return OK


def draw(asked: argparse.Namespace) -> int:
    histories = {Path(store).stem: show.read(store) for store in asked.store}
    written = [str(path) for path in drawing.everything(histories, Path(asked.out))]
    _print(asked, lambda: "\n".join(written), lambda: {"written": written})
    return OK


def examine(asked: argparse.Namespace) -> int:
    report = doctor.examine()
    _print(asked, lambda: doctor.as_text(report), lambda: doctor.as_json(report))
    return OK if report.ready("cpu") else FAILED


def demonstrate(asked: argparse.Namespace) -> int:
    shown = demo.replay_all(asked.backend or evaluation.default_backend(), Path(asked.out))
    _print(asked, lambda: demo.as_text(shown), lambda: demo.as_json(shown))
    return OK


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "problems": problems,
    "run": run,
    "show": show_run,
    "evaluate": evaluate_kernel,
    "export": export_run,
    "figures": draw,
    "doctor": examine,
    "demo": demonstrate,
}


def _print(
    asked: argparse.Namespace, words: Callable[[], str], data: Callable[[], dict[str, object]]
) -> None:
    if asked.json:
        json.dump(data(), sys.stdout, ensure_ascii=False, indent=1)
        print()
    else:
        print(text.printable(words()))


def _print_run(asked: argparse.Namespace, history: History) -> None:
    _print(
        asked,
        lambda: f"{show.table(history)}\n\n{show.summary(history)}",
        lambda: show.as_json(history),
    )


def _chosen(history: History, number: int | None) -> int:
    """The candidate that was named, or the best."""
    if number is None:
        if history.best is None:
            raise WorkbenchError("no kernel of this run passed; name one with --candidate N")
        return history.best.number
    if number not in {c.number for c in history.candidates}:
        raise WorkbenchError(f"there is no candidate {number} in this run")
    return number
