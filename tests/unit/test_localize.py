"""The search for causes: what is found has the property and needs each member (law 7), an innocent is never the cause, and what it costs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import median

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyroaring import BitMap

from bigdebug.localize.candidates import Candidates
from bigdebug.localize.causes import AGAIN, RIGHT, Cause, State, cause
from bigdebug.localize.faults import faults
from bigdebug.localize.fewest import Fewest
from bigdebug.localize.oracle import Answer, Budget, Oracle, Outcome, Spent
from bigdebug.localize.ordered import ORDERED, Asked, by_order, unordered
from bigdebug.localize.rivals import DOZENS, SPARED
from bigdebug.localize.subject import Subject
from bigdebug.localize.suspicion import BLOCKS, EACH, WOVEN, suspicion, unsuspected

FAIL, PASS = Answer(Outcome.FAIL), Answer(Outcome.PASS)


def oracle(fails: Callable[[BitMap], bool], budget: Budget | None = None) -> Oracle:
    return Oracle(lambda sets: [FAIL if fails(each) else PASS for each in sets], budget or Budget())


def of_values(values: Sequence[float], value: Callable[[list[float]], float], wrong: Callable[[float], bool], budget: Budget | None = None) -> Oracle:
    """An output that is a function of the values of its candidates; of none of them there is no output."""

    def answer(places: BitMap) -> Answer:
        if not places:
            return PASS
        found = value([values[place] for place in places])
        return Answer(Outcome.FAIL if wrong(found) else Outcome.PASS, found)

    return Oracle(lambda sets: [answer(each) for each in sets], budget or Budget())


def found_cause(values: Sequence[float], value: Callable[[list[float]], float], wrong: Callable[[float], bool]) -> Cause:
    asked = of_values(values, value, wrong)
    return cause(asked, suspicion(asked, len(values)))


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


# ---- the fewest ---------------------------------------------------------------------------------------------------


@given(st.integers(1, 9).flatmap(lambda size: st.tuples(st.just(size), st.sets(st.integers(0, 2**size - 1)), st.permutations(range(size)), st.integers(1, 4))))
def test_whatever_the_property_is_what_is_found_has_it_and_needs_each_member(drawn: tuple[int, set[int], list[int], int]) -> None:
    size, having, order, at_once = drawn
    having.add(2**size - 1)  # all together have it

    def wanted(sets: Sequence[BitMap]) -> list[bool]:
        return [sum(1 << member for member in each) in having for each in sets]

    search = Fewest(wanted, np.array(order, dtype=np.uint32), at_once)
    members = search.search()
    assert wanted([members]) == [True]
    assert not any(wanted([members - BitMap([member]) for member in members]))
    assert search.best == members


@given(st.data())
def test_what_is_known_when_a_search_is_spent_has_the_property(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 2_000))
    members = BitMap(data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=6)))
    asked = oracle(lambda places: members <= places, Budget(data.draw(st.integers(0, 40))))
    search = Fewest(lambda sets: [answer.fails for answer in asked.answers(sets)], np.arange(size, dtype=np.uint32))
    try:
        assert search.search() == members
    except Spent:
        assert members <= search.best


@pytest.mark.many
@pytest.mark.parametrize(("culprits", "most"), [(1, 25), (2, 50), (4, 90), (8, 170)])
def test_tests_that_it_takes_among_a_million(culprits: int, most: int) -> None:
    taken = []
    for seed in range(5):
        members, budget = BitMap(random.Random(seed).sample(range(10**6), culprits)), Budget()
        asked = oracle(lambda places, members=members: members <= places, budget)  # type: ignore[misc]
        assert Fewest(lambda sets, asked=asked: [answer.fails for answer in asked.answers(sets)], np.arange(10**6, dtype=np.uint32)).search() == members  # type: ignore[misc]
        taken.append(budget.tests)
    assert median(taken) <= most


def test_where_many_are_needed_each_takes_two_tests_or_so() -> None:
    budget = Budget()
    asked = oracle(lambda places: len(places) >= 1_000, budget)
    members = Fewest(lambda sets: [answer.fails for answer in asked.answers(sets)], np.arange(5_000, dtype=np.uint32)).search()
    assert len(members) == 1_000
    assert budget.tests <= 3_100


# ---- causes -------------------------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(0, 60), st.lists(st.integers(0, 55), min_size=60, max_size=90))
def test_the_drift_trap_names_both_corrupt_ones_wherever_they_are(first: int, second: int, others: list[int]) -> None:
    """The mean of the cars: innocents of more than 50 are wrong alone, and are no cause."""
    values = [41.0 + each % 15 for each in others]
    values.insert(second, 653)
    values.insert(first, 648)
    corrupt = {place for place, value in enumerate(values) if value > 600}
    bound = (mean([v for v in values if v < 600]) + mean([v for v in values if v != 653])) / 2  # right without both alone
    found = found_cause(values, mean, lambda value: value > bound)
    assert found.state is State.FOUND
    assert found.repair is not None
    assert set(found.repair) == corrupt
    assert not found.instead


def test_a_large_value_is_the_cause_and_not_many_small_ones_before_it() -> None:
    found = found_cause([50.0] * 10 + [900.0], sum, lambda value: value > 1_000)
    assert (found.repair, found.instead) == (BitMap([10]), [])


def test_where_any_would_do_none_is_the_cause() -> None:
    found = found_cause([50.0] * 21, sum, lambda value: value > 1_000)
    assert found.repair is not None
    assert len(found.repair) == 1
    assert len(found.instead) == 20


def test_where_any_two_would_do_that_is_said_too() -> None:
    found = found_cause([50.0] * 22, sum, lambda value: value > 1_000)
    assert found.repair is not None
    assert len(found.repair) == 2
    assert found.instead


@pytest.mark.parametrize("size", [30, EACH, EACH + 500, 20_000])
@pytest.mark.parametrize("needed", [1, 2])
def test_of_a_count_of_equal_records_what_is_wrong_alone_is_not_looked_for(size: int, needed: int) -> None:
    """Any of them would do, and as many tests as there are records would tell no more."""
    budget = Budget()
    asked = of_values([1.0] * size, sum, lambda value: value > size - needed, budget)
    found = cause(asked, suspicion(asked, size))
    assert found.state is State.FOUND
    assert (len(found.repair or ()), found.alone) == (needed, None)
    assert len(found.instead) >= DOZENS
    assert budget.tests <= min(size, EACH) + 700


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("size", [EACH, EACH + 500, WOVEN])
def test_one_that_the_record_behind_it_takes_back_would_do_as_well(size: int, pushed: bool) -> None:
    """An order of 5,000 and its refund: a block of both moves nothing."""
    values = [1.0] * size
    values[10], values[1_700], values[1_701] = 5_000, 5_000, -5_000
    asked = of_values(values, sum, lambda value: value > size + 4_000)
    if pushed:
        asked = Oracle(asked.answers, Budget(), asked.answers)
    found = cause(asked, suspicion(asked, size))
    assert {frozenset(each) for each in (found.repair or BitMap(), *found.instead)} == {frozenset({10}), frozenset({1_700})}


def test_how_many_others_were_left_out_one_by_one_is_known() -> None:
    size = EACH + 500
    tried = set[int]()

    def ask(sets: Sequence[BitMap]) -> list[Answer]:
        tried.update(next(iter(BitMap(range(size)) - each)) for each in sets if len(each) == size - 1)
        return [Answer(Outcome.FAIL if 7 in each else Outcome.PASS, 1e6 * (7 in each) + len(each)) for each in sets]

    asked = Oracle(ask, Budget())
    found = cause(asked, suspicion(asked, size))
    assert (found.repair, found.more, found.left_out) == (BitMap([7]), True, len(tried - {7}))


def test_what_only_very_many_are_wrong_together_with_is_no_evidence() -> None:
    budget = Budget()
    asked = of_values([*([1.0] * 9_999), 5_000.0], sum, lambda value: value > 14_990, budget)
    found = cause(asked, suspicion(asked, 10_000))
    assert (found.state, found.repair, found.instead, found.alone) == (State.FOUND, BitMap([9_999]), [], None)
    assert budget.tests <= 1_500


def test_what_would_be_right_only_without_very_many_has_no_cause() -> None:
    budget = Budget()
    asked = of_values([1.0] * 8_000, sum, lambda value: value > 100, budget)
    assert cause(asked, suspicion(asked, 8_000)).state is State.TOO_MANY
    assert budget.tests <= 2_600


@given(st.lists(st.integers(0, 9) | st.integers(700, 709), min_size=2, max_size=8), st.integers(1, 12))
def test_of_several_that_are_the_cause_nothing_that_is_no_larger_would_do_as_well(values: list[int], bound: int) -> None:
    """What is farthest apart: two high ones, or two low ones."""
    def apart(known: list[float]) -> float:
        return max(known) - min(known)

    found = found_cause(values, apart, lambda value: value > bound)
    if found.repair is None or found.instead:
        return
    for size in range(1, len(found.repair) + 1):
        for left_out in map(set, combinations(range(len(values)), size)):
            rest = [value for place, value in enumerate(values) if place not in left_out]
            assert left_out == set(found.repair) or not rest or apart(rest) > bound


def test_two_that_do_nothing_alone_are_found_wherever_they_stand() -> None:
    """The output was to be 4, and of nothing it is not there: without either 900 it is what it was."""
    values = [1, 5, 900, 900]

    def answer(places: BitMap) -> Answer:
        there = [values[place] for place in places]
        return Answer(Outcome.FAIL if max(there) - min(there) != 4 else Outcome.PASS, max(there) - min(there)) if there else Answer(Outcome.UNRESOLVED)

    asked = Oracle(lambda sets: [answer(each) for each in sets], Budget())
    found = cause(asked, suspicion(asked, len(values)))
    assert (found.state, found.repair, found.instead, found.sure) == (State.FOUND, BitMap([2, 3]), [], True)


@pytest.mark.parametrize(("others", "tied"), [([], {1, 2}), ([3], set())])
def test_what_is_joined_with_others_that_are_right_is_not_tied_to_what_is_wrong(others: list[int], tied: set[int]) -> None:
    """Candidate 0 is joined with 1 and with 2, as are the others, and what comes of 4 is there anyway."""
    def answer(places: BitMap) -> Answer:
        facts = [each for each in (1, 2) if each in places]
        rows = [1_000] * (0 in places) + [1 for each in others if each in places]
        pairs = [row for row in rows for _ in facts] + [1] * (4 in places)
        if not pairs:
            return Answer(Outcome.PASS, gone=True)
        return Answer(Outcome.FAIL if sum(pairs) > 100 else Outcome.PASS, sum(pairs))

    asked = Oracle(lambda sets: [answer(each) for each in sets], Budget())
    asked.there = True
    found = cause(asked, suspicion(asked, 5))
    assert (found.repair, set(found.tied)) == (BitMap([0]), tied)


HUGE = 1_000_000

Facts = list[tuple[frozenset[int], int]]
"""Of each, what it is joined with, and its value; that of one which is joined with nothing is there by itself."""


def stars(facts: Facts, dimensions: list[int]) -> Oracle:
    """A sum of the products of facts and what each is joined with. Candidates are the dimensions, then the facts."""
    def answer(places: BitMap) -> Answer:
        there = [(joined, value) for number, (joined, value) in enumerate(facts, len(dimensions)) if number in places]
        known = [value * weight for joined, value in there for weight in ([dimensions[each] for each in joined if each in places] if joined else [1])]
        if not known:
            return Answer(Outcome.PASS, gone=True)
        return Answer(Outcome.FAIL if sum(known) >= HUGE else Outcome.PASS, sum(known))

    asked = Oracle(lambda sets: [answer(each) for each in sets], Budget())
    asked.there = True
    return asked


@st.composite
def corrupt_stars(draw: st.DrawFn) -> tuple[Facts, list[int]]:
    dimensions = draw(st.lists(st.sampled_from([1, 1, 2, HUGE]), min_size=1, max_size=3))
    joined = st.frozensets(st.integers(0, len(dimensions) - 1), max_size=2)
    return draw(st.lists(st.tuples(joined, st.sampled_from([1, 2, 3, HUGE])), min_size=1, max_size=6)), dimensions


@given(corrupt_stars())
@example(([(frozenset(), HUGE), (frozenset([0]), HUGE), (frozenset([0]), HUGE), (frozenset(), 1)], [1]))
def test_7_of_several_no_innocent_one_is_named_for_what_is_joined_with_it(drawn: tuple[Facts, list[int]]) -> None:
    """A corrupt record, and the one that two corrupt ones are joined with, are fewer than these three."""
    facts, dimensions = drawn
    asked = stars(facts, dimensions)
    found = cause(asked, suspicion(asked, len(dimensions) + len(facts)))
    if found.repair is None or not found.sure or found.gone or found.instead or found.vital or found.tied:
        return
    corrupt = [*(weight == HUGE for weight in dimensions), *(value == HUGE for _, value in facts)]
    assert all(corrupt[each] for each in found.repair)


def test_two_that_stand_far_apart_are_fewer_than_all_before_the_second_one() -> None:
    """The 1,000 is suspected first, and without the -50 alone the variance is larger than without any other."""
    values = [-50, 1_000, 6, 6, 4, 5, 7, 1]
    found = found_cause(values, lambda known: sum((value - mean(known)) ** 2 for value in known) / len(known), lambda variance: variance > 5.36)
    assert (found.repair, found.instead) == (BitMap([0, 1]), [])


def test_two_pairs_that_would_do_are_both_named() -> None:
    found = found_cause([7, 7, 777, 777], lambda known: max(known) - min(known), lambda value: value > 8)
    assert found.repair is not None
    assert {frozenset(each) for each in (found.repair, *found.instead)} == {frozenset({0, 1}), frozenset({2, 3})}


@pytest.mark.parametrize(("low", "between", "high"), [(2, 61, 2), (3, 17, 3), (2, 4_996, 2), (3, 17, 2)])
@pytest.mark.parametrize("wrong", [lambda apart: apart > 60, lambda apart: abs(apart - 50) > 10], ids=["too large", "not as due"])
def test_what_shares_no_member_with_a_repair_of_several_is_named_however_many_there_are(low: int, between: int, high: int, wrong: Callable[[float], bool]) -> None:
    """Those at one end, or those at the other: of one from each end nothing comes."""
    values, budget = [0.0] * low + [50.0] * between + [100.0] * high, Budget()
    asked = of_values(values, lambda known: max(known) - min(known), wrong, budget)
    found = cause(asked, suspicion(asked, len(values)))
    assert found.repair is not None
    least = min(low, high)
    assert {frozenset(each) for each in (found.repair, *found.instead) if len(each) == least} == {
        each for each in (frozenset(range(low)), frozenset(range(low + between, len(values)))) if len(each) == least
    }
    assert budget.tests <= min(len(values), 500) + 500


def test_a_likely_member_of_several_is_replaced_as_well() -> None:
    """One of the two that are equal, and all that are below zero."""
    values = [50, 50, -1, -2, -3, -4, *range(10, 20)]
    found = found_cause(values, lambda known: float(min(known) < 0 or len(set(known)) < len(known)), bool)
    assert {frozenset(each) for each in (found.repair or BitMap(), *found.instead)} == {frozenset({0, 2, 3, 4, 5}), frozenset({1, 2, 3, 4, 5})}


def test_where_too_many_members_might_be_others_that_is_said() -> None:
    """Each member does nothing alone, and has another one far off that would do in its place."""
    size = SPARED + 4
    asked = oracle(lambda places: any({each, each + 100} <= set(places) for each in range(size)))
    found = cause(asked, suspicion(asked, 100 + size))
    assert len(found.repair or ()) == size
    assert found.instead
    assert found.untried == size - SPARED


def test_one_without_which_alone_the_output_is_gone_is_named_beside_what_lets_it_be_there() -> None:
    """The largest value, where a filter behind keeps 3 out: that the 3 is left out as well only lets the 2 be there."""
    def answer(places: BitMap) -> Answer:
        found = max((value for place, value in enumerate([1_000, 3, 2]) if place in places), default=3)
        return Answer(Outcome.PASS, gone=True) if found == 3 else Answer(Outcome.FAIL if found > 8 else Outcome.PASS, found)

    asked = Oracle(lambda sets: [answer(each) for each in sets], Budget())
    asked.there = True
    found = cause(asked, suspicion(asked, 3))
    assert (found.repair, found.vital, found.sure) == (BitMap([0, 1]), BitMap([0]), False)


def test_those_that_are_wrong_together_are_evidence_and_the_one_that_all_need_is_the_cause() -> None:
    values = [float(each % 7) for each in range(30)]
    values[17] = 9_000
    found = found_cause(values, lambda known: max(known) - min(known), lambda value: value > 8_999.5 - 5)
    assert found.repair == BitMap([17])
    assert found.alone is not None
    assert 17 in found.alone
    assert len(found.alone) == 2
    assert len(found.alike) > 5


@pytest.mark.parametrize(
    ("fails", "state"),
    [(lambda places: False, State.NOT_WRONG), (lambda places: True, State.ALWAYS_WRONG)],
)
def test_nothing_is_looked_for_where_nothing_or_everything_is_wrong(fails: Callable[[BitMap], bool], state: State) -> None:
    assert cause(oracle(fails), unsuspected(100)).state is state


def test_a_test_that_does_not_repeat_itself_is_said_to() -> None:
    chance = random.Random(5)
    assert cause(oracle(lambda places: bool(places) and (len(places) == 50 or chance.random() < 0.5)), unsuspected(50)).state in (State.NOT_REPRODUCIBLE, State.ALWAYS_WRONG)
    seen = set[tuple[int, ...]]()

    def once(places: BitMap) -> bool:
        """Wrong with the seventh, the first time that it is asked."""
        key = tuple(places)
        again = key in seen
        seen.add(key)
        return 7 in places and not again

    assert cause(oracle(once), unsuspected(50)).state is State.NOT_REPRODUCIBLE


@pytest.mark.parametrize("passes", [0.1, 0.2, 0.4])
def test_a_test_that_tosses_a_coin_is_taken_for_one_that_repeats_itself_in_one_of_some_hundreds(passes: float) -> None:
    taken = 0
    for seed in range(1_000):
        chance = random.Random(seed)
        asked = oracle(lambda places, chance=chance: bool(places) and chance.random() > passes)  # type: ignore[misc]
        found = cause(asked, suspicion(asked, 6))
        taken += found.state is State.FOUND and not found.instead
    assert taken <= 3


@given(st.integers(0, 60))
def test_a_budget_leaves_an_honest_answer(most: int) -> None:
    asked = oracle(lambda places: 77 in places, Budget(most))
    found = cause(asked, unsuspected(1_000))
    if found.state is State.ENDED:
        assert "spent" in found.why or "the next step takes more" in found.why
        assert found.repair is None or 77 in found.repair
    else:
        assert found.repair == BitMap([77])


@given(st.integers(0, 40))
def test_an_interruption_leaves_an_honest_answer_and_so_does_who_stops_it(after: int) -> None:
    for ends in ("it was interrupted", "it was stopped"):
        budget = Budget()
        asked = 0

        def ask(sets: Sequence[BitMap], ends: str = ends, budget: Budget = budget) -> list[Answer]:
            nonlocal asked
            asked += 1
            if asked > after:
                if ends == "it was interrupted":
                    raise KeyboardInterrupt
                budget.stop()
            return [FAIL if 33 in each else PASS for each in sets]

        known = faults([Subject(np.arange(1_000), Oracle(ask, budget))], budget)
        assert known.ended in (ends, None)
        assert all(33 in fault.repair for fault in known.found)
        if known.ended is None:
            assert [fault.repair for fault in known.found] == [frozenset([33])]


@pytest.mark.parametrize(("size", "most"), [(EACH - 1, 100), (EACH - 1, 1_500), (EACH - 1, EACH), (EACH + 1, 100), (EACH + 1, 400), (200, 40)])
def test_a_small_budget_is_not_eaten_by_the_ranking(size: int, most: int) -> None:
    values, budget = [1.0] * size, Budget(most)
    values[size // 2 + 7] = 1e6
    asked = of_values(values, sum, lambda value: value > 5e5, budget)
    known = faults([Subject(np.arange(size), asked)], budget)
    assert [fault.repair for fault in known.found] == [frozenset([size // 2 + 7])]
    assert (known.ended is None) == (most >= 400), "where there is enough for it, it is confirmed as well"


@pytest.mark.parametrize("blocks", [10, BLOCKS, 2 * BLOCKS, EACH])
def test_what_a_ranking_that_is_interrupted_has_seen_to_repair_is_told(blocks: int) -> None:
    size, left = (EACH, EACH) if blocks == EACH else (5_000, blocks + 2)

    def ask(sets: Sequence[BitMap]) -> list[Answer]:
        nonlocal left
        left -= len(sets)
        if left < 0:
            raise KeyboardInterrupt
        return [FAIL if 33 in each else PASS for each in sets]

    budget = Budget()
    known = faults([Subject(np.arange(size), Oracle(ask, budget))], budget)
    assert known.ended == "it was interrupted"
    assert all(33 in fault.repair and len(fault.repair) < size // 50 for fault in known.found)
    assert bool(known.found) == (blocks > 10)


def test_how_many_candidates_are_left_is_known_as_they_become_fewer() -> None:
    budget, left = Budget(), list[int]()

    def ask(sets: Sequence[BitMap]) -> list[Answer]:
        left.append(budget.left)
        return [FAIL if {7, 4_000} <= set(each) else PASS for each in sets]

    faults([Subject(np.arange(5_000), Oracle(ask, budget))], budget)
    assert left[0] == 5_000
    assert left == sorted(left, reverse=True)
    assert left[-1] == 1


# ---- where nothing at all is no answer ------------------------------------------------------------------------------


def due(values: Sequence[int], wanted: int) -> Oracle:
    """The sum is to be exactly this; of no values there is none."""

    def answer(places: BitMap) -> Answer:
        found = sum(values[place] for place in places)
        outcome = Outcome.UNRESOLVED if not places else Outcome.PASS if found == wanted else Outcome.FAIL
        return Answer(outcome, found if places else float("nan"))

    return Oracle(lambda sets: [answer(each) for each in sets], Budget())


@pytest.mark.parametrize(("values", "wanted", "culprits"), [([1, 2, 40, 5], 8, [2]), ([3] * 50 + [70, 3, 800], 153, [50, 52]), ([9, 8], 9, [1])])
def test_what_is_to_be_exactly_so_is_found_without_leaving_all_out(values: list[int], wanted: int, culprits: list[int]) -> None:
    asked = due(values, wanted)
    found = cause(asked, suspicion(asked, len(values)))
    assert (found.state, found.repair, found.instead) == (State.FOUND, BitMap(culprits), [])


@pytest.mark.parametrize(("values", "wanted"), [([1, 2, 3], 100), ([5], 4), ([2] * 5_000, 1)])
def test_what_no_removal_repairs_is_said_to_be_so(values: list[int], wanted: int) -> None:
    asked = due(values, wanted)
    assert cause(asked, suspicion(asked, len(values))).state is State.UNREPAIRED


def test_a_set_is_asked_about_once() -> None:
    asked: list[tuple[int, ...]] = []

    def ask(sets: Sequence[BitMap]) -> list[Answer]:
        asked.extend(map(tuple, sets))
        return [FAIL if 3 in each else PASS for each in sets]

    budget = Budget()
    found = cause(Oracle(ask, budget), unsuspected(20))
    assert found.repair == BitMap([3])
    again = 1 + RIGHT + AGAIN  # to see that it repeats itself
    assert len(asked) == len(set(asked)) + again == budget.tests


# ---- tests that are pushed down -----------------------------------------------------------------------------------


def pushed_down(fails: Callable[[BitMap], bool], quickly: Callable[[BitMap], bool]) -> tuple[Oracle, list[int]]:
    """An oracle whose pushed tests say something else than the program, and the sizes of the sets that the program itself was asked about."""
    asked: list[int] = []

    def ask(sets: Sequence[BitMap]) -> list[Answer]:
        asked.extend(map(len, sets))
        return [FAIL if fails(each) else PASS for each in sets]

    return Oracle(ask, Budget(), lambda sets: [FAIL if quickly(each) else PASS for each in sets]), asked


def test_the_program_is_asked_to_confirm_what_pushed_tests_found_and_about_nothing_else() -> None:
    asking, asked = pushed_down(lambda places: 33 in places, lambda places: 33 in places)
    known = faults([Subject(np.arange(100, 200), asking)], Budget())
    assert [fault.repair for fault in known.found] == [frozenset([133])]
    assert sorted(asked) == [*AGAIN * [1], *RIGHT * [99], 100], "all of them, without the cause, and the cause alone"
    assert asking.pushed


@pytest.mark.parametrize("quickly", [lambda places: 7 in places, lambda places: True, lambda places: False], ids=["another cause", "always wrong", "never wrong"])
def test_where_the_program_disagrees_it_is_searched_by_running_it(quickly: Callable[[BitMap], bool]) -> None:
    asking, asked = pushed_down(lambda places: 33 in places, quickly)
    known = faults([Subject(np.arange(100, 200), asking)], Budget())
    assert [fault.repair for fault in known.found] == [frozenset([133])]
    assert not known.strange
    assert not asking.pushed
    assert len(asked) > 100


def test_what_pushed_tests_take_for_as_good_a_cause_is_confirmed_as_well() -> None:
    asking, _ = pushed_down(lambda places: 33 in places, lambda places: {33, 44} <= set(places))
    known = faults([Subject(np.arange(100), asking)], Budget())
    assert [(fault.repair, fault.instead) for fault in known.found] == [(frozenset([33]), [])]


def test_what_the_program_itself_has_said_stands() -> None:
    asking, asked = pushed_down(lambda places: 33 in places, lambda places: 33 in places)
    asking.answers([BitMap([1])])
    asking.unpushed()
    asking.answers([BitMap([1]), BitMap([33])])
    assert (asked, asking.pushed) == ([1], False)


def test_whether_a_fault_explains_another_output_the_program_says_itself() -> None:
    asking, asked = pushed_down(lambda places: {1, 33} & set(places) != set(), lambda places: 33 in places)
    budget = Budget()
    known = faults([subject([133], lambda here: 133 in here, budget), Subject(np.arange(100, 200), asking)], budget)
    assert [fault.explains for fault in known.found] == [[0], [1]]
    assert [fault.repair for fault in known.found] == [frozenset([133]), frozenset([101, 133])]
    assert asked[0] == 99


# ---- suspicion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 40, EACH, EACH + 1, 100_000])
def test_the_one_that_moves_the_output_most_is_suspected_first(size: int) -> None:
    values = [1.0] * size
    values[size * 2 // 3] = 1e6
    budget = Budget()
    asked = of_values(values, sum, lambda value: value > 1e6 - 1, budget)
    found = suspicion(asked, size)
    assert found.order[0] == size * 2 // 3
    assert sorted(found.order.tolist()) == list(range(size))
    assert found.scores.max() == 1
    assert budget.tests <= (size + 1 if size <= EACH else 8 * BLOCKS)


def test_where_outputs_hold_no_number_those_that_repair_come_first_and_others_keep_their_order() -> None:
    found = suspicion(oracle(lambda places: 5 in places), 9)
    assert found.order.tolist() == [5, 0, 1, 2, 3, 4, 6, 7, 8]
    assert (found.singles, found.each) == ((5,), True)


def test_one_without_which_the_output_is_right_is_suspected_before_one_without_which_there_is_none() -> None:
    """A pair of a join: the first is of the other side, which all pairs of the key have."""

    def answer(places: BitMap) -> Answer:
        if 0 not in places:
            return Answer(Outcome.PASS, gone=True)
        found = float(sum(1_000 if place == 3 else 1 for place in places))
        return Answer(Outcome.FAIL if found > 500 else Outcome.PASS, found)

    found = suspicion(Oracle(lambda sets: [answer(each) for each in sets], Budget()), 6)
    assert found.order[:2].tolist() == [3, 0]
    assert found.singles == (3, 0)
    assert found.vital == (0,)


# ---- faults -------------------------------------------------------------------------------------------------------


def subject(candidates: list[int], fails: Callable[[set[int]], bool], budget: Budget) -> Subject:
    return Subject(np.array(candidates), oracle(lambda places: fails({candidates[place] for place in places}), budget))


def test_one_fault_explains_all_outputs_that_it_repairs_and_others_have_their_own() -> None:
    budget = Budget()
    known = faults([
        subject([1, 2, 3, 4, 5], lambda here: 3 in here, budget), subject([3, 7], lambda here: 3 in here, budget), subject([6, 9], lambda here: 9 in here, budget),
    ], budget)
    assert {(fault.repair, tuple(sorted(fault.explains))) for fault in known.found} == {(frozenset([3]), (0, 1)), (frozenset([9]), (2,))}


def test_of_those_that_might_be_the_cause_that_is_which_explains_more() -> None:
    budget = Budget()
    known = faults([subject([1, 2], lambda here: len(here) == 2, budget), subject([2, 3, 4], lambda here: 2 in here, budget)], budget)
    (fault,) = known.found
    assert (fault.repair, fault.instead, fault.explains) == (frozenset([2]), [], [0, 1])


def added(values: dict[int, float], budget: Budget) -> Subject:
    """An output that is the sum of its candidates' values, and wrong above 100."""
    asked = of_values(list(values.values()), sum, lambda value: value > 100, budget)
    return Subject(np.array(list(values)), asked)


