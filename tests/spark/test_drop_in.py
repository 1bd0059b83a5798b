"""A LineageContext is a SparkContext: same code, same values, same errors, with capture off and on."""

from __future__ import annotations

import pickletools
import threading
from collections.abc import Callable, Iterator
from operator import add
from pathlib import Path
from typing import Any

import pyspark.core.rdd
import pytest
from hypothesis import HealthCheck, given, settings
from py4j.protocol import Py4JJavaError
from pyspark import RDD, Row, SparkContext
from pyspark.errors import PythonException

from tests.laws.programs import OPS, POSITIONAL, Program, build, programs

FAILURES = (PythonException, Py4JJavaError)
"""What a failing job raises; the second one before PySpark 4.2."""


@pytest.fixture
def on(dbg: Any) -> Iterator[Any]:
    """The LineageContext with capture on."""
    dbg.context.setCaptureLineage(True)
    yield dbg.context
    dbg.context.setCaptureLineage(False)


# ---- capture off -----------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs(ops=(*OPS, *POSITIONAL)))
def test_with_capture_off_workers_get_the_very_code_that_pyspark_sends(dbg: Any, program: Program) -> None:
    assert sent(program, dbg.context) == sent(program, dbg.plain_context)


def sent(program: Program, sc: Any) -> list[Any]:
    """The pickled functions that PySpark hands to the JVM when the program is run."""
    commands: list[Any] = []
    plain = pyspark.core.rdd._prepare_for_python_RDD

    def spy(context: Any, command: Any) -> Any:
        commands.append(canonical(context._unbatched_serializer.dumps(command)))
        return plain(context, command)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyspark.core.rdd, "_prepare_for_python_RDD", spy)
        build(program, sc)[0].collect()
    return commands


def canonical(pickled: bytes) -> list[Any]:
    """The pickle's opcodes without memo numbers: these depend on which equal strings are one object."""
    found: list[Any] = []
    memo: dict[int, Any] = {}
    others = 0
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name == "MEMOIZE":
            last = found[-1]
            if not (isinstance(last, tuple) and isinstance(last[1], str)):
                others += 1
                last = ("memo", others)
            memo[len(memo)] = last
        elif "GET" in opcode.name:
            found.append(memo[argument])
        elif opcode.name != "FRAME":
            found.append((opcode.name, argument))
    return found


def test_every_public_name_of_pyspark_is_there_with_its_signature(dbg: Any) -> None:
    import inspect

    rdd = dbg.context.parallelize([1])
    for plain, ours in ((SparkContext, dbg.context), (RDD, rdd), (pyspark.core.rdd.PipelinedRDD, rdd.map(id))):
        assert isinstance(ours, plain)
        for name in (n for n in dir(plain) if not n.startswith("_")):
            theirs = getattr(plain, name)
            if inspect.isfunction(theirs):
                assert names(getattr(type(ours), name)) == names(theirs), name


def names(function: Any) -> list[Any]:
    import inspect

    return [(p.name, p.kind, p.default is p.empty) for p in inspect.signature(function).parameters.values()]


# ---- capture on ------------------------------------------------------------------------------------------------


def test_accumulators_and_broadcast_variables_hold_what_they_hold_without_capture(dbg: Any) -> None:
    def counted(sc: Any) -> tuple[Any, ...]:
        seen, table = sc.accumulator(0), sc.broadcast({n: str(n) for n in range(5)})

        def look(n: int) -> tuple[str, int]:
            seen.add(n)
            return table.value[n % 5], n

        pairs = sc.parallelize(range(100), 4).map(look).reduceByKey(add)
        return sorted(pairs.collect()), pairs.count(), seen.value

    plain = counted(dbg.plain_context)
    with dbg.capture():
        assert counted(dbg.context) == plain


def test_a_function_runs_once_for_each_record_also_when_traced(on: Any) -> None:
    seen = on.accumulator(0)
    pairs = on.parallelize(range(60), 3).map(lambda n: (seen.add(1), (n % 4, n))[1]).reduceByKey(add, 2)
    pairs.collect()
    assert seen.value == 60
    pairs.getLineage().goBackAll().rids()
    assert seen.value == 60


