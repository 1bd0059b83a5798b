"""Paths between two items: all of them, exactly counted, the shortest first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import ProvenanceError, TooLargeError, UnknownItemError
from bigdebug.provgraph import walking
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.paths import paths
from tests.laws.graphs import graphs
from tests.laws.graphs import paths as all_paths


def index_of(triples) -> Index:
    return Index.of_arrays(*([triple[place] for triple in triples] for place in range(3)))


def as_path(frame):
    return [(src, dst, op) for src, dst, op in frame[["src", "dst", "op"]].itertuples(index=False)]


@given(graphs(least=12), st.data())
def test_paths_are_those_of_a_search_of_all(graph, data):
    if len(graph.items) < 2:
        return
    start, end = data.draw(st.lists(st.sampled_from(graph.items), min_size=2, max_size=2, unique=True))
    found = paths(index_of(graph.triples), start, end)
    expected = all_paths(graph.triples, start, end)
    assert found.count == len(expected)
    assert set(as_path(found.triples)) == {triple for path in expected for triple in path}
    assert found.lengths == ((len(expected[0]), len(expected[-1])) if expected else None)
    items = {item for path in expected for src, dst, _ in path for item in (src, dst)}
    frame = found.toPandas()
    assert dict(zip(frame["item"], frame["paths"])) == {
        item: sum(any(item in triple[:2] for triple in path) for path in expected) for item in items
    }
    k = data.draw(st.integers(1, 8))
    listed = [as_path(part) for _, part in found.shortest(k).groupby("path")]
    assert [len(path) for path in listed] == [len(path) for path in expected[:k]]
    assert len({tuple(path) for path in listed}) == len(listed)
    assert all(path in expected for path in listed)
    assert found.shortest(k).equals(paths(index_of(graph.triples), start, end).shortest(k))


def test_a_grid_has_more_paths_than_64_bits_count():
    """Each of 200 levels has two items, each made from both of the level before: 2 ** 199 paths to the last one."""
    triples = [((n, a), (n + 1, b), "R") for n in range(200) for a in range(2) for b in range(2)]
    named = [(f"{s[0]}.{s[1]}", f"{d[0]}.{d[1]}", op) for s, d, op in triples]
    found = paths(index_of(named), "0.0", "200.0")
    assert found.count == 2**199
    assert found.lengths == (200, 200)
    assert len(found.shortest(3)) == 600
    assert repr(found) == f"{2**199:,} paths from '0.0' to '200.0', 200 triples long, through 398 items"


def test_more_paths_than_python_writes_are_told_about():
    src = np.repeat(np.arange(3_000), 30)
    found = paths(Index.of_arrays(src, src + 1, np.tile(np.arange(30), 3_000)), 0, 3_000)
    assert found.count == 30**3_000
    assert repr(found) == "about 10**4,431 paths from 0 to 3000, 3,000 triples long, through 2,999 items"


def test_paths_are_found_from_the_end_that_has_few(monkeypatch):
    monkeypatch.setattr(walking, "MOST_TRIPLES", 5)
    index = index_of([(1, 2, "R"), (2, 3, "R"), *((n, 3, "R") for n in range(10, 20))])
    assert paths(index, 1, 3).count == 1
    turned = index_of([(3, 2, "R"), (2, 1, "R"), *((3, n, "R") for n in range(10, 20))])
    assert paths(turned, 3, 1).count == 1
    with pytest.raises(TooLargeError, match="too many triples"):
        paths(index_of([*((3, n, "R") for n in range(10, 20)), *((n, 4, "R") for n in range(10, 20))]), 3, 4)


def test_a_path_of_thousands_of_triples():
    found = paths(index_of([(n, n + 1, None) for n in range(3_000)]), 0, 3_000)
    assert (found.count, found.lengths) == (1, (3_000, 3_000))
    assert found.shortest(2)["dst"].tolist() == list(range(1, 3_001))


def test_two_operations_between_two_items_are_two_paths():
    found = paths(index_of([(1, 2, "copy"), (1, 2, "clean"), (2, 3, None)]), 1, 3)
    assert found.count == 2
    assert [path["op"].tolist() for _, path in found.shortest(5).groupby("path")] == [["clean", None], ["copy", None]]


def test_no_path():
    found = paths(index_of([(1, 2, "R"), (3, 4, "R")]), 1, 4)
    assert (found.count, len(found), found.lengths, len(found.triples), len(found.shortest(2)), len(found.toPandas())) == (0, 0, None, 0, 0, 0)
    assert repr(found) == "no path from 1 to 4: it was not derived from it"


def test_circles_are_refused_by_name():
    index = index_of([(1, 2, "R"), (2, 3, "R"), (3, 2, "R"), (3, 4, "R"), (9, 9, "R")])
    with pytest.raises(ProvenanceError, match="circles, through 2, 3"):
        paths(index, 1, 4)
    assert paths(index_of([(1, 2, "R"), (8, 9, "R"), (9, 8, "R")]), 1, 2).count == 1


@pytest.mark.parametrize(("start", "end", "error"), [(1, 1, ProvenanceError), (1, 7, UnknownItemError), ([1, 2], 2, ProvenanceError)])
def test_what_is_no_pair_of_items(start, end, error):
    with pytest.raises(error):
        paths(index_of([(1, 2, "R")]), start, end)
    with pytest.raises(ProvenanceError, match="k is a number"):
        paths(index_of([(1, 2, "R")]), 1, 2).shortest(0)
