"""Frames that toPandas() of a captured run gave, and that steps took: a row leads through the run to the file that Spark read, and back."""

from __future__ import annotations

import gc
import os
import signal
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.functions import expr

import bigdebug
from bigdebug import actors
from bigdebug.actors.frames import FRAMES
from bigdebug.errors import UnknownRecordError

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


@pytest.mark.parametrize(("change", "moved"), [
    (lambda f: f.sort_values("n", ascending=False, inplace=True), False), (lambda f: f.drop(index=[0, 5], inplace=True), False), (lambda f: f.__setitem__("late", ~f["late"]), True),
    (lambda f: f.sort_values("n", ascending=False, inplace=True, ignore_index=True), True), (lambda f: f.__setitem__("n", f["n"].to_numpy()[::-1]), True),
], ids=["sorted", "left out", "a flag turned round", "sorted and counted anew", "a column turned round"])
def test_rows_that_may_have_been_put_in_the_places_of_others_are_told_so(dbg: Any, spark: Any, tmp_path: Path, change: Any, moved: bool) -> None:
    """What is in them is that of others then, and they are the same rows altogether."""
    path = tmp_path / "flags.csv"
    path.write_text("".join(f"{late},a,{n}\n" for n in range(4) for late in ("true", "false")))
    frame = taken(dbg, spark.read.schema("late boolean, who string, n int").csv(str(path)))
    change(frame)
    out = passed_on(frame, tmp_path / "out.csv")
    for flow in (dbg.pipeline.backward(out, rows=[1]), dbg.pipeline.forward(str(path), lines=[3])):
        _, exact, notes = told(flow)
        assert exact is not moved
        assert any("stand elsewhere than their index says" in note for note in notes) is moved


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


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a column": lambda f: f.__setitem__("n", f["n"] + 1), "one cell": lambda f: f.__setitem__("x", [100.0, *f["x"][1:]]), "a name": lambda f: f.rename(columns={"x": "y"}, inplace=True),
    "another column": lambda f: f.insert(0, "w", 1), "an index": lambda f: f.set_index("k", inplace=True), "another row": lambda f: f.__setitem__("x", f["x"][0]),
}


@pytest.mark.parametrize("back", [False, True], ids=["step", "createDataFrame"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_frame_that_was_changed_widens_a_flow_both_ways(dbg: Any, spark: Any, source: str, tmp_path: Path, change: str, back: bool) -> None:
    """And says so: it is seen when somebody asks."""
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source).fillna(-1))
    CHANGES[change](frame)
    if back:
        with dbg.capture("back"):
            spark.createDataFrame(frame).coalesce(1).write.csv(str(tmp_path / "out"))
        [out] = map(str, (tmp_path / "out").glob("*.csv"))
    else:
        out = passed_on(frame, tmp_path / "out.csv")
    for flow in (dbg.pipeline.backward(out, rows=[1]), dbg.pipeline.forward(source, lines=[2])):
        files, exact, notes = told(flow)
        assert (set(files), exact) == ({source, out}, False)
        assert any("was changed after" in note for note in notes)