def test_cache_computes_once_and_unpersist_again(on: Any) -> None:
    computed = on.accumulator(0)
    cached = on.parallelize(range(20), 4).map(lambda n: (computed.add(1), n)[1]).cache()
    doubled = cached.map(lambda n: 2 * n)
    assert (doubled.sum(), doubled.count(), computed.value) == (380, 20, 20)
    assert cached.is_cached
    assert doubled.filter(lambda n: n == 14).collect() == [14]
    assert computed.value == 20
    cached.unpersist()
    assert not cached.is_cached
    assert (doubled.sum(), computed.value) == (380, 40)


def test_a_checkpoint_cuts_and_is_read(on: Any, tmp_path: Path) -> None:
    on.setCheckpointDir(str(tmp_path))
    computed = on.accumulator(0)
    rdd = on.parallelize(range(20), 4).map(lambda n: (computed.add(1), n)[1])
    rdd.checkpoint()
    assert rdd.count() == 20
    assert rdd.isCheckpointed()
    assert rdd.getCheckpointFile() is not None
    before = computed.value
    below = rdd.map(lambda n: -n)
    assert below.min() == -19
    assert computed.value == before
    trace = below.getLineage()
    rid = int(trace.rids()[7])
    assert trace.at([rid]).goBackAll().collect() == [7]


@pytest.mark.parametrize(("action", "most"), [
    (lambda r: r.take(3), 2), (lambda r: r.first(), 2), (lambda r: r.isEmpty(), 2), (lambda r: next(r.toLocalIterator()), 3),
])
def test_actions_that_need_few_partitions_compute_few(on: Any, dbg: Any, action: Callable[[Any], Any], most: int) -> None:
    entered = on.accumulator(0)

    def count(records: Any) -> Any:
        entered.add(1)
        return records

    action(on.parallelize(range(100), 10).mapPartitions(count))
    assert 1 <= entered.value <= most


def test_what_a_partial_action_computed_traces(on: Any) -> None:
    squares = on.parallelize(range(100), 10).map(lambda n: n * n)
    assert squares.take(15) == [n * n for n in range(15)]
    trace = squares.getLineage()
    assert trace.goBackAll().collect()[:15] == list(range(15))
    iterator = squares.filter(lambda n: n % 2).toLocalIterator()
    assert [next(iterator) for _ in range(3)] == [1, 9, 25]
    del iterator


