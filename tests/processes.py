"""Processes as Hypothesis draws them: what a recorder may hand to an export, and names that nobody would choose."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import strategies as st

from bigdebug.datasets.model import KINDS, MODES, SORTS, STATUSES, Access, Cell, ColumnEdge, Dataset, Field, Process

NAMES = st.one_of(
    st.sampled_from(["id", "price", "orders", "a.b", "a b", "`x`", "<script>alert(1)</script>", "מחיר", "價格", "naïve", "a/b", "", "*", "\x00", "\ud800", "x" * 300, "Größe"]),
    st.text(max_size=12).map(str.lower),  # columns that differ by case alone are one
)
NAMESPACES = st.one_of(
    st.sampled_from(["file", "s3://bucket", "hdfs://host:8020", "kafka://host:9092", "postgres://host:5432", "spark:local-1", "a b", "x:[", ""]), st.text(max_size=8),
)
DATASETS = st.builds(
    Dataset, NAMESPACES, NAMES, st.sampled_from(KINDS), st.sampled_from(["", "parquet", "jdbc", "é"]), st.sampled_from(["", "file:/a/b", "s3://bucket/key", "x"]),
)
FIELDS = st.builds(Field, NAMES, st.sampled_from(["int", "string", "struct<a:int,b:array<string>>", "decimal(38,18)", ""]), st.booleans())
COUNTS = st.none() | st.integers(0, 2**63 - 1)
ACCESSES = st.builds(Access, DATASETS, st.sampled_from(MODES), st.lists(FIELDS, max_size=4).map(tuple), COUNTS, COUNTS)
HOW = st.sampled_from(["IDENTITY", "TRANSFORMATION", "AGGREGATION", "JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"])
CELLS = st.builds(Cell, NAMES, NAMES, st.none() | st.integers(0, 10_000))
BEGAN = datetime(2026, 11, 27, tzinfo=timezone.utc)
TIMES = st.integers(0, 10**12).map(lambda micros: BEGAN + timedelta(microseconds=micros)) | st.just(datetime(2026, 1, 1))
ERRORS = st.sampled_from(["", "[DIVIDE_BY_ZERO] Division by zero", "Traceback (most recent call last):\n  File ...\nValueError: <b>", "x" * 20_000])


@st.composite
def processes(draw: st.DrawFn) -> Process:
    """Any process; columns are mostly of what it reads and writes."""
    reads = tuple(draw(st.lists(ACCESSES, max_size=4)))
    writes = tuple(draw(st.lists(ACCESSES, max_size=3)))
    inputs = st.sampled_from([access.dataset for access in reads]) if reads else DATASETS
    outputs = st.sampled_from([access.dataset for access in writes]) if writes else DATASETS
    edges = st.builds(ColumnEdge, outputs, st.just("") | NAMES, inputs, NAMES, HOW, st.booleans())
    return Process(
        id=str(draw(st.uuids())), job=draw(NAMES), sort=draw(st.sampled_from(SORTS)), session=draw(NAMES), started=draw(TIMES), ended=draw(st.none() | TIMES),
        status=draw(st.sampled_from(STATUSES)), error=draw(ERRORS), reads=reads, writes=writes, columns=tuple(draw(st.lists(edges, max_size=8))),
        opaque=tuple(draw(st.lists(NAMES, max_size=2))), cell=draw(st.none() | CELLS), run=draw(NAMES), text=draw(st.sampled_from(["", "select 1", "df.count()"])),
    )
