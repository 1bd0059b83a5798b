"""Files of frames: each line is traced to the rows that stand in it, whatever options wrote or read it; and where pandas cuts rows otherwise, no line is told for another."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bigdebug import actors
from bigdebug.errors import ActorError, UntraceableError
from bigdebug.trace.across.located import Extent, Unit, dump_extent, load_extent
from bigdebug.trace.across.pipelines import pipeline

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


def rows_of(path, line):
    """The rows of the written frame that a line is traced to."""
    every = pipeline(actors.steps)
    [found] = every.backward(path, lines=[line]).read(every.steps[-1])
    return found.positions.tolist()


@pytest.mark.parametrize("header", [True, 1, ["a", "b"], False, None, 0, "", np.False_])
@pytest.mark.parametrize("index", [True, False])
def test_a_header_is_what_pandas_takes_for_one(tmp_path, header, index):
    frame = pd.DataFrame({"k": ["x", "y", "z"], "v": [1, 2, 3]})
    frame.to_csv(tmp_path / "plain.csv", header=header, index=index)
    actors.to_csv(frame, tmp_path / "f.csv", header=header, index=index)
    text = (tmp_path / "f.csv").read_text()
    assert text == (tmp_path / "plain.csv").read_text()
    lines = text.splitlines()
    assert [rows_of(tmp_path / "f.csv", len(lines) - 2 + n) for n in range(3)] == [[0], [1], [2]]


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_NONE])
def test_quotes_that_nobody_wrote_do_not_hold_rows_together(tmp_path, quoting):
    texts = ['"open', 'close"', "<script>alert(1)</script>", "שלום"]
    actors.to_csv(pd.DataFrame({"k": texts}), tmp_path / "f.csv", quoting=quoting)
    assert [rows_of(tmp_path / "f.csv", 2 + n) for n in range(4)] == [[0], [1], [2], [3]]


READ_OTHERWISE = {
    "one empty cell": (".csv", b'k\nx\n""\ny\n', {"engine": "python"}),
    "two values in a line": (".json", b'{"k": "x"}, {"k": "y"}\n{"k": "z"}\n', {"lines": True}),
    "a value in two lines": (".json", b'{"k":\r"x"}\n{"k": "y"}\n', {"lines": True}),
    "two values in a line, by Arrow": (".json", b'{"k": "x"}{"k": "y"}\n{"k": "z"}\n', {"lines": True, "engine": "pyarrow"}),
    "a value in two lines, by Arrow": (".json", b'{"k":\n"x"}\n{"k": "y"}\n', {"lines": True, "engine": "pyarrow"}),
}


@pytest.mark.parametrize(("ending", "held", "options"), READ_OTHERWISE.values(), ids=READ_OTHERWISE)
def test_rows_that_pandas_cuts_otherwise_are_not_told_line_by_line(tmp_path, ending, held, options):
    source = tmp_path / f"f{ending}"
    source.write_bytes(held)
    frame = (actors.read_csv if ending == ".csv" else actors.read_json)(source, **options)
    actors.to_csv(frame, tmp_path / "out.csv", index=False)
    actors.lines(lambda lines: lines, each=True, name="lines")(source, tmp_path / "other.txt")
    for line in range(2, 2 + len(frame)):
        flow = pipeline(actors.steps).backward(tmp_path / "out.csv", lines=[line])
        assert flow[str(source)].located.unit is Unit.ROW
        with pytest.raises(UntraceableError, match="cuts them in a way that is not followed"):
            flow.records(str(source))
    ahead = pipeline(actors.steps).forward(source, lines=[2], step="write out.csv")
    assert not ahead.exact
    assert ahead[str(source)].located.unit is Unit.WHOLE
    assert any("cuts them in a way that is not followed" in note for note in ahead.notes)


def test_first_rows_that_count_no_file_are_refused(tmp_path):
    (tmp_path / "f.csv").write_text('k\nx\n""\ny\n')
    with pytest.raises(UntraceableError, match="nrows"):
        actors.read_csv(tmp_path / "f.csv", engine="python", nrows=2)
    assert len(actors.read_csv(tmp_path / "f.csv", nrows=2)) == 2


@pytest.mark.parametrize("texts", [["x", " ", "y", "z"], ["a", " ", "x\ry", "b"], ["a", "\t  ", "b"]])
def test_rows_that_pandas_skips_or_splits_are_not_told_as_if_they_stood_there(tmp_path, texts):
    """As many rows may be skipped as are split, and of the first ones nobody counts those behind."""
    frame = pd.DataFrame({"t": texts})
    frame.to_parquet(tmp_path / "in.parquet")
    actors.to_csv(actors.read_parquet(tmp_path / "in.parquet"), tmp_path / "one.csv", index=False)
    for nrows in (None, 3):
        read = actors.read_csv(tmp_path / "one.csv", nrows=nrows)
        actors.to_csv(read, tmp_path / "two.csv", index=False)
        flow = pipeline(actors.steps).backward("two.csv", rows=[1])
        assert not flow.exact
        assert any("A line has only blanks" in note or "Its lines end in different ways" in note for note in flow.notes)
    actors.to_csv(actors.read_parquet(tmp_path / "in.parquet"), tmp_path / "quoted.csv", index=False, quoting=1)
    actors.to_csv(actors.read_csv(tmp_path / "quoted.csv"), tmp_path / "two.csv", index=False, quoting=1)
    for row, text in enumerate(texts):
        flow = pipeline(actors.steps).backward("two.csv", rows=[row])
        assert flow.exact
        assert [each["t"] for each in flow.records("in.parquet")] == [text]


def test_lines_of_json_are_a_row_each_or_not_told(tmp_path):
    """Two documents in a line, and fewer lines than were asked for."""
    source = tmp_path / "f.json"
    for held, exact in (('{"a":1}, {"a":2}\n{"a":3}\n{"a":4}\n', False), ('{"a":1}, {"a":2}\n\n{"a":3}\n', False), ('{"a":1}\n\n{"a":3}\n', True)):
        source.write_text(held)
        frame = actors.read_json(source, lines=True, nrows=10)
        actors.to_csv(frame, tmp_path / "out.csv", index=False)
        flow = pipeline(actors.steps).backward("out.csv", rows=[1])
        assert flow.exact is exact
        assert not exact or flow.records("f.json") == ['{"a":3}']


def test_lines_of_which_decoding_leaves_nothing_are_no_rows(tmp_path):
    (tmp_path / "f.csv").write_bytes(b"a\n1\n\xff\n2\n3\n")
    with pytest.raises(UntraceableError, match="encoding_errors='ignore' and nrows"):
        actors.read_csv(tmp_path / "f.csv", encoding_errors="ignore", nrows=3)


def test_more_rows_than_lines_are_not_told_line_by_line(tmp_path):
    (tmp_path / "f.json").write_text('{"k": "x"}, {"k": "y"}\n{"k": "z"}\n{"k": "v"}\n')
    frame = actors.read_json(tmp_path / "f.json", lines=True, nrows=2)
    assert len(frame) == 3
    actors.to_csv(frame, tmp_path / "out.csv", index=False)
    assert not pipeline(actors.steps).backward("out.csv", lines=[3]).exact


def test_files_in_the_users_home_are_read_and_written_where_pandas_does(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "f.csv").write_text("k\nx\ny\n")
    actors.to_csv(actors.rows(lambda f: f[f.k == "y"], name="y")(actors.read_csv("~/f.csv")), "~/g.csv", index=False)
    flow = pipeline(actors.steps).backward(tmp_path / "g.csv", lines=[2])
    assert flow[str(tmp_path / "f.csv")].located.positions.tolist() == [1]


def test_what_cannot_be_looked_at_afterwards_is_written_all_the_same(tmp_path):
    frame = pd.DataFrame({"k": ["x"]})
    for path in (os.devnull, tmp_path / "f.csv.lz4"):
        actors.to_csv(frame, path)
        assert "cannot be looked at" in actors.steps()[-1].incomplete[-1]
    assert (tmp_path / "f.csv.lz4").read_text() == ",k\n0,x\n"


def test_how_many_rows_there_were_is_kept():
    for rows in (None, 0, 7):
        extent = Extent("/f.csv", Unit.ROW, "csv", (("header", "true"),), None, rows)
        assert load_extent(dump_extent(extent)) == extent
    assert "rows" not in dump_extent(Extent("/f.csv", Unit.ROW, "csv"))  # as homes of older versions have it


ENDING = """
import atexit, sys
from bigdebug import actors
from bigdebug.trace.across.pipelines import pipeline

