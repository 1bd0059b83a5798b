"""Crash culprits of RDD programs: every record that crashed, where it came from, and what was running (FEATURES B1)."""

from __future__ import annotations

import contextlib
import operator
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.errors import ReplayError
from bigdebug.spark.jobs import at_most, tagged
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits
from tests.interrupting import cancelled


def culprits_of(dbg: Any, job: Callable[[], Any]) -> Culprits:
    """The culprits of a job, which must fail with Spark's own exception."""
    with pytest.raises(Exception, match="Error") as raised, dbg.capture("crash") as run:
        job()
    assert type(raised.value).__module__.startswith(("pyspark.", "py4j."))
    assert run.status == "failed"
    found: Culprits = run.culprits
    return found


def culprits_of_uncaptured(dbg: Any, job: Callable[[], Any]) -> Culprits:
    """The culprits of a job that ran without capture."""
    before = len(dbg.runs)
    with pytest.raises(Exception, match="Error"):
        job()
    (run,) = dbg.runs[before:]
    assert run.status == "failed"
    found: Culprits = run.culprits
    return found


def told(culprits: Iterable[CrashCulprit]) -> list[tuple[Any, str, list[Any]]]:
    """What crashed, with what, and the source records behind it."""
    return sorted(((c.record, c.exception_type, [s.record for s in c.sources]) for c in culprits), key=repr)


def parse(line: str) -> tuple[str, int]:
    columns = line.split(",")
    return columns[1], int(columns[3]) // int(columns[4])


PARSE_LINE = parse.__code__.co_firstlineno + 2


def commute() -> list[str]:
    lines = [f"sr,900{i:02d},900{i + 1:02d},{30 * (1 + i % 4)},{1 + i % 4}" for i in range(60)]
    for at, line in ((5, "sr,90011,90012,50,0"), (25, "sr,90013,90014,,3"), (40, "sr,90015,90016,70"), (59, "")):
        lines.insert(at, line)
    return lines


