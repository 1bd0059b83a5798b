"""Saved runs: what a catalog lists of a run as plain data, and the run that is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any

from bigdebug.errors import CorruptBlockError, IncompleteLineageError, StoreError
from bigdebug.graph import FINE, OperatorGraph, Stage
from bigdebug.shown import masked
from bigdebug.store.directory import LineageStore
from bigdebug.trace.counts import whole
from bigdebug.trace.run import Run, size_of
from bigdebug.trace.saved import told
from bigdebug.trace.saved.associated import Associated
from bigdebug.trace.saved.culprits import Names, dump_culprits, load_culprits
from bigdebug.trace.saved.lineage import LevelLineage, SavedLineage
from bigdebug.trace.saved.outputs import SavedOutputs
from bigdebug.trace.whereabouts import Whereabouts


@dataclass(frozen=True, repr=False)
class SavedRun(Run):
    """A run of a saved session. ``frame`` says that it is one of a DataFrame's, ``unsaved`` why its lineage is not here, empty if it is."""

    frame: bool = False
    associated: Associated | None = field(default=None, repr=False, compare=False)
    outputs: SavedOutputs | None = field(default=None, repr=False, compare=False)
    unsaved: str = ""
    damaged: bool = False
    """Whether ``unsaved`` says how its lineage, which was saved, has been damaged since."""
    whole: Mapping[int, Mapping[int, int]] = field(default_factory=dict, repr=False, compare=False)
    """Records in those partitions of sources that were read to their end, where they were counted when the run was saved."""
    ended: float | None = field(default=None, compare=False)

    @cached_property
    def lineage(self) -> Any:
        """What steps ask. Raises IncompleteLineageError for a DataFrame's run that was saved without lineage."""
        assert self.store is not None
        if not self.frame:
            known = SavedLineage(self.graph, self.store, (self.id, *self.earlier), computed=self.computed, associated=self.associated)
            known.derive = partial(self._refuse, known)
            return known
        if self.associated is not None:
            return LevelLineage(self.graph, self.associated)
        if self.damaged:
            raise IncompleteLineageError(f"The lineage of run {self.name!r} cannot be read: {self.unsaved}", remedy="Restore the file, or save the session again.")
        raise not_saved(
            f"The lineage of run {self.name!r} was not saved{'' if self.unsaved else ': Spark derives it when it is asked'}", self.unsaved,
            "Save it with dbg.save(DIR, lineage=True), which takes about as long as the query.",
        )

    def counted(self, operator: int) -> Mapping[int, int]:
        """Records in those partitions of a source that are known to have been read to their end."""
        if self.frame or operator in self.whole:
            return self.whole.get(operator, {})
        return whole(self.lineage, operator)

    def input_names(self) -> dict[int, str]:
        if not self.frame or not self.sources:
            return super().input_names()
        return {operator: getattr(facts, "name", facts.dataset) for operator, facts in self.sources.items()}

    def datasets(self) -> dict[int, str]:
        return {operator: facts.dataset for operator, facts in self.sources.items()} if self.frame and self.sources else super().datasets()

    def summary(self) -> str:
        if not self.frame:
            return super().summary()
        return f"{self.name}: {self._acted()}, {self._kept()}"

    def _kept(self) -> str:
        """What is here of the lineage of a DataFrame's run, which had none when it ran."""
        if self.associated is not None:
            return f"lineage {size_of(self.associated.bytes)}"
        return "whose lineage cannot be read" if self.damaged else "whose lineage was not saved"

    def _refuse(self, lineage: SavedLineage, stage: Stage, partitions: Any) -> None:
        """What a live session derives by running the program again, nobody derives here. A lost block is not named here."""
        if stage.id.endswith(FINE):
            raise IncompleteLineageError(
                f"The lineage inside stage {stage.id.removesuffix(FINE)} ({self.graph[stage.ends]}) was not saved with the run",
                remedy="It is derived when a trace first stops there: ask that trace, then save.",
            )
        for partition in partitions:
            block = lineage.store.block(lineage.runs, stage.id, partition)
            if block is not None and block.stub:
                raise IncompleteLineageError(
                    f"Of partition {partition} of stage {stage.id} ({self.graph[stage.ends]}) the saved run has counts only",
                    remedy='Its tables are derived when a trace first needs them: ask that trace, then save; or capture with '
                    'strategy="inject", or save with lineage=True.',
                )


@dataclass
class Beside:
    """What is written beside what a run itself tells: by ``lineage`` and ``outputs`` what the catalog lists of their files."""

    frame: bool = False
    lineage: Mapping[str, Any] | None = None
    unsaved: str = ""
    outputs: Mapping[str, Any] | None = None
    sources: Mapping[int, Whereabouts] = field(default_factory=dict)
    whole: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    step: Mapping[str, Any] | None = None
    """What it is as a step of pipelines."""


