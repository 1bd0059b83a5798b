"""Saved sessions: what a directory holds, what is found wrong with it, and that sessions of older formats still open."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import bigdebug
from bigdebug.errors import (
    BigdebugError,
    CorruptBlockError,
    IncompleteLineageError,
    NotCapturedError,
    StoreError,
    StoreVersionError,
    UnknownRecordError,
)
from bigdebug.model import Origin, SourceRecord
from bigdebug.store.arrays import Listed, StoredArray, write_array
from bigdebug.store.blocks import Block, block_name, encode
from bigdebug.store.directory import LineageStore
from bigdebug.trace.across.located import Located, Unit
from bigdebug.trace.culprit import Described
from bigdebug.trace.numbering import Numbering, whole
from bigdebug.trace.origins import Stamp
from bigdebug.trace.run import Run
from bigdebug.trace.saved.associated import Associated, Pairs, write
from bigdebug.trace.saved.checks import check
from bigdebug.trace.saved.export import export
from bigdebug.trace.saved.runs import Beside
from bigdebug.trace.saved.saving import save
from bigdebug.trace.saved.session import SavedSession
from bigdebug.trace.saved.trace import SavedTrace
from bigdebug.trace.saved.values import read, written
from tests.unit.saved import ROWS, kept, rewritten, run, session

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "saved" / "format-1"


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No actors of whoever runs this."""
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path_factory.getbasetemp() / "home"))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return session(tmp_path / "saved")


# ---- arrays and associations --------------------------------------------------------------------------------------


@given(
    pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=40),
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=4),
)
def test_associations_are_answered_both_ways_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]], counts: list[int]) -> None:
    home = tmp_path_factory.mktemp("associations")
    below = Numbering.of_counts(dict(enumerate(counts)))
    pairs = [(a, b) for a, b in pairs if b < below.count]
    above, of = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    listed = json.loads(json.dumps(write(home, "x", {1: below, 2: whole(7)}, [Pairs(2, 1, 0, above, of)])))
    known = Associated.load(listed, lambda name: home / name)
    for record in range(7):
        assert known.back(2, 1, 0, {0: np.array([record])}).keys() == below.places(np.array(sorted({b for a, b in pairs if a == record}), np.int64)).keys()
        found = below.numbers(known.back(2, 1, 0, {0: np.array([record])}))
        assert found.tolist() == sorted({b for a, b in pairs if a == record})
    for number in range(below.count):
        ahead = known.ahead(2, 1, 0, below.places(np.array([number])))
        assert ahead.get(0, np.array([])).tolist() == sorted({a for a, b in pairs if b == number})
    assert known.pairs == len(set(pairs))


def test_a_record_that_no_level_has_is_no_answer(tmp_path: Path) -> None:
    """A catalog may list the files of two runs as if they were of one."""
    large, small = (
        write(tmp_path, name, {1: whole(count), 2: whole(2)}, [Pairs(2, 1, 0, np.array([0, 1]), np.array([0, count - 1]))]) for name, count in (("large", 5), ("small", 3))
    )
    small["ways"][0]["back"] = large["ways"][0]["back"]
    known = Associated.load(small, lambda name: tmp_path / name)
    assert known.back(2, 1, 0, {0: np.array([0])}) == {0: [0]}
    with pytest.raises(CorruptBlockError, match="no record 4"):
        known.back(2, 1, 0, {0: np.array([1])})


@given(st.lists(st.integers(0, 200), unique=True))
def test_numberings_of_rids_are_their_order(rids: list[int]) -> None:
    known = Numbering.of_rids(np.array(sorted(rids), np.int64))
    every = np.arange(len(rids))
    assert known.count == len(rids)
    assert known.numbers(known.places(every)).tolist() == every.tolist()
    assert known.rids_of(every).tolist() == sorted(rids)
    with pytest.raises(UnknownRecordError):
        known.numbers({0: np.array([201])})


