"""Plain functions: which are read, which are tried, and what a step that is read tells, costs, and leaves alone."""

import sys
import threading

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from bigdebug import actors
from bigdebug.actors.arguments import Arguments
from bigdebug.actors.plain.heard import Heard
from bigdebug.actors.plain.promise import keeps
from bigdebug.trace.across.located import Located, Unit

FRAME = pd.DataFrame({
    "k": ["x", "y", None, "x"], "n": [1, 2, 3, 4], "v": [0.5, None, 2.0, -1.0], "t": ["a b", "", None, "c"], "w": pd.to_datetime(["2020-01-01", None, "2021-06-01", "2020-01-03"]), "on": [True, False, True, True],
    "kind": pd.Categorical(["p", "q", "p", "p"]), "any": [object(), {}, [], 1],
})
RATE, NAMES, SEEN, TABLE = 1.17, ["k", "n"], [], {"x": 1}


def taxed(frame):
    return frame.assign(tax=frame.v * RATE)


def counted(frame):
    SEEN.append(1)
    return frame


def again(frame):
    return again(frame)


def looped(frame):
    for name in ("n", "v"):
        frame = frame[frame[name] > 0]
    return frame


def chosen(frame, names=None, least=1):
    if names is None:
        names = [f"{name}" for name in NAMES] if least else []
    return frame[frame.n > least][names]


