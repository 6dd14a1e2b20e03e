"""Experiments: on one machine, and on a cluster whose workers are killed."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import fsage
import pytest

distributed = pytest.importorskip("distributed")

def bytes_of(folder: pathlib.Path) -> dict[str, bytes]:
    """What is in a folder, but what says who works there."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if not p.name.startswith(".")}


def experiment_file(folder: pathlib.Path, seeds: int) -> pathlib.Path:
    """An experiment of `seeds` lives of a few operations, on 4 targets with 2 sizes of writes each."""
    text = f"""
seeds = {{ from = 1, to = {seeds}, step = 1 }}
targets = ["ffs:policy={{policy}},write_chunk={{chunk}}"]

[matrix]
policy = ["orig", "realloc"]
chunk = ["1K", "8K"]
days = [1, 2]

[[workload]]
preset = "home-1996"
days = "{{days}}"

[report]
write = false
"""
    file = folder / "sweep.toml"
    file.write_text(text)
    return file


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The experiment, done on one machine."""
    folder = tmp_path_factory.mktemp("alone")
    return fsage.experiment(experiment_file(folder, 2), folder / "exp")


def test_an_experiment_is_one_table(alone):
    assert len(alone.cells) == 16
    results = alone.results.to_arrow()
    expected = ["cell", "workload", "chunk", "days", "policy", "target", "seed", "repetition"]
    assert results.column_names == [*expected, "day", "metric", "value", "unit"]
    scores = results.to_pandas().query("metric == 'layout_score'")
    assert len(scores) == 16 and set(scores["days"]) == {1, 2} and set(scores["chunk"]) == {"1K", "8K"}
    days = alone.days.to_pandas()
    assert len(days) == 8 * 1 + 8 * 2
    last = days.sort_values("day").groupby("cell").last()["layout_score"]
    assert (scores.set_index("cell")["value"] == last).all()
    means = alone.means.to_pandas().query("metric == 'layout_score'")
    assert len(means) == 8 and set(means["cells"]) == {2}
    by_hand = scores.groupby(["days", "target"])["value"].mean()
    assert (means.set_index(["days", "target"])["mean"] - by_hand).abs().max() < 1e-12
    assert means["difference"].isna().sum() == 2, "the first target of each workload"


def test_what_an_experiment_left_out_is_a_warning(tmp_path):
    file = tmp_path / "full.toml"
    file.write_text(
        'targets = ["ffs:preset=tiny"]\n[[workload]]\npreset = "home-1996"\ndays = 2\n[report]\nwrite = false\n'
    )
    with pytest.warns(fsage.Warning, match=r"ffs:preset=tiny: \d+ operations were not done in 1 cells"):
        fsage.experiment(file, tmp_path / "exp")


def test_a_cluster_makes_the_bytes_of_one_machine(alone, tmp_path):
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        heard = []
        for shared in (True, False):
            file = experiment_file(tmp_path, 2)
            folder = tmp_path / f"shared-{shared}"
            swept = fsage.sweep(
                file, folder, client=client, shared=shared, progress=lambda *said: heard.append(said)
            )
            theirs, ours = bytes_of(alone.path), bytes_of(swept.path)
            # Each way knows where it lies, and made the workloads where they were needed.
            differing = {name for name in theirs | ours if theirs.get(name) != ours.get(name)}
            assert {name for name in differing if not name.startswith("workloads/")} <= {"experiment.json"} | {
                name for name in differing if name.endswith("/run.json") and not shared
            }
            for table in ("results", "days", "bench", "means"):
                assert theirs[f"{table}.parquet"] == ours[f"{table}.parquet"]
        assert heard[-1] == ("cells", 16, 16)
        # What is done is not done again.
        before = {path: path.stat().st_mtime_ns for path in (folder / "cells").rglob("*")}
        fsage.sweep(file, folder, client=client)
        assert {path: path.stat().st_mtime_ns for path in (folder / "cells").rglob("*")} == before
    with pytest.raises(fsage.InputError, match="the client is closed"):
        fsage.sweep(file, tmp_path / "new", client=client)
    with pytest.raises(fsage.InputError, match="wanted is a distributed.Client"):
        fsage.sweep(file, tmp_path / "new", client="tcp://127.0.0.1:8786")
    assert not (tmp_path / "new").exists()


def test_real_file_systems_run_one_after_another_behind_the_models(tmp_path):
    """Each on one host alone, so that nothing disturbs its clocks."""
    for name in "abc":
        (tmp_path / name).mkdir()
    file = tmp_path / "real.toml"
    file.write_text(
        'targets = ["dir:a", "dir:b", "dir:c", "ffs"]\n'
        '[[workload]]\npreset = "home-1996"\ndays = 1\n[age]\ncontrol = false\n[report]\nwrite = false\n'
    )
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        swept = fsage.sweep(file, tmp_path / "exp", client=client)
    assert {cell["state"] for cell in swept.cells} == {"complete"}

    def times(cell):
        found = [path.stat().st_mtime_ns for path in (swept.path / "cells" / cell["id"]).rglob("*") if path.is_file()]
        return min(found), max(found)

    real = sorted(times(cell) for cell in swept.cells if cell["target"].startswith("dir:"))
    models = [times(cell) for cell in swept.cells if cell["target"] == "ffs"]
    assert len(real) == 3 and len(models) == 1
    ends = [max(end for _, end in models), *(end for _, end in real)]
    assert all(before < begin for before, (begin, _) in zip(ends, real, strict=False))


def test_a_source_that_changed_is_made_again(tmp_path):
    own, file = tmp_path / "own.toml", tmp_path / "e.toml"
    file.write_text('targets = ["ffs"]\n[[workload]]\npreset = "own.toml"\n[report]\nwrite = false\n')
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        for days in 1, 2:
            text = subprocess.run(
                ["fsage", "generate", "profile", "--show", "fileserver"], check=True, capture_output=True, text=True
            ).stdout
            text = text.replace("days = 30 ", f"days = {days} ").replace("operations_per_day = 50000", "operations_per_day = 50")
            own.write_text(text.replace("files = 10000", "files = 20"))
            swept = fsage.sweep(file, tmp_path / "exp", client=client)
            assert len(swept.days) == days


def test_workers_that_are_killed_lose_nothing(alone, tmp_path):
    """One of the workers is killed again and again; the nannies start others."""
    file = experiment_file(tmp_path, int(os.environ.get("FSAGE_SWEEP_SEEDS", "2")))
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        is_over, killed = threading.Event(), []

        def kill():
            # The first goes at once, so that one is killed however short the sweep is. A pid twice in a row is of a worker
            # that is being replaced.
            while not killed or not is_over.wait(float(os.environ.get("FSAGE_SWEEP_KILL_S", "1.5"))):
                pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid and nanny.pid not in killed]
                if pids:
                    os.kill(pids[len(killed) % len(pids)], signal.SIGKILL)
                    killed.append(pids[len(killed) % len(pids)])

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            swept = fsage.sweep(file, tmp_path / "exp", client=client)
        finally:
            is_over.set()
            killer.join()
    assert killed
    assert {cell["state"] for cell in swept.cells} == {"complete"}
    if "FSAGE_SWEEP_SEEDS" in os.environ:
        alone = fsage.experiment(file, tmp_path / "alone")
    for table in ("results", "days", "bench", "means"):
        name = f"{table}.parquet"
        assert (swept.path / name).read_bytes() == (alone.path / name).read_bytes()


def test_a_cluster_without_workers_is_named_and_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(fsage._sweep.without_workers, "SECONDS", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        # A worker comes when the warning must have been heard long since.
        later = threading.Timer(2, cluster.scale, [1])
        later.start()
        with pytest.warns(fsage.Warning, match="the cluster has no worker") as heard:
            swept = fsage.sweep(experiment_file(tmp_path, 1), tmp_path / "exp", client=client)
        later.join()
    assert len([one for one in heard if "no worker" in str(one.message)]) == 1
    assert {cell["state"] for cell in swept.cells} == {"complete"}


def test_a_cluster_that_is_closed_meanwhile_is_named(tmp_path):
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    client = distributed.Client(cluster)
    closing = threading.Thread(target=lambda: (client.close(timeout=1), cluster.close(timeout=5)))

    def heard(what, done, total):
        if what == "cells" and done >= 1 and not closing.is_alive():
            with contextlib.suppress(RuntimeError):  # It was started before.
                closing.start()

    with pytest.raises(fsage.Error, match="the same call goes on"):
        fsage.sweep(experiment_file(tmp_path, 3), tmp_path / "exp", client=client, progress=heard)
    closing.join()
    states = [cell["state"] for cell in fsage.sweep(tmp_path / "sweep.toml", tmp_path / "exp").cells]
    assert set(states) == {"complete"}


def test_a_scheduler_that_is_lost_loses_nothing(alone, tmp_path):
    """The scheduler is killed in the middle; the same call with another one goes on."""
    file, folder = experiment_file(tmp_path, 2), tmp_path / "exp"
    begun = [False]

    def scheduler(number):
        where = tmp_path / f"scheduler-{number}.json"
        module = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", where, "--port", "0"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", where, "--nthreads", "1"]
        processes = [
            subprocess.Popen([*words, "--no-dashboard"], stderr=subprocess.DEVNULL, cwd=tmp_path)
            for words in (module, [*worker, "--no-nanny"])
        ]
        return processes, distributed.Client(scheduler_file=os.fspath(where))

    processes, client = scheduler(1)

    def heard(what, done, total):
        if what == "cells" and done >= 2 and not begun[0]:
            begun[0] = True
            processes[0].kill()

    try:
        with pytest.raises(fsage.SystemRefused, match="the scheduler was lost, .* the same call goes on"):
            fsage.sweep(file, folder, client=client, progress=heard)
    finally:
        client.close(timeout=1)
        for process in processes:
            process.kill()
    marks = [mark for mark in (folder / "cells").glob("*.json") if '"complete"' in mark.read_text()]
    done = {mark: mark.stat().st_mtime_ns for mark in marks}
    assert 2 <= len(done) < 16
    processes, client = scheduler(2)
    try:
        swept = fsage.sweep(file, folder, client=client)
    finally:
        client.close(timeout=1)
        for process in processes:
            process.kill()
    assert {cell["state"] for cell in swept.cells} == {"complete"}
    assert {mark: mark.stat().st_mtime_ns for mark in done} == done, "nothing is done twice"
    for table in ("results", "days", "means"):
        name = f"{table}.parquet"
        assert (swept.path / name).read_bytes() == (alone.path / name).read_bytes()


def test_an_estimate_runs_a_few_cells_and_judges_the_others(alone, tmp_path):
    file = experiment_file(tmp_path, 10)
    said = fsage.estimate(file, tmp_path / "exp", threads=2, budget_seconds=0)
    assert said["cells"] == 80 and said["tried"] == 1 and said["left"] == 79 and said["failed"] == {}
    said = fsage.estimate(file, tmp_path / "exp", threads=2)
    tried = 1 + said["tried"]
    assert said["cells"] == 80 and said["tried"] >= 3 and said["left"] == 80 - tried and said["failed"] == {}
    for of in ("seconds", "wall_seconds", "bytes"):
        assert 0 <= said[of]["low"] <= said[of]["expected"] <= said[of]["high"]
    assert said["wall_seconds"]["expected"] < said["seconds"]["expected"]
    states = [cell["state"] for cell in fsage.Experiment(tmp_path / "exp").cells]
    assert states.count("complete") == tried
    # A few cells of 80 tell the space of all but for a third.
    exp = fsage.experiment(file, tmp_path / "exp")
    sizes = [512 * path.stat().st_blocks for part in ("cells", "workloads") for path in (exp.path / part).rglob("*")]
    assert 0.66 < said["bytes"]["expected"] / (sum(sizes) * said["left"] / 80) < 1.5
    with pytest.raises(fsage.InputError, match="budget_seconds: expected seconds from 0, found -1"):
        fsage.estimate(file, tmp_path / "exp", budget_seconds=-1)


def test_progress_says_how_long_the_rest_takes(capsys, monkeypatch):
    from fsage import _listen

    now = [0.0]
    monkeypatch.setattr(_listen.time, "monotonic", lambda: now[0])
    with _listen.Listener(True) as listener:
        for at, done in [(1, 10), (11, 20), (71, 90), (80, 100)]:
            now[0] = at
            listener.progress("cells", done, 100)
    shown = capsys.readouterr().err.split("\r\x1b[K")
    # 10 cells in 10 seconds, 80 are left; then 80 in 70, and 10 are.
    assert shown[1:5] == [
        "cells:  10.0 %", "cells:  20.0 %, about 80 s left", "cells:  90.0 %, about 9 s left", "cells: 100.0 %"
    ]


def test_a_folder_of_another_sweep_is_refused(alone, tmp_path):
    from fsage import _native

    file = experiment_file(tmp_path, 2)
    other = _native.Experiment(os.fspath(file), os.fspath(tmp_path / "exp"))
    other.begin()
    before = bytes_of(tmp_path / "exp")
    with pytest.raises(fsage.AtWork, match="at work here"):
        fsage.sweep(file, tmp_path / "exp")
    assert bytes_of(tmp_path / "exp") == before
    other.end()
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('targets = ["ffs:policy={p}"]\n[[workload]]\npreset = "home-1996"\n')
    with pytest.raises(fsage.InputError, match=r"wrong.toml:1: .*no list `p`"):
        fsage.sweep(wrong)


def test_a_task_costs_little(tmp_path):
    """The overhead of a task is what is left when nothing has to be done: a cell that is there already."""
    from fsage import _native, _sweep

    file = experiment_file(tmp_path, 2)
    exp = fsage.experiment(file, tmp_path / "exp")
    planned = _native.Experiment(os.fspath(file), os.fspath(exp.path))
    began = time.process_time()
    for cell in exp.cells:
        assert _sweep._run(os.fspath(file), planned.text, os.fspath(exp.path), cell["id"], "")[1] == "skipped"
    print(f"{1000 * (time.process_time() - began) / len(exp.cells):.1f} ms of processor time a task that is done")
