"""A run knows when its action began."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.errors import StoreError
from bigdebug.spark.crashes import RAISED
from bigdebug.trace.run import runs_table


def test_a_run_knows_when_its_action_began(dbg: Any, spark: Any) -> None:
    frame, before = spark.range(5).selectExpr("id % 2 AS parity"), time.time()
    with dbg.capture() as runs:
        dbg.context.parallelize(range(5), 2).map(str).collect()
        frame.collect()
        with pytest.raises(RAISED):
            dbg.context.parallelize(["1", "x"], 2).map(int).collect()
    began = [run.began for run in runs.runs]
    assert len(began) == 3
    assert before <= began[0] <= began[1] <= began[2] <= time.time()
    shown = dbg.runs_table()
    assert [row[shown.header.index("began")] for row in shown.rows[-3:]] == [f"{datetime.fromtimestamp(when):%Y-%m-%d %H:%M:%S}" for when in began]


def test_what_was_no_action_began_at_no_time_and_did_not_succeed(dbg: Any, spark: Any) -> None:
    run = dbg.lineage(spark.range(5).selectExpr("id + 1 AS next")).run
    assert run.began is None
    assert runs_table([run]).rows[0][4] == ""
    assert run.summary() == "next: asked about, of no captured action; lineage derived when asked"


def test_a_session_that_was_saved_before_this_was_known_says_so(dbg: Any, tmp_path: Path) -> None:
    with dbg.capture("kept") as run:
        dbg.context.parallelize(range(5), 2).map(str).collect()
    saved = dbg.save(tmp_path / "saved", run)
    assert bigdebug.open(saved).run("kept").began == run.latest.began
    catalog = json.loads((saved / "session.json").read_text())
    catalog["format"] = 1
    del catalog["runs"][0]["began"]
    (saved / "session.json").write_text(json.dumps(catalog))
    assert bigdebug.open(saved).run("kept").began is None
    for nothing in (float("nan"), 1e300):
        catalog["runs"][0]["began"] = nothing
        (saved / "session.json").write_text(json.dumps(catalog))
        assert bigdebug.open(saved).runs_table().rows[0][4] == ""
    for strange in ("noon", [1]):
        catalog["runs"][0]["began"] = strange
        (saved / "session.json").write_text(json.dumps(catalog))
        with pytest.raises(StoreError, match="was altered"):
            bigdebug.open(saved)
