"""Plain functions: which are read, which are tried, and what a step that is read tells, costs, and leaves alone."""

import dis
import signal
import sys
import threading
from datetime import datetime
from time import perf_counter
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from bigdebug import actors
from bigdebug.actors.arguments import Arguments
from bigdebug.actors.owners import GroupOwners
from bigdebug.actors.plain.genuine import _is_of
from bigdebug.actors.plain.heard import Heard
from bigdebug.actors.plain.promise import read as read_promise
from bigdebug.actors.plain.standin import Constants
from bigdebug.actors.plain.straight import watched
from bigdebug.trace.across.located import Located, Unit

pytestmark = pytest.mark.skipif(watched(), reason="somebody follows each line: no function is read then")

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


def chosen(frame, names=(), least=1):
    names = names or NAMES
    return frame[frame.n > least][names] if least else frame


def read(function, by=(), frame=FRAME, after=(), **named):
    return read_promise(function, Arguments((), after, named), frame, by) is not None


PLAIN = {
    "filter": lambda f: f[(f.n > 1) & f.v.notna() & ~f.on], "text": lambda f: f[f.t.str.contains("a", na=False)], "columns": lambda f: f[NAMES], "loc": lambda f: f.loc[f.n > 1, ["k", "v"]],
    "new": lambda f: f.assign(a=f.n * 2 + f.v, b=lambda g: g.a // 7, c="x"), "texts": lambda f: f.assign(t=f.t.str.strip().str.upper() + "!"), "helper": lambda f: taxed(f[f.on]),
    "numpy": lambda f: f.assign(a=np.where(f.v > 0, np.log1p(f.v), 0.0)), "time": lambda f: f.assign(y=f.w.dt.year, d=f.w.dt.floor("D")),
    "carried": lambda f: f[["kind", "any", "n"]].rename(columns={"n": "m"}).sort_values("m"), "dropped": lambda f: f.drop(columns=["any"]).dropna(subset=["v"]).fillna({"t": ""}), "column": lambda f: f.v * 2,
    "looped": looped, "chosen": chosen, "codes": lambda f: f.assign(a=f.k.map(TABLE | {"y": len(SEEN)})), "longer names": lambda f: f.rename(columns={"n": "price"}).sort_values("price", kind="stable"), "labels anew": lambda f: f.assign(v=f.v * 2).reset_index(drop=True), "same": lambda f: f, "nothing but a copy": lambda f: f.copy(),
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
    assert read(PLAIN[name], ["k"]) == (name in ("filter", "text", "columns", "loc", "new", "texts", "helper", "numpy", "time", "dropped", "looped", "chosen", "codes", "longer names", "labels anew", "same", "nothing but a copy"))


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

    return nonlocally, within, lambda f: (seen.append(f), f)[1]


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
    "neighbours": lambda f: f.assign(v=f.v.shift()), "all": lambda f: f.assign(v=f.v - f.v.mean()), "labels anew of some": lambda f: f[f.n > 1].reset_index(drop=True), "labels anew in another order": lambda f: f.sort_values("v").reset_index(drop=True), "ranks": lambda f: f.assign(n=f.n.rank()),
    "few": lambda f: f.head(2), "places": lambda f: f.iloc[1:], "slices": lambda f: f[1:], "other rows": lambda f: f[f.n > 1].assign(n=f.n), "two filters": lambda f: f[f.n > 1][f.v > 0],
    "a mask of texts": lambda f: f[f.k], "whether there are nulls": lambda f: f.assign(a=~f.t.str.contains("a")), "types by values": lambda f: f.assign(a=f.t.str.len().astype(str)),
    "texts by nulls": lambda f: f.assign(a=np.where(f.on, "x", f.t.str[0])), "floats by zeros": lambda f: f.assign(a=(f.n // f.n).astype(str)), "categories": lambda f: f.assign(a=f.k.astype("category")), "ordered by others": lambda f: f.assign(a=f.kind.cat.codes),
    "objects": lambda f: f.assign(a=f.any + 1), "columns by rows": lambda f: f.t.str.split(" ", expand=True), "a function of each": lambda f: f.assign(a=f.n.map(lambda n: n)), "dictionary": lambda f: f.assign(a=TABLE.setdefault("z", 1)), "global": counted, "itself": again,
    "closure": own()[0], "within": own()[1], "list": own()[2], "caught": caught, "in place": written, "asked": asked, "printed": printed, "method": "".join, "step": actors.rows(taxed),
    "generator": lambda f: (yield f), "text of it": lambda f: f.assign(a=f"{f}"), "hidden": lambda f: f.assign(a=f.__class__.__name__), "its number of rows": lambda f: f.assign(a=f.shape[0]), "defaults": lambda f, seen=SEEN: (seen.append(1), f)[1],
    "aligned": lambda f: f.fillna({"v": f.n}), "flag or not": lambda f: f.assign(a=f.v.clip(lower=f.n)), "one null": lambda f: f.fillna(f.v.mean()), "a value of all": lambda f: f.assign(a=max(f.n)), "list columns": lambda f: f.assign(a=[1, 2, 3, 4]),
    "module": lambda f: f.assign(a=np.random.rand()), "numbers of rows": lambda f: f.assign(a=np.arange(4)), "order": lambda f: f.assign(a=np.sort(f.n)), "identity": lambda f: f if f is f.copy() else f[f.n > 1],
}
LINES = {
    "of the caller in place": "n = f['n']; n *= -1; return f", "flags in place": "on = f['on']; on &= f.v > 2; return f[on]", "of a copy in place": "g = f.copy(); n = g['n']; n //= 2; return g.groupby('n').v.sum()",
    "keys that a function of assign sets": "def helper(g):\n        g['k'] = 'x'\n        return g.v\n    return f.copy().assign(a=helper).groupby('k').a.sum()",
    "loc before": "g = f.copy(); at = g.loc; g['k'] = 'x'; return at[g.v > 0].groupby('k').v.sum()", "groups before": "g = f.copy(); by = g.groupby('k'); g['n'] = g.t.str.len(); return by.n.max()", "a column of groups before": "g = f.copy(); by = g.groupby('k').n; g['n'] = g.t.str.len(); return by.max()",
    "ties of finer groups": "return f.groupby(['k', 'n'], as_index=False).agg(c=('v', 'sum')).sort_values('c').groupby('k').agg(n=('n', 'first'))", "ties of labels": "return f.set_index('n').sort_values('v').groupby('k').t.first()",
    "large integers": "return f.assign(n=f.n.where(f.on))", "integers by integers": "return f.assign(n=f.n // f.n)", "large integers of groups": "return f.assign(n=f.groupby('k').n.transform('max'))", "large integers of a dictionary": "return f.assign(a=f.k.map({'x': 2 ** 60}))",
    "times or texts": "return f[f.w.fillna('none') == '2020-01-01']", "times and parts": "return f.assign(a=f.w == f.t.str[0])", "dates of a dictionary": "return f.assign(a=f.k.map(DAYS))", "nulls as texts": "return f.assign(a=f.t.str[5].astype(str))",
    "nulls of texts as texts": "return f.assign(a=f.t.str.upper().astype(str))", "dates": "return f.assign(a=f.w.dt.date)", "flags that are numbers": "return f.loc[f.k.str.endswith('x', na=1)]", "a number of numpy": "return f if np.negative(1) > 0 else f.assign(v=f.v.cumsum())",
    "the clock": "return f if DAY.now() < DAY else f.head(1)", "objects in an order": "return f.sort_values('any')", "labels of objects": "return f.set_index(['k', 'any'])", "a codec": "return f.assign(a='é'.encode('ascii', 'mine'))", "a template": "return f if '{0.__class__}'.format(f) else f.head(1)",
    "columns by rows": "return f.loc[:, f.on]", "columns by an array": "return f.loc[:, np.where(f.v > 1, True, False)]", "a number for each row": "return f.assign(a=f.t.str.repeat([1, 2, 3, 4]))", "hours by their order": "return f.assign(a=f.w.dt.floor('h', 'infer'))",
    "parts of parts": "return f.assign(a=np.where(f.on, 'x', f.t.str[0] + f.t.str[0]))", "objects of groups": "return f.assign(a=f.groupby('k')['any'].transform('first') == 1)", "shorter floats filled": "return f.assign(a=f.short.fillna(0.1))", "shorter floats cut": "return f.assign(a=f.short.clip(0.1))",
    "all shorter floats": "return f.fillna(0.1)", "shorter floats beside": "return f.assign(a=np.where(f.on, f.short, 0.1)).fillna({'a': 0.1})", "endless": "n = 1\n    while n < 10:\n        n = n + 1\n    return f", "many": "return f.assign(a=MANY[3])", "deleted": "del f['v']\n    return f",
    "few bits filled": "return f.assign(a=f.bits.where(f.on, 300) * 100)", "flags filled in": "return f.assign(a=f.v.fillna(True) + f.on)", "cut by flags": "return f.assign(a=f.v.clip(True) + f.on)", "objects filled": "return f.fillna({'any': 0})",
    "numbers or not": "return f.assign(p=f.t.str.split(' ').str[1]).groupby('k').max(numeric_only=True)", "nulls of objects": "return f.assign(a=f['any'].isna())", "objects dropped": "return f.dropna()", "texts of groups": "return f.groupby('k').t.max()",
    "now": "return f.assign(a=f.w < 'now')", "shorter floats of groups": "return f.groupby('k').short.std()", "loops in loops": "n = 0\n    for a in (1, 2):\n        for b in (3, 4):\n            n = n + b\n    return f.assign(a=n)",
    "a column that is not there": "return f[['z']]", "columns of other rows": "return f.assign(a=f.v - f[f.n > 1].v)", "texts of numbers": "return f.assign(a=f.n.str.upper())", "keys of objects": "return f.groupby(['k', 'any']).v.sum()",
    "square of flags": "return f.assign(a=(f.on ** 2).where(f.v > 0, 300) * 100)", "lists in lists": "n = [[a * b for a in (1, 2)] for b in (3, 4)]\n    return f.assign(a=len(n))",
    "with": "with np.errstate(all='ignore'):\n        return f[f.n > 1]", "imported": "import os\n    return f", "global": "global SEEN\n    SEEN = 1\n    return f",
}


def written(body):
    scope = {"np": np, "DAY": datetime(2020, 1, 1), "DAYS": {datetime(2020, 1, 1): "new year"}, "MANY": list(range(20_000)), "SEEN": SEEN}
    exec(f"def function(f):\n    {body}\n", scope)
    return scope["function"]


@pytest.mark.parametrize("name", LINES)
def test_what_hangs_on_other_rows_or_stays_is_tried(name):
    frame = FRAME.assign(short=FRAME.v.astype("float32"), bits=FRAME.n.astype("uint8"))
    assert not read(written(LINES[name]), frame=frame)
    assert not read(written(LINES[name]), ["k"], frame)
    assert not read(written(LINES[name]), ["n"], frame)


FEES = frozenset([5, 13])


class Counter:
    """Somebody's."""

    n = 0

    def add(self):
        self.n += 1


class Scope(dict):
    """Somebody's."""

    def get(self, *names):
        raise AssertionError


def test_what_code_holds_and_finds_is_what_nobody_can_change():
    counter = Counter()

    def counted(f):
        x = 1234567
        x.add()
        return f

    counted.__code__ = counted.__code__.replace(co_consts=tuple(counter if each == 1234567 else each for each in counted.__code__.co_consts))
    assert not read(counted)
    assert counter.n == 0
    scope = Scope(RATE=1)
    exec("def function(f): return f.assign(a=f.v * RATE)", scope)
    assert not read(dict.__getitem__(scope, "function"))
    assert read(lambda f: f.assign(a=max(tuple(FEES))))
    assert Constants().of(FEES) is FEES


def test_what_numpy_makes_of_functions_of_the_users_is_not_its_own():
    def root(value):
        return value

    scope = {}
    exec(compile("def root(x): return x", "/home/me/pandas/patches.py", "exec"), scope)
    assert [_is_of(each) for each in (np.sqrt, np.where, pd.isna, pd.Series.str, pd.Series.__gt__)] == [True] * 5
    assert [_is_of(each) for each in (np.vectorize(root), np.frompyfunc(root, 1, 1), scope["root"], Counter, Mock(), root)] == [False] * 6


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_where_infinities_are_nulls_nothing_is_known():
    with pd.option_context("mode.use_inf_as_na", True):
        assert not read(PLAIN["filter"])
    assert read(PLAIN["filter"])


def test_where_objects_become_texts_nothing_is_known():
    with pd.option_context("future.infer_string", True):
        assert not read(PLAIN["filter"])
    assert read(PLAIN["filter"])


def test_code_is_looked_at_once(monkeypatch):
    function = written("return f[f.n > 1]")
    assert read(function)
    monkeypatch.setattr(dis, "get_instructions", None)
    assert read(function)


def test_helpers_are_read_once_each():
    scope = {"h0": taxed}
    for depth in range(1, 12):
        exec(f"def h{depth}(f):\n    return h{depth - 1}(f) if {depth} < 0 else h{depth - 1}(h{depth - 1}(f)) if {depth} < 3 else h{depth - 1}(f)", scope)
    began = perf_counter()
    assert read(scope["h11"])
    assert perf_counter() - began < 1


def test_a_class_that_is_made_of_texts_is_seen_among_few():
    class Own(str):
        """Somebody's."""

    texts = pd.DataFrame({"t": pd.Series(["a", Own("b")], dtype=object)})
    assert not read(lambda f: f.assign(t=f.t.str.upper()), frame=texts)
    many = pd.DataFrame({"t": pd.Series(["a"] * 20_000, dtype=object)})
    many.iloc[7, 0] = 3
    assert not read(lambda f: f.assign(t=f.t.str.upper()), frame=many)
    assert read(lambda f: f.groupby("t").size(), ["t"], many)


def test_what_is_wrong_in_by_has_no_lineage_and_raises_nothing(home):
    assert_frame_equal(actors.groups(lambda f: f[f.n > 1], by=[("k", ["n"])])(FRAME), FRAME[FRAME.n > 1])
    assert "has no lineage" in actors.steps()[0].incomplete[-1]


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
    named, other, remembered = FRAME.copy(), FRAME.copy(), FRAME.copy()
    object.__setattr__(named, "n", 3)
    object.__setattr__(other, "assign", len)
    object.__setattr__(remembered["v"], "notna", len)
    times = FRAME.rename(columns={"n": pd.Timestamp("2020-01-01")})
    days = times[[pd.Timestamp("2020-01-01")]].set_axis(pd.DatetimeIndex(["2020-01-01"]), axis=1)
    assert [read(plain, frame=frame) for frame in (FRAME, Own(FRAME), several, told, named, other, remembered)] == [True] + [False] * 6
    assert [read(lambda f: f.copy(), frame=frame) for frame in (times, days)] == [True, False]


class Name(str):
    """Somebody's."""


class Labels(pd.Index):
    """Somebody's."""


def test_what_pandas_finds_behind_a_name_is_the_column():
    relabelled, shadowed, noted, named, labelled, backwards = (FRAME[["n", "v"]].copy() for _ in range(6))
    relabelled["v"].index = [3, 2, 1, 0]
    with pytest.warns(UserWarning, match="doesn't allow columns"):
        shadowed.score = FRAME.v
    shadowed["score"] = [10.0, 0.0, 5.0, 1.0]
    noted["v"].attrs["of"] = []
    named.columns = [Name("n"), "v"]
    labelled.index = pd.Index._simple_new.__func__(Labels, labelled.index.to_numpy())
    backwards = backwards[::-1]
    own = FRAME[["n", "v"]].copy()
    _ = own["v"], own.v, own.plot
    assert not any(read(lambda f: f[f.v > 1], frame=frame) for frame in (relabelled, shadowed, noted, named, labelled, backwards))
    assert read(lambda f: f[f.v > 1], frame=own)
    assert read(lambda f: f[f.v > 1], frame=own.set_index("n", append=True))


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


class Answering:
    """Says something to whoever asks for anything."""

    def __getattr__(self, name):
        return "answer"


@pytest.mark.parametrize("place", [(pd.DataFrame, "assign"), (pd.Series, "__gt__"), (pd.Series, "isna"), (np, "where"), (pd, "isna"), (pd.Series.str, "upper"), (pd.DataFrame, "__getitem__")])
@pytest.mark.parametrize("other", [lambda *_, **__: None, Mock(), Answering()])
def test_what_somebody_put_in_the_place_of_a_method_is_not_believed(monkeypatch, place, other):
    assert read(PLAIN["filter"])
    monkeypatch.setattr(*place, other)
    assert not read(PLAIN["filter"])


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


@pytest.mark.parametrize("function", [GROUPED["share"], lambda f: f[f.n > 1], lambda f: f.sort_values("n", kind="stable").fillna({"v": 0.0})])
@pytest.mark.parametrize("labels", [[0, 1, 2, 3], [7, 3, 5, 1], list("abcd"), [1, 1, 2, 2]])
def test_rows_that_groups_hand_on_are_known_by_their_labels(home, monkeypatch, function, labels):
    monkeypatch.setattr(GroupOwners, "of", GroupOwners.of if len(set(labels)) < 4 else None)
    frame = FRAME.set_axis(labels)
    assert read(function, ["k"], frame)
    result = actors.groups(function, by="k")(frame)
    step = actors.steps()[-1]
    groups = {key: np.flatnonzero(frame.k.isna() if key is None else frame.k == key).tolist() for key in frame.k}
    assert [back(step, row) for row in range(len(result))] == [groups[key] for key in result.k]


def back(step, row):
    (found,) = step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, [row])])
    return found.positions.tolist()


