"""Guarded functions over an iterator: they find each record that crashes, and give what the function gives of the others."""

from __future__ import annotations

import csv
import json
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.guards.inflight import InFlight, Instead, Note
from bigdebug.agents.guards.partition import GuardedPaired, GuardedPartition
from bigdebug.agents.notes import Notes
from bigdebug.agents.pairing import pairing

Function = Callable[[int, Iterable[Any]], Iterable[Any]]


def inverse(text: str) -> float:
    return 1 / int(text)


def streaming(split: int, records: Iterable[str]) -> Iterator[Any]:
    for record in records:
        yield inverse(record)


def lazily(split: int, records: Iterable[str]) -> Iterable[Any]:
    return map(inverse, records)


def at_once(split: int, records: Iterable[str]) -> list[Any]:
    return [inverse(record) for record in list(records)]


def summed(split: int, records: Iterable[str]) -> list[Any]:
    return [round(sum(inverse(record) for record in records), 6)]


def in_threes(split: int, records: Iterable[str]) -> Iterator[Any]:
    held: list[str] = []
    for record in records:
        held.append(record)
        if len(held) == 3:
            yield [inverse(each) for each in held]
            held = []
    yield [inverse(each) for each in held]


def with_frame(split: int, records: Iterable[str]) -> Iterator[Any]:
    yield "begin"
    for record in records:
        yield inverse(record)
    yield "end"


def some(split: int, records: Iterable[str]) -> Iterator[Any]:
    for record in records:
        if inverse(record) < 0.2:
            yield record


def ahead(split: int, records: Iterable[str]) -> Iterator[Any]:
    source = iter(records)
    yield "begin"
    while held := list(islice(source, 3)):
        for record in held:
            yield inverse(record)
    yield "end"


FUNCTIONS: list[Function] = [streaming, lazily, at_once, summed, in_threes, with_frame, some, ahead]


def guarded(
    function: Function, records: Iterable[Any], exact: bool = False, lost: Callable[[], None] = lambda: None,
) -> tuple[list[Any], list[tuple[int | None, Any, str]]]:
    """What the guard gives, and the position, record and exception of each crash."""
    crashes: list[tuple[int | None, Any, str]] = []

    def note(position: int | None, record: Any, problem: BaseException, met: Any = None, again: bool = False, replaces: bool = False) -> Instead:
        crashes.append((position, record, type(problem).__name__))
        return ()

    outputs = list(GuardedPartition(function, note, pickle.dumps, exact=exact, lost=lost)(0, iter(records)))
    return outputs, crashes


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS)
@given(records=st.lists(st.sampled_from(["0", "1", "2", "5", "9", "x"]), max_size=12))
def test_every_culprit_and_what_a_clean_run_gives(function: Function, exact: bool, records: list[str]) -> None:
    outputs, crashes = guarded(function, records, exact)
    wrong = {"0": "ZeroDivisionError", "x": "ValueError"}
    assert sorted(crashes) == [(at, record, wrong[record]) for at, record in enumerate(records) if record in wrong]
    assert outputs == list(function(0, [record for record in records if record not in wrong]))


