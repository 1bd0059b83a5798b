"""Runs: those of a session as steps. What a step needs is looked up when it is asked, but for what would be gone by then."""

from __future__ import annotations

from typing import Any

from bigdebug.spark.across.endings import Endings
from bigdebug.spark.across.frames import FrameStep
from bigdebug.spark.across.saved import RDDStep
from bigdebug.spark.across.sources import Sources
from bigdebug.spark.crossing import Crossing
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.sql.recorder import FrameRecorder
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.across.step import Step
from bigdebug.trace.run import Run


class RunSteps:
    """The captured runs of one session as steps; each is one step for as long as the session knows the run."""

    def __init__(self, recorder: Recorder, frames: FrameRecorder, crossing: Crossing) -> None:
        self._recorder = recorder
        self._frames = frames
        self._crossing = crossing
        self._sources = Sources(recorder, frames, crossing)
        self._endings = Endings(recorder, frames.spark)
        self._steps: dict[str, Step] = {}
        recorder.ended.append(self._endings.rdd)
        frames.ended.append(self._endings.frame)

    def steps(self) -> list[Step]:
        """The steps, in the order in which they began. No job."""
        acted = sorted((run for run in self.sweep() if run.began is not None), key=lambda run: run.began or 0.0)
        return [self._steps.setdefault(run.id, self._step(run)) for run in acted]

    def sweep(self) -> list[Run]:
        """Let go of what is known of runs that were forgotten; those that are there."""
        noted = self._endings.known()  # before: a run is known when its ending is noted
        runs: list[Run] = [*(run for run in self._recorder.runs if run.id not in self._crossing.runs), *self._frames.runs]
        for gone in (self._steps.keys() | noted) - {run.id for run in runs}:
            self._steps.pop(gone, None)
            self._endings.forget(gone)
        return runs

    def step_of(self, run: Run) -> Any:
        """The step of one run."""
        return next((step for step in self.steps() if getattr(step, "run", None) is run), None)

    def _step(self, run: Run) -> Step:
        name, ending = self._endings.step_id(run), self._endings.of(run)
        if isinstance(run, FrameRun):
            return FrameStep(name, run, ending, self._sources, self._frames)
        return RDDStep(name, run, ending, self._sources)
