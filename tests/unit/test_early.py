"""Early: the first crash of a task is found by the driver before the task has ended, or with all others if it cannot be told."""

from __future__ import annotations

import pickle
from pathlib import Path

from bigdebug.agents.guards.early import Early
from bigdebug.agents.guards.guard import Guard


def test_the_first_crash_is_told_when_it_is_noted(tmp_path: Path) -> None:
    early = Early(str(tmp_path / "store" / "early"))
    early.tell(3, ())  # of a machine that does not see the driver's directory: nobody would find it
    assert not (tmp_path / "store").exists()
    (tmp_path / "store" / "early").mkdir(parents=True)
    assert early.told(3) is None
    guard = Guard(pickle.dumps, 10, first=lambda crashes: early.tell(3, crashes))
    crash = guard.note(7, 1)
    crash(20, "a record", ValueError("no"))
    told = early.told(3)
    assert told is not None
    assert [(c.operator, c.segment, c.position, pickle.loads(c.record or b""), c.raised.exception) for c in told] == [(7, 1, 20, "a record", "ValueError")]
    crash(21, "another", ValueError("no"))
    again = early.told(3)
    assert again is not None
    assert len(again) == 1
    assert early.told(4) is None
    assert [path.name for path in (tmp_path / "store" / "early").iterdir()] == ["3"]


def test_where_it_cannot_be_written_it_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no directory")
    early = Early(str(tmp_path / "store"))
    guard = Guard(pickle.dumps, 10, first=lambda crashes: early.tell(0, crashes))
    guard.note(7, 1)(0, "a record", ValueError("no"))
    assert guard.total == 1
    assert early.told(0) is None