def test_an_output_that_a_fault_of_another_explains_may_have_a_fault_of_its_own() -> None:
    """Two outputs share an innocent record, beside a corrupt one each: without the innocent one both are right."""
    budget = Budget()
    known = faults([added({1: 90, 2: 20}, budget), added({2: 20, 3: 90}, budget)], budget)
    (fault,) = known.found
    assert (fault.repair, fault.explains, fault.settled) == (frozenset([2]), [0, 1], False)
    assert fault.partly == [frozenset([1]), frozenset([3])]


def test_what_takes_the_value_of_another_output_away_does_not_explain_that_one() -> None:
    """Without the wrong rate 1 there is no total: the two facts of a million are wrong in it, too."""
    facts, budget = {2: 10**6, 3: 10**6, 4: 1}, Budget()

    def total(here: set[int]) -> Answer:
        known = [facts[each] for each in here if each in facts]
        if 1 not in here or not known:
            return Answer(Outcome.PASS, gone=not known)
        return Answer(Outcome.FAIL if 1_000 * sum(known) > 10**5 else Outcome.PASS, 1_000 * sum(known))

    def ask(sets: Sequence[BitMap]) -> list[Answer]:
        return [total({each + 1 for each in places}) for places in sets]

    rates = subject([0, 1], lambda here: 1 in here, budget)
    known = faults([rates, Subject(np.array([1, 2, 3, 4]), Oracle(ask, budget))], budget)
    assert [(fault.repair, fault.explains) for fault in known.found] == [(frozenset([1]), [0]), (frozenset([2, 3]), [1])]


