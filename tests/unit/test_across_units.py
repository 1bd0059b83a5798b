"""Positions of one unit are turned into another exactly, or not at all: against oracles that go byte by byte, for texts of any kind."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc, parquet

from bigdebug.errors import SourceChangedError, TooLargeError, UnknownRecordError, UntraceableError
from bigdebug.trace.across import opened, units
from bigdebug.trace.across.cuts import cuts_of
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.across.stamps import stamp_of
from bigdebug.trace.across.units import Units, same_count

RFC = (("multiLine", "true"), ("escape", '"'), ("header", "true"))


@contextmanager
def read_by(size: int) -> Iterator[None]:
    """Within: files are read by so many bytes at a time."""
    usual, opened.PIECE = opened.PIECE, size
    try:
        yield
    finally:
        opened.PIECE = usual


def bounds(path: Path, unit: Unit, form: str = "text", options: Any = ()) -> list[tuple[int, int]]:
    cuts = cuts_of(Extent(str(path), unit, form, tuple(options)))
    return list(zip(cuts.starts.tolist(), cuts.ends.tolist(), strict=True))


def lines_of(data: bytes) -> list[tuple[int, int]]:
    """The lines of a text, one after the other: a line ends behind \\n, \\r\\n or \\r."""
    return [m.span() for m in re.finditer(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", data)]


texts = st.lists(st.sampled_from([b"a", b" ", b"\n", b"\r", b"\r\n", b'"', b",", b"\\", b"\xc3\xa9", b"#", b"x" * 9]), max_size=40).map(b"".join)
sizes = st.sampled_from([1, 2, 3, 5, 8, 1 << 20])


@settings(max_examples=60, deadline=None)
@given(texts, sizes)
def test_lines_end_where_they_end_however_the_file_is_read(tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes(data)
    with read_by(size):
        assert bounds(path, Unit.LINE) == bounds(path, Unit.ROW, "text") == lines_of(data)


@settings(max_examples=60, deadline=None)
@given(texts, sizes, st.booleans(), st.sampled_from(["", "#"]))
def test_a_csv_read_by_lines_has_a_row_for_each_line_that_is_not_blank(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int, header: bool, comment: str,
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.csv"
    path.write_bytes(data)
    kept = [(s, e) for s, e in lines_of(data) if data[s:e].strip() and not (comment and data[s:e].startswith(b"#"))]
    with read_by(size):
        assert bounds(path, Unit.ROW, "csv", [("header", str(header)), ("comment", comment)]) == kept[1 if header else 0 :]


fields = st.lists(st.sampled_from([*'ab é,"\n', "\r\n", "שלום"]), max_size=6).map("".join)
tables = st.lists(st.one_of(st.lists(fields, min_size=2, max_size=3), st.none()), max_size=12)


@settings(max_examples=80, deadline=None)
@given(tables, sizes, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.sampled_from([",", ";", "\t"]))
def test_a_csv_with_quotes_has_its_rows_where_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, table: Any, size: int, end: str, bom: bool, closed: bool, quoting: Any, sep: str,
) -> None:
    """None in the table is an empty line."""
    data, expected = b"\xef\xbb\xbf" if bom else b"", list[tuple[int, int, bool]]()
    for row in table:
        text = io.StringIO()
        csv.writer(text, lineterminator=end, quoting=quoting, delimiter=sep).writerow(row) if row else text.write(end)
        start, data = (0 if not expected and len(data) == 3 and bom else len(data)), data + text.getvalue().encode()
        expected.append((start, len(data), row is not None))
    if not closed and expected and expected[-1][2]:
        data, expected[-1] = data.removesuffix(end.encode()), (expected[-1][0], len(data) - len(end), True)
    kept = [(s, e) for s, e, row in expected if row]
    path = tmp_path_factory.mktemp("quoted") / "a.csv"
    path.write_bytes(data)
    blank = [e for s, e, row in expected if row and not data[s:e].removeprefix(b"\xef\xbb\xbf").strip()]
    with read_by(size):
        if blank:  # nothing but blanks between tabs
            with pytest.raises(UntraceableError, match="only blanks"):
                bounds(path, Unit.ROW, "csv", [*RFC, ("sep", sep)])
            return
        assert bounds(path, Unit.ROW, "csv", [*RFC[:2], ("sep", sep)]) == kept
        assert bounds(path, Unit.ROW, "csv", [*RFC, ("sep", sep)]) == kept[1:]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(["a", ",", '"', "\n", "\\", '""', '","']), max_size=25).map("".join), sizes)
def test_quotes_anywhere_are_read_as_pandas_reads_them_or_refused(tmp_path_factory: pytest.TempPathFactory, data: str, size: int) -> None:
    path = tmp_path_factory.mktemp("quoted") / "a.csv"
    path.write_text(data)
    with read_by(size):
        try:
            found = len(bounds(path, Unit.ROW, "csv", RFC[:2]))
        except UntraceableError:
            return
    assert found == sum(1 for row in csv.reader(io.StringIO(data, newline=""), strict=False) if row)
    if found:
        assert found == len(pd.read_csv(path, header=None, names=range(30), dtype=str))


@pytest.mark.parametrize(("text", "rows"), [('a,"b\\"\n",c\nd\n', 2), ('"\\\\"\nx\n', 2), ('a\\"\nb\n', 2)])
def test_escaped_quotes_neither_open_nor_close(tmp_path: Path, text: str, rows: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    for size in (1, 2, 3, 100):
        with read_by(size):
            assert len(bounds(path, Unit.ROW, "csv", RFC[:1])) == rows


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('a,"b\n', RFC), ('a,5" pipe\n"x\ny",2\n', RFC), ("a\n  \nb\n", RFC), ("a\rb\n", RFC), ("a\\\nb\n", RFC[:1]), ('"a""b"\n', RFC[:1]),
        ("a\n", [("skiprows", "1")]), ("a\n", [("mode", "DROPMALFORMED")]), ("a\n", [("lineSep", "|")]), ("a\n", [("encoding", "no-such")]), ("a\n", [("header", "maybe")]),
        ("a\n", [("comment", "//")]), ("a\n", [*RFC, ("sep", "||")]), ('"a\nb",1\rc,1\r', RFC), ('a,b\r 1,2\r', RFC), ('"a\r\nb",1\rc,1\r', RFC), ("a\n", [("encoding", "utf-16")]),
    ],
)
def test_what_readers_do_not_agree_on_is_refused(tmp_path: Path, text: str, options: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, newline="")
    with pytest.raises(UntraceableError):
        bounds(path, Unit.ROW, "csv", options)


def test_json_lines_have_a_row_for_each_line_with_content(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a":1}\n\n  \n  {"a":"\\n[x"}\n[]')
    with pytest.raises(UntraceableError, match="arrays"):
        bounds(path, Unit.ROW, "json")
    path.write_text('{"a":1}\n\n  \n  {"a":"\\n[x"}')
    assert bounds(path, Unit.ROW, "json") == [(0, 8), (12, 26)]
    with pytest.raises(UntraceableError):
        bounds(path, Unit.ROW, "json", [("multiLine", "true")])


def extent(path: Path, unit: Unit, form: str = "", options: Any = ()) -> Extent:
    return Extent(str(path), unit, form, tuple(options), stamp_of(str(path)))


def turned(path: Path, one: Any, other: Any, positions: list[int]) -> list[int]:
    first, second = extent(path, *one), extent(path, *other)
    return [int(p) for p in Units().translate(Located.of(str(path), first.unit, positions), first, second).positions]


def test_lines_of_a_csv_are_rows_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"two\nlines"\n\n2,b\n')
    line, row, byte = (Unit.LINE,), (Unit.ROW, "csv", RFC), (Unit.BYTE,)
    assert turned(path, line, row, [0]) == []
    assert turned(path, line, row, [2, 4]) == [0, 1]
    assert turned(path, row, line, [0]) == [1, 2]
    assert turned(path, byte, row, [9, 10]) == [0]
    assert turned(path, row, byte, [1]) == [23, 24, 25, 26]
    assert turned(path, (Unit.WHOLE,), row, [0]) == [0, 1]
    assert turned(path, row, (Unit.WHOLE,), [1]) == [0]
    assert turned(path, row, (Unit.WHOLE,), []) == []
    assert turned(path, (Unit.WHOLE,), byte, [0]) == list(range(path.stat().st_size))
    without = (Unit.ROW, "csv", RFC[:2])
    assert turned(path, row, without, [0, 1]) == [1, 2]


@settings(max_examples=60, deadline=None)
@given(texts, st.data())
def test_turning_is_its_own_inverse(tmp_path_factory: pytest.TempPathFactory, data: bytes, draw: Any) -> None:
    """Position a of one is position b of the other if and only if b is a of the one."""
    path = tmp_path_factory.mktemp("dual") / "a.csv"
    path.write_bytes(data)
    kinds = [(Unit.LINE,), (Unit.ROW, "csv"), (Unit.BYTE,), (Unit.ROW, "csv", [("header", "true")]), (Unit.WHOLE,)]
    one, other = draw.draw(st.sampled_from(kinds)), draw.draw(st.sampled_from(kinds))
    every = Units()
    first, second = extent(path, *one), extent(path, *other)
    there = {(a, b) for a in range(every.count(first)) for b in turned(path, one, other, [a])}
    back = {(a, b) for b in range(every.count(second)) for a in turned(path, other, one, [b])}
    if not (first.unit is Unit.WHOLE or second.unit is Unit.WHOLE):  # of a whole file, what is no row is a part, too
        assert there == back


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "shift_jis", "gb18030", "latin-1", "cp1252", "utf-8-sig"])
def test_texts_of_any_encoding_have_their_rows(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    letters = "表\\ソ" if encoding in ("shift_jis", "gb18030", "utf-16", "utf-16-le") else "éß"
    path.write_bytes(f'id,"{letters}"\n1,"x\n{letters}"\n2,y\n'.encode(encoding))
    options = [*RFC, ("encoding", encoding)]
    assert turned(path, (Unit.LINE,), (Unit.ROW, "csv", options), [2, 3]) == [0, 1]
    rows = extent(path, Unit.ROW, "csv", options)
    for size in (1, 2, 3, 1000):
        with read_by(size):
            assert Units().records(Located.of(str(path), Unit.ROW, [0, 1]), rows) == [f'1,"x\n{letters}"', "2,y"]
    lines = extent(path, Unit.LINE, "text", [("encoding", encoding)])
    assert Units().records(Located.of(str(path), Unit.LINE, [0]), lines) == [f'id,"{letters}"']
    with pytest.raises(UntraceableError, match="encodings"):
        turned(path, (Unit.LINE, "text", [("encoding", "cp850")]), (Unit.ROW, "csv", options), [0])


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", None)])
def test_compressed_texts_have_lines_and_rows_but_no_bytes(tmp_path: Path, ending: str, pack: Any) -> None:
    path = tmp_path / f"a.csv.{ending}"
    data = b"a,b\n" + b"".join(b"%d,x\n" % n for n in range(1000))
    path.write_bytes(pack(data) if pack else pa.compress(data, "zstd", asbytes=True))
    assert turned(path, (Unit.LINE,), (Unit.ROW, "csv", RFC), [0, 1, 1000]) == [0, 999]
    with read_by(100):
        found = Units().records(Located.of(str(path), Unit.ROW, [0, 999]), extent(path, Unit.ROW, "csv", RFC))
    assert found == ["0,x", "999,x"]
    with pytest.raises(UntraceableError, match="Bytes"):
        turned(path, (Unit.BYTE,), (Unit.LINE,), [0])
    path.write_bytes(path.read_bytes()[:40] if ending != "zst" else b"no")
    with pytest.raises(UntraceableError, match="cannot be read"):
        turned(path, (Unit.LINE,), (Unit.ROW, "csv"), [0])


def test_rows_of_tables_are_read_again_by_number(tmp_path: Path) -> None:
    table = pa.table({"n": range(10), "<b>": [f"<script>{n}" for n in range(10)], "deep": [{"a": [n]} for n in range(10)]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    orc.write_table(table, str(tmp_path / "a.orc"))
    for form in ("parquet", "orc"):
        rows = extent(tmp_path / f"a.{form}", Unit.ROW, form)
        assert Units().count(rows) == 10
        found = Units().records(Located.of(rows.path, Unit.ROW, [0, 2, 3, 9]), rows)
        assert found == [{"n": n, "<b>": f"<script>{n}", "deep": {"a": [n]}} for n in (0, 2, 3, 9)]
        assert Units().translate(Located.of(rows.path, Unit.WHOLE, [0]), extent(tmp_path / f"a.{form}", Unit.WHOLE), rows).positions.tolist() == list(range(10))
        with pytest.raises(UntraceableError, match="no lines"):
            turned(tmp_path / f"a.{form}", (Unit.ROW, form), (Unit.LINE,), [0])


def test_a_changed_or_missing_file_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\nb\n")
    line, row = extent(path, Unit.LINE), extent(path, Unit.ROW, "csv")
    path.write_text("a\nc\n")
    with pytest.raises(SourceChangedError):
        Units().translate(Located.of(str(path), Unit.LINE, [0]), line, row)
    path.unlink()
    with pytest.raises(SourceChangedError):
        Units().records(Located.of(str(path), Unit.LINE, [0]), line)
    same = Units().translate(Located.of(str(path), Unit.LINE, [5]), line, line)
    assert same.positions.tolist() == [5]  # counted alike: the file is not needed


def test_positions_beyond_the_end_and_answers_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\nb\n")
    with pytest.raises(UnknownRecordError, match="has 2 records"):
        turned(path, (Unit.LINE,), (Unit.ROW, "csv"), [2])
    monkeypatch.setattr(units, "MOST", 3)
    with pytest.raises(TooLargeError):
        turned(path, (Unit.WHOLE,), (Unit.BYTE,), [0])
    with pytest.raises(TooLargeError):
        turned(path, (Unit.LINE,), (Unit.BYTE,), [0, 1])


def test_what_is_counted_alike_is_known_from_options() -> None:
    def csv_of(*options: tuple[str, str]) -> Extent:
        return Extent("/a.csv", Unit.ROW, "csv", options)

    assert same_count(csv_of(("HEADER", "True"), ("delimiter", ";")), csv_of(("header", "true"), ("sep", ";"), ("encoding", "UTF-8")))
    assert not same_count(csv_of(), csv_of(("header", "true")))
    assert same_count(Extent("/a", Unit.ROW, "parquet"), Extent("/a", Unit.ROW, "parquet", (("mergeSchema", "true"),)))
    assert not same_count(Extent("/a", Unit.ROW, "text"), csv_of())
    for form in ("", "hadoop"):
        assert not any(same_count(Extent("/a", Unit.ROW, form), Extent("/a", Unit.ROW, other)) for other in ("", "hadoop", "csv", "parquet"))
        assert not same_count(csv_of(), Extent("/a", Unit.ROW, form))
        assert same_count(Extent("item:a", Unit.ROW, form), Extent("item:b", Unit.ROW, "item"))
    assert same_count(Extent("/a", Unit.LINE, "text"), Extent("/a", Unit.LINE, "csv"))
    assert same_count(Extent("/a", Unit.LINE, "text", (("encoding", "latin1"),)), Extent("/a", Unit.LINE, "csv"))
    assert not same_count(Extent("/a", Unit.LINE, "text", (("encoding", "utf-16"),)), Extent("/a", Unit.LINE, "csv"))


def test_many_long_and_strange_lines_are_quick_and_exact(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    row = json.dumps("x" * 10_000_000)
    path.write_text(f'k,v\n1,{row}\n2,"\u202e<script>alert(1)</script>\n{"y" * 100}"\n' + "3,z\n" * 300_000)
    rows = extent(path, Unit.ROW, "csv", RFC)
    found = Units()
    assert found.count(rows) == 300_002
    assert [len(t) for t in found.records(Located.of(rows.path, Unit.ROW, [0, 2]), rows)] == [10_000_004, 3]
    lines = found.translate(Located.of(rows.path, Unit.ROW, np.arange(300_002)), rows, extent(path, Unit.LINE))
    assert lines.positions.tolist() == list(range(1, 300_004))


def test_a_pipe_or_a_device_is_no_file_and_is_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    os.write(writer, b"somebody's\n")
    try:
        for path in (str(pipe), f"file:{pipe}", "/dev/zero", "/dev/urandom", str(tmp_path), "a\0b"):
            assert stamp_of(path) is stamp_of(path, digest=False) is None
        for extent in (Extent(str(pipe), unit, form) for unit in (Unit.LINE, Unit.BYTE, Unit.ROW) for form in ("text", "parquet", "orc")):
            with pytest.raises(UntraceableError, match="no file") as refused:
                Units().count(extent)
            assert refused.value.remedy
        assert os.read(writer, 99) == b"somebody's\n"
    finally:
        os.close(writer)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc here")
def test_no_more_of_a_file_is_read_than_it_has() -> None:
    """A file that has more than it says has no digest, which would be of what it happened to have."""
    found = stamp_of("/proc/self/status")
    assert found is not None
    assert (found.size, found.digest) == (0, "")
