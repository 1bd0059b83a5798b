"""Imported: what is to be done as soon as a module has been imported, if it ever is; who never needs it does not wait for it."""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

log = logging.getLogger("bigdebug")


class Imported(MetaPathFinder):
    """Calls ``then`` with a module once when that has been imported, at once if it is there already. What it raises is logged."""

    def __init__(self, name: str, then: Callable[[ModuleType], object]) -> None:
        self._name = name
        self._then = then
        if name in sys.modules:
            self._done(sys.modules[name])
        else:
            sys.meta_path.insert(0, self)

    def forget(self) -> None:
        """Do nothing more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """For the one module: what the other finders find, to be followed by what is to be done."""
        if fullname != self._name:
            return None
        self.forget()
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                vars(loader).pop("exec_module", None)  # a zip's loader loads other modules too
                execute(module)
                if module.__name__ == self._name:
                    self._done(module)

            loader.exec_module = exec_module
        return spec

    def _done(self, module: ModuleType) -> None:
        try:
            self._then(module)
        except Exception as trouble:  # the user's import comes first
            log.warning("bigdebug does not follow what %s does: %s", self._name, trouble, exc_info=True)
