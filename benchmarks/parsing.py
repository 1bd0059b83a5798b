"""What the programs of P10 call on each line, apart from them: a new Python worker imports this, and it should import nothing else."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

KEYS = 10
"""So few that nearly all of a reduceByKey is the stage before its shuffle."""


def parse(line: str) -> int:
    return int(line)


def is_even(number: int) -> bool:
    return number % 2 == 0


def keyed(number: int) -> tuple[int, int]:
    return number % KEYS, 1


def cells(line: str) -> list[str]:
    return line.split(",")


def parsed_cells(rows: Iterable[list[str]]) -> Iterator[int]:
    for row in rows:
        yield int(row[0])


def parsed(lines: Iterable[str]) -> Iterator[int]:
    for line in lines:
        yield int(line)


def column_parser() -> Callable[[Any], Any]:
    """A function of a Series, with the annotations that PySpark asks for."""
    import pandas as pd

    def parsed_column(texts: pd.Series) -> pd.Series:
        return texts.astype(int)

    return parsed_column
