"""Asking: who types a magic, with the session that is asked, and what the notebook's names stand for."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.mining.cleaned import Cleaned
from bigdebug.shown import plain
from bigdebug.trace.capture import Capture
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.run import Run
from bigdebug.trace.watch import Watch

if TYPE_CHECKING:
    from bigdebug_kernel.extension import Extension


def is_trace(value: Any) -> bool:
    """Whether a value is a trace over records of an RDD program or rows of a query."""
    if "pyspark.sql" not in sys.modules:
        return False
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD
    from bigdebug.spark.sql.lineage_frame import LineageFrame

    return isinstance(value, LineageRDD | LineageFrame)


class Asking:
    """One shell's user, who means variables of the notebook and runs by their names or ids. A variable comes first."""

    def __init__(self, shell: Any, extension: Extension) -> None:
        self.shell = shell
        self.extension = extension

    @property
    def session(self) -> Any:
        """The session that runs, or the latest one. Raises UsageError if there has been none."""
        session = self.extension.session() or self.extension.latest
        if session is None:
            raise UsageError("no Spark session is running; make one first: spark = SparkSession.builder.getOrCreate()")
        return session

    @property
    def names(self) -> dict[str, Any]:
        """The notebook's variables."""
        found: dict[str, Any] = self.shell.user_ns
        return found

    # ---- what a word stands for -------------------------------------------------------------------------------

    def trace(self, what: str) -> Any:
        """The trace over all records of a variable with lineage, or over the outputs of a run. Raises UsageError for what is neither."""
        session, value = self.session, self.names.get(what)
        return session.lineage(value if session.traceable(value) else self.run_called(what))

    def run(self, what: str) -> Run:
        """A run: a variable's, the one that a variable's lineage is of, or the latest one of a name or an id."""
        value = self.names.get(what)
        if isinstance(value, Capture):
            return value.latest
        if isinstance(value, Run):
            return value
        found: Run = self.trace(what).run
        return found

    def run_called(self, what: str) -> Run:
        """The latest run of a name or an id. Raises UsageError if there is none."""
        for run in reversed(self.session.runs):
            if what in (run.name, run.id):
                found: Run = run
                return found
        raise UsageError(plain(f"{what!r} is neither a run nor a variable with lineage; {self.known()}"))

    def variable(self, what: str, kind: str) -> Any:
        """The value of a variable. Raises UsageError, which says what ``kind`` of thing it was to be, if there is none."""
        if what not in self.names:
            raise UsageError(f"{what!r} is no variable of this notebook; {kind} is wanted")
        return self.names[what]

    def known(self) -> str:
        """The runs that there are, for a sentence."""
        session = self.extension.session() or self.extension.latest
        runs = () if session is None else session.runs
        return f"runs: {', '.join(dict.fromkeys(run.name for run in runs)) or 'none'}"

    # ---- what Tab offers --------------------------------------------------------------------------------------

    def runs(self) -> list[str]:
        """The names of runs, the latest first, as they are typed."""
        session = self.extension.session() or self.extension.latest
        named = [] if session is None else [run.name for run in reversed(session.runs)]
        return list(dict.fromkeys(f'"{name}"' if " " in name else name for name in named if '"' not in name))

    def subjects(self) -> list[str]:
        """Runs, and variables with lineage."""
        session = self.extension.session()
        return self.runs() + ([] if session is None else self._holding(session.traceable))

    def crashed(self) -> list[str]:
        """Runs that failed, and those that left out what crashed; all, if there are none."""
        session = self.extension.session() or self.extension.latest
        runs = [] if session is None else [run for run in reversed(session.runs) if run.status != "succeeded"]
        return list(dict.fromkeys(run.name for run in runs if " " not in run.name)) or self.runs()

    def results(self) -> list[str]:
        """What can be compared: runs, variables with lineage, and what was cleaned."""
        return [*self.subjects(), *self._holding(lambda value: isinstance(value, Cleaned))]

    def blamed(self) -> list[str]:
        """Variables that say which records are to blame: diagnoses, culprits and traces; and runs that crashed."""
        return [*self._holding(lambda value: isinstance(value, Diagnosis | Culprits) or is_trace(value)), *self.crashed()]

    def watches(self) -> list[str]:
        """Variables that hold watches."""
        return self._holding(lambda value: isinstance(value, Watch))

    def functions(self) -> list[str]:
        """The user's functions."""
        return self._holding(lambda value: isinstance(value, FunctionType))

    def variables(self) -> list[str]:
        """The user's variables, but what is imported."""
        return self._holding(lambda value: not hasattr(value, "__path__") and type(value).__name__ != "module")

    def _holding(self, fits: Any) -> list[str]:
        hidden = self.shell.user_ns_hidden
        every = list(self.names.items())
        return sorted(name for name, value in every if name[0] != "_" and not (name in hidden and hidden[name] is value) and fits(value))