@pytest.mark.parametrize("at", [0, 70_000, 200_000, 600_000, 800_005])
def test_a_page_that_was_altered_is_no_answer(tmp_path: Path, at: int) -> None:
    listed = write_array(tmp_path, "values", np.arange(100_000))
    data = bytearray((tmp_path / "values").read_bytes())
    data[at] ^= 1
    (tmp_path / "values").write_bytes(data)
    stored = StoredArray(listed, lambda name: tmp_path / name)
    with pytest.raises(CorruptBlockError, match="altered"):
        stored.take(np.array([at // 8 if at < 800_000 else 5]))
    if at < 800_000:
        far = (at // 8 + 50_000) % 100_000
        assert StoredArray(listed, lambda name: tmp_path / name).take(np.array([far])).tolist() == [far]


def asked(home: Path, listed: Listed) -> list[Callable[[int], object]]:
    """The ways to ask an array for a value, each of a reader that has read the first one."""
    stored = [StoredArray(listed, lambda name: home / name) for _ in range(4)]
    for each in stored:
        assert each.take(np.array([0, 50])).tolist() == [0, 50]
    take, parts, part, search = stored
    return [
        lambda at: take.take(np.array([at])), lambda at: parts.parts(np.array([0, at]), np.array([1, at + 1])), lambda at: part.part(at, at + 1),
        lambda at: search.search(np.array([at])),
    ]


@pytest.mark.parametrize("size", [100_000, 799_999, 0])
def test_a_file_that_is_cut_while_it_is_mapped_is_no_answer_and_no_end(tmp_path: Path, size: int) -> None:
    listed = write_array(tmp_path, "values", np.arange(100_000))
    questions = asked(tmp_path, listed)
    os.truncate(tmp_path / "values", size)
    for ask in questions:
        for at in (90_000, 0):
            with pytest.raises(CorruptBlockError, match="bytes instead of"):
                ask(at)


def test_a_page_that_is_altered_when_it_was_checked_is_checked_again(tmp_path: Path) -> None:
    listed = write_array(tmp_path, "values", np.arange(100_000))
    questions = asked(tmp_path, listed)
    before = (tmp_path / "values").stat()
    with (tmp_path / "values").open("r+b") as file:
        file.seek(400)
        file.write(b"\x99")
    os.utime(tmp_path / "values", ns=(before.st_atime_ns, before.st_mtime_ns + 10_000_000))  # clocks of files may be slow
    take, parts, *_ = questions
    assert np.ravel(take(90_000)).tolist() == [90_000]  # on a page that nobody has read: now that of the altered value is trusted no more
    with pytest.raises(CorruptBlockError, match="altered"):
        take(50)
    with pytest.raises(CorruptBlockError, match="altered"):
        parts(90_000)  # and 0, of the altered page
    with pytest.raises(CorruptBlockError, match="altered"):
        StoredArray(listed, lambda name: tmp_path / name).opened().parts(np.array([0, 20_000]), np.array([60, 20_001]))


def test_an_array_stays_the_file_that_was_opened(tmp_path: Path) -> None:
    listed = write_array(tmp_path, "values", np.arange(100_000))
    questions = asked(tmp_path, listed)
    write_array(tmp_path, "other", np.zeros(5, np.int64))
    (tmp_path / "other").rename(tmp_path / "values")
    assert [np.ravel(ask(90_000)).tolist() for ask in questions] == [[90_000], [0, 90_000], [90_000], [90_000]]
    (tmp_path / "values").unlink()
    assert [np.ravel(ask(70_000)).tolist() for ask in questions] == [[70_000], [0, 70_000], [70_000], [70_000]]


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (-2, -1), (99_999, 100_001), (99_900, 100_100), (100_000, 100_001), (1 << 40, (1 << 40) + 1)])
def test_values_that_there_are_not_are_refused(tmp_path: Path, start: int, stop: int) -> None:
    listed = write_array(tmp_path, "values", np.arange(100_000))
    stored = StoredArray(listed, lambda name: tmp_path / name)
    starts, stops = np.array([0, start]), np.array([1, stop])
    for ask in (lambda: stored.part(start, stop), lambda: stored.parts(starts, stops), lambda: stored.take(np.array([5, start if start < 0 else stop - 1]))):
        with pytest.raises(IndexError):
            ask()
    nothing = np.zeros(0, np.int64)
    assert [len(stored.take(nothing)), len(stored.parts(nothing, nothing)), len(stored.part(5, 3))] == [0, 0, 0]


def test_an_array_that_claims_more_than_its_file_has_is_none(tmp_path: Path) -> None:
    listed = write_array(tmp_path, "values", np.arange(10))
    for other in (Listed("values", "<i8", 1 << 50, listed.checks), Listed("values", "<u1", 10, listed.checks)):
        with pytest.raises(CorruptBlockError, match="bytes instead of"):
            StoredArray(other, lambda name: tmp_path / name).take(np.array([0]))
    for kind in ("|O", "<f8", "object"):
        with pytest.raises(ValueError, match="no arrays"):
            Listed.load({"file": "values", "kind": kind, "length": 10, "checks": 0})


# ---- sessions -----------------------------------------------------------------------------------------------------


def test_a_session_answers_what_was_written(saved: Path) -> None:
    opened = bigdebug.open(saved)
    trace = opened.lineage("rows")
    assert trace.count() == 3
    assert trace.rids().tolist() == [0, 1, 2]
    assert [tuple(row) for row in trace.collect()] == ROWS
    odd = trace.where({"n": 3})
    assert list(map(str, odd.goBackAll().origins())) == ["/data/a.csv[2]", "/data/a.csv[5]", "/data/b.csv[2]"]
    assert odd.goBack().rids().tolist() == odd.goBackAll()["orders"].rids().tolist()
    assert opened.lineage("rows", 1).at([(1 << 40) + 3]).goNextAll().collect() == [ROWS[0]]
    assert opened.lineage("rows", 1).count() == 10
    with pytest.raises(UnknownRecordError, match="no such record"):
        trace.at([3]).count()
    with pytest.raises(IncompleteLineageError, match="not kept"):
        odd.goBackAll().collect()
    assert trace.page(1, 1).rows[0][0] == ROWS[1][0]
    assert "10 associations" in str(opened.runs_table())
    assert "<script>" not in opened.lineage("rows").record_table().html()


def test_a_run_is_found_by_its_id_before_it_is_by_a_name(saved: Path) -> None:
    opened = bigdebug.open(saved)
    first, second = opened.runs
    named = SavedSession(saved, (first, replace(second, name="r1")), {})
    assert named.run("r1").id == "r1"
    assert named.lineage(first).run.id == "r1"
    assert named.lineage(replace(second, name="r1")).run.id == "r2"
    assert opened.run("records").id == "r2"
    with pytest.raises(NotCapturedError, match="none of the saved session"):
        opened.lineage(replace(first, id="r9", name="rows"))


def test_a_saved_run_is_a_step_of_a_pipeline(saved: Path) -> None:
    step = bigdebug.open(saved).steps[0]
    assert (step.id, step.name, step.kind, step.ended, step.incomplete) == ("s/r1", "rows", "Spark job", 2.0, ("why",))
    [written] = step.writes
    at = [Located.of(written.path, written.unit, [0, 99])]  # the third row, and one that nobody wrote
    assert step.backward(at) == (Located.of("/data/a.csv", Unit.ROW, [2, 5]), Located.of("/data/b.csv", Unit.ROW, [2]))
    assert step.forward([Located.of("/data/b.csv", Unit.ROW, [2, 77])]) == [Located.of(written.path, written.unit, [0])]
    assert step.forward([Located.of("/data/other.csv", Unit.ROW, [2])]) == step.backward([]) == ()
    assert step.reads[0].options == (("header", "true"),)
    assert step.inputs_of(bigdebug.open(saved).lineage("rows")) is None
    assert bigdebug.open(saved).pipeline.steps


def test_records_that_only_a_pickle_tells_are_texts_unless_the_directory_is_trusted(saved: Path) -> None:
    plain, odd, pair = bigdebug.open(saved).lineage("records").collect()
    assert (plain, pair, repr(odd)) == ({1, 2}, ("t", b"x"), "<odd>")
    assert type(odd).__name__ == "Described"
    assert type(bigdebug.open(saved, trusted=True).lineage("records").collect()[1]).__name__ == "Odd"


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals() | st.dates() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8,
))
def test_plain_values_are_read_as_they_were(value: object) -> None:
    text = written(value)
    assert text is None or repr(read(text)) == repr(value)