def test_of_a_fault_that_is_certain_what_else_would_repair_some_is_named_besides() -> None:
    budget = Budget()
    for outputs in ([{1: 900, 2: 20}, {1: 90, 3: 20, 4: 1}], [{1: 90, 3: 20}, {1: 900, 2: 20, 4: 1}]):  # the certain one first, and last
        (fault,) = faults([added(values, budget) for values in outputs], budget).found
        assert (fault.repair, fault.explains, fault.settled, fault.partly) == (frozenset([1]), [0, 1], True, [frozenset([3])])


def test_a_fault_of_several_members_says_so_of_what_one_record_repairs_as_well() -> None:
    budget = Budget()
    (fault,) = faults([added({1: 150, 2: 150}, budget), added({1: 150, 2: 150, 3: 1}, budget)], budget).found
    assert (fault.repair, fault.partly, fault.settled) == (frozenset([1, 2]), [], True)
    (fault,) = faults([added({1: 70, 2: 70, 4: 70}, budget), added({1: 40, 2: 40, 3: 90, 5: 2}, budget)], budget).found
    assert frozenset([3]) in fault.partly


def test_an_output_that_two_faults_make_wrong_has_no_third_one() -> None:
    budget = Budget()
    known = faults([added({0: 1, 1: 1_000}, budget), added({2: 2_000, 3: 1}, budget), added({0: 1, 1: 1_000, 2: 2_000, 3: 1, 4: 1}, budget)], budget)
    assert [(fault.repair, fault.explains, fault.shares, fault.partly) for fault in known.found] == [(frozenset([1]), [0], [2], []), (frozenset([2]), [1], [2], [])]
    known = faults([added({0: 1, 1: 1_000}, budget), added({2: 60, 3: 60}, budget), added({1: 1_000, 2: 60, 3: 60, 4: 1}, budget)], budget)
    assert [fault.shares for fault in known.found] == [[2], [2]]
    assert all(frozenset([1, 3]) in fault.partly for fault in known.found), "one of the two at 60 would do as well, as it would of the second output"


