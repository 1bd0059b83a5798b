"""Capture: one call of a generator: its outputs, and afterwards what they were made of."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from bigdebug.actors.arguments import Arguments
from bigdebug.actors.aside import being_tried
from bigdebug.actors.associations import Associations, Intervals, Spans, Unknown
from bigdebug.actors.beside import Beside
from bigdebug.actors.callers import by_caller
from bigdebug.actors.columns import Column
from bigdebug.actors.items import Items
from bigdebug.actors.log import as_key, unhashable
from bigdebug.actors.looks import ATOMS, Looks
from bigdebug.actors.paired import Paired
from bigdebug.actors.passed import asked, by_hand
from bigdebug.actors.places import NOWHERE, Places
from bigdebug.actors.promises import NOT_TRIED
from bigdebug.actors.reconstructed import INPUT, KINDS, OUTPUT, reconstructed
from bigdebug.actors.room import Known
from bigdebug.actors.steady import Steady
from bigdebug.actors.tried import Trial
from bigdebug.errors import ActorError
from bigdebug.trace.positions import Positions

_LOOKED_AT = 3
"""Outputs of which it is seen whether they may read on in the records: what gives such, mostly does so from its first one on."""

_DEPTH = 3
"""Lists, tuples and dictionaries within each other that are looked into for this."""

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

    @property
    def one_by_one(self) -> bool:
        """Whether it says of which records that were read an output is made, so that each has to be seen to be read."""
        return self.each or self.tags is not None

    def __post_init__(self) -> None:
        if self.each and self.tags:
            raise ActorError("An output is made of the record read last, or of those with its tag", remedy="Give one of each= and tags=.")
        if self.tags is not None and not (isinstance(self.tags, tuple) and len(self.tags) == 2 and all(map(callable, self.tags))):
            raise ActorError("tags are two functions: of an input, and of an output", value=self.tags)


class Capture:
    """One call of a generator: its outputs, and afterwards what they were made of."""

    def __init__(self, function: Transform, promise: Promise, name: str, arguments: Arguments, known: Known) -> None:
        self.name = name
        self.given: Any = iter(())
        """The outputs, as they come."""
        self._function = function
        self._promise = promise
        self._arguments = arguments
        self._trial = Trial(function, arguments, known) if promise.each and promise.check and not being_tried() else None
        self._beside = Beside() if self._trial is None else self._trial.beside
        self._tags = Tags()
        self._paired = Paired(note_inputs=promise.each)
        self._looks: Looks | None = None
        self._broken = self._unseen = ""
        self._passed: int | None = None
        self._reads_on = False

    def tries(self, some: Sequence[Any] | None, again: bool = False) -> None:
        """Try it on some records, the first ones first; None: they cannot be looked at. ``again``: they are a collection, which one can go through more than once."""
        if self._trial is not None and not being_tried():
            self._trial.before(some, again)
        if (self._trial is None or self._trial.believed) and not being_tried():
            self._beside.remembers(self._function, self._arguments)

    def calls(self, records: Any) -> Any:
        """Call the function, and give what it gives; its outputs are in ``given`` then."""
        self._looks = Looks(records, partial(_read, self._paired, self._tags, self._promise), self._paired.given, self._promise.one_by_one)
        result = self._arguments.call(partial(by_caller, self._function), self._looks.hand())
        self.given = self._paired.giving(result)
        return result

    def is_unseen(self, why: str) -> None:
        """Its outputs do not pass here."""
        self._unseen = why

    def strays(self, name: str, value: Any) -> None:
        """Something was asked of the iterator that its outputs come from, other than the next of them."""
        if not isinstance(value, ATOMS):
            self.is_unseen("its outputs were taken in another way than one by one")

    def seen(self) -> Generator[Any, Any, tuple[bool, Any]]:
        """The outputs, each of which is looked at when it is given: all that have tags, else the first ones. Whether they are over then, and what was returned."""
        return by_hand(self.given, self._sees, self._has_seen)

    def _sees(self, output: Any) -> None:
        if self._trial is not None:
            self._trial.sees(output, self._paired.inputs)
        elif self._promise.tags is not None:
            self._tags.note(self._tags.given, self._promise.tags[1](output))
        self._reads_on = self._reads_on or _gives_more(output)
        self._passed = self._paired.passed if _may_read(output) else None

    def _has_seen(self) -> bool:
        """Whether enough of them were looked at. Whoever had the last one asks for the next, and may have read on through it, as through one of groupby's groups."""
        self._reads_on = self._reads_on or self._passed not in (None, self._paired.passed)
        if self._trial is not None:
            return self._trial.enough()
        return self._promise.tags is None and (self._reads_on or self._paired.given() >= _LOOKED_AT)

    def outputs(self) -> Iterator[Any]:
        """All outputs, which are texts."""
        return chain(self.seen(), self.given) if self._trial is not None or self._promise.tags is not None else self.given

    @property
    def answer(self) -> Any:
        """What a generator answered when it was closed."""
        return getattr(self.given, "answer", None)

    @contextmanager
    def failing(self, actor: Steady, places: Callable[[int], Places] = lambda read: NOWHERE) -> Iterator[None]:
        """Within, outputs are taken: what the function raises is raised, and the input that was read last is its culprit. ``places`` says where so many inputs stand."""
        try:
            yield
        except Exception as error:
            read = self._stopped().inputs
            actor.fail_at(read - 1 if self._looks is None else self._looks.last(read), error, places(read))
            raise

    def commit(self, actor: Steady, all_given: bool = False) -> None:
        """Say to an actor over records without places what was made of what."""
        inputs, outputs, associations, why = self.ended(all_given)
        actor.commit_as(Items(inputs), Items(outputs), associations, why, self.believed)

    def ended(self, all_given: bool = True) -> tuple[int, int, Associations, tuple[str, ...]]:
        """How many inputs and outputs there were, what was made of what, and what is not exact about it. Nothing passes any more; ``all_given``: because there is no more."""
        paired = self._stopped()
        if self._trial is not None:
            self._trial.ended(paired.inputs, all_given)
        count = paired.inputs if self._looks is None else self._looks.count(paired.inputs)
        associations, why = self._associations(paired, count)
        return count or 0, paired.outputs, associations, why

    @property
    def believed(self) -> str:
        """On how few records it was seen that the promise holds; empty if that were all, or if a note says that it was not tried, or that it is broken. Asked when it ended."""
        trial, promise = self._trial, self._promise
        if trial is None:
            return NOT_TRIED if promise.one_by_one else ""
        count = self._stopped().inputs
        return "" if trial.note(count) or self._broken else trial.tried(count)

    def _unpaired(self, count: int | None) -> str:
        """Why what was read does not say what an output was made of; empty if it does."""
        if self._reads_on and not self._promise.each:
            return "what it gives may read on in its records, so an output is made of more than what was read before it; give what it has in a list"
        if self._unseen or self._looks is None or not self._looks.again:
            return self._unseen
        if self._promise.one_by_one:
            if self._looks.unseen:
                return "what it reads of a text, or of other bytes, is not seen, for that is given as it is; give what it reads one by one in a list"
            return "it does more with its records than to read each once; without each= and tags= an output is made of all that it has seen"
        return "it does more with its records than to read them one by one, and nobody knows how many there were" if count is None else ""

    def _stopped(self) -> Paired:
        self._paired.stop()
        return self._paired

    def _associations(self, paired: Paired, count: int | None) -> tuple[Associations, tuple[str, ...]]:
        self._broken = ("" if self._trial is None else self._trial.broken()) or self._unpaired(count)
        if self._broken:
            why = f"{self.name} has no lineage: {self._broken}"
            return Unknown(why), (why,)
        beside = tuple(self._beside.notes(self.name))
        if self._promise.each:
            believed = self._trial.note(paired.inputs) if self._trial is not None and paired.inputs else ""
            return Spans(Column.of(paired.offsets())), (*filter(None, [believed]), *beside)
        reads = paired.reads()
        if self._promise.tags is None:
            if self._looks is not None and self._looks.since is not None and count is not None:
                reads[self._looks.since :] = count
            return since_the_beginning(reads), beside
        return tagged(np.array(self._tags.read, np.int64), np.array(self._tags.given, np.int64), reads), beside


