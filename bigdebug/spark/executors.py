"""Executors: processes of other machines, as far as anybody knows. They get the agents with the job, and may not see the driver's disk."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import TypeVar

from pyspark import SparkContext

from bigdebug import agents
from bigdebug.agents.apart import Looking, Sweeping
from bigdebug.spark.asking import asking
from bigdebug.spark.jobs import is_one_process

_UNITS = ("__init__.py", "errors.py", "model.py", "shown.py", "agents", "store")
"""What agents import of ours."""

_SENT = "_bigdebug_agents"
"""Where a SparkContext keeps the file that its executors get."""

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


def sharing(sc: SparkContext, folder: str | os.PathLike[str]) -> bool:
    """Whether tasks see a directory of the driver's, and it what they write there: all do that run now, as many as the application has cores. A Spark job of 0.1 s."""
    if is_one_process(sc):
        return True
    name = f".{uuid.uuid4().hex}"
    asked = Path(folder) / name
    asked.touch()
    try:
        answers = _everywhere(sc, "looking whether tasks see the lineage store", Looking(str(folder), name))
        return all(seen and (Path(folder) / mark).exists() for seen, mark in answers)
    finally:
        for left in Path(folder).glob(f"{name}*"):
            left.unlink(missing_ok=True)


def sweep(sc: SparkContext, name: str, into: Path) -> None:
    """Bring what executors have in a directory of this name among their temporary files into one of the driver's, and take it away there."""
    into.mkdir(parents=True, exist_ok=True, mode=0o700)
    for file, content in _everywhere(sc, "fetching what workers left", Sweeping(name)):
        (into / file).write_bytes(content)


def _everywhere(sc: SparkContext, what: str, function: Callable[[Iterable[object]], Iterator[T]]) -> list[T]:
    """What a function gives on all executors: in as many tasks as the application has cores."""
    cores = max(2, sc.defaultParallelism)
    with asking(sc, what, False):
        return sc.parallelize(range(cores), cores).mapPartitions(function).collect()