def test_a_fault_explains_no_output_that_was_not_made_of_all_of_it() -> None:
    """The first output is wrong with either of 1 and 3, the second one was made of one of them: nobody is to read that the other one is wrong in it."""
    budget = Budget()
    known = faults([added({1: 900, 2: 1, 3: 900}, budget), added({2: 1, 3: 900, 4: 1, 5: 1}, budget)], budget)
    assert [(fault.repair, fault.explains) for fault in known.found] == [(frozenset([1, 3]), [0]), (frozenset([3]), [1])]


def test_what_only_adds_to_a_part_that_is_enough_is_said_of_no_output() -> None:
    """The second output is right without 1 alone: that it is without 1 and 3, too, says nothing of 3."""
    budget = Budget()
    (fault,) = faults([added({1: 150, 2: 150, 5: 1}, budget), added({1: 150, 2: 20, 3: 1, 4: 1, 6: 1}, budget)], budget).found
    assert (fault.repair, fault.explains) == (frozenset([1, 2]), [0, 1])
    assert not any(3 in each or 4 in each for each in fault.partly)


def test_the_order_of_records_is_tried_on_several_of_the_outputs_that_a_fault_explains() -> None:
    budget, tried = Budget(), list[int]()
    known = faults([added({1: 900, 10 + n: 1} if n else {1: 900}, budget) for n in range(9)], budget)
    (fault,) = known.found
    assert len(fault.explains) == 9

    def in_order(asked: Asked, order: int) -> dict[int, list[Answer]]:
        tried.extend(asked)
        return {number: [PASS, PASS] if number == 2 else [FAIL, PASS] for number in asked}

    subjects = [added({1: 900, 10 + n: 1} if n else {1: 900}, budget) for n in range(9)]
    assert unordered(known, subjects, in_order) == {2}
    first = fault.explains[:ORDERED]
    assert tried == [*first, *2 * [number for number in first if number != 2]]  # of what is known to hang on order, no more is asked
    tried.clear()
    assert unordered(known, subjects, in_order, among=[7]) == set()
    assert tried == [7, 7, 7]
    assert [each.explains for each in by_order(known.found, {2})] == [[0, 1, 3, 4, 5, 6, 7, 8], [2]]
    assert by_order(known.found, {2})[1].repair == fault.repair


