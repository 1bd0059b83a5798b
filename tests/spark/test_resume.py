"""Going on from crashes of RDD programs: policies, resuming, dead letters (FEATURES B2, B3)."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from operator import add
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.errors import NotCapturedError, ReplayError, SourceChangedError, StoreError
from bigdebug.trace.run import Run


@pytest.fixture
def lines(dbg: Any, tmp_path: Path) -> Any:
    """The numbers to 30, each seventh one spoilt, in four partitions."""
    path = tmp_path / "numbers.txt"
    path.write_text("".join(f"{i}\n" if i % 7 else f"bad{i}\n" for i in range(1, 31)))
    return dbg.context.textFile(str(path), 4)


def failed(dbg: Any, action: Callable[[], Any]) -> Run:
    with pytest.raises(Exception, match="Python worker"), dbg.capture("crash") as capture:
        action()
    run: Run = capture.latest
    assert run.status == "failed"
    return run


GOOD = sum(i for i in range(1, 31) if i % 7)
ALL = sum(range(1, 31))


def mended(line: str) -> str:
    return line.removeprefix("bad")


# ---- resuming -----------------------------------------------------------------------------------------------------


def test_what_becomes_of_culprits(dbg: Any, lines: Any) -> None:
    numbers = lines.map(int)
    run = failed(dbg, numbers.sum)
    first, *others = run.culprits
    assert run.resume(skip=True).result == GOOD
    assert run.resume(skip=[first, *others]).result == GOOD
    assert run.resume(repair=mended).result == ALL
    assert run.resume(repair={first: "1000"}, skip=others).result == GOOD + 1000
    assert run.resume(repair={first: "1000"}, skip=True).result == GOOD + 1000
    assert run.resume(fix={numbers: lambda line: -1}).result == GOOD - 4
    assert run.resume(fix={first.operator: lambda line: int(mended(line))}).result == ALL


def test_culprits_that_nothing_is_said_of_crash_as_before(dbg: Any, lines: Any) -> None:
    run = failed(dbg, lines.map(int).sum)
    with pytest.raises(Exception, match="invalid literal"):
        run.resume(skip=run.culprits[0])


def test_a_resumed_run_is_a_run_with_lineage_and_culprits(dbg: Any, lines: Any) -> None:
    pairs = lines.map(int).map(lambda n: (n % 2, n)).reduceByKey(add, 2)
    resumed = failed(dbg, pairs.collect).resume(skip=True)
    assert sorted(resumed.result) == sorted([(0, sum(n for n in range(2, 31, 2) if n % 7)), (1, sum(n for n in range(1, 31, 2) if n % 7))])
    assert resumed.run.status == "succeeded"
    assert [c.record for c in resumed.run.culprits] == ["bad7", "bad14", "bad21", "bad28"]
    assert [s.origin.line for c in resumed.run.culprits for s in c.sources] == [7, 14, 21, 28]
    odd = pairs.getLineage().where(lambda kv: kv[0] == 1).goBackAll()
    assert sorted(map(int, odd.collect())) == [n for n in range(1, 31, 2) if n % 7]
    assert "4 records crashed" in repr(resumed)


def test_a_repair_that_crashes_again_is_told_and_nothing_else_is_lost(dbg: Any, lines: Any) -> None:
    resumed = failed(dbg, lines.map(int).sum).resume(repair=lambda line: "worse")
    assert resumed.result == GOOD
    again = [c for c in resumed.run.culprits if c.again]
    assert [c.record for c in again] == ["worse"] * 4
    assert "4 records put in the place of one crashed again" in repr(resumed)
    assert "came in the place of one that crashed" in again[0].text()


def test_stages_that_had_finished_do_not_run_again(dbg: Any, tmp_path: Path) -> None:
    def noted(n: int) -> tuple[int, int]:
        with (tmp_path / "seen").open("a") as file:
            file.write("x")
        return n % 4, n

    ratios = dbg.context.parallelize(range(12), 3).map(noted).reduceByKey(add, 2).mapValues(lambda total: 100 // (total - 12))
    run = failed(dbg, ratios.collect)
    seen = (tmp_path / "seen").read_text()
    resumed = run.resume(skip=True)
    assert sorted(resumed.result) == [(1, 33), (2, 16), (3, 11)]
    assert (tmp_path / "seen").read_text() == seen
    assert resumed.reused == 3
    assert resumed.ran == 2


def test_what_a_resumed_run_left_out_others_do_not_miss(dbg: Any, lines: Any) -> None:
    pairs = lines.map(int).map(lambda n: (n % 2, n)).reduceByKey(add, 2)
    run = failed(dbg, pairs.collect)
    assert len(run.resume(skip=True).result) == 2
    assert len(failed(dbg, pairs.collect).culprits) == 4
    assert sorted(run.resume(repair=mended).result) == [(0, sum(range(2, 31, 2))), (1, sum(range(1, 31, 2)))]


def test_what_is_cached_of_a_resumed_run_is_not_read_by_others(dbg: Any, lines: Any) -> None:
    numbers = lines.map(int).cache()
    run = failed(dbg, numbers.count)
    assert run.resume(skip=True).result == 26
    assert len(failed(dbg, numbers.count).culprits) == 4
    numbers.unpersist()


@pytest.mark.many
@pytest.mark.parametrize(("define", "result"), [
    (lambda lines: lines.flatMap(lambda line: [1, int(line)]), 52),
    (lambda lines: lines.filter(lambda line: int(line) > 0), 26),
    (lambda lines: lines.mapPartitions(lambda part: (int(line) for line in part)), 26),
    (lambda lines: lines.map(lambda line: (line, 1)).mapValues(lambda one: one).map(lambda kv: int(kv[0])), 26),
    (lambda lines: lines.map(lambda line: ([line] if "bad" in line else line, 1)).groupByKey(2), 26),
    (lambda lines: lines.map(lambda line: (1, line)).combineByKey(int, lambda a, b: a + int(b), add, 2), 1),
    (lambda lines: lines.map(lambda line: (line, 1)).partitionBy(2, int), 26),
    (lambda lines: lines.union(lines).map(int), 52),
], ids=["flatMap", "filter", "mapPartitions", "mapValues", "unhashable key", "combiner", "partitioner", "twice"])
def test_records_are_left_out_wherever_they_crash(define: Any, result: int, dbg: Any, lines: Any) -> None:
    rdd = define(lines)
    resumed = failed(dbg, rdd.count).resume(skip=True)
    assert resumed.result == result
    assert {s.origin.line for c in resumed.run.culprits for s in c.sources} == {7, 14, 21, 28}
    with dbg.capture("in place", on_crash="skip"):
        assert rdd.count() == result


def test_a_record_that_a_reducer_crashes_on_is_left_out(dbg: Any) -> None:
    def careful(a: int, b: int) -> int:
        assert b != 6
        return a + b

    reduced = dbg.context.parallelize([(i % 3, i) for i in range(12)], 3).reduceByKey(careful, 2)
    resumed = failed(dbg, reduced.collect).resume(skip=True)
    assert sorted(resumed.result) == [(0, 12), (1, 22), (2, 26)]
    assert sorted(n for _, n in reduced.getLineage().goBackAll().collect()) == [n for n in range(12) if n != 6]


# ---- policies -----------------------------------------------------------------------------------------------------


def test_a_run_that_skips_gives_the_rest_and_tells_of_the_others(dbg: Any, lines: Any) -> None:
    with dbg.capture("careful", on_crash="skip") as run:
        assert lines.map(int).sum() == GOOD
    assert run.status == "succeeded"
    assert [c.record for c in run.culprits] == ["bad7", "bad14", "bad21", "bad28"]


def test_a_run_that_repairs(dbg: Any, lines: Any) -> None:
    with dbg.capture(on_crash=mended) as run:
        assert lines.map(int).sum() == ALL
    assert len(run.culprits) == 4


def test_it_is_decided_at_the_end(dbg: Any, lines: Any) -> None:
    with dbg.capture(on_crash="decide") as run:
        assert lines.map(int).sum() == GOOD
    assert run.resume(repair={run.culprits[0]: "7"}, skip=True).result == GOOD + 7


def test_policies_by_operator(dbg: Any, lines: Any) -> None:
    numbers = lines.map(int)
    inverse = numbers.map(lambda n: 1 // (n - 3))
    with dbg.capture(on_crash={numbers: "skip", inverse: lambda n: 4}) as run:
        assert inverse.count() == 26
    assert [c.operator.id for c in run.culprits].count(inverse._definition.operator.id) == 1
    with pytest.raises(Exception, match="division"), dbg.capture(on_crash={numbers: "skip"}):
        inverse.count()


def test_only_so_many_are_kept_in_full_and_all_go_into_the_directory(dbg: Any, lines: Any, tmp_path: Path) -> None:
    with dbg.capture(on_crash="skip", most=1, letters=tmp_path / "dead") as run:
        lines.coalesce(1).map(int).count()
    assert len(run.culprits) == 1
    assert "3 more crashed than are kept" in run.culprits.unknown[0]
    letters = bigdebug.read_letters(tmp_path / "dead")
    assert [letter.record for letter in letters] == ["bad7", "bad14", "bad21", "bad28"]
    assert letters[0].exception == "ValueError"
    assert dbg.context.parallelize([letter.record for letter in letters]).map(mended).map(int).sum() == 70


def test_a_run_without_a_crash_is_what_it_is_without_a_policy(dbg: Any, lines: Any) -> None:
    lengths = lines.map(len)
    with dbg.capture(on_crash="skip") as run:
        assert lengths.sum() == 63
    assert list(run.culprits) == []


# ---- what a function keeps, has given, and in which order -----------------------------------------------------------


def totals(numbers: Iterator[int]) -> Iterator[float]:
    total = 0.0
    for n in numbers:
        total += 60 / n
        yield total


def ending(numbers: Iterator[int]) -> Iterator[float]:
    for n in numbers:
        if n == 0:
            os._exit(3)
        yield 60 / n


@pytest.mark.many
@pytest.mark.parametrize(("function", "how", "good"), [
    (totals, {"repair": lambda n: 1}, [5, 1, 10]), (totals, {"repair": lambda n: 0}, [5, 10]), (totals, {"skip": True}, [5, 10]),
    (totals, {"first": 2}, [5, 2, 10]), (totals, {"first": 0, "skip": True}, [5, 10]),
    (ending, {"repair": lambda n: 1}, [5, 1, 10]), (ending, {"repair": lambda n: 1, "skip": True}, [5, 1, 10]), (ending, {"first": 2}, [5, 2, 10]),
])
def test_a_function_over_an_iterator_does_not_begin_anew(
    function: Callable[[Iterator[int]], Iterator[float]], how: dict[str, Any], good: list[int], dbg: Any,
) -> None:
    run = failed(dbg, dbg.context.parallelize([5, 0, 10], 1).mapPartitions(function).collect)
    how = {"repair": {run.culprits[0]: how["first"]}, "skip": how.get("skip")} if "first" in how else how
    before = len(dbg.runs)
    resumed = run.resume(**how)
    assert resumed.result == list(function(iter(good)))
    assert resumed.run.culprits.unknown == []
    assert len(dbg.runs) == before + 1


def test_a_function_in_a_stage_behind_does_not_begin_anew_either(dbg: Any) -> None:
    def numbered(pairs: Iterator[tuple[int, int]]) -> Iterator[tuple[int, float]]:
        for number, (_, n) in enumerate(pairs):
            yield number, 6 / n

    pairs = dbg.context.parallelize(["1", "x", "0", "2", "0", "3"], 1).map(lambda text: (1, int(text)))
    resumed = failed(dbg, pairs.partitionBy(1).mapPartitions(numbered).collect).resume(skip=True)
    assert resumed.result == [(0, 6), (1, 3), (2, 2)]
    assert sorted(repr(c.record) for c in resumed.run.culprits) == ["'x'", "(1, 0)", "(1, 0)"]


def test_an_action_with_effects_is_called_once_and_says_what_was_lost(dbg: Any) -> None:
    seen = dbg.context.accumulator(0)
    numbers = dbg.context.parallelize(["5", "x", "0", "10"], 1).map(lambda text: (1, int(text))).partitionBy(1).values().mapPartitions(totals)
    run = failed(dbg, lambda: numbers.foreach(lambda total: seen.add(1)))
    assert len(run.culprits) == 1
    before = seen.value
    resumed = run.resume(skip=True)
    assert seen.value == before + 2
    assert [said.split(" were called")[0] for said in resumed.run.culprits.unknown] == ["Functions over an iterator"]


def positive(n: int) -> int:
    if n <= 0:
        raise ValueError(n)
    return 60 // n


@pytest.mark.parametrize("skip", [True, None])
def test_what_is_chosen_for_a_record_is_not_taken_for_another(skip: bool | None, dbg: Any) -> None:
    """A repair in an operator before moves the records behind it."""
    numbers = dbg.context.parallelize(["x", "1", "0", "-1", "5"], 1).map(int).mapPartitions(lambda part: part).map(positive)
    run = failed(dbg, numbers.collect)
    x, zero, minus = run.culprits
    assert run.resume(repair={x: "6", zero: 10, minus: 20}, skip=skip).result == [10, 60, 6, 3, 12]


def test_equal_records_are_told_apart_by_their_order(dbg: Any) -> None:
    numbers = dbg.context.parallelize(["x", "0", "1", "0", "2"], 1).map(int).mapPartitions(lambda part: part).map(positive)
    run = failed(dbg, numbers.collect)
    x, _, second = run.culprits
    assert run.resume(repair={x: "3", second: 6}, skip=True).result == [20, 60, 10, 30]


def by_value(order: Any) -> int:
    if order.id == 7:
        os._exit(3)
    return 10 // (order.id - 3)


def length(words: frozenset[str]) -> int:
    if "seven" in words:
        os._exit(3)
    return len(words)


def test_records_of_a_class_of_the_notebook(dbg: Any) -> None:
    kind = type("Order", (), {"__init__": lambda self, number: setattr(self, "id", number), "__module__": "__main__"})
    run = failed(dbg, dbg.context.parallelize(range(10), 2).map(kind).map(by_value).collect)
    assert run.resume(skip=True).result == [10 // (n - 3) for n in range(10) if n not in (3, 7)]
    soft, _ = sorted(run.culprits, key=lambda culprit: str(culprit.exception_type), reverse=True)
    assert sorted(run.resume(repair={soft: kind(4)}, skip=True).result) == sorted(10 // (n - 3) for n in (*range(3), 4, *range(4, 7), 8, 9))


def test_sets_whose_order_is_each_processs_own(dbg: Any) -> None:
    words = frozenset(map(str, range(50)))
    run = failed(dbg, dbg.context.parallelize([words, words | {"seven"}, frozenset("a")], 1).map(length).collect)
    assert run.resume(skip=True).result == [50, 1]


def half(n: int) -> Iterator[int]:
    return (1 // (15_000 - i) if n == 0 else i for i in range(20_000))


def test_what_a_flat_map_had_given_of_a_record_is_not_in_the_result(dbg: Any) -> None:
    run = failed(dbg, dbg.context.parallelize([0, 1], 1).flatMap(half).collect)
    assert len(run.resume(skip=True).result) == 20_000
    assert run.resume(repair={run.culprits[0]: 2}).result == [*range(20_000), *range(20_000)]
    with pytest.raises(Exception, match="division"), dbg.capture(on_crash="skip"):
        dbg.context.parallelize([0, 1], 1).flatMap(half).collect()


def test_a_repair_that_raises_is_told_beside_what_it_was_to_repair(dbg: Any, lines: Any) -> None:
    def worse(line: str) -> str:
        raise KeyError("no idea")

    resumed = failed(dbg, lines.map(int).sum).resume(repair=worse, skip=True)
    assert resumed.result == GOOD
    (first, *_) = resumed.run.culprits
    assert (first.exception_type, first.again) == ("ValueError", False)
    assert "its repair raised KeyError: 'no idea'" in first.message


def test_what_came_in_the_place_of_another_is_not_resumed(dbg: Any, lines: Any) -> None:
    resumed = failed(dbg, lines.map(int).sum).resume(repair=str.lower, skip=True)
    again = next(c for c in resumed.run.culprits if c.again)
    with pytest.raises(ReplayError, match="came in the place of a record that had crashed"):
        resumed.run.resume(repair={again: "7"}, skip=True)


def test_what_was_chosen_and_did_not_crash_once_more_is_said(dbg: Any, tmp_path: Path) -> None:
    def unless_there(n: int) -> int:
        if n == 3 and not (tmp_path / "fine").exists():
            raise ValueError(n)
        return n

    run = failed(dbg, dbg.context.parallelize(range(5), 1).map(unless_there).collect)
    assert len(run.culprits) == 1
    (tmp_path / "fine").touch()
    resumed = run.resume(skip=[run.culprits[0]])
    assert resumed.result == list(range(5))
    assert resumed.run.culprits.unknown == ["1 record that something was chosen for did not crash once more, so nothing came of that."]


def in_pairs(texts: Iterator[str]) -> Iterator[tuple[int, int]]:
    before = None
    for text in texts:
        n = int(text)
        if before is not None:
            yield before, n
        before = n


@pytest.mark.parametrize("each", [True, False])
def test_what_goes_on_where_it_began_anew_moves_what_comes_behind(each: bool, dbg: Any) -> None:
    """A diagnosis loses the pair around what crashed, a clean run has it."""
    texts = ["1", "2", "x", "3", "4", "5", "6", "7", "8", "9"]
    pairs = dbg.context.parallelize(texts, 1).mapPartitions(in_pairs).mapPartitions(lambda pairs: (100 // (n - 6) for _, n in pairs))
    run = failed(dbg, pairs.collect)
    assert [c.record for c in run.culprits] == ["x", (5, 6)]
    assert run.resume(skip=list(run.culprits) if each else True).result == [100 // (n - 6) for n in (2, 3, 4, 5, 7, 8, 9)]


class ParseError(Exception):
    """Its pickle cannot be read."""

    def __init__(self, line: str, why: str) -> None:
        super().__init__(f"{line}: {why}")


def parsed(text: str) -> Any:
    return int(text) if text.isdigit() else ("bad", ParseError(text, "no number"))


def inverse(numbers: Iterator[Any]) -> Iterator[str]:
    return (str(n) if isinstance(n, tuple) else str(60 // n) for n in numbers)


def test_records_whose_pickles_cannot_be_read(dbg: Any) -> None:
    run = failed(dbg, dbg.context.parallelize(["1", "x", "0", "5", "2"], 1).map(parsed).mapPartitions(inverse).collect)
    assert [c.record for c in run.culprits] == [0]
    for how, middle in (({"skip": True}, []), ({"repair": lambda n: 3}, ["20"])):
        assert run.resume(**how).result == ["60", repr(("bad", ParseError("x", "no number"))), *middle, "12", "30"]
    with dbg.capture(on_crash="skip"):
        assert len(dbg.context.parallelize(["1", "x", "0", "5", "2"], 1).map(parsed).mapPartitions(inverse).collect()) == 4


def test_an_action_with_several_jobs_of_its_own(dbg: Any, spark: Any) -> None:
    run = failed(dbg, lambda: dbg.context.parallelize([Decimal(1), 2.5, Decimal(3)], 1).histogram(2))
    assert [c.record for c in run.culprits] == [2.5]
    assert run.resume(skip=list(run.culprits)).result == spark.sparkContext.parallelize([Decimal(1), Decimal(3)], 1).histogram(2)


def test_who_captures_around_a_resume_hears_of_its_last_pass_alone(dbg: Any) -> None:
    run = failed(dbg, dbg.context.parallelize([5, 0, 10], 1).mapPartitions(totals).collect)
    with dbg.capture("around") as around:
        resumed = run.resume(repair=lambda n: 0)
    assert around.runs == [resumed.run]


# ---- what a function changes ----------------------------------------------------------------------------------------

TEXTS = [str(n) if n % 10 != 3 else "bad" for n in range(40)]


def counting(total: list[int], text: str) -> list[int]:
    total[0] += 1
    total[1] += int(text)
    return total


def collecting(texts: list[str], text: str) -> list[str]:
    texts.append(text)
    texts.sort(key=int)
    return texts


def joining(texts: list[str], others: list[str]) -> list[str]:
    texts += others
    texts.sort(key=int)
    return texts


@pytest.mark.many
@pytest.mark.parametrize("define", [
    lambda rdd: rdd.aggregateByKey([0, 0], counting, lambda one, other: [one[0] + other[0], one[1] + other[1]]),
    lambda rdd: rdd.combineByKey(lambda text: [text], collecting, lambda one, other: sorted(one + other)).mapValues(sorted),
    lambda rdd: rdd.mapValues(lambda text: [text]).partitionBy(2).mapPartitions(list, True).reduceByKey(joining).mapValues(sorted),
])
@pytest.mark.parametrize("how", ["resume", "in place"])
def test_an_accumulator_that_a_crash_has_changed_is_as_it_was(define: Callable[[Any], Any], how: str, dbg: Any, spark: Any) -> None:
    clean = define(spark.sparkContext.parallelize([text for text in TEXTS if text != "bad"], 2).map(lambda text: ("k", text))).collect()
    rdd = define(dbg.context.parallelize(TEXTS, 2).map(lambda text: ("k", text)))
    if how == "in place":
        with dbg.capture(on_crash="skip"):
            assert rdd.collect() == clean
        return
    run = failed(dbg, rdd.collect)
    assert run.resume(skip=True).result == clean
    assert len(run.culprits) == 4


def unless_three(n: int) -> int:
    if n % 10 == 3:
        raise ValueError(n)
    return n


@pytest.mark.many
@pytest.mark.parametrize("act", [
    lambda rdd: rdd.max(key=unless_three), lambda rdd: rdd.top(3, key=unless_three), lambda rdd: rdd.takeOrdered(7, key=unless_three),
    lambda rdd: rdd.aggregate(0, lambda total, n: total + unless_three(n), add), lambda rdd: rdd.fold(0, lambda total, n: total + unless_three(n)),
    lambda rdd: rdd.aggregate([], lambda all_, n: (all_.append(n), unless_three(n), all_)[-1], add),
    lambda rdd: rdd.treeAggregate(0, lambda total, n: total + unless_three(n), add),
    lambda rdd: rdd.map(lambda n: ("k", n)).foldByKey(0, lambda total, n: total + unless_three(n)).collect(),
])
@pytest.mark.parametrize("each", [True, False])
def test_functions_of_the_action_itself(act: Callable[[Any], Any], each: bool, dbg: Any, spark: Any) -> None:
    """Each call of such an action makes operators of its own."""
    run = failed(dbg, lambda: act(dbg.context.parallelize(range(40), 2).map(lambda n: n)))
    assert sorted(repr(c.record) for c in run.culprits)
    resumed = run.resume(skip=list(run.culprits) if each else True)
    assert resumed.result == act(spark.sparkContext.parallelize([n for n in range(40) if n % 10 != 3], 2))
    assert len(resumed.run.culprits) == len(run.culprits)
    assert resumed.run.culprits.unknown == []


def marking(records: Iterator[dict[str, Any]]) -> Iterator[int]:
    total = 0
    for record in records:
        record["seen"] = True
        total += int(record["v"])
        yield total


class Locked:
    """Cannot be pickled, and has a text of its own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lock = threading.Lock()


