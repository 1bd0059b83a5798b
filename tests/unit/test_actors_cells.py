"""The law of cells: a frame that was changed in any way is seen to be another one; one that was only read, or laid out anew by pandas, is the same."""

import copy
import datetime
import struct
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from bigdebug.actors.cells import Cells, UnseenError, fixed

OTHER_NAN = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]


def frame_of(count, index):
    """A frame with columns of all kinds, of which several share a block, and objects that nobody else holds."""
    n = np.arange(count)
    frame = pd.DataFrame({
        "zero": np.zeros(count, np.int64), "int": n, "float": n / 3, "null": np.where(n % 2, n, np.nan), "flag": n % 2 == 0, "small": (n % 7).astype(np.int8),
        "text": [f"text {k}" for k in n], "same": ["x"] * count, "mixed": [(f"a{k}", k, 1.5 * k, None)[k % 4] for k in n], "bytes": [b"\x00%d" % k for k in n],
        "list": [[k, {"k": [k]}] for k in n], "array": [np.arange(k + 1) for k in n], "frame": [pd.DataFrame({"in": [k]}) for k in n],
        "when": pd.date_range("2024-01-01", periods=count, tz="Asia/Jerusalem"), "day": pd.date_range("2024-01-01", periods=count), "took": pd.to_timedelta(n, unit="s"),
        "kind": pd.Categorical([("a", "b", None)[k % 3] for k in n], categories=["a", "b", "c"]), "Int": pd.array([None if k % 3 == 0 else k for k in n], dtype="Int64"),
        "string": pd.array([None if k % 3 == 0 else f"s{k}" for k in n], dtype="string[python]"), "arrow": pd.array([f"s{k}" for k in n], dtype="string[pyarrow]"),
        "number": pd.array(n, dtype=pd.ArrowDtype(pa.int64())), "month": pd.period_range("2024-01", periods=count, freq="M"), "sparse": pd.arrays.SparseArray(n % 2),
        "interval": pd.arrays.IntervalArray.from_breaks(np.arange(count + 1)),
    })
    if index == "labels":
        frame.index = [f"r{k}" for k in n]
    elif index == "twice":
        frame.index = n // 2
    elif index == "levels":
        frame.index = pd.MultiIndex.from_arrays([n // 2, [f"r{k}" for k in n]], names=["x", "y"])
    elif index == "view":
        frame = pd.concat([frame, frame.map(copy.deepcopy)])[::2].iloc[: (count + 1) // 2]
    return frame


def told(value):
    """All that a value holds, and its type."""
    if isinstance(value, (float, np.floating)):
        return type(value).__name__, struct.pack("<d", value)
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tobytes()
    if isinstance(value, pd.DataFrame):
        return "frame", whole(value)
    return type(value).__name__, repr(value)


def whole(frame):
    """All that a frame holds, told without what is tested."""
    columns = [frame.iloc[:, n] for n in range(frame.shape[1])]
    cells = [list(map(told, column.to_numpy() if isinstance(column.dtype, np.dtype) else column.tolist())) for column in columns]
    categories = [column.cat.categories.tolist() for column in columns if isinstance(column.dtype, pd.CategoricalDtype)]
    return [repr(list(frame.columns)), list(map(str, frame.dtypes)), list(map(told, frame.index.tolist())), cells, categories]


def _swap_cells(frame, name, one, other):
    first, second = frame.iloc[one, frame.columns.get_loc(name)], frame.iloc[other, frame.columns.get_loc(name)]
    frame.isetitem(frame.columns.get_loc(name), _with(frame[name], {one: second, other: first}))


def _with(column, cells):
    """A column with other cells at these places."""
    made = column.array.copy()
    for place, cell in cells.items():
        made[place] = cell
    return made


def _twice(frame, row):
    """What was in the cell is let go, and what comes may lie where it lay."""
    column = frame.columns.get_loc("text")
    for end in "xy":
        frame.iat[row, column] = frame.iat[row, column][:-1] + end


CHANGES = {
    "nothing": lambda f, i, j: None,
    "a number": lambda f, i, j: f.__setitem__("int", _with(f["int"], {i: -1})),
    "in place": lambda f, i, j: f.iloc.__setitem__((i, f.columns.get_loc("float")), 1e300),
    "by its memory": lambda f, i, j: f["small"].to_numpy().__setitem__(i, 99),
    "a flag": lambda f, i, j: f.iloc.__setitem__((i, f.columns.get_loc("flag")), bool(i % 2)),
    "another null": lambda f, i, j: f["null"].to_numpy().__setitem__(0, OTHER_NAN),
    "minus zero": lambda f, i, j: f["float"].to_numpy().__setitem__(0, -0.0),
    "a type": lambda f, i, j: f.__setitem__("zero", f["zero"].astype("int64").astype("float64")),
    "a type of times": lambda f, i, j: f.__setitem__("zero", f["zero"].astype("datetime64[ns]")),
    "two numbers": lambda f, i, j: _swap_cells(f, "int", i, j),
    "two texts": lambda f, i, j: _swap_cells(f, "text", i, j),
    "two of Arrow": lambda f, i, j: _swap_cells(f, "arrow", i, j),
    "two numbers of Arrow": lambda f, i, j: _swap_cells(f, "number", i, j),
    "two kinds": lambda f, i, j: _swap_cells(f, "kind", i, j),
    "two integers": lambda f, i, j: _swap_cells(f, "Int", i, j),
    "two times": lambda f, i, j: _swap_cells(f, "when", i, j),
    "two periods": lambda f, i, j: _swap_cells(f, "month", i, j),
    "two lists": lambda f, i, j: _swap_cells(f, "list", i, j),
    "two rows": lambda f, i, j: [f.isetitem(c, f.iloc[:, c].array.take([{i: j, j: i}.get(k, k) for k in range(len(f))])) for c in range(f.shape[1])],
    "rows and labels": lambda f, i, j: f.sort_values("int", ascending=False, inplace=True),
    "a text": lambda f, i, j: f.iat.__setitem__((i, f.columns.get_loc("text")), "<script>alert(1)</script>"),
    "a text twice": lambda f, i, j: _twice(f, i),
    "a null": lambda f, i, j: f.iat.__setitem__((i, f.columns.get_loc("same")), None),
    "no time": lambda f, i, j: f.iloc.__setitem__((i, f.columns.get_loc("day")), pd.NaT),
    "no duration": lambda f, i, j: f.iloc.__setitem__((i, f.columns.get_loc("took")), pd.NaT),
    "within a list": lambda f, i, j: f["list"].iloc[i].append(0),
    "deep within a list": lambda f, i, j: f["list"].iloc[i][1]["k"].append(0),
    "within an array": lambda f, i, j: f["array"].iloc[i].__setitem__(0, 77),
    "within a frame": lambda f, i, j: f["frame"].iloc[i].iloc.__setitem__((0, 0), 77),
    "categories": lambda f, i, j: f.__setitem__("kind", f["kind"].cat.rename_categories(lambda name: {"a": "b", "b": "a"}.get(name, name))),
    "a category that nobody has": lambda f, i, j: f.__setitem__("kind", f["kind"].cat.add_categories([f"d{len(f.kind.cat.categories)}"])),
    "a mask": lambda f, i, j: f.__setitem__("Int", _with(f["Int"], {i: pd.NA})),
    "a sparse number": lambda f, i, j: f.__setitem__("sparse", pd.arrays.SparseArray(_with(f["sparse"].astype("int64"), {i: 5}))),
    "a view": lambda f, i, j: f["int"].to_numpy()[i : i + 1].__setitem__(0, -5),
    "a row": lambda f, i, j: f.drop(index=[f.index[i]], inplace=True),
    "a column": lambda f, i, j: f.insert(0, "new", 0, allow_duplicates=True),
    "a column less": lambda f, i, j: f.__delitem__("zero"),
    "a name": lambda f, i, j: f.rename(columns={"text": "t"}, inplace=True),
    "two names": lambda f, i, j: f.rename(columns={"text": "same", "same": "text"}, inplace=True),
    "labels": lambda f, i, j: setattr(f, "index", [f"new {k}" for k in range(len(f))]),
    "a label by its memory": lambda f, i, j: f.index.nlevels == 1 and not isinstance(f.index, pd.RangeIndex) and f.index.values.__setitem__(i, f.index.values[j]),
}
READS = {
    "values": lambda f: f.values, "sorted": lambda f: f.sort_values("int", ascending=False), "copied": copy.deepcopy, "cut": lambda f: f.iloc[1:3], "told": whole, "asked": lambda f: [(f[c].dtype.kind, f[c].isna().any(), f[c].nunique()) for c in f if c not in ("list", "array", "frame")], "printed": repr,
    "texts": lambda f: f["text"].str.upper(), "looked up": lambda f: f.index.get_indexer(f.index[:1]) if f.index.is_unique else None, "grouped": lambda f: f.groupby("same").int.sum(),
    "joined": lambda f: f.merge(f, on="int"), "into one block": lambda f: f._consolidate_inplace(),
}
INDEXES = st.sampled_from(["counts up", "labels", "twice", "levels", "view"])


@given(st.integers(1, 6), INDEXES, st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), st.integers(0, 5), st.integers(0, 5)), max_size=3))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_was_changed_is_seen(count, index, changes):
    frame = frame_of(count, index)
    cells, before = Cells.of(frame), whole(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, one, other in changes:
            if len(frame) and {"text", "same", "zero"} <= set(frame.columns):
                CHANGES[name](frame, one % len(frame), other % len(frame))
    changed = whole(frame) != before
    event(f"changed: {changed}")
    if changed:
        assert not cells.same(frame)
    elif all(name == "nothing" for name, *_ in changes):
        assert cells.same(frame)


@pytest.mark.parametrize("change", sorted(set(CHANGES) - {"nothing"}))
def test_each_change_alone_is_one_and_is_seen(change):
    frame = frame_of(5, "labels")
    cells, before = Cells.of(frame), whole(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CHANGES[change](frame, 1, 3)
    assert whole(frame) != before
    assert not cells.same(frame)


@given(st.integers(1, 6), INDEXES, st.lists(st.sampled_from(sorted(READS)), max_size=3))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_was_only_read_is_the_same(count, index, reads):
    frame = frame_of(count, index)
    cells = Cells.of(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in reads:
            READS[name](frame)
    assert cells.same(frame)


SHAPES = {
    "rows of one array": lambda n: pd.DataFrame(np.arange(4 * n, dtype=float).reshape(n, 4)), "columns of one array": lambda n: pd.DataFrame(np.arange(4 * n).reshape(4, n).T),
    "objects in rows": lambda n: pd.DataFrame(np.array([f"{k}" for k in range(4 * n)], object).reshape(n, 4)), "one column": lambda n: pd.Series(np.arange(n), name="n"),
    "texts": lambda n: pd.Series([f"{k}" for k in range(n)]), "each second row": lambda n: pd.DataFrame({"a": np.arange(2 * n), "b": [f"{k}" for k in range(2 * n)]})[::2],
    "Arrow, cut": lambda n: pd.DataFrame({"a": pd.array([f"{k}" for k in range(2 * n)], dtype="string[pyarrow]")}).iloc[n:], "masked": lambda n: pd.DataFrame({"a": pd.array(range(n), dtype="Int32")}),
    "columns of one name": lambda n: pd.concat([pd.Series(np.arange(n), name="x"), pd.Series(np.arange(n) * 2, name="x")], axis=1),
}


@given(st.sampled_from(sorted(SHAPES)), st.sampled_from([1, 2, 1_000, 8_193, 65_537, 140_000]), st.data())
@settings(max_examples=60, deadline=None)
def test_one_cell_of_many_is_seen_wherever_it_is_and_however_they_lie_in_memory(shape, count, data):
    frame = SHAPES[shape](count)
    cells = Cells.of(frame)
    assert cells.same(frame)
    row = data.draw(st.integers(0, count - 1))
    column = data.draw(st.integers(0, (frame.shape[1] if frame.ndim > 1 else 1) - 1))
    place = (row, column) if frame.ndim > 1 else row
    before = frame.iloc[place]
    now = before + "!" if isinstance(before, str) else before + 1
    frame.iloc[place] = now
    assume(frame.iloc[place] != before)
    assert not cells.same(frame)


def test_swapped_cells_and_rows_of_many_are_seen():
    frame = pd.DataFrame({"n": np.arange(300_000), "x": np.arange(300_000) * 1.0})
    for one, other in ((0, 1), (8_191, 8_192), (5, 299_999), (0, 8_192)):
        cells = Cells.of(frame)
        frame.iloc[[one, other]] = frame.iloc[[other, one]].to_numpy()
        assert not cells.same(frame)
        frame.iloc[[one, other]] = frame.iloc[[other, one]].to_numpy()
        assert cells.same(frame)


def test_what_is_under_a_view_is_seen():
    memory = np.arange(12)
    frame = pd.DataFrame(memory.reshape(3, 4), copy=False)
    part = frame.iloc[1:]
    cells = Cells.of(part)
    memory[0] = 100
    assert cells.same(part)
    memory[11] = 100
    assert not cells.same(part)


def test_texts_are_held_and_not_read():
    large = ["x" * 10_000_000] * 1_000
    frame = pd.DataFrame({"a": large, "b": [1, *large[1:]]})
    cells = Cells.of(frame)
    assert cells.same(frame)
    frame.iat[999, 0] = "x" * 10_000_000
    assert not cells.same(frame)


def test_objects_that_nobody_can_change():
    for good in (["a", None], [1, "a"], [b"", 1.5, True], [pd.NA, "x", np.float32(1)], [pd.Timestamp(0), pd.NaT, None], [], [None, np.nan]):
        assert fixed(np.array([*good, None], object)[:-1])
    for bad in ([[]], ["a", [1]], [("a", [1])], [bytearray(b"a")], [{}], [np.array([1])], [None, object()], [1, set()]):
        values = np.empty(len(bad), object)
        values[:] = bad
        assert not fixed(values)


@pytest.mark.parametrize("every", [2, 16, 17, 1_000])
def test_lists_among_many_texts_are_looked_into(every):
    values = np.array([f"{n}" for n in range(70_000)], object)
    for place in range(0, 70_000, every):
        values[place] = [place]
    frame = pd.DataFrame({"a": values})
    cells = Cells.of(frame)
    assert cells.same(frame)
    frame.a[every].append(0)
    assert not cells.same(frame)


def test_a_list_that_nobody_looked_into_is_no_unchanged_one():
    values = np.array([f"{n}" for n in range(70_000)], object)
    values[1] = []
    frame = pd.DataFrame({"a": values})
    cells = Cells.of(frame)
    with pytest.raises(UnseenError):
        cells.same(frame)
    frame.iat[5, 0] = "x"
    assert not cells.same(frame)


def test_what_nobody_can_look_into_is_said():
    with pytest.raises(Exception, match=r"pickle|local object"):
        Cells.of(pd.DataFrame({"f": [lambda: 1]}))


def test_an_empty_frame_is_the_same_as_itself():
    for frame in (pd.DataFrame(), pd.DataFrame(index=["a"]), pd.DataFrame({"a": []}), frame_of(2, "labels").iloc[:0]):
        assert Cells.of(frame).same(frame)
    frame = pd.DataFrame(index=np.array([1, 2]))
    cells = Cells.of(frame)
    frame.index.values[:] = [2, 1]
    assert not cells.same(frame)


class Text(str):
    """A text that may have attributes."""


class Number(int):
    """A number that may."""


class Moment(datetime.datetime):
    """A time that may."""


@pytest.mark.parametrize("kind", ["text", "number", "moment"])
@pytest.mark.parametrize("count", [3, 70_000])
def test_attributes_of_classes_of_the_users_are_seen(kind, count):
    cells = {"text": [Text("a"), "b"], "number": [Number(1), 2], "moment": [Moment(2024, 1, 1), datetime.datetime(2024, 1, 1)]}[kind]
    column = np.array([cells[1]] * count, dtype=object)
    column[count // 2] = cells[0]
    frame = pd.DataFrame({"a": pd.Series(column, dtype=object)})
    seen = Cells.of(frame)
    if count > 1 << 16 and count // 2 % 17 != 0:
        with pytest.raises(UnseenError):
            seen.same(frame)
        return
    assert seen.same(frame)
    cells[0].unit = "m"
    assert not seen.same(frame)


def test_two_time_zones_of_one_name_are_two():
    zones = [datetime.timezone(datetime.timedelta(hours=each), "X") for each in (1, 2)]
    frame = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=3, tz=zones[0])})
    seen = Cells.of(frame)
    assert seen.same(frame.copy())
    frame["t"] = frame["t"].dt.tz_convert(zones[1])
    assert not seen.same(frame)


ARROW = {
    "numbers": ([7, 1, None, 3], pa.array),
    "dictionary": (["x", None, "y", "x"], lambda values: pa.array(values).dictionary_encode()),
    "lists": ([[0], [1, None], None, [3]], pa.array),
    "records": ([{"a": 0, "b": "x"}, {"a": None, "b": "y"}, None, {"a": 3, "b": None}], pa.array),
}


@pytest.mark.parametrize("kind", ARROW)
def test_an_array_of_arrow_with_another_cell_is_another(kind):
    values, make = ARROW[kind]

    def frame_with(some):
        return pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(pa.chunked_array([make([values[0], *some]).slice(1), make(values)]))})

    cells = Cells.of(frame_with(values))
    for row, value in enumerate(values):
        for other in (None, *values):
            assert cells.same(frame_with([*values[:row], other, *values[row + 1 :]])) is (other == value)