@given(st.sets(st.integers() | st.text()))
def test_sets_are_read_as_they_were(value: set[object]) -> None:
    assert read(written(value) or "") == value
    assert read(written(frozenset(value)) or "") == frozenset(value)


def test_sessions_of_format_1_still_open() -> None:
    opened, known = bigdebug.open(GOLDEN / "session"), json.loads((GOLDEN / "answers.json").read_text())
    assert [[r.id, r.name, r.action, r.status, r.began] for r in opened.runs] == known["runs"]
    trace = opened.lineage("report")
    assert trace.rids().tolist() == known["rids"]
    assert [list(map(str, trace.at([rid]).goBackAll().origins())) for rid in known["rids"]] == known["origins"]
    back = trace.goBackAll()
    assert {name: [back[name].at([rid]).goNextAll().rids().tolist() for rid in back[name].rids().tolist()] for name in back.inputs} == known["ahead"]
    assert [culprit.text().splitlines()[:3] for culprit in opened.run("crash").culprits] == known["culprits"]
    with pytest.raises(IncompleteLineageError, match="lineage=True"):
        opened.lineage("query").goBackAll()
    assert check(GOLDEN / "session") == []


def test_a_session_of_a_later_format_is_refused_by_name(saved: Path) -> None:
    catalog = json.loads((saved / "session.json").read_text())
    (saved / "session.json").write_text(json.dumps({**catalog, "format": 3}))
    for ask in (bigdebug.open, check):
        with pytest.raises(StoreVersionError, match="format 3 and this bigdebug reads up to 2"):
            ask(saved)


