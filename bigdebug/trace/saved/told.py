"""Told: what a catalog tells of a run, taken for what it has to be before anything is made of it. Whoever alters a catalog can seal it again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from bigdebug.graph import CallSite, Form, Operator, OperatorGraph
from bigdebug.model import Origin, StageStatistics, Statistics
from bigdebug.trace.origins import SourceFacts
from bigdebug.trace.whereabouts import Whereabouts

Part = TypeVar("Part")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.fine)?")
_MOST_PARTITIONS = 1 << 23
"""Of an operator: as many as a rid tells apart."""
_MOST = 1 << 62
"""What places in files and counts of records are below: two of them can be added."""
_TYPES = ("text", "file", "files", "collection", "range", "rdd")


def text(given: Any) -> str:
    """Raises ValueError for what is no text."""
    if not isinstance(given, str):
        raise ValueError(f"{str(given)[:100]!r} is no text")
    return given


def count(given: Any, most: int = _MOST) -> int:
    """A whole number from 0 on. Raises ValueError for what is none, or larger than any of ours."""
    if type(given) is not int or not 0 <= given < most:
        raise ValueError(f"{str(given)[:100]!r} counts nothing")
    return given


def flag(given: Any) -> bool:
    if type(given) is not bool:
        raise ValueError(f"{str(given)[:100]!r} is neither true nor false")
    return given


def maybe(take: Callable[[Any], Part], given: Any) -> Part | None:
    """What ``take`` makes of it; None of nothing."""
    return None if given is None else take(given)


def each(take: Callable[[Any], Part], given: Any) -> tuple[Part, ...]:
    """What ``take`` makes of each of a list. Raises ValueError for what is none: the letters of a text are none."""
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        raise ValueError(f"{str(given)[:100]!r} is no list")
    return tuple(map(take, given))


def by_text(take: Callable[[Any], Part], given: Any) -> dict[str, Part]:
    """A table of names. Raises ValueError for what is none."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{str(given)[:100]!r} is no table of names")
    return {text(name): take(value) for name, value in given.items()}


def name(given: Any) -> str:
    """The name of a run or a stage, which is that of a folder, too. Raises ValueError for what leads elsewhere."""
    if not isinstance(given, str) or not _ID.fullmatch(given):
        raise ValueError(f"no run and no stage is called {given!r}")
    return given


def partition(given: Any) -> int:
    number = int(given)
    if not 0 <= number < _MOST_PARTITIONS:
        raise ValueError(f"there is no partition {number}")
    return number


def line(given: Mapping[str, Any]) -> CallSite:
    """A line of a program."""
    made = CallSite(**given)
    text(made.file), text(made.code)
    if type(made.line) is not int:
        raise ValueError(f"{made.line!r} is no line")
    return made


def origin(given: Mapping[str, Any]) -> Origin:
    made = Origin(**given)
    text(made.dataset), maybe(text, made.path)
    for number in (made.line, made.row, made.index):
        maybe(count, number)
    return made


def graph(data: Mapping[str, Any]) -> OperatorGraph:
    """The operators and stages of a run, all of which belong together."""
    made = OperatorGraph.load(data)
    for operator in made:
        if not 0 <= operator.partitions <= _MOST_PARTITIONS or any(parent >= operator.id or parent not in made for parent in operator.parents):
            raise ValueError(f"operator {operator.id} is not part of any program")
        _check_told(operator)
        if operator.form is Form.COALESCE:
            parts = made[operator.parents[0]].partitions
            if any(count(part) >= parts for parts_of in each(_list, operator.detail["groups"]) for part in parts_of):
                raise ValueError(f"operator {operator.id} is made of partitions that there are not")
    for stage in made.stages:
        name(stage.id), flag(stage.fetches), flag(stage.adopted), count(stage.branch)
        known = [stage.reads, *stage.operators, *([] if stage.feeds is None else [stage.feeds])]
        if not all(segment.operators for segment in stage.segments) or any(type(operator) is not int or operator not in made for operator in known):
            raise ValueError(f"stage {stage.id} has other operators than its program")
    return made


def _list(given: Any) -> tuple[Any, ...]:
    return each(lambda one: one, given)


def _check_told(operator: Operator) -> None:
    """See that what is shown of an operator is text."""
    if type(operator.id) is not int or not isinstance(operator.detail, dict):
        raise ValueError(f"{operator.id!r} is no operator")
    text(operator.name), maybe(text, operator.dataset)
    if operator.call_site is not None:
        line(vars(operator.call_site))


def sources(data: Any, made: OperatorGraph, frame: bool) -> dict[int, Any]:
    """Where the records of each source came from."""
    found = {int(operator): Whereabouts.load(facts) if frame else SourceFacts.load(facts) for operator, facts in by_text(dict, data).items()}
    for operator, facts in found.items():
        if operator not in made:
            raise ValueError(f"the program has no source {operator}")
        text(facts.dataset)
        for stamp in facts.stamps:
            text(stamp.path)
            for number in (stamp.size, stamp.modified, stamp.replaced):
                if type(number) is not int:  # times before 1970 are below 0
                    raise ValueError(f"{number!r} is no size and no time")
        if isinstance(facts, Whereabouts):
            each(lambda place: (maybe(text, place[0]), count(place[1])), facts.places)
        else:
            _check_facts(facts, made[operator].partitions)
    return found


def _check_facts(facts: SourceFacts, partitions: int) -> None:
    if any(len(parts) not in (0, partitions) for parts in (facts.splits, facts.files)):
        raise ValueError(f"{facts.dataset} was not read in {partitions} partitions")
    if facts.type not in _TYPES:
        raise ValueError(f"there are no sources of type {facts.type!r}")
    for split in facts.splits:
        text(split.path), count(split.start), count(split.length)
    for paths in facts.files:
        each(text, paths)
    if min(count(facts.batch), count(facts.slices)) < 1:
        raise ValueError("a collection is cut into some slices, of some records")
    count(facts.length), flag(facts.plain), text(facts.broken)


def statistics(data: Mapping[str, Any]) -> Statistics:
    stages = tuple(StageStatistics(str(s["stage"]), tuple(map(int, s["operators"])), int(s["bytes"]), float(s["seconds"])) for s in data["stages"])
    records = {int(operator): int(number) for operator, number in data["records"].items()}
    return Statistics(int(data["records_in"]), int(data["records_out"]), int(data["bytes"]), float(data["seconds"]), records, stages)
