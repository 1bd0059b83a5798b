"""Conditions: the settings under which a query was executed, and the files it read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from bigdebug.errors import SourceChangedError
from bigdebug.spark.sql.catalyst import Catalyst, Node
from bigdebug.trace.origins import Stamp

_HADOOP = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"


@dataclass(frozen=True)
class Conditions:
    """What a query was executed under: a session in the JVM with the settings of then, and stamps of the files it read."""

    jsession: Any
    stamps: Mapping[str, Stamp]

    def check(self, catalyst: Catalyst, listings: Sequence[Any]) -> None:
        """Raise SourceChangedError if a file of the query's sources is not what it was, or was not there."""
        if added := _files(catalyst, listings) - self.stamps.keys():
            raise SourceChangedError(f"{min(added)} was not there when the query ran", remedy="Run the query again under capture.")
        for path, stamp in _now(catalyst, self.stamps).items():
            if stamp != self.stamps[path]:
                what = "is gone" if stamp is None else "has changed"
                raise SourceChangedError(f"{path} {what} since the query ran", remedy="Run the query again under capture.")


def stamps_of(catalyst: Catalyst, plan: Node) -> dict[str, Stamp]:
    """The stamps of all files below a plan, by URI. A file that is not there has none."""
    return {path: stamp for path, stamp in _now(catalyst, sorted(_files(catalyst, listings_of(catalyst, plan)))).items() if stamp is not None}


def listings_of(catalyst: Catalyst, plan: Node) -> list[Any]:
    """Spark's listings of the files below a plan; an INSERT in this session is seen in them."""
    relations = [leaf.relation() for leaf in catalyst.leaves(plan) if leaf.nodeName() == "LogicalRelation"]
    return [relation.location() for relation in relations if catalyst.is_a(relation, _HADOOP)]


def _files(catalyst: Catalyst, listings: Iterable[Any]) -> set[str]:
    return {path for listing in listings for path in catalyst.files(listing)}


def _now(catalyst: Catalyst, files: Iterable[str]) -> dict[str, Stamp | None]:
    """The stamps of files as they are now; None for one that is gone."""
    return {uri: _local(uri) if urlsplit(uri).scheme == "file" else _remote(catalyst, uri) for uri in files}


def _local(uri: str) -> Stamp | None:
    try:
        return Stamp.of(uri, unquote(urlsplit(uri).path))
    except OSError:
        return None


def _remote(catalyst: Catalyst, uri: str) -> Stamp | None:
    path: Any = catalyst.jvm.org.apache.hadoop.fs.Path(catalyst.jvm.java.net.URI(uri))
    files = path.getFileSystem(catalyst.jsession.sessionState().newHadoopConf())
    if not files.exists(path):
        return None
    status = files.getFileStatus(path)
    return Stamp(uri, status.getLen(), status.getModificationTime() * 1_000_000)
