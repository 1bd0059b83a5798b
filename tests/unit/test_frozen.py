"""Functions that wait on disk: they go with whoever holds them, in the process that made them, and are missed by name."""

from __future__ import annotations

import gc
import os
import resource
from pathlib import Path

import pytest

from bigdebug.errors import IncompleteLineageError
from bigdebug.spark.rdd.frozen import LARGE, Frozen


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_large_functions_wait_in_a_file_that_goes_with_them(folder: Path) -> None:
    made = Frozen([b"x" * (LARGE + 1)])
    assert len([*folder.iterdir()]) == 1
    assert made.thaw() == [b"x" * (LARGE + 1)]
    del made
    gc.collect()
    assert [*folder.iterdir()] == []


def test_without_room_they_stay_in_memory_and_leave_nothing(folder: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGE // 2, before[1]))
    try:
        made = Frozen([b"x" * (LARGE + 1)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert made.thaw() == [b"x" * (LARGE + 1)]
    assert [*folder.iterdir()] == []


def test_a_file_that_somebody_removed_is_missed_by_name(folder: Path) -> None:
    made = Frozen([b"x" * (LARGE + 1)])
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(IncompleteLineageError, match="TMPDIR"):
        made.thaw()


def test_a_fork_that_ends_takes_nothing_away(folder: Path) -> None:
    made = Frozen([b"x" * (LARGE + 1)])
    child = os.fork()
    if not child:
        try:
            del made
            gc.collect()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert made.thaw() == [b"x" * (LARGE + 1)]
