"""Faults that befall one task: each once, where it is armed."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Fault:
    """``what`` befalls the first task in which a record with ``letters`` comes after it was armed.

    failed: the task raises, and Spark tries it again. killed: its executor dies, with what it kept for others. slow: it takes so long that
    Spark gives it to another executor too, and kills it when that is done. exited: the Python worker ends without a word. unfetched: what its
    executor has shuffled is gone, though that lives, and the task raises: Spark runs the stage before once more.
    """

    what: str
    folder: Path
    letters: str = "4"

    @property
    def _armed(self) -> Path:
        return self.folder / "armed"

    @property
    def _came(self) -> Path:
        return self.folder / "came"

    def arm(self) -> None:
        self._came.unlink(missing_ok=True)
        self._armed.touch()

    @property
    def came(self) -> bool:
        return self._came.exists()

    def pass_on(self, record: T) -> T:
        """The record."""
        if self.letters in str(record):
            self.strike()
        return record

    def strike(self) -> None:
        try:
            self._armed.rename(self._came)  # one task wins
        except FileNotFoundError:
            return
        if self.what == "unfetched":
            for path in _shuffled():
                path.unlink(missing_ok=True)
        if self.what in ("failed", "unfetched"):
            raise RuntimeError("a fault of the network, say")
        if self.what == "killed":
            os.kill(_executor(), signal.SIGKILL)
            time.sleep(60)
        if self.what == "exited":
            os._exit(7)
        for _ in range(600):
            time.sleep(0.1)


def _executor() -> int:
    """The process of the JVM that this task is of."""
    at = os.getpid()
    while at > 1:
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{at}/status").read_text().splitlines() if ":\t" in line)
        if status["Name"].strip() == "java":
            return at
        at = int(status["PPid"])
    raise AssertionError("no executor above this process")


def _shuffled() -> list[Path]:
    """The files that the executor of this task has shuffled."""
    return [path for folder in os.environ["SPARK_EXECUTOR_DIRS"].split(os.pathsep) for path in Path(folder).rglob("shuffle_*")]


def left_in(folder: Path) -> list[str]:
    """Files that something did not finish."""
    with suppress(FileNotFoundError):
        return [str(path) for path in folder.rglob("*") if path.is_file() and path.suffix != ".block"]
    return []
