"""Crashing: exceptions as failures. The crash culprits of a run, each to be tried by itself on the records that it was made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.errors import PySparkException

from bigdebug.agents.guards.flight import ENDED
from bigdebug.agents.judges import Crashing
from bigdebug.agents.likeness import HasKey
from bigdebug.errors import BigdebugError, LocalizeError
from bigdebug.graph import Form
from bigdebug.spark.rdd.crashes.blamed import Told
from bigdebug.spark.rdd.inquiry.faulty import Faulty, Found
from bigdebug.spark.rdd.inquiry.localizing import keyed_by
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.places import Places, count

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

MOST = 1_000
"""Of the crashes of a run, so many are traced."""

MANY = 100_000
"""Where a record crashed only with others, up to so many are tried with it."""


def crashed(trace: LineageRDD) -> bool:
    """Whether the run of a trace failed, so that not all outputs are there."""
    return trace.run.status == "failed"


def crashing(trace: LineageRDD) -> Found:
    """The crashes of a run: an output that failed is the culprit that it failed on. Raises LocalizeError if none is known.

    Culprits are looked for first, which takes what ``len(run.culprits)`` does.
    """
    culprits = trace.run.culprits
    known = list(islice(culprits, MOST))
    if not known:
        why = " ".join(culprits.unknown)
        raise LocalizeError(
            f"Nothing that {trace.run.name} ran is known to have crashed{f': {why}' if why else ''}",
            remedy="raises=True makes failures of exceptions; for what is wrong otherwise give a test of outputs: localize(report, lambda out: out[1] < 0).",
        )
    faulty, left = list[Faulty](), [*culprits.unknown]
    if not culprits.complete or len(culprits) > len(known):
        left.append(f"of {len(culprits):,} crashes {len(known):,} were traced")
    for culprit in known:
        behind = culprit.told.reached() if isinstance(culprit.told, Told) else culprit.trace
        if culprit.exception_type == ENDED:
            left.append(f"{culprit!r} ends the process that it is tried in")
        elif behind is None:
            left.append(f"it is not known what {culprit!r} was made of")
        else:
            crash = Faulty(behind, culprit, Crashing(culprit.exception_type), culprit.operator.id, keyed=_of_a_key(behind, culprit))
            faulty.append(_with_others(trace, crash, culprit))
    return Found(faulty, tuple(left))


def _of_a_key(behind: LineageRDD, culprit: CrashCulprit) -> bool:
    """Whether the record that crashed was of one key, or a pair of one: then others that crash on fewer records are not it."""
    graph = behind.run.graph
    keyed = keyed_by(graph, culprit.operator.id)
    return keyed is not None and all(keyed in graph.upstream(operator) for operator in behind.operators)


def _with_others(trace: LineageRDD, crash: Faulty, culprit: CrashCulprit) -> Faulty:
    """The crash, to be tried on all that the record may have met as well: those of its key, at once; what a function over a partition reads, if it does not crash alone."""
    operator = culprit.operator
    combined = operator.form is Form.CODES and isinstance(culprit.record, tuple | list) and len(culprit.record) > 1
    try:
        if combined:
            standing = {parent: _of_key(trace, parent, culprit.record[0]) for parent in operator.parents}
        elif operator.form in (Form.PAIRED, Form.WHOLE) and culprit.partition is not None:
            (parent,) = operator.parents
            standing = {parent: _every(trace, parent, [culprit.partition])}
        else:
            return crash
    except (BigdebugError, PySparkException):  # they cannot be read again, for others crash before them
        return crash
    if not 1 < sum(map(count, standing.values())) <= MANY:
        return crash
    wider = replace(crash, trace=trace._to(operator.parents, lambda: standing), keyed=False)
    return wider if combined else replace(crash, otherwise=wider)


def _of_key(trace: LineageRDD, parent: int, key: Any) -> Places:
    every = _every(trace, parent, range(trace.run.graph[parent].partitions))
    return {p: np.array(sorted(at), dtype=np.int64) for p, at in trace._questions.records(parent, every, HasKey([key])).items() if at}


def _every(trace: LineageRDD, operator: int, partitions: Iterable[int]) -> Places:
    """All records in some partitions; the run need not have read them to their end."""
    return {p: np.arange(size, dtype=np.int64) for p, size in trace._sizes(operator, list(partitions)).items()}
