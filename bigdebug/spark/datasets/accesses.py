"""Accesses: what the leaves of a plan read, with schemas, and rows and bytes where Spark counted them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from json import loads
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import _parse_datatype_json_value

from bigdebug.datasets.columns import ColumnLineage
from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field
from bigdebug.datasets.noderows import MODEL, VARIABLE
from bigdebug.datasets.plans import Tree
from bigdebug.datasets.uses import NOTHING
from bigdebug.spark.datasets.counts import Scan, ids_of, leaves_in
from bigdebug.spark.datasets.names import is_given
from bigdebug.spark.datasets.relations import Relations

_EDGES = 5_000
"""Edges between columns above which those that all columns have are one."""

_MADE = ("LogicalRDD", "ExternalRDD", "Transpose")
"""Leaves whose columns are not those of what they were made of, nor are their rows: a function makes none or many of one, a frame that is transposed one of all."""


@dataclass(frozen=True)
class Leaf:
    """A leaf of a plan: its columns by their numbers there, the datasets that it reads, and their schema: none where a function made the rows of something
    else, an RDD say. Then its columns are not those of the datasets.
    """

    ids: frozenset[int]
    datasets: tuple[Dataset, ...]
    schema: tuple[Field, ...] = ()
    made: str = ""
    """The leaf's name, if so."""


def leaves_of(relations: Relations, plan: Any, lineage: ColumnLineage | None) -> list[Leaf]:
    """The leaves of a plan, by the numbers that its lineage has them by. Those in the JVM and those that Spark wrote are the same where their columns are.
    Without a lineage all that are in the JVM.
    """
    known: dict[tuple[str, frozenset[int]], Any] = {}
    for leaf in leaves_in(plan):
        known.setdefault((str(leaf.getClass().getSimpleName()), ids_of(leaf)), leaf)
    if lineage is None:
        return [
            _of(name, ids, relations.of_leaf(leaf, ids), schema_of(leaf)) for (name, ids), leaf in known.items() if not relations.is_command(leaf)
        ]
    return [_leaf(relations, tree, known) for tree in lineage.leaves]


def _leaf(relations: Relations, tree: Tree, known: dict[tuple[str, frozenset[int]], Any]) -> Leaf:
    if tree.name == MODEL:
        return Leaf(frozenset(), (relations.of_temporary(str(tree.fields["name"]), "model"),))
    if tree.name == VARIABLE:
        return Leaf(frozenset(), (relations.of_variable(str(tree.fields["name"])),))
    ids = frozenset(each.id for each in tree.output if each.id is not None)
    leaf = known.get((tree.name, ids))
    datasets = (relations.unknown(tree.name),) if leaf is None else relations.of_leaf(leaf, ids)
    return _of(tree.name, ids, datasets, tuple(map(_field, tree.output)))


def _of(name: str, ids: frozenset[int], datasets: tuple[Dataset, ...], schema: tuple[Field, ...]) -> Leaf:
    if name in _MADE and any(dataset.kind != "memory" for dataset in datasets):
        return Leaf(ids, datasets, made=name)
    return Leaf(ids, datasets, schema)


def views_of(relations: Relations, lineage: ColumnLineage) -> list[Leaf]:
    """The same of a lineage that ends at views: the views alone."""
    return [_view(relations, tree) if tree.name == "View" else Leaf(frozenset(), ()) for tree in lineage.leaves]


def _view(relations: Relations, tree: Tree) -> Leaf:
    described = tree.fields["desc"]
    name = ".".join(filter(None, (described["identifier"].get("database"), described["identifier"]["table"])))
    if is_given(name):
        return Leaf(frozenset(), ())
    dataset = relations.of_session_view(name) if tree.fields.get("isTempView") else relations.of_name(name, "view")
    return Leaf(frozenset(), (dataset,), _fields(described["schema"]))


