"""Tried: whether a generator makes of a record alone what it makes of it among others. Seen on the first few as the real call gives them, and on some of all places, before it."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from bigdebug.actors.alike import same_cell
from bigdebug.actors.among import FIRST, MOST, OTHERWISE, Call, Copied, raised, seen_among, some_of
from bigdebug.actors.apart import Apart, Copies
from bigdebug.actors.arguments import Arguments
from bigdebug.actors.aside import aside, ended, stopped
from bigdebug.actors.beside import Beside
from bigdebug.actors.codes import Untried, library
from bigdebug.actors.fixed import all_atoms
from bigdebug.actors.looks import WHOLE, Looks
from bigdebug.actors.promises import MOST_SECONDS, Broken
from bigdebug.actors.room import MOST_BYTES, Known, NoRoom, Room
from bigdebug.actors.shared import tells
from bigdebug.outside import from_outside, said
from bigdebug.shown import shown

log = logging.getLogger("bigdebug")

BELIEVED = "What was promised is believed: the records come one by one, and none can be looked at before the function asks for it"

LARGE = "What was promised is believed: what came of its records takes too long, or too much room, to be copied, so it was not tried"

LONG = "What was promised is believed: it takes too long, or too much room, to try it on more than one record, and what comes of one may be what was promised by chance"

_LATE_BYTES, _LATE_OBJECTS, _LATE_SECONDS = 16 << 20, 20_000, 0.25
"""What may be copied to try records behind the first, and how long that may take."""

_COPIED: tuple[type[Any], ...] = (type(iter([])), type(iter(())), type(iter(range(0))), type(iter("")))
"""Iterators of which a copy goes on by itself."""


def first_of(records: Iterable[Any]) -> list[Any] | None:
    """The first few records, and some from all places behind them, if they can be looked at and are still there for whoever reads them; else None."""
    if isinstance(records, WHOLE):
        return None
    if isinstance(records, _COPIED):
        return some_of(copy.copy(records))
    if isinstance(records, (Sequence, AbstractSet, Mapping, np.ndarray)) and library(type(records).__module__):  # what one of the user's does when it is asked, nobody knows
        return some_of(records)
    return None


class Trial:
    """Before it is called, a copy of the function has copies of the first records, each of them alone; afterwards it is seen whether it gave the same of them among all."""

    def __init__(self, function: Callable[..., Iterable[Any]], arguments: Arguments, known: Known) -> None:
        self._function = function
        self._known = known
        self._arguments = arguments
        self._alone: list[list[Any]] = []
        self._given: list[list[Any]] = []
        self._again = False
        self._why = ""
        self._ended = False
        self._seconds = 0.0
        self._late: list[int] = []
        self._unseen = ""
        self._room = Room(MOST_BYTES // 2)
        self.beside = Beside()
        """What it reads besides its records."""
        self.believed = ""
        """Why it could not be tried at all, as a note; empty if it was."""

    def before(self, some: Sequence[Any] | None, again: bool) -> None:
        """Try it on some records, the first ones first, where nobody sees it and nothing stays of it (``aside``). ``again``: as a collection, which one can go through more than once."""
        self._again = again
        if some is None:
            self.believed = BELIEVED
            return
        until = perf_counter() + MOST_SECONDS
        try:
            self._known.check()
            with aside(self.beside.opens):
                copied = partial(self._copied, Copies(self.beside.holds))
                self._try_first(copied, some[:FIRST], until)
                if not self.believed:
                    self._try_late(some)
        except Untried as why:
            self._known.learn(why)
            self.believed = why.note
        except Broken as promise:
            self._why = str(promise)
        except BaseException as error:  # the user's; an exit is one of a record alone
            if from_outside(error):
                raise
            self._why = raised(error)
        finally:
            ended()
        if self._unseen:
            log.debug("bigdebug: records behind the first were not tried: %s", self._unseen)  # aside, nobody would hear it

    def _try_first(self, copied: Copied, some: Sequence[Any], until: float) -> None:
        """The first one, and others while there is time, and room for what comes of them."""
        room = Room(MOST_BYTES // 2)
        for record in some:
            if self._alone and perf_counter() > until:
                break
            with copied([record]) as (call, mine):
                try:
                    outputs = [_copy(output, room) for output in islice(call(iter(mine)), MOST)]
                except NoRoom:
                    self.believed = "" if self._alone else LARGE
                    break
            self._alone.append(outputs)

    def _try_late(self, some: Sequence[Any]) -> None:
        """Those behind the first may be such that the function raises of them among others, writes, or cannot be copied: then no more is known than of the first, and that is told."""
        try:
            copied = partial(self._copied, Copies(room=Room(_LATE_BYTES, _LATE_OBJECTS)))
            self._late = seen_among(copied, some, partial(_kept, Room(_LATE_BYTES, _LATE_OBJECTS)), perf_counter() + _LATE_SECONDS)
        except Broken:
            raise
        except BaseException as error:  # the user's, and ours that say why not
            if from_outside(error):
                raise
            self._unseen = f"{type(error).__name__}: {said(error)}"

    @contextmanager
    def _copied(self, copies: Copies, records: Sequence[Any]) -> Iterator[tuple[Call, Sequence[Any]]]:
        with stopped(), copies.of(self._function, self._arguments.rest, list(records)) as (function, rest, mine):
            call = partial(self._arguments.copied(rest).call, function)
            yield partial(_as_collection, call, mine) if self._again else call, mine

    def sees(self, output: Any, read: int) -> None:
        """An output of the real call, which had read so many records. Copies of those of the first ones are kept."""
        self._count(read)
        if self._given and not self._why and not self.believed:
            self._keep(output)

    def enough(self) -> bool:
        """Whether no more outputs need to be seen: those of the first records are over, as one more was read."""
        return len(self._given) > FIRST or bool(self.believed)

    def ended(self, read: int, all_given: bool) -> None:
        """The real call has read so many records, and all of its outputs have been taken, or not."""
        self._count(read)
        self._ended = all_given

    def note(self, count: int) -> str:
        """Why what was promised of so many records is believed, as a note; empty if it was tried on more than one, or on all."""
        return self.believed or (LONG if len(self._counts()) < min(count, 2) else "")

    def tried(self, count: int) -> str:
        """On how many of so many records it was seen; empty if that were all."""
        counts = self._counts()
        cut = sum(each >= MOST for each in counts)
        if len(counts) - cut >= count:
            return ""
        return f"what was promised was tried on {len(counts) - cut} of {count:,} records" + (f", and on the first {MOST:,} outputs of {cut} more" if cut else "")

    def _counts(self) -> list[int]:
        """How many outputs came of each record that was tried."""
        return [*map(len, self._alone), *self._late]

    def broken(self) -> str:
        """Why the function does not make each output of the record read last; empty if it was not seen otherwise."""
        if self._why or self.believed:
            return self._why
        for number, (alone, outputs) in enumerate(zip(self._alone, self._given), 1):
            over = self._ended or number < len(self._given)  # all of its outputs have been taken, and none should come behind them
            same = len(alone) == len(outputs[:MOST]) if over else len(alone) >= len(outputs[:MOST])
            try:
                if not same or not all(map(same_cell, alone, outputs)):
                    return OTHERWISE
            except Exception as error:  # of what the outputs are
                if from_outside(error):
                    raise
                return f"its outputs cannot be compared ({type(error).__name__}: {shown(said(error))})"
        return ""

    def _count(self, read: int) -> None:
        self._given.extend([] for _ in range(len(self._given), min(read, FIRST + 1)))

    def _keep(self, output: Any) -> None:
        """Of records that were tried, and of many outputs of one so many as of the record alone; of large ones, those that can be copied in MOST_SECONDS."""
        if len(self._given) > len(self._alone) or len(self._given[-1]) >= MOST:
            return
        began = perf_counter()
        try:
            self._given[-1].append(_copy(output, self._room))
        except NoRoom:
            self.believed = LARGE
        except Broken as promise:
            self._why = str(promise)
        self._seconds += perf_counter() - began
        if self._seconds > MOST_SECONDS:
            self.believed = LARGE


def _as_collection(call: Call, mine: Sequence[Any], records: Iterator[Any]) -> Iterable[Any]:
    return call(Looks(mine, lambda again: records, lambda: 0).hand())


def _copy(value: Any, room: Room) -> Any:
    """A copy of an output. Raises NoRoom, and Broken where it cannot be copied."""
    if all_atoms((value,)):
        return value
    try:
        return Apart(room).of(value)
    except NoRoom:
        raise
    except Untried:  # of what deepcopy may copy still; but not where that asks code of the user's, which may change his output
        if tells(type(value)):
            raise Broken(f"a {type(value).__name__} cannot be copied for certain, so it cannot be tried on a record alone; check=False believes it") from None
    try:
        return copy.deepcopy(value)
    except Exception as error:  # a type's own
        if from_outside(error):
            raise
        raise Broken(f"a {type(value).__name__} cannot be copied, so it cannot be tried on a record alone ({type(error).__name__}); check=False believes it") from error


def _kept(room: Room, value: Any) -> Any:
    """A copy of an output; itself where it cannot be copied, which is known of the first ones."""
    try:
        return _copy(value, room)
    except Broken:
        return value
