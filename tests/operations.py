"""The operations of the table of faults: each prepares a program, is called while a fault befalls it, and says what it gives undisturbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import functions as F

LINES = [f"{'bad' if n == 77 else n % 13} {n % 5}" for n in range(160)]
"""Line 77 is the one that a parser may not like."""

SEVENS = [number for number, line in enumerate(LINES, 1) if "7" in line.split()]
"""The lines, from 1 on, that have the word 7."""


class Operation(NamedTuple):
    """``prepare(dbg, folder)`` makes what ``act`` is then called with; that gives ``expected``, also when it is called again. Of a DataFrame a third
    argument sees the lines as they pass.
    """

    name: str
    prepare: Callable[..., Any]
    act: Callable[[Any], Any]
    expected: Any
    interrupted: Any = None
    """What it may give where it was interrupted."""

    def __repr__(self) -> str:
        return self.name


def _lines(folder: Path) -> str:
    path = folder / "lines.txt"
    if not path.exists():  # programs before it read the same
        path.write_text("".join(f"{line}\n" for line in LINES))
    return str(path)


def counted(lines: list[str]) -> list[str]:
    return sorted(f"{word}: {count}" for word, count in Counter(word for line in lines for word in line.split()).items())


AHEAD = sorted({told for line in LINES if line.startswith("7 ") for told in counted(LINES) if told.split(":")[0] in line.split()})
WITHOUT_SEVENS = counted([line for line in LINES if "7" not in line.split()])
WITHOUT_BAD = counted([line for line in LINES if "bad" not in line])


# ---- RDD programs -------------------------------------------------------------------------------------------------


def words(line: str) -> list[tuple[str, int]]:
    return [(word, 1) for word in line.split()]


def numbers(line: str) -> list[tuple[str, int]]:
    return [(str(int(word)), 1) for word in line.split()]


def of_seven(line: str) -> bool:
    return line.startswith("7:")


class Program(NamedTuple):
    dbg: Any
    result: Any
    run: Any = None


def program(dbg: Any, folder: Path, parse: Callable[[str], Any] = words) -> Program:
    counts = dbg.context.textFile(_lines(folder), 4).flatMap(parse).reduceByKey(add, 3)
    return Program(dbg, counts.map(lambda pair: f"{pair[0]}: {pair[1]}"))


def ran(strategy: str) -> Callable[[Any, Path], Program]:
    def prepare(dbg: Any, folder: Path) -> Program:
        made = program(dbg, folder)
        with dbg.capture("calm", strategy=strategy) as runs:
            made.result.collect()
        return made._replace(run=runs.latest)

    return prepare


def crashed(dbg: Any, folder: Path) -> Program:
    made = program(dbg, folder, numbers)
    with dbg.capture("crashes") as runs, pytest.raises(Exception, match="invalid literal"):
        made.result.collect()
    return made._replace(run=runs.latest)


def captured(made: Program) -> Any:
    with made.dbg.capture("captured", strategy="inject"):
        result = sorted(made.result.collect())
    return result, traced_back(made)


def traced_back(made: Program) -> list[int]:
    return sorted(origin.line for origin in made.result.getLineage().where(of_seven).goBackAll().origins())


def traced_ahead(made: Program) -> list[str]:
    return sorted(made.result.getLineage().goBackAll().where(lambda line: line.startswith("7 ")).goNextAll().collect())


def diagnosed(made: Program) -> list[Any]:
    return [(culprit.record, culprit.sources[0].origin.line) for culprit in made.run.culprits]


def resumed(made: Program) -> list[str]:
    return sorted(made.run.resume(skip=True).result)


def replayed(made: Program) -> list[str]:
    return sorted(made.result.getLineage().where(of_seven).replay(exclude=True).collect())


def localized(made: Program) -> list[list[int]]:
    found = made.dbg.localize(made.result, lambda line: line.startswith("bad"))
    return [[-1]] if found.incomplete else [[record.origin.line for record in faults.records] for faults in found.fault_sets]


RDDS = [
    Operation("captured", program, captured, (counted(LINES), SEVENS)),
    Operation("traced back", ran("inject"), traced_back, SEVENS),
    Operation("traced back, derived", ran("lazy"), traced_back, SEVENS),
    Operation("traced ahead", ran("inject"), traced_ahead, AHEAD),
    Operation("traced ahead, derived", ran("lazy"), traced_ahead, AHEAD),
    Operation("diagnosed", crashed, diagnosed, [(LINES[77], 78)]),
    Operation("resumed", crashed, resumed, WITHOUT_BAD),
    Operation("replayed", ran("inject"), replayed, WITHOUT_SEVENS),
    Operation("localized", ran("inject"), localized, [[78]], [[-1]]),
]


# ---- DataFrames ---------------------------------------------------------------------------------------------------


FIRSTS = Counter(line.split()[0] for line in LINES)


def rows_of(frame: Any, parse: Callable[[str], str]) -> Any:
    return frame.select("value", F.udf(parse, "string")("value").alias("word")).groupBy("word").count()


def first(line: str) -> str:
    return line.split(maxsplit=1)[0]


def first_number(line: str) -> str:
    return str(int(line.split(maxsplit=1)[0]))


def same(line: str) -> str:
    return line


def frame_program(dbg: Any, folder: Path, parse: Callable[[str], str] = first, passing: Callable[[str], str] = same) -> Program:
    """A count of first words. ``passing`` sees the lines as they pass."""
    return Program(dbg, rows_of(dbg.spark.read.text(_lines(folder)), lambda line: parse(passing(line))))


def frame_fresh(dbg: Any, folder: Path, passing: Callable[[str], str] = same) -> Program:
    return frame_program(dbg, folder, passing=passing)


def frame_ran(dbg: Any, folder: Path, passing: Callable[[str], str] = same) -> Program:
    made = frame_program(dbg, folder, passing=passing)
    with dbg.capture("calm") as runs:
        made.result.collect()
    return made._replace(run=runs.latest)


def frame_crashed(dbg: Any, folder: Path, passing: Callable[[str], str] = same) -> Program:
    made = frame_program(dbg, folder, first_number, passing)
    with dbg.capture("crashes") as runs, pytest.raises(Exception, match="invalid literal"):
        made.result.collect()
    return made._replace(run=runs.latest)


def frame_captured(made: Program) -> Any:
    with made.dbg.capture("captured"):
        rows = sorted(map(tuple, made.result.collect()))
    return rows, frame_traced_back(made)


def frame_traced_back(made: Program) -> list[str]:
    return sorted(row.value for row in made.dbg.lineage(made.result).where("word = '7'").goBackAll().collect())


def frame_traced_ahead(made: Program) -> list[Any]:
    return sorted(map(tuple, made.dbg.lineage(made.result).goBackAll().where("value like '7 %'").goNextAll().collect()))


def frame_diagnosed(made: Program) -> list[Any]:
    return [culprit.record.value for culprit in made.run.culprits]


def frame_resumed(made: Program) -> list[Any]:
    return sorted(map(tuple, made.run.resume(skip=True).result))


def frame_replayed(made: Program) -> list[Any]:
    return sorted(map(tuple, made.dbg.lineage(made.result).where("word = '7'").replay(exclude=True).collect()))


def frame_localized(made: Program) -> Any:
    found = made.dbg.localize(made.result, "word = 'bad'")
    return [[""]] if found.incomplete else [[record.record.value for record in faults.records] for faults in found.fault_sets]


SEVEN_ROWS = [line for line in LINES if line.startswith("7 ")]

FRAMES = [
    Operation("captured", frame_fresh, frame_captured, (sorted(FIRSTS.items()), sorted(SEVEN_ROWS))),
    Operation("traced back", frame_ran, frame_traced_back, sorted(SEVEN_ROWS)),
    Operation("traced ahead", frame_ran, frame_traced_ahead, [("7", FIRSTS["7"])]),
    Operation("diagnosed", frame_crashed, frame_diagnosed, [LINES[77]]),
    Operation("resumed", frame_crashed, frame_resumed, sorted((word, count) for word, count in FIRSTS.items() if word != "bad")),
    Operation("replayed", frame_ran, frame_replayed, sorted((word, count) for word, count in FIRSTS.items() if word != "7")),
    Operation("localized", frame_ran, frame_localized, [[LINES[77]]], [[""]]),
]
