"""Law 7 for RDD programs: what localization names was made wrong, without it outputs are right, and without less they are not.

Twice: the search alone, over what plain Python says that a program gives on some of its records, and ``dbg.localize`` on Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, example, given, note, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from bigdebug.agents.judges import number
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import faults
from bigdebug.localize.oracle import Answer, Budget, Oracle
from bigdebug.localize.rivals import LIKELY, MEMBERS, RIVALS
from bigdebug.localize.subject import Subject
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.model import Origin, Outcome, SourceRecord
from tests.laws.programs import Lineage, Node, Program, Source, interpret, programs, weight
from tests.laws.test_laws import MANY, captured

HUGE, WRONG = 3_000_000_000_000, 1_000_000_000
"""What a planted value is more than it was, and what no output weighs without one."""

GROUPING = ("reduceByKey", "combineByKey", "aggregateByKey", "foldByKey", "alignedReduce")
"""What a program ends with, so that an output is known by its key."""

BY_ABSENCE = {"leftOuterJoin", "rightOuterJoin", "fullOuterJoin", "subtract", "subtractByKey", "cogroup", "groupWith"}
"""Operators whose outputs hang on what is not there: the whole program may give others than the records that an output was made of."""

Made = dict[Any, tuple[Any, Lineage]]

_seen: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def much_is_found() -> Iterator[None]:
    """A law about what is found says nothing where nothing is. Of a few examples, chance may have it so."""
    _seen.clear()
    yield
    assert _seen["culprit"] * 4 + 8 >= _seen["asked"] > 0, _seen


def wrong(output: Any) -> bool:
    return weight(output) > WRONG


@st.composite
def planted(draw: st.DrawFn) -> tuple[Program, Lineage]:
    """A program that sums by key in the end, and one to three records of its sources that were made huge."""
    program = draw(programs(most=4) | joining())
    places = [(f"s{number}", place) for number, (records, _) in enumerate(program.sources) for place in range(len(records))]
    assume(places)
    huge = frozenset(draw(st.lists(st.sampled_from(places), min_size=1, max_size=3, unique=True)))
    sources = tuple(
        (tuple(x + HUGE if (f"s{number}", place) in huge else x for place, x in enumerate(records)), partitions) for number, (records, partitions) in enumerate(program.sources)
    )
    last = Node(draw(st.sampled_from(GROUPING)), (len(sources) + len(program.nodes) - 1,), 0, draw(st.integers(1, 4)))
    return Program(sources, (*program.nodes, last)), huge


@st.composite
def joining(draw: st.DrawFn) -> Program:
    """Programs that put the records of two sources together, under other keys: what many are joined with takes these along."""
    sources = tuple((tuple(draw(st.lists(st.integers(0, 9), min_size=2, max_size=8))), draw(st.integers(1, 2))) for _ in range(2))
    nodes = [Node(draw(st.sampled_from(["join", "leftOuterJoin", "cogroup", "cartesian"])), (0, 1), draw(st.integers(0, 3)))]
    nodes += [Node(draw(st.sampled_from(["map", "mapValues", "flatMap"])), (2 + i,), draw(st.integers(0, 3))) for i in range(draw(st.integers(0, 2)))]
    return Program(sources, tuple(nodes))


def made_by(program: Program) -> Made:
    """By key, what it gives, and the records that it was made of."""
    return {key: (value, lineage) for (key, value), lineage in interpret(program)}


def on(program: Program, records: Iterable[Source]) -> dict[Any, Any]:
    """By key, what the program gives on some of its records: plain Python says it."""
    some = frozenset(records)
    sources = tuple((tuple(x for place, x in enumerate(data) if (f"s{number}", place) in some), partitions) for number, (data, partitions) in enumerate(program.sources))
    return dict(output for output, _ in interpret(Program(sources, program.nodes)))


def elsewhere(given: dict[Any, Any], before: dict[Any, Any]) -> bool:
    """Whether outputs are wrong that were not: then nothing is repaired."""
    return any(wrong(output) and (output[0] not in before or before[output[0]] != output[1]) for output in given.items())


def check(program: Program, huge: Lineage, made: Made, found: Diagnosis, names: Callable[[SourceRecord], Source]) -> None:
    """See that what is told is so."""
    note(f"{found}")
    event(found.verdict)
    _seen["asked"] += 1
    _seen[found.verdict] += 1
    assert found.verdict in ("culprit", "ambiguous")
    every = frozenset((f"s{number}", place) for number, (data, _) in enumerate(program.sources) for place in range(len(data)))
    for fault in found.fault_sets:
        named = frozenset(map(names, fault.records))
        if fault.verdict == "culprit":
            assert named <= huge, "an innocent record"
        for key, value in fault.outputs:
            assert made[key][0] == value
            without = on(program, made[key][1] - named)
            assert key not in without or not wrong((key, without[key]))
            assert key in without or found.verdict != "culprit" or "not there any more" in found.explanation, "it is said to be right"
        key, _ = fault.outputs[0]
        if fault.verdict == "culprit" and not any(node.op in BY_ABSENCE for node in program.nodes):
            without = on(program, every - named)
            assert key in without or len(made[key][1]) == 1, "an output that is made of one record is gone without it"
            assert key not in without or not wrong((key, without[key]))
        for each in named:
            less = on(program, (made[key][1] - named) | {each})
            assert key not in less or wrong((key, less[key])) or elsewhere(less, on(program, made[key][1])), "not minimal"


def most_tests(outputs: int, size: int) -> int:
    """The tests that are stated: each record left out, the likeliest ones in every number, both searches, and others in the place of members; once more to see whether it repeats itself."""
    searches = 2 * size * (2 + size.bit_length())
    return outputs * 2 * (2 + 2 * size + searches + 2 * MEMBERS * min(size, LIKELY) + min(size, LIKELY) + RIVALS + 30)


MOVED = Program(
    (((HUGE + 3, 0, 1, HUGE + 9, 2, 3, 3, 3, 3, 9), 1), ((), 1)),
    (Node("groupByKey", (0,)), Node("map", (0,)), Node("map", (1,)), Node("map", (2,), 1), Node("reduceByKey", (5,))),
), frozenset([("s0", 0), ("s0", 3)])
"""Without an innocent record, what is wrong has another key."""

TAKEN_ALONG = Program(
    (((HUGE, HUGE, 2), 1), ((0, 2), 1)), (Node("join", (0, 1)), Node("map", (2,)), Node("map", (3,)), Node("reduceByKey", (4,))),
), frozenset([("s0", 0), ("s0", 1)])
"""Without the one record that both are joined with, they are gone, and the output is right."""

KEPT_THERE = Program(
    (((HUGE + 2, HUGE + 2, 2), 1), ((2, 2, 8), 1)), (Node("cogroup", (0, 1)), Node("map", (2,)), Node("reduceByKey", (3,))),
), frozenset([("s0", 0), ("s0", 1)])
"""Without an innocent record besides, the output has its key again."""


NOT_THERE = Program(
    (((HUGE, 1, 1), 1),), (Node("map", (0,)), Node("map", (0,)), Node("cartesian", (0, 0), 1), Node("reduceByKey", (3,))),
), frozenset([("s0", 0)])
"""Without the corrupt record, one output is right, and another one is not there."""


@settings(max_examples=4 * MANY, deadline=None, suppress_health_check=[*HealthCheck])
@given(planted())
@example(MOVED)
@example(TAKEN_ALONG)
@example(KEPT_THERE)
@example(NOT_THERE)
def test_7_the_search_names_what_was_planted(drawn: tuple[Program, Lineage]) -> None:
    program, huge = drawn
    made = made_by(program)
    bad = [key for key, (value, _) in made.items() if wrong((key, value))]
    assume(bad)
    every = sorted(frozenset().union(*(made[key][1] for key in bad)))
    budget, subjects = Budget(), []
    for key in bad:
        mine = np.array([each for each, source in enumerate(every) if source in made[key][1]], dtype=np.int64)
        subjects.append(Subject(mine, Oracle(partial(_answers, program, key, [every[each] for each in mine]), budget)))
    known = faults(subjects, budget)
    seen = Seen([(key, made[key][0]) for key in bad], joined=any(node.op in BY_ABSENCE for node in program.nodes))
    found = diagnosis(known, subjects, seen, lambda numbers: {each: (SourceRecord(every[each], each, Origin("law", index=each)),) for each in numbers}, Cost(budget.tests, 0.0))
    check(program, huge, made, found, lambda source: source.record)
    assert budget.tests <= most_tests(len(bad), max(map(len, (subject.candidates for subject in subjects))))


def _answers(program: Program, key: Any, mine: Sequence[Source], sets: Sequence[BitMap]) -> list[Answer]:
    before, answers = on(program, mine), []
    for each in sets:
        given = on(program, (mine[place] for place in each))
        if key not in given:
            answers.append(Answer(Outcome.PASS, gone=True))
            continue
        outcome = Outcome.FAIL if wrong((key, given[key])) else Outcome.UNRESOLVED if elsewhere(given, before) else Outcome.PASS
        answers.append(Answer(outcome, number((key, given[key]))))
    return answers


@settings(max_examples=MANY * 2 // 3, deadline=None, suppress_health_check=[*HealthCheck])
@given(planted())
@example(MOVED)
@example(TAKEN_ALONG)
def test_7_what_is_named_is_what_was_planted(dbg: Any, drawn: tuple[Program, Lineage]) -> None:
    program, huge = drawn
    made = made_by(program)
    bad = [key for key, (value, _) in made.items() if wrong((key, value))]
    assume(bad)
    _, result, sources, _ = captured(dbg, program)
    operators = {source._definition.operator.id: f"s{i}" for i, source in enumerate(sources)}

    def names(known: SourceRecord) -> Source:
        assert known.source is not None
        assert known.origin.index is not None
        source = operators[known.source], known.origin.index
        assert program.sources[int(source[0][1:])][0][source[1]] == known.record
        return source

    found = dbg.localize(result, wrong)
    check(program, huge, made, found, names)
    assert found.cost.tests <= most_tests(len(bad), max(len(made[key][1]) for key in bad))
