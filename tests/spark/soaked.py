"""A long session in a process of its own: 500 captured runs, asked and let go of; what it holds after a hundred of them, and at the end. Prints it as JSON.

A process that has done much before is a gigabyte large, and lets go of memory, or takes some, as it likes. What the JVM holds says nothing: it grows by some
80 KB with each run for the first hundreds, with bigdebug as without.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import threading
import time
from operator import add
from pathlib import Path
from typing import Any

from bigdebug.spark.datasets.attached import settle
from tests.left import PATIENCE, ours

ROUNDS, WARM, TURN = 250, 50, 25
"""Of two runs each; after how many the session is warm, and after how many runs are let go of."""


def held(dbg: Any) -> dict[str, Any]:
    """What this process and the store hold; ``ours`` are objects of our own classes, by class, and ``names`` those that remember a name of the JVM, each once."""
    settle(dbg.plain_context)
    gc.collect()  # programs are cycles, and what their tasks computed is known while they are there
    dbg.forget()
    [pages] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")]
    objects = ours()
    names = objects.pop("Classes")
    return {
        "megabytes": int(pages) / 1024, "threads": threading.active_count(), "files": len(os.listdir("/proc/self/fd")),
        "stored": sum(1 for _ in dbg.store.rglob("*.block")), "ours": objects, "names": names,
    }


def at_rest(dbg: Any) -> dict[str, Any]:
    """What is held where two looks in a row find the same objects: of the last query more may be in progress."""
    end, before = time.monotonic() + PATIENCE, held(dbg)
    while (now := held(dbg))["ours"] != before["ours"] and time.monotonic() < end:
        before = now
        time.sleep(0.1)
    return now


def soak(spark: Any, folder: Path) -> list[dict[str, Any]]:
    """What is held when it is warm, and at the end."""
    import bigdebug

    dbg, found = bigdebug.attach(spark), []
    path = folder / "words.txt"
    path.write_text("".join(f"w{number % 97} {number}\n" for number in range(2_000)))
    for turn in range(1, ROUNDS + 1):
        words = dbg.context.textFile(str(path), 2).map(lambda line: (line.split()[0], 1)).reduceByKey(add, 2)
        with dbg.capture("words"):
            assert len(words.collect()) == 97
        assert len(words.getLineage().where(lambda known: known[0] == "w5").goBackAll().rids()) == 21
        frame = spark.range(100).selectExpr("id % 7 k").groupBy("k").count()
        with dbg.capture("frame"):
            assert len(frame.collect()) == 7
        if turn % TURN == 0:
            assert len(dbg.runs) == 2 * TURN
            dbg.forget(dbg.runs)
            found.append(at_rest(dbg))
    return [found[WARM // TURN - 1], found[-1]]


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "3").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as place:
        sys.stdout.write(json.dumps(soak(session, Path(place))))
    session.stop()
