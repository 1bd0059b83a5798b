"""Tasks that Spark kills leave nothing in the lineage: a killed task sees the end of its input, and cannot tell that it is none."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.spark.test_culprits import culprits_of

MANY = 300_000
LAST = MANY - 10


def numbers(path: Path) -> str:
    """A file of two partitions that takes Spark a while to hand over."""
    path.write_text("".join(f"{i:09d} {'x' * 90}\n" for i in range(MANY)))
    return str(path)


def held_up(folder: Path) -> Callable[[str], int]:
    """The second partition crashes while the first is at its tenth record, which takes as long as Spark needs to kill the task."""
    begun = str(folder / "begun")

    def parse(line: str) -> int:
        import os
        import time

        number = int(line[:9])
        if number == 10 and not os.path.exists(begun):
            Path(begun).touch()
            time.sleep(1)
        while number == LAST and not os.path.exists(begun):
            time.sleep(0.01)
        return 1 // (number - LAST)

    return parse


@pytest.mark.slow
def test_a_partition_whose_task_was_killed_has_all_its_culprits_and_no_half_a_block(dbg: Any, tmp_path: Path) -> None:
    program = dbg.context.textFile(numbers(tmp_path / "numbers.txt"), 2).map(held_up(tmp_path)).map(lambda n: (n % 3, n)).groupByKey(2).mapValues(len)
    (found,) = culprits_of(dbg, program.collect)
    assert [source.origin.line for source in found.sources] == [LAST + 1]
    run = dbg.runs[-1]
    stage = next(known.id for known in run.graph.stages if found.operator.id in known.operators)
    begun = time.monotonic()
    while not [*(dbg.store / run.id / stage).glob("p0.*.block")]:  # the killed one has written what it saw
        assert time.monotonic() < begun + 20
        time.sleep(0.05)
    run.lineage.store.forget(run.id)
    assert run.lineage.store.partitions([run.id], stage) == [1]
