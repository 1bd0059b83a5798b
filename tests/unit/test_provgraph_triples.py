"""Triples are read from whatever holds them; what is no triple is told of by row, or refused by name."""

import gzip
import subprocess
import sys
from textwrap import dedent

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bigdebug
from bigdebug import Workflow
from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.report import Findings
from bigdebug.provgraph.triples import Triples


def read(given, strict=False, **options):
    """All triples of a source, and what was found."""
    findings = Findings(strict)
    found = []
    triples = Triples.of(given, **options)
    for chunk in triples.chunks(7, 1_000_000, findings):
        ops = iter(chunk.op.tolist() if isinstance(chunk.op, np.ndarray) else chunk.op.to_pylist())
        src, dst = (side.tolist() if isinstance(side, np.ndarray) else side.to_pylist() for side in (chunk.src, chunk.dst))
        found += [(s, d, next(ops) if named else None) for s, d, named in zip(src, dst, chunk.named)]
    return found, {finding.kind: (finding.count, finding.examples) for finding in findings.found()}


SOME = [(1, 2, "R1"), (2, 3, None), (2, 4, "<script>alert(1)</script>")]
FRAME = pd.DataFrame(SOME, columns=["src", "dst", "op"])


@pytest.mark.parametrize(
    "given",
    [
        FRAME,
        FRAME.astype({"src": "int32", "dst": "uint64", "op": "category"}),
        FRAME.astype({"src": "Int64", "dst": object, "op": "string"}),
        pa.Table.from_pandas(FRAME),
        pa.table({"src": pa.array([1, 2, 2], pa.uint8()), "dst": pa.array([2, 3, 4]).dictionary_encode(), "op": FRAME["op"]}),
        pa.Table.from_pandas(FRAME).to_reader(max_chunksize=1),
    ],
)
def test_frames_and_arrow(given):
    assert read(given) == (SOME, {})


def test_texts_of_any_kind_are_ids():
    odd = ["", "\0", "א\u202eb", "10" * 3_000_000, "a\nb", "NULL", "nan"]
    frame = pd.DataFrame({"src": odd, "dst": "x", "op": [1, 2, 3, 4, 5, 6, 7]})
    assert read(frame)[0] == [(text, "x", number) for number, text in enumerate(odd, 1)]


def test_parquet_in_folders_and_partitions(tmp_path):
    for op, part in FRAME.assign(op=["R1", "R1", "R2"]).groupby("op"):
        (tmp_path / "t" / f"op={op}").mkdir(parents=True)
        pq.write_table(pa.Table.from_pandas(part[["dst", "src"]], preserve_index=False), tmp_path / "t" / f"op={op}" / "part-0.parquet")
    (tmp_path / "t" / "_SUCCESS").write_text("")
    assert sorted(read(tmp_path / "t")[0]) == [(1, 2, "R1"), (2, 3, "R1"), (2, 4, "R2")]
    more = tmp_path / "more.parquet"
    pq.write_table(pa.table({"src": pa.array([9], pa.int32()), "dst": [1], "op": ["R3"]}), more)
    assert read([more, more])[0] == [(9, 1, "R3")] * 2


def test_other_names_and_no_operations(tmp_path):
    FRAME.rename(columns={"src": "von.id", "dst": "nach"}).to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", columns=("von.id", "nach", None))[0] == [(1, 2, None), (2, 3, None), (2, 4, None)]
    with pytest.raises(ProvenanceError, match=r"no column 'src'.*'von.id'"):
        read(tmp_path / "t.parquet")


