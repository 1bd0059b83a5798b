"""Step: anything that read files and wrote files, and can tell which records of the one made which of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bigdebug.trace.across.located import Extent, Located


class Step(Protocol):
    """A job of Spark's, a pandas function, an external program. What it read, it read as ``reads`` say it then was.

    ``id`` is unique among the steps of a dataflow. ``kind`` is shown: "Spark job", "pandas", "program", "generator". ``began`` and ``ended`` are seconds since 1970; ``ended`` is None
    while it runs. ``incomplete`` says why its lineage is not exact, or not there; empty if it is.

    ``backward`` gives records of ``reads`` for records of ``writes``, ``forward`` the other way. What they are asked is in the units that
    ``writes`` and ``reads`` say, and so is what they give, one Located for each file at most. Raises BigdebugErrors for what it cannot tell.
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
