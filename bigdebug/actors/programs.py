"""Programs as steps: anything that reads files and writes files. What its lines were made of is found in them afterwards, or the program says it itself."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Literal

from bigdebug.actors.actor import Home
from bigdebug.actors.associations import Associations, all_of_all
from bigdebug.actors.files import rows_of
from bigdebug.actors.matched import MATCHES, Looked, Unmatched, lines_in, matched
from bigdebug.actors.places import located
from bigdebug.actors.protocol import SAYS, say
from bigdebug.actors.stamping import Stamper, stamping
from bigdebug.actors.steady import PROGRAM, Steady, steady
from bigdebug.errors import ActorError
from bigdebug.shown import counted
from bigdebug.store.paths import mode_of
from bigdebug.trace.across.located import Extent, FileStamp, Unit

Path = str | os.PathLike[str]
Lineage = Literal["whole", "lines", "filter", "content", "protocol"]


def program(
    argv: Sequence[Path], *, reads: Path | Iterable[Path] = (), writes: Path | Iterable[Path] = (), lineage: Lineage = "whole",
    stdin: Path | None = None, stdout: Path | None = None, check: bool = True, name: str = "", home: Home = None, **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a program as ``subprocess.run`` does, as a step. ``stdin`` and ``stdout`` are paths of files, which it reads and writes as well.

    ``lineage`` is what is known of it: "lines", that its n-th line was made of the n-th (of several files one behind the other, as ``reads`` has them); "filter", that it leaves out lines (grep, head, uniq); "content", that each line was there
    before (sort, shuf, sort -u); "protocol", that it says itself what it made of what (see ``protocol``); "whole", nothing: then each file was made of all files. What was promised is
    looked for in the files afterwards, which takes a second or so for a million lines; if it is not so, the files are traced as wholes, and it is said. Raises
    CalledProcessError if the program fails and ``check`` is on; off, a status is no failure to whoever calls it (``diff``), and a note tells of it.
    """
    if lineage not in ("whole", "protocol", *MATCHES):
        raise ActorError("Nobody knows this lineage of a program", value=lineage, remedy=f"It is one of whole, protocol, {', '.join(MATCHES)}.")
    _check(argv, stdin, stdout)
    taken, given = (_paths(some, one, options.get("cwd")) for some, one in ((reads, stdin), (writes, stdout)))
    called = name or os.path.basename(os.fsdecode(argv[0]))
    with steady(called, PROGRAM, home) as actor, tempfile.TemporaryDirectory(prefix="bigdebug-") as folder:
        said = os.path.join(folder, "said")
        if lineage == "protocol":
            env = options.get("env")
            options["env"] = {**(os.environ if env is None else env), SAYS: said}
        # Files that are written in place are read before they are no more.
        take = Stamper()
        in_place = [path for path in taken if path in given]
        before, stamps = _Before(in_place if lineage in MATCHES else ()), {path: take(path) for path in in_place}
        with stamping([path for path in taken if path not in given]) as others:
            done = _run(argv, stdin, stdout, options)
        if done.returncode and (check or lineage == "protocol"):
            actor.abandon(f"it ended with status {done.returncode}")
        elif lineage == "protocol":
            _commit_said(actor, said, options.get("cwd"))
        else:
            ended = [f"{called} ended with status {done.returncode}: what it wrote may not be all that it was to write"] if done.returncode else []
            unordered = len(taken) > 1 and (stdin is not None or isinstance(reads, (set, frozenset)))
            _commit(actor, called, lineage, taken, given, {**stamps, **others}, before, ended, unordered)
    if check:
        done.check_returncode()
    return done


def _check(argv: Any, *streams: Any) -> None:
    """Raises ActorError for what is no list of words, and for streams that are no files."""
    if isinstance(argv, (str, bytes, os.PathLike)) or not isinstance(argv, Sequence) or not argv:
        raise ActorError(
            "A program is run by a list of words", value=argv, remedy='Give its name and each argument as one: ["sort", "in.txt"]; or a line of a shell: ["sh", "-c", LINE].',
        )
    for stream in streams:
        if not (stream is None or isinstance(stream, (str, os.PathLike))):
            raise ActorError("stdin and stdout of a step are paths of files", value=stream, remedy="Give a path, or leave it out: then it is what subprocess.run has without.")


