"""The words of dataset lineage: data entities and process entities (SAC, section III), as values.

A ``Dataset`` is where data stands; a ``Process`` is one thing that was done: a query, a write, a fit, a stream, an RDD action. Processes of
the same ``job`` are the same thing done again. Names follow OpenLineage's rules, so other tools mean the same by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

KINDS = ("files", "table", "view", "cache", "memory", "stream", "topic", "jdbc", "model", "rdd", "unknown")
"""What a dataset is. Views, caches and what the program itself made (memory) end with their session; the others outlive it."""

SORTS = ("query", "write", "command", "fit", "transform", "stream", "rdd")
"""What a process is."""

STATUSES = ("running", "succeeded", "failed", "lost")

"""How it stands with a process; it is lost if its session died before it ended."""

MODES = ("read", "created", "appended", "overwritten", "written", "truncated", "altered", "dropped", "renamed", "defined")
"""What a process did to a dataset: "written" puts rows in the place of some of those that were there, "altered" changes what the catalog says of it, or of which
partitions it is made, or empties some: no rows come. What was stored before there were these two has a truncated table as "overwritten", and an altered one as "defined".
"""


@dataclass(frozen=True, order=True)
class Dataset:
    """A data entity. ``namespace`` and ``name`` are its identity: ("file", "/data/in"), ("s3://bucket", "in"), ("kafka://host:9092", "topic").

    ``location`` is where the files of a table stand, as ``str`` of the dataset that these files are: who reads the files reads the table.
    """

    namespace: str
    name: str
    kind: str = field(default="files", compare=False)
    format: str = field(default="", compare=False)
    location: str = field(default="", compare=False)

    def __str__(self) -> str:
        if not self.namespace or not self.name:
            return self.namespace or self.name
        if self.namespace == "file":
            return f"file:{self.name}"
        return f"{self.namespace.rstrip('/')}/{self.name.lstrip('/')}"


@dataclass(frozen=True)
class Field:
    """A column of a schema; ``type`` as Spark writes it in DDL."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True)
class Access:
    """What a process did to a dataset: ``mode`` of MODES, the schema then, rows and bytes where Spark counted them."""

    dataset: Dataset
    mode: str = "read"
    schema: tuple[Field, ...] = ()
    rows: int | None = None
    size: int | None = None


@dataclass(frozen=True, order=True)
class ColumnEdge:
    """A column of what was written uses a column of what was read, as ``how`` (of ``uses``) says. No ``column``: all columns of it do."""

    output: Dataset
    column: str
    input: Dataset
    used: str
    how: str
    masking: bool = False


@dataclass(frozen=True)
class Cell:
    """The notebook cell that ran it: path of the notebook where the front end told it, id of the cell, the number of the execution."""

    notebook: str = ""
    id: str = ""
    count: int | None = None


@dataclass(frozen=True)
class Process:
    """A process entity. ``id`` is a UUID, ``session`` the application's id in Spark, times are in UTC; ``opaque`` names the steps of a plan that
    are not known; ``run`` is the bigdebug run that holds the lineage of its records, if it was captured; ``text`` is the SQL, or the call, where
    it is known.
    """

    id: str
    job: str
    sort: str
    session: str
    started: datetime
    ended: datetime | None = None
    status: str = "running"
    error: str = ""
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    columns: tuple[ColumnEdge, ...] = ()
    opaque: tuple[str, ...] = ()
    cell: Cell | None = None
    run: str = ""
    text: str = ""
