"""The localization view and the replay view on Spark: searches that run, are stopped, interrupted and raise, and results side by side."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tqdm import tqdm

import bigdebug
from bigdebug.errors import LocalizeError
from bigdebug.localize.search import Search, show_searches_with
from bigdebug.spark.bars import show_bars_with
from bigdebug.views.payload import VERSION

CORRUPT = 701


def asked(view: Any, request: str, **content: Any) -> Any:
    said = view.answer({"version": VERSION, "id": 1, "request": request, "content": content})
    assert said["answer"] == request, str(said["content"])
    return said["content"]


@pytest.fixture
def totals(dbg: Any) -> Any:
    """Two sums, each of 500 numbers, of which one is corrupt."""
    numbers = dbg.context.parallelize(range(1_000), 2).map(lambda n: (n % 2, -10**6 if n == CORRUPT else n))
    made = numbers.groupByKey(2).mapValues(lambda each: sum(sorted(each)))
    with dbg.capture("totals"):
        made.collect()
    return made


def slowly(output: Any) -> bool:
    time.sleep(0.05)
    return bool(output[1] < 0)


@pytest.fixture
def shown() -> Iterator[list[Search]]:
    """The searches that a front end was given to show."""
    found: list[Search] = []

    def shows(search: Search) -> bool:
        found.append(search)
        return True

    show_searches_with(shows)
    yield found
    show_searches_with(None)


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The titles of bars, which are shown at once."""
    titles: list[str] = []

    @contextmanager
    def bar(what: str) -> Iterator[Any]:
        titles.append(what)
        with tqdm(desc=what, file=io.StringIO()) as made:
            yield made

    monkeypatch.setattr("bigdebug.spark.bars.PATIENCE", 0.0)
    show_bars_with(bar)
    yield titles
    show_bars_with(None)


def when(ready: Callable[[], bool], do: Callable[[], None]) -> threading.Thread:
    """Do something in another thread, as soon as it is time."""
    def wait() -> None:
        while not ready():
            time.sleep(0.01)
        do()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_search_is_followed_from_its_begin_to_its_diagnosis(dbg: Any, totals: Any) -> None:
    search, states = Search(), []
    view = bigdebug.view(search)
    view.hear(lambda said: states.append(said["content"]))
    found = dbg.localize(totals, lambda output: output[1] < 0, search=search)
    assert (search.state, search.diagnosis) == ("ended", found)
    assert view.frame()["record"].tolist() == [CORRUPT]
    said = asked(view, "diagnosis")
    assert said["diagnosis"]["faults"][0]["records"]["rows"][0]["cells"] == [str(CORRUPT)]
    progress = said["progress"]
    assert (progress["tests"], progress["candidates"], progress["left"], progress["outputs"], progress["explained"]) == (found.cost.tests, 500, 1, 1, 1)
    assert progress["output"].startswith("(1, ")
    assert [said["course"][0][1], said["course"][-1][1]] == [500, 1]
    when(lambda: bool(states) and states[-1]["state"] == "ended", lambda: None).join(5)
    assert states[-1]["diagnosis"] == said["diagnosis"]


def test_stop_of_the_view_ends_the_search_with_what_is_known(dbg: Any, totals: Any) -> None:
    search = Search()
    view = bigdebug.view(search)
    stopper = when(lambda: asked(view, "diagnosis")["progress"] is not None and asked(view, "diagnosis")["progress"]["tests"] > 2, lambda: asked(view, "stop"))
    began = time.monotonic()
    found = dbg.localize(totals, slowly, search=search)
    stopper.join()
    assert time.monotonic() - began < 10  # a search to its end takes 25 seconds
    assert found.incomplete == "it was stopped"
    said = asked(view, "diagnosis")
    assert (said["state"], said["stopping"], said["diagnosis"]["incomplete"]) == ("ended", True, "it was stopped")


def test_what_is_stopped_before_its_first_test_says_so(dbg: Any, totals: Any) -> None:
    search = Search()
    search.stop()
    found = dbg.localize(totals, lambda output: output[1] < 0, search=search)
    assert (found.cost.tests, found.fault_sets, found.incomplete) == (0, (), "it was stopped")
    said = asked(bigdebug.view(search), "diagnosis")
    assert (said["progress"]["tests"], said["diagnosis"]["faults"], said["course"]) == (0, [], [])


def test_the_users_own_event_stops_and_is_not_set_by_a_view(dbg: Any, totals: Any) -> None:
    stop, search = threading.Event(), Search()
    when(lambda: search.progress is not None and search.progress.tests > 2, search.stop)
    assert dbg.localize(totals, slowly, stop=stop, search=search).incomplete == "it was stopped"
    assert not stop.is_set()
    stop.set()
    assert dbg.localize(totals, slowly, stop=stop).cost.tests == 0


