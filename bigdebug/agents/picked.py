"""Picked: records of a partition by their positions, those that are wanted or all but some, read as a task reads them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

LITTLE = 200_000
"""Records that are read for nothing rather than leaving them."""

Stamp = tuple[str, int, int, int]
"""A local file: its path, bytes, and when its content and its entry were last changed, in ns."""


@dataclass(frozen=True)
class Pick:
    """(partition, position, record) of the records at ``wanted`` positions that satisfy ``test``; without ``placed``,
    the records alone. Local files among ``stamps`` must still be what they were."""

    wanted: Mapping[int, Any]
    test: Callable[[Any], Any] | None = None
    placed: bool = True
    stamps: tuple[Stamp, ...] = ()

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        if split not in self.wanted:
            return
        check(self.stamps)
        wanted = iter(self.wanted[split].tolist())
        following = next(wanted, None)
        records = iter(incoming)
        for position, record in enumerate(records):
            if position == following:
                if self.test is None or self.test(record):
                    yield (split, position, None if self.test else record) if self.placed else record
                following = next(wanted, None)
                if following is None:
                    read_out(records)
                    return


def read_out(records: Iterable[Any]) -> None:
    """Read what is left, if it is little: Spark ends a worker that leaves something unread, and a new one takes a second."""
    deque(islice(records, LITTLE), maxlen=0)


def check(stamps: tuple[Stamp, ...]) -> None:
    """Fail if a file is there and is not what it was."""
    for path, *known in stamps:
        if os.path.exists(path):
            status = os.stat(path)
            if [status.st_size, status.st_mtime_ns, status.st_ctime_ns] != known:
                raise RuntimeError(f"bigdebug: {path} has changed since the run read it")


@dataclass(frozen=True)
class Without:
    """All records but those at ``places``, which are dropped, or changed by ``edit``."""

    places: Mapping[int, Any]
    edit: Callable[[Any], Any] | None = None

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        if split not in self.places:
            return iter(incoming)
        return self._changed(split, incoming)

    def _changed(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        chosen = iter(self.places[split].tolist())
        following = next(chosen, -1)
        for position, record in enumerate(incoming):
            if position != following:
                yield record
                continue
            following = next(chosen, -1)
            if self.edit is not None:
                yield self.edit(record)


@dataclass(frozen=True)
class Held:
    """Records that the driver holds, by partition and position, in the order of these; with an ``edit`` of them. What comes in is nothing."""

    found: Mapping[int, Mapping[int, Any]]
    edit: Without | None

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        read_out(incoming)
        records = [record for _, record in sorted(self.found.get(split, {}).items(), key=itemgetter(0))]
        return records if self.edit is None else self.edit(split, records)
