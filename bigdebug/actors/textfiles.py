"""Text files of generators: lines in, lines out, and which line is which."""

from __future__ import annotations

import os
import re
import stat
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from inspect import Parameter, Signature
from itertools import islice
from typing import IO, Any

import numpy as np

from bigdebug.actors.actor import Home
from bigdebug.actors.among import some_lines
from bigdebug.actors.arguments import Arguments
from bigdebug.actors.capture import Capture, Key, Promise, Transform
from bigdebug.actors.decorated import Decorated, decorated, name_of
from bigdebug.actors.files import local, rows_of
from bigdebug.actors.items import Items
from bigdebug.actors.places import RUN, Places
from bigdebug.actors.room import Known
from bigdebug.actors.stamping import stamping
from bigdebug.actors.steady import GENERATOR, steady
from bigdebug.errors import ActorError
from bigdebug.store.paths import mode_of, same_file
from bigdebug.trace.across.located import Extent, FileStamp, Unit
from bigdebug.trace.across.stamps import stamp_of

_CHUNK = 4_096
_ENDS = re.compile("\r\n|\r|\n")

Path = str | os.PathLike[str]


def lines(
    function: Transform | None = None, *, each: bool = False, tags: tuple[Key, Key] | None = None, check: bool = True, encoding: str = "utf-8", name: str = "", home: Home = None,
) -> Any:
    """A function over the lines of a file, which gives texts to write, as a step: ``clean("in.txt", "out.txt")``; several files are read one behind the other.

    It gets lines as an open file gives them, with their ends, and what it gives is written as ``writelines`` does. What an output is made of, ``each`` and ``tags`` say
    as for ``generator``, also what is tried before; without them, of all lines read so far.
    """
    promise = Promise(each, tags, check)
    return decorated(function, lambda fn: LinesFunction(fn, promise, encoding, name, home))


