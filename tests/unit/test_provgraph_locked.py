"""What a killed process left is taken away by the next; what another one uses, or somebody else has, is not."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pandas as pd
import pytest

import bigdebug
from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.locked import LOCK, locked, remove_forsaken

FRAME = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "op": "R"})
PROGRAM = """
    import sys
    import pandas as pd
    import bigdebug
    frame = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "op": "R"})
"""


def begun(program, folder, *arguments):
    """A process that runs a program, with ``folder`` for what is temporary."""
    code = textwrap.dedent(PROGRAM) + textwrap.dedent(program)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], env={**os.environ, "TMPDIR": str(folder)}, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )


HOLDING = """
    graph = bigdebug.provenance(frame, progress=False)
    print(graph.path.parent.name, flush=True)
    sys.stdin.read()
"""


def test_a_temporary_index_goes_with_its_process_or_with_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "bigdebug-provenance-mine").mkdir()
    (tmp_path / "bigdebug-provenance-mine" / "thesis.txt").write_text("mine")
    with begun(HOLDING, tmp_path) as one, begun(HOLDING, tmp_path) as other, begun(HOLDING, tmp_path) as third:
        names = [process.stdout.readline().strip() for process in (one, other, third)]
        assert all((tmp_path / name / "index").is_dir() for name in names)
        one.send_signal(signal.SIGKILL)
        one.wait()
        third.stdin.close()
        third.wait()
        assert [(tmp_path / name).is_dir() for name in names] == [True, True, False]
        (tmp_path / "bigdebug-provenance-link").symlink_to(tmp_path / names[0])
        graph = bigdebug.provenance(FRAME, progress=False)
        assert [(tmp_path / name).exists() for name in names] == [False, True, False]
        assert sorted(one.name for one in tmp_path.iterdir()) == sorted([names[1], graph.path.parent.name, "bigdebug-provenance-link", "bigdebug-provenance-mine"])
        assert list(graph.ancestors(3)) == [2, 1]
        other.stdin.close()


def test_a_fork_takes_nothing_of_its_parent_away():
    graph = bigdebug.provenance(FRAME, progress=False)
    child = os.fork()
    if not child:
        graph.home.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert graph.path.is_dir()


def test_who_sees_a_lock_sees_it_locked(tmp_path):
    path, lock = locked(tmp_path, "x-")
    remove_forsaken(tmp_path, "x-")
    assert path.is_dir()
    lock.close()
    remove_forsaken(tmp_path, "y-")
    assert path.is_dir()
    remove_forsaken(tmp_path, "x-")
    assert not path.exists()


def interrupted_at(monkeypatch, numbers, index):
    """Replace an index where renames of these numbers, from 1, are interrupted."""
    rename, targets = Path.rename, []

    def interrupted(self, target):
        targets.append(target)
        if len(targets) in numbers:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr("bigdebug.provgraph.locked._swapped", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bigdebug.provenance(FRAME[:1], at=index, replace=True, progress=False)
    monkeypatch.undo()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o755), (0o027, 0o750)])
def test_an_index_is_open_to_those_whom_its_directory_is_open_to(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        bigdebug.provenance(FRAME, at=tmp_path / "index", progress=False)
        assert stat.S_IMODE((tmp_path / "index").stat().st_mode) == mode
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared").chmod(0o2775)
        for _ in range(2):
            bigdebug.provenance(FRAME, at=tmp_path / "shared", replace=True, progress=False)
            assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o2775
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a directory to a group that it is not in")
def test_an_index_belongs_to_the_group_of_its_directory(tmp_path, monkeypatch):
    (tmp_path / "team").mkdir()
    os.chown(tmp_path / "team", -1, 12345)
    (tmp_path / "team").chmod(0o2770)
    bigdebug.provenance(FRAME, at=tmp_path / "team", replace=True, progress=False)
    assert {path.stat().st_gid for path in (tmp_path / "team", *(tmp_path / "team").rglob("*"))} == {12345}
    assert stat.S_IMODE((tmp_path / "team").stat().st_mode) == 0o2770

    def refused(*_):
        raise PermissionError

    # Who may not give it to that group opens it to no other.
    monkeypatch.setattr(os, "chown", refused)
    bigdebug.provenance(FRAME, at=tmp_path / "team", replace=True, progress=False)
    assert stat.S_IMODE((tmp_path / "team").stat().st_mode) == 0o700


def test_an_index_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    bigdebug.provenance(FRAME, at=tmp_path / "index", progress=False)
    interrupted_at(monkeypatch, {3}, tmp_path / "index")  # the lock; the old one, aside; the new one, in its place
    assert list(bigdebug.open(tmp_path / "index").ancestors(3)) == [2, 1]
    assert [one.name for one in tmp_path.iterdir()] == ["index"]
    assert not (tmp_path / "index" / LOCK).exists()


def test_an_index_is_not_lost_where_it_can_neither_be_replaced_nor_put_back(tmp_path, monkeypatch):
    bigdebug.provenance(FRAME, at=tmp_path / "index", progress=False)
    interrupted_at(monkeypatch, range(3, 100), tmp_path / "index")  # the new one, in its place; the old one, back
    (aside,) = tmp_path.iterdir()
    assert list(bigdebug.open(aside).ancestors(3)) == [2, 1]
    bigdebug.provenance(FRAME[:1], at=tmp_path / "index", progress=False)
    assert list(bigdebug.open(aside).ancestors(3)) == [2, 1]


def test_processes_that_build_at_one_place_leave_one_whole_index(tmp_path):
    building = """
        from bigdebug.errors import StoreError
        for n in range(8):
            try:
                bigdebug.provenance(frame, at=sys.argv[1], replace=True, progress=False)
            except StoreError as error:
                print(error)
    """
    processes = [begun(building, tmp_path, tmp_path / "index") for _ in range(2)]
    told = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], told
    graph = bigdebug.open(tmp_path / "index")
    graph.verify()
    assert list(graph.ancestors(3)) == [2, 1]
    assert [one.name for one in tmp_path.iterdir()] == ["index"]


REPLACING = """
    for n in range(1, 41):
        some = pd.DataFrame({"src": [f"a{n % 2}", f"b{n % 2}"], "dst": [f"b{n % 2}", f"c{n % 2}"], "op": "R"})
        bigdebug.provenance(some, at=sys.argv[1], replace=True, progress=False)
