"""Commands: what each command of Spark's does, by the name of its class, and which touch no data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bigdebug.datasets.plans import Tree
from bigdebug.spark.datasets import tables, views, writes
from bigdebug.spark.datasets.relations import Relations
from bigdebug.spark.datasets.targets import Node, Target

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


COMMANDS: dict[str, Callable[[Relations, Tree, Node], Target | None]] = {
    "InsertIntoHadoopFsRelationCommand": writes.files,
    "InsertIntoDataSourceDirCommand": writes.folder, "InsertIntoHiveDirCommand": writes.folder,
    "CreateDataSourceTableAsSelectCommand": partial(writes.table_as, "table"),
    "SaveAsV1TableCommand": partial(writes.table_as, "tableDesc"), "CreateHiveTableAsSelectCommand": partial(writes.table_as, "tableDesc"),
    "InsertIntoHiveTable": writes.into_hive,
    "SaveIntoDataSourceCommand": writes.into_source, "InsertIntoDataSourceCommand": writes.into_relation,
    "CreateDataSourceTableCommand": tables.created, "CreateTableCommand": tables.created, "CreateTableLikeCommand": tables.like,
    "CreateViewCommand": views.view, "CreateTempViewUsing": views.view_using, "AlterViewAsCommand": views.view_again,
    "CacheTable": views.cached, "CacheTableAsSelect": views.cached_as,
    "TruncateTableCommand": tables.truncated, "TruncateTable": partial(tables.resolved, "table", "truncated", True), "TruncatePartition": partial(tables.resolved, "table", "altered", False),
    "DropTableCommand": tables.dropped, "DropTempViewCommand": views.dropped_view,
    **dict.fromkeys(("DropTable", "DropView"), tables.dropped_v2),
    "DropNamespace": tables.database,
    "AlterTableRenameCommand": tables.renamed, "RenameTable": tables.renamed_v2,
    "AlterTableAddColumnsCommand": partial(tables.named, "table", "altered", False),
    **dict.fromkeys(
        ("AlterTableChangeColumnCommand", "AlterTableSetLocationCommand", "AlterTableAddPartitionCommand", "AlterTableDropPartitionCommand", "AlterTableRenamePartitionCommand"),
        partial(tables.named, "tableName", "altered", False),
    ),
    **dict.fromkeys(("AddColumns", "AlterColumns", "DropColumns", "RenameColumn", "ReplaceColumns", "SetTableLocation"), partial(tables.resolved, "table", "altered", False)),
    "SetVariable": views.set_variables,
    "LoadDataCommand": writes.loaded, "WriteToMicroBatchDataSourceV1": writes.batch, "WriteToMicroBatchDataSource": writes.batch_v2,
    "CreateTable": partial(tables.resolved, "name", "created", False), "ReplaceTable": partial(tables.resolved, "name", "overwritten", True),
    "CreateTableAsSelect": writes.as_select, "ReplaceTableAsSelect": writes.as_select,
    "AppendData": partial(writes.into_v2, "appended"), "OverwriteByExpression": writes.where_v2,
    "OverwritePartitionsDynamic": writes.parts_v2, "ReplaceData": partial(writes.into_v2, "written"), "WriteDelta": partial(writes.into_v2, "written"),
    "DeleteFromTable": partial(writes.changed, "table", ""), "UpdateTable": partial(writes.changed, "table", ""),
    "MergeIntoTable": partial(writes.changed, "targetTable", "sourceTable"),
}
"""By the name of the command's class."""