@pytest.mark.parametrize("records", [[2, 4, 2, 0, 2], [2, 2, 0, 2], [0, 2, 2]])
def test_records_that_are_the_same_object_as_the_first_stay(records: list[int]) -> None:
    def by_the_first(split: int, numbers: Iterable[int]) -> list[int]:
        source = iter(numbers)
        first = next(source, 1)
        return [first // number for number in source]

    outputs, crashes = guarded(by_the_first, records, exact=True)
    left = [number for number in records if number != 0 or records[0] == 0]
    assert outputs == (by_the_first(0, left) if records[0] else [0, 0])
    assert [record for _, record, _ in crashes] == ([0] if records[0] else [])


@pytest.mark.parametrize("exact", [True, False])
def test_a_record_behind_a_culprit_is_no_copy(exact: bool) -> None:
    """The next one may be the same object, and find in it what the function has made of it."""
    def popped(split: int, rows: Iterable[list[int]]) -> Iterator[int]:
        return (row.pop() for row in rows)

    outputs, crashes = guarded(popped, [row for number in range(9) for row in [[number]] * 2], exact)
    assert outputs == [*range(9)]
    assert crashes == [(2 * number + 1, [], "IndexError") for number in range(9)]


def with_header(split: int, lines: Iterable[str]) -> Iterator[Any]:
    for row in csv.DictReader(lines):
        yield row["name"], inverse(row["number"])


@pytest.mark.parametrize("bad", [[], [1], [4], [2, 3], [1, 2, 3, 4]])
def test_a_header_is_given_to_each_call(bad: list[int]) -> None:
    lines = ["name,number", *(f"{name},{'x' if at in bad else at}" for at, name in enumerate("abcd", 1))]
    outputs, crashes = guarded(with_header, lines)
    assert crashes == [(at, lines[at], "ValueError") for at in bad]
    assert outputs == list(with_header(0, [line for at, line in enumerate(lines) if at not in bad]))


def test_a_pair_of_which_none_crashes_alone() -> None:
    def steps(split: int, records: Iterable[int]) -> Iterator[float]:
        return (1 / (after - before) for before, after in pairwise(records))

    assert guarded(steps, [1, 2, 2, 5])[1] == [(2, 2, "ZeroDivisionError")]


def test_two_thousand_culprits_of_a_function_that_answers_at_the_end_are_not_two_thousand_calls() -> None:
    calls = 0

    def counting(split: int, records: Iterable[int]) -> list[float]:
        nonlocal calls
        total = 0.0
        for record in records:
            calls += 1
            total += 1 / (record % 10)
        return [total]

    outputs, crashes = guarded(counting, range(20_000))
    assert len(crashes) == 2_000
    assert outputs == [pytest.approx(sum(1 / (n % 10) for n in range(20_000) if n % 10))]
    assert calls < 5 * 20_000


def test_records_that_were_let_go_of_are_not_left_out_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.agents.guards.inflight.KEPT_BYTES", 1_000)
    records = [*("5" for _ in range(5_000)), "x"]
    lost: list[int] = []
    assert guarded(summed, records, lost=lambda: lost.append(1))[1] == [(5_000, "x", "ValueError")]
    assert lost
    with pytest.raises(ValueError, match="invalid literal"):
        guarded(summed, records, exact=True)
    assert len(guarded(streaming, records, exact=True)[0]) == 5_000


def test_what_crashes_whatever_it_is_given_is_told_once() -> None:
    def never(split: int, records: Iterable[Any]) -> list[Any]:
        raise RuntimeError("no")

    outputs, crashes = guarded(never, [1, 2])
    assert (outputs, [(position, kind) for position, _, kind in crashes]) == ([], [(None, "RuntimeError")])


def test_what_crashes_behind_the_last_record_is_none_of_the_records() -> None:
    def closing(split: int, records: Iterable[str]) -> Iterator[float]:
        for record in records:
            yield inverse(record)
        raise RuntimeError("not closed")

    outputs, crashes = guarded(closing, ["1", "0", "2"])
    assert outputs == [1, 0.5]
    assert crashes == [(1, "0", "ZeroDivisionError"), (None, crashes[1][1], "RuntimeError")]


def test_what_crashes_on_nothing_may_have_culprits_all_the_same() -> None:
    def document(split: int, records: Iterable[str]) -> list[Any]:
        return [json.loads("".join(records))]

    assert guarded(document, ["1", "x", "2"])[1] == [(1, "x", "JSONDecodeError")]


@given(records=st.lists(st.integers(0, 3), max_size=10))
def test_a_function_that_keeps_the_record_before_goes_on_from_that(records: list[int]) -> None:
    def steps(split: int, numbers: Iterable[int]) -> Iterator[Any]:
        yield "begin"
        before = None
        for number in numbers:
            if before is None:
                yield number
            else:
                yield 1 / (number - before)
            before = number

    outputs, crashes = guarded(steps, records)
    known = [at for at, (one, other) in enumerate(pairwise(records), 1) if one == other]
    assert sorted(crashes) == [(at, records[at], "ZeroDivisionError") for at in known]
    assert outputs == list(steps(0, [number for at, number in enumerate(records) if at not in known]))


def test_a_pair_among_many_is_found_where_it_is() -> None:
    calls = 0

    def all_different(split: int, records: Iterable[int]) -> list[int]:
        nonlocal calls
        calls += 1
        known = list(records)
        assert all(before != after for before, after in pairwise(known))
        return known

    outputs, crashes = guarded(all_different, [1, 2, 2, *range(5, 200)])
    assert crashes == [(2, 2, "AssertionError")]
    assert outputs == [1, 2, *range(5, 200)]
    assert calls < 100


def test_what_lies_far_behind_a_culprit_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.agents.guards.inflight.KEPT_BYTES", 1_000)
    records = ["5", "x", *("5" for _ in range(5_000))]
    assert guarded(summed, records, exact=True)[0] == [pytest.approx(5_001 / 5)]


@pytest.mark.parametrize("width", [1, 2, 7, 100])
def test_hundreds_of_culprits_of_a_function_that_reads_ahead(width: int) -> None:
    """How far it reads, no crash tells by itself: in the middle of what it has read, it may have given something of all before."""

    def by_width(split: int, records: Iterable[str]) -> Iterator[float]:
        source = iter(records)
        while held := list(islice(source, width)):
            yield from map(inverse, held)

    records = ["0" if n % 10 in (1, 2) or n % width == width - 1 else "5" for n in range(3_000)]
    outputs, crashes = guarded(by_width, records)
    assert [at for at, *_ in sorted(crashes)] == [at for at, record in enumerate(records) if record == "0"]
    assert outputs == [0.2] * records.count("5")


def test_thousands_of_culprits_of_a_function_that_answers_each_record_cost_few_calls_more() -> None:
    calls = 0

    def counting(split: int, records: Iterable[int]) -> Iterator[float]:
        nonlocal calls
        for record in records:
            calls += 1
            yield 1 / (record % 1_000)

    outputs, crashes = guarded(counting, range(500_000))
    assert (len(crashes), len(outputs)) == (500, 499_500)
    assert calls < 1.15 * 500_000


def test_a_function_that_gives_nothing_until_its_window_is_full_is_not_taken_for_one_that_answers_each_record() -> None:
    """Crashes at which it had given nothing say nothing of how far it reads ahead."""
    width = 200

    def windowed(split: int, records: Iterable[str]) -> Iterator[int]:
        source = iter(records)
        window = deque(islice(source, width))
        while window:
            text = window.popleft()
            window.extend(islice(source, 1))
            yield int(text)

    bad = {*range(0, 1_609, 201), 2_400, 2_600, 7_000, 7_200}
    records = ["x" if n in bad else "1" for n in range(9_000)]
    outputs, crashes = guarded(windowed, records)
    assert {at for at, *_ in crashes} == bad
    assert len(outputs) == 9_000 - len(bad)


@pytest.mark.parametrize("many", [0, 1, 2, 700])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_the_records_raise_that_it_reads_is_no_crash_of_a_function(function: Function, many: int) -> None:
    def broken() -> Iterator[str]:
        yield from ("5" for _ in range(many))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        guarded(function, broken())


def test_a_function_that_asks_for_more_of_records_that_failed() -> None:
    def stubborn(split: int, records: Iterable[str]) -> Iterator[str]:
        source = iter(records)
        try:
            yield from source
        except OSError as problem:
            assert next(source, None) is None
            raise RuntimeError("no input") from problem

    def broken() -> Iterator[str]:
        yield from "abc"
        raise OSError("the disk is gone")

    with pytest.raises(RuntimeError, match="no input"):
        guarded(stubborn, broken())


def test_between_two_batches_nothing_has_failed() -> None:
    looks: list[bool] = []

    def dumps(record: Any) -> bytes:
        looks.append(source.failed)
        return pickle.dumps(record)

    source = InFlight(map(str, range(3_000)), dumps)
    source.go_on([])
    assert len(list(source.records())) == 3_000
    assert looks == [False] * len(looks) != []
    assert source.ended


@pytest.mark.parametrize("function", FUNCTIONS)
@given(records=st.lists(st.sampled_from(["0", "1", "2", "5", "9", "x"]), max_size=14), many=st.integers(0, 20))
def test_how_much_had_been_read_at_each_output(function: Function, records: list[str], many: int) -> None:
    """As the records themselves are counted, whoever stops in between."""
    crashed: Note = lambda *_, **__: ()  # noqa: E731
    counted = pairing(partial(GuardedPartition(function, crashed, pickle.dumps), 0), records)
    outputs = list(islice(counted.records, many))
    notes = Notes(levels=[None])
    given = GuardedPaired(GuardedPartition(function, crashed, pickle.dumps)).run(0, records, notes, "it", RuntimeError)
    assert list(islice(given, many)) == outputs
    levels = [level() for level in notes.levels if level is not None]
    assert levels == [counted.inputs(), counted.outputs()]
    assert notes.columns["it.reads"]().tolist() == counted.reads().tolist()
