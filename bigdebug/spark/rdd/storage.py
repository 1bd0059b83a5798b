"""Caching and checkpointing: what the user asks of an RDD holds for what was compiled of it as well."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyspark import RDD

from bigdebug.spark.rdd.recorded import PLAIN, Recorded


class Storage(Recorded):
    """persist, unpersist, checkpoint and what they report."""

    @functools.wraps(RDD.persist)
    def persist(self, *args: Any, **kwargs: Any) -> Any:
        result = PLAIN.persist(self, *args, **kwargs)
        self._also(lambda with_agents: with_agents._jrdd.persist(self._plain_jrdd().getStorageLevel()))
        return result

    def unpersist(self, blocking: bool = False) -> Any:
        self._also(lambda with_agents: with_agents._jrdd.unpersist(blocking))
        return PLAIN.unpersist(self, blocking)

    def checkpoint(self) -> None:
        PLAIN.checkpoint(self)
        self._also(lambda with_agents: with_agents._jrdd.rdd().checkpoint())

    def localCheckpoint(self) -> None:
        PLAIN.localCheckpoint(self)
        self.is_checkpointed_locally = True
        self._also(lambda with_agents: with_agents._jrdd.rdd().localCheckpoint())

    def isCheckpointed(self) -> bool:
        return self._either(lambda jrdd: jrdd.rdd().isCheckpointed())

    def isLocallyCheckpointed(self) -> bool:
        return self._either(lambda jrdd: jrdd.rdd().isLocallyCheckpointed())

    def getCheckpointFile(self) -> Any:
        found = PLAIN.getCheckpointFile(self)
        if found is None and (with_agents := self._compiled.records) is not None:
            found = PLAIN.getCheckpointFile(with_agents)
        return found

    def _apply_storage(self, with_agents: RDD[Any]) -> None:
        """Give what was compiled the storage that the user asked for this RDD."""
        if self.is_cached:
            with_agents._jrdd.persist(self._plain_jrdd().getStorageLevel())
        if getattr(self, "is_checkpointed_locally", False):
            with_agents._jrdd.rdd().localCheckpoint()
        elif self.is_checkpointed:
            with_agents._jrdd.rdd().checkpoint()

    def _also(self, apply: Callable[[RDD[Any]], Any]) -> None:
        if self._compiled.records is not None:
            with self._recorder.plain():
                apply(self._compiled.records)

    def _either(self, holds: Callable[[Any], bool]) -> bool:
        compiled = self._compiled.records
        return bool(holds(self._plain_jrdd()) or (compiled is not None and holds(compiled._jrdd)))
