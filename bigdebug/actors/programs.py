"""Programs as steps: anything that reads files and writes files. What its lines were made of is found in them afterwards, or the program says it itself."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

from bigdebug.actors.actor import Home
from bigdebug.actors.associations import AnyOf, Associations, all_of_all
from bigdebug.actors.files import rows_of
from bigdebug.actors.matched import MATCHES, Looked, Unmatched, lines_in, matched
from bigdebug.actors.places import located
from bigdebug.actors.protocol import SAYS, say
from bigdebug.actors.stamping import Stamper, stamping, standing, written_at
from bigdebug.actors.steady import PROGRAM, Steady, steady
from bigdebug.errors import ActorError
from bigdebug.shown import counted
from bigdebug.store.paths import mode_of, same_file
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.paths import short
from bigdebug.trace.across.stamps import stamp_of

Path = str | os.PathLike[str]
Lineage = Literal["whole", "lines", "filter", "content", "protocol"]


def program(
    argv: Sequence[Path], *, reads: Path | Iterable[Path] = (), writes: Path | Iterable[Path] = (), lineage: Lineage = "whole",
    stdin: Path | None = None, stdout: Path | None = None, check: bool = True, name: str = "", home: Home = None, **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a program as ``subprocess.run`` does, as a step. ``stdin`` and ``stdout`` are paths of files, which it reads and writes as well.

    ``lineage`` is what is known of it: "lines", that its n-th line was made of the n-th; "filter", that it leaves out lines (grep, head, uniq), the others in their order (both of several files one behind the other, as ``reads`` and ``writes`` have them);
    "content", that each line was there before, in any order (sort, shuf, tac, sort -u): which of equal lines it was cannot be known, so it counts as made of all of these, and a note of what is asked of it says so; "protocol", that it says itself what it made of what (see ``protocol``; files of which it says nothing are traced as wholes); "whole", nothing: then each file was made of all files. What was promised is
    looked for in the files afterwards, which takes a second or so for a million lines; if it is not so, the files are traced as wholes, and it is said. Raises
    CalledProcessError if the program fails and ``check`` is on; off, a status is no failure to whoever calls it (``diff``), and a note tells of it.
    """
    if lineage not in ("whole", "protocol", *MATCHES):
        raise ActorError("Nobody knows this lineage of a program", value=lineage, remedy=f"It is one of whole, protocol, {', '.join(MATCHES)}.")
    _check(argv, stdin, stdout)
    for paths in (reads, writes):
        if not isinstance(paths, (str, os.PathLike, Iterable)):
            raise ActorError("What a program reads and writes are paths of files", value=paths, remedy="Give a path, or a list of them; () if there are none.")
    taken, given = (_paths(some, one, options.get("cwd")) for some, one in ((reads, stdin), (writes, stdout)))
    called = name or os.path.basename(os.fsdecode(argv[0]))
    with steady(called, PROGRAM, home, taken, given) as actor, ExitStack() as folders:
        said = ""
        if lineage == "protocol":
            said = os.path.join(folders.enter_context(tempfile.TemporaryDirectory(prefix="bigdebug-")), "said")
            env = options.get("env")
            options["env"] = {**(os.environ if env is None else env), SAYS: said}
        sides = (("reads", taken, reads, stdin), ("writes", given, writes, stdout))
        unordered = " and ".join(verb for verb, paths, some, one in sides if len(paths) > 1 and (one is not None or isinstance(some, (set, frozenset))))
        files = _Files(taken, given, lineage, unordered)
        with files.stamped():
            done = _run(argv, stdin, stdout, options)
        if done.returncode and (check or lineage == "protocol"):
            actor.abandon(f"it ended with status {done.returncode}")
        elif lineage == "protocol":
            files.commit_said(actor, called, said, options.get("cwd"))
        else:
            ended = [f"{called} ended with status {done.returncode}: what it wrote may not be all that it was to write"] if done.returncode else []
            files.commit(actor, called, ended)
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


