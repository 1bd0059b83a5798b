"""Pruning: what goes, what stays, and what is nobody's business."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from bigdebug.errors import StoreError
from bigdebug.store.machine import born, machine
from bigdebug.trace.saved.checks import check
from bigdebug.trace.saved.retention import bytes_of, chosen, prune, seconds_of
from bigdebug.trace.saved.session import open_session
from tests.unit.saved import rewritten, session

DAY = 86400.0
NOW = 1_800_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Sessions that were saved one, two and three days ago, each of the same size."""
    made = session(tmp_path / "made")
    home = tmp_path / "home"
    for days in (1, 2, 3):
        shutil.copytree(made, home / f"d{days}")
        rewritten(home / f"d{days}", lambda catalog, days=days: catalog.update(saved=NOW - days * DAY))
    return home


def gone(home: Path, **limits: float) -> list[str]:
    return [kept.path.name for kept in chosen(home, now=NOW, **limits) if kept.goes]  # type: ignore[arg-type]


def test_age_and_size_say_what_goes_oldest_first(home: Path) -> None:
    size = chosen(home, now=NOW)[0].bytes
    assert size == sum(path.stat().st_size for path in (home / "d3").rglob("*") if path.is_file())
    assert gone(home) == []
    assert gone(home, older=1.5 * DAY) == ["d3", "d2"]
    assert gone(home, larger=3 * size + 9) == []
    assert gone(home, larger=2 * size + 9) == ["d3"]
    assert gone(home, larger=0) == ["d3", "d2", "d1"]
    assert gone(home, older=2.5 * DAY, larger=size + 9) == ["d3", "d2"]
    found = chosen(home, older=1.5 * DAY, now=NOW)
    assert sorted(path.name for path in home.iterdir()) == ["d1", "d2", "d3"]
    prune(found)
    assert sorted(path.name for path in home.iterdir()) == ["d1"]


def test_what_is_no_session_of_ours_is_left_alone(home: Path, tmp_path: Path) -> None:
    (home / "thesis").mkdir()
    (home / "thesis" / "years.txt").write_text("work")
    (home / "theirs").mkdir()
    (home / "theirs" / "session.json").write_text('{"cookies": []}')
    (home / "file").write_text("x")
    elsewhere = Path(shutil.copytree(home / "d3", tmp_path / "elsewhere"))
    (home / "link").symlink_to(elsewhere)
    (home / "d2" / "notes.txt").write_text("mine")
    prune(found := chosen(home, older=0.0, larger=0, now=NOW))
    assert sorted(path.name for path in home.iterdir()) == ["d2", "file", "link", "theirs", "thesis"]
    assert elsewhere.exists()
    [stayed] = [kept for kept in found if not kept.goes]
    assert "notes.txt" in stayed.why


@pytest.mark.parametrize("number", [0, -1])
def test_a_directory_of_a_format_that_never_was_is_left_alone(home: Path, number: int) -> None:
    rewritten(home / "d3", lambda catalog: catalog.update(format=number))
    assert gone(home, older=0.0, larger=0) == ["d2", "d1"]


def test_saves_that_ended_half_way_go_and_those_that_go_on_stay(home: Path) -> None:
    def half(name: str, process: int, host: str, **more: str) -> Path:
        path = home / name
        (path / "blocks").mkdir(parents=True)
        (path / "unfinished.json").write_text(json.dumps({"bigdebug": "a session that is being saved", "process": process, "host": host, **more}))
        return path

    half(".dead-x1", 1 << 22, machine())
    half(".alive-x2", os.getpid(), machine(), born=born(os.getpid()))
    half(".reused-x5", os.getpid(), machine(), born="1")  # another process has its number now
    half(".older-x6", os.getpid(), machine())  # of a bigdebug that did not say when it was born
    half(".far-x3", 1, "another machine")
    old = half(".long-x4", 1, "another machine")
    os.utime(old / "unfinished.json", (NOW, NOW - 2 * DAY))
    for name in (".alive-x2", ".far-x3", ".dead-x1", ".reused-x5", ".older-x6"):
        os.utime(home / name / "unfinished.json", (NOW, NOW))
    prune(chosen(home, now=NOW))
    assert sorted(path.name for path in home.iterdir()) == [".alive-x2", ".far-x3", ".older-x6", "d1", "d2", "d3"]


