"""The verdict in words: of each fault by itself, of how many wrong outputs, and what was not found out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyroaring import BitMap

from bigdebug.agents.judges import Judge
from bigdebug.errors import LocalizeError
from bigdebug.localize.causes import Cause, State
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import faults
from bigdebug.localize.known import Fault, Faults
from bigdebug.localize.oracle import Answer, Budget, Oracle
from bigdebug.localize.subject import Subject
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.model import Origin, Outcome, SourceRecord


def fault(*repair: int, explains: Sequence[int] = (0,), **more: Any) -> Fault:
    cause = Cause(State.FOUND, BitMap([0]), BitMap([0]), gone=more.pop("gone", False), size=3)
    return Fault(frozenset(repair), list(explains), cause, alone=frozenset(repair), **more)


def told(found: Iterable[Fault], outputs: int = 2, strange: dict[int, State] | None = None, ended: str | None = None, **seen: Any) -> Diagnosis:
    subjects = [Subject(np.arange(10), Oracle(lambda sets: [], Budget())) for _ in range(outputs)]

    def sources(numbers: Iterable[int]) -> dict[int, tuple[SourceRecord, ...]]:
        return {number: (SourceRecord(f"record {number}", number, Origin("lines", index=number), 1),) for number in numbers}

    known = Faults(list(found), {}, strange or {}, ended)
    return diagnosis(known, subjects, Seen([f"output {number}" for number in range(outputs)], **seen), sources, Cost(7, 0.5))


def test_each_fault_has_a_verdict_and_the_diagnosis_that_of_all() -> None:
    certain, open_ = fault(1), fault(2, explains=[1], instead=[frozenset([3])])
    both = told([certain, open_])
    assert [each.verdict for each in both.fault_sets] == ["culprit", "ambiguous"]
    assert both.verdict == "ambiguous"
    assert "1: Culprit." in repr(both)
    assert told([certain, fault(2, explains=[1])]).verdict == "culprit"
    assert told([certain, fault(2, explains=[1])], ended="it was stopped").verdict == "ambiguous"


def test_one_output_that_does_not_repeat_itself_leaves_the_others_their_culprits() -> None:
    found = told([fault(1)], strange={1: State.NOT_REPRODUCIBLE})
    assert found.verdict == "culprit"
    assert found.explanation == "without 1 record, 1 of 2 wrong outputs is right, and without less it is not"
    assert found.incomplete == "the same records gave another outcome when they were tried again: 'output 1'"
    nothing = told([], strange={0: State.NOT_WRONG, 1: State.NOT_REPRODUCIBLE})
    assert (nothing.verdict, nothing.incomplete) == ("not-reproducible", None)


@pytest.mark.parametrize(("state", "said"), [
    (State.ALWAYS_WRONG, "it is wrong on no records at all, too: 'output 1'"), (State.TOO_MANY, "it is not right without any 1,000 records"), (State.UNREPAIRED, "no records were found"),
])
def test_what_was_not_found_out_is_said_of_each_output(state: State, said: str) -> None:
    assert said in str(told([fault(1)], strange={1: state}).incomplete)


def test_what_no_records_at_all_make_wrong_is_refused() -> None:
    with pytest.raises(LocalizeError, match="no records at all"):
        told([], strange={0: State.ALWAYS_WRONG, 1: State.ALWAYS_WRONG})


def test_outputs_that_hang_on_the_order_are_told_apart_from_those_of_the_same_fault_that_do_not() -> None:
    found = told([fault(1, explains=[0, 1, 2])], outputs=3, unordered=frozenset([2]))
    assert [(each.verdict, each.outputs) for each in found.fault_sets] == [("culprit", ("output 0", "output 1")), ("order-dependent", ("output 2",))]
    assert found.verdict == "ambiguous"
    assert found.explanation == "without 1 record, 2 of 3 wrong outputs are right, and without less they are not; and 1 more is right on the same records in another order"
    assert told([fault(1, explains=[0, 1])], unordered=frozenset([0, 1])).verdict == "order-dependent"


def test_of_many_wrong_outputs_the_first_line_says_how_many_were_looked_at() -> None:
    found = told([fault(1, explains=range(20))], outputs=20, wrong=1_000, left="of 1,000 wrong outputs, 20 were looked at")
    assert repr(found).startswith("culprit: without 1 record, the 20 that were looked at of 1,000 wrong outputs are right, and without less they are not (7 tests")
    some = told([fault(1, explains=[4])], outputs=20, wrong=1_000)
    assert "1 of the 20 that were looked at of 1,000 wrong outputs is right" in some.explanation


def test_what_may_be_a_fault_besides_is_named_though_it_is_not_needed() -> None:
    certain = told([fault(1, explains=[0, 1], partly=[frozenset([5])], settled=True)])
    assert (certain.verdict, certain.fault_sets[0].instead) == ("culprit", ())
    assert "without 'record 5' (lines[5]) as well: these may be at fault besides." in certain.fault_sets[0].evidence[0]
    assert [[each.record for each in other] for other in told([fault(1, explains=[0, 1], partly=[frozenset([5])])]).fault_sets[0].instead] == [["record 5"]]


@pytest.mark.parametrize(("made_of", "verdict"), [(3, "ambiguous"), (1, "culprit")])
def test_a_further_output_that_is_gone_makes_nobody_a_culprit_unless_it_was_made_of_nothing_else(made_of: int, verdict: str) -> None:
    found = told([fault(1, explains=[0, 1], lost=[made_of])])
    assert found.verdict == verdict
    assert "not there any more" in found.explanation
    assert "Without it, some of these outputs are not there any more, or not all of them." in found.fault_sets[0].evidence
    assert told([fault(1, explains=[0, 1], lost=[made_of])], joined=True).verdict == "ambiguous", "they may be there because something is not"


def test_what_was_seen_only_to_be_gone_is_in_no_sentence_called_right_alone() -> None:
    for seen in ({}, {"replaced": True}):
        assert " right without" not in told([fault(1, gone=True, explains=[0, 1], instead=[frozenset([2])])], **seen).explanation
        assert "not there any more" in told([fault(1, gone=True, explains=[0, 1])], **seen).explanation
    assert "not there any more" in told([fault(1, gone=True)], ended="it was stopped").explanation


def test_of_so_many_that_others_were_not_looked_for_in_the_place_of_each_none_is_a_culprit() -> None:
    cause = Cause(State.FOUND, BitMap([0, 1]), BitMap([0]), untried=1, size=3)
    found = told([Fault(frozenset([1, 2]), [0], cause)])
    assert (found.verdict, found.explanation) == ("ambiguous", "without 2 records, 1 of 2 wrong outputs is right; but there are too many to look for others in the place of each")


def test_of_a_culprit_whose_others_were_not_all_left_out_one_by_one_that_is_said() -> None:
    cause = Cause(State.FOUND, BitMap([0]), BitMap([0]), more=True, left_out=120, size=5_001)
    (told_of,) = told([Fault(frozenset([1]), [0], cause)]).fault_sets
    assert told_of.evidence[0] == "Of 5,000 others, 120 were left out one by one, the rest in blocks, in which one may take back what another one adds."


def test_outputs_that_faults_share_are_counted_once_and_named_with_each() -> None:
    found = told([fault(1, shares=[2]), fault(2, explains=[1], shares=[2])], outputs=3)
    assert found.explanation == "without 2 faults of 1 and 1 records, all 3 wrong outputs are right, and without less they are not"
    assert [each.outputs for each in found.fault_sets] == [("output 0",), ("output 1",)]
    assert all("Only without other faults as well, these are right: 'output 2'." in each.evidence for each in found.fault_sets)


def test_sets_are_named_as_sets() -> None:
    (told_of,) = told([fault(1, 2, explains=[0, 1], partly=[frozenset([1, 5]), frozenset([6])], settled=True)]).fault_sets
    assert told_of.evidence[0].startswith("Some of these outputs are right, or not there, without 'record 1' (lines[1]) with 'record 5' (lines[5]) or 'record 6' (lines[6]) as well")
    (told_of,) = told([fault(1, 2, instead=[frozenset([3, 4])])]).fault_sets
    assert told_of.evidence[0] == "1 other set repairs it as well: 'record 3' (lines[3]) with 'record 4' (lines[4])."


def test_in_whose_place_others_are_wrong_is_said_by_name() -> None:
    """Nobody knows that one is innocent."""
    cause = Cause(State.FOUND, BitMap([0]), BitMap([0, 1]), alike=[BitMap([0, 2])], size=3)
    (told_of,) = told([Fault(frozenset([1]), [0], cause, alone=frozenset([1, 2]))]).fault_sets
    assert told_of.evidence == ("The least on which it is wrong: 'record 1' (lines[1]) and 'record 2' (lines[2]) together, as it is with 1 other in the place of 'record 2' (lines[2]).",)


def as_a_whole(program: Callable[[list[Any]], list[Any]], records: Sequence[Any], wrong: Callable[[Any], bool]) -> Diagnosis:
    """What is said of all outputs together, if any of them is wrong."""
    judge, budget = Judge(lambda outputs: any(map(wrong, outputs)), whole=True), Budget()
    asked = Oracle(lambda sets: [Answer(*judge.verdict(program([records[place] for place in each]))) for each in sets], budget)
    subjects = [Subject(np.arange(len(records)), asked)]

    def sources(numbers: Iterable[int]) -> dict[int, tuple[SourceRecord, ...]]:
        return {number: (SourceRecord(records[number], number, Origin("records", index=number), 1),) for number in numbers}

    return diagnosis(faults(subjects, budget), subjects, Seen([None]), sources, Cost(budget.tests, 0.5))


def joined(records: list[Any]) -> list[Any]:
    """Sums of facts by key, where there is a rate for it."""
    rates = {key: value for side, key, value in records if side == "rate"}
    keys = {key for side, key, _ in records if side == "fact" and key in rates}
    return [(each, sum(value + rates[key] for side, key, value in records if side == "fact" and key == each)) for each in sorted(keys)]


def test_as_a_whole_an_output_that_is_gone_makes_nobody_a_culprit() -> None:
    """Two facts are corrupt, and without the one right rate that they are joined with nothing is wrong."""
    records = [("fact", "k", 100), ("fact", "k", 1_000), ("fact", "j", 1), ("rate", "k", 5), ("rate", "j", 6)]
    found = as_a_whole(joined, records, lambda out: out[1] > 50)
    (fault_set,) = found.fault_sets
    assert (found.verdict, fault_set.gone) == ("ambiguous", True)
    every = {source.record for each in (fault_set.records, *fault_set.instead) for source in each}
    assert every >= {("fact", "k", 100), ("fact", "k", 1_000)}
    assert "Without it, the output is not there any more, or not all of it." in fault_set.evidence
    mean = as_a_whole(lambda known: [sum(known) / len(known)] if known else [], [1_000, 5], lambda out: out > 4.5)
    assert mean.verdict == "ambiguous", "of the mean, nothing is left without the innocent one"


def test_as_a_whole_the_one_that_is_wrong_in_what_stays_there_is_the_culprit() -> None:
    def sums(known: list[Any]) -> list[Any]:
        return [(each, sum(value for key, value in known if key == each)) for each in sorted({key for key, _ in known})]

    found = as_a_whole(sums, [("k", 2), ("k", 1_000), ("j", 1)], lambda out: out[1] > 50)
    assert (found.verdict, [source.record for source in found.fault_sets[0].records]) == ("culprit", [("k", 1_000)])


@given(st.sets(st.integers(0, 11), min_size=1, max_size=4), st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=6), min_size=1, max_size=6))
def test_corrupt_records_that_outputs_share_are_the_culprits_of_all_and_no_others(corrupt: set[int], made_of: list[set[int]]) -> None:
    """Sums of small values and large ones, of which each alone makes an output wrong."""
    wrong = [sorted(each) for each in made_of if each & corrupt]
    assume(wrong)
    budget = Budget()

    def subject(members: list[int]) -> Subject:
        def answer(places: BitMap) -> Answer:
            total = float(sum(1_000 if members[place] in corrupt else 3 for place in places))
            return Answer(Outcome.FAIL if total > 100 else Outcome.PASS, total, gone=not places)

        return Subject(np.array(members), Oracle(lambda sets: [answer(each) for each in sets], budget))

    subjects = [subject(members) for members in wrong]
    known = faults(subjects, budget)
    assert known.ended is None
    assert not known.strange
    assert {each for fault in known.found for each in fault.repair} == corrupt & set().union(*wrong)
    explained, shared = [number for fault in known.found for number in fault.explains], [number for fault in known.found for number in fault.shares]
    assert sorted([*explained, *set(shared)]) == list(range(len(subjects)))
    assert all(shared.count(number) > 1 for number in shared)
    assert not any(fault.instead or fault.partly for fault in known.found)
