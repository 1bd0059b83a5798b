"""The second evaluator without Spark: copies, laziness, and what it leaves to Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from bigdebug.agents.evaluate import Evaluation, Node, Unknown
from bigdebug.agents.merge import Combine, Gather
from bigdebug.agents.operations import (
    Crossed,
    Dealt,
    Declined,
    Exchanged,
    Fresh,
    Given,
    Operation,
    Stepped,
    United,
    Wire,
    Zipped,
)
from bigdebug.agents.segments import Filter, FlatMap, Map, Partitionwise
from bigdebug.agents.within import Within

WIRE = Wire(pickle.dumps, pickle.loads, RuntimeError)
MEMORY = 1 << 20


def given(*partitions: list[Any], **kwargs: Any) -> Given:
    return Given(tuple([pickle.dumps(records)] if records else [] for records in partitions), **kwargs)


def step(made: Any) -> Stepped:
    return Stepped(Fresh(made, WIRE), not isinstance(made, Partitionwise))


def run(*nodes: tuple[Operation, tuple[int, ...]], counting: bool = False) -> list[Any]:
    numbered = tuple(Node(n, parents, operation) for n, (operation, parents) in enumerate(nodes))
    return list(Evaluation(numbered, WIRE, nullcontext, counting)(0, iter(())))


def partial_sums(split: int, numbers: Iterable[int]) -> Iterable[tuple[int, int]]:
    return [(split, sum(numbers))]


def test_narrow_operators_pull_one_record_at_a_time() -> None:
    seen = []

    def first(n: int) -> int:
        seen.append(n)
        return n

    def second(n: int) -> int:
        seen.append(-n)
        return n

    found = run((given([1, 2], [3]), ()), (step(Map(first)), (0,)), (step(Map(second)), (1,)))
    assert found == [1, 2, 3]
    assert seen == [1, -1, 2, -2, 3, -3]


def test_chains_and_counts() -> None:
    chain_ = (given([3, 4], [], [5]), ()), (step(Filter(lambda n: n > 3)), (0,)), (step(FlatMap(range)), (1,))
    assert run(*chain_) == [0, 1, 2, 3, 0, 1, 2, 3, 4]
    assert run(*chain_, counting=True) == [9]
    assert run(*chain_, (step(Partitionwise(partial_sums)), (2,))) == [(0, 6), (1, 0), (2, 10)]
    within = Partitionwise(Within(partial_sums, frozenset([2])))
    assert run(*chain_, (step(within), (2,))) == [(2, 10)]


def test_records_are_combined_and_gathered_by_key() -> None:
    pairs = given([(0, 1), (1, 2), (0, 3)], [(1, 4)])
    before = Fresh((int, lambda v: v, lambda a, b: a + b), WIRE)
    combined = Exchanged(2, MEMORY, before, Fresh(Combine(lambda a, b: a + b, MEMORY), WIRE))
    assert run((pairs, ()), (combined, (0,))) == [(0, 4), (1, 6)]
    gather = Gather(2, lambda key, lists: [(key, *map(tuple, lists))], MEMORY)
    gathered = Exchanged(2, MEMORY, Fresh((int, None, None), WIRE), Fresh(gather, WIRE))
    assert run((pairs, ()), (given([(1, "a")]), ()), (gathered, (0, 1))) == [(0, (1, 3), ()), (1, (2, 4), ("a",))]


def test_partitions_are_rearranged() -> None:
    left, right = (given([1, 2], [3]), ()), (given(["a", "b"], ["c"]), ())
    assert run(left, right, (United(False), (0, 1))) == [1, 2, 3, "a", "b", "c"]
    assert run(left, right, (United(True), (0, 1))) == [1, 2, "a", "b", 3, "c"]
    assert run(left, right, (Zipped(), (0, 1))) == [(1, "a"), (2, "b"), (3, "c")]
    assert len(run(left, right, (Crossed(), (0, 1)))) == 9


def test_every_consumer_has_records_of_its_own() -> None:
    def marked(record: list[int]) -> list[int]:
        record.append(1)
        return record

    lists = (given([[]], []), ())
    assert run(lists, (step(Map(marked)), (0,)), (step(Map(marked)), (0,)), (United(False), (1, 2))) == [[1], [1]]
    assert run(lists, (United(False), (0, 0)), (step(Map(marked)), (1,))) == [[1], [1]]
    streams = run(lists, (step(Map(iter)), (0,)), (step(Map(lambda r: (n for n in r))), (1,)), (United(False), (2, 2)))
    assert isinstance(streams[0], Declined)


def test_chosen_records_are_edited() -> None:
    edited = given([1, 2, 3], [4], edited={0: np.array([0, 2])}, edit=Fresh(lambda n: -n, WIRE))
    assert run((edited, ())) == [-1, 2, -3, 4]


def test_what_only_spark_can_tell_is_left_to_it() -> None:
    (declined,) = run((given([1, 2]), ()), (given([1]), ()), (Zipped(), (0, 1)))
    assert isinstance(declined, Declined)
    (declined,) = run((given([1]), ()), (step(Map(lambda n: Unknown().partitionId())), (0,)))
    assert isinstance(declined, Declined)
    assert "partitionId" in str(declined)


def test_errors_of_functions_pass() -> None:
    with pytest.raises(ZeroDivisionError):
        run((given([0]), ()), (step(Map(lambda n: 1 // n)), (0,)))
    with pytest.raises(RuntimeError):  # a StopIteration that escapes ends no partition in silence
        run((given([1, 2]), ()), (step(Map(lambda n: next(iter(())))), (0,)))


def test_functions_are_copied_for_every_partition() -> None:
    packed = pickle.loads(pickle.dumps(Fresh([], WIRE)))
    one, two = packed.copy(), packed.copy()
    one.append(1)
    assert two == []
    assert packed.copy() == []


def test_records_are_dealt_out_in_turn_by_some_at_a_time() -> None:
    nodes = (Node(0, (), given(list("abcde"), [], list("xyz"))), Node(1, (0,), Dealt(2, 2)))
    assert [list(part) for part in Evaluation(nodes, WIRE, nullcontext).result()] == [list("abexy"), list("cdz")]
