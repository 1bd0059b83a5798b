"""Dead letters: a line of JSON for each record that a job went on without."""

from __future__ import annotations

import base64
import json
import os
import pickle
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bigdebug.agents.guards.crash import message_of, name_of
from bigdebug.outside import from_outside
from bigdebug.shown import shown


def letter(operator: int, partition: int | None, position: int | None, record: Any, exception: str, message: str) -> str:
    """A record that an operator crashed on, and what it raised."""
    try:
        pickled = base64.b64encode(pickle.dumps(record)).decode()
    except BaseException as problem:  # its text is what is left of it
        if from_outside(problem):
            raise
        pickled = None
    return json.dumps({
        "operator": operator, "partition": partition, "position": position, "record": shown(record),
        "exception": exception, "message": message, "pickle": pickled,
    })


def letter_of(operator: int, partition: int, position: int | None, record: Any, problem: BaseException) -> str:
    """The letter of a record on which something was raised."""
    return letter(operator, partition, position, record, name_of(problem), message_of(problem))


BOX = ".bigdebug"
"""A file that the driver makes in the directory of letters: where a task does not see it, it is not that directory."""


def post(file: Path, letters: Iterable[str]) -> None:
    """Add letters to a file. Raises OSError if that cannot be written, or nobody would find it: then no half of one is left before those that follow."""
    if not (file.parent / BOX).exists():
        raise FileNotFoundError(f"{file.parent} is not there on {socket.gethostname()}, or another directory: name one that the driver and all executors see")
    lines = "".join(f"{line}\n" for line in letters).encode()
    with file.open("ab", buffering=0) as box:
        begun, written = box.tell(), 0
        try:
            while written < len(lines):
                written += box.write(lines[written:])
        except OSError:
            if os.fstat(box.fileno()).st_size == begun + written:  # else another task has written behind it
                box.truncate(begun)
            raise
