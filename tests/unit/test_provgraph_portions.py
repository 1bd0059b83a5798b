"""Rows come in portions of some megabytes: what slices share with the whole weighs nothing, and what is decoded weighs what it will."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from bigdebug.provgraph.sources import source_of

COUNT = 100_000
IDS = [f"warehouse/item/{number:060d}" for number in range(COUNT)]
"""Of 7.5 MB: two columns of them are more than a batch."""
LONG = ["a" * 10_000, "b" * 10_000]
TEXTS = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))


def sizes(given) -> list[int]:
    batches = list(source_of(given).batches(["src", "dst"], lambda *_: None))
    assert sum(len(batch) for batch in batches) == len(given)
    return [len(batch) for batch in batches]


def encoded(texts) -> pa.Array:
    return pa.array(texts).dictionary_encode()


@pytest.mark.parametrize(
    "given",
    [
        lambda: pd.DataFrame({"src": pd.Categorical(IDS), "dst": pd.Categorical(IDS[::-1])}),
        lambda: pd.DataFrame({"src": IDS, "dst": IDS}, dtype=TEXTS),
        lambda: pd.DataFrame({"src": IDS, "dst": IDS}, dtype=pd.ArrowDtype(pa.string_view())),
        lambda: pa.table({"src": encoded(IDS), "dst": encoded(IDS[::-1])}),
        lambda: pa.table({"src": pa.array(IDS, pa.string_view()), "dst": pa.array(IDS[::-1], pa.string_view())}),
    ],
    ids=["categories", "pandas-dictionaries", "pandas-views", "dictionaries", "views"],
)
def test_what_a_slice_shares_with_the_whole_does_not_count(given):
    assert len(sizes(given())) <= 8


@pytest.mark.parametrize(
    "given",
    [
        lambda: pd.DataFrame({"src": pd.Categorical(LONG * 4_000), "dst": range(8_000)}),
        lambda: pd.DataFrame({"src": pd.Series(LONG * 4_000, dtype="string").astype("category"), "dst": range(8_000)}),
        lambda: pd.DataFrame({"src": pd.Series(LONG * 4_000, dtype=TEXTS), "dst": range(8_000)}),
        lambda: pd.DataFrame({"src": pd.Series(LONG * 4_000, dtype=pd.ArrowDtype(pa.string_view())), "dst": range(8_000)}),
        lambda: pa.table({"src": encoded(LONG * 4_000), "dst": range(8_000)}),
        lambda: pa.table({"src": pa.array(LONG * 4_000, pa.string_view()), "dst": range(8_000)}),
    ],
    ids=["categories", "texts-of-categories", "pandas-dictionaries", "pandas-views", "dictionaries", "views"],
)
def test_texts_that_come_again_count_each_time_for_they_are_decoded(given):
    assert max(sizes(given())) <= 1_000


@pytest.mark.parametrize("kind", ["category", pd.ArrowDtype(pa.dictionary(pa.int32(), pa.int64()))])
def test_integers_with_nulls_stay_integers(kind):
    frame = pd.DataFrame({"src": pd.array([2**62 + 1, None, 3], "Int64"), "dst": 1}).astype({"src": kind})
    [batch] = source_of(frame).batches(["src", "dst"], lambda *_: None)
    assert batch.column("src").to_pylist() == [2**62 + 1, None, 3]


def test_nulls_weigh_nothing():
    texts = pa.array([None, *LONG, None], pa.string_view())
    for column in (texts, encoded([None, *LONG, None]), pa.nulls(4)):
        assert sizes(pa.table({"src": column, "dst": range(4)})) == [4]
