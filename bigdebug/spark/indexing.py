"""Indexing: what a debug session keeps of DataFrames so that the next question takes milliseconds (Smoke 3.2, 4), and what it answers by such indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bigdebug.shown import shown
from bigdebug.spark.attachment import check_frame
from bigdebug.spark.sql.dependencies import Violations, violations
from bigdebug.spark.sql.indexes import built_table
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.recognized import index
from bigdebug.spark.sql.recorder import FrameRecorder
from bigdebug.spark.sql.workloads import Workload
from bigdebug.spark.tracer import Tracer
from bigdebug.trace.given import labels
from bigdebug.trace.table import Table


class Indexing(Tracer):
    """Indexes of the DataFrames of a session, whose runs are in ``_frames``."""

    spark: Any
    _frames: FrameRecorder

    def index(self, what: Any) -> Table:
        """Keep the lineage of a DataFrame, or of one of its runs, in indexes: questions take milliseconds then.

        Takes about as long as the query, and some 16 bytes of memory for each record and source that took part; less if
        ``declare`` says what will be asked. Gives the indexes, their sizes and seconds. Strategy "defer" does it by itself in
        think time (Smoke 3.2). Raises TooLargeError if the driver would not hold them.
        """
        trace = self.lineage(what)
        if not isinstance(trace, LineageFrame):
            raise TypeError(f"index() is for DataFrames and their runs, not {shown(what)}; traces of RDDs read tables as they are")
        questions = trace.run.questions
        index(trace.run)
        return built_table(questions.built, "" if questions.declared is None else str(questions.declared.workload))

    def declare(
        self, frame: Any, relations: str | Iterable[str] = (), direction: str = "both", where: Any = None,
        partition_by: str | Iterable[str] = (), group_by: str | Iterable[str] = (), sums: str | Iterable[str] = (),
    ) -> Workload:
        """Say what will be asked of a DataFrame, so that its indexes hold that and no more (Smoke 4).

        ``relations`` are those that traces lead back to, all if none; ``direction`` is "backward", "forward" or "both". Of one
        relation: ``where`` is a condition that will be asked of its traced rows, ``partition_by`` columns of which values
        will be (``trace["lineitem"].where("l_shipmode = 'AIR'")``), ``group_by`` columns by which they will be counted, and
        ``sums`` summed (``trace["lineitem"].grouped("l_shipmode")``). Other questions are answered too, by jobs. Costs no job:
        ``index``, or strategy "defer", builds, and ``index`` shows the sizes and seconds.
        """
        check_frame(frame, self.spark)
        columns = labels(() if partition_by is None else partition_by)
        workload = Workload(labels(relations), direction, where, columns, labels(group_by), labels(sums))
        return self._frames.declare(frame, workload)

    def wait_for_indexes(self, timeout: float | None = None) -> bool:
        """Wait until the indexes are built that strategy "defer" builds in think time; False if they are not after ``timeout`` seconds."""
        if not isinstance(timeout, int | float | None):
            raise TypeError(f"timeout is a number of seconds, or None for as long as it takes, not {shown(timeout)}")
        return self._frames.think_time.wait(timeout)

    def violations(self, frame: Any, *dependencies: str | Sequence[str], form: str = "ug") -> Violations:
        """The values that violate functional dependencies among the rows of a DataFrame, with the rows responsible.

        ``dbg.violations(df, "zip -> city", "npi -> name")``. ``form`` is how they are found (Smoke 6.5.2): "ug" in indexes that
        the dependencies share, one job in all; "cd" by COUNT(DISTINCT), two jobs for each. Values are equal where Spark takes them
        for equal. Raises UnknownColumnError for names of no column, or of several.
        """
        check_frame(frame, self.spark)
        texts: list[Any] = []
        for given in dependencies:
            texts += given if isinstance(given, list | tuple) else [given]
        return violations(self._frames, frame, texts, form)
