"""W3C PROV: a document says of each record of a trace what it was derived from, and other readers read it."""

from __future__ import annotations

import json
import sys
from operator import add
from pathlib import Path
from typing import Any

import pytest
from prov.model import ProvDerivation, ProvDocument
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bigdebug import DebugSession
from bigdebug.datasets.prov import document
from bigdebug.errors import DatasetsError, TooLargeError

LINES = ["a b", "b", "<script>alert(1)</script>", "מחיר b", ""]


def derivations(told: ProvDocument) -> set[tuple[str, str]]:
    """By the values of records: what was derived from what."""
    values = {str(record.identifier): next(iter(record.get_attribute("prov:value")), "") for record in told.get_records() if record.identifier}
    found = [{str(name): str(value) for name, value in record.formal_attributes} for record in told.get_records(ProvDerivation)]
    return {(values[each["prov:generatedEntity"]], values[each["prov:usedEntity"]]) for each in found}


@pytest.fixture(scope="module")
def counts(dbg: DebugSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("in") / "log.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    words = dbg.context.textFile(str(path), 2).flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(add)
    with dbg.capture("words"):
        words.collect()
    return words


def test_each_record_of_an_rdd_is_derived_from_the_lines_that_it_was_made_of(counts: Any) -> None:
    told = document(counts.getLineage())
    expected = {(repr((word, sum(line.split().count(word) for line in LINES))), repr(line)) for line in LINES for word in line.split()}
    assert derivations(told) == expected
    for form in ("json", "provn"):
        text = told.serialize(format=form)
        assert "words" in text
    assert ProvDocument.deserialize(content=told.serialize(format="json"), format="json") == told


def test_records_are_told_without_their_values_on_request(counts: Any) -> None:
    told = document(counts.getLineage().where(lambda r: r[0] == "a"), values=False).serialize(format="json")
    assert "prov:value" not in told
    assert "log.txt:1" in told
    assert "a b" not in told


def test_each_row_of_a_query_is_derived_from_the_rows_that_it_was_made_of(dbg: DebugSession, spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame([(i % 2, i) for i in range(6)], "k int, v int").coalesce(1).write.parquet(str(tmp_path / "rows"))
    sums = spark.read.parquet(str(tmp_path / "rows")).where("v > 0").groupBy("k").agg(F.sum("v").alias("s"))
    with dbg.capture("sums"):
        sums.collect()
    told = document(dbg.lineage(sums))
    assert derivations(told) == {(repr((k, sum(v for v in range(6) if v % 2 == k))), f"Row(k={k}, v={v})") for v in range(1, 6) for k in [v % 2]}


def test_a_document_is_written_in_either_form(dbg: DebugSession, counts: Any, tmp_path: Path) -> None:
    told = dbg.datasets.prov(counts.getLineage(), tmp_path / "words.json")
    assert ProvDocument.deserialize(str(tmp_path / "words.json"), format="json") == told
    dbg.datasets.prov(counts.getLineage(), tmp_path / "words.provn")
    assert (tmp_path / "words.provn").read_text(encoding="utf-8").strip() == told.get_provn().strip()


def test_an_empty_trace_is_a_document_of_the_run_alone(counts: Any) -> None:
    told = json.loads(document(counts.getLineage().where(lambda r: False)).serialize(format="json"))
    assert set(told) == {"prefix", "activity"}


def test_more_records_than_may_be_asked_for_are_refused(counts: Any) -> None:
    with pytest.raises(TooLargeError, match="more than 2 records"):
        document(counts.getLineage(), most=2)


def test_without_the_package_it_is_named(counts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prov.model", None)
    with pytest.raises(DatasetsError, match=r"pip install 'bigdebug\[prov\]'"):
        document(counts.getLineage())
