"""A provenance graph from import to answer, as somebody types it."""

import json
import logging
import os
import subprocess
import sys
import textwrap
import time
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

import bigdebug
from bigdebug.errors import (
    CorruptBlockError,
    ProvenanceError,
    StoreError,
    StoreVersionError,
    UnknownItemError,
    ViewError,
)
from bigdebug.provgraph.graph import _Progress, size_of
from bigdebug.provgraph.report import Finding
from bigdebug.provgraph.workflow import Workflow

# Tables I to IV of the paper.
PERSONS = pd.DataFrame(
    [(1, 13, "R1"), (4, 16, "R1"), (7, 19, "R1"), (2, 14, "R1"), (5, 17, "R1"), (14, 22, "R2"), (17, 22, "R2"), (8, 20, "R1"),
     (20, 24, "R2"), (3, 15, "R1"), (6, 18, "R1"), (15, 23, "R2"), (18, 23, "R2"), (9, 21, "R1"), (21, 25, "R2")],
    columns=["src", "dst", "op"],
)
STEPS = Workflow.of(
    [("Person1", "Person2", "R1"), ("Person2", "AvgAge", "R2")],
    items={"Person1": range(1, 13), "Person2": range(13, 22), "AvgAge": range(22, 26)},
)


def test_the_papers_example(tmp_path):
    graph = bigdebug.provenance(PERSONS, STEPS, at=tmp_path / "persons", strict=True)
    assert graph.report.clean
    found = graph.ancestors(23)
    assert sorted(found) == [3, 6, 15, 18]
    assert found.triples.sort_values(["src", "dst"]).to_dict("split")["data"] == [
        [3, 15, "R1"], [6, 18, "R1"], [15, 23, "R2"], [18, 23, "R2"],
    ]
    assert sorted(graph.descendants(2)) == [14, 22]
    assert sorted(graph.feeds(2, besides=[14])) == [22]
    assert len(graph.components()) == 7
    assert graph.statistics().to_dict("list") == {
        "table": ["Person1", "Person2", "AvgAge"], "items": [9, 9, 4], "sources": [9, 0, 0], "results": [0, 3, 4],
        "triples": [0, 9, 6], "fan_in": [0, 1, 2],
    }
    assert graph.first("AvgAge") == [22, 23, 24, 25]
    assert graph.first(limit=3) == [1, 2, 3]
    assert len(graph.first(limit=None)) == len(graph) == 22
    with pytest.raises(ProvenanceError, match=r"no such table.*AvgAge"):
        graph.first("avgage")
    again = bigdebug.open(tmp_path / "persons")
    assert sorted(again.ancestors(23)) == sorted(found)
    assert again.report == graph.report
    assert again.workflow == STEPS
    assert repr(again) == f"<provenance graph: 22 items of 3 tables, 15 triples, in '{tmp_path / 'persons'}'>"
    with pytest.raises(UnknownItemError, match="Near it are 25"):
        again.ancestors(26)


def test_without_a_place_an_index_goes_with_its_graph():
    graph = bigdebug.provenance(PERSONS, progress=False)
    path = graph.path
    assert path.exists()
    with pytest.raises(ProvenanceError, match="no tables"):
        graph.first("AvgAge")
    for limit in (-1, 1.5, True):
        with pytest.raises(ProvenanceError, match="limit is a number of items"):
            graph.first(limit=limit)
    del graph
    assert not path.parent.exists()


def test_a_graph_is_closed_whatever_it_is(tmp_path):
    graph, kept = bigdebug.provenance(PERSONS, progress=False), bigdebug.provenance(PERSONS, at=tmp_path / "persons", progress=False)
    for each in (graph, kept, bigdebug.open(tmp_path / "persons")):
        each.close()
        each.close()
    assert not graph.path.parent.exists()
    assert sorted(bigdebug.open(kept.path).ancestors(23)) == [3, 6, 15, 18]


def test_what_is_not_clean_is_told_and_logged(caplog):
    some = pd.concat([PERSONS, PERSONS[:2], pd.DataFrame({"src": [5], "dst": [5], "op": ["<script>"]})])
    with caplog.at_level(logging.WARNING):
        graph = bigdebug.provenance(some)
    assert "1 triple that derives an item from itself (left out): row 17: 5 -> 5" in caplog.text
    assert repr(graph).endswith("; the import found self-loops (1), duplicates (2) (see .report)>")
    assert graph.report["duplicates"].examples == ("1 -> 13 by 'R1'", "4 -> 16 by 'R1'")
    with pytest.raises(ProvenanceError, match="row 17"):
        bigdebug.provenance(some, strict=True)


