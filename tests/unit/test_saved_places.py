"""Which records stand at a line or a row: what is asked of ten thousand files takes a pass over them, and is what looking through all finds."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.model import POSITION_BITS, pack
from bigdebug.trace.origins import SourceFacts, Split
from bigdebug.trace.places import places_of, rids_of
from bigdebug.trace.saved.places import _of_places, _of_splits

PIECES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), max_size=12)


@given(PIECES, st.lists(st.none(), max_size=2))
def test_rows_of_a_piece_end_where_the_next_piece_of_its_file_begins(pieces: list[tuple[str, int]], nowhere: list[None]) -> None:
    places = (*((path, 0) for path in nowhere), *pieces)
    for _, path, partition, first, last in _of_places(1, places):
        assert places[partition] == (path, first)
        assert last == min((start for other, start in places if other == path and start > first), default=1 << POSITION_BITS)
    assert len(list(_of_places(1, places))) == len(pieces)


@given(PIECES)
def test_earlier_pieces_of_a_file_say_where_a_piece_begins(pieces: list[tuple[str, int]]) -> None:
    facts = SourceFacts("d", "text", tuple(Split(path, start, 1) for path, start in pieces))
    sizes = {partition: partition + 1 for partition in range(len(pieces))}
    for partition, (path, start) in enumerate(pieces):
        earlier = {split.start: p for p, split in enumerate(facts.splits) if split.path == path and split.start < start}
        assert facts.origins(partition, np.array([0]), lambda ps: sizes)[0].line == sum(sizes[p] for p in earlier.values()) + 1
    assert SourceFacts.load(facts.dump()) == facts


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30))
def test_places_are_those_of_their_rids(records: list[tuple[int, int]]) -> None:
    rids = np.array([int(pack(partition, np.array([position]))[0]) for partition, position in records], np.int64)
    found = places_of(rids)
    assert {p: positions.tolist() for p, positions in found.items()} == {
        p: sorted({position for partition, position in records if partition == p}) for p in {partition for partition, _ in records}
    }
    assert rids_of(found).tolist() == sorted(set(rids.tolist()))


def test_behind_a_split_that_nobody_counted_no_line_is_denied() -> None:
    facts = SourceFacts("d", "text", tuple(Split("a", start, 10) for start in (0, 10, 20, 0)))

    def told(whole: dict[int, int], numbered: dict[int, int] | None) -> list[tuple[int, int, int | None]]:
        return sorted(piece[2:] for piece in _of_splits(1, facts, whole, numbered))

    assert told({0: 3, 1: 2, 2: 4}, {0: 3, 1: 2, 2: 4, 3: 3}) == [(0, 0, 3), (1, 3, 5), (2, 5, 9), (3, 0, 3)]
    assert told({0: 3}, {0: 3, 1: 2}) == [(0, 0, 3), (1, 3, 3 + (1 << POSITION_BITS)), (3, 0, 3)]  # the run stopped in it, and read no more
    assert told({0: 3}, {0: 3, 2: 1}) == [(0, 0, 3), (1, 3, 3 + (1 << POSITION_BITS)), (2, 3, None), (3, 0, 3)]
    assert told({}, {1: 2}) == [(0, 0, 1 << POSITION_BITS), (1, 0, None), (3, 0, 1 << POSITION_BITS)]
    assert told({}, None) == [(0, 0, None), (1, 0, None), (2, 0, None), (3, 0, None)]
    assert told({0: 3}, None) == [(0, 0, 3), (1, 3, None), (2, 3, None), (3, 0, None)]


def test_ten_thousand_partitions_take_no_look_at_all_of_them_each() -> None:
    many = 20_000
    facts = SourceFacts("d", "text", tuple(Split(f"/d/part-{n}", 0, 1) for n in range(many)))
    asked: list[Callable[[], object]] = [
        lambda: places_of(np.arange(many * 10) << POSITION_BITS), lambda: [facts.origins(n, np.array([0]), lambda ps: {}) for n in range(many)],
        lambda: list(_of_splits(1, facts, dict.fromkeys(range(many), 1), None)), lambda: list(_of_places(1, tuple((f"{n}", 0) for n in range(many)))),
    ]
    for ask in asked:
        began = time.process_time()
        ask()
        assert time.process_time() - began < 3  # some 0.1 s; with a look at all for each, 10 s and more
