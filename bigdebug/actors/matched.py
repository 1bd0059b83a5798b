"""Matched: lines that a program wrote, found among those that it read. What several of them could be is all of these, and is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from operator import eq
from typing import NamedTuple

import numpy as np

from bigdebug.actors.associations import Groups, Intervals, one_to_one
from bigdebug.actors.columns import Column
from bigdebug.errors import SourceChangedError, UntraceableError
from bigdebug.trace.across.opened import pieces
from bigdebug.trace.positions import Positions

Lines = Sequence[Hashable]

MOST = 512 << 20
"""Bytes of a file that are looked through for lines: they are in memory then, and each takes some 60 bytes more."""


class Unmatched(Exception):
    """What was promised of a program is not so; says why, behind its name."""


class Looked(NamedTuple):
    """The lines of a file: ``ended``, as programs tell them apart, to which a line ends by ``\\n``; and ``bare``, without their ends. There are as many of both."""

    ended: Lines
    bare: Lines


def lines_in(path: str) -> Looked:
    """The lines of a file; of a compressed one, those within. Raises Unmatched if there is none."""
    found, size = [], 0
    try:
        for piece in pieces(path, "utf-8"):
            size += len(piece)
            if size > MOST:
                raise Unmatched(f"read or wrote {path}, which has more than {MOST >> 20:,} MiB to look through")
            found.append(piece)
        return _looked(b"".join(found))
    except (SourceChangedError, UntraceableError) as problem:
        raise Unmatched(f"read or wrote {path}, whose lines cannot be read ({problem.what})") from problem


def _looked(text: bytes) -> Looked:
    """A carriage return at the end of what a program takes for a line is a part of that; one within makes two lines of it, which go together, and each is told apart by both and its number."""
    bare = text.splitlines()
    if b"\r" not in text:
        return Looked(bare, bare)
    return Looked([line for record in text.removesuffix(b"\n").split(b"\n") for line in _within(record)], bare)


def _within(record: bytes) -> list[Hashable]:
    count = len(record.splitlines())
    return [record] if count < 2 else [(record, n) for n in range(count)]


def matched(lineage: str, read: Sequence[Looked], written: Sequence[Looked], unordered: str = "") -> tuple[Groups | Intervals, int]:
    """The associations of a program, by what is promised of it, and how many lines may be of several; ``unordered`` says what it does with several files in an order that nobody knows. Raises Unmatched.

    Lines that are left of files in an unknown order are looked for by what is in them alone. Lines whose ends it changed are found without these.
    """
    match = MATCHES[lineage]
    if unordered and match is numbered:
        raise Unmatched(f"was given several files, and nobody said in which order it {unordered} them")
    if match is numbered and _reordered(_bare(read), _bare(written)):
        raise Unmatched("wrote the same lines as it had read, in another order, so that nobody can see whether each is made of the one of its number")
    if unordered and match is left:
        match = content
    try:
        return match([line for each in read for line in each.ended], [line for each in written for line in each.ended])
    except Unmatched:
        return match(_bare(read), _bare(written))


def _bare(files: Sequence[Looked]) -> Lines:
    """The lines of files, one file behind the other, without their ends."""
    return [line for each in files for line in each.bare]


def numbered(read: Lines, written: Lines) -> tuple[Groups | Intervals, int]:
    """The n-th line was made of the n-th."""
    if len(read) != len(written):
        raise Unmatched(f"wrote {len(written):,} lines and read {len(read):,}")
    return one_to_one(len(read)), 0


def _reordered(read: Lines, written: Lines) -> bool:
    """Whether the same lines stand in another order: they were sorted, or their files were taken in another order, or, by chance, each was made of the one of its number."""
    if len(read) != len(written) or all(map(eq, read, written)):
        return False
    known = set(read)  # of most that a program made one new line ends it here
    return all(line in known for line in written) and Counter(read) == Counter(written)


def left(read: Lines, written: Lines) -> tuple[Groups | Intervals, int]:
    """The lines are those that were read without some of them, in their order.

    Of equal lines it may not be clear which were left: then a line was made of all that it could be, without another one losing its own. Takes time by the lines.
    """
    taken, given = _codes(read, written)
    first = _embedded(taken.tolist(), given.tolist())
    last = len(taken) - 1 - _embedded(taken[::-1].tolist(), given[::-1].tolist())[::-1]
    members, rank = _ranked(taken)
    starts, stops = rank[first], rank[last] + 1
    count = len(given)
    return Intervals(Column.steps(count), Column.of(starts), Column.of(stops), Column.of(members)), int((first != last).sum())


def content(read: Lines, written: Lines) -> tuple[Groups | Intervals, int]:
    """Each line was read, and was made of all that equal it. Which of these it is nobody can know: in which order a program takes its lines, and its files, is not promised."""
    taken, given = _codes(read, written)
    size = int(max(taken.max(initial=-1), given.max(initial=-1))) + 1
    read_of = np.bincount(taken, minlength=size)
    if bool((read_of[given] == 0).any()):
        raise Unmatched("wrote lines that it had not read")
    return Groups(Column.of(taken), Column.of(given)), int((read_of[given] > 1).sum())


MATCHES: dict[str, Callable[[Lines, Lines], tuple[Groups | Intervals, int]]] = {"lines": numbered, "filter": left, "content": content}
"""What can be promised of a program: its associations, and how many lines may be of several."""


def _codes(read: Lines, written: Lines) -> tuple[Positions, Positions]:
    """Numbers of the lines: equal ones have the same."""
    known: dict[Hashable, int] = {}
    taken, given = (np.array([known.setdefault(line, len(known)) for line in lines], np.int64) for lines in (read, written))
    return taken, given


def _embedded(taken: list[int], given: list[int]) -> Positions:
    """Where each of ``given`` stands in ``taken``, in order, as early as can be."""
    found, at = [], 0
    for code in given:
        try:
            at = taken.index(code, at) + 1
        except ValueError:
            raise Unmatched("wrote lines that it had not read, or not in this order") from None
        found.append(at - 1)
    return np.array(found, np.int64)


def _ranked(codes: Positions) -> tuple[Positions, Positions]:
    """The places of the codes, sorted by code; and where each place is among these."""
    order = np.argsort(codes, kind="stable").astype(np.int64)
    rank = np.empty(len(codes), np.int64)
    rank[order] = np.arange(len(codes))
    return order, rank
