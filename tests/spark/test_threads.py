"""Several threads in one session: captured jobs, traces, and one of either that is cancelled while the others go on (issue 10)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark import InheritableThread

from tests.left import nothing_left
from tests.operations import FRAMES, LINES, SEVENS, counted, frame_captured, frame_program, program, ran, traced_back

ROUNDS = 3
PATIENCE = 60.0


def held_up(folder: Path) -> Callable[[str], str]:
    """Passes on what it is given; as long as there is a file ``slow``, a record takes a while, and the first one leaves a file ``begun``."""

    def passing(line: str) -> str:
        if (folder / "slow").exists():
            (folder / "begun").touch()
            time.sleep(0.2)
        return line

    return passing


def begun(folder: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not (folder / "begun").exists():
        assert time.monotonic() < end
        time.sleep(0.02)


class Threads:
    """Threads that are joined at the end, with what each gave or raised."""

    def __init__(self) -> None:
        self._running: list[Any] = []
        self.gave: dict[str, Any] = {}

    def start(self, name: str, work: Callable[[], Any]) -> None:
        def run() -> None:
            try:
                self.gave[name] = work()
            except BaseException as problem:
                self.gave[name] = problem

        thread = InheritableThread(target=run, name=name, daemon=True)
        self._running.append(thread)
        thread.start()

    def join(self) -> None:
        for thread in self._running:
            thread.join(PATIENCE)
        self._running.clear()


def slow(dbg: Any, folder: Path) -> Any:
    path = folder / "slow.txt"
    if not path.exists():
        path.write_text("".join(f"{line}\n" for line in LINES))
    return dbg.context.textFile(str(path), 2).map(held_up(folder)).map(lambda line: (line.split()[0], 1)).groupByKey(2).mapValues(len)


def captured(dbg: Any, folder: Path, name: str) -> Callable[[], Any]:
    def work() -> Any:
        found = []
        own = folder / name
        own.mkdir()
        for turn in range(ROUNDS):
            made = program(dbg, own)
            with dbg.capture(f"{name} {turn}") as capture:
                rows = sorted(made.result.collect())
            found.append((rows == counted(LINES), traced_back(made) == SEVENS, [run.name for run in capture.runs], capture.runs[0].status))
        return found

    return work


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a captured job", "a trace"])
def test_one_that_is_cancelled_disturbs_no_other(dbg: Any, tmp_path: Path, untold: None, what: str) -> None:
    threads, sc = Threads(), dbg.plain_context
    earlier = ran("lazy")(dbg, tmp_path)
    kept = slow(dbg, tmp_path)
    with dbg.capture("kept", strategy="lazy"):
        expected = sorted(kept.collect())
    lines = sorted(kept.getLineage().where(lambda pair: pair[0] == "7").goBackAll().rids().tolist())
    asked = slow(dbg, tmp_path)
    with dbg.capture("asked", strategy="lazy"):
        asked.collect()
    with nothing_left(dbg):
        (tmp_path / "slow").touch()

        def job() -> Any:
            sc.addJobTag("cancelled")
            with dbg.capture("slow"):
                return slow(dbg, tmp_path).collect()

        def trace() -> Any:
            sc.addJobTag("cancelled")
            return asked.getLineage().where(lambda pair: pair[0] == "7").goBackAll().rids()

        threads.start("cancelled", job if what == "a captured job" else trace)
        begun(tmp_path)
        for name in ("one", "two"):
            threads.start(name, captured(dbg, tmp_path, name))
        threads.start("tracing", lambda: [traced_back(earlier) == SEVENS for _ in range(ROUNDS)])
        threads.start("rows", lambda: frame_captured(frame_program(dbg, tmp_path)) == FRAMES[0].expected)
        time.sleep(0.5)
        sc.cancelJobsWithTag("cancelled")
        (tmp_path / "slow").unlink()
        threads.join()
        assert "SPARK_JOB_CANCELLED" in str(threads.gave["cancelled"])
        for name in ("one", "two"):
            assert threads.gave[name] == [(True, True, [f"{name} {turn}"], "succeeded") for turn in range(ROUNDS)]
        assert threads.gave["tracing"] == [True] * ROUNDS
        assert threads.gave["rows"] is True
        assert sorted(kept.collect()) == expected
        assert sorted(asked.getLineage().where(lambda pair: pair[0] == "7").goBackAll().rids().tolist()) == lines


def test_what_one_thread_skips_is_no_other_threads_and_ends_with_its_block(dbg: Any) -> None:
    threads, first, second, ended = Threads(), Event(), Event(), Event()

    def skips() -> bool:
        return "skipped" in dbg.context.parallelize([1], 1).map(str)._definition.operator.detail

    def one() -> list[bool]:
        with dbg.skip():
            first.set()
            assert second.wait(PATIENCE)
            within = skips()
        ended.set()
        return [within, skips()]

    def other() -> list[bool]:
        assert first.wait(PATIENCE)
        before = skips()
        with dbg.skip():
            second.set()
            assert ended.wait(PATIENCE)
            within = skips()
        return [before, within, skips()]

    threads.start("one", one)
    threads.start("other", other)
    threads.join()
    assert threads.gave == {"one": [True, False], "other": [False, True, False]}
    assert not skips()
