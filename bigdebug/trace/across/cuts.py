"""Cuts: where the records of a text file begin and end, in bytes. One pass over the file, eight bytes of memory for each record.

Options have the names and the defaults of Spark's readers: no ``header``, ``sep`` a comma, ``quote`` ``"``, ``escape`` a backslash, ``multiLine`` false, ``comment`` none. A
reader that follows the rules of RFC 4180, as pandas does, has ``multiLine`` true and ``escape`` ``"``. Blank lines are no records of a CSV, nor of JSON lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bigdebug.errors import UntraceableError
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.across.opened import codec_of, pieces, plain
from bigdebug.trace.positions import Positions
from bigdebug.trace.textlines import breaks_of

Bytes = npt.NDArray[np.uint8]

_DEFAULTS = {
    "csv": {"header": "false", "sep": ",", "quote": '"', "escape": "\\", "multiline": "false", "comment": "", "linesep": "", "mode": "PERMISSIVE"},
    "json": {"multiline": "false", "linesep": "", "mode": "PERMISSIVE"},
    "text": {"wholetext": "false", "linesep": ""},
}
_ALIASES = {"delimiter": "sep", "charset": "encoding"}
_FLAGS = ("header", "multiline", "wholetext")

_BOM = b"\xef\xbb\xbf"
_BLANK = 32
"""Bytes up to this one are no content, as Java's trim() has it."""


