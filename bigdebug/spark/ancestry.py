"""Ancestry: the RDDs of the JVM that one is made of. A checkpoint has none behind it: Spark tells so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def ancestors(rdd: Any) -> Iterator[Any]:
    """An RDD of the JVM and all behind it, each once. Some calls of the JVM for each, as they are asked for."""
    seen, todo = set[int](), [rdd]
    while todo:
        current = todo.pop()
        if current.id() not in seen:
            seen.add(current.id())
            yield current
            dependencies = current.dependencies()
            todo.extend(dependencies.apply(i).rdd() for i in range(dependencies.size()))
