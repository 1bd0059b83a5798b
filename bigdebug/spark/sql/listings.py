"""Listings: the files that Spark listed for a query, as they were then. A query reads what its plan has listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from bigdebug.spark.sql.formats import reader_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node

_DATASOURCES = "org.apache.spark.sql.execution.datasources"

_STATUS = re.compile(r"path=(.*); isDirectory=\w+; length=(\d+);.*?; modification_time=(\d+);", re.DOTALL)
"""How Hadoop writes a FileStatus, of whichever file system."""


class Listed(NamedTuple):
    """A file as it was listed: its size in bytes, and when it was modified, in milliseconds."""

    size: int
    modified: int


def listings_of(catalyst: Catalyst, plan: Node) -> list[Any]:
    """Spark's listings of the files below a plan; an INSERT in this session is seen in them."""
    return list(_listings(catalyst.leaves(plan)))


def cached_listings_of(catalyst: Catalyst, plan: Node) -> list[Any]:
    """The listings of which Spark has cached something that the plan reads now: other readings of the same paths, perhaps."""
    if catalyst.jsession.sharedState().cacheManager().isEmpty() or plan.isStreaming():  # streams are refused by who traces them
        return []
    # A new execution is asked: the user's own would from now on know only what is cached now.
    return list(_below_caches(catalyst, catalyst.frame(plan)._jdf.queryExecution().withCachedData()))


def _below_caches(catalyst: Catalyst, plan: Node) -> Iterator[Any]:
    for leaf in catalyst.leaves(plan):
        if leaf.nodeName() == "InMemoryRelation":
            below = leaf.cacheBuilder().logicalPlan()
            yield from _listings(catalyst.leaves(below))
            yield from _below_caches(catalyst, below)


def _listings(leaves: list[Node]) -> Iterator[Any]:
    for leaf in leaves:
        if (reader := reader_of(leaf)) is not None:
            yield reader.location()


def unnamed_listings_of(catalyst: Catalyst, plan: Node) -> list[Any]:
    """The listings of files below a plan that data sources of version 2 read, so that their records have no names."""
    tables = [leaf.table() for leaf in catalyst.leaves(plan) if leaf.getClass().getSimpleName() == "DataSourceV2Relation"]
    return [table.fileIndex() for table in tables if catalyst.is_a(table, f"{_DATASOURCES}.v2.FileTable")]


def itself(catalyst: Catalyst, listing: Any) -> Any:
    """What knows the files: of a table with partitions, of which the catalog knows, another listing. Spark remembers what it lists of them."""
    return listing.filterPartitions(catalyst.seq([])) if catalyst.is_a(listing, f"{_DATASOURCES}.CatalogFileIndex") else listing


def is_in_memory(catalyst: Catalyst, listing: Any) -> bool:
    """Whether a listing is of what is in folders, and of no log of a stream or another format's."""
    return catalyst.is_a(listing, f"{_DATASOURCES}.InMemoryFileIndex")


def listed(catalyst: Catalyst, listing: Any) -> dict[str, Listed | None]:
    """The files of a listing, by their paths as Hadoop writes them, in one call; None of a file of which it does not tell."""
    listing = itself(catalyst, listing)
    if not catalyst.is_a(listing, f"{_DATASOURCES}.PartitioningAwareFileIndex"):
        return {catalyst.jvm.org.apache.hadoop.fs.Path(catalyst.jvm.java.net.URI(uri)).toString(): None for uri in catalyst.files(listing)}
    statuses = listing.allFiles()
    written = statuses.mkString("\0")
    found = [_STATUS.search(status) for status in written.split("\0")] if written else []
    if all(match is not None and match[1] != "null" for match in found):  # a file system in front of another has no path of its own
        return {match[1]: Listed(int(match[2]), int(match[3])) for match in found if match}
    return {
        status.getPath().toString(): Listed(status.getLen(), status.getModificationTime()) for status in catalyst.items(statuses)
    }