# ---- integrity ----------------------------------------------------------------------------------------------------


def every_file(saved: Path) -> list[str]:
    return sorted(path.relative_to(saved).as_posix() for path in saved.rglob("*") if path.is_file())


def test_check_finds_every_file_that_is_not_as_it_was(saved: Path) -> None:
    assert check(saved) == []
    for name in every_file(saved):
        path, data = saved / name, (saved / name).read_bytes()
        catalog = name in ("session.json", "seal.json")
        for what, changed in {"altered": data[:-1] + bytes([data[-1] ^ 1]), "truncated": data[:-1], "longer": data + b"x"}.items():
            path.write_bytes(changed)
            [problem] = check(saved)
            assert catalog or problem == (name, what)
        path.unlink()
        [problem] = check(saved)
        assert problem.file == name
        path.write_bytes(data)
    (saved / "blocks" / "thesis.txt").write_text("mine")
    assert check(saved) == [("blocks/thesis.txt", "foreign")]


def test_no_altered_file_is_an_answer(saved: Path) -> None:
    """Whatever byte is changed: the same answers, or an error of ours."""

    def ask() -> list[object]:
        opened = bigdebug.open(saved)
        answers: list[object] = []
        for name in ("rows", "records"):
            back = [opened.lineage(name).at([n]).goBackAll().rids().tolist() for n in range(3)]
            ahead = [opened.lineage(name, 1).at([n]).goNextAll().rids().tolist() for n in range(6)]
            answers += [back, ahead, list(map(repr, opened.lineage(name).collect()))]
        return answers

    expected = ask()
    refused = 0
    for name in every_file(saved):
        path, data = saved / name, (saved / name).read_bytes()
        for at in range(0, len(data), max(len(data) // 7, 1)):
            path.write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
            try:
                assert ask() == expected, (name, at)
            except BigdebugError:
                refused += 1
        path.write_bytes(data)
    assert refused > 50


@pytest.mark.parametrize("folder", ["lineage", "written"])
@pytest.mark.parametrize("harm", ["altered", "truncated"])
def test_a_damaged_array_of_one_run_stops_no_other(saved: Path, folder: str, harm: str) -> None:
    path = next((saved / folder / "r1").rglob("*.numbers"))
    data = path.read_bytes()
    path.write_bytes({"altered": bytes([data[0] ^ 1]) + data[1:], "truncated": data[:-1]}[harm])
    opened = bigdebug.open(saved)
    assert opened.lineage("records").goBackAll().count() == 10
    back = [Located.of("/data/r2.parquet", Unit.ROW, [0])]
    assert [each.path for each in opened.steps[1].backward(back)] == ["/data/a.csv", "/data/b.csv"]
    with pytest.raises(IncompleteLineageError, match=path.name):
        _ = opened.lineage("rows").goBackAll().count() if folder == "lineage" else opened.steps[0].backward([Located.of("/data/r1.parquet", Unit.ROW, [0])])
    assert any(path.name in why for why in (opened.runs_table().notes if folder == "lineage" else opened.steps[0].incomplete))


def test_a_foreign_block_is_not_read_as_another_attempt(saved: Path) -> None:
    block = next((saved / "blocks").rglob("*.block"))
    shutil.copy(block, block.with_name("p0.a9.block"))
    with pytest.raises(StoreError, match="not in the catalog"):
        bigdebug.open(saved).runs[0].store.block(["r1"], "s1", 0)


def test_a_save_that_ended_half_way_is_not_opened(saved: Path) -> None:
    (saved / "seal.json").unlink()
    with pytest.raises(StoreError, match="not written to its end"):
        bigdebug.open(saved)
    (saved / "unfinished.json").write_text("{}")
    with pytest.raises(StoreError, match="not written to its end"):
        bigdebug.open(saved)
    assert "not written to its end" in check(saved)[0].what


OPENING = """
import os, sys
import bigdebug, bigdebug.opening, bigdebug.trace.saved.session  # while Python's own files can be read
from bigdebug.errors import StoreError
from bigdebug.trace.saved.checks import check
from bigdebug.trace.saved.retention import chosen
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
for use, path in ((bigdebug.open, sys.argv[1]), (check, sys.argv[1]), (chosen, sys.argv[1]), (chosen, os.path.dirname(sys.argv[1]))):
    try:
        print(use(path))
    except StoreError as refused:
        print(refused)
"""


def test_a_directory_that_nobody_may_look_into_is_told_by_its_name(saved: Path, tmp_path: Path) -> None:
    """As a user who is not root, whom modes would not keep from looking."""
    for folder in (tmp_path, *(each for each in tmp_path.parents if Path(tempfile.gettempdir()) in each.parents)):
        folder.chmod(0o755)
    saved.chmod(0o600)
    done = subprocess.run([sys.executable, "-c", OPENING, str(saved)], capture_output=True, text=True, cwd=GOLDEN.parents[3], check=False)
    assert done.returncode == 0, done.stderr
    opened, checked, itself, below = done.stdout.splitlines()
    assert opened == checked == itself
    assert opened.startswith(f"This directory cannot be looked into: Permission denied (got '{saved}').")
    assert below == "[]"


READING = """
import os, sys
import bigdebug, bigdebug.cli.main, bigdebug.opening, bigdebug.trace.saved.session, bigdebug.trace.saved.checks  # while Python's own files can be read
import pyarrow, bigdebug.trace.saved.lineage, bigdebug.trace.saved.outputs, bigdebug.trace.saved.trace
from bigdebug.errors import IncompleteLineageError, StoreError
from bigdebug.trace.saved.checks import check
home = sys.argv[1]
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
def asked(use):
    try:
        print(use())
    except (StoreError, IncompleteLineageError) as refused:
        print(type(refused).__name__, str(refused))
asked(lambda: check(home))
session = bigdebug.open(home) if "session.json" not in sys.argv[2:] and "seal.json" not in sys.argv[2:] else None
if session is not None:
    asked(lambda: session.problems())
    asked(lambda: session.lineage("rows").collect())
    asked(lambda: session.lineage("rows").goBackAll().rids())
"""


def read_by_another(saved: Path, tmp_path: Path, *closed: str) -> list[str]:
    """What a user is told who may look at a saved session, but for some of its files."""
    for path in (saved, *saved.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for folder in (tmp_path, *(each for each in tmp_path.parents if Path(tempfile.gettempdir()) in each.parents)):
        folder.chmod(0o755)
    for name in closed:
        (saved / name).chmod(0)
    done = subprocess.run([sys.executable, "-c", READING, str(saved), *closed], capture_output=True, text=True, cwd=GOLDEN.parents[3], check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_file_that_nobody_may_read_is_told_by_its_name(saved: Path, tmp_path: Path) -> None:
    output = next(path.relative_to(saved).as_posix() for path in sorted(saved.glob("outputs/*")))
    [mapped, *_] = sorted(path.relative_to(saved).as_posix() for path in saved.glob("lineage/*/*") if path.stat().st_size)
    found = [f"[Problem(file='{mapped}', what='cannot be read: Permission denied'), Problem(file='{output}', what='cannot be read: Permission denied')]"] * 2
    checked, problems, records, traced = read_by_another(saved, tmp_path, output, mapped)
    assert [checked, problems] == found
    assert records.startswith(f"StoreError A file of this directory cannot be read: Permission denied (got '{saved / output}'). Check its permissions")
    assert f"A file of this directory cannot be read: Permission denied (got '{saved / mapped}')" in traced


def test_a_directory_below_that_nobody_may_look_into_is_told_and_not_its_files(saved: Path, tmp_path: Path) -> None:
    checked, problems, *_ = read_by_another(saved, tmp_path, "outputs")
    assert checked == problems == "[Problem(file='outputs', what='cannot be looked into: Permission denied')]"


@pytest.mark.parametrize("name", ["session.json", "seal.json"])
def test_a_catalog_and_a_seal_that_nobody_may_read_are_told(saved: Path, tmp_path: Path, name: str) -> None:
    [checked] = read_by_another(saved, tmp_path, name)
    assert checked.startswith("[Problem(file='session.json', what=")
    assert "cannot be read: Permission denied" in checked


def test_a_save_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken(*given: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save([run(1, "x")], LineageStore(tmp_path / "store"), tmp_path / "saved", broken)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.parametrize("change", [
    lambda c: c["runs"][0]["lineage"]["ways"][0]["back"].update(count=10**15),
    lambda c: c["runs"][0]["lineage"]["ways"][0].update(made=99),
    lambda c: c["runs"][0]["lineage"]["levels"]["1"]["starts"].update(kind="|O"),
    lambda c: c["runs"][0]["graph"]["operators"][0].update(partitions=10**18),
    lambda c: c["runs"][0]["graph"]["operators"][0].update(parents=[2]),
    lambda c: c["runs"][0].update(id="../../etc"),
    lambda c: c["runs"][0].update(earlier=["/etc"]),
    lambda c: c["runs"][0].update(subject=7),
    lambda c: c["runs"][0].update(sources={"1": {"unit": "moon"}}),
    lambda c: c.update(runs=[None]),
    lambda c: c.update(runs={"a": 1}),
    lambda c: c["runs"][0].update(computed={"s1/../../x": {}}),
])
def test_a_catalog_that_says_what_cannot_be_is_refused(saved: Path, change: object) -> None:
    with pytest.raises(StoreError):
        bigdebug.open(rewritten(saved, change))


FACTS: dict[str, Any] = {
    "dataset": "orders", "type": "text", "splits": [{"path": "/data/a", "start": 0, "length": 9}, {"path": "/data/a", "start": 9, "length": 9}], "files": [],
    "stamps": [{"path": "/data/a", "size": 18, "modified": 1, "replaced": 1}], "length": 0, "batch": 1, "slices": 1, "plain": True, "broken": "",
}
STAGE = {"id": "s1", "reads": 1, "segments": [{"operators": [2], "form": "codes"}], "emission": "records", "feeds": None, "branch": 0, "fetches": False, "adopted": False}
CULPRIT: dict[str, Any] = {
    "operator": 2, "partition": 0, "again": False, "record": "'x'", "met": None, "exception": "ValueError", "message": "no", "line": {"file": "job.py", "line": 3, "code": "x"},
    "locals": {"x": "1"}, "traceback": "", "sources": [[1, 0]], "unnamed": "", "looked at": [],
}
LOOKED_AT = {"record": "'x'", "rid": 0, "origin": {"dataset": "orders", "path": "/data/a", "line": 1, "row": None, "index": None}}


def as_a_program(catalog: dict[str, Any], **changed: Any) -> None:
    """The first run as one of an RDD program's that crashed, with what is ``changed`` of its facts, stage or culprit."""
    known = catalog["runs"][0]
    known.update(frame=False, sources={"1": {**FACTS, **changed.get("facts", {})}}, culprits={"known": [{**CULPRIT, **changed.get("culprit", {})}], "unknown": []})
    known["graph"]["stages"] = [{**STAGE, **changed.get("stage", {})}]


def test_a_catalog_that_says_what_can_be_is_read(saved: Path) -> None:
    opened = bigdebug.open(rewritten(saved, as_a_program))
    assert "ValueError" in repr(opened.runs[0].culprits)
    rewritten(saved, lambda c: as_a_program(c, culprit={"partition": None, "looked at": [LOOKED_AT]}))
    assert [source.origin.line for source in bigdebug.open(saved).runs[0].culprits[0].sources] == [1]


@pytest.mark.parametrize("changed", [
    {"facts": {"splits": [{"path": 7, "start": 0, "length": 9}] * 2}}, {"facts": {"splits": [{"path": "/data/a", "start": -(2**63), "length": 9}] * 2}},
    {"facts": {"splits": [{"path": "/data/a", "start": 0, "length": 9}]}}, {"facts": {"stamps": [{"path": 7, "size": 18, "modified": 1}]}}, {"facts": {"files": [[7], []]}},
    {"facts": {"dataset": None}}, {"facts": {"slices": 0}}, {"facts": {"type": "moon"}}, {"facts": {"broken": 1}},
    {"stage": {"segments": [{"operators": [[]], "form": "codes"}]}}, {"stage": {"segments": [{"operators": [], "form": "codes"}]}}, {"stage": {"reads": 7}}, {"stage": {"feeds": "x"}},
    {"culprit": {"record": 7}}, {"culprit": {"record": {"a": 1}}}, {"culprit": {"exception": ["x"]}}, {"culprit": {"sources": [[1, ""]]}}, {"culprit": {"sources": [[1]]}},
    {"culprit": {"met": []}}, {"culprit": {"locals": [["x", "1"]]}}, {"culprit": {"locals": {"x": 1}}}, {"culprit": {"line": {"file": 7, "line": 3, "code": "x"}}}, {"culprit": {"again": 1}},
    {"culprit": {"partition": None, "looked at": [1]}}, {"culprit": {"partition": None, "looked at": "x"}},
    {"culprit": {"partition": None, "looked at": [{**LOOKED_AT, "origin": {"dataset": 1}}]}},
])
def test_what_is_told_of_a_program_and_cannot_be_is_refused(saved: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="altered"):
        bigdebug.open(rewritten(saved, lambda c: as_a_program(c, **changed)))


@pytest.mark.parametrize("kind", [{"type": [1]}, {"type": "struct", "fields": [1]}, {"type": "array"}, 7])
def test_columns_of_a_source_that_cannot_be_are_refused(saved: Path, kind: Any) -> None:
    with pytest.raises(StoreError, match="altered"):
        bigdebug.open(rewritten(saved, lambda c: c["runs"][0]["sources"]["1"].update(fields={"names": ["k"], "kinds": [kind], "zone": ""})))


@pytest.mark.parametrize("kind", ["interval", "interval ", "decimal(x)", "moon"])
def test_a_column_of_another_type_than_its_file_has_is_refused_by_name(saved: Path, tmp_path: Path, kind: str) -> None:
    parquet.write_table(pa.table({"k": pa.array(range(6))}), path := tmp_path / "rows.parquet")
    stamp = vars(Stamp.of(str(path), str(path)))
    facts = {"places": [[str(path), 0]] * 2, "stamps": [stamp], "form": "parquet", "fields": {"names": ["k"], "kinds": [kind], "zone": ""}}
    opened = bigdebug.open(rewritten(saved, lambda c: c["runs"][0]["sources"]["1"].update(facts)))
    with pytest.raises(IncompleteLineageError, match="column 'k'"):
        opened.lineage(opened.runs[0]).at([0]).goBackAll().collect()


def test_a_step_that_leads_nowhere_from_what_it_wrote_is_refused_by_name(saved: Path) -> None:
    opened = bigdebug.open(rewritten(saved, lambda c: c["runs"][0]["step"]["written"]["ways"][0].update(branch=7)))
    for ask in (lambda: opened.steps[0].backward([Located.of("/data/r1.parquet", Unit.ROW, [0])]), lambda: opened.steps[0].forward([Located.of("/data/a.csv", Unit.ROW, [0])])):
        with pytest.raises(CorruptBlockError, match="does not lead"):
            ask()


@pytest.mark.parametrize("files", [{"x": 0}, {"x": ["a", "b"]}, {"x": [1]}, {"x": [-1, "b"]}, {"x": [1, 2]}, [], None, "missing"])
def test_a_catalog_that_does_not_list_its_files_is_named(saved: Path, files: object) -> None:
    catalog = json.loads((saved / "session.json").read_text())
    del catalog["files"]
    text = json.dumps(catalog if files == "missing" else {**catalog, "files": files}).encode()
    (saved / "session.json").write_bytes(text)
    (saved / "seal.json").write_text(json.dumps({"size": len(text), "digest": blake2b(text, digest_size=16).hexdigest()}))
    assert [(problem.file, "does not list its files" in problem.what) for problem in check(saved)] == [("session.json", True)]
    with pytest.raises(StoreError, match="does not list its files"):
        bigdebug.open(saved)


def test_outputs_without_their_numbers_are_refused_by_name(saved: Path) -> None:
    known = replace(bigdebug.open(saved).runs[0], frame=False, associated=None, unsaved="no room")
    with pytest.raises(IncompleteLineageError, match="was not saved: no room"):
        SavedTrace(known, [2], lambda: {2: {0: np.array([0])}}).collect()


def test_outputs_whose_numbers_are_damaged_are_not_said_to_be_unsaved(saved: Path) -> None:
    known = replace(bigdebug.open(saved).runs[0], frame=False, associated=None, unsaved="The file x is truncated", damaged=True)
    with pytest.raises(IncompleteLineageError, match=r"cannot be read: The file x is truncated.*Restore the file"):
        SavedTrace(known, [2], lambda: {2: {0: np.array([0])}}).collect()
    with pytest.raises(IncompleteLineageError, match=r"cannot be read: The file x is truncated.*Restore the file"):
        export(known, saved.parent / "x.parquet")
    written = next((saved / "written" / "r1").glob("*.numbers"))
    written.write_bytes(written.read_bytes()[:-1])
    with pytest.raises(IncompleteLineageError, match=r"cannot be read: .*Restore the file"):
        bigdebug.open(saved).steps[0].backward([Located.of("/data/r1.parquet", Unit.ROW, [0])])


def test_what_is_shown_of_a_session_is_nothing_that_a_terminal_obeys(saved: Path) -> None:
    obeyed = "\x1b]0;x\x07"

    def planted(catalog: dict[str, Any]) -> None:
        as_a_program(catalog, culprit={"record": obeyed, "exception": obeyed})
        catalog["runs"][0].update(name=obeyed, action=obeyed, incomplete=[obeyed])
        catalog["runs"][0]["graph"]["operators"][0].update(dataset=obeyed)
        catalog["runs"][0]["culprits"]["unknown"] = [obeyed]

    opened = bigdebug.open(rewritten(saved, planted))
    known = opened.runs[0]
    record = SourceRecord(Described(obeyed), 0, Origin(obeyed))
    shown = [opened, known, known.graph, *known.graph, known.culprits, *known.culprits, opened.lineage(known, 1), record, opened.runs_table()]
    assert "\x1b" not in "".join(map(repr, shown)) + known.culprits[0].text()
    known.culprits.known.clear()
    assert "\x1b" not in repr(known.culprits)


@pytest.mark.parametrize("path", ["a\0b", "a\ud800"])
def test_a_directory_that_cannot_be_called_so_is_refused(tmp_path: Path, path: str) -> None:
    for ask in (lambda: save([], LineageStore(tmp_path / "store"), path), lambda: bigdebug.open(path), lambda: check(path)):
        with pytest.raises(StoreError, match="names none"):
            ask()


def test_what_is_no_run_is_refused_in_a_sentence(saved: Path) -> None:
    opened = bigdebug.open(saved)
    asks: list[Callable[[], object]] = [lambda: opened.lineage(None), lambda: opened.run([1]), lambda: opened.run(None)]  # type: ignore[arg-type, list-item]
    for ask in asks:
        with pytest.raises(TypeError, match="by its name or its id"):
            ask()
    with pytest.raises(TypeError, match="an operator is given by its id"):
        opened.lineage("rows", [1])  # type: ignore[arg-type]


def test_outputs_of_another_number_are_refused(saved: Path) -> None:
    opened = bigdebug.open(rewritten(saved, lambda c: c["runs"][0]["outputs"].update(count=10**12)))
    with pytest.raises((CorruptBlockError, BigdebugError)):
        opened.lineage("rows").collect()


def test_digests_do_not_depend_on_where_a_session_lies(saved: Path, tmp_path: Path) -> None:
    moved = shutil.move(saved, tmp_path / "elsewhere")
    assert check(moved) == []
    assert bigdebug.open(os.fspath(moved)).lineage("rows").count() == 3


def test_blocks_of_attempts_that_do_not_count_are_not_saved(tmp_path: Path) -> None:
    store = LineageStore(tmp_path / "store")
    for attempt, records in ((4, 2), (5, 1)):  # the second was killed half way
        block = Block("s1", 0, attempt, (records, records), attempt, {"segment0.offsets": np.arange(records + 1)})
        store.keep("r1", "s1", 0, attempt, encode(block))
    store.count("r1", [("s1", 0, 4)])
    home = save([run(1, "rows")], store, tmp_path / "session", kept)
    assert [path.name for path in (home / "blocks" / "r1" / "s1").iterdir()] == [block_name(0, 4)]
    again = bigdebug.open(home).runs[0].store.block(["r1"], "s1", 0)
    assert again is not None
    assert again.levels == (2, 2)


def test_a_session_is_saved_into_the_empty_directory_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there := tmp_path / "there").mkdir(mode=0o750)
    monkeypatch.chdir(there)
    before = there.stat()
    save([run(1, "rows")], LineageStore(tmp_path / "store"), ".", kept)
    assert Path.cwd() == there
    assert (there.stat().st_ino, there.stat().st_mode) == (before.st_ino, before.st_mode)
    assert check(".") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]


def test_nobody_else_reads_what_is_saved_into_a_directory_that_others_may_look_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there := tmp_path / "there").mkdir()
    there.chmod(0o755)
    told: list[int] = []
    move = Path.rename

    def watched(path: Path, to: Path) -> Path:
        told.append((there / "unfinished.json").stat().st_mode & 0o777)
        return move(path, to)

    monkeypatch.setattr(Path, "rename", watched)
    save([run(1, "rows")], LineageStore(tmp_path / "store"), there, kept)
    assert there.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in there.rglob("*") if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in there.rglob("*") if path.is_file()} == {*told} == {0o600}
    assert check(there) == []


def test_what_comes_into_the_directory_while_a_session_is_saved_there_stays(tmp_path: Path) -> None:
    (there := tmp_path / "there").mkdir()

    def meanwhile(given: Run, home: Path, name: str) -> Beside:
        (there / "session.json").write_text("mine")
        return kept(given, home, name)

    with pytest.raises(StoreError, match="cannot be saved"):
        save([run(1, "rows")], LineageStore(tmp_path / "store"), there, meanwhile)
    assert [path.name for path in there.iterdir()] == ["session.json"]
    assert (there / "session.json").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]


def test_a_directory_says_that_it_is_unfinished_until_all_of_a_session_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there := tmp_path / "there").mkdir()
    seen = []
    move = Path.rename

    def watched(path: Path, to: Path) -> Path:
        seen.append((path.name, (there / "unfinished.json").exists()))
        return move(path, to)

    monkeypatch.setattr(Path, "rename", watched)
    save([run(1, "rows")], LineageStore(tmp_path / "store"), there, kept)
    assert seen == [(name, True) for name in ("lineage", "outputs", "seal.json", "session.json", "written")]
    assert not (there / "unfinished.json").exists()