def total_of_locked(records: Iterator[Locked]) -> Iterator[int]:
    total = 0
    for record in records:
        total += int(record.text)
        yield total


@pytest.mark.parametrize("make", [lambda rdd: rdd.map(lambda text: {"v": text}).mapPartitions(marking), lambda rdd: rdd.map(Locked).mapPartitions(total_of_locked)])
def test_records_that_are_not_what_they_were(make: Callable[[Any], Any], dbg: Any) -> None:
    run = failed(dbg, make(dbg.context.parallelize(["0", "1", "2", "3", "x", "5", "6", "7"], 1)).collect)
    for skip in (True, list(run.culprits)):
        assert run.resume(skip=skip).result == [0, 1, 3, 6, 11, 17, 24]
    if isinstance(run.culprits[0].record, dict):
        assert run.culprits[0].record == {"v": "x"}
        assert run.resume(repair={run.culprits[0]: {"v": "4"}}).result == [0, 1, 3, 6, 10, 15, 21, 28]


def told_apart(pair: tuple[int, Any]) -> int:
    if pair[0] == 1:
        os._exit(3)
    return 6 // (pair[0] - 2)


@pytest.mark.parametrize("spread", [False, True])
def test_records_that_cannot_be_pickled_are_known_by_their_places(spread: bool, dbg: Any) -> None:
    """Their texts have addresses, which are others in each process."""
    pairs = dbg.context.parallelize(range(4), 1).map(lambda n: (n, (i for i in ())))
    run = failed(dbg, (pairs.mapPartitions(lambda part: part) if spread else pairs).map(told_apart).collect)
    assert [(culprit.record.text[:3], culprit.exception_type) for culprit in run.culprits] == [("(1,", "WorkerEnded"), ("(2,", "ZeroDivisionError")]
    assert run.resume(skip=True).result == [-3, 6]
    assert run.resume(skip=list(run.culprits)).result == [-3, 6]