def test_labels_that_name_several_rows_have_no_lineage(home):
    twice = FRAME.set_axis([0, 0, 1, 2])
    assert_frame_equal(actors.rows(PLAIN["filter"])(twice), PLAIN["filter"](twice))
    assert "same label" in actors.steps()[0].incomplete[-1]


def test_rows_that_are_all_handed_on_need_no_labels(home):
    twice = FRAME.set_axis([0, 0, 1, 2])
    for function in (PLAIN["new"], PLAIN["labels anew"]):
        assert_frame_equal(actors.rows(function)(twice), function(twice))
        assert [back(actors.steps()[-1], row) for row in range(4)] == [[0], [1], [2], [3]]


def test_its_exception_is_its_own(home):
    frame = pd.DataFrame({"t": ["x"]})
    with pytest.raises(TypeError) as raised:
        actors.rows(lambda f: f.assign(a=f.t + 1))(frame)
    with pytest.raises(TypeError) as plain:
        frame.t + 1
    assert str(raised.value) == str(plain.value)
    many = pd.DataFrame({"k": TEXTS, "v": range(len(TEXTS))})
    with pytest.raises(AttributeError):
        actors.groups(lambda f: f.assign(v=f.v.str.len()).groupby("k").v.sum(), by="k")(many)
    assert sys.getprofile() is None


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