def test_rows_that_only_look_as_if_nothing_was_done_to_them_are_refused(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Of 1, 2, 3 that are 2, 3, 4 now, 2 was 1."""
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("1\n2\n3\n")
    frame = taken(dbg, spark.read.schema("n int").csv(str(numbers)))
    frame["n"] += 1
    _, exact, notes = told(dbg.pipeline.backward(passed_on(frame, tmp_path / "out.csv"), rows=[0]))
    assert not exact
    assert any("was changed after" in note for note in notes)


def test_rows_in_another_order_or_fewer_are_found_still(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source))
    frame.sort_values("x", ascending=False, inplace=True)
    frame.drop(index=[3], inplace=True)
    out = passed_on(frame, tmp_path / "out.csv")
    assert told(dbg.pipeline.backward(out, rows=[18])) == ({out: [18], source: [0]}, True, [])
    assert told(dbg.pipeline.forward(source, lines=[20])) == ({source: [19], out: [0]}, True, [])
    files, exact, notes = told(dbg.pipeline.forward(source, lines=[4]))
    assert (set(files), exact) == ({source, out}, False)
    assert any("was changed after" in note for note in notes)


def test_a_frame_that_is_changed_between_two_steps_is_known_as_each_took_it(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source), "twice")
    outs = []
    for name in ("one.csv", "same.csv", "turned.csv"):
        if name == "turned.csv":
            frame.sort_values("x", ascending=False, inplace=True)
        outs.append(passed_on(frame, tmp_path / name))
    assert len(dbg.pipeline.step("twice").writes) == 2
    for out, row in zip(outs, (4, 4, 15)):
        assert told(dbg.pipeline.backward(out, rows=[row])) == ({out: [row], source: [4]}, True, [])
    assert told(dbg.pipeline.forward(source, lines=[5])) == ({source: [4], outs[0]: [4], outs[1]: [4], outs[2]: [15]}, True, [])


def test_nothing_is_computed_of_a_frame_that_no_step_takes(dbg: Any, spark: Any, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_: Any) -> Any:
        raise AssertionError("nobody asked for that")

    monkeypatch.setattr("bigdebug.actors.cells.Cells.of", looked)
    monkeypatch.setattr("bigdebug.spark.across.handed.keys_of", looked)
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source).selectExpr("array(k) as l"))
    assert id(frame) in FRAMES._known


def test_nobody_holds_a_frame_of_which_nothing_is_known(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    """An exception that is kept holds all that was there when it was raised."""
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source).selectExpr("rand() as r"), strategy="lazy")
    out = passed_on(frame, tmp_path / "out.csv")
    held = weakref.ref(frame)
    del frame
    for _ in range(2):
        _, exact, notes = told(dbg.pipeline.backward(out, rows=[0]))
        assert not exact
        assert any("strategy='inject'" in note for note in notes)
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("value", ["cast(n as decimal(9, 2))", "array(n)", "map('n', n)", "struct(struct(n))", "transform(sequence(1, 1500), i -> if(i = 700, n, 0))"])
def test_values_whose_hashes_or_texts_are_alike_are_told_apart(dbg: Any, spark: Any, tmp_path: Path, value: str) -> None:
    """-1 and -2 have one hash in Python, and texts of long arrays leave out what is in the middle."""
    import numpy as np

    numbers = tmp_path / "numbers.csv"
    numbers.write_text("-1\n-2\n3\n")
    with np.printoptions(threshold=5):
        out = passed_on(taken(dbg, spark.read.schema("n int").csv(str(numbers)).selectExpr(f"{value} as v")), tmp_path / "out.csv")
    for row in range(3):
        assert told(dbg.pipeline.backward(out, rows=[row])) == ({out: [row], str(numbers): [row]}, True, [])


@pytest.mark.parametrize("where", ["Handed", "target_of_writer"])
def test_an_alarm_that_rings_when_the_end_of_an_action_is_noted_is_its_users(dbg: Any, spark: Any, source: str, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def rings(*_: Any) -> None:
        raise TimeoutError("over")

    before = signal.signal(signal.SIGALRM, rings)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(f"bigdebug.spark.across.endings.{where}", lambda *_: signal.raise_signal(signal.SIGALRM))
            with pytest.raises(TimeoutError, match="over"):
                taken(dbg, spark.read.schema(SCHEMA).csv(source))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(taken(dbg, spark.read.schema(SCHEMA).csv(source))) == 20


@pytest.mark.usefixtures("arrow")
def test_a_query_that_fails_now_widens_a_flow(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    """And nobody is warned of a toPandas() that he did not call."""
    from pyspark.sql.functions import udf

    late = str(tmp_path / "late")

    failing = udf(lambda n: 1 // 0 if os.path.exists(late) else n, "int")
    out = passed_on(taken(dbg, spark.read.schema(SCHEMA).csv(source).select("k", failing("n").alias("m"), "x")), tmp_path / "out.csv")
    Path(late).touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        flows = [told(flow) for flow in (dbg.pipeline.backward(out, rows=[1]), dbg.pipeline.forward(source, lines=[2]))]
    for files, exact, notes in flows:
        assert (set(files), exact) == ({source, out}, False)
        assert any("fails when it is computed once more" in note and "ZeroDivisionError" in note for note in notes)


def test_a_run_whose_frame_no_step_took_is_as_before(dbg: Any, spark: Any, source: str) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source), "untaken")
    assert not dbg.pipeline.step("untaken").writes
    flow = dbg.pipeline.forward(source, lines=[3])
    assert ([found.extent.path for found in flow], flow.exact) == ([source], True)
    assert len(frame) == 20


def test_rows_beyond_a_frame_are_refused_and_all_of_it_is_counted(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source), "all taken")
    passed_on(frame, tmp_path / "out.csv")
    with dbg.capture("back"):
        spark.createDataFrame(frame).rdd.map(lambda row: row.k).coalesce(1).saveAsTextFile(str(tmp_path / "back"))
    path = dbg.pipeline.step("all taken").writes[0].path
    for ask in (dbg.pipeline.backward, dbg.pipeline.forward):
        with pytest.raises(UnknownRecordError, match=r"has 20 rows \(got 99\)"):
            ask(path, rows=[99])
    files, exact, notes = told(dbg.pipeline.forward(dbg.pipeline.step("all taken")))
    assert (files[str(tmp_path / "back" / "part-00000")], files[str(tmp_path / "out.csv")], exact, notes) == ([*range(20)], [*range(20)], True, [])


def test_what_a_query_gives_otherwise_each_time_is_refused(dbg: Any, spark: Any, source: str, tmp_path: Path) -> None:
    frame = taken(dbg, spark.read.schema(SCHEMA).csv(source).selectExpr("k", "rand() as r"), strategy="lazy")
    files, exact, notes = told(dbg.pipeline.backward(passed_on(frame, tmp_path / "out.csv"), rows=[1]))
    assert (set(files), exact) == ({str(tmp_path / "out.csv"), source}, False)
    assert any("strategy='inject'" in note for note in notes)


def totals(spark: Any, tmp_path: Path, column: str) -> Any:
    """Sums of floats behind a shuffle, which each execution adds in its own order."""
    (tmp_path / "parts.csv").write_text("a,0.1\na,0.2\nb,0.3\nb,0.7\nc,4.0\nd,\n")
    return spark.read.schema("k string, x double").csv(str(tmp_path / "parts.csv")).repartition(2).groupBy("k").agg(expr(column).alias("x")).orderBy("k")


def test_sums_of_floats_that_nobody_changed_are_followed(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = taken(dbg, totals(spark, tmp_path, "sum(x)"), "totals")
    files, exact, notes = told(dbg.pipeline.backward(passed_on(frame, tmp_path / "out.csv"), rows=[1]))
    assert (files[str(tmp_path / "parts.csv")], exact, notes) == ([2, 3], True, [])
    assert told(dbg.pipeline.forward(str(tmp_path / "parts.csv"), lines=[6]))[0][str(tmp_path / "out.csv")] == [3]


@pytest.mark.parametrize("change", ["frame.x /= frame.x.sum()", "frame['x'] = frame.x.shift(-1)", "frame['x'] = frame.x.cumsum()", "frame.loc[3, 'x'] = 0.0", "frame['x'] = 'much'"])
def test_sums_of_floats_that_were_changed_in_place_widen_a_flow(dbg: Any, spark: Any, tmp_path: Path, change: str) -> None:
    frame = taken(dbg, totals(spark, tmp_path, "sum(x)"), "totals")
    exec(change, {"frame": frame})
    files, exact, notes = told(dbg.pipeline.backward(passed_on(frame, tmp_path / "out.csv"), rows=[0]))
    assert (files[str(tmp_path / "parts.csv")], exact) == ([0], False)  # as a whole
    assert any("was changed after" in note for note in notes)
    files, exact, _ = told(dbg.pipeline.forward(str(tmp_path / "parts.csv"), lines=[5]))
    assert not exact
    assert str(tmp_path / "out.csv") in files


def test_sums_of_floats_that_are_changed_between_two_steps_are_another_frame(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = taken(dbg, totals(spark, tmp_path, "sum(x)"), "totals")
    passed_on(frame, tmp_path / "before.csv")
    frame["x"] = frame.x.cumsum()
    passed_on(frame, tmp_path / "behind.csv")
    assert told(dbg.pipeline.backward(str(tmp_path / "before.csv"), rows=[2]))[:2] == ({str(tmp_path / "before.csv"): [2], str(tmp_path / "parts.csv"): [4]}, True)
    assert not dbg.pipeline.backward(str(tmp_path / "behind.csv"), rows=[2]).exact


def test_of_a_column_that_cannot_be_compared_a_note_says_so(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = taken(dbg, totals(spark, tmp_path, "collect_list(x)"), "lists")
    files, exact, notes = told(dbg.pipeline.backward(passed_on(frame, tmp_path / "out.csv"), rows=[1]))
    assert (files[str(tmp_path / "parts.csv")], exact) == ([2, 3], False)
    assert any("whether x of what 'lists' gave was changed in place cannot be seen" in note for note in notes)


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