# ---- functions that are fixed -------------------------------------------------------------------------------------


def whole(text: str) -> int:
    return int(text, 16)


@pytest.mark.parametrize(("define", "fix", "result"), [
    (lambda pairs: pairs.mapValues(int), whole, [("a", 1), ("b", 16)]),
    (lambda pairs: pairs.flatMapValues(lambda text: [int(text)] * 2), lambda text: [whole(text)], [("a", 1), ("a", 1), ("b", 16)]),
    (lambda pairs: pairs.values().keyBy(int), whole, [(1, "1"), (16, "0x10")]),
    (lambda pairs: pairs.values().groupBy(int, 1).mapValues(list), whole, [(1, ["1"]), (16, ["0x10"])]),
    (lambda pairs: pairs.values().filter(int), whole, ["1", "0x10"]),
    (lambda pairs: pairs.values().flatMap(lambda text: [int(text)] * 2), lambda text: [whole(text)], [1, 1, 16]),
    (lambda pairs: pairs.groupByKey(1).mapValues(lambda texts: int(*texts)), lambda texts: whole(*texts), [("a", 1), ("b", 16)]),
], ids=["mapValues", "flatMapValues", "keyBy", "groupBy", "filter", "flatMap", "mapValues of groups"])
def test_a_fix_is_to_what_the_function_was_written_for(define: Any, fix: Any, result: list[Any], dbg: Any) -> None:
    run = failed(dbg, define(dbg.context.parallelize([("a", "1"), ("b", "0x10")], 1)).collect)
    assert sorted(run.resume(fix={run.culprits[0].operator: fix}).result, key=repr) == sorted(result, key=repr)


