"""Text inputs of T2: every line is named by its file and number, and shown as the program saw it, however it was split."""

from __future__ import annotations

import gzip
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spark.reading import BOM, cut, lines, read, same, written

PIECES = ["a", "bb", " ", "\n", "\r\n", "\r", "\n\n", "é", "😀", "\u2028", "\x0b", "\x85", "\x00", "\ufeff", "x" * 40]
TWELVE = "".join(f"{i}\n" for i in range(12)).encode()
BROKEN = [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f"]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map(lambda pieces: "".join(pieces).encode())
dirty = st.lists(st.sampled_from([p.encode() for p in PIECES] + BROKEN * 2), min_size=8, max_size=60).map(b"".join)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New folders, also for examples of Hypothesis."""
    root = tmp_path_factory.mktemp("inputs")
    return (root / str(i) for i in itertools.count())


@settings(max_examples=30)
@given(data=texts, partitions=st.integers(1, 7))
def test_every_line_of_a_file_is_named_by_its_number(dbg: Any, folders: Any, data: bytes, partitions: int) -> None:
    folder = written(next(folders), {"t.txt": data})
    reading = read(dbg, dbg.context.textFile(str(folder / "t.txt"), partitions))
    assert reading.named == lines({"t.txt": data})
    trace = reading.trace
    for rid, origin, record in zip(trace.rids().tolist(), trace.origins(), trace.collect()):
        one = trace.at([rid])
        assert (one.origins(), one.collect()) == ([origin], [record])


@settings(max_examples=12)
@given(files=st.lists(texts, min_size=1, max_size=3), partitions=st.integers(1, 7))
def test_every_line_of_several_files_is_named_by_its_file_and_number(
    dbg: Any, folders: Any, files: list[bytes], partitions: int
) -> None:
    contents = {f"f{i}.txt": data for i, data in enumerate(files)}
    folder = written(next(folders), contents)
    assert read(dbg, dbg.context.textFile(str(folder), partitions)).named == lines(contents)


@settings(max_examples=12)
@given(data=dirty, partitions=st.integers(1, 4), use_unicode=st.booleans())
def test_lines_that_are_not_utf8_are_shown_as_the_program_saw_them(
    dbg: Any, folders: Any, data: bytes, partitions: int, use_unicode: bool
) -> None:
    folder = written(next(folders), {"t.txt": data})
    found = read(dbg, dbg.context.textFile(str(folder / "t.txt"), partitions, use_unicode)).named
    assert {type(record) for _, _, record in found} <= {str if use_unicode else bytes}

    def readable(text: str) -> str:
        """Java and Python write different numbers of replacement characters for one broken sequence."""
        return re.sub("\ufffd+", "\ufffd", text)

    shown = [(n, readable(r if use_unicode else r.decode())) for _, n, r in found]
    assert shown == [(i, readable(line.decode(errors="replace"))) for i, line in enumerate(cut(data), 1)]


LONG = ("l" * 300_000 + "\n" + "m\n" * 50 + "n" * 200_000).encode()


@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize(
    ("files", "select"),
    [
        ({"one.txt": b"a\nb\nc\n"}, "one.txt"),
        ({"p.txt": b"a\nb\n", "q.txt": b"c\nd", "r.txt": b"no\n"}, "p.txt,q.txt"),
        ({"p.txt": b"a\nb\n", "q.txt": b"c\nd", "_SUCCESS": b"", ".hidden": b"no\n"}, ""),
        ({"p1.txt": b"a\nb\n", "p2.txt": b"c\nd", "q.txt": b"no\n"}, "p*.txt"),
        ({"crlf.txt": b"a\r\n\r\nb\r\nc"}, "crlf.txt"),
        ({"open.txt": b"a\nb\nlast"}, "open.txt"),
        ({"empty.txt": b""}, "empty.txt"),
        ({"empty.txt": b"", "full.txt": b"a\n"}, ""),
        ({"blank.txt": b"\n\n\na\n\n"}, "blank.txt"),
        ({"unicode.txt": "é\n😀\u2028x\x85y\n".encode()}, "unicode.txt"),
        ({"bom.txt": BOM + b"a\nb\n"}, "bom.txt"),
        ({"long.txt": LONG}, "long.txt"),
        ({"a b+é.txt": b"a\nb\n"}, "a b+é.txt"),
    ],
)
def test_text_files_of_every_shape(dbg: Any, folders: Any, files: dict[str, bytes], select: str, partitions: int) -> None:
    folder = written(next(folders), files)
    chosen = {name: data for name, data in files.items() if name[0] not in "_." and not data.startswith(b"no")}
    path = ",".join(str(folder / name) for name in select.split(","))
    assert read(dbg, dbg.context.textFile(path, partitions)).named == lines(chosen)


def test_a_compressed_text_is_named_by_the_lines_inside(dbg: Any, folders: Any) -> None:
    folder = written(next(folders), {"t.txt.gz": gzip.compress(b"a\nb\r\nc\rd")})
    found = read(dbg, dbg.context.textFile(str(folder), 4)).named
    assert found == [("t.txt.gz", i, record) for i, record in enumerate("abcd", 1)]


def test_a_delimiter_of_the_users_own_counts_records_instead_of_lines(dbg: Any, folders: Any) -> None:
    folder = written(next(folders), {"t.txt": b"a|b\nc|d\n|e"})
    hadoop = dbg.context._jsc.hadoopConfiguration()
    hadoop.set("textinputformat.record.delimiter", "|")
    try:
        reading = read(dbg, dbg.context.textFile(str(folder / "t.txt"), 3))
        assert reading.named == [("t.txt", i, record) for i, record in enumerate(["a", "b\nc", "d\n", "e"], 1)]
    finally:
        hadoop.unset("textinputformat.record.delimiter")


def test_a_trace_goes_ahead_from_a_line_by_its_number(dbg: Any, folders: Any) -> None:
    data = "".join(f"k{i % 5} {i}\n" for i in range(60)).encode()
    source = dbg.context.textFile(str(written(next(folders), {"t.txt": data})), 4)
    groups = source.map(lambda line: tuple(line.split())).groupByKey(3).mapValues(sorted)
    with dbg.capture("ahead"):
        groups.collect()
    everything = source.getLineage()
    for rid, origin in zip(everything.rids().tolist(), everything.origins()):
        (key, values), = everything.at([rid]).goNextAll().collect()
        assert key == f"k{(origin.line - 1) % 5}"
        assert str(origin.line - 1) in values


def test_a_trace_after_take_has_what_take_gave(dbg: Any, folders: Any) -> None:
    source = dbg.context.textFile(str(written(next(folders), {"t.txt": TWELVE})), 6)
    result = source.map(same)
    with dbg.capture("take"):
        taken = result.take(7)
    assert set(taken) <= set(result.getLineage().collect())


# ---- names that are easy to get wrong -----------------------------------------------------------------------------


def test_a_file_that_is_read_twice_by_one_source_keeps_its_line_numbers(dbg: Any, folders: Any) -> None:
    path = written(next(folders), {"t.txt": TWELVE}) / "t.txt"
    assert read(dbg, dbg.context.textFile(f"{path},{path}", 4)).named == sorted(2 * lines({"t.txt": TWELVE}))


def test_a_file_with_a_percent_sign_in_its_name_is_not_taken_for_another(dbg: Any, folders: Any) -> None:
    folder = written(next(folders), {"a%41.txt": b"mine\n", "aA.txt": b"else\n"})
    assert read(dbg, dbg.context.textFile(str(folder / "a%41.txt"), 1)).named == [("a%41.txt", 1, "mine")]


@pytest.mark.parametrize("name", ["a#b.txt", "a%20b.txt"])
def test_a_file_with_any_name_can_be_traced(dbg: Any, folders: Any, name: str) -> None:
    folder = written(next(folders), {name: b"a\nb\n"})
    assert read(dbg, dbg.context.textFile(str(folder), 2)).named == [(name, 1, "a"), (name, 2, "b")]


@pytest.mark.parametrize("arrange", [lambda text: text.coalesce(2), lambda text: text.union(text)])
def test_lines_keep_their_names_where_the_jvm_rearranges_a_source(dbg: Any, folders: Any, arrange: Any) -> None:
    text = dbg.context.textFile(str(written(next(folders), {"t.txt": TWELVE})), 4)
    assert set(read(dbg, arrange(text)).named) == set(lines({"t.txt": TWELVE}))


def test_a_source_that_was_collected_itself_can_be_traced(dbg: Any, folders: Any) -> None:
    text = dbg.context.textFile(str(written(next(folders), {"t.txt": TWELVE})), 4)
    with dbg.capture("direct"):
        text.collect()
    (last,) = text.getLineage().where(lambda line: line > "8").source_records()
    assert (last.record, last.origin.line) == ("9", 10)
