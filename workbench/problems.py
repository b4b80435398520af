"""KernelBench files and folders -> Problem (parsed with ast, never run here)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from workbench.records import Argument, Backend, Problem, ProblemError, Signature

_REQUIRED = ("Model", "get_inputs", "get_init_inputs")
_C_TYPES = {
    "float32": "float", "float64": "double", "int64": "int64_t", "int32": "int32_t",
    "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t", "bool": "bool",
}  # fmt: skip
_HALF_TYPES: dict[Backend, dict[str, str]] = {
    "cuda": {"float16": "__half", "bfloat16": "__nv_bfloat16"},
    "cpu": {"float16": "uint16_t", "bfloat16": "uint16_t"},
}


class Problems(Mapping[str, Problem]):
    """Problems by name, in numerical order of their ids where they have one."""

    def __init__(self, problems: list[Problem]) -> None:
        self._by_name: dict[str, Problem] = {}
        for problem in sorted(problems, key=lambda p: _order(p.name)):
            if self._by_name.setdefault(problem.name, problem) != problem:
                raise ProblemError(f"two different problems are named {problem.name!r}; rename one")

    def __getitem__(self, name: str) -> Problem:
        try:
            return self._by_name[name]
        except KeyError:
            known = ", ".join(self._by_name) or "none"
            raise ProblemError(f"no problem named {name!r}; there are: {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __repr__(self) -> str:
        return f"<{len(self)} problems: {', '.join(self)}>"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def load_problems(path: str | Path) -> Problems:
    """Every problem below a folder: `*.py` files, and folders that hold `ref.py`."""
    root = Path(path)
    if root.is_file():
        return Problems([load_problem(root)])
    if not root.is_dir():
        raise ProblemError(f"{str(path)!r} is neither a file nor a folder")
    found = [load_problem(f) for f in sorted(root.rglob("*.py")) if _looks_like_one(f)]
    if not found:
        raise ProblemError(f"no problem in {str(path)!r}: a problem file defines {_REQUIRED}")
    return Problems(found)


def load_problem(path: str | Path) -> Problem:
    """One problem file, or a folder with `ref.py`; raises ProblemError with what is missing."""
    file = Path(path)
    if file.is_dir():
        file = file / "ref.py"
    try:
        source = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ProblemError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ProblemError(f"{str(path)!r} is not UTF-8 text: {error.reason}") from error
    missing = [name for name in _REQUIRED if name not in _defined(source, str(path))]
    if missing:
        raise ProblemError(f"{str(path)!r} is not a KernelBench problem: no {', '.join(missing)}")
    return Problem(name=file.parent.name if file.name == "ref.py" else file.stem, source=source)


def resized(problem: Problem, sizes: Mapping[str, int]) -> Problem:
    """The same problem with module-level integer constants replaced, and a name that says so."""
    if not sizes:
        return problem
    places = _integer_constants(problem.source)
    unknown = [name for name in sizes if name not in places]
    if unknown:
        known = ", ".join(f"{n}={v}" for n, (v, _) in places.items()) or "none"
        raise ProblemError(
            f"{problem.name!r} has no integer constant {unknown[0]!r}; it has: {known}"
        )
    lines = [line.encode() for line in problem.source.split("\n")]
    # From the right, so that places on the same line stay where ast found them.
    for name in sorted(sizes, key=lambda n: places[n][1].col_offset, reverse=True):
        node = places[name][1]
        line = lines[node.lineno - 1]
        tail = line[node.end_col_offset :]
        lines[node.lineno - 1] = line[: node.col_offset] + str(sizes[name]).encode() + tail
    label = ",".join(f"{name}={value}" for name, value in sizes.items())
    return Problem(name=f"{problem.name}[{label}]", source=b"\n".join(lines).decode())


def constants(problem: Problem) -> dict[str, int]:
    """Module-level integer constants of the reference file, e.g. {"batch_size": 4096}."""
    return {name: value for name, (value, _) in _integer_constants(problem.source).items()}


def distributions(problem: Problem) -> tuple[str, ...] | None:
    """The test distributions the file narrows itself to (`DISTRIBUTIONS = (...)`), or None."""
    for node in ast.parse(problem.source).body:
        if isinstance(node, ast.Assign) and _target(node) == "DISTRIBUTIONS":
            return tuple(str(name) for name in ast.literal_eval(node.value))
    return None


def prototype(signature: Signature, backend: Backend) -> str:
    """The C prototype a kernel file must define, made from the Signature."""
    parameters = [_parameter(a, backend) for a in signature.arguments]
    parameters.append("void* workspace")
    if backend == "cuda":
        parameters.append("cudaStream_t stream")
    return f'extern "C" void launch({", ".join(parameters)})'


def header(signature: Signature, backend: Backend) -> str:
    """The header that is included before every kernel file: sizes and the prototype."""
    lines = ["#pragma once", "#include <stddef.h>", "#include <stdint.h>"]
    dtypes = {a.dtype for a in signature.arguments}
    if backend == "cuda":
        lines.append("#include <cuda_runtime.h>")
        lines += ["#include <cuda_fp16.h>"] if "float16" in dtypes else []
        lines += ["#include <cuda_bf16.h>"] if "bfloat16" in dtypes else []
    lines.append("namespace problem {")
    sizes = dict(signature.constants)
    for argument in signature.of("input", "weight", "output"):
        count = 1
        for axis, size in enumerate(argument.shape):
            sizes[f"{argument.name}_dim{axis}"] = size
            count *= size
        sizes[f"{argument.name}_numel"] = count
    lines += [f"constexpr long long {name} = {value};" for name, value in sizes.items()]
    lines += ["}", f"{prototype(signature, backend)};", 'extern "C" size_t workspace_bytes();', ""]
    return "\n".join(lines)


def c_type(dtype: str, backend: Backend) -> str:
    """The C type of a torch dtype, e.g. "float16" -> "__half" under CUDA."""
    try:
        return _C_TYPES.get(dtype) or _HALF_TYPES[backend][dtype]
    except KeyError:
        raise ProblemError(
            f"tensors of dtype {dtype!r} cannot be passed to a kernel file"
        ) from None


def _parameter(argument: Argument, backend: Backend) -> str:
    kind = c_type(argument.dtype, backend)
    if argument.role == "scalar":
        return f"{kind} {argument.name}"
    const = "" if argument.role == "output" else "const "
    return f"{const}{kind}* {argument.name}"


def _order(name: str) -> tuple[float, str]:
    leading = re.match(r"\d+", name)
    return (float(leading[0]) if leading else float("inf"), name)


def _looks_like_one(file: Path) -> bool:
    try:
        return set(_REQUIRED) <= _defined(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError, ProblemError):
        return False


def _defined(source: str, label: str) -> set[str]:
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise ProblemError(f"{label!r} is not Python: {error.msg}, line {error.lineno}") from error
    except ValueError as error:  # a null byte, before Python 3.12
        raise ProblemError(f"{label!r} is not Python: {error}") from error
    return {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def _target(node: ast.Assign) -> str | None:
    target = node.targets[0]
    return target.id if len(node.targets) == 1 and isinstance(target, ast.Name) else None


def _integer_constants(source: str) -> dict[str, tuple[int, ast.expr]]:
    """Name -> (value, where it stands) for assignments like `N = 2048 * 2`."""
    found: dict[str, tuple[int, ast.expr]] = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign) or (name := _target(node)) is None:
            continue
        value = _integer(node.value, {n: v for n, (v, _) in found.items()})
        if value is not None and node.value.lineno == node.value.end_lineno:
            found[name] = (value, node.value)
        else:
            found.pop(name, None)  # it ends as something else
    return found


def _integer(node: ast.expr, known: Mapping[str, int]) -> int | None:
    """The value of an integer expression of constants, or None."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _integer(left, known), _integer(right, known)
            if a is None or b is None:
                return None
            if isinstance(op, ast.Mult):
                return a * b
            if isinstance(op, ast.Add):
                return a + b
            if isinstance(op, ast.Sub):
                return a - b
            if isinstance(op, ast.FloorDiv) and b:
                return a // b
            if isinstance(op, ast.Pow) and 0 <= b < 64:
                return int(a**b)
    return None
