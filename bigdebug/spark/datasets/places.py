"""Places: paths as programs write them, as what Hadoop takes them for: in which file system, and below which folder."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.datasets.model import Dataset
from bigdebug.datasets.naming import of_path
from bigdebug.spark.gateway import classes
from bigdebug.spark.streams import Streams

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")

_GLOB = re.compile(r"[*?{\[]")

_MOST = 100
"""Places that match a pattern and are told one by one; of more, the folder below which all of them are."""


def matching(sc: Any, path: str, began: datetime | None = None, made: Collection[Dataset] = ()) -> list[str]:
    """The URIs of what a path with patterns matches now, but for what was ``made`` meanwhile, as who read it found it; that of a plain path. Where something
    else that matches was changed since who read it ``began``, it may not have been there: then that of the folder below which all of them are. Of a pattern
    costs a listing, and some thirty calls of the JVM.
    """
    if _GLOB.search(path) is None:
        return [qualified(sc, path)]
    with suppress(Py4JError, PySparkException):  # not a path at all, or nobody may look
        place = classes(sc._jvm).org.apache.hadoop.fs.Path(path)
        found = place.getFileSystem(sc._jsc.sc().hadoopConfiguration()).globStatus(place)
        if found is not None and 0 < len(found) <= _MOST:
            changed = {path: at for path, at in _changed(sc, found).items() if _is_shown(path) and of_path(path) not in made}
            if changed and (began is None or max(changed.values()) <= began.timestamp()):
                return list(changed)
    return [qualified(sc, path)]


def _changed(sc: Any, found: Any) -> dict[str, float]:
    """When each of the places in an array was changed last, in seconds."""
    streams = Streams(sc)
    paths, times = (streams.texts(streams.of_array(found), method, "toString") for method in ("getPath", "getModificationTime"))
    return {path: int(at) / 1000 for path, at in zip(paths, times, strict=True)}


def _is_shown(path: str) -> bool:
    """Whether Hadoop reads a file that is called so, if a pattern matches it."""
    return not path.rpartition("/")[2].startswith(("_", "."))


def qualified(sc: Any, path: str, is_pattern: bool = True) -> str:
    """The URI of a path; of one with patterns, that of the folder below which all of them are: who writes means what he says. Four calls of the JVM, none for
    a URI.
    """
    if is_pattern and (found := _GLOB.search(path)):
        path = path[: found.start()].rpartition("/")[0] or ("/" if path.startswith("/") else ".")
    if _SCHEME.match(path):
        return path
    try:
        place = classes(sc._jvm).org.apache.hadoop.fs.Path(path)
        return str(place.getFileSystem(sc._jsc.sc().hadoopConfiguration()).makeQualified(place).toString())
    except (Py4JError, PySparkException):  # not a path at all: the job says so itself
        return path