class _Before:
    """The lines that files had before the program ran; of other files, those that they have."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._lines = {path: _tried(path) for path in paths}

    def lines(self, path: str) -> Looked:
        """Raises Unmatched."""
        found = self._lines[path] if path in self._lines else lines_in(path)
        if isinstance(found, Unmatched):
            raise found
        return found


def _tried(path: str) -> Looked | Unmatched:
    try:
        return lines_in(path)
    except Unmatched as broken:
        return broken


def _run(argv: Sequence[Path], stdin: Path | None, stdout: Path | None, options: dict[str, Any]) -> subprocess.CompletedProcess[Any]:
    base = options.get("cwd") or ""
    with ExitStack() as files:
        given = None if stdin is None else files.enter_context(open(os.path.join(base, stdin), "rb"))
        out = None if stdout is None else files.enter_context(open(os.path.join(base, stdout), "wb"))
        done: subprocess.CompletedProcess[Any] = subprocess.run([os.fspath(each) for each in argv], check=False, stdin=given, stdout=out, **options)
    return done


def _commit(
    actor: Steady, name: str, lineage: str, taken: Sequence[str], given: Sequence[str], stamps: dict[str, FileStamp | None], before: _Before, ended: Sequence[str],
    unordered: bool,
) -> None:
    """Find what was promised in the files, and commit that, or the files as wholes. ``ended`` says what is to be told of its end, ``unordered`` that several files are read in an order that nobody knows."""
    missing = [path for path in given if not mode_of(path)]
    given = [path for path in given if path not in missing]
    why = [*ended, *(f"{name} did not write {path}" for path in missing)]
    associations: Associations
    if lineage == "whole":
        why.append(f"{name} is traced file by file: each was made of all that it read")
        return _commit_wholes(actor, taken, given, stamps, why)
    try:
        read, written = [before.lines(path) for path in taken], [lines_in(path) for path in given]
        associations, unsure = matched(lineage, read, written, unordered)
    except Unmatched as broken:
        why.append(f"{name} {broken}, so it is traced file by file: each was made of all that it read")
        return _commit_wholes(actor, taken, given, stamps, why)
    if unsure:
        why.append(f"{counted(unsure, 'line')} of {name} may be any of several equal ones, and count as made of all of these")
    inputs = rows_of([Extent(path, Unit.LINE, "text", stamp=stamps[path]) for path in taken], [len(each.bare) for each in read])
    take = Stamper()
    outputs = rows_of([Extent(path, Unit.LINE, "text", stamp=take(path)) for path in given], [len(each.bare) for each in written])
    actor.commit_as(inputs, outputs, associations, tuple(why))
    return None


def _commit_wholes(actor: Steady, taken: Sequence[str], given: Sequence[str], stamps: dict[str, FileStamp | None], why: Sequence[str]) -> None:
    inputs = rows_of([Extent(path, Unit.WHOLE, stamp=stamps[path]) for path in taken], [1] * len(taken))
    take = Stamper()
    outputs = rows_of([Extent(path, Unit.WHOLE, stamp=take(path)) for path in given], [1] * len(given))
    actor.commit_as(inputs, outputs, all_of_all(len(taken), len(given)), tuple(why))


def _commit_said(actor: Steady, said: str, folder: Path | None) -> None:
    """Commit what the program said; that it said what cannot be is logged, and kept."""
    if actor.actor is None:
        return
    try:
        say(actor.actor, said, folder)
    except ActorError as wrong:
        actor.abandon(wrong)
        actor.warn(wrong)
        return
    actor.commit()


def _paths(some: Path | Iterable[Path], one: Path | None, folder: Path | None) -> list[str]:
    """The absolute paths, each once; relative ones are in the program's own directory."""
    every = [some] if isinstance(some, (str, os.PathLike)) else list(some)
    every += [] if one is None else [one]
    return list(dict.fromkeys(located(os.path.join(folder or "", path)) for path in every))
