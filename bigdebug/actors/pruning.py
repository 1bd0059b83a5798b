"""Pruning: actors that are too old, or too many for their size. A part goes with what contains it, and what still captures stays."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import timedelta

from bigdebug.actors.actor import Home, home_of
from bigdebug.actors.home import ActorHome
from bigdebug.errors import ActorError, BigdebugError
from bigdebug.store.paths import is_folder, removed


def prune(*, older_than: float | timedelta | None = None, larger_than: int | None = None, home: Home = None) -> list[str]:
    """Take away actors that began more than ``older_than`` (seconds, or a timedelta) ago, and the oldest until the others have ``larger_than`` bytes at most; their ids.

    What was half written by a process that is gone goes always. Takes a look at each file. Raises StoreError where they cannot be taken away.
    """
    for given in (older_than, larger_than):
        if given is not None and not isinstance(given, timedelta) and (isinstance(given, bool) or not isinstance(given, (int, float)) or given < 0):
            raise ActorError("That is no age and no size", value=given, remedy="Give seconds, a timedelta, or bytes.")
    seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else older_than
    place = home_of(home)
    _remove_halves(place)
    every = sorted(_wholes(place))
    sizes = {actor: _bytes(place, actor) for _, actor in every}
    left, now, gone = sum(sizes.values()), time.time(), []
    for began, actor in every:
        if (seconds is not None and now - began > seconds) or (larger_than is not None and left > larger_than):
            gone.append(actor)
            left -= sizes[actor]
    place.forget_all(gone)
    return gone


def _wholes(home: ActorHome) -> Iterator[tuple[float, str]]:
    """The actors that are within no other, with when they began; without those that still capture."""
    committed, waiting = home.ids()
    here = {*committed, *waiting}
    for actor in [*committed, *(each for each in waiting if not home.captures(each))]:
        began, parents = _told(home, actor)
        if not here.intersection(parents):
            yield began, actor


def _told(home: ActorHome, actor: str) -> tuple[float, tuple[str, ...]]:
    """When an actor began, and within which others; of a damaged one, when its file was made."""
    try:
        facts = home.facts(actor)
    except BigdebugError:
        return max((path.stat().st_mtime for path in home.paths(actor)), default=0.0), ()
    return facts.began, facts.within


def _bytes(home: ActorHome, actor: str) -> int:
    own = sum(os.lstat(path).st_size for path in home.paths(actor))
    return own + sum(_bytes(home, part) for part in home.parts(actor))


def _remove_halves(home: ActorHome) -> None:
    """Take away what was being written by a process that is gone."""
    for path, actor in home.halves():
        if home.captures(actor):
            continue
        if is_folder(path):
            removed(path)
        else:
            path.unlink(missing_ok=True)
