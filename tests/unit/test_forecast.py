"""What a resume would compute and reach, as far as the program says it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bigdebug.graph import Emission, Form, Kind, Operator, OperatorGraph, Segment, Stage
from bigdebug.trace.forecast import Bound, Reach, forecast, reach
from tests.unit.test_culprit_view import STAGES, crash
from tests.unit.test_payload import OPERATORS, run


def chain(*forms: tuple[Kind, Form]) -> OperatorGraph:
    """A source, and operators one behind the other."""
    source = Operator(1, "source", Kind.SOURCE, Form.SOURCE, (), 2)
    return OperatorGraph([source, *(Operator(number, f"o{number}", kind, form, (number - 1,), 2) for number, (kind, form) in enumerate(forms, 2))], [len(forms) + 1])


MAP, FILTER, FLAT = (Kind.DISPATCHER, Form.ONE_TO_ONE), (Kind.FILTER, Form.KEPT), (Kind.DISPATCHER, Form.OFFSETS)
GROUP, SORT, WHOLE = (Kind.AGGREGATOR, Form.CODES), (Kind.KEY_PRESERVING, Form.SORT), (Kind.BLACK_BOX, Form.PAIRED)
JOIN = (Kind.JOIN, Form.JOIN)


@pytest.mark.parametrize(("forms", "expected"), [
    ([MAP], Reach(2, Bound.EXACT)),
    ([MAP, SORT, MAP], Reach(2, Bound.EXACT)),
    ([MAP, FILTER], Reach(2, Bound.AT_MOST)),
    ([FILTER], Reach(2, Bound.AT_MOST)),
    ([MAP, GROUP, MAP], Reach(2, Bound.AT_MOST)),
    ([GROUP, FILTER], Reach(2, Bound.AT_MOST)),
    ([FLAT], Reach(0, Bound.UNKNOWN)),
    ([MAP, FLAT, GROUP], Reach(0, Bound.UNKNOWN)),
    ([MAP, WHOLE], Reach(0, Bound.UNKNOWN)),
    ([MAP, JOIN], Reach(0, Bound.UNKNOWN)),
])
def test_what_two_records_reach_at_the_end_of_a_chain(forms: list[tuple[Kind, Form]], expected: Reach) -> None:
    graph = chain(*forms)
    culprits = [replace(crash("a"), operator=graph[2]), replace(crash("b"), operator=graph[2])]
    assert reach(graph, len(forms) + 1, culprits) == expected


def test_a_record_that_goes_two_ways_or_not_to_the_result_reaches_nobody_knows_what() -> None:
    graph = chain(MAP)
    twice = OperatorGraph([*graph, Operator(3, "union", Kind.DISPATCHER, Form.UNION, (2, 2), 4)], [3])
    culprit = replace(crash("a"), operator=graph[2])
    assert reach(twice, 3, [culprit]).bound is Bound.UNKNOWN
    assert reach(twice, 1, [culprit]).bound is Bound.UNKNOWN
    assert reach(twice, 3, []) == Reach(0, Bound.EXACT)


def test_the_least_certain_of_several_counts() -> None:
    graph = chain(FILTER, MAP)
    sure, unsure = replace(crash("a"), operator=graph[3]), replace(crash("b"), operator=graph[2])
    assert reach(graph, 3, [sure]) == Reach(1, Bound.EXACT)
    assert reach(graph, 3, [sure, unsure, sure]) == Reach(3, Bound.AT_MOST)


def test_what_spark_holds_of_shuffles_is_not_computed_and_results_are() -> None:
    crashed = replace(run("r1"), graph=OperatorGraph(OPERATORS, [4], STAGES))
    found = forecast(crashed, {"s1": [0, 1, 5], "s2": [0]})
    assert [(stage.partitions, stage.held, stage.computes) for stage in found.stages] == [(8, 3, 5), (3, 0, 3)]
    assert (found.computes, found.held, found.bound) == (8, 3, Bound.EXACT)
    assert forecast(replace(crashed, action="take"), {}).bound is Bound.AT_MOST
    assert forecast(replace(crashed, action="takeSample"), {}).bound is Bound.AT_LEAST


def test_stages_without_tasks_of_their_own_and_those_that_were_there_before_are_none_of_it() -> None:
    piece = Stage("s3", 1, (Segment((2,), Form.ONE_TO_ONE),), Emission.RECORDS)
    crashed = replace(run("r1"), graph=OperatorGraph(OPERATORS, [4], [replace(STAGES[0], adopted=True), piece, STAGES[1]]))
    assert [stage.partitions for stage in forecast(crashed, {}).stages] == [3]