def test_faults_that_are_known_are_told_when_the_budget_ends() -> None:
    budget = Budget(9)
    known = faults([subject([1], lambda here: 1 in here, budget), subject(list(range(10, 400)), lambda here: 33 in here, budget)], budget)
    assert [fault.repair for fault in known.found] == [frozenset([1])]
    assert known.ended == "the next step takes more than the 7 left of its 9 tests"


# ---- candidates ---------------------------------------------------------------------------------------------------

standings = st.dictionaries(
    st.integers(1, 5), st.dictionaries(st.integers(0, 3), st.sets(st.integers(0, 9)).map(lambda at: np.array(sorted(at), dtype=np.int64)), max_size=3), max_size=3,
)


@given(standings, st.data())
def test_numbers_name_records_and_records_numbers(standing: dict[int, dict[int, np.ndarray]], data: st.DataObject) -> None:
    candidates = Candidates(standing)
    every = [(o, p, int(at)) for o in sorted(standing) for p in sorted(standing[o]) for at in standing[o][p]]
    assert len(candidates) == len(every)
    chosen = sorted(data.draw(st.sets(st.sampled_from(range(len(every)))))) if every else []
    placed = candidates.standing(chosen)
    assert [(o, p, int(at)) for o, places in placed.items() for p, found in places.items() for at in found] == [every[n] for n in chosen]
    assert candidates.numbers(placed).tolist() == chosen
    assert [candidates.operator(n) for n in chosen] == [every[n][0] for n in chosen]
    assert all(candidates.begins(o) == next(n for n, each in enumerate(every) if each[0] == o) for o in {each[0] for each in every})
