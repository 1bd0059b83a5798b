"""Lines of text files, against a reader that goes byte by byte as Hadoop's LineRecordReader does.

The model was compared with Hadoop 3.5 itself on 879 splits of random bytes, through py4j.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigdebug.trace.origins import Split
from bigdebug.trace.textlines import TextLines, local_path

BOM = "\ufeff".encode()

# Every way a line can end, side by side and against characters of one to four bytes.
pieces = st.sampled_from([b"\n", b"\r", b"\r\n", b"\r\r\n", b"a", b"bc", "é".encode(), "€".encode(), "𝄞".encode(), b"\0", BOM])
contents = st.lists(pieces, max_size=30).map(b"".join)
ordinary = contents.filter(lambda data: data not in (b"", BOM))
Write = Callable[[bytes], str]


def record_reader(data: bytes, start: int, length: int) -> list[tuple[int, bytes]]:
    """Offset and bytes of each line of a split: what LineRecordReader gives, with the default delimiters."""

    def read_line(at: int) -> tuple[bytes, int]:
        first = at
        while at < len(data) and data[at] not in b"\r\n":
            at += 1
        line = data[first:at]
        if at < len(data):
            at += 2 if data[at : at + 2] == b"\r\n" else 1
        return line, at

    end, at = start + length, start
    if start:  # this line, or what is left of it, is the one that the split before reads last
        _, at = read_line(at)
    lines: list[tuple[int, bytes]] = []
    if data == BOM:  # the mark is not counted as read, so Hadoop takes such a file for one without lines
        return lines
    while at <= end and at < len(data):
        offset = at
        line, at = read_line(at)
        lines.append((offset, line.removeprefix(BOM) if offset == 0 else line))
    return lines


def cuts(data: bytes) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Ways to cut ``data`` into splits of (start, length)."""

    def split(marks: set[int]) -> list[tuple[int, int]]:
        edges = [0, *sorted(marks - {0, len(data)}), len(data)]
        return [(a, b - a) for a, b in pairwise(edges)]

    return st.sets(st.integers(0, len(data)), max_size=4).map(split)


split_files = ordinary.flatmap(lambda data: st.tuples(st.just(data), cuts(data)))


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Write:
    path = tmp_path_factory.mktemp("lines") / "some.txt"

    def written(data: bytes) -> str:
        path.write_bytes(data)
        return f"file:{path}"

    return written


def reader_of(uri: str, *splits: tuple[int, int]) -> TextLines:
    return TextLines([Split(uri, start, length) for start, length in splits])


def all_lines(reader: TextLines, split: int, count: int) -> list[str] | None:
    return reader.read(split, np.arange(count), count)


@given(split_files)
@example((b"a\r\nb", [(0, 2), (2, 2)]))  # a terminator in two splits
@example((b"a\rb\rc", [(0, 2), (2, 3)]))  # a line that starts where the split ends
@example((BOM + b"\n" + BOM, [(0, 1), (1, 6)]))
@example((b"aaaa", [(0, 1), (1, 1), (2, 2)]))  # splits in which no line starts
def test_each_split_has_the_lines_that_hadoop_reads_in_it(write: Write, case: tuple[bytes, list[tuple[int, int]]]) -> None:
    data, splits = case
    reader = reader_of(write(data), *splits)
    for number, split in enumerate(splits):
        expected = [line.decode() for _, line in record_reader(data, *split)]
        assert all_lines(reader, number, len(expected)) == expected


@pytest.mark.parametrize("edge", [b"\n", b"\r", b"\r\n"])
def test_a_long_line_that_starts_where_a_split_ends(write: Write, edge: bytes) -> None:
    data = b"a" + edge + b"x" * (1 << 17) + edge + b"y"
    end = 1 + len(edge)
    expected = [line.decode() for _, line in record_reader(data, 0, end)]
    assert expected == ["a", "x" * (1 << 17)]
    assert all_lines(reader_of(write(data), (0, end)), 0, 2) == expected


@pytest.mark.parametrize("wanted", [[0], [1], [0, 1], [1, 2]])
def test_a_byte_order_mark_belongs_to_the_first_line_alone(write: Write, wanted: list[int]) -> None:
    data = BOM + b"zero\none\n" + BOM + b"two"
    expected = [["zero", "one", "\ufefftwo"][i] for i in wanted]
    assert reader_of(write(data), (0, len(data))).read(0, np.array(wanted), 3) == expected


@given(split_files)
def test_every_line_of_a_file_is_in_one_split(write: Write, case: tuple[bytes, list[tuple[int, int]]]) -> None:
    data, splits = case
    reader = reader_of(write(data), *splits)
    counts = [len(record_reader(data, *split)) for split in splits]
    found = [line for number, count in enumerate(counts) for line in all_lines(reader, number, count) or []]
    # Cut as Python's own universal newlines are: another view of the same terminators than the model's.
    plain = data.decode().replace("\r\n", "\n").replace("\r", "\n")
    assert found == plain.removeprefix("\ufeff").removesuffix("\n").split("\n")