CSV = 'op,src,dst,more\nR1,1,2,x\n"a\nb",2,3,\n\n,4,5,y\nR2,6\nR2,,7,z\nR2,8,8,z\nR2,10,9,"""q"""\n'


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv"])
def test_csv_tells_of_lines_that_are_no_triples(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    text = CSV.replace(",", "\t") if suffix == ".tsv" else CSV
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    found, odd = read(path)
    assert found == [(1, 2, "R1"), (2, 3, "a\nb"), (4, 5, None), (10, 9, "R2")]
    # Blank lines are not counted, and one with a quoted line break is one.
    short = repr("R2\t6" if suffix == ".tsv" else "R2,6")
    assert odd == {
        "malformed": (1, (f"record 5 of {path.name}, its header being the first: {short}",)), "missing": (1, ("whole row 3",)),
        "self-loops": (1, ("whole row 4: 8 -> 8",)),
    }
    with pytest.raises(ProvenanceError, match="no triples: record 5"):
        read(path, strict=True)


def test_folders_of_csv_as_spark_writes_them(tmp_path):
    for part in range(2):
        (tmp_path / f"part-0000{part}-uuid-c000.csv").write_text(f"src,dst,op\n{part},9,R\n")
        (tmp_path / f".part-0000{part}-uuid-c000.csv.crc").write_bytes(b"\xff")
    (tmp_path / "_SUCCESS").write_text("")
    assert read(tmp_path) == ([(0, 9, "R"), (1, 9, "R")], {})


@pytest.mark.parametrize("odd", ["007", "+7", " 7", "0x7", "7.0", "-0", "9223372036854775808", "seven"])
def test_integers_are_written_in_one_way(tmp_path, odd):
    path = tmp_path / "t.csv"
    path.write_text(f"src,dst,op\n9223372036854775807,-9223372036854775808,R\n{odd},5,R\n")
    assert read(path)[0] == [("9223372036854775807", "-9223372036854775808", "R"), (odd, "5", "R")]
    found, told = read(path, ids="int")
    assert found == [(2**63 - 1, -(2**63), "R")]
    assert told["malformed"] == (1, (f"whole row 1, where ids are no integers: {odd!r} -> '5'",))


def test_texts_that_come_late_are_told_of(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("src,dst,op\n" + "1,2,R\n" * 800_000 + "A17,2,R\n")
    found, told = read(path)
    assert len(found) == 800_000
    assert told["malformed"] == (1, ("whole row 800000, where ids are no integers: 'A17' -> '2'",))
    assert len(read(path, ids="text")[0]) == 800_001


@pytest.mark.parametrize("long", [[0], [60_000], [3, 70_000], [99_999]])
def test_lines_longer_than_what_is_parsed_at_once(tmp_path, long):
    path = tmp_path / "t.csv"
    rows = [(f"a{row}", "b" * 5_000_000 if row in long else "b\n", "R") for row in range(100_000)]
    lines = [f'{src},"{dst}",{op}\n' for src, dst, op in rows]
    lines[10] = "odd\n" + lines[10]
    lines[80_000] = "odd,\n" + lines[80_000]
    path.write_text("src,dst,op\n" + "".join(lines))
    found, told = read(path)
    assert found == rows
    assert told == {"malformed": (2, ("record 12 of t.csv, its header being the first: 'odd'", "record 80003 of t.csv, its header being the first: 'odd,'"))}


@pytest.mark.parametrize(
    ("given", "because"),
    [
        (FRAME.assign(src=[1.0, np.nan, 2.0]), r"'src' has the type double.*Int64"),
        (FRAME.assign(src=[1, "a", 2]), "several types"),
        (FRAME.assign(src=["1", "2", "3"]), "'src' are of type .*string, in 'dst' of type int64"),
        (FRAME.assign(src=[1, 2, 2**70]), "several types"),
        (FRAME.assign(src=["\ud800", "b", "c"], dst="x"), "several types"),
        (FRAME.assign(src=pd.array([2**63, 1, 2], "uint64")), "more than 63 bits"),
        (FRAME.assign(op=pd.Timestamp("2026-01-01")), "'op' has the type timestamp"),
        (FRAME.assign(src=[b"a", b"b", b"c"]), "'src' has the type binary"),
        (FRAME.assign(dst=[True, False, True]), "'dst' has the type bool"),
        (FRAME.assign(dst=[{"row": 1}, {"row": 2}, {"row": 3}]), "'dst' has the type struct"),
        (FRAME.assign(dst=[[1], [2], [3]]), "'dst' has the type list"),
        (FRAME.drop(columns="dst"), "no column 'dst'"),
        (pd.concat([FRAME, FRAME[["src"]]], axis=1), "several columns 'src'"),
        ("nothing.parquet", "no such file"),
        ([], "No triples can be read"),
        (17, "No triples can be read"),
        (FRAME["src"], "No triples can be read"),
        (FRAME.index, "No triples can be read"),
        (pa.chunked_array([[1, 2]]), "No triples can be read"),
    ],
)
def test_what_has_no_triples_is_refused_by_name(given, because):
    with pytest.raises(ProvenanceError, match=because):
        read(given)


@pytest.mark.parametrize(
    ("name", "content", "because"),
    [
        ("t.parquet", b"PAR1 not really", "cannot be read"),
        ("t.csv", b"", "cannot be read"),
        ("t.csv", b"src,dst,op\n\xff\xfe,2,R\n", "UTF-8"),
        ("t.csv.gz", gzip.compress(b"src,dst,op\n1,2,R\n", mtime=0)[:-9], "t.csv.gz cannot be read"),
        ("t.csv.gz", b"src,dst,op\n1,2,R\n", "t.csv.gz cannot be read"),
        ("t.json", b"{}", "not all Parquet or all CSV"),
    ],
)
def test_files_that_are_none_are_refused_by_name(tmp_path, name, content, because):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ProvenanceError, match=because):
        read(tmp_path / name)


@pytest.mark.parametrize("text", ['1,2,"R\n3,4,S\n', '1,2,"R"\n3,4,"S""\n', '"1,2,R\n3,4,S', '1,2,R\n3,4,S"\n"5,6,T\n'])
@pytest.mark.parametrize("columns", [("src", "dst", "op"), ("src", "dst", None)])
def test_a_quote_that_is_never_closed_swallows_no_triples_in_silence(tmp_path, text, columns):
    (tmp_path / "t.csv").write_text("src,dst,op\n" + text)
    with pytest.raises(ProvenanceError, match=r"t\.csv has a quote that is never closed"):
        read(tmp_path / "t.csv", columns=columns)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n", ' "', '\n7,8,"""T"""', '\n7,8,"a\nb"'])
def test_files_end_in_several_ways(tmp_path, end):
    (tmp_path / "t.csv").write_bytes(b"src,dst,op\n5,6,R" + end.encode())
    found, told = read(tmp_path / "t.csv")
    assert (len(found), told) == (1 + ("7" in end), {})


def test_what_may_not_be_read_is_refused_by_name(tmp_path):
    # Who is root may read all; so somebody else reads, in a process of his own.
    (tmp_path / "some" / "closed").mkdir(parents=True)
    (tmp_path / "some" / "other" / ".closed").mkdir(parents=True)
    for folder in ("some", "some/other"):
        FRAME.to_csv(tmp_path / folder / "t.csv", index=False)
    FRAME.to_csv(tmp_path / "some" / "closed" / "t.csv", index=False)
    program = """
        import os, sys
        import bigdebug
        from bigdebug.errors import ProvenanceError
        from bigdebug.provgraph import sources
        os.chdir(sys.argv[1])
        os.chmod("closed", 0)
        os.chmod("other/.closed", 0)
        if os.geteuid() == 0:
            # Rights of files are looked at again, all else stays as it is.
            import ctypes
            ctypes.CDLL(None).setfsuid(65534)
        for path in (".", "closed/t.csv", "other"):
            try:
                print(len(sources.source_of(path).files))
            except ProvenanceError as problem:
                print(problem)
    """
    run = subprocess.run([sys.executable, "-c", dedent(program), tmp_path / "some"], capture_output=True, text=True, timeout=120, check=False)
    (tmp_path / "some" / "closed").chmod(0o700)
    (tmp_path / "some" / "other" / ".closed").chmod(0o700)
    assert run.stdout.count("cannot be read: [Errno 13] Permission denied") == 2, run.stdout + run.stderr
    assert run.stdout.endswith("\n1\n"), run.stdout  # what is left out is not asked for


@pytest.mark.parametrize("given", [FRAME[:0], FRAME[:0].astype(object), pa.table({name: pa.nulls(0) for name in ("src", "dst", "op")})])
def test_no_triples_are_none(given):
    assert read(given) == ([], {})


def strange(*values):
    """Texts of any bytes, as Spark's Parquet files may have them."""
    return pa.array(values, pa.binary()).view(pa.string())


def test_texts_that_are_not_utf8_are_no_ids(tmp_path):
    table = pa.table({"src": strange(b"a", b"\xffA", b"c", b"d", None), "dst": ["b", "c", "d", "e", "f"], "op": strange(b"R", b"R", b"\xfe", None, b"R")})
    pq.write_table(table, tmp_path / "triples.parquet")
    graph = bigdebug.provenance(tmp_path / "triples.parquet", progress=False)
    assert graph.report["malformed"].count == 2
    first, second = graph.report["malformed"].examples
    assert first.startswith("row 1, where ids are not UTF-8: ")
    assert second.startswith("row 2, where the operation is not UTF-8: 'c' -> 'd'")
    assert graph.report["missing"].count == 1
    assert graph.first() == ["a", "b", "d", "e"]
    with pytest.raises(ProvenanceError, match="name of a table is not UTF-8"):
        bigdebug.provenance(table.append_column("s", strange(*[b"\xff"] * 5)), Workflow.of([("x", "y")], items=("s", "dst")), progress=False)


def test_a_null_in_a_dictionary_is_one():
    src = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([None, 5]))
    assert read(pa.table({"src": src, "dst": [1, 2, 3], "op": ["R"] * 3})) == ([(5, 2, "R")], {"missing": (2, ("row 0", "row 2"))})


