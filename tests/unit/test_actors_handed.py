"""What a function of a step may do with its records, and with what it gives: all that it may do without."""

import array
import copy
import csv
import io
import mmap
import pickle
import re
import struct
from collections import Counter, OrderedDict, UserList, deque, namedtuple
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug import actors
from bigdebug.errors import IncompleteLineageError
from bigdebug.trace.across.located import Located, Unit

NUMBERS = [1, 2, 5, 7]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def step():
    """The step that came last."""
    return actors.steps()[-1]


def made(count):
    """The inputs of each of so many outputs of the step that came last."""
    found = [step().backward([Located.of(f"item:{step().id}/out", Unit.ROW, [n])]) for n in range(count)]
    return [each[0].positions.tolist() if each else [] for each in found]


def shares(records):
    total = sum(records)
    for each in records:
        yield each / total


def in_pairs(records):
    for one, other in zip(records, records[1:]):  # noqa: RUF007
        yield one + other


def by_place(records):
    for place in range(len(records)):
        yield records[place]


def first_again(records):
    for place, each in enumerate(records):
        if place == 2:
            yield records[0]
        yield each


def without_header(records):
    rows = iter(records)
    next(rows)
    yield from rows


def if_any(records):
    if not records:
        return
    yield from records


ALL = [0, 1, 2, 3]

