"""Bad input is an exception that names it, and leaves nothing half written."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import fsage
import pyarrow
import pytest


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda at: fsage.age(at / "none.parquet", "ffs", at / "run"), "none.parquet"),
        (lambda at: fsage.age(at / "w.parquet", "ffs:polcy=x", at / "run"), "polcy"),  # typos: ignore
        (lambda at: fsage.age(at / "w.parquet", "ffs", at / "run", snapshots=0), "snapshots: expected 1"),
        (lambda at: fsage.age(at / "w.parquet", "ffs", at / "run", lenient="very"), "age: lenient: invalid type"),
        (lambda at: fsage.age(at / "w.parquet", "ffs", at / "run", snapshots="x"), "snapshots: invalid type"),
        (lambda at: fsage.generate.profile("home-2096", output=at / "new.parquet"), "no preset"),
        (lambda at: fsage.generate.profile("home-1996", days="x", output=at / "new.parquet"), "generate: days: "),
        (
            lambda at: fsage.generate.profile("home-1996", utilization=300, output=at / "new.parquet"),
            "utilization: invalid value: integer `300`, expected a whole number from 0 to 255",
        ),
        (lambda at: fsage.generate.profile("home-1996", output=at / "w.parquet"), "exists"),
        (lambda at: fsage.compare(at / "w.parquet", ["ffs"], at / "run", bench={"suits": []}), "unknown field `suits`"),
        (lambda at: fsage.bench(at / "policies", suites=["fast"]), "no suite is called `fast`"),
        (lambda at: fsage.Run(at / "none"), "not a run"),
        (lambda at: fsage.Experiment(at / "policies"), "not an experiment"),
        (lambda at: fsage.Run(at / "policies").days.select("speed"), "no column `speed`"),
        (lambda at: fsage.check(at / "policies"), "nothing to check by"),
        (lambda at: fsage.age(at / "w.parquet", [], at / "run"), "on: expected a target at least"),
        (lambda at: fsage.age(at / "w.parquet", "ffs", at / "run", threads=0), "threads: expected 1 or more, found 0"),
        (lambda at: fsage.bench(at / "policies", seed=-1), "seed: expected 0 or more, found -1"),
        (lambda at: fsage.bench(at / "policies", suites=["sequential"], repetitions=0), "repetitions: expected 1 to"),
        (lambda at: fsage.bench(at / "policies", on="ffs", output=at / "run"), "either a run, or targets"),
        (lambda at: fsage.bench(), "expected a run, or targets"),
        (lambda at: fsage.compare(at / "w.parquet", ["ffs"], at / "run", fill=[300]), "fill: expected 1 to 99, found 300"),
        (lambda at: fsage.verify_method(at / "w.parquet", seeds=0), "seeds: expected 1 to 1000, found 0"),
        (lambda at: fsage.report([], at / "page.html"), "expected runs or snapshots"),
        (lambda at: fsage.fleet([], at / "fleet"), "paths: expected folders of hosts"),
        (lambda at: fsage.bench(at / "policies", exec_values="x"), "expected `exec` beside them"),
        (lambda at: fsage.workload(pyarrow.table({"file_id": [1]}), at / "new.parquet"), "column `op` is missing"),
        (lambda at: fsage.workload(pyarrow.table({"op": ["x"], "f": [1]}), at / "new.parquet"), "column `f` is none"),
        (lambda at: fsage.workload(["create 1 0 10", "create x"], at / "new.parquet"), "operations:2"),
        (lambda at: fsage.workload(iter([pyarrow.table({"op": ["x"]})]), at / "new.parquet"), "batches: row 1: unknown"),
        (lambda at: fsage.workload([], at / "new.parquet"), "expected operations"),
        (lambda at: fsage.workload(pyarrow.table({"op": pyarrow.array([], "string")}), at / "new.parquet"), "found none"),
        (lambda at: fsage.forecast(at / "w.parquet", "ffs", limits=["free"]), "free"),
        (lambda at: fsage.forecast([], "ffs"), "past: expected a workload or snapshots"),
        (lambda at: fsage.forecast(at / "w.parquet", "ffs", lives=3), "19"),
        (lambda at: fsage.fleet(at / "policies", at / "fleet", threads=0), "threads: expected 1 or more, found 0"),
        (lambda at: fsage.fleet(at / "policies", at / "fleet", alike=-1), "alike: expected 0 or more"),
        (lambda at: fsage.compare(at / "w.parquet", ["ffs"], at / "run", after="defrag:none"), "defrag:none"),
    ],
)
def test_bad_input_is_named(runs, call, words):
    before = sorted(os.listdir(runs))
    with pytest.raises(fsage.InputError) as raised:
        call(runs)
    assert words in str(raised.value)
    assert isinstance(raised.value, ValueError)
    assert sorted(os.listdir(runs)) == before, "nothing is left"


def test_wrong_types_are_type_errors(runs):
    for words, call in [
        ("on: expected targets, .* found 3", lambda: fsage.age(runs / "w.parquet", 3, runs / "run")),
        ("on: expected a target, .* found 3", lambda: fsage.age(runs / "w.parquet", [3], runs / "run")),
        ("threads: expected a whole number, found 'all'", lambda: fsage.age(runs / "w", "ffs", runs / "r", threads="all")),
        ("fill: expected a whole number, found 'a'", lambda: fsage.compare(runs / "w", ["ffs"], runs / "r", fill=["a"])),
        ("name: expected the name of a chart, as in 'layout', found 3", lambda: fsage.Run(runs / "policies").chart(3)),
        ("limits: expected a list of texts", lambda: fsage.forecast(runs / "w.parquet", "ffs", limits=5)),
        ("years: expected a number, found 'two'", lambda: fsage.forecast(runs / "w.parquet", "ffs", years="two")),
        ("header: expected a dict", lambda: fsage.workload(["day 1"], runs / "new.parquet", header="seed")),
        ("operation 2: expected a line, or a tuple of its words, found 7", lambda: fsage.workload(
            ["day 1", 7], runs / "new.parquet")),
        ("force: expected True or False, found 'x'", lambda: fsage.age(runs / "w", "ffs", runs / "r", force="x")),
        ("workload: expected a path, found None", lambda: fsage.age(None, "ffs", runs / "r")),
        ("exec: expected a text, found 3", lambda: fsage.bench(runs / "policies", exec=3)),
        ("after_again: expected True or False, found 'x'", lambda: fsage.compare(
            runs / "w", ["ffs"], runs / "r", after_again="x")),
        ("age: expected options by name, .* found 'x'", lambda: fsage.compare(runs / "w", ["ffs"], runs / "r", age="x")),
        ("progress: expected True, False or a function, found 'x'", lambda: fsage.age(
            runs / "w", "ffs", runs / "r", progress="x")),
        ("strict: expected True or False, found 'no'", lambda: fsage.check(
            runs / "policies", baseline=runs / "policies", strict="no")),
        ("select: expected names of columns, .* found \\['day'\\]", lambda: fsage.Run(runs / "policies").days.select(["day"])),
        ("path: expected a path, found None", lambda: fsage.Run(None)),
        ("match: expected a text, found 3", lambda: fsage.check(runs / "policies", match=3)),
    ]:
        with pytest.raises(TypeError, match=words):
            call()
    with pytest.raises(TypeError):
        fsage.workload(7, runs / "new.parquet")
    with pytest.raises(TypeError):
        fsage.generate.git(runs, clnes=2, output=runs / "new.parquet")  # typos: ignore
    with pytest.raises(TypeError):
        fsage.age(3, "ffs", runs / "run")
    with pytest.raises(TypeError, match="suits"):
        fsage.bench(runs / "policies", suits=["sequential"])


def test_what_a_generator_raises_comes_through(tmp_path):
    def life():
        yield "create", 1, 0, 10
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fsage.workload(life(), tmp_path / "new.parquet")
    assert os.listdir(tmp_path) == []


def test_batches_that_differ_are_named(tmp_path):
    day = pyarrow.table({"op": ["day"], "name": ["1"]})
    for other, words in [
        (pyarrow.table({"op": ["day"]}), "batch 2: its columns are op Utf8; the first one has op Utf8, name Utf8"),
        (7, "batch 2: expected a table or a batch, found 7"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            fsage.workload(iter([day, other]), tmp_path / "new.parquet")

    def broken():
        yield day
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fsage.workload(broken(), tmp_path / "new.parquet")
    assert os.listdir(tmp_path) == []


def test_ctrl_c_stops_and_the_run_goes_on(tmp_path):
    """In a process of its own: an interrupt in the middle of aging, then the same call with resume, then another."""
    workload = fsage.generate.profile("home-1996", days=400, output=tmp_path / "w.parquet")
    script = textwrap.dedent(
        """
        import sys, fsage
        try:
            fsage.age("w.parquet", ["ffs"], "run", progress=lambda *_: print("going", flush=True))
        except KeyboardInterrupt as error:
            print("stopped", *getattr(error, "__notes__", []), flush=True)
        else:
            sys.exit("it was not stopped")
        assert not fsage.Run("run").is_complete
        print(fsage.generate.profile("home-1996", days=1, output="other.parquet"), flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "going\n"
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait() == 0, rest
    assert "stopped" in rest and "other.parquet" in rest, "work begins again after it"
    whole = fsage.age(workload, ["ffs"], tmp_path / "whole")
    resumed = fsage.age(workload, ["ffs"], tmp_path / "run", resume=True)
    assert resumed.is_complete
    assert resumed.days.to_arrow() == whole.days.to_arrow()


def test_other_threads_run_meanwhile(tmp_path):
    """The interpreter's lock is released: another thread counts on while a model ages."""
    import threading

    workload = fsage.generate.profile("home-1996", days=60, output=tmp_path / "w.parquet")
    counted, is_over = [0], threading.Event()

    def count():
        while not is_over.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        fsage.age(workload, "ffs", tmp_path / "run")
    finally:
        is_over.set()
        thread.join()
    assert counted[0] > 10


def test_folder_of_another_process_is_left_alone(runs):
    (runs / "mine").mkdir()
    (runs / "mine" / "notes.txt").write_text("keep")
    for force in (False, True):
        with pytest.raises(fsage.InputError, match="mine"):
            fsage.age(runs / "w.parquet", "ffs", runs / "mine", force=force)
    assert [p.name for p in pathlib.Path(runs / "mine").iterdir()] == ["notes.txt"]