def test_a_function_of_pysparks_own_is_not_fixed(dbg: Any) -> None:
    keys = dbg.context.parallelize([("a", "1"), ("b", "x")], 1).mapValues(int).keys()
    with pytest.raises(ReplayError, match="calls a function of PySpark's own"):
        failed(dbg, keys.collect).resume(fix={keys: str})


# ---- bad input ----------------------------------------------------------------------------------------------------


def test_what_cannot_be_resumed_says_why(dbg: Any, lines: Any) -> None:
    numbers = lines.map(int)
    run = failed(dbg, numbers.sum)
    other = failed(dbg, lines.map(float).sum)
    whole = failed(dbg, lines.mapPartitions(lambda part: [int(line) for line in part]).sum)
    with pytest.raises(ReplayError, match="nothing to go on with"):
        run.resume()
    with pytest.raises(ReplayError, match="a function of one record"):
        run.resume(fix={numbers: lambda a, b: a})
    with pytest.raises(ReplayError, match="a function of one record"):
        run.resume(repair=lambda: 1)
    with pytest.raises(ReplayError, match="no culprit of this run"):
        run.resume(skip=[other.culprits[0]])
    with pytest.raises(ReplayError, match="takes more than a record at a time"):
        whole.resume(fix={whole.culprits[0].operator: int})
    with pytest.raises(ReplayError, match="cannot be pickled"):
        run.resume(repair={run.culprits[0]: threading.Lock()})
    lock = threading.Lock()
    with pytest.raises(ReplayError, match=r"the fix of map.* cannot be pickled.*lock"):
        run.resume(fix={numbers: lambda line: lock})
    with pytest.raises(ReplayError, match=r"repair cannot be pickled.*lock"):
        run.resume(repair=lambda line: lock)
    with pytest.raises(ReplayError, match=r"the repair cannot be pickled.*lock"), dbg.capture(on_crash=lambda line: lock):
        pass
    for fix in (5, len, [(numbers, len)]):
        with pytest.raises(TypeError, match="fix takes a dictionary"):
            run.resume(fix=fix)
    for skip in (5, 1, run, len, "x"):
        with pytest.raises(TypeError, match="skip takes culprits"):
            run.resume(skip=skip)
    with dbg.capture() as fine:
        lines.count()
    with pytest.raises(ReplayError, match="did not crash"):
        fine.resume(skip=True)


