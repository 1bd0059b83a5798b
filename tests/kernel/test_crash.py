"""How a crash is shown: the user's own lines, what was raised, and the culprits; nothing of Spark's frames, and nothing is lost."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

import pytest

from bigdebug.shown import mask
from bigdebug_kernel.crash import shortened, without_libraries
from tests.kernel.shells import Shell

MESSAGE = r"""PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/x/site-packages/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 4327, in invoke_udf
    run_process()
    ^^^^^^^^^^^^^
  File "/home/me/pyspark/job.py", line 3, in load
    return parse(line)
  File "/tmp/ipykernel_1/22.py", line 4, in parse
  File "/x/site-packages/bigdebug/agents/stage.py", line 111, in __call__
    for frame in self.frames(split):
ValueError: could not convert string to float: 'n/a'
	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.next(PythonRunner.scala:525)
	... 12 more
Driver stacktrace:
	at org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2844)
    at my desk (12): a line of the user's
bigdebug: 25 records crashed"""

SHORT = r"""PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/home/me/pyspark/job.py", line 3, in load
    return parse(line)
  Cell In[2], line 4, in parse
ValueError: could not convert string to float: 'n/a'
    at my desk (12): a line of the user's
bigdebug: 25 records crashed
%lineage culprits shows all records that crashed; %tb the whole traceback, with the frames of Spark and bigdebug."""


def test_frames_of_spark_of_java_and_of_ours_are_left_out() -> None:
    cells = {"/tmp/ipykernel_1/22.py": "Cell In[2]"}
    assert shortened(MESSAGE, cells.get) == [SHORT]


def test_what_is_secret_is_shown_nowhere_whatever_colors_it_has() -> None:
    line = "\x1b[32m----> 1\x1b[39m log(password\x1b[33m=\x1b[39m\x1b[33m'swordfish'\x1b[39m)"
    mask(r"password=\S+")
    try:
        (shown,) = shortened(f"{line}\n\x1b[31mValueError\x1b[39m: no password=swordfish\n\x1b[31mbigdebug\x1b[39m: 1 record", {}.get)
    finally:
        mask(None)
    assert shown.splitlines()[:-1] == ["----> 1 log(***", "ValueError: no ***", "\x1b[31mbigdebug\x1b[39m: 1 record"]


def frames(trace: TracebackType | None) -> list[str]:
    return [] if trace is None else [trace.tb_frame.f_globals["__name__"], *frames(trace.tb_next)]


def test_of_the_driver_the_users_own_frames_stay_and_the_first_that_is_ipythons() -> None:
    names = ["IPython.core.interactiveshell", "__main__", "bigdebug.spark.rdd.actions", "pyspark.core.rdd", "job", "pyspark_tools", "py4j.java_gateway"]
    calls = [eval("lambda on: on()", {"__name__": name}) for name in names]

    def called(at: int) -> Any:
        return 1 / 0 if at == len(calls) else calls[at](lambda: called(at + 1))

    try:
        called(0)
    except ZeroDivisionError:
        trace = sys.exc_info()[2]
    assert trace is not None
    kept = [name for name in frames(without_libraries(trace.tb_next)) if name != __name__]
    assert kept == ["IPython.core.interactiveshell", "__main__", "job", "pyspark_tools"]
    assert len(frames(trace)) == 3 * len(names) + 2  # the exception's own is as it was


# ---- in a shell --------------------------------------------------------------------------------------------------

CRASH = """%%lineage boom
def price(line):
    item, text = line.split(",")
    return item, float(text)
prices = sc.parallelize(["a,1", "b,2.5", "c,n/a", "d,4"], 2).map(price).reduceByKey(max)
prices.collect()"""

QUERY = """%%lineage query
from pyspark.sql.functions import udf
@udf("double")
def rate(n):
    per = 100 / n
    return per
