"""Shells with a Spark session."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

import bigdebug
from tests.kernel.shells import Shell


@pytest.fixture
def bare(spark: Any, tmp_path: Path) -> Iterator[Shell]:
    """A shell that has ``spark``, and no bigdebug yet."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = Shell(config=config, ipython_dir=str(tmp_path / "ipython"))
    shell.user_ns["spark"] = spark
    bigdebug.attach(spark).detach()
    bigdebug.attach(spark, store=str(tmp_path)).detach()  # a session without runs
    shell.cell("%unload_ext bigdebug")  # IPython makes some of its own parts on first use
    yield shell
    shell.cell("%unload_ext bigdebug")
    bigdebug.attach(spark).detach()
    shell.restore_sys_module_state()
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()


@pytest.fixture
def shell(bare: Shell) -> Shell:
    """A shell where ``%load_ext bigdebug`` has run."""
    bare.cell("%load_ext bigdebug")
    return bare


@pytest.fixture
def totals(shell: Shell, tmp_path: Path) -> Shell:
    """A shell where a query over two files has run: ``totals``, and ``spent`` for the run."""
    shell.user_ns["folder"] = str(tmp_path)
    shell.cell("""
for name, rows in {"people": [(1, "ann"), (2, "bob")], "sales": [(1, 5), (1, 900), (2, 7), (2, 8)]}.items():
    columns = ["id", "who"] if name == "people" else ["person", "amount"]
    spark.createDataFrame(rows, columns).coalesce(1).sortWithinPartitions(*columns).write.parquet(f"{folder}/{name}")
    spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)
totals = spark.sql("select who, sum(amount) total from sales join people on id = person group by who")""")
    shell.cell("%%lineage spent\ntotals.collect()")
    return shell
