"""A lineage store at a URI: S3 on loopback, where tasks are processes of their own that write there themselves."""

from __future__ import annotations

import logging
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from operator import add
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import bigdebug
from bigdebug.errors import IncompleteLineageError, StoreError
from bigdebug.spark.executors import StoreReach
from bigdebug.store import remote
from tests import s3
from tests.laws.programs import Program, build, interpret, programs
from tests.laws.test_laws import lineage_of, multiset

LINES = [f"{'bad' if n == 77 else n % 13} {n % 5}" for n in range(160)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3.S3]:
    with s3.running(tmp_path_factory.mktemp("s3")) as made:
        yield made


@contextmanager
def attached(spark: Any, store: str, **options: Any) -> Iterator[Any]:
    """A session of its own that keeps its lineage there."""
    session = bigdebug.attach(spark, store=store, **options)
    try:
        yield session
    finally:
        session.detach()


@pytest.fixture(scope="module")
def dbg(spark: Any, server: s3.S3) -> Iterator[Any]:
    with attached(spark, "s3a://lake/lineage/", store_options=server.options) as session:
        yield session


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = tmp_path / "lines.txt"
    made.write_text("".join(f"{line}\n" for line in LINES))
    return str(made)


def words(dbg: Any, path: str, parse: Any = str) -> Any:
    return dbg.context.textFile(path, 4).flatMap(lambda line: [(parse(word), 1) for word in line.split()]).reduceByKey(add, 3)


def behind(counts: Any, word: str) -> list[int]:
    trace = counts.getLineage().where(lambda pair: pair[0] == word).goBackAll()
    return sorted(origin.line for origin in trace.origins())


SEVENS = [number for number, line in enumerate(LINES, 1) if "7" in line.split()]


# ---- it is a store as any ---------------------------------------------------------------------------------------


@pytest.mark.slow  # blocks that are lost are derived by jobs
@settings(max_examples=3, deadline=None)
@given(programs())
def test_1_transparency_4_precision_5_strategies_and_6_stability(dbg: Any, spark: Any, program: Program) -> None:
    """Records as without bigdebug, and the lineage that the program says, from what tasks wrote, from what was derived, and after all was lost."""
    plain = multiset(build(program, spark.sparkContext)[0].collect())
    expected = None if program.opaque or program.positional else Counter((repr(r), lineage) for r, lineage in interpret(program))
    for strategy in ("inject", "lazy"):
        result, _, sources = build(program, dbg.context)
        with dbg.capture("law", strategy=strategy) as run:
            records = result.collect()
        assert multiset(records) == plain
        assert (run.status, run.incomplete) == ("succeeded", ())
        for _ in range(2 if strategy == "inject" else 1):
            rids = result.getLineage().rids().tolist()
            found = Counter((repr(r), lineage_of(dbg, result, sources, rid)) for r, rid in zip(records, rids))
            assert found == (expected := expected or found)
            lose(run)
    dbg.forget()


def lose(run: Any) -> None:
    """All blocks of a run go, and nobody remembers them."""
    run.store.place.remove(run.id)
    run.store.forget(run.id)


def test_tasks_write_there_and_forgetting_takes_it_away(dbg: Any, server: s3.S3, path: str) -> None:
    dbg.forget()
    with dbg.capture() as run:
        words(dbg, path).collect()
    keys = server.keys("lake/lineage")
    assert len(keys) == 7
    assert {key.rpartition("/")[0].rpartition("/")[0] for key in keys} == {f"{dbg.store.removeprefix('s3://')}/{run.id}"}
    assert [*run.store.root.rglob("*.block")] == []
    dbg.forget()
    assert server.keys("lake/lineage") == []
    assert [*run.store.root.iterdir()] == []


def test_saved_runs_have_it_all(dbg: Any, path: str, tmp_path: Path) -> None:
    counts = words(dbg, path)
    with dbg.capture("saved") as run:
        counts.collect()
    wanted = counts.getLineage().goBackAll().rids().tolist()
    dbg.save(tmp_path / "session", run)
    saved = bigdebug.open(tmp_path / "session")
    assert saved.lineage(saved.runs[0]).goBackAll().rids().tolist() == wanted
    assert len([*(tmp_path / "session" / "blocks").rglob("*.block")]) == 7


