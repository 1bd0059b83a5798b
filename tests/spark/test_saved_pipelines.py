"""A pipeline that was saved answers in a process that has no Spark what the live one answers, through Spark jobs and pandas steps, both ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug import actors
from bigdebug.errors import BigdebugError, IncompleteLineageError, SourceChangedError, UntraceableError
from bigdebug.trace.across.located import Located, Unit
from bigdebug.trace.saved.checks import check
from tests.spark.fresh import fresh


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))


@pytest.fixture
def made(dbg: Any, spark: Any, tmp_path: Path) -> Any:
    """orders.csv to clean (SQL, several files), to report.csv (pandas), to out (an RDD job)."""
    (tmp_path / "orders.csv").write_text("k,n\n" + "".join(f"k{i % 4},{i}\n" for i in range(24)))
    with dbg.capture("clean") as clean:
        spark.read.csv(str(tmp_path / "orders.csv"), header=True, schema="k string, n int").where("n % 5 != 0").repartition(2).write.parquet(str(tmp_path / "clean"))
    frame = actors.read_parquet(str(tmp_path / "clean"))
    group = actors.groups(lambda part: part.groupby("k", as_index=False).agg({"n": "sum"}), by="k", name="sums")
    actors.to_csv(group(frame), str(tmp_path / "report.csv"), index=False)
    with dbg.capture("out") as out:
        lines = dbg.context.textFile(str(tmp_path / "report.csv"), 2)
        lines.filter(lambda line: line != "k,n").map(lambda line: line.upper() + "\nmore").saveAsTextFile(str(tmp_path / "out"))
    return clean.latest, out.latest


def located(found: Any) -> list[Any]:
    return sorted([one.path, one.unit.value, one.positions.tolist()] for one in found)


@pytest.mark.slow
def test_saved_steps_answer_as_live_ones_do(dbg: Any, made: Any, tmp_path: Path) -> None:
    live = {step.name: step for step in dbg.pipeline.steps}
    opened = bigdebug.open(dbg.save(tmp_path / "saved", list(made), lineage=True))
    for mine in opened.steps:
        theirs = live[mine.name]
        assert (mine.id, mine.kind, mine.began, mine.ended, list(mine.incomplete)) == (theirs.id, theirs.kind, theirs.began, theirs.ended, list(theirs.incomplete))
        assert list(mine.reads) == list(theirs.reads)
        assert list(mine.writes) == list(theirs.writes)
        asked = 0
        for extent in mine.writes:
            for position in range(0, 9, 3):
                one = bigdebug.trace.across.located.Located.of(extent.path, extent.unit, [position])
                assert located(mine.backward([one])) == located(theirs.backward([one])), position
                asked += len(mine.backward([one]))
        for extent in mine.reads:
            for position in (0, 3, 11, 24):
                one = bigdebug.trace.across.located.Located.of(extent.path, extent.unit, [position])
                assert located(mine.forward([one])) == located(theirs.forward([one])), position
                asked += len(mine.forward([one]))
        assert asked > 1


def test_a_saved_pipeline_goes_from_the_last_line_to_the_first_file_in_a_fresh_process(dbg: Any, made: Any, tmp_path: Path) -> None:
    [file] = [path for path in sorted((tmp_path / "out").glob("part-*")) if "K2," in path.read_text()]
    number = next(i for i, line in enumerate(file.read_text().splitlines()) if line.startswith("K2,"))
    expected = sorted(2 + i for i in range(24) if i % 5 and i % 4 == 2)  # lines from 1, with the header's
    flow = dbg.pipeline.backward(str(file), lines=[number + 1])
    assert [known.located.path for known in flow.sources] == [str(tmp_path / "orders.csv")]
    saved = dbg.save(tmp_path / "saved", list(made), lineage=True)
    script = (
        f"flow = session.pipeline.backward({str(file)!r}, lines=[{number + 1}])\n"
        "[one] = [known.located for known in flow.sources]\nanswer = [one.path, one.unit.value, one.positions.tolist(), [step.name for step in flow.steps], list(map(str, flow.notes))]"
    )
    assert check(saved) == []
    (tmp_path / "home").rename(tmp_path / "elsewhere")  # the actors that it needs are saved with it
    path, unit, positions, steps, notes = fresh(saved, script)
    (tmp_path / "elsewhere").rename(tmp_path / "home")
    assert path == str(tmp_path / "orders.csv")
    assert positions == [line - 1 - (unit == "row") for line in expected]
    assert steps == [step.name for step in flow.steps]
    assert {"clean", "sums", "out"} <= set(steps)
    assert notes == list(map(str, flow.notes))
    orders = str(tmp_path / "orders.csv")
    ahead = fresh(saved, f"answer = sorted([one.located.path, one.located.positions.tolist()] for one in session.pipeline.forward({orders!r}, lines=[{expected[0]}]).results)")
    assert ahead == sorted([one.located.path, one.located.positions.tolist()] for one in dbg.pipeline.forward(orders, lines=[expected[0]]).results)
    assert ahead


def test_without_lineage_a_query_that_wrote_says_what_to_do(dbg: Any, made: Any, tmp_path: Path) -> None:
    opened = bigdebug.open(dbg.save(tmp_path / "saved", made[0]))
    [step] = opened.steps
    one = bigdebug.trace.across.located.Located.of(step.writes[0].path, step.writes[0].unit, [0])
    with pytest.raises(BigdebugError, match="lineage=True"):
        step.backward([one])
    assert json.dumps([extent.path for extent in step.reads]) == json.dumps([str(tmp_path / "orders.csv")])


def test_without_lineage_no_job_runs_and_lines_that_are_records_are_known(dbg: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\nb\nc\n")
    for name, make in (("plain", str.upper), ("broken", lambda line: f"{line}\n")):
        with dbg.capture(name):
            dbg.context.textFile(str(tmp_path / "in.txt"), 1).map(make).saveAsTextFile(str(tmp_path / name))
    with dbg.following() as jobs:
        before = jobs.tasks
        opened = bigdebug.open(dbg.save(tmp_path / "saved", dbg.runs[-2:]))
        assert jobs.tasks == before
    plain, broken = opened.steps
    one = bigdebug.trace.across.located.Located.of(plain.writes[0].path, plain.writes[0].unit, [1])
    [found] = plain.backward([one])
    assert found.positions.tolist() == [1]
    other = bigdebug.trace.across.located.Located.of(broken.writes[0].path, broken.writes[0].unit, [1])
    with pytest.raises(BigdebugError, match="ends of lines"):
        broken.backward([other])


def test_a_trace_of_a_saved_run_starts_a_flow(dbg: Any, made: Any, tmp_path: Path) -> None:
    opened = bigdebug.open(dbg.save(tmp_path / "saved", list(made), lineage=True))
    trace = opened.lineage("out").where(lambda text: text.startswith("K1,"))
    [source] = [known.located for known in opened.pipeline.backward(trace).sources]
    assert source.path == str(tmp_path / "orders.csv")
    assert len(source.positions) == len([i for i in range(24) if i % 5 and i % 4 == 1])


@pytest.fixture
def replaced(dbg: Any, spark: Any, tmp_path: Path) -> Any:
    """The steps that wrote four partitions, and one of these anew."""
    (tmp_path / "src.csv").write_text("".join(f"k{i % 4},{i}\n" for i in range(20)))
    source = spark.read.schema("k string, s string").csv(str(tmp_path / "src.csv")).select("s", "k")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        with dbg.capture("all") as every:
            source.coalesce(1).write.partitionBy("k").parquet(str(tmp_path / "out"))
        with dbg.capture("one") as one:
            source.where("k = 'k1'").coalesce(1).write.mode("overwrite").partitionBy("k").parquet(str(tmp_path / "out"))
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    return every.latest, one.latest


def test_of_a_write_of_which_one_file_was_replaced_the_others_are_known(dbg: Any, replaced: Any, tmp_path: Path) -> None:
    """Live and saved: rows of the others are told as ever, all of the one that was replaced is taken where a row may have been in it, and a note names it."""
    def told(flow: Any) -> Any:
        return {known.located.path: (known.located.unit.value, known.located.positions.tolist()) for known in flow.files}, flow.exact, list(map(str, flow.notes))

    source, [standing], [new] = str(tmp_path / "src.csv"), (tmp_path / "out" / "k=k2").glob("*.parquet"), (tmp_path / "out" / "k=k1").glob("*.parquet")
    opened = bigdebug.open(dbg.save(tmp_path / "saved", list(replaced), lineage=True))
    [gone] = [extent.path for step in dbg.pipeline.steps if step.name == "all" for extent in step.writes if "k=k1" in extent.path]
    for session in (dbg, opened):
        assert told(session.pipeline.backward(str(standing), rows=[0])) == ({str(standing): ("row", [0]), source: ("row", [2])}, True, [])
        assert told(session.pipeline.forward(source, lines=[3])) == ({source: ("row", [2]), str(standing): ("row", [0])}, True, [])
        files, exact, notes = told(session.pipeline.forward(source, lines=[2]))
        assert files == {source: ("row", [1]), gone: ("whole", [0]), str(new): ("row", [0])}
        assert not exact
        assert [note for note in notes if gone in note and "has been changed since 'all' wrote it, and which of its records these are is not known" in note] == notes
        assert told(session.pipeline.backward(str(new), rows=[0]))[1:] == (True, [])
        [step] = [step for step in session.pipeline.steps if step.name == "all"]
        with pytest.raises(SourceChangedError, match="has been changed since 'all' wrote it"):
            step.backward([Located.of(gone, Unit.ROW, [0])])


def test_a_flow_from_a_trace_says_what_the_one_from_the_file_does(dbg: Any, replaced: Any, tmp_path: Path) -> None:
    """Live, and saved behind that: what one question took is no note of another, nor one that is kept."""
    def told(flow: Any) -> Any:
        return {known.located.path: known.located.unit.value for known in flow.files if "out" in known.located.path}, flow.exact, list(map(str, flow.notes))

    def trace(session: Any, value: str) -> Any:
        return dbg.lineage(every).where(f"s = '{value}'") if session is dbg else session.lineage("all").where(lambda row: row[0] == value)

    every, [standing] = replaced[0], (tmp_path / "out" / "k=k2").glob("*.parquet")
    [gone] = [extent.path for step in dbg.pipeline.steps for extent in step.writes if getattr(step, "run", None) is every and "k=k1" in extent.path]
    for session in (dbg, None):
        session = session or bigdebug.open(dbg.save(tmp_path / "saved", list(replaced), lineage=True))
        files, exact, [note] = told(session.pipeline.forward(trace(session, "1")))
        assert (files, exact) == ({gone: "whole"}, False)
        assert f"{gone} has been changed since 'all' wrote it, and which of its records these are is not known" in note
        assert told(session.pipeline.forward(trace(session, "2"))) == ({str(standing): "row"}, True, [])
        assert session.pipeline.backward(trace(session, "1")).exact
        assert not [note for note in session.pipeline.table().notes if gone in note]


def test_of_a_write_of_which_nothing_stands_the_remedy_is_not_what_was_just_done(dbg: Any, replaced: Any, tmp_path: Path) -> None:
    for file in (tmp_path / "out").glob("*/*.parquet"):
        file.write_bytes(b"something else")
    opened = bigdebug.open(dbg.save(tmp_path / "saved", list(replaced), lineage=True))
    [step] = [step for step in opened.pipeline.steps if step.name == "all"]
    with pytest.raises(IncompleteLineageError, match=r"was not saved: .* has been changed since 'all' wrote it\. Run the job again under capture\.$"):
        step.backward([Located.of(step.writes[0].path, Unit.ROW, [0])])


def part_of(folder: Path) -> str:
    """The first file of a folder that has something in it."""
    return str(next(path for path in sorted(folder.glob("part-*")) if path.stat().st_size))


def taken(flow: Any, folder: Path) -> set[str]:
    """The units of what a flow came to in a folder."""
    return {known.located.unit.value for known in flow.results if Path(known.located.path).parent == folder}


@pytest.mark.parametrize("lineage", [True, False])
def test_ahead_all_is_taken_of_what_was_written_without_saved_lineage(dbg: Any, spark: Any, tmp_path: Path, lineage: bool) -> None:
    """As the live session has it; and nothing is said of a query that wrote nothing."""
    source = tmp_path / "in.csv"
    source.write_text("k1,1\nk2,2\nk1,3\n")
    frames = {"limited": spark.read.csv(str(source)).limit(2), "twice": spark.read.csv([str(source), str(source)])}
    for name, frame in frames.items():
        with dbg.capture(name):
            frame.write.csv(str(tmp_path / name))
    with dbg.capture("seen"):
        spark.read.csv(str(source)).where("_c1 > 1").collect()
    opened = bigdebug.open(dbg.save(tmp_path / "saved", dbg.runs[-3:], lineage=lineage))
    for session in (dbg, opened):
        flow = session.pipeline.forward(str(source), lines=[1])
        assert not flow.exact
        for name in frames:
            assert taken(flow, tmp_path / name) == {"whole"}
            assert [note for note in flow.notes if note.startswith(f"All that '{name}' wrote is taken")]
            [read] = session.pipeline.backward(part_of(tmp_path / name), lines=[1]).sources
            assert (read.located.path, read.located.unit) == (str(source), Unit.WHOLE)
        assert not [note for note in flow.notes if "'seen'" in note]
    [why] = [note for note in opened.pipeline.backward(part_of(tmp_path / "limited")).notes if "'limited'" in note]
    assert ("cuts rows that come in no order" if lineage else "lineage=True") in why


def test_ahead_all_is_taken_of_lines_that_nobody_counted(dbg: Any, tmp_path: Path) -> None:
    """No function in Python read them, and a plain save runs no job."""
    source = tmp_path / "in.txt"
    source.write_text("a\nb\nc\n")
    with dbg.capture("joined"):
        dbg.context.textFile(str(source), 2).coalesce(1).saveAsTextFile(str(tmp_path / "out"))
    for at, lineage in (("plain", False), ("whole", True)):
        flow = bigdebug.open(dbg.save(tmp_path / at, dbg.runs[-1], lineage=lineage)).pipeline.forward(str(source), lines=[2])
        assert flow.exact == lineage
        assert taken(flow, tmp_path / "out") == ({"line"} if lineage else {"whole"})
        assert lineage or "lineage=True" in flow.notes[0]


def test_ahead_all_is_taken_of_what_was_made_of_records_that_were_given_in_memory(dbg: Any, spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("k1,1\nk2,2\nk1,3\n")
    kept = actors.rows(lambda f: f[f.n > 1], name="kept")
    with dbg.capture("frame of rdd"):
        rows = spark.read.csv(str(source)).rdd.map(lambda row: (row[0], row[1]))
        spark.createDataFrame(rows, "k string, v string").write.csv(str(tmp_path / "frame of rdd"))  # toDF() would be of the session that was made last, here by another test
    with dbg.capture("rdd of frame"):
        spark.read.csv(str(source)).rdd.map(lambda row: row[0] + row[1]).saveAsTextFile(str(tmp_path / "rdd of frame"))
    with dbg.capture("frame of pandas"):
        spark.createDataFrame(kept(actors.read_csv(str(source), names=["k", "n"]))).write.csv(str(tmp_path / "frame of pandas"))
    names = ("frame of rdd", "rdd of frame", "frame of pandas")
    opened = bigdebug.open(dbg.save(tmp_path / "saved", dbg.runs[-3:], lineage=True))
    flow = opened.pipeline.forward(str(source), lines=[2])
    assert not flow.exact
    for name in names:
        assert taken(dbg.pipeline.forward(str(source), lines=[2]), tmp_path / name) <= {"row", "line"}
        assert taken(flow, tmp_path / name) == {"whole"}
        assert [note for note in flow.notes if f"All that '{name}' wrote is taken" in note and "was given in memory was not saved" in note]
        back = opened.pipeline.backward(part_of(tmp_path / name), lines=[1])
        assert not back.exact
        assert [note for note in back.notes if f"'{name}' is incomplete" in note and "given in memory" in note]


def test_a_step_whose_files_cannot_be_told_may_be_missing_in_any_flow(dbg: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(step: Any) -> Any:
        raise UntraceableError("Its files cannot be told", remedy="Mend it.")

    source = tmp_path / "in.csv"
    source.write_text("k1,1\n")
    for name in ("plain", "strange"):
        with dbg.capture(name):
            spark.read.csv(str(source)).write.csv(str(tmp_path / name))
    [strange] = [step for step in dbg.pipeline.steps if step.name == "strange"]
    monkeypatch.setattr(type(strange), "stored", property(lambda step: refuse(step) if step.name == "strange" else step.files))
    opened = bigdebug.open(dbg.save(tmp_path / "saved", dbg.runs[-2:], lineage=True))
    flow = opened.pipeline.forward(str(source), lines=[1])
    assert not flow.exact
    assert [note for note in flow.notes if note.startswith("What 'strange' read and wrote is not known") and "Its files cannot be told" in note]
