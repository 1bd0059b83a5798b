"""Questions about what was recorded: ``dbg.datasets`` in a session, ``bigdebug datasets`` on the command line."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from bigdebug.datasets import describing, listing, reaching
from bigdebug.datasets import impact as impacts
from bigdebug.datasets.answers import Answer, told, when
from bigdebug.datasets.changes import changes
from bigdebug.datasets.drawing import Drawing, drawing
from bigdebug.datasets.exporting import Exporting
from bigdebug.datasets.home import is_recorded
from bigdebug.datasets.matching import column_meant, meant
from bigdebug.datasets.model import STATUSES, Dataset, Process
from bigdebug.datasets.rows import datasets_of
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import DatasetsError, NotCapturedError, UnknownDatasetError

MOST = 1_000
"""Rows that an answer has, if nothing else is said: of what is reached."""

RECENT = 100
"""The same of what was done, which is read for each."""

_ALL = 1_000_000_000
"""More rows than any answer has."""


class Datasets(Exporting):
    """Which data feeds which, over all sessions and notebooks of this user. Datasets are named as people type them: "orders", "shop.orders",
    "/data/orders", "s3://bucket/orders"; what several are called is refused, with their names. Each question takes milliseconds.
    """

    def __init__(
        self, store: DatasetStore, session: str = "", settle: Callable[[], object] = lambda: None, trace: Callable[[str], Any] | None = None,
    ) -> None:
        """Of a ``session``, whose views come before those of others; ``settle`` waits until what has happened is recorded; ``trace`` gives the
        lineage of the records of a run.
        """
        self.store = store
        self._session = session
        self._settle = settle
        self._trace = trace
        self._recording = is_recorded()
        self.follow: list[Callable[[], None]] = []
        """Called when ``recording`` has changed."""

    @property
    def recording(self) -> bool:
        """Whether what the session does is recorded. It can be set; what was recorded stays. BIGDEBUG_DATASETS=off in the environment begins with off."""
        return self._recording

    @recording.setter
    def recording(self, wanted: bool) -> None:
        if not isinstance(wanted, bool):
            raise TypeError(f"recording is True or False, not {wanted!r}")
        self._recording = wanted
        for changed in self.follow:
            changed()

    @property
    def trouble(self) -> str:
        """In whole sentences what is to be said with each answer: recording is off, or something is wrong with the store. Mostly nothing."""
        off = "Recording is off: what this session does is not known here. dbg.datasets.recording = True records what it does from then on."
        return " ".join(filter(None, (off if self._session and not self._recording else "", self.store.trouble)))

    # ---- what feeds what --------------------------------------------------------------------------------------

    def upstream(self, dataset: str | Dataset, column: str | None = None, limit: int = MOST) -> Answer:
        """The datasets that a dataset was made from, nearest first, over all steps; or the columns that a column was made of, with how."""
        return self._reach(dataset, column, True, limit)

    def downstream(self, dataset: str | Dataset, column: str | None = None, limit: int = MOST) -> Answer:
        """What was made from a dataset, nearest first, over all steps; or what was made with a column of it. Results of queries are counted in a note."""
        return self._reach(dataset, column, False, limit)

    def impact(self, dataset: str | Dataset, column: str, limit: int = MOST) -> Answer:
        """What becomes of jobs and datasets if a column is dropped: jobs that use it fail, what they write and what is made of that is stale."""
        with self._asked(limit) as db:
            of = meant(db, dataset, self._session)
            name = column_meant(column, describing.names_of_columns(db, of.id), of.dataset)
            return impacts.answer(db, of, name, limit).noting(self.trouble)

    def drawn(self, dataset: str | Dataset | None = None, limit: int = 150) -> Drawing:
        """The graph of datasets and jobs, laid out in layers: what was used last; or all that is upstream and downstream of a dataset, nearest first."""
        with self._asked(limit) as db:
            return drawing(db, None if dataset is None else meant(db, dataset, self._session).id, limit)

    # ---- what was recorded ------------------------------------------------------------------------------------

    def find(self, text: str = "", limit: int = RECENT) -> Answer:
        """Datasets whose names have a text in them, those that were used last first."""
        with self._asked(limit) as db:
            return listing.find(db, text, limit).noting(self.trouble)

    def columns(self, dataset: str | Dataset) -> Answer:
        """The columns of a dataset as it was last seen: their types, and which columns each was made of."""
        with self._asked() as db:
            return describing.columns(db, meant(db, dataset, self._session)).noting(self.trouble)

    def history(self, dataset: str | Dataset, limit: int = RECENT) -> Answer:
        """What was done to a dataset and with it, latest first, with rows and what became of its schema."""
        with self._asked(limit) as db:
            return listing.history(db, meant(db, dataset, self._session), limit).noting(self.trouble)

    def processes(self, job: str = "", status: str = "", limit: int = RECENT) -> Answer:
        """What was done, latest first: of all jobs, or of those with a text in their names; of all, or those that are running, succeeded, failed or lost.

        Raises DatasetsError for a status that there is not.
        """
        if status and status not in STATUSES:
            raise DatasetsError("No process has this status", value=status, remedy=f"Name one of {', '.join(STATUSES)}.")
        with self._asked(limit) as db:
            return listing.processes(db, job, status, limit).noting(self.trouble)

    def process(self, identity: str) -> Process:
        """All that was recorded of a process. Raises UnknownDatasetError for an id that is not there."""
        self._settle()
        found = self.store.process(identity)
        if found is None:
            raise UnknownDatasetError("No process of this id was recorded", value=identity, remedy="processes() lists them with their ids.")
        return found

    def show(self, what: str) -> Answer:
        """The columns of a dataset, or all that was recorded of a process, by its id."""
        self._settle()
        found = self.store.process(what)
        return self.columns(what) if found is None else told(found)

    def numbered(self, number: int) -> Dataset:
        """The dataset with a number, as drawings have them. Raises UnknownDatasetError for one that is there no more."""
        with self._asked() as db:
            found = datasets_of(db, [number]).get(number)
        if found is None:
            raise UnknownDatasetError("This dataset is not in the store any more", value=number, remedy="Look at the graph again.")
        return found

    def changed(self, job: str, before: str | None = None, after: str | None = None) -> Answer:
        """What is different between two runs of a job: the last, or that of the process ``after``, and the one before it, or that of the process ``before``.
        ``job`` may be a part of its name.
        """
        with self._asked() as db:
            name = listing.job_meant(db, job)
            later = after or listing.last_run(db, name)
            earlier = before or listing.last_run(db, name, later)
        title, columns, other = f"Changes of {name}", ("what", "of", "before", "after"), self.process(later)
        if not earlier or (earlier == later and not after):
            said = "It did not run before that" if after else "That is its last run" if earlier else "It ran once"
            return Answer(title, columns, (), (f"{said}, so there is nothing to compare.",)).noting(self.trouble)
        one = self.process(earlier)
        found = changes(one, other)
        note = f"Runs of {when(one.started)} and {when(other.started)}."
        others = [f"{each.id} is a run of {each.job}." for each in (one, other) if each.job != name]
        return Answer(title, columns, tuple(map(tuple, found))).noting(note, *others, "" if found else "Nothing is different.", self.trouble)

    def trace(self, dataset: str | Dataset) -> Any:
        """The lineage of the records that were last written to a dataset under capture, in this session: a trace, as ``dbg.lineage`` gives it.

        Raises NotCapturedError if no write of this session's to it was captured.
        """
        with self._asked() as db:
            of = meant(db, dataset, self._session)
            found = db.execute(
                """SELECT p.run FROM touch t JOIN passage a ON a.dataset = t.other AND a.written = 1 JOIN process p ON p.flow = a.flow
                WHERE t.dataset = ? AND p.session = ? AND p.run <> '' ORDER BY p.started DESC LIMIT 1""", (of.id, self._session),
            ).fetchone()
        if found is None or self._trace is None:
            raise NotCapturedError(
                "The records of this dataset were not captured in this session", value=str(of.dataset),
                remedy="Write it within `with dbg.capture(\"name\"):`; history() names the runs of other sessions.",
            )
        return self._trace(found[0])

    def __repr__(self) -> str:
        with self._asked() as db:
            processes, datasets = (db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("process", "dataset"))
        trouble = f" {self.trouble}" if self.trouble else ""
        return f"<{datasets:,} datasets and {processes:,} processes in {self.store.path}>{trouble}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.find().noting(repr(self))._repr_mimebundle_()

    # ---- within -----------------------------------------------------------------------------------------------

    def _asked(self, limit: int = 1) -> AbstractContextManager[sqlite3.Connection]:
        if type(limit) is not int or not 1 <= limit <= _ALL:
            raise DatasetsError("The limit of an answer is a number of rows", value=limit, remedy=f"Give one from 1 to {_ALL:,}, or leave it out.")
        self._settle()
        return self.store.reading()

    def _reach(self, dataset: str | Dataset, column: str | None, upstream: bool, limit: int) -> Answer:
        with self._asked(limit) as db:
            of = meant(db, dataset, self._session)
            if column is None:
                return reaching.datasets(db, of, upstream, limit).noting(self.trouble)
            name = column_meant(column, describing.names_of_columns(db, of.id), of.dataset)
            return reaching.columns(db, of, name, upstream, limit).noting(self.trouble)
