"""Records that a shuffle hands over are held by their places: the same culprits are found, and the same is given, as where each record is pickled before it is given."""

from __future__ import annotations

import pickle
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.frames import Tag, tagged
from bigdebug.agents.guards.inflight import NO_RECORD, InFlight, Instead
from bigdebug.agents.guards.partition import GuardedPartition
from bigdebug.agents.guards.placed import Arrived, ByPlace, Shared
from bigdebug.agents.notes import Notes
from bigdebug.agents.pairing import Reads
from bigdebug.agents.readers import Shuffled

Function = Callable[[int, Iterable[Any]], Iterable[Any]]
Crashes = list[tuple[int | None, Any, str]]


class Named:
    """A record of a class."""

    def __init__(self, name: str) -> None:
        self.name = name


class Unreadable:
    """Cannot be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def arriving(frames: Sequence[Sequence[Any]], memory: int = 1 << 20) -> tuple[Arrived, Iterator[Any]]:
    """What reads these frames, and their records."""
    start, cut = 0, []
    for frame in frames:
        cut.append(tagged(pickle.dumps(list(frame)), Tag(0, 0, start, len(frame))))
        start += len(frame)
    arrived = Arrived(Shuffled(pickle.loads, memory))
    return arrived, arrived.read(iter(cut), Notes())


def guarded(function: Function, records: Iterable[Any], arrived: Arrived | None) -> tuple[list[Any], Crashes, list[int], bool]:
    """What a guard gives, each crash, how much had been read at each output, and whether something was lost."""
    crashes: Crashes = []
    lost: list[int] = []

    def note(position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD, again: bool = False, replaces: bool = False) -> Instead:
        behind = "" if met is NO_RECORD else f", having met {met}"
        crashes.append((position, None if given is NO_RECORD else pickle.dumps(given), type(problem).__name__ + behind))
        return ()

    reads = Reads()
    over = GuardedPartition(function, note, pickle.dumps, lost=lambda: lost.append(1), before=arrived)
    outputs = [pickle.dumps(output) for output in over(0, records, reads)]
    return outputs, crashes, reads.array().tolist(), bool(lost)


def streaming(split: int, rows: Iterable[list[Any]]) -> Iterator[Any]:
    for row in rows:
        yield 1 // row[0]


def emptying(split: int, rows: Iterable[list[Any]]) -> Iterator[Any]:
    """It takes a row to pieces before it crashes."""
    for row in rows:
        last = row.pop()
        row.append(str(last))
        yield 1 // last, row


def at_once(split: int, rows: Iterable[list[Any]]) -> list[Any]:
    return [1 // row.pop() for row in list(rows)]


def summed(split: int, rows: Iterable[list[Any]]) -> list[Any]:
    return [sum(1 // row[-1] for row in rows)]


def in_pairs(split: int, rows: Iterable[list[Any]]) -> Iterator[Any]:
    source = iter(rows)
    while pair := list(islice(source, 2)):
        yield [1 // row.pop(0) for row in pair]


def with_header(split: int, rows: Iterable[list[Any]]) -> Iterator[Any]:
    source = iter(rows)
    header = next(source, [])
    header.append("seen")
    for row in source:
        yield len(header) // row[-1]


def bad_begin(split: int, rows: Iterable[list[Any]]) -> Iterator[Any]:
    source = iter(rows)
    header = next(source, [1])
    if header[-1] == 0:
        raise ValueError
    for row in source:
        if row[-1] == 2:
            raise KeyError
        yield len(header) + len(row)


def differences(split: int, rows: Iterable[list[Any]]) -> Iterator[Any]:
    before = None
    for row in rows:
        yield 0 if before is None else 1 // (row[-1] - before[-1])
        before = row


FUNCTIONS: list[Function] = [streaming, emptying, at_once, summed, in_pairs, with_header, bad_begin, differences]

rows = st.lists(st.integers(0, 3), min_size=1, max_size=3)
frames_of_rows = st.lists(st.lists(rows, min_size=1, max_size=6), max_size=6)


@pytest.mark.parametrize("function", FUNCTIONS)
@given(frames=frames_of_rows)
def test_what_is_told_is_what_is_told_where_each_record_is_pickled(function: Function, frames: list[list[list[int]]]) -> None:
    arrived, records = arriving(frames)
    placed = guarded(function, records, arrived)
    assert not arrived.is_shared
    _, others = arriving(frames)
    assert placed == guarded(function, others, None)


@pytest.mark.parametrize("function", FUNCTIONS)
@given(frames=frames_of_rows, twice=st.sets(st.integers(0, 5)))
def test_of_rows_that_are_one_nothing_is_told_that_is_not_certain(function: Function, frames: list[list[list[int]]], twice: set[int]) -> None:
    """Of 100 rows and more that are fine, some come as the same object again: only where it is crashed on are these looked at."""
    fine = [[[5]] * 1 for _ in range(120)]
    shared = [[row for at, row in enumerate(frame) for _ in range(2 if at in twice else 1)] for frame in frames]
    arrived, records = arriving([*fine, *shared])
    _, others = arriving([*fine, *shared])
    try:
        placed = guarded(function, records, arrived)
    except Shared:
        assert arrived.is_shared
        return
    held = guarded(function, others, None)
    assert arrived.is_shared or placed == held


def test_rows_that_are_one_at_the_beginning_are_pickled_each() -> None:
    row = [5]
    arrived, _ = arriving([[row, row, [0]]])
    assert not isinstance(arrived.holding(), ByPlace)


@pytest.mark.parametrize("record", [Named("a"), {"a": Named("b")}, [[Named("c")]], (1, [Named("d")]), {1: {frozenset({Named("e")})}}])
def test_records_of_classes_are_pickled_each(record: Any) -> None:
    arrived, _ = arriving([[record]])
    assert not isinstance(arrived.holding(), ByPlace)


@pytest.mark.parametrize("record", ["a", 5, None, (1, "a"), [1], {"a": [{"b": (1, [2])}]}, {1, 2}, [frozenset({"a"})], [frozenset()], bytearray(b"a"), b"a", [], {}])
def test_records_of_what_python_has_are_not(record: Any) -> None:
    arrived, records = arriving([[record, pickle.loads(pickle.dumps(record))]])
    held = arrived.holding()
    assert isinstance(held, ByPlace)
    assert next(records) == held.given(0) == record
    assert pickle.dumps(held.given(0)) == pickle.dumps(record)


def test_what_is_given_is_nobody_elses() -> None:
    arrived, _ = arriving([[[1], {"a": [2]}, [[3]]]])
    held = arrived.holding()
    changes: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda row: row.append(0), [1]), (lambda row: row["a"].append(0), {"a": [2]}), (lambda row: row[0].append(0), [[3]]),
    ]
    for place, (change, was) in enumerate(changes):
        change(held.given(place))
        assert held.given(place) == was


@pytest.mark.parametrize("behind", [[[1], [1]], [[1], Named("a")]])
def test_records_of_other_kinds_behind_the_first_are_seen_where_they_crash(behind: list[Any]) -> None:
    behind = [behind[0], behind[0]] if behind[0] == behind[1] else behind
    arrived, records = arriving([[[1] for _ in range(200)], behind])

    def crashing(split: int, given: Iterable[Any]) -> Iterator[Any]:
        for number, _ in enumerate(given):
            if number == 201:
                raise ValueError("the last one")
            yield number

    with pytest.raises(Shared):
        guarded(crashing, records, arrived)
    assert arrived.is_shared


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("fine", [0, 1, 150])
def test_a_frame_that_cannot_be_read_is_no_crash_of_a_function(function: Function, fine: int) -> None:
    frames: list[list[Any]] = [*([[1 + number, 1 + number]] for number in range(fine)), [[1], Unreadable()], [[2]]]
    arrived, records = arriving(frames)
    with pytest.raises(ValueError, match="invalid literal"):
        guarded(function, records, arrived)


def test_a_function_that_asks_for_more_of_a_frame_that_cannot_be_read() -> None:
    def stubborn(split: int, records: Iterable[Any]) -> Iterator[Any]:
        source = iter(records)
        try:
            yield from source
        except ValueError as problem:
            assert next(source, None) is None
            raise RuntimeError("no input") from problem

    arrived, records = arriving([[[1]], [Unreadable()], [[2]]])
    with pytest.raises(RuntimeError, match="no input"):
        guarded(stubborn, records, arrived)


def test_a_thread_of_the_function_gets_its_records_whatever_they_are() -> None:
    """Nothing is raised in there: nobody might hear of it, and who waits for the thread would wait for ever."""
    row = [1]
    arrived, records = arriving([[[5] for _ in range(120)], [row, row]])

    def aside(split: int, given: Iterable[list[int]]) -> Iterator[int]:
        taken: queue.Queue[Any] = queue.Queue()

        def read() -> None:
            for each in given:
                taken.put(each)
            taken.put(None)

        threading.Thread(target=read).start()
        while (each := taken.get(timeout=30)) is not None:
            yield each.pop()

    with pytest.raises(Shared):
        guarded(aside, records, arrived)
    assert arrived.is_shared


def test_records_that_a_call_before_takes_are_not_counted_as_its_own() -> None:
    arrived, records = arriving([[[number % 4] for number in range(40)]])
    kept: list[Iterator[list[int]]] = []

    def stealing(split: int, rows: Iterable[list[int]]) -> Iterator[int]:
        kept.append(iter(rows))
        if len(kept) > 5:
            next(kept[0], None)
        for row in kept[-1]:
            yield 1 // row[0]

    with pytest.raises(Shared):
        guarded(stealing, records, arrived)
    assert arrived.is_shared


def test_that_a_frame_is_being_read_is_no_failure() -> None:
    """A function may crash while a thread of its own is waiting for one."""
    failed: list[bool] = []

    def loads(frame: bytes) -> Any:
        failed.append(arrived.failed)
        return pickle.loads(frame)

    arrived = Arrived(Shuffled(loads, 1 << 20))
    frames = [tagged(pickle.dumps([number]), Tag(0, 0, number, 1)) for number in range(3)]
    assert list(arrived.read(iter(frames), Notes())) == [0, 1, 2]
    assert failed == [False] * 3


def test_two_threads_that_read_at_once() -> None:
    """One of a call that has crashed may go on: whoever comes second is told, and the process does not end."""
    reading, go_on = threading.Event(), threading.Event()

    def loads(frame: bytes) -> Any:
        reading.set()
        go_on.wait(30)
        return pickle.loads(frame)

    arrived = Arrived(Shuffled(loads, 1 << 20))
    records = arrived.read(iter([tagged(pickle.dumps([number]), Tag(0, 0, number, 1)) for number in range(3)]), Notes())
    taken: list[Any] = []
    first = threading.Thread(target=lambda: taken.extend(records))
    first.start()
    reading.wait(30)
    with pytest.raises(ValueError, match="already executing"):
        next(records)
    go_on.set()
    first.join(30)
    assert taken == [0, 1, 2]


@pytest.mark.parametrize("function", [with_header, bad_begin, differences])
@pytest.mark.parametrize("make", [tuple, list, dict.fromkeys])
def test_the_first_record_is_one_that_the_function_has_gone_on_from(function: Function, make: Callable[[Any], Any]) -> None:
    """One that it crashed on is no header of the others; and of tuples that are equal one may be its own."""
    def by_last(split: int, rows: Iterable[Any]) -> Iterator[Any]:
        return iter(function(split, ([*row] for row in rows)))

    for last in ([0, 0, 5, 9, 9, 0, 9], [5, 5, 1, 1], [5, 0, 5, 5, 0], [0, 1, 1, 2, 1, 2, 1]):
        frames = [[make([n]) for n in last], [make([7])]]
        arrived, records = arriving(frames)
        _, others = arriving(frames)
        assert guarded(by_last, records, arrived) == guarded(by_last, others, None)


def test_frames_that_are_not_in_memory() -> None:
    frames = [[[number], [0 if number == 90 else 1]] for number in range(1, 100)]
    arrived, records = arriving(frames, memory=0)
    _, crashes, _, lost = guarded(streaming, records, arrived)
    assert (crashes, lost) == ([(179, pickle.dumps([0]), "ZeroDivisionError")], False)
    arrived.again().spool.close()


def test_records_that_were_let_go_of_are_not_left_out_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.agents.guards.inflight.KEPT_BYTES", 500)
    for bad, is_lost in ((5, False), (90, False), (5_000, True)):
        arrived, records = arriving([[[0 if number == bad else 1] for number in range(5_001)]])
        outputs, crashes, _, lost = guarded(summed, records, arrived)
        assert crashes == [(bad, pickle.dumps([0]), "ZeroDivisionError")]
        assert (outputs == [pickle.dumps(5_000)], lost) == (not is_lost, is_lost)
        arrived, records = arriving([[[0 if number == bad else 1] for number in range(5_001)]])
        assert guarded(streaming, records, arrived)[3] is False


def test_a_row_that_changed_at_its_first_look_is_not_told_as_it_is_now() -> None:
    """The second time, it has nothing in it: that crashes, and is not what the row was when it came."""
    row = [1]
    arrived, records = arriving([[[5] for _ in range(120)], [row, row]])
    with pytest.raises(Shared):
        guarded(lambda split, given: (each.pop() for each in given), records, arrived)


def test_places_are_those_of_the_call() -> None:
    arrived, records = arriving([[[number] for number in range(10)], [[number] for number in range(10, 30)]])
    source = InFlight(records, pickle.dumps, None, arrived.holding())
    assert source.go_on([])
    given = source.records()
    assert [next(given) for _ in range(12)] == [[number] for number in range(12)]
    assert (list(source.pulled), source.pulled[-1], source.pulled[2:4], len(source.pulled)) == ([*range(12)], 11, [2, 3], 12)
    assert source.read() == [(number, number) for number in range(12)]
    assert source.go_on([(3, 3), (7, 7)])
    given = source.records()
    assert [next(given) for _ in range(4)] == [[3], [7], [12], [13]]
    assert list(source.pulled) == [3, 7, 12, 13]
