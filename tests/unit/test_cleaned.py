"""The cleaning loop by itself: a round is kept only if it makes bad outputs fewer or better, and loses no good ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bigdebug.mining.cleaned import Cleaned, Rating
from bigdebug.mining.cleaning import cleaned
from bigdebug.model import SourceRecord

Fact = tuple[str, int, int]


class Places(frozenset[int]):
    """Suspects: places of records."""

    def without(self, others: Any) -> Places:
        return Places(self - others)

    def union(self, *others: Any) -> Places:
        return Places(frozenset.union(self, *others))


@dataclass
class Totals:
    """What the program gives: each key's fact times the rate, and nothing without a rate; small numbers are good."""

    outputs: list[tuple[int, int]]

    @property
    def qualities(self) -> list[float]:
        return [-abs(value) for _, value in self.outputs]


@dataclass
class Rated:
    """A program of facts that one rate is joined with, and of what is suspected in each round."""

    records: list[Fact]
    rounds: list[Places]

    def result(self) -> Totals:
        return self.without(Places())[0]

    def suspected(self, now: Totals, worst: Sequence[int], bar: float) -> tuple[Places, str]:
        return self.rounds.pop(0), "you"

    def without(self, suspects: Places) -> tuple[Totals, None]:
        left = [record for place, record in enumerate(self.records) if place not in suspects]
        rates = [value for kind, _, value in left if kind == "rate"]
        return Totals([(key, value * rates[0]) for kind, key, value in left if kind == "fact"] if rates else []), None

    def listed(self, suspects: Places) -> tuple[tuple[SourceRecord, ...], int]:
        return (), len(suspects)


def of_a_rate(*suspected: Places) -> Cleaned:
    facts = [("fact", key, 5_000 if key == 99 else 1) for key in range(100)]
    return cleaned(Rated([("rate", 0, 2), *facts], [*suspected]), -100, 3, False)


def test_a_round_that_loses_good_outputs_is_undone_and_says_so() -> None:
    found = of_a_rate(Places([0]))
    assert [each.kept for each in found.rounds] == [False]
    assert len(found.outputs) == 100
    assert found.reason == "round 1 lost 99 good outputs, and was undone"
    one = of_a_rate(Places([1, 100]))
    assert (one.reason, len(one.outputs)) == ("round 1 lost 1 good output, and was undone", 100)


def test_a_bad_output_may_go() -> None:
    found = of_a_rate(Places([100]))
    assert [each.kept for each in found.rounds] == [True]
    assert (len(found.outputs), found.reason) == (99, "no output is below the bar any more")


def test_better_keeps_all_good_ones() -> None:
    before = Rating.of([-9.0, -8.0, 1.0], 0.0)
    assert not Rating.of([-8.0], 0.0).better(before)
    assert Rating.of([-8.0, 1.0], 0.0).better(before)
    assert Rating.of([1.0, 2.0, 3.0], 0.0).better(before)
