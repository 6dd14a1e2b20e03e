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

    verdicts: list[dict[str, Any]] | None = None
    """What a comparison said of each target, where the run is one that :func:`fsage.compare` gave."""
    fullness: list[dict[str, Any]] | None = None
    """Of the same: how full targets may get, where they have several sizes."""
    after: list[dict[str, Any]] | None = None
    """Of the same: what was done to targets, what it took, and what they are then."""

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path)
        # That it is a run at all.
        self.facts  # noqa: B018

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
    def charts(self) -> list[str]:
        """Names of the charts of its report."""
        return [chart.id for chart in charts(self.path)]

    def chart(self, name: str = "layout") -> Chart:
        """A chart of its report, as the report draws it; the beginning of its name will do.

        >>> fsage.Run(runs / "policies").chart("layout")
        <fsage.Chart layout-by-day: Layout score by day>
        """
        return Chart.named(self.path, name)

    def report(self, output: Path | None = None, *, show: bool = False) -> pathlib.Path:
        """Writes the report, one HTML page, and gives its path; ``show`` opens it in a browser.

        A page that fsage made is replaced, another file is not.
        """
        page = pathlib.Path(output) if output is not None else self.path / "report.html"
        with Listener() as listener:
            _native.report(os.fspath(self.path), os.fspath(page), listener)
        if show:
            webbrowser.open(page.resolve().as_uri())
        return page
