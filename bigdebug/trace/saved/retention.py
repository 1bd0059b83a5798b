"""Retention: which saved sessions in a directory are too old, or too many for their size; and saves that ended half way."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from pathlib import Path

from bigdebug.errors import StoreError
from bigdebug.outside import from_outside
from bigdebug.store.contained import each_file, read_json
from bigdebug.store.machine import born, lives, machine
from bigdebug.store.sealed import CATALOG, SEAL, read_catalog
from bigdebug.trace.saved.saving import (
    ACTORS,
    BESIDE,
    BLOCKS,
    FORMAT,
    LINEAGE,
    OUTPUTS,
    REMOVING,
    SAVING,
    UNFINISHED,
    WRITTEN,
    beside,
    directory,
    discard,
    looking,
)

_AGES = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_SIZES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_ABANDONED = 86400.0
"""Seconds after which a save of another machine is taken for one that ended half way, or one that does not say yet who writes it."""
_CLOSED = "has what nobody may look at"
_BEGUN = re.compile(rf"{re.escape(BESIDE)}.*-[a-z0-9_]{{8}}", re.DOTALL)
"""What a directory is called that is being written: of one that was made and nothing more, that is all there is to tell it by."""
_OURS = {f"{folder}/" for folder in (BLOCKS, LINEAGE, OUTPUTS, ACTORS, WRITTEN)}
"""What is in a save that ended half way, besides its catalog."""


@dataclass(frozen=True)
class Kept:
    """A directory that was looked at. ``why`` says why it is to go, or why it cannot, though it should; empty if it stays. ``goes`` says whether it is to go, ``failed`` that it was to be
    removed, and could not.
    """

    path: Path
    bytes: int
    saved: float
    why: str = ""
    goes: bool = False
    failed: bool = False


def seconds_of(text: str) -> float:
    """``30d``, ``12h``, ``90m``, ``45s``, ``2w``, in seconds. Raises StoreError for what is no time."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if match is None:
        raise StoreError("This is no age", value=text, remedy="Say 30d, 12h, 2w.")
    return float(match[1]) * _AGES[match[2]]


