"""A notebook beside another one: ``python -m tests.spark.notebook NAME STORE SAVED ROUNDS`` captures, traces, saves and forgets, and prints what it found."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path


def main(name: str, store: str, saved: str, rounds: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    import bigdebug
    from tests.operations import RDDS, frame_captured, frame_program, program, traced_back

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.warehouse.dir", tempfile.mkdtemp()).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    dbg = bigdebug.attach(spark, store=store)
    found = {}
    for turn in range(int(rounds)):
        folder = Path(tempfile.mkdtemp())
        made = program(dbg, folder)
        with dbg.capture(f"{name} {turn}", strategy=("inject", "lazy")[turn % 2]) as run:
            rows = sorted(made.result.collect())
        frame, _ = frame_captured(frame_program(dbg, folder))
        dbg.save(f"{saved}/{name}-{turn}", run, lineage=True)
        found[f"{name}-{turn}"] = {"rows": rows, "back": traced_back(made), "frame": frame, "incomplete": run.incomplete}
        if turn % 2:
            dbg.forget(dbg.runs)
    asked = {operation.name: operation.act(operation.prepare(dbg, Path(tempfile.mkdtemp()))) for operation in RDDS if operation.name in ("resumed", "localized")}
    dbg.forget(dbg.runs)
    print(json.dumps({"found": found, "asked": asked, "store": str(dbg.store), "left": [str(path) for path in dbg.store.rglob("*")]}))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
