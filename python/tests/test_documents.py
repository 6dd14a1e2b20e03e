"""What the documentation shows runs: the notebook from top to bottom."""

import os
import pathlib
import shutil

import pytest

nbclient = pytest.importorskip("nbclient")
import nbformat  # noqa: E402 - it comes with nbclient


def documents() -> pathlib.Path:
    """The folder of what the documentation has for Python."""
    here = pathlib.Path(__file__).parent
    return here / "docs" if (here / "docs").is_dir() else here.parent.parent / "docs" / "python"


def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    shutil.copy(documents() / "from-python.ipynb", tmp_path)
    notebook = nbformat.read(tmp_path / "from-python.ipynb", as_version=4)
    resources = {"metadata": {"path": os.fspath(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    mimes = {mime for output in outputs for mime in output.get("data", {})}
    assert "application/vnd.vegalite.v5+json" in mimes, "the chart shows itself"
    assert not [output for output in outputs if output.output_type == "error"]
