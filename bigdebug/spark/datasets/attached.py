"""Attached: one recording for all sessions of an application that bigdebug is attached to, from the first to the last of them, while it is wanted."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.spark.datasets.processes import CellAt
from bigdebug.spark.datasets.recording import Recording
from bigdebug.spark.process import alive
from bigdebug.spark.rdd.context import LineageContext
from bigdebug.spark.sql.recorder import FrameRecorder

_RECORDING, _DATASETS = "_bigdebug_recording", "_bigdebug_datasets"
"""Where a SparkContext keeps its recording, and what is asked about it."""


@dataclass
class _Shared:
    recording: Recording
    users: set[int] = field(default_factory=set)
    """The sessions that have it open."""


class Attached:
    """What a debug session has of datasets: ``datasets`` to be asked, one for its application, and the recording, from ``open`` to ``close``.

    ``context`` is its context, ``plain`` what that stands for; ``recorder`` and ``frames`` are told which actions are recorded; ``trace`` gives the lineage
    of the records of a run.
    """

    def __init__(self, context: LineageContext, plain: Any, recorder: Any, frames: FrameRecorder, trace: Callable[[str], Any]) -> None:
        self._context, self._plain = context, plain
        self._recorder, self._frames = recorder, frames
        self._unnamed = frames.named, frames.ran, frames.stands
        self._cell_at: CellAt = lambda at: None
        self._is_open = False
        known = vars(context)
        if _DATASETS not in known:
            made = Datasets(DatasetStore(), str(context.applicationId), lambda: settle(plain), trace)
            atexit.register(made.store.close)  # what is registered later is done before: recording ends
            known[_DATASETS] = made
        self.datasets: Datasets = known[_DATASETS]
        self.datasets.follow.append(self._changed)

    def open(self) -> None:
        """What the application does is recorded, until each session that opened it has closed it, if it is to be recorded at all."""
        self._is_open = True
        self._changed()

    def close(self) -> None:
        """A session less: the last one ends the recording."""
        self._is_open = False
        self._changed()

    def name_cells(self, cell_at: CellAt) -> None:
        """From here on processes name the cell of a notebook that ran when they began."""
        self._cell_at = cell_at
        self._changed()

    def _changed(self) -> None:
        if self._is_open and self.datasets.recording and alive(self._context):
            self._record()
        else:
            self._end()

    def _record(self) -> None:
        shared = vars(self._plain).get(_RECORDING)
        if shared is None:
            shared = vars(self._plain)[_RECORDING] = _Shared(Recording(self._context, self.datasets.record, self.datasets.store.secrets))
        shared.users.add(id(self))
        recording: Recording = shared.recording
        recording.open()
        recording.name_cells(self._cell_at)
        recording.frames_of = self._recorder.crossing.seams.frames_of
        runs = recording.runs
        self._frames.named, self._frames.ran, self._frames.stands, self._recorder.following = runs.action, runs.ran, runs.stands, runs.of

    def _end(self) -> None:
        self._frames.named, self._frames.ran, self._frames.stands = self._unnamed
        shared = vars(self._plain).get(_RECORDING)
        if shared is not None and id(self) in shared.users:
            shared.users.discard(id(self))
            if not shared.users:
                self._recorder.following = lambda run: nullcontext()
                vars(self._plain).pop(_RECORDING).recording.close()


def settle(plain: Any, patience: float = 5.0) -> None:
    """Wait until all that has happened in an application is recorded, or some seconds are over."""
    shared = vars(plain).get(_RECORDING)
    if shared is not None:
        shared.recording.settled(patience)
