"""A kernel file as a KernelBench module: one .py with ModelNew that needs only torch and a
compiler."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from workbench.evaluation.toolchain import CXX_FLAGS, NVCC_FLAGS
from workbench.export import module_text
from workbench.export.folder import heading
from workbench.history import History
from workbench.problems import header
from workbench.records import Argument, Candidate, Signature

_CTYPES = {"float64": "c_double", "int64": "c_int64", "bool": "c_bool"}


def kernelbench_module(history: History, candidate: int, path: str | Path) -> Path:
    """Write a candidate as a .py with `class ModelNew`; a module candidate is written as it is.

    The file holds the reference, whose `Model` ModelNew extends: the weights are drawn by the
    same code under the same names. Importing it compiles the kernel once, without torch headers.
    """
    file = Path(path)
    chosen = history.candidate(candidate)
    text = chosen.source if chosen.form == "module" else _module(history, chosen)
    file.write_text(text, encoding="utf-8")
    return file


def _module(history: History, candidate: Candidate) -> str:
    signature = history.run.signature
    hoisted, reference = _hoisted(history.run.problem.source)
    cuda = candidate.form == "cu"
    parts = module_text.CUDA if cuda else module_text.CPU
    flags = [f for f in (NVCC_FLAGS if cuda else CXX_FLAGS) if f != "-lineinfo"]
    filled = Template(module_text.WHOLE + parts.build + module_text.LOAD + parts.model)
    return filled.substitute(
        heading=heading(history, candidate, sign="#"),
        needs=parts.needs,
        future=hoisted,
        reference=reference.strip("\n"),
        header=_literal(header(signature, history.run.backend)),
        source=_literal(candidate.source.rstrip("\n") + "\n" + parts.trailer),
        suffix=candidate.form,
        flags=", ".join(f'"{f}"' for f in flags),
        arch=history.run.environment.arch,
        types=_types(signature, cuda),
        **_model_parts(signature, cuda),
    )


def _model_parts(signature: Signature, cuda: bool) -> dict[str, str]:
    """The lines of ModelNew that depend on the signature."""
    given = signature.of("input", "scalar")
    inputs, weights = signature.of("input"), signature.of("weight")
    outputs = signature.of("output")
    where = f"{inputs[0].name}.device" if inputs else f'torch.device("{"cuda" if cuda else "cpu"}")'
    prepare = [f'{a.name} = _checked("{a.name}", {a.name}, {_kind(a)}, device)' for a in inputs]
    if weights:
        names = ", ".join(w.name for w in weights)
        prepare.append(f"[{names}] = self._weights(device)")
    prepare += [
        f"{o.name} = torch.empty({o.shape!r}, dtype=torch.{o.dtype}, device=device)"
        for o in outputs
    ]
    passed = [a.name if a.role == "scalar" else f"{a.name}.data_ptr()" for a in signature.arguments]
    specs = "".join(f'\n        ("{w.name}", {_kind(w)}),' for w in weights)
    return {
        "weights": Template(module_text.WEIGHTS).substitute(specs=specs) if weights else "",
        "parameters": ", ".join(["self", *(a.name for a in given)]),
        "device": where,
        "prepare": "\n        ".join(prepare),
        "arguments": (",\n" + " " * (16 if cuda else 12)).join(passed),
        "returned": ", ".join(o.name for o in outputs),
    }


def _kind(argument: Argument) -> str:
    return f"{argument.shape!r}, torch.{argument.dtype}"


def _types(signature: Signature, cuda: bool) -> str:
    """ctypes of launch's parameters: addresses, scalars, the workspace, the stream."""
    named = [
        (_CTYPES[a.dtype] if a.role == "scalar" else "c_void_p", a.name)
        for a in signature.arguments
    ]
    named += [("c_void_p", "workspace"), *([("c_void_p", "stream")] if cuda else [])]
    return "".join(f"\n    ctypes.{kind},  # {name}" for kind, name in named)


def _hoisted(source: str) -> tuple[str, str]:
    """`from __future__` lines, which must come first in a file, and the rest of the source."""
    pattern = re.compile(r"^from __future__ import .*\n?", re.M)
    lines = "".join(pattern.findall(source))
    return (lines + "\n" if lines else ""), pattern.sub("", source)


def _literal(text: str) -> str:
    """The text as a Python string that shows it line by line, where its characters allow it."""
    for quotes in ('"""', "'''"):
        closes_early = quotes in text or text.endswith((quotes[0], "\\"))
        if not closes_early and "\r" not in text:
            return f"r{quotes}{text}{quotes}"
    return repr(text)
