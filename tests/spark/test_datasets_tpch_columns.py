"""Columns of all queries of TPC-H, against answers that were worked out by hand (tests/golden/tpch_columns.txt)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tpch import QUERIES, TABLES, generate
from bigdebug.spark.datasets.plans import read_frame
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.seen import Seen

ANSWERS = Path(__file__).resolve().parents[1] / "golden" / "tpch_columns.txt"

TABLE_OF = {"c": "customer", "l": "lineitem", "n": "nation", "o": "orders", "p": "part", "ps": "partsupp", "r": "region", "s": "supplier"}
"""Columns of TPC-H begin with what their tables are called."""

Answer = dict[str, set[str]]


def answers() -> dict[int, Answer]:
    """By the number of the query: of each column, how it uses which column of which table."""
    found: dict[int, Answer] = {}
    for part in re.split(r"^Q(?=\d)", ANSWERS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        number, *lines = part.strip().split("\n")
        found[int(number)] = {}
        for column, *words in map(str.split, lines):
            how, uses = "", found[int(number)].setdefault(column, set())
            for word in words:
                if word.isupper():
                    how = word
                else:
                    uses.add(f"{TABLE_OF[word.partition('_')[0]]}.{word} {how}")
    return found


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = generate(tmp_path_factory.mktemp("tpch"), 0.001)
    for name in TABLES:
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    yield
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.mark.many
@pytest.mark.parametrize("number", QUERIES)
def test_columns_are_made_of_what_the_query_says(number: int, spark: Any, tables: None) -> None:
    relations = Relations(spark._jsparkSession, spark.sparkContext, lambda options: None, Seen("test"))
    frame = spark.sql(QUERIES[number])
    reading = read_frame(relations, frame)
    assert reading is not None
    assert reading.opaque == ()
    found: Answer = defaultdict(set, {column: set() for column in ["*", *frame.columns]})
    for edge in reading.columns:
        if edge.input.kind == "files":
            found[edge.column or "*"].add(f"{Path(edge.input.name).stem}.{edge.used} {'MASKING' if edge.masking else edge.how}")
    assert dict(found) == answers()[number]
