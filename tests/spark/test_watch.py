"""Watches: what running tasks tell of records, hangs and slow records (FEATURES B4, B6)."""

from __future__ import annotations

import collections
import gc
import os
import pickle
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.agents.watches.sealed import Refused, Sealed, Secret
from bigdebug.errors import NotCapturedError
from bigdebug.spark.rdd.sent import WATCH_PROPERTY
from bigdebug.trace.watch import Watch


@pytest.fixture(autouse=True)
def _nothing_watched(dbg: Any) -> Iterator[None]:
    yield
    dbg._recorder.watching.close()


class Running:
    """An action in a thread of its own."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self.result: Any = None
        self.problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(action,))
        self._thread.start()

    def _run(self, action: Callable[[], Any]) -> None:
        try:
            self.result = action()
        except Exception as problem:
            self.problem = problem

    def wait(self) -> Any:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.result


def until(holds: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait for something to hold, and give it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it never held")


def hung_up(wire: socket.socket) -> bool:
    try:
        return wire.recv(4096) == b""
    except ConnectionError:
        return True


def waiting_for(flag: Path, number: int) -> Callable[[int], int]:
    """A function that does not come back from one record until a file is there."""
    path = str(flag)

    def function(n: int) -> int:
        while n == number and not os.path.exists(path):
            time.sleep(0.01)
        return n

    return function


# ---- records ------------------------------------------------------------------------------------------------------


def chain(sc: Any) -> list[Any]:
    source = sc.parallelize(range(100), 4)
    doubled = source.map(lambda n: n * 2)
    thirds = doubled.filter(lambda n: n % 3 == 0)
    both = thirds.flatMap(lambda n: [n, -n])
    texts = both.map(str)
    return [source, doubled, thirds, both, texts]


@pytest.mark.parametrize(("place", "guard", "records", "sources"), [
    (0, lambda n: n == 33, [33], [33]),
    (1, lambda n: n == 66, [66], [33]),
    (2, lambda n: n > 190, [192, 198], [96, 99]),
    (3, lambda n: n in (-6, 12), [-6, 12], [3, 6]),
    (4, lambda text: text == "-30", ["-30"], [15]),
])
def test_any_operator_of_a_fused_chain(place: int, guard: Any, records: list[Any], sources: list[int], dbg: Any) -> None:
    rdds = chain(dbg.context)
    with dbg.watch(rdds[place], guard) as watch:
        count = rdds[-1].count()
    assert count == 68
    assert sorted(r.record for r in watch.records) == sorted(records)
    assert watch.matched == len(records)
    assert {r.operator.id for r in watch.records} == {rdds[place]._definition.operator.id}
    assert [r.attempt for r in watch.records] == [0] * len(records)
    assert sorted(s.record for s in watch.goBackAll().source_records()) == sources
    assert sorted(watch.lineage().collect()) == sorted(records)
    assert sorted(s.origin.index for r in watch.records for s in r.sources) == sources


@pytest.mark.many
@pytest.mark.parametrize(("define", "guard", "records"), [
    (lambda p: p.reduceByKey(lambda a, b: a + b), lambda r: r[0] == 1, [(1, 1617)]),
    (lambda p: p.groupByKey().mapValues(sorted), lambda r: r[0] == 2, [(2, list(range(2, 100, 3)))]),
    (lambda p: p.partitionBy(2), lambda r: r[1] == 50, [(2, 50)]),
    (lambda p: p.join(p.filter(lambda r: r[1] < 3)), lambda r: r == (1, (4, 1)), [(1, (4, 1))]),
    (lambda p: p.sortByKey(), lambda r: r[1] == 9, [(0, 9)]),
    (lambda p: p.union(p.mapValues(lambda n: -n)), lambda r: abs(r[1]) == 9, [(0, -9), (0, 9)]),
    (lambda p: p.mapPartitions(lambda part: (r[1] for r in part)), lambda n: n == 9, [9]),
    (lambda p: p.zipWithIndex(), lambda r: r[1] == 9, [((0, 9), 9)]),
    (lambda p: p.distinct(), lambda r: r[1] == 9, [(0, 9)]),
], ids=["reduceByKey", "mapValues", "partitionBy", "join", "sortByKey", "union", "mapPartitions", "zipWithIndex", "distinct"])
def test_behind_every_kind_of_operator(define: Any, guard: Any, records: list[Any], dbg: Any) -> None:
    made = define(dbg.context.parallelize(range(100), 3).map(lambda n: (n % 3, n)))
    expected = made.count()
    with dbg.watch(made, guard) as watch:
        assert made.map(lambda r: r).count() == expected
    assert sorted(r.record for r in watch.records) == records
    assert sorted(watch.lineage().collect()) == records
    assert watch.goBackAll().count() >= 1


def test_rows_of_a_dataframe_as_an_rdd(dbg: Any, spark: Any) -> None:
    frame = spark.range(10)
    with dbg.watch(frame.rdd, lambda row: row.id == 4) as watch:
        assert frame.rdd.map(lambda row: row.id).sum() == 45
    assert [r.record.id for r in watch.records] == [4]


def test_a_watch_that_nobody_has_any_more_goes(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(10), 1).map(lambda n: n)
    with dbg.watch(numbers, bool) as watch:
        numbers.count()
    gone = weakref.ref(watch)
    del watch
    gc.collect()
    assert gone() is None


def test_records_arrive_while_the_job_runs(dbg: Any, tmp_path: Path) -> None:
    numbers = dbg.context.parallelize(range(10), 1).map(str)
    held = numbers.map(int).map(waiting_for(tmp_path / "flag", 5))
    with dbg.watch(numbers, lambda text: text == "3") as watch:
        job = Running(held.collect)
        assert until(lambda: watch.records)[0].record == "3"
        assert job.result is None
        with pytest.raises(NotCapturedError, match="has not ended"):
            watch.lineage()
        (tmp_path / "flag").touch()
        assert job.wait() == list(range(10))
    assert watch.goBackAll().collect() == [3]


def test_the_guard_changes_while_the_job_runs(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(400), 1).map(lambda n: (time.sleep(0.005), n)[1])
    with dbg.watch(numbers, lambda n: n == 1) as watch:
        job = Running(numbers.count)
        until(lambda: watch.records)
        changed = time.time()
        watch.guard = lambda n: "even" if n % 2 == 0 else ""
        first = until(lambda: watch.records[1:])[0]
        assert first.when.timestamp() - changed < 0.2
        assert job.wait() == 400
    assert {r.record % 2 for r in watch.records[1:]} == {0}


def test_stopped_while_the_job_runs(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(200), 1).map(lambda n: (time.sleep(0.005), n)[1])
    watch = dbg.watch(numbers, lambda n: True)
    job = Running(numbers.count)
    until(lambda: watch.records)
    watch.stop()
    assert dbg._recorder.watching._listener is None
    stopped = time.time()
    assert job.wait() == 200
    assert all(r.when.timestamp() - stopped < 0.2 for r in watch.records)
    assert 0 < len(watch.records) < 190
    assert watch.unreached == []
    assert repr(watch).startswith("<watch on map#")
    assert "off" in repr(watch)
    with pytest.raises(ValueError, match="has been stopped"):
        watch.guard = bool


def test_two_watches_at_once(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(20), 2)
    texts = numbers.map(lambda n: n + 1).map(str)
    with dbg.watch(numbers, lambda n: n == 3) as few, dbg.watch(numbers, lambda n: n > 17) as many, dbg.watch(texts, lambda t: t == "4") as behind:
        assert texts.count() == 20
    assert [[r.record for r in watch.records] for watch in (few, many, behind)] == [[3], [18, 19], ["4"]]


def test_jobs_one_after_the_other(dbg: Any) -> None:
    """Workers run several tasks, some of them of actions that began when nothing was watched."""
    numbers = dbg.context.parallelize(range(8), 4).map(lambda n: n)
    seen = []
    for _ in range(3):
        with dbg.watch(numbers, lambda n: n == 5) as watch:
            numbers.count()
            numbers.collect()
        seen.append([r.record for r in watch.records])
        assert len({r.run for r in watch.records}) == 2
        numbers.count()
        assert len(watch.records) == 2
    assert seen == [[5, 5]] * 3


def test_everything_matches(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(1_000_000), 2).map(lambda n: n + 1)
    with dbg.watch(numbers, lambda n: True, most=100, rate=500) as watch:
        assert numbers.count() == 1_000_000
    assert watch.matched == 1_000_000
    assert len(watch.records) == 100
    assert watch.left_out > 900_000
    text = watch._repr_mimebundle_()["text/plain"]
    assert "1,000,000 records matched, 100 records here" in text
    assert "nothing was sent: a task sends 500 a second at most" in text


def test_large_records_take_bounded_memory(dbg: Any) -> None:
    large = dbg.context.parallelize(range(200), 2).map(lambda n: bytes(900_000))
    with dbg.watch(large, lambda r: True) as watch:
        assert large.count() == 200
    assert watch.matched == 200
    assert sum(r.size for r in watch.records) <= 64 << 20


def test_records_are_as_they_were(dbg: Any) -> None:
    lists = dbg.context.parallelize([[1], [2]], 1).map(lambda r: r)
    changed = lists.map(lambda r: (r.append(0), r)[1])
    with dbg.watch(lists, lambda r: True) as watch:
        assert changed.collect() == [[1, 0], [2, 0]]
    assert [r.record for r in watch.records] == [[1], [2]]


def test_what_cannot_be_copied_is_shown_to_the_guard_itself(dbg: Any) -> None:
    """What a pattern found in a line, say: many of these, for a guard is called no more after a hundred errors."""
    lines = dbg.context.parallelize([f"id {n}" for n in range(300)], 1)
    found = lines.map(lambda line: re.match(r"(\w+) (\d+)", line))
    with dbg.watch(found, lambda m: int(m[2]) > 290) as watch:
        assert found.map(lambda m: int(m[2])).sum() == sum(range(300))
    assert (watch.matched, watch.failed, watch.errors) == (9, 0, [])
    pairs = dbg.context.parallelize([1, 2], 1).map(lambda n: (n, threading.Lock()))
    with dbg.watch(pairs, lambda pair: pair[0] == 2 and not pair[1].locked()) as watch:
        assert pairs.keys().collect() == [1, 2]
    assert [repr(r.record)[:20] for r in watch.records] == ["(2, <unlocked _threa"]


def test_what_a_class_leaves_out_of_its_pickles_is_there_for_a_guard(dbg: Any) -> None:
    class Lazy:
        def __init__(self, n: int) -> None:
            self.n, self.cache = n, {"n": n}

        def __getstate__(self) -> dict[str, int]:
            return {"n": self.n}

    lazy = dbg.context.parallelize(range(5), 1).map(Lazy)
    with dbg.watch(lazy, lambda each: each.cache["n"] > 3) as watch:
        assert lazy.map(lambda each: each.cache["n"]).collect() == [0, 1, 2, 3, 4]
    assert (watch.matched, watch.errors) == (1, [])


def test_records_of_classes_that_only_the_notebook_has_are_shown(dbg: Any) -> None:
    class Order:
        def __init__(self, amount: int) -> None:
            self.amounts = [amount]

    orders = dbg.context.parallelize([1, 2, 3], 1).map(Order)
    with dbg.watch(orders, lambda order: isinstance(order, Order) and order.amounts.pop() > 1) as watch:
        assert orders.map(lambda order: order.amounts).collect() == [[1], [2], [3]]
    assert watch.errors == []
    assert [r.record.amounts for r in watch.records] == [[2], [3]]


def test_a_guard_that_raises(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(10), 1).map(lambda n: n)
    with dbg.watch(numbers, lambda n: 6 // (n - 4) > 2) as watch:
        assert numbers.sum() == 45
    assert [r.record for r in watch.records] == [5, 6]
    assert (watch.failed, watch.disabled) == (1, False)
    (error,) = watch.errors
    assert (error.record, error.exception_type) == (4, "ZeroDivisionError")
    assert "The guard raised 1 times, first ZeroDivisionError" in watch._repr_mimebundle_()["text/plain"]


def test_a_guard_that_raises_all_the_time(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(1000), 2).map(lambda n: n)
    with dbg.watch(numbers, lambda n: n.missing) as watch:
        assert numbers.count() == 1000
        assert watch.disabled
        assert 100 <= watch.failed <= 200
        assert len(watch.errors) == 5
        assert numbers.count() == 1000
        assert watch.failed <= 200
        watch.guard = lambda n: n == 7
        assert not watch.disabled
        assert numbers.count() == 1000
    assert [r.record for r in watch.records] == [7]


def test_a_guard_that_workers_cannot_have(dbg: Any) -> None:
    class Apart:
        def __reduce__(self) -> Any:
            return int, ("not a number",)

    apart = Apart()
    numbers = dbg.context.parallelize(range(10), 1).map(lambda n: n)
    with dbg.watch(numbers, lambda n: apart) as watch:
        assert numbers.count() == 10
    assert watch.disabled
    assert watch.errors[0].exception_type == "ValueError"


# ---- the job is what it was -----------------------------------------------------------------------------------------


def test_results_and_lineage_are_the_same(dbg: Any) -> None:
    def program() -> list[Any]:
        rdds = chain(dbg.context)
        pairs = rdds[-1].map(lambda text: (len(text), int(text)))
        sums = pairs.reduceByKey(max)
        joined = sums.join(pairs.filter(lambda r: r[1] < -100)).mapPartitions(lambda part: iter(list(part)))
        return [*rdds, pairs, sums, joined]

    rdds = program()
    with dbg.capture("alone"):
        expected = rdds[-1].collect()
    trace = rdds[-1].getLineage()
    lineage = [trace.at([rid]).goBackAll().rids().tolist() for rid in trace.rids()]
    again = program()
    with dbg.capture("watched"), dbg.watch(timeout=30), dbg.watch(slow=3.0):
        watches = [dbg.watch(rdd, lambda r: True) for rdd in again]
        assert again[-1].collect() == expected
    trace = again[-1].getLineage()
    assert [trace.at([rid]).goBackAll().rids().tolist() for rid in trace.rids()] == lineage
    assert all(watch.matched for watch in watches)
    assert again[-1].take(1) == expected[:1]


def test_a_guard_that_changes_what_it_is_given_changes_nothing_of_the_job(dbg: Any) -> None:
    counts = dbg.context.parallelize([1], 1).map(lambda n: collections.defaultdict(int, n=n))
    with dbg.watch(counts, lambda count: count["retries"] == 0) as watch:
        assert counts.map(dict).collect() == [{"n": 1}]
    assert [r.record for r in watch.records] == [{"n": 1}]  # as it passed, not as the guard left it
    for record in ([3, 1], {"a": 3}, {3}, ("a", [3])):
        records = dbg.context.parallelize([record], 1).map(lambda r: r)
        with dbg.watch(records, lambda r: (r[1] if isinstance(r, tuple) else r).clear() is None) as watch:
            assert records.map(lambda r: r).collect() == [record]
        assert [r.record for r in watch.records] == [record]


def test_a_guard_takes_nothing_from_iterators(dbg: Any) -> None:
    pairs = dbg.context.parallelize(range(6), 1).mapPartitions(lambda part: (filter(None, [n, n + 1]) for n in part))
    with dbg.watch(pairs, lambda pair: any(n > 3 for n in pair)) as watch:
        assert pairs.map(sum).collect() == [1, 3, 5, 7, 9, 11]
    assert (watch.matched, watch.failed) == (0, 6)
    assert watch.errors[0].message.startswith("An iterator cannot be looked at: each look takes from it what comes next")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit, SystemExit, StopIteration, ValueError])
def test_whatever_a_guard_raises_the_job_goes_on(kind: type[BaseException], dbg: Any) -> None:
    def guard(n: int) -> bool:
        raise kind from (KeyboardInterrupt() if kind is ValueError else None)

    numbers = dbg.context.parallelize([1, 2, 3], 1).map(lambda n: n)
    with dbg.watch(numbers, guard) as watch, dbg.watch(timeout=30):
        assert numbers.sum() == 6
    assert (watch.failed, watch.errors[0].exception_type) == (3, kind.__name__)


def test_nothing_watched_costs_nothing(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(4), 2).map(lambda n: n + 1)
    plain = numbers._jrdd.id()
    before = len(dbg.runs)

    def told(part: Any) -> Any:
        from pyspark import TaskContext

        list(part)
        return [(TaskContext.get().getLocalProperty("bigdebug.watch"), [t.name for t in threading.enumerate() if "bigdebug" in t.name])]

    with dbg.watch(numbers, lambda n: False):
        numbers.count()
    assert len(dbg.runs) == before + 1
    assert numbers.mapPartitions(told).collect() == [(None, [])] * 2
    assert (numbers._jrdd.id(), len(dbg.runs)) == (plain, before + 1)
    assert dbg.context.getLocalProperty(WATCH_PROPERTY) is None
    assert dbg._recorder.watching.asked() is None
    with dbg.capture():
        assert numbers.mapPartitions(told).collect() == [(None, [])] * 2


def test_the_secret_is_nowhere_to_be_seen(dbg: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    numbers = dbg.context.parallelize(range(4), 2).map(lambda n: n + 1)
    key = dbg._recorder.watching.secret.key
    with dbg.watch(numbers, lambda n: n == 3) as watch:
        shown = numbers.mapPartitions(lambda part: [dict(os.environ).__repr__() + str(told_by_task())]).collect()
    recipe = next(iter(dbg._recorder.compiler._recipes.values()))
    everything = "".join([*shown, repr(recipe.function), repr(watch), caplog.text, str(dbg.context.getConf().getAll())])
    assert key.hex() not in everything
    assert repr(key)[2:-1] not in everything
    assert "Link(secret=Secret()" in repr(recipe.function)


def told_by_task() -> Any:
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    return context.getLocalProperty("bigdebug.watch")


def test_a_job_that_fails_has_its_culprits(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(10), 1).map(lambda n: n)
    with dbg.watch(numbers, lambda n: n > 2) as watch, pytest.raises(Exception, match="ZeroDivisionError"):
        numbers.map(lambda n: 1 // (n - 4)).collect()
    assert [r.record for r in watch.records] == [3, 4]
    assert [c.record for c in dbg.runs[-1].culprits] == [4]
    assert watch.records[-1].sources[0].origin.index == 4


def test_a_job_that_goes_on_from_crashes(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(10), 1)
    halves = numbers.map(lambda n: 12 // (n - 4)).map(str)
    with dbg.watch(halves, lambda text: text == "12") as watch, dbg.watch(timeout=30), dbg.capture(on_crash="skip") as run:
        assert len(halves.collect()) == 9
    assert [c.record for c in run.culprits] == [4]
    assert watch.goBackAll().collect() == [5]


def test_what_spark_holds_does_not_pass_again(dbg: Any) -> None:
    pairs = dbg.context.parallelize(range(10), 2).map(lambda n: (n % 2, n))
    sums = pairs.reduceByKey(lambda a, b: a + b)
    with dbg.watch(pairs, lambda r: r[1] == 3) as watch:
        sums.collect()
        assert watch.unseen == []
        sums.count()
    assert len(watch.records) == 1
    assert "computed nothing of what is watched: Spark had it" in watch._repr_mimebundle_()["text/plain"]


# ---- the connection ---------------------------------------------------------------------------------------------------


def test_who_does_not_know_the_secret_is_refused(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(10), 1).map(lambda n: n)
    with dbg.watch(numbers, lambda n: n == 3) as watch:
        listener = dbg._recorder.watching._listener
        with pytest.raises((Refused, OSError)):
            Sealed.connected(listener.address, Secret(), 5)
        with closing(socket.create_connection(listener.address, 5)) as wire:
            wire.sendall(pickle.dumps([("task", {})]).ljust(4096))
            assert len(wire.recv(4096)) == 32  # what it has to answer, and no more
            assert hung_up(wire)
        until(lambda: listener.refused == 2)
        assert not listener._lines
        numbers.count()
        assert [r.record for r in watch.records] == [3]


def test_a_message_that_was_changed_or_sent_twice_is_refused() -> None:
    secret = Secret()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        found: list[Sealed] = []
        accepting = threading.Thread(target=lambda: found.append(Sealed.accepted(theirs, secret, 5)))
        accepting.start()
        greeting = ours.recv(32)
        ours.sendall(bytes(32) + secret.sign(b"task", greeting, bytes(32)))
        assert ours.recv(32) == secret.sign(b"driver", greeting, bytes(32))
        accepting.join()
        mine = Sealed(ours, Secret(secret.sign(b"key", greeting, bytes(32))), b"task", b"driver")
        mine.send(b"first")
        assert found[0].receive() == b"first"
        mine._sent = 0
        mine.send(b"first")
        with pytest.raises(Refused):
            found[0].receive()


def test_a_driver_that_is_not_there(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(10), 2).map(lambda n: n)
    with dbg.watch(numbers, lambda n: True) as watch, dbg.watch(timeout=10), closing(socket.create_server(("127.0.0.1", 0))) as nobody:
        listener = dbg._recorder.watching._listener
        address, listener.address = listener.address, nobody.getsockname()
        nobody.close()
        assert numbers.collect() == list(range(10))
        assert watch.records == []
        assert "was not reached" in "".join(watch.unreached)
        assert "was not reached" in watch._repr_mimebundle_()["text/plain"]
        listener.address = address
        assert numbers.count() == 10
        assert len(watch.records) == 10


def test_a_driver_that_is_somebody_else(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(4), 1).map(lambda n: n)
    with dbg.watch(numbers, lambda n: True) as watch, closing(socket.create_server(("127.0.0.1", 0))) as other:
        dbg._recorder.watching._listener.address = other.getsockname()
        job = Running(numbers.collect)
        wire, _ = other.accept()
        with wire:
            wire.sendall(bytes(32))
            assert len(wire.recv(64)) == 64
            wire.sendall(bytes(32))
            assert job.wait() == [0, 1, 2, 3]
    assert watch.records == []
    assert "does not know the secret" in watch.unreached[0]


@pytest.mark.slow
def test_a_driver_that_says_nothing(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(4), 2).map(lambda n: n)
    with dbg.watch(numbers, lambda n: True) as watch, closing(socket.create_server(("127.0.0.1", 0))) as silent:
        dbg._recorder.watching._listener.address = silent.getsockname()
        began = time.monotonic()
        assert numbers.collect() == [0, 1, 2, 3]
        assert numbers.count() == 4  # workers remember
        assert time.monotonic() - began < 15
    assert watch.records == []
    assert watch.unreached


# ---- hangs --------------------------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize(("define", "given"), [
    (lambda rdd, hold: rdd.map(str).map(int).map(hold).map(str), 7),
    (lambda rdd, hold: rdd.filter(lambda n: hold(n) >= 0), 7),
    (lambda rdd, hold: rdd.map(str).flatMap(lambda text: (m for m in [int(text), hold(int(text))])).map(str), "7"),
    (lambda rdd, hold: rdd.mapPartitions(lambda part: (hold(n) for n in part)), 7),
    (lambda rdd, hold: rdd.map(lambda n: (0, n)).reduceByKey(lambda a, b: max(a, hold(b))), (0, 7)),
], ids=["map", "filter", "flatMap", "mapPartitions", "reducer"])
def test_a_hang_is_named_while_the_job_runs(define: Any, given: Any, dbg: Any, tmp_path: Path) -> None:
    hangs = define(dbg.context.parallelize(range(10), 2), waiting_for(tmp_path / "flag", 7))
    with dbg.watch(timeout=0.3) as watch:
        job = Running(hangs.count)
        (hang,) = until(lambda: watch.hangs)
        assert job.result is None
        assert (hang.record, hang.partition, hang.state) == (given, 1, "running")
        assert hang.seconds >= 0.3
        assert hang.user_line is not None
        assert hang.user_line.code == "time.sleep(0.01)"
        assert "while n == number" not in hang.user_line.code
        (tmp_path / "flag").touch()
        job.wait()
    (hang,) = watch.hangs
    assert hang.state == "ended"
    assert hang.seconds >= 0.3
    assert [s.origin.index for s in hang.sources] == [7]
    assert "ended" in watch._repr_mimebundle_()["text/plain"]


def test_a_job_that_is_cancelled_names_its_hang(dbg: Any, tmp_path: Path) -> None:
    hangs = dbg.context.parallelize(range(4), 2).map(waiting_for(tmp_path / "never", 3))

    def action() -> Any:
        dbg.context.setJobGroup("hanging", "", interruptOnCancel=True)
        return hangs.collect()

    with dbg.watch(hangs, timeout=0.2) as watch:
        job = Running(action)
        until(lambda: watch.hangs)
        dbg.context.cancelJobGroup("hanging")
        job.wait()
        assert job.problem is not None
        (hang,) = until(lambda: [h for h in watch.hangs if h.state == "lost"])
    assert hang.record == 3
    assert hang._repr_mimebundle_()["text/plain"].startswith("<lost after")
    (tmp_path / "never").touch()


@pytest.mark.parametrize("function", [
    lambda hold: lambda part: [sum(part), hold(-1)],
    lambda hold: lambda part: (n if not n else hold(-1) for n in [0, sum(part)]),
], ids=["before it gives anything", "between what it gives"])
def test_a_function_that_hangs_at_the_end_of_its_records(function: Any, dbg: Any, tmp_path: Path) -> None:
    """It hangs on no record, and none is named."""
    hold = waiting_for(tmp_path / "flag", -1)
    sums = dbg.context.parallelize(range(4), 1).mapPartitions(function(hold))
    with dbg.watch(timeout=0.2) as watch:
        job = Running(sums.count)
        (hang,) = until(lambda: watch.hangs)
        (tmp_path / "flag").touch()
        assert job.wait() == 2
    assert hang.record is None
    assert hang.operator.id == sums._definition.operator.id
    assert hang.sources == ()


def test_nobody_is_named_while_spark_is_slow(dbg: Any) -> None:
    """Nor is the record before: what a task waits for may be another's work."""
    numbers = dbg.context.parallelize(range(4), 1)
    slow = numbers.pipe("sh -c 'cat; sleep 0.6; echo 9'").filter(lambda text: text != "3").map(lambda text: text)
    with dbg.watch(slow, timeout=0.2) as watch:
        assert slow.count() == 4
    assert watch.hangs == []


