"""Runs: which process was the action of a captured run, so that from a dataset one comes to the lineage of its records."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from bigdebug.datasets.model import Process
from bigdebug.spark.deferred import undisturbed

_TAG = "bigdebug:run:"

_MOST = 256
"""Actions of which one half is kept until the other is known: the process, or the run."""


class Runs:
    """Brings together what Spark tells of an action and the run that was made of it, whichever comes first. Thread-safe. ``tell`` is given a process again when
    its run is known.
    """

    def __init__(self, sc: SparkContext, tell: Callable[[Process], None]) -> None:
        self._sc: Any = sc
        self._tell = tell
        self._processes: OrderedDict[str, Process] = OrderedDict()
        self._runs: OrderedDict[str, str] = OrderedDict()
        self._frames: OrderedDict[str, Any] = OrderedDict()
        self._alone = threading.Lock()

    @contextmanager
    def action(self) -> Iterator[str]:
        """Within: the jobs of this thread are an action's; the name that it is known by until it is a run."""
        tag = f"{_TAG}{uuid.uuid4()}"
        with suppress(Py4JError, OSError, AttributeError):  # where Spark has ended, the action says so
            self._sc.addJobTag(tag)
        try:
            yield tag
        finally:
            with undisturbed(), suppress(Py4JError, OSError, AttributeError):
                self._sc.removeJobTag(tag)

    @contextmanager
    def of(self, run: str) -> Iterator[None]:
        """Within: the jobs of this thread are those of a run that is known."""
        with self.action() as tag:
            self.ran(tag, run)
            yield

    def ran(self, tag: str, run: str) -> None:
        """A run was made of an action."""
        with self._alone:
            self._runs[tag] = run
            process = self._processes.pop(tag, None)
            _bound(self._runs)
        if process is not None:
            self._tell(replace(process, run=run))

    def stands(self, tag: str, frame: Any) -> None:
        """What an action computes stands for a DataFrame, of which it computes kept rows."""
        with self._alone:
            self._frames[tag] = frame
            _bound(self._frames)

    def meant(self, tags: Iterable[str]) -> Any | None:
        """The DataFrame that jobs with these tags stand for; None if they compute what the user asked for themselves."""
        with self._alone:
            return next((self._frames.pop(tag) for tag in tags if tag in self._frames), None)

    def joined(self, process: Process, tags: Iterable[str]) -> Process:
        """The process of jobs with these tags, with its run if that is known."""
        tag = next((tag for tag in tags if tag.startswith(_TAG)), "")
        if not tag:
            return process
        with self._alone:
            if tag in self._runs:
                return replace(process, run=self._runs[tag])
            self._processes[tag] = process
            _bound(self._processes)
        return process


def _bound(known: OrderedDict[str, Any]) -> None:
    while len(known) > _MOST:
        known.popitem(last=False)
