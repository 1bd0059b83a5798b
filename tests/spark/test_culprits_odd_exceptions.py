"""Crash culprits of functions that raise odd exceptions: one object again and again, or one that answers what it is asked with another;
and of data that cannot be looked at (FEATURES B1)."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import functions as F

from tests.spark.test_culprits import culprits_of
from tests.spark.test_sql_culprits import culprits_of as culprits_of_query

NOT_FOUND = ValueError("not found")
BAD = (2, 5)


def fail(x: int) -> None:
    raise NOT_FOUND


def plainly(x: int) -> int:
    if x in BAD:
        raise NOT_FOUND
    return x


def nested(x: int) -> int:
    def within() -> int:
        return plainly(x)

    return within()


def from_another(x: int) -> int:
    try:
        return 1 // (x not in BAD)
    except ZeroDivisionError as problem:
        raise NOT_FOUND from problem


def raised_again(x: int) -> int:
    caught = None
    try:
        plainly(x)
    except ValueError as problem:
        caught = problem
    if caught is not None:
        raise caught
    return x


def caught_before(x: int) -> int:
    """The object has been raised on records that are fine, too, and been caught."""
    with suppress(ValueError):
        fail(x)
    return plainly(x)


def _stop(x: int) -> Iterator[int]:
    yield x
    fail(x)


def caught_before_in_a_generator(x: int) -> int:
    for _ in _caught(x):
        pass
    return plainly(x)


def _caught(x: int) -> Iterator[int]:
    with suppress(ValueError):
        yield from _stop(x)


def through_a_generator(x: int) -> int:
    return sum(plainly(each) for each in [x])


def in_a_thread(x: int) -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(plainly, x).result()


def caught_now_and_then(x: int) -> int:
    """What it raises on a record it has caught on the one before, in a generator that has ended."""
    if x not in BAD:
        for _ in _caught(x):
            pass
    return plainly(x)


def _stopped(x: int) -> Iterator[int]:
    yield x
    plainly(x)


def with_what_came_of_a_generator(x: int) -> int:
    """Raises without its own line that called the generator, as wrappers do that are not to be seen."""
    try:
        return sum(_stopped(x))
    except ValueError as problem:
        caught = problem
    raise caught.with_traceback(caught.__traceback__ and caught.__traceback__.tb_next)


def with_what_was_put_there(x: int) -> int:
    try:
        return sum(_stopped(x))
    except ValueError as problem:
        caught = problem
    caught.__traceback__ = caught.__traceback__ and caught.__traceback__.tb_next
    raise caught


FUNCTIONS = [plainly, nested, from_another, raised_again, caught_before, caught_before_in_a_generator, through_a_generator, in_a_thread]
FUNCTIONS += [caught_now_and_then, with_what_came_of_a_generator, with_what_was_put_there]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_exception_object_raised_on_several_records_is_told_of_each(function: Callable[[int], int], dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(8), 1).map(function).collect)
    assert [(c.record, c.locals["x"]) for c in found] == [(2, "2"), (5, "5")]
    assert found[0].user_line == found[1].user_line
    assert found[0].traceback == found[1].traceback
    assert [count for count, *_ in found.table().rows] == ["2"], "they are of one cause"


@pytest.mark.parametrize("function", [with_what_came_of_a_generator, with_what_was_put_there])
def test_frames_of_a_generator_that_a_function_raises_with_are_told(function: Callable[[int], int], dbg: Any) -> None:
    for culprit in culprits_of(dbg, dbg.context.parallelize(range(8), 1).map(function).collect):
        assert [line.rpartition(" ")[2] for line in culprit.traceback.splitlines() if "File " in line] == [function.__name__, "_stopped", "plainly"]


def test_one_exception_object_raised_in_a_helper_is_told_at_the_line_that_called_it(dbg: Any) -> None:
    def check(x: int) -> int:
        if x == BAD[0]:
            fail(x)
        if x == BAD[1]:
            fail(x)
        return x

    first, second = culprits_of(dbg, dbg.context.parallelize(range(8), 1).map(check).collect)
    assert (first.traceback.count("File "), second.traceback.count("File ")) == (2, 2)
    assert first.traceback != second.traceback
    assert first.user_line == second.user_line


def one_by_one(records: Iterable[int]) -> Iterator[int]:
    for x in records:
        yield plainly(x)


def all_at_once(records: Iterable[int]) -> list[int]:
    return [plainly(x) for x in list(records)]


@pytest.mark.parametrize(("function", "last"), [(one_by_one, 5), (one_by_one, 8), (all_at_once, 5), (all_at_once, 8)])
def test_one_exception_object_in_functions_over_iterators(function: Callable[[Iterable[int]], Any], last: int, dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(last + 1), 1).mapPartitions(function).collect)
    assert [(c.record, c.locals["x"]) for c in found] == [(2, "2"), (5, "5")]


def test_a_job_goes_on_from_one_exception_object(dbg: Any) -> None:
    with dbg.capture(on_crash="skip") as run:
        assert dbg.context.parallelize(range(8), 1).map(plainly).collect() == [0, 1, 3, 4, 6, 7]
    assert [(c.record, c.locals["x"]) for c in run.culprits] == [(2, "2"), (5, "5")]


def _columns(values: pd.Series) -> pd.Series:
    return values.map(plainly)


QUERIES: dict[str, Callable[[Any], Any]] = {
    "a function of rows": lambda ids: ids.select(F.udf(plainly, "int", useArrow=False)("id").alias("n")),
    "over Arrow": lambda ids: ids.select(F.udf(plainly, "int", useArrow=True)("id").alias("n")),
    "a function of columns": lambda ids: ids.select(F.pandas_udf(_columns, "int")("id").alias("n")),
    "a function over batches": lambda ids: ids.mapInPandas(lambda batches: (pd.DataFrame({"n": _columns(batch["id"])}) for batch in batches), "n int"),
    "a function of groups": lambda ids: ids.groupBy("id").applyInPandas(lambda group: pd.DataFrame({"n": _columns(group["id"])}), "n int"),
}


@pytest.mark.parametrize("way", QUERIES)
def test_one_exception_object_raised_on_several_rows_is_told_of_each(way: str, dbg: Any, spark: Any) -> None:
    ids = spark.createDataFrame([(i,) for i in (*range(8), 2)], "id int").coalesce(1)
    found = culprits_of_query(dbg, QUERIES[way](ids))
    assert sorted((c.record.id, c.locals["x"]) for c in found) == [(2, "2"), (2, "2"), (5, "5")]


# ---- exceptions that end generators -----------------------------------------------------------------------------


def leaving(x: int) -> int:
    if x in BAD:
        raise GeneratorExit("out")
    return x


LEAVING: dict[str, Callable[[Any], Any]] = {
    "map": lambda numbers: numbers.map(leaving),
    "filter": lambda numbers: numbers.filter(lambda x: leaving(x) >= 0),
    "flatMap": lambda numbers: numbers.flatMap(lambda x: [leaving(x)]),
    "flatMap, of a generator": lambda numbers: numbers.flatMap(lambda x: (leaving(each) for each in [x])),
    "the key of partitions": lambda numbers: numbers.map(lambda x: (x, x)).partitionBy(2, leaving).keys(),
    "what is combined": lambda numbers: numbers.map(lambda x: (0, x)).combineByKey(lambda x: [x], lambda xs, x: [*xs, leaving(x)], lambda xs, ys: xs + ys).values().flatMap(list),
    "a key to sort by": lambda numbers: numbers.map(lambda x: (x, x)).repartitionAndSortWithinPartitions(1, keyfunc=leaving).keys(),
}


@pytest.mark.parametrize("way", LEAVING)
def test_a_function_of_a_record_that_raises_what_ends_generators(way: str, dbg: Any) -> None:
    job = LEAVING[way](dbg.context.parallelize(range(8), 1))
    found = culprits_of_any(dbg, job.collect)
    assert [(c.exception_type, c.locals["x"]) for c in found] == [("GeneratorExit", str(x)) for x in BAD]
    assert sorted(dbg.runs[-1].resume(skip=True).result) == [0, 1, 3, 4, 6, 7]
    with dbg.capture(on_crash="skip"):
        assert sorted(job.collect()) == [0, 1, 3, 4, 6, 7]
    if way in ("map", "filter", "flatMap"):
        assert isinstance(dbg.step(found[0])[0].raised, GeneratorExit)


# ---- exceptions that answer with exceptions ---------------------------------------------------------------------


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


# ---- what panics where it is looked at ----------------------------------------------------------------------------


class Panic(BaseException):
    """As libraries in Rust raise it."""


class Unseen:
    def __repr__(self) -> str:
        raise Panic

    def __reduce__(self) -> Any:
        raise Panic


class Unsayable(Exception):
    def __str__(self) -> str:
        raise Panic


def with_a_local(x: int) -> int:
    held = Unseen()
    if x in BAD:
        raise ValueError(type(held))
    return x


def with_a_text(x: int) -> int:
    if x in BAD:
        raise Unsayable
    return x


@pytest.mark.parametrize(("function", "message"), [(with_a_local, "Unseen"), (with_a_text, "<Unsayable whose str raised Panic>")])
def test_what_panics_where_it_is_shown_is_told_as_that(function: Callable[[int], int], message: str, dbg: Any, spark: Any) -> None:
    numbers = dbg.context.parallelize(range(8), 1)
    found = culprits_of_any(dbg, numbers.map(function).collect)
    assert [(c.record, c.locals["x"]) for c in found] == [(2, "2"), (5, "5")]
    assert message in found[0].message
    with dbg.capture(on_crash="skip"):
        assert numbers.map(function).collect() == [0, 1, 3, 4, 6, 7]
    rows = spark.range(8).coalesce(1).select(F.udf(lambda x: function(x), "long", useArrow=False)("id"))  # noqa: PLW0108 (of which PySpark reads no types)
    assert [c.record.id for c in culprits_of_query(dbg, rows)] == [*BAD]


def refused(records: Iterable[tuple[int, Unseen]]) -> Iterator[int]:
    for x, _ in records:
        yield plainly(x)


def test_records_that_panic_where_they_are_pickled_are_told_by_a_text(dbg: Any) -> None:
    pairs = dbg.context.parallelize(range(8), 1).map(lambda x: (x, Unseen()))
    for job in (pairs.map(lambda pair: plainly(pair[0])).collect, pairs.mapPartitions(refused).collect):
        found = culprits_of_any(dbg, job)
        assert [(repr(c.record), [s.record for s in c.sources]) for c in found] == [(f"({x}, <Unseen whose repr raised Panic>)", [x]) for x in BAD]
