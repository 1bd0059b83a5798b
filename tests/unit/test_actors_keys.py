"""Keys: rows have one number if and only if they are of one group of pandas', however their cells lie in memory; what a result has as keys is known again."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug import actors
from bigdebug.actors.keys import Keys
from bigdebug.actors.owners import GroupOwners, RowOwners
from bigdebug.actors.promises import Broken
from bigdebug.trace.across.located import Located, Unit

MANY = 5_000
VALUES = {
    "texts": ["a", "b", "", "אב", "<script>alert(1)</script>", None, float("nan")], "integers": [1, 2, -3, 2**60], "floats": [0.5, -0.0, 0.0, np.nan, np.inf], "times": [pd.Timestamp(0), pd.Timestamp(1), pd.NaT],
    "objects": [Decimal("1.5"), Decimal(2), None], "mixed": ["a", 1, 1.5, None, ("a", 1)], "bytes": [b"a", b"b"],
}


def column(kind, picked, how):
    """Cells of a kind: each an object of its own, or the same ones again and again, or categories, of which some are in no row."""
    values = VALUES[kind]
    cells = [values[n % len(values)] for n in picked]
    if how == "own":
        cells = [(cell + "x")[:-1] if isinstance(cell, str) else cell for cell in cells]
    if how == "categories":
        return pd.Categorical(cells, categories=[*dict.fromkeys(each for each in values if not pd.isna(each)), "nowhere"] if kind != "mixed" else ["a", 1, 1.5, ("a", 1)])
    return np.fromiter(cells, object, len(cells)) if kind in ("texts", "objects", "mixed", "bytes") else np.array(cells)


def index_of(cells):
    return pd.Index(cells, dtype=cells.dtype)


def groups(frame, names):
    """The rows of each group, by pandas."""
    found = {}
    for row, key in enumerate(frame[names].astype(object).itertuples(index=False)):
        found.setdefault(tuple("null" if not isinstance(each, tuple) and pd.isna(each) else each for each in key), []).append(row)
    return sorted(found.values())


HOWS = st.sampled_from(["own", "same", "categories"])


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12), st.lists(st.tuples(st.sampled_from(sorted(VALUES)), HOWS), min_size=1, max_size=2), st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_rows_have_one_number_if_they_are_of_one_group(picked, kinds, many):
    picked = (np.resize(picked, MANY) if many else np.array(picked)).tolist()
    frame = pd.DataFrame({f"k{n}": column(kind, [n + each for each in picked], how) for n, (kind, how) in enumerate(kinds)})
    columns = [index_of(frame[name]) for name in frame]
    keys = Keys()
    numbers = keys.learnt(columns)
    assert sorted(np.flatnonzero(numbers == each).tolist() for each in np.unique(numbers)) == groups(frame, list(frame))
    assert numbers.min() >= 0
    result = frame.drop_duplicates().iloc[::-1]
    assert keys.known([index_of(result[name]) for name in result]).tolist() == numbers[result.index].tolist()
    plain = [index_of(result[name].astype(object)) for name in result]
    assert keys.known(plain).tolist() == numbers[result.index].tolist()


@pytest.mark.parametrize("how", ["own", "same", "categories"])
def test_what_was_not_learnt_is_not_known(how):
    keys = Keys()
    keys.learnt([pd.Index(column("texts", [0, 1] * MANY, how))])
    assert keys.known([pd.Index(["a", "b", "c", None, "nowhere"])]).tolist() == [1, 2, -1, -1, -1]
    keys = Keys()
    keys.learnt([pd.Index(column("texts", [0, 5] * MANY, how))])
    assert sorted(keys.known([pd.Index(["a", "b", None])]).tolist()) == [-1, 0, 1]


@pytest.mark.parametrize("values", [[7, 3, 5, 3], [-(2**63), 2**63 - 1], [2**60, 2**60 + 1], [0], []])
@pytest.mark.parametrize("kind", ["int64", "int8", "uint64", "Int64", "int64[pyarrow]"])
def test_integers_are_numbered_by_a_table_as_they_are_without(values, kind):
    if kind in ("int8", "uint64"):
        values = [each for each in values if 0 <= each < 100]
    keys, index = Keys(), pd.Index(pd.array(values, dtype=kind))
    numbers = keys.learnt([index])
    assert len(set(numbers.tolist())) == len(set(values))
    assert keys.known([index[::-1]]).tolist() == numbers[::-1].tolist()
    assert keys.known([pd.Index(pd.array([4, 99], dtype=kind))]).tolist() == [-1, -1]


NEAR = {
    "Int64, floats": (pd.array([2**53, 2**53 + 1], dtype="Int64"), np.array([2.0**53])), "Int64, Float64": (pd.array([2**53, 2**53 + 1], dtype="Int64"), pd.array([2.0**53], dtype="Float64")),
    "of Arrow": (pd.array([2**53, 2**53 + 1], dtype="int64[pyarrow]"), np.array([2.0**53])), "integers, floats": (np.array([2**53, 2**53 + 1, 5]), np.array([5.0])),
    "floats, integers": (np.array([2.0**53, 1.5]), np.array([2**53 + 1])), "floats of 32 bits": (np.array([2**24, 2**24 + 1]), np.array([2**24], np.float32)),
    "floats, of 32 bits": (np.array([2.0**24, 2.0**24 + 1]), np.array([2**24], np.float32)), "below zero": (np.array([-(2**53), -(2**53) - 1]), np.array([-(2.0**53)])),
}


@pytest.mark.parametrize("name", NEAR)
def test_integers_that_are_one_as_floats_are_refused(name):
    learnt, asked = NEAR[name]
    keys = Keys()
    keys.learnt([pd.Index(learnt)])
    with pytest.raises(Broken, match="are one"):
        keys.known([pd.Index(asked)])
    few = Keys()
    assert few.learnt([pd.Index([1, 2])]).tolist() == few.known([pd.Index(np.array([1, 2], np.float32))]).tolist()
    levels = pd.MultiIndex.from_arrays([np.array([2**53, 2**53 + 1]), ["a", "a"]])
    for result in (pd.MultiIndex.from_arrays([np.array([2.0**53]), ["a"]]), pd.Index([(2.0**53, "a")], tupleize_cols=False)):
        with pytest.raises(Broken, match="are one"):
            RowOwners(pd.DataFrame(index=levels)).of(pd.DataFrame(index=result))


@pytest.mark.parametrize("cells", [["a", "b", "a", None], [1, 2, 1, 3], [0.5, -0.0, 0.5, np.nan], pd.date_range("2024-01-01", periods=4), [True, False, True, True], pd.Categorical(["a", "b", "a", None])])
def test_keys_that_are_as_they_were_are_known_as_these_and_no_others(cells):
    frame = pd.DataFrame({"k": cells, "v": range(4)})
    owners = GroupOwners(frame, ["k"])
    codes = owners.codes.tolist()
    assert owners.of(frame.assign(v=0)).array.tolist() == codes
    frame["k"] = frame["k"].iloc[::-1].to_numpy()
    assert owners.of(frame).array.tolist() == codes[::-1]
    numbers = np.array([1, 2, 1])
    changed = pd.DataFrame({"k": numbers}, copy=False)
    owners = GroupOwners(changed, ["k"])
    numbers[:] = [2, 2, 1]
    assert owners.of(pd.DataFrame({"k": numbers})).array.tolist() == [owners.codes[1], owners.codes[1], owners.codes[0]]


class Text(str):
    """Made of a text."""


@pytest.mark.parametrize("rare", [None, float("nan"), pd.NA, 1, b"a", ("a",), Text("a"), Text("rare"), "a\0b", "\ud800", ""])
def test_one_other_object_among_texts_has_the_number_that_pandas_gives_it(rare):
    cells = column("texts", [0, 1] * MANY, "own")
    cells[4_321] = rare
    frame, keys = pd.DataFrame({"k": cells}), Keys()
    numbers = keys.learnt([index_of(frame.k)])
    assert sorted(np.flatnonzero(numbers == each).tolist() for each in np.unique(numbers)) == sorted(each.tolist() for each in frame.groupby("k", dropna=False).indices.values())
    assert bool(numbers[4_321]) is not pd.isna(rare)
    assert keys.known([pd.Index(["b", "a"])]).tolist() == numbers[[1, 0]].tolist()


@pytest.mark.parametrize("kind", ["texts", "integers", "times"])
def test_what_is_held_of_keys_is_what_they_were(kind):
    frame = pd.DataFrame({"k": column(kind, [0, 1] * 4, "own"), "v": range(8)})
    owners = GroupOwners(frame, ["k"])
    at_once = owners.of(frame.copy()).array.tolist()
    owners.expect_all()
    assert owners.of(frame.copy()).array.tolist() == at_once == [1, 2] * 4
    values = frame.k.to_numpy()
    values[:] = values[::-1].copy()
    assert owners.of(frame.copy()).array.tolist() == [2, 1] * 4


@pytest.mark.parametrize("step", [lambda f: f.assign(share=f.v / f.groupby("k").v.transform("sum")), lambda f: f.assign(k=(f.k + "x").str[:-1])])
def test_a_function_that_gives_all_rows_is_followed_by_keys_that_are_the_same_objects_or_not(step, tmp_path):
    frame = pd.DataFrame({"k": column("texts", [n // 7 % 90 for n in range(600)], "own"), "v": np.arange(600.0)})
    actors.groups(step, by="k", home=tmp_path, name="all")(frame)
    last = actors.steps(tmp_path)[-1]
    rows = last.backward([Located(last.writes[0].path, Unit.ROW, np.array([0]))])[0].positions
    assert rows.tolist() == np.flatnonzero(frame.k == frame.k[0]).tolist()


@pytest.mark.parametrize("other", [[], ["other"]])
def test_a_null_among_keys_is_tried(other):
    frame = pd.DataFrame({"k": [f"key {n // 7}" for n in range(6_300)], "other": "the same", "v": 1})
    frame.loc[4_321, "k"] = None
    owners = GroupOwners(frame, [*other, "k"])
    assert 4_321 in owners.rows(owners.alone())
    frame.loc[[4_321, 17], "k"] = ["key 617", "key 2"]
    frame.loc[1_234, "other"] = None
    owners = GroupOwners(frame, ["k", *other])
    assert any(1_234 in owners.rows(each) for each in (owners.alone(), *owners.together()))
