"""Folds say of each set of records what the program says of it, and call no function twice on a record."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents import groups, hashing
from bigdebug.agents.contributions import Part
from bigdebug.agents.entered import Entered, OfKeys
from bigdebug.agents.evaluate import Evaluation, Node
from bigdebug.agents.folds import MANY, Folds, folds
from bigdebug.agents.merge import Combine, Gather
from bigdebug.agents.operations import Coalesced, Exchanged, Fresh, Operation, Stepped, United, Wire
from bigdebug.agents.runs import runs_among
from bigdebug.agents.segments import FlatMap, Map, Partitionwise
from bigdebug.agents.stretches import WIDTH, Stretches

WIRE = Wire(pickle.dumps, pickle.loads, RuntimeError)
MEMORY = 1 << 20
LAST = 9


def entered(begins: int, *partitions: list[Any]) -> Entered:
    return Entered(tuple([pickle.dumps(records)] if records else [] for records in partitions), tuple(map(len, partitions)), begins)


def step(made: Any) -> Stepped:
    return Stepped(Fresh(made, WIRE), not isinstance(made, Partitionwise))


def exchange(create: Any, combine: Any, merge: Any, pairs: bool = False) -> Exchanged:
    return Exchanged(3, MEMORY, Fresh((hashing.portable_hash, create, combine), WIRE), Fresh(merge, WIRE), pairs=pairs)


class Program:
    """Operators in their order; what it gives for a key on sets of what it is entered with."""

    def __init__(self, *nodes: tuple[int, Operation, tuple[int, ...]], keyed: int = LAST) -> None:
        self._nodes = [Node(number, parents, OfKeys(operation) if number == keyed else operation) for number, operation, parents in nodes]
        self._entries = [operation for _, operation, _ in nodes if isinstance(operation, Entered)]
        self.evaluation = Evaluation(tuple(self._nodes), WIRE, nullcontext)

    def gives(self, key: Any, chosen: Collection[int], order: int = 0) -> list[Any]:
        for entry in self._entries:
            entry.chosen, entry.order = np.array(sorted(chosen), dtype=np.int64), order
        for node in self._nodes:
            if isinstance(node.operation, OfKeys):
                node.operation.keys = [key]
        return [record for part in self.evaluation.result() for record in part]

    def folds(self, key: Any, candidates: Iterable[int]) -> Folds | None:
        return folds(self.evaluation, key, np.array(sorted(candidates), dtype=np.int64))


def halves(pair: tuple[Any, int]) -> list[tuple[Any, int]]:
    """None, one or two."""
    return [(pair[0], pair[1] + each) for each in range(pair[1] % 3)]


def appended_anew(values: list[int], value: int) -> list[int]:
    return [*values, value]


EXCHANGES: dict[str, Callable[[], Exchanged]] = {
    "strings": lambda: exchange(str, lambda text, value: f"{text},{value}", Combine(lambda left, right: f"{left};{right}", MEMORY)),
    "sums": lambda: exchange(lambda value: value, add, Combine(add, MEMORY, lambda value: -value)),
    "groups": lambda: exchange(groups.listed, groups.appended, Combine(groups.extended, MEMORY, tuple)),
    "lists": lambda: exchange(lambda value: [value], appended_anew, Combine(add, MEMORY)),
}

records = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 9)), max_size=8)


@pytest.mark.many
@pytest.mark.parametrize("kind", EXCHANGES)
@given(st.lists(records, min_size=2, max_size=3), records, st.data())
def test_a_set_gives_what_the_program_gives(kind: str, partitions: list[list[Any]], other: list[Any], data: st.DataObject) -> None:
    size = sum(map(len, partitions))
    program = Program(
        (0, entered(0, *partitions), ()), (1, step(FlatMap(halves)), (0,)), (2, Coalesced((tuple(range(len(partitions) - 1)), (len(partitions) - 1,))), (1,)),
        (3, entered(size, other), ()), (4, United(False), (2, 3)), (LAST, EXCHANGES[kind](), (4,)), (10, step(Map(repr)), (LAST,)),
    )
    candidates = data.draw(st.sets(st.integers(0, size + len(other) - 1))) if size + len(other) else set()
    folded = program.folds("a", candidates)
    ascending = sorted(candidates)
    for _ in range(3):
        chosen = data.draw(st.sets(st.sampled_from(range(len(ascending))))) if ascending else set()
        expected = program.gives("a", [ascending[place] for place in chosen])
        if folded is None:
            assert program.gives("a", candidates) == []
        else:
            assert list(folded.outputs(runs_among(np.array(sorted(chosen), dtype=np.int64)), order=0)) == expected


@given(st.integers(0, 40), st.integers(1, 30), st.sets(st.integers(0, 80)))
def test_values_of_a_set_are_found_the_same_way_where_each_owner_adds_one(first: int, size: int, chosen: set[int]) -> None:
    part = Part(0, 0, np.arange(first, first + size), list(range(size)), pickled=False)
    runs = runs_among(np.array(sorted(chosen), dtype=np.int64))
    assert part.first == first
    assert part.within(runs.tolist()) == part.among(runs)
    assert [each + first for each in part.between(part.among(runs), WIRE)] == sorted(chosen & set(range(first, first + size)))
    for others in ([0, 0], [0, 2], []):
        assert Part(0, 0, np.array(others, dtype=np.int64), others, pickled=False).first is None


@given(records, records, st.data())
def test_of_joins_and_cogroups_too_also_with_themselves(lefts: list[Any], rights: list[Any], data: st.DataObject) -> None:
    size = len(lefts) + len(rights)
    for finish, parents in ((groups.Joined(True, False), (1, 2)), (groups.Cogrouped(tuple), (1, 2)), (groups.Joined(False, False), (1, 1)), (groups.subtracted, (1, 2))):
        program = Program(
            (0, entered(0, lefts), ()), (1, step(FlatMap(halves)), (0,)), (2, entered(len(lefts), rights), ()),
            (LAST, exchange(None, None, Gather(2, finish, MEMORY), pairs=True), parents),
        )
        folded = program.folds("b", range(size))
        chosen = sorted(data.draw(st.sets(st.sampled_from(range(size))))) if size else []
        expected = program.gives("b", chosen)
        if folded is None:
            assert program.gives("b", range(size)) == []
        else:
            assert list(folded.outputs(runs_among(np.array(chosen, dtype=np.int64)), order=0)) == expected
            for order in (1, 2, 3):
                assert list(folded.outputs(runs_among(np.array(chosen, dtype=np.int64)), order=order)) == program.gives("b", chosen, order=order)


def test_values_that_their_combiner_changes_are_new_each_time() -> None:
    program = Program((0, entered(0, [("a", [1]), ("a", [2])], [("a", [3])]), ()), (LAST, exchange(lambda value: value, groups.extended, Combine(groups.extended, MEMORY)), (0,)))
    folded = program.folds("a", range(3))
    assert folded is not None
    every = np.array([[0, 3]])
    assert [list(folded.outputs(every, False)) for _ in range(3)] == [[("a", [1, 2, 3])]] * 3


def test_no_function_before_the_exchange_is_called_for_a_set() -> None:
    seen: list[int] = []

    def noted(number: int) -> tuple[str, int]:
        seen.append(number)
        return "a", number

    wire = Wire(pickle.dumps, pickle.loads, RuntimeError)
    program = Program((0, entered(0, list(range(100))), ()), (1, Stepped(Fresh(Map(noted), wire), True), (0,)), (LAST, EXCHANGES["sums"](), (1,)))
    folded = program.folds("a", range(100))
    assert folded is not None
    for place in range(100):
        assert list(folded.outputs(np.array([[0, place], [place + 1, 100]]), False)) == [("a", place - 4950)]
    assert seen == list(range(100))


@pytest.mark.parametrize("between", [Partitionwise(lambda split, records: records), None], ids=["mapPartitions", "an exchange"])
def test_what_more_than_a_record_decides_is_not_folded(between: Any) -> None:
    middle = EXCHANGES["sums"]() if between is None else step(between)
    program = Program((0, entered(0, [("a", 1), ("a", 2)]), ()), (1, middle, (0,)), (LAST, EXCHANGES["sums"](), (1,)))
    assert program.folds("a", range(2)) is None


@pytest.mark.parametrize("keys", [[1, True], [0.0, -0.0], [(1, 2), (1.0, 2)], [float("nan")] * 2, [frozenset([1]), frozenset([1])]], ids=str)
def test_a_key_that_is_written_in_several_ways_or_is_not_itself_is_not_folded(keys: list[Any]) -> None:
    program = Program((0, entered(0, [(key, 1) for key in keys]), ()), (LAST, EXCHANGES["sums"](), (0,)))
    assert program.folds(keys[0], range(2)) is None


def test_what_raises_is_the_programs_to_tell() -> None:
    program = Program((0, entered(0, [0, 1]), ()), (1, step(Map(lambda number: ("a", 1 // number))), (0,)), (LAST, EXCHANGES["sums"](), (1,)))
    assert program.folds("a", range(2)) is None


# ---- many values --------------------------------------------------------------------------------------------------


def test_of_many_values_a_set_takes_few_calls() -> None:
    calls = 0

    def added(left: int, right: int) -> int:
        nonlocal calls
        calls += 1
        return left + right

    size = 10 * MANY
    program = Program((0, entered(0, [("a", number) for number in range(size)]), ()), (LAST, exchange(lambda value: value, added, Combine(added, MEMORY)), (0,)))
    folded = program.folds("a", range(size))
    assert folded is not None
    without = [(0, size), (17, 18), (MANY, MANY + 1), (size - 1, size)]
    for number, (start, end) in enumerate(without[1:]):
        before = calls
        expected = sum(range(size)) - sum(range(start, end))
        runs = np.array([[0, start], [end, size]])
        assert list(folded.outputs(runs[runs[:, 0] < runs[:, 1]], False)) == [("a", expected)]
        assert number == 0 or calls - before < 2 * WIDTH + 30


@given(st.integers(0, 20 * WIDTH), st.lists(st.integers(0, 20 * WIDTH), max_size=8), st.booleans())
def test_pieces_of_runs_are_all_of_them_in_their_order(size: int, ends: list[int], gathers: bool) -> None:
    """Where merging gathers what it is given, and where it condenses it."""
    merged: Callable[[Any, Any], Any] = add if gathers else (lambda left, right: (left[0], right[1]))

    def combined(stretches: Iterable[tuple[int, int]]) -> Any:
        numbers = [number for start, end in stretches for number in range(start, end)]
        return tuple(numbers) if gathers else (numbers[0], numbers[-1])

    known = Stretches(size, lambda stretch: combined([stretch]), merged, lambda value: value, lambda value: value)
    cuts = sorted({min(end, size) for end in ends})
    chosen = [(start, end) for start, end in zip(cuts[::2], cuts[1::2]) if start < end]
    pieces = list(known.pieces(chosen, combined))
    numbers = [number for start, end in chosen for number in range(start, end)]
    if gathers:
        assert [number for piece in pieces for number in piece] == numbers
    elif numbers:
        assert (pieces[0][0], pieces[-1][1]) == (numbers[0], numbers[-1])
    assert len(pieces) <= sum(2 + 2 * (size // WIDTH).bit_length() + (size // WIDTH if gathers else 0) for _ in chosen)
