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
    for path, (partition, first, last) in _of_places(places):
        assert places[partition] == (path, first)
        assert last == min((start for other, start in places if other == path and start > first), default=1 << POSITION_BITS)
    assert len(list(_of_places(places))) == len(pieces)


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


def test_ten_thousand_partitions_take_no_look_at_all_of_them_each() -> None:
    many = 20_000
    facts = SourceFacts("d", "text", tuple(Split(f"/d/part-{n}", 0, 1) for n in range(many)))
    asked: list[Callable[[], object]] = [
        lambda: places_of(np.arange(many * 10) << POSITION_BITS), lambda: [facts.origins(n, np.array([0]), lambda ps: {}) for n in range(many)],
        lambda: list(_of_splits(facts, dict.fromkeys(range(many), 1), True)), lambda: list(_of_places(tuple((f"{n}", 0) for n in range(many)))),
    ]
    for ask in asked:
        began = time.process_time()
        ask()
        assert time.process_time() - began < 3  # some 0.1 s; with a look at all for each, 10 s and more
