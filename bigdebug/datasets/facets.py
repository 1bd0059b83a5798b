"""Facets: what OpenLineage calls each fact about a process, a job or a dataset. Pure; versions are those of the schemas in tests/schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Process
from bigdebug.datasets.naming import of_path
from bigdebug.datasets.uses import DIRECT

Facet = dict[str, Any]
Facets = dict[str, Facet]

VERSION = version("bigdebug")
PRODUCER = f"urn:bigdebug:{VERSION}"
SPECIFICATION = "https://openlineage.io/spec/2-0-2/OpenLineage.json"
RECORD_LINEAGE = "BigdebugRecordLineageRunFacet"

_LONGEST = 10_000
"""Characters of an error, or of a program's text, that an event carries."""

_SQL = re.compile(
    r"\s*\(*\s*(alter|analyze|cache|create|delete|describe|drop|from|insert|load|merge|refresh|replace|select|show|table|truncate|update|values|with)\b",
    re.IGNORECASE,
)
"""How SQL begins; other texts are calls of Python."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[A-Za-z0-9._~@-]*(?::\d*)?(?:/[\w.~@:+=,/-]*)?|(?!//)[\w.~@:+=,/-]*)", re.ASCII)
"""A URI with nothing in it that would have to be written otherwise."""

_TYPES = {"files": "FILE", "jdbc": "TABLE", "rdd": "MEMORY", "unknown": "UNKNOWN"}

_LIFECYCLES = {
    "created": "CREATE", "defined": "CREATE", "overwritten": "OVERWRITE", "dropped": "DROP", "renamed": "RENAME", "truncated": "TRUNCATE", "altered": "ALTER",
}


def facet(kind: str, edition: str, /, **content: Any) -> Facet:
    """A facet of the specification."""
    return {"_producer": PRODUCER, "_schemaURL": f"https://openlineage.io/spec/facets/{edition}/{kind}.json#/$defs/{kind}", **content}


def instant(time: datetime) -> str:
    """A time as the specification writes it; one without a zone is in UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).isoformat()


def session_id(process: Process) -> str:
    """The UUID of the session that ran the process, the same in all its events: Spark's own ids are none."""
    name = f"urn:bigdebug:session:{_notebook(process)}:{process.session}"
    return str(uuid5(NAMESPACE_URL, name.encode("utf-8", "replace").decode()))


def of_run(process: Process, namespace: str, spark: str) -> Facets:
    """What is known of the process itself; ``spark`` is the version of Spark, where it is known."""
    found: Facets = {"parent": facet(
        "ParentRunFacet", "1-2-0", run={"runId": session_id(process)}, job={"namespace": namespace, "name": _notebook(process) or "session"},
    )}
    if spark:
        found["processing_engine"] = facet("ProcessingEngineRunFacet", "1-1-1", name="spark", version=spark, openlineageAdapterVersion=VERSION)
    if process.error:
        language = "PYTHON" if "Traceback (most recent call last)" in process.error else "JAVA"
        found["errorMessage"] = facet("ErrorMessageRunFacet", "1-0-1", message=shortened(process.error), programmingLanguage=language)
    if process.opaque:
        told = "of its columns it is told that they use all that goes in, or nothing; what it uses may be told to decide over all rows"
        errors = [{"errorMessage": f"{step} is not known: {told}", "task": step} for step in process.opaque]
        found["extractionError"] = facet("ExtractionErrorRunFacet", "1-1-2", totalTasks=1, failedTasks=1, errors=errors)
    if process.run or process.cell:
        found["bigdebug_recordLineage"] = _record_lineage(process)
    return found


def of_job(process: Process) -> Facets:
    """What is known of the job that the process is a run of."""
    processing = "STREAMING" if process.sort == "stream" else "BATCH"
    found = {"jobType": facet("JobTypeJobFacet", "2-0-4", processingType=processing, integration="SPARK", jobType=process.sort.upper())}
    if _SQL.match(process.text):
        found["sql"] = facet("SQLJobFacet", "1-1-0", query=shortened(process.text), dialect="spark")
    elif process.text:
        found["sourceCode"] = facet("SourceCodeJobFacet", "1-0-1", language="PYTHON", sourceCode=shortened(process.text))
    return found


