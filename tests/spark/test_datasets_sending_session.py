"""``dbg.datasets.send``: a collector is told of what a session does, until it is detached; a dead one changes nothing of the session."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import bigdebug
from bigdebug import DebugSession
from tests.collector import collecting, hang
from tests.spark.test_watch import until


def test_a_session_tells_until_it_is_detached(spark: SparkSession, dbg: DebugSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with collecting() as collector, collecting([hang] * 100) as dead:
        dbg.datasets.send(collector.url)
        dbg.datasets.send(dead.url)
        rows = spark.range(10)
        rows.write.parquet(str(tmp_path / "told"))
        until(lambda: collector.taken)
        dbg.detach()
        rows.write.parquet(str(tmp_path / "untold"))
        bigdebug.attach(spark)
        began = time.monotonic()
        assert dbg.datasets.sending().rows == ()
        assert time.monotonic() - began < 5
    assert collector.wrong == []
    written = [output["name"] for event in collector.taken for output in event["outputs"]]
    assert written.count(str(tmp_path / "told")) == 2
    assert str(tmp_path / "untold") not in written
