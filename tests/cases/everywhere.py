"""``dbg.localize`` itself, with the corrupt lines of the acceptance cases at every place: ``python -m tests.cases.everywhere rdd``.

What it is asked about: ``rdd``, the RDD programs, a run and a call for each placement; ``copies``, the same programs with the number of a placement in their keys, a call for as
many placements as it looks at wrong outputs; ``query``, the queries, so many a call as well; ``drift``, both corrupt lines of the drift trap at each pair of places among the cars, so many placements a call, each a region of its own; ``drift-query``, the
same as a query. In 1, 4 and 7 partitions; those of the drift trap in turn. Prints how many placements there were, how many answers were right, and each that was not; ends with 1 if
there was one. A spread of the same is in ``make test`` (test_everywhere.py).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby, islice
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

import bigdebug
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.faults import OUTPUTS
from tests.cases.programs import (
    CASES,
    Case,
    average,
    averages,
    by_speed,
    cut,
    grade_and_age,
    lengths,
    mean,
    placements,
    snowfall,
    spread,
    stay,
)
from tests.cases.queries import COMMUTE, QUERIES, WORDS, InSql

PARTITIONS = (1, 4, 7)
KINDS = ("rdd", "copies", "query", "drift", "drift-query")


Copied = tuple[int, str]
"""A line of a placement with its number."""


def _pair(line: Copied, function: Callable[[str], tuple[Any, Any]]) -> tuple[Any, Any]:
    key, value = function(line[1])
    return (line[0], key), value


def _pairs(line: Copied, function: Callable[[str], list[tuple[Any, Any]]]) -> list[tuple[Any, Any]]:
    return [((line[0], key), value) for key, value in function(line[1])]


COPIED: dict[str, Callable[[Any], Any]] = {
    "airport at midnight": lambda rdd: rdd.map(lambda line: _pair(line, stay)).filter(lambda pair: pair[1] < 45).reduceByKey(add, 4),
    "weather in inches": lambda rdd: rdd.flatMap(lambda line: _pairs(line, snowfall)).groupByKey(4).mapValues(spread),
    "students": lambda rdd: averages(rdd.map(lambda line: _pair(line, grade_and_age))),
    "commute drift": lambda rdd: rdd.map(lambda line: _pair(line, by_speed)).combineByKey(lambda v: [v], lambda vs, v: [*vs, v], add, 4).mapValues(average),
    "word length": lambda rdd: rdd.flatMap(lambda line: _pairs(line, lengths)).groupByKey(4).mapValues(mean),
}
"""The programs of the cases over lines of several placements, whose numbers are in the keys."""


class Placement(NamedTuple):
    """The lines of a case by partition, with its corrupt ones somewhere."""

    case: Case
    parts: tuple[tuple[str, ...], ...]

    @property
    def lines(self) -> list[str]:
        return [line for part in self.parts for line in part]


class Call(NamedTuple):
    """A public call: the placements that it is about, and what is wrong with the answer, in words; nothing, if it is right."""

    about: Sequence[Placement]
    wrong: Callable[[], list[str]]


def everywhere(case: Case) -> Iterator[Placement]:
    """Each corrupt line of a case at every place, in each number of partitions."""
    for partitions in PARTITIONS:
        for lines in placements(case):
            yield Placement(case, cut(lines, partitions))


def drifting() -> Iterator[Placement]:
    """Both corrupt lines of the drift trap at each pair of places among the cars, one before the other as well as behind, in each number of partitions in turn."""
    first, second = COMMUTE.culprits["sr", "car"]
    others = [line for line in COMMUTE.lines if line not in (first, second)]
    places = [*(place for place, line in enumerate(others) if ("sr", "car") in dict(COMMUTE.pairs(line))), len(others)]
    pairs = [(one, other, first, second) for one in places for other in places] + [(place, place, second, first) for place in places]
    for turn, partitions in enumerate(PARTITIONS):
        for one, other, *corrupt in pairs[turn::len(PARTITIONS)]:
            lines = list(others)
            for place, line in sorted(zip((one, other), corrupt), key=lambda each: -each[0]):
                lines.insert(place, line)
            yield Placement(COMMUTE, cut(lines, partitions))


def calls(kind: str, cases: Sequence[Case], dbg: Any, spark: Any) -> Iterator[Call]:
    """All calls of a kind."""
    if kind == "rdd":
        for each in (each for case in cases for each in everywhere(case)):
            yield Call([each], partial(in_rdd, dbg, each))
    elif kind == "copies":
        for case in cases:
            for few in together(everywhere(case), OUTPUTS // len(case.culprits)):
                yield Call(few, partial(copies_in_rdd, dbg, few))
    elif kind == "query":
        for known in (known for known in QUERIES if known.case in cases):
            for few in together(everywhere(known.case), OUTPUTS // len(known.case.culprits)):
                yield Call(few, partial(in_query, dbg, spark, known, few))
    else:
        for few in together(drifting(), OUTPUTS):
            yield Call(few, partial(drift_in_rdd, dbg, few) if kind == "drift" else partial(drift_in_query, dbg, spark, few))


def together(several: Iterable[Placement], most: int) -> Iterator[list[Placement]]:
    """Placements in as many partitions, at most so many at a time."""
    for _, alike in groupby(several, key=lambda each: len(each.parts)):
        while few := list(islice(alike, most)):
            yield few


# ---- the public call ------------------------------------------------------------------------------------------------


def in_rdd(dbg: Any, placement: Placement) -> list[str]:
    """What is wrong with the answer for one placement."""
    case, lines = placement.case, placement.lines
    program = case.program(dbg.context.parallelize(lines, len(placement.parts)))
    with dbg.capture():
        program.collect()
    found = dbg.localize(program, case.faulty)
    elsewhere = [f"{source} stands elsewhere" for fault in found.fault_sets for source in fault.records if lines[source.origin.index] != source.record]
    return [*differences(found, case, {key: set(culprits) for key, culprits in case.culprits.items()}, lambda out: out[0], lambda line: line), *elsewhere]


def copies_in_rdd(dbg: Any, several: Sequence[Placement]) -> list[str]:
    """The same for placements of one case, each a copy of its own in the same partitions."""
    case = several[0].case
    parts = [[(copy, line) for copy, placement in enumerate(several) for line in placement.parts[part]] for part in range(len(several[0].parts))]
    even, blank = max(map(len, parts)), (-1, case.lines[0])  # so that they are cut where the parts end
    program = COPIED[case.name](dbg.context.parallelize([each for part in parts for each in [*part, *[blank] * (even - len(part))]], len(parts)))
    with dbg.capture():
        program.collect()
    culprits = {(copy, key): {(copy, line) for line in lines} for copy in range(len(several)) for key, lines in case.culprits.items()}
    found = dbg.localize(program, lambda out: out[0][0] >= 0 and case.faulty((out[0][1], out[1])))
    return differences(found, case, culprits, lambda out: out[0], lambda record: record)


def in_query(dbg: Any, spark: Any, known: InSql, several: Sequence[Placement]) -> list[str]:
    """What is wrong with the answer for placements of one case, each a copy of its own in the same partitions."""
    parts = [[(copy, line) for copy, placement in enumerate(several) for line in placement.parts[part]] for part in range(len(several[0].parts))]
    query = known.query(_frame(spark, parts, "copy int, line string"), "copy")
    culprits = {(copy, key): {(copy, line) for line in lines} for copy in range(len(several)) for key, lines in known.case.culprits.items()}
    return differences(dbg.localize(query, known.test), known.case, culprits, lambda row: (row.copy, known.key(row)), tuple)


def drift_in_rdd(dbg: Any, several: Sequence[Placement]) -> list[str]:
    """What is wrong with the answer for placements of the drift trap, each a region of its own in the same partitions."""
    parts, culprits = _by_region(several)
    most = max(map(len, parts))
    even = [line for part in parts for line in [*part, *["none,90000,90000,10,1"] * (most - len(part))]]  # so that they are cut where the parts end
    program = COMMUTE.program(dbg.context.parallelize(even, len(parts)))
    with dbg.capture():
        program.collect()
    return differences(dbg.localize(program, COMMUTE.faulty), COMMUTE, culprits, lambda out: out[0], lambda line: line)


def drift_in_query(dbg: Any, spark: Any, several: Sequence[Placement]) -> list[str]:
    """The same of the query."""
    parts, culprits = _by_region(several)
    known = QUERIES[CASES.index(COMMUTE)]
    query = known.query(_frame(spark, [[(line,) for line in part] for part in parts], "line string"))
    return differences(dbg.localize(query, known.test), COMMUTE, culprits, known.key, lambda row: row.line)


def differences(found: Diagnosis, case: Case, culprits: dict[Any, set[Any]], key: Callable[[Any], Any], record: Callable[[Any], Any]) -> list[str]:
    """What of an answer is not as it is to be: the records that are named for each wrong output, the verdict, the first one of the ranking, and that all was looked at."""
    told: dict[Any, set[Any]] = {}
    for fault in found.fault_sets:
        for output in fault.outputs:
            told.setdefault(key(output), set()).update(record(source.record) for each in (fault.records, *fault.instead) for source in each)
    wrong = [f"{name}: {told.get(name)} named, and not {culprits.get(name)}" for name in {**culprits, **told} if told.get(name) != culprits.get(name)]
    if found.verdict != ("ambiguous" if case is WORDS else "culprit"):
        wrong.append(f"{found.verdict}: {found.explanation}")
    if found.incomplete is not None:
        wrong.append(f"incomplete: {found.incomplete}")
    if not found.ranking or found.ranking[0][0] not in [source for fault in found.fault_sets for source in fault.records]:
        wrong.append("another record comes first")
    return wrong


def _by_region(several: Sequence[Placement]) -> tuple[list[list[str]], dict[Any, set[Any]]]:
    """The lines by partition of placements of the drift trap, and by region and class the corrupt ones."""
    def moved(line: str, copy: int) -> str:
        return line.replace("sr", f"r{copy}", 1)

    parts = [[moved(line, copy) for copy, placement in enumerate(several) for line in placement.parts[part]] for part in range(len(several[0].parts))]
    return parts, {(f"r{copy}", "car"): {moved(line, copy) for line in COMMUTE.culprits["sr", "car"]} for copy in range(len(several))}


def _frame(spark: Any, parts: Sequence[Sequence[Any]], schema: str) -> Any:
    """Rows in such partitions."""
    return spark.createDataFrame(spark.sparkContext.parallelize(range(len(parts)), len(parts)).flatMap(list(parts).__getitem__), schema)


# ---- all of them ----------------------------------------------------------------------------------------------------


def main() -> int:
    """Make the calls that were asked for, and tell; 0 if each gives what it is to give."""
    parser = argparse.ArgumentParser(prog="python -m tests.cases.everywhere", description=str(__doc__).partition("\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--case", choices=[case.name for case in CASES], action="append", help="of rdd and query, this case, or these; all if none is given")
    parser.add_argument("--part", default="1/1", help="one of so many parts of all calls: 3/8")
    parser.add_argument("--skip", type=int, default=0, help="leave out so many calls of the part, which were made before")
    parser.add_argument("--seconds", type=float, help="begin no call after so many seconds")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    with tempfile.TemporaryDirectory(prefix="bigdebug-everywhere-") as scratch, _attached(Path(scratch)) as (dbg, spark):
        every = calls(given.kind, [case for case in CASES if case.name in (given.case or [case.name])], dbg, spark)
        began = time.monotonic()
        placements, right, made = _made(islice(every, part - 1 + given.skip * parts, None, parts), dbg, given.seconds)
        took = time.monotonic() - began
    print(f"{' '.join([given.kind, *(given.case or ())])}, part {given.part}: {right:,} of {placements:,} placements right, by {made:,} calls in {took:.0f} s")
    return int(right < placements)


def _made(every: Iterable[Call], dbg: Any, seconds: float | None) -> tuple[int, int, int]:
    """How many placements were asked about, of how many all was right, and by how many calls. An interruption ends it as the end of the time does."""
    began, placements, right, number = time.monotonic(), 0, 0, 0
    try:
        for number, call in enumerate(every, 1):
            if seconds is not None and time.monotonic() - began > seconds:
                raise KeyboardInterrupt  # noqa: TRY301 (both end it in one way)
            wrong = call.wrong()
            placements += len(call.about)
            right += 0 if wrong else len(call.about)
            for each in wrong:
                print(f"{call.about[0].case.name}, {len(call.about[0].parts)} partitions, call {number}: {each}", flush=True)
            for run in list(dbg.runs):
                dbg.forget(run)
    except KeyboardInterrupt:
        print(f"ended before call {number} of this part, after {time.monotonic() - began:.0f} s")
        return placements, right, number - 1
    return placements, right, number


@contextmanager
def _attached(scratch: Path) -> Iterator[tuple[Any, Any]]:
    """A session of Spark as tests have it, and what debugs it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "3").config("spark.sql.ui.retainedExecutions", "20").config("spark.sql.warehouse.dir", str(scratch / "warehouse")).getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    dbg = bigdebug.attach(spark, store=str(scratch / "store"))
    yield dbg, spark
    dbg.detach()
    spark.stop()


if __name__ == "__main__":
    sys.exit(main())
