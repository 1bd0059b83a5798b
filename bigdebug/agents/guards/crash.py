"""A crash: what a function raised on a record, as the task that saw it tells it.

Everything in it is plain data: the exception itself may be of a class that the driver does not have, and what its frames
refer to may be large, or impossible to pickle.
"""

from __future__ import annotations

import functools
import linecache
import os
import sysconfig
import traceback
from collections.abc import Sequence
from dis import opname
from inspect import CO_GENERATOR
from itertools import dropwhile, islice, takewhile
from pathlib import Path
from traceback import FrameSummary, StackSummary
from types import CodeType, FrameType, TracebackType
from typing import NamedTuple

from bigdebug.outside import said
from bigdebug.shown import masked, shown

DEEPEST = 20
"""Lines of a traceback that are kept, the innermost ones."""

MOST_LOCALS = 50

_CHOOSING = frozenset({"with_traceback", "__traceback__"})
"""What code that puts together a traceback calls."""

_HERE = os.path.join(Path(__file__).absolute().parents[2], "")
_LIBRARIES = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class Line(NamedTuple):
    """A line of a traceback. ``code`` is empty where the file is not on the machine that ran it: in a notebook, say."""

    file: str
    line: int
    function: str
    code: str


class Raised(NamedTuple):
    """What was raised. ``lines`` are those of the traceback that are neither PySpark's nor ours, outermost first; ``locals`` belong to
    the line ``at`` among them, the innermost one of the user's own.
    """

    exception: str
    message: str
    lines: tuple[Line, ...]
    at: int | None
    locals: tuple[tuple[str, str], ...]

    @property
    def line(self) -> Line | None:
        """The innermost line of the user's own."""
        return None if self.at is None else self.lines[self.at]

    @property
    def traceback(self) -> str:
        """As Python prints it."""
        return _printed(self.lines)


class Place(NamedTuple):
    """Which crash of a run: the ``nth`` of an operator in a partition while the record at a position was on its way.

    The partition is one of the operator's input ``side`` where records are sent to it from there, counted from 1, and 0 says that it is of its own.
    """

    operator: int
    partition: int
    position: int | None
    nth: int
    side: int = 0


class Crash(NamedTuple):
    """What ``operator`` raised in a task of its stage.

    The record that was on its way is the one at ``position`` of the records before segment ``segment``, None if none was.
    ``record`` is what the function was given, as a pickle, or None if it cannot be pickled: then ``shown`` is its text. Both are None if it had
    been given nothing. ``met`` is the text of what it was to be combined with, if it was. ``again`` says that the record came in the place of another one that had crashed.
    """

    operator: int
    segment: int
    position: int | None
    record: bytes | None
    shown: str | None
    met: str | None
    raised: Raised
    again: bool = False


@functools.lru_cache
def _printed(lines: tuple[Line, ...]) -> str:
    """Thousands of crashes come from the same lines, and a traceback takes longer than all else that is told of one."""
    return "".join(StackSummary.from_list([FrameSummary(*line[:3], line=line.code or None) for line in lines]).format())


def _stood_for(problem: BaseException) -> Raised | None:
    """What a stand-in is told as; None of anything else, of which no attribute is asked: its class may answer whatever it likes."""
    told: Raised | None = vars(problem)["raised"] if issubclass(type(problem), StandIn) else None
    return told


def name_of(problem: BaseException) -> str:
    """The name of the exception's class, as a traceback has it."""
    known_as = _stood_for(problem)
    if known_as is not None:
        return known_as.exception
    kind = type(problem)
    return kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"


def message_of(problem: BaseException) -> str:
    """What the exception says, in as many characters as a reader needs, whatever its ``__str__`` does."""
    text = masked(said(problem))
    return text if len(text) <= 2_000 else f"{text[:1_997]}..."


def same_class(one: BaseException | None, other: BaseException) -> bool:
    """Whether something was raised, of a class of the same name: a call may make its classes anew."""
    return one is not None and name_of(one) == name_of(other)


class StandIn(Exception):
    """Stands for what was raised somewhere else, or before: ``raised`` is what is told of it."""

    raised: Raised


def raised_as(problem: BaseException) -> Raised:
    """What was raised, without the frames of whoever called the user's function, and those of an earlier call that raised the same object."""
    known_as = _stood_for(problem)
    if known_as is not None:
        return known_as
    known, frames = _traced(problem)
    at = known.at
    variables = () if at is None else islice(frames[known.first + at].f_locals.items(), MOST_LOCALS)
    return Raised(name_of(problem), message_of(problem), known.lines, at, tuple([(name, shown(value)) for name, value in variables]))


def trail_of(problem: BaseException) -> tuple[Line, ...]:
    """Where something was raised: the lines of the user's own that led there, and behind them which function of a library did, whatever its line."""
    known_as = _stood_for(problem)
    return _trail(known_as.lines) if known_as is not None else _traced(problem)[0].trail


def _trail(lines: Sequence[Line]) -> tuple[Line, ...]:
    return tuple(line for line in lines if not of_library(line.file)) + tuple(Line(line.file, 0, line.function, "") for line in lines[-1:] if of_library(line.file))


