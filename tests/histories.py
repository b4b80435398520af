"""Histories made by hand for tests: five realistic rounds, and the corner cases of a figure."""

from __future__ import annotations

import random
from dataclasses import replace

from workbench.history import History
from workbench.records import (
    Argument,
    Baseline,
    Branch,
    Build,
    Candidate,
    Case,
    Category,
    Check,
    Completion,
    Decision,
    Environment,
    Evaluation,
    Idea,
    Message,
    Problem,
    Record,
    Run,
    Settings,
    Signature,
    Status,
    Timing,
    Usage,
)

REFERENCE = '''"""y = relu(x W^T + b), scaled."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, scale):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.scale = scale

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale


rows = 64
features = 96


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features, 0.5]
'''

CPP = """// one output element at a time
extern "C" void launch(const float* x, const float* linear_weight, const float* linear_bias,
                       float* out, void* workspace) {
    for (long long r = 0; r < problem::rows; ++r)
        for (long long c = 0; c < problem::features; ++c) {
            float sum = linear_bias[c];
            for (long long k = 0; k < problem::features; ++k)
                sum += x[r * problem::features + k] * linear_weight[c * problem::features + k];
            out[r * problem::features + c] = sum > 0 ? 0.5f * sum : 0.0f;
        }
}
"""

CU = """// one thread an output element, x staged in scratch memory first
__global__ void copy(const float* x, float* staged) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < problem::x_numel) staged[i] = x[i];
}
__global__ void linear(const float* x, const float* w, const float* b, float* out) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= problem::out_numel) return;
    long long r = i / problem::features, c = i % problem::features;
    float sum = b[c];
    for (long long k = 0; k < problem::features; ++k)
        sum += x[r * problem::features + k] * w[c * problem::features + k];
    out[i] = sum > 0 ? 0.5f * sum : 0.0f;
}
extern "C" size_t workspace_bytes() { return problem::x_numel * sizeof(float); }
extern "C" void launch(const float* x, const float* linear_weight, const float* linear_bias,
                       float* out, void* workspace, cudaStream_t stream) {
    float* staged = (float*)workspace;
    copy<<<(problem::x_numel + 255) / 256, 256, 0, stream>>>(x, staged);
    linear<<<(problem::out_numel + 255) / 256, 256, 0, stream>>>(
        staged, linear_weight, linear_bias, out);
}
"""

SIGNATURE = Signature(
    arguments=(
        Argument(name="x", role="input", dtype="float32", shape=(64, 96)),
        Argument(name="linear_weight", role="weight", dtype="float32", shape=(96, 96)),
        Argument(name="linear_bias", role="weight", dtype="float32", shape=(96,)),
        Argument(name="out", role="output", dtype="float32", shape=(64, 96)),
    ),
    constants=(("rows", 64), ("features", 96)),
    bytes=4 * (64 * 96 * 2 + 96 * 97),
    flop=2 * 64 * 96 * 96,
)

ENVIRONMENT = Environment(
    backend="cpu",
    device="AMD EPYC 7B13",
    cores=2,
    memory_bytes=24 << 30,
    cache_bytes=32 << 20,
    bandwidth_gbs=2.0,
    tflops=(("float32", 0.05),),
    arch="x86_64",
    driver=None,
    torch="2.13.0",
    compiler="g++ 12.2.0",
    sandbox=("rlimits",),
)

RUN = Run(
    id="run-1",
    problem=Problem(name="linear_relu", source=REFERENCE),
    backend="cpu",
    strategy="Beam(width=2, ideas=2, samples=2)",
    model="a-model",
    settings=Settings(),
    seed=1,
    created="2026-12-01T10:00:00+00:00",
    signature=SIGNATURE,
    environment=ENVIRONMENT,
)

EAGER_US = 400.0
_CATEGORIES = list(Category)
_IDEAS = [
    ("Block the loops so that a tile of W stays in the first-level cache", Category.memory),
    ("Vectorize the inner product with eight accumulators", Category.compute),
    ("Split rows over all threads", Category.parallelism),
    ("Prefetch the next rows of W while the current ones are used", Category.latency),
    ("Store W as bf16 and widen on load", Category.precision),
    ("Unroll the tail and drop the bounds check for full tiles", Category.control),
    ("Fuse bias, relu and scale into the write-back", Category.memory),
    ("Register tile of 6 by 16 outputs", Category.compute),
]
_FAILURES = [Status.compile_error, Status.incorrect, Status.runtime_error, Status.timeout]


def timing(ratio: float, *, eager_us: float = EAGER_US, noise: float = 0.004) -> Timing:
    """Twenty-four pairs of blocks around eager_us / ratio."""
    wobble = [1 + noise * ((7 * k) % 24 - 11.5) / 12 for k in range(24)]
    return Timing(
        method="paired blocks, cold",
        samples_us=tuple(eager_us / ratio * w for w in wobble),
        reference_us=(eager_us,) * 24,
        launches=10,
        sets=4,
    )