def test_an_item_that_is_derived_from_itself_alone_is_said_to_be_left_out():
    graph = bigdebug.provenance(pd.DataFrame({"src": [5, 1], "dst": [5, 2], "op": "R"}))
    with closing(graph), pytest.raises(UnknownItemError, match="left out was 1 triple that derives an item from itself, and items that no other has"):
        graph.ancestors(5)


def test_an_item_of_a_row_without_dst_is_said_to_be_left_out():
    graph = bigdebug.provenance(pd.DataFrame({"src": ["a", "b"], "dst": [None, "c"], "op": "x"}))
    with closing(graph), pytest.raises(UnknownItemError, match="left out was 1 row without src or dst, and items that no other has"):
        graph.ancestors("a")


def test_findings_without_examples_have_none():
    assert str(Finding("duplicates", 1, ())) == "1 triple that was there before (left out)"
    assert str(Finding("missing", 2, ("row 0",))) == "2 rows without src or dst (left out): row 0 ..."
    # The example of items in circles is one circle, whole.
    assert str(Finding("cycles", 2, ("1 <- 2 <- 1",))).endswith("(kept): 1 <- 2 <- 1")


def test_an_import_of_nothing_is_told(caplog):
    reader = pa.Table.from_pandas(PERSONS).to_reader()
    bigdebug.provenance(reader)
    assert not caplog.text
    assert len(bigdebug.provenance(reader)) == 0
    assert "no rows at all" in caplog.text


@pytest.mark.parametrize("workflow", [[("Person1", "Person2")], {"Person1": "Person2"}, "Person1"])
def test_what_is_no_workflow_is_refused(workflow):
    with pytest.raises(ProvenanceError, match=r"Workflow\.of"):
        bigdebug.provenance(PERSONS, workflow)


def test_operations_of_numpy_are_kept(tmp_path):
    flow = Workflow.of([("a", "b", np.int64(7))], items={"a": range(1, 2), "b": range(2, 3)})
    graph = bigdebug.provenance(pd.DataFrame({"src": [1], "dst": [2], "op": [7]}), flow, at=tmp_path / "graph")
    assert graph.report.clean
    assert bigdebug.open(tmp_path / "graph").workflow.operations == {("a", "b"): {7}}


def test_progress_appears_after_a_second(capsys):
    bigdebug.provenance(PERSONS)
    assert capsys.readouterr().err == ""
    with closing(_Progress(True)) as step:
        step("Reading triples", 5)
        time.sleep(1.1)
        step("Reading triples", 5)
        assert "Reading triples: 10.0 rows" in capsys.readouterr().err
        step("Sorting triples", 5)
        assert "Sorting" not in capsys.readouterr().err


def test_what_has_no_picture_is_refused():
    graph = bigdebug.provenance(PERSONS)
    with pytest.raises(ViewError, match=r"graph\.ancestors\(item\)\), or of .*graph\.common\(\[a, b\]\)"):
        bigdebug.view(graph)


def test_triples_of_spark_are_refused():
    from pyspark.sql.types import StructType

    with pytest.raises(ProvenanceError, match=r"dbg\.provenance"):
        bigdebug.provenance(StructType())


@pytest.mark.parametrize(("text", "size"), [("1g", 1 << 30), ("512m", 512 << 20), (" 2 GB ", 2 << 30), (7, 7), ("64k", 64 << 10)])
def test_sizes_are_written_as_spark_writes_them(text, size):
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "1x", "much", None, 1.5, True, "-1g"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ProvenanceError, match="no size"):
        size_of(text)


def damaged(path, change):
    manifest = json.loads((path / "provenance.json").read_text())
    change(manifest)
    (path / "provenance.json").write_text(json.dumps(manifest))


