"""A program on executors that have neither bigdebug nor the driver's disk: what it finds, as JSON.

``python -m tests.cluster.apart MASTER PYTHON STORE INPUT``
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

LINES = [f"{'bad' if n == 77 else n % 13} {n % 5}" for n in range(160)]


def ended() -> bool:
    os._exit(7)


def main(master: str, python: str, store: str, path: str, poor: str = "") -> None:
    """``poor`` says that these executors have no numpy either."""
    os.environ["PYSPARK_PYTHON"] = python
    from operator import add

    from pyspark.sql import SparkSession
    from pyspark.sql.functions import udf

    spark = SparkSession.builder.master(master).config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    import bigdebug

    dbg = bigdebug.attach(spark, store=store)
    found: dict[str, Any] = {}

    def program(parse: Any) -> Any:
        return dbg.context.textFile(path, 4).flatMap(parse).reduceByKey(add, 3).map(lambda pair: f"{pair[0]}: {pair[1]}")

    if poor:
        with dbg.capture("poor") as run:
            found["poor"] = sorted(program(lambda line: [(word, 1) for word in line.split()]).collect())
        found["incomplete"] = run.incomplete
        spark.stop()
        sys.stdout.write(json.dumps(found))
        return

    def seen(record: object) -> bool:

        del record
        return Path(store).is_dir() and any(Path(store).iterdir())

    found["shared"] = spark.sparkContext.parallelize(range(2), 2).map(seen).collect()
    for strategy in ("auto", "inject", "lazy"):
        counts = program(lambda line: [(word, 1) for word in line.split()])
        with dbg.capture(strategy, strategy=strategy) as run:
            found[strategy] = sorted(counts.collect())
        found[f"{strategy} incomplete"] = run.incomplete
        source = counts.getLineage().where(lambda line: line.startswith("7:")).goBackAll()
        found[f"{strategy} back"] = sorted(origin.line for origin in source.origins())
        found[f"{strategy} ahead"] = sorted(source.goNextAll().collect())
    totals = program(lambda line: [(line.split()[1], 9999 if line.startswith("bad") else int(line.split()[0]))])
    with dbg.capture("totals"):
        totals.collect()

    def wrong(line: str) -> bool:
        return int(line.split()[1]) > 1000

    found["replayed"] = sorted(totals.getLineage().where(wrong).goBackAll().replay().collect())
    asked: list[dict[str, Any]] = [{"test": wrong}, {"whole": lambda lines: any(map(wrong, lines))}]
    found["localized"] = [[source.origin.line for fault in dbg.localize(totals, **each).fault_sets for source in fault.records] for each in asked]
    with dbg.capture("crash") as run, pytest.raises(Exception, match="invalid literal"):
        program(lambda line: [(str(int(word)), 1) for word in line.split()]).collect()
    found["culprits"] = [(culprit.record, culprit.sources[0].origin.line) for culprit in run.culprits]
    found["resumed"] = sorted(run.latest.resume(skip=True).result)
    with dbg.capture("exits") as run, pytest.raises(Exception, match=r"exited|crashed"):
        program(lambda line: [(word, 1) for word in line.split() if line != "bad 2" or ended()]).collect()
    found["exits"] = [(culprit.exception_type, culprit.record, culprit.sources[0].origin.line) for culprit in run.culprits]
    found["unknown"] = run.culprits.unknown
    with dbg.capture(on_crash="skip", letters=f"{store}/letters") as run:
        found["skipped"] = sorted(program(lambda line: [(str(int(word)), 1) for word in line.split()]).collect())
    found["letters"] = run.culprits.unknown
    frame = spark.read.text(path).selectExpr("split(value, ' ')[0] word", "value").groupBy("word").count()
    with dbg.capture("frame"):
        frame.collect()
    found["frame"] = dbg.lineage(frame).where("word = '7'").goBackAll().count()
    parsed = spark.read.text(path).select(udf(lambda line: int(line.split()[0]), "int")("value"))
    with dbg.capture("udf") as run, pytest.raises(Exception, match="invalid literal"):
        parsed.collect()
    found["udf"] = [str(culprit.record) for culprit in run.culprits]

    def shaped(group: Any) -> Any:
        return group if group["id"].iloc[0] != 2 else group.rename(columns={"id": "other"})

    grouped = spark.range(4).groupBy("id").applyInPandas(shaped, "id long")
    with dbg.capture("shapes") as run, pytest.raises(Exception, match="other"):
        grouped.collect()
    found["shapes"] = [str(culprit.record) for culprit in run.culprits]
    maps = spark.range(4).selectExpr("id", "map_concat(map(id, 1), map(2, 2)) m")
    with dbg.capture("maps") as run, pytest.raises(Exception, match="DUPLICATED_MAP_KEY"):
        maps.collect()
    found["maps"] = [str(culprit.record) for culprit in run.culprits]
    found["left"] = sorted({known.suffix for known in Path(store).rglob("*") if known.is_file() and "letters" not in known.parts})
    spark.stop()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
