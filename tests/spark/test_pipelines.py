"""Pipelines of Spark jobs, pandas steps and programs: a line of the last file leads to exactly the lines of the first that it was made of, and back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug import actors
from bigdebug.errors import UnknownOperatorError, UntraceableError
from bigdebug.session import DebugSession
from bigdebug.trace.across.flow import Flow
from bigdebug.trace.across.located import Located, Unit


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Actors of each test are kept by themselves."""
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))


# ---- random pipelines -----------------------------------------------------------------------------------------------
# A record has a key and, as text, the numbers of all lines of the first file that it was made of: each step carries them on. So the last file says itself
# what its lineage is.


@dataclass(frozen=True)
class Data:
    """What a step wrote: a file or a folder of part files."""

    path: Path
    form: str

    def files(self) -> list[Path]:
        return sorted(p for p in self.path.rglob("*") if p.is_file() and p.name[0] not in "._") if self.path.is_dir() else [self.path]

    def records(self) -> Iterator[tuple[str, Unit, int, set[int]]]:
        """Each record: its file, how it is counted and where it stands, and the numbers of the lines that it was made of."""
        for file in self.files():
            if self.form == "parquet":
                import pyarrow.parquet as pq

                rows = [row["ids"] for row in pq.ParquetFile(file).read().to_pylist()]
            else:
                texts = [line for line in file.read_text().splitlines() if line]
                rows = [json.loads(t)["ids"] if self.form == "json" else t.split(",")[1] for t in (texts[1:] if self.form == "header" else texts)]
            unit = Unit.LINE if self.form in ("text", "lines") else Unit.ROW
            yield from ((str(file), unit, n, {int(i) for i in ids.split(";")}) for n, ids in enumerate(rows))


def joined(ids: Any) -> str:
    return ";".join(sorted(";".join(ids).split(";"), key=int))


def read_frame(dbg: DebugSession, data: Data) -> Any:
    reader, path = dbg.spark.read.schema("key string, ids string"), str(data.path)
    if data.form == "parquet":
        return dbg.spark.read.parquet(path)
    return reader.json(path) if data.form == "json" else reader.csv(path, header=data.form == "header")


def sql_step(dbg: DebugSession, data: Data, kind: str, target: Path, single: bool, rng: random.Random) -> Data:
    frame = read_frame(dbg, data)
    if kind == "group":
        merged = F.udf(lambda ids: joined(ids))  # noqa: PLW0108 (by its hints Spark would choose another kind of function)
        frame = frame.groupBy(F.substring("key", 1, 1).alias("key")).agg(merged(F.collect_list("ids")).alias("ids"))
    frame = frame.where("key NOT LIKE 'c%'") if kind == "filter" else frame.select(F.concat("key", F.lit("x")).alias("key"), "ids")
    form = rng.choice(["header", "json", "parquet"])
    writer = (frame.coalesce(1) if single else frame).write
    {"header": lambda: writer.csv(str(target), header=True), "json": lambda: writer.json(str(target)), "parquet": lambda: writer.parquet(str(target))}[form]()
    return Data(target, form)


def rdd_step(dbg: DebugSession, data: Data, kind: str, target: Path, single: bool, rng: random.Random) -> Data:
    lines = dbg.context.textFile(str(data.path), 2)
    pairs = lines.map(json.loads).map(lambda r: (r["key"], r["ids"])) if data.form == "json" else lines.map(lambda line: tuple(line.split(",")))
    if data.form == "header":
        pairs = pairs.filter(lambda r: r[0] != "key")
    if kind == "group":
        pairs = pairs.map(lambda r: (r[0][:1], r[1])).groupByKey(2).mapValues(joined)
    pairs = pairs.filter(lambda r: r[0][:1] != "c") if kind == "filter" else pairs.map(lambda r: (f"{r[0]}y", r[1]))
    (pairs.coalesce(1) if single else pairs).map(lambda r: f"{r[0]},{r[1]}").saveAsTextFile(str(target))
    return Data(target, "lines")