def evaluation(candidate: int, status: Status, ratio: float = 1.0) -> Evaluation:
    build = Build(seconds=0.8, cached=False, log="", command="g++ kernel.cpp")
    if status is Status.passed:
        case = Case(
            name="normal", error=1e-6, reference_error=1e-6, worst=2e-6, allowed=5e-6, passed=True
        )
        check = Check(
            cases=(case,),
            precision="fp32",
            reference_precision="fp32",
            deterministic=True,
            kernelbench=(True, True),
        )
        return Evaluation(
            candidate=candidate, status=status, detail="", created="2026-12-01T10:05:00+00:00",
            seconds=1.5, build=build, check=check, timing=timing(ratio),
        )  # fmt: skip
    details = {
        Status.compile_error: "kernel.cpp:12: error: 'tile' was not declared in this scope",
        Status.incorrect: "case <normal>: error 3e-1 at [5, 17], allowed 5e-6",
        Status.runtime_error: "ended by SIGSEGV",
        Status.timeout: "no answer in 60 s",
        Status.rejected: "clock mismatch",
    }
    return Evaluation(
        candidate=candidate, status=status, detail=details[status],
        created="2026-12-01T10:05:00+00:00", seconds=1.0, build=build,
    )  # fmt: skip


def baselines() -> list[Baseline]:
    return [
        Baseline(name="eager", timing=timing(1.0), created="2026-12-01T10:00:10+00:00"),
        Baseline(name="compile", timing=timing(1.4), created="2026-12-01T10:00:20+00:00"),
        Baseline(name="max-autotune", timing=None, detail="not offered on a CPU"),
    ]


def searched(
    *, rounds: int = 5, width: int = 2, ideas: int = 2, samples: int = 2, seed: int = 1,
    person: bool = True,
) -> History:  # fmt: skip
    """A beam search: round 0 translates, later rounds try ideas on the best; some kernels fail,
    and after round 2 (if there is one) a person edits the best kernel by hand."""
    rng = random.Random(seed)
    records: list[Record] = [RUN, *baselines()]
    ratios: dict[int, float] = {}
    counts = {"branch": 0, "idea": 0, "candidate": 0}

    def judge(number: int, status: Status, ratio: float) -> None:
        if status is Status.passed:
            ratios[number] = ratio
        records.append(evaluation(number, status, ratio))

    def kernel(round_: int, idea: int | None, parents: tuple[int, ...], address: str | None) -> int:
        number = counts["candidate"]
        counts["candidate"] += 1
        source = f"{CPP}// variant {number}\nstatic const int variant = {number};\n"
        records.append(
            Candidate(
                number=number,
                round=round_,
                idea=idea,
                parents=parents,
                source=source,
                form="cpp",
                author="model" if address else "person",
                address=address,
            )
        )
        return number

    for round_ in range(rounds):
        seeds = sorted(ratios, key=lambda n: -ratios[n])[:width] if round_ else [None]
        for index, parent in enumerate(seeds):
            branch = Branch(
                number=counts["branch"], round=round_, index=index,
                parents=() if parent is None else (parent,),
                ideas=ideas if round_ else 0, samples=samples,
            )  # fmt: skip
            counts["branch"] += 1
            records.append(branch)
            for which in range(ideas if round_ else 1):
                title, category = _IDEAS[counts["idea"] % len(_IDEAS)]
                idea = Idea(
                    number=counts["idea"], branch=branch.number, index=which,
                    title=title if round_ else "Translate the reference",
                    hypothesis="Fewer cache misses for the same work." if round_ else "",
                    category=category if round_ else None,
                    author="model" if round_ else "workbench",
                )  # fmt: skip
                counts["idea"] += 1
                records += [idea, _approval(idea.number)]
                for sample in range(samples):
                    address = f"{round_}/{index}/{which}/{sample}"
                    records.append(_completion(address))
                    number = kernel(round_, idea.number, branch.parents, address)
                    start = ratios.get(parent, 0.5) if parent is not None else 0.5
                    fails = number > 0 and rng.random() < 0.35
                    status = rng.choice(_FAILURES) if fails else Status.passed
                    judge(number, status, start * rng.uniform(0.8, 1.6))
        if person and round_ == 2:
            best = max(ratios, key=lambda n: ratios[n])
            judge(kernel(2, None, (best,), None), Status.passed, ratios[best] * 1.2)
            judge(kernel(2, None, (best,), None), Status.incorrect, 1.0)
    return History.of(records)


def empty() -> History:
    return History.of([RUN])


def nothing_passed() -> History:
    history = searched(rounds=1)
    failed = tuple(evaluation(c.number, Status.incorrect) for c in history.candidates)
    return replace(history, evaluations=failed)


def _approval(idea: int) -> Decision:
    at = "2026-12-01T10:01:00+00:00"
    return Decision(subject="idea", number=idea, approved=True, by="person", at=at)


def _completion(address: str) -> Completion:
    return Completion(
        address=address,
        model="a-model",
        returned_model="a-model-2026",
        messages=(Message(role="user", content=f"Write the kernel of {address}."),),
        reply=f"```cpp\n{CPP}```",
        usage=Usage(prompt=900, completion=400),
        cost_usd=0.01,
        seconds=3.0,
        created="2026-12-01T10:02:00+00:00",
    )
