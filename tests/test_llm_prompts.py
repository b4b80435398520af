"""Prompts hold what a writer of kernels needs, in an order that caches, and nothing volatile."""

from __future__ import annotations

import dataclasses
import re

import histories
import pytest

from workbench.evaluation import toolchain
from workbench.history import History
from workbench.llm.briefing import briefing, compile_command, micros, ratio
from workbench.llm.prompts import (
    IDEAS_SCHEMA,
    first_errors,
    ideas_prompt,
    kernel_prompt,
    repair_prompt,
)
from workbench.problems import header, prototype
from workbench.records import (
    Branch,
    Build,
    Candidate,
    Case,
    Category,
    Check,
    Decision,
    Evaluation,
    Idea,
    Kernel,
    Message,
    Status,
)


def words(messages: tuple[Message, ...]) -> str:
    return "\n".join(m.content for m in messages)


@pytest.fixture(scope="module")
def history() -> History:
    return histories.searched(rounds=3)


def on_cuda(history: History) -> History:
    device = dataclasses.replace(
        history.run.environment, backend="cuda", arch="sm_90a", device="NVIDIA H200",
        compiler="nvcc 13.0",
    )  # fmt: skip
    run = dataclasses.replace(history.run, backend="cuda", environment=device)
    return dataclasses.replace(history, run=run)


def failed(history: History, candidate: Candidate, **parts: object) -> History:
    verdict = Evaluation(
        candidate=candidate.number, created="", seconds=1.0, **parts  # type: ignore[arg-type]
    )  # fmt: skip
    return dataclasses.replace(history, evaluations=(*history.evaluations, verdict))


# -- what stays the same -------------------------------------------------------------------


def test_every_prompt_of_a_run_begins_with_the_same_words(history) -> None:
    earlier = histories.searched(rounds=2)
    prompts = [
        *(ideas_prompt(h, b) for h in (history, earlier) for b in h.branches),
        *(kernel_prompt(history, i, s) for i in history.ideas for s in range(2)),
        *(repair_prompt(history, c) for c in history.candidates),
    ]
    assert len({p[0] for p in prompts}) == 1
    assert {tuple(m.role for m in p) for p in prompts} == {("system", "user")}


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_the_briefing_names_device_problem_prototype_and_rules(history, backend) -> None:
    told = on_cuda(history) if backend == "cuda" else history
    text = briefing(told)
    run = told.run
    assert run.problem.source.strip() in text
    assert prototype(run.signature, backend) in text
    assert header(run.signature, backend).strip() in text
    assert run.environment.device in text
    assert "43.2 µs" in text  # the floor
    assert "64 × 96" in text
    assert "inputs change between launches" in text
    assert ("cuBLAS" in text, "stream" in text) == (backend == "cuda",) * 2
    assert ("OpenMP" in text) == (backend == "cpu")
    assert "None" not in text


def test_the_prompt_shows_the_compilers_real_options(history) -> None:
    shown = compile_command(history.run.environment).split()
    assert set(toolchain.CXX_FLAGS) <= set(shown)
    shown = compile_command(on_cuda(history).run.environment).split()
    assert set(toolchain.NVCC_FLAGS) | {toolchain.gencode("sm_90a")} <= set(shown)


def test_a_prompt_is_a_pure_function(history) -> None:
    again = histories.searched(rounds=3)
    assert ideas_prompt(history, history.branches[-1]) == ideas_prompt(again, again.branches[-1])


def test_noise_below_two_digits_changes_no_prompt(history) -> None:
    assert [ratio(v) for v in (2.314, 2.296, 0.954, 12.4, 118.0)] == [
        "2.3x", "2.3x", "0.95x", "12x", "120x",
    ]  # fmt: skip
    assert [micros(v) for v in (182.44, 5.333, 1520.0, 99_960.0)] == [
        "182 µs", "5.33 µs", "1.52 ms", "100 ms",
    ]  # fmt: skip


# -- ideas ---------------------------------------------------------------------------------


def test_ideas_are_asked_for_by_number_and_category(history) -> None:
    branch = dataclasses.replace(history.branches[-1], ideas=6)
    text = words(ideas_prompt(history, branch))
    assert "Propose 6 different ideas" in text
    assert "at least 3 of these categories" in text
    assert all(f"* {c.value}" in text for c in Category)
    assert text.endswith('{"ideas": [{"title": "...", "hypothesis": "...", "category": "..."}]}')
    few = words(ideas_prompt(history, dataclasses.replace(branch, ideas=2)))
    assert "at least 2 of these categories" in few


