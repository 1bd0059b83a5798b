"""Bad input: every question that cannot be answered is refused by name, and the user's job is never harmed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.errors import (
    CorruptBlockError,
    IncompleteLineageError,
    NondeterminismError,
    NotCapturedError,
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
    run.lineage._tables.clear()
    assert words.getLineage().goBackAll().rids().tolist() == before
    for path in blocks_of(dbg):
        path.unlink()
    run.store.forget(run.id)
    run.lineage._tables.clear()
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


STOPPED = """
from pyspark.sql import SparkSession
import bigdebug

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
dbg = bigdebug.attach(spark)
lines = dbg.context.textFile(__file__, 1).filter(lambda line: "bigdebug" in line)
with dbg.capture():
    lines.count()
spark.stop()
trace = dbg.lineage(lines).goBackAll()
print([record.origin.line for record in trace.source_records()], trace.first())
for question in (lines.getLineage().collect, lambda: lines.getLineage().filter(len).count(), trace.replay().collect):
    try:
        print(question())
    except bigdebug.BigdebugError as error:
        print(type(error).__name__, error.what)
"""


def test_after_spark_was_stopped_what_needs_no_job_is_answered_and_the_rest_refused(tmp_path: Path) -> None:
    program = tmp_path / "stopped.py"
    program.write_text(STOPPED)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first == "[3, 6, 7, 16] import bigdebug"
    refused = "IncompleteLineageError This question needs a Spark job, and the SparkContext has been stopped"
    assert others == [refused] * 3


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
    catalog.write_text(catalog.read_text().replace('"format": 1', '"format": 7'))
    with pytest.raises(StoreVersionError, match="format 7"):
        bigdebug.open(saved)
    catalog.write_text("{")
    with pytest.raises(StoreError, match="not a saved bigdebug session"):
        bigdebug.open(saved)
    with pytest.raises(StoreError, match="not empty"):
        dbg.save(str(saved))
