"""What tests of inputs share: writing files, reading them as Python does, and the names that a trace gives to records."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BOM = b"\xef\xbb\xbf"


def same(record: Any) -> Any:
    return record


def written(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def cut(data: bytes) -> list[bytes]:
    """The lines of a file as Python cuts them at \\n, \\r\\n and \\r; a byte order mark at its start is none of them."""
    pieces = re.split(rb"\r\n|\n|\r", data.removeprefix(BOM))
    return pieces if pieces[-1] else pieces[:-1]


def lines(files: dict[str, bytes]) -> list[tuple[str, int, str]]:
    """(file name, line number, line) of every line, sorted."""
    return sorted((name, i, line.decode()) for name, data in files.items() for i, line in enumerate(cut(data), 1))


@dataclass(frozen=True)
class Reading:
    """A source that was read by an identity, and what the trace from all its outputs says of its records."""

    trace: Any
    known: list[Any]

    @property
    def named(self) -> list[tuple[str, Any, Any]]:
        """(file name, line or row, record) of the records of files, sorted."""
        found = []
        for known in self.known:
            origin = known.origin
            assert origin.index is None
            place = origin.row if origin.line is None else origin.line
            found.append((origin.path.rsplit("/", 1)[-1], place, known.record))
        return sorted(found)

    @property
    def indexed(self) -> list[tuple[int, Any]]:
        """(index, record) of the records of a collection, in the order of their rids."""
        assert all(known.origin.line is None and known.origin.row is None for known in self.known)
        return [(known.origin.index, known.record) for known in self.known]


def read(dbg: Any, source: Any) -> Reading:
    """Read ``source`` under capture and trace back. As many records are traced as there are outputs: the very ones."""
    result = source.map(same)
    with dbg.capture("read") as run:
        outputs = result.collect()
    assert (run.status, run.incomplete) == ("succeeded", ())
    everything = result.getLineage()
    assert everything.count() == len(outputs)
    behind = everything.goBackAll()
    reading = Reading(behind, behind.source_records())
    records = [repr(known.record) for known in reading.known]
    if len(behind.operators) == 1 and len(records) == len(outputs):
        assert records == list(map(repr, outputs))
    return reading
