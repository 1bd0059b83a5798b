"""Association tables against relations written out in plain Python: every pair of an input and its output."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigdebug.agents.notes import smallest
from bigdebug.errors import TooLargeError, UntraceableError
from bigdebug.store.ranges import spread
from bigdebug.trace.joins import Product
from bigdebug.trace.multiplicities import inputs_of, outputs_of
from bigdebug.trace.pairs import pairs_of
from bigdebug.trace.positions import distinct, members
from bigdebug.trace.tables import AssociationTable, association_table


class Case(NamedTuple):
    """A table as it is read from a block, and what it means."""

    table: Any
    pairs: set[tuple[int, int]]
    inputs: int
    outputs: int


def noted(form: str, values: dict[str, list[int]], inputs: int, outputs: int, right: list[bool] | None = None, **detail: Any) -> AssociationTable:
    columns = {f"segment0.{name}": smallest(np.array(column, dtype=np.int64)) for name, column in values.items()}
    return association_table(form, "segment0", columns, inputs, outputs, None if right is None else np.array(right, dtype=bool), detail)


def sizes(most: int = 8) -> st.SearchStrategy[int]:
    return st.integers(0, most)


@st.composite
def one_to_one(draw: st.DrawFn, inputs: int | None = None) -> Case:
    n = draw(sizes()) if inputs is None else inputs
    return Case(noted("one to one", {}, n, n), {(i, i) for i in range(n)}, n, n)


@st.composite
def offsets(draw: st.DrawFn, inputs: int | None = None) -> Case:
    n = draw(sizes()) if inputs is None else inputs
    given_ = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    owners = [i for i, count in enumerate(given_) for _ in range(count)]
    before = [total - count for total, count in zip(accumulate(given_), given_)]
    return Case(noted("offsets", {"offsets": before}, n, len(owners)), {(i, o) for o, i in enumerate(owners)}, n, len(owners))


@st.composite
def kept(draw: st.DrawFn, inputs: int | None = None) -> Case:
    n = draw(sizes()) if inputs is None else inputs
    mask = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    stay = [i for i in range(n) if mask[i]]
    return Case(noted("kept", {"kept": stay}, n, len(stay)), {(i, o) for o, i in enumerate(stay)}, n, len(stay))


@st.composite
def paired(draw: st.DrawFn, inputs: int | None = None) -> Case:
    n = draw(sizes()) if inputs is None else inputs
    reads = sorted(draw(st.lists(st.integers(0, n), max_size=8)))
    pairs = {(i, o) for o, read in enumerate(reads) for i in range(read)}
    return Case(noted("paired", {"reads": reads}, n, len(reads)), pairs, n, len(reads))


@st.composite
def whole(draw: st.DrawFn, inputs: int | None = None) -> Case:
    n = draw(sizes()) if inputs is None else inputs
    m = draw(sizes(3))
    return Case(noted("whole", {}, n, m), {(i, o) for i in range(n) for o in range(m)}, n, m)


def dense(keys: list[int]) -> list[int]:
    """Codes in the order of first appearance, as merges give them."""
    known: dict[int, int] = {}
    return [known.setdefault(key, len(known)) for key in keys]


@st.composite
def codes(draw: st.DrawFn) -> Case:
    given_ = dense(draw(st.lists(st.integers(0, 4), max_size=8)))
    groups = len(set(given_))
    return Case(noted("codes", {"codes": given_}, len(given_), groups), set(enumerate(given_)), len(given_), groups)


@st.composite
def order(draw: st.DrawFn) -> Case:
    n = draw(sizes())
    given_ = draw(st.permutations(range(n)))
    return Case(noted("sort", {"order": given_}, n, n), {(i, o) for o, i in enumerate(given_)}, n, n)


def joined(keys: list[int], right: list[bool], outer_left: bool, outer_right: bool) -> list[tuple[int | None, int | None]]:
    """The outputs of a join, each as the positions of its left and right record."""
    outputs = []
    for group in range(len(set(keys))):
        lefts: list[int | None] = [i for i, k in enumerate(keys) if k == group and not right[i]]
        rights: list[int | None] = [i for i, k in enumerate(keys) if k == group and right[i]]
        lefts, rights = lefts or [None] * outer_right, rights or [None] * outer_left
        outputs.extend((a, b) for a in lefts for b in rights)
    return outputs


two_sided = st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=9)


@st.composite
def join(draw: st.DrawFn) -> Case:
    arrived = draw(two_sided)
    outer = draw(st.booleans()), draw(st.booleans())
    keys, right = dense([key for key, _ in arrived]), [side for _, side in arrived]
    outputs = joined(keys, right, *outer)
    made = noted("join", {"codes": keys}, len(keys), len(outputs), right, outer_left=outer[0], outer_right=outer[1])
    return Case(made, {(i, o) for o, pair in enumerate(outputs) for i in pair if i is not None}, len(keys), len(outputs))


@st.composite
def subtract(draw: st.DrawFn) -> Case:
    arrived = draw(two_sided)
    keys, right = dense([key for key, _ in arrived]), [side for _, side in arrived]
    blocked = {key for key, side in zip(keys, right) if side}
    stay = sorted((i for i, key in enumerate(keys) if key not in blocked), key=lambda i: keys[i])
    made = noted("subtract", {"codes": keys}, len(keys), len(stay), right)
    return Case(made, {(i, o) for o, i in enumerate(stay)}, len(keys), len(stay))


class OneSide(NamedTuple):
    """A product as seen from one of its parents."""

    product: Product
    right: bool

    def back(self, outputs: Any) -> Any:
        return self.product.back(outputs, self.right)

    def ahead(self, inputs: Any) -> Any:
        return self.product.ahead(inputs, self.right)


@st.composite
def product(draw: st.DrawFn) -> Case:
    """Frames of both parents, each left one with each right one."""
    frames = [draw(st.lists(st.integers(1, 3), max_size=3)) for _ in range(2)]
    spans = [[(total - size, size) for total, size in zip(accumulate(side), side)] for side in frames]
    facts = [(*a, *b) for a in spans[0] for b in spans[1]]
    outputs = [(x, y) for a, m, b, n in facts for x in range(a, a + m) for y in range(b, b + n)]
    outputs = outputs[: draw(st.integers(0, len(outputs)))]  # take() may not ask for all
    made = Product(len(outputs), *np.array(facts, dtype=np.int64).reshape(-1, 4).T)
    right = draw(st.booleans())
    return Case(OneSide(made, right), {(pair[right], o) for o, pair in enumerate(outputs)}, sum(frames[right]), len(outputs))


NARROW = [one_to_one, offsets, kept, paired, whole]
FORMS = (*NARROW, codes, order, join, subtract, product)
cases = st.one_of(*[form() for form in FORMS])
every_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)


def positions(values: Iterable[int]) -> np.ndarray[Any, Any]:
    return np.array(sorted(values), dtype=np.int64)


def some_of(count: int) -> st.SearchStrategy[set[int]]:
    return st.sets(st.integers(0, count - 1)) if count else st.just(set())


def assert_positions(found: np.ndarray[Any, Any], expected: set[int]) -> None:
    assert found.tolist() == sorted(expected)  # sorted and unique too
    assert found.dtype == np.int64


@every_form
@given(data=st.data())
def test_back_gives_the_inputs_of_any_outputs(form: Any, data: st.DataObject) -> None:
    case = data.draw(form())
    wanted = data.draw(some_of(case.outputs))
    assert_positions(case.table.back(positions(wanted)), {i for i, o in case.pairs if o in wanted})


@every_form
@given(data=st.data())
def test_ahead_gives_the_outputs_of_any_inputs(form: Any, data: st.DataObject) -> None:
    case = data.draw(form())
    wanted = data.draw(some_of(case.inputs))
    assert_positions(case.table.ahead(positions(wanted)), {o for i, o in case.pairs if i in wanted})


@given(cases)
def test_back_and_ahead_are_the_same_relation_read_both_ways(case: Case) -> None:
    back = {(int(i), o) for o in range(case.outputs) for i in case.table.back(positions([o]))}
    ahead = {(i, int(o)) for i in range(case.inputs) for o in case.table.ahead(positions([i]))}
    assert back == ahead == case.pairs


@every_form
@given(data=st.data())
def test_multiplicities_count_the_pairs_of_each_input_and_output(form: Any, data: st.DataObject) -> None:
    case = data.draw(form())
    if form is product:
        with pytest.raises(UntraceableError, match="OneSide"):
            outputs_of(case.table, case.inputs, case.outputs)
        return
    sizes_ = np.array(data.draw(st.lists(st.integers(1, 9), min_size=case.inputs, max_size=case.inputs)), dtype=np.int64)
    assert outputs_of(case.table, case.inputs, case.outputs).tolist() == [sum(i == a for a, _ in case.pairs) for i in range(case.inputs)]
    assert inputs_of(case.table, sizes_, case.outputs).tolist() == [sum(int(sizes_[a]) for a, b in case.pairs if b == o) for o in range(case.outputs)]


@every_form
@given(data=st.data())
def test_pairs_are_all_of_some_outputs(form: Any, data: st.DataObject) -> None:
    case = data.draw(form())
    if form is product:
        return
    outputs = positions(data.draw(some_of(case.outputs)))
    which, inputs = pairs_of(case.table, outputs)
    found = list(zip(inputs.tolist(), outputs[which].tolist()))
    assert sorted(found) == sorted((i, o) for i, o in case.pairs if o in set(outputs.tolist()))


def test_pairs_of_all_with_all_are_refused_where_they_are_too_many() -> None:
    with pytest.raises(TooLargeError, match="mapPartitions"):
        pairs_of(noted("whole", {}, 1 << 20, 1 << 10), np.arange(1 << 10))


@st.composite
def chains(draw: st.DrawFn) -> list[Case]:
    """The tables of a stage: whatever arrives, then narrow segments."""
    chain = [draw(cases)]
    for form in draw(st.lists(st.sampled_from(NARROW), min_size=1, max_size=4)):
        chain.append(draw(form(chain[-1].outputs)))
    return chain


@given(chains(), st.data())
def test_tables_one_after_the_other_are_the_composed_relation(chain: list[Case], data: st.DataObject) -> None:
    pairs = chain[0].pairs
    for case in chain[1:]:
        pairs = {(i, o) for i, middle in pairs for start, o in case.pairs if start == middle}
    inputs, outputs = data.draw(some_of(chain[0].inputs)), data.draw(some_of(chain[-1].outputs))
    at = positions(outputs)
    for case in reversed(chain):
        at = case.table.back(at)
    assert_positions(at, {i for i, o in pairs if o in outputs})
    at = positions(inputs)
    for case in chain:
        at = case.table.ahead(at)
    assert_positions(at, {o for i, o in pairs if i in inputs})


# take() and first() stop early: all records have arrived, and only the first outputs have left.

ARRIVED = {"codes": [0, 1, 2, 0, 1, 2]}
SIDES = [False, False, False, True, True, True]


@pytest.mark.parametrize(
    ("form", "right"),
    [
        ("codes", None),
        ("join", SIDES),
        ("subtract", [False] * 6),
    ],
)
def test_outputs_that_did_not_leave_are_in_no_answer(form: str, right: Any) -> None:
    cut = noted(form, ARRIVED, 6, 2, right, outer_left=False, outer_right=False)
    everything = cut.ahead(np.arange(6))
    assert everything.tolist() == [0, 1]
    assert (outputs_of(cut, 6, 2) > 0).tolist() == [i in cut.back(everything) for i in range(6)]
    assert inputs_of(cut, np.ones(6, dtype=np.int64), 2).sum() == outputs_of(cut, 6, 2).sum()
    assert cut.back(everything).tolist() == {"codes": [0, 1, 3, 4], "join": [0, 1, 3, 4], "subtract": [0, 3]}[form]


# ---- what tables are made of --------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2**62), max_size=30) | st.lists(st.integers(0, 3), max_size=30))
@example([])
def test_distinct_is_sorted_and_unique(values: list[int]) -> None:
    assert_positions(distinct(np.array(values, dtype=np.uint64)), set(values))


@given(st.lists(st.integers(0, 9), max_size=20), st.sets(st.integers(0, 9)))
def test_members_marks_those_that_are_wanted(values: list[int], wanted: set[int]) -> None:
    found = members(np.array(values, dtype=np.uint8), positions(wanted), 10)
    assert found.tolist() == [value in wanted for value in values]


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 4)), max_size=10))
def test_spread_writes_ranges_out(ranges: list[tuple[int, int]]) -> None:
    starts, counts = np.array(ranges, dtype=np.int64).reshape(-1, 2).T
    assert spread(starts, counts).tolist() == [x for start, count in ranges for x in range(start, start + count)]
