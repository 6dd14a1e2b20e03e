"""One task a cell, on a Dask cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import AtWork, Error, InputError, SystemRefused

if TYPE_CHECKING:
    from distributed import Client, Future

    from ._listen import Listener

# Experiments that this process, a worker, has planned: a plan of many cells takes longer than a cell.
_planned: dict[tuple[str, str, str], _native.Experiment] = {}


# How long a task waits for another one that is at the same cell.
_SECONDS = 60


def _plan(file: str, text: str, folder: str) -> _native.Experiment:
    key = (file, text, folder)
    if key not in _planned:
        _planned.clear()
        _planned[key] = _native.Experiment(file, folder, text)
    return _planned[key]


def _make(file: str, text: str, folder: str, label: str) -> str:
    """Makes a workload. Where that is not possible its cells say why."""
    with contextlib.suppress(InputError):
        _plan(file, text, folder).make_workload(label)
    return label


def _run(file: str, text: str, folder: str, cell: str, _workload: str) -> tuple[str, str]:
    """Runs a cell in the folder that all workers share."""
    planned = _plan(file, text, folder)
    for _ in range(_SECONDS):
        with contextlib.suppress(AtWork):
            return cell, planned.run_cell(cell)
        # The cluster took a worker for lost that is still at it.
        time.sleep(1)
    return cell, planned.run_cell(cell)


def _run_apart(file: str, text: str, cell: str) -> tuple[str, str, dict[str, bytes]]:
    """Runs a cell in a folder of this worker, and gives what came out."""
    # Workloads stay for the next cell; they go with the worker.
    folder = pathlib.Path(_apart(text))
    planned = _plan(file, text, os.fspath(folder))
    if not (folder / "experiment.json").exists():
        planned.begin()
        planned.end()
    ended = planned.run_cell(cell)
    run, mark = folder / "cells" / cell, folder / "cells" / f"{cell}.json"
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}
    files[str(mark.relative_to(folder))] = mark.read_bytes()
    shutil.rmtree(run, ignore_errors=True)
    mark.unlink()
    return cell, ended, files


_apart_folders: dict[str, tempfile.TemporaryDirectory[str]] = {}


def _apart(text: str) -> str:
    if text not in _apart_folders:
        _apart_folders[text] = tempfile.TemporaryDirectory(prefix="fsage-sweep-")
    return os.path.join(_apart_folders[text].name, "experiment")


def _keep(folder: pathlib.Path, files: dict[str, bytes]) -> None:
    """Puts what came out of a cell into the folder of the experiment: its mark last, and each under another name first."""
    mark = max(files, key=lambda name: (name.endswith(".json") and name.count("/") == 1, name))
    # What was of the cell before, made of something else, goes with its mark.
    (folder / mark).unlink(missing_ok=True)
    run = (folder / mark).with_suffix("")
    for path in [path for path in run.rglob("*") if path.is_file()]:
        if str(path.relative_to(folder)) not in files:
            path.unlink()
    for name in sorted(files, key=lambda name: name == mark):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name[:200]}.partial")
        with open(partial, "wb") as file:
            file.write(files[name])
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)


def run(
    planned: _native.Experiment, file: str, client: Client | None, shared: bool, retries: int, listener: Listener
) -> None:
    """Runs every cell that is not done, on a cluster, and writes tables and report."""
    try:
        import distributed
    except ImportError:
        raise InputError("a sweep needs Dask: pip install 'fsage[sweep]'; fsage.experiment runs the same on this machine without") from None
    if client is not None:
        connected(client)
    planned.begin()
    try:
        if client is not None:
            with named_loss(client):
                _run_on(planned, file, client, shared, retries, listener)
            return
        # One thread a process: a cell uses one core, and works in the folder of the experiment.
        try:
            cluster = distributed.LocalCluster(threads_per_worker=1, dashboard_address=None)
        except RuntimeError as error:
            raise SystemRefused(
                f"no workers could be started on this machine: {error}; they read the script that starts them, so that "
                "its calls must stand below `if __name__ == '__main__':`"
            ) from error
        with cluster, distributed.Client(cluster) as own:
            _run_on(planned, file, own, shared, retries, listener)
    finally:
        planned.end()


def _run_on(
    planned: _native.Experiment, file: str, client: Client, shared: bool, retries: int, listener: Listener
) -> None:
    from distributed import as_completed

    folder, text = os.fspath(planned.folder), planned.text
    cells = json.loads(planned.cells())
    missing = [cell for cell in cells if cell["state"] != "complete"]
    # The same experiment in the same folder has the same keys, so that a scheduler that knows a task does it once.
    stem = hashlib.blake2b(f"{_native.VERSION}\0{folder}\0{text}".encode(), digest_size=8).hexdigest()
    # A worker that is killed takes no cell with it, however often.
    submit: dict[str, Any] = {"pure": False, "retries": retries}
    made: dict[str, Future] = {}
    futures: list[Future] = []

    def begun(cell: dict[str, Any], **where: Any) -> Future:
        key = f"fsage-{stem}-{cell['id']}"
        if not shared:
            future = client.submit(_run_apart, file, text, cell["id"], key=key, **submit, **where)
        else:
            needs = cell["needs"]
            if needs not in made:
                made[needs] = client.submit(_make, file, text, folder, needs, key=f"fsage-{stem}-of-{needs}", **submit)
            future = client.submit(_run, file, text, folder, cell["id"], made[needs], key=key, **submit, **where)
        futures.append(future)
        return future

    done, failed = len(cells) - len(missing), []

    def ended(future: Future) -> None:
        nonlocal done
        error = outcome(future, lambda future: future.exception())
        if error is not None:
            failed.append(f"{future.key.removeprefix(f'fsage-{stem}-')}: {error}")
            return
        result = outcome(future, lambda future: future.result())
        if not shared:
            _keep(pathlib.Path(folder), result[2])
        done += 1
        listener.progress("cells", done, len(cells))
        # The cluster need not keep what is on disk.
        future.release()

    with patience(client), without_workers(client, listener):
        listener.progress("cells", done, len(cells))
        try:
            for future in as_completed([begun(cell) for cell in missing if not cell["is_real"]]):
                ended(future)
            _one_a_host(client, [cell for cell in missing if cell["is_real"]], begun, ended)
        except BaseException:
            client.cancel(futures)
            raise
    planned.finish(listener)
    if failed:
        shown = "; ".join(failed[:5]) + ("; ..." if len(failed) > 5 else "")
        raise Error(f"{len(failed)} of {len(cells)} cells were not run; the same call tries them again: {shown}")


def _one_a_host(
    client: Client, cells: list[dict[str, Any]], begun: Callable[..., Future], ended: Callable[[Future], None]
) -> None:
    """Cells of real file systems, behind all models: on each host one after the other, so that nothing disturbs their
    clocks."""
    from distributed import as_completed

    waiting = cells[::-1]
    at: dict[Any, str] = {}
    running = as_completed()
    while waiting or at:
        addresses: dict[str, list[str]] = client.run_on_scheduler(_workers_by_host)
        # Without any worker the next cell waits for the first that comes.
        free = [host for host in addresses or {"": []} if host not in at.values()]
        for host in free[: len(waiting)]:
            # Where all workers of a host have left, another host takes its cell.
            where = {"workers": addresses[host], "allow_other_workers": True} if host else {}
            future = begun(waiting.pop(), **where)
            at[future.key] = host
            running.add(future)
        future = next(running)
        del at[future.key]
        ended(future)


def _workers_by_host(dask_scheduler: Any = None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for address, worker in dask_scheduler.workers.items():
        found.setdefault(worker.host, []).append(address)
    return found


def outcome(future: Future, ask: Callable[[Future], Any]) -> Any:
    """What a task ended with. One of which nobody hears any more is an error that says what can be done."""
    try:
        return ask(future)
    except (asyncio.CancelledError, concurrent.futures.CancelledError) as lost:
        raise SystemRefused(
            "the scheduler was lost, or the tasks were cancelled; what is done stays, and the same call goes on: "
            f"{lost}"
        ) from lost


@contextlib.contextmanager
def named_loss(client: Client) -> Iterator[None]:
    """What a client says that was closed meanwhile, with its cluster or alone, as an error of fsage."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        if client.status == "running":
            raise
        raise SystemRefused(
            f"the client was closed, or its cluster was; what is done stays, and the same call goes on: {error}"
        ) from error


