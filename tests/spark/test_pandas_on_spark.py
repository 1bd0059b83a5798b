"""PySpark's pandas API: what it runs are actions on DataFrames, which crash, and are captured, as any."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns of an environment variable that it sets itself
    import pyspark.pandas as ps


def inverted(number: Any) -> int:
    return 6 // int(number)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("captured", [False, True], ids=["uncaptured", "captured"])
@pytest.mark.parametrize("act", [lambda column: column.to_numpy(), lambda column: column.to_list(), repr], ids=["to_numpy", "to_list", "repr"])
def test_a_crash_is_told(dbg: Any, spark: Any, act: Any, captured: bool) -> None:
    before = len(dbg.runs)
    column = ps.DataFrame({"a": [1, 2, 0]})["a"].apply(inverted)
    dbg.context.setCaptureLineage(captured)
    try:
        with pytest.raises(Exception, match="ZeroDivisionError") as raised:
            act(column)
    finally:
        dbg.context.setCaptureLineage(False)
    (run,) = dbg.runs[before:]
    assert (run.status, run.action) == ("failed", "toPandas")
    (culprit,) = run.culprits
    assert culprit.exception_type == "ZeroDivisionError"
    assert 0 in tuple(culprit.record)
    assert "1 record crashed with ZeroDivisionError" in raised.value.__notes__[0]


@pytest.mark.filterwarnings("ignore")
def test_what_is_captured_gives_what_it_gives(dbg: Any, spark: Any) -> None:
    frame = ps.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    with dbg.capture("pandas") as runs:
        found = frame["a"].apply(inverted).to_list()
    assert found == [6, 3, 2]
    assert [(run.action, run.status) for run in runs.runs] == [("toPandas", "succeeded")]
