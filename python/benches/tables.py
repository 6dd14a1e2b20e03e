"""How long a table of a million days takes to read: `python python/benches/tables.py [ROWS]`.

It needs fsage, pandas and numpy. The days are those of a real run, again and again, with other numbers, so that nothing is
gained by values that repeat; what is known of the last day alone stays so.
"""

import pathlib
import sys
import tempfile
import time

import fsage
import numpy
import pyarrow
import pyarrow.compute
import pyarrow.parquet

REPETITIONS = 5


def other_numbers(column: pyarrow.ChunkedArray, rows: int, draw: numpy.random.Generator) -> pyarrow.Array:
    """A column `rows` long with the numbers of another one, none of them twice the same."""
    first = column.combine_chunks()
    at = numpy.arange(rows) % len(first)
    if first[:-1].null_count == len(first) - 1:
        at = numpy.where(numpy.arange(rows) == rows - 1, len(first) - 1, 0)
    return shaken(first.take(pyarrow.array(at)), draw)


def shaken(values: pyarrow.Array, draw: numpy.random.Generator) -> pyarrow.Array:
    """The same values with something added to each; texts stay as they are."""
    if pyarrow.types.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False) * (1 + 1e-4 * draw.random(len(values)))
        return pyarrow.array(numbers, values.type, from_pandas=True)
    if pyarrow.types.is_integer(values.type):
        return pyarrow.compute.add(values, pyarrow.array(draw.integers(0, 1 << 20, len(values)), values.type))
    if pyarrow.types.is_list(values.type):
        item = values.type.value_field
        items = values.values
        fields = [shaken(items.field(i), draw) for i in range(item.type.num_fields)]
        items = pyarrow.StructArray.from_arrays(fields, fields=list(item.type))
        return pyarrow.ListArray.from_arrays(values.offsets, items, type=values.type)
    return values


def long_run(folder: pathlib.Path, rows: int) -> fsage.Run:
    """A run with so many days."""
    workload = fsage.generate.profile("home-1996", days=30, seed=1, output=folder / "w.parquet")
    run = fsage.age(workload, on="ext4:size=1G", output=folder / "run")
    path = run.path / run.facts["targets"][0]["folder"] / "days.parquet"
    table = pyarrow.parquet.read_table(path)
    draw = numpy.random.default_rng(1)
    columns = {name: other_numbers(table[name], rows, draw) for name in table.column_names}
    columns["day"] = pyarrow.array(numpy.arange(1, rows + 1), table["day"].type)
    longer = pyarrow.table(columns, schema=table.schema)
    # As fsage writes it.
    pyarrow.parquet.write_table(longer, path, compression="zstd", compression_level=3, row_group_size=rows)
    return fsage.Run(run.path)


def measure(what: str, work) -> None:
    """Prints the shortest of some repetitions."""
    times = []
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    print(f"{1000 * min(times):8.1f} ms  {what}")


def main() -> None:
    """Measures."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        run = long_run(pathlib.Path(name), rows)
        names = run.days.column_names
        lists = [field.name for field in pyarrow.table(run.days).schema if pyarrow.types.is_list(field.type)]
        plain = [name for name in names if name not in lists]
        chart = ["target", "day", "layout_score"]
        print(f"{rows} rows, {len(names)} columns, of which {len(lists)} are lists")
        measure("run.days", lambda: run.days)
        measure("len(run.days)", lambda: len(run.days))
        measure("one column, to Arrow", lambda: run.days.select("layout_score").to_arrow())
        measure("three columns, to Arrow", lambda: run.days.select(*chart).to_arrow())
        measure("three columns, to pandas", lambda: run.days.select(*chart).to_pandas())
        measure("all columns but lists, to Arrow", lambda: run.days.select(*plain).to_arrow())
        measure("all columns, to Arrow", lambda: run.days.to_arrow())
        measure("all columns but lists, to pandas", lambda: run.days.select(*plain).to_pandas())
        path = run.path / run.facts["targets"][0]["folder"] / "days.parquet"
        read = pyarrow.parquet.read_table
        measure("the same file by pyarrow, two columns", lambda: read(path, columns=["day", "layout_score"]))
        of_file = [name for name in plain if name != "target"]
        measure("the same file by pyarrow, all columns but lists", lambda: read(path, columns=of_file))
        measure("the same file by pyarrow, all columns", lambda: read(path))


if __name__ == "__main__":
    main()
