"""Records that may change are made again of what quick steps made them of, where that is seen to give the same; else they are pickled."""

from __future__ import annotations

import functools
import itertools
import json
import pickle
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.guards.guard import Guard
from bigdebug.agents.guards.origins import Origins
from bigdebug.agents.guards.repeatable import Repeatable
from bigdebug.agents.guards.stage import guarded_segment
from bigdebug.agents.notes import Notes
from bigdebug.agents.segments import Filter, FlatMap, Map, Offsets, OneToOne, Paired

FIELD = re.compile(r"\d+")
NAMES = ["id", "name"]
CALLS = Counter[str]()
DRAWS = random.Random(5)
NUMBERS = itertools.count()


class Point(NamedTuple):
    x: int


def cells(line: str) -> list[str]:
    return line.split(",")


def by_name(line: str) -> dict[str, str]:
    return dict(zip(NAMES, line.split(",")))


def by_json(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as problem:
        raise ValueError(line) from problem


def counted(line: str) -> list[str]:
    CALLS["all"] += 1
    return [line]


def numbered(line: str) -> list[Any]:
    return [next(NUMBERS), line]


def drawn(line: str) -> list[Any]:
    return [DRAWS.random(), line]


def randomly(line: str) -> list[Any]:
    return [random.random(), line]


LATEST = ""


def remembering(line: str) -> list[str]:
    global LATEST  # noqa: PLW0603
    LATEST = line
    return [line]


def marked(line: str) -> list[str]:
    marked.latest = line  # type: ignore[attr-defined]
    return [line]


def printed(line: str) -> list[str]:
    print(line)  # noqa: T201
    return [line]


def enclosing() -> list[Callable[[str], Any]]:
    total, separator = 0, ","

    def adding(line: str) -> list[Any]:
        nonlocal total
        total += 1
        return [total, line]

    def cut(line: str) -> list[str]:
        return [each.strip() for each in line.split(separator)]

    return [adding, cut]


ADDING, CUT = enclosing()
CERTAIN = [
    cells, by_name, by_json, CUT, str.split, len, FIELD.findall, functools.partial(re.split, ","), lambda line: [float(each) for each in line.split(",")],
    lambda line: sorted(FIELD.findall(line), key=lambda each: -int(each)), lambda line, names=("a", "b"): dict(zip(names, cells(line))),
]
UNCERTAIN = [
    counted, numbered, drawn, randomly, remembering, marked, printed, ADDING, DRAWS.random, CALLS.update, functools.lru_cache(cells), lambda line: Point(int(line)),
    lambda line: [open(line).read()], lambda line: [no_such_name],  # type: ignore[name-defined]  # noqa: F821
]


@pytest.mark.parametrize("function", CERTAIN)
def test_what_only_answers_may_be_called_again(function: Callable[..., Any]) -> None:
    seen = Repeatable([function])
    assert seen.certain
    assert not seen.changed()


@pytest.mark.parametrize("function", UNCERTAIN)
def test_what_may_do_more_is_not_called_again(function: Callable[..., Any]) -> None:
    assert not Repeatable([cells, function]).certain


def test_what_a_function_sees_has_changed() -> None:
    seen: list[str] = []

    def noting(line: str) -> list[str]:
        if line not in seen:
            seen.append(line)
        return [line]

    functions = Repeatable([noting])
    assert functions.certain
    noting("a")
    assert functions.changed()


@pytest.fixture(scope="module", autouse=True)
def soon() -> Iterator[None]:
    """A trial of a few records, however slow the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bigdebug.agents.guards.origins._TRIAL", 2)
        patch.setattr("bigdebug.agents.guards.origins._COMPARED", 2)
        patch.setattr("bigdebug.agents.guards.origins._QUICK", 1.0)
        yield


class Ran(NamedTuple):
    outputs: list[Any]
    crashes: list[tuple[int, int | None, Any, str]]
    """The segment, position, record and exception of each."""
    lost: bool
    offsets: list[int]
    levels: tuple[int, ...]


def ran(run: OneToOne | Offsets, function: Callable[[Iterable[Any]], Iterable[Any]], records: Iterable[Any]) -> Ran:
    guard, notes, origins = Guard(pickle.dumps, 10_000), Notes(levels=[None]), Origins.of(run.steps)
    first = guarded_segment(run, tuple(range(len(run.steps))), 0, guard, None, origins)
    second = guarded_segment(Paired(lambda split, rows: function(rows)), (len(run.steps),), 1, guard, origins, None)
    passing = first.run(0, iter(records), notes, "segment0", RuntimeError)
    outputs = list(second.run(0, passing, notes, "segment1", RuntimeError))
    crashes = [(c.segment, c.position, None if c.record is None else pickle.loads(c.record), c.raised[0]) for c in guard.crashes]
    return Ran(outputs, crashes, guard.lost, notes.columns["segment0.offsets"]().tolist(), notes.counts(len(outputs)))


def popping(rows: Iterable[list[str]]) -> Iterator[float]:
    """Leaves nothing of what it is given."""
    for row in rows:
        yield 1 / int(row.pop())


def popping_at_once(rows: Iterable[list[str]]) -> list[float]:
    return [1 / int(row.pop()) for row in list(rows)]


LINES = st.lists(st.sampled_from(["0", "1", "a,2", "b,5", "x", "a,x", "!", "?"]), max_size=14)


def strict(line: str) -> list[str]:
    return line.split(",")[:1 // (line != "!") + 1]


def is_asked(row: list[str]) -> bool:
    return row != ["?"]


@pytest.mark.parametrize("function", [popping, popping_at_once])
@pytest.mark.parametrize("filters", [False, True])
@given(lines=LINES)
def test_records_are_told_as_they_were_and_where_they_were(filters: bool, function: Any, lines: list[str]) -> None:
    steps = (Map(strict), Filter(is_asked)) if filters else (Map(strict),)
    got = ran(OneToOne(steps) if not filters else Offsets(steps), function, lines)
    wrong = {"0": "ZeroDivisionError", "x": "ValueError", "?": "ValueError"}
    inner = [(0, at, "!", "ZeroDivisionError") for at, line in enumerate(lines) if line == "!"]
    passed = [line for line in lines if line != "!" and not (filters and line == "?")]
    outer = [(1, at, line.split(","), wrong[line.split(",")[-1]]) for at, line in enumerate(passed) if line.split(",")[-1] in wrong]
    assert sorted(got.crashes, key=repr) == sorted([*inner, *outer], key=repr)
    assert got.outputs == [1 / int(line.split(",")[-1]) for line in passed if line.split(",")[-1] not in wrong]
    gives = np.array([line != "!" and not (filters and line == "?") for line in lines], dtype=int)
    assert got.offsets == (np.cumsum(gives) - gives).tolist()
    assert (got.levels[0], got.levels[1], got.lost) == (len(lines), len(passed), False)


def test_a_step_that_may_give_more_than_one_has_no_origins() -> None:
    assert Origins.of((Map(cells), FlatMap(cells))) is None


def failing_late(rows: Iterable[list[Any]]) -> Iterator[Any]:
    for row in rows:
        if row[-1] == "50":
            raise KeyError(row.pop())
        yield row.pop()


def timed(line: str) -> list[Any]:
    return [time.perf_counter(), line]


def test_records_that_are_made_otherwise_at_once_are_pickled() -> None:
    assert Repeatable([timed]).certain
    got = ran(OneToOne((Map(timed),)), failing_late, map(str, range(60)))
    assert [(at, record[1]) for _, at, record, _ in got.crashes] == [(50, "50")]
    assert got.outputs[:50] == [str(n) for n in range(50)]


@pytest.mark.parametrize("function", [numbered, randomly, counted])
def test_records_that_are_other_ones_each_time_are_told_as_they_were(function: Callable[[str], list[Any]]) -> None:
    made: list[list[Any]] = []

    def noting(line: str) -> list[Any]:
        made.append(function(line))
        return [*made[-1]]

    got = ran(OneToOne((Map(noting),)), failing_late, map(str, range(60)))
    assert [(at, record) for _, at, record, _ in got.crashes] == [(50, made[50])]
    assert len(made) == 60


def test_origins_that_may_change_themselves_are_not_held() -> None:
    rows = [[str(n)] for n in range(1, 11)]
    rows[7] = ["x"]

    def appended(row: list[str]) -> list[str]:
        row.append(row[0])
        return row

    got = ran(OneToOne((Map(appended),)), popping, rows)
    assert [(at, record) for _, at, record, _ in got.crashes] == [(7, ["x", "x"])]


def test_records_that_cannot_be_pickled_are_told_all_the_same() -> None:
    def with_function(line: str) -> list[Any]:
        return [(lambda: line), line]

    def inverse(rows: Iterable[list[Any]]) -> Iterator[float]:
        for row in rows:
            yield 1 / int(row[1])

    got = ran(OneToOne((Map(with_function),)), inverse, ["1", "2", "3", "4", "x", "5"])
    assert [at for _, at, _, _ in got.crashes] == [4]
    assert len(got.outputs) == 5


def test_what_was_held_is_let_go_of_when_records_are_made_otherwise_than_before() -> None:
    names = ["a"]

    def named(line: str) -> list[Any]:
        return [*names, line]

    def renaming(rows: Iterable[list[Any]]) -> Iterator[Any]:
        for at, row in enumerate(rows):
            if at == 5_000:
                names.append("b")
            if row[-1] == "9000":
                raise ValueError(row)
            yield row.pop()

    got = ran(OneToOne((Map(named),)), renaming, map(str, range(9_500)))
    assert [(at, record) for _, at, record, _ in got.crashes] == [(9_000, ["a", "b", "9000"])]
    assert len(got.outputs) == 9_499


def test_records_that_cannot_be_made_again_are_not_told_otherwise() -> None:
    names = ["a"]

    def named(line: str) -> list[Any]:
        return [*names, line]

    def at_the_end(rows: Iterable[list[Any]]) -> list[int]:
        lengths = []
        for at, row in enumerate(rows):
            if at == 5_000:
                names.append("b")
            lengths.append(1_000 if row[-1] == "100" else len(row))
        if 1_000 in lengths:
            raise ValueError
        return lengths

    got = ran(OneToOne((Map(named),)), at_the_end, map(str, range(9_500)))
    assert got.lost
    assert all(record != ["a", "b", "100"] for _, _, record, _ in got.crashes)
