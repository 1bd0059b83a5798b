"""Unsaved: what may be in the way of keeping the lineage of one run, while others are kept."""

from __future__ import annotations

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from bigdebug.errors import BigdebugError

TROUBLE = (BigdebugError, PySparkException, Py4JError, pa.ArrowException)

_LONGEST = 300


def why_of(trouble: BaseException) -> str:
    """What was in the way, in a line."""
    if isinstance(trouble, BigdebugError):
        return str(trouble)
    text = str(trouble.java_exception.toString() if isinstance(trouble, Py4JJavaError) else trouble)
    return f"{type(trouble).__name__}: {(text.strip().splitlines() or [''])[0][:_LONGEST]}"
