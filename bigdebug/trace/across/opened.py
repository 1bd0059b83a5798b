"""Opened: the bytes of a text file as its reader sees them, piece by piece: without its compression, and in UTF-8 where its encoding would hide ends of lines."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa

from bigdebug.errors import SourceChangedError, UntraceableError
from bigdebug.outside import from_outside
from bigdebug.store.paths import mode_of
from bigdebug.trace.textlines import local_path

PIECE = 4 << 20
"""Bytes that are looked at together."""

_OPENERS: dict[str, Callable[[str], Any]] = {
    ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": lambda path: pa.CompressedInputStream(path, "zstd"),
    ".zstd": lambda path: pa.CompressedInputStream(path, "zstd"),
}
_UNREADABLE = (".deflate", ".snappy", ".lz4", ".lzo")
# In these, a byte below 128 is the character that it is in ASCII, wherever it stands.
_PLAIN = ("utf-8", "ascii", "iso8859", "cp125", "koi8", "cp437", "cp85", "mac-")


def codec_of(encoding: str) -> str:
    """Python's name of an encoding; UTF-8 if none is said. Raises UntraceableError for one that Python does not know."""
    try:
        found = codecs.lookup(encoding or "utf-8").name
    except LookupError:
        raise UntraceableError("The encoding of a file is not known here", value=encoding, remedy="Its records are counted as the whole file.") from None
    return "utf-8" if found == "utf-8-sig" else found


def compressed(path: str) -> bool:
    """Whether the name says that the file is compressed."""
    return path.lower().endswith((*_OPENERS, *_UNREADABLE))


def plain(codec: str) -> bool:
    """Whether ends of lines and quotes are found among the bytes of such text."""
    return codec.startswith(_PLAIN)


def file_at(path: str) -> str:
    """The path of a local file. A pipe or a device is none, and is not opened: it may have no end, or hold what is meant for somebody else.

    Raises SourceChangedError if nothing is there, UntraceableError for what is no file of this machine.
    """
    here = local_path(path)
    if here is None:
        raise UntraceableError("A file is on another machine", value=path, remedy="Its records are counted as the whole file.")
    mode = mode_of(here)
    if not mode:
        raise SourceChangedError("A file is not there any more", value=path, remedy="Restore it, and its records can be counted again.")
    if not stat.S_ISREG(mode):
        raise UntraceableError("What stands there is no file, but a folder, a pipe or a device", value=path, remedy="Write what it gives into a file, and have that read.")
    return here


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The content of a local file, without its compression. Raises as ``file_at`` does, UntraceableError for another compression."""
    if path.lower().endswith(_UNREADABLE):
        raise UntraceableError("A file cannot be read here line by line", value=path, remedy="Its records are counted as the whole file.")
    here = file_at(path)
    ending = next((e for e in _OPENERS if here.lower().endswith(e)), "")
    try:
        with _OPENERS[ending](here) if ending else open(here, "rb") as file:
            yield file
    except FileNotFoundError as gone:
        raise SourceChangedError("A file is not there any more", value=path, remedy="Restore it, and its records can be counted again.") from gone
    except (EOFError, zlib.error, lzma.LZMAError, UnicodeError, OSError) as problem:
        if from_outside(problem):
            raise
        raise UntraceableError(f"A file cannot be read: {problem}", value=path, remedy="Its records are counted as the whole file.") from problem


def pieces(path: str, codec: str) -> Iterator[bytes]:
    """The text from its beginning, some MiB at a time, none of them empty; transcoded to UTF-8 unless it is ``plain``."""
    decoder = None if plain(codec) else codecs.getincrementaldecoder(codec)()
    with opened(path) as file:
        size = max(PIECE, 3)  # a byte order mark is in one piece
        while piece := file.read(size):
            size = PIECE
            made = piece if decoder is None else decoder.decode(piece).encode()
            if made:
                yield made
        if decoder is not None and (rest := decoder.decode(b"", True).encode()):
            yield rest
