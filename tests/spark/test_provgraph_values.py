"""Values of our own runs are triples of the workflow's steps, as the paper's Tables I to V have them: no closure, and the operation is the step."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from bigdebug.errors import UnknownOperatorError

PERSONS = [("Steve", "NY", 30), ("Mark", "NY", 40), ("Shane", "LA", 40), ("Mary", "NY", 20)]

PAPER = {
    **{f"person1[{row}].{column}": 3 * row + at + 1 for row in range(4) for at, column in enumerate(("Name", "City", "Age"))},
    **{f"Person2[{row}].{column}": 3 * row + at + 13 for row in range(3) for at, column in enumerate(("Name", "City", "Age"))},
    "AvgAge[NY].City": 22, "AvgAge[NY].Age": 23, "AvgAge[LA].City": 24, "AvgAge[LA].Age": 25,
}
"""The paper's ids of the values, by what they are called here."""

TABLE_V = {
    *((1, 13, "R1"), (4, 16, "R1"), (7, 19, "R1"), (2, 14, "R1"), (5, 17, "R1"), (14, 22, "R2"), (17, 22, "R2"), (8, 20, "R1"), (20, 24, "R2")),
    *((3, 15, "R1"), (6, 18, "R1"), (15, 23, "R2"), (18, 23, "R2"), (9, 21, "R1"), (21, 25, "R2")),
}

STEPS = {"Filter": "R1", "Aggregate": "R2"}


@pytest.fixture(scope="module")
def program(dbg, spark):
    """The paper's Person1, Person2 and AvgAge, and the run that computed them."""
    spark.createDataFrame(PERSONS, "Name string, City string, Age int").coalesce(1).localCheckpoint().createOrReplaceTempView("person1")
    second = spark.table("person1").where("Age >= 25")
    averages = second.groupBy("City").agg(F.avg("Age").alias("Age"))
    with dbg.capture("averages") as run:
        averages.collect()
    return run, second, averages


def triples_of(graph):
    asked = [item for table in graph.workflow.tables for item in graph.first(table, limit=None)]
    return list(graph.ancestors(asked).triples.itertuples(index=False, name=None))


def test_the_papers_tables(dbg, program):
    run, second, averages = program
    graph = dbg.provenance(run, tables={"Person2": second, "AvgAge": averages}, values=True)
    assert sorted(graph.first(limit=None)) == sorted(PAPER)
    assert {(PAPER[src], PAPER[dst], STEPS[op]) for src, dst, op in triples_of(graph)} == TABLE_V
    assert len(graph) - len(graph.components()) == 25 - 10
    assert {PAPER[item] for item in graph.ancestors("AvgAge[NY].Age")} == {15, 18, 3, 6}
    fourth = graph.traces(["Person2[1].Age"])["Person2"]
    assert [row.Name for row in fourth.toDF().collect()] == ["Mark"]
    assert graph.items(fourth) == ["Person2[1].Age", "Person2[1].City", "Person2[1].Name"]


def test_steps_that_have_no_name_are_one_with_the_next(dbg, program):
    run, _, averages = program
    graph = dbg.provenance(run, tables={"AvgAge": averages}, values=True)
    assert {op for _, _, op in triples_of(graph)} == {"Filter > Aggregate"}
    assert set(graph.ancestors("AvgAge[NY].Age")) == {"person1[0].Age", "person1[1].Age"}


def test_columns_that_are_called_alike_are_two(dbg, spark):
    left, right = spark.createDataFrame([(1, "a")], "k int, v string"), spark.createDataFrame([(1, "b")], "k int, v string")
    left.localCheckpoint().createOrReplaceTempView("one")
    right.localCheckpoint().createOrReplaceTempView("other")
    both = spark.sql("select * from one join other on one.k = other.k")
    said = both.selectExpr("concat(one.v, '!') v", "other.k")
    with dbg.capture("alike") as run:
        said.collect()
    graph = dbg.provenance(run, tables={"both": both, "said": said}, values=True)
    [v] = [item for item in graph.items(dbg.lineage(run)) if item.endswith(".v")]
    assert [item.rpartition(".")[2] for item in graph.ancestors(v)] == ["v", "v"]
    assert {item.partition("[")[0] for item in graph.ancestors(v)} == {"both", "one"}
    assert sorted(item.rpartition(".")[2] for item in graph.first("both", limit=None)) == ["k", "k'", "v", "v'"]


def test_what_names_no_step_is_refused(dbg, program):
    run, _, _ = program
    with pytest.raises(UnknownOperatorError, match="names of operators"):
        dbg.provenance(run, tables=["Person2"], values=True)
