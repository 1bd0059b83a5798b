"""Sealed: a directory whose catalog lists all its files with their digests, and whose seal, written last, has the digest of the catalog.

A directory without its seal was not written to its end. Who alters a file has to alter the catalog and the seal as well: they tell of accidents, and are
no signature.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from bigdebug.errors import CorruptBlockError, StoreError
from bigdebug.outside import from_outside
from bigdebug.store.contained import MOST_TEXT, contained, each_file, read_contained, read_json, reading

CATALOG, SEAL = "session.json", "seal.json"

_CHUNK = 1 << 20
_MEND = "Restore the file, or save the session again."


class Problem(NamedTuple):
    """What is wrong with a file: "altered", "truncated", "longer", "missing", "foreign" (nobody of ours wrote it there), "a link", "no plain file", or why it
    cannot be read; of a directory, why nobody can tell what is in it.
    """

    file: str
    what: str


def seal(home: Path, catalog: Mapping[str, Any], but: str = "") -> None:
    """Write the catalog, with all files that are below ``home`` now, ``but`` one that is to go, and then the seal."""
    files = {name: [(home / name).stat().st_size, digest(home / name)] for name in each_file(home) if name != but}
    text = json.dumps({**catalog, "files": files}, indent=1).encode()
    (home / CATALOG).write_bytes(text)
    (home / SEAL).write_text(json.dumps({"size": len(text), "digest": _of(text)}))


def digest(path: Path) -> str:
    """The digest of a file: BLAKE2b, 16 bytes of it; a second for each gigabyte, about."""
    made = blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            made.update(chunk)
    return made.hexdigest()


def _of(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def read_catalog(home: Path) -> dict[str, Any]:
    """The catalog, whatever its format. Raises StoreError for a directory that has none, and for a catalog that is no table of names."""
    catalog = read_json(home, CATALOG)
    if not isinstance(catalog, dict):
        raise StoreError("The catalog of this directory is none of ours", value=str(home / CATALOG), remedy=_MEND)
    return catalog


@dataclass(frozen=True)
class Sealed:
    """The files of a directory as its catalog lists them: size in bytes, and digest."""

    home: Path
    files: Mapping[str, tuple[int, str]]

    @classmethod
    def of(cls, home: Path, catalog: Mapping[str, Any]) -> Sealed:
        """Raises StoreError where the seal is missing, or is not that of the catalog, or this does not list files."""
        broken = sealed_wrongly(home)
        if broken is not None:
            raise StoreError(f"The catalog of this directory {broken}", value=str(home), remedy=_MEND)
        files = catalog.get("files")
        if not isinstance(files, Mapping) or not all(map(_is_listed, files.values())):
            raise StoreError("The catalog of this directory does not list its files", value=str(home), remedy=_MEND)
        return cls(home, {name: (size, known) for name, (size, known) in files.items()})

    def path(self, name: str) -> Path:
        """A file of the right size. Raises StoreError, CorruptBlockError. What is in it, nobody has looked at."""
        if name not in self.files:
            raise StoreError("This file is not in the catalog of its directory", value=str(self.home / name), remedy="Remove it, or save the session again.")
        path = contained(self.home, name)
        size, known = path.stat().st_size, self.files[name][0]
        if size != known:
            raise CorruptBlockError(f"The file {path} {'is truncated' if size < known else 'has something behind it'}: {size} bytes instead of {known}", remedy=_MEND)
        return path

    def read(self, path: Path) -> bytes:
        """The bytes of a file, checked. Raises StoreError, CorruptBlockError."""
        if not path.is_relative_to(self.home):
            raise StoreError("A name in this directory leads out of it", value=str(path), remedy=_MEND)
        name = path.relative_to(self.home).as_posix()
        with reading(path):
            data = self.path(name).read_bytes()
        if _of(data) != self.files[name][1]:
            raise CorruptBlockError(f"The file {path} was altered: its digest does not match", remedy=_MEND)
        return data

    def problems(self) -> Iterator[Problem]:
        """What is wrong with the files, all of which are read."""
        found, closed = looked_into(self.home)
        yield from closed
        here = set(found) - {CATALOG, SEAL}
        for name in sorted(here | {name for name in self.files if not any(Path(name).is_relative_to(problem.file) for problem in closed)}):
            if (what := self._problem(name, name in here)) is not None:
                yield Problem(name, what)

    def _problem(self, name: str, here: bool) -> str | None:
        if not here:
            return "missing"
        try:
            return self._wrong(name)
        except OSError as problem:
            if from_outside(problem):
                raise
            return f"cannot be read: {problem.strerror}"

    def _wrong(self, name: str) -> str | None:
        if (self.home / name).is_symlink():
            return "a link"
        if name not in self.files:
            return "foreign"
        if not (self.home / name).is_file():
            return "no plain file"
        size, known = self.files[name]
        now = (self.home / name).stat().st_size
        if now != size:
            return "truncated" if now < size else "longer"
        return None if digest(self.home / name) == known else "altered"


def _is_listed(told: Any) -> bool:
    """Whether it is the size and the digest of a file."""
    return isinstance(told, list | tuple) and len(told) == 2 and type(told[0]) is int and told[0] >= 0 and isinstance(told[1], str)


def looked_into(home: Path) -> tuple[list[str], list[Problem]]:
    """The names of all files below a directory, and what is wrong with directories there that nobody may look into."""
    closed: list[OSError] = []
    found = each_file(home, closed.append)
    return found, sorted(Problem(Path(problem.filename).relative_to(home).as_posix(), f"cannot be looked into: {problem.strerror}") for problem in closed)


def sealed_wrongly(home: Path) -> str | None:
    """What is wrong with a catalog and its seal, in words; None if nothing is."""
    try:
        known = read_json(home, SEAL)
    except StoreError as problem:
        if isinstance(problem.__cause__, PermissionError):
            return f"cannot be compared with its seal: {problem}"
        return "has no seal: it was not written to its end, or was altered"
    data = read_contained(home, CATALOG, MOST_TEXT)
    if not isinstance(known, dict) or (known.get("size"), known.get("digest")) != (len(data), _of(data)):
        return "was altered: it is not the one that was sealed"
    return None
