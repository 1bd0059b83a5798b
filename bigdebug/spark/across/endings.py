"""Endings: what is noted of an action when it has ended, for later it would be gone: when that was, and the files that it wrote."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from bigdebug.errors import UntraceableError
from bigdebug.spark.across.folders import File, written
from bigdebug.spark.across.targets import Target, target_of_rdd, target_of_writer
from bigdebug.spark.rdd.acting import Acting
from bigdebug.spark.rdd.runs import Action
from bigdebug.spark.sql.action import Action as FrameAction
from bigdebug.trace.across.facts import digested
from bigdebug.trace.run import Run
from bigdebug.trace.textlines import local_path

log = logging.getLogger("bigdebug")


@dataclass
class Ending:
    """When an action ended, in seconds since 1970, and what it wrote where; no ``target`` if it wrote nothing to files. ``trouble`` says why that is not known."""

    ended: float | None = None
    target: Target | None = None
    listed: Future[tuple[File, ...]] = field(default_factory=Future)
    trouble: str = ""

    @property
    def files(self) -> tuple[File, ...]:
        """The files that it left, none if they are not known. Waits for them to be looked at, if they are many or far."""
        if self.target is None or self.trouble:
            return ()
        try:
            return self.listed.result()
        except Exception as trouble:  # of a file system of somebody's
            self.trouble = _why(trouble)
            return ()


class Endings:
    """The endings of one session's actions, by run. Thread-safe: each is noted once."""

    def __init__(self, recorder: Acting, spark: Any) -> None:
        self._recorder = recorder
        self._spark = spark
        self._known: dict[str, Ending] = {}

    def of(self, run: Run) -> Ending:
        return self._known.get(run.id, Ending())

    def known(self) -> set[str]:
        """The runs whose endings are kept."""
        return set(self._known)

    def forget(self, run: str) -> None:
        self._known.pop(run, None)

    def rdd(self, run: Run, action: Action) -> None:
        """An action on an RDD has ended."""
        self._note(run, action.began, lambda: target_of_rdd(self._recorder.sc, action.name, action.given))

    def frame(self, run: Run, action: FrameAction) -> None:
        """An action on a DataFrame has ended."""
        self._note(run, action.began, lambda: target_of_writer(self._spark, action))

    def _note(self, run: Run, began: int, find: Callable[[], Target | None]) -> None:
        """Local files are looked at now, which takes some µs each; others, and what files hold, beside."""
        ending = self._known[run.id] = Ending(time.time())
        try:
            ending.target = target = find()
            if target is None:
                return
            if local_path(target.folder) is None:
                ending.listed = self._recorder.beside.submit(_written, self._recorder.sc, target, began)
            else:
                ending.listed = _beside(self._recorder.beside, _written(self._recorder.sc, target, began))
        except Exception as trouble:  # the user's result comes first
            ending.trouble = _why(trouble)
            log.info("bigdebug does not know what %s wrote", run.name, exc_info=trouble)


def _why(trouble: Exception) -> str:
    first = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
    return f"what it wrote could not be looked at: {first}"


def _written(sc: Any, target: Target, began: int) -> tuple[File, ...]:
    every = written(sc, target.folder)
    new = [file for file in every if file.stamp.modified >= began]
    if every and not new and local_path(target.folder) is None:
        raise UntraceableError("no file there is as new as the action, by the clock of that file system, so which of them it wrote is not known", value=target.folder)
    return target.own(new)


def _beside(pool: ThreadPoolExecutor, files: tuple[File, ...]) -> Future[tuple[File, ...]]:
    """The files with what they hold, found out beside whatever the user does next."""
    try:
        return pool.submit(_read, files)
    except RuntimeError:  # this process is ending
        known: Future[tuple[File, ...]] = Future()
        known.set_result(files)
        return known


def _read(files: tuple[File, ...]) -> tuple[File, ...]:
    stamps = digested({file.path: file.stamp for file in files})
    return tuple(replace(file, stamp=stamps[file.path]) for file in files)
