"""The brush view: the golden files, which the widget's own tests read and write as well, what is shown under a brush, and how charts are chosen.

``python -m tests.unit.test_brush_view`` writes the golden files anew.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bigdebug
from bigdebug.errors import NotCapturedError, ViewError
from bigdebug.shown import mask
from bigdebug.trace.crossfilter.aggregates import Avg, Sum
from bigdebug.trace.crossfilter.associations import Coded
from bigdebug.trace.crossfilter.links import Linked
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.trace.crossfilter.values import Values
from bigdebug.trace.crossfilter.views import View
from bigdebug.trace.page import Page
from bigdebug.views.brushview import BrushView
from bigdebug.views.buffers import taken_out
from bigdebug.views.channels import LABEL, bits, channel, label, unpacked
from bigdebug.views.charting import KINDS, Chart, chart, chosen
from bigdebug.views.linking import called
from bigdebug.views.payload import VERSION
from tests.cases.flights import COUNT, each_row, flights, grouped, mean_delay, views_of_flights
from tests.unit.test_payload import HOSTILE, run

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "brush"

WORD = HOSTILE.replace("\ud800", "")  # Arrow's texts are UTF-8

ROWS = pd.DataFrame({
    "word": ["a", WORD, None, "שלום", "x" * 100_000, "a", "a", WORD],
    "size": [1.0, float("nan"), float("inf"), -2.5, 0.0, 1.0, -2.5, 1.0],
    "day": [date(2026, 1, each) for each in (1, 1, 2, 2, 3, 3, 3, 3)],
    "price": [Decimal("1.10"), Decimal("2.20"), None, Decimal("-0.30"), Decimal("4.00"), Decimal("5.05"), None, Decimal("7.77")],
})


class Records:
    """The trace over some of the rows, by their numbers."""

    operators = (1,)
    run = run("r1")

    def __init__(self, rids: Any) -> None:
        self.rids = rids

    def page(self, start: int, num: int) -> Page:
        numbers = range(start, min(start + num, len(self.rids)))
        found = ROWS.iloc[self.rids[start: start + num]]
        return Page(tuple(ROWS.columns), tuple(numbers), tuple(f"flights.csv:{rid}" for rid in self.rids[start: start + num]), tuple(found.itertuples(index=False, name=None)), False, True)


def strange() -> BrushView:
    """Four views of rows that have whatever rows can have."""
    prices = {"sum": lambda rows: Sum(Values.of(pa.array(rows["price"], pa.decimal128(10, 2))))}
    marks = [
        grouped("by word", ROWS, ["word"], COUNT | prices, notes=("The median is not recomputed.",)),
        grouped("by size", ROWS, ["size"], nan=("size",)),
        grouped("by day", ROWS, ["day"], prices),
        each_row("rows", ROWS, ["word", "size", "day", "price"]),
    ]
    marks[0] = replace(marks[0], rids=lambda rows: rows.astype(np.int64), behind=Records)
    charts = [chart(marks[0], "bar", y="flights"), chart(marks[1], "line"), chart(marks[2]), chart(marks[3], "table")]
    return BrushView(marks, charts)


# ---- messages ------------------------------------------------------------------------------------------------------


def golden(name: str) -> tuple[Any, list[bytes]]:
    held = json.loads((GOLDEN / f"{name}.json").read_text())
    return held["message"], [b64decode(each) for each in held["buffers"]]


def plain(message: Any) -> Any:
    said, buffers = taken_out(message)
    return {"message": json.loads(json.dumps(said, allow_nan=False)), "buffers": [b64encode(each).decode() for each in buffers]}


def written() -> dict[str, Any]:
    """What the kernel says, by the name of the golden file: answers to the requests of other golden files, in their order, and what all hear of a brush."""
    view, heard = strange(), []
    view.hear(heard.append)
    said = {f"answer-{name}": plain(view.answer(*golden(f"request-{name}"))) for name in ("open", "brush", "mark", "page", "rows", "mode")}
    return said | {"answer-refused": plain(view.answer(*golden("request-gone"))), "event-brushed": plain(heard[0]), "event-mode": plain(heard[1])}


def asked(shown: BrushView, request: str, buffers: Sequence[bytes] = (), **content: Any) -> Any:
    return shown.answer({"version": VERSION, "id": 1, "request": request, "content": content}, buffers)["content"]


def test_the_kernel_writes_the_golden_files() -> None:
    said = written()
    assert said == {name: json.loads((GOLDEN / f"{name}.json").read_text()) for name in said}
    assert {path.stem for path in GOLDEN.glob("*.json")} == {*said, *(f"request-{name}" for name in ("open", "brush", "mode", "mark", "page", "rows", "gone"))}


def test_a_label_is_no_longer_than_is_shown_and_nothing_of_a_value_is_obeyed() -> None:
    labels = [label for each in asked(strange(), "open")["charts"] for drawn in each["channels"].values() for label in drawn["labels"] or ()]
    assert max(map(len, labels)) == LABEL
    assert WORD not in labels
    assert all(label.isprintable() for label in labels)


def anything() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers(-1, 9) | st.text(max_size=3) | st.sampled_from(["highlight", {"$buffer": 0}])
    clause = st.dictionaries(st.sampled_from(["view", "marks"]), leaves)
    keys = st.sampled_from(["view", "mark", "mode", "start", "sort", "descending", "clauses"])
    content = st.dictionaries(keys, leaves | st.lists(clause | leaves, max_size=2))
    return st.tuples(st.sampled_from(["open", "brush", "mode", "mark", "page", "rows", "eval"]), content, st.binary(max_size=2))


@settings(max_examples=40, deadline=None)
@given(st.lists(anything(), max_size=6))
def test_whatever_is_asked_has_an_answer_that_is_json(messages: list[Any]) -> None:
    view = strange()
    for request, content, buffer in messages:
        said = view.answer({"version": VERSION, "id": 1, "request": request, "content": content}, [buffer])
        plain(said)
        assert said["answer"] in (request, "refused")
    view.clear()
    assert view.frame("by word")["flights"].sum() == len(ROWS)


@given(st.lists(st.booleans()))
def test_bits_are_flags(flags: list[bool]) -> None:
    assert unpacked(bits(np.array(flags, dtype=bool)), len(flags)).tolist() == flags


def test_the_rows_behind_a_brush_are_those_that_all_clauses_let_through() -> None:
    view = strange()
    with pytest.raises(ViewError, match="Nothing is brushed"):
        view.trace()
    assert "Nothing is brushed" in asked(view, "rows", start=0)["what"]
    view.brush("by word", lambda frame: frame.word == "a")
    assert view.trace().rids.tolist() == [0, 5, 6]
    view.brush("by day", [2])
    assert view.trace("by word").rids.tolist() == [5, 6]
    assert (found := asked(view, "rows", start=0))["names"] == ["flights.csv:5", "flights.csv:6"]
    assert (found["total"], found["change"], found["input"]) == (2, 2, "log.txt")
    view.brush("by day", [])
    assert asked(view, "rows", start=0)["rows"] == []
    with pytest.raises(ViewError, match="made of no run"):
        view.trace("by day")
    with pytest.raises(ViewError, match="not linked"):
        view.trace("other")


# ---- what is shown -------------------------------------------------------------------------------------------------


def test_a_brush_shows_in_the_others_what_its_rows_make_and_clearing_restores() -> None:
    view, rows = BrushView(views_of_flights(2_000)), flights(2_000)
    before = {name: view.frame(name) for name in view.names}
    view.brush("by carrier", [0, 3])
    left = rows[rows.carrier.isin(["AA", "DL"])]
    assert view.frame("by delay").set_index("late").flights.to_dict() == dict.fromkeys(rows.late, 0) | left.groupby("late").size().to_dict()
    means = view.frame("carriers").set_index("carrier")["mean delay"]
    assert means.dropna().to_dict() == pytest.approx(left.groupby("carrier").delay.mean().to_dict())
    pd.testing.assert_frame_equal(view.frame("by carrier"), before["by carrier"])
    view.brush("by delay", lambda frame: frame.late >= 60)
    both = left[left.late >= 60]
    assert view.frame("by day").flights.sum() == len(both)
    assert view.lit("delay by distance").tolist() == (rows.carrier.isin(["AA", "DL"]) & (rows.late >= 60)).tolist()
    assert view.frame("by carrier").flights.sum() == (rows.late >= 60).sum()
    assert {name: len(marks) for name, marks in view.selection.clauses.items()} == {"by carrier": 2, "by delay": rows.late[rows.late >= 60].nunique()}
    view.clear("by carrier")
    assert view.frame("by day").flights.sum() == (rows.late >= 60).sum()
    view.clear()
    for name, frame in before.items():
        pd.testing.assert_frame_equal(view.frame(name), frame)


def test_what_is_highlighted_keeps_its_values() -> None:
    view = BrushView(views_of_flights(500))
    view.mode = "highlight"
    view.brush("by carrier", np.arange(10) == 9)
    rows = flights(500)
    assert view.frame("by day").flights.sum() == 500
    assert view.lit("by day").sum() == rows[rows.carrier == "WN"].day.nunique()
    shown = {each["view"]: each for each in asked(view, "open")["shown"]}
    assert (shown[2]["channels"], unpacked(shown[2]["lit"], len(view.frame("by day"))).sum()) == ({}, view.lit("by day").sum())
    view.mode = "crossfilter"
    assert view.frame("by day").flights.sum() == (rows.carrier == "WN").sum()
    with pytest.raises(ViewError, match="crossfilter and highlight"):
        view.mode = "dark"


def test_a_selection_is_data_and_a_brush_without_marks_leaves_no_row() -> None:
    view = BrushView(views_of_flights(300))
    view.selection = {"by carrier": [1], "by delay": lambda frame: frame.late < 0}
    kept = view.selection
    view.brush("by carrier", [])
    assert view.frame("by day").flights.sum() == 0
    assert not view.lit("delay by distance").any()
    view.selection = kept
    rows = flights(300)
    assert view.frame("by day").flights.sum() == ((rows.carrier == "AS") & (rows.late < 0)).sum()
    view.selection = Selection()
    assert view.frame("by day").flights.sum() == 300


@pytest.mark.parametrize("wrong", [
    [10], [-1], [0.5], ["AA"], [True], np.ones(9, dtype=bool), [2**40], 7, None, [[0, 1]], lambda frame: None, lambda frame: frame[["flights"]] > 0,
])
def test_marks_that_are_not_there_are_refused_and_nothing_changes(wrong: Any) -> None:
    view = BrushView(views_of_flights(300))
    view.brush("by delay", [1])
    heard: list[Any] = []
    view.hear(heard.append)
    with pytest.raises(ViewError):
        view.brush("by carrier", wrong)
    assert ([*view.selection.clauses], heard) == (["by delay"], [])
    with pytest.raises(ViewError, match="not linked"):
        view.brush("by karrier", [0])
    with pytest.raises(ViewError, match="by view"):
        view.selection = [1]


def test_all_hear_of_a_brush_whoever_made_it_and_only_views_that_changed_are_told() -> None:
    view, heard = BrushView(views_of_flights(300)), []
    view.hear(heard.append)
    asked(view, "brush", [bits(np.arange(10) < 2).tobytes()], clauses=[{"view": 0, "marks": {"$buffer": 0}}])
    view.brush("by carrier", [0, 1])
    assert [said["content"]["change"] for said in heard] == [1, 2]
    assert [each["view"] for each in heard[0]["content"]["shown"]] == [1, 2, 3, 4, 5]
    assert (heard[1]["content"]["shown"], heard[1]["content"]["clauses"]) == ([], [])


def test_a_page_is_sorted_by_what_is_shown_now() -> None:
    view = strange()
    page = asked(view, "page", view=3, start=0, sort=1, descending=False)
    assert [row[1] for row in page["rows"]][-2:] == ["inf", "nan"]
    assert asked(view, "page", view=3, start=0, sort=3, descending=True)["rows"][-1][3] == "NULL"
    by_word = ["word", "flights", "sum"]
    assert asked(view, "open")["charts"][0]["columns"] == by_word
    view.brush("by day", [0])
    page = asked(view, "page", view=0, start=0, sort=1, descending=True)
    assert [row[1] for row in page["rows"]] == ["1", "1", "0", "0", "0"]
    assert page["lit"] == [True, True, False, False, False]


def test_means_of_decimals_are_in_the_type_of_their_column() -> None:
    prices = pa.array([Decimal("1.00"), Decimal("1.00"), Decimal("2.01"), Decimal("9.99")], pa.decimal128(12, 2))
    view = View("mean", Coded(np.array([0, 0, 0, 1]), 2), {"price": Avg(Values.of(prices))})
    means = Marks("mean", {"key": pa.array(["a", "b"]), "price": pa.array([Decimal("1.336667"), Decimal("9.99")], pa.decimal128(16, 6))}, view)
    shown = BrushView([means, grouped("keys", pd.DataFrame({"key": [0, 1, 1, 1]}), ["key"])])
    shown.brush("keys", [1])
    assert shown.frame("mean").price.tolist() == [Decimal("1.505000"), Decimal("9.990000")]
    assert asked(shown, "mark", view=0, mark=0)["fields"][1] == {"name": "price", "now": "1.505000", "all": "1.336667"}


def test_views_of_nothing_and_of_one_mark() -> None:
    empty = grouped("none", ROWS[:0].assign(word=pd.Series(dtype=object)), ["word"])
    assert [*asked(BrushView([empty]), "open")["charts"][0]["channels"]] == ["x", "y"]
    one = BrushView([grouped("one", ROWS[:1], ["word"])])
    one.brush("one", [0])
    assert one.frame("one").flights.tolist() == [1]


def test_a_sum_beyond_its_column_s_type_is_shown_whole() -> None:
    rows = pd.DataFrame({"key": ["a", "b"], "big": [2**62, 2**62], "all": ["x", "x"]})
    total = View("total", Coded(np.zeros(2, dtype=int), 1), {"sum": Sum(Values.of(rows.big.to_numpy()))})
    marks = Marks("total", {"all": pa.array(["x"]), "sum": pa.array([0], pa.int64())}, total)
    view = BrushView([grouped("keys", rows, ["key"]), marks], [Chart(None), chart(None, "bar", x="all")])
    view.brush("keys", [0, 1])
    assert view.frame("total")["sum"].tolist() == [2**63]


# ---- charts --------------------------------------------------------------------------------------------------------


def test_a_chart_is_chosen_by_the_columns() -> None:
    kinds = {each.name: chosen(Chart(each), each) for each in views_of_flights(3_000)}
    assert [each.kind for each in kinds.values()] == ["bar", "histogram", "line", "heat", "scatter", "bar"]
    assert (kinds["by weekday and hour"].x, kinds["by weekday and hour"].color) == ("weekday", "mean delay")
    rows = flights(3_000)
    few = grouped("few", rows, ["weekday"])
    assert chosen(Chart(few), few).kind == "bar"
    lines = grouped("lines", rows.assign(west=rows.carrier > "D"), ["day", "west"])
    assert (chosen(Chart(lines), lines).kind, chosen(Chart(lines), lines).color) == ("line", "west")
    names = each_row("names", rows, ["carrier", "day", "hour"])
    assert chosen(Chart(names), names).kind == "table"
    pairs = Marks("pairs", {"_1": pa.array(["a", "b"]), "_2": pa.array([2, 1])}, View("pairs", Coded(np.array([0, 1, 1]), 2)))
    assert (chosen(Chart(pairs), pairs).kind, chosen(Chart(pairs), pairs).y) == ("bar", "_2")
    assert (BrushView([pairs]).mode, BrushView([few]).mode) == ("highlight", "crossfilter")
    late = Marks("late", {"carrier": pa.array(["a", "b"]), "spread": pa.array([0.5, 1.5]), "hours": pa.array([["1"], []])}, View("late", Coded(np.array([0, 1, 1]), 2)), (), frozenset({"spread", "hours"}))
    assert (chosen(Chart(late), late).kind, chosen(Chart(late), late).x, chosen(Chart(late), late).y) == ("bar", "carrier", "spread")  # an aggregate that keeps its value is no key
    distinct = Marks("distinct", {"carrier": pa.array(["a", "b"])}, View("distinct", Coded(np.array([0, 1, 1]), 2)))
    assert (chosen(Chart(distinct), distinct).y, chosen(Chart(distinct), distinct).kind) == ("rows", "bar")


def test_rows_follow_a_brush_where_a_result_counts_nothing() -> None:
    rows = flights(400)
    silent = replace(grouped("silent", rows, ["carrier"]), columns={"carrier": pa.array(sorted(set(rows.carrier)))})
    silent = replace(silent, view=View("silent", silent.view.association))
    view = BrushView([silent, grouped("by hour", rows, ["hour"])])
    view.brush("by hour", [0])
    said = asked(view, "open")
    assert said["charts"][0]["follows"]
    assert said["shown"][0]["channels"]["y"]["values"].sum() == (rows.hour == 0).sum()


def test_rows_of_a_join_are_counted_as_often_as_they_go_together() -> None:
    pairs = Linked(3, 1, np.zeros(4, dtype=int), [np.array([0, 0, 1, 1]), np.array([1, 2, 0, 2])])
    view = BrushView([Marks("pairs", {"all": pa.array(["all"])}, View("pairs", pairs)), each_row("rows", pd.DataFrame({"id": [0, 1, 2]}), ["id"])])
    assert asked(view, "open")["charts"][0]["channels"]["y"]["values"].tolist() == [4]
    view.brush("rows", [0, 1])
    assert [asked(view, "mark", view=0, mark=0)[each] for each in ("rows", "of")] == [2, 4]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (chart(None, "bar", x="carier"), "no column"), (chart(None, "bar", x="hour"), "several marks have one 'hour'"),
        (chart(None, "histogram", x="carrier"), "no numbers"), (chart(None, "scatter", y="carrier"), "no numbers"), (chart(None, "heat", color="carrier"), "no two keys"),
        (chart(None, "heat", x="hour", y="carrier", color="carrier"), "no numbers"), (chart(None, "line", x="carrier"), "no numbers"),
    ],
)
def test_a_chart_that_cannot_be_drawn_is_refused(given: Chart, why: str) -> None:
    with pytest.raises(ViewError, match=why):
        BrushView([grouped("flights", flights(500), ["carrier", "hour"])], [given])


def test_a_kind_that_is_unknown_is_refused_with_those_that_are() -> None:
    with pytest.raises(ViewError, match="bar, histogram, line, scatter, heat, table"):
        chart(None, "pie")
    with pytest.raises(TypeError, match="name of a chart is text, not 5"):
        chart(None, "bar", name=5)
    assert set(KINDS) == {"bar", "histogram", "line", "scatter", "heat", "table"}


def test_every_kind_of_value_has_a_channel() -> None:
    zoned = pa.array([datetime(2026, 7, 1, 12, tzinfo=timezone.utc), None], pa.timestamp("us", "Europe/Berlin"))
    moments = channel("at", zoned)
    assert (moments["type"], moments["values"][0], moments["nulls"].tolist(), moments["whole"]) == ("time", datetime(2026, 7, 1, 14, tzinfo=timezone.utc).timestamp() * 1000, [2], False)
    assert channel("day", pa.array([date(1969, 12, 31)]))["values"].tolist() == [-86_400_000]
    assert channel("n", pa.array([Decimal("1.5"), None]))["values"][0] == 1.5
    nested = channel("rows", pa.array([[1], None, [2, 3]]))
    assert (nested["values"].tolist(), nested["labels"][2]) == ([0, -1, 2], "[2, 3]")
    assert channel("flag", pa.array([True, False, True]))["labels"] == ["False", "True"]
    assert channel("n", pa.array([10, 9, None]), named=True)["labels"] == ["9", "10"]
    assert channel("n", pa.array([10, 9, 10]), named=True, kept=True)["values"].tolist() == [0, 1, 0]


def test_bars_that_come_in_the_order_of_their_lengths_stay_so() -> None:
    falling = grouped("falling", flights(3_000), ["carrier"])
    order = np.argsort(-np.array(falling.columns["flights"]))
    view = BrushView([falling])
    assert order.tolist() == [*range(10)]
    assert asked(view, "open")["charts"][0]["channels"]["x"]["labels"][0] == "AA"


def test_a_table_says_what_is_linked_where_no_widget_is() -> None:
    view = strange()
    view.brush("by word", [0])
    assert "by word: The median is not recomputed." in view.table().text()
    assert view.table().rows[0] == ["by word", "bar", "flights by word", "5", "1"]


def test_without_a_session_nothing_is_linked() -> None:
    with pytest.raises(NotCapturedError, match="attached to no Spark session"):
        bigdebug.brush("anything")


def test_each_chart_has_a_name_of_its_own() -> None:
    marks = grouped("carrier", flights(50), ["carrier"])
    names = [each.name for each in called([(Chart(None), marks), (chart(None, name="carrier 2"), marks), (Chart(None), marks), (Chart(None), marks)])]
    assert names == ["carrier", "carrier 2", "carrier 3", "carrier 4"]
    view = BrushView(called([(Chart(None), marks), (Chart(None), marks)]))
    view.brush("carrier", [0])
    assert view.frame("carrier 2").flights.tolist()[1:] == [0] * (len(marks) - 1)


def test_means_are_those_of_pandas() -> None:
    rows = flights(200)
    marks = grouped("means", rows, ["hour"], {"mean": mean_delay})
    assert marks.columns["mean"].to_pylist() == pytest.approx(rows.groupby("hour").delay.mean().tolist())


if __name__ == "__main__":
    for golden_name, message in written().items():
        (GOLDEN / f"{golden_name}.json").write_text(json.dumps(message, indent=2, ensure_ascii=False) + "\n")


def test_a_name_at_an_axis_has_no_secret_however_long() -> None:
    mask("key_[a-z]{200,}")
    try:
        assert label("of key_" + "a" * 300 + "!") == "of ***!"
        assert label("x" * 10**7) == "x" * (LABEL - 1) + "…"
    finally:
        mask(None)
