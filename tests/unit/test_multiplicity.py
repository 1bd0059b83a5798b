"""Output multiplicity: inputs and partitions with unusually many outputs, or few (FEATURES N5)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import UnknownRecordError
from bigdebug.graph import CallSite, Form, Kind, Operator
from bigdebug.mining.multiplicity import Suspect, Way, suspects

USUAL = np.array([1, 2, 1, 1, 3, 2, 1, 2, 2, 1] * 10)


def with_one(position: int, outputs: int) -> np.ndarray:
    counts = USUAL.copy()
    counts[position] = outputs
    return counts


def places(found: list[Suspect]) -> list[tuple[int, int, int | None]]:
    return [(each.operator, each.partition, each.position) for each in found]


def test_an_input_with_many_outputs_is_told_with_its_evidence() -> None:
    (suspect,) = suspects({(7, 0): USUAL, (7, 1): with_one(42, 60)})
    assert (suspect.operator, suspect.partition, suspect.position, suspect.multiplicity) == (7, 1, 42, 60)
    assert suspect.score > 1
    assert suspect.evidence.startswith("Input 42 of partition 1 of operator 7 has 60 outputs, where the 99 usual inputs have 1.6")
    assert "chance allows 3.38" in suspect.evidence


def test_an_output_of_many_inputs_is_told_as_such() -> None:
    (suspect,) = suspects({(7, 1): with_one(42, 60)}, way=Way.INPUTS)
    assert (suspect.position, suspect.multiplicity, suspect.way) == (42, 60, Way.INPUTS)
    assert suspect.evidence.startswith("Output 42 of partition 1 of operator 7 was made of 60 inputs, where the 99 usual outputs have 1.606 ")
    wide = {(3, partition): USUAL * (4 if partition == 8 else 1) + partition % 2 for partition in range(9)}
    assert suspects(wide, way=Way.INPUTS)[-1].evidence.startswith("Partition 8 of operator 3 has 6.4 inputs per output (100 outputs), ")


def test_inputs_without_outputs_are_told_where_that_is_rare() -> None:
    found = suspects({(1, 0): np.array([1] * 60 + [0, 0] + [1] * 40)})
    assert places(found) == [(1, 0, 60), (1, 0, 61)]
    assert "has 0 outputs (as 1 other have)" not in found[0].evidence
    assert "has 0 outputs (as 1 other has)" in found[0].evidence
    assert suspects({(1, 0): np.array([1, 0] * 50)}) == []


def test_a_partition_whose_mean_is_unlike_those_of_the_same_operator_is_told() -> None:
    counts = {(3, partition): USUAL + partition % 2 for partition in range(8)} | {(3, 8): USUAL * 4, (4, 0): USUAL * 9, (4, 1): USUAL}
    (suspect,) = suspects(counts)
    assert (suspect.operator, suspect.partition, suspect.position) == (3, 8, None)
    assert suspect.multiplicity == pytest.approx(6.4)
    assert suspect.evidence.startswith("Partition 8 of operator 3 has 6.4 outputs per input (100 inputs), where the 8 usual partitions have 2.1 ")


def test_of_two_partitions_none_is_told_nor_is_one_without_inputs() -> None:
    assert suspects({(3, 0): USUAL, (3, 1): USUAL * 50, (3, 2): np.array([], dtype=np.int64)}) == []


def test_what_only_bad_outputs_were_made_of_comes_before_what_good_ones_were_made_of_too() -> None:
    counts = with_one(10, 300)
    counts[20], counts[30], counts[40] = 400, 500, 600
    bad, good = {(1, 0): [10, 20]}, {(1, 0): [20, 40, *range(50, 100)]}
    assert [each.position for each in suspects({(1, 0): counts})] == [40, 30, 20, 10]
    assert [each.position for each in suspects({(1, 0): counts}, bad)] == [20, 10, 40, 30]
    found = suspects({(1, 0): counts}, bad, good)
    assert [each.position for each in found] == [10, 20]
    assert found[0].evidence.endswith("Only bad outputs were made of it.")
    assert found[1].evidence.endswith("Bad and good outputs were made of it.")


def test_given_good_ones_alone_they_come_last() -> None:
    counts = with_one(10, 300)
    counts[20] = 400
    assert [each.position for each in suspects({(1, 0): counts}, good={(1, 0): [20]})] == [10, 20]


def test_given_bad_ones_only_their_instances_are_told_but_all_are_compared() -> None:
    counts = {(1, partition): USUAL + partition % 2 for partition in range(9)}
    counts[1, 3], counts[1, 4], counts[2, 0] = USUAL * 50, with_one(5, 80), with_one(6, 80)
    everything = suspects(counts)
    assert {(1, 3, None), (1, 4, 5), (2, 0, 6)} <= {*places(everything)}
    assert places(suspects(counts, {(1, 3): [0]})) == [(1, 3, None)]
    assert places(suspects(counts, {(2, 0): np.array([6])})) == [(2, 0, 6)]
    assert suspects(counts, {}) == []


def test_with_bad_and_good_ones_inputs_of_neither_are_no_baseline() -> None:
    """Half of the partition is as wrong as the bad one, so that nothing is unusual until good outputs say what is right."""
    counts = np.array([1, 2] * 50 + [30, 31] * 50)
    assert suspects({(1, 0): counts}, {(1, 0): [100]}) == []
    assert places(suspects({(1, 0): counts}, {(1, 0): [100]}, {(1, 0): range(40)})) == [(1, 0, 100)]
    assert suspects({(1, 0): counts}, {(1, 0): [100]}, {(1, 0): [0]}) == [], "two are no sample"


def test_of_a_few_none_is_the_odd_one_out() -> None:
    assert suspects({(1, 0): np.array([99, 100, 100])}) == []
    assert suspects({(1, partition): USUAL * (9 if partition else 1) for partition in range(4)}) == []
    assert places(suspects({(1, 0): np.array([1, 2, 1, 2, 90])})) == [(1, 0, 4)]


def test_an_outlier_that_others_mask_is_no_less_suspicious_than_they() -> None:
    counts = USUAL.copy()
    counts[:8] = [20, 21, 22, 23, 24, 25, 26, 27]
    found = suspects({(1, 0): counts})
    assert [each.position for each in found] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert all(one.score >= other.score > 1 for one, other in pairwise(found))


@pytest.mark.parametrize("unusual", [[1000] * 3, [900, 1000, 1100], [1000] * 12, [0] * 5, [*range(1000, 1010)]], ids=str)
def test_all_that_are_unusual_are_told_while_most_are_not_also_where_they_are_alike(unusual: list[int]) -> None:
    usual = [1, 2, 1, 2, 3, 1, 2, 2, 1, 3, 2, 1, 2, 1, 3, 2, 1]
    usual += [2] * 17 if len(unusual) > 3 else []
    usual = [each + 60 for each in usual] if 0 in unusual else usual
    found = suspects({(1, 0): np.array(usual + unusual)})
    assert sorted(each.multiplicity for each in found) == unusual
    (alone,) = {each.partition for each in suspects({(2, n): np.array([count] * 5) for n, count in enumerate([*usual, 90])})}
    assert alone == len(usual)


def test_the_first_of_an_instance_are_told_and_operators_have_their_names() -> None:
    operator = Operator(1, "flatMap", Kind.DISPATCHER, Form.OFFSETS, (), 2, CallSite("job.py", 12))
    counts = np.array([1] * 1000 + list(range(100, 130)))
    found = suspects({(1, 0): counts}, called=lambda place: f"partition {place[1]} of {operator}", most=5)
    assert [each.position for each in found] == [1029, 1028, 1027, 1026, 1025]
    assert "partition 0 of flatMap#1 at job.py:12 has 129 outputs" in found[0].evidence


@pytest.mark.parametrize("positions", [{(1, 0): [100]}, {(1, 0): [-1]}, {(9, 9): [0]}])
@pytest.mark.parametrize("side", ["bad", "good"])
def test_inputs_that_nobody_counted_are_refused(side: str, positions: dict[tuple[int, int], list[int]]) -> None:
    with pytest.raises(UnknownRecordError, match="inputs in partition"):
        suspects({(1, 0): USUAL}, **{side: positions})


COUNTS = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(0, 4)), st.lists(st.integers(0, 3) | st.just(90), max_size=30).map(np.array), max_size=10,
)


@given(COUNTS, st.data())
def test_bad_and_good_ones_narrow_what_is_told(counts: dict[tuple[int, int], np.ndarray], data: st.DataObject) -> None:
    def drawn() -> dict[tuple[int, int], list[int]]:
        return {place: data.draw(st.lists(st.integers(0, len(each) - 1))) for place, each in counts.items() if len(each)}

    bad, good = drawn(), drawn()
    everything, narrowed, ranked = suspects(counts), suspects(counts, bad), suspects(counts, bad, good)
    assert {*places(narrowed)} <= {*places(everything)}
    assert all(bad[each.operator, each.partition] for each in narrowed + ranked)
    assert all(a.score >= b.score for a, b in pairwise(everything))
    for each in everything:
        if each.position is not None:
            assert each.multiplicity == counts[each.operator, each.partition][each.position]
    for each in ranked:
        place = each.operator, each.partition
        assert each.position is None or each.position in bad[place] or each.position not in good[place]
