"""The graph that is read at once says what questions asked step by step say, and what was read is kept only while it is still so."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Process
from bigdebug.datasets.naming import of_path, of_session, of_table
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.remembering import everything, is_held
from bigdebug.datasets.store import DatasetStore
from bigdebug.errors import BigdebugError

BEGAN = datetime(2026, 11, 27, tzinfo=timezone.utc)
# Directories and parts of them, tables that stand on them, views, caches, results of queries.
POOL = [
    *(of_path(f"/d{i}") for i in range(6)), of_path("/d0/day=1"), of_path("/d0/day=2"), of_table("shop.t", "file:/w", "file:/d1"),
    *(Dataset("spark:app", f"v{i}", "view") for i in range(2)), Dataset("spark:app", "c", "cache"),
    *(of_session("app", f"result {i}", "memory") for i in range(2)), Dataset("spark:app", "<script>alert(1)</script>", "memory"),
]
COLUMNS = ["a", "b", "שם", ""]
HOWS = ["IDENTITY", "TRANSFORMATION", "AGGREGATION", "JOIN", "FILTER"]


@st.composite
def histories(draw: Any) -> list[Process]:
    """Processes that read and write a few datasets: in circles, diamonds, fans; they rename, define and fill, and of some no columns are known."""
    some = st.lists(st.sampled_from(POOL), max_size=3, unique=True)
    found = []
    for number in range(draw(st.integers(1, 14))):
        reads, writes = draw(some), draw(some)
        mode = draw(st.sampled_from(["overwritten", "overwritten", "appended", "defined", "renamed", "created"]))
        pairs = [(far, near) for far in writes for near in reads]
        edge = st.tuples(st.sampled_from(pairs), st.sampled_from(COLUMNS), st.sampled_from(COLUMNS[:3]), st.sampled_from(HOWS)) if pairs else st.nothing()
        edges = draw(st.lists(edge, max_size=8)) if pairs and mode != "renamed" else []
        found.append(process(number, draw(st.sampled_from("xyz")), reads, writes, [(far, column, near, used, how) for (far, near), column, used, how in edges], mode))
    return found


def process(number: int, job: str, reads: list[Dataset], writes: list[Dataset], edges: list[Any], mode: str = "overwritten") -> Process:
    return Process(
        f"p{number}", job, "write", "app", BEGAN, BEGAN, "succeeded", reads=tuple(Access(each) for each in reads), writes=tuple(Access(each, mode) for each in writes),
        columns=tuple(ColumnEdge(*edge) for edge in edges),
    )


def answers(store: DatasetStore, datasets: list[Dataset]) -> list[Any]:
    """What each question says of some datasets and their columns; rows that are as near are in no order."""
    asked, found = Datasets(store, "app"), []
    for dataset in datasets:
        for column in (None, *COLUMNS[:2]):
            for ask in (asked.upstream, asked.downstream, *([] if column is None else [asked.impact])):
                try:
                    answer = ask(dataset, *([] if column is None else [column]))
                except BigdebugError as problem:
                    found.append(str(problem))
                    continue
                steps = answer.column("steps")
                assert steps == sorted(steps) or ask == asked.impact
                found.append((answer.title, sorted(map(repr, map(plain, answer.rows))), answer.notes))
        try:
            drawn = asked.drawn(dataset)
            found.append((drawn.left, sorted(repr(replace(node, layer=0, place=0)) for node in drawn.nodes)))
        except BigdebugError as problem:
            found.append(str(problem))
    return found


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(value) if isinstance(value, tuple) else value for value in row)


def patched(patch: pytest.MonkeyPatch, few: int) -> None:
    """Have walks of more than so many steps read the graph at once."""
    patch.setattr("bigdebug.datasets.steps.FAR", few)
    patch.setattr("bigdebug.datasets.impact.FAR", few)
    patch.setattr("bigdebug.datasets.graph._MANY", few)


@settings(max_examples=12, deadline=None)
@given(histories(), st.integers(0, 3), st.sampled_from([0, 32]), st.data())
def test_the_graph_that_is_read_at_once_answers_as_questions_do(tmp_path_factory: pytest.TempPathFactory, given: list[Process], far: int, few: int, data: Any) -> None:
    place = tmp_path_factory.mktemp("s")
    near, once = DatasetStore(place / "near.sqlite"), DatasetStore(place / "once.sqlite")
    cut = data.draw(st.integers(0, len(given)))
    there = sorted({access.dataset for each in given for access in (*each.reads, *each.writes)}, key=str)
    some = data.draw(st.lists(st.sampled_from(there), max_size=3, unique=True)) if there else []
    for part in (given[:cut], given[cut:]):
        near.record(*part)
        once.record(*part)
        right = answers(near, some)
        with pytest.MonkeyPatch.context() as patch:
            patched(patch, far)
            patch.setattr("bigdebug.datasets.everything._FEW", few)
            assert answers(once, some) == right
            assert answers(once, some) == right
    with near.reading() as db:
        assert not is_held(db)
    near.close()
    once.close()


def test_what_was_read_is_kept_until_anybody_writes(tmp_path: Path) -> None:
    store, other = DatasetStore(tmp_path / "s.sqlite"), DatasetStore(tmp_path / "s.sqlite")
    store.record(chain(0))
    held = []
    for write in (lambda: None, lambda: store.record(chain(1)), lambda: other.record(chain(2)), lambda: None, lambda: other.record(chain(2))):
        write()
        with store.reading() as db:
            held.append(is_held(db))
            assert len(everything(db).edges) == db.execute("SELECT COUNT(*) FROM edge").fetchone()[0]
            assert everything(db) is everything(db)
            assert is_held(db)
    assert held == [False, False, False, True, False]
    store.close()
    other.close()


def chain(number: int) -> Process:
    near, far = of_path(f"/step{number}"), of_path(f"/step{number + 1}")
    return process(number, f"j{number}", [near], [far], [(far, "a", near, "a", "IDENTITY"), (far, "", near, "key", "JOIN"), (far, "key", near, "key", "IDENTITY")])


def test_a_chain_goes_as_far_however_long_it_is(tmp_path: Path) -> None:
    store = DatasetStore(tmp_path / "s.sqlite")
    places = [of_path(f"/step{number}") for number in range(1_201)]
    store.record(*(chain(number) for number, _ in enumerate(pairwise(places))))
    asked = Datasets(store)
    for _ in range(2):
        assert asked.upstream("/step1200", limit=2_000).column("steps") == list(range(1, 1_201))
        assert asked.downstream("/step0", limit=2_000).column("steps") == list(range(1, 1_201))
        assert len(asked.upstream("/step1200", "a", 10_000)) == 2 * 1_200
        assert asked.downstream("/step0", "a", 10_000).column("steps") == list(range(1, 1_201))
        assert len(asked.downstream("/step0", "key", 10_000)) == 2 * 1_200
        assert len(asked.impact("/step0", "a", 10_000)) == 2 * 1_200
    result = of_session("app", "result 1", "memory")
    store.record(process(9_999, "look", [places[-1]], [result], [(result, "a", places[-1], "a", "IDENTITY")]))
    said = "1 query used it, too, and wrote nothing."
    assert said in asked.downstream("/step0").notes
    assert said in asked.downstream("/step0", "a").notes
    assert said not in asked.downstream("/step0", "key").notes
    store.close()
