"""The store of datasets: what is recorded is there, whoever else writes and whatever becomes of the file; nobody else can read it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.datasets.home import default_store
from bigdebug.datasets.migrations import migrate
from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.retention import Retention
from bigdebug.datasets.schema import STEPS, VERSION
from bigdebug.datasets.secrets import Secrets
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import CorruptStoreError, DatasetsError, StoreError, StoreVersionError
from bigdebug.store.home import home
from tests.processes import processes

BEGAN = datetime(2026, 11, 27, 1, 2, 3, 456789, tzinfo=timezone.utc)
ORDERS, SALES = Dataset("file", "/data/orders", "files", "parquet"), Dataset("file:/w", "shop.sales", "table", location="file:/w/sales")
SALE = Process(
    "p0", "sales", "write", "app", BEGAN, BEGAN + timedelta(seconds=2), "succeeded",
    reads=(Access(ORDERS, schema=(Field("price", "int"),), rows=3),), writes=(Access(SALES, "created", (Field("total", "bigint", False),), 1, 99),),
    columns=(ColumnEdge(SALES, "total", ORDERS, "price", "AGGREGATION"),),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DatasetStore]:
    made = DatasetStore(tmp_path / "home" / "datasets.sqlite")
    yield made
    made.close()


def as_stored(process: Process) -> Process:
    """Times without a zone are in UTC, half a pair of surrogates is no text, and in names of columns that are used no NUL is."""
    def told(value: Any) -> Any:
        if isinstance(value, str):
            return value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        if isinstance(value, tuple):
            return tuple(map(told, value))
        if isinstance(value, ColumnEdge):
            value = replace(value, column=value.column.replace("\0", "\\x00"), used=value.used.replace("\0", "\\x00"))
        return replace(value, **{known.name: told(getattr(value, known.name)) for known in fields(value) if known.name != "opaque"}) if is_dataclass(value) and not isinstance(value, Field) else value

    return told(Secrets().cleaned(process))  # type: ignore[no-any-return]


def again(number: int, **said: Any) -> Process:
    return replace(SALE, id=f"p{number}", started=BEGAN + timedelta(seconds=number), **said)


# ---- what is stored ---------------------------------------------------------------------------------------------


@given(st.lists(processes(), max_size=4, unique_by=lambda process: process.id))
@settings(max_examples=30)
def test_what_is_recorded_is_read_as_it_was(tmp_path_factory: pytest.TempPathFactory, given: list[Process]) -> None:
    store = DatasetStore(tmp_path_factory.mktemp("store") / "s.sqlite")
    store.record(*given)
    store.close()
    for process in given:
        assert store.process(process.id) == as_stored(process)
    assert store.trouble == ""
    store.close()


def test_what_is_told_again_replaces_what_was(store: DatasetStore) -> None:
    store.record(replace(SALE, status="running", ended=None, writes=(), columns=()))
    store.record(SALE)
    assert list(store.each()) == [SALE]
    with store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM flow").fetchone() == (1,)


def test_what_a_job_does_each_time_is_stored_once(store: DatasetStore) -> None:
    store.record(*map(again, range(50)))
    with store.reading() as db:
        counts = {table: db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("process", "flow", "edge", "dataset", "schema", "passage")}
    assert counts == {"process": 50, "flow": 1, "edge": 1, "dataset": 2, "schema": 2, "passage": 2}


def test_text_that_is_no_text_is_stored_as_an_escape(store: DatasetStore) -> None:
    store.record(replace(SALE, id="half", session="\ud800", status="running", ended=None))
    assert [process.session for process in store.each()] == ["\\ud800"]
    store.record(replace(SALE, id="half"))
    store.record(replace(SALE, error="half \ud800 of a pair, and \0 nothing", reads=(Access(Dataset("file", "/\udcff")),)))
    read = list(store.each())[-1]
    assert read.error == "half \\ud800 of a pair, and \0 nothing"
    assert read.reads[0].dataset.name == "/\\udcff"
    assert store.trouble == ""


def test_large_values_are_stored_cut(store: DatasetStore) -> None:
    store.record(replace(SALE, error="x" * 10_000_000, text="y" * 10_000_000))
    assert len(next(store.each()).error) <= 4_000
    assert store.path.stat().st_size < 300_000


def test_three_hundred_columns_are_all_there(store: DatasetStore) -> None:
    schema = tuple(Field(f"<script>{i}</script>", "int") for i in range(300))
    edges = tuple(ColumnEdge(SALES, each.name, ORDERS, each.name, "IDENTITY") for each in schema)
    wide = replace(SALE, reads=(Access(ORDERS, schema=schema),), columns=edges)
    store.record(wide)
    assert list(store.each()) == [wide]


# ---- whose it is ------------------------------------------------------------------------------------------------


def test_nobody_but_the_owner_can_read_it(store: DatasetStore) -> None:
    before = os.umask(0)
    try:
        store.record(SALE)
        modes = {path.name: path.stat().st_mode & 0o777 for path in store.path.parent.iterdir()}
    finally:
        os.umask(before)
    assert store.path.parent.stat().st_mode & 0o777 == 0o700
    assert set(modes) == {"datasets.sqlite", "datasets.sqlite-wal", "datasets.sqlite-shm"}
    assert set(modes.values()) == {0o600}


def test_a_file_that_others_could_read_is_the_owners_again(store: DatasetStore) -> None:
    store.record(SALE)
    store.close()
    store.path.chmod(0o644)
    store.record(again(1))
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_home_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "mine"))
    assert default_store() == tmp_path / "mine" / "datasets.sqlite"
    monkeypatch.delenv("BIGDEBUG_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert home() == tmp_path / "data" / "bigdebug"


def test_a_store_that_nobody_wrote_to_leaves_nothing(store: DatasetStore) -> None:
    assert list(store.each()) == []
    assert not store.path.parent.exists()


SECRET = "Zq7-hunter2.X9"


def test_no_byte_of_a_secret_is_on_the_disk(store: DatasetStore) -> None:
    told = replace(
        SALE, text=f"CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:pg://u:{SECRET}@h/db', password '{SECRET}')", error=f"{SECRET} is wrong",
        job=f"load {SECRET}", opaque=(f"Odd({SECRET})",), reads=(Access(Dataset("pg://h", f"t{SECRET}"), schema=(Field(SECRET, "int"),)),),
    )
    store.record(told)
    files = list(store.path.parent.iterdir())
    assert len(files) == 3
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
    store.close()
    assert SECRET.encode() not in store.path.read_bytes()


# ---- what is kept -----------------------------------------------------------------------------------------------


def test_old_ones_go_by_age_with_what_only_they_told(tmp_path: Path) -> None:
    now = datetime.now(timezone.utc)
    old = replace(SALE, id="old", started=now - timedelta(days=12), ended=now - timedelta(days=11), job="once")
    long = replace(SALE, id="long", started=now - timedelta(days=12), ended=now)
    store = DatasetStore(tmp_path / "s.sqlite", retention=Retention(days=10))
    store.record(old, long)
    assert [process.id for process in store.each()] == ["long"]
    with store.reading() as db:
        assert db.execute("SELECT job FROM flow").fetchall() == [("sales",)]
    store.close()


def test_a_clock_that_is_years_ahead_takes_nothing_away(tmp_path: Path) -> None:
    now = datetime.now(timezone.utc)
    store = DatasetStore(tmp_path / "s.sqlite", retention=Retention(days=40))
    store.record(*(replace(SALE, id=f"p{day}", session=f"s{day}", started=now - timedelta(days=day), ended=now) for day in range(5)))
    store.close()
    ahead = replace(SALE, id="ahead", session="ahead", started=now + timedelta(days=10_000), ended=None)
    with pytest.MonkeyPatch.context() as clock:
        clock.setattr("bigdebug.datasets.retention.datetime", type("Ahead", (datetime,), {"now": classmethod(lambda kind, zone: now + timedelta(days=10_000))}))
        later = DatasetStore(store.path, retention=store.retention)
        later.record(ahead)
        later.close()
    assert {process.id for process in store.each()} == {"ahead", *(f"p{day}" for day in range(5))}
    store.close()


def test_the_oldest_go_by_number(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite", retention=Retention(days=100_000, processes=100))
    for start in range(0, 2_300, 100):
        store.record(*(again(i, reads=(Access(Dataset("file", f"/d{i}")),), columns=()) for i in range(start, start + 100)))
    kept = list(store.each())
    assert len(kept) <= 1_100
    assert kept[-1].id == "p2299"
    with store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM dataset").fetchone()[0] == len(kept) + 1
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    store.close()


def test_what_is_kept_is_said_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGDEBUG_KEEP_DAYS", "7")
    monkeypatch.setenv("BIGDEBUG_KEEP_PROCESSES", "9")
    assert Retention.of_environment() == Retention(7, 9)
    with pytest.raises(ValueError, match="some days"):
        Retention(0)
    for days, count in (("soon", "9"), ("0", "9"), ("nan", "9"), ("7", "9.5"), ("7", "-1")):
        monkeypatch.setenv("BIGDEBUG_KEEP_DAYS", days)
        monkeypatch.setenv("BIGDEBUG_KEEP_PROCESSES", count)
        with pytest.raises(DatasetsError, match=f"BIGDEBUG_KEEP_DAYS={days}, BIGDEBUG_KEEP_PROCESSES={count}.*400 days"):
            DatasetStore()


# ---- others, and what becomes of the file -----------------------------------------------------------------------

WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from bigdebug.datasets.store import DatasetStore
from tests.unit.test_datasets_store import SALE, again
store = DatasetStore(Path(sys.argv[1]))
print("ready", flush=True)
for i in range(int(sys.argv[2])):
    store.record(replace(again(i), id=f"{sys.argv[3]}-{i}"))
store.close(30)
print(store.trouble or "done", flush=True)
"""