def test_what_only_looks_like_a_save_that_ended_half_way_is_left_alone(home: Path) -> None:
    ours = json.dumps({"bigdebug": "a session that is being saved", "process": 1 << 22, "host": machine()})
    for name, told, beside in (
        ("todo", '["write thesis"]', "thesis.tex"), (".todo", '["write thesis"]', "blocks/x"), ("shown", ours, "blocks/x"), (".mixed-x1", ours, "blocksworld/thesis.tex"),
        (".text-x2", '{"bigdebug": "a note of mine", "process": 0, "host": ""}', "blocks/x"), (".odd-x3", ours.replace(str(1 << 22), '"7"'), "blocks/x"),
    ):
        (home / name / beside).parent.mkdir(parents=True)
        (home / name / beside).write_text("years")
        (home / name / "unfinished.json").write_text(told)
    before = sorted(path.name for path in home.iterdir())
    prune(chosen(home, now=NOW + 9 * DAY))
    assert sorted(path.name for path in home.iterdir()) == before


def test_a_save_that_does_not_say_yet_who_writes_it_waits_a_day(home: Path) -> None:
    for name, told in ((".empty-x1", ""), (".torn-x2", '{"bigdebug": "a sess')):
        (home / name).mkdir()
        (home / name / "unfinished.json").write_text(told)
        os.utime(home / name / "unfinished.json", (NOW, NOW))
    assert gone(home) == []
    assert sorted(kept.path.name for kept in chosen(home, now=NOW + 2 * DAY) if kept.goes) == [".empty-x1", ".torn-x2"]


@pytest.mark.parametrize("killed", ["bigdebug.trace.saved.saving.born", "bigdebug.store.sealed.digest", "bigdebug.store.sealed._of", "bigdebug.trace.saved.saving._by"])
def test_a_save_that_is_killed_goes_wherever_it_was(tmp_path: Path, killed: str) -> None:
    if (child := os.fork()) == 0:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(killed, lambda *given: os._exit(9))
                session(tmp_path / "home" / "s")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    [half] = [path for path in (tmp_path / "home").iterdir() if path.name != "store"]
    if killed.endswith("born"):  # nothing says who made it
        prune(chosen(tmp_path / "home"))
        assert half.exists()
        os.utime(half, (NOW, NOW))
    prune(chosen(tmp_path / "home", now=NOW + 2 * DAY))
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["store"]


def test_what_is_left_in_a_directory_that_was_there_is_its_owners_and_said(tmp_path: Path) -> None:
    (there := tmp_path / "home" / "s").mkdir(parents=True)
    if (child := os.fork()) == 0:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("bigdebug.trace.saved.saving._move", lambda *given: os._exit(9))
                session(there)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    prune(chosen(tmp_path / "home", now=NOW + 2 * DAY))
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["s", "store"]
    assert [problem.what for problem in check(there)] == ["the session was not written to its end"]
    with pytest.raises(StoreError, match="remove what is left of it"):
        open_session(there)


def test_an_empty_directory_of_another_name_stays(home: Path) -> None:
    for name in (".cache", "d-abcdefgh", ".d-ABCDEFGH", ".vscode-settings", ".cache-database", ".bigdebug", ".bigdebug-settings", "bigdebug-d1-abcdefgh"):
        (home / name).mkdir()
        os.utime(home / name, (NOW - 9 * DAY, NOW - 9 * DAY))
    assert gone(home) == []


def test_what_was_begun_and_not_a_file_written_is_known_by_its_name(home: Path) -> None:
    for name in (".bigdebug-d1-abcdefgh", ".bigdebug-full-abcdefgh"):
        (home / name).mkdir()
    (home / ".bigdebug-full-abcdefgh" / "thesis.txt").write_text("years")
    for name in (".bigdebug-d1-abcdefgh", ".bigdebug-full-abcdefgh"):
        os.utime(home / name, (NOW - 2 * DAY, NOW - 2 * DAY))
    assert gone(home) == [".bigdebug-d1-abcdefgh"]
    prune(chosen(home, now=NOW))
    assert sorted(path.name for path in home.iterdir()) == [".bigdebug-full-abcdefgh", "d1", "d2", "d3"]


@pytest.mark.parametrize("name", ["n" * 255, "ö" * 127, "line\nline"])
def test_a_session_of_any_name_that_a_directory_can_have_is_saved_and_removed(tmp_path: Path, name: str) -> None:
    session(tmp_path / "home" / name)
    prune(chosen(tmp_path / "home", older=0.0, now=NOW + 9 * DAY))
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["store"]


def test_a_removal_that_is_killed_goes_the_next_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removed = 0

    def killed(path: str | Path, **given: object) -> None:
        nonlocal removed
        removed += 1
        if removed > 1:
            raise KeyboardInterrupt
        remove(path)

    remove = shutil.rmtree
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            prune(chosen(home, older=2.5 * DAY, now=NOW))
    assert gone(home) == [half.name for half in home.iterdir() if half.name.startswith(".bigdebug-d3-")] != []


