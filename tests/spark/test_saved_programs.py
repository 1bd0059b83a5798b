"""A saved run of an RDD program answers from mapped files what the live session answers from its blocks, both ways and step by step."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.errors import IncompleteLineageError, UnknownRecordError
from bigdebug.trace.places import rids_of
from bigdebug.trace.saved.places import standing_in
from tests.spark.fresh import fresh


class Odd:
    """A record that no plain value tells."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<odd {self.number}>"


def pairs(lc: Any, path: str) -> Any:
    return lc.textFile(path, 3).map(str.split).map(lambda words: (words[0], int(words[1])))


def twice(rdd: Any) -> Any:
    return rdd.union(rdd)


def with_itself(rdd: Any) -> Any:
    return rdd.join(rdd, 2)


PROGRAMS: dict[str, Callable[[Any, str], Any]] = {
    "words": lambda lc, path: lc.textFile(path, 3).flatMap(str.split).map(lambda w: (w, 1)).reduceByKey(add, 2),
    "filters": lambda lc, path: pairs(lc, path).filter(lambda kv: kv[1] % 3 == 0).map(lambda kv: kv[1]).filter(lambda n: n % 2),
    "join": lambda lc, path: pairs(lc, path).join(lc.parallelize([(f"k{i}", i) for i in range(4)], 2), 2).mapValues(sum),
    "self join": lambda lc, path: with_itself(pairs(lc, path).filter(lambda kv: kv[1] < 12)),
    "union, sort": lambda lc, path: pairs(lc, path).values().union(lc.parallelize(range(5), 2)).sortBy(lambda n: -n, numPartitions=2),
    "partitions": lambda lc, path: lc.textFile(path, 3).mapPartitions(lambda lines: [sum(1 for _ in lines)]).coalesce(2),
    "product": lambda lc, path: lc.parallelize(range(4), 2).cartesian(lc.parallelize("ab", 1)).zipWithIndex(),
    "subtract": lambda lc, path: pairs(lc, path).subtractByKey(lc.parallelize([("k1", 0)], 1), 2).groupByKey(2).mapValues(len),
    "unions": lambda lc, path: twice(lc.parallelize("ab", 2)).union(lc.parallelize(["x"], 1)).map(str.upper),
    "nothing": lambda lc, path: lc.textFile(path, 2).filter(lambda line: "zzz" in line).map(lambda line: (line, 1)).reduceByKey(add, 2),
}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_text("".join(f"k{i % 5} {i}\n" for i in range(40)))
    return str(path)