def test_a_guard_that_hangs_is_told_as_the_guard(dbg: Any, tmp_path: Path) -> None:
    """And its time is not that of the function before it, nor of the one behind."""
    numbers = dbg.context.parallelize([0, 7], 1).flatMap(lambda n: [n])
    with dbg.watch(numbers, waiting_for(tmp_path / "flag", 7)) as watch, dbg.watch(timeout=0.3) as every, dbg.watch(numbers.map(str), timeout=0.1) as other:
        job = Running(numbers.map(str).collect)
        (hang,) = until(lambda: every.hangs)
        assert (hang.record, hang.state, hang.in_guard) == (7, "running", True)
        assert hang.operator.id == numbers._definition.operator.id
        assert "in the guard of a watch, " in repr(hang)
        (tmp_path / "flag").touch()
        assert job.wait() == ["0", "7"]
        assert [s.record for s in hang.sources] == [7]
    assert [r.record for r in watch.records] == [7]
    assert other.hangs == []
    assert "in the guard of a watch" in every._repr_mimebundle_()["text/plain"]


def test_only_the_operator_that_is_watched(dbg: Any) -> None:
    slow = dbg.context.parallelize([1], 1).map(lambda n: (time.sleep(0.5), n)[1])
    with dbg.watch(slow.map(str), timeout=0.1) as other, dbg.watch(timeout=0.1) as every:
        slow.map(str).collect()
    assert other.hangs == []
    assert [h.record for h in every.hangs] == [1]


