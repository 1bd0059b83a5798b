"""Strict reading: the lines of a file that a reader with mode FAILFAST takes for malformed, found by its own parser as an expression of lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from bigdebug.errors import UntraceableError
from bigdebug.model import POSITION_BITS
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.crashes.trials import Trial
from bigdebug.spark.sql.formats import PARSED, format_of, is_csv, literal, option, reader_of
from bigdebug.spark.sql.frame_runs import FrameRuns
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.runs import FrameRun

_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"

_OF_FILES = {"header", "mode", "path", "paths", "multiline", "linesep", "inferschema", "encoding", "charset"}
"""Options that are not of how one line is parsed, or that are said otherwise here."""

_OTHER_SHAPES = ("singleVariantColumn", "explodeEmbeddedArray")
"""Options with which a record is no struct of the columns."""

_NULL = "[MALFORMED_RECORD_IN_PARSING] There is a null among the records of a line."

_REMEDY = "Read it with mode PERMISSIVE and a column _corrupt_record, which has the malformed records."


HANDED_OVER = "Set spark.sql.csv.filterPushdown.enabled or spark.sql.json.filterPushdown.enabled to false, and run it again."


@dataclass(frozen=True)
class Strict:
    """The lines of a leaf of a query, with their rids in the second column, and the expression that throws on those that are malformed.

    ``sure`` holds where no filter that Spark hands to the reader may have it skip the line; None if it hands over none. ``scan`` is what reads
    ``columns`` of the leaf, and ``headers`` are the lines that only say what they are called.
    """

    catalyst: Catalyst
    run: FrameRun
    scan: Any
    columns: list[Expr]
    headers: list[Row]
    lines: Node
    parsed: Expr
    sure: Expr | None

    @classmethod
    def of(cls, catalyst: Catalyst, frames: FrameRuns, frame: Any, leaf: Node) -> Strict | None:
        """How a leaf of ``frame`` is read; None if no column of it is, so that nothing is malformed.

        Raises UntraceableError where records are not lines, or are read in a way that is not known here.
        """
        c, reader = catalyst, reader_of(leaf)
        scan = _scan_of(c, frame, leaf)
        _check(c, reader, scan)
        required, csv = scan.requiredSchema(), is_csv(reader)
        if csv and required.length() == 0:
            return None
        run = frames.aside(_text_of(c, reader, scan))
        plan, rid = _leaf(run).named(c)
        plan = records(c, plan, reader)
        headers = _headers(c, plan, _leaf(run)) if csv and option(reader, "header").lower() == "true" else []
        plan = c.plan(c.frame(plan).filter(~c.column(rid).isin([header.rid for header in headers]))) if headers else plan
        known = {a.name(): a for a in c.items(leaf.output())}
        columns = [known[name] for name in required.fieldNames()]
        parser, sure = _Parser(c, plan, c.column(c.items(plan.output())[0]), reader), None
        filters = _handed_over(c, scan, csv)
        if filters:
            fields = parser.record(required, "PERMISSIVE")
            plan = c.extended(plan, [c.renamed(c.field(fields, i), column) for i, column in enumerate(columns)])
            sure = c.all_hold([parser.passes(required, f) for f in filters])
        return cls(c, run, scan, columns, headers, plan, parser.parsed(required, "FAILFAST"), sure)

    @property
    def trial(self) -> Trial:
        """The lines that are read for certain, each by itself."""
        return Trial(self.lines if self.sure is None else self.catalyst.filter(self.sure, self.lines), [self.parsed], 0, 1, self._trace)

    def _trace(self, line: Row) -> LineageFrame:
        return lineage_of(self.run).standing_at({_leaf(self.run).operator: pa.array([line[1]], pa.int64())})

    @property
    def skipped(self) -> int:
        """How many malformed lines the reader may have skipped. A job, if there are any filters."""
        if self.sure is None:
            return 0
        c = self.catalyst
        found = c.filter(c.all_hold([c.negated(self.sure), c.negated(c.is_computed(self.parsed))]), self.lines)
        return int(unheard(c.frame(found), "count"))


def _leaf(run: FrameRun) -> Leaf:
    (leaf,) = run.questions.leaves.values()
    return leaf


def records(catalyst: Catalyst, lines: Node, reader: Any) -> Node:
    """Those of some lines, in the first column, that a reader takes for records, or for headers."""
    value = catalyst.column(catalyst.items(lines.output())[0])
    is_record = value.rlike(r"[^\x00-\x20]" if is_csv(reader) else r"[^ \t]")
    comment = option(reader, "comment") if is_csv(reader) else ""
    return catalyst.plan(catalyst.frame(lines).filter(is_record & ~value.startswith(comment) if comment else is_record))


def _headers(catalyst: Catalyst, lines: Node, leaf: Leaf) -> list[Row]:
    """The first lines of all files, with their rids. A job that reads them once more."""
    starts = [start for _, start in catalyst.splits(leaf.node)]
    value, rid = map(catalyst.column, catalyst.items(lines.output())[:2])
    first = F.min(F.struct(rid.alias("rid"), value.alias("line"))).alias("first")
    parts = catalyst.frame(lines).groupBy(F.shiftright(rid, POSITION_BITS).alias("part")).agg(first)
    return [row.first for row in unheard(parts, "collect") if starts[row.part] == 0]


def _scan_of(catalyst: Catalyst, frame: Any, leaf: Node) -> Any:
    """What reads the columns of a leaf in the plan that ran; None if it is not in that, as that of a subquery, or not told from others."""
    columns = {a.exprId().id() for a in catalyst.items(leaf.output())}
    scans = [s for s in catalyst.items(frame._jdf.queryExecution().sparkPlan().collectLeaves()) if catalyst.is_a(s, _SCAN)]
    same = [
        scan for scan in scans
        if scan.relation().equals(leaf.relation()) and columns.issuperset(a.exprId().id() for a in catalyst.items(scan.output()))
    ]
    first: Any = next(iter(same), None)
    return first if all(scan.requiredSchema().equals(first.requiredSchema()) and scan.dataFilters().equals(first.dataFilters()) for scan in same) else None


def is_strict(leaf: Node) -> bool:
    """Whether a leaf of a plan is read so that a malformed record is an exception."""
    reader = reader_of(leaf)
    return reader is not None and format_of(reader) in PARSED and option(reader, "mode").upper() == "FAILFAST"


def _check(catalyst: Catalyst, reader: Any, scan: Any) -> None:
    kind, encoding = format_of(reader), option(reader, "encoding") or option(reader, "charset")
    files = catalyst.files(reader.location())
    why = (
        "its records are elements of XML" if kind == "XmlFileFormat"
        else "a record of it may be several lines (multiLine)" if option(reader, "multiLine").lower() == "true"
        else f"it is written in {encoding}" if encoding.upper() not in ("", "UTF-8")
        else f"it is read with {shaping}" if (shaping := next((name for name in _OTHER_SHAPES if option(reader, name)), None))
        else "how Spark reads it is not known" if scan is None
        else "a file of it is read twice" if len(files) > len(set(files))
        else "spark.sql.csv.parser.columnPruning.enabled is off" if is_csv(reader) and not catalyst.jsession.sessionState().conf().csvColumnPruning()
        else None
    )
    if why is not None:
        raise UntraceableError(f"which they are was not looked at, for {why}", remedy=_REMEDY)


def _text_of(catalyst: Catalyst, reader: Any, scan: Any) -> Any:
    """The lines of the files that a scan reads, as a DataFrame."""
    files = sorted({file.toPath().toString() for part in catalyst.items(scan.inputRDDs().head().filePartitions()) for file in part.files()})
    reading, separator = catalyst.spark.read.option("recursiveFileLookup", "true"), option(reader, "lineSep")
    return (reading.option("lineSep", separator) if separator else reading).text(list(map(literal, files)))


class _Parser(NamedTuple):
    """The parser of a reader, as an expression of lines."""

    catalyst: Catalyst
    plan: Node
    line: Column
    reader: Any

    def parsed(self, required: Any, mode: str) -> Expr:
        """What a line is read as: a struct of the required columns; for JSON an array of structs, for a line may be one."""
        c, reader = self.catalyst, self.reader
        names = [str(key) for key in c.items(reader.options().keys().toSeq())]
        options = {**{name: str(reader.options().apply(name)) for name in names if name.lower() not in _OF_FILES}, "mode": mode}
        if not is_csv(reader):
            records = F.from_json(self.line, f"array<{required.sql()}>", options)
            # In an array of records the reader takes no null, which in an array of a column may be.
            return self._resolved(F.transform(records, lambda record: F.coalesce(record, F.raise_error(F.lit(_NULL)))) if mode == "FAILFAST" else records)
        parsed = self._resolved(F.from_csv(self.line, reader.dataSchema().toDDL(), options))
        return c.with_arguments(parsed, {"requiredSchema": c.some(required)})

    def record(self, required: Any, mode: str) -> Expr:
        """The struct of the only record of a line."""
        parsed = self.parsed(required, mode)
        return parsed if is_csv(self.reader) else self._resolved(F.get(self.catalyst.column(parsed), F.lit(0)))

    def passes(self, required: Any, given: Expr) -> Expr:
        """Whether a line passes a filter that is handed to the reader, or has nothing to be compared in its only column: then it is not asked.

        Of a line that is no JSON it is not known how far the reader came.
        """
        c, asked = self.catalyst, self.catalyst.items(given.references().toSeq())
        true, false = c.literal(True, "boolean"), c.literal(False, "boolean")
        if len(asked) != 1:
            return c.either(given, true, false)
        alone = c.jvm.org.apache.spark.sql.types.StructType().add(required.apply(asked[0].name()))
        spoiled = [c.is_null(asked[0]), c.negated(c.is_computed(self.parsed(alone, "FAILFAST")))]
        if not is_csv(self.reader):
            spoiled.append(self._resolved(F.json_object_keys(self.line).isNotNull()))
        return c.either(given, true, c.all_hold(spoiled))

    def _resolved(self, column: Column) -> Expr:
        return self.catalyst.plan(self.catalyst.frame(self.plan).select(column)).projectList().head().child()


def _handed_over(catalyst: Catalyst, scan: Any, csv: bool) -> list[Expr]:
    """The filters that a reader applies to the columns of a record, before it has read the others."""
    conf = catalyst.jsession.sessionState().conf()
    if not (conf.csvFilterPushDown() if csv else conf.jsonFilterPushDown()):
        return []
    strategy = getattr(getattr(catalyst.jvm.org.apache.spark.sql.execution.datasources, "DataSourceStrategy$"), "MODULE$")
    return [f for f in catalyst.items(scan.dataFilters()) if strategy.translateFilter(f, True).isDefined()]
