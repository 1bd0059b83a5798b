"""An action on an RDD in progress: what it was called with, and what was compiled for its jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bigdebug.spark.captures import OpenCapture
from bigdebug.spark.interruption import handled
from bigdebug.spark.rdd.recipe import Recipe
from bigdebug.trace.origins import SourceFacts

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured

Given = tuple[tuple[Any, ...], Mapping[str, Any]]
"""What a method was called with: by position, and by name."""

NOTHING_GIVEN: Given = ((), {})


@dataclass
class Action:
    """An action in progress: the RDD it was called on, and what was compiled for its jobs, an RDD each.

    Of ``recipes``, by stage, those in ``runs`` run if Spark does not hold their result.
    """

    run: str
    name: str
    subject: Captured
    capture: OpenCapture
    facts: Future[dict[int, SourceFacts]]
    targets: list[Captured] = field(default_factory=list)
    recipes: dict[str, Recipe] = field(default_factory=dict)
    runs: set[str] = field(default_factory=set)
    trouble: list[str] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)
    """Why its lineage is not what it might be; and what else the run has to tell, of lineage that is whole."""
    uncompiled: set[Captured] = field(default_factory=set)
    jrdds: list[Any] = field(default_factory=list)
    """What its jobs ran, in the JVM."""
    partitions: Collection[int] | None = None
    asked: dict[str, Collection[int]] = field(default_factory=dict)
    """The partitions that the job in progress asks for, None for all; and those that each stage was asked for."""
    problem: BaseException | None = None
    began: int = field(default_factory=time.time_ns)
    again: Callable[[], Any] | None = None
    """Calls the action once more, as the user did."""
    policy: str | None = None
    """What becomes of records that crash."""
    watches: frozenset[str] = frozenset()
    """Those that its tasks tell of records as they pass."""
    ran: bool = True
    """Whether its jobs ran what was compiled; else PySpark's own code ran, and what was compiled is there for questions."""
    given: Given = NOTHING_GIVEN
    before: BaseException | None = field(default_factory=handled)
    """What was being handled when it began."""