def writer(path: Path, count: int, name: str) -> subprocess.Popen[str]:
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(count), name], stdout=subprocess.PIPE, text=True, cwd=root)


def test_two_processes_write_at_once_and_lose_nothing(store: DatasetStore) -> None:
    both = [writer(store.path, 150, name) for name in ("a", "b")]
    said = [each.communicate(timeout=60)[0].split() for each in both]
    assert said == [["ready", "done"]] * 2
    assert sorted(process.id for process in store.each()) == sorted(f"{name}-{i}" for name in "ab" for i in range(150))


def test_one_that_is_killed_while_it_writes_leaves_whole_processes(store: DatasetStore) -> None:
    killed = writer(store.path, 100_000, "k")
    assert killed.stdout is not None
    assert killed.stdout.readline() == "ready\n"
    until = time.monotonic() + 30
    while not list(store.each()) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    left = list(store.each())
    assert left
    assert all(replace(process, id="p0", started=BEGAN) == SALE for process in left)
    store.record(again(1))
    with store.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert store.trouble == ""


def test_who_finds_it_locked_does_not_wait_and_loses_nothing(store: DatasetStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.datasets.store._SOON", 0.1)
    store.record(SALE)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    store.record(again(1))
    assert time.monotonic() - began < 2
    assert "keeps the store" in store.trouble
    assert "1 process waits" in store.trouble
    assert [process.id for process in store.each()] == ["p0"]  # what is there can be asked
    other.execute("ROLLBACK")
    time.sleep(0.2)
    store.record(again(2))
    assert [process.id for process in store.each()] == ["p0", "p1", "p2"]
    assert store.trouble == ""
    other.close()


def test_a_store_that_is_locked_for_long_delays_nobody_and_is_written_by_itself(store: DatasetStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.datasets.store._SOON", 1.0)
    store.record(SALE)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    for i in range(1, 41):
        store.record(again(i))
    assert time.monotonic() - began < 5  # a second once; 40 where each waits
    other.execute("ROLLBACK")
    until = time.monotonic() + 10
    while other.execute("SELECT COUNT(*) FROM process").fetchone() != (41,) and time.monotonic() < until:
        time.sleep(0.05)
    assert other.execute("SELECT COUNT(*) FROM process").fetchone() == (41,)
    other.close()


def test_what_was_kept_in_memory_is_written_once_the_file_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").write_text("")
    store = DatasetStore(tmp_path / "home" / "datasets.sqlite")
    store.record(SALE, again(1))
    store.record(again(2))
    assert "kept in memory" in store.trouble
    (tmp_path / "home").unlink()
    store.record(again(3))
    assert "kept in memory" in store.trouble  # it is not tried each time
    monkeypatch.setattr(store, "_rests_until", 0.0)
    store.record(again(4))
    assert store.trouble == ""
    assert [process.id for process in DatasetStore.of(store.path).each()] == ["p0", "p1", "p2", "p3", "p4"]
    store.close()


def test_at_the_end_the_file_is_tried_once_more(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    store = DatasetStore(tmp_path / "home" / "datasets.sqlite")
    store.record(SALE)
    (tmp_path / "home").unlink()
    store.close()
    assert list(DatasetStore.of(store.path).each()) == [SALE]


DIES = """
import sys
from dataclasses import replace
from pathlib import Path
from bigdebug.datasets.store import DatasetStore
from tests.unit.test_datasets_store import SALE
DatasetStore(Path(sys.argv[1])).record(replace(SALE, id=sys.argv[2], session=sys.argv[2], status="running", ended=None))
print("ready", flush=True)
sys.stdin.read()
"""


def test_what_a_session_left_running_when_it_died_is_lost_and_what_runs_is_not(store: DatasetStore) -> None:
    root = Path(__file__).resolve().parents[2]
    both = [subprocess.Popen([sys.executable, "-c", DIES, str(store.path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) for name in ("dies", "lives")]
    store.record(replace(SALE, id="mine", session="mine", status="running", ended=None))
    for each in both:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    assert {process.status for process in store.each()} == {"running"}
    os.kill(both[0].pid, signal.SIGKILL)
    both[0].wait()
    assert {process.id: process.status for process in store.each()} == {"dies": "lost", "lives": "running", "mine": "running"}
    store.record(SALE)
    assert {process.id: process.status for process in DatasetStore.of(store.path).each()}["dies"] == "lost"
    both[1].communicate()
    both[0].communicate()


def test_another_process_that_has_its_number_by_now_is_not_taken_for_it(store: DatasetStore) -> None:
    store.record(replace(SALE, status="running", ended=None))
    with store._file.transaction() as db:
        db.execute("UPDATE owner SET born = '1'")
    assert [process.status for process in store.each()] == ["lost"]
    store.record(SALE)  # it was told again how it ended
    assert [process.status for process in store.each()] == ["succeeded"]


def test_of_other_machines_nothing_is_known(store: DatasetStore) -> None:
    store.record(replace(SALE, status="running", ended=None))
    with store._file.transaction() as db:
        db.execute("UPDATE owner SET host = 'elsewhere', pid = 1, born = '1'")
    assert [process.status for process in store.each()] == ["running"]


def test_a_newer_version_is_refused_and_left_as_it_is(store: DatasetStore) -> None:
    store.record(SALE)
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    before = store.path.read_bytes()
    store.record(again(1))
    assert f"has version {VERSION + 1}, and this bigdebug knows up to {VERSION}" in store.trouble
    assert "is kept in memory until it ends" in store.trouble
    assert [process.id for process in store.each()] == ["p1"]
    with pytest.raises(StoreVersionError, match="BIGDEBUG_HOME"):
        DatasetStore.of(store.path)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "noise", "text", "header"])
def test_a_damaged_file_is_named_and_recording_goes_on(store: DatasetStore, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    store.record(*map(again, range(60)))
    store.close()
    whole = store.path.read_bytes()
    store.path.write_bytes({"cut": whole[: len(whole) // 3], "noise": whole[:4096] + os.urandom(len(whole) - 4096), "text": b"a,b\n" * 500,
                            "header": b"SQLite format 3\0" + b"\xff" * 4080}[damage])
    before = store.path.read_bytes()
    store.record(again(99))
    assert store.trouble
    assert "move the file" in store.trouble
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "p99" in [process.id for process in store.each()]
    assert store.path.read_bytes() == before


@pytest.mark.parametrize(("change", "said"), [
    ("UPDATE passage SET dataset = 99", "a row of passage names a dataset that is not there"), ("UPDATE process SET flow = 99", "names a flow"),
    ("UPDATE process SET opaque = '[\"'", "Unterminated"), ("DELETE FROM dataset", "names a dataset"),
])
def test_what_does_not_fit_together_is_named_and_no_answer(store: DatasetStore, change: str, said: str) -> None:
    store.record(SALE)
    with closing(sqlite3.connect(store.path)) as db, db:
        db.execute(change)
    with pytest.raises(CorruptStoreError, match=said):
        list(store.each())


def test_a_mistake_of_a_program_is_no_damage(store: DatasetStore) -> None:
    store.record(SALE)
    with pytest.raises(TypeError, match="mine"), store.reading():
        raise TypeError("mine")


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    before = path.read_bytes()
    store = DatasetStore(path)
    store.record(SALE)
    assert "no store of datasets" in store.trouble
    assert list(store.each()) == [SALE]
    assert path.read_bytes() == before
    with pytest.raises(CorruptStoreError, match="no store of datasets"):
        DatasetStore.of(path)


def test_where_no_file_can_be_made_recording_goes_on_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = DatasetStore(tmp_path / "file" / "datasets.sqlite")
    store.record(SALE)
    store.record(again(1))
    assert "cannot be made" in store.trouble
    assert "BIGDEBUG_HOME" in store.trouble
    assert list(store.each()) == [SALE, again(1)]


READER = """
import os, sys
from pathlib import Path
from bigdebug.datasets.store import DatasetStore
from tests.unit.test_datasets_store import SALE, again
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
asked = DatasetStore.of(Path(sys.argv[1]))
print(len(list(asked.each())), asked.trouble or "-")
store = DatasetStore(Path(sys.argv[1]))
store.record(again(7))
print(len(list(store.each())), store.trouble)
"""


def test_one_that_can_only_be_read_is_asked_and_recording_goes_on(tmp_path: Path, store: DatasetStore) -> None:
    """As a user who is not root, whom modes would not keep from writing."""
    root = Path(__file__).resolve().parents[2]
    store.record(SALE)
    store.close()
    for folder in (tmp_path, *(each for each in tmp_path.parents if Path(tempfile.gettempdir()) in each.parents)):
        folder.chmod(0o755)
    store.path.parent.chmod(0o555)
    store.path.chmod(0o444)
    done = subprocess.run([sys.executable, "-c", READER, str(store.path)], capture_output=True, text=True, cwd=root, check=False)
    store.path.parent.chmod(0o755)
    assert done.returncode == 0, done.stderr
    asked, recorded = done.stdout.splitlines()
    assert asked == "1 -"
    assert recorded.startswith("2 The store of datasets cannot be ")
    assert recorded.endswith("is kept in memory, beside what the file holds, until it ends.")


def test_processes_that_are_read_one_by_one_keep_nobody_from_writing(store: DatasetStore) -> None:
    store.record(*map(again, range(250)))
    other = DatasetStore(store.path, retention=Retention(processes=10))
    read: list[str] = []
    for process in store.each():
        if not read:
            other.record(again(999))  # takes all but the last ten away
        read.append(process.id)
    assert read == [f"p{n}" for n in (*range(100), *range(241, 250))]
    assert other.trouble == store.trouble == ""
    other.close()


def test_there_has_to_be_one_to_be_asked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store of datasets"):
        DatasetStore.of(tmp_path / "none.sqlite")


def test_a_store_that_is_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "datasets.sqlite").mkdir()
    with pytest.raises(StoreError, match="is no file"):
        DatasetStore.of(tmp_path / "datasets.sqlite")


def test_what_is_no_process_is_left_out_and_the_others_are_stored(store: DatasetStore, caplog: pytest.LogCaptureFixture) -> None:
    no_job: Any = None
    huge = replace(SALE.writes[0], rows=2**70)
    store.record(again(1), replace(again(2), job=no_job), replace(again(3), writes=(huge,)), again(4))
    store.record(again(5))
    assert [process.id for process in store.each()] == ["p1", "p4", "p5"]
    assert store.trouble == ""
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def test_a_file_that_was_taken_away_is_made_again(store: DatasetStore) -> None:
    store.record(SALE)
    for path in store.path.parent.iterdir():
        path.unlink()
    store.record(again(1))
    assert [process.id for process in DatasetStore.of(store.path).each()] == ["p1"]
    assert store.trouble == ""


def test_a_file_that_another_session_made_again_is_written_by_both(store: DatasetStore) -> None:
    other = DatasetStore(store.path)
    store.record(again(1))
    other.record(again(2))
    for path in store.path.parent.iterdir():
        path.unlink()
    store.record(again(3))
    assert [process.id for process in other.each()] == ["p3"]
    other.record(again(4))
    other.close()
    assert [process.id for process in DatasetStore.of(store.path).each()] == ["p3", "p4"]
    assert [process.id for process in store.each()] == ["p3", "p4"]


def test_what_is_no_process_keeps_nothing_in_memory(tmp_path: Path) -> None:
    place = tmp_path / "home"
    place.write_text("in the way")
    store = DatasetStore(place / "s.sqlite")
    store.record(again(1), replace(again(2), writes=(replace(SALE.writes[0], rows=2**70),)), again(3))
    assert "kept in memory" in store.trouble
    place.unlink()
    store.close()
    assert [process.id for process in DatasetStore.of(store.path).each()] == ["p1", "p3"]


def test_a_path_may_have_a_thousand_parts(store: DatasetStore) -> None:
    deep = Dataset("file", "/a" * 1_900)
    store.record(replace(SALE, reads=(Access(deep), Access(Dataset("file", "/a/a")))))
    assert next(store.each()).reads[0].dataset == deep


# ---- migrations -------------------------------------------------------------------------------------------------


def test_an_older_store_is_brought_to_this_version_with_what_it_holds(store: DatasetStore) -> None:
    store.record(SALE)
    with store.reading() as db:
        kept = "\n".join(db.iterdump())
    store.close()
    with sqlite3.connect(store.path, isolation_level=None) as db:
        migrate(db, "s", (*STEPS, ("ALTER TABLE process ADD COLUMN more TEXT NOT NULL DEFAULT ''",)))
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION + 1,)
        assert db.execute("SELECT id, more FROM process").fetchall() == [("p0", "")]
    db.close()
    assert "p0" in kept


def test_a_migration_that_fails_leaves_all_as_it_was(store: DatasetStore) -> None:
    store.record(SALE)
    store.close()
    with sqlite3.connect(store.path, isolation_level=None) as db:
        before = "\n".join(db.iterdump())
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            migrate(db, "s", (*STEPS, ("DROP TABLE measure", "INSERT INTO nowhere VALUES (1)")))
        assert "\n".join(db.iterdump()) == before
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
    db.close()


def test_statements_of_a_released_version_stay_as_they_are() -> None:
    """Stores of users were made by them: add a step, and never change one."""
    from hashlib import sha256

    assert [sha256("\n".join(step).encode()).hexdigest()[:16] for step in STEPS] == ["9b25a45eae702def", "fc64ddc6f362649f"]
