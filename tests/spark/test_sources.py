"""Inputs of T2 other than text: records are named by file and row, or by index, and shown as the program saw them."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.errors import SourceChangedError
from bigdebug.spark.rdd.sources import facts_of
from tests.spark.reading import read, same, written

TEXT = ("org.apache.hadoop.mapreduce.lib.input.TextInputFormat", "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.Text")
OLD_TEXT = (TEXT[0].replace("mapreduce.lib.input", "mapred"), *TEXT[1:])


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New folders."""
    root = tmp_path_factory.mktemp("inputs")
    return (root / str(i) for i in itertools.count())


# ---- files --------------------------------------------------------------------------------------------------------


def small_splits(sc: Any, path: str) -> Any:
    return sc.newAPIHadoopFile(path, *TEXT, conf={"mapreduce.input.fileinputformat.split.maxsize": "25"})


@pytest.mark.many
@pytest.mark.parametrize(
    ("save", "reader"),
    [
        (lambda rdd, path: rdd.saveAsSequenceFile(path), lambda sc, path: sc.sequenceFile(path)),
        (lambda rdd, path: rdd.saveAsPickleFile(path, 4), lambda sc, path: sc.pickleFile(path, 5)),
        (lambda rdd, path: rdd.saveAsTextFile(path), lambda sc, path: sc.newAPIHadoopFile(path, *TEXT)),
        (lambda rdd, path: rdd.saveAsTextFile(path), small_splits),
        (lambda rdd, path: rdd.saveAsTextFile(path), lambda sc, path: sc.hadoopFile(path, *OLD_TEXT)),
    ],
    ids=["sequenceFile", "pickleFile", "newAPIHadoopFile", "newAPIHadoopFile in splits", "hadoopFile"],
)
def test_records_of_a_file_are_named_by_file_and_row(dbg: Any, folders: Any, save: Any, reader: Any) -> None:
    folder, plain = next(folders), dbg.plain_context
    save(plain.parallelize([(i, f"v{i}") for i in range(12)], 2), str(folder))
    parts = sorted(path for path in folder.iterdir() if path.name.startswith("part-"))
    # In one file by itself rows stand in the order of the file, whatever its splits.
    rows = [(path.name, row, record) for path in parts for row, record in enumerate(reader(plain, str(path)).collect())]
    assert len(rows) == 12
    assert read(dbg, reader(dbg.context, str(folder))).named == rows


def test_binary_records_are_named_by_file_and_row(dbg: Any, folders: Any) -> None:
    data = os.urandom(4 * 30)
    folder = written(next(folders), {"b.bin": data})
    found = read(dbg, dbg.context.binaryRecords(str(folder), 4)).named
    assert found == [("b.bin", i, data[4 * i : 4 * i + 4]) for i in range(30)]


@pytest.mark.parametrize("method", ["wholeTextFiles", "binaryFiles"])
@pytest.mark.parametrize("slices", [1, 3, 9])
def test_whole_files_are_named_by_their_paths(dbg: Any, folders: Any, method: str, slices: int) -> None:
    folder = written(next(folders), {f"f {i}, é%20.txt": f"{i}\n".encode() * i for i in range(5)})
    reading = read(dbg, getattr(dbg.context, method)(str(folder), slices))
    whole = {f"file:{path}": path.read_text() if method == "wholeTextFiles" else path.read_bytes() for path in folder.iterdir()}
    assert dict(known.record for known in reading.known) == whole
    assert [known.origin.path for known in reading.known] == [known.record[0] for known in reading.known]
    assert str(reading.known[0].origin) == reading.known[0].record[0]


@pytest.mark.parametrize("method", ["wholeTextFiles", "binaryFiles"])
def test_a_whole_file_that_changed_since_is_not_shown(dbg: Any, folders: Any, method: str) -> None:
    folder = written(next(folders), {"a": b"1", "b": b"2"})
    reading = read(dbg, getattr(dbg.context, method)(str(folder)))
    (folder / "b").write_bytes(b"3456")
    with pytest.raises(SourceChangedError, match="it was 1 bytes and is 4"):
        reading.trace.collect()


