"""Doing: what a program does in Python by several jobs of Spark's, a fit say, as one process: its jobs have a tag, and what they do is what it does."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Process
from bigdebug.spark.datasets.accesses import summed, without_counts
from bigdebug.spark.datasets.reading import Reading
from bigdebug.spark.deferred import undisturbed

_TAG = "bigdebug:doing:"
"""What the tags of such jobs begin with: they are the user's, as others are."""

_LASTING = ("files", "table", "jdbc", "topic")
"""Kinds of what a job writes that is there when its doing is over."""


@dataclass
class Doing:
    """What is being done. ``inner`` says whether what its jobs write is a part of what it writes, and not told."""

    process: Process
    inner: bool
    reads: dict[Dataset, Access] = field(default_factory=dict)
    writes: dict[Dataset, Access] = field(default_factory=dict)
    columns: set[ColumnEdge] = field(default_factory=set)
    opaque: dict[str, None] = field(default_factory=dict)

    made: set[Dataset] = field(default_factory=set)
    """What it made on its way and read again: the fitted stages of a pipeline, the models that a search compares."""

    uncounted: set[Dataset] = field(default_factory=set)
    """What its jobs read of which one did not count the rows."""

    tags: set[str] = field(default_factory=set)
    """Those of its jobs."""

    within: int | None = None
    """The number of the query that runs it, which then does what it does: of its jobs Spark tells as of that query's."""

    def take(self, reading: Reading, tags: Iterable[str]) -> None:
        """One of its jobs, with these tags, did this."""
        self.tags.update(tags)
        for access in reading.reads:
            before = self.reads.get(access.dataset)
            self.reads[access.dataset] = access if before is None else summed(before, access)
        self.uncounted.update(reading.uncounted)
        self.opaque.update(dict.fromkeys(reading.opaque))
        if self.inner:
            return
        for access in reading.writes:
            if access.dataset.kind in _LASTING:
                known = self.writes.get(access.dataset)
                self.writes[access.dataset] = access if known is None else summed(known, access)
        self.columns.update(edge for edge in reading.columns if edge.output.kind in _LASTING)

    def wrote(self, rows: int | None, size: int | None) -> None:
        """One of its jobs wrote so many rows and bytes to the one dataset that it writes."""
        if len(self.writes) == 1 and rows is not None:
            (access,) = self.writes.values()
            rows = None if access.dataset.format == "pickle" else rows  # some ten of them are one record to Spark
            self.writes[access.dataset] = summed(access, Access(access.dataset, rows=rows, size=size))

    def of(self, reads: Iterable[Dataset] = (), writes: Iterable[Access] = (), columns: Iterable[ColumnEdge] = ()) -> None:
        """It reads and writes this besides."""
        for dataset in reads:
            self.reads.setdefault(dataset, Access(dataset))
        self.writes.update({access.dataset: access for access in writes})
        self.columns.update(columns)

    def end(self, problem: BaseException | None) -> None:
        """It has ended."""
        error = "" if problem is None else f"{type(problem).__name__}: {problem}"
        self.process = replace(self.process, ended=datetime.now(timezone.utc), status="failed" if error else "succeeded", error=error)

    def now(self) -> Process:
        """The process, as far as it is known."""
        reads = tuple(
            access for access in without_counts(self.reads.values(), self.uncounted)
            if access.dataset not in self.made and not (self.inner and (access.dataset.kind == "memory" or self._is_own(access.dataset)))
        )
        return replace(
            self.process, reads=reads, writes=tuple(self.writes.values()), columns=tuple(sorted(self.columns)), opaque=tuple(self.opaque),
        )

    def _is_own(self, dataset: Dataset) -> bool:
        """Whether files are a part of a saved model: Spark keeps several tables in its folder."""
        folders = [each for each in (*self.writes, *self.reads) if each.kind == "model"]
        return dataset.kind != "model" and any(dataset.namespace == each.namespace and dataset.name.startswith(f"{each.name}/") for each in folders)


class Doings:
    """What is being done in one application. ``ended`` is called with the tag of each that has ended, in the thread in which it did."""

    def __init__(self, sc: SparkContext, session: str, ended: Callable[[str], None]) -> None:
        self._sc: Any = sc
        self._session = session
        self._ended = ended
        self._known: dict[str, Doing] = {}

    def of(self, tags: Iterable[str]) -> Doing | None:
        """What is being done by a job with these tags."""
        return next((self._known[tag] for tag in tags if tag in self._known), None)

    def is_within(self, tag: str) -> bool:
        """Whether a query runs what was being done."""
        known = self._known.get(tag)
        return known is not None and known.within is not None

    def over(self, tag: str) -> Doing | None:
        """What was being done, and is not any more."""
        return self._known.pop(tag, None)

    @contextmanager
    def doing(self, sort: str, job: str, inner: bool = False, text: str = "") -> Iterator[Doing | None]:
        """Within: the jobs of this thread, and of those that it starts, do this. None within another such, which does it then: a pipeline fits its
        stages. What goes wrong with it is not the user's.
        """
        tag = self._begin()
        if not tag:
            yield None
            return
        process = Process(str(uuid.uuid4()), job, sort, self._session, datetime.now(timezone.utc), text=text)
        doing = self._known[tag] = Doing(process, inner)
        problem: BaseException | None = None
        try:
            yield doing
        except BaseException as raised:
            problem = raised
            raise
        finally:
            with undisturbed():
                doing.end(problem)
                self._end(tag)

    def _begin(self) -> str:
        """The tag of the jobs from now on; empty if they have one already."""
        try:
            if self._sc._jsc is None or any(tag.startswith(_TAG) for tag in self._sc.getJobTags()):
                return ""
            tag = f"{_TAG}{uuid.uuid4()}"
            self._sc.addJobTag(tag)
        except (Py4JError, OSError):  # Spark has ended: the user hears of it
            return ""
        return tag

    def _end(self, tag: str) -> None:
        with suppress(Py4JError, OSError, AttributeError):
            self._sc.removeJobTag(tag)
        self._ended(tag)


def wrapped(kind: Any, name: str, around: Callable[..., Any]) -> Callable[[], None]:
    """Let ``around(method, self, *args, **kwargs)`` be called in the place of a method of a class; what is given back undoes it."""
    method = vars(kind)[name]

    @functools.wraps(method)
    def instead(self: Any, *args: Any, **kwargs: Any) -> Any:
        return around(method, self, *args, **kwargs)

    setattr(kind, name, instead)

    def undo() -> None:
        if vars(kind).get(name) is instead:
            setattr(kind, name, method)

    return undo
