"""A run: one captured action, finished. Plain data over a store, so that it can be asked without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import count
from typing import Any

from bigdebug.errors import ReplayError
from bigdebug.graph import OperatorGraph
from bigdebug.model import Statistics
from bigdebug.shown import counted, plain, shown
from bigdebug.store.directory import LineageStore
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.origins import SourceFacts
from bigdebug.trace.resumed import Resumed, Resuming
from bigdebug.trace.table import Table

NO_ACTION = "no action"
"""The action of a run of a DataFrame that was only asked about."""


@dataclass(frozen=True, repr=False)
class Run:
    """One captured action. ``status`` is succeeded, failed or partial; ``incomplete`` says why lineage is missing.

    ``subject`` is the operator that the action was called on. ``earlier`` are runs whose blocks it may share, because
    Spark did not compute a shuffle or a cache again, latest first. ``computed`` are the partitions of each stage that it
    or they computed, with a digest of what each emitted. ``began`` is when the action did, in seconds since 1970: None for what was
    no action, and for runs that were saved before this was known.
    """

    id: str
    name: str
    action: str
    status: str
    subject: int
    graph: OperatorGraph
    statistics: Statistics = field(default_factory=Statistics)
    incomplete: tuple[str, ...] = ()
    culprits: Culprits = field(default_factory=Culprits, compare=False)
    store: LineageStore | None = field(default=None, repr=False, compare=False)
    earlier: tuple[str, ...] = field(default=(), repr=False)
    sources: Mapping[int, SourceFacts] = field(default_factory=dict, repr=False)
    computed: Mapping[str, Mapping[int, int]] = field(default_factory=dict, repr=False)
    began: float | None = field(default=None, compare=False)
    resuming: list[Resuming] = field(default_factory=list, repr=False, compare=False)
    """What resumes it, if anything does."""

    @cached_property
    def lineage(self) -> Lineage:
        assert self.store is not None
        return Lineage(self.graph, self.store, (self.id, *self.earlier), computed=self.computed)

    def datasets(self) -> dict[int, str]:
        """What each source reads, by its id."""
        facts = self.sources
        return {s.id: facts[s.id].dataset if s.id in facts else s.dataset or s.name for s in self.graph.sources}

    def input_names(self) -> dict[int, str]:
        """A name for each source, no two alike: its dataset's; the second occurrence of the same one is ``name#2``."""
        datasets = self.datasets()
        taken = set(datasets.values())
        names: dict[int, str] = {}
        for source, dataset in datasets.items():
            name = dataset
            if dataset in names.values():
                name = next(numbered for n in count(2) if (numbered := f"{dataset}#{n}") not in taken)
            names[source] = name
            taken.add(name)
        return names

    def resume(self, skip: Any = None, repair: Any = None, fix: Any = None) -> Resumed:
        """The action once more, where a record crashed, with what is to become of it (BigDebug 5).

        ``skip`` are culprits that are left out, True for all that crash. ``repair`` has a record for each of some culprits, or is a function
        that gives one for each record that crashes: the function that crashed goes on with it. ``fix`` has functions for operators
        (an RDD, or an operator of ``graph``), which are called where records crashed as the function that stands there in the program: that of ``mapValues`` with a value,
        to give another one, that of ``keyBy``, ``groupBy`` or ``sortBy`` with a record, to give its key. Other records crash as before, or, if the run had a policy
        (``dbg.capture(on_crash=...)``), become what that says; what is said here of all that crash is said in the place of it. Stages
        that had finished, also in part, do not run again. All culprits are found first. The action is called once, or up to four times, if it
        has no effects, until no function over an iterator has to begin anew behind a crash; what such calls add to accumulators adds up.
        Raises ReplayError for what cannot be resumed so, SourceChangedError if the input is not what it was, TypeError for what is no culprit, record or function.
        """
        if not self.resuming:
            raise ReplayError("This run did not crash in this session, so there is nothing to resume", value=self.name, remedy="Run the job again.")
        if not isinstance(skip, bool | CrashCulprit | Iterable | None) or isinstance(skip, str | bytes) or callable(skip):
            raise TypeError(f"skip takes culprits of this run, or True for all that crash, not {shown(skip)}")
        if repair is not None and not callable(repair) and not isinstance(repair, Mapping):
            raise TypeError(f"repair takes a function of a record, or a dictionary of culprits and records, not {shown(repair)}")
        if not isinstance(fix, Mapping | None):
            raise TypeError(f"fix takes a dictionary of operators, or RDDs, and functions, not {shown(fix)}")
        return self.resuming[0](skip, repair, fix)

    # ---- display ----------------------------------------------------------------------------------------------

    def table(self) -> Table:
        """The operators with the records that were counted at them, and what is missing."""
        records = self.statistics.records
        rows = [
            (str(o.id), o.name, o.kind.value, f"{records[o.id]:,}" if o.id in records else "", o.dataset or "", str(o.call_site or ""))
            for o in self.graph if "internal" not in o.detail
        ]
        return Table(("", "operator", "kind", "records", "dataset", "defined at"), rows, (self.summary(), *self.incomplete))

    def summary(self) -> str:
        """One line: what ran, how much it read and gave, and what its lineage takes."""
        known = self.statistics
        if self.status == "failed" and not known.seconds:
            return f"{self.name}: {self.action} failed before a task had ended"
        return (
            f"{self.name}: {self.action} {self.status}, {counted(known.records_in)} in, {known.records_out:,} out, "
            f"lineage {size_of(known.bytes)}{self._share()}, {known.seconds:.1f} s in tasks"
        )

    def _acted(self) -> str:
        """What a DataFrame's run did. Nobody counts what it reads, and not always what it gives."""
        if self.action == NO_ACTION:
            return "asked about, of no captured action"
        known = self.statistics
        rows = f", {known.records_out:,} out" if known.records_out >= 0 else ""
        return f"{self.action} {self.status}{rows}, {known.seconds:.1f} s"

    def _share(self) -> str:
        """The lineage as a part of the input, where that is files."""
        read = sum(stamp.size for facts in self.sources.values() for stamp in facts.stamps)
        whole = bool(read) and all(facts.stamps for facts in self.sources.values())
        return f" ({self.statistics.bytes / read:.1%} of the input files)" if whole else ""

    def __repr__(self) -> str:
        return plain(f"<run {self.id} {self.summary()}>")

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def runs_table(runs: Sequence[Run]) -> Table:
    """Runs, a line each; when they began is in the time of this machine's zone."""
    return Table(
        ("run", "name", "action", "status", "began", "records in", "records out", "lineage", "task seconds"),
        [
            (r.id, r.name, r.action, r.status, _moment(r.began), _known(r.statistics.records_in), _known(r.statistics.records_out),
             size_of(r.statistics.bytes), f"{r.statistics.seconds:.1f}")
            for r in runs
        ],
        tuple(f"{r.name} is incomplete: {reason}" for r in runs for reason in r.incomplete),
    )


def _moment(seconds: float | None) -> str:
    """A time as people read it; nothing for none, and for what a catalog may have in the place of one."""
    try:
        return "" if seconds is None else f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def _known(count: int) -> str:
    return f"{count:,}" if count >= 0 else ""


def size_of(count: int) -> str:
    """Bytes as people read them; nothing for what is not known."""
    if count < 0:
        return ""
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