def test_a_file_that_changes_while_it_is_read_is_refused(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("a\nb\n")

    def replacing(lines: Any) -> Any:
        yield from list(lines)
        path.write_text("c\nd\n")

    busy = threading.Event()
    for _ in range(dbg._recorder.beside._max_workers):
        dbg._recorder.beside.submit(busy.wait, 2)
    rdd = dbg.context.textFile(str(path), 1).mapPartitions(replacing)
    with dbg.capture():
        assert rdd.collect() == ["a", "b"]
    with pytest.raises(SourceChangedError, match="have changed while the job ran"):
        rdd.getLineage().goBackAll().collect()


# ---- collections --------------------------------------------------------------------------------------------------


COLLECTIONS = {
    "list": list, "tuple": tuple, "numpy array": lambda r: np.array(r, dtype=np.int64), "numpy integers": lambda r: [np.int16(i) for i in r],
    "iterator": iter, "generator": lambda r: (i for i in r), "range": same, "range downwards": lambda r: range(3 * len(r), 0, -3),
}


@settings(max_examples=15)
@given(kind=st.sampled_from(sorted(COLLECTIONS)), length=st.integers(0, 40), slices=st.integers(1, 7))
def test_every_record_of_a_collection_is_named_by_its_index(dbg: Any, kind: str, length: int, slices: int) -> None:
    make = COLLECTIONS[kind]
    reading = read(dbg, dbg.context.parallelize(make(range(length)), slices))
    assert list(map(repr, reading.indexed)) == list(map(repr, enumerate(make(range(length)))))


@pytest.mark.parametrize("slices", [1, 3, 7])
def test_a_collection_of_several_batches_is_named_by_index(dbg: Any, slices: int) -> None:
    values = [str(i) for i in range(5000)]
    assert read(dbg, dbg.context.parallelize(values, slices)).indexed == list(enumerate(values))


def test_a_range_is_named_by_index_and_not_by_value(dbg: Any) -> None:
    assert read(dbg, dbg.context.range(10, 100, 7, 4)).indexed == list(enumerate(range(10, 100, 7)))


def test_rows_of_a_data_frame_are_named_by_index(dbg: Any, spark: Any) -> None:
    reading = read(dbg, spark.range(11).selectExpr("id", "id * id as square").rdd)
    assert [(i, tuple(row)) for i, row in reading.indexed] == [(i, (i, i * i)) for i in range(11)]


@pytest.mark.parametrize("slices", [1, 3])
def test_an_empty_collection_has_no_records_and_no_origins(dbg: Any, slices: int) -> None:
    trace = read(dbg, dbg.context.parallelize([], slices)).trace
    assert (trace.count(), trace.origins(), trace.collect(), trace.rids().tolist()) == (0, [], [], [])


# ---- several sources ----------------------------------------------------------------------------------------------


def test_each_source_of_a_union_is_named_by_itself(dbg: Any, folders: Any, spark: Any) -> None:
    text = dbg.context.textFile(str(written(next(folders), {"t.txt": b"a\nb\nc\n"})), 2)
    numbers, rows = dbg.context.parallelize([7, 8, 9], 2), spark.range(4).rdd
    result = dbg.context.union([text.map(str.upper), numbers.map(str), rows.map(lambda row: str(row.id))]).map(same)
    with dbg.capture("union"):
        outputs = result.collect()
    trace = result.getLineage()
    behind = [trace.at([rid]).goBackAll().origins() for rid in trace.rids().tolist()]
    assert [len(origins) for origins in behind] == [1] * 10
    origins = [origin for (origin,) in behind]
    assert outputs == ["A", "B", "C", "7", "8", "9", "0", "1", "2", "3"]
    assert [origin.line for origin in origins[:3]] == [1, 2, 3]
    assert [(origin.dataset, origin.index) for origin in origins[3:]] == [
        *(("parallelize", i) for i in range(3)), *(("df.rdd", i) for i in range(4)),
    ]


def test_one_source_used_twice_is_one_source_and_two_readings_are_two(dbg: Any) -> None:
    once = dbg.context.parallelize(range(4), 2)
    result = once.map(same).union(once.map(same)).union(dbg.context.parallelize(range(2), 1).map(same))
    with dbg.capture("twice"):
        result.collect()
    trace = result.getLineage().goBackAll()
    assert trace.inputs == ("parallelize", "parallelize#2")
    assert (trace["parallelize#2"].count(), trace.count()) == (2, 6)


@pytest.mark.parametrize("how", ["join", "leftOuterJoin", "cogroup"])
def test_an_rdd_of_plain_pyspark_is_a_source_by_index_when_it_is_joined_in(dbg: Any, how: str) -> None:
    right = dbg.plain_context.parallelize([(i % 4, i) for i in range(10)], 3).filter(lambda kv: kv[1] != 5).setName("right")
    left = dbg.context.parallelize([(k, -k) for k in range(3)], 2)
    result = getattr(left, how)(right, 2)
    with dbg.capture("plain"):
        records = result.collect()
    trace = result.getLineage()
    there = right.collect()
    for rid, record in zip(trace.rids().tolist(), records):
        behind = trace.at([rid]).goBackAll()
        known = [(origin.index, there[origin.index]) for origin in behind["right"].origins()]
        assert [(s.origin.index, s.record) for s in behind["right"].source_records()] == known
        if how == "cogroup":
            assert [kv for _, kv in known] == [kv for kv in there if kv[0] == record[0]]
        else:
            assert [kv for _, kv in known] == [(record[0], record[1][1])]
        assert behind["parallelize"].collect() == [(record[0], -record[0])] * (record[0] < 3)
    assert not hasattr(right, "getLineage")


# ---- what is not so yet -------------------------------------------------------------------------------------------


def test_an_rdd_of_plain_pyspark_is_a_source_by_index_in_a_union(dbg: Any) -> None:
    right = dbg.plain_context.parallelize([3, 4], 2).setName("right")
    reading = read(dbg, dbg.context.parallelize([1, 2], 2).union(right))
    assert reading.indexed == [(0, 1), (1, 2), (0, 3), (1, 4)]


@pytest.mark.parametrize(
    ("program", "outputs"),
    [
        (lambda empty, some: empty.map(lambda x: (x, 1)).reduceByKey(add), []),
        (lambda empty, some: empty.union(some), [1, 2]),
        (lambda empty, some: some.union(empty), [1, 2]),
    ],
)
def test_an_empty_rdd_adds_nothing_to_a_trace(dbg: Any, program: Any, outputs: list[int]) -> None:
    result = program(dbg.context.emptyRDD(), dbg.context.parallelize([1, 2], 2))
    with dbg.capture("empty"):
        assert result.collect() == outputs
    trace = result.getLineage().goBackAll()
    assert trace.collect() == outputs
    assert [origin.dataset for origin in trace.origins()] == ["parallelize"] * len(outputs)


def test_rows_of_a_dataframe_whose_file_changed_are_refused(spark: Any, dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old,1\nold,2\n")
    rows = spark.read.csv(str(path)).repartition(2).rdd
    with dbg.capture("rows"):
        doubled = dbg.context.union([rows, rows])
        assert doubled.count() == 4
    later = os.stat(path).st_mtime_ns + 1_000_000_000
    path.write_text("new,1\nnew,2\n")
    os.utime(path, ns=(later, later))
    with pytest.raises(SourceChangedError, match="has changed since"):
        doubled.getLineage().collect()


def test_many_splits_cost_few_calls(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "many lines.txt"
    path.write_text("".join(f"{n}\n" for n in range(3000)))
    lines = dbg.context.textFile(str(path), 1000)
    with dbg.capture("many"):
        assert lines.take(1) == ["0"]
    (facts,) = lines.getLineage().run.sources.values()
    assert len(facts.splits) >= 1000
    assert facts.splits[0].start == 0
    assert facts.splits[0].path == path.as_uri().replace("%20", " ").replace("file://", "file:")
    ends = [split.start + split.length for split in facts.splits]
    assert [split.start for split in facts.splits] == [0, *ends[:-1]]
    assert ends[-1] == path.stat().st_size


REPLACED = [
    lambda lines: lines.cache(), lambda lines: lines.map(lambda line: (len(line), 1)).cache(),
    lambda lines: lines.keyBy(len).groupByKey().mapValues(len).cache(),
]


@pytest.mark.parametrize("kept", REPLACED)
def test_a_file_that_was_replaced_by_an_older_one_under_a_cache_is_noticed(dbg: Any, tmp_path: Path, kept: Any) -> None:
    path, older = tmp_path / "in.txt", tmp_path / "older.txt"
    older.write_text("xxx\nyyy\nzzz\n")
    path.write_text("aaa\nbbb\nccc\n")
    cached = kept(dbg.context.textFile(str(path), 2))
    count = cached.count()
    older.replace(path)
    after = cached.map(lambda r: r)
    with dbg.capture("replaced"):
        assert after.count() == count
    with pytest.raises(SourceChangedError, match="since it was cached"):
        after.getLineage().goBackAll().collect()
    cached.unpersist()


@pytest.mark.many
@pytest.mark.parametrize("how", ["checkpoint", "localCheckpoint"])
@pytest.mark.parametrize("first", [True, False])
def test_a_checkpoint_does_not_make_us_forget(dbg: Any, tmp_path: Path, how: str, first: bool) -> None:
    """Spark forgets the splits of a file, and the groups of a coalesce, when it has written a checkpoint."""
    path = tmp_path / "in.txt"
    path.write_text("".join(f"line {n}\n" for n in range(20)))
    dbg.context.setCheckpointDir(str(tmp_path / "checkpoints"))
    lines = dbg.context.textFile(str(path), 3)
    few = dbg.context.parallelize(range(12), 6).map(lambda x: x + 1).coalesce(2)
    for rdd in (lines, few):
        getattr(rdd, how)()
        if not first:
            rdd.count()
    seventh, doubled = lines.filter(lambda line: line.endswith("7")), few.map(lambda x: 2 * x)
    for _ in range(2):
        with dbg.capture("checkpoint"):
            seventh.collect()
            doubled.collect()
        assert [str(origin).rsplit(":", 1)[1] for origin in seventh.getLineage().goBackAll().origins()] == ["8", "18"]
        assert doubled.getLineage().where(lambda x: x == 14).goBackAll().collect() == [6]
        assert doubled.getLineage().where(lambda x: x == 14).replay().collect() == [14]


@pytest.mark.parametrize("partitions", [1, 3, 4])
@pytest.mark.parametrize("number", [0, 1, 7, 1000, 1025, 5000])
@pytest.mark.parametrize("make", [range, lambda number: list(range(number))])
def test_sizes_of_a_collection_are_those_that_spark_deals(dbg: Any, make: Any, number: int, partitions: int) -> None:
    numbers = dbg.context.parallelize(make(number), partitions)
    facts = facts_of(numbers)
    assert [facts.size(p) for p in range(partitions)] == numbers.glom().map(len).collect()
