"""Uses: the files that steps read, or those that they wrote, found by their paths, by their folders, by what is in them and by their times."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bigdebug.trace.across.located import ITEMS, Extent
from bigdebug.trace.across.paths import key_of, short
from bigdebug.trace.across.step import Step

_TELLING = 64
"""Bytes from which on two files of the same content are taken for copies. Fewer are equal by chance: a header alone, a count."""

_CLOCK = 0.002
"""Seconds that clocks of two steps may differ: Spark's tell milliseconds."""


@dataclass(frozen=True, eq=False)
class Use:
    """A step and a file that it read or wrote. ``rank`` is the step's among all."""

    rank: int
    step: Step
    extent: Extent

    @property
    def key(self) -> str:
        """What all names of its file have in common."""
        return key_of(self.extent.path)


def was_before(write: Use, read: Use) -> bool:
    """Whether the one had ended when the other began. Steps that took no time are in the order in which they stand."""
    ended, began = write.step.ended, read.step.began
    return ended is not None and began is not None and ended <= began + _CLOCK and write.rank < read.rank


class Uses:
    """Uses by the keys of their files; those of one file in the order in which they are given."""

    def __init__(self, uses: Iterable[Use]) -> None:
        self._by_key: dict[str, list[Use]] = {}
        self._by_content: dict[tuple[int, str], list[Use]] = {}
        self._by_time: dict[tuple[int, int], list[Use]] = {}
        self._by_size: dict[int, list[Use]] = {}
        for use in uses:
            self._by_key.setdefault(use.key, []).append(use)
        for use in (use for every in self._by_key.values() for use in every):
            stamp = use.extent.stamp
            if stamp is not None and stamp.size:
                self._by_content.setdefault((stamp.size, stamp.digest), []).append(use)
                self._by_time.setdefault((stamp.size, stamp.modified), []).append(use)
                self._by_size.setdefault(stamp.size, []).append(use)
        self._keys = sorted(self._by_key)

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all files, sorted."""
        return self._keys

    def moved(self) -> bool:
        """Whether a use is of another file than when they were given, by the links that lead to it."""
        return any(use.key != key for key, uses in self._by_key.items() for use in uses)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def of(self, key: str) -> Sequence[Use]:
        """Those of one file."""
        return self._by_key.get(key, ())

    def alike(self, extent: Extent) -> Sequence[Use]:
        """Those of files with this content; if it is so little that others have it, too (nothing, or a header), those of this time as well, as what was renamed has. Where nobody looked at what
        one of them held, those of this name, size and time.
        """
        stamp = extent.stamp
        if stamp is None:
            return ()
        found = self._by_content.get((stamp.size, stamp.digest), ()) if stamp.digest and stamp.size >= _TELLING else ()
        timed = (use for use in self._by_time.get((stamp.size, stamp.modified), ()) if _same(extent, use.extent))
        return tuple(dict.fromkeys((*found, *timed)))

    def unseen(self, extent: Extent) -> Sequence[Use]:
        """Those of files of this size of which nobody can say whether they have the content: nobody looked at what one of the two held, and now it is gone, or it is too much. None if it is little."""
        stamp = extent.stamp
        if stamp is None or stamp.size < _TELLING:
            return ()
        every = self._by_size.get(stamp.size, ())
        return [use for use in every if use.extent.stamp is not None and not (stamp.digest and use.extent.stamp.digest)]

    def near(self, key: str) -> Iterator[Use]:
        """Those of files below a directory, and of the directories that a file is in."""
        start = bisect_left(self._keys, f"{key.rstrip('/')}/")
        for name in self._keys[start : bisect_left(self._keys, f"{key.rstrip('/')}0")]:  # 0 comes behind /
            yield from self._by_key[name]
        while "/" in key and not key.startswith(ITEMS):
            key = key.rpartition("/")[0]
            yield from self.of(key)


def _same(one: Extent, other: Extent) -> bool:
    """Of two files of one size and time, whether one is the other: by what they held, else by their names. Clocks of files tick each few milliseconds, and then several are written."""
    if one.stamp is not None and other.stamp is not None and one.stamp.digest and other.stamp.digest:
        return one.stamp.digest == other.stamp.digest
    return short(one.path) == short(other.path)
