"""Dead letters: the records that tasks went on without, as they wrote them down."""

from __future__ import annotations

import base64
import json
import os
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
    """The letters in a directory that ``dbg.capture(on_crash=..., letters=path)`` was given; those of tasks that Spark ran twice, and of an RDD that it computed for two that read it, are there twice.

    Unpickles records: read directories that you trust. Raises StoreError if it is none, or where something in its files is no letter, or one of them cannot be read: its ``partial`` has
    all other letters.
    """
    folder = local("The directory of dead letters", path)
    found, others, unread = list[Letter](), list[str](), list[str]()
    for file in _files(folder):
        try:
            lines = file.read_bytes().split(b"\n")[:-1]  # a task that was killed while it wrote the last one has written it again in its next attempt
        except OSError as problem:
            if from_outside(problem):
                raise
            unread.append(f"{file} cannot be read ({problem.strerror or problem})")
            continue
        for number, known in enumerate(map(_letter, lines), 1):
            if isinstance(known, Letter):
                found.append(known)
            else:
                others.append(f"{file}:{number} is no letter of a record ({known})")
    if unread or others:
        told = [_and_more(unread, "file"), _and_more(others, "line")]
        remedies = ["Have it read by one who may, for there may be letters in it."] * bool(unread) + ["Take away what is not of dbg.capture(letters=...)."] * bool(others)
        raise StoreError(
            "; ".join(filter(None, told)), partial=found,
            remedy=f"{' '.join(remedies)} The letters beside it are there: except bigdebug.errors.StoreError as problem: problem.partial",
        )
    return found


def _files(folder: Path) -> list[Path]:
    """The files of a directory that letters are in: asked for by a call that raises where nobody may look, for ``glob`` finds none there."""
    try:
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(".jsonl"))
    except OSError as problem:
        if from_outside(problem):
            raise
        if isinstance(problem, (FileNotFoundError, NotADirectoryError)):
            raise StoreError("There is no directory of dead letters", value=str(folder), remedy="Give the path that dbg.capture(letters=...) was given.") from problem
        raise StoreError(
            f"The directory of dead letters cannot be read ({problem.strerror or problem})", value=str(folder), remedy="Have it read by one who may.",
        ) from problem


def _and_more(told: list[str], what: str) -> str:
    """The first of some, and how many there are besides."""
    return "".join(told[:1]) + (f", and {counted(len(told) - 1, what)} more" if len(told) > 1 else "")


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
