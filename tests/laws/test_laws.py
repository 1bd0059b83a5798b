"""The laws of DESIGN section 6 over random programs, on real Spark."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import nullcontext
from random import Random
from typing import Any

from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from bigdebug.errors import IncompleteLineageError
from tests.laws.programs import OPS, POSITIONAL, Node, Program, build, interpret, programs

MANY = int(os.environ.get("LAW_EXAMPLES", "30"))
FEW = settings(max_examples=MANY, deadline=None)
SOME = settings(max_examples=MANY * 2 // 3, deadline=None)


def multiset(records: Any) -> Counter[str]:
    return Counter(map(repr, records))


def captured(
    dbg: Any, program: Program, take: int | None = None, strategy: str = "auto"
) -> tuple[Any, list[Any], list[Any], list[Any]]:
    """Result records in rid order, the result, its sources, all its RDDs."""
    result, made, sources = build(program, dbg.context)
    with dbg.capture("law", strategy=strategy) as run:
        records = result.collect() if take is None else result.take(take)
    assert run.incomplete == ()
    assert run.status == "succeeded"
    return records, result, sources, made


def lineage_of(dbg: Any, result: Any, sources: list[Any], rid: int) -> frozenset[tuple[str, int]]:
    """What the engine says that the record was computed from, in the interpreter's terms."""
    if not sources:
        return frozenset()
    found = set()
    trace = result.getLineage().at([rid]).goBackAll()
    ids = {source._definition.operator.id: f"s{i}" for i, source in enumerate(sources)}
    for operator in trace.operators:
        facts = trace.run.sources[operator]
        for partition, positions in trace.standing.get(operator, {}).items():
            for origin in facts.origins(partition, positions, lambda ps: {}):
                found.add((ids[operator], origin.index))
    return frozenset(found)


@SOME  # each example runs six times, and what law 4 runs is compared, too
@given(programs(ops=(*OPS, *POSITIONAL)))
def test_1_transparency(dbg: Any, spark: Any, program: Program) -> None:
    """Capture on, off and not there: the same records."""
    expected = multiset(build(program, spark.sparkContext)[0].collect())
    assert multiset(build(program, dbg.context)[0].collect()) == expected
    for strategy in ("inject", "lazy"):
        result, _, _ = build(program, dbg.context)
        with dbg.capture("law", strategy=strategy) as run:
            assert multiset(result.collect()) == expected
            assert result.count() == sum(expected.values())
        assert run.incomplete == ()


# Filled without capture; a trace of a record of one partition is not to make those of others unknown.
FILLED = Program((((0, 0), 2),), (Node("cache", (0,)),))


@FEW
@given(
    programs(ops=(*OPS, "cache", "cache")),
    st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.sampled_from(["collect", "count", "first"])), max_size=4),
)
@example(FILLED, [(1, False, "collect")])
def test_1_transparency_and_4_precision_whatever_was_computed_before(
    dbg: Any, spark: Any, program: Program, acts: list[tuple[int, bool, str]]
) -> None:
    """Actions on any node, with capture and without it, that share what they cached: each gives what it would give alone,
    and the lineage of a captured one is right, or refused because a cache was filled without capture."""
    plain = build(program, spark.sparkContext)[1]
    result, made, sources = build(program, dbg.context)
    expected = interpret(program)
    for node, captures, act in (*acts, (len(made) - 1, True, "collect")):
        rdd, other = made[node % len(made)], plain[node % len(made)]
        if act == "first" and rdd.isEmpty():
            continue
        with dbg.capture("law") if captures else nullcontext():
            got = getattr(rdd, act)()
        if act == "collect":
            assert multiset(got) == multiset(other.collect())
        elif act == "count":
            assert got == other.count()
    rids = result.getLineage().rids().tolist()
    assert len(rids) == len(got)
    try:
        lineage = [(repr(r), lineage_of(dbg, result, sources, rid)) for r, rid in zip(got, rids)]
    except IncompleteLineageError as refused:
        if all(captures for _, captures, _ in acts) or "without capture" not in str(refused):
            raise
        return
    if not program.opaque:
        assert Counter(lineage) == Counter((repr(r), lineage) for r, lineage in expected)


# Partitions that are made of several and are not read to their end.
ALIGNED = Program(((tuple(range(14)), 3),), (Node("alignedUnion", (0, 0), b=2),))
COALESCED = Program(((tuple(range(14)), 5),), (Node("map", (0,)), Node("union", (0, 1)), Node("coalesce", (2,), b=3), Node("map", (3,))))


@FEW
@given(programs(ops=(*OPS, *POSITIONAL)), st.none() | st.integers(1, 6))
@example(ALIGNED, 1)
@example(ALIGNED, 9)
@example(COALESCED, 1)
@example(COALESCED, 6)
@example(Program((((0, 0), 1),), (Node("partitionBy", (0,)), Node("map", (1,)))), 1)  # two records arrive, and one is taken
def test_2_duality(dbg: Any, program: Program, take: int | None) -> None:
    """An output is ahead of a source record if and only if the source record is behind the output, also after take()."""
    records, result, sources, _ = captured(dbg, program, take)
    if take is not None and not records:
        return
    trace = result.getLineage()
    for source in sources:
        operator = source._definition.operator.id
        if operator not in trace.run.graph.upstream(trace.operators[0]):
            continue
        back = {(int(s), int(o)) for o in trace.rids() for s in trace.at([o]).back_to(source).rids()}
        everything = dbg.lineage(source)
        ahead = {(int(s), int(o)) for s in everything.rids() for o in everything.at([s]).forward_to(result).rids()}
        assert back == ahead


