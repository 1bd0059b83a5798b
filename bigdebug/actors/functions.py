"""Functions over frames as steps: a frame in, a frame out, and which input rows each row was made of."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bigdebug.actors.actor import Home
from bigdebug.actors.apart import Copies
from bigdebug.actors.arguments import Arguments
from bigdebug.actors.aside import being_tried, ended
from bigdebug.actors.associations import Associations, Groups, Unknown, all_of_all, made_of
from bigdebug.actors.bare import bare
from bigdebug.actors.beside import Beside
from bigdebug.actors.callers import by_caller
from bigdebug.actors.codes import Untried
from bigdebug.actors.columns import Column
from bigdebug.actors.decorated import Decorated, decorated, name_of
from bigdebug.actors.frames import all_inputs, given, size
from bigdebug.actors.owners import GroupOwners, RowOwners
from bigdebug.actors.plain.heard import Heard
from bigdebug.actors.plain.promise import Reading, read
from bigdebug.actors.promises import NOT_TRIED, Broken, Owners, Probe, believed, kept, may_give_all, probed, telling
from bigdebug.actors.room import Known
from bigdebug.actors.steady import PANDAS, steady
from bigdebug.errors import ActorError

if TYPE_CHECKING:
    Function = Callable[..., Any]


log = logging.getLogger("bigdebug")


def rows(function: Function | None = None, *, check: bool = True, name: str = "", home: Home = None) -> Any:
    """A function over a frame that makes each row of one input row alone, and keeps its label in the index.

    Filters, new columns, ``explode``, ``sort_values``, ``map`` do so. What looks at neighbours (``shift``, ``cumsum``), at all (``mean``), or at duplicates does not, nor does
    ``reset_index``, but where all rows are handed on. A table that is looked up is an input, too: ``merge`` follows both; what plain pandas made of one (a dictionary, a Series) is a constant to it.
    The function gets the very frame, and what it gives is given. Where all that it does is known (operators, filters, new columns, ``.str``, ``np.where``, group bys by
    name; helpers that do no more), it is read that the promise holds of all rows (``plain``, 0.3 ms). Else, before it is called, a copy of it, with copies of all that it remembers, is called on copies of a few rows, and
    of its other arguments, to see that the promise holds; if it does not, the step has no lineage and says why. If something cannot be copied for certain (a lock, an open file, an
    iterator, more than 256 MB), or if it would write or remove a file (but by ``open``: that writes nothing then), connect with something or start a program, which it is stopped from, it
    is not tried: the promise is believed, and a note says so. (Python tells of most of that; what packages do in C is known by the names of
    their functions.) ``check=False`` tries nothing and believes it: for functions that do something else than give a frame.
    """
    return decorated(function, lambda fn: FrameFunction(fn, (), check, name, home))


def groups(function: Function | None = None, *, by: Hashable | Iterable[Hashable], check: bool = True, name: str = "", home: Home = None) -> Any:
    """A function over a frame that makes each row of the input rows with the same values in ``by``, which the result has as columns or in its index.

    Else as ``rows``.
    """
    names = list(by) if isinstance(by, Iterable) and not isinstance(by, (str, bytes)) else [by]
    if not names or not all(isinstance(each, Hashable) and each is not None for each in names):
        raise ActorError("Rows are grouped by one column or more", value=by, remedy='Name them: @actors.groups(by="city").')
    return decorated(function, lambda fn: FrameFunction(fn, names, check, name, home))


def whole(function: Function | None = None, *, name: str = "", home: Home = None) -> Any:
    """A function over a frame whose rows are each made of all input rows: true of every function, and narrow of those that sum up."""
    return decorated(function, lambda fn: FrameFunction(fn, None, False, name, home))


class FrameFunction(Decorated):
    """A function over a frame that is a step each time it is called. Each row is made of those with the same values in ``by``; of none, of one alone; None: all rows are made of all."""

    def __init__(self, function: Function, by: Sequence[Hashable] | None, check: bool, name: str, home: Home) -> None:
        super().__init__(function)
        self._by = by
        self._check = check
        self._name = name or name_of(function)
        self._home = home
        self._known = Known()

    def called(self, bound: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives, of a frame that its first parameter gets."""
        found = Arguments.of(self._function, bound, args, kwargs)
        if found is None:
            result = by_caller(self._function, *args, **kwargs)
            log.warning("bigdebug: a step is not captured: %s was called without a frame for its first parameter", self._name)
            return result
        arguments, frame = found
        if not hasattr(frame, "iloc"):
            raise ActorError(f"{self._name} is a step over a frame", value=frame, remedy="Call it with a frame of pandas as its first argument.")
        if being_tried():  # a step within one that is tried
            return by_caller(self._function, *args, **kwargs)
        inputs, why = all_inputs([frame])
        beside = Beside()
        for each in arguments:
            beside.holds(each)
        with steady(self._name, PANDAS, self._home) as actor:
            reading = read(self._function, arguments, frame, self._by) if self._check and self._by is not None else None
            if reading is not None:
                result, associations, more = self._plainly(reading, frame, args, kwargs)
                given(actor, result, inputs, associations, (*why, *filter(None, [more])))
                return result
            seen, probes, untold = self._before(frame, arguments, beside)
            if not probes:
                beside.remembers(self._function, arguments)
            result = by_caller(self._function, *args, **kwargs)
            associations, more, held = self._after(seen, probes, untold, inputs.count, result)
            given(actor, result, inputs, associations, (*why, *filter(None, [more]), *beside.notes(self._name)), held)
        return result

    def _plainly(self, reading: Reading, frame: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Associations, str]:
        """The result of a function that is known to keep its promise, and to change nothing: who owns a row is seen when it has been called, and by how pandas numbered keys then. And why that is
        not known, mostly empty.
        """
        heard = Heard() if reading.calls_by_row else GroupOwners.heard_of(frame, self._by or ())
        result = heard.of_call(partial(by_caller, self._function, *args, **kwargs))
        try:
            with telling():
                return result, self._told(reading, frame, heard, bare(result)), ""
        except Broken as promise:
            associations, why, _ = self._unknown(str(promise))
            return result, associations, why

    def _told(self, reading: Reading, frame: Any, heard: Heard, result: Any) -> Associations:
        """The associations of a result, by what was read of it: rows that are all handed on need no labels. Raises Broken."""
        every = reading.keeps_rows and len(result) == len(frame)
        if not self._by:
            return made_of(Column.steps(len(frame)) if every else RowOwners(frame).of(result))
        seen = GroupOwners(frame, self._by, heard)
        owners = Column.of(seen.codes) if every else seen.of_labelled(result) if reading.keeps_labels else seen.of(result)
        return _of_owners(seen, owners)

    def _owners(self, frame: Any) -> Owners:
        return GroupOwners(frame, self._by) if self._by else RowOwners(frame)

    def _before(self, frame: Any, arguments: Arguments, beside: Beside) -> tuple[Owners | None, list[Probe], str]:
        """Who owns a row, and what copies of the function gave of a few; or why it was not tried, or, without owners, why it has no lineage."""
        if self._by is None:
            return None, [], ""
        probes, untold = list[Probe](), ""
        try:
            with telling():
                seen = self._owners(frame)
            try:
                if self._check:
                    self._known.check()
                    probes = probed(frame, seen, self._trial(arguments, beside), beside.opens)
            except Untried as why:
                self._known.learn(why)
                untold = why.note
            with telling():
                if may_give_all(probes):
                    seen.expect_all()
            return seen, probes, untold
        except Broken as promise:
            return None, [], str(promise)
        finally:
            ended()

    def _trial(self, arguments: Arguments, beside: Beside) -> Function:
        """What calls the function so that nobody sees it: each time it remembers what it does now."""
        copies = Copies(beside.holds)

        def call(few: Any) -> Any:
            with copies.of(self._function, arguments.rest, rows=few) as (function, rest, mine):
                return arguments.copied(rest).call(function, mine)

        return call

    def _after(self, seen: Owners | None, probes: list[Probe], untold: str, count: int, result: Any) -> tuple[Associations, str, str]:
        """The associations of a result, or why there are none; and what is believed of them."""
        if self._by is None:
            return all_of_all(count, size(result)), f"Every row of {self._name} is said to be made of all its input", ""
        if seen is None:
            return self._unknown(untold)
        try:
            with telling():
                owners = seen.of(bare(result) if hasattr(result, "attrs") else result)
                came = kept(probes, result, seen, owners) or not len(owners)
        except Broken as promise:
            return self._unknown(str(promise))
        found = _of_owners(seen, owners)
        if untold:
            return found, untold, ""
        return found, *(believed(probes, seen, count, came) if self._check or seen.one else ("", NOT_TRIED))

    def _unknown(self, broken: str) -> tuple[Associations, str, str]:
        why = f"{self._name} has no lineage: {broken}"
        return Unknown(why), why, ""


def _of_owners(seen: Owners, owners: Column) -> Associations:
    """The associations of rows of which it is known who owns each."""
    return Groups(Column.of(seen.codes), owners) if isinstance(seen, GroupOwners) else made_of(owners)
