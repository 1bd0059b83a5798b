"""Capture: what a block of captured actions gives to who asks for its runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bigdebug.errors import NotCapturedError
from bigdebug.shown import shown
from bigdebug.trace.run import Run, runs_table

STRATEGIES = ("auto", "lazy", "defer", "inject")
"""Where the lineage of what is captured may live, as ``dbg.capture`` says."""


class Capture:
    """What ``with dbg.capture()`` gives: the runs of its block. As a run, it is the latest of them."""

    def __init__(self, name: str | None) -> None:
        self._name = name
        self.runs: list[Run] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.latest, name)

    @property
    def latest(self) -> Run:
        """The latest run of the block. Raises NotCapturedError if there is none."""
        if not self.runs:
            raise NotCapturedError(
                f"No action has run under capture {self._name or ''!r} yet",
                remedy="Call an action (collect, count, df.write, ...) on a DataFrame, or on an RDD of dbg.context, inside the block. "
                "INSERT and CREATE TABLE AS in SQL run on the spot and are not captured.",
            )
        return self.runs[-1]

    def __repr__(self) -> str:
        return repr(self.runs[-1]) if self.runs else f"<capture {self._name or ''!r}: no action yet>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        if not self.runs:
            return {"text/plain": repr(self)}
        shown = self.runs[0].table() if len(self.runs) == 1 else runs_table(self.runs)
        return shown._repr_mimebundle_()


def each_run(runs: Run | Capture | Iterable[Run]) -> Iterable[Run]:
    """The runs that somebody means. Raises TypeError for what are none."""
    if isinstance(runs, Run):
        return [runs]
    if isinstance(runs, Capture):
        return runs.runs
    found = list(runs) if isinstance(runs, Iterable) else [runs]
    if not all(isinstance(run, Run) for run in found):
        raise TypeError(f"this takes a run, what dbg.capture() gave, or several runs, not {shown(runs)}")
    return found
