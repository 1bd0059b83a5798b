"""Commands: what each command of Spark's does, by the name of its class."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote

from bigdebug.datasets.model import Field
from bigdebug.datasets.naming import of_path, of_sources
from bigdebug.datasets.plans import Tree, plan_of
from bigdebug.errors import DatasetsError
from bigdebug.spark.datasets import views
from bigdebug.spark.datasets.accesses import schema_of
from bigdebug.spark.datasets.counts import leaves_in
from bigdebug.spark.datasets.names import UNTOLD
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.targets import Node, Source, Target, source_of
from bigdebug.spark.gateway import items

_MODES = {"Append": "appended", "Overwrite": "overwritten", "ErrorIfExists": "created", "Ignore": "created"}
"""What Spark's modes of saving do."""

_IDLE = (
    "Describe", "Show", "Set", "Use", "Reset", "Explain", "List", "Add", "Refresh", "Analyze", "Uncache", "ClearCache", "Comment", "StreamingExplain", "Unset",
    "CreateFunction", "CreateUserDefinedFunction", "CreateSQLFunction", "DropFunction", "CreateNamespace", "CreateDatabase", "CreateVariable", "DropVariable",
    "NoopCommand", "AlterDatabase", "AlterTableSetProperties", "AlterTableUnsetProperties", "AlterTableSerDeProperties", "AlterViewSchemaBinding", "Repair",
    "RecoverPartitions", "Declare", "Fetch", "OpenCursor", "CloseCursor",
)
"""What the names of commands begin with that neither read nor change data; but those in ``COMMANDS`` do."""


def is_idle(name: str) -> bool:
    """Whether the command with a name touches no data: it is not recorded."""
    return name.startswith(_IDLE) and name not in COMMANDS


def _mode(node: Node) -> str:
    return _MODES.get(str(node.mode().toString()), "written")


def _inserts(overwrites: bool, is_part: bool) -> str:
    """The mode of an insert; of a part, a partition say: the other rows of the dataset stay."""
    return "appended" if not overwrites else "written" if is_part else "overwritten"


def _spares(node: Node) -> bool:
    return str(node.mode().toString()) == "Ignore"


def _schema(table: Any) -> tuple[Field, ...]:
    """As the catalog has it."""
    return schema_of(str(table.schema().json()))


def _files(r: Relations, tree: Tree, node: Node) -> Target:
    table = node.catalogTable()
    spares = _spares(node) or bool(node.ifPartitionNotExists())
    r.learn_options(node.options())
    mode = "written" if (known := _mode(node)) == "overwritten" and node.staticPartitions().nonEmpty() else known
    has_parts = bool(node.partitionColumns().nonEmpty())
    if table.isDefined():
        return Target(r.of_catalog(table.get()), mode, source_of(tree, node), schema=_schema(table.get()), spares=spares, has_parts=has_parts)
    return Target(of_path(str(node.outputPath().toString()), r.format_of(node.fileFormat())), mode, source_of(tree, node), spares=spares, has_parts=has_parts)


def _folder(r: Relations, tree: Tree, node: Node) -> Target:
    provider = str(node.provider()) if tree.name == "InsertIntoDataSourceDirCommand" else "hive"
    path = unquote(str(node.storage().locationUri().get().toString()))
    return Target(r.of_place(path, provider.lower()), "overwritten" if node.overwrite() else "created", source_of(tree, node))


def _table_as(table: str, r: Relations, tree: Tree, node: Node) -> Target:
    identifier = getattr(node, table)().identifier()
    found = r.there(identifier)  # where its files are is known only now
    if found is None:
        return Target(r.of_identifier(identifier), _mode(node), source_of(tree, node), spares=_spares(node))
    return Target(r.of_catalog(found), _mode(node), source_of(tree, node), schema=_schema(found), spares=_spares(node))


def _into_hive(r: Relations, tree: Tree, node: Node) -> Target:
    return Target(r.of_catalog(node.table()), _inserts(node.overwrite(), node.partition().nonEmpty()), source_of(tree, node), schema=_schema(node.table()))


def _into_source(r: Relations, tree: Tree, node: Node) -> Target:
    """df.write.format("jdbc"), and other sources of the first kind."""
    options = dict(r.java(node.options()))
    r.learn(options)
    form = r.format_of(node.dataSource())
    return Target(of_sources(form, options)[0], _mode(node), source_of(tree, node), spares=form == "jdbc" and _spares(node))  # what others do, no query tells


def _into_relation(r: Relations, tree: Tree, node: Node) -> Target:
    found = r.of_leaf(node.logicalRelation())
    return Target(found[0], _inserts(node.overwrite(), is_part=False), source_of(tree, node))