def test_two_searches_at_once_are_two(dbg: Any, totals: Any) -> None:
    searches, found = [Search(), Search()], {}
    tests = [slowly, lambda output: output[1] < 0]

    def localize(number: int) -> None:
        found[number] = dbg.localize(totals, tests[number], search=searches[number])

    threads = [threading.Thread(target=localize, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    threads[1].join()
    assert (searches[0].state, searches[1].state) == ("running", "ended")
    searches[0].stop()
    threads[0].join(10)
    assert (found[0].incomplete, found[1].incomplete) == ("it was stopped", None)
    assert [asked(bigdebug.view(each), "diagnosis")["stopping"] for each in searches] == [True, False]


def test_a_search_that_raises_says_what_and_is_over(dbg: Any, totals: Any) -> None:
    search = Search()
    with pytest.raises(LocalizeError) as raised:
        dbg.localize(totals, lambda output: False, search=search)
    said = asked(bigdebug.view(search), "diagnosis")
    assert said["state"] == "failed"
    assert said["error"]["what"].startswith(raised.value.what)
    with pytest.raises(LocalizeError, match="used before"):
        dbg.localize(totals, lambda output: output[1] < 0, search=search)
    with pytest.raises(TypeError, match=r"bigdebug\.Search\(\)"):
        dbg.localize(totals, lambda output: output[1] < 0, search="now")


def test_a_front_end_is_given_each_search_and_no_bar_is_shown_then(dbg: Any, totals: Any, shown: list[Search], bars: list[str]) -> None:
    found = dbg.localize(totals, lambda output: output[1] < 0)
    assert [each.diagnosis for each in shown] == [found]
    assert "bigdebug: localizing" not in bars
    dbg.progress = False
    try:
        dbg.localize(totals, lambda output: output[1] < 0)
    finally:
        dbg.progress = True
    dbg.clean(totals, lambda output: output[1], enough=0, rounds=1)
    assert len(shown) == 1  # not where progress is not to be shown, nor as a step of something else
    assert bars.count("bigdebug: localizing") == 1


def test_a_search_in_a_query_is_followed_as_well(dbg: Any, spark: Any) -> None:
    frame = spark.createDataFrame([(n % 2, -1000.0 if n == 7 else float(n)) for n in range(40)], "shop int, paid double").groupBy("shop").sum("paid")
    with dbg.capture("sums"):
        frame.collect()
    search = Search()
    found = dbg.localize(frame, "`sum(paid)` < 0", search=search)
    said = asked(bigdebug.view(found), "diagnosis")
    assert (said["progress"], said["diagnosis"]["faults"][0]["records"]["columns"]) == (None, ["shop", "paid"])
    progress = asked(bigdebug.view(search), "diagnosis")["progress"]
    assert (progress["candidates"], progress["left"], progress["output"][:4]) == (20, 1, "Row(")


# ---- results side by side -----------------------------------------------------------------------------------------


def test_a_replay_is_compared_with_its_run(dbg: Any) -> None:
    sales = [("oslo", 4.0), ("oslo", -999.0), ("rome", 3.0), ("<b>bern</b>", -1.0)]
    report = dbg.context.parallelize(sales, 2).groupByKey(2).map(lambda sale: (sale[0], sum(sale[1]), len(sale[1])))
    with dbg.capture("report"):
        report.collect()
    clean = report.getLineage().goBackAll().where(lambda sale: sale[1] < 0).replay(exclude=True)
    view = bigdebug.view(dbg.compare(report, clean))
    assert asked(view, "comparison") == {"changed": 1, "added": 0, "removed": 1, "kept": 1, "notes": []}
    changed, removed = asked(view, "page", kind="all", start=0)["changes"]
    assert (changed["before"], changed["after"], changed["differ"]) == (["'oslo'", "-995.0", "2"], ["'oslo'", "4.0", "1"], [1, 2])
    assert [each["record"] for each in changed["inputs"]["gone"]] == ["('oslo', -999.0)"]
    assert (changed["inputs"]["news"], changed["inputs"]["same"]) == (0, 1)
    assert (removed["before"][0], removed["after"], removed["inputs"]["gones"]) == ("'<b>bern</b>'", None, 1)
    assert view.frame()["_2 after"].tolist() == [4.0, None]


def test_two_queries_are_compared_by_the_names_of_their_columns(dbg: Any, spark: Any) -> None:
    def bills(rows: list[tuple[Any, ...]]) -> Any:
        frame = spark.createDataFrame(rows, "who string, paid double").groupBy("who").sum("paid").withColumnRenamed("sum(paid)", "total")
        with dbg.capture():
            frame.collect()
        return frame

    view = bigdebug.view(dbg.compare(bills([("ada", 1.0), ("bob", float("nan"))]), bills([("ada", 1.5), ("bob", None), ("cy", None)])))
    page = asked(view, "page", kind="all", start=0)
    assert page["columns"] == ["who", "total"]
    assert [(each["kind"], each["differ"]) for each in page["changes"]] == [("changed", [1]), ("added", [])]
    assert "Row(" in view._repr_mimebundle_()["text/plain"]