def test_input_that_has_changed_is_not_resumed(dbg: Any, lines: Any, tmp_path: Path) -> None:
    run = failed(dbg, lines.map(int).sum)
    (tmp_path / "numbers.txt").write_text("1\n2\n")
    with pytest.raises(SourceChangedError):
        run.resume(skip=True)


def test_a_run_that_was_forgotten_is_not_resumed(dbg: Any, lines: Any) -> None:
    run = failed(dbg, lines.map(int).sum)
    dbg.forget(run)
    with pytest.raises(NotCapturedError, match="forgotten"):
        run.resume(skip=True)


@pytest.mark.parametrize("on_crash", ["ignore", 3, None, {"x": "skip"}])
def test_what_is_no_policy(on_crash: Any, dbg: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="on_crash is"), dbg.capture(on_crash=on_crash):
        pass


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_most_is_a_number(most: Any, dbg: Any) -> None:
    with pytest.raises(ValueError, match="most is how many"), dbg.capture(on_crash="skip", most=most):
        pass


def running_totals(numbers: Iterator[int]) -> Iterator[float]:
    total = 0.0
    for number in numbers:
        total += 60 / number
        yield total


def firsts(numbers: Iterator[int]) -> Iterator[int]:
    seen: set[float] = set()
    for number in numbers:
        if (value := 60 // number) not in seen:
            seen.add(value)
            yield number


def all_at_once(numbers: Iterator[int]) -> list[float]:
    return sorted(60 / number for number in list(numbers))


@pytest.mark.many
@pytest.mark.parametrize("function", [running_totals, firsts, all_at_once])
@pytest.mark.parametrize("chained", [False, True])
def test_a_function_that_keeps_something_goes_on_as_if_the_culprits_had_never_been(function: Any, chained: bool, dbg: Any) -> None:
    numbers = [5, 0, 10, 5, 5, 0, 0, 20, 10, 3, 0, 5, 0]

    def program(records: list[int]) -> Any:
        rdd = dbg.context.parallelize(records, 1)
        return (rdd.map(lambda n: n) if chained else rdd).mapPartitions(function).map(lambda x: x)

    run = failed(dbg, program(numbers).collect)
    resumed = run.resume(skip=True)
    assert resumed.result == program([n for n in numbers if n]).collect()
    assert [(c.record, c.exception_type, c.place) for c in resumed.run.culprits] == [(c.record, c.exception_type, c.place) for c in run.culprits]
    assert run.resume(skip=list(run.culprits)).result == resumed.result


def test_a_function_that_keeps_the_record_before_goes_on_from_that(dbg: Any) -> None:
    """A record that crashes with the one before it is left out as any other: the next one meets the one before."""
    def steps(numbers: Iterator[int]) -> Iterator[float]:
        before = None
        for number in numbers:
            if before is not None:
                yield 60 / (number - before)
            before = number

    def program(records: list[int]) -> Any:
        return dbg.context.parallelize(records, 1).mapPartitions(steps)

    run = failed(dbg, program([1, 2, 2, 3, 5, 5, 5, 6]).collect)
    assert run.resume(skip=True).result == program([1, 2, 3, 5, 6]).collect()


# ---- what cannot go on ----------------------------------------------------------------------------------------------


class Unpicklable:
    def __reduce__(self) -> Any:
        raise TypeError("no pickle")


def test_results_that_cannot_be_pickled(dbg: Any) -> None:
    run = failed(dbg, dbg.context.parallelize(range(8), 2).map(lambda n: Unpicklable() if n == 4 else n).collect)
    assert [source.record for source in run.culprits[0].sources] == [4]
    with pytest.raises(ReplayError, match="fails without them, too"):
        run.resume(skip=True)


def test_files_that_the_crash_has_left_behind(dbg: Any, lines: Any, tmp_path: Path) -> None:
    folder = tmp_path / "written"
    run = failed(dbg, lambda: lines.map(int).saveAsTextFile(str(folder)))
    with pytest.raises(ReplayError, match=r"has left the directory behind .* Remove it, and resume once more"):
        run.resume(skip=True)
    shutil.rmtree(folder)
    run.resume(skip=True)
    written = [int(line) for part in folder.glob("part-*") for line in part.read_text().splitlines()]
    assert sum(written) == GOOD


# ---- dead letters -----------------------------------------------------------------------------------------------------


def test_a_letter_that_cannot_be_unpickled_takes_no_other_along(dbg: Any, tmp_path: Path) -> None:
    def bad(record: Any) -> None:
        raise ValueError(record)

    records = dbg.context.parallelize([1, 2, 3], 1).map(lambda n: ("line", ParseError("a", "b")) if n == 2 else n)
    with dbg.capture(on_crash="skip", letters=tmp_path / "dead"):
        assert records.map(bad).count() == 0
    first, second, third = bigdebug.read_letters(tmp_path / "dead")
    assert (first.record, third.record) == (1, 3)
    assert repr(second.record).startswith("<('line', ")
    assert "ParseError('a: b')) that cannot be unpickled here: TypeError: " in repr(second.record)


@pytest.mark.parametrize("line", [b"{}", b'{"a": 1}', b"[1]", b"a,b", b"\xff\xfe", b'{"record": "1", "pickle": "x", "operator": 1, "partition": 0, "exception": "E", "message": ""}'])
def test_what_is_no_letter_is_named_and_the_letters_are_there(line: bytes, dbg: Any, lines: Any, tmp_path: Path) -> None:
    dead = tmp_path / "dead"
    with dbg.capture(on_crash="skip", letters=dead):
        lines.map(int).count()
    (dead / "0.jsonl").write_bytes(line + b"\n\n")
    with pytest.raises(StoreError, match=r"0\.jsonl:1 is no letter of a record \(.*, and 1 line more") as refused:
        bigdebug.read_letters(dead)
    assert sorted(letter.record for letter in refused.value.partial) == ["bad14", "bad21", "bad28", "bad7"]


@pytest.mark.parametrize("others", [0, 1])
def test_a_file_of_letters_that_cannot_be_read_is_not_called_none(others: int, dbg: Any, lines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead, read = tmp_path / "dead", Path.read_bytes
    with dbg.capture(on_crash="skip", letters=dead):
        lines.map(int).count()
    (dead / "0.jsonl").write_bytes(b"{}\n")
    for number in range(others):
        (dead / f"odd{number}.jsonl").write_bytes(b"{}\n")

    def locked(path: Path) -> bytes:
        if path.name == "0.jsonl":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", locked)
    with pytest.raises(StoreError, match=r"0\.jsonl cannot be read \(Permission denied\).*there may be letters in it") as refused:
        bigdebug.read_letters(dead)
    said = str(refused.value)
    assert [part in said for part in ("/0.jsonl:1", "odd0.jsonl:1 is no letter", "Take away")] == [False, others == 1, others == 1]
    assert sorted(letter.record for letter in refused.value.partial) == ["bad14", "bad21", "bad28", "bad7"]


def test_a_directory_of_letters_that_cannot_be_read_is_not_called_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "0.jsonl").write_bytes(b"{}\n")
    for path in (tmp_path / "0.jsonl", tmp_path / "0.jsonl" / "below", tmp_path / "nowhere"):
        with pytest.raises(StoreError, match="There is no directory of dead letters"):
            bigdebug.read_letters(path)
    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, locked)
    with pytest.raises(StoreError, match=r"The directory of dead letters cannot be read \(Permission denied\)"):
        bigdebug.read_letters(tmp_path)


