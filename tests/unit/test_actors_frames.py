"""Functions over frames as steps: the function gets, and its user gets, what they get without; and each row is traced to its rows, or is refused by name."""

import copy
import inspect
import random
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from bigdebug import actors
from bigdebug.actors.frames import FRAMES
from bigdebug.errors import ActorError, IncompleteLineageError, StoreError, UntraceableError
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.across.units import Units


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def last(home):
    return actors.steps(home)[-1]


def back(step, *rows):
    """Positions in the one input of a step, for rows that it passed on."""
    found = step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, rows)])
    return [] if not found else found[0].positions.tolist()


def ahead(step, *rows):
    found = step.forward([Located.of(step.reads[0].path, Unit.ROW, rows)])
    return [] if not found else found[0].positions.tolist()


ORDERS = pd.DataFrame({
    "city": ["x", "y", None, "x", "<script>alert(1)</script>", "y", "שלום", "x", "y", "x"] * 5,
    "amount": [1.0, -0.0, np.nan, 4, 5, np.inf, 7, 8, 9, 10] * 5,
    "tags": [[1, 2], [], [3], None, [4, 5, 6]] * 10,
    "big": [2**60 + n for n in range(50)],
    "when": pd.date_range("2020-01-01", periods=50, tz="Asia/Jerusalem"),
    "kind": pd.Categorical(["a", "b"] * 25),
    "bytes": [b"\x00\xff"] * 50,
})

ROWWISE = {
    "filter": lambda f: f[f.amount > 4],
    "none": lambda f: f[f.amount > 1e9],
    "all": lambda f: f,
    "columns": lambda f: f.assign(double=f.amount * 2, upper=f.city.str.upper()),
    "explode": lambda f: f.explode("tags"),
    "sort": lambda f: f.sort_values("amount", ascending=False),
    "dropna": lambda f: f.dropna(),
    "one column": lambda f: f["amount"] * 2,
    "apply": lambda f: f.apply(lambda row: pd.Series({"n": len(str(row.city))}), axis=1),
    "explode and filter": lambda f: f.explode("tags")[lambda g: g.tags != 5].sort_values("big", ascending=False),
    "concat": lambda f: pd.concat([f[f.amount > 5], f[f.amount < 3]]),
    "widens": lambda f: f.assign(n=f.big.where(f.amount > 4)),
    "query": lambda f: f.query("kind == 'a'").rename(columns={"amount": "much"}),
    "three hundred columns": lambda f: pd.concat([f, *(f.amount.rename(f"c{n}") for n in range(300))], axis=1),
}


def oracle_rows(function, frame):
    """Sufficiency: of each input row alone, what the function makes; one list of input positions, in the order of the result."""
    result = function(frame.copy())
    place = {label: n for n, label in enumerate(frame.index)}
    return [place[label] for label in result.index], result


@pytest.mark.parametrize("index", ["counts up", "labels", "shuffled"])
@pytest.mark.parametrize("name", ROWWISE)
def test_each_row_of_a_rowwise_function_is_traced_to_its_row(home, name, index):
    frame = ORDERS.copy()
    if index == "labels":
        frame.index = [f"r{n}" for n in range(50)]
    elif index == "shuffled":
        frame.index = np.random.default_rng(1).permutation(50)
    before = frame.copy()
    places, expected = oracle_rows(ROWWISE[name], frame)
    given_ = actors.rows(ROWWISE[name], name=name)(frame)
    step = last(home)
    (assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal)(given_, expected)
    assert_frame_equal(frame, before)
    assert [each for each in step.incomplete if "came from no step" not in each] == []
    assert (step.name, step.kind) == (name, "pandas")
    for row, place in enumerate(places):
        assert back(step, row) == [place]
    for place in range(50):
        assert ahead(step, place) == sorted(row for row, each in enumerate(places) if each == place)


BROKEN = {
    "reset": lambda f: f[f.amount > 4].reset_index(drop=True),
    "reset of all": lambda f: f.sort_values("amount").reset_index(drop=True),
    "reset of a map": lambda f: f.assign(x=1).sort_values("big", ascending=False, ignore_index=True),
    "shift": lambda f: f.assign(before=f.amount.shift()),
    "cumsum": lambda f: f.assign(total=f.amount.fillna(0).replace(np.inf, 0).cumsum()),
    "mean": lambda f: f.assign(off=f.when - f.when.mean()),
    "duplicates": lambda f: f.drop_duplicates("city"),
    "head": lambda f: f.head(3),
    "numbers": lambda f: f.assign(n=range(len(f))),
    "random": lambda f: f.assign(r=np.random.default_rng().random(len(f))),
    "set_index": lambda f: f.assign(i=range(len(f) - 1, -1, -1)).set_index("i"),
    "no frame": lambda f: f.amount.sum(),
    "nothing": lambda f: None,
    "small": lambda f: f if len(f) == 50 else 1 / 0,
    "group": lambda f: f.groupby("city").amount.sum(),
}


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("name", BROKEN)
def test_a_promise_that_does_not_hold_is_refused_and_the_result_is_what_it_is(home, name, shuffled):
    frame = ORDERS.copy()
    if shuffled:
        frame.index = np.random.default_rng(1).permutation(50)
    expected = BROKEN[name](frame.copy())
    given_ = actors.rows(BROKEN[name], name=name)(frame)
    step = last(home)
    if isinstance(expected, pd.DataFrame) and name != "random":
        assert_frame_equal(given_, expected)
    assert any(f"{name} has no lineage" in each for each in step.incomplete)
    for ask in (back, ahead):
        with pytest.raises(IncompleteLineageError, match="has no lineage"):
            ask(step, 0)


