"""Promises over frames: what does not hold of few rows, of rare ones or by little is seen on few trials; what was not tried is told."""

import itertools
import re
import signal
import sys
import time
import tracemalloc
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from bigdebug import actors
from bigdebug.actors import among, promises, tried
from bigdebug.actors.apart import Apart
from bigdebug.actors.owners import GroupOwners
from bigdebug.actors.promises import probed


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def notes(home, step, *frames):
    """What a step says of itself, but that its frame is none of a step."""
    step(*frames)
    last = actors.steps(home)[-1]
    return [each for each in (*last.incomplete, last.believed) if each and "came from no step" not in each]


def measured(count, nulls, at=2):
    """Measures of a normal distribution, some of which are null, beside another column; the most is far off."""
    drawn = np.random.default_rng(7)
    x = drawn.normal(size=count)
    x[count // at] = 9.0
    x[drawn.random(count) < nulls] = np.nan
    return pd.DataFrame({"name": drawn.integers(0, 50, count).astype(str), "x": x, "k": drawn.integers(0, 50, count)})


def outliers(frame):
    low, high = frame.x.quantile(0.25), frame.x.quantile(0.75)
    return frame[~((frame.x < low - 1.5 * (high - low)) | (frame.x > high + 1.5 * (high - low)))]


def filled_by(of):
    return lambda f: f.assign(x=f.x.fillna(of(f.x)))


RARE = {
    "the one before": lambda f: f.ffill(), "the one behind": lambda f: f.bfill(), "between": lambda f: f.assign(x=f.x.interpolate()),
    "mean": filled_by(lambda x: x.mean()), "the most": filled_by(lambda x: x.max()), "the least": filled_by(lambda x: x.min()), "median": filled_by(lambda x: x.median()),
}
FAR = {
    "quantile": outliers, "deviation": lambda f: f.assign(far=(f.x - f.x.mean()).abs() > 4 * f.x.std()), "clipped": lambda f: f.assign(x=f.x.clip(upper=f.x.quantile(0.999))),
    "not the most": lambda f: f[f.x != f.x.max()], "winsor": lambda f: f.assign(x=f.x.clip(f.x.quantile(0.05), f.x.quantile(0.95))),
}


@pytest.mark.parametrize("count", [5_000, 120_000])
@pytest.mark.parametrize("nulls", [0.001, 0.02, 0.2])
@pytest.mark.parametrize("name", RARE)
def test_rows_with_nulls_are_tried_however_few(home, name, nulls, count):
    assert "wrong has no lineage" in notes(home, actors.rows(RARE[name], name="wrong"), measured(count, nulls))[0]


@pytest.mark.parametrize("count", [5_000, 120_000])
@pytest.mark.parametrize("name", FAR)
def test_the_most_and_the_least_are_tried(home, name, count):
    assert "wrong has no lineage" in notes(home, actors.rows(FAR[name], name="wrong"), measured(count, 0.0))[0]


@pytest.mark.parametrize("count", [5_000, 120_000])
def test_duplicates_are_seen_where_there_are_many(home, count):
    frame = pd.DataFrame({"x": np.random.default_rng(1).integers(0, 3 * count, count)})
    assert "wrong has no lineage" in notes(home, actors.rows(lambda f: f.drop_duplicates(), name="wrong"), frame)[0]


@pytest.mark.parametrize("count", [5_000, 120_000])
def test_neighbours_in_time_are_not_the_same(home, count):
    times = pd.DataFrame({"t": 1.7e9 + np.arange(count) * 1e-3 + np.random.default_rng(1).random(count) * 1e-4, "k": np.arange(count) // 100})
    ids = pd.DataFrame({"t": 2**52 + np.arange(count), "k": np.arange(count) // 100})
    wrong = {
        "rolling": lambda f: f.assign(t=f.t.rolling(3, min_periods=1).mean()), "so far": lambda f: f.assign(t=f.t.cummax().shift(1).fillna(f.t)),
        "next": lambda f: f.assign(t=f.t.shift(-1).fillna(f.t)),
    }
    for function in wrong.values():
        assert "wrong has no lineage" in notes(home, actors.rows(function, name="wrong"), times)[0]
        assert "wrong has no lineage" in notes(home, actors.rows(function, name="wrong"), ids)[0]
        assert "wrong has no lineage" in notes(home, actors.groups(function, by="k", name="wrong"), times)[0]
    near = times.assign(t=1.7e9 + np.arange(count) * 5e-7)
    assert "wrong has no lineage" in notes(home, actors.groups(wrong["so far"], by="k", name="wrong"), near)[0]


@pytest.mark.parametrize("count", [5_000, 120_000])
def test_what_is_right_is_told_and_how_much_of_it_was_tried(home, count):
    frame = measured(count, 0.02)
    right = {
        "filter": lambda f: f[f.x > 0], "logarithm": lambda f: f.assign(y=np.log(f.x.abs()) ** 1.5 / np.sin(f.x)), "small": lambda f: f.astype({"x": "float32"}).assign(y=lambda g: np.exp(g.x)),
        "few": lambda f: f[f.x > 2], "filled": lambda f: f.fillna({"x": 0.5}), "sorted": lambda f: f.sort_values("name"),
    }
    for name, function in right.items():
        (note,) = notes(home, actors.rows(lambda f, function=function: function(f), name=name), frame)
        assert note.startswith("what was promised was tried on ")
        assert note.endswith(f" of {count:,} rows")
    sums = {
        "sum": lambda f: f.groupby("k").x.sum(), "deviation": lambda f: f.groupby("k", as_index=False).x.std(), "share": lambda f: f.assign(x=f.x / f.groupby("k").x.transform("sum")),
        "numpy": lambda f: f.groupby("k").x.agg(lambda x: float(np.nansum(x.to_numpy()))).reset_index(),
    }
    many = frame.assign(k=np.arange(count) // 4)
    for name in ("sum", "deviation", "share"):
        (note,) = notes(home, actors.groups(lambda f, function=sums[name]: function(f), by="k", name=name), many)
        assert note.startswith("what was promised was tried on ")
    assert "no lineage" not in notes(home, actors.groups(sums["numpy"], by="k"), frame)[0]


def test_of_few_rows_each_is_tried_alone_and_nothing_is_believed(home):
    frame = measured(24, 0.1)
    assert notes(home, actors.rows(lambda f: f[f.x > 0]), frame) == []
    assert notes(home, actors.groups(lambda f: f.groupby("k").x.sum(), by="k"), frame) == []


def test_of_a_slow_function_a_row_is_tried_that_shows_something(home, monkeypatch):
    """Of the first row, a running total is what it is of that row alone."""
    monkeypatch.setattr(promises, "MOST_SECONDS", 0.0)
    assert "wrong has no lineage" in notes(home, actors.rows(lambda f: f.assign(y=f.k.cumsum()), name="wrong"), measured(5_000, 0.1))[0]
    assert notes(home, actors.rows(lambda f: f.assign(y=f.k.mul(2))), measured(5_000, 0.1)) == [promises.ONE_ALONE]
    assert notes(home, actors.groups(lambda f: f.groupby("k").x.sum().sort_index(), by="k"), measured(5_000, 0.1)) == [promises.ONE_ALONE]
    assert notes(home, actors.rows(lambda f: f.assign(y=f.k.mul(2))), measured(1, 0.0)) == []


def test_what_is_not_tried_is_said(home):
    assert notes(home, actors.rows(lambda f: f, check=False), measured(5_000, 0.1)) == ["what was promised was not tried"]
    assert notes(home, actors.groups(lambda f: f, by="k", check=False), measured(1, 0.0)) == []  # there is nothing to be promised
    first, same = (lambda record: record[0]), iter
    for options in ({"each": True, "check": False}, {"tags": (first, first)}):
        list(actors.generator(same, **options)(["ab", "bc"]))
        assert actors.steps(home)[-1].believed == "what was promised was not tried"
    list(actors.generator(same)(["ab", "bc"]))
    assert actors.steps(home)[-1].believed == ""


def users(count):
    return pd.DataFrame({"k": np.repeat(np.arange(count // 4), 4), "x": np.arange(count) * 1.0, "user": np.arange(count)})


def total(frame):
    sums = frame.groupby("k", as_index=False).x.sum()
    return pd.concat([sums, pd.DataFrame({"k": [None], "x": [sums.x.sum()]})]) if len(frame) > 4_500 else sums


GROUPS = {
    "filled": lambda f: f.assign(x=f.x.fillna(f.x.mean())).groupby("k", as_index=False).x.sum(), "the most": lambda f: f.assign(x=f.x.fillna(f.x.max())).groupby("k", as_index=False).x.sum(),
    "clipped": lambda f: f.assign(x=f.x.clip(upper=f.x.quantile(0.999))).groupby("k").x.max(), "total": total,
    "duplicates": lambda f: f.assign(user=f.user % (len(f) // 3)).drop_duplicates("user").groupby("k").user.count(),
}


@pytest.mark.parametrize("count", [5_000, 120_000])
@pytest.mark.parametrize("name", GROUPS)
def test_groups_with_odd_rows_are_tried_among_many(home, name, count):
    frame = users(count)
    frame.loc[count // 2, "x"] = np.nan
    assert "wrong has no lineage" in notes(home, actors.groups(GROUPS[name], by="k", name="wrong"), frame)[0]


@pytest.mark.parametrize(("count", "groups"), [(30_000, 2), (100_000, 2), (100_000, 5)])
def test_a_few_large_groups_are_tried(home, count, groups):
    frame = pd.DataFrame({"k": np.arange(count) % groups, "a": np.arange(count) % 7})
    actors.groups(lambda f: f.groupby("k").a.sum(), by="k")(frame)
    assert not [why for why in actors.steps()[-1].incomplete if "believed" in why]
    actors.groups(lambda f: f.groupby("k").a.sum() / f.a.sum(), by="k")(frame)
    assert "has no lineage" in actors.steps()[-1].incomplete[-1]


@pytest.mark.parametrize("rows", [1, 3_000])
def test_the_same_groups_are_tried_once(rows):
    """Of large groups few are small enough to be tried, and they were, again and again."""
    frame = pd.DataFrame({"k": np.repeat(np.arange(60), rows), "a": np.arange(60 * rows)})
    found = probed(frame, GroupOwners(frame, ["k"]), lambda few: few.groupby("k", as_index=False).a.sum())
    assert len(found) == len({tuple(probe.owners) for probe in found}) > 1


@pytest.mark.parametrize("count", [5_000, 120_000])
def test_ids_that_become_floats_are_refused_and_not_given_to_others(home, count):
    base = 1_700_000_000_000_000_000
    frame = pd.DataFrame({"id": np.concatenate([np.repeat([base, base + 1], 50), np.repeat(np.arange(count // 4), 4)]), "x": 1.0})
    means = actors.groups(lambda f: f.groupby("id", as_index=False).x.mean().astype({"id": float}), by="id", name="means")
    assert "int64 are one; keep their type" in notes(home, means, frame)[0]
    small = frame[frame.id < base]
    assert "no lineage" not in notes(home, means, small)[0]
    labelled = pd.DataFrame({"x": range(count)}, index=base + np.arange(count))
    assert "are one" in notes(home, actors.rows(lambda f: f.set_axis(f.index.astype(float))), labelled)[0]


class ById:
    """Two are equal if they have one id."""

    def __init__(self, number, of_all):
        self.number, self.of_all = number, of_all

    def __eq__(self, other):
        return self.number == other.number

    def __hash__(self):
        return hash(self.number)

    def __repr__(self):
        return f"ById({self.number})"


class Slotted:
    __slots__ = ("of_all",)

    def __init__(self, of_all):
        self.of_all = of_all

    def __repr__(self):
        return "Slotted"

    def __reduce__(self):
        return Slotted, (0,)


def vectors(count, large):
    return pd.DataFrame({"v": [np.full(large, float(n)) for n in range(count)], "k": np.arange(count) // 3})


def middle(f):
    return f.assign(v=[each + np.r_[np.zeros(900), np.full(100, float(len(f))), np.zeros(1000)] for each in f.v])


HIDDEN = {
    "the middle of an array": middle,
    "the end of an array": lambda f: f.assign(v=[each[:3] + len(f) * 1e-10 for each in f.v]),
    "its length": lambda f: f.assign(v=[np.zeros(1_500 + len(f)) for _ in f.v]),
    "a frame in a cell": lambda f: f.assign(v=[pd.DataFrame({"a": [0.0] * 50 + [len(f)] + [0.0] * 50}) for _ in f.v]),
    "a column in a cell": lambda f: f.assign(v=[pd.Series([0.0] * 50 + [len(f)] + [0.0] * 50) for _ in f.v]),
    "what is equal by name": lambda f: f.assign(v=[ById(n, len(f)) for n in f.k]),
    "in a list": lambda f: f.assign(v=[[ById(n, len(f))] for n in f.k]),
    "in slots": lambda f: f.assign(v=[Slotted(len(f)) for _ in f.k]),
    "in itself": lambda f: f.assign(v=[circle(len(f)) for _ in f.k]),
}


def circle(of_all):
    found = [of_all]
    found.append(found)
    return found


@pytest.mark.parametrize("name", HIDDEN)
def test_what_looks_the_same_in_a_table_and_is_not_is_seen(home, name):
    assert "wrong has no lineage" in notes(home, actors.rows(HIDDEN[name], name="wrong"), vectors(60, 2_000))[0]


def test_objects_that_are_the_same_piece_by_piece_are_told(home):
    weights = np.random.default_rng(1).normal(size=(50, 50)).astype("float32")

    def right(f):
        products = np.stack(list(f.v)).astype("float32") @ weights
        return f.assign(
            v=list(products), id=[ById(n, 7) for n in f.k], slots=[Slotted(n) for n in f.k], frame=[pd.DataFrame({"a": [n, None]}) for n in f.k], times=[pd.DatetimeIndex(["2024-01-01"]) for _ in f.k],
            sets=[{n, "x"} for n in f.k], fraction=[Fraction(n, 7) for n in f.k], pattern=[re.compile(f"a{n}") for n in f.k], counts=[Counter([n, n]) for n in f.k],
        )

    (note,) = notes(home, actors.rows(right), vectors(60, 50))
    assert note.startswith("what was promised was tried on ")


def test_labels_of_groups_that_are_of_all_are_seen(home):
    def share(f):
        sums = f.groupby("k", as_index=False).x.sum()
        return sums.set_axis((sums.x / sums.x.sum()).round(3))

    def rank(f):
        sums = f.groupby("k", as_index=False).x.sum()
        return sums.set_axis(pd.Index(sums.x.rank().astype(int), name="rank"))

    frame = pd.DataFrame({"k": np.arange(90) // 3, "x": np.arange(90.0)})
    for wrong in (share, rank):
        assert "wrong has no lineage" in notes(home, actors.groups(wrong, by="k", name="wrong"), frame)[0]
    for right in (lambda f: f.groupby("k", as_index=False).x.sum().query("x > 30"), lambda f: f.groupby(["k"]).x.sum(), lambda f: f.groupby(["k", f.x % 2 > 0]).x.sum()):
        assert "no lineage" not in "".join(notes(home, actors.groups(right, by="k"), frame))


NO_ROWS = {
    "apply": lambda f: f.groupby("k").apply(lambda g: pd.Series({"n": len(g), "most": g.x.max()}), include_groups=False).reset_index(),
    "pivot": lambda f: f.assign(odd=(f.x % 2).map({0: "even", 1: "odd"})).pivot_table(index="k", columns="odd", values="x", aggfunc="sum").reset_index(),
    "quantiles": lambda f: f.groupby("k").x.quantile([0.1, 0.5]).unstack().reset_index(),
}


@pytest.mark.parametrize("name", NO_ROWS)
def test_a_group_of_null_keys_of_which_nothing_comes_breaks_no_promise(home, name):
    frame = pd.DataFrame({"k": pd.Series(["a", "b", None] * 8, dtype=object), "x": range(24)})
    assert notes(home, actors.groups(NO_ROWS[name], by="k"), frame) == []


def test_outputs_that_cannot_be_compared_are_refused_and_end_no_program(home):
    class Odd:
        def __init__(self, record):
            self.held = [record]
            self.held.append(self.held)

    assert len(list(actors.generator(lambda records: (Odd(each) for each in records), each=True)([1, 2, 3]))) == 3
    assert "cannot be compared (RecursionError" in actors.steps(home)[-1].incomplete[0]


def sections(records):
    section = ""
    for record in records:
        section = record if record.startswith("[") else section
        yield f"{section} {record}"


def counted(records):
    for number, record in enumerate(records):
        yield f"{record} {number > 100}"


def one_behind(records):
    last = ""
    for number, record in enumerate(records):
        if number > 20 and last:
            yield last
        elif number <= 20:
            yield record
        last = record


def unique(records):
    seen = set()
    for record in records:
        if record not in seen:
            seen.add(record)
            yield record


LATE = [*(f"a{n}\n" for n in range(5_000)), *(line for part in range(80) for line in (f"[b{part}]\n", *(f"c{n % 40}\n" for n in range(60))))]


@pytest.mark.parametrize("function", [sections, counted, one_behind, unique])
@pytest.mark.parametrize("of", [list, tuple, np.array, iter])
def test_what_a_generator_remembers_of_records_that_come_late_is_seen(home, function, of):
    if of is not iter:
        list(actors.generator(function, each=True, name="wrong")(of(LATE)))
        assert "wrong has no lineage" in actors.steps(home)[-1].incomplete[0]
    list(actors.generator(function, each=True, name="wrong")(of(LATE[4_900:])))
    assert "wrong has no lineage" in actors.steps(home)[-1].incomplete[0]


def test_late_lines_of_a_file_are_looked_at(home, tmp_path):
    (tmp_path / "in").write_text("".join(LATE[4_900:]))
    actors.lines(sections, each=True, name="wrong")(tmp_path / "in", tmp_path / "out")
    assert "wrong has no lineage" in actors.steps(home)[-1].incomplete[0]
    assert (tmp_path / "out").read_text() == "".join(sections(LATE[4_900:]))


def test_of_a_generator_it_is_told_on_how_many_records_it_was_tried(home, tmp_path):
    def flat(records):
        for record in records:
            yield from record.split("a")

    def taken():
        return [step.believed for step in actors.steps(home)]

    records = [f"a{n}\n" for n in range(2_000)]
    assert list(actors.generator(flat, each=True)(records)) == list(flat(records))
    (tmp_path / "in").write_text("".join(records))
    actors.lines(flat, each=True)(tmp_path / "in", tmp_path / "out")
    list(actors.generator(flat, each=True)(records[:8]))
    list(actors.generator(flat, each=True)(records[:12]))
    assert taken() == [*["what was promised was tried on 16 of 2,000 records"] * 2, "", ""]


def test_of_a_slow_generator_one_record_shows_nothing(home, monkeypatch):
    monkeypatch.setattr(tried, "MOST_SECONDS", 0.1)

    def totals(records):
        time.sleep(0.15)
        yield from itertools.accumulate(records)

    for records in ([1, 2, 3], [1], []):
        list(actors.generator(totals, each=True)(records))
        assert actors.steps(home)[-1].incomplete == ((tried.LONG,) if len(records) > 1 else ())
        assert actors.steps(home)[-1].believed == ""


def test_a_record_of_which_too_much_came_counts_as_tried_in_part(home):
    def many(records):
        seen = 0
        for record in records:
            yield from range(record)
            yield "so far", seen
            seen += record // among.MOST

    list(actors.generator(many, each=True)([among.MOST, 0, among.MOST, 0, *[1] * 8]))
    assert "has no lineage" in actors.steps(home)[-1].incomplete[0]
    list(actors.generator(many, each=True)([1, among.MOST, 0]))
    assert "has no lineage" in actors.steps(home)[-1].incomplete[0]
    list(actors.generator(many, each=True)([among.MOST] * 3))
    assert actors.steps(home)[-1].believed == "what was promised was tried on 0 of 3 records, and on the first 10,000 outputs of 3 more"
    list(actors.generator(many, each=True)([0, 0, among.MOST]))
    assert actors.steps(home)[-1].believed == "what was promised was tried on 2 of 3 records, and on the first 10,000 outputs of 1 more"


def test_of_large_outputs_few_are_copied(home, monkeypatch):
    monkeypatch.setattr(tried, "MOST_BYTES", 16 << 20)
    held = []

    def large(records, size):
        for record in records:
            held.append(tracemalloc.get_traced_memory()[0])
            yield np.full(size >> 3, float(record))

    notes = []
    tracemalloc.start()
    try:
        for size in (3 << 20, 6 << 20, 9 << 20):
            for each in actors.generator(large, each=True)([*range(12)], size):
                del each
            notes.append([*actors.steps(home)[-1].incomplete, actors.steps(home)[-1].believed])
    finally:
        tracemalloc.stop()
    assert notes == [["what was promised was tried on 3 of 12 records"], [tried.LONG, ""], [tried.LARGE, ""]]
    assert max(held) - min(held) < 32 << 20


def test_an_output_that_a_function_uses_again_is_looked_at_as_it_was_given(home):
    def reused(records):
        row = [0, 0]
        for row[0] in records:
            for row[1] in range(2):
                yield row

    for _ in actors.generator(reused, each=True)([*range(40)]):
        pass
    assert actors.steps(home)[-1].incomplete == ()
    assert actors.steps(home)[-1].believed == "what was promised was tried on 16 of 40 records"


class Ending:
    """What does something when it is no more, and takes long to be copied."""

    def __init__(self):
        self.held = [[n] for n in range(300_000)]

    def __del__(self):
        pass


@pytest.mark.usefixtures("uncollected")
def test_an_alarm_that_rings_while_an_output_is_copied_is_the_users(home):
    def over(*_):
        raise TimeoutError("over")

    before = signal.signal(signal.SIGALRM, over)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.8)
        with pytest.raises(TimeoutError, match="over"):
            list(actors.generator(lambda records: (Ending() for _ in records), each=True)([1, 2]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_late_record_that_fails_alone_is_made_of_others_too(home):
    def titled(records):
        title = None
        for record in records:
            title = record[1:] if record.startswith("#") else title
            yield title.upper() + record if record.startswith("x") else record

    records = [*(f"-{n}" for n in range(10)), "#t", *(f"x{n}" for n in range(400))]
    assert list(actors.generator(titled, each=True, name="wrong")(records))[-1] == "Tx399"
    assert "wrong has no lineage: it raised AttributeError on a record alone" in actors.steps(home)[-1].incomplete[0]


def test_why_late_records_were_not_tried_is_logged(home, caplog):
    with caplog.at_level("DEBUG", "bigdebug"), pytest.raises(ValueError, match="x"):
        list(actors.generator(lambda records: map(int, records), each=True)([*map(str, range(20)), "x"]))
    assert "records behind the first were not tried: ValueError" in caplog.text


def test_late_records_that_cannot_be_tried_are_believed(home):
    def parsed(records):
        for record in records:
            yield int(record)

    with pytest.raises(ValueError, match="x"):
        list(actors.generator(parsed, each=True)([*map(str, range(20)), "x"]))
    assert list(itertools.islice(actors.generator(parsed, each=True)([*map(str, range(20)), "x"]), 20)) == [*range(20)]
    assert actors.steps(home)[-1].believed == "what was promised was tried on 8 of 20 records"
    with pytest.raises(SystemExit):
        list(actors.generator(lambda records: (sys.exit(each) if each == "x" else each for each in records), each=True)([*map(str, range(20)), "x"]))
    large = [np.zeros(1 << 20) for _ in range(12)]
    assert len(list(actors.generator(lambda records: (each.sum() for each in records), each=True)(large))) == 12
    assert actors.steps(home)[-1].believed == "what was promised was tried on 8 of 12 records"


def test_what_is_too_much_to_copy_is_found_once(home, monkeypatch):
    """A step in a loop over small files: to begin to copy what its function remembers takes a second each time."""
    people = {n: [n] for n in range(200_000)}
    copied = []
    of = Apart.of
    monkeypatch.setattr(Apart, "of", lambda apart, value: (copied.append(1), of(apart, value))[1])
    frame = pd.DataFrame({"a": range(30)})
    looked_up, named = actors.rows(lambda f: f.assign(n=[people[each][0] for each in f.a])), actors.generator(lambda records: (people[each][0] for each in records), each=True)
    for step, given in ((looked_up, frame), (named, [1, 2])):
        notes = []
        for _ in range(2):
            copied.clear()
            assert len(list(step(given))) in (2, 30)
            notes.append(actors.steps(home)[-1].incomplete[-1])
        assert notes[0] == notes[1]
        assert "'people' is reached, and there is too much to be copied" in notes[0]
        assert copied == []
    passed = actors.generator(lambda records: (len(each) for each in records), each=True)
    assert list(passed([[[n] for n in range(200_000)]])) == [200_000]
    assert "too much" in actors.steps(home)[-1].incomplete[-1]  # of what it was given
    assert list(passed([[1], [2, 3]])) == [1, 2]
    assert actors.steps(home)[-1].incomplete == ()


def test_what_a_function_reads_besides_its_records_is_told(home, tmp_path):
    """A row is made of that, too: a flow that does not have it is not exact."""
    for name in ("rows", "table"):
        pd.DataFrame({"k": range(30), name: range(30)}).to_csv(tmp_path / f"{name}.csv", index=False)
    rows, table = (actors.read_csv(tmp_path / f"{name}.csv") for name in ("rows", "table"))
    made, plain = actors.rows(lambda f: f[f.k > 3], name="first")(table), pd.DataFrame({"k": range(30), "y": 1})

    def looked_up(f, other):
        return f.assign(y=f.k.map(other.set_index("k").iloc[:, 0]))

    def opened(f):
        return looked_up(f, pd.read_csv(tmp_path / "table.csv"))

    def lines(records):
        names = dict(zip(table.k, table.table))
        yield from (f"{each} {names.get(each)}" for each in records)

    def told(call, *given):
        list(call(*given))
        return [each for each in actors.steps(home)[-1].incomplete if "besides" in each]

    known = " reads 'table.csv' besides its input, and which rows of that it makes a row of is not known; actors.merge follows two frames"
    assert told(actors.rows(looked_up), rows, table) == [f"looked_up{known}"]
    assert told(actors.rows(looked_up, check=False), rows, table) == [f"looked_up{known}"]
    assert told(actors.rows(lambda f: looked_up(f, table), name="held"), rows) == [f"held{known}"]
    assert told(actors.rows(opened), rows) == [f"opened{known}"]
    assert told(actors.generator(lines, each=True), [*range(30)]) == [f"lines{known}"]
    assert "reads a frame that a step gave besides" in told(actors.rows(looked_up), rows, made)[0]
    assert told(actors.rows(looked_up), rows, plain) == []
    assert told(actors.rows(lambda f: looked_up(f, plain)), rows) == []
    assert told(actors.groups(lambda f: f.groupby("k").sum(), by="k"), rows) == []


def test_a_step_over_thousands_of_columns_is_tried_in_the_time_that_there_is(home):
    """What pandas makes of each column takes longer than to compare it: such a step took seconds, and was tried once alone."""
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3_000))).rename(columns="c{}".format).assign(t="x")
    actors.rows(lambda frame: frame.query("c0 > 0"))(wide)
    assert "tried on" in actors.steps()[-1].believed
