"""An index that was altered on the disk, by a bit anywhere, gives an error or the right answer, and never another one."""

import re
import resource
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bigdebug
from bigdebug.errors import CorruptBlockError, StoreError, UnknownItemError
from bigdebug.provgraph.workflow import Workflow
from tests.unit.test_provgraph_graph import PERSONS, STEPS


def answers(path):
    """What an index says, question by question; None for one whose answer is an error that tells of the damage."""
    def asked():
        graph = bigdebug.open(path)
        yield lambda: (len(graph), repr(graph).replace(str(path), ""), str(graph.report))
        yield lambda: graph.first(limit=None)
        yield lambda: graph.statistics().to_dict("list")
        yield lambda: list(graph.components().labels)
        for item in ITEMS[path.name]:
            for ask in (graph.ancestors, graph.descendants):
                yield lambda ask=ask, item=item: ask(item).toPandas().to_dict("list")
                yield lambda ask=ask, item=item: ask(item).triples.to_dict("list")
        yield lambda: refusal(graph, strange(ITEMS[path.name][0]))

    try:
        return [answered(ask) for ask in asked()]
    except StoreError:
        return None


def answered(ask):
    with suppress(CorruptBlockError):
        return ask()
    return None


def refusal(graph, item):
    with pytest.raises(UnknownItemError) as refused:
        graph.ancestors(item)
    return str(refused.value)


def strange(item):
    return item + "?" if isinstance(item, str) else item + 1_000_003


ITEMS = {}


@pytest.fixture(scope="module", params=["range", "dense", "sorted", "text"])
def small_index(request, tmp_path_factory):
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 60, 120), np.append(rng.integers(60, 180, 60), np.arange(60, 120))
    if request.param == "range":
        src, dst = np.append(np.arange(60), src), np.append(rng.integers(60, 120, 60), dst)
    src, dst = {"sorted": (src * 10**12, dst * 10**12), "text": ([f"é{n:04}" for n in src], [f"é{n:04}" for n in dst])}.get(request.param, (src, dst))
    path = tmp_path_factory.mktemp("damaged") / request.param
    ops = [f"R{n % 3}" for n in range(len(src))]
    items = {"a": "é0", "b": ["é03"]} if request.param == "text" else {"a": range(70), "b": range(70, 10**15)}
    bigdebug.provenance(pd.DataFrame({"src": src, "dst": dst, "op": ops}), Workflow.of([("a", "b")], items=items), at=path)
    ITEMS[path.name] = bigdebug.open(path).first(limit=None)[::17]
    return path, answers(path)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_bit_that_was_altered_anywhere_changes_no_answer(small_index, data):
    path, right = small_index
    file = path / data.draw(st.sampled_from(sorted(one.name for one in path.iterdir() if one.stat().st_size)))
    whole = file.read_bytes()
    # Files are short; their ends, where checksums stand, come as often as all else.
    place = data.draw(st.integers(0, len(whole) - 1) | st.integers(0, min(len(whole), 24) - 1).map(lambda back: len(whole) - 1 - back))
    bit = data.draw(st.integers(0, 7))
    held = bigdebug.open(path)
    try:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
        found = answers(path)
        assert found is None or all(one is None or one == other for one, other in zip(found, right, strict=True))
        assert file.suffix != ".json" or found in (None, right)
        if file.suffix != ".json":
            assert found is None or None in found
            with pytest.raises(CorruptBlockError, match=re.escape(file.name)):
                held.verify()
    finally:
        file.write_bytes(whole)
    assert answers(path) == right
    held.verify()


def test_what_is_altered_elsewhere_is_in_nobodys_way(tmp_path):
    # Chains that share nothing: an item's pages are few of many.
    starts = np.arange(0, 200_000, 4)
    src = (starts[:, None] + np.arange(3)).ravel()
    path = bigdebug.provenance(pd.DataFrame({"src": src, "dst": src + 1, "op": "R"}), at=tmp_path / "chains").path
    file = path / "backward.neighbours"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    graph = bigdebug.open(path)
    assert list(graph.ancestors(3)) == [2, 1, 0]
    assert list(graph.ancestors(199_999)) == [199_998, 199_997, 199_996]
    assert list(graph.descendants(100_000)) == [100_001, 100_002, 100_003]
    for _ in range(2):
        with pytest.raises(CorruptBlockError, match=r"(?s)backward\.neighbours.*Build the index again"):
            graph.ancestors(100_003)
    with pytest.raises(CorruptBlockError, match=r"backward\.neighbours"):
        graph.components()
    assert list(graph.ancestors(3)) == [2, 1, 0]


def test_what_was_copied_over_an_open_index_is_no_answer_of_it(tmp_path, monkeypatch):
    # Into the same files, as cp and rsync --inplace do it; of both graphs these have the same sizes.
    path = bigdebug.provenance(pd.DataFrame({"src": [1, 2, 3], "dst": [2, 3, 4], "op": "R"}), at=tmp_path / "one").path
    other = bigdebug.provenance(pd.DataFrame({"src": [1, 3, 2], "dst": [3, 2, 4], "op": "R"}), at=tmp_path / "other").path
    monkeypatch.chdir(tmp_path)
    held = bigdebug.open("one")
    monkeypatch.chdir("/")
    assert list(held.ancestors(4)) == [3, 2, 1]
    assert list(held.descendants(1)) == [2, 3, 4]
    for file in other.iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    time.sleep(0.15)
    for ask, item in ((held.ancestors, 4), (held.descendants, 1)) * 2:
        with pytest.raises(CorruptBlockError, match="altered"):
            ask(item)
    assert list(bigdebug.open(path).ancestors(4)) == [2, 3, 1]


def test_an_index_that_the_system_does_not_open_is_not_said_to_be_none(tmp_path):
    path = bigdebug.provenance(PERSONS, STEPS, at=tmp_path / "persons").path
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, hard))  # an index has more files
    try:
        with pytest.raises(StoreError, match=r"(?s)cannot be read: .*Too many open files.*It may be whole"):
            bigdebug.open(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    assert len(bigdebug.open(path)) == 22


def test_an_index_that_is_open_stays_itself_when_another_takes_its_place(tmp_path):
    held = bigdebug.provenance(PERSONS, STEPS, at=tmp_path / "persons")
    bigdebug.provenance(PERSONS[:4], STEPS, at=tmp_path / "persons", replace=True)
    assert sorted(held.ancestors(23)) == [3, 6, 15, 18]
    assert len(bigdebug.open(tmp_path / "persons")) == 8
