"""A run: the folder that aging leaves."""

from __future__ import annotations

import json
import os
import pathlib
import webbrowser
from typing import Any

from . import _native
from ._chart import Chart, charts
from ._errors import InputError
from ._given import path as given_path
from ._listen import Listener
from ._table import Table

Path = str | os.PathLike[str]


class Run:
    """A run on disk, complete or not. What it shows is read when it is asked for.

    >>> run = fsage.Run(runs / "policies")
    >>> run.targets
    ['ffs', 'ffs:policy=realloc']
    >>> len(run.days)
    6
    """

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(given_path("path", path))
        # That it is a run at all.
        self.facts  # noqa: B018

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        return f"fsage.Run({str(self.path)!r})"

    @property
    def facts(self) -> dict[str, Any]:
        """The manifest: version, workload, targets, and whether the run is complete."""
        return json.loads(_native.run_facts(os.fspath(self.path)))

    @property
    def is_complete(self) -> bool:
        """Whether all of it is there; an interrupted run goes on with ``fsage.age(..., resume=True)``."""
        return self.facts["state"] == "complete"

    @property
    def targets(self) -> list[str]:
        """Specifications of the targets."""
        return [target["spec"] for target in self.facts["targets"]]

    def _of_targets(self, name: str) -> Table:
        parts = [
            (self.path / target["folder"] / name, [("target", target["spec"])])
            for target in self.facts["targets"]
            if (self.path / target["folder"] / name).is_file()
        ]
        if not parts:
            raise InputError(f"{self.path}: no target has a {name}")
        return Table._of(parts)

    @property
    def days(self) -> Table:
        """A row for each day of each target: every metric, and on the last day that of the control."""
        return self._of_targets("days.parquet")

    @property
    def final(self) -> Table:
        """The inodes at the end, aged: a row for each file and directory of each target."""
        return self._of_targets("final.parquet")

    @property
    def control(self) -> Table:
        """The same of the unaged control: the same files, copied to a fresh file system."""
        return self._of_targets("control.parquet")

    @property
    def bench(self) -> Table:
        """Every measurement of every benchmark, aged and control."""
        parts = [
            (path, [("target", target["spec"])])
            for target in self.facts["targets"]
            for path in sorted((self.path / target["folder"] / "bench").glob("*.parquet"))
        ]
        if not parts:
            raise InputError(f"{self.path}: no benchmark was run; fsage.bench(run) measures every target")
        return Table._of(parts)

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """What a complete run says of each target: its life, its layout, and the throughput of every phase that was
        measured, aged beside control, with the 99 % interval of the ratio over the repetitions. On a model repetitions
        agree and the interval has no width: how another life would differ, other seeds show."""
        return self._says("verdicts")

    @property
    def fullness(self) -> list[dict[str, Any]]:
        """How full targets may get, where a run has them in several sizes (``fsage.compare(..., fill=[60, 80])``)."""
        return self._says("fullness")

    @property
    def after(self) -> list[dict[str, Any]]:
        """What was done to targets, what it took, and what they are then (``fsage.compare(..., after=...)``)."""
        return self._says("after")

    def _says(self, what: str) -> list[dict[str, Any]]:
        return json.loads(_native.run_says(os.fspath(self.path)))[what]

    @property
    def charts(self) -> list[str]:
        """Names of the charts of its report."""
        return [chart.id for chart in charts(self.path)]

    def chart(self, name: str = "layout") -> Chart:
        """A chart of its report, as the report draws it; the beginning of its name will do.

        >>> fsage.Run(runs / "policies").chart("layout")
        <fsage.Chart layout-by-day: Layout score by day>
        """
        return Chart.named(self.path, name)

    def report(self, output: Path | None = None, *, show: bool = True) -> pathlib.Path:
        """Writes the report, one HTML page, opens it in a browser, where there is one, and gives its path.

        >>> fsage.Run(runs / "policies").report(runs / "page.html", show=False).name
        'page.html'

        A page that fsage made is replaced, another file is not.
        """
        page = pathlib.Path(output) if output is not None else self.path / "report.html"
        with Listener() as listener:
            _native.report(os.fspath(self.path), os.fspath(page), listener)
        if show:
            webbrowser.open(page.resolve().as_uri())
        return page
