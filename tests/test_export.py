"""Exports: what another program or person gets out of a run."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from dataclasses import replace

import histories
import pytest

from workbench import export
from workbench.export.module import _literal
from workbench.llm import recording as recordings
from workbench.problems import load_problem
from workbench.records import Argument, Candidate, Signature

HISTORY = histories.searched()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


# -- training data -------------------------------------------------------------------------


def test_training_data_have_a_line_an_evaluated_candidate(tmp_path):
    waiting = replace(HISTORY, evaluations=HISTORY.evaluations[:-1])
    text = export.training_data(waiting, tmp_path / "t.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["candidate"] for line in lines] == [c.number for c in waiting.candidates[:-1]]
    best = lines[HISTORY.best.number]
    ratio, time = HISTORY.speedup(HISTORY.best.number), HISTORY.duration_us(HISTORY.best.number)
    assert best["speedup"] == {"value": ratio.value, "low": ratio.low, "high": ratio.high}
    assert best["time_us"] == {"value": time.value, "low": time.low, "high": time.high}
    assert best["verdict"] == "passed"
    assert best["parent"] == HISTORY.best.parents[0]
    assert best["idea"]["category"] == "control flow and loops"
    assert best["kernel"] == HISTORY.best.source
    assert best["reference"] == histories.REFERENCE
    assert best["prototype"].startswith('extern "C" void launch(const float* x')
    assert best["model"] == "a-model-2026"


def test_a_failed_kernel_has_a_verdict_and_no_time(tmp_path):
    text = export.training_data(HISTORY, tmp_path / "t.jsonl").read_text()
    failed = [x for x in map(json.loads, text.splitlines()) if x["verdict"] != "passed"]
    assert failed
    assert all(x["time_us"] is None and x["speedup"] is None and x["detail"] for x in failed)


# -- folder --------------------------------------------------------------------------------


def test_a_folder_holds_every_idea_and_kernel(tmp_path):
    root = export.folder(HISTORY, tmp_path / "run")
    assert len(list((root / "ideas").iterdir())) == len(HISTORY.ideas)
    assert len(list((root / "kernels").iterdir())) == len(HISTORY.candidates)
    assert load_problem(root / "problem.py").source == histories.REFERENCE
    readme = (root / "README.md").read_text()
    first = next(line for line in readme.splitlines() if line.startswith("| ["))
    assert first.startswith(f"| [{HISTORY.best.number}](kernels/029.cpp) | 4 | [Unroll the tail")
    assert "not evaluated" not in readme
    for link in (part.split(")")[0] for part in readme.split("](")[1:]):
        assert (root / link).exists()


def test_results_carry_the_raw_samples(tmp_path):
    root = export.folder(HISTORY, tmp_path / "run")
    lines = [json.loads(x) for x in (root / "results.jsonl").read_text().splitlines()]
    best = lines[HISTORY.best.number]
    timing = HISTORY.evaluation(HISTORY.best.number).timing
    assert best["evaluation"]["timing"]["samples_us"] == list(timing.samples_us)
    assert best["parent"] == HISTORY.best.parents[0]


def test_writing_a_folder_twice_gives_the_same_files(tmp_path):
    one, two = export.folder(HISTORY, tmp_path / "one"), export.folder(HISTORY, tmp_path / "two")
    export.folder(HISTORY, one)
    files = sorted(p.relative_to(one) for p in one.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(two) for p in two.rglob("*") if p.is_file())
    assert all((one / f).read_bytes() == (two / f).read_bytes() for f in files)


def test_what_a_model_wrote_cannot_leave_its_comment_or_its_cell(tmp_path):
    nasty = "Tile | rows\n#error out \\"
    ideas = tuple(replace(i, title=nasty, hypothesis=nasty) for i in HISTORY.all_ideas)
    root = export.folder(replace(HISTORY, all_ideas=ideas), tmp_path / "run")
    kernel = (root / f"kernels/{HISTORY.best.number:03}.cpp").read_text()
    above = kernel.split("// one output element")[0]
    assert all(line.startswith("//") and not line.endswith("\\") for line in above.splitlines())
    row = next(x for x in (root / "README.md").read_text().splitlines() if x.startswith("| ["))
    assert row.replace("\\|", "").count("|") == 9


def test_an_exported_kernel_compiles_with_the_exported_header(tmp_path):
    root = export.folder(HISTORY, tmp_path / "run")
    command = ["g++", "-std=c++17", "-fsyntax-only", "-include", root / "problem.h"]
    subprocess.run([*command, root / f"kernels/{HISTORY.best.number:03}.cpp"], check=True)


# -- recording -----------------------------------------------------------------------------


def test_a_recording_holds_plan_replies_and_results(tmp_path):
    file = export.recording(
        HISTORY, tmp_path / "r.jsonl.gz", author="A. Person", provenance="Written by hand."
    )
    made = recordings.read(file)
    assert made.header.author == "A. Person"
    assert made.note == "Written by hand."
    assert made.header.problem_sha == HISTORY.run.problem.sha
    assert len(made.branches) == len(HISTORY.branches)
    assert {c.address for c in made.completions} == {c.address for c in HISTORY.completions}
    assert len(made.results) == sum(c.author == "model" for c in HISTORY.candidates)
    assert made.result(HISTORY.best.address).speedup == HISTORY.speedup(HISTORY.best.number).value
    assert made.decision("1/0/0").approved


def test_a_branch_from_a_hand_made_kernel_names_the_nearest_recorded_ancestor(tmp_path):
    made = recordings.read(export.recording(HISTORY, tmp_path / "r.jsonl"))
    edited = next(c for c in HISTORY.candidates if c.author == "person" and c.address is None)
    branch = next(b for b in HISTORY.branches if edited.number in b.parents)
    recorded = next(b for b in made.branches if b.address == branch.address)
    assert recorded.parents == (HISTORY.candidate(edited.parents[0]).address,)


def test_a_recording_names_its_models_unless_told(tmp_path):
    header = recordings.read(export.recording(HISTORY, tmp_path / "r.jsonl")).header
    assert header.author == "a-model-2026"
    assert header.provenance == "Ideas and kernels were written by a-model-2026."
    assert header.license == "not stated"


def test_a_failed_call_is_not_a_reply(tmp_path):
    failed = replace(HISTORY.completions[0], reply="", error="refused")
    history = replace(HISTORY, completions=(failed, *HISTORY.completions[1:]))
    made = recordings.read(export.recording(history, tmp_path / "r.jsonl"))
    assert made.completion(failed.address) is None


# -- KernelBench modules -------------------------------------------------------------------


def test_a_cpp_module_computes_what_the_reference_computes(tmp_path):
    torch = pytest.importorskip("torch")
    module = _imported(export.kernelbench_module(HISTORY, HISTORY.best.number, tmp_path / "new.py"))
    torch.manual_seed(42)
    reference = module.Model(*module.get_init_inputs())
    torch.manual_seed(42)
    new = module.ModelNew(*module.get_init_inputs())
    weights = zip(reference.state_dict().items(), new.state_dict().items(), strict=True)
    assert all(a == b and torch.equal(x, y) for (a, x), (b, y) in weights)
    (x,) = module.get_inputs()
    with torch.no_grad():
        torch.testing.assert_close(new(x), reference(x), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(new(x.t().contiguous().t()), reference(x), rtol=1e-5, atol=1e-6)
        new.load_state_dict({k: v * 2 for k, v in reference.state_dict().items()})
        torch.testing.assert_close(new(x), 2 * reference(x), rtol=1e-5, atol=1e-6)


def test_a_module_refuses_what_its_kernel_was_not_compiled_for(tmp_path):
    torch = pytest.importorskip("torch")
    module = _imported(export.kernelbench_module(HISTORY, 0, tmp_path / "new.py"))
    new = module.ModelNew(*module.get_init_inputs())
    for wrong in (torch.zeros(63, 96), torch.zeros(64, 96, dtype=torch.float64)):
        with pytest.raises(ValueError, match=r"the kernel takes \(64, 96\) torch.float32"):
            new(wrong)


def test_a_module_is_built_once(tmp_path):
    pytest.importorskip("torch")
    file = export.kernelbench_module(HISTORY, 0, tmp_path / "new.py")
    _imported(file)
    (library,) = (tmp_path / "cache" / "modules").iterdir()
    stamp = library.stat().st_mtime_ns
    _imported(file)
    assert [p.stat().st_mtime_ns for p in (tmp_path / "cache" / "modules").iterdir()] == [stamp]


def test_a_module_that_does_not_compile_says_why(tmp_path):
    pytest.importorskip("torch")
    history = _with_source(HISTORY, "cpp", "this is no C++")
    with pytest.raises(RuntimeError, match=r"does not compile:\n(.|\n)*error"):
        _imported(export.kernelbench_module(history, 0, tmp_path / "new.py"))


def test_scalars_workspace_and_several_outputs_reach_a_cpp_kernel(tmp_path):
    torch = pytest.importorskip("torch")
    file = export.kernelbench_module(_scaled(), 0, tmp_path / "new.py")
    module = _imported(file)
    x, factor, flag = module.get_inputs()
    reference, new = module.Model(), module.ModelNew()
    for a, b in zip(reference(x, factor, flag), new(x, factor, flag), strict=True):
        torch.testing.assert_close(a, b)
    assert "from __future__ import annotations\n" in file.read_text()


def test_a_module_candidate_is_written_as_it_is(tmp_path):
    source = "class ModelNew: ...\n"
    file = export.kernelbench_module(
        _with_source(HISTORY, "module", source), 0, tmp_path / "new.py"
    )
    assert file.read_text() == source


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_cuda_module_builds_and_waits_for_a_gpu(tmp_path):
    torch = pytest.importorskip("torch")
    module = _imported(export.kernelbench_module(_cuda(), 0, tmp_path / "new.py"))
    assert module._library.workspace_bytes() == 4 * 64 * 96
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="NVIDIA GPU"):
            module.ModelNew(*module.get_init_inputs())(*module.get_inputs())


@pytest.mark.gpu
def test_a_cuda_module_computes_what_the_reference_computes(tmp_path):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    module = _imported(export.kernelbench_module(_cuda(), 0, tmp_path / "new.py"))
    torch.manual_seed(42)
    reference = module.Model(*module.get_init_inputs()).cuda()
    torch.manual_seed(42)
    new = module.ModelNew(*module.get_init_inputs()).cuda()
    x = module.get_inputs()[0].cuda()
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        torch.testing.assert_close(new(x), reference(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "text", ['a"""b\n', "a'''b\n", "\"\"\" '''", 'ends in "', "ends in \\", "line\r\n", r"\n \x"]
)
def test_a_source_is_the_same_after_python_has_read_it(text):
    assert eval(_literal(text)) == text


