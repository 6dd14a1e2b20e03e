"""A laboratory for file system aging.

A *workload* is what is done to a file system; aging replays it on targets, simulated or real, measures every day, and
leaves a *run*, a folder:

>>> workload = fsage.generate.profile("home-1996", days=3, output=runs / "home.parquet")
>>> run = fsage.age(workload, on=["ffs", "lfs"], output=runs / "both")
>>> table = run.days.select("target", "day", "layout_score").to_arrow()
>>> table.num_rows
6

Paths are strings or ``os.PathLike``. Options have the names and the defaults of the program's, with ``_`` for ``-``.
Whatever goes wrong is an :class:`fsage.Error` with the words of the program; Ctrl-C stops work in order.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

from . import _native, generate
from ._chart import Chart
from ._errors import AtWork, CheckFailed, Error, InputError, SystemRefused, Warning
from ._experiment import Experiment, estimate, experiment, sweep
from ._fleet import Fleet, fleet
from ._given import (
    flag, number, options_as_json, path, path_if_any, paths, several, some_specs, specs, text_if_any, texts, whole, wholes,
)
from ._given import path as given_path
from ._listen import Listener, Progress
from ._run import Run
from ._table import Table

__version__: str = _native.VERSION

__all__ = [
    "AtWork",
    "Chart",
    "CheckFailed",
    "Error",
    "Experiment",
    "Fleet",
    "InputError",
    "Run",
    "SystemRefused",
    "Table",
    "Warning",
    "age",
    "bench",
    "check",
    "compare",
    "estimate",
    "experiment",
    "fleet",
    "forecast",
    "generate",
    "measure",
    "metrics",
    "report",
    "sweep",
    "targets",
    "verify_method",
    "workload",
]


def __dir__() -> list[str]:
    return __all__

Path = str | os.PathLike[str]

_NOTHING = object()
_NO_OPERATIONS = "workload: expected operations, as in 'create 1 0 8192', found none"


def _json(name: str, options: Mapping[str, object] | None) -> str:
    if not isinstance(options or {}, Mapping):
        raise TypeError(f"{name}: expected options by name, as in {{'sizes': ['16K']}}, found {options!r}")
    return options_as_json(name, options or {})


def targets() -> list[dict[str, Any]]:
    """All that a workload can be replayed on, with the keys of each.

    >>> [target["name"] for target in fsage.targets()][:2]
    ['ffs', 'ext3']
    """
    return json.loads(_native.targets())


def metrics() -> list[dict[str, Any]]:
    """All metrics: the columns of a run's days, with their units and what is good.

    >>> next(m["unit"] for m in fsage.metrics() if m["name"] == "layout_score")
    'score'
    """
    return json.loads(_native.metrics())


def workload(
    source: Any,
    output: Path,
    *,
    force: bool = False,
    header: Mapping[str, object] | None = None,
    progress: Progress = False,
) -> pathlib.Path:
    """Makes a workload of a table, or of an iterator of operations.

    A table is anything with Arrow's PyCapsule interface: a ``pyarrow.Table``, a DataFrame of pandas 3 or of polars. Its
    columns are those of the workload format, of which only ``op`` must be there.

    An iterator gives an operation at a time, as a line of the ``.ops`` form or as a tuple of its words, or many at once as
    tables or batches, which all have the same columns; any number of them passes without being kept:

    >>> def life():
    ...     for file in range(1, 1000):
    ...         yield "create", file, 0, 8192
    ...         if file % 3 == 0:
    ...             yield "delete", file - 1
    ...     yield "day 1"
    >>> path = fsage.workload(life(), runs / "mine.parquet")
    """
    if header is not None and not isinstance(header, Mapping):
        raise TypeError(f"header: expected a dict, as in {{'seed': 7}}, found {header!r}")
    native_header = None if header is None else [(str(key), str(value)) for key, value in header.items()]
    with Listener(progress) as listener:
        if hasattr(source, "__arrow_c_stream__"):
            if isinstance(source, Sized) and not len(source):
                raise InputError(_NO_OPERATIONS)
            _native.workload_of_table(source, path("output", output), flag("force", force), native_header, listener)
        elif isinstance(source, Iterable) and not isinstance(source, (str, bytes, Mapping)):
            items = iter(source)
            first = next(items, _NOTHING)
            if first is _NOTHING:
                raise InputError(_NO_OPERATIONS)
            if hasattr(first, "__arrow_c_stream__") or hasattr(first, "__arrow_c_array__"):
                _native.workload_of_batches(first, items, path("output", output), flag("force", force), native_header, listener)
            else:
                items = itertools.chain((first,), items)
                _native.workload_of_operations(items, path("output", output), flag("force", force), native_header, listener)
        else:
            raise TypeError(f"expected a table or an iterator of operations, found {type(source).__name__}")
    return pathlib.Path(output)


def age(
    workload: Path,
    on: str | Sequence[str],
    output: Path,
    *,
    lenient: bool | None = None,
    check: bool | None = None,
    snapshots: int | None = None,
    control: bool | None = None,
    image: str | None = None,
    map: bool | None = None,  # noqa: A002 - the name of the option
    threads: int | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Progress = False,
) -> Run:
    """Replays a workload on targets, measures them day by day, and leaves a run in the folder ``output``.

    ``on`` says what is aged, as ``--on`` does: ``"ffs:policy=realloc"``, ``"ext4:size=64G"``, ``"loop:xfs,size=1G"``.
    After Ctrl-C the run can be resumed: the same call with ``resume=True``.

    >>> run = fsage.age(runs / "w.parquet", on=["ffs", "ffs:policy=realloc"], output=runs / "again")
    >>> run.is_complete
    True
    """
    options = {
        "lenient": lenient, "check": check, "snapshots": snapshots, "control": control, "image": image, "map": map,
    }
    with Listener(progress) as listener:
        _native.age(
            path("workload", workload), some_specs(on), path("output", output), _json("options", options),
            whole("threads", threads, 1),
            flag("force", force), flag("resume", resume), listener,
        )
    return Run(output)


def measure(path: Path, *, snap_id: int | None = None) -> dict[str, Any]:
    """Every metric of a snapshot, a directory, or an unmounted ext2, ext3 or ext4 image. ``Run(path).days`` has those
    of a run.

    >>> final = runs / "policies" / "ffs" / "final.parquet"
    >>> 0 < fsage.measure(final)["layout_score"] <= 1
    True
    """
    with Listener() as listener:
        return json.loads(_native.measure(given_path("path", path), whole("snap_id", snap_id, 0, 2**32 - 1), listener))


def bench(
    run: Path | None = None,
    *,
    on: str | Sequence[str] = (),
    output: Path | None = None,
    seed: int = 1,
    workload: Path | None = None,
    threads: int | None = None,
    force: bool = False,
    exec: str | None = None,
    exec_values: str | Sequence[str] = (),
    exec_name: str | None = None,
    progress: Progress = False,
    suites: str | Sequence[str] | None = None,
    sizes: str | Sequence[str] | None = None,
    repetitions: int | None = None,
    minutes: int | None = None,
    device: Path | None = None,
    host: Path | None = None,
    states: str | Sequence[str] | None = None,
    hot_days: int | None = None,
    drop_caches: bool | None = None,
    causes: bool | None = None,
    over_days: int | None = None,
) -> list[dict[str, Any]]:
    """Benchmarks the targets of a run, aged and beside their unaged controls; without a run new targets, ``on`` and
    ``output``. Options from ``suites`` on are those of ``[bench]`` in an experiment, and mean the same.

    ``exec`` is a command of the shell as a benchmark of real targets, ``"fio job.fio --directory={dir}"``; it is timed, or
    gives the numbers that ``exec_values`` name in the JSON that it prints: ``["jobs.0.read.bw,KiB/s"]``. It runs alone
    unless ``suites`` are named.

    Gives medians with their intervals, and ratios; every measurement is in ``run.bench``.

    >>> summaries = fsage.bench(runs / "policies", suites="sequential", sizes="16K", repetitions=1, force=True)
    >>> len(fsage.Run(runs / "policies").bench.to_arrow()) > 0
    True
    """
    on = specs(on)
    if run is not None and (on or output is not None):
        raise InputError("bench: expected either a run, or targets with `on` and `output`; found both")
    if run is None and not (on and output is not None):
        raise InputError("bench: expected a run, or targets with `on` and `output`")
    exec, exec_name = text_if_any("exec", exec), text_if_any("exec_name", exec_name)
    values = texts("exec_values", exec_values)
    if exec is None and (values or exec_name is not None):
        raise InputError("bench: exec_values and exec_name are of a command; expected `exec` beside them")
    if exec is not None and suites is None:
        suites = []
    options = {
        "suites": several(suites), "sizes": several(sizes), "repetitions": repetitions, "minutes": minutes,
        "device": device, "host": host, "states": several(states), "hot_days": hot_days, "drop_caches": drop_caches,
        "causes": causes, "over_days": over_days,
    }
    with Listener(progress) as listener:
        return json.loads(
            _native.bench(
                path_if_any("run", run),
                on,
                path_if_any("output", output),
                _json("options", options),
                whole("seed", seed),
                path_if_any("workload", workload),
                whole("threads", threads, 1),
                flag("force", force),
                None if exec is None else (exec, values, exec_name),
                listener,
            )
        )


def compare(
    workload: Path,
    on: Sequence[str],
    output: Path,
    *,
    age: Mapping[str, object] | None = None,
    bench: Mapping[str, object] | None = None,
    fill: int | Sequence[int] = (),
    after: str | Sequence[str] = (),
    after_again: bool = False,
    seed: int = 1,
    threads: int | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Progress = False,
) -> Run:
    """Ages, benchmarks and reports in one. ``age`` and ``bench`` are options of these; without ``bench`` nothing is
    benchmarked, ``bench={}`` is the usual choice. What the run says of each target is ``run.verdicts``.

    ``fill``, percentages, makes each target in the sizes that the workload fills so far: ``run.fullness``. ``after`` is
    what is done to the aged targets, ``["defrag:file"]`` or ``["e4defrag {mnt}"]``, and ``after_again`` lets them live on
    for as long again: ``run.after``.

    >>> both = fsage.compare(runs / "w.parquet", ["ffs", "ffs:policy=realloc"], runs / "compared")
    >>> [verdict["target"] for verdict in both.verdicts]
    ['ffs', 'ffs:policy=realloc']
    """
    with Listener(progress) as listener:
        _native.compare(
            path("workload", workload), some_specs(on), path("output", output), _json("age", age),
            None if bench is None else _json("bench", bench), wholes("fill", fill, 1, 99), texts("after", after),
            flag("after_again", after_again), whole("seed", seed), whole("threads", threads, 1), flag("force", force),
            flag("resume", resume), listener,
        )
    return Run(output)


def forecast(
    past: Path | Sequence[Path],
    on: str,
    *,
    limits: str | Sequence[str] = (),
    years: float = 1.0,
    lives: int | None = None,
    seed: int = 1,
    why: bool | None = None,
    tries: str | Sequence[str] = (),
    hold_out: float | None = None,
    threads: int | None = None,
    output: Path | None = None,
    force: bool = False,
    progress: Progress = False,
) -> dict[str, Any]:
    """When a file system breaks that goes on living as it did. ``past`` is a workload, or snapshots of the file system: a
    folder with some, or several files. ``limits`` say what counts as broken, as in ``["free=5%", "1m=100"]``; ``output``
    is a folder for the page and the tables. ``answers`` has the median day of each limit and its 90 % interval, or why
    there is ``no_interval``; ``drivers`` and ``helps`` the same under other conditions (``why=False``: without, a sixth of
    the time). Where that would be more than 40 million operations, 19 lives are lived instead of 39, and ``why`` is not
    asked, unless they are named.

    >>> found = fsage.forecast(runs / "w.parquet", "ffs", lives=19, years=0.02, why=False, limits=["free=1%"])
    >>> [answer["limit"]["text"] for answer in found["answers"]]
    ['free space under 1.0 %']
    """
    if not isinstance(on, str):
        raise TypeError(f"on: expected one target, as in 'ext4:size=64G', found {on!r}")
    with Listener(progress) as listener:
        return json.loads(
            _native.forecast(
                paths("past", past), on, texts("limits", limits), number("years", years), whole("lives", lives),
                whole("seed", seed), True if why is None and tries else why, texts("tries", tries),
                None if hold_out is None else number("hold_out", hold_out), whole("threads", threads, 1),
                path_if_any("output", output), flag("force", force), listener,
            )
        )


def report(of: Path | Sequence[Path], output: Path) -> list[dict[str, Any]]:
    """Writes one page of several runs, each beside the first, or of snapshots: files, or folders with some. Gives what of
    the runs differs, ratios with their 99 % interval. ``Run.report`` writes the page of one run.

    >>> again = fsage.age(runs / "w.parquet", on="ffs", output=runs / "again")
    >>> differs = fsage.report([runs / "policies", again], runs / "both.html")
    >>> (runs / "both.html").is_file()
    True
    """
    found = paths("of", of)
    if not found:
        raise InputError("report: expected runs or snapshots, found none")
    with Listener() as listener:
        return json.loads(_native.report_several(found, path("output", output), listener))


def check(
    run: Path,
    *,
    rules: Path | None = None,
    baseline: Path | None = None,
    match: str | None = None,
    strict: bool = False,
) -> dict[str, Any]:
    """Judges a run or an experiment by rules, or against another one. ``strict`` raises :class:`fsage.CheckFailed` where
    something does not hold.

    >>> fsage.check(runs / "policies", baseline=runs / "policies")["passed"]
    True
    """
    outcome = json.loads(
        _native.check(
            path("run", run),
            path_if_any("rules", rules),
            path_if_any("baseline", baseline),
            text_if_any("match", match),
        )
    )
    if flag("strict", strict) and not outcome["passed"]:
        failures = [
            f"{verdict['target']}: {verdict['rule']}: {failure['message']}"
            for verdict in outcome["verdicts"]
            for failure in verdict["failures"]
        ]
        raise CheckFailed("; ".join(failures))
    return outcome


def verify_method(
    workload: Path | Sequence[Path],
    on: str | Sequence[str] = "ffs",
    *,
    profiles: Path | Sequence[Path] = (),
    profiles_a_day: int | None = None,
    seed: int = 1,
    seeds: int = 3,
    progress: Progress = False,
) -> list[dict[str, Any]]:
    """How well nightly snapshots stand for the truth: workloads made from snapshots of a known one, compared with it.

    Several workloads are lives of one kind: each counts once, and intervals say how other lives would differ.

    >>> rows = fsage.verify_method(runs / "w.parquet", on="ffs", seeds=1)
    >>> len(rows) > 0
    True
    """
    with Listener(progress) as listener:
        return json.loads(
            _native.verify_method(
                paths("workload", workload), some_specs(on), paths("profiles", profiles),
                whole("profiles_a_day", profiles_a_day, 1), whole("seed", seed), whole("seeds", seeds, 1, 1000), listener,
            )
        )
