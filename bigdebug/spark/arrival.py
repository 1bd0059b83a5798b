"""Arrival: notices a SparkSession at the moment it is made, so that no RDD is made before bigdebug is there.

PySpark is not imported for it: which one is used may be chosen later (findspark, a zip on the path), and a kernel that
never meets Spark need not load it.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

log = logging.getLogger("bigdebug")

MODULE = "pyspark.sql.session"


class Arrivals(MetaPathFinder):
    """Calls ``greet`` with each SparkSession made between ``start`` and ``stop``. What it raises is logged, not raised."""

    def __init__(self, greet: Callable[[Any], object]) -> None:
        self._greet = greet
        self._module: ModuleType | None = None
        self._plain: Any = None
        self._watched: Any = None

    def start(self) -> None:
        if MODULE in sys.modules:
            self._watch(sys.modules[MODULE])
        elif self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._module is not None and self._module.SparkSession.__init__ is self._watched:
            self._module.SparkSession.__init__ = self._plain
        self._module = None  # if somebody has wrapped the wrapper since, it stays, and greets nobody

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """For the one module: what the other finders find, to be watched as soon as it has run."""
        if fullname != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                vars(loader).pop("exec_module", None)  # a zip's loader loads other modules too
                execute(module)
                if module.__name__ == MODULE:
                    self._watch(module)

            loader.exec_module = exec_module
        return spec

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
