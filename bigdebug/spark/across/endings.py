"""Endings: what is noted of an action when it has ended, for later it would be gone: when that was, and the files that it wrote."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bigdebug.errors import UntraceableError
from bigdebug.outside import from_outside
from bigdebug.spark.across.folders import File, written
from bigdebug.spark.across.handed import ACTION, Handed
from bigdebug.spark.across.targets import Target, target_of_rdd, target_of_writer
from bigdebug.spark.rdd.action import Action
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.sql.action import Action as FrameAction
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.across.facts import digested
from bigdebug.trace.across.located import Extent
from bigdebug.trace.run import Run
from bigdebug.trace.textlines import local_path

log = logging.getLogger("bigdebug")


class Left(NamedTuple):
    """The files that an action left; ``note`` says which may be its own, too."""

    files: tuple[File, ...]
    note: str = ""


@dataclass
class Ending:
    """When an action ended, in seconds since 1970, and what it wrote where; no ``target`` if it wrote nothing to files. ``trouble`` says why that is not known, or not
    all of it. ``handed`` are the rows that it gave to its program as a frame.
    """

    ended: float | None = None
    target: Target | None = None
    listed: Future[Left] | None = None
    trouble: str = ""
    handed: Handed | None = None

    @property
    def given(self) -> tuple[Extent, ...]:
        """What steps took of the frame that it gave."""
        return () if self.handed is None else tuple(taken.extent for taken in self.handed.taken)

    @property
    def files(self) -> tuple[File, ...]:
        """The files that it left, none if they are not known. Waits for them to be looked at, if they are many or far."""
        if self.target is None or self.listed is None:
            return ()
        try:
            found = self.listed.result()
        except Exception as trouble:  # of a file system of somebody's
            if from_outside(trouble):
                raise
            self.trouble = _why(trouble)
            return ()
        self.trouble = found.note
        return found.files


class Endings:
    """The endings of one session's actions, by run. Thread-safe: each is noted once."""

    def __init__(self, recorder: Recorder, spark: Any) -> None:
        self._recorder = recorder
        self._spark = spark
        self._known: dict[str, Ending] = {}

    def step_id(self, run: Run) -> str:
        """What the step is called that a run is."""
        return f"{self._recorder.store.root.name}/{run.id}"

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

    def frame(self, run: FrameRun, action: FrameAction) -> None:
        """An action on a DataFrame has ended."""
        self._note(run, action.began, lambda: target_of_writer(self._spark, action))
        if action.name == ACTION and action.status == "succeeded":
            try:
                self._known[run.id].handed = Handed(run, self.step_id(run), action.result)
            except Exception as trouble:  # the user's result comes first
                if from_outside(trouble):
                    raise
                log.info("bigdebug does not know what %s gave: %s", run.name, type(trouble).__name__)

    def _note(self, run: Run, began: int, find: Callable[[], Target | None]) -> None:
        """Local files are looked at now, which takes some µs each; others, and what files hold, beside."""
        ending = self._known[run.id] = Ending(time.time())
        try:
            ending.target = target = find()
            if target is None:
                return
            if local_path(target.folder) is None:
                ending.listed = self._recorder.beside.submit(_written, self._recorder.sc, target, began, time.time_ns())
            else:
                ending.listed = _beside(self._recorder.beside, _written(self._recorder.sc, target, began, time.time_ns()))
        except Exception as trouble:  # the user's result comes first
            if from_outside(trouble):
                raise
            ending.trouble = _why(trouble)
            log.info("bigdebug does not know what %s wrote: %s", run.name, type(trouble).__name__)  # what it says is the user's


def _why(trouble: Exception) -> str:
    first = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
    return f"what it wrote could not be looked at: {first}"


def _written(sc: Any, target: Target, began: int, ended: int) -> Left:
    every = written(sc, target.folder)
    return left(target, every, began, ended, _last_change(target.folder), _was_not_there(sc, target))


def left(target: Target, every: Sequence[File], began: int, ended: int, changed: int = 0, alone: bool = False) -> Left:
    """Those of a folder's files that an action left there, by its clock from ``began`` to ``ended``; all, if it was ``alone`` there.

    Another machine's file system has a clock of its own. It is behind by no more than from the last thing that ``changed`` there to the end of the action. Raises
    UntraceableError where that leaves open which files are its own.
    """
    new = [file for file in every if alone or file.stamp.modified >= began]
    own = target.own(every, new)
    behind = max(0, ended - max([changed, *(file.stamp.modified for file in every)]))
    unsure = [] if own and target.columns else [file for file in target.parts(every) if file not in own and file.stamp.modified >= began - behind]
    if unsure:
        raise UntraceableError(
            f"{unsure[0].name} is older than the action, but may be its own: the clock of that file system may be behind", value=target.folder,
            remedy="Write into a folder of its own, or let the machines have the same time.",
        )
    return Left(own, _strange(sorted({file.name for file in new} - {file.name for file in own})))


def _strange(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"what is in {', '.join(names[:3])}{more} is not known: new there, but not called as Spark calls its files" if names else ""


def _last_change(folder: str) -> int:
    """When a local folder was changed last, by the clock of its file system: Spark's committers do so when all is written. 0 if that is not known."""
    here = local_path(folder)
    seen = (os.path.join(here, name) for name in ("", "_SUCCESS")) if here else ()
    return max((os.stat(path).st_mtime_ns for path in seen if os.path.exists(path)), default=0)


def _was_not_there(sc: Any, target: Target) -> bool:
    """Whether Hadoop has seen to it that nothing was in the folder before."""
    return not target.columns and target.form in ("text", "pickle", "sequence") and str(sc._conf.get("spark.hadoop.validateOutputSpecs", "true")).lower() == "true"


def _beside(pool: ThreadPoolExecutor, found: Left) -> Future[Left]:
    """The files with what they hold, found out beside whatever the user does next."""
    try:
        return pool.submit(_read, found)
    except RuntimeError:  # this process is ending
        known: Future[Left] = Future()
        known.set_result(found)
        return known


def _read(found: Left) -> Left:
    stamps = digested({file.path: file.stamp for file in found.files})
    return found._replace(files=tuple(replace(file, stamp=stamps[file.path]) for file in found.files))
