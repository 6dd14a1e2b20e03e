"""What the documentation shows runs: the notebook from top to bottom."""

import os
import pathlib
import shutil
import subprocess
import sys

import fsage
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


def test_the_example_sweep_draws_its_picture(tmp_path):
    """The script as it stands, but for shorter lives and fewer of them."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("distributed")
    text = (documents() / "layout_over_utilization.py").read_text()
    assert len(text.splitlines()) <= 40
    for whole, part in [("days = 60", "days = 3"), ("to = 3,", "to = 2,"), ("from = 50", "from = 90")]:
        assert whole in text
        text = text.replace(whole, part)
    (tmp_path / "script.py").write_text(text)
    subprocess.run([sys.executable, "script.py", "u"], cwd=tmp_path, check=True, capture_output=True)
    picture = (tmp_path / "u" / "layout-over-utilization.svg").read_text()
    assert all(target in picture for target in ["ffs:preset=g502,policy=realloc", "ext4:size=502M"])
    swept = fsage.Experiment(tmp_path / "u" / "results")
    assert len(swept.cells) == 2 * 2 * 4
    means = swept.means.to_pandas().query("metric == 'layout_score'")
    assert (means["low"] <= means["mean"]).all() and (means["mean"] <= means["high"]).all()
