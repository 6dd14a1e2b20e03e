"""Workloads, runs, tables and charts."""

import json
import os
import pathlib
import re
import subprocess
import sys
import warnings

import fsage
import pyarrow
import pyarrow.parquet
import pytest


def test_a_run_from_python_is_the_run_of_the_program(made, tmp_path):
    program = pathlib.Path(sys.executable).with_name("fsage")
    workload = tmp_path / "w.parquet"
    run = tmp_path / "policies"
    for words in (
        ["generate", "profile", "home-1996", "--days", "3", "-o", workload],
        ["age", workload, "--on", "ffs", "--on", "ffs:policy=realloc", "-o", run],
    ):
        subprocess.run([program, *words], check=True, capture_output=True)
    theirs = {p.relative_to(run): p.read_bytes() for p in run.rglob("*") if p.is_file()}
    ours = {name: (made / "policies" / name).read_bytes() for name in theirs}
    # The program knows the commit that it was built from, the module does not.
    manifest = pathlib.Path("run.json")
    theirs[manifest] = re.sub(rb' *"commit": "[^"]*",\n', b"", theirs[manifest])
    assert len(theirs) > 6
    assert ours == theirs


def test_days_are_one_table_with_their_targets(made):
    run = fsage.Run(made / "policies")
    table = run.days.to_arrow()
    assert run.days.num_rows == table.num_rows == 6
    assert table.column_names[0] == "target"
    assert table["target"].to_pylist() == ["ffs"] * 3 + ["ffs:policy=realloc"] * 3
    few = run.days.select("layout_score", "target").to_arrow()
    assert few.column_names == ["layout_score", "target"]
    assert few["layout_score"].to_pylist() == table["layout_score"].to_pylist()
    assert run.final.num_rows > 100
    assert run.control.num_rows == run.final.num_rows
    measured = run.bench.to_arrow()
    assert set(measured["state"].to_pylist()) == {"aged", "control"}


def test_every_table_of_a_run_names_its_target(made):
    names = set()
    for path in (made / "policies").glob("*/**/*.parquet"):
        table = pyarrow.parquet.read_table(path)
        spec = {"ffs": "ffs", "ffs_policy-realloc": "ffs:policy=realloc"}[path.relative_to(made / "policies").parts[0]]
        assert set(table["target"].to_pylist()) <= {spec}, path
        names.add(path.name)
    assert {"days.parquet", "final.parquet", "final.free.parquet", "control.snapshots.parquet"} <= names
    run = fsage.Run(made / "policies")
    assert run.final.to_arrow().column_names.count("target") == 1
    assert set(run.control.select("target", "ino").to_arrow()["target"].to_pylist()) == {"ffs", "ffs:policy=realloc"}


def test_pandas_polars_and_duckdb_read_tables_as_they_are(made):
    days = fsage.Run(made / "policies").days
    pandas = days.to_pandas()
    assert list(pandas["day"]) == [1, 2, 3] * 2 or list(pandas["day"]) == [0, 1, 2] * 2
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(days).height == 6
    assert days.to_polars().columns == days.column_names
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql("select target, count(*) from days group by target order by target").fetchall()
    assert rows == [("ffs", 3), ("ffs:policy=realloc", 3)]


def test_a_table_is_a_workload(tmp_path):
    text = "create 1 0 20000\ncreate 2 0 9000\ndelete 1\ncreate 3 0 40000\nday 1\n"
    (tmp_path / "text.ops").write_text(text)
    table = {
        "op": ["create", "create", "delete", "create", "day"],
        "file_id": [1, 2, 1, 3, None],
        "dir_id": [0, 0, None, 0, None],
        "length_bytes": [20000, 9000, None, 40000, None],
        "name": [None] * 4 + ["1"],
    }
    words = [tuple(line.split()) for line in text.splitlines()]
    sources = {
        "arrow": pyarrow.table(table),
        "pandas": pyarrow.table(table).to_pandas(),
        # One that was sorted or filtered has its index as a column.
        "filtered": pyarrow.table(table).to_pandas().iloc[[0, 1, 2, 3, 4]],
        "words": iter(words),
        "lines": text.splitlines(),
        "batches": (pyarrow.table(table).slice(at, 2).to_batches()[0] for at in (0, 2, 4)),
        "tables": iter([pyarrow.table(table).slice(0, 0), pyarrow.table(table)]),
    }
    expected = fsage.age(tmp_path / "text.ops", "ffs:preset=tiny", tmp_path / "expected").days.to_arrow()
    for name, source in sources.items():
        path = fsage.workload(source, tmp_path / f"{name}.parquet", header={"seed": 7})
        run = fsage.age(path, "ffs:preset=tiny", tmp_path / name)
        assert run.days.to_arrow() == expected, name
        assert run.facts["workload"]["seed"] == 7


def test_workloads_are_read_as_other_programs_compress_them(made, tmp_path):
    table = pyarrow.parquet.read_table(made / "w.parquet")
    expected = fsage.Run(made / "policies").days.to_arrow().slice(0, 3).column("layout_score")
    for compression in ["snappy", "zstd", "none"]:
        path = tmp_path / f"{compression}.parquet"
        pyarrow.parquet.write_table(table, path, compression=compression)
        assert fsage.age(path, "ffs", tmp_path / compression).days.to_arrow().column("layout_score") == expected


