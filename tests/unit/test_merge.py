"""Merges after a shuffle: the same records, ids and lineage, in whatever order and however many passes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.frames import Tag, tagged
from bigdebug.agents.merge import Combine, Gather, Sort
from bigdebug.agents.notes import Notes
from bigdebug.agents.readers import Shuffled

# Equal keys of several types, keys without an order, None, and parts of keys.
KEYS: list[Any] = [None, 0, 1, True, 1.0, -1, -2, "1", "", b"1", (1, None), (1.0, None), frozenset({1}), 2**70, float("inf")]
records = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 99)), min_size=1, max_size=4)
sent = st.dictionaries(st.tuples(st.integers(0, 1), st.integers(0, 2)), st.lists(records, max_size=3), max_size=4)
limits = st.sampled_from([0, 100, 1 << 20])
memories = st.sampled_from([70, 300, 1 << 20])
Record = tuple[Any, Any]


class Merged(NamedTuple):
    outputs: list[Any]
    codes: list[int]
    levels: tuple[int, ...]


def frames_of(sent: dict[tuple[int, int], list[list[Any]]]) -> list[bytes]:
    made = []
    for (branch, partition), batches in sorted(sent.items()):
        start = 0
        for batch in batches:
            made.append(tagged(pickle.dumps(batch), Tag(branch, partition, start, len(batch))))
            start += len(batch)
    return made


def run(merge: Any, frames: list[bytes], limit: int = 1 << 20, most: int | None = None, column: str = "codes") -> Merged:
    notes = Notes()
    spool = Shuffled(pickle.loads, limit).read(iter(frames), notes)
    outputs = list(islice(merge.run(0, spool, notes, "merge", RuntimeError), most))
    codes = notes.columns[f"merge.{column}"]().tolist()
    return Merged(outputs, codes, notes.counts(len(outputs)))


def added(left: list[Any], right: list[Any]) -> list[Any]:
    return left + right


def combine(memory: int, merge: Callable[[Any, Any], Any] = added) -> Combine:
    return Combine(merge, memory, tuple)


def both(key: Any, lists: tuple[list[Any], ...]) -> list[Record]:
    return [(key, tuple(map(tuple, lists)))]


def firsts(key: Any, lists: tuple[list[Any], ...]) -> list[Record]:
    return [(key, lists[0][0])]


def identity(value: Any) -> tuple[type, Any]:
    return type(value), value


def lists_of(sent: dict[tuple[int, int], list[list[Record]]]) -> dict[tuple[int, int], list[list[Record]]]:
    return {place: [[(key, [value]) for key, value in batch] for batch in batches] for place, batches in sent.items()}


def arrivals(sent: dict[tuple[int, int], list[list[Record]]]) -> list[tuple[int, Any, Any]]:
    return [(b, k, v) for (b, _), batches in sorted(sent.items()) for batch in batches for k, v in batch]


@given(sent, limits, st.data())
def test_combiners_are_merged_in_the_order_of_tags(sent: Any, limit: int, data: st.DataObject) -> None:
    expected: dict[Any, list[Any]] = {}
    for _, key, value in arrivals(sent):
        expected.setdefault(key, []).append(value)
    frames = data.draw(st.permutations(frames_of(lists_of(sent))))
    merged = run(combine(1 << 20), frames, limit)
    # In the order of first appearance, and of equal keys the first one.
    assert [(identity(k), v) for k, v in merged.outputs] == [(identity(k), tuple(v)) for k, v in expected.items()]
    numbers = {key: number for number, key in enumerate(expected)}
    assert merged.codes == [numbers[key] for _, key, _ in arrivals(sent)]
    assert merged.levels == (len(merged.codes), len(expected))


@given(sent, limits, st.data())
def test_values_are_gathered_by_branch_in_the_order_of_tags(sent: Any, limit: int, data: st.DataObject) -> None:
    expected: dict[Any, tuple[list[Any], list[Any]]] = {}
    for branch, key, value in arrivals(sent):
        expected.setdefault(key, ([], []))[branch].append(value)
    merged = run(Gather(2, both, 1 << 20), data.draw(st.permutations(frames_of(sent))), limit)
    assert [(identity(k), v) for k, v in merged.outputs] == [
        (identity(k), (tuple(a), tuple(b))) for k, (a, b) in expected.items()
    ]
    numbers = {key: number for number, key in enumerate(expected)}
    assert merged.codes == [numbers[key] for _, key, _ in arrivals(sent)]
    assert merged.levels == (len(merged.codes), len(expected))


@given(sent, memories, limits, st.data())
def test_however_many_passes_the_groups_are_the_same(sent: Any, memory: int, limit: int, data: st.DataObject) -> None:
    frames = data.draw(st.permutations(frames_of(sent)))
    once, often = run(Gather(2, both, 1 << 20), frames), run(Gather(2, both, memory), frames, limit)
    assert {identity(k): v for k, v in once.outputs} == {identity(k): v for k, v in often.outputs}
    assert len(often.outputs) == len(once.outputs)
    assert often.levels == once.levels
    # The number of each arrival is that of the group it is in: precise, whatever the order of groups.
    assert [often.outputs[code][0] for code in often.codes] == [key for _, key, _ in arrivals(sent)]
    listed = run(combine(memory), frames_of(lists_of(sent)), limit)
    assert [listed.outputs[code][0] for code in listed.codes] == [key for _, key, _ in arrivals(sent)]
    assert {k: sorted(v) for k, v in listed.outputs} == {k: sorted(a + b) for k, (a, b) in once.outputs}


@given(sent, memories, limits, st.data())
def test_law_6_the_order_of_arrival_changes_nothing(sent: Any, memory: int, limit: int, data: st.DataObject) -> None:
    by_value = Sort(lambda pairs: sorted(pairs, key=lambda pair: pair[1][1]))
    for merge, canonical, column in (
        (combine(memory), frames_of(lists_of(sent)), "codes"),
        (Gather(2, both, memory), frames_of(sent), "codes"),
        (by_value, frames_of(sent), "order"),
    ):
        arriving = data.draw(st.permutations(canonical))
        assert repr(run(merge, arriving, limit, column=column)) == repr(run(merge, canonical, column=column))


@given(sent, limits)
def test_a_sort_notes_where_each_record_was(sent: Any, limit: int) -> None:
    merged = run(Sort(lambda pairs: sorted(pairs, key=lambda p: -p[1][1])), frames_of(sent), limit, column="order")
    arrived = [(key, value) for _, key, value in arrivals(sent)]
    assert list(map(repr, merged.outputs)) == list(map(repr, sorted(arrived, key=lambda record: -record[1])))
    assert [repr(arrived[at]) for at in merged.codes] == list(map(repr, merged.outputs))
    assert sorted(merged.codes) == list(range(len(arrived)))
    assert merged.levels == (len(arrived), len(arrived))


MANY = {(0, 0): [[(key, [number]) for number, key in enumerate(KEYS)]] * 2}


@pytest.mark.parametrize("most", [0, 1, 3])
def test_when_few_outputs_are_taken_they_are_counted(most: int) -> None:
    merged = run(combine(1 << 20), frames_of(MANY), most=most)
    assert merged.levels == (2 * len(KEYS), most)
    assert len(merged.codes) == 2 * len(KEYS)


@pytest.mark.parametrize("merge", [combine(100), Gather(1, both, 100)], ids=["combine", "gather"])
def test_when_few_outputs_are_taken_of_several_passes_they_keep_their_own_lineage(merge: Any) -> None:
    merged = run(merge, frames_of(MANY), most=1)
    keys = KEYS * 2
    (first, _), *_ = merged.outputs
    assert {keys[i] for i, code in enumerate(merged.codes) if code == 0} == {first}


@pytest.mark.parametrize("merge", [combine(100), combine(1 << 20), Gather(1, both, 1 << 20), Gather(1, both, 100)])
@pytest.mark.parametrize("key", [[1], {}, (1, [2]), bytearray(b"1")])
def test_a_key_that_cannot_be_hashed_is_the_error_that_it_is_in_python(merge: Any, key: Any) -> None:
    frames = frames_of({(0, 0): [[(1, [1]), (key, [2])]]})
    with pytest.raises(TypeError, match="unhashable"):
        run(merge, frames)


def test_a_stop_iteration_of_the_users_merge_does_not_end_the_records() -> None:
    def stopping(left: Any, right: Any) -> Any:
        raise StopIteration("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(combine(1 << 20, stopping), frames_of(MANY))


@pytest.mark.parametrize("merge", [combine(100), Gather(1, firsts, 100)], ids=["combine", "gather"])
def test_no_record_is_lost_or_doubled_whose_key_hashes_anew_each_time(merge: Any) -> None:
    nans = frames_of({(0, 0): [[(float("nan"), [i])] for i in range(40)]})
    # By PySpark each NaN is a group of its own, as in a dict.
    assert sorted(number for _, (number,) in run(merge, nans).outputs) == list(range(40))


PASSES = """
import pickle
from bigdebug.agents.frames import Tag, tagged
from bigdebug.agents.merge import Gather
from bigdebug.agents.notes import Notes
from bigdebug.agents.readers import Shuffled
keys = [None, *range(100)]
frame = tagged(pickle.dumps([(key, 0) for key in keys]), Tag(0, 0, 0, len(keys)))
notes = Notes()
spool = Shuffled(pickle.loads, 0).read([frame], notes)
merge = Gather(1, lambda key, lists: [key], len(frame) // 50)
print(list(merge.run(0, spool, notes, "merge", RuntimeError)))
"""


def test_ids_after_several_passes_are_the_same_in_every_process() -> None:
    command = [sys.executable, "-c", PASSES]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    answers = {process.communicate()[0] for process in processes}
    assert len(answers) == 1
