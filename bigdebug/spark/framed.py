"""Framed: rows in Spark that were given as a pandas frame of a step, found again by the rows that a plan holds."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any

from bigdebug.actors.items import Items
from bigdebug.spark.gateway import classes
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node

_MANY = 100
"""After so many DataFrames, those that nobody holds any more are forgotten."""

log = logging.getLogger("bigdebug")


@dataclass(frozen=True, eq=False)
class Framed:
    """The rows of a frame, by where they stand; and why they are followed no further, if they are not."""

    items: Items
    why: tuple[str, ...]


class FramedRows:
    """What DataFrames were made of, by what their plans read. Thread-safe."""

    def __init__(self) -> None:
        self._known: list[tuple[int, Any, Framed]] = []
        self._alone = threading.Lock()

    def tell(self, frame: Any, framed: Framed) -> None:
        """``frame`` has been made of these rows. Never raises, for the user's call comes first."""
        try:
            held = _held(Catalyst.plan(frame))
            if held is None:
                return
            jvm = classes(frame.sparkSession._jvm)
            with self._alone:
                if len(self._known) % _MANY == _MANY - 1:
                    self._known = [each for each in self._known if not each[1].refersTo(None)]
                self._known.append((int(jvm.java.lang.System.identityHashCode(held)), jvm.java.lang.ref.WeakReference(held), framed))
        except Exception as trouble:
            log.warning("bigdebug could not note where %s comes from: %s", frame, trouble)

    def of(self, catalyst: Catalyst, leaf: Node) -> Framed | None:
        """What the rows of a leaf of a plan were; None if nobody told."""
        held = _held(leaf) if self._known else None
        if held is None:
            return None
        number = int(catalyst.jvm.java.lang.System.identityHashCode(held))
        return next((framed for known, reference, framed in self._known if known == number and reference.refersTo(held)), None)


def _held(plan: Node) -> Any:
    """What the only leaf of a plan has its rows in: the same object wherever the plan is copied to. None if that is nothing in memory."""
    leaf = plan.collectLeaves().head()
    return leaf.data() if leaf.nodeName() == "LocalRelation" else leaf.rdd() if leaf.nodeName() == "LogicalRDD" else None