def test_charts_are_those_of_the_report(made):
    run = fsage.Run(made / "policies")
    chart = run.chart("layout")
    bundle = chart._repr_mimebundle_()
    spec = bundle["application/vnd.vegalite.v5+json"]
    rows = spec["datasets"]["rows"]
    assert len(rows) >= 6
    assert "--" not in json.dumps({key: value for key, value in spec.items() if key != "datasets"})
    assert chart.svg.startswith("<svg xmlns") and bundle["image/svg+xml"] == chart.svg
    assert "layout-by-day" in run.charts
    page = run.report()
    assert page.read_text().count("layout-by-day") > 0
    with pytest.raises(fsage.InputError, match="no chart is called `speed`; its report has layout-by-day"):
        run.chart("speed")


def test_a_check_says_what_does_not_hold(made):
    run = fsage.Run(made / "policies")
    assert fsage.check(run, baseline=run)["passed"]
    rules = made / "rules.toml"
    rules.write_text('[[rule]]\nmetric = "layout_score"\nmin = 2.0\n')
    outcome = fsage.check(run, rules=rules)
    assert not outcome["passed"]
    with pytest.raises(fsage.CheckFailed, match="layout_score"):
        fsage.check(run, rules=rules, strict=True)


def test_a_command_of_the_shell_is_a_benchmark_of_real_targets(made, tmp_path):
    """On models there is nothing that it could run on: the message says so, and nothing else is run."""
    with pytest.raises(fsage.InputError, match="nothing was measured: .*ffs"):
        fsage.bench(on="ffs", output=tmp_path / "models", exec="ls {dir}")
    (tmp_path / "disk").mkdir()
    [measured] = fsage.bench(
        on=f"dir:{tmp_path / 'disk'}", output=tmp_path / "empty", exec="touch {dir}/file", exec_name="touch",
        repetitions=2, drop_caches=False,
    )
    assert measured["suite"] == "touch"


def test_compare_and_verify_method(made, tmp_path):
    run = fsage.compare(made / "w.parquet", ["ffs", "lfs:size=300M"], tmp_path / "both")
    assert [verdict["target"] for verdict in run.verdicts] == ["ffs", "lfs:size=300M"]
    assert fsage.Run(run.path).verdicts == run.verdicts and run.fullness == run.after == []
    assert (run.path / "report.html").is_file()
    [verdict] = fsage.verify_method(made / "w.parquet", seeds=1)
    assert verdict["target"] == "ffs" and verdict["attempts"]
    [over] = fsage.verify_method([made / "w.parquet"] * 2, seeds=1)
    assert [life["attempts"] for life in over["lives"]] == [verdict["attempts"]] * 2


def test_fill_and_after_and_two_runs_on_one_page(made, tmp_path):
    run = fsage.compare(
        made / "w.parquet", ["ffs"], tmp_path / "filled", fill=[60, 80], after=["defrag:ideal"], after_again=True
    )
    [target] = run.fullness
    assert [round(level["utilization"], 1) for level in target["levels"]] == [0.6, 0.8]
    assert len(run.after) == 2 and all(outcome["days_more"] == 3 for outcome in run.after)
    before, lived_on, after, later = run.after[0]["stages"]
    # What is restored lies as the control does.
    last = run.days.select("target", "control_layout_score").to_pandas().groupby("target", sort=False).last()
    assert abs(after["layout_score"] - last["control_layout_score"].iloc[0]) < 1e-12
    assert before["cost"] is None and after["cost"]["read_bytes"] > 0
    assert fsage.report([made / "policies", run], tmp_path / "page.html") == []
    assert (tmp_path / "page.html").is_file()
    with pytest.raises(fsage.Error, match="expected 1 to 99"):
        fsage.compare(made / "w.parquet", ["ffs"], tmp_path / "none", fill=[100])


def test_warnings_and_progress_are_heard(tmp_path):
    def life():
        for file in range(1, 4000):
            yield "create", file, 0, 1 << 20
        yield "day 1"

    path = fsage.workload(life(), tmp_path / "much.parquet")
    with pytest.warns(fsage.Warning, match="for lack of space"):
        fsage.age(path, "ffs:preset=tiny", tmp_path / "run")
    heard = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fsage.generate.profile(
            "home-1996", days=60, output=tmp_path / "w.parquet", progress=lambda *said: heard.append(said)
        )
    assert heard and heard[-1][0]


def test_what_there_is(made):
    names = [target["name"] for target in fsage.targets()]
    assert {"ffs", "ext4", "xfs", "loop"} <= set(names)
    assert {"layout_score", "utilization"} <= {metric["name"] for metric in fsage.metrics()}
    assert fsage.measure(made / "policies" / "ffs" / "final.parquet")["layout_score"] > 0


def test_values_of_numpy_and_of_a_profile_are_options(tmp_path):
    numpy = pytest.importorskip("numpy")
    plain = fsage.generate.profile("fileserver", days=1, capacity="64M", set={"operations_per_day": 300})
    made = fsage.generate.profile("fileserver", days=numpy.int64(1), capacity="64M", set={"operations_per_day": numpy.int32(300)})
    assert made.read_bytes() == plain.read_bytes()
    run = fsage.age(made, "ffs:size=256M", tmp_path / "run", snapshots=numpy.uint8(1))
    fsage.bench(run, sizes=numpy.array(["16K"]), suites=["sequential"], repetitions=numpy.int64(1))
    with pytest.raises(fsage.InputError, match=r"generate profile: .* is none of texts, numbers, paths"):
        fsage.generate.profile("fileserver", set={"files": object()})


def test_generate_is_as_the_program_has_it():
    folder = pathlib.Path(os.environ.get("FSAGE_SOURCE", pathlib.Path(__file__).parent.parent))
    # The installed package, and not the one beside the script.
    script = f"import runpy; runpy.run_path({os.fspath(folder / 'write_generate.py')!r}, run_name='__main__')"
    written = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert (folder / "fsage" / "generate.py").read_text() == written, "run write_generate.py again"