def test_a_session_that_somebody_made_read_only_stays(home: Path) -> None:
    (home / "d3").chmod(0o500)
    (home / "d2" / "outputs").chmod(0o500)
    found = prune(chosen(home, older=0.0, now=NOW))
    assert sorted(path.name for path in home.iterdir()) == ["d2", "d3"]
    assert [kept.why for kept in found if kept.path.name == "d3"] == ["stays, though saved 3.0 days ago: it is read-only"]
    assert check(home / "d2") == check(home / "d3") == []
    (home / "d3").chmod(0o700)
    assert gone(home, older=0.0) == ["d3"]


def test_what_cannot_be_removed_stays_as_it_was_and_keeps_no_other_from_going(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def full(path: Path, *given: object) -> int:
        if path.parent.name.startswith(".bigdebug-d3-"):
            path.touch()
            raise OSError(28, "No space left on device")
        return write(path, *given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        found = prune(chosen(home, older=1.5 * DAY, now=NOW))
    assert [(kept.path.name, kept.goes, kept.failed) for kept in found] == [("d3", False, True), ("d2", True, False), ("d1", False, False)]
    assert found[0].why == "saved 3.0 days ago, but cannot be removed: No space left on device"
    assert sorted(path.name for path in home.iterdir()) == ["d1", "d3"]
    assert check(home / "d3") == []


def test_an_interrupted_removal_that_has_not_begun_puts_the_session_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prune(chosen(home, older=2.5 * DAY, now=NOW))
    assert sorted(path.name for path in home.iterdir()) == ["d1", "d2", "d3"]
    assert check(home / "d3") == []


def test_what_is_half_removed_is_told_where_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shut(path: str | Path, **given: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", shut)
        [failed] = [kept for kept in prune(chosen(home, older=2.5 * DAY, now=NOW)) if kept.failed]
    assert failed.path.exists()
    assert failed.path.name.startswith(".bigdebug-d3-")
    assert gone(home) == [failed.path.name]


def test_a_save_of_another_container_of_the_same_name_waits_a_day(home: Path) -> None:
    path = home / ".other-x1"
    path.mkdir()
    (path / "unfinished.json").write_text(json.dumps({"bigdebug": "a session that is being saved", "process": 1 << 22, "host": socket.gethostname()}))
    os.utime(path / "unfinished.json", (NOW, NOW))
    assert gone(home) == []


def test_a_removal_that_ended_half_way_goes(home: Path) -> None:
    half = (home / "d1").rename(home / ".d1-x1")
    (half / "unfinished.json").write_text('{"bigdebug": "a session that is being removed", "process": 0, "host": ""}')
    assert gone(home) == [".d1-x1"]


def test_sessions_of_format_1_and_of_later_formats(home: Path) -> None:
    golden = Path(__file__).resolve().parents[1] / "golden" / "saved" / "format-1" / "session"
    shutil.copytree(golden, home / "old")
    os.utime(home / "old" / "session.json", (NOW, NOW - 9 * DAY))
    catalog = json.loads((home / "d3" / "session.json").read_text())
    (home / "d3" / "session.json").write_text(json.dumps({**catalog, "format": 9}))
    assert gone(home, older=2.5 * DAY) == ["old"]
    [later] = [kept for kept in chosen(home, older=2.5 * DAY, now=NOW) if kept.path.name == "d3"]
    assert "format 9" in later.why


def test_ages_and_sizes() -> None:
    assert [seconds_of(text) for text in ("30d", "12h", "90m", "2w", "1.5d", "5s")] == [30 * DAY, 43200, 5400, 14 * DAY, 1.5 * DAY, 5]
    assert [bytes_of(text) for text in ("10GB", "500M", "1.5 tb", "7", "2kb")] == [10**10, 5 * 10**8, 1_500_000_000_000, 7, 2000]
    assert bytes_of("1" + "0" * 400) == 10**400
    for wrong in ("", "d", "-1d", "1y", "soon"):
        with pytest.raises(StoreError, match="no age"):
            seconds_of(wrong)
    for wrong in ("", "GB", "-1", "1PB"):
        with pytest.raises(StoreError, match="no size"):
            bytes_of(wrong)


def test_a_session_itself_is_not_a_place_for_sessions(home: Path) -> None:
    with pytest.raises(StoreError, match="saved session itself"):
        chosen(home / "d1")
    with pytest.raises(StoreError, match="no such directory"):
        chosen(home / "nowhere")
