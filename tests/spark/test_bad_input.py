"""Bad input: every question that cannot be answered is refused by name, and the user's job is never harmed."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.errors import PythonException

import bigdebug
from bigdebug.errors import (
    CorruptBlockError,
    IncompleteLineageError,
    NondeterminismError,
    NotCapturedError,
    PredicateError,
    SourceChangedError,
    StoreError,
    StoreVersionError,
    UnknownOperatorError,
    UnknownRecordError,
)
from bigdebug.store.directory import LineageStore


@pytest.fixture
def words(dbg: Any, tmp_path: Path) -> Any:
    """A word count over eight lines, captured."""
    path = tmp_path / "words.txt"
    path.write_text("".join(f"{'a b c'[i % 3 :: 2]} w{i}\n" for i in range(8)))
    counts = dbg.context.textFile(str(path), 2).flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(add, 2)
    with dbg.capture("words"):
        counts.collect()
    counts.path = path
    return counts


def blocks_of(dbg: Any) -> list[Path]:
    run = dbg.runs[-1]
    return sorted((run.store.root / run.id).rglob("*.block"))


def test_a_trace_of_something_never_captured_says_what_to_do(dbg: Any) -> None:
    rdd = dbg.context.parallelize([1, 2]).map(str)
    with pytest.raises(NotCapturedError, match=r"No lineage was captured for map#\d+ at .*test_bad_input.py.*capture"):
        rdd.getLineage()


def test_a_rid_that_does_not_exist_is_named_by_partition_and_position(words: Any) -> None:
    trace = words.getLineage()
    with pytest.raises(UnknownRecordError, match="partition 0, position 999"):
        trace.at([999]).rids()


def test_an_operator_of_another_program_is_refused(dbg: Any, words: Any) -> None:
    other = dbg.context.parallelize([1])
    with pytest.raises(UnknownOperatorError, match="not part of the run"):
        words.getLineage().back_to(other)
    with pytest.raises(UnknownOperatorError, match="not an operator"):
        words.getLineage().back_to("lines")


def test_an_unknown_input_suggests_the_near_ones(words: Any) -> None:
    with pytest.raises(UnknownOperatorError, match=r"\(got 'word.txt'\).*words.txt"):
        words.getLineage().goBackAll()["word.txt"]


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (lambda data: data[:-7], CorruptBlockError, "truncated"),
        (lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:], CorruptBlockError, "altered"),
        (lambda data: b"", CorruptBlockError, "not a lineage block"),
        (lambda data: data[:4] + (99).to_bytes(2, "little") + data[6:], StoreVersionError, "format 99"),
    ],
)
def test_a_damaged_block_is_an_error_and_not_an_answer(words: Any, dbg: Any, damage: Any, error: Any, message: str) -> None:
    for path in blocks_of(dbg):
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(error, match=message):
        words.getLineage().goBackAll().rids()


def test_lost_blocks_are_derived_again_and_equal_what_they_were(words: Any, dbg: Any) -> None:
    before = words.getLineage().goBackAll().rids().tolist()
    run = dbg.runs[-1]
    lost = blocks_of(dbg)
    for path in lost[::2]:
        path.unlink()
    run.store.forget(run.id)
    assert words.getLineage().goBackAll().rids().tolist() == before
    for path in blocks_of(dbg):
        path.unlink()
    run.store.forget(run.id)
    assert words.getLineage().goBackAll().rids().tolist() == before


def test_a_lost_block_of_a_stage_that_does_not_repeat_itself_is_refused(dbg: Any) -> None:
    groups = dbg.context.parallelize(range(40), 2).map(lambda x: (unsteady(x) % 3, x)).groupByKey(2)
    with dbg.capture("lost") as run:
        groups.collect()
    for path in blocks_of(dbg):
        path.unlink()
    run.store.forget(run.id)
    with pytest.raises(NondeterminismError, match=r"map#\d+ at .*gave other records when partition \d"):
        groups.getLineage().goBackAll().rids()


def test_a_store_that_cannot_be_made_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be made.*store="):
        LineageStore.private(str(tmp_path / "file" / "below"))


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 KB that is full already."""
    mount = tmp_path / "full"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(mount)], check=False, capture_output=True)
    if done.returncode:
        pytest.skip("mounting a small file system needs root")
    (mount / "filler").write_bytes(b"x" * (16 << 10))
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def test_a_full_disk_does_not_harm_the_job_and_the_run_says_that_it_is_incomplete(
    dbg: Any, full_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dbg._recorder, "store", LineageStore(full_disk))
    sums = dbg.context.parallelize(range(100), 4).map(lambda x: (x % 3, x)).reduceByKey(add, 2)
    with dbg.capture("full") as run:
        assert sorted(sums.collect()) == [(0, 1683), (1, 1617), (2, 1650)]
    assert run.status == "partial"
    assert any("No space left" in reason for reason in run.incomplete)
    with pytest.raises(IncompleteLineageError):
        sums.getLineage().goBackAll().rids()