spark.range(4).select("id", rate("id").alias("r")).collect()"""


@pytest.mark.usefixtures("patient")
def test_a_crash_shows_the_cell_the_exception_and_the_culprit_with_its_variables(shell: Shell, capsys: Any) -> None:
    shell.run_line_magic("colors", "nocolor")
    for cell, own, told in (
        (CRASH, ["----> 6 prices.collect()", "ValueError: could not convert string to float: 'n/a'"], [
            "bigdebug: 1 record crashed with ValueError: could not convert string to float: 'n/a'", "the first is 'c,n/a'",
            "line 4: return item, float(text)", "text = 'n/a'",
        ]),
        (QUERY, ['----> 7 spark.range(4).select("id", rate("id").alias("r")).collect()', "ZeroDivisionError: division by zero"], [
            "bigdebug: 1 record crashed with ZeroDivisionError: division by zero", "line 5: per = 100 / n", "n = 0",
        ]),
    ):  # fmt: skip
        capsys.readouterr()
        problem = shell.failure(cell)
        said = capsys.readouterr().out
        for text in (*own, *told):
            assert text in said, said
        for noise in ("worker.py", "java_gateway", "rdd/actions.py", "sql/actions.py", "get_ipython"):
            assert noise not in said, said
        assert said.count("Cell In[") >= 2
        assert "%lineage culprits shows all records that crashed; %tb the whole traceback" in said
        assert len(said.splitlines()) < 35, said
        shell.cell("%tb")
        assert "java_gateway" in capsys.readouterr().out
        assert problem.__traceback__ is not None
        assert len(frames(problem.__traceback__)) > 4
    shell.failure("%%lineage named --strategy lazy\nsc.parallelize([0]).map(lambda n: 1 // n).collect()")
    assert "      1 # %%lineage named --strategy lazy\n----> 2 sc.parallelize([0])" in capsys.readouterr().out


@pytest.mark.usefixtures("patient")
def test_a_crash_shows_no_secret_and_a_kernel_sends_none(shell: Shell, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    show = shell._showtraceback
    monkeypatch.setattr(shell, "_showtraceback", lambda kind, problem, lines: (sent.append(str(problem)), show(kind, problem, lines)))
    shell.cell(r"dbg.mask = r'sk-\w+'")
    try:
        capsys.readouterr()
        problem = shell.failure("sc.parallelize(['1', 'sk-999'], 1).map(lambda text: 1 // int(text)).collect()")
        said = capsys.readouterr().out
    finally:
        shell.cell("dbg.mask = None")
    assert "with base 10: '***'" in said
    assert "sk-" not in said
    assert ["sk-" in each for each in sent] == [False]
    assert "***" in sent[0]
    assert "'sk-999'" in str(problem)  # the exception is Spark's


@pytest.mark.usefixtures("patient")
def test_other_exceptions_of_spark_and_of_the_user_are_shown_as_ever(shell: Shell, capsys: Any) -> None:
    for cell in ("spark.range(3).select('nothing')", "1 / 0"):
        said = []
        for before in ("%unload_ext bigdebug", "%load_ext bigdebug"):
            shell.cell(before)
            capsys.readouterr()
            shell.failure(cell)
            said.append(capsys.readouterr().out.split("\n", 3))
        assert said[0][3:] == said[1][3:]
        assert "captured.py" in said[1][3] or "ZeroDivisionError" in said[1][3]


def test_a_handler_of_the_users_own_stays(bare: Shell, capsys: Any) -> None:
    seen = []
    bare.set_custom_exc((Exception,), lambda shell, kind, value, trace, tb_offset=None: seen.append(kind))
    own = bare.CustomTB
    for cell in ("%load_ext bigdebug", CRASH):
        bare.run_cell(cell)
    assert [kind.__name__ for kind in seen] == ["PythonException"]
    bare.cell("%unload_ext bigdebug")
    assert bare.CustomTB == own
    bare.set_custom_exc((), None)
    bare.cell("%load_ext bigdebug")
    bare.set_custom_exc((Exception,), lambda shell, kind, value, trace, tb_offset=None: seen.append(kind))
    own = bare.CustomTB
    bare.cell("%unload_ext bigdebug")
    assert (bare.CustomTB, bare.custom_exceptions) == (own, (Exception,))
    bare.set_custom_exc((), None)
