"""P12: memory of the driver and of Python workers while a run with 10^7 outputs and 10^8 associations (scale 1) is captured and asked about.

The job counts by tens: a record goes into one output, and an output is made of ten. Linux only: /proc tells what a process takes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import add
from pathlib import Path
from typing import Any

from pyspark import RDD, SparkContext

from benchmarks.inputs import Inputs
from benchmarks.results import Result
from benchmarks.sides import Captured, Sides

ASSOCIATIONS = 100_000_000
A_PARTITION = 390_625
"""Records of a partition, whatever the scale: more data are more partitions."""

MOST_MB = 512 + 128 + 64
"""What BIGDEBUG_MEMORY says by default, two steps of a trace that are kept in memory, and what a partition takes."""

EVERY = 0.01


def tens(numbers: RDD[int]) -> RDD[tuple[int, int]]:
    return numbers.map(lambda number: (number // 10, 1)).reduceByKey(add)


def driver_memory(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P12: megabytes that the driver's Python took more than before, at most, and its workers at most: capture, one record and all, back and ahead."""
    if not isinstance(sides.second, Captured):
        return
    records = round(ASSOCIATIONS * inputs.scale)

    def numbers(sc: SparkContext) -> RDD[int]:
        return sc.range(records, numSlices=max(2, records // A_PARTITION))

    found: list[Any] = []
    second = sides.second
    yield _measured("capture", lambda: found.append(second.following(numbers, tens, RDD.count)), inputs.scale)
    run = found[0]
    for what, ask in {
        "one record back": lambda: run.count_behind([7 | 1 << 40]), "one record ahead": lambda: run.count_ahead([7 | 1 << 40]),
        "all back": lambda: run.count_behind(None), "all ahead": lambda: run.count_ahead(None),
    }.items():
        yield _measured(what, ask, inputs.scale)


def _measured(what: str, ask: Callable[[], object], scale: float) -> Result:
    with watching() as watched:
        ask()
    remark = f"{watched.before} MB before it, a worker {watched.worker} MB at most"
    return Result("P12-MEMORY", f"driver, {what}", "MB", float(max(0, watched.most - watched.before)), None, scale, MOST_MB, remark)


@contextmanager
def watching() -> Iterator[Watched]:
    """Within: somebody looks at what is taken."""
    watched = Watched()
    watched.looking.start()
    try:
        yield watched
    finally:
        watched.over.set()
        watched.looking.join()


class Watched:
    """What this process takes while somebody looks, of memory that is no file's; and the largest of the Python processes below it. In megabytes."""

    def __init__(self) -> None:
        self.before = self.most = _megabytes(os.getpid(), "RssAnon")
        self.worker = 0
        self.over = threading.Event()
        self.looking = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        looks = 0
        while not self.over.wait(EVERY):
            self.most = max(self.most, _megabytes(os.getpid(), "RssAnon"))
            looks += 1
            if looks % 50 == 1:
                self.worker = max([self.worker, *(_megabytes(each, "RssAnon") for each in _workers())])


def _workers() -> Iterator[int]:
    """The Python processes that came from this one."""
    parents = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            told = _status(int(each.name))
            parents[int(each.name)] = int(told.get("PPid", "0")), told.get("Name", "")
    below = {os.getpid()}
    for _ in range(6):
        below |= {each for each, (parent, _) in parents.items() if parent in below}
    yield from (each for each in below if parents.get(each, (0, ""))[1].startswith("python") and each != os.getpid())


def _megabytes(process: int, name: str) -> int:
    return int(_status(process).get(name, "0").split()[0]) >> 10


def _status(process: int) -> dict[str, str]:
    """What the system tells of a process; nothing of one that is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    return {name: told.strip() for name, _, told in (line.partition(":") for line in lines)}
