"""``dbg.localize`` itself with the corrupt lines at a spread of places, several a call. At all places: ``python -m tests.cases.everywhere``."""

from __future__ import annotations

from typing import Any

import pytest

from bigdebug.localize.faults import OUTPUTS
from tests.cases import everywhere
from tests.cases.everywhere import PARTITIONS, Placement
from tests.cases.programs import CASES, Case
from tests.cases.queries import QUERIES, InSql


def spread(case: Case, partitions: int) -> list[Placement]:
    """Placements that are far from each other, others for each number of partitions."""
    every = [each for each in everywhere.everywhere(case) if len(each.parts) == partitions]
    step = max(1, len(every) * len(case.culprits) // OUTPUTS)
    return every[PARTITIONS.index(partitions) * step // len(PARTITIONS):: step][: OUTPUTS // len(case.culprits)]


@pytest.mark.many
@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_corrupt_lines_of_a_program_are_found_wherever_they_are(dbg: Any, case: Case, partitions: int) -> None:
    assert everywhere.copies_in_rdd(dbg, spread(case, partitions)) == []


@pytest.mark.many
@pytest.mark.parametrize("known", QUERIES, ids=lambda known: known.case.name)
def test_the_corrupt_rows_of_a_query_are_found_wherever_they_are(dbg: Any, spark: Any, known: InSql) -> None:
    partitions = PARTITIONS[QUERIES.index(known) % len(PARTITIONS)]
    assert everywhere.in_query(dbg, spark, known, spread(known.case, partitions)[::4]) == []


@pytest.mark.slow
def test_the_drift_trap_is_none_wherever_both_corrupt_lines_are(dbg: Any, spark: Any) -> None:
    every = list(everywhere.drifting())
    for partitions in PARTITIONS:
        here = [each for each in every if len(each.parts) == partitions]
        few = here[:: len(here) // OUTPUTS][:OUTPUTS]
        assert everywhere.drift_in_rdd(dbg, few) == []
        assert everywhere.drift_in_query(dbg, spark, few[::10]) == []
