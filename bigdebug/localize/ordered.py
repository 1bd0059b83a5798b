"""Ordered: outputs that are wrong, or right without their cause, only in the order in which the records came."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from pyroaring import BitMap

from bigdebug.localize.known import Fault, Faults
from bigdebug.localize.oracle import Answer
from bigdebug.localize.progress import Step
from bigdebug.localize.subject import Subject

Asked = Mapping[int, Sequence[BitMap]]
"""Sets that are asked about, by the number of the output."""

ORDERED = 5
"""Of the outputs that a fault explains, so many are tried on the records in another order."""

ORDERS, MANY = (2, 1, 3), 20_000
"""Other orders that they are tried in (agents/orders.py): what neighbours decide may be the same the other way around. More records than so many are tried in the first of these."""


def unordered(
    known: Faults, subjects: Sequence[Subject], in_order: Callable[[Asked, int], Mapping[int, Sequence[Answer]]], among: Collection[int] | None = None,
    orders: Sequence[int] = ORDERS,
) -> set[int]:
    """The outputs that are right, or stay wrong without their cause, if the records come in another order: ``in_order`` answers for outputs on sets so, all at once.

    Of those that each fault explains, the first ORDERED are asked about, if they are ``among`` some; of more than MANY records, in the first of the ``orders`` alone. None if
    the search was ended.
    """
    asked: dict[int, list[BitMap]] = {}
    for fault in known.found if known.ended is None else ():
        for number in [each for each in fault.explains if among is None or each in among][:ORDERED]:
            every = BitMap(range(len(subjects[number].candidates)))
            subjects[number].oracle.course.step = Step.ORDERING
            asked[number] = [every, every - subjects[number].places(fault.repair)]
    found = set[int]()
    for order in orders:
        those = {number: sets for number, sets in asked.items() if number not in found and (order == orders[0] or len(sets[0]) <= MANY)}
        if those:
            found |= {number for number, (whole, repaired) in in_order(those, order).items() if not whole.fails or not repaired.passes}
    return found


def by_order(found: Sequence[Fault], unordered: Collection[int]) -> list[Fault]:
    """The faults, those of outputs that hang on the order of records for themselves."""
    parted = []
    for fault in found:
        for hangs in (False, True):
            explains = [number for number in fault.explains if (number in unordered) is hangs]
            if explains:
                parted.append(replace(fault, explains=explains))
    return parted
