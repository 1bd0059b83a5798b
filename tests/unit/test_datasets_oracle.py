"""What is upstream and downstream, against an oracle: all that processes did, gone through one by one, without flows, tables, or SQL."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Process
from bigdebug.datasets.naming import of_path, of_session, of_table
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.datasets.uses import DIRECT, FILTER, IDENTITY, JOIN, UNKNOWN
from bigdebug.errors import UnknownColumnError

BEGAN = datetime(2026, 11, 27, tzinfo=timezone.utc)
# Roots and what is below them, tables that stand on files, views, caches, results of queries.
POOL = [
    *(of_path(f"/d{i}") for i in range(4)), of_path("/d0/day=1"), of_path("/d0/day=2"), of_path("/"), of_path("s3://b/"), of_path("s3://b/k"),
    of_table("shop.t", "file:/w", "file:/d1"), of_table("shop.u", "file:/w", "file:/d0/day=1"), of_table("shop.n", "file:/w"),
    *(Dataset("spark:app", f"v{i}", "view") for i in range(2)), Dataset("spark:app", "c", "cache"), *(of_session("app", f"result {i}", "memory") for i in range(2)),
]
COLUMNS = ["a", "b", "c"]
HOWS = [*DIRECT, JOIN, FILTER]

Column = tuple[Dataset, str]


@st.composite
def histories(draw: Any) -> list[Process]:
    """What was told, in order: some processes are told again, otherwise, as a stream is that goes on."""
    some = st.lists(st.sampled_from(POOL), max_size=3, unique=True)
    found = []
    for number in range(draw(st.integers(1, 10))):
        reads, writes = draw(some), draw(some)
        mode = draw(st.sampled_from(["overwritten", "overwritten", "appended", "defined", "renamed", "created", "dropped"]))
        edges: list[ColumnEdge] = []
        if reads and writes and mode not in ("renamed", "dropped"):
            ends = st.tuples(st.sampled_from(writes), st.sampled_from([*COLUMNS, ""]), st.sampled_from(reads), st.sampled_from(COLUMNS), st.sampled_from(HOWS))
            edges = [ColumnEdge(*edge) for edge in draw(st.lists(ends, max_size=6))]
        found.append(Process(
            f"p{draw(st.integers(0, number))}", draw(st.sampled_from("xyz")), "write", "app", BEGAN + timedelta(minutes=number), None, "succeeded",
            reads=() if mode == "dropped" else tuple(map(Access, reads)), writes=tuple(Access(each, mode) for each in writes), columns=tuple(edges),
        ))
    return found


class Oracle:
    """What is so after all that was told: of each process the last."""

    def __init__(self, told: list[Process]) -> None:
        self.processes = list({process.id: process for process in told}.values())
        self.datasets = list(dict.fromkeys(access.dataset for process in told for access in (*process.reads, *process.writes)))

    def datasets_of(self, start: Dataset, upstream: bool) -> dict[str, int]:
        steps, found, rest = {start: 0}, set(), deque([start])
        while rest:
            here = rest.popleft()
            for far in set(self._beside(here, upstream)) if here == start or not self._ends(here) else ():
                found.add(far)
                if far not in steps:
                    steps[far] = steps[here] + 1
                    rest.append(far)
        return {str(each): steps[each] for each in found}

    def columns_of(self, start: Dataset, column: str, upstream: bool) -> dict[tuple[str, str], tuple[int, set[str]]]:
        seen = {(start, column, IDENTITY)}
        standing = list(seen)
        found: dict[Column, tuple[int, set[str]]] = {}
        steps = 0
        while standing:
            steps += 1
            reached = set()
            for here, name, so_far in standing:
                for far, other, how in set(self._steps(here, name, upstream)) if steps == 1 or not self._ends(here) else ():
                    reached.add((far, other, _over(how, so_far) if upstream else _over(so_far, how)))
            standing = list(reached - seen)
            seen |= reached
            for far, other, how in standing:
                found.setdefault((far, other), (steps, set()))[1].add(how)
        found.pop((start, column), None)
        return {(str(dataset), name or "(all columns)"): told for (dataset, name), told in found.items()}

    def _beside(self, here: Dataset, upstream: bool) -> Iterator[Dataset]:
        for process in self.processes:
            near, far = (process.writes, process.reads) if upstream else (process.reads, process.writes)
            if any(_touch(access.dataset, here) for access in near):
                yield from (access.dataset for access in far if upstream or not _is_result(access.dataset))

    def _steps(self, here: Dataset, name: str, upstream: bool) -> Iterator[tuple[Dataset, str, str]]:
        for process in self.processes:
            if process.columns:
                for edge in process.columns:
                    if upstream and _touch(edge.output, here) and (not name or edge.column in (name, "")):
                        yield edge.input, edge.used, edge.how
                    if not upstream and _touch(edge.input, here) and name in ("", edge.used) and not _is_result(edge.output):
                        yield edge.output, edge.column, edge.how
                continue
            near, far = (process.writes, process.reads) if upstream else (process.reads, process.writes)
            for access in far if any(_touch(access.dataset, here) for access in near) else ():
                if upstream or not _is_result(access.dataset):
                    renamed = any(each.mode == "renamed" for each in process.writes)
                    yield access.dataset, name if renamed else "", IDENTITY if renamed else UNKNOWN

    def _ends(self, dataset: Dataset) -> bool:
        modes = {access.mode for process in self.processes for access in process.writes if access.dataset == dataset}
        return dataset.kind == "cache" or (dataset.kind == "view" and "defined" in modes and not modes & {"appended", "overwritten", "created", "written"})


def _touch(one: Dataset, other: Dataset) -> bool:
    """Whether they are the same files, or some of them."""
    here, there = ((each.location or (str(each) if each.kind == "files" else "")).rstrip("/") for each in (one, other))
    return one == other or bool(here and there and (f"{here}/".startswith(f"{there}/") or f"{there}/".startswith(f"{here}/")))


def _is_result(dataset: Dataset) -> bool:
    return dataset.name.startswith("result ")


def _over(first: str, then: str) -> str:
    if UNKNOWN in (first, then):
        return UNKNOWN
    if first not in DIRECT:
        return first
    return then if then not in DIRECT else max(first, then, key=DIRECT.index)


@settings(max_examples=25, deadline=None)
@given(histories())
def test_what_is_reached_is_what_was_done(tmp_path_factory: pytest.TempPathFactory, given: list[Process]) -> None:
    store, oracle = DatasetStore(tmp_path_factory.mktemp("s") / "s.sqlite"), Oracle(given)
    for process in given:
        store.record(process)
    asked = Datasets(store, "app")
    for dataset in oracle.datasets:
        for upstream, ask in ((True, asked.upstream), (False, asked.downstream)):
            assert {row["dataset"]: row["steps"] for row in ask(dataset)} == oracle.datasets_of(dataset, upstream)
            for column in COLUMNS:
                try:
                    answer = ask(dataset, column)
                except UnknownColumnError:
                    continue
                found = {(row["dataset"], row["column"]): (row["steps"], set(row["how"].split(", "))) for row in answer}
                right = {key: (steps, {how.lower() for how in hows}) for key, (steps, hows) in oracle.columns_of(dataset, column, upstream).items()}
                if upstream:
                    assert found == right
                    continue
                # Downstream a column is not said to be decided over if all of its dataset is; what goes into it by value is told of each.
                assert {name for name, _ in found} == {name for name, _ in right}
                for key, (steps, hows) in found.items():
                    assert steps >= right[key][0]
                    assert hows <= right[key][1]
                for key, (_, hows) in right.items():
                    values = hows & {how.lower() for how in DIRECT}
                    assert values == (found[key][1] if key in found else set()) & {how.lower() for how in DIRECT}
                    assert key in found or (key[0], "(all columns)") in found
    store.close()


@pytest.mark.parametrize("root_first", [True, False])
def test_who_reads_a_root_reads_what_is_below_it(tmp_path: Path, root_first: bool) -> None:
    root, below, out = of_path("s3a://lake/"), of_path("s3a://lake/raw/orders"), of_path("/out")
    done = [
        Process("p1", "reads all", "write", "app", BEGAN, reads=(Access(root),), writes=(Access(out, "overwritten"),)),
        Process("p2", "writes one", "write", "app", BEGAN, reads=(Access(of_path("/in")),), writes=(Access(below, "overwritten"),)),
    ]
    store = DatasetStore(tmp_path / "s.sqlite")
    for process in done if root_first else reversed(done):
        store.record(process)
    assert Datasets(store).upstream("/out").column("dataset") == ["s3://lake/", "file:/in"]
    store.close()


def test_edges_of_a_process_that_is_told_otherwise_are_gone(tmp_path: Path) -> None:
    one, other, out = of_path("/one"), of_path("/other"), of_path("/out")
    store = DatasetStore(tmp_path / "s.sqlite")
    for status, source in (("running", one), ("succeeded", other)):
        store.record(Process(
            "p1", "stream", "stream", "app", BEGAN, status=status, reads=(Access(source),), writes=(Access(out, "appended"),),
            columns=(ColumnEdge(out, "k", source, "k", IDENTITY),),
        ))
    asked = Datasets(store)
    assert asked.upstream("/out", "k").column("dataset") == ["file:/other"]
    assert asked.upstream("/out").column("dataset") == ["file:/other"]
    store.close()
