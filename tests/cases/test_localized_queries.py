"""The acceptance cases as queries, with their corrupt lines at every place of 1, 4 and 7 partitions: these are the cause, and never an innocent one.

At every place: one query over all placements of a case, each a group of its own, has wrong rows there and only there, and its lineage has the lines of these at the places where
they stand. That is what is searched: in the order in which they stand, by ``faults`` as ``dbg.localize`` calls it for queries, with what plain Python says of sets of them; that Spark says
the same of sets is the law of subsets (laws/test_sql_subsets_law.py). The public call at some places of each case and number of partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap
from pyspark.sql import functions as F

from bigdebug.agents.judges import number
from bigdebug.localize.faults import faults
from bigdebug.localize.oracle import Answer, Budget, Oracle
from bigdebug.localize.subject import Subject
from bigdebug.model import Outcome
from bigdebug.spark.sql.inquiry.localizing import AT_ONCE, EACH
from tests.cases.programs import Case, cut, placements, sales
from tests.cases.queries import COMMUTE, QUERIES, WEATHER, WORDS, InSql

PARTITIONS = (1, 4, 7)


def placed(case: Case) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Each corrupt line at every place, in 1, 4 and 7 partitions; those of the larger cases in turn."""
    for count, lines in enumerate(placements(case)):
        for partitions in PARTITIONS[count % 3:][:1] if case in (WEATHER, COMMUTE) else PARTITIONS:
            yield cut(lines, partitions)


def written(folder: Path, case: Case) -> list[tuple[tuple[str, ...], ...]]:
    """The placements of a case in a folder, a file for each partition of 1, of 4 and of 7."""
    every = list(placed(case))
    for partitions in PARTITIONS:
        copies = [(copy, parts) for copy, parts in enumerate(every) if len(parts) == partitions]
        for part in range(partitions):
            lines = [line for _, parts in copies for line in parts[part]]
            numbers = np.repeat([copy for copy, _ in copies], [len(parts[part]) for _, parts in copies]).astype(np.int32)
            pq.write_table(pa.table({"copy": numbers, "line": lines}), folder / f"{partitions}-{part}.parquet")
    return every


@pytest.mark.many
@pytest.mark.parametrize("known", QUERIES, ids=lambda known: known.case.name)
def test_wrong_rows_are_made_of_their_lines_wherever_the_corrupt_ones_stand(dbg: Any, spark: Any, tmp_path: Path, known: InSql) -> None:
    case, every = known.case, written(tmp_path, known.case)
    query = known.query(spark.read.parquet(str(tmp_path)), "copy")
    with dbg.capture():
        rows = query.collect()
    wrong = dbg.lineage(query).where(known.test)
    assert Counter((row.copy, known.key(row)) for row in wrong.collect()) == Counter((copy, key) for copy in range(len(every)) for key in case.culprits)
    assert len(rows) > len(every)
    behind = wrong.goBackAll()
    [name] = behind.inputs
    found = behind[name].toDF().toArrow().to_pydict()
    assert Counter(zip(found["copy"], found["line"])) == Counter((copy, line) for copy, parts in enumerate(every) for part in parts for line in part if of_outputs(case, line))
    corrupt = behind.where(" OR ".join(f"line = '{line}'" for line in sorted({line for lines in case.culprits.values() for line in lines})))
    stand = {(partitions, part): 0 for partitions in PARTITIONS for part in range(partitions)}
    places = set()
    for copy, parts in enumerate(every):
        for part, lines in enumerate(parts):
            begins = stand[len(parts), part]
            places |= {(f"{len(parts)}-{part}.parquet", begins + i, copy, line) for i, line in enumerate(lines) if any(line in culprits for culprits in case.culprits.values())}
            stand[len(parts), part] += len(lines)
    assert {(Path(str(s.origin.path)).name, s.origin.row, s.record.copy, s.record.line) for s in corrupt.source_records()} == places


def of_outputs(case: Case, line: str) -> bool:
    """Whether a wrong output is made of a line."""
    return any(key in case.culprits for key, _ in case.pairs(line))


