"""Containment: a job, its stages, their tasks and operators; and which of them records came through (Newt 3.1, Ibis). A question may start at one level and end at another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigdebug.errors import UnknownOperatorError, UnknownStepError, UntraceableError
from bigdebug.graph import Stage
from bigdebug.trace.across.located import Located
from bigdebug.trace.across.step import Parted, Step, contained, named, parted
from bigdebug.trace.counts import records
from bigdebug.trace.places import Places, union
from bigdebug.trace.sourced import Sourced

LEVELS = ("job", "stage", "task", "operator")
"""Of what processes data, from what contains to what is contained."""


@dataclass(frozen=True)
class Part:
    """A part of a step: a stage of its run, a task of it (one partition), or an operator in a task, or in no ``stage`` of ours: Spark's own, as a union that another reads, or a source.
    A step that is not known in parts is one itself.

    ``name`` is what the stage computes, or the operator; ``records`` is how many came through, -1 where that was not counted.
    """

    step: str
    stage: str = ""
    partition: int | None = None
    operator: int | None = None
    name: str = ""
    records: int = -1


@dataclass(frozen=True, eq=False)
class Came:
    """What a flow has of a step: the ``outputs`` that it wrote, or, of one that wrote none, the inputs that it was ``asked`` about, as it counts them (None: all that it gave), or
    the trace, or the culprit, that is ``held``. ``ahead`` says which way the flow goes.
    """

    ahead: bool
    outputs: Sequence[Located] = ()
    asked: Sequence[Located] | None = None
    held: Any = None


def parts(step: Step) -> list[Part]:
    """All tasks of a step, stage by stage, with the records that each gave. One part for a step of which no stages are known."""
    known = parted(step)
    if known is None:
        return [Part(step.id, name=step.name)]
    graph = known.run.graph
    if not graph.stages:
        return [Part(step.id, name=step.name)]
    return [
        Part(step.id, stage.id, partition, name=str(graph[_end(known, stage)]), records=count)
        for stage in graph.stages for partition, count in sorted(records(known.lineage, _end(known, stage)).items())
    ]


def _end(step: Parted, stage: Stage) -> int:
    """The last operator of a stage that the result was made of: how it was saved comes behind it."""
    counts = step.run.graph.upstream(step.run.subject)
    return next((o for o in reversed(stage.operators) if o in counts), stage.reads)


def records_of(step: Parted, stage: str | None, partition: int | None, operator: int | None) -> Any:
    """The trace over what a part of a step gave: the records at the end of a stage, or at an operator; in all partitions if none is named.

    Raises UnknownOperatorError for a part that the step does not have.
    """
    graph = step.run.graph
    if (stage is None) == (operator is None):
        raise TypeError("a part is named by its stage, or by its operator: pipeline.parts(step) lists them")
    at = graph[_end(step, _stage(step, stage)) if stage is not None else int(operator or 0)].id
    counts = records(step.lineage, at)
    if partition is not None and partition not in counts:
        raise UnknownOperatorError(
            f"{named(step)} computed no such partition of {graph[at]}", value=partition, remedy=f"It has the partitions {_few(sorted(counts))}.",
        )
    chosen = counts if partition is None else {partition: counts[partition]}
    return step.trace({at: {p: np.arange(count, dtype=np.int64) for p, count in chosen.items()}})


def _stage(step: Parted, name: str) -> Stage:
    for stage in step.run.graph.stages:
        if stage.id == name:
            return stage
    known = [stage.id for stage in step.run.graph.stages]
    raise UnknownOperatorError(f"{named(step)} has no such stage", value=name, remedy=f"It has {', '.join(known) or 'none'}.")


def _few(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "") if numbers else "none"


def passed(step: Step, level: str, came: Came) -> list[Part]:
    """The stages, tasks or operators of a step in which records were made that a flow's records at the end of the step were made of. The step itself, where no stages are known, and
    of a culprit, of which it is known where its sources stand, and not what they came through.

    Of operators inside a stage those are named that lie between two at which a trace stops: all that goes from the one to the other passes them.
    """
    known = parted(step)
    culprit = isinstance(came.held, Sourced) and not came.ahead
    if known is None or level == "job" or culprit or (level != "operator" and not known.run.graph.stages):
        return [Part(step.id, name=step.name)]
    graph, found = known.run.graph, dict[tuple[str, int, int], int]()
    staged = {o for stage in graph.stages for o in (stage.reads, *stage.operators)}
    stood: dict[int, Places] = {}
    for before, after in _hops(known, _ended(known, came)):
        here = {o for a in after for o in graph.upstream(a)}
        for operator, now in before.items():
            places = stood[operator] = union(stood.get(operator, {}), now)  # two ways lead there, and one may be longer
            if operator not in staged:
                found.update({("", partition, operator): len(positions) for partition, positions in places.items() if len(positions)})
            between = graph.downstream(operator) & here
            # A stage that reads where the trace begins has these records, whatever it does with them: how a result is saved is no part of what it was made by.
            for stage in (s for s in graph.stages if s.reads == operator and ({s.feeds, *s.operators} & here or operator in after or s.ends == operator)):
                inside = [o for o in (operator, *stage.operators) if o in between]
                for partition, positions in places.items():
                    if len(positions):
                        found.update({(stage.id, partition, o): len(positions) if o == operator else -1 for o in inside})
    return _together(known, found, level)


def _ended(step: Parted, came: Came) -> Any:
    """The trace over a flow's records at the end of a step."""
    if came.held is not None and not (came.ahead and came.outputs):
        held = getattr(came.held, "trace", came.held)
        return held.goNextAll() if came.ahead else held
    if came.outputs:
        return step.trace(step.results_at(came.outputs))
    return step.trace(step.results() if came.asked is None else step.results_of(came.asked))


