"""Which files of a folder an action left there: by clocks that may differ, and by the names that Spark gives. Without Spark."""

from __future__ import annotations

import pytest

from bigdebug.errors import UntraceableError
from bigdebug.spark.across.endings import left
from bigdebug.spark.across.folders import File
from bigdebug.spark.across.targets import Column, Target
from bigdebug.trace.across.located import FileStamp

BEGAN, ENDED = 1_000, 2_000
WRITES = [f"{i}a1b2c3d-0000-0000-0000-000000000000" for i in range(2)]
FRAME, RDD = Target("/o", "csv", columns=(Column(0, "a"),)), Target("/o", "hadoop")


def file(name: str, modified: int) -> File:
    return File(f"/o/{name}", name, FileStamp(1, modified))


def part(number: int, write: int, modified: int) -> File:
    return file(f"part-{number:05}-{WRITES[write]}-c000.csv", modified)


def names(target: Target, *files: File, changed: int = ENDED, alone: bool = False) -> list[str]:
    found = left(target, files, BEGAN, ENDED, changed, alone)
    assert not found.note
    return [file.name for file in found.files]


def test_what_was_there_before_is_not_the_actions() -> None:
    assert names(RDD, file("part-00000", 900), file("part-00001", 1_500)) == ["part-00001"]
    assert names(FRAME, part(0, 0, 900), part(1, 1, 1_500)) == [part(1, 1, 0).name]
    assert names(FRAME, part(0, 0, 900)) == names(RDD) == []


def test_a_clock_that_is_behind_leaves_no_file_out_without_a_word() -> None:
    """Files of one write of a DataFrame have its name; an RDD's are all that there is, if Hadoop has seen that the folder was not there."""
    assert names(FRAME, part(0, 0, 600), part(1, 0, 1_500), part(2, 1, 400), changed=1_500) == [part(0, 0, 0).name, part(1, 0, 0).name]
    early = file("part-00000", 600), file("part-00001", 1_500)
    assert names(RDD, *early, changed=1_500, alone=True) == [each.name for each in early]
    for target, files, changed in ((RDD, early, 1_500), (RDD, early[:1], 700), (FRAME, (part(0, 0, 600),), 700), (RDD, early[:1], 0)):
        with pytest.raises(UntraceableError, match="may be its own") as refused:
            left(target, files, BEGAN, ENDED, changed)
        assert refused.value.remedy


def test_files_of_other_names_are_told() -> None:
    found = left(RDD, [file("part-00000", 1_500), *(file(f"report-r-0000{i}", 1_500) for i in range(5))], BEGAN, ENDED, ENDED)
    assert [each.name for each in found.files] == ["part-00000"]
    assert "report-r-00000, report-r-00001, report-r-00002 and 2 more" in found.note
    assert "part-00000/data" in left(RDD, [file("part-00000/data", 1_500)], BEGAN, ENDED, ENDED).note


def test_a_partition_in_several_files_of_an_rdd_is_refused() -> None:
    with pytest.raises(UntraceableError, match="A/part-00000 and B/part-00000"):
        names(RDD, file("A/part-00000", 1_500), file("B/part-00000", 1_600))
    assert len(names(FRAME, part(0, 0, 1_500), file(f"day=1/{part(0, 0, 0).name}", 1_600))) == 2


def test_several_writes_at_a_time_are_refused() -> None:
    with pytest.raises(UntraceableError, match="Several writes"):
        names(FRAME, part(0, 0, 1_500), part(0, 1, 1_500))
