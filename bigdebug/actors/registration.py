"""Registrations: an actor that has not committed, in a file that is locked while its process lives."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bigdebug.errors import StoreError
from bigdebug.outside import from_outside

NEW = ".new"
"""A registration that is being written; its name begins with a dot, which no id does."""

_TRIES = 100
"""How often a registration is written: who prunes takes one away that is not locked yet, for what he sees is what a process left that is gone."""


class Registration:
    """An actor's own file, locked until it is closed, or its process is gone. It has its name when it is whole."""

    _number: int | None = None

    def __init__(self, path: Path, told: dict[str, Any]) -> None:
        try:
            import fcntl  # sessions import this module everywhere
        except ImportError as problem:
            raise StoreError("Actors are not captured here: this system has no locks of files", value=str(path), remedy="Run the step on Linux or macOS.") from problem
        self.path = path
        new = path.with_name(f".{path.stem}{NEW}")
        for left in reversed(range(_TRIES)):
            self._number = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                fcntl.flock(self._number, fcntl.LOCK_EX)
                os.write(self._number, json.dumps(told).encode())
                new.rename(path)
                return
            except FileNotFoundError as problem:
                if not left or from_outside(problem):
                    raise
            except BaseException:  # the disk is full, or the program is interrupted
                new.unlink(missing_ok=True)
                raise
            self.close()

    def close(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None

    __del__ = close


def held(path: Path) -> bool:
    """Whether somebody has a file locked, or may have it where that cannot be seen."""
    try:
        with path.open("rb") as file:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except (OSError, ImportError):
        return True
    return False