def pandas_step(data: Data, kind: str, target: Path, rng: random.Random) -> Data:
    if data.form == "parquet":
        frame = actors.read_parquet(str(data.path))
    elif data.form == "json":
        frame = actors.read_json(str(data.files()[0]), lines=True, dtype=str)
    else:
        names = None if data.form == "header" else ["key", "ids"]
        frame = actors.read_csv(str(data.files()[0]), dtype=str, names=names)

    def row(frame: Any) -> Any:
        return frame[frame["key"].str[0] != "c"] if kind == "filter" else frame.assign(key=frame["key"] + "p")

    group = actors.groups(lambda frame: frame.groupby("key", as_index=False).agg({"ids": joined}), by="key", name="group")
    made = group(frame) if kind == "group" else actors.rows(row)(frame)
    form = rng.choice(["header", "json", "parquet"])
    write: dict[str, Callable[[], None]] = {
        "header": lambda: actors.to_csv(made, str(target), index=False), "json": lambda: actors.to_json(made, str(target)),
        "parquet": lambda: actors.to_parquet(made, str(target)),
    }
    write[form]()
    return Data(target, form)


def program_step(data: Data, kind: str, target: Path, rng: random.Random) -> Data:
    files = list(map(str, data.files()))
    argv, lineage = (["grep", "-v", "^c"], "filter") if kind == "filter" and data.form == "lines" and len(files) == 1 else (["sort", "-r"], "content")
    actors.program([*argv, *files], reads=files, stdout=str(target), lineage=lineage, check=False)  # type: ignore[arg-type]
    return Data(target, data.form)


def random_pipeline(dbg: DebugSession, tmp_path: Path, rng: random.Random) -> tuple[Path, Data, list[str]]:
    """Three Spark jobs, a pandas step and a program in any order, each over what the one before wrote."""
    source = tmp_path / "source.txt"
    source.write_text("".join(f"{rng.choice('abc')}{rng.randrange(3)},{n}\n" for n in range(rng.randrange(6, 14))))
    order = ["spark", "spark", "spark", "pandas", "program"]
    rng.shuffle(order)
    data, done = Data(source, "lines"), []
    for number, step in enumerate(order):
        following = order[number + 1 :][:1]
        target, kind = tmp_path / f"{number}-{step}", rng.choice(["keep", "filter", "group"] if number % 2 else ["keep", "filter"])
        if step == "spark":
            rdd = following == ["program"] or (data.form != "parquet" and rng.random() < 0.5)
            if rdd and data.form == "parquet":  # a program takes lines
                read_frame(dbg, data).coalesce(1).write.csv(str(target))
                data = Data(target, "lines")
            else:
                data = (rdd_step if rdd else sql_step)(dbg, data, kind, target, bool(following) and following[0] != "spark", rng)
        elif step == "pandas":
            data = pandas_step(data, kind, target, rng)
            if following == ["program"] and data.form != "json":
                frame = actors.read_parquet(str(target)) if data.form == "parquet" else actors.read_csv(str(target), dtype=str)
                data = Data(tmp_path / f"{number}-again", "lines")
                actors.to_csv(frame, str(data.path), index=False, header=False)
        else:
            data = program_step(data, kind, target, rng)
        done.append(f"{step} {kind} {data.form}")
    return source, data, done


def numbers(flow: Flow, path: Path) -> set[int]:
    """The positions at a file; none if the flow did not come there."""
    return {int(p) for p in flow[str(path)].located.positions} if str(path) in flow else set()


