"""Records that may change are made again of what quick steps made them of, where that is seen to give the same; else they are pickled."""

from __future__ import annotations

import base64
import builtins
import csv
import datetime as dt
import functools
import itertools
import json
import math
import operator
import os.path
import pickle
import random
import re
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.guards.guard import Guard
from bigdebug.agents.guards.inputs import Inputs
from bigdebug.agents.guards.repeatable import Repeatable
from bigdebug.agents.guards.stage import guarded_segment
from bigdebug.agents.notes import Notes
from bigdebug.agents.segments import Filter, FlatMap, Map, Offsets, OneToOne, Paired

FIELD = re.compile(r"\d+")
NAMES = ["id", "name"]
HEADER = ("id", "name")
CALLS = Counter[str]()
DRAWS = random.Random(5)
NUMBERS = itertools.count()


class Point(NamedTuple):
    x: int


def cells(line: str) -> list[str]:
    return line.split(",")


def by_name(line: str) -> dict[str, str]:
    return dict(zip(HEADER, line.split(",")))


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


def attributed(line: str) -> list[Any]:
    SEEN["n"] = SEEN.get("n", 0) + 1
    return [line]


SEEN: dict[str, int] = {}
WIDTHS = {"a": 1, "b": 2}


def collecting(line: str) -> list[Any]:
    try:
        return [int(line)]
    except ValueError:
        NAMES.append(line)
        return [None]


def with_attribute(line: str) -> list[Any]:
    with_attribute.seen["n"] = 1  # type: ignore[attr-defined]
    return [line]


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def logging(*given: Any) -> Any:
        CALLS["all"] += 1
        return function(*given)

    return logging


def classy(line: str) -> list[Any]:
    class Row:
        number = next(NUMBERS)

    return [Row.number, line]


def importing(line: str) -> list[Any]:
    from .calendar import post  # type: ignore[import-not-found]

    return [post(line)]


class Loud(Exception):
    def __init__(self, text: str) -> None:
        CALLS[text] += 1


class Quiet(ValueError):
    """As most exceptions of users are."""


def recursive(line: str) -> list[Any]:
    return [line, recursive(line[1:])] if line else []


def now(line: str) -> list[Any]:
    return [line, time.strftime("%Y")]


def loud(line: str) -> list[Any]:
    return [line] if line else [Loud(line)]


def quiet(line: str) -> list[Any]:
    if not line:
        raise Quiet(line)
    return [line, math.floor(2.5), operator.add(1, 2), os.path.basename(line)]


class State:
    rate = 1


class Told(ValueError):
    def report(self) -> str:
        CALLS["told"] += 1
        return "told"


def telling(line: str) -> list[Any]:
    try:
        return [int(line)]
    except Told as problem:
        return [problem.report()]


def aliased(line: str) -> list[Any]:
    seen = NAMES
    seen.append(line)
    return [line]


CERTAIN = [
    cells, by_name, by_json, CUT, str.split, len, FIELD.findall, lambda line: [float(each) for each in line.split(",")], recursive, ",".join, operator.itemgetter(0),
    lambda line: sorted(FIELD.findall(line), key=lambda each: -int(each)), lambda line, names=("a", "b"): dict(zip(names, cells(line))), quiet,
    lambda line: [datetime.fromisoformat(line), timedelta(1), math.pi], lambda line: str.split(line, ","),
    lambda line: [urllib.parse.unquote(line), base64.b64decode(line)], lambda line: [dt.datetime.fromisoformat(line)],
]
UNCERTAIN = [
    counted, numbered, drawn, randomly, remembering, marked, printed, ADDING, DRAWS.random, CALLS.update, functools.lru_cache(cells), lambda line: Point(int(line)),
    lambda line: [open(line).read()], attributed, collecting, with_attribute, logged(json.loads), classy, importing, loud, now, telling, aliased,
    lambda line: [builtins.print(line)],  # noqa: T201
    lambda line: [datetime.now(), line], lambda line: [time.time(), line], lambda line: [functools.sys.stdout.write(line)],  # type: ignore[attr-defined]
    lambda line: [csv.field_size_limit(5)], lambda line: [json.codecs.open(line)],  # type: ignore[attr-defined]
    lambda line: [urllib.request.urlopen(line)], lambda line: [setattr(line, "a", 1)],  # type: ignore[func-returns-value]
    lambda line: [operator.setitem(WIDTHS, line, 1)], lambda line: [cells.__dict__, line], lambda line: [no_such_name],  # type: ignore[name-defined]  # noqa: F821
    lambda line: [datetime.strptime(line, "%Y")], lambda line: next(csv.reader([line])), lambda line: [EPOCH.isoformat(), line],
    lambda line: [datetime.fromordinal(int(line)).timestamp()], lambda line: [WIDTHS.get(line)], lambda line: [State.rate, line], lambda line: [Decimal(line) / 7], lambda line: [dt.datetime.now(), line],
    lambda line: [dt.date.today()], lambda line: [line.at.now()], lambda line: [(d := datetime), d.now()], lambda line: [RATE * int(line)], lambda line: [Decimal.sqrt(RATE)], operator.methodcaller("now"), functools.partial(cells),
    lambda line: json.loads.__globals__["codecs"], lambda line: [type(line), line], lambda line: [line.__class__], lambda line: [{1, 2} & WORDS],
]
WORDS = {"a", "b"}
RATE = Decimal("1.1")


