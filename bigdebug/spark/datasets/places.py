"""Places: paths as programs write them, as what Hadoop takes them for: in which file system, and below which folder."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.gateway import classes

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")

_GLOB = re.compile(r"[*?{\[]")


_MOST = 100
"""Places that match a pattern and are told one by one; of more, the folder below which all of them are."""


def matching(sc: Any, path: str) -> list[str]:
    """The URIs of what a path with patterns matches now, as who read it found it; that of a plain path. Of a pattern costs a listing, and three calls of the JVM
    for each place.
    """
    if _GLOB.search(path) is None:
        return [qualified(sc, path)]
    with suppress(Py4JError, PySparkException):  # not a path at all, or nobody may look
        place = classes(sc._jvm).org.apache.hadoop.fs.Path(path)
        found = place.getFileSystem(sc._jsc.sc().hadoopConfiguration()).globStatus(place)
        if found is not None and 0 < len(found) <= _MOST:
            return [str(each.getPath().toString()) for each in found]
    return [qualified(sc, path)]


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
