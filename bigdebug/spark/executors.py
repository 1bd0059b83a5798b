"""Executors: processes of other machines, as far as anybody knows. They get the agents with the job, and may not see the driver's disk."""

from __future__ import annotations

import math
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import TypeVar

from pyspark import SparkContext
from pyspark.errors import PySparkException

from bigdebug import agents
from bigdebug.agents.apart import MOST_POSTED, Reaching, Sweeping, started
from bigdebug.errors import IncompleteLineageError, StoreError
from bigdebug.spark.asking import asking
from bigdebug.spark.process import is_one_process
from bigdebug.store.directory import LineageStore
from bigdebug.store.remote import AGAIN, Remote

_UNITS = ("__init__.py", "errors.py", "model.py", "outside.py", "shown.py", "agents", "store")
"""What agents import of ours."""

_SENT = "_bigdebug_agents"
"""Where a SparkContext keeps the file that its executors get."""

MOST_TASKS = 200
"""Of a question to all executors."""

_alone = Lock()

T = TypeVar("T")


def send_agents(sc: SparkContext) -> None:
    """Have executors import the agents as they are here, whether or not bigdebug is installed there. Nothing, where tasks run in the driver's process.

    As ``sc.addPyFile`` does, for jobs that begin from here on; once for an application. Takes 0.1 s.
    """
    with _alone:
        if is_one_process(sc) or _SENT in vars(sc):
            return
        folder = Path(tempfile.mkdtemp(prefix="bigdebug-agents-", dir=sc._temp_dir))
        # By a name of its own: Spark refuses two files of one name.
        packed = folder / f"bigdebug_agents_{uuid.uuid4().hex}.zip"
        home = Path(agents.__path__[0]).parent
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as into:
            for path in sorted(found for unit in _UNITS for found in _files(home / unit)):
                into.write(path, Path("bigdebug") / path.relative_to(home))
        path_before = list(sys.path)
        sc.addPyFile(str(packed))
        sys.path[:] = path_before  # the driver has it all
        vars(sc)[_SENT] = packed.name


def _files(unit: Path) -> Iterable[Path]:
    return [unit] if unit.is_file() else unit.rglob("*.py")


def check_agents(sc: SparkContext) -> None:
    """Raise IncompleteLineageError if executors cannot run agents. A Spark job of 0.1 s where tasks run elsewhere: it is asked once, before the first captured job."""
    if is_one_process(sc):
        return
    try:
        _everywhere(sc, "looking whether tasks can run agents", started)
    except PySparkException as problem:
        said = [line for line in str(problem).splitlines() if line.startswith("ModuleNotFoundError")]
        if not said:
            raise
        raise IncompleteLineageError(
            f"Executors cannot run agents: {said[-1]}", remedy="They need numpy and pyarrow, as pandas functions of Spark's do.",
        ) from problem


class StoreReach:
    """Whether tasks reach a store at a URI. It is asked before a stage is compiled, and looked at once. Where the driver does not reach it either, it is looked at again after a
    while; where some task does not, each time after twice as long, for it takes a job.
    """

    def __init__(self) -> None:
        self._why = ""
        self._next, self._pause = 0.0, AGAIN

    def refused(self, sc: SparkContext, store: LineageStore) -> str:
        """Why some task does not, in a sentence; empty if all do, or the store is a directory. A Spark job of 0.2 s, or of seconds where nobody answers."""
        place = store.address
        if isinstance(place, Remote) and time.monotonic() >= self._next:
            folder, data = f"probe/{uuid.uuid4().hex}", uuid.uuid4().bytes  # another thread may look at the same time
            left = f"{folder}/left"
            try:
                place.write(left, data)
                said = [why for why in _everywhere(sc, "looking whether tasks reach the lineage store", Reaching(place, left, data)) if why]
                place.remove(folder)
                self._why, self._next = _unreached("Tasks do", place, said[0]) if said else "", time.monotonic() + self._pause if said else math.inf
                self._pause *= 2
            except StoreError as problem:
                self._why, self._next = _unreached("The driver does", place, problem.what), time.monotonic() + AGAIN
        return self._why


def _unreached(who: str, place: Remote, why: str) -> str:
    return (
        f"{who} not reach the lineage store {place.where()}, so that blocks come to the driver with what tasks report, and tables of a partition "
        f"beyond {MOST_POSTED >> 10} KiB are derived when a question needs them. {why}."
    )


def sweep(sc: SparkContext, name: str, into: Path) -> None:
    """Bring what executors have in a directory of this name among their temporary files into one of the driver's, and take it away there."""
    if is_one_process(sc):
        return
    into.mkdir(parents=True, exist_ok=True, mode=0o700)
    for file, content in _everywhere(sc, "fetching what workers left", Sweeping(name)):
        (into / file).write_bytes(content)


def _everywhere(sc: SparkContext, what: str, function: Callable[[Iterable[object]], Iterator[T]]) -> list[T]:
    """What a function gives on executors that are there now: on all of them, if none is busy for long."""
    there: int = sc._jsc.sc().getExecutorMemoryStatus().size()
    tasks = min(MOST_TASKS, 2 * there)
    with asking(sc, what, False):
        return sc.parallelize(range(tasks), tasks).mapPartitions(function).collect()