class Zone(dt.tzinfo):
    def utcoffset(self, _: Any) -> timedelta:
        return timedelta(hours=CALLS["hours"])


EPOCH = datetime(1970, 1, 1, tzinfo=Zone())


@pytest.mark.parametrize("function", CERTAIN)
def test_what_only_answers_may_be_called_again(function: Callable[..., Any]) -> None:
    seen = Repeatable([function])
    assert seen.copies is not None
    assert all(look() is value for look, value in seen.names)
    if function in (cells, by_name, CUT, recursive):
        copied: Any = seen.copies[0]
        assert copied("a,b") == function("a,b")


@pytest.mark.parametrize("function", UNCERTAIN)
def test_what_may_do_more_is_not_called_again(function: Callable[..., Any]) -> None:
    assert Repeatable([cells, function]).copies is None


def test_a_copy_answers_as_the_function_did() -> None:
    separator = ","

    def inner(line: str) -> list[str]:
        return line.split(separator)

    def outer(line: str) -> list[str]:
        return [each.strip() for each in inner(line)]

    functions = Repeatable([outer])
    assert {value for _, value in functions.names} == {inner, ","}
    separator = ";"
    assert [value for look, value in functions.names if look() is not value] == [","]
    assert functions.copies is not None
    assert functions.copies[0]("a,b;c") == ["a", "b;c"]
    assert outer("a,b;c") == ["a,b", "c"]


