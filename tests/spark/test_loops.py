"""Iterative programs (T13): a trace passes back through all iterations exactly, and its lineage does not grow with them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.spark.pagerank import GRAPH, ITERATIONS, check, meaning, pagerank, source, traces


@pytest.fixture(scope="module", autouse=True)
def checkpoints(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    spark.sparkContext.setCheckpointDir(str(tmp_path_factory.mktemp("checkpoints")))


@pytest.mark.many
@pytest.mark.parametrize("strategy", ["auto", "lazy"])
def test_a_rank_goes_back_through_ten_iterations_exactly(dbg: Any, strategy: str) -> None:
    lines = source(dbg)
    result = pagerank(dbg, lines)[-1]
    with dbg.capture("pagerank", strategy=strategy) as run:
        records = result.collect()
    assert (run.status, run.incomplete) == ("succeeded", ())
    found = traces(result, records)
    check(records, found)
    # The chain tells how far back ten iterations look, so not everything leads everywhere.
    assert {GRAPH[i][0] for i in found["c13"]} == {f"c{i}" for i in range(2, 13)}
    assert len({tuple(lines) for lines in found.values()}) > 4
    ahead = lines.getLineage()
    pages = dict(zip(result.getLineage().rids().tolist(), (page for page, _ in records)))
    for index, rid in enumerate(ahead.rids().tolist()):
        reached = {pages[out] for out in ahead.at([rid]).goNextAll().rids().tolist()}
        assert reached == {page for page, behind in found.items() if index in behind}


def test_a_trace_can_stop_at_any_iteration(dbg: Any) -> None:
    ranks = pagerank(dbg, source(dbg))
    with dbg.capture("stops"):
        records = ranks[-1].collect()
    everything = ranks[-1].getLineage()
    one = everything.at([everything.rids().tolist()[[page for page, _ in records].index("c13")]])
    for i in (1, 5, 8):
        behind = one.back_to(ranks[-1 - i])
        assert [page for page, _ in behind.collect()] == [f"c{13 - i}"]
        there = meaning(GRAPH, ITERATIONS - i)[f"c{13 - i}"][1]
        assert [origin.index for origin in behind.goBackAll().origins()] == sorted(there)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("skipped", "strategy"), [([1, 10], "inject"), ([2, 3, 4, 7], "lazy"), (range(1, 11), "auto")], ids=str
)
def test_skipped_iterations_keep_no_tables_and_traces_stay_the_same(dbg: Any, skipped: Any, strategy: str) -> None:
    result = pagerank(dbg, source(dbg), skipped=skipped)[-1]
    with dbg.capture("skipped", strategy=strategy) as run:
        records = result.collect()
    assert run.incomplete == ()
    check(records, traces(result, records))


def bytes_by_iteration(run: Any, ranks: list[Any]) -> list[int]:
    """Bytes of lineage of the stages that end in each iteration; they are told apart by the operators they run."""
    ends = [rank._definition.operator.id for rank in ranks]
    taken = [0] * len(ranks)
    stages = {stage.id: stage for stage in run.graph.stages}
    for known in run.statistics.stages:
        last = max([*known.operators, stages[known.stage].reads])
        taken[next((i for i, end in enumerate(ends) if last <= end), len(ends) - 1)] += known.bytes
    assert sum(taken) == run.statistics.bytes
    return taken


@pytest.mark.slow
def test_lineage_takes_the_same_for_each_iteration_and_less_where_it_is_skipped(dbg: Any) -> None:
    drawn = random.Random(7)
    pages = [f"p{i}" for i in range(300)]
    edges = [(page, target) for page in pages for target in drawn.sample(pages, 6)]
    edges += [(pages[i - 1], pages[i]) for i in range(300)]  # each page is linked to, so none drops out
    whole = pagerank(dbg, source(dbg, edges))
    with dbg.capture("whole") as run:
        whole[-1].count()
    taken = bytes_by_iteration(run, whole)[1:]
    assert min(taken) > 1000
    assert max(taken[1:]) < 1.3 * min(taken[1:])
    some = pagerank(dbg, source(dbg, edges), skipped=range(3, 9))
    with dbg.capture("some") as run:
        some[-1].count()
    less = bytes_by_iteration(run, some)[1:]
    assert max(less[i - 1] for i in range(3, 9)) < 0.7 * min(taken)


def cached(i: int, ranks: Any) -> None:
    ranks.cache().count()


def checkpointed(i: int, ranks: Any) -> None:
    if i % 3 == 0:
        ranks.checkpoint()
        ranks.count()


def locally_checkpointed(i: int, ranks: Any) -> None:
    if i % 4 == 0:
        ranks.localCheckpoint()
        ranks.count()


@pytest.mark.many
@pytest.mark.parametrize("captured", ["all of the loop", "its result only"])
@pytest.mark.parametrize("keep", [cached, checkpointed, locally_checkpointed])
def test_a_trace_passes_through_what_a_loop_caches_or_checkpoints(dbg: Any, keep: Any, captured: str) -> None:
    def loop() -> Any:
        return pagerank(dbg, source(dbg), 6, keep=keep)[-1]

    if captured == "all of the loop":
        with dbg.capture("kept"):
            result = loop()
            records = result.collect()
    else:
        result = loop()
        with dbg.capture("kept"):
            records = result.collect()
    check(records, traces(result, records), 6)


def test_a_trace_survives_that_a_loop_unpersists_what_it_no_longer_needs(dbg: Any) -> None:
    kept: list[Any] = []

    def keep(i: int, ranks: Any) -> None:
        kept.append(ranks.cache())
        ranks.count()
        if len(kept) > 1:
            kept.pop(0).unpersist(True)

    with dbg.capture("unpersisted"):
        result = pagerank(dbg, source(dbg), 6, keep=keep)[-1]
        records = result.collect()
    check(records, traces(result, records), 6)


# ---- k-means ------------------------------------------------------------------------------------------------------


def nearest(x: float, centers: list[float]) -> int:
    return min(range(len(centers)), key=lambda c: (abs(x - centers[c]), c))


POINTS = [float((i * 37) % 101) for i in range(80)]


def kmeans(dbg: Any, path: Path, strategy: str) -> list[tuple[Any, list[Any], list[float]]]:
    """Of each iteration: its sums as an RDD, what was collected, and the centers that it began with."""
    path.write_text("".join(f"{x}\n" for x in POINTS))
    points = dbg.context.textFile(str(path), 3).map(float).cache()
    centers, found = [0.0, 1.0, 2.0], []
    for _ in range(5):
        shared = dbg.context.broadcast(centers)
        # As one should write it in a loop: the function holds its own broadcast.
        sums = points.map(lambda x, shared=shared: (nearest(x, shared.value), (x, 1))).reduceByKey(
            lambda a, b: (a[0] + b[0], a[1] + b[1]), 2
        )
        with dbg.capture("k-means", strategy=strategy):
            records = sums.collect()
        found.append((sums, records, centers))
        centers = [total / count for _, (total, count) in sorted(records)]
    return found


@pytest.mark.many
@pytest.mark.parametrize("strategy", ["auto", "lazy"])
def test_each_iteration_of_k_means_goes_back_to_the_points_of_each_cluster(dbg: Any, tmp_path: Path, strategy: str) -> None:
    iterations = kmeans(dbg, tmp_path / "points.txt", strategy)
    assert len({tuple(centers) for _, _, centers in iterations}) > 2
    for sums, records, centers in iterations:
        everything = sums.getLineage()
        for rid, (cluster, (total, count)) in zip(everything.rids().tolist(), records):
            behind = everything.at([rid]).goBackAll()
            numbers = [i for i, x in enumerate(POINTS, 1) if nearest(x, centers) == cluster]
            assert [origin.line for origin in behind.origins()] == numbers
            assert (sum(map(float, behind.collect())), behind.count()) == (total, count)
        wrong = everything.where(lambda kv: kv[1][1] > 20)
        assert [kv for kv in records if kv[1][1] > 20] == wrong.collect()
        assert sorted(everything.replay().collect()) == sorted(records)


def test_a_variable_that_has_moved_on_changes_nothing_that_is_asked_about_the_run(dbg: Any) -> None:
    state = {"factor": 2}
    result = dbg.context.parallelize(range(6), 2).map(lambda x: x * state["factor"]).map(lambda x: (x % 2, x))
    with dbg.capture("late"):
        records = result.collect()
    state["factor"] = 3
    assert result.getLineage().collect() == records
    assert result.getLineage().replay().collect() == records
    assert [origin.index for origin in result.getLineage().goBackAll().origins()] == list(range(6))