@pytest.fixture(scope="module")
def programs(dbg: Any, lines: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Each program with its run, and all of them saved."""
    found = {}
    for name, program in PROGRAMS.items():
        rdd = program(dbg.context, lines)
        with dbg.capture(name) as run:
            rdd.collect()
        found[name] = rdd, run.latest
    saved = dbg.save(tmp_path_factory.mktemp("saved") / "session", [run for _, run in found.values()])
    return found, bigdebug.open(saved)


def places(trace: Any) -> dict[int, list[int]]:
    return {operator: rids_of(trace.standing.get(operator, {})).tolist() for operator in trace.operators}


@pytest.mark.parametrize("name", PROGRAMS)
def test_mapped_lineage_answers_as_blocks_do(programs: Any, name: str) -> None:
    found, saved = programs
    live, mine = found[name][0].getLineage(), saved.lineage(name)
    assert saved.run(name).associated is not None, saved.run(name).unsaved
    assert mine.rids().tolist() == live.rids().tolist()
    assert mine.count() == live.count()
    for rid in live.rids().tolist()[:25]:
        here, there = mine.at([rid]), live.at([rid])
        assert places(here.goBackAll()) == places(there.goBackAll())
        assert list(map(str, here.goBackAll().origins())) == list(map(str, there.goBackAll().origins()))
        assert places(here.goBack()) == places(there.goBack())
        assert places(here.goBack(2)) == places(there.goBack(2))
    sources = live.goBackAll()
    for operator in sources.operators:
        for rid in rids_of(sources.standing.get(operator, {})).tolist()[:25]:
            there = sources[sources.run.graph[operator]].at([rid])
            here = saved.lineage(name, operator).at([rid])
            assert places(here.goNextAll()) == places(there.goNextAll())
            assert places(here.goNext()) == places(there.goNext())


def test_a_run_that_stopped_early_is_saved_as_far_as_it_went(dbg: Any, lines: str, tmp_path: Path) -> None:
    rdd = dbg.context.textFile(lines, 3).map(str.split).filter(lambda words: words[0] != "k0")
    with dbg.capture("few") as run:
        rdd.take(3)
    saved = bigdebug.open(dbg.save(tmp_path / "saved", run))
    live = rdd.getLineage()
    assert saved.lineage("few").rids().tolist() == live.rids().tolist()
    assert list(map(str, saved.lineage("few").goBackAll().origins())) == list(map(str, live.goBackAll().origins()))


def test_what_was_captured_lazily_is_derived_if_lineage_is_asked_for(dbg: Any, lines: str, tmp_path: Path) -> None:
    rdd = PROGRAMS["words"](dbg.context, lines)
    with dbg.capture("lazy", strategy="lazy") as run:
        rdd.collect()
    early = bigdebug.open(dbg.save(tmp_path / "early", run))
    assert "no lineage of partition" in early.run("lazy").unsaved
    with pytest.raises(IncompleteLineageError, match="lineage=True"):
        early.lineage("lazy").goBackAll().rids()
    late = dbg.save(tmp_path / "late", run, lineage=True)
    expected = rdd.getLineage().goBackAll().rids().tolist()
    assert bigdebug.open(late).lineage("lazy").goBackAll().rids().tolist() == expected


def test_results_are_saved_with_lineage_and_found_by_value(dbg: Any, lines: str, tmp_path: Path) -> None:
    rdd = PROGRAMS["words"](dbg.context, lines)
    with dbg.capture("results") as run:
        rdd.collect()
    saved = dbg.save(tmp_path / "saved", run, lineage=True)
    script = "odd = session.lineage('results').where(lambda r: r[0] == 'k3'); answer = [odd.collect(), [o.line for o in odd.goBackAll().origins()]]"
    assert fresh(saved, script) == [[["k3", 8]], [i + 1 for i in range(40) if i % 5 == 3]]
    assert bigdebug.open(saved).lineage("results").collect() == rdd.getLineage().collect()


def test_records_that_are_no_plain_values_are_texts_unless_trusted(dbg: Any, tmp_path: Path) -> None:
    rdd = dbg.context.parallelize([1, 2], 1).map(complex)
    with dbg.capture("complex") as run:
        rdd.collect()
    saved = dbg.save(tmp_path / "saved", run, lineage=True)
    assert list(map(repr, bigdebug.open(saved).lineage("complex").collect())) == ["(1+0j)", "(2+0j)"]
    assert bigdebug.open(saved, trusted=True).lineage("complex").collect() == [1 + 0j, 2 + 0j]


def test_a_line_leads_ahead_and_no_pickle_is_copied(dbg: Any, lines: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bigdebug.cli import main

    rdd = PROGRAMS["words"](dbg.context, lines)
    with dbg.capture("cli") as run:
        rdd.collect()
    with pytest.raises(Exception, match="division"), dbg.capture("crash") as crash:
        dbg.context.textFile(lines, 2).map(lambda line: 1 // (line != "k2 7")).count()
    assert len(crash.culprits) == 1
    saved = dbg.save(tmp_path / "saved", [run.latest, crash.latest], lineage=True)
    assert main(["trace", str(saved), "cli", "--line", "lines.txt:8"]) == 0
    out = capsys.readouterr().out
    assert "('k2', 8)" in out
    assert "('7', 1)" in out
    assert main(["culprits", str(saved)]) == 0
    assert "lines.txt:8" in capsys.readouterr().out
    assert {path.suffix for path in (saved / "blocks").rglob("*") if path.is_file()} <= {".block"}


READ_BY_THE_JVM: dict[str, Callable[[Any, str], Any]] = {
    "plain": lambda lc, path: lc.textFile(path, 2), "coalesced": lambda lc, path: lc.textFile(path, 3).coalesce(1).map(len),
    "united": lambda lc, path: lc.textFile(path, 2).union(lc.textFile(path, 3)).map(str.upper),
}


@pytest.mark.parametrize("name", READ_BY_THE_JVM)
def test_lines_that_the_jvm_alone_read_are_told_or_said_to_be_unknown(dbg: Any, lines: str, tmp_path: Path, name: str) -> None:
    with dbg.capture(name) as captured:
        (rdd := READ_BY_THE_JVM[name](dbg.context, lines)).collect()
    opened = bigdebug.open(dbg.save(tmp_path / "at rest", captured.latest))
    for ask in (lambda: opened.lineage(name).goBackAll().origins(), lambda: standing_in(opened.run(name), lines, line=40)):
        with pytest.raises(IncompleteLineageError, match=r"not (noted|known).*lineage=True|Nothing was noted.*lineage=True"):  # and never that it was not read
            ask()
    opened = bigdebug.open(dbg.save(tmp_path / "saved", captured.latest, lineage=True))
    assert opened.lineage(name).goBackAll().origins() == rdd.getLineage().goBackAll().origins()
    ahead = standing_in(opened.run(name), lines, line=40).goNextAll()
    assert len(set(ahead.collect())) == 1
    assert ahead.goBackAll().source_records()[0].record == "k4 39"
    with pytest.raises(UnknownRecordError, match="read no line 41"):
        standing_in(opened.run(name), lines, line=41)


def test_a_result_that_no_task_came_to_is_not_said_to_want_saving(dbg: Any, tmp_path: Path) -> None:
    failing = dbg.context.parallelize(range(10), 2).map(lambda n: (n % 3, 1 // (n % 5))).reduceByKey(add)
    with pytest.raises(Exception, match="ZeroDivisionError"), dbg.capture("failed") as captured:
        failing.collect()
    opened = bigdebug.open(dbg.save(tmp_path / "saved", captured.latest, lineage=True))
    assert "Ask from the sources on" in opened.run("failed").unsaved
    for trace in (opened.lineage("failed"), failing.getLineage()):
        with pytest.raises(IncompleteLineageError, match=r"no task came so far, or its blocks are gone.*Ask from the sources on; run.culprits"):
            trace.count()


def test_a_run_whose_input_cannot_be_read_keeps_no_other_from_being_saved(dbg: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{n}\n" for n in range(6)))
    with dbg.capture("good"):
        dbg.context.textFile(str(tmp_path / "in.txt"), 2).map(str.upper).saveAsTextFile(str(tmp_path / "good"))
    with next((tmp_path / "good").glob("part-*0")).open("a") as part:
        part.write("x\n")  # which its checksum does not fit any more
    with dbg.capture("bad"), pytest.raises(Exception, match="Checksum"):
        dbg.context.textFile(str(tmp_path / "good"), 2).map(str.lower).collect()
    dbg.save(str(tmp_path / "saved"), lineage=True)
    saved = bigdebug.open(str(tmp_path / "saved"))
    assert [origin.line for origin in saved.lineage("good").goBackAll().origins()] == [1, 2, 3, 4, 5, 6]
    assert "Job aborted" in saved.run("bad").unsaved  # Spark says of what, or that the worker ended that was given the records
