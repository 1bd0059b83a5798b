"""Caching and checkpointing: what the user asks of an RDD holds for what was compiled of it as well."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyspark import RDD

from bigdebug.graph import Form
from bigdebug.spark.rdd.definition import Source, groups_of
from bigdebug.spark.rdd.recorded import PLAIN, Recorded
from bigdebug.spark.rdd.sources import note_facts


class Storage(Recorded):
    """persist, unpersist, checkpoint and what they report."""

    @functools.wraps(RDD.persist)
    def persist(self, *args: Any, **kwargs: Any) -> Any:
        result = PLAIN.persist(self, *args, **kwargs)
        self.__dict__.setdefault("_stored_since", time.time_ns())
        self._also(lambda with_agents: with_agents._jrdd.persist(self._plain_jrdd().getStorageLevel()))
        return result

    def unpersist(self, blocking: bool = False) -> Any:
        self._also(lambda with_agents: with_agents._jrdd.unpersist(blocking))
        self.__dict__.pop("_stored_since", None)
        return PLAIN.unpersist(self, blocking)

    def checkpoint(self) -> None:
        self._note_for_ever(self._plain_jrdd())
        PLAIN.checkpoint(self)
        self.__dict__.setdefault("_stored_since", time.time_ns())
        self._also(lambda with_agents: with_agents._jrdd.rdd().checkpoint())

    def localCheckpoint(self) -> None:
        self._note_for_ever(self._plain_jrdd())
        PLAIN.localCheckpoint(self)
        self.is_checkpointed_locally = True
        self.__dict__.setdefault("_stored_since", time.time_ns())
        self._also(lambda with_agents: with_agents._jrdd.rdd().localCheckpoint())

    def isCheckpointed(self) -> bool:
        return self._either(lambda jrdd: jrdd.rdd().isCheckpointed())

    def isLocallyCheckpointed(self) -> bool:
        return self._either(lambda jrdd: jrdd.rdd().isLocallyCheckpointed())

    def getCheckpointFile(self) -> Any:
        found = PLAIN.getCheckpointFile(self)
        if found is None and (built := self._compiled.records) is not None:
            found = PLAIN.getCheckpointFile(built.rdd)
        return found

    def _apply_storage(self, with_agents: RDD[Any]) -> None:
        """Give what was compiled the storage, and the resources, that the user asked for this RDD."""
        if self.has_resource_profile:
            with_agents._jrdd.withResources(self._plain_jrdd().getResourceProfile())
        if self.is_cached:
            with_agents._jrdd.persist(self._plain_jrdd().getStorageLevel())
        if self._checkpoints():
            self._note_for_ever(with_agents._jrdd)
        if getattr(self, "is_checkpointed_locally", False):
            with_agents._jrdd.rdd().localCheckpoint()
        elif self.is_checkpointed:
            with_agents._jrdd.rdd().checkpoint()

    def _note_for_ever(self, jrdd: Any) -> None:
        """Ask what Spark forgets with a checkpoint: which files a source read, and which partitions were put together."""
        with suppress(Exception):  # of what is wrong with the files, the user's job will tell
            if isinstance(self._definition.lowering, Source):
                note_facts(self)
            elif self._definition.operator.form is Form.COALESCE:
                groups_of(self, jrdd)

    def _stored(self) -> bool:
        """True if Spark holds records of this RDD already, from a cache or a checkpoint that was filled without capture."""
        if self._checkpoints() and self._plain_jrdd().rdd().isCheckpointed():
            return True
        if not self.is_cached:
            return False
        mine = self._plain_jrdd().id()
        return any(info.id() == mine and info.numCachedPartitions() > 0 for info in self.ctx._jsc.sc().getRDDStorageInfo())

    def _kept(self) -> bool:
        """True if the user asked Spark to keep this RDD: captured actions have filled it, and questions read it."""
        return self.is_cached or self._checkpoints()

    def _checkpoints(self) -> bool:
        return self.is_checkpointed or getattr(self, "is_checkpointed_locally", False)

    def _also(self, apply: Callable[[RDD[Any]], Any]) -> None:
        built = self._compiled.records
        if built is not None and not built.adopted:
            with self._recorder.plain():
                apply(built.rdd)

    def _either(self, holds: Callable[[Any], bool]) -> bool:
        built = self._compiled.records
        return bool(holds(self._plain_jrdd()) or (built is not None and holds(built.rdd._jrdd)))
