"""What was recorded does not always tell all: answers say so."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from bigdebug.datasets.doubts import of_columns, of_datasets
from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.naming import of_path, of_table
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore

AT = datetime(2026, 11, 1, tzinfo=timezone.utc)

RAW, FILES, OUT = Dataset("file", "/raw"), Dataset("file", "/f_csv", format="csv"), Dataset("file", "/r_csv")
PARQUET = Dataset("file", "/f_parquet", format="parquet")
MODEL = Dataset("spark:app", "Model_1", "model")


@pytest.fixture
def asked(tmp_path: Path) -> Datasets:
    return Datasets(DatasetStore(tmp_path / "datasets.sqlite"))


def done(number: int, output: Dataset, source: Dataset, *edges: tuple[str, str], reads: str = "", mode: str = "created", job: str = "") -> Process:
    at = AT + timedelta(minutes=number)
    seen = tuple(Field(name, "int") for name in reads.split() or [used for _, used in edges])
    made = tuple(Field(name, "int") for name, _ in edges)
    return Process(
        str(number), job or f"job {number}", "write", "s", at, at, "succeeded", reads=(Access(source, schema=seen),), writes=(Access(output, mode, made),),
        columns=tuple(ColumnEdge(output, column, source, used, "IDENTITY") for column, used in edges),
    )


def notes(answer: object) -> str:
    return " ".join(answer.notes)  # type: ignore[attr-defined]


def test_columns_that_are_read_otherwise_than_they_were_written_are_not_known_from_there_on(asked: Datasets) -> None:
    asked.store.record(done(1, FILES, RAW, ("id", "id"), ("name", "name")), done(2, OUT, FILES, ("_c1", "_c1"), reads="_c0 _c1"))
    said = "file:/f_csv was read with other columns than it was written with"
    assert f"{said}: what its columns were made of is not known from there on." in notes(asked.upstream("r_csv", "_c1"))
    assert f"{said}: what was made of its columns is not known from there on." in notes(asked.downstream("/raw", "name"))


def test_columns_that_are_read_as_they_were_written_are_no_matter_of_doubt(asked: Datasets) -> None:
    asked.store.record(done(1, PARQUET, RAW, ("id", "id"), ("name", "name")), done(2, OUT, PARQUET, ("x", "ID"), reads="ID"))
    assert not asked.upstream("r_csv", "x").notes
    assert not asked.downstream("/raw", "name").notes
    constant = done(3, PARQUET, RAW, ("id", "id"))
    asked.store.record(replace(constant, writes=(Access(PARQUET, "created", (Field("id", "int"), Field("one", "int"))),)), done(4, OUT, PARQUET, ("one", "one")))
    assert not asked.upstream("r_csv", "one").notes


def test_what_was_dropped_and_made_again_is_said_to_be_one(asked: Datasets) -> None:
    table = Dataset("file:/wh", "default.tb", "table")
    asked.store.record(done(1, table, RAW, ("a", "a")), done(2, OUT, table, ("a", "a")))
    drop = replace(done(3, table, RAW, mode="dropped"), reads=())
    asked.store.record(drop)
    assert not asked.upstream("r_csv").notes
    asked.store.record(done(4, table, Dataset("file", "/other"), ("a", "a")))
    for answer in (asked.upstream("r_csv"), asked.upstream("r_csv", "a"), asked.downstream("/other")):
        assert "file:/wh/default.tb was dropped and made again: this is told of all that it ever was." in notes(answer)


@pytest.mark.parametrize("drops", [True, False])
def test_a_table_that_is_elsewhere_by_now_is_followed_where_it_was(asked: Datasets, drops: bool) -> None:
    old, new = (Dataset("file:/wh", "default.tb", "table", location=f"file:/wh/{place}") for place in ("old", "new"))
    asked.store.record(done(1, old, RAW, ("a", "a")), done(2, OUT, Dataset("file", "/wh/old"), ("a", "a")))
    assert asked.upstream("r_csv").notes == ()
    if drops:
        asked.store.record(replace(done(3, old, RAW, mode="dropped"), reads=()))
    asked.store.record(done(4, new, Dataset("file", "/other"), ("a", "a")))
    elsewhere = "file:/wh/default.tb was elsewhere before: this is told of all places where it ever was."
    up, down = asked.upstream("r_csv"), asked.downstream("/raw")
    assert up.column("dataset") == ["file:/wh/old", "file:/raw", "file:/other"]
    assert elsewhere in notes(up)
    assert "file:/r_csv" in down.column("dataset")
    assert ("dropped and made again" if drops else elsewhere) in notes(down)


def test_what_was_written_after_it_was_read_is_said(asked: Datasets) -> None:
    middle, late = Dataset("file", "/middle"), Dataset("file", "/late")
    asked.store.record(done(1, middle, RAW, ("a", "a")), done(2, OUT, middle, ("a", "a")))
    for answer in (asked.upstream("r_csv"), asked.upstream("r_csv", "a"), asked.downstream("/raw"), asked.downstream("/raw", "a")):
        assert not answer.notes
    asked.store.record(done(3, middle, late, ("a", "a"), mode="overwritten"))
    said = "file:/middle was written again after it was read: this is told of all that it ever held."
    assert all(said in notes(answer) for answer in (asked.upstream("r_csv"), asked.upstream("r_csv", "a"), asked.downstream("/late"), asked.downstream("/late", "a")))
    over = "file:/middle was overwritten since by another job, or another version of it: this is told of all that it ever held."
    assert asked.downstream("/raw").notes == (over,)
    asked.store.record(done(4, OUT, middle, ("a", "a"), job="job 2"))
    assert asked.upstream("r_csv").notes == (over,)


def test_what_was_overwritten_by_another_version_of_a_job_is_said(asked: Datasets) -> None:
    """As people work in a notebook: change the cell, and run it again."""
    said = "file:/f_csv was overwritten since by another job, or another version of it: this is told of all that it ever held."
    asked.store.record(done(1, FILES, RAW, ("a", "gross"), job="total", mode="overwritten"), done(2, OUT, FILES, ("a", "a")))
    asked.store.record(done(3, FILES, RAW, ("a", "net"), job="total", mode="overwritten"), done(4, OUT, FILES, ("a", "a")))
    for answer in (asked.upstream("f_csv", "a"), asked.upstream("r_csv", "a"), asked.downstream("/raw", "gross")):
        assert said in notes(answer)
    for answer in (asked.upstream("f_csv"), asked.downstream("/raw")):
        assert not answer.notes  # it is the same with the one as with the other


def test_rows_that_were_put_in_the_place_of_some_leave_the_others(asked: Datasets) -> None:
    """As of one partition."""
    asked.store.record(done(1, FILES, RAW, ("a", "a"), job="one", mode="written"), done(2, FILES, Dataset("file", "/other"), ("a", "a"), job="two", mode="written"))
    assert not asked.upstream("f_csv").notes
    assert not asked.upstream("f_csv", "a").notes


def test_a_table_that_was_truncated_since_is_said(asked: Datasets) -> None:
    asked.store.record(done(1, FILES, RAW, ("a", "a"), job="one"), replace(done(2, FILES, RAW, job="empty", mode="truncated"), reads=()))
    asked.store.record(done(3, FILES, Dataset("file", "/other"), ("a", "a"), job="two", mode="appended"))
    assert "was overwritten since by another job" in notes(asked.upstream("f_csv"))


def test_what_is_appended_is_beside_what_was_there(asked: Datasets) -> None:
    asked.store.record(done(1, FILES, RAW, ("a", "gross"), job="one", mode="overwritten"), done(2, FILES, RAW, ("a", "net"), job="two", mode="appended"))
    assert not asked.upstream("f_csv", "a").notes
    asked.store.record(replace(done(3, FILES, RAW, ("a", "odd"), job="three", mode="overwritten"), status="failed"))
    assert "overwritten since" not in notes(asked.upstream("f_csv", "a"))


def test_what_keeps_what_it_overwrites_is_no_matter_of_doubt(asked: Datasets) -> None:
    for day in range(3):
        process = done(day, FILES, Dataset("file", f"/in/{day}"), ("a", "a"), job="merge", mode="overwritten")
        asked.store.record(replace(process, reads=(*process.reads, Access(FILES))))
    assert not asked.upstream("f_csv").notes
    assert not asked.upstream("f_csv", "a").notes
    asked.store.record(done(5, FILES, RAW, ("a", "a"), job="anew", mode="overwritten"))
    assert "this is told of all that it ever held" in notes(asked.upstream("f_csv"))


def test_a_job_that_never_succeeded_is_named(asked: Datasets) -> None:
    said = "job 1 failed whenever it ran: what it was to write is told, too."
    failed = replace(done(1, FILES, RAW, ("a", "a")), status="failed", error="boom")
    asked.store.record(failed, done(2, FILES, Dataset("file", "/other"), ("a", "b")))
    for answer in (asked.upstream("f_csv"), asked.upstream("f_csv", "a"), asked.downstream("/raw"), asked.downstream("/raw", "a")):
        assert said in notes(answer)
    assert not asked.downstream("/other").notes
    asked.store.record(replace(failed, id="again", status="succeeded", error=""))
    assert said not in notes(asked.upstream("f_csv"))


def test_a_column_that_a_model_makes_is_made_of_what_the_model_was_fitted_on(asked: Datasets) -> None:
    fit = replace(done(1, MODEL, RAW, ("label", "label")), columns=(ColumnEdge(MODEL, "", RAW, "label", "AGGREGATION"),), writes=(Access(MODEL, "created"),))
    ask = done(2, OUT, RAW, ("prediction", "g"))
    asked.store.record(fit, replace(ask, columns=(*ask.columns, ColumnEdge(OUT, "prediction", MODEL, "", "TRANSFORMATION"))))
    assert set(asked.upstream("r_csv", "prediction").column("column")) == {"g", "label", "(all columns)"}
    assert "file:/r_csv" in asked.downstream("/raw", "label").column("dataset")


def test_a_job_that_does_several_things_is_named_once_and_a_column_is_lost_once(asked: Datasets) -> None:
    others = [Dataset("file", f"/in/{i}") for i in range(3)]
    for i, other in enumerate(others):
        process = done(i, OUT, RAW, ("amt", "amt"), job="nightly")
        asked.store.record(replace(process, reads=(*process.reads, Access(other))))
    found = asked.impact("/raw", "amt")
    assert [row[:3] for row in found.rows] == [("fails or loses it", "nightly", ("file:/r_csv",)), ("stale", "", ("file:/r_csv",))]
    assert found.column("how")[1] == "loses amt"
    assert found.column("runs")[0] == 3
    assert found.notes[0] == "1 fails or loses it, 1 are stale."


def work(store: DatasetStore, upstream: bool, columns: list[str]) -> int:
    """Thousands of SQLite's steps that the doubts about a table take."""
    with store.reading() as db:
        (table,) = db.execute("SELECT id FROM dataset WHERE name = 'shop.h'").fetchone()
        reached = [table, *(number for (number,) in db.execute("SELECT id FROM dataset WHERE id <> ? ORDER BY id", (table,)))]
        taken = []
        db.set_progress_handler(lambda: taken.append(0), 1_000)
        of_datasets(db, reached, upstream)
        of_columns(db, [(table, name) for name in columns], upstream)
        db.set_progress_handler(None, 0)
    return len(taken)


@pytest.mark.parametrize("upstream", [True, False])
def test_what_is_done_twice_as_often_takes_twice_as_long(tmp_path: Path, upstream: bool) -> None:
    """A table that each day's files are merged into, and that is dropped now and then: thousands of jobs once took half a minute."""
    table, columns = of_table("shop.h", "file:/w"), tuple(Field(f"c{i}", "int") for i in range(30))
    store, taken = DatasetStore(tmp_path / "s.sqlite"), []
    for days in (range(100), range(100, 400)):
        for day in days:
            at = AT + timedelta(hours=day)
            merged = (Access(of_path(f"/in/day={day}")), Access(table)), (Access(table, "overwritten", columns),)
            store.record(
                Process(f"m{day}", "merge", "write", "app", at, at, "succeeded", "", *merged),
                Process(f"d{day}", "drop", "command", "app", at, at, "succeeded", writes=(Access(table, "dropped"),)),
            )
        taken.append(work(store, upstream, ["none", "c0"]))
    assert taken[1] < 8 * taken[0] + 8
    store.close()
