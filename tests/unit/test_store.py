"""The lineage store: the blocks in a directory, each of the run and the attempt that counts."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import CorruptBlockError, NondeterminismError, NotCapturedError, StoreError
from bigdebug.store.blocks import Block, block_name, encode, write_block
from bigdebug.store.directory import LineageStore
from bigdebug.store.place import Directory

places = st.tuples(st.sampled_from(["r1", "r2"]), st.sampled_from(["s0", "s0.fine", "s1"]), st.integers(0, 30))


@given(st.dictionaries(places, st.integers(0, 255), max_size=8))
def test_a_store_answers_from_the_first_run_that_computed_a_partition(
    tmp_path_factory: pytest.TempPathFactory, written: dict[tuple[str, str, int], int]
) -> None:
    root = tmp_path_factory.mktemp("store")
    for (run, stage, partition), digest in written.items():
        write_block(str(root), run, Block(stage, partition, 0, (1,), digest, {}))
    store = LineageStore(root)
    for runs in (["r1", "r2"], ["r2", "r1"], ["r2"], []):
        for stage in ("s0", "s0.fine", "s1"):
            expected = {p: written[run, stage, p] for run in reversed(runs) for p in range(31) if (run, stage, p) in written}
            assert store.partitions(runs, stage) == sorted(expected)
            found = {p: store.block(runs, stage, p) for p in range(31)}
            assert {p: block.digest for p, block in found.items() if block} == expected


def stored(root: Path, *attempts: Block) -> LineageStore:
    for block in attempts:
        write_block(str(root), "r1", block)
    return LineageStore(root)


def attempt(number: int, *, digest: int = 1, levels: tuple[int, ...] = (2,), stub: bool = False) -> Block:
    return Block("s0", 0, number, levels, digest, {} if stub else {"out.codes": np.array([number], np.uint64)}, stub)


def test_of_attempts_that_agree_the_first_with_tables_is_taken(tmp_path: Path) -> None:
    store = stored(tmp_path, attempt(2), attempt(10), attempt(1, stub=True))
    found = store.block(["r1"], "s0", 0)
    assert found is not None
    assert (found.attempt, found.stub) == (2, False)


def test_a_stub_is_taken_if_there_is_nothing_else(tmp_path: Path) -> None:
    found = stored(tmp_path, attempt(2, stub=True)).block(["r1"], "s0", 0)
    assert found is not None
    assert found.stub


@pytest.mark.parametrize("other", [attempt(5, digest=2), attempt(5, levels=(3,)), attempt(5, digest=2, stub=True)])
def test_attempts_that_disagree_are_an_error(tmp_path: Path, other: Block) -> None:
    with pytest.raises(NondeterminismError, match="partition 0 of stage s0"):
        stored(tmp_path, attempt(1), other).block(["r1"], "s0", 0)


def test_attempts_that_spark_did_not_take_count_for_nothing(tmp_path: Path) -> None:
    store = stored(tmp_path, attempt(1, levels=(3,)), attempt(4, digest=2), attempt(5, digest=2, stub=True))
    store.count("r1", [("s0", 0, 4)])
    found = store.block(["r1"], "s0", 0)
    assert found is not None
    assert found.attempt == 4
    assert store.names("r1") == [f"r1/s0/{block_name(0, 4)}"]


def test_of_a_run_without_a_task_that_ended_nothing_counts_until_something_is_counted(tmp_path: Path) -> None:
    store = stored(tmp_path, attempt(1), replace(attempt(7), partition=1))
    store.count("r1", [])
    assert store.partitions(["r1"], "s0") == []
    store.forget("r1")
    store.count("r1", [("s0", 1, 7)])
    assert store.partitions(["r1"], "s0") == [1]
    store.remove("r1")
    assert not (tmp_path / "r1").exists()


@pytest.mark.parametrize("misplaced", [Block("s1", 0, 0, (1,), 0, {}), Block("s0", 1, 0, (1,), 0, {})])
def test_a_block_of_another_place_is_an_error(tmp_path: Path, misplaced: Block) -> None:
    store = stored(tmp_path, attempt(0))
    (tmp_path / "r1" / "s0" / block_name(0, 0)).write_bytes(encode(misplaced))
    with pytest.raises(CorruptBlockError):
        store.block(["r1"], "s0", 0)


def test_files_that_are_no_blocks_are_passed_over(tmp_path: Path) -> None:
    store = stored(tmp_path, attempt(0))
    for name in ("x.partial", "p1.a0.block.bak", "p1.block", "READ ME", "pp1.a0.block"):
        (tmp_path / "r1" / "s0" / name).write_text("")
    assert store.partitions(["r1"], "s0") == [0]


@pytest.mark.parametrize("in_the_way", ["r1/s0", f"r1/s0/{block_name(0, 0)}", "r1"])
def test_a_store_that_cannot_be_read_is_an_error(tmp_path: Path, in_the_way: str) -> None:
    path = tmp_path / in_the_way
    path.parent.mkdir(parents=True, exist_ok=True)
    if in_the_way.endswith("block"):
        path.mkdir()
    else:
        path.write_text("a file in the place of a directory")
    with pytest.raises(StoreError):
        LineageStore(tmp_path).block(["r1"], "s0", 0)


def test_a_store_is_not_made_where_a_file_stands(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for parent in ("file", "file/below"):
        with pytest.raises(StoreError, match="cannot be made"):
            LineageStore.private(str(tmp_path / parent))


def test_a_store_stays_where_it_is_when_the_process_changes_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(tmp_path / "lineage", attempt(0))
    monkeypatch.chdir(tmp_path)
    store = LineageStore("lineage")
    monkeypatch.chdir("/")
    assert store.partitions(["r1"], "s0") == [0]
    assert store.root == tmp_path / "lineage"


def test_a_private_store_is_for_its_user_alone(tmp_path: Path) -> None:
    named = LineageStore.private(str(tmp_path / "a" / "b"))
    assert named.root.parent == tmp_path / "a" / "b"
    assert named.root.stat().st_mode & 0o777 == 0o700
    temporary = LineageStore.private()
    root = temporary.root
    assert root.stat().st_mode & 0o777 == 0o700
    del temporary
    assert not root.exists()
    assert named.root.exists()


def test_what_was_read_is_kept_until_it_is_to_be_forgotten(tmp_path: Path) -> None:
    store = stored(tmp_path, attempt(0, digest=1))
    assert store.block(["r1"], "s0", 0) is store.block(["r1"], "s0", 0)
    stored(tmp_path, attempt(0, digest=2), Block("s0", 1, 0, (1,), 0, {}))
    assert store.partitions(["r1"], "s0") == [0]
    store.forget("r2")
    assert store.partitions(["r1"], "s0") == [0]
    store.forget("r1")
    assert store.partitions(["r1"], "s0") == [0, 1]
    found = store.block(["r1"], "s0", 0)
    assert found is not None
    assert found.digest == 2


def test_no_more_is_kept_in_memory_than_allowed(tmp_path: Path) -> None:
    size = 1000
    store = stored(tmp_path, *[Block("s0", p, 0, (1,), p, {"out.codes": np.zeros(size, np.uint8)}) for p in range(4)])
    store = LineageStore(store.root, most=2 * size)

    def read(*partitions: int) -> list[Block | None]:
        return [store.block(["r1"], "s0", p) for p in partitions]

    zero, one, _, two = read(0, 1, 0, 2)
    assert all(a is b for a, b in zip(read(0, 2), (zero, two)))
    assert read(1)[0] is not one  # it was not asked for longest, so it had to go
    store.forget("r1")  # which makes room again
    assert all(a is b for a, b in zip(read(2, 3), read(2, 3)))


def test_a_block_larger_than_allowed_is_read_all_the_same(tmp_path: Path) -> None:
    store = stored(tmp_path, attempt(0), Block("s0", 1, 0, (1,), 7, {}))
    store = LineageStore(store.root, most=0)
    found = [store.block(["r1"], "s0", p) for p in (0, 1, 0)]
    assert [block.digest for block in found if block] == [1, 7, 1]
    assert store.block(["r1"], "s0", 0) is found[2]  # and kept until the next one


def test_a_block_that_is_lost_after_it_was_listed_is_not_there(tmp_path: Path) -> None:
    """So it is derived again; the others are still found."""
    store = stored(tmp_path, attempt(0), attempt(3), Block("s0", 1, 0, (1,), 0, {}), Block("s0", 2, 0, (1,), 0, {}))
    assert store.partitions(["r1"], "s0") == [0, 1, 2]
    for partition, number in ((0, 0), (1, 0)):
        (tmp_path / "r1" / "s0" / block_name(partition, number)).unlink()
    assert [None if block is None else block.attempt for block in (store.block(["r1"], "s0", p) for p in range(3))] == [3, None, 0]
    assert store.partitions(["r1"], "s0") == [0, 2]


# ---- while others ask, or runs go ---------------------------------------------------------------------------------


class Slow(Directory):
    """A directory in which something happens while it is read, or a folder of it is removed."""

    def __init__(self, root: Path, removing: Callable[[], object] = lambda: None, reading: Callable[[], object] = lambda: None) -> None:
        super().__init__(root)
        object.__setattr__(self, "happens", (removing, reading))

    def remove(self, folder: str) -> None:
        self.happens[0]()  # type: ignore[attr-defined]
        super().remove(folder)

    def read(self, name: str) -> bytes:
        self.happens[1]()  # type: ignore[attr-defined]
        return super().read(name)


def killed(root: Path) -> LineageStore:
    """A store with the block of an attempt that was killed, and does not count, and of one that does."""
    store = stored(root, attempt(3), Block("s0", 1, 4, (5,), 5, {}))
    store.count("r1", [("s0", 0, 2), ("s0", 1, 4)])
    assert store.partitions(["r1"], "s0") == [1]
    return store


def fail() -> None:
    raise StoreError("no answer")


def refused(store: LineageStore) -> list[str]:
    found = []
    questions: list[Callable[[], object]] = [
        *(lambda p=p: store.block(["r1"], "s0", p) for p in (0, 1)), lambda: store.facts(["r1"], "s0", 1), lambda: store.partitions(["r1"], "s0"),
        lambda: store.keep("r1", "s0", 2, 9, encode(attempt(9))),
    ]
    for ask in questions:
        with pytest.raises(NotCapturedError, match="forgotten") as problem:
            ask()
        found.append(str(problem.value))
    return found


def test_a_run_that_is_being_removed_answers_nothing(tmp_path: Path) -> None:
    store, seen = killed(tmp_path), []
    assert store.block(["r1"], "s0", 1) is not None

    def meanwhile() -> None:
        with ThreadPoolExecutor(1) as other:
            seen.extend(other.submit(refused, store).result(10))

    store.place = Slow(tmp_path, removing=meanwhile)
    store.remove("r1")
    assert len(seen) == 5
    refused(store)
    assert store.names("r1") == []


def test_a_run_that_could_not_be_removed_answers_nothing_and_goes_later(tmp_path: Path) -> None:
    store = killed(tmp_path)
    store.place = Slow(tmp_path, removing=fail)
    with pytest.raises(StoreError, match="no answer"):
        store.remove("r1", "r2")
    refused(store)
    store.place = Directory(tmp_path)
    store.remove("r4")
    assert not (tmp_path / "r1").exists()
    write_block(str(tmp_path), "r2", attempt(0))  # as a task does that ends late
    write_block(str(tmp_path), "r3", attempt(0))
    store.count("r1", [("s0", 0, 3)])
    store.sweep()
    assert [path.name for path in tmp_path.iterdir()] == ["r3"]
    refused(store)


def test_a_folder_that_cannot_be_removed_is_told(tmp_path: Path) -> None:
    (tmp_path / "r1").write_text("no folder")
    with pytest.raises(StoreError, match="cannot be removed"):
        LineageStore(tmp_path).remove("r1")


def test_what_is_listed_while_a_stage_is_discarded_is_not_kept(tmp_path: Path) -> None:
    store = killed(tmp_path)
    store.place = Slow(tmp_path, removing=lambda: store.partitions(["r1"], "s0"))
    store.discard("r1", "s0")
    assert store.partitions(["r1"], "s0") == []
    store.place = Slow(tmp_path, removing=fail)
    write_block(str(tmp_path), "r1", attempt(3))
    with suppress(StoreError):
        store.discard("r1", "s0")
    assert store.block(["r1"], "s0", 0) is None


def test_no_question_waits_for_what_another_one_reads(tmp_path: Path) -> None:
    store = stored(tmp_path, attempt(0), Block("s0", 1, 0, (1,), 0, {}))
    here = store.block(["r1"], "s0", 0)
    began, go_on = threading.Event(), threading.Event()

    def read() -> None:
        began.set()
        assert go_on.wait(10)

    store.place = Slow(tmp_path, reading=read)
    with ThreadPoolExecutor(2) as other:
        slow = other.submit(store.block, ["r1"], "s0", 1)
        assert began.wait(10)
        assert other.submit(store.block, ["r1"], "s0", 0).result(5) is here
        store.forget("r1")  # so what is read by now is no longer known to be what is there
        go_on.set()
        old = slow.result(10)
    assert old is not None
    store.place = Directory(tmp_path)
    assert store.block(["r1"], "s0", 1) is not old


def test_a_temporary_store_goes_with_its_process_and_not_with_a_fork_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = LineageStore.private()
    child = os.fork()
    if not child:
        try:
            del made
            gc.collect()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert made.root.is_dir()
    del made
    gc.collect()
    assert [*tmp_path.iterdir()] == []


def test_a_store_that_somebody_removed_is_made_again_for_its_user_alone(tmp_path: Path) -> None:
    made = LineageStore.private(tmp_path / "lineage")
    made.root.rmdir()
    made.keep("r1", "s1", 0, 0, encode(Block("s1", 0, 0, (1,), 7, {})))
    assert [path.stat().st_mode & 0o077 for path in (made.root, *made.root.rglob("*"))] == [0, 0, 0, 0]
    assert made.partitions(["r1"], "s1") == [0]
