"""Pipeline: the steps that a user knows of, and questions that go through all of them. What ``dbg.pipeline`` and ``bigdebug.pipeline(...)`` give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

from bigdebug.errors import PipelineError
from bigdebug.shown import shown
from bigdebug.trace.across.asked import Asked, Chosen, asked
from bigdebug.trace.across.containment import Part, parts, records_of, refuse_parts, within
from bigdebug.trace.across.dataflow import Dataflow
from bigdebug.trace.across.flow import Flow, one_step
from bigdebug.trace.across.flowing import Flowing
from bigdebug.trace.across.links import Said, linked
from bigdebug.trace.across.notes import Note
from bigdebug.trace.across.paths import looked_at_anew, short
from bigdebug.trace.across.step import Step, believed, lost, named
from bigdebug.trace.across.units import Units
from bigdebug.trace.table import Table

Steps = Callable[[], Iterable[Step]]
"""Gives steps, when it is asked: captured runs become more."""


def pipeline(*steps: Any) -> Pipeline:
    """The pipeline of steps, sessions (live or saved) and other pipelines: ``bigdebug.pipeline(dbg, bigdebug.open("monday"))``."""
    return Pipeline(*steps)


class Pipeline:
    """Steps, joined by the files between them (Newt 3.3). Nothing is computed before a question is asked.

    A file that a step read is what the latest step wrote there before, if it was not changed since; a copy of what a step wrote is known by its content.
    What else is known of the data between two steps, ``link`` says.
    """

    def __init__(self, *steps: Any) -> None:
        self._given: list[Steps] = []
        self._said: list[Said] = []
        self._units = Units()
        self._dataflow: Dataflow | None = None
        self.add(*steps)

    def add(self, *what: Any) -> Pipeline:
        """Add steps, functions that give steps, sessions, or other pipelines; gives the pipeline. A step that is known already is one.

        Raises PipelineError for a session whose pipeline is this one, or has been given this one's: its steps would be asked for without an end.
        """
        found = [(one, _steps_of(one)) for one in what if one is not self]
        for one, gives in found:
            if any(self._gives_to(give) for give in gives):
                raise PipelineError(
                    "The pipeline of this session is made of this one", value=one,
                    remedy="The steps of a session are in its pipeline already; bigdebug.pipeline(one, other) has those of several.",
                )
        for one, gives in found:
            self._given.extend(gives)
            if isinstance(one, Pipeline):
                self._said.extend(one._said)
        return self

    def _gives_to(self, give: Steps) -> bool:
        """Whether these are steps of a session whose pipeline has this one's."""
        if not isinstance(give, _OfSession):
            return False
        theirs = give.session.pipeline
        return theirs is self or (isinstance(theirs, Pipeline) and any(map(self._gives_to, theirs._given)))

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, each after those that it may have read from."""
        return self.dataflow.steps

    @property
    def dataflow(self) -> Dataflow:
        """The steps of now with the files between them."""
        known = self._dataflow
        before = {} if known is None else {step.id: step for step in known.steps}
        found: dict[str, Step] = {}
        for step in (step for give in self._given for step in give()):
            old = before.get(step.id)
            # What has ended is what it was: it keeps what it has read of itself.
            same = old is not None and type(old) is type(step) and old.ended is not None
            found.setdefault(step.id, old if same and old is not None else step)
        steps = list(found.values())
        looked_at_anew()
        if known is None or known.led_elsewhere() or len(known.said) != len(self._said) or {id(step) for step in known.steps} != {id(step) for step in steps}:
            self._dataflow = known = Dataflow(steps, self._said)
        return known

    def step(self, name: str) -> Step:
        """The step of this id, or the only one of this name. Raises UnknownStepError, naming those near."""
        return one_step(name, self.steps, "pipeline")

    def link(self, writer: Step | str, reader: Step | str, wrote: str = "", read: str = "") -> None:
        """Say that one step read what the other wrote (Newt's flow_link): of one file, or item, if ``wrote`` and ``read`` name them.

        Records are joined by where they stand in the file, and where the data had no file by equal hashes. Raises PipelineError if nothing can be joined so, or if steps were in a circle.
        """
        first, second = self._known(writer), self._known(reader)
        said = Said(first.id, second.id, wrote, read)
        if not linked(said, first, second):
            raise PipelineError(
                f"{named(first)} wrote nothing that {named(second)} would have read", value=(wrote or None, read or None) if wrote or read else None,
                remedy="Name the files that are the same with wrote= and read=; data without files need hashes on both sides.",
            )
        if first.ended is not None and second.began is not None and first.ended > second.began + 1:
            raise PipelineError(f"{named(second)} began before {named(first)} had ended, so it did not read what that wrote", remedy="Name the step that had ended by then.")
        Dataflow(self.steps, [*self._said, said])
        self._said.append(said)

    def backward(self, what: Any, lines: Any = None, rows: Any = None, step: Step | str | None = None) -> Flow:
        """What records were made of, through all steps, to files that no known step wrote.

        ``what`` is a file or directory by its path or the end of it, all of it or ``lines`` (from 1) or ``rows`` (from 0); a trace, rows of one, or a culprit; a step, for all that it wrote; or a
        Located. A file is as it is now, or as ``step`` read or wrote it. Costs what the steps take that it comes through: for a Spark job the question of its trace.
        Raises UnknownStepError for what no step knows, SourceChangedError for a file that is not what a step wrote.
        """
        return self._flow(what, lines, rows, step, ahead=False)

    def forward(self, what: Any, lines: Any = None, rows: Any = None, step: Step | str | None = None) -> Flow:
        """What was made of records, through all steps, to files that no known step read. Takes what ``backward`` does."""
        return self._flow(what, lines, rows, step, ahead=True)

    # ---- by containment ---------------------------------------------------------------------------------------

    def parts(self, step: Step | str) -> list[Part]:
        """The tasks of a step, stage by stage, and how many records each gave."""
        return parts(self._known(step))

    def within(self, step: Step | str) -> list[Step]:
        """The steps that a step contains: actors that it began, and that ended before it (Newt 3.1)."""
        return within(self.steps, self._known(step))

    def touched(self, step: Step | str, stage: str | None = None, partition: int | None = None, operator: Any = None) -> Flow:
        """What was made of all that a part of a step gave: a stage, one of its tasks (``partition``), or an operator, in all partitions or one; of all that it, and what it contains, wrote, if none is named.

        ``touched("count", stage="s0", partition=3).up("file")`` are the outputs that this task touched. Raises UnknownOperatorError for a part that there is not, UntraceableError for
        steps that are not known in parts.
        """
        chosen = self._known(step)
        if stage is None and partition is None and operator is None:
            flow = self.dataflow
            every = [one for s in (chosen, *within(flow.steps, chosen)) for one in asked(flow, self._units, s, Chosen(), None, True).outputs]
            return self._from(flow, Asked(outputs=every, own=True), ahead=True)
        known = refuse_parts(chosen)
        trace = records_of(known, stage, partition, None if operator is None else getattr(operator, "id", operator))
        return self.forward(trace)

    def _flow(self, what: Any, lines: Any, rows: Any, step: Step | str | None, ahead: bool) -> Flow:
        flow = self.dataflow
        meant = None if step is None else one_step(step if isinstance(step, str) else step.id, flow.steps, "pipeline")
        return self._from(flow, asked(flow, self._units, what, Chosen.of(lines, rows), meant, ahead), ahead)

    def _from(self, dataflow: Dataflow, start: Asked, ahead: bool) -> Flow:
        """The flow that starts there."""
        flowing = Flowing(dataflow, self._units)
        flowing.notes.update({note.text: note for note in start.notes})
        flowing.notes.update({note.text: note for note in map(_may_miss, filter(lost, dataflow.steps))})
        flowing.held.update(start.held)
        if ahead:
            flowing.forward(start.inputs, start.outputs, start.own)
        else:
            flowing.backward(start.outputs, start.inputs, start.own)
        flowing.passed.extend(step for step in start.steps if step not in flowing.passed)
        return Flow(flowing, ahead)

    def _known(self, step: Step | str) -> Step:
        return self.step(step if isinstance(step, str) else step.id)

    # ---- display ----------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """A line for each step: what it read and wrote."""
        rows = [(step.name, step.kind, _names(step.reads), _names(step.writes)) for step in self.steps]
        notes = [f"{named(step)} is incomplete: {reason}" for step in self.steps for reason in step.incomplete]
        notes += [f"{named(step)} is believed: {promise}" for step in self.steps if (promise := believed(step))]
        return Table(("step", "kind", "read", "wrote"), rows, notes)

    def show(self) -> None:
        """Print the steps."""
        print(self.table())  # noqa: T201

    def __repr__(self) -> str:
        return f"<pipeline of {len(self.steps)} steps>"

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def _may_miss(step: Step) -> Note:
    """A flow may come through a step of which nobody knows what it read and wrote."""
    return Note(f"What {named(step)} read and wrote is not known, so what it made of these records may be missing here, and what it made them of: {lost(step)}")


def _names(extents: Iterable[Any]) -> str:
    every = [short(extent.path) for extent in extents]
    return ", ".join(every[:3]) + (f" and {len(every) - 3} more" if len(every) > 3 else "")


@dataclass(frozen=True, eq=False)
class _OfSession:
    """The steps of a session's pipeline."""

    session: Any

    def __call__(self) -> Iterable[Step]:
        steps: Iterable[Step] = self.session.pipeline.steps
        return steps


def _steps_of(one: Any) -> list[Steps]:
    """What gives the steps of it."""
    if isinstance(one, Pipeline):
        return one._given
    if hasattr(type(one), "pipeline"):
        return [_OfSession(one)]
    if hasattr(type(one), "backward") and hasattr(type(one), "forward"):
        step = cast(Step, one)
        return [lambda: (step,)]
    if callable(one):
        return [one]
    if isinstance(one, Iterable) and not isinstance(one, str | bytes):
        return [give for each in one for give in _steps_of(each)]
    raise TypeError(f"a pipeline is made of steps, sessions and pipelines, not {shown(one)}")
