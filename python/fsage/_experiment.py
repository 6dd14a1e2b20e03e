"""Experiments: workloads on targets, over what is varied; on one machine, or on a Dask cluster."""

from __future__ import annotations

import json
import os
import pathlib
import webbrowser
from typing import TYPE_CHECKING, Any

from . import _native, _sweep
from ._chart import Chart, charts
from ._given import flag, number, path_if_any, whole
from ._given import path as given_path
from ._listen import Listener, Progress
from ._run import Run
from ._table import Table

if TYPE_CHECKING:
    from distributed import Client

Path = str | os.PathLike[str]


class Experiment:
    """The folder of an experiment, with the tables of all its cells.

    >>> file = runs / "two.toml"
    >>> _ = file.write_text('targets = ["ffs", "ext4"]\\n[[workload]]\\npreset = "home-1996"\\ndays = 1')
    >>> of = fsage.Experiment(fsage.experiment(file, runs / "two"))
    >>> of.results.to_pandas().query("metric == 'skipped'")["value"].tolist()
    [0.0, 0.0]
    """

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(given_path("path", path))
        # That it is an experiment at all.
        self.facts  # noqa: B018

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        return f"fsage.Experiment({str(self.path)!r})"

    @property
    def facts(self) -> dict[str, Any]:
        """The manifest: version, name, and every cell with how far it came."""
        return json.loads(_native.experiment_facts(os.fspath(self.path)))

    @property
    def cells(self) -> list[dict[str, Any]]:
        """Every cell: ``id``, ``workload``, ``seed``, ``repetition``, ``target``, ``parameters``, ``state``."""
        return self.facts["cells"]

    def run(self, cell: str) -> Run:
        """The run of a cell."""
        return Run(self.path / "cells" / cell)

    def _table(self, name: str) -> Table:
        return Table._of([(self.path / f"{name}.parquet", [])])

    @property
    def results(self) -> Table:
        """A row for each metric at the end of each cell: parameters, target, seed, day, metric, value, unit."""
        return self._table("results")

    @property
    def days(self) -> Table:
        """A row for each day of each cell, with every metric in a column."""
        return self._table("days")

    @property
    def bench(self) -> Table:
        """A row for each measurement of each cell."""
        return self._table("bench")

    @property
    def means(self) -> Table:
        """A row for each metric of each workload on each target: the mean over its seeds with its 95 % interval, and the
        mean difference from the first target, of the lives that both lived."""
        return self._table("means")

    @property
    def charts(self) -> list[str]:
        """Names of the charts of its report."""
        return [chart.id for chart in charts(self.path)]

    def chart(self, name: str = "layout") -> Chart:
        """A chart of its report; the beginning of its name will do."""
        return Chart.named(self.path, name)

    def report(self, *, show: bool = True) -> pathlib.Path:
        """Writes the report, one HTML page, opens it in a browser, where there is one, and gives its path."""
        page = self.path / "report.html"
        with Listener() as listener:
            _native.report(os.fspath(self.path), os.fspath(page), listener)
        if show:
            webbrowser.open(page.resolve().as_uri())
        return page


def experiment(
    file: Path, output: Path | None = None, *, threads: int | None = None, progress: Progress = False
) -> Experiment:
    """Runs an experiment on this machine; what is done already is not done again.

    ``file`` is what ``fsage run`` takes. A cell that fails stops nothing else: ``Experiment.cells`` says which and why.

    >>> file = runs / "small.toml"
    >>> _ = file.write_text('seeds = [1, 2]\\ntargets = ["ffs", "lfs"]\\nworkload = [{ preset = "home-1996", days = 2 }]')
    >>> small = fsage.experiment(file, runs / "small")
    >>> len(small.cells), small.means.to_arrow().column("cells").unique().to_pylist()
    (4, [2])
    """
    planned = _native.Experiment(given_path("file", file), path_if_any("output", output))
    threads = whole("threads", threads, 1)
    with Listener(progress) as listener:
        planned.run(threads, listener)
    return Experiment(planned.folder)


def estimate(
    file: Path,
    output: Path | None = None,
    *,
    threads: int | None = None,
    budget_seconds: float | None = None,
    progress: Progress = False,
) -> dict[str, Any]:
    """What an experiment takes: runs a few cells, drawn from all, and judges the others by them. No cell begins after
    ``budget_seconds``, which may leave it at one cell; those that run then are finished. Without a budget it is 30, and
    three cells at least.

    Gives ``cells``, ``tried``, ``failed``, ``left``, ``threads``, ``free_bytes``, and, each ``expected``, ``low``
    and ``high``: ``seconds`` of processor time, ``wall_seconds`` with so many threads, and ``bytes`` on disk. What was
    tried is done: :func:`experiment` and :func:`sweep` go on behind it.

    >>> file = runs / "small.toml"
    >>> _ = file.write_text('targets = ["ffs"]\\nseeds = [1, 2, 3]\\nworkload = [{ preset = "home-1996", days = 2 }]')
    >>> fsage.estimate(file, runs / "small", budget_seconds=1)["cells"]
    3
    """
    planned = _native.Experiment(given_path("file", file), path_if_any("output", output))
    threads = whole("threads", threads, 1)
    budget = None if budget_seconds is None else number("budget_seconds", budget_seconds)
    with Listener(progress) as listener:
        return json.loads(planned.estimate(threads, budget, listener))


def sweep(
    file: Path,
    output: Path | None = None,
    *,
    client: Client | None = None,
    shared: bool = True,
    retries: int = 5,
    progress: Progress = False,
) -> Experiment:
    """Runs an experiment on a Dask cluster: one task a cell. The results are the bytes of one machine.

    ``client`` is any ``distributed.Client``: of SSH, Kubernetes, or ``dask-jobqueue`` for Slurm, PBS and LSF; without one
    a cluster of this machine's cores does the work. Workers must have this version of fsage.

    With ``shared`` the folder of the experiment, and that of its file, are where all workers see them under the same
    path. Without, a worker works in a folder of its own, and sends back what came out; then files that the experiment
    names must be there under the same path on every worker, while presets need none.

    Workers may die, and leave before their time is up: their cells are done by others, again from the start where they
    were models, and nothing is done twice. After an interruption, or where the scheduler was lost, the same call goes on.

    >>> from distributed import Client
    >>> file = runs / "small.toml"
    >>> _ = file.write_text('targets = ["ffs"]\\nseeds = [1, 2]\\nworkload = [{ preset = "home-1996", days = 2 }]')
    >>> with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
    ...     swept = fsage.sweep(file, runs / "swept", client=client)
    >>> [cell["state"] for cell in swept.cells]
    ['complete', 'complete']
    """
    retries = whole("retries", retries)
    planned = _native.Experiment(given_path("file", file), path_if_any("output", output))
    with Listener(progress) as listener:
        _sweep.run(planned, os.path.abspath(file), client, flag("shared", shared), retries, listener)
    return Experiment(planned.folder)