def test_texts_that_look_like_integers_are_texts():
    frame = pd.DataFrame({"src": [*range(1, 70_001), *("5" for _ in range(70_000))], "dst": 0, "op": None}, dtype=object)
    with pytest.raises(ProvenanceError, match=r"several types|integers first and then texts"):
        read(frame)
    batches = [pa.record_batch({"src": pa.array(some), "dst": pa.array(some)}) for some in (["1"], ["2"])]
    assert read(pa.RecordBatchReader.from_batches(batches[0].schema, batches), columns=("dst", "src", None))[1]["self-loops"][0] == 2


def test_files_that_are_altered_within_are_refused_by_name(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    whole = bytearray((tmp_path / "t.parquet").read_bytes())
    whole[10:60] = bytes(50)
    (tmp_path / "t.parquet").write_bytes(whole)
    with pytest.raises(ProvenanceError, match=r"t\.parquet cannot be read"):
        read(tmp_path / "t.parquet")


@pytest.mark.parametrize("columns", ["abc", (0, 1, 2), ("src", "dst"), ("src", None, "op"), 5, None])
def test_names_of_columns_are_three_texts(columns):
    with pytest.raises(ProvenanceError, match="three columns"):
        read(FRAME, columns=columns)


def test_columns_of_ids_are_two(tmp_path):
    with pytest.raises(ProvenanceError, match="src and dst are two"):
        read(FRAME, columns=("src", "src", "op"))
    FRAME.to_csv(tmp_path / "t.csv")
    assert {op for *_, op in read(tmp_path / "t.csv", columns=("src", "dst", "src"))[0]} == set(FRAME["src"].astype(str))


def test_a_column_that_pandas_has_no_values_of_has_no_type():
    assert read(FRAME.assign(op=np.nan))[0] == [(src, dst, None) for src, dst in zip(FRAME["src"], FRAME["dst"])]
    assert read(pd.DataFrame({"src": [], "dst": [], "op": []}, dtype=float)) == ([], {})
    assert read(FRAME.assign(src=np.nan))[1]["missing"][0] == len(FRAME)
    named = FRAME.assign(op=np.nan).rename(columns={"op": "self"})
    assert len(read(named, columns=("src", "dst", "self"))[0]) == len(FRAME)


def test_nulls_alone_are_missing():
    assert read(pa.table({name: pa.nulls(3) for name in ("src", "dst", "op")})) == ([], {"missing": (3, ("row 0", "row 1", "row 2"))})
