"""The acceptance cases with their corrupt lines at every place: these are the cause, and never an innocent one.

Without Spark, for there are some 170,000 placements. What is searched among them is real: ``faults``, as ``dbg.localize`` calls it. What answers it is what runs in the
task (agents/trials.py) on the lines that a wrong output is made of, as they stand in their partitions; placements that do not differ in that are one search. Of both
corrupt lines of the drift trap moved at once, what answers is the average itself. That the lines of an output are found at every place, and the public
call at some of them: test_localized_queries.py, spark/test_localize.py.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from pyroaring import BitMap

from bigdebug.agents import groups, hashing
from bigdebug.agents.entered import Entered, OfKeys
from bigdebug.agents.evaluate import Evaluation, Node
from bigdebug.agents.judges import Judge
from bigdebug.agents.merge import Combine
from bigdebug.agents.operations import Exchanged, Fresh, Stepped, Wire
from bigdebug.agents.segments import FlatMap, Map
from bigdebug.agents.trials import Subject as Task
from bigdebug.agents.trials import Tried
from bigdebug.localize.causes import State
from bigdebug.localize.faults import faults
from bigdebug.localize.known import Faults
from bigdebug.localize.oracle import Answer, Budget, Oracle
from bigdebug.localize.subject import Subject
from bigdebug.model import Outcome
from tests.cases.programs import CASES, Case, cut, placements

WIRE = Wire(pickle.dumps, pickle.loads, RuntimeError)
MEMORY = 1 << 20

Parts = tuple[tuple[str, ...], ...]
"""Lines by partition."""


def localized(case: Case, parts: Parts, keys: Sequence[Any], folded: bool = True) -> tuple[Faults, dict[Any, list[set[str]]]]:
    """What is found of the wrong outputs of some keys, and by key the sets of lines that are named."""
    evaluation, budget, subjects = _evaluation(case, parts), Budget(), []
    lines = [line for part in parts for line in part]
    for key in keys:
        members = np.array([number for number, line in enumerate(lines) if key in dict(case.pairs(line))], dtype=np.int64)
        task = Task(evaluation, Tried(members.tobytes(), pickle.dumps([key]), Judge(case.faulty)))
        ask = partial(_asked, task)
        subjects.append(Subject(members, Oracle(partial(ask, False), budget, partial(ask, True) if folded else None)))
    known = faults(subjects, budget)
    return known, {keys[i]: [{lines[number] for number in ids} for ids in (fault.repair, *fault.instead)] for fault in known.found for i in fault.explains}


def _asked(task: Task, folded: bool, sets: Sequence[BitMap]) -> list[Answer]:
    return [Answer(*verdict) for verdict in task.verdicts([each.serialize() for each in sets], False, folded)]


def _evaluation(case: Case, parts: Parts) -> Evaluation:
    summary = case.summary
    exchange = Exchanged(
        4, MEMORY, Fresh((hashing.portable_hash, groups.listed, groups.appended), WIRE), Fresh(Combine(groups.extended, MEMORY), WIRE),
    )
    return Evaluation((
        Node(0, (), Entered(tuple([pickle.dumps(list(part))] for part in parts), tuple(map(len, parts)), 0)), Node(1, (0,), Stepped(Fresh(FlatMap(case.pairs), WIRE), True)),
        Node(2, (1,), OfKeys(exchange)), Node(3, (2,), Stepped(Fresh(Map(lambda pair: (pair[0], summary(pair[1]))), WIRE), True)),
    ), WIRE, nullcontext)


def of_outputs(case: Case, parts: Parts) -> Parts:
    """The lines that wrong outputs are made of: a task is given no others."""
    return tuple(tuple(line for line in part if any(key in case.culprits for key, _ in case.pairs(line))) for part in parts)


def see(case: Case, found: Faults, named: dict[Any, list[set[str]]]) -> None:
    """See that the corrupt lines are named, and no others."""
    assert found.ended is None
    assert not found.strange
    for key, culprits in case.culprits.items():
        if case.name == "word length":
            assert sorted(named[key], key=sorted) == sorted(({line} for line in culprits), key=sorted)
        else:
            assert named[key] == [set(culprits)]


@pytest.mark.many
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_corrupt_lines_are_the_cause_wherever_they_stand(case: Case) -> None:
    """Each of them at every place, in 1, 4 and 7 partitions; those of the drift trap in turn, for they are searched below in one partition."""
    searched = set()
    for number, lines in enumerate(placements(case)):
        for partitions in (1, 4, 7)[number % 3:][:1] if case is CASES[3] else (1, 4, 7):
            parts = of_outputs(case, cut(lines, partitions))
            if parts not in searched:
                searched.add(parts)
                see(case, *localized(case, parts, list(case.culprits)))
    assert len(searched) >= 12


@pytest.mark.slow
def test_the_drift_trap_has_both_corrupt_lines_for_its_cause_wherever_both_stand() -> None:
    """At each pair of places among the cars, one before the other as well as behind: places that no car is between differ in nothing that is searched."""
    case = CASES[3]
    first, second = case.culprits["sr", "car"]
    cars = [dict(case.pairs(line))["sr", "car"] for line in case.lines if line not in (first, second) and ("sr", "car") in dict(case.pairs(line))]
    fast = [dict(case.pairs(line))["sr", "car"] for line in (first, second)]
    every, searched = sum(cars) + sum(fast), 0
    for one in range(len(cars) + 1):
        for other in range(len(cars) + 2):
            speeds = [*cars]
            speeds.insert(one, fast[0])
            speeds.insert(other, fast[1])
            at = {other, one + (other <= one)}
            oracle = Oracle(partial(_averages, speeds, every, BitMap(range(len(speeds)))), Budget())
            found = faults([Subject(np.arange(len(speeds)), oracle)], Budget())
            assert [(set(fault.repair), fault.instead, fault.partly) for fault in found.found] == [(at, [], [])]
            searched += 1
    assert searched == 122 * 123


def _averages(speeds: Sequence[int], every: int, whole: BitMap, sets: Sequence[BitMap]) -> list[Answer]:
    """Of nearly all lines, the sum is known but for a few."""
    answers = []
    for each in sets:
        rest = whole - each
        size, total = len(each), sum(speeds[i] for i in each) if len(rest) > len(each) else every - sum(speeds[i] for i in rest)
        answers.append(_answer(size, total))
    return answers


@cache
def _answer(size: int, total: int) -> Answer:
    if not size:
        return Answer(Outcome.PASS, gone=True)
    return Answer(Outcome.FAIL if total / size > 50 else Outcome.PASS, total / size)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_running_the_program_finds_what_what_each_line_adds_does(case: Case) -> None:
    parts, keys = of_outputs(case, cut(case.lines, 4)), list(case.culprits)
    found, named = localized(case, parts, keys)
    run, by_running = localized(case, parts, keys, folded=False)
    assert named == by_running
    assert [(fault.repair, fault.alone, fault.cause.state) for fault in found.found] == [(fault.repair, fault.alone, State.FOUND) for fault in run.found]
