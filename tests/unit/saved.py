"""A small saved session made without Spark: an RDD program's run whose lineage is mapped, and a DataFrame's with rows. For tests of what is in a directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bigdebug.graph import CallSite, Form, Kind, Operator, OperatorGraph
from bigdebug.model import Statistics
from bigdebug.store.directory import LineageStore
from bigdebug.store.sealed import CATALOG, SEAL, seal
from bigdebug.trace.across.located import Extent, FileStamp, Unit, dump_extent
from bigdebug.trace.across.saved_steps import RESULT
from bigdebug.trace.fields import Fields
from bigdebug.trace.numbering import Numbering, whole
from bigdebug.trace.run import Run
from bigdebug.trace.saved.associated import Pairs, write
from bigdebug.trace.saved.outputs import encode_records, encode_rows
from bigdebug.trace.saved.runs import Beside
from bigdebug.trace.saved.saving import LINEAGE, keep_outputs, save
from bigdebug.trace.whereabouts import Whereabouts


def graph(name: str = "textFile") -> OperatorGraph:
    site = CallSite("job.py", 3, "x")
    return OperatorGraph([
        Operator(1, name, Kind.SOURCE, Form.SOURCE, (), 2, site, "orders"), Operator(2, "Aggregate", Kind.AGGREGATOR, Form.CODES, (1,), 2, site),
    ], [2])


def run(number: int, name: str) -> Run:
    return Run(f"r{number}", name, "collect", "succeeded", 2, graph(), Statistics(records_out=3))


ROWS = [("a", 1), ("<script>alert(1)</script>", None), ("\u202eevil", 3)]


def kept(given: Run, home: Path, name: str) -> Beside:
    """Ten source records in two files, made into three; records that are no plain values in the second run."""
    levels = {1: Numbering.of_counts({0: 6, 1: 4}), 2: whole(3)}
    lineage = write(home, f"{LINEAGE}/{name}", levels, [Pairs(2, 1, 0, np.arange(10) % 3, np.arange(10))])
    places = Whereabouts("orders", "orders", "row", (("/data/a.csv", 0), ("/data/b.csv", 0)))
    data = encode_records([{1, 2}, Odd(), ("t", b"x")]) if given.name == "records" else encode_rows(Fields(("k", "n"), ("string", "long")), [pa.array([r[0] for r in ROWS]), pa.array([r[1] for r in ROWS])], 3)
    return Beside(frame=True, lineage=lineage, sources={1: places}, outputs=keep_outputs(home, name, data, 3), step=step(home, name))


def step(home: Path, name: str) -> dict[str, Any]:
    """The run as a step: it read two files, and wrote its rows to another in the order of their numbers, the last one first."""
    reads = [Extent(path, Unit.ROW, "csv", (("header", "true"),), FileStamp(10, 1, "ab")) for path in ("/data/a.csv", "/data/b.csv")]
    written = write(home, f"written/{name}", {RESULT: whole(3), 1: whole(3)}, [Pairs(1, RESULT, 0, np.arange(3), np.array([2, 0, 1]))])
    writes = [Extent(f"/data/{name}.parquet", Unit.ROW, "parquet")]
    return {
        "id": f"s/{name}", "kind": "Spark job", "ended": 2.0, "reads": list(map(dump_extent, reads)), "writes": list(map(dump_extent, writes)),
        "written": written, "unsaved": "", "incomplete": ["why"],
    }


class Odd:
    """A record that a pickle alone tells."""

    def __repr__(self) -> str:
        return "<odd>"


def session(path: Path) -> Path:
    store = LineageStore(path.parent / "store")
    block = store.root / "r1" / "s1" / "p0.a0.block"
    block.parent.mkdir(parents=True, exist_ok=True)
    from bigdebug.store.blocks import Block, encode

    block.write_bytes(encode(Block("s1", 0, 0, (1, 1), 0, {"segment0.offsets": np.array([0, 1])})))
    return save([run(1, "rows"), run(2, "records")], store, path, kept)


def rewritten(home: Path, change: Any) -> Path:
    """The session with another catalog, sealed as if it were the first."""
    catalog = json.loads((home / CATALOG).read_text())
    del catalog["files"]
    (home / SEAL).unlink(missing_ok=True)
    (home / CATALOG).unlink()
    change(catalog)
    seal(home, catalog)
    return home
