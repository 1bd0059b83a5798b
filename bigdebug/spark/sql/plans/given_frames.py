"""Given frames: whether the tables that functions give fit their types, as guards see it on workers, which get it by value like ``fits.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.agents.guards.code import Fitting
from bigdebug.spark.sql.plans.fits import arrow_kind


def fitting_frames(by_name: bool, more: bool, safe: bool) -> Fitting:
    """Whether a DataFrame of pandas, or a table of Arrow's, fits a type of rows.

    Its columns are taken by name, or by place; with ``more``, others may come behind them. Numbers are cut to their type unless that is to be
    ``safe``. What is in columns is looked at where their type is that of a plain value: what PySpark makes of others hangs on its version.
    """
    kind_of = arrow_kind()

    def plain_kind(returns: Any) -> Any:
        import pyarrow.types as kinds

        kind = kind_of(returns)
        plain = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_string, kinds.is_binary, kinds.is_date)
        return kind if kind is not None and any(is_plain(kind) for is_plain in plain) else None

    def check_series(values: Any, kind: Any) -> None:
        import pandas
        import pyarrow

        if isinstance(values.dtype, pandas.CategoricalDtype):
            values = values.astype(values.dtype.categories.dtype)
        mask = None if hasattr(values.array, "__arrow_array__") else values.isnull()
        try:
            pyarrow.Array.from_pandas(values, mask=mask, type=kind, safe=safe)
        except pyarrow.lib.ArrowInvalid:
            pyarrow.Array.from_pandas(values, mask=mask).cast(target_type=kind, safe=safe)

    def fitting(returns: Any) -> Callable[[Any, int], None]:
        import pandas
        import pyarrow
        from pyspark.sql.pandas.types import from_arrow_type

        wanted = returns.fieldNames()
        kinds = [plain_kind(field.dataType) for field in returns.fields]

        def fits(given: Any, rows: int) -> None:
            is_frame = isinstance(given, pandas.DataFrame)
            if not is_frame and not isinstance(given, pyarrow.Table | pyarrow.RecordBatch):
                raise TypeError(f"the function gave a {type(given).__name__}, which is no table")
            names = list(given.columns if is_frame else given.schema.names)
            if not names and not len(given):
                return
            named = by_name and any(isinstance(name, str) for name in names)
            known = names[:len(wanted)] if more else names
            if len(known) != len(wanted) or (named and {*known} != {*wanted}):
                raise ValueError(f"the function gave the columns {names}, and its type has {wanted}"[:1_000])
            for at, (field, kind) in enumerate(zip(returns.fields, kinds, strict=True)):
                place = names.index(field.name) if named else at
                if kind is None:
                    continue
                if is_frame:
                    check_series(given.iloc[:, place], kind)
                elif not (own := given.column(place).type).equals(kind) and from_arrow_type(own) != field.dataType:
                    raise TypeError(f"the function gave {own} in column {field.name!r}, which is {kind}")

        return fits

    return fitting
