"""Frames that toPandas() of a captured run gave, and that steps took: a row leads through the run to the file that Spark read, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug import actors
from bigdebug.actors.frames import FRAMES

SCHEMA = "k string, n int, x double"


@pytest.fixture(autouse=True)
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    (tmp_path / "src.csv").write_text("".join(f"k{i % 4},{i if i % 5 else ''},{i / 3}\n" for i in range(20)))
    return str(tmp_path / "src.csv")


@pytest.fixture(params=["true", "false"])
def arrow(sql_settings: Callable[..., None], request: pytest.FixtureRequest) -> None:
    sql_settings(execution__arrow__pyspark__enabled=request.param)


def taken(dbg: Any, frame: Any, name: str = "taken", **how: Any) -> Any:
    with dbg.capture(name, **how):
        return frame.toPandas()


def passed_on(frame: Any, out: Path) -> str:
    """Through a step, into a file."""
    actors.to_csv(actors.rows(lambda f: f.assign(w=1), name="weighed")(frame), str(out), index=False)
    return str(out)


def told(flow: Any) -> Any:
    return {known.located.path: known.located.positions.tolist() for known in flow.files if "item:" not in known.located.path}, flow.exact, [
        note for note in flow.notes if "was tried on" not in note
    ]


@pytest.mark.usefixtures("arrow")
def test_rows_are_followed_both_ways(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    """Nulls among integers make floats of all of them in pandas."""
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source).where("k <> 'k2'").orderBy("x", ascending=False))
    out = passed_on(frame, tmp_path / "out.csv")
    lines = Path(out).read_text().splitlines()[1:]
    assert len(lines) == len(frame) == 15
    for row in (0, 3, 14):
        origin = round(float(lines[row].split(",")[2]) * 3)
        assert told(dbg.pipeline.backward(out, rows=[row])) == ({out: [row], source: [origin]}, True, [])
        assert told(dbg.pipeline.forward(source, lines=[origin + 1])) == ({source: [origin], out: [row]}, True, [])
    assert out not in told(dbg.pipeline.forward(source, lines=[3]))[0]
    assert dbg.pipeline.backward(out, rows=[0]).steps[0].name == "taken"


def test_groups_are_followed_both_ways(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    """Sums of floats may differ in their last digits each time: rows are known by the rest."""
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source).repartition(3).groupBy("k").agg({"x": "sum", "n": "max"}))
    out = passed_on(frame, tmp_path / "out.csv")
    row = frame.k.tolist().index("k1")
    assert told(dbg.pipeline.backward(out, rows=[row])) == ({out: [row], source: [1, 5, 9, 13, 17]}, True, [])
    files, exact, _ = told(dbg.pipeline.forward(source, lines=[2]))
    assert (len(files[out]), exact) == (1, True)


def test_lists_structs_and_moments_are_followed(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    query = (
        "array(k, k) as l", "struct(k, n) as s", "map(k, n) as m", "timestamp_seconds(n) as t", "cast(n as decimal(9, 2)) as d",
        "cast(k as binary) as b", "date_add(date'2020-01-01', n) as a", "x",
    )
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source).selectExpr(*query))
    actors.to_csv(frame, out := str(tmp_path / "out.csv"), index=False)
    assert told(dbg.pipeline.backward(out, rows=[7])) == ({out: [7], source: [7]}, True, [])


def test_rows_that_are_equal_are_told_together(dbg: Any, spark: Any, tmp_path: Path) -> None:
    twice = tmp_path / "twice.csv"
    twice.write_text("a,1\na,1\nb,2\n")
    out = passed_on(taken(dbg, spark.read.schema("k string, n int").csv(str(twice))), tmp_path / "out.csv")
    files, exact, [note] = told(dbg.pipeline.backward(out, rows=[0]))
    assert (files[str(twice)], exact) == ([0, 1], False)
    assert "is equal to others" in note
    assert told(dbg.pipeline.backward(out, rows=[0, 1])) == ({out: [0, 1], str(twice): [0, 1]}, True, [])
    assert told(dbg.pipeline.backward(out, rows=[2])) == ({out: [2], str(twice): [2]}, True, [])
    files, exact, [note] = told(dbg.pipeline.forward(str(twice), lines=[2]))
    assert (len(files[out]), exact) == (2, False)


def test_equal_rows_of_one_record_are_no_others(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    out = passed_on(taken(dbg, spark.read.schema(SCHEMA).csv(source).selectExpr("k", "x", "explode(array(1, 1)) as e")), tmp_path / "out.csv")
    assert told(dbg.pipeline.backward(out, rows=[5])) == ({out: [5], source: [2]}, True, [])
    assert told(dbg.pipeline.forward(source, lines=[3])) == ({source: [2], out: [4, 5]}, True, [])


def test_back_into_spark(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    """toPandas() and createDataFrame(), with no step of actors between."""
    frame = taken(dbg, spark.read.schema("k string, n int, x double").csv(source))
    with dbg.capture("back"):
        spark.createDataFrame(frame).where("x > 3").coalesce(1).write.csv(str(tmp_path / "out"))
    [part] = map(str, (tmp_path / "out").glob("*.csv"))
    assert told(dbg.pipeline.backward(part, rows=[2])) == ({part: [2], source: [12]}, True, [])
    assert told(dbg.pipeline.forward(source, lines=[13])) == ({source: [12], part: [2]}, True, [])


def test_a_frame_that_was_changed_is_not_followed_and_said_so(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source))
    frame.loc[0, "x"] = 100.0
    files, exact, notes = told(dbg.pipeline.backward(passed_on(frame, tmp_path / "out.csv"), rows=[1]))
    assert (source in files, exact) == (False, False)
    assert any("was changed after" in note for note in notes)


def test_a_run_whose_frame_no_step_took_is_as_before(dbg: Any, spark: Any, source: str) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source), "untaken")
    assert not dbg.pipeline.step("untaken").writes
    flow = dbg.pipeline.forward(source, lines=[3])
    assert ([found.extent.path for found in flow], flow.exact) == ([source], True)
    assert len(frame) == 20


def test_what_a_query_gives_otherwise_each_time_is_refused(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source).selectExpr("k", "rand() as r"), strategy="lazy")
    files, exact, notes = told(dbg.pipeline.backward(passed_on(frame, tmp_path / "out.csv"), rows=[1]))
    assert (set(files), exact) == ({str(tmp_path / "out.csv"), source}, False)
    assert any("strategy='inject'" in note for note in notes)


def test_frames_that_are_made_by_hand_are_a_source_still(dbg: Any, spark: Any, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    monkeypatch.setattr(FRAMES, "gave", False)
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source))
    assert FRAMES.perhaps(pd.DataFrame({"a": [1]})) is None
    assert FRAMES.perhaps(frame) is not None


def test_nobody_holds_the_frame_nor_a_run_that_is_forgotten(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source), "forgotten")
    dbg.forget([run for run in dbg.runs if run.name == "forgotten"])
    out = passed_on(frame, tmp_path / "out.csv")
    files, exact, notes = told(dbg.pipeline.backward(out, rows=[1]))
    assert (source in files, exact) == (False, False)
    assert any("is not among these" in note for note in notes)
    name = id(frame)
    del frame
    assert name not in FRAMES._known


def test_a_saved_session_says_that_it_does_not_follow_them(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    out = passed_on(taken(dbg, spark.read.schema(SCHEMA).csv(source)), tmp_path / "out.csv")
    pipeline = bigdebug.pipeline(bigdebug.open(dbg.save(tmp_path / "saved", lineage=True)), [step for step in dbg.pipeline.steps if step.kind != "Spark job"])
    files, exact, notes = told(pipeline.backward(out, rows=[1]))
    assert (source in files, exact) == (False, False)
    assert any("without a file is not followed" in note for note in notes)
    _, exact, notes = told(pipeline.forward(source, lines=[2]))
    assert not exact
    assert any("ask the live session" in note for note in notes)
