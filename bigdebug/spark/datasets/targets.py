"""Targets: what a command does to which dataset, with the rows of which query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from bigdebug.datasets.model import Dataset, Field
from bigdebug.datasets.plans import Tree

Node = Any
"""A command, as a node of a plan in the JVM."""

UNREAD = Tree("", {}, ())
"""In the place of a plan that is too large to be written down."""


class Source(NamedTuple):
    """The query of a command: as Spark wrote it, and in the JVM."""

    tree: Tree
    plan: Node


@dataclass(frozen=True)
class Target:
    """What a command does to a ``dataset``, in a ``mode`` of the model's, with the rows of a ``source``, if it has one. ``names`` are those of the
    columns, if they are not called as in the source; ``reads`` is what it reads besides.
    """

    dataset: Dataset
    mode: str
    source: Source | None = None
    names: tuple[str, ...] = ()
    reads: tuple[Dataset, ...] = ()
    emptied: bool = False
    schema: tuple[Field, ...] = ()
    """As the table has it, which may be otherwise than its source; of the source, if there is none."""
    besides: tuple[Dataset, ...] = ()
    """Views that it defines with the same rows."""
    opaque: tuple[str, ...] = ()
    """What it does besides of which Spark does not tell; of one without a source."""
    has_parts: bool = False
    """Whether it writes files by partitions: those that it overwrites may be some of them, which the plan that was executed tells."""
    spares: bool = False
    """Whether it does nothing where the dataset is there already (IF NOT EXISTS, mode "ignore"): of one without a source, whether it did nothing."""


def source_of(tree: Tree, node: Node, field: str = "query") -> Source:
    """The query that a command has in a field."""
    if tree is UNREAD:
        return Source(tree, getattr(node, field)())
    at = tree.fields.get(field)
    below = tree.below[at] if isinstance(at, int) else tree.trees(field)[0]
    return Source(below, getattr(node, field)())
