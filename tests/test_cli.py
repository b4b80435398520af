"""The command line, as a person or a script uses it: real compiler, real judge, real SQLite."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import histories
import pytest
import scripted

from workbench import cli
from workbench.cli import doctor, places, text
from workbench.cli.approval import Stopped, Terminal, decide
from workbench.cli.live import Progress
from workbench.history import History
from workbench.llm import recording
from workbench.metrics import Interval
from workbench.records import ProblemError, Status, WorkbenchError
from workbench.store import Store

ROOT = Path(__file__).parents[1]
PROBLEM = '''"""y = exp(x)."""
import torch

count = 1048576


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.exp(x)


def get_inputs():
    return [torch.rand(count)]


def get_init_inputs():
    return []
'''
# Far from the floor, which a busy machine measures badly.
KERNEL = """#include <cmath>
extern "C" void launch(const float* x, float* out, void* workspace) {
    for (long long i = 0; i < problem::count; ++i) out[i] = std::exp(%s * x[i]);
}
"""
IDEAS = {
    "ideas": [
        {"title": "Halve and double", "hypothesis": "0.5 + 0.5.", "category": "memory access"},
        {"title": "Use <\x1b[31mred\x1b[0m>", "hypothesis": "No.", "category": "memory access"},
    ]
}


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    file = tmp_path / "exponential.py"
    file.write_text(PROBLEM)
    return file


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "mine.cpp"
    file.write_text(KERNEL % "1.0f")
    return file


@pytest.fixture
def replies(tmp_path: Path, problem: Path) -> Path:
    """A recording of two rounds: a right translation, then a right and a wrong kernel."""
    made = recording.Recording(
        header=recording.Header(
            problem="exponential", problem_sha=places.find_problem(str(problem)).sha, backend="cpu",
            strategy="Beam(width=1, ideas=2, samples=1)", author="test",
            provenance="Written by hand.", device="none", created="2026-12-01", license="MIT",
            workbench="0.1.0",
        ),
        branches=(
            recording.RecordedBranch(round=0, index=0, ideas=0, samples=1),
            recording.RecordedBranch(round=1, index=0, parents=("0/0/0/0",), ideas=2, samples=1),
        ),
        completions=(
            said("0/0/0/0", f"```cpp\n{KERNEL % '1.0f'}```\n"),
            said("1/0/ideas", json.dumps(IDEAS)),
            said("1/0/0/0", f"```cpp\n{KERNEL % '(0.5f + 0.5f)'}```\n"),
            said("1/0/1/0", f"```cpp\n{KERNEL % '1.1f'}```\n"),
        ),
    )  # fmt: skip
    return recording.write(tmp_path / "exponential.jsonl", made)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A store with five finished rounds."""
    path = tmp_path / "linear.db"
    history = histories.searched()
    store = Store(path)
    store.add(history.run, *history.baselines, *history.branches, *history.all_ideas)
    store.add(*history.decisions, *history.candidates, *history.evaluations, *history.completions)
    store.close()
    return path


def said(address: str, reply: str) -> recording.RecordedCompletion:
    return recording.RecordedCompletion(
        address=address, model="a-model", returned_model="a-model", reply=reply
    )


def run(*arguments: str | Path, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, from a bare checkout."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "workbench", *map(str, arguments)],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False, **more,
    )  # fmt: skip


# -- words -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("us", "words"),
    [(0.512, "0.51 µs"), (18.24, "18.2 µs"), (182.4, "182 µs"), (999.6, "1.00 ms"),
     (29_300, "29.3 ms"), (4_200_000, "4.20 s")],
)  # fmt: skip
def test_durations_have_three_digits(us: float, words: str) -> None:
    assert text.duration(us) == words


def test_a_speedup_shows_its_interval() -> None:
    assert text.ratio(Interval(2.314, 2.30, 2.33)) == "2.31x ±0.6 %"
    assert text.ratio(None) == "-"


def test_a_strangers_text_cannot_move_the_cursor() -> None:
    assert text.printable("a\x1b[2Jb\rc\nd\te\x9bf") == "a[2Jbc\nd\tef"


