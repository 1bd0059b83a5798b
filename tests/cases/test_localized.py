"""The acceptance cases with their corrupt lines at every place: these are the cause, and never an innocent one.

Without Spark: what answers is what runs in the task (agents/trials.py), once as what each line adds, once by running the program.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import pairwise, product
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
from bigdebug.localize.faults import Faults, Subject, faults
from bigdebug.localize.oracle import Answer, Budget, Oracle
from tests.cases.programs import CASES, Case

WIRE = Wire(pickle.dumps, pickle.loads, RuntimeError)
MEMORY = 1 << 20


def localized(case: Case, lines: Sequence[str], partitions: int = 4, folded: bool = True) -> tuple[Faults, list[Any], dict[Any, list[set[str]]]]:
    """What is found, the keys of wrong outputs, and by key the sets of lines that are named."""
    meaning = case.meaning(lines)
    wrong = {key: sorted(number - 1 for number in members) for key, (output, members) in meaning.items() if case.faulty(output)}
    evaluation = _evaluation(case, lines, partitions)
    budget, subjects = Budget(), []
    for key, members in wrong.items():
        task = Task(evaluation, Tried(np.array(members, dtype=np.int64).tobytes(), pickle.dumps([key]), Judge(case.faulty)))
        ask = partial(_asked, task)
        subjects.append(Subject(np.array(members), Oracle(partial(ask, False), budget, partial(ask, True) if folded else None)))
    known, keys = faults(subjects, budget), list(wrong)
    named = {keys[i]: [{lines[number] for number in ids} for ids in (fault.repair, *fault.instead)] for fault in known.found for i in fault.explains}
    return known, keys, named


def _asked(task: Task, folded: bool, sets: Sequence[BitMap]) -> list[Answer]:
    return [Answer(*verdict) for verdict in task.verdicts([each.serialize() for each in sets], False, folded)]


def _evaluation(case: Case, lines: Sequence[str], partitions: int) -> Evaluation:
    ends = np.linspace(0, len(lines), partitions + 1).astype(int).tolist()
    parts = [list(lines[start:end]) for start, end in pairwise(ends)]
    summary = case.summary
    exchange = Exchanged(
        4, MEMORY, Fresh((hashing.portable_hash, groups.listed, groups.appended), WIRE), Fresh(Combine(groups.extended, MEMORY), WIRE),
    )
    return Evaluation((
        Node(0, (), Entered(tuple([pickle.dumps(part)] for part in parts), tuple(map(len, parts)), 0)), Node(1, (0,), Stepped(Fresh(FlatMap(case.pairs), WIRE), True)),
        Node(2, (1,), OfKeys(exchange)), Node(3, (2,), Stepped(Fresh(Map(lambda pair: (pair[0], summary(pair[1]))), WIRE), True)),
    ), WIRE, nullcontext)


def corrupt(case: Case) -> list[str]:
    return list(dict.fromkeys(line for lines in case.culprits.values() for line in lines))


def placements(case: Case) -> Iterator[list[str]]:
    """The lines of a case with each corrupt one at every place among those of its outputs, the others where they are."""
    for line in corrupt(case):
        others = [each for each in case.lines if each != line]
        for place in range(len(others) + 1):
            if place == 0 or any(key in case.culprits for key, _ in case.pairs(others[place - 1])):
                yield [*others[:place], line, *others[place:]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_corrupt_lines_are_the_cause_wherever_they_stand(case: Case) -> None:
    for number, lines in enumerate(placements(case)):
        known, _, named = localized(case, lines, partitions=1 + number % 4)
        assert known.ended is None
        assert not known.strange
        for key, culprits in case.culprits.items():
            if case.name == "word length":
                assert sorted(named[key], key=sorted) == sorted(({line} for line in culprits), key=sorted)
            else:
                assert named[key] == [set(culprits)]


def test_the_drift_trap_has_both_corrupt_lines_for_its_cause_wherever_both_stand() -> None:
    """Among the cars of a region: other lines are no candidates."""
    case = next(each for each in CASES if each.name == "commute drift")
    first, second = corrupt(case)
    cars = [line for line in case.lines if line not in (first, second) and ("sr", "car") in dict(case.pairs(line))][:21]
    for one, other in product(range(len(cars) + 1), range(len(cars) + 2)):
        lines = [*cars]
        lines.insert(one, first)
        lines.insert(other, second)
        known, _, named = localized(case, lines)
        assert named == {("sr", "car"): [{first, second}]}
        assert not known.strange


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_running_the_program_finds_what_what_each_line_adds_does(case: Case) -> None:
    found, _, named = localized(case, case.lines)
    run, _, by_running = localized(case, case.lines, folded=False)
    assert named == by_running
    assert [(fault.repair, fault.alone, fault.cause.state) for fault in found.found] == [(fault.repair, fault.alone, State.FOUND) for fault in run.found]
