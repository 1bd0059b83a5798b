"""Commands: what SQL does besides giving rows, as far as it writes the rows of a query."""

from __future__ import annotations

from typing import Any

from bigdebug.spark.sql.plans.expressions import Node

WRITING = (
    "InsertIntoHadoopFsRelationCommand", "InsertIntoDataSourceDirCommand", "InsertIntoHiveTable", "CreateDataSourceTableAsSelectCommand",
    "SaveAsV1TableCommand", "CreateHiveTableAsSelectCommand",
)
"""Commands that write the rows of a query to files, by the names of their classes; the query is their ``query()``."""


def writing(frame: Any) -> Node | None:
    """The command that gave a DataFrame, if it is one that writes; some calls of the JVM."""
    plan = frame._jdf.queryExecution().analyzed()
    return plan if plan.getClass().getSimpleName() in WRITING else None