def test_categories_tried_least_are_named(history) -> None:
    text = words(ideas_prompt(history, history.branches[-1]))
    tried = re.search(r"Tried least so far: (.*)\.", text)
    assert tried
    counts = {c: sum(i.category is c for i in history.ideas) for c in Category}
    named = [Category(name) for name in tried[1].split(", ")]
    assert max(counts[c] for c in named) <= min(counts[c] for c in Category if c not in named)


def test_earlier_ideas_are_told_with_what_became_of_them(history) -> None:
    text = words(ideas_prompt(history, history.branches[-1]))
    rows = re.findall(r"^\| (\d) \| (.*) \| (.*) \| (.*) \|$", text, re.M)
    assert len(rows) == len([i for i in history.ideas if i.category])
    for (round_, category, title, outcome), idea in zip(rows, history.ideas[1:], strict=True):
        assert (int(round_), category, title) == (
            history.branch(idea.branch).round, idea.category, idea.title,
        )  # fmt: skip
        ratios = [r.value for c in history.candidates_of(idea.number)
                  if (r := history.speedup(c.number))]  # fmt: skip
        assert outcome.startswith(ratio(max(ratios))) if ratios else outcome in list(Status)


def test_a_persons_rejection_and_an_untried_idea_are_told(history) -> None:
    number, branch = len(history.all_ideas), history.branches[-1].number
    new = [
        Idea(number=number + i, branch=branch, index=2 + i, title=f"New {i} | odd",
             hypothesis="", category=None, author="person")
        for i in range(2)
    ]  # fmt: skip
    no = Decision(
        subject="idea", number=number, approved=False, by="person", at="", note="we tried that"
    )
    told = dataclasses.replace(
        history, all_ideas=(*history.all_ideas, *new), decisions=(*history.decisions, no)
    )
    text = words(ideas_prompt(told, told.branches[-1]))
    assert "| New 0 / odd | rejected: we tried that |" in text
    assert "| New 1 / odd | not tried yet |" in text


def test_a_long_list_of_ideas_is_cut_to_the_last_ones(history) -> None:
    many = tuple(
        dataclasses.replace(history.ideas[-1], number=100 + i, title=f"Idea {i}") for i in range(90)
    )
    told = dataclasses.replace(history, all_ideas=(*history.all_ideas, *many))
    text = words(ideas_prompt(told, told.branches[-1]))
    assert f"({50 + len(history.ideas) - 1} older ones left out)" in text
    assert "Idea 49 " not in text
    assert "Idea 50 " in text


def test_a_parent_is_shown_whole_with_time_distance_and_resources(history) -> None:
    branch = history.branches[-1]
    parent = history.candidate(branch.parents[0])
    used = Kernel(name="rows", registers=40, shared_bytes=2048, stack_bytes=0, spill_bytes=16)
    judged = history.evaluation(parent.number)
    assert judged
    assert judged.build
    build = dataclasses.replace(judged.build, kernels=(used,))
    noisy = dataclasses.replace(judged, build=build, findings=("noisy: ±3%",))
    told = dataclasses.replace(history, evaluations=(*history.evaluations, noisy))
    text = words(ideas_prompt(told, branch))
    time, speedup = told.duration_us(parent.number), told.speedup(parent.number)
    assert time
    assert speedup
    assert parent.source.strip() in text
    assert f"{micros(time.value)}, {ratio(speedup.value)} eager" in text
    assert f"{ratio(time.value / told.floor_us)} the least time" in text
    assert "40 registers, 2048 bytes static shared memory, 16 bytes spilled" in text
    assert "noisy" in text


def test_two_parents_are_both_shown(history) -> None:
    two = [c.number for c in history.ranking()[:2]]
    branch = Branch(number=99, round=3, index=0, parents=tuple(two), ideas=2, samples=1)
    text = words(ideas_prompt(history, branch))
    assert all(f"# Kernel {n}:" in text for n in two)
    assert "out of these" in text


def test_the_schema_names_the_six_categories() -> None:
    item = IDEAS_SCHEMA["properties"]["ideas"]["items"]
    assert item["properties"]["category"]["enum"] == [c.value for c in Category]
    assert set(item["required"]) == set(item["properties"])


# -- kernels -------------------------------------------------------------------------------