class _Files:
    """What a program reads and writes: as it was before the program ran, and as it is found afterwards."""

    def __init__(self, taken: Sequence[str], given: Sequence[str], lineage: str, unordered: str) -> None:
        """``unordered`` says what is done with several files in an order that nobody knows, if it is. Files that are written in place are read now, before they are no more."""
        self._taken, self._given, self._lineage, self._unordered = taken, given, lineage, unordered
        take = Stamper()
        in_place = [path for path in taken if any(same_file(path, other) for other in given)]
        self._stamps = {path: take(path) for path in in_place}
        self._before = {path: _tried(path) for path in in_place} if lineage in MATCHES else {}
        self._changed: list[str] = []
        self._stood = standing(given)

    @contextmanager
    def stamped(self) -> Iterator[None]:
        """Within: the program runs, which takes what stands in the files that it only reads."""
        only_read = [path for path in self._taken if path not in self._stamps]
        before = {path: stamp_of(path, digest=False) for path in only_read}
        with stamping(only_read) as others:
            yield
        self._stamps.update(others)
        self._changed = [path for path in only_read if stamp_of(path, digest=False) != before[path]]

    def commit(self, actor: Steady, name: str, notes: Sequence[str]) -> None:
        """Find what was promised in the files, and commit that, or the files as wholes. ``notes`` are told with it."""
        written, missing = self._written(name)
        why = [*notes, *missing]
        if self._lineage == "whole":
            self._commit_wholes(actor, written, [*why, f"{name} is traced file by file: each was made of all that it read"])
            return
        try:
            before, after = [self._lines(path) for path in self._taken], [lines_in(path) for path in written]
            found, unsure = matched(self._lineage, before, after, self._unordered)
        except Unmatched as broken:
            self._commit_wholes(actor, written, [*why, f"{name} {broken}, so it is traced file by file: each was made of all that it read"])
            return
        associations: Associations = found
        if unsure:
            associations = AnyOf(found, f"{counted(unsure, 'line')} of {name} may be any of several equal ones, and count as made of all of these")
        inputs = rows_of([Extent(path, Unit.LINE, "text", stamp=self._stamps[path]) for path in self._taken], [len(each.bare) for each in before])
        take = Stamper()
        outputs = rows_of([Extent(path, Unit.LINE, "text", stamp=take(path)) for path in written], [len(each.bare) for each in after])
        actor.commit_as(inputs, outputs, associations, tuple(why))

    def commit_said(self, actor: Steady, name: str, said: str, folder: Path | None) -> None:
        """Commit what the program said, and the files of which it said nothing as wholes; that it said what cannot be is logged, and kept."""
        if actor.actor is None:
            return
        try:
            say(actor.actor, said, folder)
        except ActorError as wrong:
            actor.abandon(wrong)
            actor.warn(wrong)
            return
        written, why = self._written(name)
        actor.commit_with(self._taken, written, why, lambda paths: f"{name} said nothing of {', '.join(map(short, paths))}: what it wrote of these was made of all that it read")

    def _written(self, name: str) -> tuple[list[str], list[str]]:
        """The files that it wrote; and that others were not written, which may be there from before."""
        written = [path for path in self._given if mode_of(path) and (path not in self._stood or self._stood[path] != written_at(path))]
        return written, [f"{name} did not write {path}" for path in self._given if path not in written]

    def _commit_wholes(self, actor: Steady, written: Sequence[str], why: Sequence[str]) -> None:
        inputs = rows_of([Extent(path, Unit.WHOLE, stamp=self._stamps[path]) for path in self._taken], [1] * len(self._taken))
        take = Stamper()
        outputs = rows_of([Extent(path, Unit.WHOLE, stamp=take(path)) for path in written], [1] * len(written))
        actor.commit_as(inputs, outputs, all_of_all(len(self._taken), len(written)), tuple(why))

    def _lines(self, path: str) -> Looked:
        """The lines that a file had before the program ran; of files that it only reads, those that they have. Raises Unmatched."""
        if path in self._changed:
            raise Unmatched(f"read {path}, which was changed meanwhile (name what a program changes among what it writes)")
        found = self._before[path] if path in self._before else lines_in(path)
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


def _paths(some: Path | Iterable[Path], one: Path | None, folder: Path | None) -> list[str]:
    """The absolute paths, each once; relative ones are in the program's own directory."""
    every = [some] if isinstance(some, (str, os.PathLike)) else list(some)
    every += [] if one is None else [one]
    return list(dict.fromkeys(located(os.path.join(folder or "", path)) for path in every))
