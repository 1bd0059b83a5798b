"""Held positions: what was put in comes out, from memory or from a file, and no more stays in memory than is said."""

from __future__ import annotations

import gc
import pickle
import resource
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import StoreError
from bigdebug.trace import held as module
from bigdebug.trace.held import Held, gathered, held
from bigdebug.trace.places import Places, count, occupied, union

positions = st.sets(st.integers(0, 60) | st.integers(0, 2**40 - 1), max_size=30).map(lambda found: np.array(sorted(found), dtype=np.int64))
runs = st.tuples(st.integers(0, 2**40), st.integers(0, 40)).map(lambda run: np.arange(run[0], run[0] + run[1], dtype=np.int64))
parts = st.lists(st.tuples(st.integers(0, 5), positions | runs), max_size=12)


def lists(places: Places) -> dict[int, list[int]]:
    return {partition: at.tolist() for partition, at in places.items()}


@given(parts, st.sampled_from([0, 40, 1 << 20]))
def test_what_is_put_in_comes_out(put: list[tuple[int, np.ndarray]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_BYTES", most)
        found, expected = held(put), dict(put)
        assert lists(found) == lists(expected)
        assert count(found) == count(expected)
        assert occupied(found) == occupied(expected)
        assert lists(pickle.loads(pickle.dumps(found))) == lists(expected)
        assert [partition in found for partition in range(7)] == [partition in expected for partition in range(7)]


@given(parts, parts, st.sampled_from([0, 1 << 20]))
def test_sets_together_are_those_in_any(one: list[tuple[int, np.ndarray]], other: list[tuple[int, np.ndarray]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_BYTES", most)
        expected: dict[int, set[int]] = {}
        for partition, at in [*one, *other]:
            expected.setdefault(partition, set()).update(at.tolist())
        everything = {partition: sorted(at) for partition, at in expected.items() if at}
        assert lists(gathered([*one, *other])) == everything
        assert lists(union(gathered(one), gathered(other))) == everything
        assert lists(union({}, gathered([*one, *other]), {})) == everything


def test_what_has_no_place_in_memory_takes_none() -> None:
    tracemalloc.start()
    try:
        every = held((partition, np.arange(0, 400_000, 2)) for partition in range(200))  # 320 MB
        whole = held((partition, np.arange(200_000)) for partition in range(200))
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < module.MOST_BYTES + (1 << 20)
    assert most < 2 * module.MOST_BYTES
    assert count(every) == count(whole) == 40_000_000
    assert every[199][-1] == 399_998


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(StoreError, match="TMPDIR"):
        Held[int]().put(0, np.arange(0, 100, 2))


def test_a_disk_that_is_full_in_the_middle_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said again when what was begun goes."""
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 12)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, before[1]))
    try:
        with pytest.raises(StoreError, match="TMPDIR"):
            held((partition, np.arange(0, 3_000, 3)) for partition in range(20))
        gc.collect()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_was_put_aside_stays_where_its_folder_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 12)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "away"))
    (tmp_path / "away").mkdir()
    found: Held[int] = Held()
    for partition in range(20):
        found.put(partition, np.arange(0, 3_000, 3))
        if partition == 5:
            (tmp_path / "away").rmdir()
    assert lists(found) == {partition: list(range(0, 3_000, 3)) for partition in range(20)}


def test_what_comes_again_under_one_name_is_not_kept_twice() -> None:
    """Back through a product, each part of the left side leads to the same records of the right one."""
    same = np.flatnonzero(np.random.default_rng(1).random(200_000) < 0.5)
    tracemalloc.start()
    found = gathered((key, same.copy()) for key in range(4) for _ in range(100))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(np.array_equal(found[key], same) for key in range(4))
    assert most < 10 * same.nbytes


@given(st.lists(positions | runs, max_size=12), st.sampled_from([0, 100]))
def test_pieces_under_one_name_are_one_set(pieces: list[np.ndarray], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_BYTES", most)
        assert lists(gathered((7, piece) for piece in pieces)) == ({7: sorted({x for piece in pieces for x in piece.tolist()})} if any(map(len, pieces)) else {})
