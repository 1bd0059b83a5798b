"""Apache Atlas v2: what was done, as entities of Atlas's own Spark types (``POST /api/atlas/v2/entity/bulk``). Pure.

Atlas knows how things are, not each time that they came to be so: a process entity is a job, as it last succeeded. What failed, and what
still runs, made nothing, and is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bigdebug.datasets.collectors import Message, body_of
from bigdebug.datasets.facets import instant, shortened
from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field, Process

Entity = dict[str, Any]

CLUSTER = "primary"
"""What Atlas calls the place where names are unique, if nothing else is said."""

_UNFED = ("dropped", "truncated", "altered")
"""Nothing goes into a dataset by these."""


def bundle(processes: Iterable[Process], *, cluster: str = CLUSTER) -> dict[str, Any]:
    """The body of a request: processes, datasets and their columns, each entity once, found again by its ``qualifiedName``.

    Datasets and processes are ``entities``, what belongs to them is in ``referredEntities``; both refer to each other by negative numbers,
    in whose place Atlas puts its own. Of processes from which nothing is to be told there is none.
    """
    found = _Bundle(cluster)
    for process in processes:
        if process.status == "succeeded":
            found.process(process)
    return {"entities": found.entities, "referredEntities": {entity["guid"]: entity for entity in found.referred}}


def messages(process: Process, *, cluster: str = CLUSTER) -> list[Message]:
    """What Atlas is told of a process: one request, or none."""
    told = bundle([process], cluster=cluster)
    return [("entities", body_of(told))] if told["entities"] else []


class _Bundle:
    """Entities of one request, under construction."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, str], Entity] = {}
        self.entities: list[Entity] = []
        self.referred: list[Entity] = []

    def process(self, process: Process) -> None:
        """A process with all that it read and wrote, and which columns of one were made of which of the other."""
        reads, writes = list(process.reads), [access for access in process.writes if access.mode not in _UNFED and not _is_answer(process, access)]
        if not reads and not writes:
            return
        inputs, outputs = [self._dataset(access) for access in reads], [self._dataset(access) for access in writes]
        made = self._entity("spark_process", f"{process.job}@{self._cluster}", self.entities)
        made["attributes"] |= {
            "name": process.job, "description": process.sort, "inputs": _once(inputs), "outputs": _once(outputs), "details": _details(process),
        }
        if process.text:
            made["attributes"]["sparkPlanDescription"] = shortened(process.text)
        application = self._entity("spark_application", f"{process.session}@{self._cluster}", self.referred)
        application["attributes"]["name"] = process.session
        made["relationshipAttributes"] = {"application": _reference(application)}
        written = {access.dataset for access in writes}
        edges: dict[tuple[Dataset, str], list[ColumnEdge]] = {}
        for edge in process.columns:
            if edge.column and edge.output in written and (edge.used or edge.input.kind != "model"):  # a model has no columns
                edges.setdefault((edge.output, edge.column), []).append(edge)
        for (dataset, column), uses in edges.items():
            self._made_of(process, made, self._column(dataset, column), uses)

    def _made_of(self, process: Process, made: Entity, target: Entity, edges: Sequence[ColumnEdge]) -> None:
        """What a column was made of. What decides over all columns is not told: Atlas has no word for it."""
        lineage = self._entity("spark_column_lineage", f"{_name_of(made)}:{_name_of(target)}", self.referred)
        lineage["attributes"] |= {
            "name": f"{process.job}:{target['attributes']['name']}",
            "description": ", ".join(f"{edge.used} {edge.how}" for edge in edges),
            "inputs": _once(_reference(self._column(edge.input, edge.used)) for edge in edges),
            "outputs": [_reference(target)],
        }
        lineage["relationshipAttributes"] = {"process": _reference(made)}

    def _dataset(self, access: Access) -> Entity:
        dataset = access.dataset
        kind, attributes = _typed(dataset, self._cluster)
        known = self._entity(kind, f"{_base(dataset)}@{self._cluster}", self.entities)
        known["attributes"] |= {"name": dataset.name or dataset.namespace} | attributes
        related = known.setdefault("relationshipAttributes", {})
        columns = [_reference(self._column(dataset, field.name, field)) for field in access.schema]
        if kind == "spark_table":
            if columns:
                related["columns"] = _once(columns)
            if dataset.kind == "table" and (database := dataset.name.rpartition(".")[0]):
                related["db"] = self._database(dataset, database)
        if kind == "spark_ml_model" and not dataset.namespace.startswith("spark:"):
            related["directory"] = self._directory(dataset)
        return _reference(known)

    def _column(self, dataset: Dataset, name: str, field: Field | None = None) -> Entity:
        column = self._entity("spark_column", f"{_base(dataset)}.{f'`{name}`' if '.' in name else name}@{self._cluster}", self.referred)
        column["attributes"] = {"name": name, "type": "unknown"} | column["attributes"]
        if field is not None:
            column["attributes"] |= {"type": shortened(field.type) or "unknown", "nullable": field.nullable}
        return column

    def _database(self, dataset: Dataset, name: str) -> Entity:
        database = self._entity("spark_db", f"{_base(Dataset(dataset.namespace, name, 'table'))}@{self._cluster}", self.referred)
        database["attributes"] |= {"name": name, "clusterName": self._cluster}
        return _reference(database)

    def _directory(self, dataset: Dataset) -> Entity:
        directory = self._entity("spark_ml_directory", f"{_base(dataset)}@{self._cluster}", self.referred)
        directory["attributes"] |= {"name": dataset.name, "uri": str(dataset), "directory": dataset.name}
        return _reference(directory)

    def _entity(self, kind: str, name: str, among: list[Entity]) -> Entity:
        """The entity of that name: as it is, or new."""
        known = self._known.get((kind, name))
        if known is None:
            known = {"typeName": kind, "guid": str(-1 - len(self._known)), "attributes": {"qualifiedName": name}}
            self._known[kind, name] = known
            among.append(known)
        return known


