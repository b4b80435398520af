"""The notebooks run from top to bottom without a click, and are kept without their outputs."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LIMIT_S = 600
EXECUTED_BYTES = 300_000

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder beside the problems, as `notebooks` is; what is written there goes away."""
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return tmp_path / "notebooks"


@every_notebook
def test_it_runs_from_top_to_bottom(path: Path, workplace: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=LIMIT_S,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(workplace)}},
    )
    client.execute()
    assert len(nbformat.writes(notebook)) < EXECUTED_BYTES


@every_notebook
def test_it_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert "widgets" not in notebook.metadata
