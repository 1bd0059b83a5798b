"""PySpark's daemon of Python workers for the tests' session, with what every test module imports taken in before it forks.

PySpark collects garbage after each task, and looks at each object of the worker in doing so. Unpickling one function of a test
module brings in pytest and Hypothesis, after which that takes longer than the task.
"""

from __future__ import annotations

import gc

import hypothesis  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow as pa  # noqa: F401
import pytest  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    gc.freeze()
    manager()
