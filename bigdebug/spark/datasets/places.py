"""Places: paths as programs write them, as what Hadoop takes them for: in which file system, and below which folder."""

from __future__ import annotations

import re
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.gateway import classes

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")

_GLOB = re.compile(r"[*?{\[]")


def qualified(sc: Any, path: str) -> str:
    """The URI of a path; of one with patterns, that of the folder below which all of them are. Four calls of the JVM, none for a URI."""
    if found := _GLOB.search(path):
        path = path[: found.start()].rpartition("/")[0] or ("/" if path.startswith("/") else ".")
    if _SCHEME.match(path):
        return path
    try:
        place = classes(sc._jvm).org.apache.hadoop.fs.Path(path)
        return str(place.getFileSystem(sc._jsc.sc().hadoopConfiguration()).makeQualified(place).toString())
    except (Py4JError, PySparkException):  # not a path at all: the job says so itself
        return path
