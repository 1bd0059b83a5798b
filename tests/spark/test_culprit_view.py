"""bigdebug.view of culprits on Spark: what a browser decides of the records that runs of RDD programs and of DataFrames crashed on, and the runs resumed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from operator import add
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

import bigdebug
from bigdebug.trace.run import Run
from bigdebug.views.culpritview import CulpritView
from bigdebug.views.payload import VERSION
from bigdebug.views.traceview import TraceView
from tests.spark.code_that_crashes import number, plain


def failed(dbg: Any, action: Callable[[], Any]) -> Run:
    with pytest.raises(Exception, match=r"\[|Python worker"), dbg.capture("crash") as capture:
        action()
    run: Run = capture.latest
    return run


def look(what: Any) -> Any:
    view = bigdebug.view(what)
    assert isinstance(view, CulpritView)
    return view


def asked(view: Any, request: str, **content: Any) -> Any:
    said = view.answer({"version": VERSION, "id": 1, "request": request, "content": content})
    assert said["answer"] == request, str(said["content"])
    return said["content"]


def resumed(view: Any) -> Any:
    """How the view stands when a resume has ended."""
    asked(view, "resume")
    assert view.wait(60)
    return asked(view, "culprits")


def repair(view: Any, number: int, **texts: str | None) -> Any:
    names = [field["name"] for field in asked(view, "culprit", number=number)["fields"]]
    return asked(view, "repair", number=number, edits=[{"field": names.index(name), "text": text} for name, text in texts.items()])


def test_a_line_of_a_file_is_repaired_and_the_others_are_skipped(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers.txt"
    path.write_text("".join(f"{i}\n" if i % 7 else f"bad{i}\n" for i in range(1, 31)))
    pairs = dbg.context.textFile(str(path), 4).map(int).map(lambda n: (n % 2, n)).reduceByKey(add, 2)
    run = failed(dbg, pairs.collect)
    view = look(run)
    asked(view, "find") if not run.culprits.complete else None
    assert view.wait(60)
    standing = asked(view, "culprits")
    (cause,) = standing["causes"]
    assert (standing["known"], cause["exception"], cause["culprits"]) == (4, "ValueError", 4)
    page = asked(view, "page", cause=0, start=0)
    number = next(row["number"] for row in page["rows"] if row["record"] == "'bad14'")
    culprit = asked(view, "culprit", number=number)
    assert [(field["value"], field["text"]) for field in culprit["fields"]] == [("'bad14'", "bad14")]
    assert asked(view, "sources", number=number)["records"] == [{"origin": f"file:{path}:14", "record": "'bad14'"}]
    assert "run.graph[" in culprit["fix"]["code"]
    repair(view, number, record="14")
    asked(view, "skip", of="all", at=0, on=True)
    done = resumed(view)
    assert done["problem"] is None
    good = [n for n in range(1, 31) if n % 7 or n == 14]
    assert sorted(view.resumed.result) == [(0, sum(n for n in good if not n % 2)), (1, sum(n for n in good if n % 2))]
    assert done["resumed"]["ran"] >= 1
    assert (done["resumed"]["crashed"], done["resumed"]["again"]) == (4, [])
    page = asked(view, "result", start=0)
    assert (page["columns"], page["total"]) == (["_1", "_2"], 2)
    assert asked(look(run.culprits[2]), "culprits")["first"]["number"] == 2
    assert isinstance(bigdebug.view(view.resumed.run), TraceView)


def test_a_resume_leaves_alone_what_a_cell_does_meanwhile(dbg: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    def slow(n: int) -> float:
        while gate.exists():
            time.sleep(0.05)
        return 1 / (n % 4)

    view = look(failed(dbg, dbg.context.parallelize(range(8), 1).map(slow).collect))
    gate.touch()
    asked(view, "skip", of="all", at=0, on=True)
    asked(view, "resume")
    for _ in range(100):
        if (asked(view, "culprits")["doing"] or {}).get("what") == "resuming":
            break
        time.sleep(0.05)
    before = dbg.runs
    other = dbg.context.parallelize(["1", "x"], 1).map(int)
    with pytest.raises(Exception, match="invalid literal"):
        other.collect()  # as it would if nothing was resumed
    assert asked(view, "culprits")["doing"] is not None
    gate.unlink()
    assert view.wait(60)
    assert len(view.resumed.result) == 6
    assert view.resumed.run.name == "crash, resumed"
    assert [run.action for run in dbg.runs if run not in before and run.id != view.resumed.run.id] == ["collect"]


def test_a_repair_that_crashes_again_is_told_and_mended(dbg: Any) -> None:
    view = look(failed(dbg, dbg.context.parallelize([("a", "1"), ("b", "x"), ("c", "y")], 1).map(lambda pair: (pair[0], int(pair[1]))).collect))
    repair(view, 0, _2="worse")
    repair(view, 1, _2="3")
    done = resumed(view)["resumed"]
    assert len(done["again"]) == 1
    assert "('b', 'worse'): ValueError" in done["again"][0]
    assert view.resumed.result == [("a", 1), ("c", 3)]
    repair(view, 0, _2="2")
    assert resumed(view)["resumed"]["again"] == []
    assert view.resumed.result == [("a", 1), ("b", 2), ("c", 3)]


@pytest.fixture
def cell() -> Iterator[Callable[[str], dict[str, Any]]]:
    """Runs a cell of a notebook, and gives what its names are then."""
    names = vars(sys.modules["__main__"])
    before = dict(names)

    def run(source: str) -> dict[str, Any]:
        exec(compile(source, "cell", "exec"), names)
        return names

    yield run
    for name in names.keys() - before.keys():
        del names[name]


def test_a_function_is_edited_in_its_cell_and_called_on_the_records_that_crashed(dbg: Any, cell: Any) -> None:
    names = cell("def minutes(flight): return flight[0], int(flight[1])\ndef even(pair): return 12 // (pair[1] - 3) > 0")
    flights = dbg.context.parallelize([("AA", "1"), ("B6", "NA"), ("DL", "3"), ("UA", "-")], 2)
    view = look(failed(dbg, flights.map(names["minutes"]).filter(names["even"]).collect))
    view._work.find_all()
    cell("def minutes(flight): return flight[0], int(flight[1]) if flight[1] != 'NA' else 9 // 0")
    number = next(number for number, one in enumerate(view.culprits.known) if one.record == ("B6", "NA"))
    assert asked(view, "culprit", number=number)["fix"]["defined"] == "minutes, cell:1"
    asked(view, "fix", number=number, on=True)
    asked(view, "skip", of="all", at=0, on=True)
    done = resumed(view)["resumed"]
    assert sorted(each.partition(":")[0] for each in done["again"]) == ["('B6', 'NA')", "('UA', '-')"]
    cell("def minutes(flight): return flight[0], {'NA': 9, '-': 5}.get(flight[1], 0)")
    asked(view, "fix", number=number, on=True)
    assert resumed(view)["resumed"]["again"] == []
    assert sorted(view.resumed.result) == [("B6", 9), ("UA", 5)]  # and of those that did not crash, what the first function gave


def test_a_function_without_a_name_is_called_with_what_it_calls_as_that_is_now(dbg: Any, cell: Any) -> None:
    names = cell("def number(text): return int(text)\nread = lambda text: number(text)")
    view = look(failed(dbg, dbg.context.parallelize(["1", "x"], 1).map(names["read"]).collect))
    cell("def number(text): return -1")
    assert asked(view, "fix", number=0, on=True)["decided"]["fixed"] == 1
    assert resumed(view)["problem"] is None
    assert view.resumed.result == [1, -1]
    assert asked(view, "culprit", number=0)["fix"]["by"] == "<lambda>, cell:2"


def test_a_function_that_is_not_of_the_notebook_or_not_of_one_record_is_not_taken_by_its_name(dbg: Any, cell: Any) -> None:
    cell("def number(text): return int(text)")
    records = dbg.context.parallelize([("a", "x")], 1)
    for crash in (records.mapValues(number), records.map(number), records.values().map(int)):
        view = look(failed(dbg, crash.collect))
        fix = asked(view, "culprit", number=0)["fix"]
        assert (fix["defined"], fix["by"]) == (None, None)
        assert "run.graph[" in fix["code"]
        said = view.answer({"version": VERSION, "id": 1, "request": "fix", "content": {"number": 0, "on": True}})
        assert "no function that this notebook defines for one record" in said["content"]["what"]


def test_a_function_of_values_is_taken_by_its_name_and_called_on_values(dbg: Any, cell: Any) -> None:
    names = cell("def number(text): return int(text)")
    view = look(failed(dbg, dbg.context.parallelize([("a", "1"), ("b", "0x10")], 1).mapValues(names["number"]).collect))
    assert asked(view, "culprit", number=0)["fix"]["defined"] == "number, cell:1"
    cell("def number(text): return int(text, 0)")
    asked(view, "fix", number=0, on=True)
    assert resumed(view)["problem"] is None
    assert view.resumed.result == [("a", 1), ("b", 16)]


def test_culprits_of_a_run_that_was_forgotten_are_still_looked_at(dbg: Any, cell: Any) -> None:
    names = cell("def number(text): return int(text)")
    run = failed(dbg, dbg.context.parallelize(["1", "x"], 1).map(names["number"]).collect)
    view = look(run)
    view._work.find_all()
    before = asked(view, "culprits")
    assert (before["refused"], before["forecast"] is None) == (None, False)
    dbg.forget(run)
    after = asked(view, "culprits")
    assert (after["known"], after["refused"], after["forecast"]) == (1, "This run has been forgotten. Run the job again under capture.", None)
    assert asked(view, "culprit", number=0)["fix"]["defined"] is None
    asked(view, "skip", of="all", at=0, on=True)
    with pytest.raises(AssertionError, match="This run has been forgotten"):
        asked(view, "resume")


def ratios(sc: Any) -> Any:
    return sc.parallelize(range(12), 3).map(lambda n: (n % 4, n)).reduceByKey(add, 2).mapValues(lambda total: 100 // (total - 12)).collect()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "behind a shuffle": ratios,
    "before one": lambda sc: sc.parallelize(["1", "2", "3", "x"], 4).map(int).map(lambda n: (n % 2, n)).reduceByKey(add, 2).collect(),
    "in a merge": lambda sc: sc.parallelize(range(12), 3).map(lambda n: (n % 4, n)).reduceByKey(lambda a, b: a + b if a + b != 12 else 1 // 0, 2).collect(),
    "between two": lambda sc: (
        sc.parallelize(range(12), 3).map(lambda n: (n % 4, n)).reduceByKey(add, 2).map(lambda kv: (kv[0] % 2, 100 // (kv[1] - 12))).reduceByKey(add, 3).collect()
    ),
    "of a union": lambda sc: sc.parallelize(["1", "x"], 2).map(int).union(sc.parallelize(range(3), 3)).map(lambda n: n).count(),
    "moved": lambda sc: sc.parallelize(["1", "x", "3"], 3).repartition(5).map(int).sum(),
}


@pytest.mark.many
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_said_to_be_computed_is(program: str, dbg: Any) -> None:
    run = failed(dbg, lambda: PROGRAMS[program](dbg.context))
    view = look(run)
    asked(view, "skip", of="all", at=0, on=True)
    view._work.find_all()
    assert asked(view, "culprits")["forecast"]["said"][-1] == "What is skipped is in no output."
    for _ in range(2):  # of what crashed, Spark lets go when a run goes on from it
        expected = asked(view, "culprits")["forecast"]
        with dbg.following() as jobs:
            run.resume(skip=True)
            dbg.context._jsc.sc().listenerBus().waitUntilEmpty()
            assert sum(stage["computes"] for stage in expected["stages"]) == jobs.tasks


def test_what_repairs_reach_is_said_before_as_a_bound_and_after_as_it_is(dbg: Any) -> None:
    pairs = dbg.context.parallelize(["a1", "bx", "by", "c3"], 2).map(lambda text: (text[0], int(text[1:]))).reduceByKey(add, 2)
    view = look(failed(dbg, pairs.collect))
    view._work.find_all()
    repair(view, 0, record="b1")
    repair(view, 1, record="b2")
    assert asked(view, "culprits")["forecast"]["said"][-1] == "The 2 repaired records reach at most 2 outputs."
    done = resumed(view)
    assert sorted(view.resumed.result) == [("a", 1), ("b", 3), ("c", 3)]
    assert done["resumed"]["reached"] == 1


def test_an_action_that_cannot_be_called_again_is_told(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("1",), ("x",)], "v string").select(F.col("v").cast("int").alias("n"))
    view = look(failed(dbg, lambda: frame.write.parquet(str(tmp_path / "out"))))
    assert "writes, and is not called again" in asked(view, "culprits")["refused"]


def test_what_culprits_have_in_common(dbg: Any) -> None:
    lines = dbg.context.parallelize(["1 2", "3 x y z", "4"], 2)
    run = failed(dbg, lines.flatMap(str.split).map(int).collect)
    view = look(run)
    view._work.find_all()
    found = asked(view, "common")
    assert (found["known"], found["looked"], found["met"]) == (3, 3, [])
    (record,) = found["records"]
    assert (record["record"], record["culprits"]) == ("'3 x y z'", 3)


def test_a_run_that_went_on_is_resumed_with_repairs(dbg: Any) -> None:
    with dbg.capture("on", on_crash="decide") as capture:
        assert dbg.context.parallelize(["1", "x", "3"], 1).map(int).collect() == [1, 3]
    assert isinstance(bigdebug.view(capture.latest), TraceView)
    view = look(capture.latest.culprits)
    repair(view, 0, record="2")
    assert resumed(view)["problem"] is None
    assert view.resumed.result == [1, 2, 3]


def test_a_resume_is_stopped(dbg: Any, tmp_path: Path) -> None:
    started = threading.Event()

    def slow(n: int) -> float:
        time.sleep((tmp_path / "slow").exists())
        return 1 / n

    view = look(failed(dbg, dbg.context.parallelize([0, *[1] * 40], 1).map(slow).count))
    (tmp_path / "slow").touch()
    view.hear(lambda said: started.set() if (said["content"]["doing"] or {}).get("tasks") is not None else None)
    asked(view, "skip", of="all", at=0, on=True)
    asked(view, "resume")
    assert started.wait(60)
    began = time.monotonic()
    asked(view, "stop")
    assert view.wait(60)
    assert time.monotonic() - began < 10
    assert asked(view, "culprits")["problem"]["what"] == ["It was stopped."]


@pytest.mark.slow
def test_a_row_is_repaired_and_the_others_are_skipped(dbg: Any, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "flights.csv").write_text("id,dep\n1,10\n2,NA\n3,7\n4,<b>\n5,0\n")
    flights = spark.read.csv(str(tmp_path / "flights.csv"), header=True)
    run = failed(dbg, flights.select("id", plain("dep").alias("d")).collect)
    view = look(run)
    culprit = asked(view, "culprit", number=0)
    assert [(field["name"], field["text"]) for field in culprit["fields"]] == [("id", "2"), ("dep", "NA")]
    assert (culprit["type"], culprit["fix"]["code"]) == ("Row", None)
    (source,) = asked(view, "sources", number=0)["records"]
    assert source["origin"].endswith("flights.csv[1]")
    repair(view, 0, dep="20")
    asked(view, "skip", of="culprit", at=1, on=True)
    assert view.decided["repair"] == {run.culprits[0]: Row(id="2", dep="20")}
    done = resumed(view)
    assert done["problem"] is None
    assert sorted(map(tuple, view.resumed.result)) == [("1", 10), ("2", 20), ("3", 7), ("5", 0)]
    assert (done["resumed"]["ran"], done["resumed"]["crashed"]) == (None, 2)
    assert asked(view, "result", start=0)["columns"] == ["id", "d"]


@pytest.mark.slow
def test_an_expression_of_sparks_and_null(dbg: Any, spark: Any) -> None:
    texts = spark.createDataFrame([("1", "4"), ("2", "NA")], "id string, v string").coalesce(1)
    view = look(failed(dbg, texts.select("id", F.col("v").cast("int").alias("n")).collect))
    repair(view, 0, v=None)
    assert resumed(view)["problem"] is None
    assert asked(view, "result", start=0)["rows"] == [["'1'", "4"], ["'2'", "None"]]


def test_a_row_that_does_not_fit_is_refused_when_it_is_edited(dbg: Any, spark: Any) -> None:
    numbers = spark.createDataFrame([(1, 4), (2, 0)], "id int, n int").coalesce(1)
    view = look(failed(dbg, numbers.select("id", (10 / F.col("n")).alias("q")).collect))
    for texts, why in (({"n": "1.5"}, "1.5"), ({"n": "'one'"}, "one"), ({"id": str(2**40)}, str(2**40))):
        with pytest.raises(AssertionError, match="does not fit its columns") as refused:
            repair(view, 0, **texts)
        assert why in str(refused.value)
    assert asked(view, "culprits")["decided"]["repaired"] == 0
    repair(view, 0, n="5")
    assert resumed(view)["problem"] is None
    assert sorted(map(tuple, view.resumed.result)) == [(1, 2.5), (2, 2.0)]


def test_a_record_of_an_operator_over_many_is_refused_when_it_is_edited(dbg: Any) -> None:
    view = look(failed(dbg, dbg.context.parallelize([("a", 1), ("a", 0)], 1).reduceByKey(lambda one, other: one // other, 1).collect))
    with pytest.raises(AssertionError, match="takes more than a record"):
        repair(view, 0, _2="1")
