"""An action in progress: what the user calls on a DataFrame, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bigdebug.spark.interruption import handled
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.trace.resumed import Resumed


@dataclass
class Action:
    """An action in progress: what it is called on, and what it runs on instead where rows are kept."""

    name: str
    frame: Any
    executed: PlanOperator | None = None
    frame_to_run: Any = None
    status: str = "failed"
    began: int = field(default_factory=time.time_ns)
    ended: int = 0
    """When it failed, as when it began in nanoseconds of this machine's clock."""
    seconds: float = 0.0
    result: Any = None
    problem: Exception | None = None
    again: Callable[[Any], Any] | None = None
    """Calls it, as the user did, on another DataFrame."""
    instead: Resumed | None = None
    """What it gives though it failed, where that is what the user wants."""
    call: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None
    """What the user called: the object that has the method, and what it was given by position and by name."""
    command: Any = None
    """The command, in the JVM, if it is one of SQL."""
    tag: str = ""
    """The name that its jobs are known by until there is a run of it."""
    noting: Callable[[], None] | None = None
    """Makes a run of it, where it has begun and ends when all that it gives was taken."""

    before: BaseException | None = field(default_factory=handled)
    """What was being handled when it began."""

    def __post_init__(self) -> None:
        self.frame_to_run = self.frame

    @property
    def lazy(self) -> bool:
        """Whether it computes rows as they are taken."""
        return self.name == "toLocalIterator"

    def followed(self, rows: Iterator[Any]) -> Iterator[Any]:
        """The rows that it gives; it has ended when these have, or when nobody wants more of them."""
        self.status, began = "partial", time.perf_counter()
        try:
            yield from rows
            self.status = "succeeded"
        except Exception as problem:
            self.status, self.problem, self.ended = "failed", problem, time.time_ns()
            raise
        finally:
            self.seconds = time.perf_counter() - began
            if self.noting is not None:
                self.noting()
