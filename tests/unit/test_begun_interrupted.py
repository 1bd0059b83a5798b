"""The stop button at each line of what is begun around a question: afterwards it is as before."""

from __future__ import annotations

from itertools import count
from typing import Any

from bigdebug.spark.captures import Captures
from bigdebug.spark.process import own_python
from tests.interrupting import interrupted


def test_no_capture_stays_open() -> None:
    for after in count():
        captures, begun = Captures(), False
        with interrupted(after) as came, captures.opened("a", "auto", lambda run: None):
            begun = True
        if begun:
            return
        assert captures.current() is None, came.where


class Context:
    """What a SparkContext says of its workers."""

    master = "local[2]"

    def __init__(self) -> None:
        self.pythonExec = "python-of-the-user"


def test_workers_run_the_python_of_the_user_again(monkeypatch: Any) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    for after in count():
        sc: Any = Context()
        begun = False
        with interrupted(after) as came, own_python(sc):
            begun = True
        if begun:
            return
        with own_python(sc):
            assert sc.pythonExec != "python-of-the-user"
        assert sc.pythonExec == "python-of-the-user", came.where