def not_saved(what: str, why: str, remedy: str) -> IncompleteLineageError:
    """That something is not in a saved session. ``why`` is what was in the way when it was saved, with its own remedy; empty if nobody tried, and then ``remedy`` helps."""
    return IncompleteLineageError(f"{what}: {why.rstrip('.')}") if why else IncompleteLineageError(what, remedy=remedy)


def dump_run(run: Run, beside: Beside) -> dict[str, Any]:
    """A run as data that JSON takes, without what is secret in its texts; ``load_run`` makes one of it. Names of datasets and paths stay: files are found by them."""
    with nullcontext() if run.store is None else run.lineage.at_rest():
        culprits = dump_culprits(run.culprits)
    sources = beside.sources if beside.frame else run.sources
    return {
        "id": run.id, "name": masked(run.name), "action": run.action, "status": run.status, "subject": run.subject,
        "graph": _masked_graph(run.graph), "statistics": asdict(run.statistics), "incomplete": [*map(masked, run.incomplete)],
        "earlier": run.earlier, "computed": run.computed, "sources": {str(o): facts.dump() for o, facts in sources.items()},
        "culprits": culprits, "began": run.began, "frame": beside.frame,
        "lineage": beside.lineage, "unsaved": masked(beside.unsaved), "outputs": beside.outputs, "whole": beside.whole,
        "step": None if beside.step is None else _masked_step(beside.step),
    }


def _masked_graph(graph: OperatorGraph) -> dict[str, Any]:
    """The graph with the lines of the program, and what its operators do, without what is secret there."""
    data = graph.dump()
    return {**data, "operators": [_masked_operator(operator) for operator in data["operators"]]}


def _masked_operator(operator: Mapping[str, Any]) -> dict[str, Any]:
    site, detail = operator["call_site"], operator["detail"]
    does = {"does": masked(detail["does"])} if "does" in detail else {}
    return {**operator, "call_site": site and {**site, "code": masked(site["code"])}, "detail": {**detail, **does}}


def _masked_step(step: Mapping[str, Any]) -> dict[str, Any]:
    return {**step, "unsaved": masked(step["unsaved"]), "lost": masked(step.get("lost", "")), "incomplete": [*map(masked, step["incomplete"])]}


def load_run(data: Mapping[str, Any], store: LineageStore, find: Callable[[str], Any], read: Callable[[Any], bytes], trusted: bool, standing: Callable[[SavedRun, Names], Any]) -> SavedRun:
    """The run of a catalog's entry. Raises ValueError, LookupError, TypeError or AttributeError for what is none."""
    graph = told.graph(data["graph"])
    # Sessions of format 1 do not say whose runs they are: those of DataFrames have no stages.
    frame = bool(data.get("frame", not graph.stages and not data["computed"]))
    outputs, (associated, damaged) = data.get("outputs"), _associated(data.get("lineage"), find)
    run = SavedRun(
        id=told.name(data["id"]), name=str(data["name"]), action=str(data["action"]), status=str(data["status"]), subject=graph[data["subject"]].id,
        graph=graph, statistics=told.statistics(data["statistics"]), incomplete=tuple(map(str, data["incomplete"])), store=store,
        earlier=tuple(map(told.name, data["earlier"])),
        computed={told.name(stage): {told.partition(p): digest for p, digest in known.items()} for stage, known in data["computed"].items()},
        sources=told.sources(data["sources"], graph, frame),
        began=_time(data.get("began")), ended=_time(data.get("ended")), frame=frame, unsaved=damaged or str(data.get("unsaved", "")), damaged=bool(damaged), associated=associated,
        outputs=None if outputs is None else SavedOutputs(store.root.parent / told.text(outputs["file"]), read, told.count(outputs["count"]), trusted),
        whole={int(o): {told.partition(p): told.count(n) for p, n in known.items()} for o, known in data.get("whole", {}).items()},
    )
    # Sessions that were saved before culprits were have none.
    culprits = data.get("culprits", {"known": [], "unknown": [] if run.status == "succeeded" else ["Culprits were not saved with this run."]})
    run.culprits.known, run.culprits.unknown = load_culprits(culprits, graph, partial(standing, run))
    return run


def _associated(listed: Mapping[str, Any] | None, find: Callable[[str], Any]) -> tuple[Associated | None, str]:
    """The lineage of a run; or why it cannot be read, for other runs of the session can."""
    try:
        return None if listed is None else Associated.load(listed, find), ""
    except StoreError as problem:
        if not isinstance(problem, CorruptBlockError) and not isinstance(problem.__cause__, PermissionError):
            raise
        return None, str(problem)


def _time(given: Any) -> float | None:
    return None if given is None else float(given)
