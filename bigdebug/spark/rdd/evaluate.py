"""A small program in one task: from captured RDDs to the plan that ``agents/evaluate.py`` runs in a Python worker.

A worker, and not this process: there text hashes as it does in a job, modules and ``__main__`` are those of a job, and a
function that harms its process harms no notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import RDD, SparkContext
from pyspark.core.rdd import portable_hash
from pyspark.errors import PythonException

from bigdebug.agents import hashing
from bigdebug.agents.evaluate import Evaluation, Node, Shipped
from bigdebug.agents.operations import (
    Coalesced,
    Crossed,
    Dealt,
    Declined,
    Exchanged,
    Frames,
    Fresh,
    Given,
    Operation,
    Stepped,
    United,
    Wire,
    Zipped,
)
from bigdebug.errors import ReplayError
from bigdebug.graph import Form, Operator
from bigdebug.spark.asking import answers, asking
from bigdebug.spark.process import running
from bigdebug.spark.rdd.arranged import serializers
from bigdebug.spark.rdd.definition import ITSELF, Definition, Exchange, Lowering, Narrow, Repartition, resolved
from bigdebug.spark.rdd.positional import counts, deals, positional
from bigdebug.spark.rdd.questions import READ_HERE
from bigdebug.spark.rdd.sent import outside, stopping
from bigdebug.trace.places import count

if TYPE_CHECKING:
    from bigdebug.spark.rdd.questions import Questions
    from bigdebug.spark.rdd.recorded import Recorded as Captured
    from bigdebug.spark.rdd.recorder import Recorder
    from bigdebug.trace.places import Places

MEMORY = 64 << 20
"""Bytes of a merge before it takes several passes, as in a worker of PySpark's default size."""

Definitions = Callable[[int], Definition]
"""Gives the definition of an operator with the functions that are to run."""


def needed(target: Captured, given: Iterable[int]) -> list[Captured]:
    """What has to be computed for ``target`` if the records of ``given`` are there, parents first, ``given`` included."""
    cut, seen, todo = set(given), dict[int, Any](), [target]
    while todo:
        rdd = todo.pop()
        operator = rdd._definition.operator
        if operator.id not in seen:
            seen[operator.id] = rdd
            if operator.id not in cut:
                if not rdd._definition.parents:
                    raise ReplayError(f"No records are given for {operator}")
                todo.extend(rdd._definition.parents)
    return [seen[operator] for operator in sorted(seen)]


def evaluable(rdds: Sequence[Captured], given: Iterable[int], changed: bool, any_order: bool = False) -> bool:
    """Whether one task can give what Spark gives for the last of ``rdds``, in the same order.

    Not if Spark deals records out, or counted them. And not if partitions could show that are not those of Spark: of a
    product, or of a sort that would draw other bounds because records have ``changed``. With ``any_order``, what is given may stand in another order, and
    be combined in another one: then not only if a place decides what is given.
    """
    cut, moved = set(given), set[int]()
    for rdd in rdds:
        operator, lowering = rdd._definition.operator, rdd._definition.lowering
        if operator.id in cut:
            continue
        if counts(operator) or (deals(operator) and not any_order):
            return False
        drawn = changed and isinstance(lowering, Exchange) and lowering.targets > 1 and _draws_bounds(operator)
        if drawn and not _by_key_itself(lowering) and not any_order:
            return False
        combines = isinstance(lowering, Exchange) and lowering.create is not None
        if moved.intersection(operator.parents):
            if positional(operator) or (combines and not any_order):
                return False
            moved.add(operator.id)
        elif drawn or deals(operator) or operator.form is Form.CARTESIAN:
            moved.add(operator.id)
    return True


def _draws_bounds(operator: Operator) -> bool:
    return operator.form is Form.SORT and "repartitionAndSortWithinPartitions" not in operator.name


def _by_key_itself(lowering: Any) -> bool:
    """With a ``keyfunc`` PySpark compares its values with keys: then the bounds decide the order of the result."""
    return lowering.merge(MEMORY).order.keyfunc is ITSELF