def test_crashes_are_found_traced_and_resumed(dbg: Any, path: str) -> None:
    with dbg.capture("crash") as run, pytest.raises(Exception, match="invalid literal"):
        words(dbg, path, int).collect()
    assert [(culprit.record, culprit.sources[0].origin.line) for culprit in run.culprits] == [(LINES[77], 78)]
    assert sorted(run.latest.resume(skip=True).result) == sorted(Counter(int(w) for line in LINES if "bad" not in line for w in line.split()).items())


def test_workers_that_end_leave_word_with_the_driver(dbg: Any, path: str) -> None:
    with dbg.capture("exits") as run, pytest.raises(Exception, match=r"exited|crashed"):
        words(dbg, path, lambda word: word if word != "bad" else os._exit(7)).collect()
    assert [(culprit.exception_type, culprit.sources[0].origin.line) for culprit in run.culprits] == [("WorkerEnded", 78)]
    assert run.culprits.unknown == []


def test_attaching_again_is_the_same_session(dbg: Any, spark: Any, server: s3.S3) -> None:
    for again in ({}, {"store": "s3://lake/lineage"}, {"store": "s3://lake/lineage", "store_options": server.options}):
        assert bigdebug.attach(spark, **again) is dbg
    for other in ({"store": "s3://lake/elsewhere"}, {"store": "s3://lake/lineage", "store_options": {"access_key": "OTHER-KEY"}}, {"store": "/tmp"}):
        with pytest.raises(StoreError, match="keeps its lineage in s3://lake/lineage/_bigdebug-") as refused:
            bigdebug.attach(spark, **other)
        assert "OTHER-KEY" not in str(refused.value)


def test_whoever_looks_whether_tasks_reach_it_leaves_alone_what_others_look_at(dbg: Any) -> None:
    store = dbg._recorder.store
    store.place.write("probe/another/left", b"x")
    assert StoreReach().refused(dbg.plain_context, store) == ""
    assert store.place.names("probe") == ["another"]
    assert store.place.read("probe/another/left") == b"x"
    store.place.remove("probe")


# ---- secrets ----------------------------------------------------------------------------------------------------


def test_keys_are_in_nothing_that_is_shown_or_kept(
    dbg: Any, server: s3.S3, path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    counts = words(dbg, path)
    with dbg.capture("secret") as run, server.refusing():
        counts.collect()
    assert (run.status, "Check the keys" in str(run.incomplete)) == ("partial", True)
    with server.refusing(), pytest.raises(StoreError) as refused:
        behind(counts, "7")
    dbg.save(tmp_path / "session", run)
    shown = [dbg, run.latest, run.latest.table(), run.store.place, counts.toDebugString(), refused.value, vars(refused.value), caplog.text, capfd.readouterr()]
    shown += [counts._compiled.records, [recipe.function for recipe in counts._compiled.records.recipes], dbg.runs_table()._repr_mimebundle_(), dict(dbg.context.getConf().getAll())]
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()) + "".join(map(repr, shown)).encode()
    assert server.keys()  # they are right, and were used
    for secret in s3.KEYS.values():
        assert secret.encode() not in kept


# ---- faults -----------------------------------------------------------------------------------------------------


def test_a_bucket_that_goes_away_does_not_harm_the_job_and_one_that_is_back_will_do(dbg: Any, server: s3.S3, path: str) -> None:
    counts = words(dbg, path)
    counts.count()
    server.remove_bucket()
    try:
        with dbg.capture("gone") as run:
            assert dict(counts.collect()) == Counter(word for line in LINES for word in line.split())
        assert run.status == "partial"
        assert any("NO_SUCH_BUCKET" in reason for reason in run.incomplete)
        with pytest.raises((StoreError, IncompleteLineageError), match="NO_SUCH_BUCKET"):
            behind(counts, "7")
    finally:
        server.make_bucket()
    assert behind(counts, "7") == SEVENS


