"""Clock: by which zone a program saw moments, so that who opens what was saved elsewhere sees the same hours."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bigdebug.errors import IncompleteLineageError

_PROBED = range(-(1 << 31), 1 << 31, 15 * 86_400)
"""Moments, in seconds since 1970, at which two clocks are compared."""


def zone_here() -> str:
    """The name of this process's zone, as all machines know it; empty if it is not found."""
    return next((name for name in _likely() if _is_here(name)), "")


def zone_called(name: str) -> ZoneInfo:
    """Raises IncompleteLineageError where this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as unknown:
        raise IncompleteLineageError(
            "The program saw its timestamps on a clock that this machine does not know", value=name, remedy="Install the zones: pip install tzdata.",
        ) from unknown


def moment(microseconds: int, zone: ZoneInfo) -> datetime:
    """What the clock of a zone says so many microseconds after 1970 began in UTC: without its zone, as PySpark tells it."""
    return datetime.fromtimestamp(microseconds // 1_000_000, zone).replace(microsecond=microseconds % 1_000_000, tzinfo=None)


def _likely() -> Iterator[str]:
    yield os.environ.get("TZ", "").lstrip(":")
    yield os.path.realpath("/etc/localtime").rpartition("/zoneinfo/")[2]
    yield from (*time.tzname, "UTC")


def _is_here(name: str) -> bool:
    try:
        zone = ZoneInfo(name)
        return all(datetime.fromtimestamp(at) == datetime.fromtimestamp(at, zone).replace(tzinfo=None) for at in _PROBED)
    except (ZoneInfoNotFoundError, ValueError, OSError, OverflowError):
        return False
