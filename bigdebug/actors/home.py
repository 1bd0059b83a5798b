"""The home of actors: a directory that is its owner's alone. Processes write there at once and wait for nobody.

``ID.open`` is an actor that was registered; whoever registered it holds it locked as long as he is there. ``ID/`` is one that committed: it gets its name when it is whole.
``ID.failed`` says why one did not, ``ID.parts/`` names those that it contains, and ``links/A@B`` says that B takes what A gives.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigdebug.actors.committed import Check, Facts, Kept
from bigdebug.actors.failed import Failure
from bigdebug.actors.registration import NEW, Registration, held
from bigdebug.errors import ActorError, BigdebugError, StoreError, UnknownActorError
from bigdebug.outside import from_outside
from bigdebug.store.home import HOME, home
from bigdebug.store.paths import is_folder, made, mode_of, removed, touched
from bigdebug.trace.across.located import Extent, Unit

_ID = re.compile(r"[A-Za-z0-9-]{1,80}")
_OPEN, _CLOSING, FAILED, _PARTS, _LINKS = ".open", ".closing", ".failed", ".parts", "links"
_MOST = 1_000
"""Files of each side that are noted of an actor that has not committed."""

_PART = ".part"
"""An actor that is being written; its name begins with a dot, which no id does."""


class ActorHome:
    """The actors below ``root``: below the home of this user's bigdebug, if that is None. Raises StoreErrors where it cannot be read or written.

    ``check`` looks at what committed actors say of themselves, where somebody else knows what that is; ``files`` are those that he knows of, below ``root``: an actor of which none is there any more is a damaged one.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None, check: Check | None = None, files: Iterable[str] = ()) -> None:
        self.root = home() / "actors" if root is None else Path(root).absolute()
        self.check = check
        self._listed = frozenset(actor for actor, slash, _ in (file.partition("/") for file in files) if slash and _ID.fullmatch(actor) and actor != _LINKS)

    # ---- writing ----------------------------------------------------------------------------------------------

    def register(self, name: str, facts: Callable[[str], Facts], reads: Sequence[str] = (), writes: Sequence[str] = ()) -> tuple[Facts, Registration]:
        """A new actor, and the files that it begins with, if that is known. Takes some 0.1 ms."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "actor"
        told = facts(f"{slug}-{secrets.token_hex(8)}")
        with self._writing():
            made(self.root, 0o700)
            for parent in told.within:
                self._check(parent)
                made(self.root / f"{parent}{_PARTS}", 0o700)
                touched(self.root / f"{parent}{_PARTS}" / told.id, 0o600)
            return told, Registration(self.root / f"{told.id}{_OPEN}", {**told.dump(), "reads": list(reads[:_MOST]), "writes": list(writes[:_MOST])})

    def commit(self, actor: str, registration: Registration, write: Callable[[Path], None]) -> None:
        """Give an actor its directory. Raises ActorError if what contains it has committed without it."""
        part = self.root / f".{actor}{_PART}"
        with self._writing():
            part.mkdir(mode=0o700)
            try:
                write(part)
                # Whoever renames the registration decides: this, or a commit that drops it.
                registration.path.rename(self.root / f"{actor}{_CLOSING}")
                part.rename(self.root / actor)
                (self.root / f"{actor}{_CLOSING}").unlink()
                (self.root / f"{actor}{FAILED}").unlink(missing_ok=True)
            except BaseException as error:
                removed(part)
                if not isinstance(error, FileNotFoundError) or from_outside(error):
                    raise
                if is_folder(self.root / actor):
                    raise ActorError("This actor has committed in another process", value=actor, remedy="Commit it in one of them.") from error
                raise ActorError(
                    "This actor is not there any more: what contains it has committed without it, or somebody forgot it", value=actor,
                    remedy="Commit the parts before the whole, and forget no step that runs.",
                ) from error
            finally:
                registration.close()

    def fail(self, actor: str, registration: Registration, told: Failure) -> None:
        """An actor will not commit: say why."""
        with self._writing():
            part = self.root / f".{actor}{_PART}"
            part.write_text(told.write(), encoding="utf-8")
            part.chmod(0o600)
            part.rename(self.root / f"{actor}{FAILED}")
        registration.close()

    def drop_parts(self, actor: str) -> list[str]:
        """Take away what ``actor`` contains and what has not committed, with all that it contains itself (speculative tasks, Newt 5.3); the ids."""
        dropped = self._droppable(actor)
        self.forget_all(dropped)
        return dropped

    def _droppable(self, actor: str) -> list[str]:
        dropped = []
        for part in self.parts(actor):
            dropped += [part] if self._dropped(part) else self._droppable(part)
        return dropped

    def _dropped(self, actor: str) -> bool:
        """Take away the registration of an actor, if it has not committed: from now on it cannot."""
        with self._writing():
            try:
                (self.root / f"{actor}{_OPEN}").unlink()
            except FileNotFoundError:
                return False
            return True

    def forget(self, actor: str) -> None:
        """Take away an actor, and all that it contains."""
        self.forget_all([actor])

    def forget_all(self, actors: Iterable[str]) -> None:
        """Take away actors, and all that they contain. Looks at all links once."""
        gone = set[str]()
        for actor in actors:
            self._forget(actor, gone)
        for link in self.links() if gone else ():
            if not gone.isdisjoint(link):
                (self.root / _LINKS / "@".join(link)).unlink(missing_ok=True)

    def _forget(self, actor: str, gone: set[str]) -> None:
        self._check(actor)
        gone.add(actor)
        for part in self.parts(actor):
            self._forget(part, gone)
        for suffix in (_OPEN, _CLOSING, FAILED):
            (self.root / f"{actor}{suffix}").unlink(missing_ok=True)
        for folder in (actor, f"{actor}{_PARTS}"):
            removed(self.root / folder)

    def link(self, source: str, target: str) -> None:
        """Say that ``target`` takes what ``source`` gives. Raises ActorError where that would be a cycle."""
        if source == target or target in self._upstream(source):
            raise ActorError("A flow does not come back to where it began", value=f"{source} -> {target}", remedy="Link each step of a loop as an actor of its own.")
        with self._writing():
            made(self.root / _LINKS, 0o700)
            touched(self.root / _LINKS / f"{source}@{target}", 0o600)

    # ---- reading ----------------------------------------------------------------------------------------------

    def facts(self, actor: str) -> Facts:
        """What an actor said when it was registered. Raises UnknownActorError."""
        self._check(actor)
        if is_folder(self.root / actor):
            return Kept(self.root / actor, self.check).facts
        for suffix in (_OPEN, _CLOSING):
            with suppress(FileNotFoundError):
                return self._registered(self.root / f"{actor}{suffix}")
        raise self._unknown(actor)

    def kept(self, actor: str) -> Kept:
        """A committed actor. Raises UnknownActorError."""
        self._check(actor)
        if actor not in self._listed and not is_folder(self.root / actor):
            raise self._unknown(actor)
        return Kept(self.root / actor, self.check)

    def ids(self) -> tuple[list[str], list[str]]:
        """The actors that have committed, and those that have not."""
        names = self._names(self.root)
        committed = [name for name in names if _ID.fullmatch(name) and name != _LINKS and is_folder(self.root / name)]
        waiting = {name.removesuffix(suffix) for suffix in (_OPEN, _CLOSING) for name in names if name.endswith(suffix)}
        committed = sorted({*committed, *self._listed})
        return committed, sorted(name for name in waiting - set(committed) if _ID.fullmatch(name))

    def why_not(self, actor: str) -> tuple[str, Failure]:
        """Why an actor has not committed, in words; and what it said of its failure, or, where it captures still or was killed, of the files that it began with. Raises StoreErrors where somebody knows that it said something else."""
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):  # what is no account of a failure says nothing
            told = Failure.read(self._text(f"{actor}{FAILED}"), actor)
            return f"it failed: {told.error}", told
        if self.failed(actor):
            return "it failed, and what it said of that cannot be read", Failure("", None)
        took, left = self._begun_with(actor)
        return ("it has not committed yet" if self.captures(actor) else "it never committed, and its process let go of it"), Failure("", None, took=took, left=left)

    def failed(self, actor: str) -> bool:
        """Whether an actor has failed."""
        return bool(mode_of(self.root / f"{actor}{FAILED}"))

    def _text(self, name: str) -> str:
        """What a file here says. Raises OSError, ValueError, and what ``check`` does of one that is there."""
        path = self.root / name
        if self.check is not None and mode_of(path):
            self.check(path)
        return path.read_text(encoding="utf-8")

    def captures(self, actor: str) -> bool:
        """Whether somebody holds an actor that has not committed, or is registering or committing it."""
        return any(map(held, (self.root / f"{actor}{_OPEN}", self.root / f"{actor}{_CLOSING}", self.root / f".{actor}{NEW}")))

    def paths(self, actor: str) -> list[Path]:
        """The files of an actor; none of those that it contains."""
        folder = self.root / actor
        own = [self.root / f"{actor}{suffix}" for suffix in (_OPEN, _CLOSING, FAILED)]
        return [path for path in (*own, *(folder / name for name in self._names(folder))) if mode_of(path)]

    def halves(self) -> list[tuple[Path, str]]:
        """What is being written, or was by a process that is gone; and of which actor it is."""
        found = []
        for name in self._names(self.root):
            actor, dot, ending = name.removeprefix(".").rpartition(".")
            if name.startswith(".") and dot + ending in (NEW, _PART):
                found.append((self.root / name, actor))
        return found

    def parts(self, actor: str) -> list[str]:
        """The actors that one contains."""
        return [name for name in self._names(self.root / f"{actor}{_PARTS}") if _ID.fullmatch(name)]

    def has(self, actor: str) -> bool:
        """Whether an actor has committed."""
        return is_folder(self.root / actor)

    def links(self) -> list[tuple[str, str]]:
        """Who takes what whom gives, as ``link`` said: source and target."""
        pairs = [name.split("@") for name in self._names(self.root / _LINKS)]
        return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]

    # ---- inside -----------------------------------------------------------------------------------------------

    def _upstream(self, actor: str) -> set[str]:
        sources: dict[str, set[str]] = {}
        for source, target in self.links():
            sources.setdefault(target, set()).add(source)
        found, todo = {actor}, [actor]
        while todo:
            new = sources.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found

    def _names(self, folder: Path) -> list[str]:
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []
        except OSError as problem:
            if from_outside(problem):
                raise
            raise StoreError(f"The home of actors cannot be read: {problem.strerror}", value=str(folder), remedy="Check the permissions of the directory.") from problem

    def _begun_with(self, actor: str) -> tuple[tuple[str, ...], tuple[Extent, ...]]:
        """The files that an actor was to read, and to write; none where it did not say so."""
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            told = json.loads(self._text(f"{actor}{_OPEN}"))
            reads, writes = ([path for path in told[side] if isinstance(path, str)] for side in ("reads", "writes"))
            return tuple(reads), tuple(Extent(path, Unit.WHOLE) for path in writes)
        return (), ()

    def _registered(self, path: Path) -> Facts:
        try:
            return Facts.load(json.loads(self._text(path.name)))
        except (ValueError, LookupError, TypeError, ArithmeticError) as problem:
            raise StoreError(f"This is no registration of an actor: {problem}", value=str(path), remedy="Remove the file: no other actor needs it.") from problem

    def _check(self, actor: Any) -> None:
        if not isinstance(actor, str) or not _ID.fullmatch(actor):
            raise self._unknown(actor)

    def _unknown(self, actor: Any) -> BigdebugError:
        return UnknownActorError(
            "There is no such actor", value=actor, remedy=f"Give an actor, or the id of one that was registered below {self.root}; {HOME} names another directory.",
        )

    def _writing(self) -> _Writing:
        return _Writing(self.root)


@dataclass(frozen=True)
class _Writing:
    """Within, what a file system refuses is a StoreError. (A generator would hold the program's variables until they are collected: its frame is in the error, and the error in its caller's.)"""

    root: Path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if not isinstance(problem, OSError) or from_outside(problem):
            return
        full = " The disk is full." if problem.errno == errno.ENOSPC else ""
        raise StoreError(
            f"The home of actors cannot be written: {problem.strerror or problem}.{full}".rstrip("."), value=str(self.root),
            remedy=f"Name a directory that you may write by {HOME}, or by home=.",
        ) from problem
