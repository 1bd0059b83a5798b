"""The second evaluator of the operator graph: in this process, over lists, with the code that runs in the executors.

It gives the records that Spark would, for programs small enough that a Spark job would cost more than they do. Two
things it cannot know: to which partition repartition() deals a frame, and how strings hash in a worker (Python seeds
hashes by process). So after a shuffle by hash, records may stand in other partitions, and programs in which that could
show are refused.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle as _cloudpickle
from pyspark.core.rdd import portable_hash

from bigdebug.agents import hashing
from bigdebug.agents.emit import Combined, Emitted, Shuffled
from bigdebug.agents.notes import Notes
from bigdebug.agents.spool import Spool
from bigdebug.errors import ReplayError
from bigdebug.graph import Form
from bigdebug.spark.rdd.compiler import stopping
from bigdebug.spark.rdd.definition import Definition, Exchange, Lowering, Narrow, Repartition, definitions, resolved

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured

Partitions = list[list[Any]]
cloudpickle: Any = _cloudpickle
stopped = stopping()

MEMORY = 1 << 30
# Operators that show which partition, or which place in it, a record has.
_SENSITIVE = frozenset((Form.PAIRED, Form.WHOLE, Form.ZIP))
_SENSITIVE_NAMES = ("zipWithIndex", "zipWithUniqueId", "sample", "randomSplit", "sampleByKey", "mapPartitionsWithIndex")


Definitions = Callable[[int], Definition]
"""Gives the definition of an operator with the functions that are to run."""


def evaluable(target: Captured, definition: Definitions) -> bool:
    """Whether this evaluator gives what Spark gives for ``target``."""
    dealt = False
    for known in sorted(definitions(target), key=lambda r: r._definition.operator.id):
        operator = known._definition.operator
        lowering = definition(operator.id).lowering
        hashed = isinstance(lowering, Exchange) and lowering.partition is portable_hash
        dealt = dealt or hashed or isinstance(lowering, Repartition)
        if dealt and (operator.form in _SENSITIVE or operator.name.split(".")[0] in _SENSITIVE_NAMES):
            return False
    return True


def evaluate(target: Captured, definition: Definitions, given: Mapping[int, Partitions]) -> Partitions:
    """The records of ``target`` by partition, if the operators in ``given`` have the records given for them.

    ``given`` must cut every way from ``target`` to a source. Records are copied, as they are between workers, so
    functions that change them do no harm. Errors of user functions pass as they are.
    """
    done: dict[int, Partitions] = {}
    order = sorted(_needed(target, given), key=lambda r: r._definition.operator.id)
    for rdd in order:
        operator = rdd._definition.operator.id
        if operator in given:
            done[operator] = _copied(given[operator])
        else:
            lowering = definition(operator).lowering
            done[operator] = _records(rdd, lowering, [done[p._definition.operator.id] for p in rdd._definition.parents])
    return done[target._definition.operator.id]


def _needed(target: Captured, given: Mapping[int, Partitions]) -> list[Captured]:
    seen: dict[int, Captured] = {}
    todo = [target]
    while todo:
        rdd = todo.pop()
        operator = rdd._definition.operator.id
        if operator not in seen:
            seen[operator] = rdd
            if operator not in given:
                if not rdd._definition.parents:
                    raise ReplayError(f"No records are given for {rdd._definition.operator}")
                todo.extend(rdd._definition.parents)
    return list(seen.values())


def _copied(records: Partitions) -> Partitions:
    copied: Partitions = pickle.loads(_pickled(records))
    return copied


def _pickled(value: Any) -> bytes:
    return bytes(cloudpickle.dumps(value))


def _records(rdd: Captured, lowering: Lowering, parents: list[Partitions]) -> Partitions:
    operator = resolved(rdd)
    if isinstance(lowering, Narrow):
        step = lowering.step
        return [_drained(step.apply, split, records, operator.form) for split, records in enumerate(parents[0])]
    if isinstance(lowering, Exchange):
        return _exchanged(lowering, parents)
    if isinstance(lowering, Repartition):
        return _dealt(lowering, parents[0])
    if operator.form is Form.UNION:
        return [list(records) for parent in parents for records in parent]
    if operator.form is Form.ALIGNED_UNION:
        return [list(chain.from_iterable(together)) for together in zip(*parents, strict=True)]
    if operator.form is Form.COALESCE:
        return [list(chain.from_iterable(parents[0][p] for p in group)) for group in operator.detail["groups"]]
    if operator.form is Form.ZIP:
        return [list(zip(left, right, strict=True)) for left, right in zip(*parents, strict=True)]
    return [list(product(left, right)) for left in parents[0] for right in parents[1]]


def _drained(apply: Any, split: int, records: list[Any], form: Form) -> list[Any]:
    if not form.record_wise:
        return list(apply(split, iter(records)))
    ended = False

    def feed() -> Iterator[Any]:
        nonlocal ended
        yield from records
        ended = True

    found = list(apply(split, feed()))
    if not ended:
        raise stopped("")
    return found


def _exchanged(lowering: Exchange, parents: list[Partitions]) -> Partitions:
    partition = hashing.portable_hash if lowering.partition is portable_hash else lowering.partition
    arriving: list[list[bytes]] = [[] for _ in range(lowering.targets)]
    for branch, partitions in enumerate(parents):
        emission: Any
        if lowering.create is None:
            emission = Shuffled(_pickled, partition, lowering.targets, branch)
        else:
            assert lowering.combine is not None
            emission = Combined(
                _pickled, lowering.create, lowering.combine, partition, lowering.targets, MEMORY, branch
            )
        for split, records in enumerate(partitions):
            notes = Notes()
            emission.prepare(notes)
            frames = emission.frames(split, iter(records), notes, Emitted(), stopped)
            for target, frame in zip(frames, frames):
                arriving[int.from_bytes(target, "big")].append(frame)
    merged = []
    for split, held in enumerate(arriving):
        spool = Spool(held, pickle.loads, MEMORY)
        merge = None if lowering.merge is None else lowering.merge(MEMORY)
        notes = Notes(levels=[None])
        merged.append(list(spool if merge is None else merge.run(split, spool, notes, "merge", stopped)))
    return merged


def _dealt(lowering: Repartition, partitions: Partitions) -> Partitions:
    everything = list(chain.from_iterable(partitions))
    return [everything[i :: lowering.targets] for i in range(lowering.targets)]


def flat(partitions: Iterable[Iterable[Any]]) -> list[Any]:
    return list(chain.from_iterable(partitions))
