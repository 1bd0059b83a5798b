"""Record ids and the places they pack; the ids that a user types, over a run whose blocks are written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigdebug.errors import UnknownOperatorError, UnknownRecordError
from bigdebug.graph import Emission, Form, Kind, Operator, OperatorGraph, Segment, Stage
from bigdebug.model import NO_RIDS, POSITION_BITS, POSITION_MASK, pack
from bigdebug.store.blocks import Block, write_block
from bigdebug.store.directory import LineageStore
from bigdebug.trace.places import count, places_of, rids_of, union
from bigdebug.trace.run import Run
from bigdebug.trace.trace import Trace, all_records

HIGHEST = 2**40 - 1
partitions = st.integers(0, 5) | st.integers(0, 2**23 - 1)
inside = st.integers(0, 5) | st.integers(0, HIGHEST)
records = st.sets(st.tuples(partitions, inside), max_size=20)


def rid(partition: int, position: int) -> int:
    return int(pack(partition, np.array([position]))[0])


def placed(points: Iterable[tuple[int, int]]) -> dict[int, Any]:
    found: dict[int, list[int]] = {}
    for partition, position in sorted(points):
        found.setdefault(partition, []).append(position)
    return {p: np.array(at, dtype=np.int64) for p, at in found.items()}


def listed(places: Any) -> dict[int, list[int]]:
    assert all(at.dtype == np.int64 for at in places.values())
    return {p: at.tolist() for p, at in places.items()}


@given(partitions, inside)
@example(2**23 - 1, HIGHEST)
def test_a_rid_packs_a_place_and_nothing_is_lost(partition: int, position: int) -> None:
    (packed,) = pack(partition, np.array([position])).tolist()
    assert (packed >> POSITION_BITS, packed & POSITION_MASK) == (partition, position)
    assert packed >= 0


@given(st.tuples(partitions, inside), st.tuples(partitions, inside))
def test_rids_are_in_the_order_of_their_places(one: tuple[int, int], other: tuple[int, int]) -> None:
    assert (rid(*one) < rid(*other)) == (one < other)


@given(records, st.randoms(use_true_random=False))
def test_rids_in_any_order_and_twice_are_the_places_they_pack(points: set[tuple[int, int]], random: Any) -> None:
    rids = [rid(*point) for point in points]
    twice = rids + random.sample(rids, k=len(rids) // 2)
    random.shuffle(twice)
    for given_ in (twice, iter(twice), np.array(twice, dtype=np.int64), np.array(twice, dtype=np.uint64)):
        assert listed(places_of(given_)) == listed(placed(points))


@given(records)
def test_rids_of_places_are_ascending_and_lead_back(points: set[tuple[int, int]]) -> None:
    places = placed(points)
    backwards = {**dict(reversed(places.items())), 9: places.get(9, NO_RIDS)}
    rids = rids_of(backwards)
    assert rids.tolist() == sorted(rid(*point) for point in points)
    assert rids.dtype == np.int64
    assert listed(places_of(rids)) == listed(places)
    assert count(backwards) == len(points)


@given(st.lists(records, max_size=4))
def test_a_union_is_that_of_the_sets(sets: list[set[tuple[int, int]]]) -> None:
    empty = {0: NO_RIDS}
    assert listed(union(*map(placed, sets), empty)) == listed(placed(set().union(*sets)))


# ---- a run of flatMap over two partitions, of 3 and 2 records, in which record i of a partition gave i outputs --------

SOURCE, FLAT = 0, 1


@pytest.fixture
def run(tmp_path: Any) -> Run:
    stage = Stage("s0", SOURCE, (Segment((FLAT,), Form.OFFSETS),), Emission.RECORDS)
    for partition, offsets, outputs in ((0, [0, 0, 1], 3), (1, [0, 0], 1)):
        columns = {"segment0.offsets": np.array(offsets, dtype=np.uint8)}
        write_block(str(tmp_path), "r1", Block("s0", partition, 0, (len(offsets), outputs), 0, columns))
    operators = [
        Operator(SOURCE, "parallelize", Kind.SOURCE, Form.SOURCE, (), 2),
        Operator(FLAT, "flatMap", Kind.DISPATCHER, Form.OFFSETS, (SOURCE,), 2),
    ]
    graph = OperatorGraph(operators, [FLAT], [stage])
    return Run("r1", "by hand", "collect", "succeeded", FLAT, graph, store=LineageStore(tmp_path))


@pytest.fixture
def results(run: Run) -> Trace:
    return Trace(run, [FLAT], lambda: all_records(run, FLAT))


def test_a_trace_follows_the_tables_of_the_blocks(results: Trace) -> None:
    assert results.rids().tolist() == [rid(0, 0), rid(0, 1), rid(0, 2), rid(1, 0)]
    assert results.goBackAll().rids().tolist() == [rid(0, 1), rid(0, 2), rid(1, 1)]
    assert results.at([rid(0, 2)]).goBackAll().rids().tolist() == [rid(0, 2)]
    assert results.at([rid(0, 2)]).goBackAll().goNextAll().rids().tolist() == [rid(0, 1), rid(0, 2)]


def test_ids_may_be_given_twice_and_in_any_order(results: Trace) -> None:
    for rids in ([rid(1, 0), rid(0, 1), rid(1, 0)], np.array([rid(1, 0), rid(0, 1)]), iter([rid(1, 0), rid(0, 1)])):
        assert results.at(rids).rids().tolist() == [rid(0, 1), rid(1, 0)]
    assert results.at([]).rids().tolist() == []
    assert results.at([]).goBackAll().count() == 0


@pytest.mark.parametrize(
    "strange",
    [
        rid(0, 3),
        rid(1, 1),
        rid(2, 0),
        rid(0, HIGHEST),
        -1,
        2**63 - 1,
        2**64,
        1.5,
        "1",
    ],
)
def test_an_id_that_names_no_record_is_an_error(results: Trace, strange: Any) -> None:
    with pytest.raises(UnknownRecordError):
        results.at([rid(0, 0), strange]).rids()


def test_no_id_is_shown_as_what_it_is(results: Trace) -> None:
    with pytest.raises(UnknownRecordError, match=r"not a record id \(got None\)"):
        results.at([None])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (lambda trace: trace.at(5), r"at\(\) takes several record ids, not 5; .*at\(\[rid\]\)"),
        (lambda trace: trace.goBack("x"), "a whole number of steps, not 'x'"),
        (lambda trace: trace.goNext(1.5), "a whole number of steps, not 1.5"),
        (lambda trace: trace.goBack(True), "a whole number of steps, not True"),
    ],
)
def test_what_is_no_number_is_refused_in_a_sentence(results: Trace, question: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        question(results)
    assert results.goBack(np.int64(1)).count() == 3  # type: ignore[arg-type]


def test_a_narrowed_trace_knows_only_its_own(results: Trace) -> None:
    narrowed = results.at([rid(0, 1)])
    with pytest.raises(UnknownRecordError):
        narrowed.at([rid(0, 2)]).rids()


def test_a_trace_is_a_bitmap_for_overlaps(results: Trace) -> None:
    both = results.at([rid(0, 0), rid(1, 0)]).bitmap() & results.at([rid(0, 1), rid(1, 0)]).bitmap()
    assert list(both) == [rid(1, 0)]


# ---- inputs by name -----------------------------------------------------------------------------------------------


def of_files(*datasets: str) -> Trace:
    """A trace at sources that read these, one record each."""
    sources = [Operator(i, "textFile", Kind.SOURCE, Form.SOURCE, (), 1, dataset=name) for i, name in enumerate(datasets)]
    graph = OperatorGraph(sources, [0])
    run = Run("r1", "by hand", "collect", "succeeded", 0, graph)
    return Trace(run, range(len(datasets)), lambda: {s.id: placed([(s.id, 0)]) for s in sources})


@pytest.mark.parametrize(
    ("datasets", "parts"),
    [
        (["a", "b"], {"a": [0], "b": [1]}),
        (["a", "a#b"], {"a": [0], "a#b": [1]}),
        (["a", "b", "a"], {"a": [0, 2], "a#2": [2], "b": [1]}),
        (["a", "a#2", "a"], {"a": [0, 2], "a#2": [1], "a#3": [2]}),
        (["a#2", "a", "a", "a#2"], {"a#2": [0, 3], "a": [1, 2], "a#3": [2], "a#2#2": [3]}),
    ],
)
def test_an_input_is_found_by_its_own_name_and_all_readings_of_it_by_that_of_the_first(
    datasets: list[str], parts: dict[str, list[int]]
) -> None:
    trace = of_files(*datasets)
    assert len(set(trace.inputs)) == len(datasets)
    assert {name: list(trace[name].operators) for name in parts} == parts
    assert set(trace.inputs) <= parts.keys()


@pytest.mark.parametrize("name", ["c", "a#9", 0, None])
def test_an_input_that_there_is_not_is_an_error(name: Any) -> None:
    with pytest.raises(UnknownOperatorError, match=r"It knows a"):
        of_files("a", "b")[name]