def _traced(problem: BaseException) -> tuple[_Trace, Sequence[FrameType]]:
    """What is told of the traceback of an exception, and its frames."""
    frames: list[FrameType] = []
    place: list[int] = []
    trace, before = vars(BaseException)["__traceback__"].__get__(problem), None
    while trace is not None:
        frame = trace.tb_frame
        if before is not None and frame.f_back is not frames[-1] and _of_earlier_call(frame, before, frames):
            break
        frames.append(frame)
        place += id(frame.f_code), trace.tb_lineno
        before, trace = trace, trace.tb_next
    known = _TRACES.get(tuple(place))
    if known is None:
        known = _told(frames, place[1::2])
        if len(_TRACES) >= _MOST_TRACES:
            _TRACES.clear()
        if len(frames) <= _DEEP:
            _TRACES[tuple(place)] = known
    return known, frames


class _Trace(NamedTuple):
    """What is told of a traceback: of its frames from the ``first`` on the lines, and which is the innermost one of the user's own."""

    first: int
    lines: tuple[Line, ...]
    at: int | None
    trail: tuple[Line, ...]
    codes: tuple[CodeType, ...]
    """The code of all its frames. While it is here, nothing else has its ids."""


_TRACES: dict[tuple[int, ...], _Trace] = {}
"""By ids of code and numbers of lines. Thousands of crashes come along the same lines, and to ask whether a file has changed takes long."""

_MOST_TRACES, _DEEP = 1_000, 100
"""How many are kept, and of how many frames at most."""


def _of_earlier_call(frame: FrameType, before: TracebackType, frames: Sequence[FrameType]) -> bool:
    """Whether a frame that the last of ``frames`` has not called, which stands ``before`` it in a traceback, is of an earlier call of the user's function.

    An object that is raised again keeps its traceback, behind the frames of the new one. Where these were called by whoever calls the function, they tell of
    another record. They belong to this call where it raises what it has caught, or what a thread of its has.
    """
    called = next((each for each in frames if not _is_calling(each)), None)
    outer: FrameType | None = frame
    while called is not None and outer is not None and outer is not called:
        if outer.f_code.co_filename.startswith(_HERE):
            return True
        frame, outer = outer, outer.f_back
    # Of a generator that has ended nobody knows who called it.
    return called is not None and outer is None and bool(frame.f_code.co_flags & CO_GENERATOR) and _raises(before) and not _chooses(before)


def _raises(entry: TracebackType) -> bool:
    """Whether a frame has raised by itself, and not called what did."""
    return opname[entry.tb_frame.f_code.co_code[entry.tb_lasti]] == "RAISE_VARARGS"


def _chooses(entry: TracebackType) -> bool:
    """Whether a frame that raises says what its traceback goes on with. So it raises what it has caught without its own line, at which that had come to it."""
    return not _CHOOSING.isdisjoint(entry.tb_frame.f_code.co_names)


def _is_calling(frame: FrameType) -> bool:
    """Whether a frame is one of those that call a function of the user, if no such function stands before it."""
    return _calls(frame.f_code.co_filename) or frame.f_code.co_filename == functools.__file__


def _told(frames: Sequence[FrameType], numbers: Sequence[int]) -> _Trace:
    calling = sum(1 for _ in takewhile(_is_calling, frames))
    first = max(calling, len(frames) - DEEPEST)
    lines = tuple(_line(frame, number or 0) for frame, number in zip(frames[first:], numbers[first:], strict=True))
    return _Trace(first, lines, _own(lines), _trail(lines), tuple(frame.f_code for frame in frames))


def _line(frame: FrameType, number: int) -> Line:
    """The line of a frame. What a worker that lives longer than a version of a file has kept, is of that version's code."""
    code = frame.f_code
    linecache.lazycache(code.co_filename, frame.f_globals)
    linecache.checkcache(code.co_filename)
    return Line(code.co_filename, number, code.co_name, linecache.getline(code.co_filename, number).strip())


def raised_at(exception: str, message: str, lines: Sequence[Line]) -> Raised:
    """What was raised at lines of which nothing else is known, the outermost first."""
    inner = tuple(dropwhile(lambda line: _calls(line.file), lines))[-DEEPEST:]
    return Raised(exception, message, inner, _own(inner), ())


def standing(frame: FrameType | None) -> Raised:
    """Where a thread is, whose innermost frame this is: nothing was raised."""
    walked = takewhile(lambda known: not _calls(known[0].f_code.co_filename), traceback.walk_stack(frame) if frame is not None else ())
    lines = [_line(known, number) for known, number in walked][::-1]
    return raised_at("", "", lines)


def _own(lines: Sequence[Line]) -> int | None:
    """The innermost line that is the user's own."""
    own = [i for i, line in enumerate(lines) if not of_library(line.file)]
    return own[-1] if own else None


def of_library(file: str) -> bool:
    """Whether code of this file is none of the user's: Python's, an installed package's, or ours."""
    return file.startswith((*_LIBRARIES, "<frozen", _HERE))


def _calls(file: str) -> bool:
    return file.startswith(_HERE) or f"{os.sep}pyspark{os.sep}" in file or f"pyspark.zip{os.sep}" in file