class LinesFunction(Decorated):
    """A function over the lines of files that is a step each time it is called, with files in the place of the lines."""

    _of_code = ()  # it is no generator function

    def __init__(self, function: Transform, promise: Promise, encoding: str, name: str, home: Home) -> None:
        super().__init__(function)
        self._promise = promise
        self._encoding = encoding
        self._name = name or name_of(function)
        self._home = home
        self._known = Known()

    def signature(self) -> Signature:
        """That of the function, which takes two files where it takes lines."""
        plain = super().signature()
        parameters = [*plain.parameters.values()]
        files = [Parameter(each if each not in plain.parameters else f"{each}_", parameters[self._bound].kind) for each in _FILES]
        return plain.replace(parameters=[*parameters[: self._bound], *files, *parameters[self._bound + 1 :]], return_annotation=None)

    def called(self, bound: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Write what the function makes of the lines of the first argument, or of ``source``, into the second, or ``target``; the others are the function's."""
        files, named = [*args[bound : bound + 2]], dict(kwargs)
        for each in _FILES[len(files) :]:
            if each not in named:
                raise TypeError(f"{self._name}() missing 1 required positional argument: {each!r}")
            files.append(named.pop(each))
        source, target = files
        sources = [source] if isinstance(source, (str, os.PathLike)) else list(source)
        capture = Capture(self._function, self._promise, self._name, Arguments(args[:bound], args[bound + 2 :], named), self._known)
        _call(capture, self._home, [local(each) for each in sources], local(target), self._encoding)


_FILES = ("source", "target")


def _call(capture: Capture, home: Home, sources: list[str], target: str, encoding: str) -> None:
    if any(same_file(target, path) for path in sources):
        raise ActorError("A step does not write the file that it reads", value=target, remedy="Write another one, and rename it afterwards.")
    options = () if encoding == "utf-8" else (("encoding", encoding),)

    def extents(stamps: Callable[[str], FileStamp | None]) -> list[Extent]:
        return [Extent(path, Unit.LINE, "text", options, stamps(path)) for path in sources]

    with steady(capture.name, GENERATOR, home, sources, [target]) as actor:
        read = _Read()
        with stamping(sources) as stamps, ExitStack() as files, capture.failing(actor, lambda inputs: rows_of(extents(_unread), read.counts(inputs)).places):
            first = _first(sources, encoding)
            read.files += [files.enter_context(open(path, encoding=encoding)) for path in sources]
            written = Written(files.enter_context(open(target, "w", encoding=encoding)))
            capture.tries(first)
            capture.calls(iter(read))
            written.write(capture.outputs())
        there = Extent(target, Unit.LINE, "text", options, stamp_of(target))
        inputs, outputs, associations, why = capture.ended()
        actor.commit_as(rows_of(extents(stamps.__getitem__), read.counts(inputs)), Items(outputs, written.places(there)), associations, why, capture.believed)


def _unread(path: str) -> FileStamp | None:
    """Of a file that was not read to its end."""
    return stamp_of(path, digest=False)


def _first(sources: Sequence[str], encoding: str) -> list[str] | None:
    """Some lines, the first ones first, those that can be read; None if a source is no plain file, which is read once."""
    if not all(stat.S_ISREG(mode_of(path)) for path in sources):
        return None
    found: list[str] = []
    with ExitStack() as files, suppress(UnicodeError):  # lines that cannot be decoded are met when they are read
        found.extend(some_lines(iter(_Read(files.enter_context(open(path, encoding=encoding)) for path in sources))))
    return found


class _Read:
    """The lines of files, one file behind the other; how many are of which."""

    def __init__(self, files: Iterable[IO[str]] = ()) -> None:
        self.files = [*files]
        self._ended: list[int] = []

    def __iter__(self) -> Iterator[str]:
        if len(self.files) == 1:
            return iter(self.files[0])
        return self._each()

    def _each(self) -> Iterator[str]:
        for file in self.files:
            count = 0
            for line in file:
                count += 1
                yield line
            self._ended.append(count)

    def counts(self, inputs: int) -> list[int]:
        """How many lines of each file are among so many inputs."""
        counts = [*self._ended, *([0] * (len(self.files) - len(self._ended)))]
        if len(self._ended) < len(self.files):
            counts[len(self._ended)] = inputs - sum(self._ended)
        return counts


class Written:
    """Texts that are written one behind the other, and on which lines each of them stands: a line may be of several, and a text on several."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._runs = array("q")
        self._number = self._line = 0
        self._open = self._return = False

    def write(self, texts: Iterable[str]) -> None:
        """Write them all."""
        texts = iter(texts)
        while chunk := list(islice(texts, _CHUNK)):
            text = "".join(chunk)
            self._out.write(text)
            self._note(chunk, text)

    def places(self, file: Extent) -> Places:
        """Where each text stands; an empty one stands nowhere."""
        return Places.of([file], np.array(self._runs, np.int64).reshape(-1, len(RUN)))

    def _note(self, chunk: list[str], text: str) -> None:
        count = len(chunk)
        plain = not self._open and not self._return and "\r" not in text and text.count("\n") == count
        if plain and all(map(str.endswith, chunk, ("\n",) * count)):
            self._runs.extend((self._number, count, 0, self._line, 1))
            self._number, self._line = self._number + count, self._line + count
            return
        for each in chunk:
            self._note_one(each)
            self._number += 1

    def _note_one(self, text: str) -> None:
        if not text:
            return
        halved = self._return and text[0] == "\n"  # the second half of an end of line: it is on the line that ended
        rest = text[1:] if halved else text
        self._return = rest.endswith("\r")
        ends = len(_ENDS.findall(rest))
        goes_on = bool(rest) and rest[-1] not in "\r\n"
        self._runs.extend((self._number, 1, 0, self._line - halved, halved + ends + goes_on))
        self._line += ends
        self._open = goes_on