@pytest.fixture(scope="module", autouse=True)
def soon() -> Iterator[None]:
    """A trial of a few records, however slow the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bigdebug.agents.guards.inputs._TRIAL", 2)
        patch.setattr("bigdebug.agents.guards.inputs._QUICK", 1.0)
        yield


class Ran(NamedTuple):
    outputs: list[Any]
    crashes: list[tuple[int, int | None, Any, str]]
    """The segment, position, record and exception of each."""
    lost: bool
    offsets: list[int]
    levels: tuple[int, ...]


def ran(run: OneToOne | Offsets, function: Callable[[Iterable[Any]], Iterable[Any]], records: Iterable[Any]) -> Ran:
    guard, notes, inputs = Guard(pickle.dumps, 10_000), Notes(levels=[None]), Inputs.of(run.steps)
    first = guarded_segment(run, tuple(range(len(run.steps))), 0, guard, None, inputs)
    second = guarded_segment(Paired(lambda split, rows: function(rows)), (len(run.steps),), 1, guard, inputs, None)
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


def test_a_step_that_may_give_more_than_one_has_no_inputs() -> None:
    assert Inputs.of((Map(cells), FlatMap(cells))) is None


def failing_late(rows: Iterable[list[Any]]) -> Iterator[Any]:
    for row in rows:
        if row[-1] == "50":
            raise KeyError(row.pop())
        yield row.pop()


@pytest.mark.parametrize("function", [numbered, randomly, counted])
def test_records_that_are_other_ones_each_time_are_told_as_they_were(function: Callable[[str], list[Any]]) -> None:
    made: list[list[Any]] = []

    def noting(line: str) -> list[Any]:
        made.append(function(line))
        return [*made[-1]]

    got = ran(OneToOne((Map(noting),)), failing_late, map(str, range(60)))
    assert [(at, record) for _, at, record, _ in got.crashes] == [(50, made[50])]
    assert len(made) == 60


def test_inputs_that_may_change_themselves_are_not_held() -> None:
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


def test_names_that_mean_something_else_and_the_same_again() -> None:
    section = "none"

    def lines() -> Iterator[str]:
        nonlocal section
        for n in range(5_000):
            section = "begin" if 3_000 <= n < 3_010 else "none"
            yield "x" if n in (3_005, 4_000) else str(n)

    def in_chunks(rows: Iterable[list[Any]]) -> Iterator[Any]:
        source = iter(rows)
        while chunk := list(islice(source, 500)):
            yield from [int(row[1]) for row in chunk]

    got = ran(OneToOne((Map(lambda line: [section, line]),)), in_chunks, lines())
    assert [(at, record) for _, at, record, _ in got.crashes] == [(3_005, ["begin", "x"]), (4_000, ["none", "x"])]
    assert (len(got.outputs), got.lost) == (4_998, False)


def test_a_class_that_others_change() -> None:
    def rates(rows: Iterable[list[int]]) -> list[float]:
        known = list(rows)
        State.rate = 0
        return [1 / (row[0] - 2_500) for row in known]

    got = ran(OneToOne((Map(lambda line: [int(line) * State.rate]),)), rates, map(str, range(3_000)))
    State.rate = 1
    assert [(at, record) for _, at, record, _ in got.crashes] == [(2_500, [2_500])]
    assert len(got.outputs) == 2_999


def test_rows_that_a_function_changes_when_it_has_used_them() -> None:
    def altering(rows: Iterable[list[str]]) -> Iterator[int]:
        source = iter(rows)
        while chunk := list(islice(source, 700)):
            yield from [int(row[-1]) for row in chunk]
            for row in chunk:
                row.clear()

    lines = ["0,x" if n == 2_500 else f"0,{n}" for n in range(3_000)]
    got = ran(OneToOne((Map(cells),)), altering, lines)
    assert [(at, record) for _, at, record, _ in got.crashes] == [(2_500, ["0", "x"])]
    assert len(got.outputs) == 2_999


def test_what_is_done_on_odd_records_is_not_done_again() -> None:
    bad: list[str] = []

    def parsed(line: str) -> list[Any]:
        try:
            return [int(line)]
        except ValueError:
            bad.append(line)
            return [None]

    def strict_about_all(rows: Iterable[list[Any]]) -> Iterator[Any]:
        for row in rows:
            if len(bad) > 2:
                raise RuntimeError("too many bad lines")
            if row[0] is None:
                raise ValueError
            yield row

    lines = ["?" if n in (3_000, 5_000) else str(n) for n in range(6_000)]
    got = ran(OneToOne((Map(parsed),)), strict_about_all, lines)
    assert [(at, record) for _, at, record, _ in got.crashes] == [(3_000, [None]), (5_000, [None])]
    assert bad == ["?", "?"]


def test_names_that_mean_something_else_later() -> None:
    header = ("name", "id")

    def reading(lines: Iterable[str]) -> Iterator[str]:
        nonlocal header
        for at, line in enumerate(lines):
            if at == 3_000:
                header = ("id", "name")
            yield line

    def numbers(rows: Iterable[dict[str, str]]) -> list[int]:
        return [int(row["id"]) for row in list(rows)]

    step = Map(lambda line: dict(zip(header, line.split(","))))
    lines = [f"a,{n}" if n < 3_000 else f"{n},a" for n in range(4_000)]
    lines[3_500] = "x,a"
    got = ran(OneToOne((step,)), numbers, reading(lines))
    assert [(at, record) for _, at, record, _ in got.crashes] == [(3_500, {"id": "x", "name": "a"})]
    assert len(got.outputs) == 3_999


def test_long_inputs_of_short_records_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.agents.guards.inflight.KEPT_BYTES", 100_000)

    def summed(rows: Iterable[list[str]]) -> list[int]:
        return [sum([int(row[0]) for row in rows])]

    lines = [f"{'x' if n == 10 else n},{'-' * 5_000}" for n in range(500)]
    got = ran(OneToOne((Map(lambda line: line.split(",")[:1]),)), summed, lines)
    assert [(at, record) for _, at, record, _ in got.crashes] == [(10, ["x"])]
    assert not got.lost


@pytest.mark.parametrize("function", [popping, popping_at_once])
def test_with_a_trial_as_long_as_it_is(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.agents.guards.inputs._TRIAL", 1_000)
    bad = (0, 500, 999, 1_000, 1_001, 2_500, 4_999)
    lines = ["x" if n in bad else f"{n},{n + 1}" for n in range(5_000)]
    got = ran(OneToOne((Map(cells),)), function, lines)
    assert [(at, record) for _, at, record, _ in got.crashes] == [(at, ["x"]) for at in bad]
    assert len(got.outputs) == 5_000 - len(bad)
    assert not got.lost


def crashing(at: str, change: Callable[[], None]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function over an iterator that changes something at the record of 2,000, and crashes at another one."""

    def function(rows: Iterable[Any]) -> Iterator[Any]:
        for row in rows:
            if row[0] == "2000":
                change()
            if row[0] == at:
                raise ValueError(row)
            yield row

    return function


