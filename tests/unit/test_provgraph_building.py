"""An index that is built out of core is the one that loops would make, in whatever pieces the triples come."""

import subprocess
import sys
import tracemalloc
from itertools import pairwise
from textwrap import dedent

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bigdebug
from bigdebug.errors import ProvenanceError, StoreError
from bigdebug.provgraph import building
from bigdebug.provgraph.building import build
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.stored import open_index
from bigdebug.provgraph.triples import Triples
from bigdebug.provgraph.workflow import Workflow

FREE = building.LEAST - building._FIXED
INTEGERS = st.integers(-3, 15) | st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(max_size=4) | st.sampled_from(["a", "a\0", "א", "<script>alert(1)</script>", "ab" * 500])
OPS = st.none() | st.sampled_from(["R1", "R2", "סכום"]) | st.integers(0, 500).map(str)


def triples(ids):
    return st.lists(st.tuples(ids, ids, OPS), max_size=60)


def table(some, kind):
    src, dst, op = ([t[place] for t in some] for place in range(3))
    return pa.table({"src": pa.array(src, kind), "dst": pa.array(dst, kind), "op": pa.array(op, pa.string())})


def stream(whole, size):
    return pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=size))


def built(folder, given, columns=("src", "dst", "op"), **options):
    path = folder / "index"
    build(Triples.of(given, columns), path, replace=True, **options)
    return open_index(path)


def edges(index: Index, side) -> list:
    found = side.of(np.arange(index.items))
    return list(
        zip(index.named(found.items).tolist(), index.named(found.neighbours).tolist(), index.operations_of(found.ops).tolist())
    )


def order(triple):
    return triple[0], triple[1], triple[2] is None, triple[2] or ""


