"""What Spark tells of jobs, read without Spark: RDDs of files by their names, paths as datasets, and batches that are handed on."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Process
from bigdebug.spark.datasets.accesses import summed
from bigdebug.spark.datasets.commands import COMMANDS, is_idle
from bigdebug.spark.datasets.doing import Doing
from bigdebug.spark.datasets.names import folded
from bigdebug.spark.datasets.rdds import Jobs, job_of
from bigdebug.spark.datasets.reading import Reading, together
from bigdebug.spark.datasets.runs import Runs
from bigdebug.spark.datasets.streaming import composed
from bigdebug.spark.datasets.targets import UNREAD

IN, OUT, BATCH = Dataset("file", "/in"), Dataset("file", "/out"), Dataset("spark:x", "batch", "memory")


def rdd(number: int, name: str, scope: str = "", parents: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"RDD ID": number, "Name": name, "Scope": json.dumps({"id": scope, "name": scope}) if scope else None, "Parent IDs": list(parents)}


def started(*rdds: dict[str, Any], **properties: str) -> str:
    stage = {"Stage ID": 4, "Stage Name": "take at SerDeUtil.scala:1", "RDD Info": list(rdds)}
    return json.dumps({"Job ID": 2, "Submission Time": 1_000, "Stage Infos": [stage], "Stage IDs": [4], "Properties": properties})


@pytest.mark.parametrize(("rdds", "paths", "unknown"), [
    ([rdd(1, "/a/b", "textFile"), rdd(2, "/a/b", "textFile", (1,)), rdd(3, "PythonRDD", "", (2,))], ("/a/b",), ()),
    ([rdd(1, "/d/{a,b{c,d}}.txt,/e}f,/g", "textFile")], ("/d/{a,b{c,d}}.txt", "/e}f", "/g"), ()),
    ([rdd(1, "/a,/b", "textFile"), rdd(2, "mine", "textFile", (1,))], ("/a", "/b"), ()),
    ([rdd(1, "WholeTextFileRDD", "wholeTextFiles"), rdd(2, "s3a://a/b", "wholeTextFiles", (1,))], ("s3a://a/b",), ()),
    ([rdd(1, "WholeTextFileRDD", "wholeTextFiles"), rdd(2, "mine", "wholeTextFiles", (1,))], (), ("WholeTextFileRDD",)),
    ([rdd(1, "ParallelCollectionRDD", "parallelize")], (), ()),
    ([rdd(1, "/etc/passwd", "parallelize")], (), ("RDD",)),
    ([rdd(1, "HadoopRDD", "hadoopRDD")], (), ("HadoopRDD",)),
    ([rdd(1, "FileScanRDD")], (), ()),
    ([rdd(1, "MineRDD")], (), ("MineRDD",)),
    ([], (), ()),
])
def test_rdds_of_files_are_called_by_their_paths(rdds: list[dict[str, Any]], paths: tuple[str, ...], unknown: tuple[str, ...]) -> None:
    job = job_of(started(*rdds))
    assert (job.paths, job.unknown) == (paths, unknown)


def test_a_job_is_called_by_the_users_line_where_there_is_one() -> None:
    assert job_of(started()).call == "take at SerDeUtil.scala:1"
    named = job_of(started(**{"callSite.short": "count at a.py:3", "spark.job.tags": "a,b"}))
    assert (named.call, named.tags, named.at) == ("count at a.py:3", frozenset("ab"), datetime.fromtimestamp(1, timezone.utc))


def test_files_that_spark_wrote_are_their_folder_and_others_themselves() -> None:
    parts = [f"file:/d/a/part-{i:05}-x.parquet" for i in range(3)]
    assert [str(each) for each in folded([*parts, "file:/d/b.csv", "file:/d/c"], "csv")] == ["file:/d/a", "file:/d/b.csv", "file:/d/c"]
    assert [str(each) for each in folded([f"s3://bucket/in/{i}.json" for i in range(5_000)], "json")] == ["s3://bucket/in"]


def test_rows_of_a_batch_are_followed_to_what_the_batch_was_made_of() -> None:
    batch = Reading("W", (Access(IN),), (Access(BATCH, "created"),), (
        ColumnEdge(BATCH, "", IN, "k", "FILTER"), ColumnEdge(BATCH, "a", IN, "x", "TRANSFORMATION"), ColumnEdge(BATCH, "b", IN, "y", "IDENTITY", True),
    ))
    query = Reading("I", (Access(BATCH),), (Access(OUT, "appended"),), (
        ColumnEdge(OUT, "s", BATCH, "a", "AGGREGATION"), ColumnEdge(OUT, "t", BATCH, "b", "IDENTITY"), ColumnEdge(OUT, "", BATCH, "b", "GROUP_BY"),
        ColumnEdge(OUT, "u", IN, "z", "IDENTITY"),
    ))
    found = composed(batch, query, [BATCH])
    assert found.reads == ()
    assert set(found.columns) == {
        ColumnEdge(OUT, "", IN, "k", "FILTER"), ColumnEdge(OUT, "s", IN, "x", "AGGREGATION"), ColumnEdge(OUT, "t", IN, "y", "IDENTITY", True),
        ColumnEdge(OUT, "", IN, "y", "GROUP_BY"), ColumnEdge(OUT, "u", IN, "z", "IDENTITY"),
    }


def test_an_unknown_command_did_what_the_queries_within_it_did() -> None:
    inner = Reading("I", (Access(IN, rows=3),), (Access(OUT, "appended", rows=3),), (ColumnEdge(OUT, "a", IN, "a", "IDENTITY"),))
    found = together(Reading("OptimizeCommand", opaque=("OptimizeCommand",)), [inner])
    assert (found.name, found.reads, found.writes, found.columns, found.opaque) == (
        "OptimizeCommand", inner.reads, inner.writes, inner.columns, ("OptimizeCommand",),
    )


def test_a_command_is_counted_by_the_write_within_it() -> None:
    outer = Reading("CreateDataSourceTableAsSelectCommand", (Access(IN),), (Access(OUT, "created"),))
    found = together(outer, [Reading("I", (Access(IN, rows=9, size=90),), (Access(Dataset("file", "/w"), "overwritten", rows=3, size=30),))])
    assert (found.reads, found.writes) == ((Access(IN, rows=9, size=90),), (Access(OUT, "created", rows=3, size=30),))


def doing() -> Doing:
    return Doing(Process("1", "j", "fit", "s", datetime.now(timezone.utc)), inner=False)


def test_rows_that_one_job_did_not_read_are_those_that_others_counted() -> None:
    done = doing()
    done.of(reads=[IN])
    for rows in (5, None, 3):  # of the second the rows were kept, say
        done.take(Reading(reads=(Access(IN, rows=rows),)), [])
    assert done.now().reads == (Access(IN, rows=8),)


def test_rows_that_one_job_read_and_did_not_count_are_not_known() -> None:
    done = doing()
    done.take(Reading(reads=(Access(IN, rows=5, size=50),)), [])
    done.take(Reading(reads=(Access(IN, size=50),), uncounted=frozenset({IN})), [])
    assert done.now().reads == (Access(IN),)
    outer = Reading("C", (Access(IN),), (Access(OUT, "created"),))
    found = together(outer, [Reading("I", (Access(IN, rows=9),)), Reading("J", (Access(IN),), uncounted=frozenset({IN}))])
    assert (found.reads, found.uncounted) == ((Access(IN),), frozenset({IN}))


@given(st.tuples(*[st.one_of(st.none(), st.integers(0, 9))] * 4))
def test_accesses_add_up_as_far_as_they_are_known(counts: tuple[int | None, ...]) -> None:
    both = summed(Access(IN, rows=counts[0], size=counts[1]), Access(IN, rows=counts[2], size=counts[3]))
    for found, one, other in ((both.rows, counts[0], counts[2]), (both.size, counts[1], counts[3])):
        assert found == (None if one is None and other is None else (one or 0) + (other or 0))


def test_commands_that_change_data_are_not_idle() -> None:
    assert not [name for name in COMMANDS if is_idle(name)]
    assert is_idle("ShowTablesCommand")
    assert is_idle("SetCommand")
    assert is_idle("AddJarsCommand")
    assert not is_idle("OptimizeTableCommand")


@pytest.mark.parametrize("run_first", [True, False])
def test_a_process_and_its_run_come_together_in_either_order(run_first: bool) -> None:
    told: list[Process] = []
    runs = Runs(None, told.append)  # type: ignore[arg-type]  # no action begins here
    process = Process("1", "j", "query", "s", datetime.now(timezone.utc))
    if run_first:
        runs.ran("bigdebug:run:a", "run-1")
        assert runs.joined(process, ["x", "bigdebug:run:a"]).run == "run-1"
        assert told == []
    else:
        assert runs.joined(process, ["x", "bigdebug:run:a"]).run == ""
        runs.ran("bigdebug:run:a", "run-1")
        assert [each.run for each in told] == ["run-1"]
    assert runs.joined(process, ["x"]) is process


@pytest.mark.parametrize(("parts", "mode"), [([], "overwritten"), (["d"], "written")])
def test_partitions_are_overwritten_as_a_whole_where_there_are_none(parts: list[str], mode: str) -> None:
    """``writeTo(t).overwritePartitions()`` of a table of the second kind."""
    schema = SimpleNamespace(json=lambda: '{"type": "struct", "fields": []}')
    relation = SimpleNamespace(table=lambda: SimpleNamespace(partitioning=lambda: parts), schema=lambda: schema)
    node, relations = SimpleNamespace(table=lambda: relation, query=lambda: None), MagicMock(of_leaf=lambda leaf: (OUT,))
    target = COMMANDS["OverwritePartitionsDynamic"](relations, UNREAD, node)
    assert target is not None
    assert (target.dataset, target.mode) == (OUT, mode)


@pytest.mark.parametrize(("status", "rows"), [("COMPLETE", 7), ("SKIPPED", None), ("ACTIVE", None), ("PENDING", None)])
def test_rows_of_a_job_are_told_once_spark_has_counted_all_of_it(status: str, rows: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that is skipped is called pending until Spark's store has heard that the job ended, and that may be later than we wait."""
    monkeypatch.setattr("bigdebug.spark.datasets.rdds.classes", MagicMock())
    monkeypatch.setattr("bigdebug.spark.datasets.rdds.matching", lambda sc, path, at, made: [path])
    stage = MagicMock(**{"status.return_value": status, "inputRecords.return_value": 7, "outputRecords.return_value": 0, "outputBytes.return_value": 0})
    context = MagicMock(**{"_jsc.sc.return_value.statusStore.return_value.lastStageAttempt.return_value": stage})
    jobs = Jobs(context, MagicMock(**{"of.return_value": None}), lambda seconds: False)
    jobs._writer.sparkEventToJsonString.return_value = started(rdd(1, "/in", "textFile"), **{"callSite.short": "count"})
    jobs.start(None)
    ended = jobs.end(MagicMock(**{"jobId.return_value": 2, "jobResult.return_value.getClass.return_value.getSimpleName.return_value": "JobSucceeded$"}))
    assert ended is not None
    assert [(access.dataset, access.rows) for access in ended.reading.reads] == [(IN, rows)]
