"""The dependency graph of a workflow: its tables, and which is made from which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.integers import is_integer
from bigdebug.provgraph.membership import Membership, membership

MOST_TABLES = 0xFFFF
"""Tables beyond which a workflow is refused: the table of an item is kept in two bytes."""


@dataclass(frozen=True)
class Workflow:
    """Tables, sources first, and the pairs (source, made) of them; it has no cycles.

    ``operations`` names the operations that make a table from another, where these are known: others are reported then. ``items`` says
    which table an item is of. Make one by ``Workflow.of``.
    """

    tables: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    operations: Mapping[tuple[str, str], frozenset[Any]] = field(default_factory=dict)
    items: Membership | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, edges: Iterable[tuple[Any, ...]], *, tables: Iterable[str] = (), items: Any = None) -> Workflow:
        """The workflow of pairs (source, made), or triples (source, made, operation or list of operations).

        ``tables`` has further ones that nothing is made from. ``items`` says which table an item is of: ``{"orders": range(1, 100)}``
        (integers; also a list of ranges), ``{"orders": "orders/"}`` (texts that begin so; the longest beginning counts), ``("src_table",
        "dst_table")`` (columns of the triples), or a file or DataFrame with the columns item and table. Raises ProvenanceError for
        cycles, which it names, and for tables that items are said to be of and that are not there.
        """
        pairs: dict[tuple[str, str], set[Any]] = {}
        for edge in edges if isinstance(edges, Iterable) else [edges]:
            source, made, operations = _edge(edge)
            pairs.setdefault((source, made), set()).update(operations)
        alone = [_table(name) for name in tables]
        return cls(
            _ordered(pairs, alone), tuple(pairs), {pair: frozenset(some) for pair, some in pairs.items() if some}
        ).placing(items)

    @staticmethod
    def check(given: Any) -> None:
        """Raises ProvenanceError for what is no workflow; None is that there is none."""
        if given is not None and not isinstance(given, Workflow):
            raise ProvenanceError("This is no workflow", value=given, remedy='Make one: Workflow.of([("orders", "revenue", "sum")], items=...).')

    def placing(self, items: Any) -> Workflow:
        """The same workflow with ``items``, as in ``of``, saying which table an item is of."""
        return Workflow(self.tables, self.edges, self.operations, membership(items, self.place))

    def place(self, table: Any) -> int:
        """The place of a table in ``tables``. Raises ProvenanceError for one that is not there."""
        if isinstance(table, str) and table in self._places:
            return self._places[table]
        near = get_close_matches(str(table), self.tables) or self.tables[:3]
        raise ProvenanceError("The workflow has no such table", value=table, remedy=f"It has {', '.join(map(repr, near))}.")

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.tables)}

    @property
    def unlooked(self) -> tuple[str, ...]:
        """What triples are not looked at for, and why."""
        return () if self.items is not None else ("tables, for the workflow does not say which items they have",)

    def pair(self, source: str, made: str) -> int:
        """A number for two tables: that of the first, times how many there are, and that of the second."""
        return self._places[source] * len(self.tables) + self._places[made]

    def sources_of(self, table: str) -> tuple[str, ...]:
        """The tables that this one is made from."""
        return tuple(self._beside[1].get(table, ()))

    def made_from(self, table: str) -> tuple[str, ...]:
        """The tables that are made from this one."""
        return tuple(self._beside[0].get(table, ()))

    @cached_property
    def _beside(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """By table, those made from it, and those that it is made from."""
        ahead: dict[str, list[str]] = {}
        behind: dict[str, list[str]] = {}
        for source, made in self.edges:
            ahead.setdefault(source, []).append(made)
            behind.setdefault(made, []).append(source)
        return ahead, behind

    def data(self) -> dict[str, Any]:
        """It as JSON, without ``items``, which an index has an array of."""
        return {
            "tables": list(self.tables),
            "edges": [[*pair, sorted(self.operations.get(pair, ()), key=str)] for pair in self.edges],
        }

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Workflow:
        """The workflow that ``data`` told."""
        return cls.of([(source, made, operations) for source, made, operations in data["edges"]], tables=data["tables"])


def _edge(edge: Any) -> tuple[str, str, Iterable[Any]]:
    if isinstance(edge, str) or not isinstance(edge, Iterable) or len(parts := tuple(edge)) not in (2, 3):
        raise ProvenanceError(
            "An edge of a workflow is a pair of tables", value=edge,
            remedy='Give (source, made), or (source, made, operation): ("orders", "revenue", "sum").',
        )
    some = parts[2] if len(parts) == 3 else ()
    several = some if isinstance(some, (list, tuple, set, frozenset)) else (some,)
    return _table(parts[0]), _table(parts[1]), [_operation(one) for one in several]


def _operation(name: Any) -> str | int | None:
    if name is None or isinstance(name, str):
        return name
    if not is_integer(name):
        raise ProvenanceError("An operation of a workflow is a text or an integer", value=name, remedy="Name it as triples do.")
    return int(name)


def _table(name: Any) -> str:
    if not isinstance(name, str):
        raise ProvenanceError("A table of a workflow has a text for a name", value=name, remedy="Give its name.")
    return name


def _ordered(pairs: Iterable[tuple[str, str]], alone: Iterable[str]) -> tuple[str, ...]:
    """All tables, sources first; otherwise in the order in which they were given."""
    needs: dict[str, list[str]] = {}
    for source, made in pairs:
        needs.setdefault(source, [])
        needs.setdefault(made, []).append(source)
    for name in alone:
        needs.setdefault(name, [])
    try:
        order = tuple(TopologicalSorter(needs).static_order())
    except CycleError as problem:
        circle = " -> ".join(map(repr, problem.args[1]))
        raise ProvenanceError(
            f"The workflow makes a table from itself: {circle}",
            remedy="Give each step of a loop a table of its own: results of the first round are not those of the second.",
        ) from None
    if len(order) >= MOST_TABLES:
        raise ProvenanceError("The workflow has too many tables", value=len(order), remedy=f"Fewer than {MOST_TABLES} are held.")
    return order