def test_a_name_of_what_is_pure_is_compared_as_well() -> None:
    parse: Any = int

    def parsed(line: str) -> list[Any]:
        return [line, parse(line)]

    def change() -> None:
        nonlocal parse
        parse = float

    got = ran(OneToOne((Map(parsed),)), crashing("2500", change), map(str, range(3_000)))
    assert [repr(record) for *_, record, _ in got.crashes] == ["['2500', 2500.0]"]


def test_a_name_that_hides_what_is_built_in() -> None:
    names: dict[str, Any] = {"__builtins__": builtins}
    exec("def parsed(line): return [line, int(line)]", names)
    got = ran(OneToOne((Map(names["parsed"]),)), crashing("2500", lambda: names.update(int=float)), map(str, range(3_000)))
    assert [repr(record) for *_, record, _ in got.crashes] == ["['2500', 2500.0]"]


def test_a_function_of_a_module_that_is_another_one_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(line: str) -> list[Any]:
        return [line, json.loads(line)]

    got = ran(OneToOne((Map(loaded),)), crashing("2500", lambda: monkeypatch.setattr(json, "loads", float)), map(str, range(3_000)))
    monkeypatch.undo()
    assert [repr(record) for *_, record, _ in got.crashes] == ["['2500', 2500.0]"]


def test_a_function_that_is_changed_itself() -> None:
    def times(line: str, rate: int = 1) -> list[Any]:
        return [line, int(line) * rate]

    def change() -> None:
        times.__defaults__ = (10,)

    got = ran(OneToOne((Map(times),)), crashing("2500", change), map(str, range(3_000)))
    assert got.lost
    assert not [record for *_, record, _ in got.crashes if record is not None]


def test_a_name_that_means_nothing_any_more() -> None:
    header: Any = "h"

    def headed(line: str) -> list[Any]:
        return [line, header] if line == "never" else [line]

    def change() -> None:
        nonlocal header
        with suppress(NameError):  # it is called again
            del header

    got = ran(OneToOne((Map(headed),)), crashing("2500", change), map(str, range(3_000)))
    assert [(at, record) for _, at, record, _ in got.crashes] == [(2_500, ["2500"])]
    assert len(got.outputs) == 2_999


def test_a_header_that_cannot_be_pickled() -> None:
    pattern = re.compile(r"(\w+),(\w+)")

    def widths(rows: Iterable[Any]) -> Iterator[Any]:
        source = iter(rows)
        width = len(next(source).group(2))
        for row in source:
            if len(row.group(2)) != width:
                raise ValueError(row.group(0))
            yield row.group(1)

    lines = [f"{n},{'ab' if n in (500, 501, 700) else 'abc'}" for n in range(900)]
    got = ran(OneToOne((Map(pattern.match),)), widths, lines)
    assert [at for _, at, _, _ in got.crashes] == [500, 501, 700]
    assert len(got.outputs) == 899 - 3
