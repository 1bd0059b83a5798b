"""Place: where the files of a store are: a directory of this machine, or one that a URI names (``remote.py``)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bigdebug.errors import BlockLostError, StoreError
from bigdebug.store.blocks import write_whole

NAMED = "_bigdebug-"
"""What the folder of a store begins with where a user names the place: data may be there, too, and Spark, as Hadoop, reads nothing whose name begins with _."""

_TRIES = 3
"""To remove a folder: tasks that end late write into it meanwhile."""


class Place(Protocol):
    """Files by their names, relative, with / between the parts. What cannot be done is a StoreError."""

    def read(self, name: str) -> bytes:
        """All of a file. Raises BlockLostError where there is none."""

    def write(self, name: str, data: bytes) -> None:
        """So that readers see all of it or nothing."""

    def names(self, folder: str) -> list[str]:
        """Names of what is in a folder; none where there is no such folder."""

    def remove(self, folder: str) -> None:
        """A folder with all that is in it; nothing where there is none."""

    def copy(self, name: str, into: Path) -> None:
        """A file, into one of this machine."""

    def where(self, name: str = "") -> str:
        """What a file is called in messages, or the place."""


@dataclass(frozen=True)
class Directory:
    """A directory of this machine. ``bytes_of`` gives those of a file."""

    root: Path
    bytes_of: Callable[[Path], bytes] = Path.read_bytes

    def read(self, name: str) -> bytes:
        try:
            return self.bytes_of(self.root / name)
        except FileNotFoundError as problem:
            raise BlockLostError(f"A lineage block cannot be read: {problem}", value=self.where(name), remedy="Restore the file.") from problem
        except OSError as problem:
            raise StoreError(f"A lineage block cannot be read: {problem}", value=self.where(name), remedy="Check the permissions.") from problem

    def write(self, name: str, data: bytes) -> None:
        path = self.root / name
        try:
            write_whole(path.parent, path.name, data)
        except OSError as problem:
            raise StoreError(
                f"A lineage block cannot be written: {problem}", value=str(path), remedy="See that the store can be written and has room."
            ) from problem

    def names(self, folder: str) -> list[str]:
        try:
            return os.listdir(self.root / folder)
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise StoreError(
                f"The lineage store cannot be read: {problem}", value=self.where(folder), remedy="Check the permissions of the directory."
            ) from problem

    def remove(self, folder: str) -> None:
        path, tries = self.root / folder, _TRIES
        while path.exists():
            try:
                shutil.rmtree(path)
            except OSError as problem:  # noqa: PERF203 (it is tried again)
                tries -= 1
                if not tries:
                    raise StoreError(
                        f"What is to go from the lineage store cannot be removed: {problem}", value=str(path), remedy="Check the permissions of the directory."
                    ) from problem

    def copy(self, name: str, into: Path) -> None:
        try:
            shutil.copyfile(self.root / name, into)
        except OSError as problem:
            raise uncopied(self.where(name), into, problem) from problem

    def where(self, name: str = "") -> str:
        return str(self.root / name)


def uncopied(where: str, into: Path, problem: OSError) -> StoreError:
    return StoreError(f"A lineage block cannot be copied to {into}: {problem}", value=where, remedy="See that it is there, and that there is room where it goes.")
