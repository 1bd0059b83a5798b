"""Callers: the line of the user's program that called into PySpark."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from linecache import getline
from types import FrameType
from typing import Any

from pyspark import SparkContext
from pyspark.traceback_utils import SCCallSiteSync

from bigdebug.graph import CallSite

_LIBRARY = ("pyspark", "bigdebug", "contextlib", "functools")


def _of_library(module: str) -> bool:
    return module.split(".", 1)[0] in _LIBRARY


def caller() -> tuple[CallSite | None, str]:
    """The nearest line of the user's program on the stack, and the name of the library method that it called."""
    frame: FrameType | None = sys._getframe(1)
    method = ""
    while frame is not None and _of_library(frame.f_globals.get("__name__", "")):
        method = frame.f_code.co_name
        frame = frame.f_back
    if frame is None:
        return None, method
    file, line = frame.f_code.co_filename, frame.f_lineno
    return CallSite(file, line, getline(file, line).strip()), method


class _NamedCall(SCCallSiteSync):
    def __init__(self, sc: SparkContext, name: str) -> None:
        self._context = sc
        self._call_site = f"{name} at {caller()[0] or 'unknown'}"


def called_by_user(sc: SparkContext, name: str) -> AbstractContextManager[Any]:
    """Within: Spark's UI names the user's line, where PySpark would take the file of a wrapper for the user's."""
    return nullcontext() if SCCallSiteSync._spark_stack_depth or sc._jsc is None else _NamedCall(sc, name)
