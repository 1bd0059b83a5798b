"""What a watch was told of: records for which its guard held, calls that hang, and records that took long."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from html import escape
from typing import Any

from bigdebug.graph import CallSite, Operator
from bigdebug.outside import from_outside, said
from bigdebug.shown import plain, shown
from bigdebug.trace.culprit import Described
from bigdebug.trace.sourced import Sourced


def unpickled(pickled: bytes | None, text: str) -> Any:
    """A record as a task sent it, or what stands for it."""
    if pickled is None:
        return Described(text)
    try:
        return pickle.loads(pickled)
    except BaseException as problem:  # it is the user's code that runs here, and libraries of his panic
        if from_outside(problem):
            raise
        return Described(f"<{text or 'a record'} that cannot be unpickled here: {type(problem).__name__}: {said(problem)}>")


@dataclass(frozen=True, repr=False, eq=False)
class Seen(Sourced):
    """A record that a task told of while it ran. ``attempt`` counts the attempts of the same task before, ``run`` is the id of the run.

    ``trace`` is the trace over the records of the job's input that it was made of, ``sources`` has those; both may cost a job, once,
    and can be asked for when the action has ended: NotCapturedError before. None, or none, if it is the merge of several.
    """

    operator: Operator
    partition: int
    attempt: int
    run: str
    at: tuple[int, int] | None
    """The operator whose record it is, by its id, and its position among those of the partition."""
    came: tuple[int, int] | None
    """The same for the record that it was made of where its segment begins, if that is known without asking."""
    pickled: bytes | None = field(repr=False)
    text: str = field(repr=False)
    finding: Callable[[], Any] = field(repr=False)

    @cached_property
    def record(self) -> Any:
        """The record as it was then; its text alone, if it could not be pickled or was larger than a megabyte."""
        return unpickled(self.pickled, self.text)

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return len(self.pickled or self.text) + 500

    def what(self) -> str:
        """What is special about it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return plain(f"<{self.what()}: {shown(self.record)} of {self.operator}, partition {self.partition}>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": f"<pre>{escape(repr(self))}</pre>"}


@dataclass(frozen=True, repr=False, eq=False)
class WatchedRecord(Seen):
    """A record of ``operator`` for which the guard held, ``when`` it passed."""

    when: datetime

    def what(self) -> str:
        return f"watched at {self.when:%H:%M:%S}"


@dataclass(frozen=True, repr=False, eq=False)
class SlowRecord(Seen):
    """A record on which the function of ``operator`` took ``seconds``, by so many standard ``deviations`` longer than on others.

    Of a function over an iterator, it is the record that it had read last.
    """

    seconds: float
    deviations: float

    def what(self) -> str:
        return f"{self.seconds:.3g} s, {self.deviations:.1f} standard deviations beyond the mean"


@dataclass(frozen=True, repr=False, eq=False)
class HungCall(Seen):
    """A call of ``operator`` that took longer than the watch's timeout: ``seconds``, up to now if it has not ended.

    ``state`` is "running", "ended", or "lost" if the task ended in it. ``user_line`` is the innermost line of the user's own that it was
    seen at last, ``traceback`` goes from there outwards. With ``in_guard`` it is no function of the program's that hangs, but the guard of a watch that
    is called on a record of ``operator``. Of a function over an iterator, the record is the one that it had read last; None, when it had read all.
    """

    seconds: float
    state: str
    user_line: CallSite | None
    traceback: str
    in_guard: bool = False

    @cached_property
    def record(self) -> Any:
        return None if self.pickled is None and not self.text else super().record

    @property
    def where(self) -> str:
        """The line where it is, and whether that is a guard's; empty if it is not known."""
        return ", ".join([*(["in the guard of a watch"] if self.in_guard else []), *([str(self.user_line)] if self.user_line else [])])

    def what(self) -> str:
        return f"{self.state} {'after' if self.state != 'running' else 'for'} {self.seconds:.3g} s at {self.where or None}"


@dataclass(frozen=True, repr=False)
class GuardError:
    """What a guard raised on a record, or why it was not shown it (then it is not ``seen``): the watch goes on, without the record."""

    record: Any
    exception_type: str
    message: str
    user_line: CallSite | None
    traceback: str
    seen: bool = True

    def why(self) -> str:
        """What was raised, or why it was not shown the record."""
        return f"{self.exception_type}: {self.message}" if self.seen else f"not shown: {self.message}"

    def __repr__(self) -> str:
        return plain(f"<the guard raised {self.why()} on {shown(self.record)}>" if self.seen else f"<the guard was {self.why()} It is {shown(self.record)}>")
