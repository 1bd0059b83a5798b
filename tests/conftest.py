"""What all tests share: one Spark session for the whole run, and how thoroughly Hypothesis searches."""

from __future__ import annotations

import atexit
import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests import jvm

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from bigdebug import DebugSession

ROOT = Path(__file__).resolve().parent.parent

# A job takes 30 to 70 ms, so an example that runs one is slow by nature.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples at every run: a red CI is about the change that it ran on.
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))

os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm.options())

# What tests record is not what their user's sessions did.
os.environ["BIGDEBUG_HOME"] = tempfile.mkdtemp(prefix="bigdebug-home-")
atexit.register(shutil.rmtree, os.environ["BIGDEBUG_HOME"], ignore_errors=True)


MASTER = os.environ.get("BIGDEBUG_TEST_MASTER", "local[2]")
"""Where the session of the tests runs: in this process; on ``local-cluster[2,1,1024]`` tasks run in two executors; ``standalone`` is a cluster of
a master and two workers, which are two hosts to Spark."""

# These kill executors.
collect_ignore = [] if MASTER == "standalone" else ["cluster"]


LONG = ("test_upstream.py", "test_sql_laws.py", "test_tpch.py", "test_sql_by_name.py", "test_sql_subqueries.py", "test_sql.py")
"""Modules of minutes. They come first: of two processes that share the modules, neither begins one when the other is about to end."""


TURN = os.environ.get("BIGDEBUG_TEST_TURN", "")
"""``1/3``: of families of programs, every third one from the second on, and those of ``make test``; all of them, if empty."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """``pytest -m "not spark"`` is the run of seconds."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    turn, _, turns = TURN.partition("/")
    places: dict[tuple[str, str], dict[int, int]] = {}
    others = []
    for item in items:
        if item.get_closest_marker("many") and (place := _place(item, places)) % 10:
            item.add_marker(pytest.mark.slow)
            if TURN and place % int(turns) != int(turn):
                others.append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


def _place(item: pytest.Item, places: dict[tuple[str, str], dict[int, int]]) -> int:
    """Where a program stands in its family: each tenth one makes a Latin square, so no value that stands beside ten of another parameter is left out."""
    family = item.nodeid.partition("[")[0]
    found = 0
    for name, value in item.callspec.params.items():
        known = places.setdefault((family, name), {})
        found += known.setdefault(id(value), len(known))
    return found


PLANTED = re.compile(rb"Q7p\d\dlant9z|Zq7-hunter2\.X9|plant[A-Z]17zz")
"""The secrets that tests plant in jobs of their sessions."""


@pytest.fixture(scope="session", autouse=True)
def _hunt() -> Iterator[None]:
    """At the end of all tests: nothing that their sessions kept, the store with its log and the spool, has a secret that was planted."""
    yield
    kept = [path for path in Path(os.environ["BIGDEBUG_HOME"]).rglob("*") if path.is_file()]
    assert [path for path in kept if PLANTED.search(path.read_bytes())] == []


@pytest.fixture(scope="session", autouse=True)
def trials_may_last() -> None:
    """What a step's function is tried on does not hang on how busy the machine is; tests of the time that trials have set their own."""
    from bigdebug.actors import promises, tried

    promises.MOST_SECONDS = tried.MOST_SECONDS = tried._LATE_SECONDS = 15.0


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark with two cores in this process's JVM; tests leave it as they found it."""
    # The JVM hands its environment on to the Python workers, so this comes before it starts. Workers unpickle
    # functions of test modules by name, which takes the same root on their path as pytest has on its own.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master(MASTER)
        .appName("bigdebug tests")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.python.unix.domain.socket.enabled", "true")  # halves the time of a small job
        .config("spark.python.daemon.module", "tests.daemon")  # on the path from ROOT, above
        .config("spark.sql.shuffle.partitions", "3")
        # Thousands of queries pass through one session, and Spark remembers a thousand of them with all their numbers.
        .config("spark.driver.memory", "3g")
        .config("spark.sql.ui.retainedExecutions", "20")
        .config("spark.ui.retainedJobs", "100")
        .config("spark.ui.retainedStages", "100")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    from bigdebug.spark import failing
    from bigdebug.spark.sql.crashes import heard

    failing._PATIENCE = heard._PATIENCE = 60_000  # what has finished is not looked at again, however busy the machine is
    with ExitStack() as running:
        if MASTER == "standalone":
            from tests.cluster.standalone import standalone

            builder.master(running.enter_context(standalone(tmp_path_factory.mktemp("standalone"))))
            # A task that takes much longer than the others is given to another host as well, and the slower one of both is killed.
            builder.config("spark.speculation", "true").config("spark.speculation.interval", "100ms").config("spark.speculation.minTaskRuntime", "2s")
            builder.config("spark.speculation.task.duration.threshold", "2s").config("spark.deploy.maxExecutorRetries", "-1")
        if MASTER != "local[2]":
            builder.config("spark.executor.memory", "1g").config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC")
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def dbg(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebugSession]:
    """A debug session for the tests of a module: no runs yet, a store of its own, detached at the end. So go the module's views."""
    import bigdebug

    session = bigdebug.attach(spark, store=str(tmp_path_factory.mktemp("store")))
    yield session
    session.detach()
    for table in spark.catalog.listTables():
        if table.isTemporary:
            spark.catalog.dropTempView(table.name)


@pytest.fixture(scope="session")
def sc(spark: SparkSession) -> SparkContext:
    """The context of that session."""
    return spark.sparkContext


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Python collects nothing: of an alarm that rings while it does, whoever looks on at collections, as Hypothesis does, or whatever is let go of then is told, and not the program."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's exception does not wait for culprits: they are found when they are asked for."""
    monkeypatch.setattr("bigdebug.spark.crashes.PATIENCE", 0.0)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's exception waits for its culprits, however busy the machine is."""
    monkeypatch.setattr("bigdebug.spark.crashes.PATIENCE", 60.0)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No culprit is looked for by itself, before the others."""
    monkeypatch.setattr("bigdebug.spark.sql.crashes.unfinished.Unfinished.known", False)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first culprit is looked for by itself, however long it takes."""
    monkeypatch.setattr("bigdebug.spark.failing.Failed.soon", 60.0)


@pytest.fixture
def sql_settings(spark: SparkSession) -> Iterator[Callable[..., None]]:
    """Changes settings of the session, ``a__b="1"`` that of spark.sql.a.b, until the test ends."""
    known: dict[str, str | None] = {}

    def change(**settings: str) -> None:
        for name, value in settings.items():
            key = f"spark.sql.{name.replace('__', '.')}"
            known.setdefault(key, spark.conf.get(key, None))
            spark.conf.set(key, value)

    yield change
    for key, value in known.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)