class Evaluator:
    """Runs programs of one recorder's session in one task each."""

    def __init__(self, recorder: Recorder, questions: Questions) -> None:
        self._recorder = recorder
        self._questions = questions
        pickles = serializers.CPickleSerializer()
        self.wire = Wire(pickles.dumps, pickles.loads, stopping())

    def shipped(self, operator: int, places: Places, text: bool) -> dict[int, Frames] | None:
        """Records of the run as they leave a worker, unread by this process; None if they cannot leave it.

        ``text`` says that they are text, which may as well be read from its file here, if they are not too many.
        """
        wanted = [p for p, at in places.items() if len(at)]
        if not wanted:
            return {}
        if text and count(places) <= READ_HERE:
            lines = self._questions.records(operator, places)
            return {p: list(self.wire.frames([lines[p][at] for at in sorted(lines[p])])) for p in wanted}
        sc = running(self._recorder.sc)
        with self._recorder.plain(), asking(sc, "reading records", self._recorder.progress):
            records = self._questions.distributed(operator, places)
            try:
                found = dict(answers(sc, records, Shipped(self.wire), wanted))
            except PythonException:
                self._questions.records(operator, places)  # names the operator that does not repeat itself
                raise
        return None if None in found.values() else found

    def given(self, frames: Mapping[int, Frames], partitions: int, edited: Mapping[int, Any], edit: Any) -> Given:
        return Given(
            tuple(frames.get(p, []) for p in range(partitions)), edited,
            None if edit is None else Fresh(edit, self.wire),
        )

    def evaluation(
        self, rdds: Sequence[Captured], definition: Definitions, entered: Mapping[int, Operation],
        within: Callable[[int, Any], Any], counting: bool = False, around: Callable[[int, Operation], Operation] = lambda _, operation: operation,
    ) -> Evaluation:
        """The program of ``rdds``, for one task, with ``entered`` in the place of the operators that it is entered at.

        ``within(operator, step)`` gives the step to run in place of a narrow operator's; ``around`` an operation in place of another.
        """
        nodes = []
        for rdd in rdds:
            operator = rdd._definition.operator
            if operator.id in entered:
                nodes.append(Node(operator.id, (), entered[operator.id]))
            else:
                lowering = definition(operator.id).lowering
                if isinstance(lowering, Narrow):
                    lowering = Narrow(within(operator.id, lowering.step))
                nodes.append(Node(operator.id, operator.parents, around(operator.id, self._operation(rdd, lowering))))
        return Evaluation(tuple(nodes), self.wire, outside(), counting)

    def run(self, evaluation: Evaluation) -> Any | None:
        """Records of the last of its operators, or their number; None if it turned out that only Spark can know.

        Errors of the user's functions are PySpark's, as from a job.
        """
        found = self.in_one_task(evaluation, "replaying")
        if found and isinstance(found[0], Declined):
            return None
        return found[0] if evaluation.counting else found

    def in_one_task(self, function: Callable[[int, Any], Any], what: str, shown: bool = True) -> list[Any]:
        """What a function gives in a task of its own; if ``shown``, with a bar."""
        sc = running(self._recorder.sc)
        with self._recorder.plain(), asking(sc, what, shown and self._recorder.progress):
            base: RDD[Any] = SparkContext.parallelize(sc, [], 1)
            return answers(sc, base, function, [0])

    def _operation(self, rdd: Captured, lowering: Lowering) -> Operation:
        operator = rdd._definition.operator
        if isinstance(lowering, Narrow):
            return Stepped(Fresh(lowering.step, self.wire), operator.form.record_wise)
        if isinstance(lowering, Exchange):
            partition = hashing.portable_hash if lowering.partition is portable_hash else lowering.partition
            before = Fresh((partition, lowering.create, lowering.combine), self.wire)
            merge = None if lowering.merge is None else Fresh(lowering.merge(MEMORY), self.wire)
            return Exchanged(lowering.targets, MEMORY, before, merge, lowering.stays, lowering.pairs)
        if isinstance(lowering, Repartition):
            return Dealt(lowering.targets, lowering.frame)
        if operator.form is Form.COALESCE:
            return Coalesced(tuple(map(tuple, resolved(rdd).detail["groups"])))
        if operator.form is Form.ZIP:
            return Zipped()
        if operator.form is Form.CARTESIAN:
            return Crossed()
        return United(operator.form is Form.ALIGNED_UNION)
