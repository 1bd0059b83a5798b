"""Narrow segments against plain Python: the same records in the same order of calls, and the exact association."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents import pairing, segments
from bigdebug.agents.notes import Notes
from bigdebug.agents.segments import Filter, Kept, Map, Offsets, OneToOne, Paired, Partitionwise, Whole

BAD = [0]
"""The number on which functions of a test crash."""


class Ran(NamedTuple):
    outputs: list[Any]
    columns: dict[str, list[int]]
    levels: tuple[int, ...]


def run(segment: Any, records: Iterable[Any], most: int | None = None) -> Ran:
    """What a segment gives and notes, if ``most`` of its outputs are asked for."""
    notes = Notes(levels=[None])
    outputs = list(islice(segment.run(0, records, notes, "s", RuntimeError), most))
    columns = {name.removeprefix("s."): column().tolist() for name, column in notes.columns.items()}
    return Ran(outputs, columns, notes.counts(len(outputs)))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (segments, pairing):
        monkeypatch.setattr(module, "CHUNK", 3)


plans = st.lists(st.one_of(st.just("read"), st.just("give")), max_size=30)
most = st.none() | st.integers(0, 12)


def follow(plan: list[str]) -> tuple[Callable[[int, Iterable[int]], Iterator[Any]], list[int]]:
    """A function that reads and gives as planned, and how much it had read at each output, by its own account."""
    reads: list[int] = []

    def planned(split: int, records: Iterable[int]) -> Iterator[Any]:
        read = 0
        source = iter(records)
        for event in plan:
            if event == "read":
                read += next(source, None) is not None
            else:
                reads.append(read)
                yield len(reads)

    return planned, reads


@given(plans, st.integers(0, 9), most)
def test_outputs_of_a_function_over_an_iterator_belong_to_what_it_had_read(plan: list[str], size: int, most: int | None) -> None:
    function, reads = follow(plan)
    ran = run(Paired(function), iter(range(size)), most)
    assert ran.columns == {"reads": reads[:most]}
    assert len(ran.outputs) == len(reads[:most])
    inputs = min(size, plan.count("read")) if most is None or most > plan.count("give") else (reads[most - 1] if most else 0)
    assert ran.levels == (inputs, len(ran.outputs))


@given(sizes=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), max_size=8), size=st.integers(0, 20), most=st.none() | st.integers(0, 8), exhausts=st.booleans())
def test_an_output_that_reads_on_itself_belongs_to_what_it_read(sizes: list[tuple[int, int]], size: int, most: int | None, exhausts: bool) -> None:
    """As the groups of groupby do, while a step behind has them. The function reads some records itself before each, and some at its end."""

    def views(split: int, records: Iterable[int]) -> Iterator[Any]:
        source = iter(records)
        for before, within in sizes:
            list(islice(source, before))
            yield islice(source, within)
        if exhausts:
            list(source)

    notes = Notes(levels=[None])
    read, wanted = 0, []
    for view, (before, _) in zip(islice(Paired(views).run(0, iter(range(size)), notes, "s", RuntimeError), most), sizes):
        read = min(size, read + before + len(list(view)))
        wanted.append(read)
    assert notes.columns["s.reads"]().tolist() == wanted
    ended = most is None or most > len(sizes)
    assert notes.counts(0)[0] == (size if exhausts and ended else read)


@pytest.mark.parametrize("bad", [0, 4, 6, 9])
@pytest.mark.parametrize("segment", [Kept(Filter(lambda n: 10 // (n - BAD[0]) > -99 and n % 3 == 0)), Paired(lambda split, records: (10 // (n - BAD[0]) and n for n in records if n == BAD[0] or n % 3 == 0))])
def test_what_was_given_before_something_is_raised_is_made_of_what_was_read_for_it(segment: Any, bad: int) -> None:
    """A function behind may catch what one before it raises, and go on."""
    BAD[0] = bad
    notes = Notes(levels=[None])
    passing = segment.run(0, iter(range(10)), notes, "s", RuntimeError)
    given = []
    with pytest.raises(ZeroDivisionError):
        given.extend(passing)
    given = [n for n in range(bad) if n % 3 == 0]
    [column] = [column().tolist() for column in notes.columns.values()]
    assert column == (given if isinstance(segment, Kept) else [n + 1 for n in given])
    assert notes.counts(0)[0] == bad + 1
    if isinstance(segment, Kept):
        assert list(passing) == [n for n in range(bad + 1, 10) if n % 3 == 0], "as a filter does that one asks on"
        assert notes.columns["s.kept"]().tolist() == [n for n in range(10) if n % 3 == 0 and n != bad]


def test_outputs_that_are_read_when_all_are_given_may_each_have_read_all() -> None:
    notes = Notes(levels=[None])
    first, second = Paired(lambda split, records: [islice(records, 2), islice(records, 1)]).run(0, iter(range(9)), notes, "s", RuntimeError)
    assert (list(second), list(first)) == ([0], [1, 2])
    assert notes.columns["s.reads"]().tolist() == [3, 3]


def test_a_function_that_answers_each_record_leaves_nothing_to_note() -> None:
    notes = Notes(levels=[None])
    passing = Paired(lambda split, records: (n + 1 for n in records)).run(0, range(1000), notes, "s", RuntimeError)
    assert sum(passing) == 500_500
    assert notes.columns["s.reads"]().tolist() == list(range(1, 1001))
    assert (notes.counts(1000), notes.counts(1000)) == ((1000, 1000), (1000, 1000))  # it can be asked again


@pytest.mark.parametrize("wrong", [None, 7])
def test_a_function_that_gives_no_iterable_fails_as_it_does_in_pyspark(wrong: Any) -> None:
    with pytest.raises(TypeError, match="is not iterable"):
        run(Paired(lambda split, records: wrong), [1])


@given(st.lists(st.integers(0, 9)), st.sets(st.integers(0, 9)), most)
def test_a_filter_keeps_what_filter_keeps_and_notes_where_it_was(records: list[int], wanted: set[int], most: int | None) -> None:
    pulled: list[int] = []
    ran = run(Kept(Filter(wanted.__contains__)), (pulled.append(n) or n for n in records), most)
    stay = [at for at, n in enumerate(records) if n in wanted][:most]
    assert ran.outputs == [records[at] for at in stay]
    assert ran.columns == {"kept": stay}
    assert ran.levels == (len(pulled), len(stay))
    expected = list(islice(filter(wanted.__contains__, (untouched := iter(records))), most))
    assert expected == ran.outputs
    assert len(list(untouched)) == len(records) - len(pulled)  # and it has read as much


def test_a_filter_judges_a_record_only_when_it_is_asked_for() -> None:
    """A predicate may share what it knows with functions that run after it."""
    seen: set[int] = set()
    notes = Notes(levels=[None])
    kept = Kept(Filter(lambda n: n not in seen)).run(0, [1, 1, 2, 2, 1, 3], notes, "s", RuntimeError)
    assert [seen.add(n) or n for n in kept] == [1, 2, 3]
    assert notes.columns["s.kept"]().tolist() == [0, 2, 5]


def test_a_filter_holds_one_record_at_a_time() -> None:
    class Counted:
        alive = most = 0

        def __init__(self) -> None:
            Counted.alive += 1
            Counted.most = max(Counted.most, Counted.alive)

        def __del__(self) -> None:
            Counted.alive -= 1

    notes = Notes(levels=[None])
    for _ in Kept(Filter(lambda _: False)).run(0, (Counted() for _ in range(1000)), notes, "s", RuntimeError):
        pass
    assert Counted.most <= 3


def leak(value: Any) -> Any:
    raise StopIteration("mine")


@pytest.mark.parametrize("segment", [
    Kept(Filter(leak)), Offsets((Filter(leak),)), OneToOne((Map(leak),)), Offsets((Map(leak), Filter(bool))),
], ids=["kept", "filter", "map", "chain"])
@pytest.mark.parametrize("records", [[1], [1, 2, 3, 4]], ids=["the last record", "an earlier one"])
def test_a_stop_iteration_that_leaks_is_an_error_and_no_end(segment: Any, records: list[int]) -> None:
    with pytest.raises(RuntimeError):
        run(segment, iter(records))


@given(st.lists(st.integers(0, 3)), most)
def test_offsets_say_how_much_had_left_at_each_input(records: list[int], most: int | None) -> None:
    spread = Offsets((segments.FlatMap(lambda n: [n] * n),))
    ran = run(spread, iter(records), most)
    expected = list(islice(chain.from_iterable([n] * n for n in records), most))
    assert ran.outputs == expected
    assert ran.levels == (len(ran.columns["offsets"]), len(expected))
    owners = [at for at, n in enumerate(records) for _ in range(n)][:most]
    assert np.searchsorted(ran.columns["offsets"], range(len(expected)), side="right").tolist() == [at + 1 for at in owners]


def test_a_function_over_the_whole_partition_counts_both_sides() -> None:
    assert run(Whole(lambda split, records: [list(records)]), iter(range(5))) == ([list(range(5))], {}, (5, 1))


def test_segments_travel_to_executors() -> None:
    for segment in (Kept(Filter(bool)), Paired(follow), Whole(follow), OneToOne((Map(str), Partitionwise(follow)))):
        assert pickle.loads(pickle.dumps(segment)) == segment