def accesses_of(relations: Relations, leaves: Sequence[Leaf], scans: Iterable[Scan]) -> tuple[tuple[Access, ...], frozenset[Dataset]]:
    """What leaves read, each dataset once, with rows and bytes where all of its scans counted them; and the caches that were read besides. And of what of it
    scans did not count the rows: the others without rows were not scanned here. Behind a leaf that was made of others Spark counts none of them.
    """
    behind = frozenset(dataset for leaf in leaves if leaf.made for dataset in leaf.datasets)
    found = {dataset: Access(dataset, "read", leaf.schema) for leaf in reversed(leaves) for dataset in reversed(leaf.datasets)}
    found = dict(reversed(found.items()))
    counted: dict[Dataset, list[Scan]] = {}
    for scan in scans:
        if scan.kind == "InMemoryTableScanExec":
            datasets: tuple[Dataset, ...] = (relations.of_cache(scan.node),)
            found.setdefault(datasets[0], Access(datasets[0]))
        else:
            datasets = next((leaf.datasets for leaf in leaves if scan.ids and scan.ids <= leaf.ids), ()) or relations.of_scan(scan.node, scan.kind)
        if len(datasets) == 1 and datasets[0] in found:
            counted.setdefault(datasets[0], []).append(scan)
    for dataset, each in counted.items():
        found[dataset] = replace(found[dataset], rows=_all(scan.rows for scan in each), size=_all(scan.size for scan in each))
    return without_counts(found.values(), behind), behind.union(dataset for dataset in counted if found[dataset].rows is None)


def edges_of(output: Dataset, names: Sequence[str], lineage: ColumnLineage, leaves: Sequence[Leaf]) -> set[ColumnEdge]:
    """Column to column: from what leaves read to an output whose columns have these names; where these are not as many as the lineage has, only what
    decides over all of them. What each of very many columns is made of, is told once, of all of them: a function over rows makes 300 columns of 300.
    """
    made = lineage.columns if len(lineage.columns) == len(names) else ()
    many = sum(len(each.uses) for each in made) > _EDGES
    common = frozenset.intersection(*(each.uses for each in made)) if many else NOTHING
    used = [("", lineage.whole | common), *((name, each.uses - common) for name, each in zip(names, made))]
    return {
        ColumnEdge(output, name, dataset, use.column, use.how, use.masking)
        for name, uses in used for use in uses if not leaves[use.leaf].made for dataset in leaves[use.leaf].datasets
    }


def schema_of(rows: Any) -> tuple[Field, ...]:
    """The schema of a plan, or of a table as the catalog has it: Spark writes it in JSON."""
    return _fields(loads(str(rows.schema().json())))


def _fields(schema: Any) -> tuple[Field, ...]:
    return tuple(Field(str(each["name"]), _type(each["type"]), bool(each["nullable"])) for each in schema["fields"])


def _field(tree: Tree) -> Field:
    return Field(str(tree.fields["name"]), _type(tree.fields.get("dataType")), bool(tree.fields.get("nullable", True)))


def _type(value: Any) -> str:
    try:
        return str(_parse_datatype_json_value(value).simpleString())
    except (PySparkException, KeyError, TypeError, ValueError):  # a type of the user's, or of the JVM's alone
        return value if isinstance(value, str) else "unknown"


def summed(one: Access, other: Access) -> Access:
    """Two accesses to a dataset as one, with the rows and bytes of both; of one that has none it is not said whether nobody counted them (``Reading.uncounted``)."""
    return replace(one, schema=one.schema or other.schema, rows=_sum(one.rows, other.rows), size=_sum(one.size, other.size))


def without_counts(accesses: Iterable[Access], uncounted: Collection[Dataset]) -> tuple[Access, ...]:
    """The accesses, without rows and bytes where these are a part of them."""
    return tuple(replace(access, rows=None, size=None) if access.dataset in uncounted else access for access in accesses)


def _all(counts: Iterable[int | None]) -> int | None:
    """The sum of what was counted; None if something was not, for then it is not known."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def unknown(leaves: Iterable[Leaf]) -> Iterator[str]:
    """The names of leaves of which nothing is known, or not what their columns were made of."""
    for leaf in leaves:
        if leaf.made:
            yield leaf.made
        yield from (dataset.name for dataset in leaf.datasets if dataset.kind == "unknown" and not dataset.namespace)
