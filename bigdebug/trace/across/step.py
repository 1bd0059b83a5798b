"""Step: anything that read files and wrote files, and can tell which records of the one made which of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from bigdebug.trace.across.located import Extent, Located
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.places import Places
from bigdebug.trace.run import Run


class Step(Protocol):
    """A job of Spark's, a pandas function, an external program. What it read, it read as ``reads`` say it then was.

    ``id`` is unique among the steps of a dataflow. ``kind`` is shown: "Spark job", "pandas", "program", "generator". ``began`` and ``ended`` are seconds since 1970; ``ended`` is None
    while it runs. ``incomplete`` says why its lineage is not exact, or not there; empty if it is.

    ``backward`` gives records of ``reads`` for records of ``writes``, ``forward`` the other way. What they are asked is in the units that
    ``writes`` and ``reads`` say, and so is what they give, one Located for each file at most, with its ``why`` where it is more than what was asked for. Raises BigdebugErrors for what it cannot tell.
    """

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def began(self) -> float | None: ...

    @property
    def ended(self) -> float | None: ...

    @property
    def reads(self) -> Sequence[Extent]: ...

    @property
    def writes(self) -> Sequence[Extent]: ...

    @property
    def incomplete(self) -> Sequence[str]: ...

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]: ...

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]: ...


class Traced(Step, Protocol):
    """A step of which people hold records themselves: a trace, a LineageFrame, a culprit of its run."""

    def inputs_of(self, records: object) -> Sequence[Located] | None:
        """The records of ``reads`` that these were made of; None if they are not this step's."""

    def outputs_of(self, records: object) -> Sequence[Located] | None:
        """The records of ``writes`` that were made of these; None if they are not this step's."""


class Hashed(Step, Protocol):
    """A step that knows its data by value: what it passed on without a file is found again by equal hashes (Newt 3.2).

    Such data have an extent, too, whose path is no file but a name that begins with ``item:``, with unit ROW.
    """

    def hashes(self, path: str) -> npt.NDArray[np.uint64] | None:
        """The hash of each record of one extent, by position; None if they were not hashed."""


class Counting(Step, Protocol):
    """A step that knows how many records there are of what it took or passed on without a file."""

    def count(self, path: str) -> int:
        """How many records an extent has whose path begins with ``item:``."""


class Partial(Step, Protocol):
    """A step that may have written a part of a file alone: what it appended, or put in its place."""

    def untold(self, found: Located) -> bool:
        """Whether it said nothing of some of these records of a file that it wrote. (Of a header before its records nobody does.)"""

    def leaves(self, found: Located) -> bool:
        """Whether some of these records stand before all that it said it wrote there, so that it may have left them as they were."""


class Contained(Step, Protocol):
    """A step that is a part of others: they began it, and did not end before it (Newt 3.1)."""

    @property
    def parents(self) -> Sequence[str]:
        """The ids of the steps, or of the jobs and stages, that contain this one, innermost first."""


class Parted(Step, Protocol):
    """A step that was done in parts: the stages of a run, their tasks, and the operators in them."""

    @property
    def run(self) -> Run: ...

    @property
    def lineage(self) -> Lineage:
        """What is known of the run's records, or can be computed again."""

    def trace(self, standing: Mapping[int, Places]) -> Any:
        """The trace over records at operators of the run, that ``inputs_of`` and ``outputs_of`` take."""

    def results_at(self, outputs: Sequence[Located]) -> Mapping[int, Places]:
        """The records of the run's result that stand there, by the operator that its action was called on. All, where it is not known which of them do."""

    def results_of(self, inputs: Sequence[Located]) -> Mapping[int, Places]:
        """The records of the run's result that these had a part in; it may have written none of them."""

    def results(self) -> Mapping[int, Places]:
        """All records of the run's result."""


class Moving(Step, Protocol):
    """A step that reads what it wrote to find records there, also where that stands elsewhere now."""

    def follow(self, moved: Callable[[Step, str], Sequence[str]]) -> None:
        """Ask ``moved`` of itself where a file that it wrote may stand that is not there any more: under names by which others read it. It holds no other steps."""


# By one method: to ask whether a step has all of them would compute what it read and wrote.


def traced(step: Step) -> Traced | None:
    """The step, if people hold records of it."""
    return cast(Traced, step) if hasattr(type(step), "inputs_of") else None


def hashed(step: Step) -> Hashed | None:
    """The step, if it knows its data by value."""
    return cast(Hashed, step) if hasattr(type(step), "hashes") else None


def counting(step: Step) -> Counting | None:
    """The step, if it knows how many records without a file there are."""
    return cast(Counting, step) if hasattr(type(step), "count") else None


def partial(step: Step) -> Partial | None:
    """The step, if it may have written a part of a file alone."""
    return cast(Partial, step) if hasattr(type(step), "untold") else None


def moving(step: Step) -> Moving | None:
    """The step, if it follows what it wrote to where that was moved."""
    return cast(Moving, step) if hasattr(type(step), "follow") else None


def failed_in(step: Step) -> Sequence[Extent]:
    """The files that culprits of a step stand in which has come to nothing else; none of others."""
    found: Sequence[Extent] = getattr(step, "failed_in", ())
    return found


def took(step: Step) -> Sequence[str]:
    """The files that a step had begun to read when it failed; none of others."""
    found: Sequence[str] = getattr(step, "took", ())
    return found


def left(step: Step) -> Sequence[Extent]:
    """The files that it had written, in part or whole, with what they held where that was looked at."""
    found: Sequence[Extent] = getattr(step, "left", ())
    return found


def lost(step: Step) -> str:
    """Why nobody knows what a step read and wrote, if it was damaged; empty if it was not."""
    return str(getattr(step, "lost", ""))


def believed(step: Step) -> str:
    """What a step takes on the word of its user, and was tried on some records alone; empty if there is nothing such."""
    return str(getattr(step, "believed", ""))


def contained(step: Step) -> Contained | None:
    """The step, if it says what it is a part of."""
    return cast(Contained, step) if hasattr(type(step), "parents") else None


def parted(step: Step) -> Parted | None:
    """The step, if it is known in parts."""
    return cast(Parted, step) if hasattr(type(step), "results_at") else None


def changed_since(path: str, step: str) -> str:
    """What there is to say of a file that is not what a step of this name wrote."""
    return f"{path} has been changed since {step!r} wrote it"


def all_taken(path: str, step: str) -> str:
    """The same, where records of the step's may be in that file."""
    return f"{changed_since(path, step)}, and which of its records these are is not known: all of it is taken"


def named(step: Step) -> str:
    """A step as messages have it."""
    return f"'{step.name or step.id}'"