TEXTS = NUMBERED["texts alone"]


def test_other_threads_are_not_heard():
    column, done = pd.Index(TEXTS, dtype=object), threading.Event()

    def other():
        pd.factorize(column)
        done.set()

    def call():
        threading.Thread(target=other).start()
        return done.wait(10)

    heard = Heard([column])
    assert heard.of_call(call)
    assert heard.of(column) is None
    assert heard.of_call(lambda: pd.factorize(column)) is not None
    codes, values = heard.of(column)
    assert values.to_numpy()[codes - 1].tolist() == TEXTS.tolist()


def test_a_column_is_heard_by_its_memory(home):
    frame = pd.DataFrame({"k": TEXTS, "j": TEXTS[::-1].copy(), "v": range(len(TEXTS))})
    result = actors.groups(lambda f: f.groupby(["k", "j"]).v.sum(), by=["k", "j"])(frame)
    (step,) = actors.steps()
    for row, (k, j) in enumerate(result.index):
        assert back(step, row) == np.flatnonzero((frame.k == k) & (frame.j == j)).tolist()


def test_a_profile_that_the_user_sets_stays(home):
    column = pd.Index(TEXTS, dtype=object)
    mine = lambda *_: None  # noqa: E731
    try:
        sys.setprofile(mine)
        assert Heard([column]).of_call(sys.getprofile) is mine
        sys.setprofile(None)
        Heard([column]).of_call(lambda: sys.setprofile(mine))
        assert sys.getprofile() is mine
    finally:
        sys.setprofile(None)
    with pytest.raises(ZeroDivisionError):
        Heard([column]).of_call(lambda: 1 // 0)
    assert sys.getprofile() is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what comes in a callback of weakref, Python keeps
def test_an_alarm_is_the_programs_wherever_it_comes(home):
    """It comes while a function is read, and while pandas is heard: nobody listens behind it, and the next step is what it is."""
    frame = pd.DataFrame({"k": TEXTS, "v": range(len(TEXTS))})
    step = actors.groups(lambda f: f.groupby("k", as_index=False).agg(v=("v", "sum")), by="k")
    wanted = step(frame)

    def ring(*_):
        raise TimeoutError("an alarm")

    def rung(seconds):
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            step(frame)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except TimeoutError:
            return True
        return False

    before, rang = signal.signal(signal.SIGALRM, ring), 0
    try:
        for number in range(40):
            rang += rung(0.0004 * (1 + number))
            assert sys.getprofile() is None
    finally:
        signal.signal(signal.SIGALRM, before)
    assert rang
    assert_frame_equal(step(frame), wanted)
    assert actors.steps()[-1].believed == ""
