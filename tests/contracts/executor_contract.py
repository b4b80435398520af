"""What every Executor does with a kernel file: build it, check it, time it, survive it.

A subclass named Test... gives the `executor`; kernels are C++ unless it names others.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable
from concurrent.futures import CancelledError

import pytest

from workbench.evaluation import Executor
from workbench.records import (
    Candidate,
    Evaluation,
    Form,
    Problem,
    ProblemError,
    Run,
    Settings,
    Status,
)

PROBLEM = Problem(
    name="scaled_relu",
    source="""
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0


rows = 64
columns = 256


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
""",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kernels:
    """One kernel of every fate, in the language of a backend."""

    form: Form
    good: str
    wrong: str
    broken: str  # names `output`, which does not exist, in line 3
    crashing: str
    hanging: str
    leaving: str  # exits with code 0
    chatty: str  # prints that it passed, and does not


CPP = """// one pass over the elements
extern "C" void launch(const float* x, float* out, void* workspace) {
    for (long long i = 0; i < problem::x_numel; ++i) out[i] = x[i] < 0 ? 0 : 2 * x[i];
}
"""
CPP_KERNELS = Kernels(
    form="cpp",
    good=CPP,
    wrong=CPP.replace("2 * x[i]", "x[i]"),
    broken=CPP.replace("out[i]", "output[i]"),
    crashing=CPP.replace("{\n", "{\n    *(volatile int*)8 = 1;\n", 1),
    hanging=CPP.replace("{\n", "{\n    volatile bool on = true;\n    while (on) {}\n", 1),
    leaving="#include <stdlib.h>\n" + CPP.replace("{\n", "{\n    exit(0);\n", 1),
    chatty="#include <stdio.h>\n"
    + CPP.replace("2 * x[i]", "x[i]").replace("{\n", '{\n    puts("verdict: passed");\n', 1),
)
CUDA = """// one thread an element
__global__ void scale(const float* x, float* out, int n) { int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) out[i] = x[i] < 0 ? 0 : 2 * x[i];
}
extern "C" void launch(const float* x, float* out, void* workspace, cudaStream_t stream) {
    scale<<<(problem::x_numel + 255) / 256, 256, 0, stream>>>(x, out, problem::x_numel);
}
"""
CUDA_KERNELS = Kernels(
    form="cu",
    good=CUDA,
    wrong=CUDA.replace("2 * x[i]", "x[i]"),
    broken=CUDA.replace("out[i]", "output[i]"),
    crashing=CUDA.replace("out[i] =", "*(volatile float*)16 ="),
    hanging=CUDA.replace(
        "if (i < n)", "while (((volatile float*)out)[i % n] != -1.0f) {}\n    if (i < n)"
    ),
    leaving="#include <stdlib.h>\n" + CUDA.replace("    scale<<<", "    exit(0);\n    scale<<<"),
    chatty="#include <stdio.h>\n"
    + CUDA.replace("2 * x[i]", "x[i]").replace("    scale<<<", '    puts("passed");\n    scale<<<'),
)
SETTINGS = Settings(tier="triage", run_timeout_s=4.0, baselines=())
WAIT_S = 120.0


def candidate(number: int, source: str, form: Form) -> Candidate:
    return Candidate(
        number=number, round=0, idea=None, parents=(), source=source, form=form, author="person"
    )


class ExecutorContract:
    """Tests that an implementation inherits; it may name the kernels of another backend."""

    kernels = CPP_KERNELS

    @pytest.fixture
    def run(self, executor: Executor) -> Run:
        described = executor.describe(PROBLEM)
        return Run(
            id="contract",
            problem=PROBLEM,
            backend=executor.backend,
            strategy="none",
            model="none",
            settings=SETTINGS,
            seed=0,
            created="",
            signature=described.signature,
            environment=described.environment,
        )

    @pytest.fixture
    def judged(self, executor: Executor, run: Run) -> Callable[[str], Evaluation]:
        return lambda source: executor.submit(run, candidate(0, source, self.kernels.form)).result(
            WAIT_S
        )

    def test_a_problem_is_described(self, run: Run) -> None:
        shapes = [(a.name, a.role, a.shape) for a in run.signature.arguments]
        assert shapes[0] == ("x", "input", (64, 256))
        assert [(role, shape) for _, role, shape in shapes[1:]] == [("output", (64, 256))]
        assert dict(run.signature.constants) == {"rows": 64, "columns": 256}
        assert run.signature.bytes == 2 * 4 * 64 * 256
        assert run.environment.backend == run.backend
        assert run.environment.bandwidth_gbs > 0

    def test_a_problem_that_does_not_run_is_refused(self, executor: Executor) -> None:
        broken = Problem(name="broken", source=PROBLEM.source.replace("relu", "no_such"))
        with pytest.raises(ProblemError, match="broken"):
            executor.describe(broken)

    def test_a_right_kernel_passes_with_all_its_parts(
        self, judged: Callable[[str], Evaluation]
    ) -> None:
        evaluation = judged(self.kernels.good)
        assert evaluation.status is Status.passed, evaluation.detail
        assert evaluation.build is not None
        assert evaluation.check is not None
        assert evaluation.timing is not None
        assert all(case.passed for case in evaluation.check.cases)
        assert evaluation.check.kernelbench == (True, True)
        assert min(evaluation.timing.samples_us) > 0
        assert evaluation.environment is not None
        assert evaluation.seconds > 0
        assert evaluation.created

    @pytest.mark.parametrize(
        ("kind", "status"),
        [
            ("wrong", Status.incorrect),
            ("broken", Status.compile_error),
            ("crashing", Status.runtime_error),
            ("leaving", Status.runtime_error),
            ("hanging", Status.timeout),
        ],
    )
    def test_a_failure_is_told_and_harms_nobody(
        self, judged: Callable[[str], Evaluation], kind: str, status: Status
    ) -> None:
        evaluation = judged(getattr(self.kernels, kind))
        assert evaluation.status is status, evaluation.detail
        assert evaluation.detail
        assert evaluation.timing is None
        assert evaluation.build is not None
        assert judged(self.kernels.good).status is Status.passed

    def test_a_compile_error_says_where(self, judged: Callable[[str], Evaluation]) -> None:
        evaluation = judged(self.kernels.broken)
        assert evaluation.build is not None
        assert "output" in evaluation.detail
        assert re.search(r"kernel\.cpp:3|kernel\.cu\(3\)", evaluation.build.log)

    def test_what_a_kernel_prints_is_shown_and_not_believed(
        self, judged: Callable[[str], Evaluation]
    ) -> None:
        evaluation = judged(self.kernels.chatty)
        assert evaluation.status is Status.incorrect

    def test_each_verdict_belongs_to_its_candidate(self, executor: Executor, run: Run) -> None:
        of = self.kernels
        sources = [of.good, of.broken, of.wrong, of.good + "// again\n", of.crashing]
        futures = [executor.submit(run, candidate(n, s, of.form)) for n, s in enumerate(sources)]
        found = [(e.candidate, e.status) for f in futures if (e := f.result(WAIT_S))]
        assert found == [
            (0, Status.passed),
            (1, Status.compile_error),
            (2, Status.incorrect),
            (3, Status.passed),
            (4, Status.runtime_error),
        ]
        assert executor.activity == ()

    def test_cancel_ends_what_is_under_way_and_nothing_later(
        self, executor: Executor, run: Run, judged: Callable[[str], Evaluation]
    ) -> None:
        patient = Settings(tier="triage", run_timeout_s=60.0, baselines=())
        slow = dataclasses.replace(run, settings=patient)
        futures = [
            executor.submit(slow, candidate(n, self.kernels.hanging, self.kernels.form))
            for n in range(3)
        ]
        until = time.monotonic() + 30
        while not any("0" in line for line in executor.activity) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(1.0)  # inside the kernel by now
        executor.cancel()
        started = time.monotonic()
        for future in futures:
            with pytest.raises(CancelledError):
                future.result(WAIT_S)
        assert time.monotonic() - started < 10
        assert judged(self.kernels.good).status is Status.passed

    def test_baselines_are_timed_in_turn_with_eager(self, executor: Executor, run: Run) -> None:
        (eager,) = executor.baselines(run, ["eager"])
        assert eager.name == "eager"
        assert eager.timing is not None
        assert len(eager.timing.samples_us) == len(eager.timing.reference_us)