@pytest.fixture
def little_memory(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merges hold so few bytes that they take several passes."""
    monkeypatch.setattr(dbg._recorder.compiler, "_memory", 2_000)


@pytest.mark.usefixtures("little_memory")
def test_no_record_is_lost_when_groups_are_more_than_memory_holds(dbg: Any) -> None:
    def grouped(sc: Any) -> Any:
        # Each NaN is a group of its own, as in any dict; None hashes differently in each process before Python 3.12.
        keys = sc.parallelize([(float("nan") if n % 3 == 0 else None if n % 3 == 1 else n, n) for n in range(3_000)], 3)
        return keys.groupByKey(1).mapValues(sorted)

    result = grouped(dbg.context)
    with dbg.capture():
        captured = result.collect()
    assert sorted(map(repr, captured)) == sorted(map(repr, grouped(dbg.plain_context).collect()))
    trace = result.getLineage()
    for rid, (_, values) in list(zip(trace.rids().tolist(), captured))[::200]:
        assert [n for _, n in trace.at([rid]).goBackAll().collect()] == values


@pytest.mark.usefixtures("little_memory")
def test_what_take_computed_of_several_passes_has_its_own_lineage(on: Any) -> None:
    groups = on.parallelize([(n % 1000, n) for n in range(3_000)], 3).groupByKey(1).mapValues(sorted)
    (key, values), *_ = groups.take(1)
    first = groups.getLineage().at([int(groups.getLineage().rids()[0])])
    assert [n for _, n in first.goBackAll().collect()] == values == [key, key + 1000, key + 2000]


@pytest.mark.many
@pytest.mark.parametrize("save", [
    lambda r, p: r.saveAsTextFile(p), lambda r, p: r.saveAsPickleFile(p), lambda r, p: r.saveAsSequenceFile(p),
    lambda r, p: r.saveAsTextFile(p, "org.apache.hadoop.io.compress.GzipCodec"),
    lambda r, p: r.saveAsNewAPIHadoopFile(p, "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"),
])
def test_files_written_with_capture_are_byte_for_byte_those_written_without(dbg: Any, tmp_path: Path, save: Any) -> None:
    def pairs(sc: Any) -> Any:
        return sc.parallelize([(n % 7, n) for n in range(50)], 3).reduceByKey(add, 2).sortByKey(numPartitions=2)

    save(pairs(dbg.plain_context), str(tmp_path / "plain"))
    with dbg.capture() as run:
        save(pairs(dbg.context), str(tmp_path / "captured"))
    assert run.status == "succeeded"
    assert run.incomplete == ()
    written = {side: parts(tmp_path / side) for side in ("plain", "captured")}
    assert written["captured"] == written["plain"]
    assert len(written["plain"]) == 2


def parts(folder: Path) -> dict[str, int | bytes]:
    """Content by name; a sequence file begins with a random marker, so of these the length."""
    return {p.name: p.read_bytes() if p.read_bytes()[:3] != b"SEQ" else p.stat().st_size for p in folder.glob("part-*")}


def test_a_failing_job_fails_as_pysparks_does_and_leaves_a_failed_run(dbg: Any) -> None:
    def failing(sc: Any) -> str:
        with pytest.raises(FAILURES) as failure:
            sc.parallelize([3, 2, 1, 0], 2).map(lambda n: 6 // n).collect()
        return str(failure.value)

    plain = failing(dbg.plain_context)
    with dbg.capture() as run:
        captured = failing(dbg.context)
    assert "ZeroDivisionError" in plain
    assert "ZeroDivisionError" in captured
    assert user_lines(captured) == user_lines(plain)
    assert run.status == "failed"
    assert dbg.context.parallelize([1, 2]).map(lambda n: 6 // n).collect() == [6, 3]


def user_lines(trace: str) -> list[str]:
    return [line.strip() for line in trace.splitlines() if Path(__file__).name in line]


@pytest.mark.many
@pytest.mark.parametrize("leak", [
    lambda rdd: rdd.map(lambda n: next(iter(()))), lambda rdd: rdd.filter(lambda n: next(iter(()))),
    lambda rdd: rdd.flatMap(lambda n: next(iter(()))), lambda rdd: rdd.keyBy(lambda n: n).reduceByKey(lambda a, b: next(iter(())), 2),
    lambda rdd: rdd.keyBy(lambda n: n % 2).combineByKey(lambda n: n, lambda a, b: a, lambda a, b: next(iter(()))),
])
@pytest.mark.parametrize("act", [lambda rdd: rdd.collect(), lambda rdd: rdd.count()])
def test_a_stop_iteration_that_leaks_from_a_function_is_an_error_not_an_end(dbg: Any, leak: Any, act: Any) -> None:
    for sc in (dbg.plain_context, dbg.context):
        with dbg.capture(), pytest.raises(FAILURES, match=r"STOP_ITERATION_OCCURRED|StopIteration"):
            act(leak(sc.parallelize([1, 2, 3, 1, 2, 3, 1], 2)))


@pytest.mark.many
@pytest.mark.parametrize("call", [
    lambda sc: sc.parallelize([1]).reduce(add) + sc.emptyRDD().reduce(add), lambda sc: sc.emptyRDD().first(),
    lambda sc: sc.emptyRDD().max(), lambda sc: sc.parallelize([1]).take("x"), lambda sc: sc.parallelize([1]).coalesce(0),
    lambda sc: sc.parallelize([[1]]).keyBy(lambda r: r).reduceByKey(add).collect(),
    lambda sc: sc.parallelize([1]).zip(sc.parallelize([1, 2], 2)).collect(),
    lambda sc: sc.parallelize([1, 2], 1).zip(sc.parallelize([1], 1)).collect(),
    lambda sc: sc.textFile("/nowhere/at/all").count(), lambda sc: sc.parallelize([1]).saveAsTextFile("/proc/nowhere"),
    lambda sc: sc.parallelize([1]).sample(False, -1.0).collect(),
    lambda sc: sc.parallelize([1, 2]).map(lambda n: sc.parallelize([n])).collect(),
])
def test_a_wrong_call_raises_what_pyspark_raises(dbg: Any, call: Any) -> None:
    def error(sc: Any) -> tuple[type, str]:
        with pytest.raises(Exception) as raised:  # noqa: PT011 (whatever PySpark raises)
            call(sc)
        return type(raised.value), "" if isinstance(raised.value, FAILURES) else str(raised.value)

    plain = error(dbg.plain_context)
    assert error(dbg.context) == plain
    with dbg.capture():
        assert error(dbg.context) == plain


def test_threads_capture_their_own_runs(on: Any, dbg: Any) -> None:
    wrong: list[Any] = []
    before = len(dbg.runs)

    def work(k: int) -> None:
        rdd = on.parallelize(range(k, k + 20), 2).map(lambda n: (n % 3, n)).groupByKey(2)
        rdd.collect()
        sources = rdd.getLineage().goBackAll().collect()
        if sorted(sources) != list(range(k, k + 20)):
            wrong.append((k, sources))

    threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(dbg.runs) == before + 6
    assert all(run.status == "succeeded" and not run.incomplete for run in dbg.runs[before:])


def test_plain_rdds_and_captured_ones_mix(dbg: Any, on: Any) -> None:
    plain = dbg.plain_context.parallelize([(1, "a"), (2, "b")], 2)
    ours = on.parallelize([(1, "x"), (3, "y")], 2)
    assert sorted(plain.join(ours).collect()) == [(1, ("a", "x"))]
    joined = ours.join(plain)
    assert joined.collect() == [(1, ("x", "a"))]
    assert sorted(joined.getLineage().goBackAll().collect()) == [(1, "a"), (1, "x")]
    assert sorted(dbg.plain_context.union([plain, ours]).keys().collect()) == [1, 1, 2, 3]


def test_run_job_on_chosen_partitions(on: Any) -> None:
    rdd = on.parallelize(range(6), 3).map(lambda n: n + 1)
    assert on.runJob(rdd, lambda part: [x * x for x in part], [0, 2]) == [1, 4, 25, 36]
    assert rdd.getLineage().goBackAll().collect() == [0, 1, 4, 5]


def test_a_predicate_may_share_what_it_knows_with_functions_that_run_after_it(dbg: Any) -> None:
    def program(sc: Any, finish: Callable[[Any], Any]) -> Any:
        seen: set[int] = set()

        def note(n: int) -> tuple[int, int]:
            seen.add(n)
            return n, 1

        return finish(sc.parallelize([1, 1, 2, 2, 1, 3], 1).filter(lambda n: n not in seen).map(note))

    for finish in (lambda r: sorted(r.reduceByKey(add).collect()), lambda r: r.count(), lambda r: r.mapPartitions(list).count()):
        plain = program(dbg.plain_context, finish)
        with dbg.capture():
            assert program(dbg.context, finish) == plain


@pytest.mark.many
@pytest.mark.parametrize("program", [
    *[
        lambda sc, r=records, n=n: sc.parallelize(r, n).sortByKey(numPartitions=1)
        for records in ([(2, "a", "b"), (1, "c")], ["ba", "ab"], [(2,), (1,)], [Row(a=2, b=3), Row(a=1, b=3)], [[2, 1], [1, 3]])
        for n in (1, 2)
    ],
    lambda sc: sc.parallelize([(2, "a", "b"), (1, "c", "d")], 1).sortByKey(False),
    lambda sc: sc.parallelize([Row(a=2, b=3), Row(a=1, b=3)], 2).sortByKey(numPartitions=2),
    lambda sc: sc.parallelize([[2, 1], [1, 3]], 2).partitionBy(2),
    lambda sc: sc.parallelize([(2, "a", "b"), (1, "c", "d")], 2).sortByKey(numPartitions=2),
    lambda sc: sc.parallelize([(2, "a", "b"), (1, "c", "d")], 2).partitionBy(1),
    lambda sc: sc.parallelize([2, 1], 2).sortByKey(numPartitions=1),
    # Partitioned already, by their word: nothing is moved, wherever the keys would go.
    lambda sc: moved(sc).map(lambda r: Row(a=r[0] + 1, b=r[1]), True).repartitionAndSortWithinPartitions(2),
    lambda sc: moved(sc).map(lambda r: (r[0] // 2, r[1]), True).reduceByKey(add, 2),
    lambda sc: moved(sc).map(lambda r: (r[0] // 2, r[1]), True).groupByKey(2).mapValues(sorted),
    lambda sc: moved(sc).map(lambda r: [-r[0], r[1]], True).sortByKey(numPartitions=1),
    lambda sc: moved(sc).map(lambda r: [-r[0], r[1]], True).partitionBy(2),
])
def test_wide_operators_rebuild_the_records_that_pyspark_rebuilds_and_no_others(dbg: Any, program: Any) -> None:
    def answer(sc: Any) -> str:
        try:
            return repr(program(sc).glom().collect())
        except FAILURES as failure:
            return str(failure).split("Error: ")[-1].splitlines()[0]

    plain = answer(dbg.plain_context)
    with dbg.capture():
        assert answer(dbg.context) == plain


def moved(sc: Any) -> Any:
    return sc.parallelize([(n, n) for n in range(6)], 2).partitionBy(2)


def test_records_that_were_sorted_where_they_were_have_their_lineage(on: Any) -> None:
    result = on.parallelize(["cc", "b", "aaa"], 2).sortByKey(numPartitions=1)
    assert result.collect() == ["aaa", "b", "cc"]
    trace = result.getLineage()
    assert [trace.at([rid]).goBackAll().collect() for rid in trace.rids().tolist()] == [["aaa"], ["b"], ["cc"]]


def test_executors_import_agents_and_not_the_engine(on: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(on.environment, "BIGDEBUG_TEST", "a worker that has imported nothing")  # workers are kept by environment

    def imported(records: Any) -> Any:
        import sys

        sum(1 for _ in records)
        return [name for name in sys.modules if name.split(".")[0] == "bigdebug"]

    pairs = on.parallelize([(n % 3, n) for n in range(30)], 2).filter(lambda r: r[1] > 1).map(lambda r: r)
    joined = pairs.reduceByKey(add).join(pairs.distinct()).cogroup(pairs).subtractByKey(pairs.filter(lambda r: r[0] == 1))
    found = set(joined.groupByKey().sortByKey(numPartitions=2).mapPartitions(imported).collect())
    assert "bigdebug.agents.groups" in found
    others = {name for name in found if not name.startswith("bigdebug.agents")}
    assert others <= {"bigdebug", "bigdebug.store", "bigdebug.store.blocks", "bigdebug.store.envelopes", "bigdebug.errors", "bigdebug.graph", "bigdebug.outside", "bigdebug.shown"}


def worker_memory(records: Any) -> Any:
    """The most bytes that this worker has had."""
    import resource

    sum(1 for _ in records)
    return [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10]


@pytest.mark.many
@pytest.mark.parametrize("wide", [
    lambda r: r.partitionBy(2), lambda r: r.groupByKey(2), lambda r: r.reduceByKey(lambda a, b: b, 2),
], ids=["partitionBy", "groupByKey", "reduceByKey"])
def test_large_records_cross_a_shuffle_in_little_memory(on: Any, monkeypatch: pytest.MonkeyPatch, wide: Any) -> None:
    """600 MB of records; they may be held up to the 64 MB of a merge, a few times."""
    monkeypatch.setitem(on.environment, "BIGDEBUG_TEST", f"a worker that has held nothing: {id(wide)}")
    records = on.parallelize(range(120), 1).map(lambda n: (n % 100, bytes(5 << 20)))
    assert max(wide(records).mapPartitions(worker_memory).collect()) < 500 << 20
