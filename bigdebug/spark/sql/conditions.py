"""Conditions: the settings under which a query was executed, and the files it read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bigdebug.errors import SourceChangedError
from bigdebug.spark.sql.listings import cached_listings_of, listed, listings_of, unnamed_listings_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.trace.origins import Stamp
from bigdebug.trace.textlines import local_path

_MILLISECOND = 1_000_000

_LOOKED_AT = 10_000
"""Local files that are looked at when a query runs; of more, the listing alone is compared."""

_ANEW = "Make the DataFrame anew, and run it under capture: Spark reads the files that it listed for a DataFrame when that was made."


@dataclass(frozen=True)
class Conditions:
    """What a query was executed under: a session in the JVM with the settings of then, and stamps of the files it read, by path."""

    jsession: Any
    stamps: Mapping[str, Stamp]

    def added(self, catalyst: Catalyst, listings: Sequence[Any]) -> set[str]:
        """The files in some listings that the query did not list."""
        return {path for listing in listings for path in listed(catalyst, listing)} - self.stamps.keys()

    def check(self, catalyst: Catalyst, listings: Sequence[Any], read: Callable[[], Sequence[Any]]) -> None:
        """Raise SourceChangedError if a file that the query read is not what it was, or if one is read besides.

        ``listings`` are those of the query's sources, ``read`` those of what is read in their place: it is asked where there is more in the first.
        """
        if self.added(catalyst, listings) and (added := self.added(catalyst, read())):
            raise SourceChangedError(f"{min(added)} was not there when the query ran", remedy="Run the query again under capture.")
        for path, stamp in self.stamps.items():
            now = _now(catalyst, path)
            if now is None or not _is_same(stamp, now):
                what = "is gone" if now is None else "has changed since the query listed it"
                raise SourceChangedError(f"{path} {what}", remedy=_ANEW)


def stamps_of(catalyst: Catalyst, plan: Node, planned: int | None = None) -> dict[str, Stamp]:
    """The stamps of all files below a plan, by path: what Spark has listed of them, and nothing that is found out later.

    A file that Spark has listed twice, with a change between, has a stamp like no other; so has one that is younger than the plan
    that is executed, if that was ``planned`` before, in milliseconds: an INSERT is seen in the listing, and not in that plan.
    """
    return _stamps(catalyst, (*listings_of(catalyst, plan), *cached_listings_of(catalyst, plan)), planned)


def unnamed_stamps_of(catalyst: Catalyst, plan: Node) -> dict[str, Stamp]:
    """The same of files that data sources of version 2 read: which of their records a row was made of is not known, and nothing of them is read again."""
    return _stamps(catalyst, unnamed_listings_of(catalyst, plan), None)


def _stamps(catalyst: Catalyst, listings: Iterable[Any], planned: int | None) -> dict[str, Stamp]:
    found: dict[str, Stamp] = {}
    for listing in listings:
        for path, known in listed(catalyst, listing).items():
            stamp = _now(catalyst, path) if known is None else Stamp(path, known.size, known.modified * _MILLISECOND)
            settled = stamp is not None and (planned is None or stamp.modified <= planned * _MILLISECOND)
            found[path] = stamp if stamp is not None and settled and found.get(path, stamp) == stamp else Stamp(path, -1, 0)
    return found if len(found) > _LOOKED_AT else _finer(found.values())


def _finer(stamps: Iterable[Stamp]) -> dict[str, Stamp]:
    """The stamps with the finer times of local files, if these are as they were listed: some are replaced within a millisecond."""
    found = {}
    for stamp in stamps:
        now = _local(stamp.path)
        found[stamp.path] = now if now is not None and _is_same(stamp, now) else stamp
    return found


def _is_same(stamp: Stamp, now: Stamp) -> bool:
    """Whether a file that looks as ``now`` is the one of ``stamp``: to the millisecond, if that is all it tells."""
    if stamp.replaced:
        return stamp == now
    return (stamp.size, stamp.modified // _MILLISECOND) == (now.size, now.modified // _MILLISECOND)


def _now(catalyst: Catalyst, path: str) -> Stamp | None:
    """The stamp of a file as it is now; None for one that is gone."""
    return _remote(catalyst, path) if local_path(path) is None else _local(path)


def _local(path: str) -> Stamp | None:
    local = local_path(path)
    try:
        return None if local is None else Stamp.of(path, local)
    except OSError:
        return None


def _remote(catalyst: Catalyst, text: str) -> Stamp | None:
    path: Any = catalyst.jvm.org.apache.hadoop.fs.Path(text)
    files = path.getFileSystem(catalyst.jsession.sessionState().newHadoopConf())
    if not files.exists(path):
        return None
    status = files.getFileStatus(path)
    return Stamp(text, status.getLen(), status.getModificationTime() * _MILLISECOND)
