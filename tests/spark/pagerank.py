"""PageRank as Spark's own example computes it, and in plain Python with the lines behind each rank."""

from __future__ import annotations

from operator import add
from typing import Any

import pytest

ITERATIONS = 10
# A chain, where each iteration looks one page further back; a cycle, where rank goes round; a page that feeds both.
GRAPH = [
    *((f"c{i}", f"c{i + 1}") for i in range(14)), *((f"r{i}", f"r{(i + 1) % 4}") for i in range(4)),
    ("top", "c3"), ("top", "r0"), ("r2", "out"), ("c2", "c4"), ("top", "c3"),
]


def shares(entry: Any) -> list[tuple[str, float]]:
    _, (targets, rank) = entry
    return [(target, rank / len(targets)) for target in targets]


def pagerank(dbg: Any, lines: Any, iterations: int = ITERATIONS, skipped: Any = (), keep: Any = lambda i, ranks: None) -> list[Any]:
    """The ranks after each iteration, as Spark's own example computes them; ``keep`` sees each."""
    links = lines.map(lambda line: tuple(line.split())).groupByKey(2).mapValues(sorted).cache()
    found = [links.mapValues(lambda targets: 1.0)]

    def step(ranks: Any) -> Any:
        return links.join(ranks, 2).flatMap(shares).reduceByKey(add, 2).mapValues(lambda rank: 0.15 + 0.85 * rank)

    for i in range(1, iterations + 1):
        if i in skipped:
            with dbg.skip():
                found.append(step(found[-1]))
        else:
            found.append(step(found[-1]))
        keep(i, found[-1])
    return found


def meaning(edges: list[tuple[str, str]], iterations: int) -> dict[str, tuple[float, frozenset[int]]]:
    """By page: its rank, and the indices of the lines that it is computed from, in plain Python."""
    own: dict[str, list[int]] = {}
    for i, (page, _) in enumerate(edges):
        own.setdefault(page, []).append(i)
    state = {page: (1.0, frozenset(mine)) for page, mine in own.items()}
    for _ in range(iterations):
        following: dict[str, tuple[float, frozenset[int]]] = {}
        for page, mine in own.items():
            if page in state:
                rank, behind = state[page]
                for i in mine:
                    total, known = following.get(edges[i][1], (0.0, frozenset()))
                    following[edges[i][1]] = total + rank / len(mine), known | behind | frozenset(mine)
        state = {page: (0.15 + 0.85 * total, known) for page, (total, known) in following.items()}
    return state


def traces(result: Any, records: list[Any]) -> dict[str, list[int]]:
    """By page: the indices of the source records behind its rank."""
    everything = result.getLineage()
    rids = everything.rids().tolist()
    assert len(rids) == len(records)
    return {
        record[0]: [origin.index for origin in everything.at([rid]).goBackAll().origins()]
        for rid, record in zip(rids, records)
    }


def check(records: list[Any], found: dict[str, list[int]], iterations: int = ITERATIONS) -> None:
    expected = meaning(GRAPH, iterations)
    assert dict(records) == pytest.approx({page: rank for page, (rank, _) in expected.items()})
    assert found == {page: sorted(lines) for page, (_, lines) in expected.items()}


def source(dbg: Any, edges: list[tuple[str, str]] = GRAPH) -> Any:
    return dbg.context.parallelize([f"{a} {b}" for a, b in edges], 3)