def test_letters_go_where_a_file_uri_says(dbg: Any, lines: Any, tmp_path: Path) -> None:
    uri = (tmp_path / "a b").as_uri()
    with dbg.capture(on_crash="skip", letters=uri):
        lines.map(int).count()
    assert len(bigdebug.read_letters(uri)) == len(bigdebug.read_letters(tmp_path / "a b")) == 4


@pytest.mark.parametrize("where", ["s3://KEY:SECRET@bucket/dead", "hdfs:///dead", "", " s3://bucket/dead", "a\0b"])
def test_letters_go_into_directories_of_this_machine_alone(where: str, dbg: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (lambda: dbg.capture(on_crash="skip", letters=where).__enter__(), lambda: bigdebug.read_letters(where)):
        with pytest.raises(StoreError, match="The directory of dead letters is a directory of this machine, and") as refused:
            use()
        assert "SECRET" not in str(refused.value)
    assert [*tmp_path.iterdir()] == []


def test_letters_have_to_be_a_directory(dbg: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match=r"Dead letters cannot be written.*Name a directory"):
            dbg.capture(on_crash="skip", letters=path).__enter__()
    for use in (lambda: dbg.capture(on_crash="skip", letters=b"dead").__enter__(), lambda: bigdebug.read_letters(b"dead")):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="is the path of a directory, not b'dead'"):
            use()


