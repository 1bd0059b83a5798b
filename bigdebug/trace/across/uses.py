"""Uses: the files that steps read, or those that they wrote, found by their paths, by their folders and by what is in them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bigdebug.trace.across.located import ITEMS, Extent, FileStamp
from bigdebug.trace.across.paths import key_of
from bigdebug.trace.across.step import Step

_TELLING = 64
"""Bytes from which on two files of the same content are taken for copies. Fewer are equal by chance: a header alone, a count."""


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


class Uses:
    """Uses by the keys of their files; those of one file in the order in which they are given."""

    def __init__(self, uses: Iterable[Use]) -> None:
        self._by_key: dict[str, list[Use]] = {}
        self._by_content: dict[tuple[int, str], list[Use]] = {}
        for use in uses:
            self._by_key.setdefault(use.key, []).append(use)
        for use in (use for every in self._by_key.values() for use in every):
            if (content := _content(use.extent.stamp)) is not None:
                self._by_content.setdefault(content, []).append(use)
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

    def alike(self, stamp: FileStamp | None) -> Sequence[Use]:
        """Those of files with this content; none if nobody looked at it, or if it is so little that others have it, too: nothing, or a header."""
        content = _content(stamp)
        return () if content is None else self._by_content.get(content, ())

    def near(self, key: str) -> Iterator[Use]:
        """Those of files below a directory, and of the directories that a file is in."""
        start = bisect_left(self._keys, f"{key.rstrip('/')}/")
        for name in self._keys[start : bisect_left(self._keys, f"{key.rstrip('/')}0")]:  # 0 comes behind /
            yield from self._by_key[name]
        while "/" in key and not key.startswith(ITEMS):
            key = key.rpartition("/")[0]
            yield from self.of(key)


def _content(stamp: FileStamp | None) -> tuple[int, str] | None:
    """What files of the same content share; None if that tells nothing."""
    return (stamp.size, stamp.digest) if stamp is not None and stamp.size >= _TELLING and stamp.digest else None