@pytest.mark.parametrize("partitions", [1, 4])
def test_four_crashes_of_three_kinds(partitions: int, dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "commute.txt"
    path.write_text("".join(f"{line}\n" for line in commute()))
    program = dbg.context.textFile(str(path), partitions).map(parse)
    found = culprits_of(dbg, program.collect)
    assert [(c.exception_type, c.record, [s.origin.line for s in c.sources]) for c in sorted(found, key=lambda c: c.sources[0].origin.line)] == [
        ("ZeroDivisionError", "sr,90011,90012,50,0", [6]), ("ValueError", "sr,90013,90014,,3", [26]),
        ("IndexError", "sr,90015,90016,70", [41]), ("IndexError", "", [60]),
    ]
    for culprit in found:
        assert culprit.operator.id == program._definition.operator.id
        assert culprit.user_line is not None
        assert (Path(culprit.user_line.file), culprit.user_line.line) == (Path(__file__), PARSE_LINE)
        assert culprit.user_line.code.startswith("return columns[1]")
        assert culprit.locals["columns"] == repr(culprit.record.split(","))
        assert culprit.traceback.count("File ") == 1


def income(line: str) -> int:
    return int(line[:2] if line.startswith("$") else line)  # the fault: the wrong side of the $


def test_a_code_fault_makes_every_record_of_a_kind_a_culprit(dbg: Any) -> None:
    lines = [f"${50 + i}" if i % 17 == 0 else f"{50 + 3 * i}" for i in range(100)]
    found = culprits_of(dbg, dbg.context.parallelize(lines, 4).map(income).filter(lambda n: n < 300).sum)
    assert told(found) == [(line, "ValueError", [line]) for line in sorted(lines) if line.startswith("$")]


def halves(text: str) -> Iterator[float]:
    for part in text.split():
        yield 1 / int(part)


def streamed(numbers: Iterable[int]) -> Iterator[int]:
    for number in numbers:
        yield 10 // number


def eager(numbers: Iterable[int]) -> list[int]:
    return [10 // number for number in numbers]


def by_tens(numbers: Iterable[int]) -> Iterator[int]:
    """Reads ahead."""
    batch: list[int] = []
    for number in numbers:
        batch.append(number)
        if len(batch) == 10:
            yield from eager(batch)
            batch.clear()
    yield from eager(batch)


def second_part(pair: tuple[Any, Any]) -> Any:
    return pair[0] + pair[1]


PROGRAMS: dict[str, tuple[Callable[[Any], Any], list[tuple[Any, str, list[Any]]]]] = {
    "filter": (lambda sc: sc.parallelize([1, 0, 2], 2).filter(lambda n: 1 // n).collect(), [(0, "ZeroDivisionError", [0])]),
    "flatMap, half way": (
        lambda sc: sc.parallelize(["1 2", "3 0 4", "5"], 2).flatMap(halves).map(lambda f: (f, 1)).count(),
        [("3 0 4", "ZeroDivisionError", ["3 0 4"])],
    ),
    "flatMap of nothing": (lambda sc: sc.parallelize(["a", ""], 1).flatMap(lambda s: s or None).count(), [("", "TypeError", [""])]),
    "mapValues": (
        lambda sc: sc.parallelize([("a", 1), ("b", None)], 2).mapValues(lambda n: n + 1).count(), [(("b", None), "TypeError", [("b", None)])],
    ),
    "two operators of one stage": (
        lambda sc: sc.parallelize([1, 0, 5, 7], 1).map(lambda n: 10 // n).filter(lambda n: 1 // (n - 2)).map(str).collect(),
        [(0, "ZeroDivisionError", [0]), (2, "ZeroDivisionError", [5])],
    ),
    "mapPartitions, a record at a time": (
        lambda sc: sc.parallelize([1, 0, 2, 0, 3], 2).mapPartitions(streamed).collect(), [(0, "ZeroDivisionError", [0])] * 2,
    ),
    "mapPartitions, all at once": (
        lambda sc: sc.parallelize([1, 0, 2, 0, 3], 2).mapPartitions(eager).collect(), [(0, "ZeroDivisionError", [0])] * 2,
    ),
    "mapPartitions, reading ahead": (
        lambda sc: sc.parallelize([*range(1, 15), 0, *range(1, 30)], 2).mapPartitions(by_tens).count(), [(0, "ZeroDivisionError", [0])],
    ),
    "glom": (lambda sc: sc.parallelize([1, 0], 1).glom().map(eager).collect(), [([1, 0], "ZeroDivisionError", [1, 0])]),
    "the last record of a partition": (
        lambda sc: sc.parallelize(range(10, -1, -1), 3).map(lambda n: 1 // n).collect(), [(0, "ZeroDivisionError", [0])],
    ),
    "every record of a partition": (
        lambda sc: sc.parallelize([1, 2, 0, 0], 2).map(lambda n: 1 // n).collect(), [(0, "ZeroDivisionError", [0])] * 2,
    ),
    "a key that has no hash": (
        lambda sc: sc.parallelize([([1], 2), ((1,), 3)], 2).reduceByKey(operator.add).collect(), [(([1], 2), "TypeError", [([1], 2)])],
    ),
    "no pair": (lambda sc: sc.parallelize([(1, 2), 3], 1).groupByKey().count(), [(3, "TypeError", [3])]),
    "a partitioner": (
        lambda sc: sc.parallelize([(1, "a"), (0, "b")], 1).partitionBy(2, lambda n: 6 // n).count(), [((0, "b"), "ZeroDivisionError", [(0, "b")])],
    ),
    "a combiner, before the shuffle": (
        lambda sc: sc.parallelize([("a", 1), ("a", "2"), ("a", 3)], 1).reduceByKey(operator.add).collect(),
        [(("a", "2"), "TypeError", [("a", "2")])],
    ),
    "a combiner's first value": (
        lambda sc: sc.parallelize([("a", 1), ("b", 0)], 1).combineByKey(lambda n: 1 // n, operator.add, operator.add).collect(),
        [(("b", 0), "ZeroDivisionError", [("b", 0)])],
    ),
    "a reducer, on the second pair": (
        lambda sc: sc.parallelize([("a", 1), ("a", 2), ("a", "3")], 3).reduceByKey(operator.add, 2).collect(), [(("a", "3"), "TypeError", [("a", "3")])],
    ),
    "after an outer join": (
        lambda sc: sc.parallelize([(1, 1), (2, 2)], 2).leftOuterJoin(sc.parallelize([(1, 5)], 1)).mapValues(second_part).collect(),
        [((2, (2, None)), "TypeError", [(2, 2)])],
    ),
    "two joins deep": (
        lambda sc: sc.parallelize([(1, 1), (2, 0)], 2).join(sc.parallelize([(1, 3), (2, 4)], 1)).mapValues(second_part)
        .join(sc.parallelize([(1, 4), (2, 9)], 2)).mapValues(lambda pair: 1 // (pair[0] - pair[1])).collect(),
        [((1, (4, 4)), "ZeroDivisionError", [(1, 1), (1, 3), (1, 4)])],
    ),
    "after a sort": (
        lambda sc: sc.parallelize([(3, 1), (1, 0), (2, 1)], 2).sortByKey().map(lambda pair: 1 // pair[1]).collect(),
        [((1, 0), "ZeroDivisionError", [(1, 0)])],
    ),
    "after a union": (
        lambda sc: sc.parallelize([1, 2], 2).union(sc.parallelize([0, 3], 2)).map(lambda n: 1 // n).collect(), [(0, "ZeroDivisionError", [0])],
    ),
    "below a zip": (
        lambda sc: sc.parallelize([1, 2], 2).zip(sc.parallelize([0, 3], 2).map(lambda n: 1 // n)).collect(), [(0, "ZeroDivisionError", [0])],
    ),
    "a product": (
        lambda sc: sc.parallelize([1, 2], 2).cartesian(sc.parallelize([1, 3], 2)).map(lambda pair: 1 // (pair[0] - pair[1])).count(),
        [((1, 1), "ZeroDivisionError", [1, 1])],
    ),
    "a sort key": (
        lambda sc: sc.parallelize([(1, "a"), (0, "b"), (2, "c")], 1).repartitionAndSortWithinPartitions(1, keyfunc=lambda n: 1 // n).collect(),
        [((0, "b"), "ZeroDivisionError", [(0, "b")])],
    ),
    "keys that do not compare": (
        lambda sc: sc.parallelize([(1, "a"), ("x", "b"), (2, "c")], 2).repartitionAndSortWithinPartitions(1).collect(),
        [(("x", "b"), "TypeError", [("x", "b")])],
    ),
    "take": (lambda sc: sc.parallelize([1, 2, 0, 0, 5], 5).map(lambda n: 1 // n).take(4), [(0, "ZeroDivisionError", [0])] * 2),
    "foreach": (lambda sc: sc.parallelize([1, 0], 2).foreach(lambda n: 1 // n), [(0, "ZeroDivisionError", [0])]),
    "sum": (lambda sc: sc.parallelize([1, "2"], 2).sum(), [("2", "TypeError", ["2"])]),
}


UNCAPTURED = [
    "filter", "mapPartitions, reading ahead", "a reducer, on the second pair", "two joins deep", "after a sort", "below a zip", "take", "foreach", "sum",
]
"""Every action, and operators with and without a shuffle: all that differs without capture is which RDD is found to have failed."""


@pytest.mark.many
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_culprit_of(name: str, dbg: Any) -> None:
    job, expected = PROGRAMS[name]
    assert told(culprits_of(dbg, lambda: job(dbg.context))) == sorted(expected, key=repr)


@pytest.mark.many
@pytest.mark.parametrize("name", UNCAPTURED)
def test_every_culprit_without_capture_of(name: str, dbg: Any) -> None:
    job, expected = PROGRAMS[name]
    assert told(culprits_of_uncaptured(dbg, lambda: job(dbg.context))) == sorted(expected, key=repr)


def test_a_pair_of_which_none_crashes_alone(dbg: Any) -> None:
    numbers = dbg.context.parallelize([1, 2, "x", 3, 4], 2)
    found = culprits_of(dbg, lambda: numbers.reduce(lambda a, b: a + b))
    assert [(c.record, c.met) for c in found] == [(3, "'x'"), (4, "'x'")]
    found = culprits_of(dbg, lambda: numbers.map(lambda n: (1, n)).reduceByKey(operator.add, 1).collect())
    assert [(c.record, c.met) for c in found] == [((1, 3), "'x'"), ((1, 4), "'x'")]
    assert "2 of them met the same, which may be what is wrong: 'x'" in repr(found)


def test_a_record_behind_several_culprits_is_told(dbg: Any) -> None:
    facts = dbg.context.parallelize([(key % 3, key) for key in range(18)], 3)
    names = dbg.context.parallelize([(0, "a"), (1, None), (2, "c")], 2)
    found = culprits_of(dbg, facts.join(names).mapValues(lambda pair: pair[1].upper()).collect)
    assert len(found) == 6
    assert [(source.record, count) for source, count in found.common()] == [((1, None), 6)]
    assert "behind 6 of them: parallelize[1]: (1, None)" in repr(found).splitlines()


def test_what_cannot_be_pickled_is_described(dbg: Any) -> None:
    (culprit,) = culprits_of(dbg, dbg.context.parallelize([1, 2, 3], 2).map(lambda n: (n, (m for m in ())) if n == 2 else n).collect)
    assert "generator object" in repr(culprit.record)
    assert [s.record for s in culprit.sources] == [2]


def test_two_thousand_culprits(dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(20_000), 5).map(lambda n: 1 // (n % 10)).count)
    assert sorted(c.record for c in found) == list(range(0, 20_000, 10))
    assert len(found.table().rows) == 1
    assert found.table().rows[0][0] == "2,000"


def test_more_culprits_than_are_told_are_said_to_be_more(dbg: Any) -> None:
    found = culprits_of(dbg, lambda: dbg.context.parallelize(range(30_003), 2).map(lambda n: 1 // (n % 1)).collect())
    assert len(found) == 20_000
    assert found.unknown == [
        "15,001 records of partition 0 crashed; 10,000 of them are told.", "15,002 records of partition 1 crashed; 10,000 of them are told.",
    ]


@pytest.mark.slow
def test_a_record_larger_than_what_is_kept_of_an_iterator(dbg: Any) -> None:
    def heads(records: Iterator[str]) -> Iterator[str]:
        for record in records:
            yield record[0] if record.startswith("fine") else record[70 << 20]

    found = culprits_of(dbg, lambda: dbg.context.parallelize([9, 70 << 20, 7], 1).map(lambda n: "fine" * 10 if n == 7 else "x" * n).mapPartitions(heads).collect())
    assert [(len(c.record), c.exception_type, [s.record for s in c.sources]) for c in found] == [(9, "IndexError", [9]), (70 << 20, "IndexError", [70 << 20])]


@pytest.mark.many
@pytest.mark.parametrize("found", [culprits_of, culprits_of_uncaptured], ids=["captured", "not captured"])
def test_partitions_that_had_finished_are_not_run_again(found: Any, dbg: Any, tmp_path: Path) -> None:
    def noted(split: int, records: Iterable[int]) -> Iterator[int]:
        with (tmp_path / str(split)).open("a") as file:
            file.write("x")
        while split == 3 and not all((tmp_path / each).exists() for each in "012"):
            time.sleep(0.01)
        time.sleep(split == 3)  # until the others have finished
        return (1 // record for record in records)

    assert [c.record for c in found(dbg, dbg.context.parallelize([1, 2, 3, 0], 4).mapPartitionsWithIndex(noted).collect)] == [0]
    assert (tmp_path / "0").read_text() == "x"
    assert len((tmp_path / "3").read_text()) > 1


@pytest.mark.many
@pytest.mark.usefixtures("untold")
@pytest.mark.parametrize("behind", ["a source", "partitionBy", "reduceByKey"])
def test_the_first_culprit_does_not_wait_for_its_partition(dbg: Any, tmp_path: Path, behind: str) -> None:
    def slowly(number: int) -> float:
        if number == 6:
            (tmp_path / "seen").touch()
        time.sleep(number > 0)
        return 1 / (number % 10)

    numbers = dbg.context.parallelize([0, 2, 4, 6, 10], 1)
    if behind != "a source":
        pairs = numbers.map(lambda n: (n, n))
        numbers = (pairs.partitionBy(1) if behind == "partitionBy" else pairs.reduceByKey(operator.add, 1)).keys()
    culprits = culprits_of(dbg, numbers.map(slowly).collect)
    first = culprits[0]
    assert not (tmp_path / "seen").exists()
    assert culprits.known == [first]
    assert not culprits.complete
    assert "its sources wait for that" in first.text()
    assert [source.origin.index for source in first.sources] == [0]
    assert (tmp_path / "seen").exists()
    assert told(culprits) == [(0, "ZeroDivisionError", [0]), (10, "ZeroDivisionError", [10])]
    assert culprits[0] is first
    assert "from parallelize[0]: 0" in first.text()
    assert len({c.place for c in culprits}) == 2


@pytest.mark.many
@pytest.mark.usefixtures("untold")
@pytest.mark.parametrize("ends", [False, True])
def test_an_early_culprit_is_told_once_whatever_its_record_is(dbg: Any, ends: bool) -> None:
    """Its pickle is another one each time. So nobody knows whether what ended a worker has come again: what is behind it is not looked at, and told."""
    def slowly(pair: tuple[int, float]) -> float:
        time.sleep(pair[0] / 10)
        if ends and pair[0] == 4:
            os._exit(3)
        return 1 / (pair[0] % 7)

    drawn = dbg.context.parallelize([0, 1, 4, 7], 1).map(lambda n: (n, random.random()))
    culprits = culprits_of(dbg, drawn.map(slowly).collect)
    first = culprits[0]
    assert first.record[0] == 0
    assert sorted(culprit.record[0] for culprit in culprits) == ([0] if ends else [0, 7])
    assert culprits[0] is first
    assert sorted(source.record for culprit in culprits for source in culprit.sources) == ([0] if ends else [0, 7])
    assert len([why for why in culprits.unknown if "gave other records" in why]) == ends


@pytest.mark.slow
@pytest.mark.usefixtures("untold")
def test_an_early_culprit_is_left_out_and_repaired_like_any_other(dbg: Any) -> None:
    def slowly(number: int) -> float:
        time.sleep(number / 10)
        return 1 / (number % 7)

    quotients = dbg.context.parallelize([0, 1, 2, 7, 4], 1).map(slowly)
    culprits = culprits_of(dbg, quotients.collect)
    first, run = culprits[0], dbg.runs[-1]
    assert not culprits.complete
    assert run.resume(repair={first: 2}, skip=True).result == [1 / 2, 1, 1 / 2, 1 / 4]


@pytest.mark.slow
@pytest.mark.usefixtures("untold")
def test_where_the_first_partitions_are_interrupted_none_is_lost_or_told_twice(dbg: Any, sc: Any) -> None:
    def slowly(number: int) -> float:
        time.sleep(0.2 * (number > 0))
        return 1 / (number % 7)

    culprits = culprits_of(dbg, dbg.context.parallelize([0, *[1] * 15, 7], 1).map(slowly).collect)
    first = culprits[0]
    with cancelled(sc.cancelAllJobs, 0.5), pytest.raises(Exception, match="cancel"):
        len(culprits)
    assert [culprit.record for culprit in culprits] == [0, 7]
    assert culprits[0] is first


def test_threads_that_ask_at_once_are_all_told_of_all(dbg: Any) -> None:
    culprits = culprits_of(dbg, dbg.context.parallelize([0, 1, 2, 3], 2).map(lambda n: [time.sleep(0.2), 1 // (n % 2)]).collect)
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append([culprit.record for culprit in culprits])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found[0]) == [0, 2]  # which one is told first, is a matter of who was faster
    assert found == [found[0]] * 3


@pytest.mark.usefixtures("patient")
def test_the_exception_tells_of_its_culprits(dbg: Any) -> None:
    with pytest.raises(Exception, match="ZeroDivisionError") as raised, dbg.capture():
        dbg.context.parallelize([1, 0], 2).map(lambda n: 1 // n).collect()
    (note,) = raised.value.__notes__
    assert "1 record crashed with ZeroDivisionError: integer division or modulo by zero" in note
    assert "the first is 0" in note


@pytest.mark.slow
def test_the_exception_tells_of_one_culprit_where_the_others_take_long(dbg: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.crashes.PATIENCE", 15.0)
    gate = tmp_path / "told"

    def slowly(number: int) -> float:
        while number and not gate.exists():
            time.sleep(0.05)
        return 1 / number

    with pytest.raises(Exception, match="ZeroDivisionError") as raised, dbg.capture() as run:
        dbg.context.parallelize([0, 1, 0], 1).map(slowly).collect()
    gate.touch()
    (note,) = raised.value.__notes__
    assert "1 record crashed so far with ZeroDivisionError" in note
    assert told(run.culprits) == [(0, "ZeroDivisionError", [0])] * 2


def test_a_culprit_reads_like_a_traceback(dbg: Any) -> None:
    (culprit,) = culprits_of(dbg, dbg.context.parallelize(["<b>1</b>"], 1).map(int).collect)
    shown = culprit._repr_mimebundle_()
    assert shown["text/plain"].splitlines()[0] == "ValueError: invalid literal for int() with base 10: '<b>1</b>'"
    assert "  from parallelize[0]: '<b>1</b>'" in shown["text/plain"].splitlines()
    assert "<b>" not in shown["text/html"]
    assert culprit.user_line == culprit.operator.call_site
    assert "<b>" not in culprits_of(dbg, dbg.context.parallelize(["<b>1</b>"], 1).map(int).collect)._repr_mimebundle_()["text/html"]


def test_no_job_goes_on_when_nobody_waits_any_longer(sc: Any) -> None:
    began = time.monotonic()
    with at_most(sc, 0.1) as over:
        assert over.wait(10)
        with pytest.raises(Exception, match="cancel"):
            sc.parallelize([60], 1).foreach(time.sleep)
    assert time.monotonic() - began < 30
    with at_most(sc, 60.0) as over:
        assert sc.parallelize([1], 1).count() == 1
    assert not over.is_set()


class Secretive:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_values_that_are_hard_to_show(dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize([1, 2], 2).map(lambda n: Secretive() if n == 1 else "x" * 10**7).map(lambda v: v + 1).collect)
    texts = [c.text() for c in found]
    assert any("whose repr raised" in text for text in texts)
    assert max(map(len, texts)) < 20_000


@pytest.mark.many
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("define", [
    lambda rdd: rdd.sortBy(lambda text: 1 // int(text)), lambda rdd: rdd.map(lambda text: (1 // int(text), text)).sortByKey(),
    lambda rdd: rdd.map(lambda text: 1 // int(text)).zipWithIndex(), lambda rdd: rdd.map(lambda text: (text, 1)).reduceByKey(operator.add).sortBy(lambda kv: 1 // int(kv[0])),
])
@pytest.mark.parametrize("captured", [True, False])
def test_what_spark_reads_where_an_rdd_is_defined(define: Any, captured: bool, dbg: Any) -> None:
    """It cannot be resumed: the RDD is not there yet."""
    before, texts = len(dbg.runs), dbg.context.parallelize(["1", "0", "2", "x"], 2)
    with pytest.raises(Exception, match="Error") as raised, dbg.capture() if captured else contextlib.nullcontext():
        define(texts).collect()
    (run,) = dbg.runs[before:]
    assert "bigdebug: 2 records crashed" in raised.value.__notes__[0]
    assert sorted((c.exception_type, *(s.record for s in c.sources)) for c in run.culprits) == [("ValueError", "x"), ("ZeroDivisionError", "0")]
    with pytest.raises(ReplayError, match="cannot be called again"):
        run.resume(skip=True)
    assert define(dbg.context.parallelize(["1", "2"], 2)).count() == 2


@pytest.mark.many
@pytest.mark.parametrize("captured", [True, False])
def test_sources_that_are_read_within_the_stage_that_crashed(captured: bool, dbg: Any, tmp_path: Path) -> None:
    """Rows of a DataFrame, whole files, pickles: to read them again is to pass through what crashed."""
    for name, text in {"a": "1", "b": "0", "c": "2"}.items():
        (tmp_path / name).write_text(text)
    dbg.context.parallelize([1, 0, 2], 1).saveAsPickleFile(str(tmp_path / "pickled"))
    for rdd, wanted in (
        (dbg.spark.createDataFrame([(1,), (0,), (2,)], "n int").rdd.map(lambda row: 1 // row.n), (0,)),
        (dbg.context.wholeTextFiles(str(tmp_path / "[abc]")).map(lambda pair: 1 // int(pair[1])), (f"file:{tmp_path}/b", "0")),
        (dbg.context.pickleFile(str(tmp_path / "pickled")).map(lambda n: (n, 1 // n)).reduceByKey(operator.add), 0),
    ):
        found = (culprits_of if captured else culprits_of_uncaptured)(dbg, rdd.collect)
        assert [[s.record for s in c.sources] for c in found] == [[wanted]]


class Panic(BaseException):
    """As what libraries in Rust raise."""


def panics(number: int) -> int:
    if not number:
        raise Panic("no")
    return number


@pytest.mark.many
@pytest.mark.parametrize("define", [
    lambda rdd: rdd.map(panics), lambda rdd: rdd.filter(panics), lambda rdd: rdd.mapPartitions(lambda numbers: [panics(number) for number in numbers]),
    lambda rdd: rdd.map(lambda n: (n, n)).reduceByKey(operator.add).mapValues(panics),
])
def test_what_is_no_exception_is_a_crash_all_the_same(define: Any, dbg: Any) -> None:
    with pytest.raises(Exception, match="Panic"), dbg.capture() as run:
        define(dbg.context.parallelize([1, 0, 2], 2)).collect()
    assert [(c.exception_type.rpartition(".")[2], [s.record for s in c.sources]) for c in run.culprits] == [("Panic", [0])]
    assert len(run.resume(skip=True).result) == 2


def test_a_function_that_reads_in_a_thread_of_its_own(dbg: Any) -> None:
    """The thread of pipe() must come to an end, whatever a guard asks."""
    began = time.monotonic()
    found = culprits_of(dbg, dbg.context.parallelize(["1", "2", "3", "0"], 2).pipe("grep 0", checkCode=True).collect)
    assert [(c.partition, c.sources) for c in found] == [(0, ())]
    assert time.monotonic() - began < 30


def test_what_the_driver_raises_makes_no_run(dbg: Any) -> None:
    before = dbg.runs
    with pytest.raises(ValueError, match="empty"):
        dbg.context.parallelize([], 1).first()
    assert dbg.runs == before


def test_a_session_that_was_detached_diagnoses_nothing(dbg: Any) -> None:
    program = dbg.context.parallelize([0], 1).map(lambda n: 1 // n)
    dbg.detach()
    before = dbg.runs
    try:
        with pytest.raises(Exception, match="ZeroDivisionError") as raised:
            program.collect()
        assert not hasattr(raised.value, "__notes__")
        assert dbg.runs == before
    finally:
        bigdebug.attach(dbg.spark)


def test_functions_that_run_for_their_effect_run_again_only_when_asked(dbg: Any, tmp_path: Path) -> None:
    def noted(number: int) -> None:
        with (tmp_path / "seen").open("a") as file:
            file.write(f"{1 // number}")

    with pytest.raises(Exception, match="ZeroDivisionError") as raised, dbg.capture() as run:
        dbg.context.parallelize([1, 0, 1], 1).foreach(noted)
    assert (tmp_path / "seen").read_text() == "1"
    assert "run.culprits" in raised.value.__notes__[0]
    assert [c.record for c in run.culprits] == [0]


def test_a_run_that_succeeds_has_none(dbg: Any) -> None:
    with dbg.capture() as run:
        dbg.context.parallelize([1]).count()
    assert not run.culprits
    assert run.culprits.complete
    assert repr(run.culprits) == "<no culprits>"


@pytest.mark.parametrize("captured", [True, False])
def test_what_does_not_crash_once_more_is_said(captured: bool, dbg: Any, tmp_path: Path) -> None:
    def once(n: int) -> int:
        if n == 5 and not (tmp_path / "once").exists():
            (tmp_path / "once").touch()
            raise ValueError("the first time")
        return n

    before = len(dbg.runs)
    with pytest.raises(Exception, match="the first time"), dbg.capture("crash") if captured else contextlib.nullcontext():
        dbg.context.parallelize(range(10), 2).map(once).count()
    found = dbg.runs[before].culprits
    assert list(found) == []
    assert "No record crashed when what had not finished was run again" in repr(found)


@pytest.mark.slow
def test_the_first_one_comes_early_also_if_the_exception_had_to_go_without(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.crashes.PATIENCE", 0.5)

    def slow(n: int) -> float:
        time.sleep(0.01)
        return 1 / (n - 150)

    with pytest.raises(Exception, match="division by zero"), dbg.capture("crash") as run:
        dbg.context.parallelize(range(1_200), 1).map(slow).count()
    assert run.culprits.known == []
    began = time.monotonic()
    first = next(iter(run.culprits))
    assert (first.record, run.culprits.complete) == (150, False)
    assert time.monotonic() - began < 8
    assert [c.record for c in run.culprits] == [150]


@pytest.mark.slow
def test_what_was_cancelled_behind_an_early_culprit_is_looked_at_again(dbg: Any, untold: None) -> None:
    def slow(n: int) -> float:
        time.sleep(0.02)
        return 1 / (n - 10)

    with pytest.raises(Exception, match="division by zero"), dbg.capture("crash") as run:
        dbg.context.parallelize(range(150), 1).map(slow).count()
    with tagged(dbg.context) as tag:
        assert run.culprits.more()
        dbg.context.cancelJobsWithTag(tag)
        time.sleep(2)
    (culprit,) = run.culprits
    assert [source.record for source in culprit.sources] == [10]


def test_all_branches_of_a_union_are_looked_at(dbg: Any) -> None:
    def slow(n: int) -> int:
        time.sleep(0.1)
        return 1 // (n - 9)

    other = dbg.context.parallelize(range(100, 110), 1).map(lambda n: {104: None}.get(n, n) + 1)
    found = culprits_of(dbg, dbg.context.parallelize(range(10), 1).map(slow).union(other).collect)
    assert sorted(c.record for c in found) == [9, 104]
    assert found.unknown == []


def test_what_reads_of_what_crashed_is_said_not_to_be_known(dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(10), 1).map(lambda n: 1 // (n - 5)).cache().map(lambda n: 1 // n).collect)
    assert [c.record for c in found] == [5]
    assert len(found.unknown) == 1
    assert found.unknown[0].startswith("What reads of map#")


def popping(records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for record in records:
        record["v"] = int(record.pop("raw"))
        yield record


def in_fours(records: Iterator[list[int]]) -> Iterator[list[int]]:
    batch = []
    for record in records:
        record[0] += 1
        batch.append(record)
        if len(batch) == 4:
            yield [10 // (one[0] - 8) for one in batch]
            batch = []


@pytest.mark.parametrize(("function", "records", "bad"), [
    (popping, [{"raw": "x" if n == 7 else str(n)} for n in range(10)], {"raw": "x"}), (in_fours, [[n] for n in range(16)], [7]),
    (lambda records: [record.append(1) or 1 // (record[0] - 3) for record in list(records)], [[n] for n in range(8)], [3]),
])
def test_functions_over_iterators_that_change_their_records(function: Any, records: list[Any], bad: Any, dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(records, 1).mapPartitions(function).collect)
    assert [(c.record, [s.record for s in c.sources]) for c in found] == [(bad, [bad])]


def test_records_that_are_taken_one_by_one(dbg: Any) -> None:
    texts = dbg.context.parallelize(["1", "x", "2", "3", "4", "y"], 3).map(int)
    with pytest.raises(Exception, match="invalid literal") as raised, dbg.capture() as run:
        list(texts.toLocalIterator())
    assert "crashed with ValueError" in raised.value.__notes__[0]
    assert (run.action, run.status) == ("toLocalIterator", "failed")
    assert told(run.culprits) == [("x", "ValueError", ["x"]), ("y", "ValueError", ["y"])]
    assert run.culprits.unknown == []
    assert list(run.resume(skip=True).result) == [1, 2, 3, 4]
    assert list(run.resume(repair=lambda text: "7").result) == [1, 7, 2, 3, 4, 7]


def test_records_that_are_taken_one_by_one_without_capture(dbg: Any) -> None:
    texts = dbg.context.parallelize(["1", "x", "2", "3", "4", "y"], 3).map(int)
    culprits = culprits_of_uncaptured(dbg, lambda: list(texts.toLocalIterator()))
    assert told(culprits) == [("x", "ValueError", ["x"]), ("y", "ValueError", ["y"])]
    assert list(dbg.runs[-1].resume(skip=True).result) == [1, 2, 3, 4]
    before = len(dbg.runs)
    taken = texts.filter(lambda number: number > 0).toLocalIterator()
    taken.close()
    assert list(dbg.context.parallelize([1, 2], 2).toLocalIterator()) == [1, 2]
    assert len(dbg.runs) == before


def test_records_behind_a_shuffle_that_are_taken_one_by_one(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(8), 2).map(lambda n: (n % 2, n)).groupByKey(2).mapValues(lambda some: 1 // (1 - len(list(some)) // 4))
    with pytest.raises(Exception, match="ZeroDivisionError"), dbg.capture() as run:
        list(numbers.toLocalIterator(prefetchPartitions=True))
    assert sorted(culprit.record[0] for culprit in run.culprits) == [0, 1]
    assert list(run.resume(skip=True).result) == []