@settings(deadline=None, max_examples=35)
@given(st.data(), st.booleans(), st.integers(1, 20), st.integers(1, 10), st.integers(1, 400))
def test_pieces_of_any_size_give_the_same_index(tmp_path_factory, data, texts, batch, rows, size):
    some = data.draw(triples(TEXTS if texts else INTEGERS))
    path = tmp_path_factory.mktemp("law")
    with pytest.MonkeyPatch.context() as small:
        # As if the memory allowed held so few rows and bytes.
        small.setattr(building, "_ROW", FREE // rows)
        small.setattr(building, "_RANGE", FREE // size)
        small.setattr(building, "_PEELED", FREE // rows)
        index, report = built(path, stream(table(some, pa.large_string() if texts else pa.int64()), batch), memory=building.LEAST)
    kept = [t for t in some if t[0] != t[1]]
    assert index.named(np.arange(index.items)).tolist() == sorted({one for t in kept for one in t[:2]})
    assert edges(index, index.forward) == sorted(set(kept), key=order)
    assert edges(index, index.backward) == sorted({(d, s, o) for s, d, o in kept}, key=order)
    assert report.rows == len(some)
    assert report.edges == len(set(kept))
    assert report["self-loops"].count == len(some) - len(kept)
    assert report["duplicates"].count == len(kept) - len(set(kept))
    assert index.acyclic == (not cyclic(kept))
    assert report["cycles"].count >= len(cyclic(kept))
    assert [one.name for one in path.iterdir()] == ["index"]


def cyclic(some) -> set:
    """Items that are derived from themselves, found by walking from each."""
    children = {}
    for src, dst, _ in some:
        children.setdefault(src, set()).add(dst)

    def reached(item):
        seen, left = set(), list(children.get(item, ()))
        while left:
            one = left.pop()
            if one not in seen:
                seen.add(one)
                left += children.get(one, ())
        return seen

    return {item for item in children if item in reached(item)}


def test_operations_that_do_not_fit_beside_two_items_stand_apart(tmp_path):
    rng = np.random.default_rng(7)
    some = pd.DataFrame({"src": rng.integers(0, 2**22, 200_000), "dst": rng.integers(2**22, 2**23, 200_000), "op": np.arange(200_000)})
    with pytest.MonkeyPatch.context() as small:
        small.setattr(building, "Packing", type("Wide", (building.Packing,), {"narrow": False}))
        index, _ = built(tmp_path, some, memory=building.LEAST)
    found = index.backward.of(np.arange(index.items))
    again = pd.DataFrame({"src": index.named(found.neighbours), "dst": index.named(found.items), "op": index.operations_of(found.ops).astype(int)})
    pd.testing.assert_frame_equal(again.sort_values("op", ignore_index=True), some)


@pytest.mark.many
@pytest.mark.parametrize(("every", "kind"), [(1, "range"), (3, "dense"), (50, "sorted")])
def test_integers_are_found_however_close_they_lie(tmp_path, every, kind):
    rng = np.random.default_rng(7)
    ids = np.sort(rng.permutation(np.arange(-1_000, 60_000 * every - 1_000))[:60_000]) if every > 1 else np.arange(-1_000, 59_000)
    with pytest.MonkeyPatch.context() as small:
        small.setattr(building, "_RANGE", FREE // 20_000)
        index, _ = built(tmp_path, pd.DataFrame({"src": ids[:-1], "dst": ids[1:], "op": "R"}))
    assert index.ids.kind == kind
    assert (index.named(np.arange(60_000)) == ids).all()
    some = rng.permutation(60_000)
    assert (index.named(some) == ids[some]).all()
    assert (index.codes(ids[some]) == some).all()
    there = np.zeros(60_000 * every + 1_200, bool)
    there[ids + 1_100] = True
    others = np.flatnonzero(~there) - 1_100
    assert (index.ids.codes(others) == -1).all()
    assert (index.ids.codes([2**63 - 1, -(2**63)]) == -1).all()
    assert index.ids.near(10**30) == ids[:-4:-1].tolist()


@pytest.mark.parametrize("ids", [[2**63 - 1, 2**63 - 4, 2**63 - 6], [2**63 - 1, 2**63 - 2, 2**63 - 3], [-(2**63), 3 - 2**63, 5 - 2**63]])
def test_the_last_integers_that_there_are_are_found(tmp_path, ids):
    index, _ = built(tmp_path, pd.DataFrame({"src": ids[:-1], "dst": ids[1:], "op": "R"}))
    assert index.ids.kind in ("dense", "range")
    assert index.named(np.arange(3)).tolist() == sorted(ids)
    assert index.named(index.codes(ids)).tolist() == ids


def test_a_workflow_may_say_that_triples_name_no_operation(tmp_path):
    some = pd.DataFrame({"src": [1, 2, 3], "dst": [11, 12, 13], "op": ["trim", None, "guess"]})
    items = {"raw": range(1, 10), "clean": range(10, 20)}
    for workflow in (Workflow.of([("raw", "clean", ["trim", None])], items=items), Workflow.of([("raw", "clean", ["trim", None])])):
        _, report = built(tmp_path, some, workflow=workflow)
        assert report["unknown operations"].count == 1
        assert report["unknown operations"].examples[0].startswith("3 -> 13 by 'guess'")


@pytest.mark.slow
def test_a_workflow_of_thousands_of_tables_takes_no_square_of_them(tmp_path):
    names = [f"t{n}" for n in range(6_000)]
    some = pd.DataFrame({"src": [1, 2], "dst": [2, 3], "op": ["f", "g"], "s": ["t0", "t1"], "d": ["t1", "t5"]})
    workflow = Workflow.of([(*pair, "f") for pair in pairwise(names)], items=("s", "d"))
    tracemalloc.start()
    _, report = built(tmp_path, some, workflow=workflow)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert report["unmade"].examples == ("2 -> 3 by 'g' ('t1' -> 't5')",) or report["two tables"].count
    assert report["unknown operations"].count == 0


def test_a_cycle_is_named_and_strict_refuses_it(tmp_path):
    some = pd.DataFrame({"src": [1, 2, 3, 9], "dst": [2, 3, 2, 1], "op": "R"})
    index, report = built(tmp_path, some)
    assert not index.acyclic
    assert report["cycles"].count == 2
    assert report["cycles"].examples in (("2 <- 3 <- 2",), ("3 <- 2 <- 3",))
    with pytest.raises(ProvenanceError, match=r"2 <- 3 <- 2|3 <- 2 <- 3"):
        built(tmp_path, some, strict=True)
    # What was there is there still, and nothing else.
    assert open_index(tmp_path / "index")[1] == report
    assert [one.name for one in tmp_path.iterdir()] == ["index"]


def test_a_disk_without_room_to_look_for_cycles_is_an_error(tmp_path):
    # In a process of its own: without that room it would be killed by SIGBUS.
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    program = """
        import sys
        import numpy as np
        from pathlib import Path
        from bigdebug.provgraph.cycles import cycles
        from bigdebug.provgraph.walking import adjacency
        src = np.arange(500_000)
        dst = (src + 1) % len(src)
        try:
            cycles(adjacency(dst, src, len(src)), adjacency(src, dst, len(src)), scratch=Path(sys.argv[1]))
        except OSError as problem:
            print(problem)
    """
    try:
        run = subprocess.run([sys.executable, "-c", dedent(program), tmp_path], capture_output=True, text=True, timeout=120, check=False)
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
    assert "No space left on device" in run.stdout, (run.returncode, run.stderr)


def test_of_a_long_cycle_the_ends_are_named(tmp_path):
    _, report = built(tmp_path, pd.DataFrame({"src": np.arange(1_000), "dst": np.roll(np.arange(1_000), 1)}), columns=("src", "dst", None))
    (example,) = report["cycles"].examples
    assert report["cycles"].count == 1_000
    assert "(981 more)" in example
    assert example.count("<-") == 20
    assert example.split(" <- ")[0] == example.split(" <- ")[-1]


WORKFLOW = [("raw", "clean", ["trim", "cast"]), ("clean", "sums", "sum"), ("raw", "notes")]


@pytest.mark.parametrize("how", ["ranges", "list", "columns"])
def test_items_and_steps_are_checked_against_the_workflow(tmp_path, how):
    some = pd.DataFrame(
        [(1, 11, "trim", "raw", "clean"), (2, 12, "guess", "raw", "clean"), (11, 21, "sum", "clean", "sums"), (1, 21, "sum", "raw", "sums"),
         (1, 31, "any", "raw", "notes"), (1, 99, "sum", "raw", None), (12, 1, "sum", "clean", "raw")],
        columns=["src", "dst", "op", "s", "d"],
    )
    items = {
        "ranges": {"raw": range(1, 10), "clean": [range(11, 20)], "sums": range(21, 30), "notes": range(31, 40)},
        "list": pd.DataFrame({"item": [1, 2, 3, 11, 12, 21, 31], "table": ["raw", "raw", "raw", "clean", "clean", "sums", "notes"]}),
        "columns": ("s", "d"),
    }[how]
    index, report = built(tmp_path, some, workflow=Workflow.of(WORKFLOW, items=items))
    assert report["no table"].count == 1
    assert report["no table"].examples == ("99",)
    assert report["unmade"].count == 2
    assert set(report["unmade"].examples) == {"1 -> 21 by 'sum' ('raw' -> 'sums')", "12 -> 1 by 'sum' ('clean' -> 'raw')"}
    assert report["unknown operations"].examples == ("2 -> 12 by 'guess' ('raw' -> 'clean')",)
    assert index.edges == 7
    assert index.tables_of(index.codes([1, 11, 21, 31, 99])).tolist() == ["raw", "clean", "sums", "notes", None]
    assert index.workflow.tables == ("raw", "clean", "notes", "sums")
    assert (3 in index.named(np.arange(index.items)).tolist()) == (how == "list")


def test_operations_are_checked_where_tables_are_not_known(tmp_path):
    some = pd.DataFrame({"src": [1, 2, 3], "dst": [11, 12, 13], "op": ["trim", "guess", None]})
    _, report = built(tmp_path, some, workflow=Workflow.of([("raw", "clean", ["trim", "cast"]), ("clean", "sums", "sum")]))
    assert report["unknown operations"].examples == ("2 -> 12 by 'guess'", "3 -> 13")
    _, report = built(tmp_path, some, workflow=Workflow.of([("raw", "clean", ["trim", "cast"]), ("clean", "sums")]))
    assert report.clean


def test_what_a_workflow_without_items_cannot_tell_is_said(tmp_path, caplog):
    flow = Workflow.of([("raw", "clean"), ("clean", "sums")])
    graph = bigdebug.provenance(pd.DataFrame({"src": [5, 1], "dst": [6, 2], "op": "z"}), flow, at=tmp_path / "index")
    said = "not looked for: tables, for the workflow does not say which items they have"
    assert said in str(graph.report)
    assert said in str(bigdebug.open(tmp_path / "index").report)
    assert said in caplog.text
    assert list(graph.ancestors(6).toPandas().columns) == ["item", "depth"]
    assert len(graph.statistics()) == 1
    with pytest.raises(ProvenanceError, match="has no tables"):
        graph.first("raw")


@settings(deadline=None, max_examples=20)
@given(st.data(), st.integers(1, 12))
def test_what_the_workflow_does_not_have_is_counted(tmp_path_factory, data, rows):
    names = ["a", "b", "c", None]
    tables = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=8))
    item = st.integers(0, len(tables) - 1)
    some = data.draw(st.lists(st.tuples(item, item, st.sampled_from(["f", "g", None])), max_size=30))
    edges = {("a", "b"): {"f"}, ("b", "c"): set(), ("a", "c"): {"f", "g"}}
    kept = {t for t in some if t[0] != t[1]}
    between = {t: (tables[t[0]], tables[t[1]]) for t in kept}
    frame = pd.DataFrame(
        {"src": np.array([t[0] for t in some], np.int64), "dst": np.array([t[1] for t in some], np.int64), "op": pd.Series([t[2] for t in some], dtype=object),
         "s": pd.Series([tables[t[0]] for t in some], dtype=object), "d": pd.Series([tables[t[1]] for t in some], dtype=object)}
    )
    workflow = Workflow.of([(*pair, operations) for pair, operations in edges.items()], items=("s", "d"))
    with pytest.MonkeyPatch.context() as small:
        small.setattr(building, "_ROW", FREE // rows)
        small.setattr(building, "_RANGE", FREE // (8 * rows))
        index, report = built(tmp_path_factory.mktemp("law"), stream(pa.Table.from_pandas(frame), 3), workflow=workflow)
    assert report["no table"].count == len({i for t in kept for i in t[:2] if tables[i] is None})
    assert report["two tables"].count == 0
    unmade = [t for t, pair in between.items() if None not in pair and pair not in edges]
    assert report["unmade"].count == len(unmade)
    assert report["unknown operations"].count == sum(
        bool(edges.get(pair)) and t[2] not in edges[pair] for t, pair in between.items()
    )
    known = np.arange(index.items)
    assert index.tables_of(known).tolist() == [tables[i] for i in index.named(known).tolist()]


def test_beginnings_of_texts_tell_tables_and_the_longest_counts(tmp_path):
    some = pd.DataFrame({"src": ["r/1", "r/2", "x"], "dst": ["r/clean/1", "r/clean/2", "r/clean/1"], "op": None})
    index, report = built(tmp_path, some, workflow=Workflow.of([("raw", "clean")], items={"raw": "r/", "clean": ["r/clean/"]}))
    assert index.tables_of(index.codes(["r/1", "r/clean/1", "x"])).tolist() == ["raw", "clean", None]
    assert report["no table"].examples == ("'x'",)


def test_an_item_of_two_tables_is_told_once(tmp_path):
    some = pd.DataFrame({"src": [1, 1, 1, 2], "dst": [2, 3, 4, 5], "op": "R", "s": ["a", "b", "b", "b"], "d": ["b", "b", "b", "c"]})
    with pytest.MonkeyPatch.context() as small:
        small.setattr(building, "_ROW", FREE // 2)
        index, report = built(tmp_path, some, workflow=Workflow.of([("a", "b"), ("b", "c")], items=("s", "d")))
    assert report["two tables"].count == 1
    assert report["two tables"].examples == ("1 of 'a' and 'b'",)
    assert index.tables_of(index.codes([1])).tolist() == ["a"]


def test_ids_that_no_table_can_have_are_refused(tmp_path):
    some = pd.DataFrame({"src": ["a"], "dst": ["b"], "op": "R"})
    with pytest.raises(ProvenanceError, match="not of that type"):
        built(tmp_path, some, workflow=Workflow.of([("x", "y")], items={"x": range(1, 5)}))
    with pytest.raises(ProvenanceError, match=r"no such table.*'Y'"):
        built(tmp_path, some.assign(s="x", d="Y"), workflow=Workflow.of([("x", "y")], items=("s", "d")))
    with pytest.raises(ProvenanceError, match="no column 'to'"):
        built(tmp_path, some.assign(s="x"), workflow=Workflow.of([("x", "y")], items=("s", "to")))
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_is_not_written_over(tmp_path):
    some = Triples.of(pd.DataFrame({"src": [1], "dst": [2], "op": "R"}))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="Something else"):
        build(some, tmp_path / "other", replace=True)
    build(some, tmp_path / "index")
    with pytest.raises(StoreError, match="replace=True"):
        build(some, tmp_path / "index")
    index, _ = open_index(tmp_path / "index")
    (tmp_path / "link").symlink_to(tmp_path / "index")
    build(some, tmp_path / "link", replace=True)
    assert index.named(np.arange(2)).tolist() == [1, 2], "what is open stays readable"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["index", "link", "other"]


def test_of_two_builds_at_one_place_the_first_one_stays(tmp_path):
    some = Triples.of(pd.DataFrame({"src": [1], "dst": [2], "op": "R"}))

    def another(what, rows):
        if what == "Sorting triples":
            build(Triples.of(pd.DataFrame({"src": [3], "dst": [4], "op": "R"})), tmp_path / "index")

    with pytest.raises(StoreError, match="an index already"):
        build(some, tmp_path / "index", step=another)
    index, _ = open_index(tmp_path / "index")
    assert index.named(np.arange(2)).tolist() == [3, 4]
    assert [one.name for one in tmp_path.iterdir()] == ["index"]


def test_so_little_memory_is_refused(tmp_path):
    with pytest.raises(ProvenanceError, match="128 MB or more"):
        build(Triples.of(pd.DataFrame({"src": [1], "dst": [2], "op": "R"})), tmp_path / "index", memory=1_000)