def test_a_repair_that_changes_what_it_is_given_does_not_change_what_is_told(dbg: Any, tmp_path: Path) -> None:
    def repair(record: dict[str, int]) -> dict[str, int]:
        record["a"] = 1
        return record

    with dbg.capture(on_crash=repair, letters=tmp_path) as run:
        assert dbg.context.parallelize([{"b": 0}], 1).map(lambda record: record["a"]).collect() == [1]
    assert [culprit.record for culprit in run.culprits] == [{"b": 0}]
    assert [letter.record for letter in bigdebug.read_letters(tmp_path)] == [{"b": 0}]


def test_what_a_task_has_cached_that_told_nothing_of_it_is_computed_anew(dbg: Any) -> None:
    """One that ends while its job is failing, which one in four does here: later runs read what it has cached, and nobody knew what that was made of."""
    for _ in range(16):
        halves = dbg.context.parallelize([0, 0, 0, 0, 9, 0, 0], 5).map(checked).cache()
        with dbg.capture() as crash, pytest.raises(Exception, match="ValueError"):
            halves.collect()
        resumed = crash.latest.resume(skip=True)
        assert resumed.result == [0] * 6
        assert len(halves.getLineage().rids()) == len(resumed.result)


def checked(number: int) -> int:
    if number:
        raise ValueError(number)
    return number
