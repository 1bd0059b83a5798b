"""Pandas frames that steps gave, and that DataFrames were made of: a row leads through the frame to the file that it was read from, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bigdebug
from bigdebug import actors
from bigdebug.actors.frames import FRAMES


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    (tmp_path / "src.csv").write_text("".join(f"k{i % 4},{i},{tmp_path.name}\n" for i in range(20)))  # no copy of another test's
    return str(tmp_path / "src.csv")


@pytest.fixture(params=["true", "false"])
def arrow(sql_settings: Callable[..., None], request: pytest.FixtureRequest) -> None:
    """With Arrow the rows are in the plan, without they are an RDD of several partitions."""
    sql_settings(execution__arrow__pyspark__enabled=request.param)


def told(flow: Any) -> Any:
    return {known.located.path: known.located.positions.tolist() for known in flow.files}, flow.exact, list(map(str, flow.notes))


def written(dbg: Any, frame: Any, out: Path, name: str = "cd") -> list[str]:
    with dbg.capture(name):
        frame.coalesce(1).write.csv(str(out))
    return sorted(map(str, out.glob("*.csv")))


@pytest.mark.usefixtures("arrow")
def test_rows_of_a_step_s_frame_are_followed_through_it(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = actors.read_csv(source, names=["k", "n", "of"])
    kept = actors.rows(lambda f: f[f.k == "k1"], name="kept")(frame)
    made = spark.createDataFrame(kept)
    [part] = written(dbg, made.where("n > 1").join(made.selectExpr("n m"), made.n == made.n + 0).where("n = m").drop("m"), tmp_path / "out")
    rows = [int(line.split(",")[1]) for line in Path(part).read_text().splitlines()]
    assert sorted(rows) == [5, 9, 13, 17]
    for number, value in enumerate(rows):
        files, exact, notes = told(dbg.pipeline.backward(part, rows=[number]))
        assert files[source] == [value]
        assert (exact, notes) == (True, [])
    files, exact, notes = told(dbg.pipeline.forward(source, lines=[14]))
    assert files[part] == [rows.index(13)]
    assert (exact, notes) == (True, [])
    assert part not in told(dbg.pipeline.forward(source, lines=[15]))[0]


@pytest.mark.usefixtures("arrow")
def test_rows_of_a_frame_that_was_read_are_those_of_the_file(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    [part] = written(dbg, spark.createDataFrame(actors.read_csv(source, names=["k", "n", "of"])), tmp_path / "out")
    number = next(i for i, line in enumerate(Path(part).read_text().splitlines()) if line.startswith("k3,11,"))
    assert told(dbg.pipeline.backward(part, rows=[number])) == ({part: [number], source: [11]}, True, [])
    assert told(dbg.pipeline.forward(source, lines=[12])) == ({source: [11], part: [number]}, True, [])
    opened = bigdebug.open(dbg.save(tmp_path / "saved", lineage=True))
    files, exact, notes = told(opened.pipeline.backward(part, rows=[number]))
    assert source not in files
    assert not exact
    assert any("ask the live session" in note for note in notes)


def test_a_file_that_is_read_besides_is_not_all_that_a_saved_session_is_asked_about(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    both = spark.createDataFrame(actors.read_csv(source, names=["k", "n", "of"])).union(spark.read.csv(source, schema="k string, n bigint, of string"))
    [part] = written(dbg, both.where("n = 7"), tmp_path / "out")
    files, exact, notes = told(dbg.pipeline.backward(part, rows=[0]))
    assert (set(files), exact) == ({part, source}, False)
    assert any("All of src.csv is taken" in note for note in notes)  # pandas and Spark need not count its rows alike
    _, exact, notes = told(bigdebug.open(dbg.save(tmp_path / "saved", lineage=True)).pipeline.backward(part, rows=[0]))
    assert not exact
    assert any("ask the live session" in note for note in notes)


def test_a_frame_that_was_changed_is_not_followed_and_said_so(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = actors.read_csv(source, names=["k", "n", "of"])
    frame.loc[0, "n"] = 100
    [part] = written(dbg, spark.createDataFrame(frame), tmp_path / "out")
    files, exact, [note] = told(dbg.pipeline.backward(part, rows=[0]))
    assert (files, exact) == ({part: [0]}, False)
    assert "was changed after it was read" in note


def test_a_flow_from_a_trace_says_what_the_one_from_the_file_does(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    """Live and saved, and from a run that wrote nothing."""
    frame = actors.read_csv(source, names=["k", "n", "of"])
    frame.sort_values("k", inplace=True)
    with dbg.capture("collected") as run:
        spark.createDataFrame(frame).where("n = 4").collect()
    opened = bigdebug.open(dbg.save(tmp_path / "saved", run.latest, lineage=True))
    [step] = [step for step in dbg.pipeline.steps if getattr(step, "run", None) is run.latest]
    for flow in (dbg.pipeline.backward(dbg.lineage(run.latest)), dbg.pipeline.backward(step), opened.pipeline.backward(opened.lineage("collected"))):
        files, exact, [note] = told(flow)
        assert (files, exact) == ({}, False)
        assert "was changed after it was read" in note


def test_a_frame_that_is_changed_later_was_what_it_was(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = actors.read_csv(source, names=["k", "n", "of"])
    made = spark.createDataFrame(frame)
    frame.loc[0, "n"] = 100
    [part] = written(dbg, made, tmp_path / "out")
    assert told(dbg.pipeline.backward(part, rows=[0])) == ({part: [0], source: [0]}, True, [])


@pytest.mark.usefixtures("arrow")
def test_of_a_frame_that_was_made_of_a_step_s_is_said_what_a_step_says(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    """Nobody holds what the step gave any more, and pandas does not say what a frame was made of."""
    made = actors.read_csv(source, names=["k", "n", "of"]).query("n == 4")
    actors.to_csv(made, str(tmp_path / "made.csv"), index=False)
    [part] = written(dbg, spark.createDataFrame(made), tmp_path / "out")
    told_of = [told(dbg.pipeline.backward(path, rows=[0])) for path in (part, str(tmp_path / "made.csv"))]
    for files, exact, _ in told_of:
        assert (source in files, exact) == (False, False)
    mine, theirs = (next(note.partition(": ")[2] for note in notes if "came from no step" in note) for _, _, notes in told_of)
    assert mine == theirs


@pytest.mark.usefixtures("arrow")
def test_the_rows_of_a_frame_s_partitions_are_counted_once(dbg: Any, spark: Any, source: str) -> None:
    with dbg.capture("counted") as run:
        spark.createDataFrame(actors.read_csv(source, names=["k", "n", "of"])).collect()
    trace, tasks = dbg.lineage(run.latest).where("n = 17"), []
    for _ in range(3):
        with dbg.following() as jobs:
            assert told(dbg.pipeline.backward(trace.where("k = 'k1'")))[0] == {source: [17]}
            tasks.append(jobs.tasks)
    assert tasks[0] >= tasks[1] == tasks[2] == without_counting(dbg, trace)


def without_counting(dbg: Any, trace: Any) -> int:
    """The tasks that the same trace takes."""
    with dbg.following() as jobs:
        trace.where("k = 'k1'").goBackAll().rids()
        return int(jobs.tasks)


def test_where_no_step_gave_a_frame_rows_that_were_made_by_hand_are_a_source(
    dbg: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number, gave in enumerate((False, True)):
        monkeypatch.setattr(FRAMES, "gave", gave)
        [part] = written(dbg, spark.createDataFrame(pd.DataFrame({"k": ["a"], "n": [1]})), tmp_path / f"out{number}")
        files, exact, notes = told(dbg.pipeline.backward(part, rows=[0]))
        assert (files, exact, len(notes)) == ({part: [0]}, not gave, int(gave))