"""


def test_who_opens_an_index_while_it_is_replaced_gets_the_one_or_the_other(tmp_path):
    bigdebug.provenance(pd.DataFrame({"src": ["a0", "b0"], "dst": ["b0", "c0"], "op": "R"}), at=tmp_path / "index", progress=False)
    with begun(REPLACING, tmp_path, tmp_path / "index") as writer:
        seen = set()
        while writer.poll() is None:
            graph = bigdebug.open(tmp_path / "index")
            number = graph.first(limit=1)[0][1]
            assert list(graph.ancestors(f"c{number}")) == [f"b{number}", f"a{number}"]
            seen.add(number)
    assert writer.returncode == 0
    assert seen == {"0", "1"}
    assert [one.name for one in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("at", ["s3://bucket/graph", "s3://KEY:SECRET@bucket/graph", "hdfs:///graph", "dbfs:/graph", "file:///tmp/graph", Path("s3://bucket/graph")])
def test_a_place_that_is_no_directory_of_this_machine_is_refused(at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProvenanceError, match="this is a URI") as refused:
        bigdebug.provenance(FRAME, at=at, progress=False)
    assert list(tmp_path.iterdir()) == []
    assert "SECRET" not in str(refused.value)


def test_a_place_may_begin_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    graph = bigdebug.provenance(FRAME, at="~/index", progress=False)
    assert graph.path == tmp_path / "home" / "index"
    assert list(tmp_path.iterdir()) == [tmp_path / "home"]
    assert len(bigdebug.open("~/index")) == len(graph)


@pytest.mark.parametrize("at", [5, "", b"index", True])
def test_what_is_no_directory_is_refused(at):
    with pytest.raises(ProvenanceError, match="told by its path"):
        bigdebug.provenance(FRAME, at=at, progress=False)
