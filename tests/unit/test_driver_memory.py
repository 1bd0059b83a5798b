"""The memory of the driver while it is asked about lineage: bounded by settings, not by how much lineage there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bigdebug.graph import Emission, Form, Kind, Operator, OperatorGraph, Segment, Stage
from bigdebug.store.blocks import Block, write_block
from bigdebug.store.directory import LineageStore
from bigdebug.trace.held import MOST_BYTES
from bigdebug.trace.run import Run
from tests.conftest import ROOT

BOUND = 32 << 20
"""Bytes of blocks that are kept in these tests (BIGDEBUG_MEMORY)."""

ASKED = """
import gc, sys, numpy as np
from pathlib import Path
from tests.unit.test_driver_memory import counted_by_key
from bigdebug.trace.trace import Trace, all_records

def resident(name):
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0]) * 1024

def measured(run, partitions):
    sources = Trace(run, [1], lambda: all_records(run, 1))
    outputs = Trace(run, [3], lambda: all_records(run, 3))
    some = outputs.at([7 | 3 << 40]).goBackAll()
    odd = Trace(run, [3], lambda: {3: {p: outputs.places[p][1::2] for p in range(partitions)}}).goBackAll()
    return some.count(), outputs.goBackAll().count(), odd.count(), sources.goNextAll().count(), Trace(run, [1], lambda: odd.standing).goNextAll().count()

run = counted_by_key(Path(sys.argv[1]), int(sys.argv[2]))
gc.collect()
Path("/proc/self/clear_refs").write_text("5")
before = resident("RssAnon")
found = measured(run, int(sys.argv[2]))
print(resident("VmHWM") - resident("RssFile") - before, *found)
"""


def counted_by_key(root: Path, partitions: int) -> Run:
    """The run whose blocks ``write`` wrote."""
    graph = OperatorGraph(
        [
            Operator(1, "range", Kind.SOURCE, Form.SOURCE, (), partitions), Operator(2, "map", Kind.DISPATCHER, Form.ONE_TO_ONE, (1,), partitions),
            Operator(3, "reduceByKey", Kind.AGGREGATOR, Form.CODES, (2,), partitions),
        ],
        [3],
        [
            Stage("s1", 1, (Segment((2,), Form.ONE_TO_ONE),), Emission.COMBINED, feeds=3),
            Stage("s0", 3, (Segment((3,), Form.CODES),), Emission.RECORDS, fetches=True),
        ],
    )
    computed = {stage: dict.fromkeys(range(partitions), 0) for stage in ("s0", "s1")}
    return Run("r1", "sums", "count", "succeeded", 3, graph, store=LineageStore(root), computed=computed)


def write(root: Path, partitions: int, records: int) -> None:
    """Blocks of a run that adds so many records in each of so many partitions up by key, ten to a key anywhere, as agents note it."""
    drawn = np.random.default_rng(4)
    keys_of = drawn.permutation(np.repeat(np.arange(partitions * records // 10, dtype=np.int64), 10)).reshape(partitions, records)
    arrived: list[list[np.ndarray]] = [[] for _ in range(partitions)]
    for partition, keys in enumerate(keys_of):
        known, codes = np.unique(keys, return_inverse=True)
        targets = known % partitions
        write_block(str(root), "r1", Block("s1", partition, 0, (records, records), 0, {"out.codes": codes.astype(np.uint32), "out.targets": targets.astype(np.uint32)}))
        for target in range(partitions):
            arrived[target].append(known[targets == target])
    for target, runs in enumerate(arrived):
        known, codes = np.unique(np.concatenate(runs), return_inverse=True)
        counts = np.array([len(keys) for keys in runs])
        nothing = np.zeros(len(runs), np.uint8)
        columns = {"runs.branch": nothing, "runs.partition": np.arange(len(runs)), "runs.start": nothing, "runs.count": counts, "segment0.codes": codes.astype(np.uint32)}
        write_block(str(root), "r1", Block("s0", target, 0, (len(codes), len(known)), 0, columns))


def growth(folder: Path, partitions: int, records: int) -> tuple[int, list[int]]:
    """Bytes that questions took in a process of its own, and what they found."""
    write(folder / "store", partitions, records)
    environment = {"BIGDEBUG_MEMORY": str(BOUND), "PYTHONPATH": str(ROOT), "PATH": "", "TMPDIR": str(folder), "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", ASKED, str(folder / "store"), str(partitions)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    taken, *found = map(int, done.stdout.split())
    return taken, found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_questions_take_of_the_driver_does_not_grow_with_the_lineage(tmp_path: Path) -> None:
    """Ten million associations, in four times as many partitions as two and a half million: whole traces both ways."""
    taken = {}
    for partitions in (32, 128):
        taken[partitions], found = growth(tmp_path / str(partitions), partitions, 80_000)
        every = partitions * 80_000
        assert found[:2] == [10, every]
        assert found[2] == pytest.approx(every / 2, rel=0.01)
        assert found[3] == every // 10
        assert found[4] == pytest.approx(every // 20, rel=0.01)
    # Blocks, the positions of the few steps that a trace holds at once, and what a partition takes meanwhile.
    assert max(taken.values()) < BOUND + 4 * MOST_BYTES + (64 << 20)
    assert taken[128] < taken[32] + 4 * MOST_BYTES
