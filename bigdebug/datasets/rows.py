"""Rows: processes as the store's tables hold them, written and read. Who calls says where transactions begin and end."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from typing import Any

from bigdebug.datasets import owners
from bigdebug.datasets.model import Access, Cell, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.naming import last_part
from bigdebug.datasets.spelling import spelled, stored, stored_column

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def write(db: sqlite3.Connection, process: Process) -> None:
    """Store a process; one of the same id is replaced. Costs some 0.2 ms, and 10 us for each new edge between columns."""
    flow = _flow(db, process)
    if process.status == "running":
        owners.note(db, *_bound(process.session))
    before = db.execute("SELECT number, flow FROM process WHERE id = ?", (process.id,)).fetchone()
    cell = process.cell
    values = _bound(
        process.id, flow, process.session, microseconds(process.started), None if process.ended is None else microseconds(process.ended), process.status,
        process.error, json.dumps(process.opaque), None if cell is None else cell.notebook, None if cell is None else cell.id,
        None if cell is None else cell.count, process.run, process.text,
    )
    if before is None:
        number = db.execute(
            "INSERT INTO process (id, flow, session, started, ended, status, error, opaque, notebook, cell, count, run, text)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values,
        ).lastrowid
    else:
        number = before[0]
        db.execute(
            "UPDATE process SET (id, flow, session, started, ended, status, error, opaque, notebook, cell, count, run, text)"
            " = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE number = ?", (*values, number),
        )
        db.execute("DELETE FROM measure WHERE process = ?", (number,))
        if before[1] != flow:
            _unless_done(db, before[1])
    db.executemany(
        "INSERT INTO measure (process, number, schema, rows, size) VALUES (?, ?, ?, ?, ?)",
        [(number, i, _schema(db, each.schema), each.rows, each.size) for i, each in enumerate((*process.reads, *process.writes))],
    )


def read(db: sqlite3.Connection, number: int) -> Process:
    """The process of a number, as it was written."""
    (identity, flow, session, started, ended, status, error, opaque, notebook, cell, count, run, text) = db.execute(
        "SELECT id, flow, session, started, ended, status, error, opaque, notebook, cell, count, run, text FROM process WHERE number = ?", (number,),
    ).fetchone()
    job, sort, lineage = db.execute("SELECT job, sort, lineage FROM flow WHERE id = ?", (flow,)).fetchone()
    sides: tuple[list[Access], list[Access]] = ([], [])
    for written, mode, dataset, schema, rows, size in db.execute(
        "SELECT p.written, p.mode, p.dataset, m.schema, m.rows, m.size FROM passage p JOIN measure m ON m.process = ? AND m.number = p.number"
        " WHERE p.flow = ? ORDER BY p.number", (number, flow),
    ).fetchall():
        sides[written].append(Access(dataset_of(db, dataset), mode, schema_of(db, schema), rows, size))
    return Process(
        identity, job, sort, session, moment(started), None if ended is None else moment(ended), status, error, tuple(sides[0]), tuple(sides[1]),
        tuple(_edges(db, lineage)), tuple(json.loads(opaque)), None if notebook is None else Cell(notebook, cell, count), run, text,
    )


def dataset_of(db: sqlite3.Connection, identity: int) -> Dataset:
    """A dataset, as it was last told of."""
    return Dataset(*db.execute("SELECT namespace, name, kind, format, location FROM dataset WHERE id = ?", (identity,)).fetchone())


def datasets_of(db: sqlite3.Connection, which: Iterable[int]) -> dict[int, Dataset]:
    """Datasets by their numbers, as they were last told of."""
    return {number: Dataset(*told) for number, *told in db.execute(
        "SELECT d.id, d.namespace, d.name, d.kind, d.format, d.location FROM json_each(?) JOIN dataset d ON d.id = value", (json.dumps(list(which)),),
    )}


def schema_of(db: sqlite3.Connection, identity: int | None) -> tuple[Field, ...]:
    """The fields of a schema; none, if none is known."""
    if identity is None:
        return ()
    (fields,) = db.execute("SELECT fields FROM schema WHERE id = ?", (identity,)).fetchone()
    return tuple(Field(*each) for each in json.loads(fields))


def microseconds(time: datetime) -> int:
    """Since 1970; a time without a zone is in UTC."""
    return ((time if time.tzinfo else time.replace(tzinfo=timezone.utc)) - _EPOCH) // timedelta(microseconds=1)


def moment(stored: int) -> datetime:
    """The time of so many microseconds since 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=stored)


def _flow(db: sqlite3.Connection, process: Process) -> int:
    sides = [(each, written) for written, side in enumerate((process.reads, process.writes)) for each in side]
    known = {each.dataset: _dataset(db, each.dataset) for each, _ in sides}
    lineage, digest = _lineage(db, process, known)
    passages = [(known[each.dataset], written, each.mode) for each, written in sides]
    return _once(
        db, "flow", _digest([process.job, process.sort, digest, passages]), ("job", "sort", "lineage"), (process.job, process.sort, lineage),
        lambda flow: db.executemany(
            "INSERT INTO passage (flow, number, dataset, written, mode) VALUES (?, ?, ?, ?, ?)", [(flow, i, *each) for i, each in enumerate(passages)],
        ),
    )


def _unless_done(db: sqlite3.Connection, flow: int) -> None:
    """Take a flow away that no process did, as is known by now, and its edges between columns: else questions would go along them."""
    (lineage,) = db.execute("SELECT lineage FROM flow WHERE id = ?", (flow,)).fetchone()
    db.execute("DELETE FROM flow WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM process WHERE flow = ?1)", (flow,))
    db.execute("DELETE FROM lineage WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM flow WHERE lineage = ?1)", (lineage,))


