"""The text that surrounds a kernel in an exported KernelBench module."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parts:
    """What differs between the two kinds of kernel file."""

    needs: str
    trailer: str  # C++ after the kernel's source
    build: str
    model: str


WHOLE = """\
$heading
#
# A KernelBench module made by Kernel Workbench. Importing it compiles the kernel once ($needs;
# no torch headers) into ~/.cache/kernel-workbench, or $$WORKBENCH_CACHE. ModelNew computes what
# Model computes, for inference: no gradients.
$future
import ctypes
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile

import torch

# ---- The reference, as it was searched --------------------------------------------------

$reference


# ---- The kernel --------------------------------------------------------------------------

# Sizes and prototype, included before the kernel's source.
_HEADER = $header

_SOURCE = $source

"""

_BUILD = """
def _build(command):
    \"\"\"The kernel as a shared library, compiled once for each source, command and machine.\"\"\"
    words = [_HEADER, _SOURCE, *command, platform.node()]
    key = hashlib.sha256("\\0".join(words).encode()).hexdigest()[:32]
    cache = os.environ.get("WORKBENCH_CACHE") or pathlib.Path.home() / ".cache/kernel-workbench"
    library = pathlib.Path(cache) / "modules" / f"{key}.so"
    if library.exists():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        folder = pathlib.Path(scratch)
        (folder / "problem.h").write_text(_HEADER)
        (folder / "kernel.$suffix").write_text(_SOURCE)
        asked = [*command, "-include", "problem.h", "kernel.$suffix", "-o", "kernel.so"]
        made = subprocess.run(asked, cwd=folder, capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(f"the kernel does not compile:\\n{made.stdout}{made.stderr}")
        os.replace(folder / "kernel.so", library)  # whole or not at all, whoever comes first
    return library

"""

_CPU_COMMAND = """
def _command():
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise RuntimeError("no C++ compiler on PATH; install g++, or set CXX")
    return [compiler, $flags]

"""

_CUDA_COMMAND = """
def _command():
    home = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    compiler = shutil.which("nvcc") or f"{home}/bin/nvcc"
    if not os.path.exists(compiler):
        raise RuntimeError("nvcc is not on PATH; install the CUDA toolkit, or set CUDA_HOME")
    number = "$arch".removeprefix("sm_")  # of the device it was searched on
    if torch.cuda.is_available():
        present = "%d%d" % torch.cuda.get_device_capability()
        number = number if number.rstrip("af") == present else present
    target = f"-gencode=arch=compute_{number},code=sm_{number}"
    return [compiler, $flags, target]

"""

LOAD = """
_library = ctypes.CDLL(str(_build(_command())))
_library.launch.restype = None
_library.launch.argtypes = [$types
]


def _workspace(device):
    \"\"\"The scratch memory that the kernel asks for, or None.\"\"\"
    if not hasattr(_library, "workspace_bytes"):
        return None
    _library.workspace_bytes.restype = ctypes.c_size_t
    nbytes = _library.workspace_bytes()
    return torch.empty(nbytes, dtype=torch.uint8, device=device) if nbytes else None


def _checked(name, tensor, shape, dtype, device):
    \"\"\"The tensor, contiguous; the kernel is compiled for this one shape and dtype.\"\"\"
    if tuple(tensor.shape) != shape or tensor.dtype != dtype or tensor.device != device:
        raise ValueError(
            f"{name} is {tuple(tensor.shape)} {tensor.dtype} on {tensor.device}; "
            f"the kernel takes {shape} {dtype} on {device}"
        )
    return tensor.detach().contiguous()


class ModelNew(Model):
    \"\"\"Weights as Model draws and names them; forward is the kernel.\"\"\"

"""

WEIGHTS = """\
    _SPECS = [  # state_dict order$specs
    ]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        paths = [key.rpartition(".") for key in self.state_dict()]
        self._places = [(self.get_submodule(path), name) for path, _, name in paths]

    def _weights(self, device):
        return [
            _checked(label, getattr(module, name), shape, dtype, device)
            for (module, name), (label, shape, dtype) in zip(self._places, self._SPECS, strict=True)
        ]

"""

_CPU_MODEL = """\
$weights    def forward($parameters):
        device = $device
        $prepare
        workspace = _workspace(device)
        _library.launch(
            $arguments,
            None if workspace is None else workspace.data_ptr(),
        )
        return $returned
"""

_CUDA_MODEL = """\
$weights    def forward($parameters):
        device = $device
        if device.type != "cuda":
            raise ValueError(f"the kernel runs on an NVIDIA GPU; the input is on {device}")
        $prepare
        with torch.cuda.device(device):
            workspace = _workspace(device)
            _library.launch(
                $arguments,
                None if workspace is None else workspace.data_ptr(),
                torch.cuda.current_stream(device).cuda_stream,
            )
            if error := _library.workbench_last_error():
                raise RuntimeError(f"the kernel was not launched: CUDA error {error}")
        return $returned
"""

CPU = Parts(needs="g++", trailer="", build=_BUILD + _CPU_COMMAND, model=_CPU_MODEL)
CUDA = Parts(
    needs="nvcc",
    trailer="""
// A launch that the runtime refuses (too much shared memory, too many threads) says so here.
extern "C" int workbench_last_error() { return (int)cudaGetLastError(); }
""",
    build=_BUILD + _CUDA_COMMAND,
    model=_CUDA_MODEL,
)
