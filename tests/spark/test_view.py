"""bigdebug.view(x) on Spark: what a browser asks of runs of RDD programs and of DataFrames, in its own messages."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from pyspark.sql.functions import udf

import bigdebug
from bigdebug.errors import NotCapturedError
from bigdebug.views.payload import VERSION
from bigdebug.views.traceview import TraceView


class Browser:
    """A widget's other end: it sends messages, and waits for what is sent back."""

    def __init__(self, view: TraceView, monkeypatch: pytest.MonkeyPatch) -> None:
        self._view = view
        self._heard: list[Any] = []
        self._came = threading.Event()
        monkeypatch.setattr(view.widget, "send", self._hear)

    def _hear(self, message: Any, buffers: Any) -> None:
        self._heard.append(message)
        self._came.set()

    def ask(self, request: str, **content: Any) -> Any:
        self._came.clear()
        self._view.widget._handle_custom_msg({"version": VERSION, "id": len(self._heard), "request": request, "content": content}, [])
        assert self._came.wait(60)
        answer = self._heard[-1]
        assert answer["answer"] == request, answer["content"]
        return answer["content"]


@pytest.fixture
def built(monkeypatch, tmp_path):
    """A bundle, whether or not the real one has been built: what it does is tested in the browser."""
    for name in ("views.js", "views.css"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr("bigdebug.views.bundle._STATIC", tmp_path)


def test_a_view_of_an_rdd_program_steps_from_an_output_to_its_sources(dbg, built, monkeypatch):
    lines = dbg.context.parallelize(["a b", "b c", "<script>alert(1)</script>"], 2)
    counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda n, m: n + m, 2)
    with dbg.capture("words") as run:
        counts.collect()
    view = bigdebug.view(run)
    browser = Browser(view, monkeypatch)
    start = browser.ask("trace")
    subject = run.graph[run.subject]
    assert start["crumbs"][0]["operators"] == [subject.id]
    assert {each["name"] for each in start["operators"]} >= {"parallelize", "flatMap", "map"}
    page = browser.ask("page", at=0, operator=subject.id, start=0)
    assert browser.ask("count", at=0, operator=subject.id)["count"] == len(page["rows"]) == 4
    number = page["numbers"][page["rows"].index(["'b'", "2"])]
    back = browser.ask("move", at=0, operator=subject.id, numbers=[number], move="sources")
    [source] = back["crumbs"][1]["operators"]
    assert browser.ask("page", at=1, operator=source, start=0)["rows"] == [["'a b'"], ["'b c'"]]
    assert view.trace.collect() == ["a b", "b c"]
    assert list(view.frame()["record"]) == ["a b", "b c"]
    ahead = browser.ask("move", at=1, operator=source, numbers=[0], move="outputs")
    assert ahead["at"] == 2
    assert sorted(view.trace.collect()) == [("a", 1), ("b", 2)]
    assert browser.ask("crumb", at=0)["at"] == 0
    assert view.trace.count() == 4


@pytest.mark.slow
def test_a_view_of_a_query_looks_at_each_source_of_a_join(dbg, spark, built, monkeypatch):
    spark.createDataFrame([(1, "ada"), (2, "bob"), (3, None)], "id int, name string").createOrReplaceTempView("people")
    spark.createDataFrame([(1, 5.0), (1, float("nan")), (2, 7.0)], "who int, paid double").createOrReplaceTempView("bills")
    frame = spark.sql("SELECT name, count(*) AS n FROM people JOIN bills ON id = who GROUP BY name")
    with dbg.capture("bills") as run:
        frame.collect()
    view = bigdebug.view(frame)
    assert view.run is run.latest
    browser = Browser(view, monkeypatch)
    start = browser.ask("trace")
    [subject] = start["crumbs"][0]["operators"]
    page = browser.ask("page", at=0, operator=subject, start=0)
    number = page["numbers"][page["rows"].index(["'ada'", "2"])]
    back = browser.ask("move", at=0, operator=subject, numbers=[number], move="sources")
    found = {}
    for operator in back["crumbs"][1]["operators"]:
        rows = browser.ask("page", at=1, operator=operator, start=0)["rows"]
        found[view.run.input_names()[operator]] = sorted(rows)
    assert found == {"people": [["1", "'ada'"]], "bills": [["1", "5.0"], ["1", "nan"]]}
    bills = next(o for o, name in view.run.input_names().items() if name == "bills")
    browser.ask("page", at=1, operator=bills, start=0)
    assert view.frame()["paid"].isna().tolist().count(True) == 1
    browser.ask("move", at=1, operator=bills, numbers=[0], move="outputs")
    assert [tuple(row) for row in view.trace.collect()] == [("ada", 2)]