def test_a_server_that_does_not_answer_a_question_is_asked_again(dbg: Any, server: s3.S3, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = words(dbg, path)
    with dbg.capture():
        counts.collect()
    monkeypatch.setattr(remote, "PATIENCE", 0.5)
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(StoreError, match="no answer within 0 s"):
            behind(counts, "7")
        with pytest.raises(StoreError, match=r"cannot be removed.*no answer"):
            dbg.forget(dbg.runs[0])
    finally:
        server.process.send_signal(signal.SIGCONT)
    monkeypatch.undo()
    assert behind(counts, "7") == SEVENS
    dbg.forget()
    assert server.keys() == []


def test_runs_that_cannot_be_removed_are_all_forgotten_and_go_later(dbg: Any, server: s3.S3, path: str) -> None:
    dbg.forget()
    for name in ("one", "two", "three"):
        with dbg.capture(name):
            words(dbg, path).count()
    with server.refusing(), pytest.raises(StoreError, match="Check the keys"):
        dbg.forget()
    assert dbg.runs == ()
    assert server.keys("lake/lineage")
    dbg.forget()
    assert server.keys("lake/lineage") == []


@pytest.mark.slow
def test_a_block_that_is_lost_between_two_questions_is_derived(dbg: Any, path: str) -> None:
    counts = words(dbg, path)
    with dbg.capture() as run:
        counts.collect()
    assert behind(counts, "7") == SEVENS
    store, (run_id,) = run.store, [known.id for known in run.runs]
    store.forget(run_id)
    assert all(store.partitions([run_id], stage.id) for stage in run.graph.stages)
    opened = remote._opened(store.place)
    for name in store.names(run_id):
        opened.fs.delete_file(opened.path(name))
    assert behind(counts, "7") == SEVENS


def test_an_altered_block_is_named(dbg: Any, server: s3.S3, path: str) -> None:
    counts = words(dbg, path)
    with dbg.capture() as run:
        counts.collect()
    for name in run.store.names(run.id):
        data = run.store.place.read(name)
        run.store.place.write(name, data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    with pytest.raises(StoreError, match=r"lineage block s3://lake/lineage/.*was altered"):
        behind(counts, "7")


def test_a_store_that_cannot_be_had_leaves_the_session_as_it_was(dbg: Any, spark: Any, server: s3.S3) -> None:
    dbg.detach()
    try:
        for store, options, says in (
            ("s3://no-such-bucket/x", server.options, "Make the bucket"), ("s3://lake/x", {**server.options, "endpoint_override": "127.0.0.1:1"}, "can be reached"),
        ):
            with pytest.raises(StoreError, match=says):
                bigdebug.attach(spark, store=store, store_options=options)
        for wrong, error in (({"store": "x", "store_options": {"a": 1}}, ValueError), ({"store": "s3://lake/x", "store_options": "secret-key"}, TypeError)):
            with pytest.raises(error, match="store_options") as refused:
                bigdebug.attach(spark, **wrong)
            assert "secret-key" not in str(refused.value)
    finally:
        assert bigdebug.attach(spark) is dbg


# ---- other places -----------------------------------------------------------------------------------------------


def test_a_file_uri_is_a_directory(dbg: Any, spark: Any, path: str, tmp_path: Path) -> None:
    dbg.detach()
    with attached(spark, (tmp_path / "a b").as_uri()) as session:
        assert session.store.parent == tmp_path / "a b"
        counts = words(session, path)
        with session.capture() as run:
            counts.collect()
        assert run.incomplete == ()
        assert len([*session.store.rglob("*.block")]) == 7
        assert behind(counts, "7") == SEVENS


@pytest.mark.many
@pytest.mark.parametrize("strategy", ["auto", "lazy"])
def test_where_tasks_do_not_reach_the_store_the_driver_has_their_blocks(spark: Any, path: str, strategy: str) -> None:
    """A store in the memory of each process, as an example: the run says so, and its lineage is whole."""
    pytest.importorskip("fsspec")
    bigdebug.attach(spark).detach()
    with attached(spark, f"memory://{strategy}") as session:
        counts = words(session, path)
        with session.capture(strategy=strategy) as run:
            counts.collect()
        assert run.status == "succeeded"
        assert [reason.split(", so that")[0] for reason in run.incomplete] == [f"Tasks do not reach the lineage store {session.store}"]
        assert len(run.store.names(run.id)) == 7
        assert behind(counts, "7") == SEVENS
        session.forget()
        assert run.store.names(run.id) == []
