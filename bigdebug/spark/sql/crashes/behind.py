"""Behind: the source records that the culprits of one operator were made of, all at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from bigdebug.model import SourceRecord
from bigdebug.spark.sql.lineage_frame import lineage_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.culprit import Shared


class Behind:
    """What several of the rows of a query, each of which is a culprit, were made of. Costs a job when it is first asked."""

    def __init__(self, made: Callable[[], FrameRun]) -> None:
        """``made`` gives a run, of no action, of the query of the culprits."""
        self._made = made

    @property
    def known(self) -> bool:
        """Whether it was asked."""
        return "_shared" in vars(self)

    def __call__(self) -> list[Shared]:
        """The source records behind several culprits; none where those are not made of the records of sources right away."""
        return self._shared

    @cached_property
    def _shared(self) -> list[Shared]:
        run = self._made()
        questions = run.questions
        if not questions.leaves:
            return []
        steps = questions.steps()
        below = steps.next_to(run.subject, ahead=False)
        if run.subject in questions.leaves or not below <= set(questions.leaves):
            return []
        known, catalyst = steps.association(run.subject), questions.catalyst
        columns: dict[str, Any] = {"key": catalyst.struct(known.told)}
        table = catalyst.table(known.plan, columns | {f"n{name.level}": name.column for name in known.names})
        found = []
        for name in known.names:
            keys = pa.table({"key": [repr(key) for key in table["key"].to_pylist()], "rid": table[f"n{name.level}"]}).drop_null()
            counts = keys.group_by("rid").aggregate([("key", "count_distinct")]).to_pylist()
            dataset = questions.leaves[name.level].dataset
            found += [
                Shared((dataset, row["rid"]), row["key_count_distinct"], partial(_record, run, name.level, row["rid"]))
                for row in counts if row["key_count_distinct"] > 1
            ]
        return found


def _record(run: FrameRun, source: int, rid: int) -> SourceRecord:
    (found,) = lineage_of(run).standing_at({source: pa.array([rid], pa.int64())}).source_records()
    return found