@FEW
@given(programs())
def test_4_precision(dbg: Any, program: Program) -> None:
    """The lineage of every output is exactly what the meaning of the operators says; more only through black boxes."""
    records, result, sources, _ = captured(dbg, program)
    expected = interpret(program)
    assert multiset(records) == multiset(r for r, _ in expected)
    rids = result.getLineage().rids().tolist()
    assert len(rids) == len(records)
    got = [(repr(r), lineage_of(dbg, result, sources, rid)) for r, rid in zip(records, rids)]
    want = [(repr(r), lineage) for r, lineage in expected]
    note(f"got {got}\nwant {want}")
    if not program.opaque:
        assert Counter(got) == Counter(want)
        return
    for record in {r for r, _ in got}:
        mine = sorted((lineage for r, lineage in got if r == record), key=len, reverse=True)
        for needed in sorted((lineage for r, lineage in want if r == record), key=len, reverse=True):
            assert any(needed <= lineage for lineage in mine)


@SOME
@given(programs(), st.randoms(use_true_random=False))
def test_3_sufficiency_and_5_strategies_agree(dbg: Any, program: Program, random: Any) -> None:
    """Run on the lineage of an output alone, the program gives it again: in this process, and on Spark."""
    records, result, _, _ = captured(dbg, program)
    rids = result.getLineage().rids().tolist()
    if not rids:
        return
    rid = random.choice(rids)
    record = repr(records[rids.index(rid)])
    replay = result.getLineage().at([rid]).replay()
    here = multiset(replay.collect())
    assert record in here
    assert multiset(replay.rdd.collect()) == here


@SOME
@given(programs(), st.randoms(use_true_random=False))
def test_ex_replay_is_the_program_without_those_records(dbg: Any, spark: Any, program: Program, random: Any) -> None:
    _, result, sources, _ = captured(dbg, program)
    rids = result.getLineage().rids().tolist()
    if not rids:
        return
    rid = random.choice(rids)
    dropped = lineage_of(dbg, result, sources, rid)
    rest = Program(
        tuple(
            (tuple(x for i, x in enumerate(data) if (f"s{n}", i) not in dropped), partitions)
            for n, (data, partitions) in enumerate(program.sources)
        ),
        program.nodes,
    )
    expected = multiset(r for r, _ in interpret(rest))
    replay = result.getLineage().at([rid]).replay(exclude=True)
    assert multiset(replay.collect()) == expected
    assert multiset(replay.rdd.collect()) == expected


EARLY = Program((((0, 0), 1),), (Node("map", (0,)), Node("zipWithIndex", (0,)), Node("early", (2,))))

TOGETHER = Program((((0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0), 3),), (Node("groupWith", (0, 0)), Node("coalesce", (1,), b=3), Node("map", (2,))))
"""Spark puts other partitions of it together once it knows where its shuffle lies."""


@SOME
@given(programs(ops=(*OPS, *POSITIONAL)), st.randoms(use_true_random=False))
@example(EARLY, Random(0))
def test_3_replay_keeps_what_was_decided_by_place(dbg: Any, program: Program, random: Any) -> None:
    """Sufficiency also where the place of a record decides; and without records one task counts places as Spark does."""
    records, result, _, _ = captured(dbg, program)
    rids = result.getLineage().rids().tolist()
    if not rids:
        return
    rid = random.choice(rids)
    one = result.getLineage().at([rid])
    here = multiset(one.replay().collect())
    assert repr(records[rids.index(rid)]) in here
    assert multiset(one.replay().rdd.collect()) == here
    without = one.replay(exclude=True)
    assert multiset(without.collect()) == multiset(without.rdd.collect())


@SOME
@given(
    programs(ops=(*OPS, *POSITIONAL)), st.none() | st.integers(1, 6), st.sampled_from(["inject", "lazy"]),
    st.randoms(use_true_random=False),
)
@example(EARLY, 1, "lazy", Random(0))
@example(EARLY, 2, "inject", Random(0))
@example(TOGETHER, None, "lazy", Random(0))
def test_5_every_operator_can_be_stopped_at(dbg: Any, program: Program, take: int | None, strategy: str, random: Any) -> None:
    """Going back over any operator on the way reaches the same sources as going back at once; both ways agree."""
    records, result, _, _ = captured(dbg, program, take, strategy)
    if not records:
        return
    trace = result.getLineage()
    assert multiset(records) <= multiset(trace.collect()), "tasks of take() side by side may read more than it returns"
    one = trace.at([random.choice(trace.rids().tolist())])
    straight = {o: set(s) for o, s in _rids_by_source(one.goBackAll()).items()}
    reached: dict[int, set[int]] = {o: set() for o in straight}
    parents = trace.run.graph[trace.operators[0]].parents
    for parent in dict.fromkeys(parents):
        step = one.back_to(parent)
        assert len(step.collect()) == step.count()
        for source, rids in _rids_by_source(step.goBackAll()).items():
            reached[source] |= set(rids)
    if parents:
        assert reached == straight


@SOME
@given(programs(ops=(*OPS, *POSITIONAL)))
def test_6_stability(dbg: Any, program: Program) -> None:
    """The same program once more gives the same rids with the same records and the same lineage."""
    first, one, sources, _ = captured(dbg, program)
    second, two, again, _ = captured(dbg, program)
    assert [repr(r) for r in first] == [repr(r) for r in second]
    rids = one.getLineage().rids().tolist()
    assert rids == two.getLineage().rids().tolist()
    for rid in rids[:6]:
        assert lineage_of(dbg, one, sources, rid) == lineage_of(dbg, two, again, rid)


def _rids_by_source(trace: Any) -> dict[int, list[int]]:
    from bigdebug.trace.places import rids_of

    return {o: rids_of(trace.standing.get(o, {})).tolist() for o in trace.operators}