# ---- slow records -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("define", [
    lambda rdd, slow: rdd.map(lambda n: n).map(slow).map(str),
    lambda rdd, slow: rdd.flatMap(lambda n: (m for m in [n, slow(n)])),
    lambda rdd, slow: rdd.mapPartitions(lambda part: (slow(n) for n in part)),
    lambda rdd, slow: rdd.filter(lambda n: slow(n) >= 0),
], ids=["map", "flatMap", "mapPartitions", "filter"])
def test_a_slow_record_is_traced_to_its_source(define: Any, dbg: Any) -> None:
    def slow(n: int) -> int:
        if n == 777:
            time.sleep(0.4)
        return n

    rdd = define(dbg.context.parallelize(range(2000), 2), slow)
    with dbg.watch(slow=10.0) as watch:
        rdd.count()
    first = watch.slow[0]
    assert first.record == 777
    assert first.seconds >= 0.4
    assert first.deviations > 10
    assert [s.origin.index for s in first.sources] == [777]
    assert [r.deviations > 10 for r in watch.slow] == [True] * len(watch.slow)
    assert "777" in watch._repr_mimebundle_()["text/html"]


def test_the_time_of_a_guard_is_not_the_functions(dbg: Any) -> None:
    def slow(n: int) -> int:
        time.sleep(0.3 if n == 33 else 0)
        return n

    numbers = dbg.context.parallelize(range(100), 1).map(slow)
    with dbg.watch(numbers, lambda n: time.sleep(0.2 if n == 77 else 0)), dbg.watch(slow=1.0) as watch:
        numbers.map(str).count()
    assert [each.record for each in watch.slow if each.seconds >= 0.1] == [33]


