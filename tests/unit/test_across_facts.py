"""Records of a run's source by where they stand in its files, and lines of records, without Spark."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import NondeterminismError, SourceChangedError, UntraceableError
from bigdebug.spark.across.lines import Lines, counted, lines_of
from bigdebug.trace.across.facts import digested, extents, located, standing
from bigdebug.trace.across.located import Located, Unit
from bigdebug.trace.across.stamps import stamp_of
from bigdebug.trace.origins import SourceFacts, Split, Stamp

TEXTS = st.lists(st.text("a\r\n\x0b\u2028é", max_size=4), max_size=6)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.data())
def test_positions_in_a_file_that_was_read_in_pieces(sizes: list[int], data: st.DataObject) -> None:
    """Splits stand in any order, and may be of two files; back and forth gives the same."""
    order = data.draw(st.permutations(range(len(sizes))))
    files = [f"file:/d/{'ab'[data.draw(st.integers(0, 1))]}" for _ in sizes]
    splits = [Split(files[i], i * 100, 100) for i in range(len(sizes))]
    facts = SourceFacts("d", "text", tuple(splits[i] for i in order), plain=True)
    known = {partition: sizes[i] for partition, i in enumerate(order)}
    every = {partition: np.arange(size) for partition, size in known.items()}
    found = {one.path: one for one in located(facts, every, lambda partitions: known)}
    for path in set(files):
        total = sum(size for size, file in zip(sizes, files) if file == path)
        if total:
            assert found[path.removeprefix("file:")] == Located.of(path.removeprefix("file:"), Unit.LINE, range(total))
    some = {partition: positions[data.draw(st.integers(0, 2))::2] for partition, positions in every.items()}
    back = standing(facts, located(facts, some, lambda partitions: known), known, lambda partitions: known)
    assert {p: at.tolist() for p, at in back.items()} == {p: at.tolist() for p, at in some.items() if len(at)}


def test_files_that_are_a_record_each_and_stamps(tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("x")
    there, gone = Stamp.of(f"file:{tmp_path}/a b", str(tmp_path / "a b")), Stamp("file:/gone", 3, 4)
    facts = SourceFacts("d", "files", files=((there.path, gone.path), ()), stamps=(there, gone))
    one, other = extents(facts, "")
    assert (one.path, one.unit, other.path) == (str(tmp_path / "a b"), Unit.WHOLE, "/gone")
    assert one.stamp is not None
    assert one.stamp.digest
    assert other.stamp is not None
    assert (other.stamp.size, other.stamp.digest) == (3, "")
    places = {0: np.array([1])}
    assert located(facts, places, lambda partitions: {}) == [Located.of("/gone", Unit.WHOLE, [0])]
    assert standing(facts, [Located.of("/gone", Unit.WHOLE, [0])], {0: 2, 1: 0}, lambda partitions: {})[0].tolist() == [1]
    with pytest.raises(SourceChangedError, match="read either"):
        located(SourceFacts("d", "files", files=facts.files, broken="may have read either"), places, lambda partitions: {})


@given(TEXTS)
def test_lines_of_records_are_those_of_the_file(texts: list[str]) -> None:
    written = "".join(f"{text}\n" for text in texts)
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)", written)
    assert sum(map(lines_of, texts)) == sum(lines_of(text.encode()) for text in texts) == len(lines)


@given(texts=TEXTS)
def test_lines_and_records_of_a_file(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "part-00000"
    path.write_bytes("".join(f"{text}\n" for text in texts).encode())
    known = Lines(str(path), True, len(texts), lambda: texts)
    owners = [record for record, text in enumerate(texts) for _ in range(lines_of(text))]
    assert counted(str(path)) == len(owners)
    for line, owner in enumerate(owners):
        assert known.records(np.array([line])).tolist() == [owner]
    for record in range(len(texts)):
        assert known.lines(np.array([record])).tolist() == [line for line, owner in enumerate(owners) if owner == record]
    assert known.records(np.array([len(owners)])).tolist() == []


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\nc\n")
    with pytest.raises(UntraceableError, match="3 lines for 2 records"):
        Lines(str(tmp_path / "f"), True, 2, None)
    with pytest.raises(NondeterminismError, match="are 2 lines now"):
        Lines(str(tmp_path / "f"), True, 2, lambda: ["a", "b"])
    with pytest.raises(UntraceableError, match="cannot be counted"):
        Lines(str(tmp_path / "f.snappy"), True, 2, None)


def test_a_file_that_was_written_again_with_the_old_size_and_time_has_its_own_digest(tmp_path: Path) -> None:
    path, found = str(tmp_path / "a.txt"), []
    for text, replaced in (("aaa", False), ("bbb", False), ("ccc", True)):
        there = Path(f"{path}.new" if replaced else path)
        there.write_text(text)
        os.utime(there, ns=(5, 5))
        os.replace(there, path)
        stamp = stamp_of(path, digest=False)
        assert stamp is not None
        found.append(digested({path: stamp})[path])
        assert found[-1] == digested({path: stamp})[path] == stamp_of(path)
    assert len(set(found)) == 3
