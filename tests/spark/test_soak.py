"""A long session: 500 captured runs, asked and let go of, leave it as it was (issue 10)."""

from __future__ import annotations

import gc
import os
import threading
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.slow

ROUNDS, WARM, TURN = 250, 50, 25
"""Of two runs each; after how many the session is warm, and after how many runs are let go of."""


class Held(NamedTuple):
    """What this process holds, and the store."""

    megabytes: float
    threads: int
    files: int
    stored: int


def held(store: Path) -> Held:
    gc.collect()
    [pages] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")]
    return Held(int(pages) / 1024, threading.active_count(), len(os.listdir("/proc/self/fd")), sum(1 for _ in store.rglob("*.block")))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what a process holds is read from /proc")
def test_500_runs_leave_a_session_as_it_was(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("".join(f"w{number % 97} {number}\n" for number in range(2_000)))
    warm = None
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
        if turn == WARM:
            warm = held(dbg.store)
    now = held(dbg.store)
    assert warm is not None
    assert (now.stored, warm.stored) == (0, 0)
    assert now.threads <= warm.threads
    assert now.files <= warm.files + 2
    assert now.megabytes < warm.megabytes + 16
