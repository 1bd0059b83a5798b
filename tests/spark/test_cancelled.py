"""Jobs that their user cancels, from another thread: nothing crashed, so nothing of them runs again, and they end as soon as they do without bigdebug."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark import InheritableThread
from pyspark.sql import functions as F

LONG = 60.0


def waiting(folder: Path) -> Callable[[int], int]:
    """A function that notes each of its calls, and then waits until it is cancelled."""

    def wait(number: int) -> int:
        import time
        from uuid import uuid4

        (folder / str(uuid4())).touch()
        time.sleep(LONG)
        return number

    return wait


def of_rdd(dbg: Any, folder: Path) -> Callable[[], Any]:
    return dbg.context.parallelize(range(4), 2).map(waiting(folder)).collect  # type: ignore[no-any-return]


def taken_one_by_one(dbg: Any, folder: Path) -> Callable[[], Any]:
    return lambda: list(dbg.context.parallelize(range(4), 2).map(waiting(folder)).toLocalIterator())


def of_frame(dbg: Any, folder: Path) -> Callable[[], Any]:
    return dbg.spark.range(0, 4, 1, 2).select(F.udf(waiting(folder), "long", useArrow=False)("id")).collect  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[Any], None]] = {
    "its group": lambda sc: sc.cancelJobGroup("users"),
    "its tag": lambda sc: sc.cancelJobsWithTag("users tag"),
    "all jobs": lambda sc: sc.cancelAllJobs(),
}


@pytest.mark.parametrize("captured", [False, True], ids=["uncaptured", "captured"])
@pytest.mark.parametrize(("program", "way"), [(of_rdd, "its group"), (of_frame, "its tag"), (taken_one_by_one, "all jobs")])
def test_what_its_user_cancels_is_no_crash(dbg: Any, tmp_path: Path, program: Callable[[Any, Path], Callable[[], Any]], way: str, captured: bool) -> None:
    action, before, found = program(dbg, tmp_path), len(dbg.runs), list[BaseException]()

    def work() -> None:
        dbg.plain_context.setJobGroup("users", "to be cancelled", True)
        dbg.plain_context.addJobTag("users tag")
        try:
            with dbg.capture("cancelled") if captured else nullcontext():
                action()
        except Exception as problem:
            found.append(problem)

    thread = InheritableThread(target=work)
    thread.start()
    begun = time.monotonic()
    while not [*tmp_path.iterdir()]:
        assert time.monotonic() < begun + LONG
        time.sleep(0.05)
    time.sleep(0.5)  # the other task begins as well
    called = len([*tmp_path.iterdir()])
    WAYS[way](dbg.plain_context)
    thread.join(LONG / 2)
    assert "SPARK_JOB_CANCELLED" in str(found[0])
    assert getattr(found[0], "__notes__", []) == []
    assert not [each.name for each in threading.enumerate() if each.name == "bigdebug beside"]
    runs = dbg.runs[before:]
    assert [run.status for run in runs] == (["failed"] if captured else [])
    for run in runs:
        assert run.culprits.complete
        assert "The job was cancelled before it had ended" in repr(run.culprits)
        assert len(run.culprits) == 0
        with pytest.raises(Exception, match="did not crash"):
            run.resume(skip=True)
    assert len([*tmp_path.iterdir()]) == called


def test_a_crash_that_speaks_of_cancelling_is_one(dbg: Any) -> None:
    def refuse(number: int) -> int:
        raise ValueError("[SPARK_JOB_CANCELLED] Job 0 cancelled")

    with pytest.raises(Exception, match="ValueError") as raised:
        dbg.context.parallelize([7], 1).map(refuse).collect()
    assert [culprit.record for culprit in dbg.runs[-1].culprits] == [7]
    assert raised.value.__notes__