def test_half_an_index_is_none(tmp_path):
    path = bigdebug.provenance(PERSONS, STEPS, at=tmp_path / "persons").path
    names = sorted(one.name for one in path.iterdir())
    for name in names:
        whole = (path / name).read_bytes()
        if not whole:
            continue
        for other in (*(whole[:length] for length in {0, 1, len(whole) // 2, len(whole) - 8, len(whole) - 4, len(whole) - 1}), whole + b"\0"):
            (path / name).write_bytes(other)
            with pytest.raises(CorruptBlockError if name != "provenance.json" else StoreError):
                bigdebug.open(path)
        (path / name).unlink()
        with pytest.raises(StoreError):
            bigdebug.open(path)
        (path / name).write_bytes(whole)
    assert sorted(bigdebug.open(path).ancestors(23)) == [3, 6, 15, 18]


@settings(max_examples=60)
@given(st.data())
def test_a_manifest_that_was_altered_is_refused_or_means_the_same(whole_index, data):
    path, text = whole_index
    place = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.binary(max_size=1) | st.sampled_from([b'"', b"0", b"-", b"[", b"}", b",", b"null"]))
    (path / "provenance.json").write_bytes(text[:place] + put + text[place + data.draw(st.sampled_from([0, 1, len(text)])) :])
    try:
        graph = bigdebug.open(path)
    except StoreError:
        return
    assert repr(graph)
    assert str(graph.report)
    assert sorted(graph.ancestors(23)) == [3, 6, 15, 18]


@pytest.fixture(scope="module")
def whole_index(tmp_path_factory):
    path = bigdebug.provenance(PERSONS, STEPS, at=tmp_path_factory.mktemp("altered") / "persons").path
    return path, (path / "provenance.json").read_bytes()


def test_bytes_that_were_altered_are_found(tmp_path):
    graph = bigdebug.provenance(PERSONS, STEPS, at=tmp_path / "persons")
    graph.verify()
    for name in graph.path.iterdir():
        if name.suffix == ".json" or not name.stat().st_size:
            continue
        whole = name.read_bytes()
        name.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
        with pytest.raises(CorruptBlockError, match=name.name):
            graph.verify()
        name.write_bytes(whole)
    graph.verify()
    (graph.path / "provenance.json").unlink()
    with pytest.raises(StoreError, match="not there any more"):
        graph.verify()


def test_an_index_of_another_version_is_refused(tmp_path):
    path = bigdebug.provenance(PERSONS, at=tmp_path / "persons").path
    damaged(path, lambda manifest: manifest.update(format=3))
    with pytest.raises(StoreVersionError, match="format 3"):
        bigdebug.open(path)
    damaged(path, lambda manifest: manifest.update(format=1))
    with pytest.raises(StoreVersionError, match=r"format 1.*\n?.*Build the index again"):
        bigdebug.open(path)
    damaged(path, lambda manifest: manifest.update(format="new"))
    with pytest.raises(StoreError, match="never was"):
        bigdebug.open(path)


def test_to_open_an_index_reads_little_of_it(tmp_path):
    rng = np.random.default_rng(3)
    bigdebug.provenance(pd.DataFrame({"src": rng.integers(0, 2**62, 600_000), "dst": rng.integers(0, 2**62, 600_000), "op": "R"}), at=tmp_path / "index", progress=False)
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(TOUCHED), tmp_path / "index"], capture_output=True, text=True, timeout=120, check=False)
    size = sum(one.stat().st_size for one in (tmp_path / "index").iterdir())
    assert size > 20_000_000
    assert int(run.stdout) < size // 20, run.stderr


TOUCHED = """
    import sys
    import bigdebug

    def touched():
        # What was read of a file into memory, and what of its mappings is in memory.
        with open("/proc/self/io") as file:
            read = int(next(file).split()[1])
        with open("/proc/self/smaps") as file:
            lines, here, mapped = file.readlines(), False, 0
        for line in lines:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                here = sys.argv[1] in line
            elif words[0] == "Rss:" and here:
                mapped += int(words[1]) << 10
        return read + mapped - (sum(map(len, lines)))

    bigdebug.provenance  # what Python reads of itself
    from bigdebug.provgraph.graph import opened
    before = touched()
    graph = opened(sys.argv[1])
    print(touched() - before)
"""


TOLD = """
    import os, resource, signal, sys
    import numpy as np, pandas as pd
    import bigdebug
    from bigdebug.errors import StoreError
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"src": rng.integers(0, 2**62, 300_000), "dst": rng.integers(0, 2**62, 300_000), "op": "R"})
"""


def told(program, folder):
    code = textwrap.dedent(TOLD) + textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=120, check=False)


def test_a_disk_that_fills_leaves_nothing(tmp_path):
    # A limit on the size of files fails as a full disk does, in the middle of writing.
    run = told(
        """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for size in (100_000, 3_000_000, 8_000_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            try:
                bigdebug.provenance(frame, at=os.path.join(sys.argv[1], "index"))
                print("built")
            except StoreError as error:
                print(error)
            print(os.listdir(sys.argv[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        print(len(bigdebug.provenance(frame, at=os.path.join(sys.argv[1], "index"))))
        """,
        tmp_path,
    )
    assert run.stdout.count("cannot be built") == 3, run.stdout + run.stderr
    assert run.stdout.count("[]") == 3
    assert "where there is room" in run.stdout
    assert run.stdout.splitlines()[-1] == "600000"


