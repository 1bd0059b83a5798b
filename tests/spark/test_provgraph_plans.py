"""RQ, CCProv and CSProv answer as the index does, on graphs of any shape; and the paper's worked examples come out as they are printed."""

from __future__ import annotations

import random

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.errors import ProvenanceError, UnknownItemError
from bigdebug.provgraph import questions
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.paths import paths
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.provgraph.graph import SparkGraph
from bigdebug.spark.provgraph.prepared import PLANS, Prepared

TABLES = ["t0", "t1", "t2", "t3", "t4", "t5"]
FLOW = [("t0", "t1"), ("t1", "t2"), ("t1", "t3"), ("t2", "t4"), ("t3", "t4"), ("t4", "t5")]
SPAN = 1000
"""Ids of table t3 are from 3000 to 3999."""


def layered(rng, first, width, fan):
    """Items of a small workflow: each derived from up to ``fan`` items of the tables that its own is made from."""
    rows = []
    for source, made in FLOW:
        for at in range(width):
            for _ in range(rng.randint(0, fan)):
                src, dst = TABLES.index(source) * SPAN + first + rng.randrange(width), TABLES.index(made) * SPAN + first + at
                rows.append((src, dst, f"{source}>{made}" if rng.random() < 0.9 else None))
    return rows


@st.composite
def graphs(draw):
    """Several graphs side by side, none joined with another: tangled ones, and many small ones."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    shapes = [layered(rng, 0, 30, 3), layered(rng, 100, 20, 1), *(layered(rng, 200 + 3 * n, 3, 1) for n in range(10))]
    rows = sorted({row for shape in shapes for row in shape}, key=str)
    return rows, rng


def asked_of(rows, rng, count):
    items = sorted({item for src, dst, _ in rows for item in (src, dst)})
    return [rng.choice(items) for _ in range(count)]


def flow(rename=int):
    ids = {t: range(n * SPAN, (n + 1) * SPAN) if rename is int else f"{t}/" for n, t in enumerate(TABLES)}
    return Workflow.of(FLOW, items=ids)


def as_text(item):
    return f"t{item // SPAN}/é<b>{item % SPAN:03}"


def triples_in(answer):
    return sorted(map(str, answer.triples.itertuples(index=False, name=None)))


def same(answer, expected):
    assert answer.toPandas()[["item", "depth"]].equals(expected.toPandas()[["item", "depth"]])
    assert triples_in(answer) == triples_in(expected)
    assert answer.stopped == expected.stopped


@settings(max_examples=2)
@given(graphs(), st.booleans())
def test_all_plans_answer_as_the_index_does(spark, known, texts):
    rows, rng = known
    if texts:
        rows = [(as_text(src), as_text(dst), op) for src, dst, op in rows]
    index = Index.of_arrays(*zip(*rows))
    prepared = Prepared(spark.createDataFrame(pd.DataFrame(rows, columns=["src", "dst", "op"])), flow(str if texts else int), threshold=8)
    several, (one, other) = asked_of(rows, rng, 6), asked_of(rows, rng, 2)
    answers = [SparkGraph(prepared, name) for name in PLANS]
    for graph in answers:
        assert graph.report.edges == index.edges
        assert graph.report.items == index.items
        same(graph.ancestors(several), questions.ancestors(index, several))
        same(graph.descendants(several), questions.descendants(index, several))
        same(graph.ancestors(one, depth=2), questions.ancestors(index, one, depth=2))
        same(graph.descendants(several, limit=5), questions.descendants(index, several, limit=5))
        if one != other:
            assert list(graph.common([one, other]).items) == list(questions.common(index, [one, other]).items)
            assert graph.paths(one, other).count == paths(index, one, other).count
    prepared.close()
