"""Charts: the report's own descriptions, in Vega-Lite."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _native
from ._errors import InputError


SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


class Chart:
    """A chart of a report. In Jupyter it shows itself; ``spec`` is Vega-Lite with the data inside, ``svg`` a picture, none
    where there is nothing to show.

    >>> chart = fsage.Run(runs / "policies").chart("layout")
    >>> chart.id.startswith("layout"), "data" in chart.spec or "datasets" in chart.spec
    (True, True)
    """

    def __init__(
        self, id: str, title: str, spec: dict[str, Any], svg: str | None = None  # noqa: A002 - its name on the page
    ) -> None:
        self.id = id
        self.title = title
        self.spec = {"$schema": SCHEMA, **spec}
        self.svg = svg

    @classmethod
    def named(cls, of: str | os.PathLike[str], name: str) -> Chart:
        """The chart of a run or an experiment whose name begins so."""
        if not isinstance(name, str):
            raise TypeError(f"name: expected the name of a chart, as in 'layout', found {name!r}")
        all_of_it = charts(of)
        for chart in all_of_it:
            if chart.id.startswith(name):
                return chart
        known = ", ".join(chart.id for chart in all_of_it)
        raise InputError(f"{os.fspath(of)}: no chart is called `{name}`; its report has {known or 'none'}")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        shown = {"application/vnd.vegalite.v5+json": self.spec, "text/plain": repr(self)}
        # For what shows no Vega: it takes the richest form that it knows.
        return shown if self.svg is None else {**shown, "image/svg+xml": self.svg}

    def __repr__(self) -> str:
        return f"<fsage.Chart {self.id}: {self.title}>"


def charts(of: str | os.PathLike[str]) -> list[Chart]:
    """All charts of the report of a run or an experiment."""
    return [Chart(*chart) for chart in json.loads(_native.charts(os.fspath(of)))]
