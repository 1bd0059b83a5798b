"""Dead letters: the records that tasks went on without, as they wrote them down."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigdebug.errors import StoreError
from bigdebug.shown import plain, shown
from bigdebug.trace.culprit import Described


@dataclass(frozen=True, repr=False)
class Letter:
    """A record that ``operator`` (its id) crashed on in a partition, and what it raised."""

    record: Any
    operator: int
    partition: int | None
    exception: str
    message: str

    def __repr__(self) -> str:
        where = f"operator {self.operator}" + ("" if self.partition is None else f", partition {self.partition}")
        return plain(f"<{shown(self.record)} in {where}: {self.exception}: {self.message}>")


def read_letters(path: str | os.PathLike[str]) -> list[Letter]:
    """The letters in a directory that ``dbg.capture(on_crash=..., letters=path)`` was given; those of tasks that Spark ran twice are there twice.

    Unpickles records: read directories that you trust. Raises StoreError if it is none.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise StoreError("There is no directory of dead letters", value=str(path), remedy="Give the path that dbg.capture(letters=...) was given.")
    return [letter for file in sorted(folder.glob("*.jsonl")) for letter in _letters(file)]


def _letters(file: Path) -> Iterator[Letter]:
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if not line.endswith("\n"):  # the task was killed while it wrote: the next attempt has written it again
            continue
        told = json.loads(line)
        pickled = told["pickle"]
        record = Described(told["record"]) if pickled is None else pickle.loads(base64.b64decode(pickled))
        yield Letter(record, told["operator"], told["partition"], told["exception"], told["message"])
