"""Crashing: exceptions as failures. The crash culprits of a run, each to be tried by itself on the records that it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.agents.guards.flight import ENDED
from bigdebug.agents.judges import Crashing
from bigdebug.agents.likeness import likeness
from bigdebug.errors import BigdebugError, LocalizeError
from bigdebug.graph import Form
from bigdebug.spark.rdd.blamed import Told
from bigdebug.spark.rdd.faulty import Faulty, Found
from bigdebug.trace.culprits import CrashCulprit
from bigdebug.trace.trace import all_records

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD

MOST = 1_000
"""Of the crashes of a run, so many are traced."""


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
        behind = _behind(trace, culprit)
        if culprit.exception_type == ENDED:
            left.append(f"{culprit!r} ends the process that it is tried in")
        elif behind is None:
            left.append(f"it is not known what {culprit!r} was made of")
        else:
            faulty.append(Faulty(behind, culprit, Crashing(culprit.exception_type), culprit.operator.id, keyed=False))
    return Found(faulty, tuple(left))


def _behind(trace: LineageRDD, culprit: CrashCulprit) -> LineageRDD | None:
    """The trace over the records that may have to do with a crash: where records of a key are combined, all of that key; else what the record was made of."""
    if culprit.operator.form is Form.CODES and isinstance(culprit.record, tuple | list) and len(culprit.record) > 1:
        try:
            return _of_key(trace, culprit.operator.parents, culprit.record[0])
        except BigdebugError:
            pass  # they cannot be read again, behind a crash: then what is known of this one is all
    told = culprit.told
    return told.reached() if isinstance(told, Told) else culprit.trace


def _of_key(trace: LineageRDD, parents: Sequence[int], key: Any) -> LineageRDD:
    standing = {}
    for parent in parents:
        records = trace._questions.records(parent, all_records(trace.run, parent)[parent], _OfKey(key))
        standing[parent] = {p: np.array(sorted(at), dtype=np.int64) for p, at in records.items() if at}
    return trace._to(parents, lambda: standing)


class _OfKey:
    """True of pairs with a key."""

    def __init__(self, key: Any) -> None:
        self._key = likeness(key)

    def __call__(self, record: Any) -> bool:
        return likeness(record[0]) == self._key