def _dataset(db: sqlite3.Connection, dataset: Dataset) -> int:
    namespace, name, kind, form, location = _bound(dataset.namespace, dataset.name, dataset.kind, dataset.format, dataset.location)
    found = db.execute("SELECT id, kind, format, location FROM dataset WHERE namespace = ? AND name = ?", (namespace, name)).fetchone()
    place = location or (str(Dataset(namespace, name)) if kind == "files" else "")
    if found is None:
        label = last_part(name, kind).lower()
        stem = label.partition(".")[0] or label
        identity = int(db.execute(
            "INSERT INTO dataset (namespace, name, kind, format, location, place, label, stem) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (namespace, name, kind, form, location, place, label, stem),
        ).lastrowid or 0)
        _touch(db, identity, place)
        return identity
    identity, *told = found
    now = [kind, form or told[1], location or told[2]]
    if now != told:
        place = now[2] or place
        db.execute("UPDATE dataset SET kind = ?, format = ?, location = ?, place = ? WHERE id = ?", (*now, place, identity))
        _touch(db, identity, place)
    return int(identity)


def _touch(db: sqlite3.Connection, identity: int, place: str) -> None:
    """Note which datasets are at the same place, above or below it; those of the place where it was before stay noted, for who wrote and read these did so."""
    others = {identity}
    if place:
        slashes = [i for i, letter in enumerate(place) if letter == "/"]
        above = json.dumps([place, *(place[:i] for i in slashes if i), *(place[: i + 1] for i in slashes)])  # what is a root alone ends with its slash
        others.update(i for (i,) in db.execute("SELECT dataset.id FROM json_each(?) JOIN dataset ON dataset.place = value", (above,)))
        inside = place if place.endswith("/") else f"{place}/"
        others.update(i for (i,) in db.execute("SELECT id FROM dataset WHERE place > ? AND place < ?", (inside, f"{inside[:-1]}0")))
    db.executemany("INSERT OR IGNORE INTO touch (dataset, other) VALUES (?, ?)", [pair for other in others for pair in ((identity, other), (other, identity))])


def _lineage(db: sqlite3.Connection, process: Process, known: dict[Dataset, int]) -> tuple[int | None, str]:
    edges = process.columns
    if not edges:
        return None, ""
    for edge in edges:
        for dataset in (edge.output, edge.input):
            if dataset not in known:
                known[dataset] = _dataset(db, dataset)
    names = spelled(db, edges, (*process.reads, *process.writes), known)
    rows = [
        (known[edge.output], names.get((edge.output, edge.column)) or stored_column(edge.column), known[edge.input],
         names.get((edge.input, edge.used)) or stored_column(edge.used), edge.how, int(edge.masking))
        for edge in edges
    ]
    digest = _digest(rows)
    return _once(db, "lineage", digest, (), (), lambda lineage: db.executemany(
        'INSERT INTO edge (lineage, number, output, "column", input, used, how, masking) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
        [_bound(lineage, i, *row) for i, row in enumerate(rows)],
    )), digest.hex()


def _edges(db: sqlite3.Connection, lineage: int | None) -> Iterator[ColumnEdge]:
    known: dict[int, Dataset] = {}
    for output, column, source, used, how, masking in db.execute(
        'SELECT output, "column", input, used, how, masking FROM edge WHERE lineage = ? ORDER BY number', (lineage,),
    ).fetchall():
        for identity in (output, source):
            if identity not in known:
                known[identity] = dataset_of(db, identity)
        yield ColumnEdge(known[output], column, known[source], used, how, bool(masking))


def _schema(db: sqlite3.Connection, fields: tuple[Field, ...]) -> int | None:
    if not fields:
        return None
    text = json.dumps([(each.name, each.type, each.nullable) for each in fields])
    return _once(db, "schema", _digest(text), ("fields",), (text,), lambda schema: None)


def _once(db: sqlite3.Connection, table: str, digest: bytes, columns: Sequence[str], values: Sequence[Any], more: Any) -> int:
    """The number of the row with a digest; made now, with what belongs to it, if there is none."""
    found = db.execute(f"SELECT id FROM {table} WHERE digest = ?", (digest,)).fetchone()
    if found is not None:
        return int(found[0])
    marks = ", ".join("?" * (len(columns) + 1))
    made = db.execute(f"INSERT INTO {table} ({', '.join(['digest', *columns])}) VALUES ({marks})", _bound(digest, *values)).lastrowid or 0
    more(made)
    return made


def _digest(value: Any) -> bytes:
    return blake2b(json.dumps(value).encode(), digest_size=16).digest()


def _bound(*values: Any) -> tuple[Any, ...]:
    return tuple(stored(value) if isinstance(value, str) else value for value in values)


def forget(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Take processes away."""
    db.executemany("DELETE FROM process WHERE number = ?", [(number,) for number in numbers])


def sweep(db: sqlite3.Connection) -> None:
    """Take away what no process has any more. Costs a look at each row of what is shared: 50 ms for 10,000 processes."""
    db.execute("DELETE FROM flow WHERE NOT EXISTS (SELECT 1 FROM process p WHERE p.flow = flow.id)")
    db.execute("DELETE FROM owner WHERE NOT EXISTS (SELECT 1 FROM process p WHERE p.session = owner.session)")
    db.execute("DELETE FROM lineage WHERE NOT EXISTS (SELECT 1 FROM flow f WHERE f.lineage = lineage.id)")
    db.execute("DELETE FROM schema WHERE NOT EXISTS (SELECT 1 FROM measure m WHERE m.schema = schema.id)")
    db.execute(
        "DELETE FROM dataset WHERE NOT EXISTS (SELECT 1 FROM passage p WHERE p.dataset = dataset.id)"
        " AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.output = dataset.id) AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.input = dataset.id)"
    )
