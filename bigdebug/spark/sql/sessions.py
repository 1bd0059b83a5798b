"""Sessions: those in the JVM in which questions are asked, with the settings that the user's had when a query ran."""

from __future__ import annotations

import threading
from typing import Any

_PINNED = {
    # One split to a partition, cut at the same places whatever else is read.
    "spark.sql.files.maxPartitionBytes": str(128 << 20),
    "spark.sql.files.openCostInBytes": str(128 << 20),
    "spark.sql.files.minPartitionNum": "1",
    # Traced rows are few: where each partition of one side is small, it need not be sorted.
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": str(64 << 20),
    # A plan with names riding along is wider than the user's, and Spark would warn of that.
    "spark.sql.debug.maxToStringFields": "1000",
}

SHARING = "spark.sql.subexpressionElimination.enabled"

_PARTITION = 32 << 20
"""Bytes of input for which a question's shuffles have one more partition; many empty ones cost more than the question."""

_SESSIONS = 8
"""Sessions for questions that are kept for the runs to come; a run keeps its own."""


class Sessions:
    """Sessions of one SparkSession for questions. Thread-safe."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._known: dict[Any, Any] = {}
        self._alone = threading.Lock()

    def of_now(self, size: int, apart: bool = False) -> Any:
        """One with the settings of now and those for questions about so many bytes. Costs some ms; the latest are shared.

        ``apart`` says that TRY_EVAL is to hold: Spark computes what several expressions share outside of it.
        """
        jsession = self._spark._jsparkSession
        usual = int(jsession.conf().get("spark.sql.shuffle.partitions"))
        partitions = min(usual, max(2 * self._spark.sparkContext.defaultParallelism, -(-size // _PARTITION)))
        catalogs = jsession.sessionState().catalogManager()
        namespace = ".".join([catalogs.currentCatalog().name(), *catalogs.currentNamespace()])
        settings = jsession.sessionState().conf().settings().hashCode(), namespace, partitions, apart
        with self._alone:
            found = self._known.get(settings)
            if found is None:
                found = jsession.cloneSession()
                found.listenerManager().clear()  # questions are no queries of the user's
                for name, value in {**_PINNED, "spark.sql.shuffle.partitions": str(partitions)}.items():
                    found.conf().set(name, value)
                if apart:
                    found.conf().set(SHARING, "false")
                if len(self._known) >= _SESSIONS:
                    self._known.clear()
                self._known[settings] = found
            return found