def _created(r: Relations, tree: Tree, node: Node) -> Target:
    described = r.there(node.table().identifier()) or node.table()
    made, asked = int(described.createTime()), int(node.table().createTime())
    return Target(
        r.of_catalog(described), "created", schema=_schema(described),
        spares=bool(node.ignoreIfExists()) and made not in (asked, asked // 1000 * 1000),  # a metastore counts in seconds
    )


def _like(r: Relations, tree: Tree, node: Node) -> Target:
    return Target(r.of_identifier(node.targetTable()), "created", reads=(r.of_identifier(node.sourceTable()),))


def _named(field: str, mode: str, emptied: bool, r: Relations, tree: Tree, node: Node) -> Target:
    """A command over a TableIdentifier."""
    identifier = getattr(node, field)()
    found = r.there(identifier) if mode == "altered" else None
    if found is not None:
        return Target(r.of_catalog(found), mode, schema=_schema(found))
    return Target(r.of_identifier(identifier, "view" if tree.fields.get("isView") else "table"), mode, emptied=emptied)


def _dropped(r: Relations, tree: Tree, node: Node) -> Target:
    return _if_it_was_there(r, _named("tableName", "dropped", False, r, tree, node), node)


def _dropped_v2(r: Relations, tree: Tree, node: Node) -> Target:
    target = _resolved("child", "dropped", False, r, tree, node)
    return _if_it_was_there(r, target, node) if str(node.child().catalog().name()) == "spark_catalog" else target  # others tell nobody


def _database(r: Relations, tree: Tree, node: Node) -> Target | None:
    """DROP DATABASE, with its tables if it cascades: those in its folder meet it. None in another catalog than Spark's."""
    space = node.namespace()
    if str(space.catalog().name()) != "spark_catalog":
        return None
    name = r.cased(".".join(str(part) for part in items(space.namespace())))
    elsewhere = (f"tables of {name} in other folders",) if node.cascade() else ()
    was_there = r.seen.dropped(name)
    return Target(r.of_database(name), "dropped", opaque=elsewhere, spares=bool(node.ifExists()) and not was_there)


def _if_it_was_there(r: Relations, target: Target, node: Node) -> Target:
    was_there = r.seen.dropped(target.dataset.name)
    return replace(target, spares=bool(node.ifExists()) and not was_there)


def _resolved(field: str, mode: str, emptied: bool, r: Relations, tree: Tree, node: Node) -> Target:
    """A command over a ResolvedTable, or a ResolvedIdentifier."""
    child = getattr(node, field)()
    return Target(r.of_catalog_v2(child.catalog(), child.identifier()), mode, emptied=emptied)


def _renamed(r: Relations, tree: Tree, node: Node) -> Target:
    kind = "view" if node.isView() else "table"
    old, new = node.oldName(), node.newName()
    named = r.identifier(str(new.table()), new.database() if new.database().isDefined() else old.database())
    if kind == "view" and r.passes(named):
        made, before = r.of_session_view(str(new.table()), defines=True), r.of_session_view(str(old.table()))
        there = None
    else:
        there = r.there(named)
        made, before = r.of_identifier(named, kind) if there is None else r.of_catalog(there), r.of_identifier(old, kind)
    known = r.defined(named) if kind == "view" else None
    if known is not None:  # nothing is followed through a view: it says itself what it is made of
        with suppress(*UNTOLD, DatasetsError):
            return Target(made, "renamed", Source(plan_of(str(known.toJSON())), known), reads=(before,))
    return Target(made, "renamed", reads=(before,), schema=() if there is None else _schema(there))


def _renamed_v2(r: Relations, tree: Tree, node: Node) -> Target:
    child = node.child()
    catalog, identifier = child.catalog(), child.identifier()
    new = [str(part) for part in items(node.newName())]
    if len(new) > 1 and new[0] == str(catalog.name()):
        del new[0]
    elif len(new) == 1:
        new = [*(str(part) for part in identifier.namespace()), *new]
    return Target(r.of_catalog_name(catalog, new), "renamed", reads=(r.of_catalog_v2(catalog, identifier),))


def _loaded(r: Relations, tree: Tree, node: Node) -> Target:
    return Target(r.of_identifier(node.table()), _inserts(node.isOverwrite(), node.partition().isDefined()), reads=(r.of_place(str(node.path())),))


def _as_select(r: Relations, tree: Tree, node: Node) -> Target:
    name = node.name()
    return Target(r.of_catalog_v2(name.catalog(), name.identifier()), "created" if tree.name.startswith("Create") else "overwritten", source_of(tree, node))


def _truncated(r: Relations, tree: Tree, node: Node) -> Target:
    """TRUNCATE TABLE; of one partition: how many rows stay is not known, and none come."""
    if node.partitionSpec().isDefined():
        return _named("tableName", "altered", False, r, tree, node)
    return _named("tableName", "truncated", True, r, tree, node)


def _where_v2(r: Relations, tree: Tree, node: Node) -> Target:
    """An overwrite of what a condition holds for: of all, where that is true."""
    return _into_v2("overwritten" if str(node.deleteExpr().toString()) == "true" else "written", r, tree, node)


def _parts_v2(r: Relations, tree: Tree, node: Node) -> Target:
    """An overwrite of the partitions that rows come for: of all, where the table has none."""
    return _into_v2("written" if len(node.table().table().partitioning()) else "overwritten", r, tree, node)


def _into_v2(mode: str, r: Relations, tree: Tree, node: Node) -> Target:
    return Target(r.of_leaf(node.table())[0], mode, source_of(tree, node), schema=schema_of(str(node.table().schema().json())))


def _changed(table: str, source: str, r: Relations, tree: Tree, node: Node) -> Target:
    """DELETE, UPDATE and MERGE, which comes here only where the table cannot do it: so which columns would have gone into which is not asked."""
    found = r.of_leaf(items(getattr(node, table)().collectLeaves())[0])
    reads = {dataset: None for leaf in (leaves_in(getattr(node, source)()) if source else ()) for dataset in r.of_leaf(leaf)}
    return Target(found[0], "written", reads=tuple(reads))


def _batch(r: Relations, tree: Tree, node: Node) -> Target:
    """A batch of a stream, to a sink of the first kind."""
    table, source = node.catalogTable(), source_of(tree, node)
    r.learn_options(node.writeOptions())
    if table.isDefined():
        return Target(r.of_catalog(table.get()), "appended", source)
    said = str(node.sink().toString())
    if said.startswith("FileSink[") and said.endswith("]"):
        return Target(of_path(said.partition("[")[2][:-1]), "appended", source)
    return Target(r.of_temporary(f"batch of {r.stream}", "memory"), "created", source)


def _batch_v2(r: Relations, tree: Tree, node: Node) -> Target:
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


COMMANDS: dict[str, Callable[[Relations, Tree, Node], Target | None]] = {
    "InsertIntoHadoopFsRelationCommand": _files,
    "InsertIntoDataSourceDirCommand": _folder, "InsertIntoHiveDirCommand": _folder,
    "CreateDataSourceTableAsSelectCommand": partial(_table_as, "table"),
    "SaveAsV1TableCommand": partial(_table_as, "tableDesc"), "CreateHiveTableAsSelectCommand": partial(_table_as, "tableDesc"),
    "InsertIntoHiveTable": _into_hive,
    "SaveIntoDataSourceCommand": _into_source, "InsertIntoDataSourceCommand": _into_relation,
    "CreateDataSourceTableCommand": _created, "CreateTableCommand": _created, "CreateTableLikeCommand": _like,
    "CreateViewCommand": views.view, "CreateTempViewUsing": views.view_using, "AlterViewAsCommand": views.view_again,
    "CacheTable": views.cached, "CacheTableAsSelect": views.cached_as,
    "TruncateTableCommand": _truncated, "TruncateTable": partial(_resolved, "table", "truncated", True), "TruncatePartition": partial(_resolved, "table", "altered", False),
    "DropTableCommand": _dropped, "DropTempViewCommand": views.dropped_view,
    **dict.fromkeys(("DropTable", "DropView"), _dropped_v2),
    "DropNamespace": _database,
    "AlterTableRenameCommand": _renamed, "RenameTable": _renamed_v2,
    "AlterTableAddColumnsCommand": partial(_named, "table", "altered", False),
    **dict.fromkeys(
        ("AlterTableChangeColumnCommand", "AlterTableSetLocationCommand", "AlterTableAddPartitionCommand", "AlterTableDropPartitionCommand", "AlterTableRenamePartitionCommand"),
        partial(_named, "tableName", "altered", False),
    ),
    **dict.fromkeys(("AddColumns", "AlterColumns", "DropColumns", "RenameColumn", "ReplaceColumns", "SetTableLocation"), partial(_resolved, "table", "altered", False)),
    "SetVariable": views.set_variables,
    "LoadDataCommand": _loaded, "WriteToMicroBatchDataSourceV1": _batch, "WriteToMicroBatchDataSource": _batch_v2,
    "CreateTable": partial(_resolved, "name", "created", False), "ReplaceTable": partial(_resolved, "name", "overwritten", True),
    "CreateTableAsSelect": _as_select, "ReplaceTableAsSelect": _as_select,
    "AppendData": partial(_into_v2, "appended"), "OverwriteByExpression": _where_v2,
    "OverwritePartitionsDynamic": _parts_v2, "ReplaceData": partial(_into_v2, "written"), "WriteDelta": partial(_into_v2, "written"),
    "DeleteFromTable": partial(_changed, "table", ""), "UpdateTable": partial(_changed, "table", ""),
    "MergeIntoTable": partial(_changed, "targetTable", "sourceTable"),
}
"""By the name of the command's class."""
