"""The stop button at each line of what a store does: afterwards it answers, forgets and removes as ever."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from bigdebug.store.blocks import Block, encode
from bigdebug.store.directory import LineageStore
from tests.interrupting import interrupted

PARTITIONS = range(2)


def block(partition: int) -> Block:
    return Block("s1", partition, partition, (5, 5), 7, {"x.offsets": np.arange(partition + 6)})


def filled(root: Path) -> LineageStore:
    """Three blocks of a run and one of another, in a store that keeps no more than one of them."""
    made = LineageStore(root, most=0)
    for run, partitions in (("r1", PARTITIONS), ("r2", PARTITIONS[:1])):
        for partition in partitions:
            made.keep(run, "s1", partition, partition, encode(block(partition)))
    return made


def ask(store: LineageStore) -> None:
    for partition in PARTITIONS:
        found, facts = store.block(["r1", "r2"], "s1", partition), store.facts(["r1"], "s1", partition)
        assert found is not None
        assert facts is not None
        assert len(found.column("x.offsets")) == partition + 6


def forget(store: LineageStore) -> None:
    store.forget("r1")


def discard(store: LineageStore) -> None:
    store.discard("r1", "s1")


def remove(store: LineageStore) -> None:
    store.remove("r1")


@pytest.mark.parametrize(("act", "step"), [(ask, 4), (forget, 1), (discard, 1), (remove, 1)])
def test_it_goes_on_after_an_interruption(tmp_path: Path, act: Callable[[LineageStore], None], step: int) -> None:
    for after in count(0, step):
        store = filled(tmp_path / str(after))
        if act is not ask:
            ask(store)
        with interrupted(after) as came:
            act(store)
        act(store)
        if act in (ask, forget):
            ask(store)
        assert store.partitions(["r2"], "s1") == [0]
        assert (store.block(["r2"], "s1", 0) or block(1)).partition == 0
        store.remove("r1", "r2")
        assert [*store.root.iterdir()] == [], came.where
        if came.where is None:
            return
