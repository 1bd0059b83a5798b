"""Frames and the spool that reads them back: in the order of their tags, whatever order they came in."""

from __future__ import annotations

import io
import os
import pickle
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigdebug.agents import frames
from bigdebug.agents.frames import TAG_BYTES, Batches, Pace, Tag, tag_of, tagged, target_frame
from bigdebug.agents.notes import Notes
from bigdebug.agents.spool import Spool

tags = st.builds(
    Tag, st.integers(0, 2**16 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1)
)


@given(st.lists(st.integers() | st.text(), max_size=5), tags)
def test_a_tagged_frame_is_still_the_pickle_that_it_was(records: list[Any], tag: Tag) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        frame = tagged(pickle.dumps(records, protocol), tag)
        assert tag_of(frame) == tag
        assert pickle.loads(frame) == records
        assert pickle.load(io.BytesIO(frame)) == records


@given(st.integers(0, 2**31 - 1))
def test_a_target_is_what_the_jvm_reads_as_a_long(target: int) -> None:
    assert target_frame(target) == target.to_bytes(8, "big", signed=True)


@given(
    st.lists(st.lists(st.binary(max_size=3).map(lambda b: b * 30), max_size=12), min_size=1, max_size=3),
    st.integers(1, 4), st.integers(0, 1000), st.sampled_from([(0, 0), (0, 200), (150, 400), (10**6, 10**7)]),
)
def test_batches_hold_all_records_once_and_say_which(
    lists: list[list[bytes]], first: int, start: int, bounds: tuple[int, int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "SMALL", bounds[0])
        patch.setattr(frames, "LARGE", bounds[1])
        batches = Batches(pickle.dumps, first)
        for records in lists:  # the size that was found goes on from list to list
            made = list(batches.cut(records, 1, 5, start))
            assert [record for frame in made for record in pickle.loads(frame)] == records
            held = [len(pickle.loads(frame)) for frame in made]
            begins = [start + total - n for total, n in zip(accumulate(held), held)]
            assert [tag_of(frame) for frame in made] == [Tag(1, 5, at, n) for at, n in zip(begins, held)]
            assert 0 not in held


def counts(batches: Batches, records: list[Any]) -> list[int]:
    return [tag_of(frame).count for frame in batches.cut(records, 0, 0, 0)]


def test_batches_grow_while_they_are_small_and_shrink_at_once_when_they_are_large() -> None:
    batches = Batches(pickle.dumps)
    assert counts(batches, [b"x"] * 85) == [1, 4, 16, 64]
    large = [bytes(100_000) for _ in range(260)]
    assert counts(batches, large) == [256, 1, 1, 1, 1]  # nobody knew


@pytest.mark.parametrize("size", [10, 1_000, 20_000, 100_000])
def test_frames_settle_between_64_and_640_kilobytes(size: int) -> None:
    batches = Batches(pickle.dumps)
    made = [len(frame) for frame in batches.cut([bytes(size) for _ in range(4_000_000 // size)], 0, 0, 0)]
    assert max(made) <= 640 << 10
    assert min(made[made.index(next(m for m in made if m >= 64 << 10)) : -1]) >= 64 << 10


def test_a_batch_that_is_small_for_want_of_records_says_nothing_about_the_next() -> None:
    batches = Batches(pickle.dumps, 4)
    assert [n for records in ([1], [1, 2], [1] * 8) for n in counts(batches, records)] == [1, 2, 4, 4]


def test_weighing_gives_the_bytes_of_the_frames() -> None:
    records = [bytes(100_000) for _ in range(30)]
    assert Batches(pickle.dumps).weigh(iter(records)) == sum(len(f) - TAG_BYTES for f in Batches(pickle.dumps).cut(records, 0, 0, 0))


def test_a_pace_follows_the_bytes_and_nothing_else() -> None:
    pace = Pace(20, 1 << 10, 4 << 10, most=1000)
    sizes = []
    for size_of_record in (1, 1, 1, 1, 1, 8, 8, 2048, 2048, 1):
        sizes.append(pace.size)
        pace.took(pace.size, pace.size * size_of_record)
    assert sizes == [20, 80, 320, 1000, 1000, 1000, 256, 256, 1, 1]


# ---- the spool --------------------------------------------------------------------------------------------------

Sent = dict[tuple[int, int], list[list[Any]]]
sent = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(0, 3)),
    st.lists(st.lists(st.integers(-5, 300), min_size=1, max_size=4), max_size=4),
    max_size=6,
)
limits = st.sampled_from([0, 1, 60, 150, 1 << 20])


def frames_of(sent: Sent, skip: bool = False) -> list[bytes]:
    """Each batch as a frame, in canonical order; with ``skip`` a record is missing before each (it went elsewhere)."""
    made = []
    for (branch, partition), batches in sorted(sent.items()):
        start = 0
        for batch in batches:
            start += skip
            made.append(tagged(pickle.dumps(batch), Tag(branch, partition, start, len(batch))))
            start += len(batch)
    return made


def noted(spool: Spool) -> list[tuple[int, ...]]:
    notes = Notes()
    spool.note(notes)
    spool.close()
    columns = [notes.columns[f"runs.{name}"]().tolist() for name in ("branch", "partition", "start", "count")]
    return list(zip(*columns, strict=True))


@given(sent, limits, st.booleans(), st.data())
@example({(0, 0): [[1], [2]], (0, 1): [[3]], (1, 0): [[4], [5]]}, 0, False, None)
def test_frames_in_any_order_are_read_in_that_of_their_tags(sent: Sent, limit: int, skip: bool, data: Any) -> None:
    canonical = frames_of(sent, skip)
    arriving = data.draw(st.permutations(canonical)) if data else canonical[::-1]
    expected = [record for _, batches in sorted(sent.items()) for batch in batches for record in batch]
    spool = Spool(iter(arriving), pickle.loads, limit)
    assert len(spool) == len(expected)
    for _ in range(2):  # it can be asked again
        assert list(spool) == expected
        assert list(spool.batches()) == [(tag_of(frame), len(frame), pickle.loads(frame)) for frame in canonical]
    assert spool.bytes == sum(map(len, canonical))
    spool.close()


@given(sent, limits, st.data())
def test_what_left_together_is_noted_as_one_run(sent: Sent, limit: int, data: st.DataObject) -> None:
    spool = Spool(data.draw(st.permutations(frames_of(sent))), pickle.loads, limit)
    assert noted(spool) == [
        (*place, 0, sum(map(len, batches))) for place, batches in sorted(sent.items()) if batches
    ]


@given(sent, st.data())
def test_runs_with_something_missing_between_them_are_noted_apart(sent: Sent, data: st.DataObject) -> None:
    canonical = frames_of(sent, skip=True)
    assert noted(Spool(data.draw(st.permutations(canonical)), pickle.loads, 0)) == [tuple(tag_of(f)) for f in canonical]


def test_runs_of_another_branch_or_partition_are_noted_apart() -> None:
    tags = [Tag(0, 0, 0, 2), Tag(1, 0, 2, 1), Tag(1, 1, 3, 4)]
    assert noted(Spool([tagged(pickle.dumps([]), tag) for tag in tags], pickle.loads, 0)) == tags


def open_files() -> set[str]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{descriptor}"
        if os.path.islink(path):
            found.add(os.readlink(path))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="looks at the files of this process")
def test_what_memory_may_not_hold_goes_to_sparks_directory_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/one,{tmp_path}/two")
    canonical = frames_of({(0, 0): [[1], [2], [3]]})

    def here() -> list[str]:
        return [name for name in open_files() if name.startswith(str(tmp_path))]

    within = Spool(canonical, pickle.loads, sum(map(len, canonical)))
    assert here() == []
    beyond = Spool(canonical, pickle.loads, sum(map(len, canonical)) - 1)
    (held,) = here()
    assert held.startswith(str(tmp_path / "one"))
    assert list(tmp_path.rglob("*.*")) == []  # it has no name that anybody had to remove
    assert list(within) == list(beyond) == [1, 2, 3]
    beyond.close()
    assert here() == []
    beyond.close()
    within.close()