@pytest.mark.parametrize("how", ["os.kill(os.getpid(), signal.SIGINT)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_an_interruption_leaves_no_index(tmp_path, how):
    run = told(
        f"""
        from bigdebug.provgraph import edges
        def killed(self, *rows):
            {how}
        edges.SparseRows.add = killed
        bigdebug.provenance(frame, at=os.path.join(sys.argv[1], "index"))
        """,
        tmp_path,
    )
    assert run.returncode != 0
    assert not (tmp_path / "index").exists()
    left = sum(one.stat().st_size for one in tmp_path.rglob("*") if one.is_file())
    assert left < 20_000_000, "spill files have no names"
    if "SIGINT" in how:
        assert os.listdir(tmp_path) == []
    # What a killed one left stands in nobody's way, and is taken away by the next.
    bigdebug.provenance(pd.DataFrame({"src": [1], "dst": [2], "op": "R"}), at=tmp_path / "index")
    assert os.listdir(tmp_path) == ["index"]


@pytest.mark.many
@pytest.mark.parametrize(("file", "rows"), [("triples.parquet", 1_500_000), ("triples.csv", 500_000), ("long.parquet", 200)])
def test_memory_stays_below_the_limit(tmp_path, file, rows):
    rng = np.random.default_rng(5)
    src, dst = (pa.array(rng.integers(0, 2**62, rows)) for _ in range(2))
    if file.endswith("csv"):
        src, dst = (pc.binary_join_element_wise(ids.cast(pa.string()), "an attribute of a record", "/") for ids in (src, dst))
    if file.startswith("long"):
        src, dst = (pc.binary_repeat(pc.binary_join_element_wise(ids.cast(pa.string()), "", "/"), 50_000) for ids in (src, dst))
    table = pa.table({"src": src, "dst": dst, "op": pa.repeat(pa.scalar("R"), rows)})
    if file.endswith("csv"):
        csv.write_csv(table, tmp_path / file)
    else:
        # A page of Parquet is read as a whole, and the dictionary of a column is one.
        pq.write_table(table, tmp_path / file, use_dictionary=["op"], write_batch_size=8 if rows < 1_000 else 1_024)
    assert peak_of("sys.argv[1]", tmp_path / file) < 128 << 20


@pytest.mark.many
@pytest.mark.parametrize(
    "given",
    [
        'pd.DataFrame({"src": np.arange(3_000_000), "dst": np.arange(1, 3_000_001), "op": 0})',
        'pd.DataFrame({"src": np.arange(3_000_000), "dst": np.arange(1, 3_000_001), "op": 0}, dtype="Int64")',
        'pd.DataFrame({"src": [f"{n}/" * 5_000 for n in range(3_000)], "dst": [f"/{n}" * 5_000 for n in range(3_000)], "op": "R"})',
        'pa.table({"src": [f"{n}/" * 5_000 for n in range(3_000)], "dst": [f"/{n}" * 5_000 for n in range(3_000)], "op": ["R"] * 3_000})',
    ],
    ids=["integers", "nullable", "long-texts", "arrow"],
)
def test_memory_stays_below_the_limit_beside_what_is_in_memory(tmp_path, given):
    assert peak_of(given, tmp_path / "of") < 128 << 20


def peak_of(given, path):
    """Bytes that it takes at most to build an index of what a program makes of ``path``, beside that, with 128 MB allowed."""
    code = textwrap.dedent(PEAK).replace("GIVEN", given)
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return int(run.stdout)


PEAK = """
    import gc, sys, threading
    import numpy as np, pandas as pd, pyarrow as pa
    import bigdebug

    def anonymous():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) << 10

    bigdebug.provenance(pd.DataFrame({"src": [1], "dst": [2], "op": "R"}), progress=False)
    given = GIVEN
    gc.collect()
    pa.default_memory_pool().release_unused()
    before, peak, done = anonymous(), 0, threading.Event()

    def watch():
        global peak
        while not done.wait(0.002):
            peak = max(peak, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    bigdebug.provenance(given, at=sys.argv[1] + ".index", memory="128m", progress=False)
    done.set()
    watcher.join()
    print(peak - before)
"""