@dataclass(frozen=True, eq=False)
class Cuts:
    """Record number i is the bytes from ``starts[i]`` to ``ends[i]``, its terminator among them; ascending, none within another."""

    starts: Positions
    ends: Positions
    size: int
    """Bytes of the text, as ``opened`` gives it."""

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines that end in one piece: one past the last byte of each, its first byte, and the first that is not blank (0: the line is blank)."""

    ends: Positions
    first: Bytes
    shown: Bytes


def cuts_of(extent: Extent) -> Cuts:
    """The cuts of a text, a CSV file or JSON lines, by what the extent counts. Raises UntraceableError where they would not be exact."""
    form, options = extent.form.lower(), counting(extent)
    codec = codec_of(options["encoding"])
    if extent.unit is Unit.LINE:
        return _every(pieces(extent.path, codec), newline_only=False)
    if extent.unit is not Unit.ROW or form not in _DEFAULTS:
        raise _refused(extent, f"The rows of a file of form '{form or 'unknown'}' have no lines")
    _check(extent, form, options)
    if form == "text":
        return _every(pieces(extent.path, codec), newline_only=bool(options["linesep"]))
    if options["multiline"] == "true":
        return _quoted(extent, pieces(extent.path, codec), options)
    return _lines(extent, pieces(extent.path, codec), options)


def counting(extent: Extent) -> dict[str, str]:
    """What decides where its records begin: options by their names in small letters, those that are not said by default; the encoding as Python calls it."""
    given = {name.lower(): value for name, value in extent.options}
    found = {**_DEFAULTS.get(extent.form.lower(), {}), **{_ALIASES.get(name, name): value for name, value in given.items()}}
    known = {name: value.lower() if name in _FLAGS else value for name, value in found.items()}
    return {**known, "encoding": codec_of(known.get("encoding", ""))}


def _check(extent: Extent, form: str, options: dict[str, str]) -> None:
    """Refuses what is not followed here."""
    strange = sorted(set(options) - set(_DEFAULTS[form]) - {"encoding"})
    if strange:
        raise _refused(extent, f"It was read with {strange[0]}={options[strange[0]]!r}, which is not followed")
    if options.get("mode", "PERMISSIVE").upper() == "DROPMALFORMED":
        raise _refused(extent, "Rows that were malformed are left out")
    if options["linesep"] not in ("", "\n"):
        raise _refused(extent, f"Its lines end by {options['linesep']!r}")
    if form == "csv" and options["multiline"] != "true" and not options["linesep"] and not plain(options["encoding"]):
        raise _refused(extent, "Its lines were cut before they were decoded")
    if (form == "json" and options["multiline"] == "true") or options.get("wholetext") == "true":
        raise _refused(extent, "It was read as a whole")
    if any(options.get(name, "false") not in ("true", "false") for name in _FLAGS):
        raise _refused(extent, "One of its options is neither true nor false")


def lines_of(found: Iterator[bytes], newline_only: bool = False) -> Iterator[Lines]:
    """All lines, in pieces. An unfinished line at the end is one; nothing behind the last terminator is none."""
    at, first, shown, open_line = 0, 0, 0, False
    for piece in _held(found, b"\r"):
        data = np.frombuffer(piece, dtype=np.uint8)
        skip = 3 if at == 0 and piece.startswith(_BOM) else 0
        breaks = np.flatnonzero(data == 10) if newline_only else breaks_of(data)
        ends = breaks + 1
        starts = np.concatenate((np.array([skip], dtype=np.int64), ends))
        firsts = _at(data, starts)
        showns = _shown(data, starts, np.append(ends, len(data)), firsts)
        if open_line:
            firsts[0], showns[0] = first, shown or showns[0]
        if len(ends):
            yield Lines(ends + at, firsts[:-1], showns[:-1])
        at += len(data)
        first, shown = int(firsts[-1]), int(showns[-1])
        open_line = bool(starts[-1] < len(data)) or (open_line and not len(ends))  # a byte order mark alone is no line, as Hadoop has it
    if open_line:
        yield Lines(np.array([at], dtype=np.int64), np.array([first], dtype=np.uint8), np.array([shown], dtype=np.uint8))


def _at(data: Bytes, places: Positions) -> Bytes:
    """The bytes there; 0 behind the last."""
    found = np.zeros(len(places), dtype=np.uint8)
    inside = places < len(data)
    found[inside] = data[places[inside]]
    return found


def _shown(data: Bytes, starts: Positions, ends: Positions, firsts: Bytes) -> Bytes:
    """The first byte of each range that is not blank, 0 where there is none. Looked for only where it is not the first of all."""
    found = np.where(firsts > _BLANK, firsts, 0).astype(np.uint8)
    hidden = np.flatnonzero(found == 0)
    content = np.flatnonzero(data > _BLANK) if len(hidden) else starts[:0]
    if len(content):
        places = content[np.minimum(np.searchsorted(content, starts[hidden]), len(content) - 1)]
        found[hidden] = np.where((places >= starts[hidden]) & (places < ends[hidden]), data[places], 0)
    return found


def _held(found: Iterator[bytes], held: bytes) -> Iterator[bytes]:
    """The same bytes in other pieces: none ends with one of ``held``, for what that means the next byte says."""
    rest = b""
    for piece in found:
        piece = rest + piece
        kept = len(piece.rstrip(held))
        rest = piece[kept:]
        if kept:
            yield piece[:kept]
    if rest:
        yield rest


def _every(found: Iterator[bytes], newline_only: bool) -> Cuts:
    """Every line is a record."""
    at, marked, ends = 0, False, [np.empty(0, dtype=np.int64)]
    for piece in _held(found, b"\r"):
        data = np.frombuffer(piece, dtype=np.uint8)
        marked = marked or (at == 0 and piece.startswith(_BOM))
        ends.append((np.flatnonzero(data == 10) if newline_only else breaks_of(data)) + 1 + at)
        at += len(data)
    return _joined(ends, 0 if marked and at == len(_BOM) else at)


def _joined(ends: list[Positions], size: int) -> Cuts:
    """A record behind the other; what follows the last end is one, too."""
    every = np.concatenate(ends)
    if size and (not len(every) or every[-1] < size):
        every = np.append(every, size)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), every[:-1])) if len(every) else every
    return Cuts(starts, every, size)


def _chosen(cuts: Cuts, kept: npt.NDArray[np.bool_], header: bool) -> Cuts:
    """The cuts that are records; the first of them is none if it is the header."""
    chosen = np.flatnonzero(kept)[1 if header else 0 :]
    return Cuts(cuts.starts[chosen], cuts.ends[chosen], cuts.size)


def _lines(extent: Extent, found: Iterator[bytes], options: dict[str, str]) -> Cuts:
    """A record for each line that is not blank, whatever quotes there are."""
    comment = options.get("comment", "").encode()
    if len(comment) > 1:
        raise _refused(extent, "Its comments begin in a way that is not followed")
    every = list(lines_of(found, newline_only=bool(options["linesep"])))
    if not every:
        return _joined([np.empty(0, dtype=np.int64)], 0)
    cuts = _joined([lines.ends for lines in every], int(every[-1].ends[-1]))
    shown = np.concatenate([lines.shown for lines in every])
    kept = shown != 0
    if extent.form.lower() == "json":
        if np.any(shown == ord("[")):
            raise _refused(extent, "Lines of JSON that are arrays may be several rows each")
        return _chosen(cuts, kept, header=False)
    if comment:
        kept &= np.concatenate([lines.first for lines in every]) != comment[0]
    return _chosen(cuts, kept, options["header"] == "true")


def _quoted(extent: Extent, found: Iterator[bytes], options: dict[str, str]) -> Cuts:
    """A record ends at an end of a line outside quotes: where as many quotes as are even stand before it.

    That holds if each quote opens at the beginning of a field, and closes at its end. Any other is refused, for readers differ there.
    """
    separator, quote, escape = (options[name].encode() for name in ("sep", "quote", "escape"))
    if options["comment"] or options["linesep"] or max(len(separator), len(quote), len(escape)) > 1:
        raise _refused(extent, "Its fields, lines or comments are marked in a way that is not followed across lines")
    doubled = not escape or escape == quote
    quoting = _Quoting(quote[0] if quote else -1, -1 if doubled else escape[0], frozenset(separator + b"\r\n"), doubled)
    ends, contents = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.uint8)]
    at, parity, before, content, terminators, every, blank = 0, 0, 10, 0, set[int](), set[int](), False
    for piece in _held(found, b"\r" + quote + escape):
        data = np.frombuffer(piece, dtype=np.uint8)
        skip = 3 if at == 0 and piece.startswith(_BOM) else 0
        quotes = quoting.quotes(data)
        if not quoting.follow_rules(data, quotes, parity, before, skip):
            raise _refused(extent, "A quote stands within a field, where readers differ in what it means")
        breaks = breaks_of(data)
        breaks = breaks[(np.searchsorted(quotes, breaks) + parity) % 2 == 0]
        if not doubled and np.any(data[np.maximum(breaks - 1, 0)] == escape[0]):
            raise _refused(extent, "A line ends behind an escape, where readers differ in what it means")
        terminators.update(np.unique(data[breaks]).tolist())
        every.update(byte for byte in b"\r\n" if byte in piece)
        blank = blank or bool(np.any(_at(data, breaks + 1)[breaks + 1 < len(data)] <= _BLANK))
        parity, before = (parity + len(quotes)) % 2, int(data[-1]) if len(data) > skip else 10
        here = _content(data, np.concatenate(([skip], breaks + 1)))
        here[0] = max(here[0], content)
        content = here[-1]
        ends.append(breaks + 1 + at)
        contents.append(here[:-1])
        at += len(data)
    if parity or len(terminators) > 1 or (terminators == {13} and 10 in every):  # Spark takes the first end, be it within quotes, for that of lines
        raise _refused(extent, "A quote is not closed" if parity else "Its lines end in different ways")
    if blank and terminators == {13}:  # pandas takes a header, or a record, for two then
        raise _refused(extent, "Its lines end by a carriage return alone, and one begins with a blank, where readers differ")
    cuts = _joined(ends, at)
    shown = np.append(np.concatenate(contents), content)[: len(cuts)]
    if np.any(shown == 1):
        raise _refused(extent, "A line has only blanks, which some readers skip and others do not")
    return _chosen(cuts, shown > 0, options["header"] == "true")


def _content(data: Bytes, starts: Positions) -> Bytes:
    """What each record has that begins at ``starts``: 0 nothing but its terminator, 1 blanks, 2 more. The last may begin behind the piece."""
    found = np.zeros(len(starts), dtype=np.uint8)
    inside = starts[starts < len(data)]
    if len(inside):
        what = ((data != 10) & (data != 13)).astype(np.uint8) + (data > _BLANK)
        found[: len(inside)] = np.maximum.reduceat(what, inside)
    return found


@dataclass(frozen=True)
class _Quoting:
    """How a CSV quotes: the byte that does, the one that escapes it (-1: none does), and the bytes that end a field."""

    quote: int
    escape: int
    ends: frozenset[int]
    doubled: bool

    def quotes(self, data: Bytes) -> Positions:
        """The quotes that are not escaped: behind an even number of escapes."""
        found = np.flatnonzero(data == self.quote)
        if self.escape < 0 or not len(found) or not np.any(data == self.escape):
            return found
        # How long the run of escapes is that ends at each byte: the distance to the last byte that is none.
        places = np.arange(len(data), dtype=np.int64)
        last = np.maximum.accumulate(np.where(data != self.escape, places, -1))
        run = np.where(found > 0, found - 1 - last[np.maximum(found - 1, 0)], 0)
        kept: Positions = found[run % 2 == 0]
        return kept

    def follow_rules(self, data: Bytes, quotes: Positions, parity: int, before: int, skip: int) -> bool:
        """Whether each quote opens at the beginning of a field or closes at its end; a doubled one closes and opens again."""
        if not len(quotes):
            return True
        previous = np.where(quotes > skip, data[np.maximum(quotes - 1, 0)], 10 if skip else before)
        following = np.where(quotes + 1 < len(data), data[np.minimum(quotes + 1, len(data) - 1)], 10)
        opening = (np.arange(len(quotes)) + parity) % 2 == 0
        again = [self.quote] if self.doubled else []
        begins = np.isin(previous, [*self.ends, *again])
        closes = np.isin(following, [*self.ends, *again])
        return bool(np.all(np.where(opening, begins, closes)))


def _refused(extent: Extent, why: str) -> UntraceableError:
    return UntraceableError(why, value=extent.path, remedy="Its records are counted as the whole file.")