def test_an_array_of_arrow_that_was_only_looked_at_is_the_same(tmp_path):
    pd.DataFrame({"x": range(4), "part": [1, 2] * 2}).to_parquet(tmp_path, partition_cols=["part"])
    frame = pd.read_parquet(tmp_path, dtype_backend="pyarrow")
    cells = Cells.of(frame)
    chunks = frame["part"].array._pa_array.chunks
    assert [each.dictionary.null_count for each in chunks] == [0, 0]  # now Arrow has counted
    assert cells.same(frame)
    for changed in (0, 1):
        made = [pa.DictionaryArray.from_arrays(each.indices, pa.array([value + changed for value in each.dictionary.to_pylist()], each.dictionary.type)) for each in chunks]
        assert cells.same(frame.assign(part=pd.arrays.ArrowExtensionArray(pa.chunked_array(made)))) is (changed == 0)


@pytest.mark.parametrize("look", [repr, lambda f: f.index.freq, lambda f: f.month.dt.year, lambda f: f.loc[f.index[1] :]], ids=["shown", "freq", "year", "sliced"])
@pytest.mark.parametrize("kind", ["M", "2D", "W-SUN"])
def test_periods_that_were_only_looked_at_are_the_same(look, kind):
    months = pd.period_range("2024-01", periods=3, freq=kind)
    frame = pd.DataFrame({"month": pd.period_range("2024-01", periods=3, freq=kind), "n": range(3)}, index=months)
    held = Cells.of(frame)
    look(frame)
    assert held.same(frame)
    assert not held.same(frame.set_axis(months[::-1]))
    assert not held.same(frame.assign(month=months + 1))
    assert not held.same(frame.assign(month=months.asfreq("h")))