@given(ordinary, st.data())
def test_any_choice_of_positions_gives_those_lines(write: Write, contents: bytes, data: st.DataObject) -> None:
    expected = [line.decode() for _, line in record_reader(contents, 0, len(contents))]
    wanted = sorted(data.draw(st.sets(st.integers(0, len(expected) - 1))))
    reader = reader_of(write(contents), (0, len(contents)))
    assert reader.read(0, np.array(wanted, dtype=np.int64), None) == [expected[i] for i in wanted]


@given(ordinary, st.integers(0, 40))
def test_another_number_of_lines_than_the_run_read_is_refused(write: Write, data: bytes, claimed: int) -> None:
    count = len(record_reader(data, 0, len(data)))
    answer = reader_of(write(data), (0, len(data))).read(0, np.array([0]), claimed)
    assert (answer is None) == (claimed != count)


@given(st.binary(min_size=1, max_size=40))
def test_bytes_that_are_not_utf8_are_refused_and_others_read(write: Write, data: bytes) -> None:
    raw = [line for _, line in record_reader(data, 0, len(data))]
    try:
        expected = [line.decode() for line in raw]
    except UnicodeDecodeError:
        expected = None
    assert all_lines(reader_of(write(data), (0, len(data))), 0, len(raw)) == expected


@pytest.mark.parametrize("edge", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("shift", [-2, -1, 0, 1])
def test_lines_longer_than_what_is_looked_at_in_one_go(write: Write, edge: bytes, shift: int) -> None:
    # The file is read on in steps of 64 KB beyond the split, here of 10 bytes: each terminator stands on such an edge.
    data = b"x" * (10 + (1 << 16) + shift) + edge + b"y" * ((1 << 16) - len(edge)) + edge + b"z"
    splits = [(0, 10), (10, len(data) - 10)]
    reader = reader_of(write(data), *splits)
    for number, split in enumerate(splits):
        expected = [line.decode() for _, line in record_reader(data, *split)]
        assert all_lines(reader, number, len(expected)) == expected
    assert len(record_reader(data, *splits[0])) == 1


@given(st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=40).filter(lambda n: n not in (".", "..")))
@example("a%41.txt")
@example("a#b?c;d.txt")
@example("a:b.txt")
@example("a b.txt")
def test_hadoop_names_a_local_file_as_it_is(name: str) -> None:
    for prefix in ("", "file:", "file://", "file://localhost"):
        assert local_path(f"{prefix}/data/{name}") == f"/data/{name}"
    for scheme in ("hdfs", "s3a", "http"):
        assert local_path(f"{scheme}://host/data/{name}") is None


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".ZST", ".deflate", ".snappy", ".lz4", ".xz"])
def test_compressed_files_are_left_to_spark(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"lines.txt{ending}"
    path.write_bytes(b"a\nb\n")
    assert reader_of(f"file:{path}", (0, 4)).read(0, np.array([0]), 2) is None


def test_what_is_not_a_file_here_is_left_to_spark(tmp_path: Path) -> None:
    for uri in ("hdfs://host/a.txt", f"file:{tmp_path}", f"file:{tmp_path}/gone.txt"):
        assert reader_of(uri, (0, 4)).read(0, np.array([0]), 1) is None


def test_a_file_of_nothing_but_a_byte_order_mark_is_left_to_spark(write: Write) -> None:
    assert record_reader(BOM, 0, 3) == []
    assert reader_of(write(BOM), (0, 3)).read(0, np.array([0]), 0) is None


@pytest.mark.parametrize("data", [b"", b"a\n"])
def test_nothing_is_read_for_no_positions(write: Write, data: bytes) -> None:
    assert reader_of(write(data), (0, len(data))).read(0, np.empty(0, dtype=np.int64), None) == []


def test_a_file_that_was_emptied_is_left_to_spark(write: Write) -> None:
    assert reader_of(write(b""), (0, 4)).read(0, np.array([0]), 2) is None


def test_reading_leaves_no_file_open(write: Write) -> None:
    # In another process: under this one pytest and Hypothesis open and close files of their own.
    code = (
        "import os, numpy as np\n"
        "from bigdebug.trace.origins import Split\nfrom bigdebug.trace.textlines import TextLines\n"
        f"reader = TextLines([Split({write(b'a')!r}, 0, 1)])\n"
        "before = os.listdir('/proc/self/fd')\n"
        "for _ in range(20): assert reader.read(0, np.array([0]), 1) == ['a']\n"
        "assert os.listdir('/proc/self/fd') == before"
    )
    if os.path.isdir("/proc/self/fd"):
        subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