@pytest.mark.many
@pytest.mark.parametrize("case", [known.case for known in QUERIES], ids=lambda case: case.name)
def test_the_corrupt_lines_are_found_in_whatever_order(case: Case) -> None:
    searched = set()
    for parts in placed(case):
        lines = tuple(line for part in parts for line in part if of_outputs(case, line))
        if lines in searched:
            continue
        searched.add(lines)
        keys, subjects, budget = list(case.culprits), [], Budget()
        for key in keys:
            members = [i for i, line in enumerate(lines) if key in dict(case.pairs(line))]
            values = [[value for of, value in case.pairs(lines[i]) if of == key] for i in members]
            subjects.append(Subject(np.array(members), Oracle(partial(_answers, case, key, values), budget)))
        found = faults(subjects, budget, AT_ONCE, EACH)
        named = {keys[i]: [{lines[each] for each in ids} for ids in (fault.repair, *fault.instead)] for fault in found.found for i in fault.explains}
        for key, culprits in case.culprits.items():
            assert named[key] == [set(culprits)] or (case is WORDS and sorted(named[key], key=sorted) == sorted(({line} for line in culprits), key=sorted))
    assert len(searched) > (case in (WEATHER, COMMUTE))


def _answers(case: Case, key: Any, values: Sequence[Sequence[Any]], sets: Sequence[BitMap]) -> list[Answer]:
    answers = []
    for each in sets:
        output = (key, case.summary([value for i in each for value in values[i]])) if each else None
        outcome = Outcome.FAIL if output and case.faulty(output) else Outcome.PASS
        answers.append(Answer(outcome, number(output), gone=output is None))
    return answers


def placed_as(case: Case, where: str) -> list[str]:
    """The lines of a case with the inserted ones elsewhere among the others: all first, all last, beside each other in the middle, or drawn, the same each time."""
    found, draw = [line for line in case.lines if line not in case.inserted], Random(case.name)
    for line in case.inserted:
        found.insert({"first": 0, "last": len(found), "together": len(found) // 2, "drawn": draw.randint(0, len(found))}[where], line)
    return found


PLACES = ("first", "last", "together", "drawn")


@pytest.mark.many
@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("known", QUERIES, ids=lambda known: known.case.name)
def test_the_corrupt_rows_are_found_and_no_others(dbg: Any, spark: Any, known: InSql, partitions: int) -> None:
    case = known.case
    lines = placed_as(case, PLACES[(QUERIES.index(known) + PARTITIONS.index(partitions)) % 4]) if partitions > 1 else case.lines
    found = dbg.localize(known.query(spark.createDataFrame(spark.sparkContext.parallelize([(line,) for line in lines], partitions), "line string")), known.test)
    told = {known.key(row): {s.record for each in (fault.records, *fault.instead) for s in each} for fault in found.fault_sets for row in fault.outputs}
    assert told == {key: {(line,) for line in culprits} for key, culprits in case.culprits.items()}
    assert found.verdict == ("ambiguous" if case is WORDS else "culprit")
    assert found.ranking[0][0] in [source for fault in found.fault_sets for source in fault.records]
    assert found.incomplete is None
    assert all(lines[s.origin.index] == s.record.line for fault in found.fault_sets for s in fault.records)


@pytest.mark.many
@pytest.mark.parametrize(("partitions", "first"), [(1, None), (4, True), (7, False)])
def test_the_average_of_sums_goes_back_to_the_four_rows_of_the_day(dbg: Any, spark: Any, partitions: int, first: bool | None) -> None:
    rows = sales(first)
    days = spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), "store int, day int, amount int").groupBy("store", "day").agg(F.sum("amount").alias("total"))
    found = dbg.localize(days.groupBy("store").agg(F.avg("total").alias("average")), "average < 0")
    assert found.verdict == "culprit"
    [fault] = found.fault_sets
    assert [row.store for row in fault.outputs] == [99]
    assert sorted(source.origin.index for source in fault.records) == [i for i, row in enumerate(rows) if row[2] == -1000]
