"""Export of a saved run's associations: for notebooks, for databases, and as triples for provenance graphs."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bigdebug.errors import IncompleteLineageError, StoreError
from bigdebug.model import Rids
from bigdebug.trace.places import places_of, rids_of
from bigdebug.trace.saved.runs import SavedRun, not_saved
from bigdebug.trace.saved.trace import SavedTrace

PAIRS = pa.schema([
    ("made", pa.string()), ("made_operator", pa.int64()), ("made_rid", pa.int64()),
    ("of", pa.string()), ("of_operator", pa.int64()), ("of_rid", pa.int64()), ("origin", pa.string()),
])
TRIPLES = pa.schema([("src", pa.string()), ("dst", pa.string()), ("op", pa.string())])

_ROWS = 1 << 17
"""Records above of a batch."""


def export(run: SavedRun, file: Path, form: str = "parquet") -> int:
    """Write which record of each level was made of which of the next one, a row each: "parquet", "json" (lines), or "triples" (src, dst, op) in Parquet, whose
    items are ``table[rid]``; how many were written.

    The file is whole, or not there. Raises IncompleteLineageError for a run whose associations are not here, StoreError where the file cannot be written or is there already.
    """
    if run.associated is None:
        if run.frame:
            _ = run.lineage  # raises, and says what to do
        if run.damaged:
            raise IncompleteLineageError(f"The associations of run {run.name!r} cannot be read: {run.unsaved}", remedy="Restore the file, or save the session again.")
        raise not_saved(f"The associations of run {run.name!r} are in its blocks alone", run.unsaved, "Save it again with dbg.save(DIR, lineage=True).")
    batches = (_triples(run, batch) for batch in _batches(run)) if form == "triples" else _batches(run)
    if not file.name or "\0" in str(file):
        raise StoreError("This is no name of a file", value=str(file), remedy="Name a new file that you may write.")
    part = file.with_name(f".{file.name}-{secrets.token_hex(4)}")
    try:
        with part.open("xb") as out:
            _refuse_old(file)
            written = _lines(batches, out) if form == "json" else _parquet(batches, out, TRIPLES if form == "triples" else PAIRS)
        _refuse_old(file)
        part.rename(file)
        return written
    except OSError as problem:
        raise StoreError(f"The associations cannot be written: {problem}", value=str(file), remedy="Name a new file that you may write.") from problem
    finally:
        if os.path.lexists(part):  # its name may be longer than any of a file
            part.unlink()


def _refuse_old(file: Path) -> None:
    if os.path.lexists(file):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(file))


def _parquet(batches: Iterator[pa.RecordBatch], out: object, schema: pa.Schema) -> int:
    written = 0
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            written += batch.num_rows
    return written


def _lines(batches: Iterator[pa.RecordBatch], out: object) -> int:
    written = 0
    for batch in batches:
        out.writelines(f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in batch.to_pylist())  # type: ignore[attr-defined]
        written += batch.num_rows
    return written


def _batches(run: SavedRun) -> Iterator[pa.RecordBatch]:
    known = run.associated
    assert known is not None
    names = _names(run)
    for made, of, branch in known.ways:
        for start in range(0, known.levels[made].count, _ROWS):
            above, below = known.pairs_of(made, of, branch, np.arange(start, min(start + _ROWS, known.levels[made].count)))
            upper, lower = known.levels[made].rids_of(above), known.levels[of].rids_of(below)
            yield pa.record_batch([
                pa.repeat(names[made], len(upper)), pa.repeat(made, len(upper)).cast(pa.int64()), pa.array(upper),
                pa.repeat(names[of], len(lower)), pa.repeat(of, len(lower)).cast(pa.int64()), pa.array(lower), _origins(run, of, lower),
            ], schema=PAIRS)


def _origins(run: SavedRun, operator: int, rids: Rids) -> pa.Array:
    """Where records of a source came from; NULL for those of other operators, and where it is not known."""
    if operator not in run.sources or not len(rids):
        return pa.nulls(len(rids), pa.string())
    places = places_of(rids)
    try:
        found = dict(zip(rids_of(places).tolist(), map(str, SavedTrace(run, [operator], lambda: {operator: places}).origins())))
    except IncompleteLineageError:
        return pa.nulls(len(rids), pa.string())
    return pa.array([found[rid] for rid in rids.tolist()], pa.string())


def _names(run: SavedRun) -> dict[int, str]:
    """What each operator is called; no two alike."""
    inputs = run.input_names()
    found: dict[int, str] = {}
    for operator in run.graph:
        name = inputs.get(operator.id) or operator.name
        found[operator.id] = f"{name}#{operator.id}" if name in found.values() or operator.id not in inputs else name
    return found


def _triples(run: SavedRun, batch: pa.RecordBatch) -> pa.RecordBatch:
    rows = batch.select(["made", "made_rid", "of", "of_rid", "made_operator"]).to_pydict()
    items = [[f"{name}[{rid}]" for name, rid in zip(rows[table], rows[f"{table}_rid"])] for table in ("of", "made")]
    return pa.record_batch([*map(pa.array, items), pa.array([run.graph[o].name for o in rows["made_operator"]])], schema=TRIPLES)
