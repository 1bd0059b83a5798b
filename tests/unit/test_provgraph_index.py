"""An index in memory says of triples what loops over them say."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.errors import UnknownItemError
from bigdebug.provgraph.index import Adjacency, Index
from bigdebug.provgraph.slips import LONG, variants

INTEGERS = st.integers(-5, 25) | st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(max_size=6) | st.sampled_from(["a", "a\0", "א", "<script>alert(1)</script>", "ab" * 1_000])
OPS = st.none() | st.sampled_from(["R1", "R2", "סכום"])


def triples(ids):
    return st.lists(st.tuples(ids, ids, OPS), max_size=40)


def edges(index: Index, side: Adjacency, codes) -> list:
    found = side.of(codes)
    return list(
        zip(index.named(found.items).tolist(), index.named(found.neighbours).tolist(), index.operations_of(found.ops).tolist())
    )


def order(triple):
    return triple[0], triple[1], triple[2] or "\U0010ffff"


@settings(deadline=None)
@given(triples(INTEGERS) | triples(TEXTS), st.data())
def test_both_directions_have_every_triple_once(given_triples, data):
    src, dst, op = ([t[place] for t in given_triples] for place in range(3))
    index = Index.of_arrays(src, dst, op)
    everything = np.arange(index.items)
    assert index.named(everything).tolist() == sorted({*src, *dst})
    assert edges(index, index.forward, everything) == sorted(set(given_triples), key=order)
    turned = {(d, s, o) for s, d, o in given_triples}
    assert edges(index, index.backward, everything) == sorted(turned, key=order)
    assert index.backward.degrees(everything).tolist() == [sum(t[0] == i for t in turned) for i in sorted({*src, *dst})]
    if given_triples:
        asked = data.draw(st.lists(st.sampled_from(src), max_size=5))
        assert index.named(index.codes(asked)).tolist() == asked
        assert edges(index, index.forward, index.codes(asked)) == [
            t for one in asked for t in sorted(set(given_triples), key=order) if t[0] == one
        ]


@pytest.mark.parametrize(
    ("ids", "wanted", "near"),
    [
        ([1, 2, 3, 7, 8], 5, [3, 7, 2]),
        ([1, 2, 3, 7, 8], -(10**30), [1, 2, 3]),
        ([0, 10**12, 10**15], 10**12 + 1, [10**12, 0, 10**15]),
        (["Person1/12/Age", "Person1/12/City", "Person2/1/Age"], "Person1/12/age", ["Person1/12/Age"]),
        (["a", "b"], "x" * 10_000_000, ["b", "a"]),
        (["a", "b"], "\ud800", ["b", "a"]),
        (["a" * 10_000_000, "b" * 3_000, "c"], "cc", ["c"]),
        (["a" * 10_000_000, "b" * 3_000, "d"], "c", ["b" * 3_000, "d"]),
        ([2**63 - 1, 2**63 - 3], 2**63 - 2, [2**63 - 3, 2**63 - 1]),
    ],
)
def test_an_item_that_is_not_there_is_refused_and_near_ones_are_named(ids, wanted, near):
    index = Index.of_arrays(ids[:-1], ids[1:])
    assert index.ids.near(wanted)[: len(near)] == near
    with pytest.raises(UnknownItemError, match=r"No item has this id|An item is not there") as refused:
        index.codes([ids[0], wanted])
    assert len(str(refused.value)) < 8_000


def test_of_a_long_text_there_are_no_other_spellings():
    assert "X" * LONG in variants("x" * LONG)
    assert variants("x" * (LONG + 1)) == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("person1/12/Age", "Person1/12/Age"), ("PERSON1/12/Age", "Person1/12/Age"), ("Preson1/12/Age", "Person1/12/Age"), ("erson1/12/Age", "Person1/12/Age"),
     ("Berson1/12/Age", "Person1/12/Age"), ("Person 1/12/Age", "Person1/12/Age"), ("Person1/12/age", "Person1/12/Age"), ("person1/12/Ages", "Person1/12/Age"),
     ("zoo/700", "Zoo/700"), ("oZo/700", "Zoo/700"), ("Middle/7", "middle/7")],
)  # fmt: skip
def test_an_error_at_the_beginning_of_an_id_is_mended_among_thousands(typed, meant):
    ids = [*(f"Person1/{n}/Age" for n in range(1_000)), *(f"middle/{n}" for n in range(500)), *(f"Zoo/{n}" for n in range(1_000)), "", "é"]
    index = Index.of_arrays(ids[:-1], ids[1:])
    with pytest.raises(UnknownItemError, match=f"Near it are '{meant}'"):
        index.codes([typed])


@pytest.mark.parametrize("wanted", ["5", 5.0, True, None, b"5", (5,)])
def test_an_id_of_another_type_is_no_item(wanted):
    with pytest.raises(UnknownItemError, match="integers here"):
        Index.of_arrays([5], [6]).codes([wanted])


def test_items_without_triples_are_there():
    index = Index.of_arrays([1], [3], ids=[2, 3])
    assert index.named(np.arange(3)).tolist() == [1, 2, 3]
    assert index.backward.degrees(np.arange(3)).tolist() == [0, 0, 1]


def test_whether_ids_grow_along_every_triple_is_noticed():
    assert Index.of_arrays([], []).acyclic
    assert Index.of_arrays([3, 4], [1, 2]).acyclic
    assert not Index.of_arrays([1, 2], [2, 1]).acyclic


def test_a_graph_of_no_texts_is_asked_for_texts():
    index = Index.of_arrays(pa.array([], pa.string()), pa.chunked_array([], pa.string()))
    assert (index.items, index.ids.kind, index.ids.codes(["a"]).tolist()) == (0, "text", [-1])


def test_arrays_of_numpy_and_arrow_give_what_lists_give():
    src, dst, op = [5, 1, 5, -7], [1, 2, 1, 5], ["R1", None, "R1", "R2"]
    one = Index.of_arrays(src, dst, op)
    for other in (
        Index.of_arrays(np.array(src), np.array(dst, np.int8), np.array(op, object)),
        Index.of_arrays(pa.array(src), pa.chunked_array([dst[:1], dst[1:]]), pa.array(op).dictionary_encode()),
        Index.of_arrays(pa.array(src).dictionary_encode(), iter(dst), pa.chunked_array([op])),
    ):
        assert edges(other, other.backward, np.arange(4)) == edges(one, one.backward, np.arange(4))
    for texts in (pa.array(["b", "a"]), pa.array(["b", "a"]).dictionary_encode(), np.array(["b", "a"])):
        index = Index.of_arrays(texts, np.array(["c", "d"], object), pa.nulls(2))
        assert edges(index, index.forward, np.arange(4)) == [("a", "d", None), ("b", "c", None)]
    with pytest.raises(TypeError, match="all integers or all texts"):
        Index.of_arrays([1], ["a"])
    with pytest.raises(TypeError, match="not float"):
        Index.of_arrays([1.5], [2.5])