def test_a_table_lines_its_columns_up() -> None:
    made = text.table(("name", "µs"), [("a", "1"), ("long", "100")], right="µs")
    assert made.splitlines() == ["name   µs", "----  ---", "a       1", "long  100"]


# -- problems and arguments --------------------------------------------------------------


def test_a_size_is_replaced_and_named(problem: Path) -> None:
    assert places.find_problem(str(problem), ["count=64"]).name == "exponential[count=64]"


@pytest.mark.parametrize(
    ("name", "sizes", "words"),
    [("no/such.py", [], "no file 'no/such.py'"), ("softmaxx", [], "no problem named 'softmaxx'")],
)
def test_a_problem_that_is_not_there_is_named(name: str, sizes: list[str], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        places.find_problem(name, sizes)


def test_a_size_that_is_no_number_is_explained(problem: Path) -> None:
    with pytest.raises(ProblemError, match="NAME=VALUE"):
        places.find_problem(str(problem), ["count=many"])


def test_problems_are_listed_with_their_floor(problem: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(PROBLEM.replace("torch.exp(x)", "x.no_such_thing"))
    done = run("problems", tmp_path, "--backend", "cpu", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    listed = {p["name"]: p for p in json.loads(done.stdout)["problems"]}
    assert listed["exponential"]["signature"]["bytes"] == 2 * 4 * 1048576
    assert listed["exponential"]["floor_us"] > 0
    assert listed["broken"]["signature"] is None
    assert "no_such_thing" in listed["broken"]["why_no_signature"]


def test_a_failure_of_ours_is_one_message_and_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "no-such.db"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "workbench: no store 'no-such.db'\n"


@pytest.mark.parametrize("arguments", [[], ["fly"], ["run"], ["run", "x", "--beam", "two"]])
def test_wrong_arguments_are_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage: workbench" in capsys.readouterr().err


# -- evaluate ----------------------------------------------------------------------------


def test_a_kernel_that_passes_is_code_0(problem: Path, kernel: Path, tmp_path: Path) -> None:
    done = run("evaluate", problem, kernel, "--tier", "triage", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["status"] == "passed"
    assert verdict["time_us"]["value"] > 0


def test_a_wrong_kernel_is_code_3_and_shows_its_cases(
    problem: Path, kernel: Path, tmp_path: Path
) -> None:
    kernel.write_text(KERNEL % "1.1f")
    done = run("evaluate", problem, kernel, "--tier", "triage", cwd=tmp_path)
    assert done.returncode == 3
    assert "incorrect" in done.stdout.splitlines()[0]
    assert "FAILED" in done.stdout


def test_a_kernel_that_does_not_build_shows_the_compilers_words(
    problem: Path, kernel: Path, tmp_path: Path
) -> None:
    kernel.write_text("nonsense here")
    done = run("evaluate", problem, kernel, cwd=tmp_path)
    assert done.returncode == 3
    assert "compile_error" in done.stdout.splitlines()[0]
    assert "does not name a type" in done.stdout


def test_a_cuda_kernel_is_not_judged_on_the_cpu(problem: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.cu").write_text("")
    done = run("evaluate", problem, "mine.cu", "--backend", "cpu", cwd=tmp_path)
    assert done.returncode == 1
    assert "is a kernel for backend 'cuda', not 'cpu'" in done.stderr


# -- show, export, figures ---------------------------------------------------------------


def test_a_run_is_shown_with_every_candidate(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = histories.searched()
    assert cli.main(["show", str(stored)]) == 0
    shown = capsys.readouterr().out
    assert history.best is not None
    assert f"#{history.best.number} " in shown
    assert "over compile" in shown
    assert shown.count("passed fp32") == sum(e.status is Status.passed for e in history.evaluations)


def test_a_shown_run_is_machine_readable(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = histories.searched()
    assert cli.main(["show", str(stored), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert history.best is not None
    assert shown["best"] == history.best.number
    assert len(shown["candidates"]) == len(history.candidates)


@pytest.mark.parametrize("kind", ["recording", "folder", "training", "kernelbench"])
def test_a_run_is_exported(
    kind: str, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"exported-{kind}"
    assert cli.main(["export", str(stored), kind, "--out", str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert out.exists()


def test_a_candidate_that_is_not_there_is_not_exported(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["export", str(stored), "kernelbench", "--candidate", "999"]) == 1
    assert "no candidate 999" in capsys.readouterr().err


def test_figures_are_drawn(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["figures", str(stored), "--out", str(tmp_path / "drawn"), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    assert {Path(w).name for w in written} >= {"trajectory.pdf", "trajectory.html", "lineage.pdf"}
    assert all(Path(w).stat().st_size > 0 for w in written)


# -- run ---------------------------------------------------------------------------------


def test_a_replay_runs_to_its_end_and_the_same_command_carries_on(
    problem: Path, replies: Path, tmp_path: Path
) -> None:
    command = ["run", problem, "--backend", "cpu", "--replay", replies, "--store", "d.db"]
    command += ["--tier", "triage", "--json"]
    first = run(*command, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    shown = json.loads(first.stdout)
    assert [c["address"] for c in shown["candidates"]][:3] == ["0/0/0/0", "1/0/0/0", "1/0/1/0"]
    assert [c["status"] for c in shown["candidates"]][:3] == ["passed", "passed", "incorrect"]
    assert shown["run"]["note"] == "Written by hand."
    assert "approved by this command" in first.stderr
    assert "1/0/1/0" in first.stderr  # told as it came
    assert "\x1b" not in first.stderr

    again = run(*command, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["candidates"] == shown["candidates"]
    assert "carried on: 3 kernels are judged already" in again.stderr


def test_without_a_writer_the_choices_are_explained(problem: Path, tmp_path: Path) -> None:
    done = run("run", problem, "--backend", "cpu", cwd=tmp_path)
    assert done.returncode == 1
    assert all(choice in done.stderr for choice in ("--replay", "--model", "--human"))
    assert not list(tmp_path.glob("*.db"))


def test_a_person_by_files_finds_the_prompt_there(problem: Path, tmp_path: Path) -> None:
    done = run("run", problem, "--backend", "cpu", "--human", "inbox", "--wait", "0", cwd=tmp_path)
    assert done.returncode == 1
    assert "waiting for a person" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "inbox" / "0-0-0-0.md").exists()


def test_a_person_at_the_terminal_decides(problem: Path, replies: Path, tmp_path: Path) -> None:
    # the translation, its kernel, two ideas, the first one's kernel
    answers = "y\n" * 3 + "n\nnot this one\n" + "y\n"
    done = run(
        "run", problem, "--backend", "cpu", "--replay", replies, "--ask", "--json",
        "--tier", "triage", cwd=tmp_path, input=answers,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert [c["address"] for c in shown["candidates"]] == ["0/0/0/0", "1/0/0/0"]
    assert "Halve and double" in done.stderr
    assert "\x1b" not in done.stderr


def test_an_interrupted_run_is_code_130_and_its_store_is_whole(
    problem: Path, tmp_path: Path
) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "run", str(problem), "--backend", "cpu",
         "--human", "inbox", "--store", "d.db"],
        cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True,
        # a shell's background jobs ignore the signal, and their children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    prompt = tmp_path / "inbox" / "0-0-0-0.md"
    wait_for(prompt.exists)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "what is finished is in the store" in said
    assert "Traceback" not in said
    store = Store(tmp_path / "d.db")
    history = store.history()
    store.close()
    assert history is not None
    assert len(history.branches) == 1


def wait_for(condition: Callable[[], bool], limit_s: float = 120.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.05)


# -- live --------------------------------------------------------------------------------


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Staged:
    """A search that grows by one record a look."""

    def __init__(self, history: History, *, seen: int) -> None:
        self._whole = history
        self._seen = seen
        self.cancelled = threading.Event()
        self.activity = ("kernel 17: timing",)

    @property
    def history(self) -> History:
        self._seen += 1
        return replace(self._whole, evaluations=self._whole.evaluations[: self._seen])

    def cancel(self) -> None:
        self.cancelled.set()


def test_each_verdict_is_told_once_and_old_ones_not_at_all() -> None:
    history = histories.searched()
    out = io.StringIO()
    search = Staged(history, seen=2)  # the third is there at the start
    Progress(search, out).follow(lambda: time.sleep(1.5))
    told = [line.split()[0] for line in out.getvalue().splitlines()]
    evaluated = [str(e.candidate) for e in history.evaluations]
    assert told == evaluated[3 : 3 + len(told)]
    assert told


def test_a_terminal_has_a_status_line_below() -> None:
    screen = Screen()
    Progress(Staged(histories.searched(), seen=2), screen).follow(lambda: time.sleep(0.5))
    assert "kernel 17: timing" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_what_a_stage_raises_is_raised() -> None:
    def fail() -> None:
        raise WorkbenchError("no such model")

    with pytest.raises(WorkbenchError, match="no such model"):
        Progress(Staged(histories.searched(), seen=2), io.StringIO()).follow(fail)


# -- approval ----------------------------------------------------------------------------


@pytest.fixture
def asked(tmp_path: Path) -> scripted.Search:
    """A search with a round of ideas that wait for a decision."""
    search = scripted.Search(
        scripted.PROBLEM, store=tmp_path / "asked.db", llm=scripted.Scripted(),
        strategy=scripted.Beam(width=1, ideas=3, samples=1), settings=scripted.NO_BASELINES,
        executor=scripted.Played(),
    )  # fmt: skip
    search.run(rounds=1)
    search.propose()
    return search


def answering(*answers: str) -> Terminal:
    return Terminal(io.StringIO(), io.StringIO("".join(f"{a}\n" for a in answers)))


def test_ideas_are_approved_reworded_and_turned_down(asked: scripted.Search) -> None:
    first, second, third = asked.missing.ideas
    decide(asked, answering("y", "r", "Better words", "", "y", "?", "n", "too slow"))
    history = asked.history
    assert history.is_approved("idea", first.number)
    reworded = next(i for i in history.ideas if i.rewords == second.number)
    assert reworded.title == "Better words"
    assert history.is_approved("idea", reworded.number)
    refused = history.decision("idea", third.number)
    assert refused is not None
    assert (refused.approved, refused.note) == (False, "too slow")


def test_all_that_wait_are_approved_at_once(asked: scripted.Search) -> None:
    decide(asked, answering("a"))
    assert not asked.missing.ideas


def test_a_person_who_has_enough_leaves_the_rest_undecided(asked: scripted.Search) -> None:
    with pytest.raises(Stopped):
        decide(asked, answering("y", "q"))
    assert len(asked.missing.ideas) == 2


# -- doctor ------------------------------------------------------------------------------


def test_the_doctor_finds_what_the_tests_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ready"]["cpu"] is True
    states = {f["name"]: f["state"] for f in report["findings"]}
    assert states["torch"] == states["C++ compiler"] == "found"


def test_the_doctor_names_keys_and_never_shows_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    cli.main(["doctor"])
    said = capsys.readouterr().out
    assert "OPENAI_API_KEY" in said
    assert "secret" not in said


def test_the_doctor_works_where_everything_is_missing(tmp_path: Path) -> None:
    """No compiler, no browser, no package: a Python of its own, on an empty PATH."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    environment = {"PYTHONPATH": str(ROOT), "PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [str(bare / "bin" / "python"), "-m", "workbench", "doctor", "--json"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    missing = {f["name"]: f for f in report["findings"] if f["state"] != "found"}
    assert {"torch", "C++ compiler", "chromium", "openai"} <= set(missing)
    assert all(missing[name]["mend"] for name in ("torch", "C++ compiler", "chromium", "openai"))


def test_the_doctor_is_not_ready_without_a_compiler() -> None:
    findings = (
        doctor.Finding("torch", "found", "2"),
        doctor.Finding("C++ compiler", "missing", "none", "install g++"),
    )
    report = doctor.Report(findings)
    assert not report.ready("cpu")
    assert "-> install g++" in doctor.as_text(report)
