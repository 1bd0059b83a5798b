"""A lineage store at a URI, on executors of two hosts: S3 on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from tests import s3
from tests.cluster.test_faults import AT, LINES, behind, counted, program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3.S3]:
    with s3.running(tmp_path_factory.mktemp("s3")) as made:
        yield made


def lines_behind(result: Any, word: str) -> list[int]:
    source = result.getLineage().where(lambda line: line.startswith(f"{word}:")).goBackAll()
    return sorted(origin.line for origin in source.origins())


@pytest.mark.parametrize("at", [AT[0], pytest.param(AT[1], marks=pytest.mark.slow)])
def test_executors_write_there_and_lineage_outlives_them(spark: Any, server: s3.S3, tmp_path: Path, at: str) -> None:
    dbg = bigdebug.attach(spark, store="s3://lake/cluster", store_options=server.options)
    try:
        job = program(dbg, tmp_path, "killed", at)
        job.fault.arm()
        with dbg.capture() as run:
            assert sorted(job.result.collect()) == counted(LINES)
        assert (run.status, run.incomplete) == ("succeeded", ())
        assert len(run.store.names(run.id)) >= 7  # some partitions were computed twice
        assert lines_behind(job.result, "7") == behind(LINES, "7")
        dbg.forget()
        assert server.keys() == []
    finally:
        dbg.detach()


def test_executors_that_lack_the_keys_give_the_driver_their_blocks(spark: Any, server: s3.S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the driver is its own."""
    environment = {
        "AWS_ACCESS_KEY_ID": s3.KEYS["access_key"], "AWS_SECRET_ACCESS_KEY": s3.KEYS["secret_key"], "AWS_ENDPOINT_URL": f"http://{server.endpoint}", "AWS_REGION": "us-east-1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    dbg = bigdebug.attach(spark, store="s3://lake/keys")
    try:
        job = program(dbg, tmp_path, "failed", AT[0])
        with dbg.capture() as run:
            assert sorted(job.result.collect()) == counted(LINES)
        assert run.status == "succeeded"
        assert len(run.incomplete) == 1
        assert "Tasks do not reach the lineage store s3://lake/keys/" in run.incomplete[0]
        assert len(run.store.names(run.id)) == 7
        assert lines_behind(job.result, "7") == behind(LINES, "7")
    finally:
        dbg.detach()
