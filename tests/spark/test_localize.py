"""Localization of RDD programs: the corrupt lines of the acceptance cases and no innocent ones, and clear words where nothing can be looked for."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any

import pytest
from pyspark.errors import PythonException

from bigdebug.errors import LocalizeError, PredicateError
from tests.cases.programs import CASES, Case, average, income, incomes, sales, speed, trips_that_crash


def captured(dbg: Any, rdd: Any) -> Any:
    with dbg.capture():
        rdd.collect()
    return rdd


def sums(dbg: Any, numbers: list[int]) -> Any:
    return captured(dbg, dbg.context.parallelize(numbers, 3).map(lambda n: (n % 2, n)).reduceByKey(add, 2))


@pytest.mark.many
@pytest.mark.parametrize("partitions", [1, 4, 7])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_corrupt_lines_are_found_and_no_others(dbg: Any, case: Case, partitions: int) -> None:
    found = dbg.localize(captured(dbg, case.program(dbg.context.parallelize(list(case.lines), partitions))), case.faulty)
    told: dict[Any, set[str]] = {}
    for fault in found.fault_sets:
        for key, _ in fault.outputs:
            told[key] = {source.record for each in (fault.records, *fault.instead) for source in each}
            assert all(case.lines[source.origin.index] == source.record for source in fault.records)
    assert told == {key: set(lines) for key, lines in case.culprits.items()}
    assert found.verdict == ("ambiguous" if case.name == "word length" else "culprit")
    assert found.ranking[0][0] in found.fault_sets[0].records
    assert found.incomplete is None


@pytest.mark.many
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_they_are_found_among_twenty_thousand_lines(dbg: Any, case: Case) -> None:
    found = dbg.localize(captured(dbg, case.program(dbg.context.parallelize(list(case.scaled()), 4))), case.faulty)
    named = {source.record for fault in found.fault_sets for each in (fault.records, *fault.instead) for source in each}
    assert named == {line for lines in case.culprits.values() for line in lines}
    assert {key for fault in found.fault_sets for key, _ in fault.outputs} == set(case.culprits)


@pytest.mark.parametrize(("partitions", "first"), [(1, None), (4, True), (7, False)])
def test_the_average_of_sums_goes_back_to_the_four_rows_of_the_day(dbg: Any, partitions: int, first: bool | None) -> None:
    rows = sales(first)
    days = dbg.context.parallelize(rows, partitions).map(lambda row: (row[:2], row[2])).reduceByKey(add, 3)
    stores = days.map(lambda day: (day[0][0], day[1])).groupByKey(2).mapValues(average)
    found = dbg.localize(captured(dbg, stores), lambda out: out[1] < 0)
    assert found.verdict == "culprit"
    [fault] = found.fault_sets
    assert [store for store, _ in fault.outputs] == [99]
    assert sorted(source.origin.index for source in fault.records) == [i for i, row in enumerate(rows) if row[2] == -1000]


@pytest.mark.many
@pytest.mark.parametrize("partitions", [1, 4, 7])
@pytest.mark.parametrize(("lines", "function"), [(trips_that_crash, speed), (incomes, income)], ids=["four crashes of three kinds", "income"])
def test_the_lines_that_crash_are_found_and_no_others(dbg: Any, partitions: int, lines: Callable[[], tuple[list[str], list[str]]], function: Callable[[str], Any]) -> None:
    given, crashing = lines()
    program = dbg.context.parallelize(given, partitions).map(function)
    with dbg.capture() as runs, pytest.raises(PythonException):
        program.collect()
    found = dbg.localize(runs.latest, raises=True)
    assert found.verdict == "culprit"
    assert sorted(source.record for fault in found.fault_sets for source in fault.records) == sorted(crashing)


def test_a_test_that_finds_nothing_wrong_is_said_to(dbg: Any) -> None:
    with pytest.raises(LocalizeError, match="finds nothing wrong with any of the 2 outputs"):
        dbg.localize(sums(dbg, [1, 2, 3]), lambda out: out[1] > 100)


def test_a_test_that_fails_on_nothing_at_all_is_said_to(dbg: Any) -> None:
    with pytest.raises(LocalizeError, match="no records at all"):
        dbg.localize(sums(dbg, [1, 2, 3]), whole=lambda outputs: True)


def test_a_test_that_raises_is_named_with_its_output(dbg: Any) -> None:
    with pytest.raises(PredicateError, match=r"The test of localize\(\) at .*test_localize.py:\d+ raised KeyError: 'sum', on the record \("):
        dbg.localize(sums(dbg, [1, 2, 3]), lambda out: {}["sum"])


def test_no_tests_at_all_leave_an_honest_answer(dbg: Any) -> None:
    found = dbg.localize(sums(dbg, [1, 2, 3, 1_000]), lambda out: out[1] > 500, tests=0)
    assert (found.verdict, found.fault_sets, found.incomplete) == ("ambiguous", (), "its 0 tests were spent")


def test_what_is_wrong_under_another_key_is_not_repaired(dbg: Any) -> None:
    """By the parity of totals: without the one that is innocent, the wrong total is even, and the odd ones are right."""
    sold = dbg.context.parallelize([("a", 1_000), ("a", 1_000), ("a", 1), ("b", 3)], 2)
    report = sold.reduceByKey(add, 2).map(lambda pair: (pair[1] % 2, pair[1])).reduceByKey(add, 2)
    found = dbg.localize(captured(dbg, report), lambda out: out[1] > 900)
    assert found.verdict == "culprit"
    assert [[source.record for source in fault.records] for fault in found.fault_sets] == [[("a", 1_000), ("a", 1_000)]]


def test_what_one_task_cannot_try_is_refused_by_name(dbg: Any) -> None:
    asking = captured(dbg, dbg.context.parallelize([1, 2, 1_000], 2).map(lambda n: (task() % 2, n)).reduceByKey(add, 2))
    with pytest.raises(LocalizeError, match="asks its task for"):
        dbg.localize(asking, lambda out: out[1] > 500)


def task() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return 0 * context.partitionId()


def test_nothing_of_the_users_is_left_changed(dbg: Any) -> None:
    report = sums(dbg, [1, 2, 3, 1_000])
    before = dbg.plain_context.getJobTags(), dbg.plain_context.pythonExec, len(dbg.runs)
    dbg.localize(report, lambda out: out[1] > 500)
    assert (dbg.plain_context.getJobTags(), dbg.plain_context.pythonExec, len(dbg.runs)) == before