@pytest.mark.parametrize("change", [lambda p: p.write_text("other\n" * 9), lambda p: p.unlink(), lambda p: os.utime(p, (1, 1))])
def test_an_input_that_changed_since_is_noticed_before_a_record_is_shown(words: Any, change: Any) -> None:
    trace = words.getLineage().goBackAll()
    change(words.path)
    assert trace.count() == 8  # ids still hold for the file as it was
    with pytest.raises(SourceChangedError, match=r"words\.txt"):
        trace.collect()
    with pytest.raises(SourceChangedError):
        words.getLineage().where(lambda kv: kv[1] > 1).rids()


def unsteady(value: int) -> int:
    return value + random.SystemRandom().randrange(10**9)


@pytest.mark.parametrize(
    "program",
    [
        lambda rdd: rdd.map(unsteady).map(lambda x: (x % 2, x)).groupByKey(2),
        lambda rdd: rdd.map(lambda x: (x, 1)).map(lambda kv: (unsteady(kv[0]), 1)),
        lambda rdd: rdd.filter(lambda x: unsteady(0) % 2),
    ],
)
def test_a_function_that_does_not_repeat_itself_is_named(dbg: Any, program: Any) -> None:
    source = dbg.context.parallelize(range(40), 2)
    made = program(source)
    with dbg.capture("unsteady"):
        result = made.collect()
    assert result is not None
    trace = dbg.lineage(dbg.runs[-1])
    with pytest.raises(NondeterminismError, match=r"(map|filter)#\d+ at .*gave other records when partition \d"):
        [trace.back_to(operator).collect() for operator in list(trace.run.graph)[1:]]
    steady = source.map(lambda x: (x % 2, 1)).reduceByKey(add, 2)
    with dbg.capture("steady"):
        steady.collect()
    assert steady.getLineage().goBackAll().count() == 40


def test_a_saved_session_of_a_newer_format_or_of_no_format_is_refused(words: Any, dbg: Any, tmp_path: Path) -> None:
    saved = dbg.save(str(tmp_path / "saved"), [dbg.runs[-1]])
    catalog = saved / "session.json"
    catalog.write_text(catalog.read_text().replace('"format": 2', '"format": 7'))
    with pytest.raises(StoreVersionError, match="format 7"):
        bigdebug.open(saved)
    catalog.write_text("{")
    with pytest.raises(StoreError, match="not a saved bigdebug session"):
        bigdebug.open(saved)
    with pytest.raises(StoreError, match="not empty"):
        dbg.save(str(saved))


