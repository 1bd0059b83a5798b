"""The law of steps over frames (sufficiency): what a row is traced to is enough to make it again, or nothing is told. Over functions that keep their promise, and that do not."""

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from bigdebug import actors
from bigdebug.actors.owners import RowOwners
from bigdebug.actors.promises import Broken
from bigdebug.errors import IncompleteLineageError
from bigdebug.trace.across.located import Located, Unit

ONE = {
    "filter": lambda f: f[f.a > 1],
    "filter nulls": lambda f: f[f.b.notna()],
    "double": lambda f: f.assign(a=f.a * 2),
    "text": lambda f: f.assign(t=f.k.str.upper() + "!"),
    "explode": lambda f: f.explode("tags"),
    "sort": lambda f: f.sort_values(["a", "id"]),
    "turn": lambda f: f.iloc[::-1],
    "twice": lambda f: pd.concat([f, f]),
    "where": lambda f: f.assign(b=f.b.where(f.a > 0)),
    "filled": lambda f: f.fillna({"b": 0.5}),
    "shift": lambda f: f.assign(b=f.b.shift()),
    "diff": lambda f: f.assign(b=f.a.diff()),
    "mean": lambda f: f.assign(b=f.a - f.a.mean()),
    "cumsum": lambda f: f.assign(a=f.a.cumsum()),
    "rank": lambda f: f.assign(b=f.a.rank()),
    "size": lambda f: f.assign(a=len(f)),
    "reset": lambda f: f.reset_index(drop=True),
    "head": lambda f: f.head(5),
    "unique": lambda f: f.drop_duplicates("k"),
    "ffill": lambda f: f.assign(b=f.b.ffill()),
    "number": lambda f: f.assign(a=np.arange(len(f))),
    "most": lambda f: f[f.a == f.a.max()],
    "group": lambda f: f.assign(b=f.groupby("k").a.transform("sum")),
}
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([None, 0.5, 1.0]), st.sampled_from(["x", "y", "א"]), st.lists(st.integers(0, 1), max_size=2)), max_size=24,
)


def frame_of(rows, shuffled):
    frame = pd.DataFrame(rows, columns=["a", "b", "k", "tags"]).astype({"a": "int64", "b": "float64", "k": object, "tags": object})
    frame["id"] = range(len(frame))
    return frame.sample(frac=1, random_state=1) if shuffled else frame


def cells(frame):
    """The rows of a frame, as texts that say all that is in them."""
    return [tuple("null" if value is None or (isinstance(value, float) and np.isnan(value)) else repr(value) for value in row) for row in frame.astype(object).itertuples(index=False)]


def check(step, frame, function, result):
    """Each row of a result is among those that the function makes of its lineage alone. Gives False if the lineage is refused."""
    wanted = cells(result)
    for row, cell in enumerate(wanted):
        try:
            found = step.backward([Located.of(f"item:{step.id}/out", Unit.ROW, [row])])
        except IncompleteLineageError:
            return False
        places = found[0].positions.tolist() if found else []
        assert cell in cells(function(frame.iloc[places].copy())), (row, places)
        assert row in step.forward([Located.of(f"item:{step.id}/in", Unit.ROW, places)])[0].positions.tolist()
    return True


@given(ROWS, st.lists(st.sampled_from(sorted(ONE)), min_size=1, max_size=3), st.booleans())
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
def test_lineage_of_rows_makes_them_again_or_is_refused(tmp_path_factory, rows, names, shuffled):
    def function(frame):
        for name in names:
            frame = ONE[name](frame)
        return frame

    frame = frame_of(rows, shuffled)
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    before, expected = frame.copy(), function(frame.copy())
    result = actors.rows(function, home=home)(frame)
    assert_frame_equal(result, expected)
    assert_frame_equal(frame, before)
    told = check(actors.steps(home)[0], frame, function, result)
    event(f"told: {told}")
    if set(names) <= set(list(ONE)[:10]):
        assert told


@given(ROWS, st.sampled_from(sorted(ONE)), st.sampled_from(["sum", "first", "both", "head", "whole"]), st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_lineage_of_groups_makes_them_again_or_is_refused(tmp_path_factory, rows, name, how, shuffled):
    ends = {
        "sum": lambda f: f.groupby("k").a.sum().reset_index(), "first": lambda f: f.groupby("k", as_index=False).first(),
        "both": lambda f: f.groupby(["k", "a"]).b.agg(["min", "size"]).reset_index(), "head": lambda f: f.groupby("k").head(2), "whole": lambda f: f.assign(a=f.a.sum()),
    }

    def function(frame):
        return ends[how](ONE[name](frame))

    frame = frame_of(rows, shuffled)
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    expected = function(frame.copy())
    result = actors.groups(function, by="k", home=home)(frame)
    assert_frame_equal(result, expected)
    event(f"told: {check(actors.steps(home)[0], frame, function, result)}")


LABELS = st.integers(-9, 9) | st.sampled_from([-(2**63), 2**63 - 1, 1_000])


@given(st.lists(LABELS, unique=True, max_size=12), st.lists(LABELS, max_size=12), st.sampled_from(["int64", "int8", "uint64", "float64", "Int64", "object"]), st.booleans())
@settings(max_examples=150)
def test_a_row_is_found_by_its_label_as_pandas_finds_it(labels, wanted, kind, some):
    if kind in ("int8", "uint64"):
        labels, wanted = ([each for each in both if 0 <= each <= 9] for both in (labels, wanted))
    if some:
        wanted = [labels[each % len(labels)] for each in wanted] if labels else []
    frame, result = pd.DataFrame(index=pd.Index(labels, dtype=kind)), pd.DataFrame(index=pd.Index(wanted, dtype=kind))
    if not frame.index.is_unique:  # floats of which two are one
        return
    expected = frame.index.get_indexer(result.index)
    try:
        found = RowOwners(frame).of(result).array.tolist()
    except Broken:
        assert (expected < 0).any()
    else:
        assert found == expected.tolist()
