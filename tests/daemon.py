"""PySpark's daemon of Python workers for the tests' session, with what nearly every worker imports taken in before it forks.

PySpark collects garbage after each task, and looks at each object of the worker in doing so. Unpickling one function of a test
module brings in pytest, Hypothesis and what the module tests, after which that takes longer than the task; and each crash ends a
worker, so that the next one would begin anew. Spark puts archives of PySpark on the path, of which workers read the directory
before each task, and compile what they import: the same files lie unpacked where the tests have PySpark from.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from pkgutil import walk_packages

sys.path[:] = [entry for entry in sys.path if not entry.endswith(".zip")]
sys.path_importer_cache.clear()

import hypothesis  # noqa: E402, F401
import pandas as pd  # noqa: E402, F401
import pyarrow as pa  # noqa: E402, F401
import pytest  # noqa: E402, F401
from pyspark.daemon import manager  # noqa: E402


def imported() -> None:
    """Take in what is ours: all agents, and the engine for the functions of modules that test it."""
    agents = import_module("bigdebug.agents")
    for module in walk_packages(agents.__path__, "bigdebug.agents."):
        import_module(module.name)
    import_module("bigdebug.session")


if __name__ == "__main__":
    if "BIGDEBUG_TEST" not in os.environ:  # or a test sees what workers import by themselves; they are kept by environment
        imported()
    gc.freeze()
    manager()
