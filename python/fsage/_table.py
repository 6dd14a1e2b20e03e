"""Tables of results: Arrow streams that pandas, polars, pyarrow and DuckDB read without a copy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import InputError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Table:
    """Rows of one or more Parquet files of fsage.

    A table is read when somebody asks for its rows, and only the columns that are chosen. It has the Arrow PyCapsule
    interface: ``pyarrow.table(t)``, ``polars.DataFrame(t)`` and ``duckdb.sql("from t")`` take it as it is.

    >>> fsage.Run(runs / "policies").days.select("target", "files").to_pandas().groupby("target", sort=False).size()
    target
    ffs                   3
    ffs:policy=realloc    3
    dtype: int64
    """

    def __init__(self, native: _native.Table) -> None:
        if not isinstance(native, _native.Table):
            raise TypeError(f"a Table is made by fsage, as in fsage.Run(path).days; found {native!r}")
        self._native = native

    @classmethod
    def _of(cls, parts: Sequence[tuple[str | os.PathLike[str], Sequence[tuple[str, str]]]]) -> Table:
        return cls(_native.Table([(os.fspath(path), list(common)) for path, common in parts]))

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in their order."""
        return self._native.column_names

    @property
    def num_rows(self) -> int:
        """How many rows there are; nothing is read but the metadata."""
        return self._native.num_rows

    def __len__(self) -> int:
        return self.num_rows

    def select(self, *columns: str) -> Table:
        """The same rows with these columns only; other columns are not read at all."""
        if not columns:
            raise InputError("select: expected the names of columns; column_names has them")
        for column in columns:
            if not isinstance(column, str):
                raise TypeError(f"select: expected names of columns, as in select('day', 'files'), found {column!r}")
        return Table(self._native.select(list(columns)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """As a ``pyarrow.Table``."""
        try:
            import pyarrow
        except ModuleNotFoundError:
            raise InputError("tables for pandas and Arrow need pyarrow: pip install pyarrow; to_polars does without") from None
        try:
            return pyarrow.table(self)
        except pyarrow.ArrowInvalid as error:
            raise InputError(str(error)) from None

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """As a ``pandas.DataFrame``; options are those of ``pyarrow.Table.to_pandas``."""
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> polars.DataFrame:
        """As a ``polars.DataFrame``."""
        try:
            import polars
        except ModuleNotFoundError:
            raise InputError("tables for polars need it: pip install polars") from None
        return polars.DataFrame(self)

    def __repr__(self) -> str:
        names = self.column_names
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        return f"<fsage.Table: {self.num_rows} rows, {len(names)} columns: {shown}>"
