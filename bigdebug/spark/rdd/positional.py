"""Positional operators: those whose outputs depend on where records stand, and so on records that are not there."""

from __future__ import annotations

from bigdebug.graph import Form, Kind, Operator, OperatorGraph

_STATEFUL = frozenset(("zipWithIndex", "zipWithUniqueId", "sample", "randomSplit", "sampleByKey"))
_PARTITIONWISE = frozenset((Form.PAIRED, Form.WHOLE))


def counts(operator: Operator) -> bool:
    """True if a definition of it has counted the records of the run, by a job of its own."""
    return _name(operator) == "zipWithIndex"


def deals(operator: Operator) -> bool:
    """True for repartition(): Spark deals frames to partitions, and nobody else knows which to which."""
    return operator.form is Form.SHUFFLE and operator.kind is Kind.DISPATCHER


def partitionwise(operator: Operator) -> bool:
    """True for a function over a whole partition."""
    return operator.form in _PARTITIONWISE


def positional(operator: Operator) -> bool:
    """True if an output depends on which partition, or on which place in it, the record has."""
    return partitionwise(operator) or decides(operator)


def decides(operator: Operator) -> bool:
    """True if an output depends on the place of its record and on nothing else that the lineage holds.

    A replay on fewer records would draw another sample, count other numbers, or zip other pairs.
    """
    return _name(operator) in _STATEFUL or operator.form is Form.ZIP


def entries(graph: OperatorGraph, absent: bool = True) -> frozenset[int]:
    """Operators at which a replay of traced records enters with the records that the run had there.

    Those that decide by place, or by what is absent: of less input they give more, or less if a sum of less
    is just what is taken away. (Newt 3.4 drops by its value what is too much, which is not enough.) And functions over partitions, if fewer records are dealt, sorted or paired into other
    partitions than those of the run. Without ``absent``, what is absent decides anew.
    """
    moved: set[int] = set()
    for operator in graph:  # parents first
        sorts = operator.form is Form.SORT and operator.partitions > 1
        if deals(operator) or sorts or operator.form is Form.CARTESIAN or moved.intersection(operator.parents):
            moved.add(operator.id)
    return frozenset(o.id for o in graph if decides(o) or (absent and by_absence(o)) or (o.id in moved and partitionwise(o)))


def by_absence(operator: Operator) -> bool:
    """True if an output depends on records that are not there."""
    outer = operator.detail.get("outer_left") or operator.detail.get("outer_right")
    return operator.form is Form.SUBTRACT or bool(outer)


def _name(operator: Operator) -> str:
    """What the user called: mapPartitionsWithIndex as part of sample() is ``sample.mapPartitionsWithIndex``."""
    return operator.name.split(".", maxsplit=1)[0]