def of_dataset(accesses: Sequence[Access]) -> Facets:
    """What is known of one dataset, from all that a process did to it."""
    dataset = accesses[0].dataset
    source = {"name": dataset.namespace} | ({"uri": uri} if (uri := _uri(dataset.namespace)) else {})
    found = {
        "dataSource": facet("DatasourceDatasetFacet", "1-0-1", **source),
        "datasetType": facet("DatasetTypeDatasetFacet", "1-0-1", datasetType=_TYPES.get(dataset.kind, dataset.kind.upper())),
    }
    if schema := next((access.schema for access in accesses if access.schema), ()):
        fields = [{"name": field.name, "type": field.type, "ordinal_position": place} for place, field in enumerate(schema, 1)]
        found["schema"] = facet("SchemaDatasetFacet", "1-2-0", fields=fields)
    if dataset.location:
        files = of_path(dataset.location)
        found["symlinks"] = facet(
            "SymlinksDatasetFacet", "1-0-1", identifiers=[{"namespace": files.namespace, "name": files.name, "type": "LOCATION"}],
        )
    return found


def of_lifecycle(accesses: Sequence[Access], before: Dataset | None) -> Facets:
    """What a process that succeeded did to the dataset as a whole; ``before`` is its name before a renaming."""
    state = next((_LIFECYCLES[access.mode] for access in accesses if access.mode in _LIFECYCLES), "")
    if not state:
        return {}
    more = {"previousIdentifier": {"namespace": before.namespace, "name": before.name}} if state == "RENAME" and before else {}
    return {"lifecycleStateChange": facet("LifecycleStateChangeDatasetFacet", "1-0-1", lifecycleStateChange=state, **more)}


def of_input(accesses: Sequence[Access]) -> Facets:
    """How much was read of a dataset, where Spark counted it."""
    counts = _counts(accesses)
    return {"inputStatistics": facet("InputStatisticsInputDatasetFacet", "1-0-0", **counts)} if counts else {}


def of_output(accesses: Sequence[Access]) -> Facets:
    """How much was written to a dataset, where Spark counted it."""
    counts = _counts(accesses)
    return {"outputStatistics": facet("OutputStatisticsOutputDatasetFacet", "1-0-2", **counts)} if counts else {}


def of_columns(edges: Iterable[ColumnEdge]) -> Facets:
    """Of which columns those of one dataset are made, and which decide over all of them (``dataset``). A model has none, and is an input alone."""
    uses: dict[str, dict[tuple[Dataset, str], list[Facet]]] = {}
    for edge in dict.fromkeys(edge for edge in edges if edge.used or edge.input.kind != "model"):
        kind = "DIRECT" if edge.how in DIRECT else "INDIRECT"
        told = {"type": kind, "subtype": edge.how, "masking": edge.masking}
        uses.setdefault(edge.column, {}).setdefault((edge.input, edge.used), []).append(told)
    if not uses:
        return {}
    whole = uses.pop("", {})
    fields = {column: {"inputFields": _input_fields(used)} for column, used in uses.items()}
    return {"columnLineage": facet("ColumnLineageDatasetFacet", "1-2-0", fields=fields, **({"dataset": _input_fields(whole)} if whole else {}))}


def _input_fields(used: Mapping[tuple[Dataset, str], list[Facet]]) -> list[Facet]:
    return [
        {"namespace": dataset.namespace, "name": dataset.name, "field": column, "transformations": told}
        for (dataset, column), told in used.items()
    ]


def _counts(accesses: Sequence[Access]) -> Facet:
    """Totals; of what was not counted each time there is none."""
    counts = {"rowCount": [access.rows for access in accesses], "size": [access.size for access in accesses]}
    return {name: sum(n for n in each if n is not None) for name, each in counts.items() if None not in each}


def _record_lineage(process: Process) -> Facet:
    found: Facet = {
        "_producer": PRODUCER, "_schemaURL": f"urn:bigdebug:facets:1-0-0:{RECORD_LINEAGE}.json#/$defs/{RECORD_LINEAGE}", "session": process.session,
    }
    if process.run:
        found["captured"] = process.run
    cell = process.cell
    if cell is not None:
        told = {"path": cell.notebook, "cell": cell.id, "execution": cell.count}
        if known := {name: value for name, value in told.items() if value not in ("", None)}:
            found["notebook"] = known
    return found


def _notebook(process: Process) -> str:
    return process.cell.notebook if process.cell else ""


def _uri(namespace: str) -> str:
    """The namespace, if it is a URI; none where it is no more than a name."""
    return namespace if _URI.fullmatch(namespace) else "file:" if namespace == "file" else ""


def shortened(text: str) -> str:
    """A text, no longer than a collector is asked to take."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text) - _LONGEST} characters more)"
