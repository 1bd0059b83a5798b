"""A full disk x operations: the user's result is right, what is missing is told, and no half a block counts (issue 10)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import bigdebug
from bigdebug.errors import IncompleteLineageError, StoreError
from tests.left import nothing_left
from tests.operations import (
    FRAMES,
    LINES,
    RDDS,
    SEVENS,
    Operation,
    counted,
    crashed,
    program,
    ran,
    traced_ahead,
    traced_back,
)

SIZE = 1 << 18


class Disk(NamedTuple):
    """A file system of its own that is not large."""

    root: Path

    def fill(self, room: int = 0) -> None:
        """Leave room for so many bytes."""
        with (self.root / "filler").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                file.truncate(file.tell() - room)

    def free(self) -> None:
        (self.root / "filler").unlink()


def mounted(folder: Path) -> Iterator[Disk]:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], check=False, capture_output=True)
    if done.returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def disk(dbg: Any) -> Iterator[Disk]:
    """The store of the session, on a disk that can be filled."""
    dbg.forget(dbg.runs)
    yield from mounted(dbg.store)
    dbg.forget(dbg.runs)


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Disk]:
    (tmp_path / "disk").mkdir()
    yield from mounted(tmp_path / "disk")


def operation(name: str) -> Operation:
    return next(each for each in RDDS if each.name == name)


def leftovers(disk: Disk) -> list[Path]:
    return [path for path in disk.root.rglob("*") if path.is_file() and path.suffix != ".block" and path.name != "filler"]


@pytest.mark.parametrize("room", [0, 4096, 3 * 4096], ids=["none", "a block", "some blocks"])
@pytest.mark.parametrize("strategy", ["inject", pytest.param("lazy", marks=pytest.mark.slow)])
def test_captured(dbg: Any, disk: Disk, tmp_path: Path, room: int, strategy: str) -> None:
    """What could be written counts; the rest is derived as soon as there is room."""
    made = program(dbg, tmp_path)
    disk.fill(room)
    with nothing_left(dbg):
        with dbg.capture("full", strategy=strategy) as run:
            assert sorted(made.result.collect()) == counted(LINES)
        assert run.status == "partial"
        assert any("No space left" in reason for reason in run.incomplete)
        assert leftovers(disk) == []
        with pytest.raises(IncompleteLineageError, match=r"could not be written|no lineage of partition"):
            traced_back(made)
        assert leftovers(disk) == []
        disk.free()
        assert traced_back(made) == SEVENS
        disk.fill()


@pytest.mark.parametrize("ask", [traced_back, traced_ahead])
def test_traced(dbg: Any, disk: Disk, tmp_path: Path, ask: Callable[[Any], Any]) -> None:
    """What is in the store needs no room; what has to be derived does, and says so."""
    expected = next(each.expected for each in RDDS if each.act is ask)
    kept, derived = ran("inject")(dbg, tmp_path), ran("lazy")(dbg, tmp_path)
    disk.fill()
    assert ask(kept) == expected
    with pytest.raises(IncompleteLineageError, match=r"could not be written: .*No space left.*has room"):
        ask(derived)
    assert leftovers(disk) == []
    disk.free()
    assert ask(derived) == expected


def test_diagnosed(dbg: Any, disk: Disk, tmp_path: Path, untold: None) -> None:
    """The records are told; where they came from is exact, or not known. That it may not be is told, and why."""
    made = crashed(dbg, tmp_path)
    disk.fill()
    [culprit] = made.run.culprits
    assert culprit.record == LINES[77]
    assert any("could not be written" in why and "No space left" in why for why in made.run.culprits.unknown)
    assert [source.origin.line for source in culprit.sources] in ([], [78])
    assert leftovers(disk) == []


def test_resumed(dbg: Any, disk: Disk, tmp_path: Path, untold: None) -> None:
    made = crashed(dbg, tmp_path)
    disk.fill()
    resumed = made.run.resume(skip=True)
    assert sorted(resumed.result) == operation("resumed").expected
    assert any("No space left" in reason for reason in resumed.run.incomplete)
    disk.free()
    assert traced_back(made) == SEVENS


@pytest.mark.parametrize("name", ["replayed", "localized"])
def test_what_needs_no_room_is_exact(dbg: Any, disk: Disk, tmp_path: Path, name: str) -> None:
    made = operation(name).prepare(dbg, tmp_path)
    disk.fill()
    assert operation(name).act(made) == operation(name).expected
    assert leftovers(disk) == []


@pytest.mark.slow
@pytest.mark.parametrize("asked", [FRAMES[1], FRAMES[3], FRAMES[4]], ids=str)
def test_of_dataframes_nothing_needs_room(dbg: Any, disk: Disk, tmp_path: Path, untold: None, asked: Operation) -> None:
    disk.fill()
    assert asked.act(asked.prepare(dbg, tmp_path)) == asked.expected
    assert leftovers(disk) == []


@pytest.mark.parametrize("room", [0, 4096, 5 * 4096], ids=["none", "a page", "some pages"])
def test_saved(dbg: Any, other_disk: Disk, tmp_path: Path, room: int) -> None:
    """All of it or nothing."""
    made = ran("inject")(dbg, tmp_path)
    target = other_disk.root / "saved"
    other_disk.fill(room)
    with pytest.raises(StoreError, match=r"cannot be saved.*No space left"):
        dbg.save(target, made.run, lineage=True)
    assert [path.name for path in other_disk.root.iterdir()] == ["filler"]
    other_disk.free()
    dbg.save(target, made.run, lineage=True)
    opened = bigdebug.open(target)
    assert len(opened.runs) == 1