@given(st.integers(1, 40), st.integers(0, 39), st.randoms())
@settings(max_examples=40)
def test_a_reset_index_is_seen_however_few_rows_were_left_out(tmp_path_factory, count, gone, chance):
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    frame = pd.DataFrame({"same": [1] * count})
    if chance.random() < 0.5:
        frame.index = random.Random(1).sample(range(count), count)

    def drops_one(f):
        return f.drop(index=[label for label in f.index if label == gone]).reset_index(drop=True)

    actors.rows(drops_one, home=home)(frame)
    step = last(home)
    if not any("no lineage" in each for each in step.incomplete):
        made = [back(step, row) for row in range(len(drops_one(frame)))]
        kept = [[n] for n, label in enumerate(frame.index) if label != gone]
        assert made == kept


def test_series_several_levels_and_columns_of_one_name(home):
    numbers = pd.Series([3, 1, 2, None], index=list("abcd"), name="n")
    pd.testing.assert_series_equal(actors.rows(lambda s: s.dropna().sort_values())(numbers), numbers.dropna().sort_values())
    assert [back(last(home), n) for n in range(3)] == [[1], [2], [0]]
    levels = ORDERS.set_index(["when", "big"])
    actors.rows(lambda f: f[f.amount > 4])(levels)
    assert back(last(home), 1) == [5]
    same = pd.concat([ORDERS.amount, ORDERS.amount, ORDERS.city], axis=1)
    assert_frame_equal(actors.rows(lambda f: f[f.city == "y"])(same), same[same.city == "y"])
    assert back(last(home), 1) == [5]
    actors.groups(lambda f: f, by="amount")(same)
    assert any("several columns are called 'amount'" in each for each in last(home).incomplete)
    arrays = pd.DataFrame({"a": [np.arange(n % 3) for n in range(9)], "b": range(9)})
    first = actors.rows(lambda f: f[f.b > 3])(arrays)
    actors.rows(lambda f: f.explode("a"))(first)
    assert not any("changed" in each or "no lineage" in each for each in last(home).incomplete)


class Strange:
    """Compares with nothing."""

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


def test_what_pandas_cannot_tell_apart_is_no_error_of_the_step(home):
    frame = pd.DataFrame({"k": [[1], [2], [1]], "s": [Strange(), Strange(), Strange()]})
    assert len(actors.groups(lambda f: f, by="k", name="lists")(frame)) == 3
    assert any("lists has no lineage: pandas cannot tell" in each for each in last(home).incomplete)
    assert len(actors.rows(lambda f: f, name="strange")(frame)) == 3
    assert not any("has no lineage" in each for each in last(home).incomplete)  # they are the same, piece by piece
    assert len(actors.rows(lambda f: f.set_index("k"), name="labels")(frame)) == 3
    assert any("labels has no lineage" in each for each in last(home).incomplete)
    again = actors.whole(lambda f: f.copy())(frame)
    assert len(actors.whole(lambda f: f)(again)) == 3


def test_labels_that_are_twice_there_are_refused(home):
    frame = pd.concat([ORDERS, ORDERS])
    actors.rows(lambda f: f.iloc[1:])(frame)
    assert any("same label" in each for each in last(home).incomplete)


def test_the_function_gets_the_very_frame_and_may_change_it(home):
    frame = ORDERS.copy()
    seen = []

    @actors.rows
    def in_place(f):
        """Doubles."""
        seen.append(f)
        f["amount"] = f["amount"] * 2
        f.tags.map(lambda cell: cell.append(0) if isinstance(cell, list) else None)
        return f

    assert in_place.__doc__ == "Doubles."
    assert in_place.__name__ == "in_place"
    frame["tags"] = [list(cell) if isinstance(cell, list) else cell for cell in frame.tags]
    given_ = in_place(frame)
    assert given_ is frame is seen[-1]
    assert frame.tags[0] == [1, 2, 0]
    assert frame.amount[0] == 2.0
    assert back(last(home), 3) == [3]


def test_trying_it_leaves_random_numbers_and_prints_as_they_were(home, capsys):
    def draws(f):
        print("called on", len(f))  # noqa: T201
        return f.assign(r=[random.random() + np.random.rand() for _ in range(len(f))])

    random.seed(7)
    np.random.seed(7)
    expected = draws(ORDERS)
    random.seed(7)
    np.random.seed(7)
    capsys.readouterr()
    assert_frame_equal(actors.rows(draws)(ORDERS), expected)
    assert capsys.readouterr().out == "called on 50\n"
    assert any("no lineage" in each for each in last(home).incomplete)


def test_trying_it_uses_up_nothing_of_its_other_arguments(home):
    def labelled(f, labels, seen):
        seen.append(len(f))
        return f.assign(label=next(labels))

    labels, seen = iter("abc"), []
    assert actors.rows(labelled)(ORDERS, labels, seen=seen).label.unique().tolist() == ["a"]
    assert (next(labels), seen) == ("b", [50])
    given_ = actors.rows(labelled, name="labelled")(ORDERS, (each for each in "abc"), [])
    assert given_.label.unique().tolist() == ["a"]
    assert any("cannot be copied" in each for each in last(home).incomplete)


def test_who_is_believed_is_called_once(home):
    calls = []
    actors.rows(lambda f: calls.append(len(f)) or f[f.amount > 4], check=False)(ORDERS)
    assert calls == [50]
    assert back(last(home), 0) == [4]


