"""What tests share: a workload, a run, and the names that examples in docstrings take for granted."""

import pathlib

import fsage
import pytest


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> pathlib.Path:
    """A folder with a workload of 3 days, and a run of two targets, `policies`, with benchmarks."""
    folder = tmp_path_factory.mktemp("made")
    workload = fsage.generate.profile("home-1996", days=3, output=folder / "w.parquet")
    run = fsage.age(workload, on=["ffs", "ffs:policy=realloc"], output=folder / "policies")
    fsage.bench(run, suites="sequential", sizes="16K", repetitions=2)
    return folder


@pytest.fixture
def runs(made, tmp_path) -> pathlib.Path:
    """A folder of one's own with the run in it."""
    (tmp_path / "policies").symlink_to(made / "policies")
    (tmp_path / "w.parquet").symlink_to(made / "w.parquet")
    return tmp_path


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace, request):
    """Examples in docstrings know `fsage`, and `runs` where they use it."""
    if request.node.__class__.__name__ == "DoctestItem":
        doctest_namespace["fsage"] = fsage
        doctest_namespace["runs"] = request.getfixturevalue("runs")
