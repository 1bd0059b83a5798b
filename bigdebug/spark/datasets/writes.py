"""Writes: commands that put rows into files and tables, or change those that are there."""

from __future__ import annotations

from urllib.parse import unquote

from bigdebug.datasets.naming import of_path, of_sources
from bigdebug.datasets.plans import Tree
from bigdebug.spark.datasets.accesses import schema_of
from bigdebug.spark.datasets.counts import leaves_in
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.targets import Node, Target, source_of
from bigdebug.spark.gateway import items

_MODES = {"Append": "appended", "Overwrite": "overwritten", "ErrorIfExists": "created", "Ignore": "created"}
"""What Spark's modes of saving do."""


def files(r: Relations, tree: Tree, node: Node) -> Target:
    table = node.catalogTable()
    spares = _spares(node) or bool(node.ifPartitionNotExists())
    r.learn_options(node.options())
    mode = "written" if (known := _mode(node)) == "overwritten" and node.staticPartitions().nonEmpty() else known
    has_parts = bool(node.partitionColumns().nonEmpty())
    if table.isDefined():
        return Target(r.of_catalog(table.get()), mode, source_of(tree, node), schema=schema_of(table.get()), spares=spares, has_parts=has_parts)
    return Target(of_path(str(node.outputPath().toString()), r.format_of(node.fileFormat())), mode, source_of(tree, node), spares=spares, has_parts=has_parts)


def folder(r: Relations, tree: Tree, node: Node) -> Target:
    provider = str(node.provider()) if tree.name == "InsertIntoDataSourceDirCommand" else "hive"
    path = unquote(str(node.storage().locationUri().get().toString()))
    return Target(r.of_place(path, provider.lower()), "overwritten" if node.overwrite() else "created", source_of(tree, node))


def table_as(table: str, r: Relations, tree: Tree, node: Node) -> Target:
    identifier = getattr(node, table)().identifier()
    found = r.there(identifier)  # where its files are is known only now
    if found is None:
        return Target(r.of_identifier(identifier), _mode(node), source_of(tree, node), spares=_spares(node))
    return Target(r.of_catalog(found), _mode(node), source_of(tree, node), schema=schema_of(found), spares=_spares(node))


def into_hive(r: Relations, tree: Tree, node: Node) -> Target:
    return Target(r.of_catalog(node.table()), _inserts(node.overwrite(), node.partition().nonEmpty()), source_of(tree, node), schema=schema_of(node.table()))


def into_source(r: Relations, tree: Tree, node: Node) -> Target:
    """df.write.format("jdbc"), and other sources of the first kind."""
    options = dict(r.java(node.options()))
    r.learn(options)
    form = r.format_of(node.dataSource())
    return Target(of_sources(form, options)[0], _mode(node), source_of(tree, node), spares=form == "jdbc" and _spares(node))  # what others do, no query tells


def into_relation(r: Relations, tree: Tree, node: Node) -> Target:
    found = r.of_leaf(node.logicalRelation())
    return Target(found[0], _inserts(node.overwrite(), is_part=False), source_of(tree, node))


def as_select(r: Relations, tree: Tree, node: Node) -> Target:
    name = node.name()
    return Target(r.of_catalog_v2(name.catalog(), name.identifier()), "created" if tree.name.startswith("Create") else "overwritten", source_of(tree, node))


def where_v2(r: Relations, tree: Tree, node: Node) -> Target:
    """An overwrite of what a condition holds for: of all, where that is true."""
    return into_v2("overwritten" if str(node.deleteExpr().toString()) == "true" else "written", r, tree, node)


def parts_v2(r: Relations, tree: Tree, node: Node) -> Target:
    """An overwrite of the partitions that rows come for: of all, where the table has none."""
    return into_v2("written" if len(node.table().table().partitioning()) else "overwritten", r, tree, node)


def into_v2(mode: str, r: Relations, tree: Tree, node: Node) -> Target:
    return Target(r.of_leaf(node.table())[0], mode, source_of(tree, node), schema=schema_of(node.table()))


def loaded(r: Relations, tree: Tree, node: Node) -> Target:
    return Target(r.of_identifier(node.table()), _inserts(node.isOverwrite(), node.partition().isDefined()), reads=(r.of_place(str(node.path())),))


def changed(table: str, source: str, r: Relations, tree: Tree, node: Node) -> Target:
    """DELETE, UPDATE and MERGE, which comes here only where the table cannot do it: so which columns would have gone into which is not asked."""
    found = r.of_leaf(items(getattr(node, table)().collectLeaves())[0])
    reads = {dataset: None for leaf in (leaves_in(getattr(node, source)()) if source else ()) for dataset in r.of_leaf(leaf)}
    return Target(found[0], "written", reads=tuple(reads))


def batch(r: Relations, tree: Tree, node: Node) -> Target:
    """A batch of a stream, to a sink of the first kind."""
    table, source = node.catalogTable(), source_of(tree, node)
    r.learn_options(node.writeOptions())
    if table.isDefined():
        return Target(r.of_catalog(table.get()), "appended", source)
    said = str(node.sink().toString())
    if said.startswith("FileSink[") and said.endswith("]"):
        return Target(of_path(said.partition("[")[2][:-1]), "appended", source)
    return Target(r.of_temporary(f"batch of {r.stream}", "memory"), "created", source)


def batch_v2(r: Relations, tree: Tree, node: Node) -> Target:
    """The same to a table of the second kind; before Spark 4.3 the relation is an option, and none for most sinks."""
    relation = node.relation()
    if str(relation.getClass().getSimpleName()) in ("Some", "None$"):
        relation = relation.get() if relation.isDefined() else None
    table = node.table() if relation is None else relation.table()
    kind = str(table.getClass().getSimpleName())
    if kind == "MemorySink":
        dataset = r.of_temporary(r.stream, "view")
    elif relation is not None and relation.identifier().isDefined():
        dataset = r.of_leaf(relation)[0]
    else:
        dataset = r.of_options(kind, str(table.name()), dict(r.java(node.writeOptions())))[0]
    whole = str(node.outputMode().toString()) == "Complete"
    return Target(dataset, "overwritten" if whole else "appended", source_of(tree, node))


def _mode(node: Node) -> str:
    return _MODES.get(str(node.mode().toString()), "written")


def _spares(node: Node) -> bool:
    return str(node.mode().toString()) == "Ignore"


def _inserts(overwrites: bool, is_part: bool) -> str:
    """The mode of an insert; of a part, a partition say: the other rows of the dataset stay."""
    return "appended" if not overwrites else "written" if is_part else "overwritten"
