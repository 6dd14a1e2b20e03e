"""Fleets: the snapshots of many hosts, on one machine, or on a Dask cluster."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import InputError
from ._given import flag, number, path, whole
from ._given import paths as several_paths
from ._listen import Listener, Progress
from ._sweep import connected, named_loss, outcome, patience
from ._table import Table

if TYPE_CHECKING:
    from distributed import Client, Future

Path = str | os.PathLike[str]


class Fleet:
    """The folder that :func:`fsage.fleet` or ``fsage fleet -o`` leaves."""

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path)
        if not (self.path / "fleet.json").is_file():
            raise InputError(f"{self.path}: no fleet: there is no fleet.json in it")

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        return f"fsage.Fleet({str(self.path)!r})"

    @property
    def facts(self) -> dict[str, Any]:
        """Everything but the days: hosts with their values, groups, and who was left out."""
        return json.loads((self.path / "fleet.json").read_text())

    @property
    def hosts(self) -> Table:
        """A row for each metric of each host: at its last snapshot, or as a rate, ``..._per_day``."""
        return Table._of([(self.path / "hosts.parquet", [])])

    @property
    def days(self) -> Table:
        """A row for each snapshot of each host: what changed since the one before, and every metric."""
        return Table._of([(self.path / "days.parquet", [])])

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Hosts that are alike, the largest group first."""
        return self.facts["groups"]

    @property
    def left_out(self) -> list[dict[str, str]]:
        """Hosts that could not be read, and why."""
        return self.facts["left_out"]


def fleet(
    paths: Path | Sequence[Path],
    output: Path,
    *,
    client: Client | None = None,
    threads: int = 1,
    alike: float = 1.0,
    force: bool = False,
    retries: int = 5,
    progress: Progress = False,
) -> Fleet:
    """Compares hosts by their snapshots: what changes a day, how layout and free space decay, and which are alike.

    ``paths`` are what ``fsage fleet`` takes: folders of hosts, folders with such folders, or patterns with ``{host}``.
    With ``client``, any ``distributed.Client`` whose workers see the snapshots under the same paths, a host is a task; the
    results are the bytes of one machine. Each worker, or thread, takes the memory of the largest snapshot it reads.

    A file that is damaged or empty is an :class:`fsage.Warning` and passed over; a host that cannot be read is one, too,
    and in :attr:`Fleet.left_out`.

    >>> hosts = runs / "hosts"
    >>> for name, night in zip(["a", "b"], (runs / "policies").glob("*/final.parquet")):
    ...     (hosts / name).mkdir(parents=True)
    ...     _ = (hosts / name / "1.parquet").write_bytes(night.read_bytes())
    >>> fsage.fleet(hosts, runs / "fleet").hosts.to_arrow().column("host").unique().to_pylist()
    ['a', 'b']
    """
    absolute = [os.path.abspath(path) for path in several_paths("paths", paths)]
    if not absolute:
        raise InputError("paths: expected folders of hosts, or patterns with {host}; found none")
    threads, retries = whole("threads", threads, 1), whole("retries", retries)
    output, force = path("output", output), flag("force", force)
    alike = number("alike", alike)
    if not alike >= 0:
        raise InputError(f"alike: expected 0 or more, found {alike}")
    with Listener(progress) as listener:
        if client is None:
            _native.fleet_of(absolute, output, force, threads, alike, listener)
        else:
            connected(client)
            with named_loss(client):
                _on_cluster(absolute, output, client, alike, force, retries, listener)
    return Fleet(output)


def _on_cluster(
    paths: list[str], output: str, client: Client, alike: float, force: bool, retries: int, listener: Listener
) -> None:
    hosts = _native.fleet_hosts(paths)
    tally = _native.FleetTally(output, force)
    futures: list[Future] = []
    try:
        with patience(client):
            futures = [
                client.submit(_native.fleet_life, name, tables, pure=False, retries=retries) for name, tables in hosts
            ]
            for done, ((name, _), future) in enumerate(zip(hosts, futures), 1):
                tally.add(name, outcome(future, lambda future: future.result()), listener)
                # The cluster need not keep what is tallied.
                future.release()
                listener.progress("hosts", done, len(hosts))
        tally.finish(alike)
    except BaseException:
        # First what is half written: a client that is closed has nothing to cancel, and says so.
        tally.give_up()
        client.cancel(futures)
        raise
