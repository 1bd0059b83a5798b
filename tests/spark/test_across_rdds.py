"""Runs of RDDs as steps: a line of what was saved leads to the lines that it was made of, and back."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bigdebug
from bigdebug.errors import UnknownStepError, UntraceableError
from bigdebug.trace.across.located import Located, Unit
from bigdebug.trace.across.pipelines import pipeline

STRANGE = ["", "a", "b,1", "<script>alert(1)</script>", "שלום", "c d", "0"]


def step_of(dbg: Any, run: Any) -> Any:
    return dbg._steps.step_of(run.latest)


def saved(dbg: Any, save: Any) -> Any:
    with dbg.capture() as run:
        save()
    return step_of(dbg, run)


def back(step: Any, path: str, *positions: int) -> list[tuple[str, str, list[int]]]:
    unit = next(extent.unit for extent in step.writes if extent.path == path)
    return told(step.backward([Located.of(path, unit, positions)]))


def told(found: Sequence[Located]) -> list[tuple[str, str, list[int]]]:
    return sorted((os.path.basename(one.path), one.unit.value, one.positions.tolist()) for one in found)


def lines_in(path: str) -> list[str]:
    text = gzip.open(path, "rb").read() if path.endswith(".gz") else Path(path).read_bytes()
    return text.decode().splitlines() if b"\x0b" not in text else []


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "in put.txt"
    path.write_text("".join(f"{i},{i % 4}\n" for i in range(20)))
    return str(path)


def test_lines_of_a_text_file_to_lines_of_part_files(dbg: Any, text: str, tmp_path: Path) -> None:
    odd = dbg.context.textFile(text, 3).filter(lambda line: int(line.split(",")[0]) % 2 == 1)
    step = saved(dbg, lambda: odd.saveAsTextFile(str(tmp_path / "out")))
    assert [(e.unit, e.form, os.path.basename(e.path)) for e in step.reads] == [(Unit.LINE, "text", "in put.txt")]
    assert [os.path.basename(e.path) for e in step.writes] == ["part-00000", "part-00001", "part-00002"]
    assert step.kind == "Spark job"
    assert step.began <= step.ended
    assert step.incomplete == ()
    for extent in step.writes:
        for number, line in enumerate(lines_in(extent.path)):
            assert back(step, extent.path, number) == [("in put.txt", "line", [int(line.split(",")[0])])]
    forward = step.forward([Located.of(text, Unit.LINE, [3, 4, 19])])
    assert [lines_in(one.path)[p] for one in forward for p in one.positions] == ["3,3", "19,3"]
    assert step.forward([Located.of(str(tmp_path / "other"), Unit.LINE, [0])]) == ()


@pytest.mark.parametrize("codec", [None, "org.apache.hadoop.io.compress.GzipCodec", "org.apache.hadoop.io.compress.DeflateCodec"])
def test_records_with_ends_of_lines_are_several_lines(dbg: Any, tmp_path: Path, codec: str | None) -> None:
    (tmp_path / "in.txt").write_text("plain\nnone\ntwo\nreturn\nbytes\nempty\nlast\n")
    made: dict[str, Any] = {
        "plain": "plain", "none": None, "two": "one\ntwo", "return": "a\rb\r", "bytes": b"by\r\ntes\n", "empty": "", "last": ("a", 1),
    }
    records = dbg.context.textFile(str(tmp_path / "in.txt"), 1).map(lambda line: made[line])
    step = saved(dbg, lambda: records.saveAsTextFile(str(tmp_path / "out"), codec))
    [written] = step.writes
    owners = [0, 1, 2, 2, 3, 3, 4, 4, 4, 5, 6]
    assert [back(step, written.path, number) for number in range(11)] == [[("in.txt", "line", [owner])] for owner in owners]
    assert back(step, written.path, 11) == []
    for line in range(7):
        [one] = step.forward([Located.of(str(tmp_path / "in.txt"), Unit.LINE, [line])])
        assert one.positions.tolist() == [number for number, owner in enumerate(owners) if owner == line]
    if codec is None:
        assert [line.decode() for line in Path(written.path).read_bytes().splitlines()][:3] == ["plain", "None", "one"]


def test_pickles_and_sequence_files_have_a_row_for_each_record(dbg: Any, text: str, tmp_path: Path) -> None:
    pairs = dbg.context.textFile(text, 3).map(lambda line: (line.split(",")[1], int(line.split(",")[0])))
    pickled = saved(dbg, lambda: pairs.saveAsPickleFile(str(tmp_path / "pickles"), 3))
    summed = dbg.context.pickleFile(str(tmp_path / "pickles"), 2).reduceByKey(lambda a, b: a + b, 2)
    second = saved(dbg, lambda: summed.saveAsSequenceFile(str(tmp_path / "sequence")))
    doubled = dbg.context.sequenceFile(str(tmp_path / "sequence")).filter(lambda pair: pair[0] == "3").mapValues(lambda n: 2 * n)
    third = saved(dbg, lambda: doubled.saveAsTextFile(str(tmp_path / "text")))
    assert {(e.unit, e.form) for e in (*second.reads, *third.reads)} == {(Unit.ROW, "pickle"), (Unit.ROW, "sequence")}
    [line] = [Located.of(e.path, e.unit, [0]) for e in third.writes if lines_in(e.path)]
    assert told(pickled.backward(second.backward(third.backward([line])))) == [("in put.txt", "line", [3, 7, 11, 15, 19])]
    ahead = third.forward(second.forward(pickled.forward([Located.of(text, Unit.LINE, [7])])))
    assert list(ahead) == [line]
    assert not third.forward(second.forward(pickled.forward([Located.of(text, Unit.LINE, [8])])))


def test_files_that_are_a_record_each(dbg: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "in" / name).write_text(f"{name}1\n{name}2\n")
    lines = dbg.context.wholeTextFiles(str(tmp_path / "in"), 2).flatMap(lambda pair: pair[1].split())
    step = saved(dbg, lambda: lines.coalesce(1).saveAsTextFile(str(tmp_path / "out")))
    [written] = step.writes
    made = lines_in(written.path)
    for number, line in enumerate(made):
        assert back(step, written.path, number) == [(line[0], "whole", [0])]
    [one] = step.forward([Located.of(str(tmp_path / "in" / "b"), Unit.WHOLE, [0])])
    assert [made[p] for p in one.positions] == ["b1", "b2"]


def test_what_hadoop_writes(dbg: Any, text: str, tmp_path: Path) -> None:
    pairs = dbg.context.textFile(text, 2).map(lambda line: (int(line.split(",")[0]), line))
    as_text, old, new = "org.apache.hadoop.mapred.TextOutputFormat", "old", "new"
    step = saved(dbg, lambda: pairs.saveAsHadoopFile(str(tmp_path / old), as_text))
    assert back(step, step.writes[1].path, 0) == [("in put.txt", "line", [int(lines_in(step.writes[1].path)[0].split("\t")[0])])]
    form = "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"
    step = saved(dbg, lambda: pairs.saveAsNewAPIHadoopFile(str(tmp_path / new), form))
    assert (step.writes[0].unit, step.writes[0].form) == (Unit.ROW, "sequence")
    assert back(step, step.writes[0].path, 2) == [("in put.txt", "line", [2])]
    broken = saved(dbg, lambda: pairs.mapValues(lambda line: f"{line}\n").saveAsHadoopFile(str(tmp_path / "broken"), as_text))
    with pytest.raises(UntraceableError, match="lines for"):
        back(broken, broken.writes[0].path, 0)


def test_files_with_names_of_their_own_are_told(dbg: Any, text: str, tmp_path: Path) -> None:
    pairs = dbg.context.textFile(text, 2).map(lambda line: (int(line.split(",")[0]), line))
    form, named = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat", {"mapreduce.output.basename": "report"}
    step = saved(dbg, lambda: pairs.saveAsNewAPIHadoopFile(str(tmp_path / "out"), form, conf=named))
    assert any("report-r-00000, report-r-00001 is not known" in why for why in step.incomplete)
    assert [(extent.path, extent.unit) for extent in step.writes] == [(str(tmp_path / "out"), Unit.WHOLE)]
    reading = saved(dbg, lambda: dbg.context.textFile(str(tmp_path / "out"), 1).saveAsTextFile(str(tmp_path / "last")))
    opened = bigdebug.open(dbg.save(tmp_path / "saved", [step.run, reading.run], lineage=True))
    for found in (pipeline(step, reading), pipeline(opened)):
        one, other = found.backward(reading.writes[0].path, lines=[1]), found.backward(str(tmp_path / "out" / "report-r-00000"), lines=[1])
        assert ([s.id for s in one.steps], [s.id for s in other.steps]) == ([step.id, reading.id], [step.id])
        for flow in (one, other):
            assert [(os.path.basename(source.extent.path), source.located.unit) for source in flow.sources] == [("in put.txt", Unit.WHOLE)]
            assert not flow.exact
            assert any("may be one of them" in note for note in flow.notes)
        ahead = found.forward(text, lines=[1])
        assert ([s.id for s in ahead.steps], ahead.exact) == ([step.id, reading.id], False)
        assert reading.writes[0].path in [one.extent.path for one in ahead.results]
        with pytest.raises(UnknownStepError, match="No step of the pipeline read or wrote this file"):
            found.backward(str(tmp_path / "out" / "none"), lines=[1])


def test_what_is_changed_later_is_still_known_by_the_records(dbg: Any, text: str, tmp_path: Path) -> None:
    step = saved(dbg, lambda: dbg.context.textFile(text, 1).map(lambda line: f"{line}\n").saveAsTextFile(str(tmp_path / "out")))
    [written] = step.writes
    assert written.stamp is not None
    assert written.stamp.digest
    Path(written.path).write_text("something else\n")
    assert back(step, written.path, 5) == [("in put.txt", "line", [2])]


def test_actions_that_write_nothing_and_records_that_people_hold(dbg: Any, text: str, tmp_path: Path) -> None:
    lines = dbg.context.textFile(text, 2)
    last = lines.filter(lambda line: line.startswith("1"))
    with dbg.capture() as run:
        last.collect()
    step = step_of(dbg, run)
    assert step.writes == ()
    trace = last.getLineage().where(lambda line: line.startswith("17"))
    assert told(step.inputs_of(trace)) == [("in put.txt", "line", [17])]
    assert step.outputs_of(trace) == []
    wrote = saved(dbg, lambda: last.saveAsTextFile(str(tmp_path / "out")))
    assert wrote.inputs_of(trace) is None
    mine = dbg.lineage(wrote.run).where(lambda line: line.startswith("17"))
    assert [lines_in(one.path)[p] for one in wrote.outputs_of(mine) for p in one.positions] == ["17,1"]


def test_a_run_that_crosses_from_a_dataframe_and_back(dbg: Any, spark: Any, text: str, tmp_path: Path) -> None:
    frame = spark.read.schema("i int, k int").csv(text).where("i > 4")
    again = spark.createDataFrame(frame.rdd.map(lambda row: (row.k, row.i)), "k int, i int").groupBy("k").sum("i")
    last = again.rdd.map(lambda row: f"{row[0]}:{row[1]}")
    step = saved(dbg, lambda: last.saveAsTextFile(str(tmp_path / "out")))
    assert [(e.unit, e.form, os.path.basename(e.path)) for e in step.reads] == [(Unit.ROW, "csv", "in put.txt")]
    place = next((e.path, n) for e in step.writes for n, line in enumerate(lines_in(e.path)) if line.startswith("3:"))
    assert back(step, *place) == [("in put.txt", "row", [7, 11, 15, 19])]
    [one] = step.forward([Located.of(text, Unit.ROW, [11])])
    assert (one.path, one.positions.tolist()) == (place[0], [place[1]])


WAYS = {
    "words": lambda rdd: rdd.flatMap(lambda line: line.replace(",", " ").split(" ")),
    "long": lambda rdd: rdd.filter(lambda line: len(line) > 1),
    "broken": lambda rdd: rdd.map(lambda line: f"{line}\n{line[:1]}"),
    "counts": lambda rdd: rdd.map(lambda line: (line[:1], 1)).reduceByKey(lambda a, b: a + b, 2).map(lambda pair: f"{pair[0]}={pair[1]}"),
    "sorted": lambda rdd: rdd.sortBy(lambda line: line, numPartitions=2),
    "once": lambda rdd: rdd.distinct(2),
}


@given(lines=st.lists(st.sampled_from(STRANGE), min_size=1, max_size=8), ways=st.lists(st.sampled_from(sorted(WAYS)), min_size=1, max_size=3))
@settings(max_examples=10)
def test_each_line_comes_out_of_its_lines_alone_and_forward_is_the_inverse(
    dbg: Any, tmp_path_factory: Any, lines: list[str], ways: list[str],
) -> None:
    """Laws 2 and 3 for files."""
    home = tmp_path_factory.mktemp("law")
    (home / "in.txt").write_text("".join(f"{line}\n" for line in lines))

    def program(rdd: Any) -> Any:
        for way in ways:
            rdd = WAYS[way](rdd)
        return rdd

    step = saved(dbg, lambda: program(dbg.context.textFile(str(home / "in.txt"), 2)).saveAsTextFile(str(home / "out")))
    made = {(e.path, number): set() for e in step.writes for number in range(len(lines_in(e.path)))}
    for (path, number), sources in made.items():
        for one in step.backward([Located.of(path, Unit.LINE, [number])]):
            sources.update(one.positions.tolist())
    for line in range(len(lines)):
        ahead = {(one.path, p) for one in step.forward([Located.of(str(home / "in.txt"), Unit.LINE, [line])]) for p in one.positions.tolist()}
        assert ahead == {place for place, sources in made.items() if line in sources}
    plain = dbg.plain_context
    for (path, number), sources in list(made.items())[:3]:
        again = program(plain.parallelize([lines[source] for source in sorted(sources)], 2)).collect()
        assert lines_in(path)[number] in [line for record in again for line in f"{record}".split("\n")]
