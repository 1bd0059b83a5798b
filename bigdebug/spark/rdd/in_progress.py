"""What is in progress in each thread: an action, captured or not, or code of PySpark's that runs as if there were no bigdebug."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bigdebug.graph import Form
from bigdebug.spark.interruption import handled
from bigdebug.spark.rdd.action import Action

if TYPE_CHECKING:
    from pyspark import SparkContext

    from bigdebug.spark.rdd.recorded import Recorded as Captured


@dataclass
class Uncaptured:
    """An action in progress of which no run is made, unless it fails: when it began, what its last job computes, and what was being handled before."""

    began: int
    target: Captured | None = None
    partitions: Collection[int] | None = None
    before: BaseException | None = field(default_factory=handled)


class ThreadState(threading.local):
    """What one thread is at; ``depth`` is how often it is within ``plain``, ``skips`` whether operators that it defines keep no lineage."""

    depth = 0
    skips = False
    action: Action | None = None
    uncaptured: Uncaptured | None = None
    composing: Form | None = None


class InProgress:
    """What the threads of a driver are at with one SparkContext; each is told of itself."""

    def __init__(self, sc: SparkContext) -> None:
        self.sc = sc
        self.armed = True
        """Whether actions that fail are diagnosed also if they were not captured."""
        self.thread = ThreadState()

    @property
    def defining(self) -> bool:
        return self.thread.depth > 0

    @contextmanager
    def plain(self) -> Iterator[None]:
        """Within: PySpark's own code runs as if there were no bigdebug."""
        self.thread.depth += 1
        try:
            yield
        finally:
            self.thread.depth -= 1

    @contextmanager
    def skipping(self) -> Iterator[None]:
        """Within: operators that this thread defines keep no lineage of their own. Those of others do: nobody said so of them."""
        before = self.thread.skips
        try:
            self.thread.skips = True
            yield
        finally:
            self.thread.skips = before

    @property
    def action(self) -> Action | None:
        """The action that is being captured in this thread, if PySpark asks for something to run."""
        return None if self.defining else self.thread.action

    @property
    def current(self) -> Action | None:
        """The action in progress in this thread, also while it is being compiled."""
        return self.thread.action

    @property
    def idle(self) -> bool:
        """Whether no action is in progress in this thread, so that one may begin."""
        return not self.defining and self.thread.action is None and self.sc._jsc is not None

    @contextmanager
    def beginning(self) -> Iterator[Uncaptured | None]:
        """Within: an action begins that is not captured. Gives what is to be known of it if it fails, also later; None if it is a part of another one."""
        thread = self.thread
        if self.defining or thread.action is not None or thread.uncaptured is not None or not self.armed:
            yield None
            return
        thread.uncaptured = Uncaptured(time.time_ns())
        try:
            yield thread.uncaptured
        finally:
            thread.uncaptured = None

    @contextmanager
    def asking_for(self, partitions: Collection[int] | None) -> Iterator[None]:
        """Within: jobs of the action in progress compute some partitions only."""
        action = self.thread.action or self.thread.uncaptured
        if action is None:
            yield
            return
        before, action.partitions = action.partitions, partitions
        try:
            yield
        finally:
            action.partitions = before

    def plain_jrdd(self, rdd: Captured) -> Any:
        """PySpark's own Java RDD of ``rdd``, for a job of an action that is not captured, or for an RDD that is made of this one."""
        uncaptured = self.thread.uncaptured
        if uncaptured is None or self.defining:
            return rdd._plain_jrdd()
        uncaptured.target = rdd
        with self.plain():  # it may ask for those of others
            return rdd._plain_jrdd()

    @property
    def composing(self) -> Form | None:
        """The known form of a function over an iterator that PySpark is about to pass to mapPartitions."""
        return self.thread.composing

    @contextmanager
    def composing_as(self, form: Form) -> Iterator[None]:
        before, self.thread.composing = self.thread.composing, form
        try:
            yield
        finally:
            self.thread.composing = before