@atexit.register
def last():
    @actors.lines(each=True)
    def upper(lines):
        for line in lines:
            yield line.upper()

    actors.to_csv(actors.read_csv("in.csv"), "out.csv", index=False)
    upper("in.csv", "upper.csv")
    actors.program(["sort", "in.csv"], reads="in.csv", stdout="sorted.csv", lineage="content")
    every = pipeline(actors.steps)
    for path in ("out.csv", "upper.csv", "sorted.csv"):
        flow = every.backward(path, lines=[2])
        print(path, flow.exact, flow["in.csv"].located.positions.tolist())
"""


def test_files_are_read_where_python_ends_and_no_thread_can_be_had(tmp_path):
    (tmp_path / "in.csv").write_text("k\nb\na\n")
    done = subprocess.run([sys.executable, "-c", ENDING], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["out.csv True [0]", "upper.csv True [1]", "sorted.csv True [1]"]


@pytest.mark.parametrize("name", ["item:x.csv", "item:x/out"])
def test_a_file_may_be_called_as_what_a_step_gave(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    pd.DataFrame({"k": [2, 1]}).to_csv(name, index=False)
    actors.to_csv(actors.read_csv(name).pipe(actors.rows(lambda frame: frame.sort_values("k"))), "out.csv", index=False)
    flow = pipeline(actors.steps).backward("out.csv", lines=[2])
    assert flow.exact
    assert [each.located.positions.tolist() for each in flow if each.extent.path == str(tmp_path / name)] == [[1]]
    assert pipeline(actors.steps).forward(name, lines=[3]).exact


def test_what_is_no_path_of_a_file_and_what_is_no_frame_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"k": [1]})
    frame.to_parquet("x.parquet")
    with open("x.parquet", "rb") as file:
        for none in (["x.parquet"], ("x.parquet",), None, file, file.fileno(), b"x.parquet"):
            for read in (actors.read_parquet, actors.read_csv):
                with pytest.raises(UntraceableError, match="local files alone"):
                    read(none)
    for write in (actors.to_csv, actors.to_json, actors.to_parquet):
        for none in ([1], "text", None, frame.groupby("k")):
            with pytest.raises(ActorError, match="is a frame"):
                write(none, "k")
    assert not os.path.exists("k")
    assert actors.steps() == []


def test_a_directory_below_the_users_home_is_read_by_its_short_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    pd.DataFrame({"k": [1, 2], "part": [1, 2]}).to_parquet(tmp_path / "d", partition_cols=["part"])
    actors.to_csv(actors.read_parquet("~/d"), tmp_path / "out.csv", index=False)
    [read] = [each for each in pipeline(actors.steps).backward(tmp_path / "out.csv", rows=[1]) if "part=2" in each.extent.path]
    assert read.located.positions.tolist() == [0]


def test_a_frame_of_arrow_that_was_only_printed_is_followed(tmp_path):
    pd.DataFrame({"x": range(6), "part": [1, 2] * 3}).to_parquet(tmp_path / "d", partition_cols=["part"])
    for change in (None, lambda frame: frame.__setitem__("x", frame.x + 1), lambda frame: frame.loc.__setitem__((3, "x"), 7), lambda frame: frame.loc.__setitem__((3, "part"), 1)):
        frame = actors.read_parquet(tmp_path / "d", dtype_backend="pyarrow")
        assert "part" in str(frame)
        if change is not None:
            change(frame)
        actors.to_csv(frame, tmp_path / "out.csv")
        assert ("was changed" in str(actors.steps()[-1].incomplete)) is (change is not None)
