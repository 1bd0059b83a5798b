"""Arrival: notices a SparkSession at the moment it is made, so that no RDD is made before bigdebug is there.

PySpark is not imported for it: which one is used may be chosen later (findspark, a zip on the path), and a kernel that
never meets Spark need not load it.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any

from bigdebug.spark.imported import Imported

log = logging.getLogger("bigdebug")

MODULE = "pyspark.sql.session"


class Arrivals:
    """Calls ``greet`` with each SparkSession made between ``start`` and ``stop``. What it raises is logged, not raised."""

    def __init__(self, greet: Callable[[Any], object]) -> None:
        self._greet = greet
        self._module: ModuleType | None = None
        self._plain: Any = None
        self._watched: Any = None
        self._awaited: Imported | None = None

    def start(self) -> None:
        if self._awaited is None:
            self._awaited = Imported(MODULE, self._watch)

    def stop(self) -> None:
        if self._awaited is not None:
            self._awaited.forget()
            self._awaited = None
        if self._module is not None and self._module.SparkSession.__init__ is self._watched:
            self._module.SparkSession.__init__ = self._plain
        self._module = None  # if somebody has wrapped the wrapper since, it stays, and greets nobody

    def _watch(self, module: ModuleType) -> None:
        self._module, self._plain = module, module.SparkSession.__init__
        plain = self._plain

        @functools.wraps(plain)
        def __init__(session: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            plain(session, *args, **kwargs)
            if self._module is not None:
                try:
                    self._greet(session)
                except Exception as trouble:  # the user's session comes first
                    log.warning("bigdebug could not attach to a new SparkSession: %s", trouble, exc_info=True)

        self._watched = module.SparkSession.__init__ = __init__
