"""Questions about what was recorded: ``dbg.datasets`` in a session, ``bigdebug datasets`` on the command line."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bigdebug.datasets import graph, rows
from bigdebug.datasets import impact as impacts
from bigdebug.datasets.answers import Answer, told, when
from bigdebug.datasets.changes import changes, schema_change
from bigdebug.datasets.drawing import Drawing, drawing
from bigdebug.datasets.exporting import Exporting
from bigdebug.datasets.graph import UNKNOWN, columns_reached, flows, is_direct, links, reached
from bigdebug.datasets.matching import Meant, column_meant, meant
from bigdebug.datasets.model import Dataset, Field, Process
from bigdebug.datasets.store import DatasetStore
from bigdebug.datasets.uses import DIRECT
from bigdebug.errors import NotCapturedError, UnknownDatasetError

MOST = 1_000
"""Rows that an answer has, if nothing else is said: of what is reached."""

RECENT = 100
"""The same of what was done, which is read for each."""


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

    # ---- what feeds what --------------------------------------------------------------------------------------

    def upstream(self, dataset: str | Dataset, column: str | None = None, limit: int = MOST) -> Answer:
        """The datasets that a dataset was made from, nearest first, over all steps; or the columns that a column was made of, with how."""
        return self._reach(dataset, column, True, limit)

    def downstream(self, dataset: str | Dataset, column: str | None = None, limit: int = MOST) -> Answer:
        """What was made from a dataset, nearest first, over all steps; or what was made with a column of it. Results of queries are counted in a note."""
        return self._reach(dataset, column, False, limit)

    def impact(self, dataset: str | Dataset, column: str, limit: int = MOST) -> Answer:
        """What becomes of jobs and datasets if a column is dropped: jobs that use it fail, what they write and what is made of that is stale."""
        order = (impacts.FAILS, impacts.MAY_FAIL, impacts.LOSES, impacts.STALE)
        with self._asked() as db:
            of = meant(db, dataset, self._session)
            name = column_meant(column, self._columns(db, of.id), of.dataset)
            found = impacts.impact(db, of.id, name)
            affected = sorted(found.flows.items(), key=lambda flow: (order.index(flow[1][0]), flow[1][2]))
            stale = [(number, steps) for number, steps in sorted(found.stale.items(), key=lambda each: each[1]) if number != of.id]
            jobs = flows(db, [flow for flow, _ in affected[:limit]])
            written = _written_by(db, jobs)
            names = rows.datasets_of(db, [number for number, _ in stale[:limit]])
            table: list[tuple[Any, ...]] = [
                (effect, jobs[flow].job, written.get(flow, ()), _hows(how), steps, rows.moment(jobs[flow].last), jobs[flow].runs)
                for flow, (effect, how, steps) in affected[:limit]
            ]
            table += [
                (impacts.STALE, "", (str(names[number]),), f"loses {', '.join(found.lost[number])}" if number in found.lost else "", steps, None, None)
                for number, steps in stale[:limit]
            ]
        counts = Counter([effect for _, (effect, _, _) in affected] + [impacts.STALE] * len(stale))
        said = [f"{counts[each]:,} {'are ' if each == impacts.STALE else ''}{each}" for each in order if counts[each]]
        notes = [
            of.note, f"{', '.join(said)}." if said else "",
            "A job that only copies the column fails if it names it; one that takes all columns (*) goes on without it." if counts[impacts.LOSES] else "",
            "Of some jobs it is not known which columns they use." if counts[impacts.MAY_FAIL] else "",
        ]
        columns = ("effect", "job", "writes", "how", "steps", "last run", "runs")
        return Answer(f"If {of.dataset} loses {name}", columns, tuple(table), _more(len(affected) + len(stale), limit)).noting(*notes, self.store.trouble)

    def drawn(self, dataset: str | Dataset | None = None, limit: int = 150) -> Drawing:
        """The graph of datasets and jobs, laid out in layers: what was used last; or all that is upstream and downstream of a dataset, nearest first."""
        with self._asked() as db:
            return drawing(db, None if dataset is None else meant(db, dataset, self._session).id, limit)

    # ---- what was recorded ------------------------------------------------------------------------------------

    def find(self, text: str = "", limit: int = RECENT) -> Answer:
        """Datasets whose names have a text in them, those that were used last first."""
        with self._asked() as db:
            pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
            found = db.execute(
                """SELECT d.id, COUNT(DISTINCT CASE p.written WHEN 1 THEN p.flow END), COUNT(DISTINCT CASE p.written WHEN 0 THEN p.flow END),
                MAX((SELECT MAX(started) FROM process WHERE process.flow = p.flow)) last FROM dataset d LEFT JOIN passage p ON p.dataset = d.id
                WHERE NOT (d.kind = 'memory' AND d.name LIKE 'result %') AND (d.name LIKE ?1 ESCAPE '\\' OR d.namespace LIKE ?1 ESCAPE '\\') GROUP BY d.id ORDER BY last DESC, d.id DESC LIMIT ?2""",
                (pattern, limit + 1),
            ).fetchall()
            table = []
            for number, written, read, last in found[:limit]:
                each = rows.dataset_of(db, number)
                table.append((str(each), each.kind, each.format, written, read, None if last is None else rows.moment(last)))
        title = f"Datasets with {text!r} in their names" if text else "Datasets"
        return Answer(title, ("dataset", "kind", "format", "jobs that write it", "jobs that read it", "last used"), tuple(table), _more(len(found), limit))

    def columns(self, dataset: str | Dataset) -> Answer:
        """The columns of a dataset as it was last seen: their types, and which columns each was made of."""
        with self._asked() as db:
            of = meant(db, dataset, self._session)
            names = self._columns(db, of.id)
            types = {each.name: each for each in self._schema(db, of.id)}
            table = []
            for name in names:
                near = [each for each in columns_reached(db, of.id, name, upstream=True) if each.steps == 1 and is_direct(each.how)]
                made = tuple(f"{rows.dataset_of(db, each.id)} {each.name} ({_hows(each.how & set(DIRECT))})" for each in near)
                known = types.get(name)
                table.append((name, "" if known is None else known.type, "" if known is None or known.nullable else "not null", made))
        return Answer(f"Columns of {of.dataset}", ("column", "type", "", "made of"), tuple(table), tuple(filter(None, (of.note,))))

    def history(self, dataset: str | Dataset, limit: int = RECENT) -> Answer:
        """What was done to a dataset and with it, latest first, with rows and what became of its schema."""
        with self._asked() as db:
            of = meant(db, dataset, self._session)
            found = db.execute(
                """SELECT DISTINCT p.number, a.mode, m.rows, m.size, m.schema, f.job, p.started, p.ended, p.status, p.error, p.notebook, p.count, p.run, p.id, a.dataset
                FROM touch t JOIN passage a ON a.dataset = t.other JOIN flow f ON f.id = a.flow JOIN process p ON p.flow = a.flow
                JOIN measure m ON m.process = p.number AND m.number = a.number WHERE t.dataset = ?
                ORDER BY p.started DESC, p.number DESC, a.number DESC LIMIT ?""", (of.id, limit + 1),
            ).fetchall()
            table = []
            for i, row in enumerate(found[:limit]):
                (_, mode, count, size, schema, job, started, ended, status, error, notebook, cell, run, identity, which) = row
                before = next((old for old in found[i + 1 :] if old[1] != "read" and old[4] is not None and old[14] == which), None)
                changed = "" if mode == "read" or before is None or before[4] == schema else schema_change(rows.schema_of(db, before[4]), rows.schema_of(db, schema))
                table.append((
                    rows.moment(started), mode, job, count, size, changed, status, _first_line(error), _cell(notebook, cell), run, _seconds(started, ended), identity,
                ))
        names = ("when", "what", "job", "rows", "bytes", "schema", "status", "error", "cell", "run", "seconds", "process")
        return Answer(f"History of {of.dataset}", names, tuple(table), (*filter(None, (of.note,)), *_more(len(found), limit)))

    def processes(self, job: str = "", status: str = "", limit: int = RECENT) -> Answer:
        """What was done, latest first: of all jobs, or of those with a text in their names; of all, or those that are running, succeeded or failed."""
        with self._asked() as db:
            found = db.execute(
                """SELECT p.number, p.started, f.job, f.sort, p.status, p.ended, p.error, p.notebook, p.count, p.run, p.id FROM process p JOIN flow f ON f.id = p.flow
                WHERE (?1 = '' OR instr(f.job, ?1)) AND (?2 = '' OR p.status = ?2) ORDER BY p.started DESC, p.number DESC LIMIT ?3""", (job, status, limit + 1),
            ).fetchall()
            table = []
            for number, started, name, sort, how, ended, error, notebook, cell, run, identity in found[:limit]:
                told = rows.read(db, number)
                table.append((
                    rows.moment(started), name, sort, how, _named(told, "reads"), _named(told, "writes"), _seconds(started, ended), _first_line(error),
                    _cell(notebook, cell), run, identity,
                ))
        names = ("when", "job", "sort", "status", "reads", "writes", "seconds", "error", "cell", "run", "process")
        return Answer("Processes", names, tuple(table), _more(len(found), limit))

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
            found = rows.datasets_of(db, [number]).get(number)
        if found is None:
            raise UnknownDatasetError("This dataset is not in the store any more", value=number, remedy="Look at the graph again.")
        return found

    def changed(self, job: str, before: str | None = None, after: str | None = None) -> Answer:
        """What is different between two runs of a job: the last and the one before, or those of two processes. ``job`` may be a part of its name."""
        with self._asked() as db:
            names = [name for (name,) in db.execute("SELECT DISTINCT job FROM flow WHERE job = ?1", (job,))] or [
                name for (name,) in db.execute("SELECT DISTINCT job FROM flow WHERE instr(lower(job), lower(?1)) ORDER BY job LIMIT 9", (job,))
            ]
            if len(names) != 1:
                remedy = f"Name one of {', '.join(names[:8])}{' and others' if len(names) > 8 else ''}." if names else "processes() lists the jobs."
                raise UnknownDatasetError(f"{'Several jobs have' if names else 'No job that was recorded has'} this in their names" if names else "No such job was recorded",
                                          value=job, remedy=remedy)
            numbers = db.execute(
                "SELECT p.id FROM process p JOIN flow f ON f.id = p.flow WHERE f.job = ? ORDER BY p.started DESC, p.number DESC LIMIT 2", (names[0],),
            ).fetchall()
        last, earlier = (after or numbers[0][0], before or (numbers[1][0] if len(numbers) > 1 else ""))
        if not earlier:
            return Answer(f"Changes of {names[0]}", ("what", "of", "before", "after"), (), ("It ran once, so there is nothing to compare.",))
        one, other = self.process(earlier), self.process(last)
        found = changes(one, other)
        note = f"Runs of {when(one.started)} and {when(other.started)}."
        return Answer(f"Changes of {names[0]}", ("what", "of", "before", "after"), tuple(map(tuple, found)), (note, *(("Nothing is different.",) if not found else ())))

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
        trouble = f" {self.store.trouble}" if self.store.trouble else ""
        return f"<{datasets:,} datasets and {processes:,} processes in {self.store.path}>{trouble}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return self.find().noting(repr(self))._repr_mimebundle_()

    # ---- within -----------------------------------------------------------------------------------------------

    def _asked(self) -> Any:
        self._settle()
        return self.store.reading()

    def _reach(self, dataset: str | Dataset, column: str | None, upstream: bool, limit: int) -> Answer:
        with self._asked() as db:
            of = meant(db, dataset, self._session)
            if column is not None:
                return self._reach_columns(db, of, column, upstream, limit).noting(of.note, self.store.trouble)
            found = reached({of.id: 0}, links(db, [of.id], upstream))
            jobs = flows(db, [flow for each in found[:limit] for flow in each.flows])
            names = rows.datasets_of(db, [each.id for each in found[:limit]])
            table = []
            for each in found[:limit]:
                last = max((jobs[flow] for flow in each.flows), key=lambda flow: flow.last)
                by = tuple(dict.fromkeys(jobs[flow].job for flow in each.flows))
                table.append((each.steps, str(names[each.id]), names[each.id].kind, by, rows.moment(last.last), last.status))
            queries = 0 if upstream else graph.queries_of(db, {of.id, *(each.id for each in found)})
        title = f"{'Upstream' if upstream else 'Downstream'} of {of.dataset}"
        columns = ("steps", "dataset", "kind", "by", "last run", "status")
        return Answer(title, columns, tuple(table), _more(len(found), limit)).noting(of.note, _results(queries), self.store.trouble)

    def _reach_columns(self, db: sqlite3.Connection, of: Meant, column: str, upstream: bool, limit: int) -> Answer:
        name = column_meant(column, self._columns(db, of.id), of.dataset)
        found = columns_reached(db, of.id, name, upstream)
        names = rows.datasets_of(db, {each.id for each in found[:limit]})
        table = tuple((each.steps, str(names[each.id]), each.name or "(all columns)", _influence(each.how), _hows(each.how)) for each in found[:limit])
        queries = 0 if upstream else graph.queries_of_columns(db, [(of.id, name), *((each.id, each.name) for each in found)])
        unknown = any(UNKNOWN in each.how for each in found)
        title = f"{'Upstream' if upstream else 'Downstream'} of {name} of {of.dataset}"
        return Answer(title, ("steps", "dataset", "column", "influence", "how"), table, _more(len(found), limit)).noting(
            _results(queries), "Of some steps it is not known which columns go into which." if unknown else "",
        )

    def _schema(self, db: sqlite3.Connection, dataset: int) -> tuple[Field, ...]:
        """As it was last written; or read, if nobody wrote it."""
        found = db.execute(
            """SELECT m.schema FROM touch t JOIN passage a ON a.dataset = t.other JOIN process p ON p.flow = a.flow
            JOIN measure m ON m.process = p.number AND m.number = a.number
            WHERE t.dataset = ? AND m.schema IS NOT NULL ORDER BY a.dataset = t.dataset DESC, a.written DESC, p.started DESC LIMIT 1""", (dataset,),
        ).fetchone()
        return () if found is None else rows.schema_of(db, found[0])

    def _columns(self, db: sqlite3.Connection, dataset: int) -> list[str]:
        """The columns of a dataset: of its last schema, and others that were used or written at some time."""
        used = db.execute(
            """SELECT edge."column" FROM touch JOIN edge ON edge.output = touch.other WHERE touch.dataset = ?1 AND edge."column" <> ''
            UNION SELECT edge.used FROM touch JOIN edge ON edge.input = touch.other WHERE touch.dataset = ?1 AND edge.used <> ''""", (dataset,),
        )
        return list(dict.fromkeys([*(each.name for each in self._schema(db, dataset)), *sorted(name for (name,) in used)]))


def _written_by(db: sqlite3.Connection, which: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """What flows write, by their numbers."""
    found: dict[int, tuple[str, ...]] = {}
    for flow, *named in db.execute(
        "SELECT p.flow, d.namespace, d.name FROM json_each(?) JOIN passage p ON p.flow = value AND p.written = 1 JOIN dataset d ON d.id = p.dataset",
        (json.dumps(list(which)),),
    ):
        found[flow] = (*found.get(flow, ()), str(Dataset(*named)))
    return found


def _influence(how: Iterable[str]) -> str:
    return "value" if is_direct(how) else "not known" if UNKNOWN in how else "decides"


def _hows(how: Sequence[str] | frozenset[str]) -> str:
    return ", ".join(sorted(each.lower().replace("_", " ") for each in how))


def _results(count: int) -> str:
    return f"{count:,} {'query' if count == 1 else 'queries'} used it, too, and wrote nothing." if count else ""


def _more(found: int, limit: int) -> tuple[str, ...]:
    return (f"These are the first {limit:,}; limit=... shows more.",) if found > limit else ()


def _named(process: Process, side: str) -> tuple[str, ...]:
    return tuple(str(access.dataset) for access in getattr(process, side) if not access.dataset.name.startswith("result "))


def _cell(notebook: str | None, count: int | None) -> str:
    if notebook is None:
        return ""
    return " ".join(filter(None, (notebook.rpartition("/")[2], "" if count is None else f"In[{count}]")))


def _seconds(started: int, ended: int | None) -> float | None:
    return None if ended is None else (ended - started) / 1e6


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]
