"""Generators as steps: what had been read when an output came is all that it can be made of (paired capture, Newt 3.2)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigdebug.actors.actor import Home
from bigdebug.actors.aside import being_tried
from bigdebug.actors.associations import Associations, Intervals, Spans, Unknown
from bigdebug.actors.columns import Column
from bigdebug.actors.decorated import decorated, name_of
from bigdebug.actors.items import Items
from bigdebug.actors.paired import Paired
from bigdebug.actors.promises import NOT_TRIED
from bigdebug.actors.reconstructed import INPUT, KINDS, OUTPUT, reconstructed
from bigdebug.actors.steady import GENERATOR, Steady, steady
from bigdebug.actors.tried import Trial, first_of
from bigdebug.errors import ActorError
from bigdebug.trace.positions import Positions

Key = Callable[[Any], Hashable]
Transform = Callable[..., Iterable[Any]]


@dataclass(frozen=True)
class Promise:
    """What a user says of a generator: nothing, and an output is made of all that was read before it; ``each``, and it is made of the record that was read last; ``tags``, and
    it is made of all that was read before it with its tag: one function tells the tag of an input, another that of an output.
    """

    each: bool = False
    tags: tuple[Key, Key] | None = None
    check: bool = True

    def __post_init__(self) -> None:
        if self.each and self.tags:
            raise ActorError("An output is made of the record read last, or of those with its tag", remedy="Give one of each= and tags=.")
        if self.tags is not None and not (isinstance(self.tags, tuple) and len(self.tags) == 2 and all(map(callable, self.tags))):
            raise ActorError("tags are two functions: of an input, and of an output", value=self.tags)


def generator(
    function: Transform | None = None, *, each: bool = False, tags: tuple[Key, Key] | None = None, check: bool = True, name: str = "", home: Home = None,
) -> Any:
    """A function from an iterable to an iterable that is a step each time it is called. Records pass as they do without, one by one.

    It commits when the last output was given, or nobody wants more. Records are known by their order; ``flow_link`` says where they come from. ``each`` is
    tried before the first output, with copies of the function on copies of the first eight records, and of some behind them, each alone: if they give something else then, the step has no
    lineage, and says why; else a note says on how many it was tried.
    ``check=False`` tries nothing and believes it; so is it, and a note says so, where records come from an iterator that cannot be looked into without taking them from it, where what the
    function remembers cannot be copied for certain, and where it would write a file, connect with something or start a program: it is stopped from that before it does.
    """
    promise = Promise(each, tags, check)
    return decorated(function, lambda fn: functools.update_wrapper(lambda *args, **kwargs: _passing(fn, promise, name or name_of(fn), home, *args, **kwargs), fn))


def _passing(function: Transform, promise: Promise, name: str, home: Home, records: Iterable[Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
    if being_tried():  # a step within one that is tried
        yield from function(records, *args, **kwargs)
        return
    with steady(name, GENERATOR, home) as actor:
        capture = Capture(function, promise, name, args, kwargs)
        with suppress(GeneratorExit), capture.failing(actor):  # nobody wants more
            yield from capture.outputs(records)
        inputs, outputs, associations, why = capture.ended()
        actor.commit_as(Items(inputs), Items(outputs), associations, why, capture.believed)


class Capture:
    """One call of a generator: its outputs, and afterwards what they were made of."""

    def __init__(self, function: Transform, promise: Promise, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._function: Callable[[Iterator[Any]], Iterable[Any]] = lambda given: function(given, *args, **kwargs)
        self._promise = promise
        self._name = name
        self._trial = Trial(function, args, kwargs) if promise.each and promise.check and not being_tried() else None
        self._tagged: tuple[list[int], list[int]] = ([], [])
        self._codes: dict[Hashable, int] = {}
        self._paired: Paired | None = None
        self._broken = ""

    def outputs(self, records: Iterable[Any], first: Callable[[Any], list[Any] | None] = first_of) -> Iterator[Any]:
        """The outputs of the generator over these records, as they come. ``first`` gives the first few of them and some of all places, to try it on, and takes none."""
        trial, tags = self._trial, self._promise.tags
        if trial is not None:
            trial.before(first(records))
        if tags is not None:
            records = self._noted(records, tags[0], self._tagged[0])
        function = self._function if trial is None else lambda given: self._function(trial.inputs(given))
        self._paired = Paired(function, records, note_inputs=self._promise.each)
        given = self._paired.records
        if tags is not None:
            return self._noted(given, tags[1], self._tagged[1])
        return given if trial is None else trial.outputs(given)

    @contextmanager
    def failing(self, actor: Steady) -> Iterator[None]:
        """Within, outputs are taken: what the function raises is raised, and the input that was read last is its culprit."""
        try:
            yield
        except Exception as error:
            actor.fail_at(self._stopped().inputs - 1, error)
            raise

    def ended(self) -> tuple[int, int, Associations, tuple[str, ...]]:
        """How many inputs and outputs there were, what was made of what, and what is not exact about it. Nothing passes any more."""
        paired = self._stopped()
        associations, why = self._associations(paired)
        return paired.inputs, paired.outputs, associations, why

    @property
    def believed(self) -> str:
        """On how few records it was seen that the promise holds; empty if that were all, or if a note says that it was not tried, or that it is broken. Asked when it ended."""
        trial, promise = self._trial, self._promise
        if trial is None:
            return NOT_TRIED if promise.each or promise.tags else ""
        count = self._stopped().inputs
        return "" if trial.note(count) or self._broken else trial.tried(count)

    def _stopped(self) -> Paired:
        paired = self._paired or Paired(self._nothing, (), self._promise.each)
        paired.stop()
        return paired

    def _nothing(self, records: Iterator[Any]) -> Iterator[Any]:
        return records

    def _noted(self, records: Iterable[Any], key: Key, codes: list[int]) -> Iterator[Any]:
        note, number = codes.append, self._codes.setdefault
        for record in records:
            tag = key(record)
            note(number(tag, len(self._codes)))
            yield record

    def _associations(self, paired: Paired) -> tuple[Associations, tuple[str, ...]]:
        self._broken = "" if self._trial is None else self._trial.broken()
        if self._broken:
            why = f"{self._name} has no lineage: {self._broken}"
            return Unknown(why), (why,)
        if self._promise.each:
            believed = self._trial.note(paired.inputs) if self._trial is not None and paired.inputs else ""
            return Spans(Column.of(paired.offsets())), (*filter(None, [believed]), *(self._trial.beside.notes(self._name) if self._trial is not None else ()))
        reads = paired.reads()
        if self._promise.tags is None:
            return since_the_beginning(reads), ()
        taken, given = (np.array(codes, np.int64) for codes in self._tagged)
        return tagged(taken, given, reads), ()


def since_the_beginning(reads: Positions) -> Intervals:
    """Outputs made of all that had been read: ``reads`` inputs at each."""
    return Intervals(Column.steps(len(reads)), Column.steps(len(reads), 0, 0), Column.of(reads), Column.steps(int(reads[-1]) if len(reads) else 0))


def tagged(inputs: Positions, outputs: Positions, reads: Positions) -> Intervals:
    """Outputs made of what had been read of their tags, whose numbers stand beside the inputs and the outputs."""
    events = np.concatenate((INPUT + KINDS * inputs, OUTPUT + KINDS * outputs))
    times = np.concatenate((2 * np.arange(len(inputs)) + 1, 2 * reads))
    count = int(max(inputs.max(initial=-1), outputs.max(initial=-1))) + 1
    return reconstructed(events[np.argsort(times, kind="stable")], [(tag,) for tag in range(max(count, 1))])