def connected(client: Client) -> None:
    """A client that is closed is refused before anything is written."""
    if not hasattr(client, "status"):
        raise InputError(f"client: wanted is a distributed.Client, as of `Client({client!r})`, not {client!r}")
    if getattr(client, "asynchronous", False):
        raise InputError("client: one for asynchronous code, which nothing here awaits; make it without asynchronous=True")
    if client.status != "running":
        raise InputError(f"the client is {client.status}; what runs on a cluster needs one that is connected to it")


class patience:
    """The scheduler takes a task for guilty of the death of its worker after a few; here workers die for reasons of
    their own, and may do so as long as others come."""

    NAME = "distributed.scheduler.allowed-failures"
    MANY = 1_000_000

    def __init__(self, client: Client) -> None:
        self._client = client
        self._before: object = None

    def __enter__(self) -> None:
        self._before = self._client.run_on_scheduler(_set_allowed_failures, self.MANY)

    def __exit__(self, *_: object) -> None:
        if self._client.status == "running":
            self._client.run_on_scheduler(_set_allowed_failures, self._before)


class without_workers:
    """Warns once each time that a cluster has had no worker for a while: what is left waits until one comes."""

    SECONDS = 30.0

    def __init__(self, client: Client, listener: Listener) -> None:
        self._client, self._listener = client, listener
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="fsage-workers", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(1.0)

    def _watch(self) -> None:
        was_empty = is_known = False
        while not self._is_over.wait(self.SECONDS):
            try:
                is_empty = not self._client.nthreads()
            except Exception:  # The tasks themselves say that the scheduler is lost.
                return
            if is_empty and was_empty and not is_known:
                self._listener.warn(
                    "the cluster has no worker: the sweep waits for one; start workers, or stop it: what is done "
                    "stays, and the same call goes on"
                )
                is_known = True
            was_empty, is_known = is_empty, is_known and is_empty


def _set_allowed_failures(number: int, dask_scheduler: Any = None) -> int:
    before = dask_scheduler.allowed_failures
    dask_scheduler.allowed_failures = number
    return before