def _gives_more(output: Any, depth: int = _DEPTH) -> bool:
    """Whether an output is, or has in it, what gives something else one by one: that may read records whenever it is asked."""
    if isinstance(output, dict):
        return depth > 0 and any(_gives_more(each, depth - 1) for each in output.values())
    if isinstance(output, tuple | list):
        return depth > 0 and any(_gives_more(each, depth - 1) for each in output)
    return isinstance(output, Iterator)


def _may_read(output: Any) -> bool:
    """Whether who has an output may read records through it: else it is a thread of the function's that does, and what it had read before it gave something is what that was made of."""
    return not isinstance(output, (*ATOMS, bytes, tuple, list, dict, set, frozenset))


def _read(paired: Paired, tags: Tags, promise: Promise, records: Any) -> Iterator[Any]:
    """The records, as the function reads them the first time. No method of the capture: that holds them, and what they pass."""
    return paired.reading(records if promise.tags is None else tags.noted(records, promise.tags[0]))


class Tags:
    """The tags of inputs and outputs, as numbers. It knows nothing of the generator: what that reads knows of it."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self.given: list[int] = []
        self._codes: dict[Hashable, int] = {}

    def note(self, codes: list[int], tag: Hashable) -> None:
        """Of one that is ``read`` or ``given``. Raises ActorError for one that is no key of a dictionary."""
        try:
            codes.append(self._codes.setdefault(as_key(tag), len(self._codes)))
        except TypeError as problem:
            raise unhashable(tag) from problem

    def noted(self, records: Iterable[Any], key: Key) -> Iterator[Any]:
        """The records, whose tags are noted when they are read."""
        note = partial(self._noted, key)
        return (note(each) for each in records) if isinstance(records, Generator) else map(note, asked(records))

    def _noted(self, key: Key, record: Any) -> Any:
        self.note(self.read, key(record))
        return record


def since_the_beginning(reads: Positions) -> Intervals:
    """Outputs made of all that had been read: ``reads`` inputs at each."""
    return Intervals(Column.steps(len(reads)), Column.steps(len(reads), 0, 0), Column.of(reads), Column.steps(int(reads[-1]) if len(reads) else 0))


def tagged(inputs: Positions, outputs: Positions, reads: Positions) -> Intervals:
    """Outputs made of what had been read of their tags, whose numbers stand beside the inputs and the outputs."""
    events = np.concatenate((INPUT + KINDS * inputs, OUTPUT + KINDS * outputs))
    times = np.concatenate((2 * np.arange(len(inputs)) + 1, 2 * reads))
    count = int(max(inputs.max(initial=-1), outputs.max(initial=-1))) + 1
    return reconstructed(events[np.argsort(times, kind="stable")], [(tag,) for tag in range(max(count, 1))])
