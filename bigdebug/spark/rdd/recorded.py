"""The base of captured RDDs: what Spark sees of one, and how a method of PySpark's becomes an operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import RDD

from bigdebug.agents.segments import Step
from bigdebug.graph import Form, Kind
from bigdebug.spark.rdd.compiler import Compiled
from bigdebug.spark.rdd.definition import Definition, Lowering, Narrow

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD
    from bigdebug.spark.rdd.recorder import Recorder

Again = Callable[[Sequence[Any]], Any]
PLAIN: Any = RDD
"""PySpark's RDD, to call its methods on captured ones: their type parameters are the user's affair."""


class Recorded:
    """An RDD that remembers its definition. What it has of RDD's attributes is declared here."""

    ctx: Any
    is_cached: bool
    is_checkpointed: bool
    has_resource_profile: bool
    given_name: str | None = None
    partitioner: Any
    getNumPartitions: Callable[[], int]  # noqa: N815 (PySpark's name)

    _recorder: Recorder
    _definition: Definition
    _compiled: Compiled

    # ---- what Spark sees --------------------------------------------------------------------------------------

    @property
    def _jrdd(self) -> Any:
        """The Java RDD: PySpark's own, or during a captured action the one with agents."""
        action = self._recorder.action
        if action is None:
            return self._recorder.plain_jrdd(self)
        return self._recorder.compiled_for(action, self)

    @_jrdd.setter
    def _jrdd(self, jrdd: Any) -> None:
        self.__dict__["_jrdd"] = jrdd

    @property
    def _jrdd_deserializer(self) -> Any:
        """How to read what ``_jrdd`` gives."""
        action = self._recorder.action
        if action is None or self in action.uncompiled:
            return self.__dict__["_jrdd_deserializer"]
        return self._recorder.compiler.action_deserializer(self)

    @_jrdd_deserializer.setter
    def _jrdd_deserializer(self, deserializer: Any) -> None:
        self.__dict__["_jrdd_deserializer"] = deserializer

    def _apply_storage(self, with_agents: RDD[Any]) -> None:
        """Give what was compiled the storage that the user asked for this RDD."""
        raise NotImplementedError

    def _stored(self) -> bool:
        raise NotImplementedError

    def _kept(self) -> bool:
        raise NotImplementedError

    def _plain_jrdd(self) -> Any:
        raise NotImplementedError

    def _to_java_object_rdd(self) -> Any:
        """As PySpark's: the rows of a DataFrame, in the JVM."""
        if self._recorder.crossing is not None:  # there is a session
            self._recorder.crossing.seams.becomes_rows(self)
        return PLAIN._to_java_object_rdd(self)

    def getLineage(self) -> LineageRDD:
        """The trace over all records of this RDD in the latest run that computed it (Titian 3).

        Raises NotCapturedError if no run did. Costs nothing until the trace is asked something.
        """
        from bigdebug.spark.rdd.lineage_rdd import lineage_of

        return lineage_of(self)

    def setName(self, name: str) -> Any:
        """As PySpark's; sources that have a name are called by it in runs and traces."""
        PLAIN.setName(self, name)
        self.given_name = name
        return self

    # ---- recording --------------------------------------------------------------------------------------------

    def _define(
        self, name: str, build: Callable[[], Any], kind: Kind, form: Form, again: Again,
        lowering: Callable[[RDD[Any]], Lowering], others: Sequence[Any] = (),
        detail: dict[str, Any] | None = None,
    ) -> Any:
        recorder = self._recorder
        if recorder.defining:
            return build()
        with recorder.plain():
            made = build()
            if isinstance(made, Recorded):
                return made
            parents = [self, *(recorder.captured(other) for other in others)]
            operator = recorder.operator(name, kind, form, parents, detail=detail)
            return recorder.adopt(made, operator, parents, lowering(made), again)

    def _narrow(self, name: str, build: Callable[[], Any], kind: Kind, form: Form, step: Step, again: Again) -> Any:
        return self._define(name, build, kind, form, again, lambda made: Narrow(step))
