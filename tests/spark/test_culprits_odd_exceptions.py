"""Crash culprits of functions that raise odd exceptions: one that answers what it is asked with another (FEATURES B1)."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.spark.test_sql_culprits import culprits_of as culprits_of_query

BAD = (2, 5)


class Fields(Exception):
    """Answers what it is asked from a dictionary."""

    def __init__(self, fields: dict[str, int]) -> None:
        super().__init__(fields)
        self.fields = fields

    def __getattr__(self, name: str) -> int:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.fields[name]


class Secretive(Exception):
    """Answers nothing."""

    def __getattribute__(self, name: str) -> Any:
        raise KeyError(name)


@pytest.mark.parametrize("make", [lambda x: Fields({"code": x}), Secretive])
def test_an_exception_that_does_not_answer(make: Callable[[int], Exception], dbg: Any, spark: Any) -> None:
    def call(x: Any) -> Any:
        if x in BAD:
            raise make(x)
        return x

    numbers = dbg.context.parallelize(range(8), 1)
    found = culprits_of_any(dbg, numbers.map(call).collect)
    assert [(c.record, c.exception_type.rpartition(".")[2], c.locals["x"]) for c in found] == [(x, type(make(x)).__name__, str(x)) for x in BAD]
    with dbg.capture(on_crash="skip"):
        assert numbers.map(call).collect() == [0, 1, 3, 4, 6, 7]
    ids = spark.range(8).coalesce(1)
    assert [c.record.id for c in culprits_of_query(dbg, ids.select(F.udf(call, "long", useArrow=False)("id")))] == [*BAD]


def culprits_of_any(dbg: Any, job: Callable[[], Any]) -> Any:
    """Those of a job that fails of an exception of any name."""
    with pytest.raises(Exception), dbg.capture() as run:  # noqa: B017, PT011
        job()
    return run.culprits