def test_a_kernel_prompt_ends_with_its_idea_and_the_form_of_the_answer(history) -> None:
    idea = history.ideas[-1]
    text = words(kernel_prompt(history, idea, 0))
    assert idea.title in text.rpartition("# Your task")[2]
    assert "one ```cpp block that holds the complete file" in text.splitlines()[-1]
    cuda = words(kernel_prompt(on_cuda(history), idea, 0))
    assert "one ```cuda block" in cuda.splitlines()[-1]
    assert "TMA" in cuda


def test_samples_of_an_idea_are_asked_to_differ(history) -> None:
    texts = [words(kernel_prompt(history, history.ideas[-1], s)) for s in range(2)]
    assert "kernel 1 of 2" in texts[0]
    assert "kernel 2 of 2" in texts[1]
    assert len({re.sub(r"kernel \d of", "", t) for t in texts}) == 2


def test_a_translation_is_asked_for_plainly_and_a_persons_idea_is_not_one(history) -> None:
    assert "Translate the reference" in words(kernel_prompt(history, history.ideas[0], 0))
    own = dataclasses.replace(history.ideas[-1], category=None, author="person")
    text = words(kernel_prompt(history, own, 0))
    assert "Translate the reference" not in text
    assert f"**{own.title}**" in text


def test_code_in_a_prompt_cannot_close_its_fence(history) -> None:
    parent = history.branches[-1].parents[0]
    odd = dataclasses.replace(history.candidate(parent), source="// ```\nint a;")
    told = dataclasses.replace(
        history, candidates=tuple(odd if c.number == parent else c for c in history.candidates)
    )
    assert "// '''\nint a;" in words(kernel_prompt(told, told.ideas[-1], 0))


# -- repairs -------------------------------------------------------------------------------


def test_a_repair_shows_the_first_error_and_forty_lines(history) -> None:
    kernel = history.candidates[-1]
    log = "\n".join(
        ["kernel.cpp: In function 'launch':", "kernel.cpp:3:5: error: first"]
        + [f"kernel.cpp:{n}: error: more" for n in range(4, 80)]
    )
    build = Build(seconds=1.0, cached=False, log=f"warning: old\n{log}", command="g++")
    told = failed(history, kernel, status=Status.compile_error, detail="x", build=build)
    text = words(repair_prompt(told, kernel))
    assert kernel.source.strip() in text
    assert "In function 'launch':\nkernel.cpp:3:5: error: first" in text
    assert "warning: old" not in text
    assert len(first_errors(build.log).splitlines()) == 40


def test_a_repair_names_the_cases_that_fail_and_those_that_do_not(history) -> None:
    kernel = history.candidates[-1]
    cases = [
        Case(name=name, error=error, reference_error=1e-7, worst=error, allowed=5e-6,
             passed=name == "given", detail="" if name == "given" else "0.3 at [5, 17], not 0.1")
        for name, error in (("given", 1e-7), ("offset", 3e-1), ("zeros", None))
    ]  # fmt: skip
    check = Check(
        cases=tuple(cases), precision="none", reference_precision="fp32",
        deterministic=True, kernelbench=None,
    )  # fmt: skip
    told = failed(history, kernel, status=Status.incorrect, detail="offset: x", check=check)
    text = words(repair_prompt(told, kernel))
    assert "* offset: 0.3 at [5, 17], not 0.1 (error 0.3 of the norm, 5e-06 allowed)" in text
    assert "error not finite" in text
    assert "Right on: given." in text


@pytest.mark.parametrize("status", [Status.runtime_error, Status.timeout, Status.rejected])
def test_a_repair_tells_how_a_kernel_ended_and_its_last_words(history, status) -> None:
    kernel = history.candidates[-1]
    told = failed(
        history, kernel, status=status, detail="ended by SIGSEGV",
        output="\n".join(f"line {n}" for n in range(90)),
    )  # fmt: skip
    text = words(repair_prompt(told, kernel))
    assert "ended by SIGSEGV" in text
    assert "line 89" in text
    assert "line 10\n" not in text


def test_a_failure_without_words_still_has_a_prompt(history) -> None:
    kernel = history.candidates[-1]
    for status in (Status.compile_error, Status.incorrect):
        told = failed(history, kernel, status=status, detail="it just fails")
        assert "it just fails" in words(repair_prompt(told, kernel))
    unjudged = dataclasses.replace(history, evaluations=())
    assert "not evaluated" in words(repair_prompt(unjudged, kernel))