def test_what_raises_is_raised_and_the_actor_has_failed(home):
    with pytest.raises(ZeroDivisionError):
        actors.rows(lambda f: 1 / 0, name="fails")(ORDERS)
    step = last(home)
    assert "it failed: ZeroDivisionError" in step.incomplete[0]
    with pytest.raises(ActorError, match="step over a frame"):
        actors.rows(lambda f: f)([1, 2])
    with pytest.raises(ActorError, match="made of a function"):
        actors.rows(7)


def test_a_home_that_cannot_be_written_is_a_warning_alone(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    given_ = actors.rows(ROWWISE["filter"], home=tmp_path / "file" / "x")(ORDERS)
    assert_frame_equal(given_, ROWWISE["filter"](ORDERS))
    assert "a step is not captured" in caplog.text


# ---- groups ---------------------------------------------------------------------------------------------------

GROUPED = {
    "sum": (lambda f: f.groupby("city").big.sum(), ["city"]),
    "with nulls": (lambda f: f.groupby("city", dropna=False).agg(n=("big", "size"), m=("amount", "max")), ["city"]),
    "reset": (lambda f: f.groupby(["city", "kind"], observed=True).big.max().reset_index(), ["city", "kind"]),
    "several rows a group": (lambda f: f.groupby("city", dropna=False).head(2).sort_values("big", ascending=False).reset_index(drop=True), ["city"]),
    "drop_duplicates": (lambda f: f.drop_duplicates("city", ignore_index=True), ["city"]),
    "transform": (lambda f: f.assign(share=f.big / f.groupby("kind", observed=True).big.transform("sum")), ["kind"]),
    "by time and floats": (lambda f: f.groupby(["when", "amount"], dropna=False).size().rename("n").reset_index(), ["when", "amount"]),
    "none": (lambda f: f[f.big < 0].groupby("city").big.sum(), ["city"]),
}


def key(values):
    return tuple("null" if pd.isna(value) else value for value in values)


@pytest.mark.parametrize("name", GROUPED)
def test_each_row_of_a_group_is_traced_to_the_rows_of_its_group(home, name):
    function, by = GROUPED[name]
    expected = function(ORDERS.copy())
    given_ = actors.groups(by=by, name=name)(function)(ORDERS)
    step = last(home)
    (assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal)(given_, expected)
    assert not any("no lineage" in each for each in step.incomplete)
    keyed = expected.reset_index() if any(each in (expected.index.names or ()) for each in by) else expected
    for row, mine in enumerate(map(key, keyed[by].astype(object).itertuples(index=False))):
        wanted = [n for n, other in enumerate(map(key, ORDERS[by].astype(object).itertuples(index=False))) if other == mine]
        assert back(step, row) == wanted
    for n in (0, 2, 49):
        assert all(n in back(step, row) for row in ahead(step, n))


NO_GROUPS = {
    "rank": lambda f: f.groupby("city").big.sum().rank().reset_index(),
    "other keys": lambda f: f.assign(city=f.city.str.upper()).groupby("city").big.sum(),
    "without": lambda f: f.groupby("city").big.sum().reset_index(drop=True),
    "neighbours": lambda f: f.assign(before=f.big.shift(fill_value=0)),
}


@pytest.mark.parametrize("name", NO_GROUPS)
def test_what_is_not_grouped_is_refused(home, name):
    actors.groups(by="city", name=name)(NO_GROUPS[name])(ORDERS)
    assert any(f"{name} has no lineage" in each for each in last(home).incomplete)


def test_large_groups_are_tried_if_they_are_a_small_part_and_believed_if_not(home):
    large = pd.DataFrame({"k": np.arange(200_000) % 40, "v": np.arange(200_000)})
    wrong = {"rank": lambda f: f.groupby("k").v.sum().rank().reset_index()}
    actors.groups(lambda f: f.groupby("k").v.sum().sort_index(), by="k")(large)
    assert not any("believed: nothing came" in each for each in last(home).incomplete)
    actors.groups(wrong["rank"], by="k")(large)
    assert any("no lineage" in each for each in last(home).incomplete)
    actors.groups(lambda f: f.groupby("k").v.sum().sort_index(), by="k")(large.assign(k=large.k % 3))
    assert any("believed" in each for each in last(home).incomplete)
    assert back(last(home), 1) == list(np.flatnonzero(large.k % 3 == 1))
    actors.groups(lambda f: f.groupby("k").v.sum().sort_index(), by="k")(large.assign(k=0))
    assert not any("believed: nothing came" in each for each in last(home).incomplete)


WRONG_OF_MANY = {
    "rank": lambda t: t.rank(), "share": lambda t: t / t.sum(), "the most": lambda t: t == t.max(), "the least": lambda t: t == t.min(), "number": lambda t: t.reset_index(drop=True).index.to_series(index=t.index),
    "above the least": lambda t: t - t.min(), "the most of all": lambda t: t * 0 + t.max(), "the least of all": lambda t: t * 0 + t.min(), "since the one before": lambda t: t.diff().fillna(t),
    "number from the end": lambda t: pd.Series(range(len(t))[::-1], t.index), "so far": lambda t: t.cumsum(),
}


@pytest.mark.parametrize("name", WRONG_OF_MANY)
@pytest.mark.parametrize("count", [40, 365])
def test_what_is_not_of_a_group_alone_is_seen_on_few_groups_of_many_rows(home, name, count):
    large = pd.DataFrame({"k": np.random.default_rng(1).integers(0, count, 120_000), "v": np.random.default_rng(2).normal(0, 1, 120_000)})
    actors.groups(lambda f: WRONG_OF_MANY[name](f.groupby("k").v.sum()).rename("out").reset_index(), by="k", name="wrong")(large)
    assert any("wrong has no lineage" in each for each in last(home).incomplete)
    if name == "rank":
        actors.groups(lambda f: f.groupby("k").v.sum().rename("out").reset_index(), by="k", name="right")(large)
        assert not any("no lineage" in each or "believed: nothing came" in each for each in last(home).incomplete)


WRONG_ROWS_OF_MANY = {
    "shift": lambda f: f.assign(x=f.v.shift()), "shift back": lambda f: f.assign(x=f.v.shift(-1)), "so far": lambda f: f.assign(x=f.v.cumsum()), "mean": lambda f: f.assign(x=f.v - f.v.mean()),
    "rank": lambda f: f.assign(x=f.v.rank()), "number": lambda f: f.assign(x=range(len(f))), "number from the end": lambda f: f.assign(x=range(len(f))[::-1]), "head": lambda f: f.head(50_000),
    "tail": lambda f: f.tail(50_000), "unique": lambda f: f.drop_duplicates("k"), "the most": lambda f: f[f.v == f.v.max()], "is the least": lambda f: f.assign(x=f.v == f.v.min()),
    "as the first": lambda f: f.assign(x=f.v.iloc[0]), "as the last": lambda f: f.assign(x=f.v.iloc[-1]), "above the mean": lambda f: f[f.v > f.v.mean()], "reset": lambda f: f[f.v > 0].reset_index(drop=True),
    "a group": lambda f: f.assign(x=f.groupby("k").v.transform("sum")), "size": lambda f: f.assign(x=len(f)),
}


@pytest.mark.parametrize("name", WRONG_ROWS_OF_MANY)
def test_what_is_not_of_a_row_alone_is_seen_on_few_of_many_rows(home, name):
    many = pd.DataFrame({"k": np.random.default_rng(1).integers(0, 400, 120_000), "v": np.random.default_rng(2).normal(0, 1, 120_000)})
    for frame in (many, many.sample(frac=1, random_state=3)):
        actors.rows(WRONG_ROWS_OF_MANY[name], name="wrong")(frame)
        assert any("wrong has no lineage" in each for each in last(home).incomplete)


def test_columns_that_are_not_there_are_named(home):
    actors.groups(lambda f: f, by="nothing")(ORDERS)
    assert any("no column 'nothing'" in each for each in last(home).incomplete)
    with pytest.raises(ActorError, match="grouped by one column"):
        actors.groups(by=[])


def test_the_whole_is_said_to_be_the_whole(home):
    assert actors.whole(lambda f: float(f.big.sum()), name="total")(ORDERS) == float(ORDERS.big.sum())
    step = last(home)
    assert back(step, 0) == list(range(50))
    assert any("made of all its input" in each for each in step.incomplete)


# ---- merge ----------------------------------------------------------------------------------------------------

CELLS = st.sampled_from([1, 2, 3, None])


@given(st.lists(CELLS, max_size=6), st.lists(CELLS, max_size=6), st.sampled_from(["inner", "left", "right", "outer"]), st.booleans())
@settings(max_examples=80)
def test_a_merge_is_pandas_own_and_each_row_is_traced_to_what_it_joins(tmp_path_factory, left, right, how, sort):
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    one = pd.DataFrame({"k": pd.array(left, "Int64"), "l": range(len(left)), "v": 0})
    other = pd.DataFrame({"k": pd.array(right, "Int64"), "r": range(len(right)), "v": 1})
    expected = one.merge(other, on="k", how=how, sort=sort)
    given_ = actors.merge(one, other, on="k", how=how, sort=sort, home=home)
    assert_frame_equal(given_, expected)
    step = last(home)
    for row, (mine, others) in enumerate(zip(expected.l, expected.r)):
        wanted = [] if pd.isna(mine) else [int(mine)]
        wanted += [] if pd.isna(others) else [len(left) + int(others)]
        assert back(step, row) == sorted(wanted)
        assert all(row in ahead(step, place) for place in wanted)


DAYS = pd.date_range("2024-01-01", periods=2)
NAMED = pd.DataFrame({"x": [1], "y": [2]}).rename_axis(columns="k")
COLUMNS = {
    "texts": (pd.DataFrame({"k": [1, 2], "v": [3, 4]}), pd.DataFrame({"k": [1, 2], "v": [5, 6]}), {"on": "k", "suffixes": (None, " of the right"), "indicator": True}),
    "texts and keys that are values": (pd.DataFrame({"k": [1, 2]}), pd.DataFrame({"v": [1, 2]}), {"left_on": np.array([7, 8]), "right_on": np.array([8, 7])}),
    "texts and no rows": (pd.DataFrame({"k": [1], "v": ["a"]})[:0], pd.DataFrame({"k": [2], "u": [1]}), {"on": "k", "how": "outer"}),
    "integers": (pd.DataFrame({0: [1, 2], 1: [3, 4]}), pd.DataFrame({0: [1, 2], 2: [5, 6]}), {"on": 0}),
    "integers with suffixes": (pd.DataFrame({0: [1, 2], 1: [3, 4]}), pd.DataFrame({0: [1, 2], 1: [5, 6]}), {"on": 0}),
    "times": (pd.DataFrame([[1, 2]], columns=DAYS), pd.DataFrame([[3, 4]], columns=DAYS + timedelta(days=9)), {"left_index": True, "right_index": True}),
    "categories": (pd.DataFrame([[1, 2]], columns=pd.CategoricalIndex(["a", "b"])), pd.DataFrame([[1, 3]], columns=pd.CategoricalIndex(["a", "c"])), {"on": "a"}),
    "a named index": (NAMED, NAMED, {"on": "x"}),
    "keys that are values": (pd.DataFrame({0: [1, 2]}), pd.DataFrame({1: [1, 2]}), {"left_on": np.array([7, 8]), "right_on": [pd.Series([8, 9])]}),
    "keys with labels that are floats": (pd.DataFrame({0: [1, 2]}), pd.DataFrame({1: [1, 2]}), {"left_on": pd.Series([7, 8], index=[0.5, 1.5]), "right_on": [pd.Series([8, 9], index=[-0.5, 2.5])]}),
    "tuples": (pd.DataFrame({0: [1, 2], 1: [1, 1]}), pd.DataFrame({0: [1, 2], 1: [1, 1]}), {"on": (0, 1), "indicator": True, "how": "outer", "validate": "1:1"}),
    "objects that are floats": (pd.DataFrame({"k": [1, 2]}, dtype=object), pd.DataFrame({"k": [1.0, np.nan]}), {"on": "k", "how": "outer"}),
    "objects by labels that are floats": (pd.DataFrame({"k": [1, None]}, dtype=object), pd.DataFrame({"v": [1, 2]}, index=[1.0, 2.5]), {"left_on": "k", "right_index": True}),
    "objects by values that are floats": (pd.DataFrame({"k": [1, 2]}, dtype=object), pd.DataFrame({"v": [1, 2]}), {"left_on": "k", "right_on": pd.Series([1.0, 2.5])}),
    "each with each": (pd.DataFrame({0: [1, 2]}), pd.DataFrame({1: [1, 2]}), {"how": "cross"}),
    "a level of times and a column": (pd.DataFrame({"v": [1, 2]}, index=pd.MultiIndex.from_arrays([DAYS, ["a", "b"]], names=["day", "of"])), pd.DataFrame({"day": DAYS}), {"on": "day"}),
    "a named index and a column": (pd.DataFrame({"k": [1, 2]}, index=pd.Index([1, 2], name="k")), pd.DataFrame({"k": [1, 2]}, index=pd.Index([1, 2], name="k")), {"left_index": True, "right_on": "k"}),
    "a column that is named as an index, and labels": (pd.DataFrame({"v": [1, 2]}, index=pd.Index([1, 2], name="k")), pd.DataFrame({"w": [1, 2]}, index=[2, 1]), {"left_on": "k", "right_index": True}),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_the_columns_of_a_merge_are_of_pandas_own_kind(home, kind):
    left, right, options = COLUMNS[kind]
    try:
        expected = left.merge(right, **options)
    except Exception as error:  # pandas' own, of columns of categories where slices have a hash, from Python 3.12 on
        with pytest.raises(type(error)):
            actors.merge(left, right, **options)
        return
    found = actors.merge(left, right, **options)
    assert_frame_equal(found, expected)
    assert type(found.columns) is type(expected.columns)
    assert back(last(home), len(found) - 1)


@pytest.mark.parametrize("lack", ["no directory", "no locks"])
def test_without_a_home_or_locks_a_step_is_what_it_is_without(monkeypatch, caplog, lack):
    if lack == "no directory":
        for name in ("HOME", "BIGDEBUG_HOME", "XDG_DATA_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # as in a container whose user has no entry
    else:
        monkeypatch.setitem(sys.modules, "fcntl", None)
    assert actors.rows(lambda frame: frame.head(1))(ORDERS).equals(ORDERS.head(1))
    assert list(actors.generator(iter)([1, 2])) == [1, 2]
    assert actors.program(["true"]).returncode == 0
    assert len([each for each in caplog.messages if "a step is not captured" in each]) == 3
    with pytest.raises(StoreError, match="no home directory" if lack == "no directory" else "no locks"):
        actors.register("mine")


def test_merges_in_several_threads_leave_the_filters_of_warnings_as_they_are(switching):
    left, right = pd.DataFrame({"k": range(3), "a": 1}), pd.DataFrame({"k": range(3), "b": 2})

    def merges():
        for _ in range(40):
            actors.merge(left, right, on="k")

    before = list(warnings.filters)
    threads = [threading.Thread(target=merges) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert list(warnings.filters) == before


@pytest.mark.parametrize("make", [actors.rows, actors.rows(check=False), actors.whole, lambda function: function])
def test_a_step_lets_python_tell_a_warning_once(make, caplog):
    frame = pd.DataFrame({"n": range(30), "x": 0.5, "text": "t", "day": pd.Timestamp("2024-01-01", tz="UTC"), "at": pd.Timestamp("2024-01-01"), "kind": pd.Categorical(["a"] * 30)})
    step = make(lambda frame: frame[frame.n > 3])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        exec(compile("for _ in range(3):\n    step(frame)\n    warnings.warn('once')", "<a program>", "exec"), {"step": step, "frame": frame, "warnings": warnings})
    assert [str(each.message) for each in told] == ["once"]


@pytest.fixture
def switching():
    """Threads change places often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


CITIES = pd.DataFrame({"city": ["x", "y", "x", "z"], "amount": [1, 2, 3, 4]})


@pytest.mark.parametrize("function", [
    lambda f: f.groupby("city").agg({"amount": ["sum", "mean"]}), lambda f: f.groupby("city").agg({"amount": ["sum", "mean"]}).reset_index(),
    lambda f: f.groupby("city", as_index=False).agg({"amount": ["sum", "mean"]}), lambda f: f.groupby("city").agg({"city": ["first", "size"]}),
])
def test_groups_with_columns_of_two_levels_have_their_key_among_them_or_in_the_index(home, function):
    step = actors.groups(function, by="city")
    assert_frame_equal(step(CITIES), function(CITIES))
    assert [back(last(home), n) for n in range(3)] == [[0, 2], [1], [3]]


@pytest.mark.parametrize("by", [0, [0], (0,), pd.Index([0])])
def test_columns_that_are_numbers_are_grouped_by(home, by):
    frame = CITIES.set_axis(range(2), axis=1)
    assert_frame_equal(actors.groups(lambda f: f.groupby(0)[1].sum().reset_index(), by=by)(frame), frame.groupby(0)[1].sum().reset_index())
    assert [back(last(home), n) for n in range(3)] == [[0, 2], [1], [3]]


@pytest.mark.parametrize("by", [[], None, [["city"]]])
def test_what_names_no_columns_to_group_by_is_refused(by):
    with pytest.raises(ActorError, match="Name them"):
        actors.groups(lambda f: f, by=by)


CALLS = {
    "read_csv": lambda of, path: of.read_csv(path, parse_dates=["d"], infer_datetime_format=True),
    "merge": lambda of, path: of.merge(pd.DataFrame({"k": [1, 2]}), pd.DataFrame({"k": [1.5, 2.0]}), on="k"),
}


@pytest.mark.skipif(pd.__version__ >= "3", reason="what pandas 2 warns of")
@pytest.mark.parametrize("call", ["read_csv", "merge"])
def test_what_pandas_warns_of_is_said_of_the_line_that_called_the_step(home, tmp_path, call):
    (tmp_path / "in.csv").write_text("d,v\n2024-01-01,1\n")
    seen = []
    for of in (pd, actors):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            for _ in range(2):
                CALLS[call](of, tmp_path / "in.csv")
        seen.append([(each.filename, each.lineno, str(each.message)) for each in told])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", module=__name__.replace(".", r"\."))
            with pytest.raises(Warning):
                CALLS[call](of, tmp_path / "in.csv")
    assert seen[0] == seen[1]
    assert {name for name, *_ in seen[0]} == {__file__}


def test_what_pandas_refuses_of_a_merge_is_said_of_the_frames_themselves(home):
    one = pd.DataFrame({"k": [1, 2], "a": [1, 2]}).set_flags(allows_duplicate_labels=False)
    said = []
    for merge in (pd.merge, actors.merge):
        with pytest.raises(ValueError, match="duplicates") as refused:
            merge(one, pd.DataFrame(one), on="k", suffixes=("_x", "_x"))
        assert refused.value.__context__ is None
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert "DuplicateLabelError" in str(actors.steps()[-1].incomplete)


def test_a_merge_of_many_columns_that_were_put_in_one_by_one_warns_of_nothing(home):
    many = pd.DataFrame({"k": range(3)}, index=["x", "x", "y"]).rename_axis(columns="names")
    for n in range(99):
        many[f"c{n}"] = n
    assert_frame_equal(actors.merge(many, many, on="k"), many.merge(many, on="k"))
    assert back(last(home), 2) == [2, 5]


@pytest.mark.parametrize(("left", "right"), [([1], pd.DataFrame({"k": [1]})), (pd.DataFrame({"k": [1]}), {"k": [1]}), (pd.Series([1], name="k"), np.array([1]))])
def test_a_merge_of_what_is_no_frame_raises_what_pandas_does(home, left, right):
    with pytest.raises(TypeError, match="Can only merge Series or DataFrame objects"):
        actors.merge(left, right, on="k", home=home)
    assert not actors.steps(home)


def test_a_merge_with_itself_and_with_a_series(home):
    frame = ORDERS.copy()
    assert_frame_equal(actors.merge(frame, frame, on="big"), ORDERS.merge(ORDERS, on="big"))
    assert_frame_equal(actors.merge(frame, frame, "left", "big"), ORDERS.merge(ORDERS, "left", "big"))
    assert back(last(home), 7) == [7, 57]
    sums = ORDERS.groupby("city").big.sum().rename("total")
    assert_frame_equal(actors.merge(ORDERS, sums, left_on="city", right_index=True), ORDERS.merge(sums, left_on="city", right_index=True))
    first = sums.rename("big").rename_axis(None).reset_index(drop=True)
    assert_frame_equal(actors.merge(first, ORDERS, on="big", how="outer"), pd.merge(first, ORDERS, on="big", how="outer"))
    for one, other in ((sums.rename(None), ORDERS), (ORDERS, sums.rename(None))):
        with pytest.raises(ValueError, match="without a name"):
            actors.merge(one, other, left_index=True, right_index=True)
    with pytest.raises(UntraceableError, match="several levels"):
        actors.merge(ORDERS, pd.concat({"a": ORDERS}, axis=1), on="big")


# ---- files ----------------------------------------------------------------------------------------------------


def test_a_trace_goes_from_file_to_file_through_frames(home, tmp_path):
    source, target = tmp_path / "orders.csv", tmp_path / "out.parquet"
    ORDERS[["city", "amount"]].to_csv(source, index=False)
    orders = actors.read_csv(source)
    assert_frame_equal(orders, pd.read_csv(source))
    good = actors.rows(lambda f: f[f.amount > 4], name="good")(orders)
    sums = actors.groups(lambda f: f.groupby("city").amount.max().reset_index(), by="city", name="sums")(good)
    actors.to_parquet(sums, target, index=False)
    assert_frame_equal(pd.read_parquet(target), sums)
    first, second, third = actors.steps(home)
    assert (first.incomplete, second.incomplete, third.incomplete) == ((), (), ())
    assert (first.believed, second.believed) == ("", "")
    (read,), (written,) = first.reads, third.writes
    assert (read.path, read.unit, read.form, read.stamp.size) == (str(source), Unit.ROW, "csv", source.stat().st_size)
    assert dict(read.options) == {"header": "true", "sep": ",", "quote": '"', "escape": '"', "multiLine": "true"}
    assert (written.path, written.form, bool(written.stamp.digest)) == (str(target), "parquet", True)
    found = third.backward([Located.of(str(target), Unit.ROW, [list(sums.city).index("y")])])
    found = first.backward(second.backward(found))
    assert [(each.path, each.positions.tolist()) for each in found] == [(str(source), [n for n in range(50) if ORDERS.city[n] == "y" and ORDERS.amount[n] > 4])]
    found = third.forward(second.forward(first.forward([Located.of(str(source), Unit.ROW, [0, 7])])))
    assert [each.positions.tolist() for each in found] == [[list(sums.city).index("x")]]


def test_rows_of_several_files_are_told_apart(home, tmp_path):
    (tmp_path / "in").mkdir()
    for part in range(3):
        ORDERS[["big"]].iloc[part * 3 : part * 3 + 3 - part].to_parquet(tmp_path / "in" / f"part-{part}.parquet")
    frame = actors.read_parquet(tmp_path / "in")
    assert_frame_equal(frame, pd.read_parquet(tmp_path / "in"))
    other = tmp_path / "more.json"
    actors.to_json(ORDERS[["big"]].head(2), other)
    assert_frame_equal(actors.read_json(other, lines=True), pd.read_json(other, lines=True))
    actors.merge(frame, actors.read_json(other, lines=True), on="big", how="left")
    step = last(home)
    assert [each.path for each in step.reads] == [str(tmp_path / "in" / f"part-{part}.parquet") for part in range(3)] + [str(other)]
    found = step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, [1, 4])])
    assert {each.path: each.positions.tolist() for each in found} == {
        str(tmp_path / "in" / "part-0.parquet"): [1], str(tmp_path / "in" / "part-1.parquet"): [1], str(other): [1],
    }


MANY = pd.DataFrame({
    "n": range(1_000), "s": [f"{n}" for n in range(1_000)], "half": ["\ud800"] * 1_000, "list": [[n, {"k": (n, [n])}] for n in range(1_000)],
    "long": [1, "x" * 1_000_000] * 500, "array": [np.arange(2_000)] * 999 + [np.arange(2_000)], "when": pd.date_range("2024-01-01", periods=1_000, tz="UTC"),
    "kind": pd.Categorical([1, "a"] * 500), "null": [None, np.nan] * 500,
})
IN_PLACE = {
    "nothing": (lambda f: None, ()), "two rows": (lambda f: f.__setitem__("n", [0, 2, 1, *range(3, 1_000)]), ("changed",)), "a text": (lambda f: f.__setitem__("s", [*f.s[:-2], "x", "999"]), ("changed",)),
    "within a list": (lambda f: f.list[77][1]["k"][1].append(1), ("changed",)), "within an array": (lambda f: f.array[999].__setitem__(1_000, -1), ("changed",)),
    "a kind": (lambda f: f.__setitem__("kind", pd.Categorical([1, "a"] * 499 + ["a", 1])), ("changed",)), "a name": (lambda f: f.rename(columns={"s": "t"}, inplace=True), ("changed",)),
}


@pytest.mark.parametrize("change", IN_PLACE)
def test_one_cell_that_was_changed_in_place_is_seen(home, change):
    frame = copy.deepcopy(actors.rows(lambda f: f, check=False)(MANY))
    frame["list"] = copy.deepcopy(MANY["list"].tolist())
    frame["array"] = copy.deepcopy(MANY["array"].tolist())
    FRAMES.tell(frame, [Extent("f", Unit.ROW)], [len(frame)])
    how, said = IN_PLACE[change]
    how(frame)
    assert [word in why for why, word in zip(FRAMES.inputs(frame)[1], said, strict=True)] == [True] * len(said)


def test_cells_of_which_nobody_tells_what_they_hold_are_not_followed(home):
    frame = pd.DataFrame({"f": [lambda: 1]})
    FRAMES.tell(frame, [Extent("f", Unit.ROW)], [1])
    assert ["cannot be looked at" in why for why in FRAMES.inputs(frame)[1]] == [True]
    many = pd.DataFrame({"t": [f"{n}" for n in range(70_000)]})
    many.at[1, "t"] = ["a list, which is not found among so many texts"]
    FRAMES.tell(many, [Extent("f", Unit.ROW)], [70_000])
    assert ["cannot be looked at" in why for why in FRAMES.inputs(many)[1]] == [True]


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.__setitem__("amount", f["amount"].shift()), lambda f: f.drop(index=[0], inplace=True), lambda f: f.sort_values("amount", inplace=True),
        lambda f: f.reset_index(inplace=True), lambda f: f.__setitem__("new", 1),
    ],
)
def test_a_frame_that_was_changed_in_place_is_not_followed_to_its_file(home, tmp_path, change):
    source = tmp_path / "orders.csv"
    ORDERS[["city", "amount"]].to_csv(source, index=False)
    orders = actors.read_csv(source)
    change(orders)
    actors.rows(lambda f: f)(orders)
    step = last(home)
    assert any("changed after it was read" in each for each in step.incomplete)
    assert step.reads[0].path == f"item:{step.id}/in"


def test_another_frame_is_not_followed_to_the_file_of_the_first(home, tmp_path):
    source = tmp_path / "orders.csv"
    ORDERS[["city", "amount"]].to_csv(source, index=False)
    for make in (lambda f: f[f.amount > 4], lambda f: f.copy(), lambda f: f.reset_index(drop=True)):
        actors.rows(lambda f: f)(make(actors.read_csv(source)))
        assert any("came from no step" in each for each in last(home).incomplete)


@pytest.mark.parametrize(
    "options",
    [
        {"skiprows": 2}, {"comment": "#"}, {"skipfooter": 1, "engine": "python"}, {"chunksize": 3}, {"on_bad_lines": "skip"}, {"skip_blank_lines": False},
        {"compression": "gzip"}, {"skipinitialspace": True}, {"sep": None, "engine": "python"}, {"delim_whitespace": True}, {"header": 1}, {"header": [0, 1]}, {"sep": "[,;]", "engine": "python"}, {"escapechar": "\\"}, {"quoting": 3},
    ],
)
def test_options_that_move_rows_are_refused_by_name(tmp_path, options):
    (tmp_path / "f.csv").write_text("a\n1\n2\n3\n")
    with pytest.raises(UntraceableError, match=next(iter(options))):
        actors.read_csv(tmp_path / "f.csv", **options)


def test_writers_refuse_what_they_cannot_place(tmp_path):
    for call in (
        lambda: actors.to_csv(ORDERS, tmp_path / "f", mode="a"), lambda: actors.to_parquet(ORDERS, tmp_path / "f", partition_cols=["kind"]),
        lambda: actors.to_csv(pd.concat({"a": ORDERS}, axis=1), tmp_path / "f"), lambda: actors.to_json(ORDERS, tmp_path / "f", orient="split"),
        lambda: actors.read_json(tmp_path / "f"), lambda: actors.read_csv("https://example.org/f.csv"), lambda: actors.read_csv(None),
        lambda: actors.to_csv(ORDERS, tmp_path / "f", lineterminator=";"), lambda: actors.read_csv(tmp_path / "f.zip"), lambda: actors.to_csv(ORDERS, tmp_path / "f.tar.gz"),
        lambda: actors.read_parquet(tmp_path / "f", filters=[("a", ">", 1)]),
    ):
        with pytest.raises(UntraceableError):
            call()
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize(("read", "write", "options"), [
    (actors.read_csv, actors.to_csv, {"index": False}), (actors.read_json, actors.to_json, {}), (actors.read_parquet, actors.to_parquet, {}),
])
def test_files_are_given_by_the_names_that_pandas_gives_them(home, tmp_path, read, write, options):
    frame = ORDERS[["big"]]
    first = next(name for name in inspect.signature(getattr(pd, read.__name__)).parameters)
    path = [*inspect.signature(getattr(pd.DataFrame, write.__name__)).parameters][1]
    write(frame=frame, **{path: tmp_path / "f"}, **options)
    step = last(home)
    assert_frame_equal(read(**{first: tmp_path / "f"}, **({"lines": True} if read is actors.read_json else {})), frame)
    assert [each.path for each in step.writes] == [str(tmp_path / "f")]


def test_rows_of_an_awkward_csv_are_found_in_it(tmp_path, home):
    source = tmp_path / "awkward.csv"
    source.write_bytes('\ufeffid,text\r\n1,"two\r\nlines, and ""quotes"""\r\n\r\n2,\r\n3,"\n\n"\r\n4,last'.encode())
    frame = actors.read_csv(source)
    assert len(frame) == 4
    actors.rows(lambda f: f)(frame)
    step = last(home)
    (read,) = step.reads
    units = Units()
    lines = [units.translate(Located.of(str(source), Unit.ROW, [row]), read, replace(read, unit=Unit.LINE)).positions.tolist() for row in range(4)]
    assert lines == [[1, 2], [4], [5, 6, 7], [8]]


TEXT = st.text('ab",\n\r א', max_size=5) | st.none()


@given(st.lists(st.tuples(st.integers(0, 9), TEXT), max_size=8), st.booleans(), st.sampled_from([",", ";", "\t"]), st.sampled_from(["f.csv", "f.csv.gz"]), st.sampled_from(["utf-8", "utf-16"]))
@settings(max_examples=60)
def test_rows_stand_on_the_lines_that_pandas_wrote_them_on(tmp_path_factory, rows, header, sep, name, encoding):
    folder = tmp_path_factory.mktemp("csv")
    frame = pd.DataFrame(rows, columns=["n", "t"]).astype({"n": "int64", "t": object})
    options = {"sep": sep, "index": False, "header": header, "encoding": encoding}
    actors.to_csv(frame, folder / name, home=folder / "home", **options)
    (step,) = actors.steps(folder / "home")
    (written,) = step.writes
    texts = [frame.iloc[[n]].to_csv(sep=sep, index=False, header=False) for n in range(len(frame))]
    try:
        read = len(pd.read_csv(folder / name, sep=sep, header=0 if header else None, encoding=encoding, dtype=str)) if rows or header else 0
    except ValueError:
        read = -1
    if read != len(frame) or any("quoting=1" in why for why in step.incomplete):
        with pytest.raises(IncompleteLineageError, match="quoting=1"):
            step.backward([Located.of(written.path, Unit.ROW, [0])])
        assert any("\r" in text.removesuffix("\n") for text in texts)
        return
    line = int(header)
    for n, written_text in enumerate(texts):
        lines = len(written_text.encode().splitlines())
        with suppress(UntraceableError):  # lines that end in several ways
            found = Units().translate(Located.of(written.path, Unit.ROW, [n]), written, replace(written, unit=Unit.LINE))
            assert found.positions.tolist() == list(range(line, line + lines))
        line += lines
    assert [each.positions.tolist() for each in step.backward([Located.of(written.path, Unit.ROW, range(len(frame)))])] == ([list(range(len(frame)))] if rows else [])
