"""Resumed: what a run that had crashed gives when its program goes on (BigDebug 5)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from bigdebug.shown import counted, plain

if TYPE_CHECKING:
    from bigdebug.trace.culprit import CrashCulprit
    from bigdebug.trace.run import Run


class Resuming(Protocol):
    """Resumes one run, and tells before what it would refuse."""

    def __call__(self, skip: Any, repair: Any, fix: Any) -> Resumed: ...

    def check(self) -> None:
        """Raise ReplayError if the action is one that cannot be called again, NotCapturedError if the run was forgotten. Costs no job."""

    def check_repair(self, culprit: CrashCulprit, record: Any) -> None:
        """Raise ReplayError if this record cannot come in the place of that of a culprit. Costs no job."""

    def defined(self, operator: int) -> Callable[[Any], Any] | None:
        """The function of an operator as the notebook defines it by now: what its name says, else itself, with what it calls as that is now.

        None where no such function comes in the place of the one that crashed. Costs no job.
        """

    @property
    def held(self) -> Mapping[str, Collection[int]] | None:
        """The partitions of the run's stages that Spark holds, by the ids of these; None where that is not known before it is resumed."""


@dataclass(frozen=True, repr=False)
class Resumed:
    """``result`` is what the action gives, ``run`` the run that gave it; its culprits are the records that crashed again, or were left out.

    ``reused`` and ``ran`` count the partitions of stages that Spark held already, and those that were computed; -1 where Spark does not tell.
    """

    result: Any = field(compare=False)
    run: Run
    reused: int
    ran: int

    def __repr__(self) -> str:
        left = [culprit for culprit in self.run.culprits.known if not culprit.again]
        again = len(self.run.culprits.known) - len(left)
        parts = [f"{self.ran:,} partitions computed", f"{self.reused:,} reused"] if self.ran >= 0 else []
        parts += [f"{counted(len(left))} crashed"]
        parts += [f"{counted(again)} put in the place of one crashed again"] if again else []
        return plain(f"<resumed {self.run.action}: {', '.join(parts)}>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": f"<pre>{escape(repr(self))}</pre>"}
