"""A picture of a small answer: what stands where, and that what users wrote is text."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bigdebug
from bigdebug.errors import TooLargeError
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.paths import paths
from bigdebug.provgraph.questions import ancestors, common, descendants
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import mask
from bigdebug.store.arrays import InMemory
from bigdebug.views import provenance
from bigdebug.views.provenance import MOST_ITEMS, picture
from tests.laws.graphs import graphs
from tests.unit.test_provgraph_questions import PAPER

TABLES = {**dict.fromkeys(range(1, 13), "Person1"), **dict.fromkeys(range(13, 22), "Person2"), **dict.fromkeys(range(22, 26), "<b>AvgAge</b>")}


def index_of(triples, tables=None) -> Index:
    index = Index.of_arrays(*([triple[place] for triple in triples] for place in range(3)))
    if tables is None:
        return index
    workflow = Workflow.of(sorted({(tables[src], tables[dst]) for src, dst, _ in triples}), tables=sorted(set(tables.values())))
    places = [workflow.place(tables[item]) for item in index.named(np.arange(index.items)).tolist()]
    return dataclasses.replace(index, workflow=workflow, tables=InMemory(np.array(places, np.uint16)))


def plain(text: str) -> str:
    return text.strip("\u2068\u2069")


def test_each_table_has_a_column_in_the_order_of_the_workflow():
    figure = picture(ancestors(index_of(PAPER, TABLES), [23, 22]))
    assert [plain(text) for text in figure.layout.xaxis.ticktext] == ["Person1", "Person2", "&lt;b&gt;AvgAge&lt;/b&gt;"]
    items = {plain(text): x for trace in figure.data if trace.mode == "markers+text" for text, x in zip(trace.text, trace.x)}
    assert items == {"3": 0, "6": 0, "2": 0, "5": 0, "15": 1, "18": 1, "14": 1, "17": 1, "23": 2, "22": 2}
    asked = next(trace for trace in figure.data if trace.name == "asked about")
    assert [plain(text) for text in asked.text] == ["22", "23"]
    lines = {plain(trace.name): len(trace.x) // 3 for trace in figure.data if trace.mode == "lines"}
    assert lines == {"R1": 4, "R2": 4}
    hover = {plain_line for trace in figure.data if trace.mode == "markers" for plain_line in map(str, trace.hovertext or ())}
    assert "\u206815\u2069 → \u206823\u2069: \u2068R2\u2069" in hover


@settings(max_examples=20)
@given(graphs(), st.data())
def test_lines_go_from_left_to_right(graph, data):
    if not graph.triples:
        return
    item = data.draw(st.sampled_from(graph.items))
    for index in (index_of(graph.triples), index_of(graph.triples, graph.tables)):
        figure = picture(descendants(index, item))
        for trace in figure.data:
            if trace.mode == "lines":
                assert (np.array(trace.x, float)[::3] < np.array(trace.x, float)[1::3]).all()
        places = [(x, y) for trace in figure.data if trace.textposition for x, y in zip(trace.x, trace.y)]
        assert len(set(places)) == len(places) == len(descendants(index, item)) + 1


def test_what_users_wrote_is_text():
    evil, long = "<script>alert(1)</script><a href='http://x'>$x^2$</a>", "y" * 10_000_000
    index = index_of([(evil, "שלום", "<b>bold</b> & $a$"), ("שלום", long, None)])
    figure = picture(ancestors(index, long))
    written = [
        text for trace in figure.data for some in (trace.name, trace.text, trace.hovertext) if some is not None
        for text in ([some] if isinstance(some, str) else some)
    ]  # fmt: skip
    written += [figure.layout.title.text, *figure.layout.xaxis.ticktext]
    assert len(written) > 8
    assert not any(character in text for text in written for character in "<>$")
    assert max(map(len, written)) < 500
    assert any("&lt;b&gt;bold" in str(trace.name) for trace in figure.data)


def test_paths_and_circles_and_items_alone_have_pictures_too():
    index = index_of(PAPER)
    assert len(picture(paths(index, 3, 23)).data) == 6
    assert len(picture(ancestors(index, 3)).data) == 1
    assert len(picture(ancestors(index_of([(1, 2, None), (2, 1, None)]), 1)).data) == 4


def test_common_ancestors_have_one_with_the_ways_from_them():
    index = index_of([*PAPER, (5, 100, "R3"), (100, 23, "R3"), (2, 101, "R3")], {**TABLES, 100: "Person2", 101: "Person2"})
    figure = bigdebug.view(common(index, [22, 23]))
    drawn = {plain(text) for trace in figure.data if trace.mode == "markers+text" for text in trace.text}
    assert drawn == {"5", "17", "22", "100", "23"}
    assert len(picture(common(index, [24, 23])).data) == 1


def test_large_answers_are_refused_with_what_to_do():
    src = np.arange(MOST_ITEMS)
    index = Index.of_arrays(src, np.full(MOST_ITEMS, 1_000))
    with pytest.raises(TooLargeError, match="limit=299"):
        picture(ancestors(index, 1_000))
    assert len(picture(ancestors(index, 1_000, limit=299)).data) == 4


@pytest.mark.parametrize(("items", "triples"), [(3, 10_000), (1_000, 3)])
def test_what_is_no_answer_is_looked_at_as_a_table(monkeypatch, items, triples):
    monkeypatch.setattr(provenance, "MOST_ITEMS", items)
    monkeypatch.setattr(provenance, "MOST_TRIPLES", triples)
    index = index_of([(1, 2, None), (2, 3, None), (2, 4, None), (3, 5, None), (4, 5, None)])
    for found in (common(index, [5, 4]), paths(index, 1, 5)):
        with pytest.raises(TooLargeError, match=r"look at toPandas\(\)") as refused:
            picture(found)
        assert "limit" not in str(refused.value)


def test_many_operations_are_few_traces():
    figure = picture(ancestors(index_of([(n, n + 1, f"job {n}") for n in range(200)]), 200))
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert len(figure.data) == 20
    assert [plain(trace.name) for trace in lines[-2:]] == ["job 192", "192 further operations"]
    assert sum(len(trace.x) // 3 for trace in lines) == 200
    hover = [text for trace in figure.data if trace.mode == "markers" and trace.marker.opacity == 0 for text in trace.hovertext]
    assert sorted(text.replace("\u2068", "").replace("\u2069", "") for text in hover) == sorted(f"{n} → {n + 1}: job {n}" for n in range(200))
    nine = picture(ancestors(index_of([(0, 1, f"job {n}") for n in range(9)]), 1))
    assert plain(nine.data[16].name) == "job 8"
    with pytest.raises(TooLargeError, match="so many triples"):
        picture(ancestors(Index.of_arrays(np.zeros(60_000, int), np.ones(60_000, int), np.arange(60_000)), 1))


def test_view_shows_it():
    answer = ancestors(index_of(PAPER), 23)
    assert bigdebug.view(answer).to_json() == picture(answer).to_json()


def test_what_is_secret_is_shown_nowhere():
    secret = "sk-" + "a" * 300
    index = index_of([(f"user {secret}", secret, f"with {secret}"), (secret, "end", "R"), ("x" * 50 + secret, "end", "R")])
    asked = [ancestors(index, "end"), paths(index, secret, "end"), common(index, ["end", secret])]
    mask("sk-[a-z]{200,}")
    try:
        told = [repr(each) for each in asked] + [picture(each).to_json() for each in asked[:2]]
        assert not any("sk-" in text for text in told)
        assert all("***" in text for text in told)
        numbers = index_of([(4111_1111_1111_1111, 2, "R")])
        mask("4111[0-9]+")
        assert "4111" not in repr(ancestors(numbers, 2)) + picture(ancestors(numbers, 2)).to_json()
    finally:
        mask(None)
    assert secret in ancestors(index, "end").items.tolist()