def _imported(file):
    spec = importlib.util.spec_from_file_location("exported", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _with_source(history, form, source):
    first = replace(history.candidates[0], form=form, source=source)
    return replace(history, candidates=(first, *history.candidates[1:]))


def _cuda():
    environment = replace(histories.ENVIRONMENT, backend="cuda", arch="sm_90a", driver="580.1")
    run = replace(histories.RUN, backend="cuda", environment=environment)
    return _with_source(replace(HISTORY, run=run), "cu", histories.CU)


def _scaled():
    """A problem with numbers among its inputs, two outputs, no weights; a kernel with scratch."""
    source = '''"""A row's sum and product with a factor."""
from __future__ import annotations

import torch


class Model(torch.nn.Module):
    def forward(self, x, factor, flag):
        y = x * factor if flag else x
        return y, y.sum(1)


def get_inputs():
    return [torch.randn(8, 5), 2.5, True]


def get_init_inputs():
    return []
'''
    kernel = """
extern "C" size_t workspace_bytes() { return 5 * sizeof(float); }
extern "C" void launch(const float* x, double factor, bool flag, float* out0, float* out1,
                       void* workspace) {
    float* row = (float*)workspace;
    for (int r = 0; r < 8; ++r) {
        float sum = 0;
        for (int c = 0; c < 5; ++c) {
            row[c] = flag ? x[r * 5 + c] * factor : x[r * 5 + c];
            sum += row[c];
        }
        for (int c = 0; c < 5; ++c) out0[r * 5 + c] = row[c];
        out1[r] = sum;
    }
}
"""
    signature = Signature(
        arguments=(
            Argument(name="x", role="input", dtype="float32", shape=(8, 5)),
            Argument(name="factor", role="scalar", dtype="float64", shape=()),
            Argument(name="flag", role="scalar", dtype="bool", shape=()),
            Argument(name="out0", role="output", dtype="float32", shape=(8, 5)),
            Argument(name="out1", role="output", dtype="float32", shape=(8,)),
        ),
        bytes=352,
        flop=0,
    )
    problem = replace(histories.RUN.problem, source=source)
    run = replace(histories.RUN, problem=problem, signature=signature)
    candidate = Candidate(
        number=0, round=0, idea=None, parents=(), source=kernel, form="cpp", author="person"
    )
    return replace(histories.empty(), run=run, candidates=(candidate,))
