"""Candidate rows: the source records that wrong rows of a query were made of, numbered, and held by the JVM so that no trial reads a source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from bigdebug.errors import NondeterminismError
from bigdebug.localize.candidates import Candidates, Numbers, together
from bigdebug.model import SourceRecord
from bigdebug.spark.bars import counted
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.inquiry.subsets import PLACE
from bigdebug.spark.sql.inquiry.triable import untried
from bigdebug.spark.sql.keys import frame_of
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.questions import Questions
from bigdebug.spark.sql.records import Found
from bigdebug.trace.names import Names
from bigdebug.trace.places import Places, places_of, rids_of, union

Standing = dict[int, Places]
"""Records by source, each at the first place where the query reads it."""

MOST = 20_000
"""Source records that wrong rows may be made of: the JVM of the driver holds them."""

_RID, _KNOWN = "__bigdebug_rid", "__bigdebug_known"


def standing_of(questions: Questions, found: Found) -> Standing:
    """The source records of a backward trace. A record of a source that is read several times is one. Raises LocalizeError for too many."""
    standing: Standing = {}
    for source, names in found.items():
        known = questions.steps().every(source) if names is None else names
        if isinstance(known, Far) or len(known) > MOST:
            raise untried(f"a wrong row was made of {len(known):,} records of {questions.leaves[source].dataset}, and up to {MOST:,} are tried")
        first = _first(questions, source)
        standing[first] = union(standing.get(first, {}), places_of(known.to_numpy(zero_copy_only=False)))
    return standing


class CandidateRows:
    """The candidates of several wrong rows, each of which was made of one of ``standings``."""

    def __init__(self, questions: Questions, standings: Sequence[Standing]) -> None:
        self._questions, self._known = questions, Candidates(together(standings))
        if len(self._known) > MOST:
            raise untried(f"wrong rows were made of {len(self._known):,} records, and up to {MOST:,} are tried", "Choose fewer: dbg.lineage(df).where(...).")
        self.numbers: list[Numbers] = [self._known.numbers(standing) for standing in standings]

    def held(self, catalyst: Catalyst) -> dict[int, Node]:
        """Plans of the candidates at each source, as the query reads it, with their numbers as the last column. A job for each."""
        return {source: self._held(catalyst, source) for source in self._questions.leaves}

    def sources(self, trace: LineageFrame, numbers: Iterable[int]) -> dict[int, tuple[SourceRecord, ...]]:
        """The records of some candidates; ``trace`` is any over the query."""
        wanted = sorted(numbers)
        if not wanted:
            return {}
        standing: dict[int, Names] = {source: pa.array(rids_of(places)) for source, places in self._known.standing(wanted).items()}
        records = trace.standing_at(standing).source_records()
        return {number: (record,) for number, record in zip(wanted, records, strict=True)}

    def _held(self, catalyst: Catalyst, source: int) -> Node:
        c, steps, first = catalyst, self._questions.steps(), _first(self._questions, source)
        node, rids, begins = steps.operator(source).node, rids_of(self._known.at(first)), self._known.begins(first)
        if not len(rids):
            return c.local(c.project([*c.items(node.output()), c.alias(c.whole(0), PLACE)], node), c.seq([]))
        plan, name = steps.rows(source, pa.array(rids))
        rows = c.frame(c.project([*c.items(node.output()), c.alias(name, _RID)], plan))
        numbers = frame_of(c, [pa.array(rids), pa.array(range(begins, begins + len(rids)))], [_KNOWN, PLACE], ["BIGINT", "BIGINT"])
        numbered = c.plan(rows.join(numbers, rows[_RID] == numbers[_KNOWN]).orderBy(PLACE))
        chosen = c.project([*c.items(node.output()), numbered.output().last()], numbered)
        with counted(c.spark.sparkContext, "following lineage"):
            held = c.held(c.frame(chosen))
        if held.length() != len(rids):
            raise NondeterminismError(f"{self._questions.leaves[source].dataset} gives other records now than when they were traced", remedy="Ask again.")
        return c.local(chosen, held)


def _first(questions: Questions, source: int) -> int:
    """Of the places where a source is read, the first."""
    dataset = questions.leaves[source].dataset
    return min(other for other, leaf in questions.leaves.items() if leaf.dataset == dataset)
