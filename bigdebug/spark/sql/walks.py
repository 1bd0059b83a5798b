"""Walks: from records of some levels to those of others, by as many steps as it takes."""

from __future__ import annotations

from bigdebug.spark.sql.far import together
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.names import Names


def walk(steps: Steps, start: Found, goals: frozenset[int], ahead: bool) -> Found:
    """From records to all those of ``goals`` that are met first on some way; what stands at one stays."""
    return _walk(steps, start, goals, ahead, None if ahead else steps.towards(goals))[1]


def traced(steps: Steps, start: Found) -> tuple[Found, Found]:
    """Back to the sources: the names at all levels on the way, and at the sources."""
    return _walk(steps, start, steps.sources, ahead=False, ways=None)


def _walk(steps: Steps, start: Found, goals: frozenset[int], ahead: bool, ways: frozenset[int] | None) -> tuple[Found, Found]:
    """``ways`` are the levels to go by, all if None."""
    todo, found = dict(start), {}
    visited = dict(start)
    while todo:
        # Backward what stands above first, and the other way around: so all ways into a level are known.
        level = min(todo) if ahead else max(todo)
        names = todo.pop(level)
        if level in goals:
            found[level] = names
        elif not steps.ends(level, ahead):
            more = step(steps, {level: names}, ahead, ways, used=goals == {steps.root.id})
            _merge(todo, more)
            _merge(visited, more)
    return visited, found


def step(steps: Steps, start: Found, ahead: bool, ways: frozenset[int] | None = None, used: bool = False) -> Found:
    """From records to those of the levels next to theirs, or of ``ways``; what stands at an end of the query stays.

    ``used`` is as for ``Steps.ahead``.
    """
    found: dict[int, Names] = {}
    for level, names in start.items():
        if names is not None and not len(names):
            continue
        if steps.ends(level, ahead):
            _merge(found, {level: names})
        else:
            _merge(found, steps.ahead(level, names, used) if ahead else steps.back(level, names, ways))
    return found


def _merge(found: dict[int, Names], more: Found) -> None:
    for level, names in more.items():
        found[level] = together([found[level], names]) if level in found else names