# ---- asking and showing ---------------------------------------------------------------------------------------------------


def test_what_is_no_watch_says_why(dbg: Any, spark: Any) -> None:
    numbers, lock = dbg.context.parallelize(range(4), 1), threading.Lock()
    for what in (spark.range(3), spark.sql("SELECT 1")):
        with pytest.raises(TypeError, match=r"watch df\.rdd, or ask"):
            dbg.watch(what, lambda r: True)
    for given, why in (
        (((3,), {"guard": bool}), "takes an RDD"), (((), {"guard": bool}), "records of one RDD"), (((numbers,), {}), "takes a guard"),
        (((numbers, 3), {}), "a function of a record"), (((numbers, lambda: 1), {}), "a function of one record"),
        (((numbers, lambda n: lock.locked()), {}), "the guard cannot be pickled"),
    ):
        with pytest.raises(TypeError, match=why):
            dbg.watch(*given[0], **given[1])
    for wrong in ({"timeout": -1}, {"slow": "3"}, {"timeout": 1, "most": 0}, {"timeout": 1, "rate": True}):
        with pytest.raises(ValueError, match="above 0"):
            dbg.watch(**wrong)
    assert dbg._recorder.watching._listener is None
    with dbg.watch(numbers, bool) as watch, pytest.raises(TypeError, match="a function of a record"):
        watch.guard = 3
    with pytest.raises(NotCapturedError, match="no records yet"):
        watch.lineage()


