"""A run: one captured action, finished. Plain data over a store, so that it can be asked without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bigdebug.graph import Operator, OperatorGraph
from bigdebug.model import Statistics
from bigdebug.store.directory import LineageStore
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.origins import SourceFacts


@dataclass(frozen=True)
class Run:
    """One captured action. ``status`` is succeeded, failed or partial; ``incomplete`` says why lineage is missing.

    ``subject`` is the operator that the action was called on. ``earlier`` are runs whose blocks it may share, because
    Spark did not compute a shuffle or a cache again, latest first. ``computed`` are the partitions of each stage that it
    or they computed.
    """

    id: str
    name: str
    action: str
    status: str
    subject: int
    graph: OperatorGraph
    statistics: Statistics = field(default_factory=Statistics)
    incomplete: tuple[str, ...] = ()
    culprits: tuple[Any, ...] = ()
    store: LineageStore | None = field(default=None, repr=False, compare=False)
    earlier: tuple[str, ...] = field(default=(), repr=False)
    sources: Mapping[int, SourceFacts] = field(default_factory=dict, repr=False)
    computed: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def lineage(self) -> Lineage:
        assert self.store is not None
        return Lineage(self.graph, self.store, (self.id, *self.earlier), computed=self.computed)

    def operator(self, operator: int | Operator) -> Operator:
        return self.graph[operator.id if isinstance(operator, Operator) else operator]

    def input_names(self) -> dict[int, str]:
        """A name for each source: its dataset's; the second occurrence of the same one is ``name#2``."""
        names: dict[int, str] = {}
        seen: dict[str, int] = {}
        for source in self.graph.sources:
            facts = self.sources.get(source.id)
            dataset = facts.dataset if facts else source.dataset or source.name
            seen[dataset] = seen.get(dataset, 0) + 1
            names[source.id] = dataset if seen[dataset] == 1 else f"{dataset}#{seen[dataset]}"
        return names
