"""Law: of random programs and queries, the graph of a run gives what traces give, backward and forward, or the export is refused by name.

Its triples are the query's steps, one each; their closure, over all of a value's ancestors, is what ``trace.columns`` tells.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings

from bigdebug.errors import NondeterminismError, UntraceableError
from tests.laws.programs import OPS, Node, Program, build, programs
from tests.laws.sql_programs import Query, exact_programs, queries, sql_of
from tests.laws.test_sql_laws import World

FEW = settings(max_examples=4, deadline=None, suppress_health_check=[*HealthCheck])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Any:
    return tmp_path_factory.mktemp("tables")


def rids_of(traces: dict[str, Any], name: str) -> list[int]:
    return sorted(traces[name].rids().tolist()) if name in traces else []


@FEW
@given(programs(ops=OPS))
def test_records_of_programs(dbg: Any, program: Program) -> None:
    result, _, sources = build(program, dbg.context)
    with dbg.capture("law") as run:
        result.collect()
    graph, whole = dbg.provenance(run), dbg.lineage(run)
    names = run.latest.input_names()
    back: Counter[tuple[Any, ...]] = Counter()
    for rid in whole.rids():
        one = whole.at([rid])
        found = graph.traces(graph.ancestors(one))
        for source in (o.id for o in run.latest.graph.sources):
            behind = sorted(one.back_to(source).rids().tolist())
            assert rids_of(found, names[source]) == behind or one.operators == (source,)
            back.update((names[source], each, int(rid)) for each in behind)
    for source in (o.id for o in run.latest.graph.sources):
        if source in whole.operators:
            continue
        made = [each for each in sources if each._definition.operator.id == source]
        if not made:  # an empty collection that an operator makes for itself
            assert len(whole.back_to(source).rids()) == 0
            continue
        everything = dbg.lineage(made[0])
        for rid in everything.rids():
            ahead = graph.descendants(everything.at([rid]))
            results = {item for item in ahead if item in set(graph.items(whole))}
            assert len(results) == len([1 for name, each, _ in back if name == names[source] and each == rid])


def test_what_nobody_read_has_no_records(dbg: Any) -> None:
    """The right side of a cartesian product whose left side is empty is never read."""
    nodes = (Node("reduceByKey", (0,), a=0, b=1), Node("map", (0,), a=0, b=1), Node("cartesian", (0, 1), a=0, b=1))
    inner: Any = test_records_of_programs.hypothesis.inner_test  # type: ignore[attr-defined]
    inner(dbg, Program(sources=(((), 1),), nodes=nodes))


def compared(dbg: Any, world: World) -> None:
    world.plain()
    frame = world.spark.sql(world.sql)
    with dbg.capture("law") as run:
        frame.collect()
    whole = dbg.lineage(run)
    try:
        graph = dbg.provenance(run)
        values = [dbg.provenance(run, values=True)]
    except (UntraceableError, NondeterminismError) as refused:
        event(f"refused: {str(refused).split(':')[-1][:60]}")
        return
    event("answered")
    root = whole.operators[0]
    if root in whole.run.questions.leaves:
        return
    try:
        some = [o for o in whole.run.graph if o.id not in whole.run.questions.leaves][:3]
        values.append(dbg.provenance(run, values=True, tables={f"step {o.id}": o for o in some}))
    except (UntraceableError, NondeterminismError) as refused:
        event(f"not at every operator: {str(refused).split(':')[-1][:60]}")
    for each in values:
        in_steps(each, whole.run)
    names = whole._steps.every(root)
    for place in range(min(len(names), 4)):
        one = whole.named(names.slice(place, 1))
        back = graph.traces(graph.ancestors(one))
        sources = one.goBackAll()
        for name in whole.run.input_names().values():
            assert rids_of(back, name) == sorted(sources._occurrence(name).rids().tolist())
        columns = [a.name() for a in whole.run.questions.shown(root)[1]]
        for column, origins in one.columns.items():
            if columns.count(column) > 1:
                continue
            cells = {f"{source}[{rid}].{name}" for source, name in (o.split(".", 1) for o in origins) for rid in sources._occurrence(source).rids()}
            for each in values:
                [cell] = [item for item in each.items(one) if item.endswith(f"].{column}")]
                found = each.ancestors(cell)
                assert {item for item, table in zip(found, found.tables) if table in sources.inputs} == cells


def in_steps(values: Any, run: Any) -> None:
    """Each triple leads from a level of the query to the one right above it, and its operation is what is between."""
    steps = run.questions.steps(values.parts[0].stops)
    level = {table: number for number, table in values.parts[0].exported.tables.items()}
    if not len(values):
        return
    found = values.ancestors(values.first(limit=None))
    below, above = (values.index.tables_of(end) for end in (found.walked.triples.src, found.walked.triples.dst))
    for source, made, op in zip(below, above, found.triples["op"]):
        assert source != made
        assert level[source] in steps.next_to(level[made], ahead=False)
        assert op.split(" > ")[-1] == run.graph[level[made]].name


@pytest.mark.slow
@FEW
@given(exact_programs())
def test_rows_and_values_of_plain_queries(dbg: Any, spark: Any, folder: Any, program: Any) -> None:
    step, made = program
    compared(dbg, World(spark, folder, Query(sql_of(step), made)))


@pytest.mark.slow
@FEW
@given(queries())
def test_rows_and_values_of_any_query(dbg: Any, spark: Any, folder: Any, query: Query) -> None:
    compared(dbg, World(spark, folder, query))