def check_both_ways(dbg: DebugSession, source: Path, data: Data, some: int, rng: random.Random) -> None:
    every = list(data.records())
    assert every
    for path, unit, number, ids in rng.sample(every, min(some, len(every))):
        flow = dbg.pipeline.backward(Located.of(path, unit, [number]))
        assert numbers(flow, source) == ids, flow.notes
        assert [file.extent.path for file in flow.sources] == [str(source)], flow.notes
        assert flow.exact, flow.notes
    lines = len(source.read_text().splitlines())
    for number in rng.sample(range(lines), min(some, lines)):
        flow = dbg.pipeline.forward(str(source), lines=[number + 1])
        found = {(file.extent.path, p) for file in flow.results for p in file.located.positions.tolist()}
        assert {f for f in found if Path(f[0]) in data.files()} == {(path, n) for path, _, n, ids in every if number in ids}, flow.notes
        assert flow.exact, flow.notes


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, *range(2, 14)))])
def test_traces_across_spark_jobs_pandas_and_a_program_are_exact_to_the_line_both_ways(dbg: DebugSession, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with dbg.capture():
        source, data, done = random_pipeline(dbg, tmp_path, rng)
    assert len(done) == 5
    check_both_ways(dbg, source, data, 2, rng)


# ---- records that people hold, and parts of jobs -----------------------------------------------------------------------


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """Twelve orders of four customers, the last of them broken."""
    path = tmp_path / "orders.csv"
    path.write_text("id,customer,amount\n" + "".join(f"{n},c{n % 4},{n * 10}\n" for n in range(11)) + "11,c3,oops\n")
    return path


def cleaned(dbg: DebugSession, orders: Path, target: Path) -> Path:
    """Spark writes what is clean."""
    with dbg.capture("clean"):
        frame = dbg.spark.read.csv(str(orders), header=True).where("try_cast(amount AS INT) IS NOT NULL").select("customer", "amount")
        frame.write.parquet(str(target))
    return target


def test_a_trace_over_what_was_collected_leads_through_files_to_the_first(dbg: DebugSession, orders: Path, tmp_path: Path) -> None:
    clean = cleaned(dbg, orders, tmp_path / "clean")
    with dbg.capture("totals") as totals:
        rows = dbg.spark.read.parquet(str(clean)).groupBy("customer").agg(F.sum(F.expr("CAST(amount AS INT)")).alias("total")).collect()
    assert {row.customer: row.total for row in rows} == {"c0": 120, "c1": 150, "c2": 180, "c3": 100}
    flow = dbg.pipeline.backward(dbg.lineage(totals.latest).where("customer = 'c3'"))
    assert [step.name for step in flow.steps] == ["clean", "totals"]
    assert flow.records("orders.csv") == ["3,c3,30", "7,c3,70"]
    assert flow.exact, flow.notes
    assert {row["number"] for row in flow.toPandas().to_dict("records") if row["path"] == str(orders)} == {3, 7}  # rows, the header is none
    ahead = dbg.pipeline.forward("orders.csv", lines=[13])
    assert (ahead.results, [step.name for step in ahead.steps]) == ((), ["clean"])  # the broken one went nowhere


def test_a_culprit_leads_through_files_to_the_first(dbg: DebugSession, orders: Path, tmp_path: Path) -> None:
    with dbg.capture("split"):
        dbg.context.textFile(str(orders), 2).filter(lambda line: not line.startswith("id")).map(lambda line: line.split(",")[2]).saveAsTextFile(str(tmp_path / "split"))
    with pytest.raises(Exception, match="oops"), dbg.capture("sum") as run:
        dbg.context.textFile(str(tmp_path / "split")).map(int).sum()
    [culprit] = run.latest.culprits
    flow = dbg.pipeline.backward(culprit)
    assert flow.records("orders.csv") == ["11,c3,oops"]
    assert [step.name for step in flow.steps] == ["split", "sum"]
    assert [(part.name, part.stage) for part in flow.up("task") if part.step == flow.steps[1].id] == [("sum", "")]
    assert any(part.stage for part in flow.up("task") if part.step == flow.steps[0].id)


def test_a_file_that_was_changed_between_two_jobs_is_named(dbg: DebugSession, orders: Path, tmp_path: Path) -> None:
    clean = cleaned(dbg, orders, tmp_path / "clean")
    part = next(clean.glob("part-*"))
    again = dbg.spark.createDataFrame([("c9", "1")], "customer string, amount string")
    (tmp_path / "clean" / f".{part.name}.crc").unlink()
    again.toPandas().to_parquet(part)
    with dbg.capture("report"):
        dbg.spark.read.parquet(str(clean)).write.json(str(tmp_path / "report"))
    flow = dbg.pipeline.backward("report")
    assert f"{part.name} was changed between 'clean' and 'report'." in flow.notes
    assert [step.name for step in flow.steps] == ["report"]
    assert not flow.exact


def test_a_task_and_the_outputs_that_it_touched(dbg: DebugSession, orders: Path, tmp_path: Path) -> None:
    lines = dbg.context.textFile(str(orders), 2).filter(lambda line: not line.startswith("id")).map(lambda line: (int(line.split(",")[0]) % 4, line))
    with dbg.capture("by customer"):
        lines.groupByKey(2).mapValues(len).saveAsTextFile(str(tmp_path / "counts"))
    with dbg.capture("copy"):
        dbg.context.textFile(str(tmp_path / "counts")).map(str.upper).saveAsTextFile(str(tmp_path / "copy"))
    step = dbg.pipeline.step("by customer")
    tasks = dbg.pipeline.parts(step)
    stages = list(dict.fromkeys(part.stage for part in tasks))
    assert [sum(part.records for part in tasks if part.stage == stage) for stage in stages] == [12, 4]
    assert {part.partition for part in tasks} == {0, 1}
    last = [part for part in tasks if part.stage == stages[-1] and part.records]
    touched = dbg.pipeline.touched(step, stage=stages[-1], partition=last[0].partition)
    assert touched.up("dataset") == (str(tmp_path / "counts"), str(tmp_path / "copy"))
    assert [Path(file.extent.path).name for file in touched.files if str(tmp_path / "counts") in file.extent.path] == [f"part-0000{last[0].partition}"]
    first = dbg.pipeline.touched(step, stage=stages[0])
    assert {Path(path).name for path in first.up("file") if "counts" in path} == {"part-00000", "part-00001"}
    with pytest.raises(UnknownOperatorError, match="no such stage"):
        dbg.pipeline.touched(step, stage="s99")
    with pytest.raises(UnknownOperatorError, match="no such partition"):
        dbg.pipeline.touched(step, stage=stages[0], partition=99)
    with pytest.raises(TypeError, match="named by its stage"):
        dbg.pipeline.touched(step, partition=0)
    assert dbg.pipeline.touched(step).up("file") == first.up("file")

    # From an output down to the tasks and operators that made it.
    flow = dbg.pipeline.backward(str(tmp_path / "copy" / "part-00000"), lines=[1])
    parts = [part for part in flow.up("task") if part.step == step.id]
    assert len({part.stage for part in parts}) == 2
    names = {part.name.split("#")[0].split(".")[0] for part in flow.up("operator") if part.step == step.id}
    assert {"textFile", "filter", "map", "groupByKey", "mapValues"} <= names
    assert flow.up("job") == flow.steps
    with dbg.capture("collected") as collected:
        dbg.context.textFile(str(tmp_path / "copy")).filter(bool).collect()
    trace = dbg.lineage(collected.latest)
    held = dbg.pipeline.backward(trace.at(trace.rids()[:1]))
    assert [step.name for step in held.steps] == ["by customer", "copy", "collected"]
    assert {part.stage for part in held.up("stage") if part.step == held.steps[2].id} == {stage.id for stage in collected.latest.graph.stages}
    assert {part.stage for part in held.up("stage") if part.step == step.id} == {part.stage for part in parts}


@pytest.mark.parametrize("shape", ["repartition", "partitionBy", "coalesce", "union", "union of unions", "cached", "cached below", "source", "source twice", "grouped"])
def test_all_that_was_written_was_made_in_every_task_that_gave_records(dbg: DebugSession, tmp_path: Path, shape: str) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{n % 5} {n}\n" for n in range(20)))
    lines = dbg.context.textFile(str(tmp_path / "in.txt"), 3)
    pairs = lines.map(lambda line: tuple(line.split()))
    saved = {
        "repartition": lambda: pairs.repartition(2), "partitionBy": lambda: pairs.partitionBy(2), "coalesce": lambda: pairs.coalesce(1), "union": lambda: pairs.union(pairs),
        "union of unions": lambda: pairs.union(pairs).union(pairs), "cached": pairs.cache, "cached below": lambda: pairs.cache().map(str), "source": lambda: lines,
        "source twice": lambda: lines.union(lines), "grouped": lambda: pairs.groupByKey(2).mapValues(sorted),
    }[shape]()
    with dbg.capture(f"made by {shape}"):
        saved.saveAsTextFile(str(tmp_path / "out"))
    step = dbg.pipeline.step(f"made by {shape}")
    every = {(part.stage, part.partition) for part in dbg.pipeline.parts(step) if part.records}
    assert every
    through = step.run.graph.upstream(step.run.subject)  # type: ignore[attr-defined]
    whole = dbg.pipeline.backward(str(tmp_path / "out"))
    assert tasks(whole) == every
    assert {part.operator for part in whole.up("operator")} == through
    by_line = set()
    for path in sorted((tmp_path / "out").glob("part-*")):
        count = len(path.read_text().splitlines())
        if count:
            flow = dbg.pipeline.backward(str(path), lines=range(1, count + 1))
            assert tasks(flow) == tasks(dbg.pipeline.backward(str(path)))
            by_line |= tasks(flow)
    assert by_line == every


def tasks(flow: Flow) -> set[tuple[str, int | None]]:
    return {(part.stage, part.partition) for part in flow.up("task")}


def test_where_nobody_knows_which_files_are_a_steps_own_all_its_tasks_are_named(dbg: DebugSession, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{n}\n" for n in range(20)))
    hadoop = dbg.context._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
    hadoop.set("mapreduce.output.basename", "strange")
    try:
        with dbg.capture("called otherwise"):
            pairs = dbg.context.textFile(str(tmp_path / "in.txt"), 2).map(lambda line: (line, 1)).repartition(2)
            pairs.saveAsNewAPIHadoopFile(str(tmp_path / "out"), "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat")
    finally:
        hadoop.unset("mapreduce.output.basename")
    every = {(part.stage, part.partition) for part in dbg.pipeline.parts("called otherwise")}
    assert len(every) == 4
    assert tasks(dbg.pipeline.backward(str(tmp_path / "out" / "strange-r-00000"), lines=[1])) == every


def test_what_a_step_gave_its_program_was_made_in_tasks_as_well(dbg: DebugSession, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{n % 5} {n}\n" for n in range(20)))
    kept = dbg.context.textFile(str(tmp_path / "in.txt"), 3).map(str.split).filter(lambda pair: pair[0] != "1")
    with dbg.capture("counted") as run:
        kept.groupBy(lambda pair: pair[0], 2).mapValues(len).collect()
    every = {(part.stage, part.partition) for part in dbg.pipeline.parts("counted") if part.records}
    assert tasks(dbg.pipeline.backward(dbg.pipeline.step("counted"))) == every
    assert tasks(dbg.pipeline.forward(str(tmp_path / "in.txt"))) == every
    assert tasks(dbg.pipeline.forward(dbg.lineage(run.latest).goBackAll())) == every
    assert tasks(dbg.pipeline.forward(str(tmp_path / "in.txt"), lines=[2])) == set()  # left out
    ahead = tasks(dbg.pipeline.forward(str(tmp_path / "in.txt"), lines=[1]))
    assert {stage for stage, _ in ahead} == {stage for stage, _ in every}
    assert ahead <= every
    with dbg.capture("as it is"):
        dbg.context.textFile(str(tmp_path / "in.txt"), 3).collect()
    [part] = dbg.pipeline.backward(dbg.pipeline.step("as it is")).up("task")
    assert (part.stage, part.name) == ("", "as it is")
    assert [one.name for one in dbg.pipeline.parts("as it is")] == ["as it is"]


def test_records_that_two_ways_lead_to_are_counted_together(dbg: DebugSession, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{n}\n" for n in range(20)))
    groups = dbg.context.textFile(str(tmp_path / "in.txt"), 2).groupBy(int, 1)
    near, far = groups.filter(lambda pair: pair[0] < 10), groups.filter(lambda pair: pair[0] >= 15).repartition(1)
    with dbg.capture("both"):
        near.union(far).map(lambda pair: pair[0]).saveAsTextFile(str(tmp_path / "out"))
    found = [part for part in dbg.pipeline.backward(str(tmp_path / "out")).up("operator") if part.name.startswith("groupBy") and part.records >= 0]
    assert {part.records for part in found} == {15}


def test_a_dataframe_is_one_part(dbg: DebugSession, orders: Path, tmp_path: Path) -> None:
    cleaned(dbg, orders, tmp_path / "clean")
    flow = dbg.pipeline.backward(str(tmp_path / "clean"))
    assert [part.name for part in flow.up("task")] == ["clean"]
    with pytest.raises(UntraceableError, match="asked as a whole"):
        dbg.pipeline.touched(flow.steps[0], stage="s0")


def test_actors_within_an_actor_are_what_it_touched(dbg: DebugSession, tmp_path: Path) -> None:
    job = actors.ActorType("job")
    task = actors.ActorType("task", job)
    with actors.register("nightly", job) as whole, actors.register("one", task, whole) as part:
        (tmp_path / "a.txt").write_text("1\n")
        part.add_input(at=actors.Place.line(str(tmp_path / "a.txt"), 0))
        (tmp_path / "b.txt").write_text("1\n")
        part.add_output(at=actors.Place.line(str(tmp_path / "b.txt"), 0))
    assert [step.name for step in dbg.pipeline.within("nightly")] == ["one"]
    assert dbg.pipeline.touched("nightly").up("file") == (str(tmp_path / "b.txt"),)


def test_a_step_stands_in_the_place_of_its_function_in_a_job(dbg: DebugSession) -> None:
    """PySpark asks a function how many arguments it takes, and an old way of asking took steps for functions in C."""
    rows = dbg.spark.createDataFrame([("a", 1), ("a", 2), ("b", 3)], "k string, n long")

    def doubled(frame: Any) -> Any:
        return frame.assign(n=frame.n * 2)

    for step in (actors.rows(doubled), actors.groups(doubled, by="k"), actors.whole(doubled)):
        assert sorted(rows.groupBy("k").applyInPandas(step, "k string, n long").collect()) == [("a", 2), ("a", 4), ("b", 6)]