def bytes_of(text: str) -> int:
    """``10GB``, ``500M``, ``1.5 TB``, ``1000`` in bytes; a kilobyte has 1,000. Raises StoreError for what is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip().upper())
    if match is None:
        raise StoreError("This is no size", value=text, remedy="Say 10GB, 500MB.")
    return int(Decimal(match[1]) * _SIZES[match[2]])


def chosen(home: Path, older: float | None = None, larger: int | None = None, now: float | None = None) -> list[Kept]:
    """The saved sessions right below a directory, oldest first, and which are to go: saves that ended half way, those saved more than ``older`` seconds
    ago, and of the others the oldest, until all that stay have ``larger`` bytes at most.

    A session that has files which it was not saved with stays, and one that somebody made read-only. Other directories are not looked at, and no link is followed.
    """
    home = directory("where sessions are saved", home)
    at = time.time() if now is None else now
    with looking(home):
        if not home.is_dir():
            raise StoreError("There is no such directory", value=str(home), remedy="Name the one that sessions are saved below.")
        if (home / CATALOG).exists():
            raise StoreError("This is a saved session itself", value=str(home), remedy=f"Name the directory that it is in: {home.parent}")
        found = sorted(_looked_at(home, at), key=lambda kept: kept.saved)
    if older is not None:
        found = [_going(kept, f"saved {_days(at - kept.saved)} ago") if not kept.goes and at - kept.saved > older else kept for kept in found]
    left = sum(kept.bytes for kept in found if not kept.goes)
    for number, kept in enumerate(found):
        if larger is None or left <= larger:
            break
        if not kept.goes:
            found[number] = _going(kept, "the oldest of too many bytes")
            left -= kept.bytes if found[number].goes else 0
    return found


def prune(found: list[Kept]) -> list[Kept]:
    """Remove those that are to go; gives what became of each: one that cannot be removed keeps no other from going.

    Each is moved aside first, under a name of a save that ended half way: what is half removed goes the next time. One that cannot say so is moved back.
    """
    return [_removed(kept) if kept.goes else kept for kept in found]


def _removed(kept: Kept) -> Kept:
    aside = kept.path.parent / f"{beside(kept.path)}-{secrets.token_hex(4)}"
    try:
        kept.path.rename(aside)
        said = (aside / UNFINISHED).exists()
        try:
            (aside / UNFINISHED).write_text(json.dumps({"bigdebug": REMOVING, "process": 0, "host": ""}))
        except BaseException:
            if not said:
                with suppress(OSError):
                    (aside / UNFINISHED).unlink(missing_ok=True)
            aside.rename(kept.path)
            raise
        discard(aside)
    except OSError as problem:
        if from_outside(problem):
            raise
        here = aside if os.path.lexists(aside) else kept.path
        return replace(kept, path=here, why=f"{kept.why}, but cannot be removed: {problem.strerror or problem}", goes=False, failed=True)
    return kept


def _looked_at(home: Path, now: float) -> Iterator[Kept]:
    for path in sorted(home.iterdir()):
        if path.is_symlink() or not path.is_dir():
            continue
        if os.path.exists(path / UNFINISHED):  # Path.exists raises where nobody may look
            if path.name.startswith(".") and (half := _unfinished(path, now)) is not None:
                yield half
        elif _BEGUN.fullmatch(path.name) and _is_empty(path):
            yield _begun(path, now)
        elif os.path.exists(path / CATALOG) and (session := _session(path)) is not None:
            yield session


def _session(path: Path) -> Kept | None:
    try:
        catalog = read_catalog(path)
        if type(catalog["format"]) is not int or catalog["format"] < 1 or not isinstance(catalog["runs"], list):
            return None
        saved = catalog.get("saved")
        when = float(saved) if isinstance(saved, int | float) and isfinite(saved) else (path / CATALOG).stat().st_mtime
    except (StoreError, OSError, LookupError, ValueError, OverflowError):
        return None
    closed: list[OSError] = []
    names = each_file(path, closed.append)
    own = {CATALOG, SEAL, *(catalog["files"] if isinstance(catalog.get("files"), dict) else ())}
    strange = [name for name in names if name not in own and not (catalog["format"] == 1 and name.startswith(f"{BLOCKS}/"))]
    try:
        size = sum(os.lstat(path / name).st_size for name in names)
        shut = _is_read_only(path)
    except OSError:  # it stays, and how large it is nobody can tell
        return Kept(path, 0, when, _CLOSED)
    if catalog["format"] > FORMAT:
        return Kept(path, size, when, f"is of format {catalog['format']}, which this bigdebug does not know")
    if strange:
        return Kept(path, size, when, f"has files that are not its own: {', '.join(strange[:3])}")
    return Kept(path, size, when, _CLOSED if closed else "is read-only" if shut else "")


def _is_read_only(path: Path) -> bool:
    """Whether anything in a session is kept from being removed: by who it belongs to, or by its owner, whom modes bind though he be root."""
    folders = [path, *(Path(folder) / name for folder, names, _ in os.walk(path) for name in names)]
    return any(not folder.is_symlink() and (not folder.stat().st_mode & stat.S_IWUSR or not os.access(folder, os.W_OK | os.X_OK)) for folder in folders)


def _is_empty(path: Path) -> bool:
    try:
        return not os.listdir(path)
    except OSError:  # where nobody may look is nothing of ours
        return False


def _begun(path: Path, now: float) -> Kept:
    """A save whose writer has just made its directory, or died then."""
    made = path.stat().st_mtime
    goes_on = now - made < _ABANDONED
    return Kept(path, 0, made, "is being written" if goes_on else "was not written to its end", goes=not goes_on)


def _unfinished(path: Path, now: float) -> Kept | None:
    """A save, or a removal, that goes on or ended half way; None for what has a file that nobody of ours wrote there, or is finished meanwhile."""
    try:
        names = each_file(path)
    except OSError:  # somebody's, or gone meanwhile
        return None
    if not all(name in (UNFINISHED, CATALOG, SEAL) or any(map(name.startswith, _OURS)) for name in names):
        return None
    try:
        newest = max(os.lstat(path / name).st_mtime for name in names)
        size = sum(os.lstat(path / name).st_size for name in names)
        told = read_json(path, UNFINISHED)
    except (OSError, ValueError):
        return None
    except StoreError as problem:
        if isinstance(problem.__cause__, OSError):
            return None
        # Its writer has just made it, or died then.
        told = {"bigdebug": SAVING, "process": 1, "host": ""}
    if not isinstance(told, dict) or told.get("bigdebug") not in (SAVING, REMOVING) or type(told.get("process")) is not int:
        return None
    here = told.get("host") == machine()
    goes_on = told["process"] > 0 and lives(told["process"], told.get("born") or born(told["process"])) if here else now - newest < _ABANDONED and told["process"] > 0
    return Kept(path, size, newest, "is being written" if goes_on else "was not written to its end", goes=not goes_on)


def _going(kept: Kept, why: str) -> Kept:
    if kept.why:  # it should, and cannot
        return kept if why in kept.why else replace(kept, why=f"stays, though {why}: it {kept.why}")
    return replace(kept, why=why, goes=True)


def _days(seconds: float) -> str:
    return f"{seconds / 86400:.1f} days" if seconds >= 86400 else f"{seconds / 3600:.1f} hours"
