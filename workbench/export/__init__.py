"""A run as other people's files: training data, KernelBench modules, a folder, a recording."""

from workbench.export.folder import folder
from workbench.export.module import kernelbench_module
from workbench.export.recording import recording
from workbench.export.training import training_data

__all__ = ["folder", "kernelbench_module", "recording", "training_data"]