FUNCTIONS = {
    "twice": (shares, [ALL] * 4), "pairs": (in_pairs, [ALL] * 3), "by place": (by_place, [ALL] * 4), "first again": (first_again, [[0], [0, 1], ALL, ALL, ALL]),
    "without header": (without_header, [[0, 1], [0, 1, 2], ALL]), "if any": (if_any, [[0], [0, 1], [0, 1, 2], ALL]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_may_see_a_collection_as_often_and_as_it_likes_and_from_then_on_its_outputs_are_made_of_all(name):
    function, inputs = FUNCTIONS[name]
    assert [*actors.generator(function)(NUMBERS)] == [*function(NUMBERS)]
    assert step().incomplete == ()
    assert made(len(inputs)) == inputs


def matched(records):
    """What a pattern finds in it."""
    match records:
        case [first, *rest]:
            return [first, rest]
        case {"a": value, **rest}:
            return [value, rest]
        case _:
            return ["no match"]


WAYS = {
    "matched": matched,
    "backwards": lambda r: [*reversed(r)], "slices": lambda r: r[::-1], "put together": lambda r: [*(r + [1]), *([1] + r), *(r * 2), *(2 * r)],  # noqa: RUF005
    "what it is": lambda r: [isinstance(r, list), isinstance(r, Sequence), r.__class__ is list, bool(r), len(r), str(r), f"{r}", repr(r)],
    "compared": lambda r: [r == [1, 2, 5, 7], [1, 2, 5, 7] == r, r != [1], r < [2], 5 in r, r.index(5), r.count(5), r is not None],  # noqa: SIM300
    "copied": lambda r: [copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r)), r.copy(), type(copy.copy(r))],
    "in arrays": lambda r: [np.array(r).sum(), np.asarray(r, float).mean(), pd.Series(r).sum(), np.add(r, 1).tolist()],
    "unpacked": lambda r: [*r, max(*r), sorted(r), tuple(r), dict.fromkeys(r), dict(enumerate(r))],
    "what lists do": lambda r: [set(dir(r)) == set(dir([])), hasattr(r, "append"), hasattr(r, "keys")],
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_done_with_a_list_gives_what_it_gives_without(way):
    assert actors.generator(WAYS[way])(NUMBERS) == WAYS[way](NUMBERS)
    assert step().incomplete == ()


def test_what_a_function_changes_in_its_collection_is_changed():
    def sorts(records):
        records.sort()
        records[0] = 0
        del records[-1]
        records += [9]
        yield from records

    mine = [3, 1, 2]
    assert [*actors.generator(sorts)(mine)] == [0, 2, 9] == mine

    def takes(records):
        while records:
            yield records.popleft()

    queue = deque([1, 2, 3])
    assert [*actors.generator(takes)(queue)] == [1, 2, 3]
    assert (queue, made(3)) == (deque(), [[0, 1, 2]] * 3)


KINDS = {
    "matched dict": ({"a": 1, "b": 2}, matched), "matched tuple": ((1, 2), matched), "matched text": ("ab", matched), "matched deque": (deque([1, 2]), matched),
    "dict": ({"a": 1, "b": 2}, lambda d: [*map(d.get, d), isinstance(d, Mapping), *d.items()]), "tuple": ((1, 2), lambda t: [t[0], t + (3,), isinstance(t, tuple)]),  # noqa: RUF005
    "set": ({1, 2}, lambda s: [sorted(s | {3}), sorted({3} | s), s >= {1}]), "text": ("ab", lambda t: [t.upper(), t + "c", "c" + t, "a" in t, t == "ab"]),
    "array": (np.arange(4), lambda a: [a.sum(), (a + 1).tolist(), np.add(a, a).tolist(), a.shape, np.mean(a), (a[a > 1]).tolist(), np.add(a, 1, out=a.copy()).tolist()]),
    "series": (pd.Series([1, 2]), lambda s: [s.sum(), (s + 1).tolist(), s[s > 1].tolist(), s.name]),
    "frame": (pd.DataFrame({"n": [1, 2]}), lambda f: [f.n.sum(), [*f], f["n"].tolist(), len(f), [row.n for row in f.itertuples()]]),
    "range": (range(3), lambda r: [r[1], r.stop, [*r], 7 in r]), "named": (namedtuple("Point", "x y")(1, 2), lambda p: [p.x, p._asdict(), p._replace(x=3)]),  # noqa: PYI024
    "nothing": (None, lambda records: [records is None]), "a number": (7, lambda n: [n + 1]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_collections_of_all_kinds_are_what_they_are(kind):
    records, function = KINDS[kind]
    assert actors.generator(function)(records) == function(records)


@given(st.lists(st.integers(), max_size=8), st.lists(st.sampled_from(["all", "first", "three", "size", "last"]), max_size=5))
def test_outputs_are_made_of_all_that_was_seen_before(tmp_path_factory, numbers, does):
    """The truth is kept beside: after each thing that the function does it gives what it knows, which nothing else may be in."""
    def function(records):
        known = set()
        for each in does:
            if each in ("all", "first", "three"):
                for place, _ in zip(range({"all": 100, "first": 1, "three": 3}[each]), records):
                    known.add(place)
            elif each == "size" or not numbers:
                known.update(range(len(records)))
            else:
                known.add(len(numbers) - 1)
                assert records[-1] == numbers[-1]
            yield sorted(known)

    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    given_ = [*actors.generator(function, home=home)(numbers)]
    assert given_ == [*function(numbers)]
    found = actors.steps(home)[-1]
    assert found.incomplete == ()
    for place, known in enumerate(given_):
        back = found.backward([Located.of(f"item:{found.id}/out", Unit.ROW, [place])])
        assert {*known} <= {*(back[0].positions.tolist() if back else ())}


@pytest.mark.parametrize("promise", [{"each": True}, {"each": True, "check": False}, {"tags": (bool, bool)}])
def test_who_promises_what_was_read_last_and_reads_otherwise_has_no_lineage(promise):
    assert [*actors.generator(by_place, **promise)(NUMBERS)] == NUMBERS
    assert "by_place has no lineage: it does more with its records than to read each once" in " ".join(step().incomplete)
    with pytest.raises(IncompleteLineageError, match="read each once"):
        made(1)


def test_a_promise_is_tried_with_a_collection():
    assert [*actors.generator(shares, each=True)(NUMBERS)] == [*shares(NUMBERS)]
    assert "something else of a record alone" in step().incomplete[0]
    assert [*actors.generator(if_any, each=True)(NUMBERS)] == NUMBERS
    assert made(4) == [[0], [1], [2], [3]]


def test_the_culprit_is_the_record_that_was_read_last_also_the_second_time():
    def function(records):
        most = max(records)
        for each in records:
            yield most / (each - 5)

    with pytest.raises(ZeroDivisionError):
        [*actors.generator(function)(NUMBERS)]
    assert [each.number for each in step().culprits] == [2]
    with pytest.raises(ZeroDivisionError):
        [*actors.generator(lambda records: [1 / (each - 5) for each in records[1:]])(NUMBERS)]
    assert [each.number for each in step().culprits] == [None]


@pytest.mark.parametrize(("numbers", "known"), [([1, 5, 7], 1), ([1, 7, 5], 2), ([5], 0)])
def test_of_two_passes_that_go_on_at_once_none_is_said_to_have_given_the_culprit(numbers, known):
    def running(records):
        for each in records:
            yield max(records) / (each - 5)

    def behind(records):
        most = max(records)
        for each in records:
            yield most / (each - 5)

    def at_the_end(records):
        for each in records:
            yield next(iter(records)) / (each - 5)

    for function, number in ((running, None), (at_the_end, None), (behind, known)):
        with pytest.raises(ZeroDivisionError):
            [*actors.generator(function)(numbers)]
        assert [each.number for each in step().culprits] == [number]


def test_what_is_written_into_a_collection_is_in_it():
    def adds(records):
        np.add(records, 1, out=records)
        np.multiply(records, 2, out=(records,))
        yield from records

    mine = np.arange(3)
    assert [*actors.generator(adds)(mine)] == [2, 4, 6] == mine.tolist()


# ---- iterators that can do more -------------------------------------------------------------------------------


def test_a_file_may_be_read_in_its_own_ways():
    def function(lines):
        yield lines.readline()
        yield from lines

    assert [*actors.generator(function)(io.StringIO("a\nb\nc\n"))] == ["a\n", "b\n", "c\n"]
    assert "nobody knows how many there were" in step().incomplete[0]

    def table(lines):
        rows = csv.reader(lines)
        head = next(rows)
        for row in rows:
            yield dict(zip(head, row))

    assert [*actors.generator(table)(io.StringIO("a,b\n1,2\n3,4\n"))] == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    assert (step().incomplete, made(2)) == ((), [[0, 1], [0, 1, 2]])

    def numbered(rows):
        with io.StringIO() as out:
            for row in rows:
                yield rows.line_num, row
            out.write("end")

    assert [*actors.generator(numbered)(csv.reader(["a", "b"]))] == [(1, ["a"]), (2, ["b"])]
    assert (step().incomplete, made(2)) == ((), [[0], [0, 1]])


def test_an_iterator_goes_on_where_it_was():
    def function(lines):
        for line in lines:
            yield line
            break
        yield next(lines)
        yield from lines

    assert [*actors.generator(function)(io.StringIO("a\nb\nc\n"))] == ["a\n", "b\n", "c\n"]
    assert (step().incomplete, made(3)) == ((), [[0], [0, 1], [0, 1, 2]])


# ---- what a function gives ------------------------------------------------------------------------------------


class Mine:
    """Whose records come when they are asked for."""

    asked = 0

    def __iter__(self):
        Mine.asked += 1
        return iter([1, 2])


GIVEN = {
    "counter": Counter, "ordered": OrderedDict.fromkeys, "keys": lambda r: dict.fromkeys(r).keys(), "items": lambda r: dict.fromkeys(r).items(), "named": namedtuple("Three", "x y z")._make,  # noqa: PYI024
    "array": lambda r: array.array("q", r), "user": UserList, "series": pd.Series, "frame": lambda r: pd.DataFrame({"n": [*r]}), "index": pd.Index, "memory": lambda r: memoryview(bytes(r)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_collection_that_a_function_gives_is_given_itself(name):
    wanted, given_ = GIVEN[name]([3, 1, 2]), actors.generator(GIVEN[name], name=name)([3, 1, 2])
    assert type(given_) is type(wanted)
    assert [*given_] == [*wanted]
    assert step().incomplete == ()
    assert made(len([*wanted])) == [[0, 1, 2]] * len([*wanted])


class Squares(Sequence):
    """Without an end: a sequence is gone through until it raises an IndexError."""

    def __len__(self):
        return 3

    def __getitem__(self, place):
        Mine.asked += 1
        return place * place


def test_a_sequence_of_the_users_is_gone_through_by_himself():
    before = Mine.asked
    given_ = actors.generator(lambda records: Squares(), name="squares")([1])
    assert (type(given_), Mine.asked) == (Squares, before)
    assert "its outputs are in a Squares" in step().incomplete[0]
    groups = actors.generator(lambda records: pd.DataFrame({"n": [*records]}).groupby("n"), name="groups")([1, 1, 2])
    assert len([*groups]) == 2
    assert "its outputs are in a DataFrameGroupBy" in step().incomplete[0]


def test_of_what_may_give_others_when_it_is_asked_nobody_asks():
    given_ = actors.generator(lambda records: Mine(), name="mine")([1])
    assert type(given_) is Mine
    asked = Mine.asked
    assert [*given_] == [1, 2]
    assert Mine.asked == asked + 1
    assert step().incomplete == ("mine has no lineage: its outputs are in a Mine, which may give others whenever it is asked; give them one by one, or in a list",)


def test_an_iterator_that_can_do_more_still_can(tmp_path):
    (tmp_path / "a.txt").write_text("a\nb\n")

    def opens(records):
        assert isinstance(records, Iterable)
        return open(tmp_path / "a.txt")

    with actors.generator(opens)(NUMBERS) as lines:
        assert lines.name == str(tmp_path / "a.txt")
        assert [*lines] == ["a\n", "b\n"]
    del lines
    assert not any("no lineage" in why for why in step().incomplete)
    with actors.generator(opens)(NUMBERS) as lines:
        assert (lines.readline(), next(lines)) == ("a\n", "b\n")
    del lines
    assert any("in another way than one by one" in why for why in step().incomplete)


def words_of(text):
    for match in re.finditer(r"\w+", text):
        yield match.group()


def lines_of(path):
    with open(path) as file:
        yield from file


def labelled(text):
    for word in text.split():
        yield f"{text}: {word}"


def unpacked(numbers):
    yield from struct.unpack(f"{len(numbers)}d", numbers)


def found_in(data):
    yield from re.findall(b"o", data)


def cells_at(place):
    yield np.arange(9).reshape(3, 3)[place].tolist()


def more(column):
    yield from pc.add(column, 1).to_pylist()


def joined(table):
    yield from pa.concat_tables([table, table]).to_pylist()


def filled(numbers):
    np.copyto(numbers, 0)
    yield from bytes(numbers)


@pytest.mark.parametrize(("function", "records"), [(cells_at, (0, 1)), (more, pa.array([1, 2])), (joined, pa.table({"a": [1]})), (filled, np.array([1, 2], np.int8))])
def test_what_is_told_apart_in_c_is_given_as_it_is(function, records):
    """Numpy takes a tuple for a place, and another sequence for rows; a package in C takes its own types alone."""
    plain = list(function(records))
    assert list(actors.generator(function)(records)) == plain
    assert made(len(plain)) == [[*range(len(records))]] * len(plain)


@pytest.mark.parametrize("records", [(1, 2, 5), np.array([1, 2, 5])])
def test_what_is_told_apart_in_c_and_said_to_be_read_one_by_one_is_seen_to_be(records):
    def each(numbers):
        for n in numbers:
            yield n + 1

    assert list(actors.generator(each, each=True)(records)) == [2, 3, 6]
    assert made(3) == [[0], [1], [2]]


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("case", ["words", "lines", "labelled", "array", "bytes", "bytearray", "memoryview", "mmap"])
def test_a_text_or_other_bytes_are_given_as_they_are(case, each, tmp_path):
    """What is written in C reads them as a whole, and takes nothing in their place; so nobody sees what an output is made of."""
    path = tmp_path / "in.txt"
    path.write_text("one\ntwo\n")
    with path.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        function, records = {
            "words": (words_of, "one two"), "lines": (lines_of, str(path)), "labelled": (labelled, "one two"), "array": (unpacked, array.array("d", [1.5, 2.5])),
            "bytes": (found_in, b"foo"), "bytearray": (found_in, bytearray(b"foo")), "memoryview": (found_in, memoryview(b"foo")), "mmap": (found_in, mapped),
        }[case]
        outputs = list(function(records))
        assert list(actors.generator(function, each=each)(records)) == outputs
        if not each:
            assert made(len(outputs)) == [[*range(len(records))]] * len(outputs)
            return
    with pytest.raises(IncompleteLineageError, match="is given as it is"):
        made(1)