def _is_answer(process: Process, access: Access) -> bool:
    """Whether it is what a query gave its user, which is nowhere."""
    return process.sort == "query" and access.dataset.kind == "memory"


def _typed(dataset: Dataset, cluster: str) -> tuple[str, dict[str, Any]]:
    """The type that Atlas has for a dataset, and what it asks of it. What has rows and no type of its own is a table of its kind."""
    if dataset.kind == "files":
        place = {"path": str(dataset)}
        return ("hdfs_path", place | {"clusterName": cluster}) if dataset.namespace.startswith("hdfs://") else ("fs_path", place)
    if dataset.kind == "topic":
        return "kafka_topic", {"topic": dataset.name, "uri": dataset.namespace}
    if dataset.kind == "model":
        return "spark_ml_model", {}
    attributes: dict[str, Any] = {"tableType": dataset.kind.upper()}
    if dataset.format:
        attributes["provider"] = dataset.format
    if dataset.location:
        attributes["parameters"] = {"location": dataset.location}
    return "spark_table", attributes


def _base(dataset: Dataset) -> str:
    """What Atlas calls a dataset, by the rules of its own hooks where these have one: the topic alone, the table with its database."""
    named_alone = dataset.kind == "topic" or (dataset.kind == "table" and dataset.namespace.startswith("hive://"))
    return dataset.name if named_alone else str(dataset)


def _details(process: Process) -> str:
    """How the job last went, in words."""
    counts = [f"{access.rows} rows to {access.dataset.name}" for access in process.writes if access.rows is not None]
    opaque = [f"not known: {step}" for step in process.opaque]
    return shortened("; ".join([f"succeeded, {instant(process.started)} to {instant(process.ended or process.started)}", *counts, *opaque]))


def _reference(entity: Entity) -> Entity:
    return {"guid": entity["guid"], "typeName": entity["typeName"], "uniqueAttributes": {"qualifiedName": _name_of(entity)}}


def _name_of(entity: Entity) -> str:
    return str(entity["attributes"]["qualifiedName"])


def _once(references: Iterable[Entity]) -> list[Entity]:
    return list({reference["guid"]: reference for reference in references}.values())
