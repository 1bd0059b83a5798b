"""Seeking: what crashed in a run that had a policy. What that put in the place of records comes here, too, for something may have crashed on it;
and what it let fail is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bigdebug.agents.guards.flight import Flight, WorkerEnded
from bigdebug.agents.guards.inflight import NO_RECORD, Instead, crashes_of_calls
from bigdebug.agents.guards.noted import Noted
from bigdebug.agents.guards.policy import Deciding, Policy
from bigdebug.agents.stage import StageFunction


class Seeking(Deciding):
    """A guard that does with crashes what the run's policy did, and leaves out those that it failed of.

    Whoever waits for the ``first`` crash is told of the first one of these: the run did not fail of the others.
    """

    decides = False

    def __init__(self, policy: Policy, stage: StageFunction, partition: int, flight: Flight | None = None, first: Callable[[Noted], None] | None = None) -> None:
        super().__init__(replace(policy, letters=None), stage, partition, 0, flight, first)
        self.failed: list[int] = []
        """Which of the crashes that are kept in full the run failed of."""

    def _crashed(
        self, operator: int, segment: int, position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD,
        again: bool = False, replaces: bool = False,
    ) -> Instead:
        if issubclass(type(problem), WorkerEnded):  # from that no policy goes on
            self._seen[operator, position] += not again
        else:
            try:
                return super()._crashed(operator, segment, position, given, problem, met, again, replaces)
            except crashes_of_calls() as raised:
                if raised is not problem:
                    raise
        number = len(self.crashes)
        self._keep(operator, segment, position, given, problem, met, again)
        if number < len(self.crashes):
            self.failed.append(number)
            if len(self.failed) == 1 and self._first is not None:
                self._first(self.crashes)
        return ()