def parsed(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def read(function, by=(), frame=FRAME, after=(), **named):
    return keeps(function, Arguments((), after, named), frame, frozenset(by))


PLAIN = {
    "filter": lambda f: f[(f.n > 1) & f.v.notna() & ~f.on], "text": lambda f: f[f.t.str.contains("a", na=False)], "columns": lambda f: f[NAMES], "loc": lambda f: f.loc[f.n > 1, ["k", "v"]],
    "new": lambda f: f.assign(a=f.n * 2 + f.v, b=lambda g: g.a // 7, c="x"), "texts": lambda f: f.assign(t=f.t.str.strip().str.upper() + "!"), "helper": lambda f: taxed(f[f.on]),
    "numpy": lambda f: f.assign(a=np.where(f.v > 0, np.log1p(f.v), 0.0)), "time": lambda f: f.assign(y=f.w.dt.year), "cells": lambda f: f.assign(n=f.n.map(lambda n: sum(range(n)) if n > RATE else len(str(n)))),
    "carried": lambda f: f[["kind", "any", "n"]].rename(columns={"n": "m"}).sort_values("m"), "dropped": lambda f: f.drop(columns=["any"]).dropna(subset=["v"]).fillna({"t": ""}), "column": lambda f: f.v * 2,
    "looped": looped, "chosen": chosen, "parsed": lambda f: f.assign(n=f.t.map(parsed)), "codes": lambda f: f.assign(a=f.k.map(TABLE | {"y": len(SEEN)})), "same": lambda f: f, "nothing but a copy": lambda f: f.copy(),
}
GROUPED = {
    "agg": lambda f: f.groupby("k", as_index=False).agg(total=("v", "sum"), days=("n", "nunique")), "dictionary": lambda f: f.groupby("k").agg({"v": "mean", "n": "max"}), "one": lambda f: f.groupby("k").v.sum(),
    "reset": lambda f: f.groupby("k").v.sum().reset_index(name="total"), "finer": lambda f: f.groupby(["k", "n"]).size(), "filtered": lambda f: f[f.n > 1].groupby("k")[["v"]].mean().reset_index(),
    "then": lambda f: f.groupby("k").agg(n=("n", "count")).reset_index().assign(twice=lambda g: g.n * 2), "share": lambda f: f.assign(v=f.v / f.groupby("k").v.transform("sum")),
    "large": lambda f: f.groupby("k", as_index=False).agg(n=("n", "sum")).sort_values("n"), "labels": lambda f: f.groupby("k", as_index=False).n.sum().set_index("k"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_pandas_does_row_by_row_is_read(name):
    assert read(PLAIN[name])
    assert read(PLAIN[name], ["k"]) == (name in ("filter", "text", "columns", "loc", "new", "texts", "helper", "numpy", "time", "cells", "dropped", "looped", "chosen", "parsed", "codes", "same", "nothing but a copy"))


@pytest.mark.parametrize("name", GROUPED)
def test_what_pandas_makes_of_groups_is_read(name):
    assert read(GROUPED[name], ["k"])
    assert not read(GROUPED[name])
    assert not read(GROUPED[name], ["k", "t"])


def own():
    seen, total = [], 0

    def nonlocally(f):
        nonlocal total
        total = total + 1
        return f

    def within(f):
        def more():
            nonlocal total
            total = total + 1
            return f

        return more()

    return nonlocally, within, lambda f: (seen.append(f), f)[1], lambda f: f.assign(n=f.n.map(lambda n: seen.append(n) or n))


def caught(frame):
    try:
        return frame[frame.n > 1]
    except ValueError:
        return frame


def written(frame):
    frame["n"] = 1
    return frame


def asked(frame):
    if len(frame) > 2:
        return frame[frame.n > 1]
    return frame


def printed(frame):
    sys.stdout.write(str(frame))
    return frame


TRIED = {
    "neighbours": lambda f: f.assign(v=f.v.shift()), "all": lambda f: f.assign(v=f.v - f.v.mean()), "labels anew": lambda f: f.reset_index(drop=True), "ranks": lambda f: f.assign(n=f.n.rank()),
    "few": lambda f: f.head(2), "places": lambda f: f.iloc[1:], "slices": lambda f: f[1:], "other rows": lambda f: f[f.n > 1].assign(n=f.n), "two filters": lambda f: f[f.n > 1][f.v > 0],
    "a mask of texts": lambda f: f[f.k], "whether there are nulls": lambda f: f.assign(a=~f.t.str.contains("a")), "types by values": lambda f: f.assign(a=f.t.str.len().astype(str)),
    "texts by nulls": lambda f: f.assign(a=np.where(f.on, "x", f.t.str[0])), "floats by zeros": lambda f: f.assign(a=(f.n // f.n).astype(str)), "categories": lambda f: f.assign(a=f.k.astype("category")), "ordered by others": lambda f: f.assign(a=f.kind.cat.codes),
    "objects": lambda f: f.assign(a=f.any + 1), "columns by rows": lambda f: f.t.str.split(" ", expand=True), "listed": lambda f: f.assign(a=f.n.map(lambda n: SEEN.append(n) or n)), "dictionary": lambda f: f.assign(a=f.k.map(TABLE.setdefault("z", 1))), "global": counted, "itself": again,
    "closure": own()[0], "within": own()[1], "list": own()[2], "list of cells": own()[3], "caught": caught, "in place": written, "asked": asked, "printed": printed, "method": "".join, "step": actors.rows(taxed),
    "generator": lambda f: (yield f), "text of it": lambda f: f.assign(a=f"{f}"), "hidden": lambda f: f.assign(a=f.__class__.__name__), "its number of rows": lambda f: f.assign(a=f.shape[0]), "defaults": lambda f, seen=SEEN: (seen.append(1), f)[1],
    "aligned": lambda f: f.fillna({"v": f.n}), "flag or not": lambda f: f.assign(a=f.v.clip(lower=f.n)), "one null": lambda f: f.fillna(f.v.mean()), "a value of all": lambda f: f.assign(a=max(f.n)), "list columns": lambda f: f.assign(a=[1, 2, 3, 4]),
    "module": lambda f: f.assign(a=np.random.rand()), "numbers of rows": lambda f: f.assign(a=np.arange(4)), "order": lambda f: f.assign(a=np.sort(f.n)), "identity": lambda f: f if f is f.copy() else f[f.n > 1],
}
TRIED_GROUPS = {
    "other keys": lambda f: f.groupby("n").v.sum().reset_index(), "changed keys": lambda f: f.assign(k=f.k.str[0]).groupby("k").v.sum(), "keys made of others": lambda f: f.groupby("k").v.sum().reset_index().assign(k="x"),
    "so far": lambda f: f.groupby("k").v.sum().cumsum(), "rank": lambda f: f.groupby("k").v.sum().rank().reset_index(), "no keys": lambda f: f.groupby("k").agg(v=("v", "sum")).reset_index().assign(k=1), "function": lambda f: f.groupby("k").v.apply(len),
    "share of all": lambda f: f.groupby("k").v.sum().reset_index().assign(a=lambda g: g.v / g.v.sum()), "order of ties": lambda f: f.sort_values("v").groupby("k").first(), "first": lambda f: f.drop_duplicates("k"),
    "categories": lambda f: f.groupby("kind", observed=False).v.sum(), "objects": lambda f: f.groupby("k")["any"].sum(), "renamed": lambda f: f.rename(columns={"k": "z", "t": "k"}).groupby("k").v.sum(),
}


@pytest.mark.parametrize("name", TRIED)
def test_what_may_look_further_or_does_anything_else_is_tried(name):
    assert not read(TRIED[name])
    assert SEEN == []


@pytest.mark.parametrize("name", TRIED_GROUPS)
def test_groups_of_which_that_is_not_known_are_tried(name):
    assert not read(TRIED_GROUPS[name], ["k"])


def test_arguments_that_nobody_changes_are_known():
    assert read(lambda f, least, names=(): f[f.n > least][names], after=(1,), names=["n"])
    assert not read(lambda f, other: f[f.n > 1], after=(FRAME,))
    assert not read(lambda f, names: (names.append("v"), f)[1], after=(["n"],))


def test_frames_of_other_kinds_are_tried():
    class Own(pd.DataFrame):
        """Somebody's."""

    plain = PLAIN["filter"]
    several = pd.concat([FRAME, FRAME[["n"]]], axis=1)
    told = FRAME.copy()
    told.attrs["of"] = []
    named = FRAME.copy()
    object.__setattr__(named, "n", 3)
    assert [read(plain, frame=frame) for frame in (FRAME, Own(FRAME), several, told, named)] == [True, False, False, False, False]


def test_who_follows_each_line_sees_no_line_that_is_not_called(home):
    lines, mine = [], PLAIN["filter"].__code__

    def follow(frame, event, _):
        lines.append(event) if frame.f_code is mine and event == "call" else None

    sys.setprofile(follow)
    try:
        actors.rows(PLAIN["filter"], check=False)(FRAME)
        alone = len(lines)
        read(PLAIN["filter"])
    finally:
        sys.setprofile(None)
    assert len(lines) == alone == 1


def test_a_method_that_somebody_put_in_its_place_is_not_believed(monkeypatch):
    monkeypatch.setattr(pd.DataFrame, "assign", lambda self, **_: self.head(1))
    assert not read(PLAIN["new"])


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))


def test_a_step_that_is_read_has_exact_lineage_and_believes_nothing(home):
    kept = actors.rows(PLAIN["filter"])(FRAME)
    assert_frame_equal(kept, PLAIN["filter"](FRAME))
    sums = actors.groups(GROUPED["agg"], by="k")(FRAME)
    assert_frame_equal(sums, GROUPED["agg"](FRAME))
    share = actors.groups(GROUPED["share"], by="k")(FRAME)
    assert_frame_equal(share, GROUPED["share"](FRAME))
    steps = actors.steps()
    assert [(step.believed, [why for why in step.incomplete if "came from no step" not in why]) for step in steps] == [("", [])] * 3
    assert [back(steps[1], n) for n in range(2)] == [[0, 3], [1]]
    assert [back(steps[2], n) for n in range(4)] == [[0, 3], [1], [2], [0, 3]]


def back(step, row):
    (found,) = step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, [row])])
    return found.positions.tolist()


def test_labels_that_name_several_rows_have_no_lineage(home):
    twice = FRAME.set_axis([0, 0, 1, 2])
    assert_frame_equal(actors.rows(PLAIN["filter"])(twice), PLAIN["filter"](twice))
    assert "same label" in actors.steps()[0].incomplete[-1]


def test_the_function_is_called_once_and_its_exception_is_its_own(home):
    calls = []
    frame = pd.DataFrame({"t": ["x"]})
    with pytest.raises(TypeError) as raised:
        actors.rows(lambda f: f.assign(a=f.t + 1))(frame)
    with pytest.raises(TypeError) as plain:
        frame.t + 1
    assert str(raised.value) == str(plain.value)
    assert sys.getprofile() is None
    actors.rows(lambda f: (calls.append(len(f)), f)[1], check=False)(frame)
    assert calls == [1]


NUMBERED = {
    "texts": pd.array(["b", "a", None, "b", "c"] * 30_000, dtype=object), "texts and nulls": np.array([f"k{n % 7}" if n % 5 else None for n in range(150_000)], dtype=object), "texts alone": np.array([f"k{n % 7}" for n in range(150_000)], dtype=object), "floats": np.tile([0.5, np.nan, -0.0, 0.0, 3.0], 30_000),
    "integers": np.tile([3, 1, 3, 2, 1], 30_000), "times": np.tile(np.array(["2020-01-01", "NaT", "2021-01-01", "2020-01-01", "2020-01-02"], "datetime64[ns]"), 30_000), "flags": np.tile([True, False, True, True, False], 30_000),
}


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("options", [{}, {"sort": False}, {"dropna": False}, {"as_index": False}])
def test_keys_that_were_heard_are_those_that_are_numbered(home, name, options):
    frame = pd.DataFrame({"k": NUMBERED[name], "v": range(150_000)})
    scope = {}
    exec(f"def function(f):\n    return f.groupby('k', {', '.join(f'{key}={value}' for key, value in options.items())}).agg(v=('v', 'sum'))", scope)
    assert read(scope["function"], ["k"], frame)
    result = actors.groups(scope["function"], by="k")(frame)
    assert_frame_equal(result, scope["function"](frame))
    (step,) = actors.steps()
    keys = result.k if "as_index" in options else result.index.to_series()
    for row, key in enumerate(keys):
        expected = frame.k.isna() if pd.isna(key) else frame.k == key
        assert back(step, row) == np.flatnonzero(expected).tolist()


def test_other_threads_are_not_heard():
    heard, stop = Heard(), threading.Event()
    column = pd.Index(NUMBERED["texts alone"], dtype=object)

    def other():
        pd.factorize(column)
        stop.set()

    with heard.listening():
        threading.Thread(target=other).start()
        stop.wait(10)
    assert heard.of(column) is None