def _hops(step: Parted, trace: Any) -> Iterator[tuple[Mapping[int, Places], set[int]]]:
    """From where a stage begins to where the one before does, back to the sources: where records stand, and the operators from which the trace came there.

    A stage that reads what is cached begins inside of what would be one, where ``goBack()`` does not stop.
    """
    graph = step.run.graph
    sources = {source.id for source in graph.sources}
    begins = {operator.id for operator in graph if operator.boundary} | {stage.reads for stage in graph.stages}
    came: set[int] = set(trace.operators)
    yield trace.standing, came
    while not sources.issuperset(trace.operators):
        trace = trace.back_to_first(begins)
        yield trace.standing, came
        came = came | set(trace.operators)


def _together(step: Parted, found: Mapping[tuple[str, int, int], int], level: str) -> list[Part]:
    """The stages in the order in which data went."""
    graph = step.run.graph
    order = {"": -1, **{stage.id: number for number, stage in enumerate(graph.stages)}}
    ends = {stage.id: str(graph[_end(step, stage)]) for stage in graph.stages}
    every = sorted(found.items(), key=lambda each: (order[each[0][0]], *each[0][1:]))
    if level == "operator":
        return [Part(step.id, stage, partition, o, str(graph[o]), count) for (stage, partition, o), count in every]
    if level == "task":
        return [Part(step.id, stage, partition, name=ends[stage]) for stage, partition in dict.fromkeys((s, p) for (s, p, _), _ in every if s)]
    return [Part(step.id, stage, name=ends[stage]) for stage in dict.fromkeys(s for (s, _, _), _ in every if s)]


def within(steps: Sequence[Step], step: Step) -> list[Step]:
    """The steps that one contains, directly or not."""
    inside = {step.id}
    found: list[Step] = []
    growing = True
    while growing:
        more = [s for s in steps if s.id not in inside and (known := contained(s)) is not None and inside & set(known.parents)]
        inside.update(s.id for s in more)
        found += more
        growing = bool(more)
    return found


def refuse_parts(step: Step) -> Parted:
    """The step, if its parts are known. Raises UntraceableError."""
    known = parted(step)
    if known is None:
        raise UntraceableError(
            f"The stages and tasks of {named(step)} are not known: it is a {step.kind} that is asked as a whole", remedy="Ask without stage=, partition= and operator=.",
        )
    return known


def check_level(level: str) -> str:
    """Raises UnknownStepError for a level that there is not."""
    if level not in LEVELS:
        raise UnknownStepError("There is no such level", value=level, remedy=f"There are {', '.join(LEVELS)} of what was done, and file and dataset of what was read and written.")
    return level