def test_a_view_of_a_run_that_was_forgotten_says_so(dbg, built):
    rdd = dbg.context.parallelize(range(4), 2).map(str)
    with dbg.capture("gone") as run:
        rdd.collect()
    view = bigdebug.view(run)
    dbg.forget(run)
    said = view.answer({"version": VERSION, "id": 1, "request": "page", "content": {"at": 0, "operator": view.run.subject, "start": 0}})
    assert said["answer"] == "refused"
    assert "forgotten" in said["content"]["what"] + said["content"]["remedy"]
    with pytest.raises(NotCapturedError, match="forgotten"):
        bigdebug.view(run)


@pytest.mark.slow
def test_a_question_whose_job_was_cancelled_with_all_others_says_so_and_can_be_asked_again(dbg, spark, built):
    """PySpark cancels all jobs when a cell is interrupted."""
    def slowly(n):
        time.sleep(1)
        return n

    slow = dbg.context.parallelize(range(2), 2).map(slowly)
    slow_rows = spark.range(2, numPartitions=2).select(udf(slowly, "long")("id").alias("n"))
    with dbg.capture("slow", strategy="lazy"):
        slow.count()
    for view in (bigdebug.view(slow), bigdebug.view(slow_rows)):
        message = {"version": VERSION, "id": 1, "request": "page", "content": {"at": 0, "operator": view.run.subject, "start": 0}}
        said = []
        asking = threading.Thread(target=lambda view=view, message=message, said=said: said.append(view.answer(message)))
        asking.start()
        while asking.is_alive():  # several jobs, of which the slow ones are to be met
            time.sleep(0.3)
            spark.sparkContext.cancelAllJobs()
        asking.join()
        assert said[0]["answer"] == "refused"
        assert said[0]["content"]["what"] == "The Spark job of this was cancelled."
        assert view.answer(message)["answer"] == "page"


def test_a_view_of_a_saved_run_needs_no_session_and_reads_what_is_kept(dbg, built, tmp_path):
    (tmp_path / "log.txt").write_text("a b\nb c\n")
    words = dbg.context.textFile(str(tmp_path / "log.txt"), 2).flatMap(str.split)
    with dbg.capture("saved") as run:
        words.collect()
    saved = bigdebug.open(dbg.save(tmp_path / "session", run))
    view = bigdebug.view(saved.lineage("saved").goBackAll())
    at = {"at": 0, "operator": view.trace.operators[0], "start": 0}
    page = view.answer({"version": VERSION, "id": 1, "request": "page", "content": at})["content"]
    assert page["rows"] == [["'a b'"], ["'b c'"]]
    assert [name.rpartition(":")[2] for name in page["names"]] == ["1", "2"]
    assert "flatMap" in view._repr_mimebundle_()["text/plain"]
    outputs = bigdebug.view(saved.lineage("saved"))
    said = outputs.answer({"version": VERSION, "id": 1, "request": "page", "content": {**at, "operator": outputs.run.subject}})
    assert said["answer"] == "refused"
    assert "not kept with a saved session" in said["content"]["what"]


def test_what_has_no_lineage_is_refused(dbg, sc):
    with pytest.raises(NotCapturedError):
        bigdebug.view(sc.parallelize([1]))
    with pytest.raises(NotCapturedError):
        bigdebug.view(dbg.context.parallelize([1]).map(str))
    with pytest.raises(NotCapturedError):
        bigdebug.view(42)
