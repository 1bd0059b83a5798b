"""Faults x operations, on executors that are processes of their own (rows T10, U4; laws 1 and 6).

| | captured | traced back | traced ahead | diagnosed | resumed | replayed | localized |
|---|---|---|---|---|---|---|---|
| task fails, is tried again | x | x | x | (a) | x | x | x |
| Python worker exits | x | x | x | (a) | x | x | x |
| executor killed | x | x | x | x | x | x | x |
| executor killed, its shuffle files gone | x | x | x | x | x | x | x |
| shuffle files gone, their executor lives | x | x | x | (a) | x | x | x |
| slow task, speculative copy | x | x | x | x | x | x | x |

What can befall one machine is in tests/spark: damaged blocks, a full disk, an interruption.

Each cell: the operation gives what it gives undisturbed, and nothing is left behind. (a): a function that fails on its own, now and then, is what a diagnosis is
to find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import left
from tests.cluster.faults import Fault, left_in

LINES = [f"{'bad' if n == 77 else n % 13} {n % 5}" for n in range(160)]
"""Line 77 is the one that a parser may not like."""

AT = ("before the shuffle", "behind it")
FAULTS = [*((what, at) for what in ("failed", "exited", "killed", "slow") for at in AT), ("unfetched", AT[1])]


class Job(NamedTuple):
    """A program with a fault in it that is armed when somebody says so."""

    result: Any
    fault: Fault
    path: Path


def words(line: str) -> list[tuple[str, int]]:
    return [(word, 1) for word in line.split()]


def numbers(line: str) -> list[tuple[str, int]]:
    return [(str(int(word)), 1) for word in line.split()]


def program(dbg: Any, folder: Path, what: str, at: str, parse: Callable[[str], Any] = words, letters: str = "4") -> Job:
    """A count of words; a fault may come in a function of its first stage, or of its second."""
    path, fault = folder / "lines.txt", Fault(what, folder, letters)
    path.write_text("".join(f"{line}\n" for line in LINES))
    lines = dbg.context.textFile(str(path), 4)
    lines = lines.map(fault.pass_on) if at == AT[0] else lines
    counts = lines.flatMap(parse).reduceByKey(add, 3)
    counts = counts.map(fault.pass_on) if at == AT[1] else counts
    return Job(counts.map(lambda pair: f"{pair[0]}: {pair[1]}"), fault, path)


def counted(lines: list[str]) -> list[str]:
    """What the program gives on these lines."""
    known: dict[str, int] = {}
    for line in lines:
        for word in line.split():
            known[word] = known.get(word, 0) + 1
    return sorted(f"{word}: {count}" for word, count in known.items())


def behind(lines: list[str], word: str) -> list[int]:
    return [number for number, line in enumerate(lines, 1) if word in line.split()]


@pytest.fixture(autouse=True)
def nothing_left(dbg: Any) -> Iterator[None]:
    """Nothing that a session holds, no half a file, and no lineage of runs that were let go of."""
    with left.nothing_left(dbg):
        yield
        dbg.forget(dbg.runs)
        assert left_in(dbg.store) == []


@pytest.fixture(params=FAULTS, ids=" ".join)
def struck(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param  # type: ignore[no-any-return]


def lines_of(trace: Any) -> list[int]:
    return sorted(origin.line for origin in trace.goBackAll().origins())


def test_captured(dbg: Any, tmp_path: Path, struck: tuple[str, str]) -> None:
    """What was captured while it struck is what an undisturbed run gives, and its lineage is exact: by its tables, and back and ahead."""
    job = program(dbg, tmp_path, *struck)
    job.fault.arm()
    with dbg.capture("struck", strategy="inject") as run:
        assert sorted(job.result.collect()) == counted(LINES)
    assert job.fault.came
    assert run.incomplete == ()
    assert lines_of(job.result.getLineage().where(lambda line: line.startswith("7:"))) == behind(LINES, "7")
    line = job.result.getLineage().goBackAll().at(job.result.getLineage().goBackAll().rids()[:1])
    (word, digit) = LINES[line.origins()[0].line - 1].split()
    assert {told.split(":")[0] for told in line.goNextAll().collect()} == {word, digit}


@pytest.mark.parametrize("ahead", [False, True], ids=["back", "ahead"])
def test_traced(dbg: Any, tmp_path: Path, struck: tuple[str, str], ahead: bool) -> None:
    """A trace that runs stages again, for nothing but counts was kept, is struck while it does."""
    job = program(dbg, tmp_path, *struck)
    with dbg.capture("calm", strategy="lazy"):
        job.result.collect()
    trace = job.result.getLineage()
    job.fault.arm()
    if ahead:
        source = trace.goBackAll()
        assert sorted(source.where(lambda line: line.startswith("7 ")).goNextAll().collect()) == [
            line for line in counted(LINES) if line.split(":")[0] in {word for text in LINES if text.startswith("7 ") for word in text.split()}
        ]
    else:
        assert lines_of(trace.where(lambda line: line.startswith("7:"))) == behind(LINES, "7")
    assert job.fault.came


def crash(dbg: Any, job: Job) -> Any:
    with dbg.capture("crashes") as runs, pytest.raises(Exception, match="invalid literal"):
        job.result.collect()
    return runs.latest


@pytest.mark.parametrize("what", ["killed", "slow"])
def test_diagnosed(dbg: Any, tmp_path: Path, untold: None, what: str) -> None:
    job = program(dbg, tmp_path, what, AT[0], numbers)
    run = crash(dbg, job)
    job.fault.arm()
    assert [(culprit.record, culprit.sources[0].origin.line) for culprit in run.culprits] == [(LINES[77], 78)]
    assert job.fault.came


@pytest.mark.parametrize("what", ["killed", "slow"])
def test_diagnosed_behind_the_shuffle(dbg: Any, tmp_path: Path, untold: None, what: str) -> None:
    """What the executor had shuffled is gone with it, so Spark runs the stage before once more, for a diagnosis."""
    job = program(dbg, tmp_path, what, AT[1])
    crashing = job.result.map(lambda line: int(line.split(":")[0]))
    with dbg.capture("crashes") as runs, pytest.raises(Exception, match="invalid literal"):
        crashing.collect()
    job.fault.arm()
    assert [([origin.origin.line for origin in culprit.sources], culprit.record) for culprit in runs.latest.culprits] == [([78], "bad: 1")]
    assert job.fault.came


def test_resumed(dbg: Any, tmp_path: Path, struck: tuple[str, str]) -> None:
    job = program(dbg, tmp_path, *struck, numbers)
    run = crash(dbg, job)
    assert len(run.culprits) == 1
    job.fault.arm()
    resumed = run.resume(skip=run.culprits.known)
    assert sorted(resumed.result) == counted([line for line in LINES if "bad" not in line])
    assert job.fault.came
    assert lines_of(job.result.getLineage().where(lambda line: line.startswith("7:"))) == behind(LINES, "7")


def test_replayed(dbg: Any, tmp_path: Path, struck: tuple[str, str]) -> None:
    job = program(dbg, tmp_path, *struck)
    with dbg.capture("calm"):
        job.result.collect()
    chosen = job.result.getLineage().where(lambda line: line.startswith("7:"))
    chosen.goBackAll().count()
    job.fault.arm()
    again = chosen.replay(exclude=True)
    assert sorted(again.collect()) == counted([line for line in LINES if "7" not in line.split()])
    assert job.fault.came


def test_localized(dbg: Any, tmp_path: Path, struck: tuple[str, str]) -> None:
    job = program(dbg, tmp_path, *struck, letters="bad")
    with dbg.capture("calm"):
        job.result.collect()
    job.fault.arm()
    found = dbg.localize(job.result, lambda line: line.startswith("bad"))
    assert [[record.origin.line for record in faults.records] for faults in found.fault_sets] == [[78]]
    assert job.fault.came


def test_an_executor_that_dies_takes_no_lineage_along(dbg: Any, tmp_path: Path) -> None:
    """What its tasks had noted is in the store; what they had kept for the next stage, Spark computes again."""
    job = program(dbg, tmp_path, "killed", AT[1])
    with dbg.capture("calm", strategy="inject"):
        job.result.collect()
    before = {word: lines_of(job.result.getLineage().where(partial(_is, word))) for word in ("7", "bad", "3")}
    job.fault.arm()
    assert sorted(job.result.collect()) == counted(LINES)
    assert job.fault.came
    assert {word: lines_of(job.result.getLineage().where(partial(_is, word))) for word in ("7", "bad", "3")} == before


def _is(word: str, line: str) -> bool:
    return line.startswith(f"{word}:")
