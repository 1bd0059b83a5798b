"""Dead letters: the records that tasks went on without, as they wrote them down."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigdebug.errors import StoreError
from bigdebug.outside import from_outside
from bigdebug.shown import counted, plain, shown
from bigdebug.store.named import local
from bigdebug.trace.watched import unpickled


@dataclass(frozen=True, repr=False)
class Letter:
    """A record that ``operator`` (its id) crashed on in a partition, and what it raised.

    The record's text stands for it where it could not be pickled, or is not unpickled here.
    """

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

    Unpickles records: read directories that you trust. Raises StoreError if it is none, or where something in its files is no letter: its ``partial`` has all letters.
    """
    folder = local("The directory of dead letters", path)
    if not folder.is_dir():
        raise StoreError("There is no directory of dead letters", value=str(path), remedy="Give the path that dbg.capture(letters=...) was given.")
    found, others = list[Letter](), list[str]()
    for file in sorted(folder.glob("*.jsonl")):
        for line, known in _letters(file):
            if isinstance(known, Letter):
                found.append(known)
            else:
                others.append(f"{file}:{line} is no letter of a record ({known})")
    if others:
        more = f", and {counted(len(others) - 1, 'line')} more" if len(others) > 1 else ""
        raise StoreError(
            f"{others[0]}{more}", partial=found,
            remedy="Take away what is not of dbg.capture(letters=...). The letters beside it are there: except bigdebug.errors.StoreError as problem: problem.partial",
        )
    return found


def _letters(file: Path) -> Iterator[tuple[int, Letter | Exception]]:
    """The letter of each line of a file, or why it is none. A task that was killed while it wrote the last one has written it again in its next attempt."""
    try:
        lines = file.read_bytes().split(b"\n")[:-1]
    except OSError as problem:
        if from_outside(problem):
            raise
        yield 1, problem
        return
    yield from enumerate(map(_letter, lines), 1)


def _letter(line: bytes) -> Letter | Exception:
    """A letter, or why it is none."""
    try:
        told = json.loads(line)
        match told:
            case {"record": str(text), "pickle": None | str() as coded, "operator": int(operator), "partition": None | int() as partition,
                  "exception": str(exception), "message": str(message)}:
                pickled = None if coded is None else base64.b64decode(coded)
            case _:
                return ValueError("it says other things")
    except (ValueError, RecursionError) as problem:
        return problem
    return Letter(unpickled(pickled, text), operator, partition, exception, message)
