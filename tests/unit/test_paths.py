"""Directories that are made and taken away, and what stands at a path."""

from __future__ import annotations

import os
import signal
import stat
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from bigdebug.store.paths import made, mode_of, removed, touched
from tests.interrupting import rung_at


def modes(*folders: Path) -> list[int]:
    return [stat.S_IMODE(mode_of(each)) for each in folders]


def test_a_directory_has_its_mode_and_those_above_it_that_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        made(tmp_path / "a" / "b" / "c", 0o700)
        made(tmp_path / "a" / "b")
        made(tmp_path / "d")
    finally:
        os.umask(before)
    assert modes(tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c", tmp_path / "d") == [0o755, 0o755, 0o700, 0o755]


def test_one_that_is_there_is_left_also_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(0o750)
    (tmp_path / "link").symlink_to("there")
    made(tmp_path / "link", 0o700)
    assert modes(tmp_path / "there") == [0o750]


@pytest.mark.parametrize("below", ["file", "dangling", "file/a", "dangling/a"])
def test_where_something_else_stands_it_raises(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "dangling").symlink_to("nothing")
    with pytest.raises(OSError):  # noqa: PT011  # each its own
        made(tmp_path / below)
    assert (tmp_path / "file").read_text() == "x"


def test_what_is_not_there_has_no_mode_and_need_not_be_removed(tmp_path: Path) -> None:
    removed(tmp_path / "none")
    assert [mode_of(path) for path in (tmp_path / "none", "s3://bucket/x", "a\0b")] == [0, 0, 0]
    made(tmp_path / "some" / "more")
    removed(tmp_path / "some")
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    removed(tmp_path / "link")
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]


def test_a_file_is_made_once_and_keeps_what_it_has(tmp_path: Path) -> None:
    touched(tmp_path / "file", 0o600)
    assert modes(tmp_path / "file") == [0o600]
    (tmp_path / "file").write_text("x")
    touched(tmp_path / "file", 0o600)
    assert (tmp_path / "file").read_text() == "x"


def test_what_cannot_be_removed_stays_and_an_alarm_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a directory in which there is what cannot be removed, the rest goes."""
    unlink = os.unlink

    def rings(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("over")

    def kept(path: Any, **more: Any) -> None:
        if os.fspath(path).endswith("kept"):
            raise PermissionError(path)
        unlink(path, **more)

    monkeypatch.setattr(os, "unlink", kept)
    before = signal.signal(signal.SIGALRM, rings)
    try:
        for call in range(1, 1000):
            for name in ("a/file", "a/kept", "b/file", "kept"):
                made((tmp_path / "some" / name).parent)
                touched(tmp_path / "some" / name, 0o600)
            try:
                where = rung_at(partial(removed, tmp_path / "some"), call, rings)
            except TimeoutError:
                continue
            assert not where
            break
    finally:
        signal.signal(signal.SIGALRM, before)
    assert call > 20
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")) == ["some", "some/a", "some/a/kept", "some/kept"]