def test_an_operator_of_a_graph(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(4), 1).map(lambda n: n)
    with dbg.capture() as run:
        numbers.collect()
    with dbg.watch(run.graph[numbers._definition.operator.id], lambda n: n == 2) as watch:
        numbers.count()
    assert [r.record for r in watch.records] == [2]


def test_what_is_shown_is_text(dbg: Any) -> None:
    texts = dbg.context.parallelize(["<script>alert(1)</script>", "\x1b[2J"], 1).map(lambda t: t)
    with dbg.watch(texts, bool) as watch:
        texts.count()
    shown = watch._repr_mimebundle_()
    assert "<script>" not in shown["text/html"]
    assert "&lt;script&gt;" in shown["text/html"]
    assert "\x1b" not in shown["text/plain"]
    assert "<script>" not in watch.records[0]._repr_mimebundle_()["text/html"]


def test_detaching_ends_watches(spark: Any, dbg: Any) -> None:
    import bigdebug

    watch: Watch = dbg.watch(timeout=3)
    dbg.detach()
    try:
        assert not watch.on
        assert dbg._recorder.watching._listener is None
    finally:
        bigdebug.attach(spark)


def test_a_watch_is_viewed_while_its_job_runs_and_after_it(dbg: Any, tmp_path: Path) -> None:
    door = tmp_path / "door"
    rdd = dbg.context.parallelize(range(1_000), 2).map(lambda n: waits(n, door))
    with dbg.watch(rdd, lambda n: n % 10 == 0, slow=3.0) as watch:
        view, job = bigdebug.view(watch), Running(rdd.count)

        def asked() -> Any:
            return view.answer({"version": 1, "id": 1, "request": "watch", "content": {}})["content"]

        assert until(lambda: asked()["records"])[0]["operator"].startswith("map")
        door.touch()
        assert job.wait() == 1_000
        assert until(lambda: asked()["matched"]) == 100
        assert (asked()["kept"], len(asked()["records"])) == (100, 50)
    assert asked()["on"] is False


def waits(number: int, door: Path) -> int:
    while number % 500 == 499 and not door.exists():
        time.sleep(0.01)
    return number