# ---- wrong arguments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (lambda trace: trace.take("x"), "records to take is a whole one, not 'x'"),
        (lambda trace: trace.show(1.5), "records to take is a whole one, not 1.5"),
        (lambda trace: trace.take(None), "records to take is a whole one, not None"),
        (iter, "'LineageRDD' object is not iterable"),
        (lambda trace: trace.where(5), r"where\(\) takes a function of a record, not 5"),
        (lambda trace: trace.replay(edit=3), "edit is a function .*, not 3"),
    ],
)
def test_a_wrong_argument_of_a_trace_is_shown(words: Any, question: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        question(words.getLineage())


@pytest.mark.parametrize("ask", [lambda trace: trace, lambda trace: trace.goBackAll()], ids=["computed again", "read"])
def test_a_predicate_that_raises_is_named_with_its_line_and_the_record(words: Any, ask: Any) -> None:
    narrowed = ask(words.getLineage()).where(lambda r: r.foo)
    line = sys._getframe().f_lineno - 1
    with pytest.raises(PredicateError, match=rf"test_bad_input.py:{line} raised AttributeError: '\w+' object has no .*'foo'") as told:
        narrowed.rids()
    assert isinstance(told.value.__cause__, PythonException)
    with pytest.raises(PredicateError, match=r"The predicate of where\(\) raised TypeError: .*, on the record [('].*"):
        ask(words.getLineage()).where(math.sqrt).count()


def test_a_predicate_whose_answer_has_no_truth_value_is_named(dbg: Any) -> None:
    arrays = dbg.context.parallelize([np.arange(3), np.arange(4)], 2)
    with dbg.capture("arrays"):
        arrays.count()
    with pytest.raises(PredicateError, match="truth value of an array"):
        arrays.getLineage().where(lambda a: a > 1).count()


def test_a_broadcast_variable_that_is_no_more_is_named(dbg: Any) -> None:
    table = dbg.context.broadcast({n: n * n for n in range(4)})
    squares = dbg.context.parallelize(range(4), 2).map(lambda n: table.value[n])
    with dbg.capture("broadcast"):
        squares.map(lambda n: n + 1).collect()
    trace = squares.getLineage()
    assert trace.goBackAll().count() == 4
    table.destroy()
    for ask in (trace.collect, trace.replay().collect):
        with pytest.raises(IncompleteLineageError, match=r"broadcast variable .* has been destroyed"):
            ask()


def test_one_run_is_saved_as_such_or_by_its_capture(dbg: Any, tmp_path: Path) -> None:
    with dbg.capture("one") as capture:
        dbg.context.parallelize(range(4), 2).count()
    for name, what in (("run", capture.runs[0]), ("capture", capture)):
        assert [run.name for run in bigdebug.open(dbg.save(tmp_path / name, what)).runs] == ["one"]


def test_what_the_program_raises_itself_is_not_the_predicates(dbg: Any, tmp_path: Path) -> None:
    once = tmp_path / "once"
    once.touch()
    rdd = dbg.context.parallelize([1], 1).map(lambda n: once.stat().st_size + n)
    with dbg.capture("once"):
        rdd.collect()
    once.unlink()
    with pytest.raises(PythonException, match="FileNotFoundError"):
        rdd.getLineage().where(bool).rids()


def test_only_a_spark_session_that_runs_can_be_attached(dbg: Any) -> None:
    for wrong, says in ((5, "SparkSession, not 5"), (None, "not None"), (dbg.plain_context, "takes the SparkSession, not its")):
        with pytest.raises(TypeError, match=says):
            bigdebug.attach(wrong)


@pytest.mark.parametrize(("store", "error", "says"), [(5, TypeError, "not 5"), ("", ValueError, "and this names none: it is empty")])
def test_a_store_is_named_by_a_path(dbg: Any, store: Any, error: type, says: str) -> None:
    with pytest.raises(error, match=f"the store of bigdebug.attach is a directory of this machine or a URI, {says}"):
        bigdebug.attach(dbg.spark, store=store)


def test_a_capture_is_named_by_text(dbg: Any) -> None:
    with pytest.raises(TypeError, match=r"name of a capture is text, not 5"), dbg.capture(5):
        pass
    assert not dbg.context.isCaptureLineage()


@pytest.mark.parametrize("question", [lambda dbg: dbg.save(5), lambda dbg: bigdebug.open(5)])  # type: ignore[arg-type]
def test_a_saved_session_is_named_by_a_path(dbg: Any, question: Any) -> None:
    with pytest.raises(TypeError, match="is the path of a directory, not 5"):
        question(dbg)


def test_a_path_that_is_not_there_is_sparks_error_and_a_failed_run(dbg: Any, caplog: pytest.LogCaptureFixture) -> None:
    lines = dbg.context.textFile("/nowhere/nope.txt").map(str.upper)
    with pytest.raises(Exception, match="Input path does not exist"), dbg.capture("nope") as run:
        lines.collect()
    assert (run.status, run.statistics.records_in) == ("failed", 0)
    assert caplog.text.count("\n") <= 2
