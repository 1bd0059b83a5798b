"""Fits: whether what functions give fits their types, as guards see it on workers, which get it by value, for the agents import neither Arrow's types nor PySpark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.agents.guards.code import Fitting


def internal() -> Fitting:
    """Whether what a function gives fits its type, where it goes to the JVM as a pickle."""

    def fitting(returns: Any) -> Callable[[Any, int], None] | None:
        if not returns.needConversion():
            return None

        def fits(given: Any, rows: int) -> None:
            returns.toInternal(given)

        return fits

    return fitting


def doubtful() -> Callable[[Any, Any], bytes | None]:
    """What a function gives as the pickle that goes to the JVM, where that may not know how to read it: it has classes in it, or is no
    struct of its type. None for other values."""

    def pickled(given: Any, returns: Any) -> bytes | None:
        from datetime import date, datetime, time, timedelta
        from decimal import Decimal
        from pickletools import genops

        from pyspark.serializers import CPickleSerializer

        value = returns.toInternal(given) if returns.needConversion() else given
        if type(value) in (bool, int, float, str, bytes, bytearray, type(None), Decimal, date, datetime, time, timedelta):
            return None
        data: bytes = CPickleSerializer().dumps(value)  # type: ignore[no-untyped-call]
        fields = getattr(returns, "fields", None)
        unfit = fields is not None and not (isinstance(value, tuple) and len(value) == len(fields))
        return data if unfit or any(code.name in ("GLOBAL", "STACK_GLOBAL", "INST") for code, _, _ in genops(data)) else None

    return pickled


def arrow_kind() -> Callable[[Any], Any]:
    """Arrow's type for one of Spark's; None for times and what has them in it, whose type hangs on a zone."""

    def kind(returns: Any) -> Any:
        from pyspark.sql.pandas.types import to_arrow_type

        try:
            return None if returns.typeName() == "timestamp" else to_arrow_type(returns)
        except AssertionError:
            return None

    return kind


def arrow_value() -> Fitting:
    """Whether what a function of a row gives fits its type, where it goes to the JVM by Arrow. Costs some µs."""
    kind_of = arrow_kind()

    def fitting(returns: Any) -> Callable[[Any, int], None] | None:
        import pyarrow
        from pyspark.sql.conversion import LocalDataToArrowConversion

        kind = kind_of(returns)
        if kind is None:
            return None
        convert = LocalDataToArrowConversion._create_converter(returns, none_on_identity=True)

        def fits(given: Any, rows: int) -> None:
            value = given if convert is None else convert(given)
            try:
                pyarrow.array([value], type=kind)
            except pyarrow.lib.ArrowInvalid:
                pyarrow.array([value]).cast(target_type=kind)

        return fits

    return fitting


def certain_value() -> Callable[[Any], type | None]:
    """The class of values that fit a type where they go to the JVM by Arrow, for integers if they are small; None if no class or any is."""

    def certain(returns: Any) -> type | None:
        from datetime import date

        return {"long": int, "integer": int, "double": float, "float": float, "boolean": bool, "date": date, "binary": bytes}.get(returns.typeName())

    return certain


def certain_column() -> Callable[[Any], Callable[[Any], bool] | None]:
    """Whether a column is known to fit a type; None of types that are nested, or have no Arrow type of their own: these are not looked at."""
    kind_of = arrow_kind()

    def certain(returns: Any) -> Callable[[Any], bool] | None:
        import pandas
        import pyarrow

        name, kind = returns.typeName(), kind_of(returns)
        if kind is None or pyarrow.types.is_nested(kind):
            return None
        bits = {"byte": 7, "short": 15, "integer": 31, "long": 63}.get(name)
        inferred = {"string": "string", "date": "date", "binary": "bytes", "boolean": "boolean"}.get(name)

        def fits(values: Any) -> bool:
            if isinstance(values, pyarrow.Array):
                return bool(values.type.equals(kind))
            if not isinstance(values, pandas.Series):
                return False
            if inferred is not None and pandas.api.types.infer_dtype(values, skipna=True) in (inferred, "empty"):
                return True
            numbers = values.dropna() if values.dtype.kind in "iuf" else None
            if numbers is None or not len(numbers):
                return numbers is not None
            if bits is not None:
                return bool(numbers.min() >= -(2**bits) and numbers.max() < 2**bits and (numbers.dtype.kind != "f" or (numbers % 1 == 0).all()))
            return name in ("float", "double")

        return fits

    return certain


def arrow_values() -> Callable[[list[Any]], Any]:
    """Makes an Arrow array of what functions of a row gave; None if they are not of one type."""

    def made(given: list[Any]) -> Any:
        import pyarrow

        if len({*map(type, given)} - {type(None)}) > 1:  # of 1.5 and True, Arrow makes two doubles
            return None
        try:
            return pyarrow.array(given)
        except Exception:  # it is whatever the user's function gave
            return None

    return made


def certain_values() -> Callable[[Any], Callable[[Any], bool] | None]:
    """As ``certain_column``, of values that functions of a row gave: of other types, anything fits or is to be looked at."""

    def certain(returns: Any) -> Callable[[Any], bool] | None:
        import pyarrow

        name = returns.typeName()
        kind = {
            "long": pyarrow.int64(), "integer": pyarrow.int64(), "double": pyarrow.float64(), "float": pyarrow.float64(),
            "boolean": pyarrow.bool_(), "date": pyarrow.date32(), "binary": pyarrow.binary(),
        }.get(name)
        if kind is None:
            return None

        def fits(values: Any) -> bool:
            if values.null_count == len(values):
                return True
            if name != "integer" or not values.type.equals(kind):
                return bool(values.type.equals(kind))
            numbers = values.drop_null().to_numpy()
            return bool(numbers.min() >= -(2**31) and numbers.max() < 2**31)

        return fits

    return certain


def arrow_column() -> Fitting:
    """Whether what a function of columns gives fits its type and the number of rows."""
    kind_of = arrow_kind()

    def fitting(returns: Any) -> Callable[[Any, int], None]:
        import pandas
        import pyarrow

        kind = kind_of(returns)

        def fits(given: Any, rows: int) -> None:
            if len(given) != rows:
                raise ValueError(f"the function gave {len(given)} values for {rows} rows")
            if kind is None:
                return
            if isinstance(given, pandas.Series):
                try:
                    pyarrow.Array.from_pandas(given, type=kind)
                except pyarrow.lib.ArrowException:
                    pyarrow.Array.from_pandas(given).cast(kind)
            elif isinstance(given, pyarrow.Array):
                given.cast(kind)

        return fits

    return fitting
