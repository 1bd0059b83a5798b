"""An item with hundreds of parents is answered by each plan as any other: so many values are joined, fewer are listed."""

from __future__ import annotations

import pandas as pd
import pytest

from bigdebug.provgraph.index import Index
from bigdebug.provgraph.questions import ancestors, descendants
from bigdebug.spark.provgraph.graph import SparkGraph
from bigdebug.spark.provgraph.incoming import read
from bigdebug.spark.provgraph.prepared import Prepared


@pytest.mark.slow
def test_levels_of_few_and_of_hundreds_of_items(spark):
    wide = [(parent, 1_000, "gather") for parent in range(300)]
    rows = [*wide, *((2_000 + parent // 2, parent, "make") for parent in range(300)), (1_000, 5_000, "use")]
    frame = spark.createDataFrame(pd.DataFrame(rows, columns=["src", "dst", "op"]))
    index = Index.of_arrays(*zip(*rows))
    prepared = Prepared(read(frame))
    graphs = [SparkGraph(prepared, plan) for plan in ("rq", "ccprov")]
    for graph in graphs:
        for found, truth in (
            (graph.ancestors(5_000), ancestors(index, 5_000)),
            (graph.descendants([2_000, 2_149]), descendants(index, [2_000, 2_149])),
        ):
            assert found.toPandas().equals(truth.toPandas())
            assert sorted(found.triples.itertuples(index=False)) == sorted(truth.triples.itertuples(index=False))
        graph.close()
