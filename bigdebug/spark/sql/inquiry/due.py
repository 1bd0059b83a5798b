"""Due: what a user expects of a result, as rows of it: tuples in the order of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame, Row

from bigdebug.errors import TooLargeError
from bigdebug.shown import shown
from bigdebug.spark.predicate import unchanging
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.called import called
from bigdebug.spark.sql.lineage_frame import LineageFrame

MOST = 1_000_000
"""Rows that are compared with what was expected, and those that may be expected: the driver holds both."""

Values = tuple[Any, ...]


@dataclass(frozen=True)
class RowKey:
    """Gives the key of a row of ``columns``: what it has in some ``places``, or what the user's ``function`` says."""

    columns: tuple[str, ...]
    places: tuple[int, ...] = (0,)
    function: Callable[[Row], Any] | None = None

    @classmethod
    def of(cls, trace: LineageFrame, key: Any) -> RowKey:
        """As the user named it; the first column, if nothing is said. Raises UnknownColumnError."""
        columns = tuple(trace.run.frame.columns)
        if key is None:
            return cls(columns)
        if callable(key):
            return cls(columns, (), unchanging(key, "key="))
        return cls(columns, tuple(map(columns.index, called(trace.run.questions.users, key, columns))))

    def __call__(self, row: Values) -> Any:
        if self.function is not None:
            return self.function(self.made(row))
        return row[self.places[0]] if len(self.places) == 1 else tuple(row[place] for place in self.places)

    def made(self, row: Values) -> Row:
        """A row with the names of its columns."""
        made: Row = Row(*self.columns)(*row)
        return made

    def row(self, key: Any, value: Any) -> Values:
        """The row that has a key, and such values in the other columns; of a key that a function gives, the value is all of the row. Raises TypeError for other values."""
        if self.function is not None:
            return row_of(value, self.columns)
        keys = (key,) if len(self.places) == 1 else tuple(key) if isinstance(key, tuple | list) else ()
        others = [place for place in range(len(self.columns)) if place not in self.places]
        if len(keys) != len(self.places) or not others:
            raise _unlike(key, [self.columns[place] for place in self.places] if others else [])
        rest = row_of(value, [self.columns[place] for place in others])
        found = dict(zip(self.places, keys)) | dict(zip(others, rest))
        return tuple(found[place] for place in range(len(self.columns)))


def due_rows(trace: LineageFrame, expected: Any, key: RowKey) -> list[Values]:
    """What was ``expected``, a list of rows, a DataFrame or a dict by key. Raises TypeError for what are no such rows, TooLargeError for more than MOST."""
    if isinstance(expected, Mapping):
        return [key.row(each, value) for each, value in expected.items()]
    given: Iterable[Any] = expected
    if isinstance(expected, DataFrame):
        if len(expected.columns) != len(key.columns):
            raise _unlike(expected, key.columns)
        given = unheard(expected.limit(MOST + 1), "collect")
    rows = list(islice(given, MOST + 1))
    if len(rows) > MOST:
        raise too_many(f"More rows are expected than the {MOST:,} which the driver compares with what there is")
    return [row_of(each, key.columns) for each in rows]


def row_of(given: Any, columns: Sequence[str]) -> Values:
    """The values of ``columns`` in what a user gave for a row: by its names, if they are those of the columns, else as they come. Raises TypeError if they are others, or more or fewer."""
    if isinstance(given, Row) and sorted(getattr(given, "__fields__", ())) == sorted(columns) == sorted(set(columns)):
        return tuple(given[name] for name in columns)
    if isinstance(given, Mapping):
        if given.keys() != set(columns):
            raise _unlike(given, columns)
        return tuple(given[name] for name in columns)
    if isinstance(given, tuple | list) and len(given) == len(columns):
        return tuple(given)
    if isinstance(given, tuple | list) or len(columns) != 1:
        raise _unlike(given, columns)
    return (given,)


def too_many(what: str) -> TooLargeError:
    """The error of more rows than the driver compares."""
    return TooLargeError(what, remedy="Choose some of them: localize(dbg.lineage(df).where(...), expected=...), with what is expected of these; or give a test of a row.")


def _unlike(given: Any, columns: Sequence[str]) -> TypeError:
    if not columns:
        return TypeError("a dict by key says what belongs to a key in other columns, and there are none; expected= is a list of rows here")
    return TypeError(f"what is expected has the columns {', '.join(columns)}, and not those of {shown(given)}")
