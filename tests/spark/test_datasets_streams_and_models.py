"""What is recorded of streams, over all their batches, and of models: fits, saved and loaded ones, and queries that ask them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.ml import Estimator, Model
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params

from tests.spark.recorded import Recorded


@pytest.fixture(scope="module")
def recorded(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    made = Recorded(spark, tmp_path_factory.mktemp("datasets"))
    made.recording.open()
    spark.range(20).selectExpr("id % 5 as k", "cast(id * 2 as double) as v").coalesce(1).write.parquet(f"{made.folder}/in")
    yield made
    made.recording.close()
    for name in ("d_sums", "d_rate"):
        spark.catalog.dropTempView(name)
    spark.sql("drop table if exists d_stream")


def _stream(spark: Any, folder: str) -> Any:
    return spark.readStream.schema("k long, v double").option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")


def _started(frame: Any, folder: str, name: str, mode: str = "append") -> Any:
    writer = frame.writeStream.queryName(name).outputMode(mode).trigger(availableNow=True)
    return writer.option("checkpointLocation", f"{folder}/checkpoint-{name}")


def test_files_to_files(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        _started(_stream(spark, folder).where("v > 3").selectExpr("k + 1 as a"), folder, "d_files").format("parquet").start(f"{folder}/out").awaitTermination(60)

    (process,) = recorded.of(job)
    assert process.text == "d_files"
    assert recorded.text(process) == """
stream succeeded
read files in 20 rows
appended files out
* < in.v FILTER
a < in.k TRANSFORMATION
""".strip()


def test_batches_are_one_process_and_their_rows_are_added(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        for _ in range(3):
            spark.range(5).selectExpr("id as k", "cast(1 as double) as v").coalesce(1).write.mode("append").parquet(f"{folder}/several")
        stream = spark.readStream.schema("k long, v double").option("maxFilesPerTrigger", 1).parquet(f"{folder}/several")
        _started(stream, folder, "d_several").format("noop").start().awaitTermination(60)

    *_, process = recorded.of(job)
    assert [(access.dataset.name, access.rows) for access in process.reads] == [(f"{recorded.folder}/several", 15)]


def test_memory_is_a_view_of_the_session(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        _started(_stream(spark, folder).groupBy("k").sum("v"), folder, "d_sums", "complete").format("memory").start().awaitTermination(60)
        spark.sql("select k from d_sums").collect()

    stream, query = (process for process in recorded.of(job) if process.sort != "command")
    assert recorded.text(stream) == """
stream succeeded
read files in 20 rows
overwritten view d_sums 5 rows
* < in.k GROUP_BY
k < in.k IDENTITY
sum(v) < in.v AGGREGATION
""".strip()
    assert recorded.text(query) == """
query succeeded
read view d_sums
created memory result
k < d_sums.k IDENTITY
""".strip()


def test_what_is_done_with_each_batch_is_done_with_the_source(recorded: Recorded) -> None:
    def each(batch: Any, number: int) -> None:
        batch.where("b > 3").selectExpr("a", "sha2(cast(b as string), 256) as h").write.mode("append").parquet(f"{recorded.folder}/each")
        batch.count()

    def job(spark: Any, folder: str) -> None:
        _started(_stream(spark, folder).where("k > 1").selectExpr("k as a", "v + 1 as b"), folder, "d_each").foreachBatch(each).start().awaitTermination(60)

    (process,) = recorded.of(job)
    assert recorded.text(process) == """
stream succeeded
read files in 40 rows
appended files each 8 rows
* < in.k FILTER
* < in.v FILTER
a < in.k IDENTITY
h < in.v TRANSFORMATION masking
""".strip().replace("8 rows", f"{len(recorded.spark.read.parquet(f'{recorded.folder}/each').collect())} rows")


def test_a_table_and_a_source_that_makes_its_rows(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        rate = spark.readStream.format("rate").option("rowsPerSecond", 100).load().writeStream.queryName("d_rate")
        query = rate.option("checkpointLocation", f"{folder}/checkpoint-rate").toTable("d_stream")
        until = time.monotonic() + 60
        while not spark.table("d_stream").take(1) and time.monotonic() < until:  # its first batch has no rows
            time.sleep(0.1)
        query.stop()

    table, stream = (process for process in recorded.of(job) if process.sort != "query")
    assert recorded.text(table) == "command succeeded\ncreated table default.d_stream"
    assert [access.dataset.name for access in stream.reads] == ["rate"]
    assert stream.status == "succeeded"


@pytest.mark.parametrize("sink", ["console", "foreach"])
def test_what_a_stream_shows_or_hands_on_has_a_name(recorded: Recorded, sink: str, capfd: pytest.CaptureFixture[str]) -> None:
    def job(spark: Any, folder: str) -> None:
        writer = _started(_stream(spark, folder).select("k"), folder, f"d_{sink}")
        writer = writer.format("console") if sink == "console" else writer.foreach(lambda row: None)
        writer.start().awaitTermination(60)

    (process,) = recorded.of(job)
    assert recorded.text(process) == f"""
stream succeeded
read files in 20 rows
appended stream {sink} 20 rows
k < in.k IDENTITY
""".strip()


def test_a_stream_that_fails_says_why(recorded: Recorded) -> None:
    def each(batch: Any, number: int) -> None:
        raise ValueError("no more of this")

    def job(spark: Any, folder: str) -> None:
        _started(_stream(spark, folder), folder, "d_fails").foreachBatch(each).start().awaitTermination(60)

    (process,) = recorded.of(job)
    assert (process.sort, process.status) == ("stream", "failed")
    assert "no more of this" in process.error


class Meant(Model):  # type: ignore[type-arg]
    def _transform(self, dataset: Any) -> Any:
        return dataset


class Meaning(Estimator):  # type: ignore[type-arg]
    """An estimator of the user's, with no parameter that says what it reads."""

    def _fit(self, dataset: Any) -> Any:
        dataset.agg({"k": "avg"}).collect()
        return Meant()


class Liking(Evaluator):
    """An evaluator of the user's: it judges by whatever it likes, not by its label alone."""

    labelCol: Param[str] = Param(Params._dummy(), "labelCol", "a label")  # noqa: N815 (it is PySpark's)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(labelCol="v")

    def _evaluate(self, dataset: Any) -> float:
        return float(dataset.first()["more"])


def _pipeline() -> Any:
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression

    return Pipeline(stages=[VectorAssembler(inputCols=["k"], outputCol="f"), LinearRegression(featuresCol="f", labelCol="v")])


def test_models_are_made_asked_saved_and_loaded(recorded: Recorded) -> None:
    from pyspark.ml import PipelineModel

    kept: list[Any] = []

    def fit(spark: Any, folder: str) -> None:
        kept.append(_pipeline().fit(spark.read.parquet(f"{folder}/in").where("k < 4")))

    def ask(spark: Any, folder: str) -> None:
        kept[0].transform(spark.read.parquet(f"{folder}/in")).select("prediction").write.parquet(f"{folder}/predicted")

    assert recorded.said(fit) == """
fit succeeded
read files in
created model PipelineModel
created model LinearRegression
* < in.k AGGREGATION
* < in.k FILTER
* < in.v AGGREGATION
* < in.k AGGREGATION
* < in.k FILTER
* < in.v AGGREGATION
""".strip()
    assert recorded.said(ask) == """
write succeeded
read files in 20 rows
read model PipelineModel
created files predicted 20 rows
prediction < in.k TRANSFORMATION
prediction < PipelineModel. TRANSFORMATION
""".strip()
    assert recorded.said(lambda spark, folder: kept[0].save(f"{folder}/model")) == "write succeeded\nread model PipelineModel\ncreated model model"
    assert recorded.said(lambda spark, folder: kept[0].write().overwrite().save(f"{folder}/model")) == "write succeeded\nread model PipelineModel\noverwritten model model"
    assert recorded.said(lambda spark, folder: kept.append(PipelineModel.load(f"{folder}/model"))) == "query succeeded\nread model model\ncreated model PipelineModel"
    assert kept[0].uid == kept[1].uid


def test_a_fit_by_a_statement_or_a_formula_may_read_all_columns(recorded: Recorded) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import RFormula, SQLTransformer, VectorAssembler
    from pyspark.ml.regression import LinearRegression

    doubled = SQLTransformer(statement="select *, k * 2 as q from __THIS__")
    stated = Pipeline(stages=[doubled, VectorAssembler(inputCols=["q"], outputCol="f"), LinearRegression(featuresCol="f", labelCol="v")])
    for estimator in (stated, RFormula(formula="v ~ k")):
        (process,) = recorded.of(lambda spark, folder: estimator.fit(spark.read.parquet(f"{folder}/in")))  # noqa: B023
        assert [access.dataset.name for access in process.reads] == [f"{recorded.folder}/in"]
        assert {(edge.used, edge.how) for edge in process.columns} == {("k", "AGGREGATION"), ("v", "AGGREGATION")}
    assert recorded.said(lambda spark, folder: doubled.transform(spark.read.parquet(f"{folder}/in")).select("q").collect()) == """
query succeeded
read files in 20 rows
created memory result
q < in.k TRANSFORMATION
""".strip()


def test_a_fit_reads_a_column_however_its_field_or_its_letters_are_written(recorded: Recorded) -> None:
    from pyspark.ml.feature import StringIndexer

    def job(spark: Any, folder: str) -> None:
        StringIndexer(inputCol="s.K", outputCol="n").fit(spark.read.parquet(f"{folder}/in").selectExpr("struct(k) as S", "v"))

    (process,) = recorded.of(job)
    assert {(edge.used, edge.how) for edge in process.columns} == {("k", "AGGREGATION")}


def test_a_fit_of_what_is_not_known_may_read_all_columns(recorded: Recorded) -> None:
    (process,) = recorded.of(lambda spark, folder: Meaning().fit(spark.read.parquet(f"{folder}/in")))
    assert {(edge.used, edge.how) for edge in process.columns} == {("k", "AGGREGATION"), ("v", "AGGREGATION")}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the pool that a search leaves behind
def test_models_that_a_fit_makes_on_its_way_are_no_inputs_of_it(recorded: Recorded) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.feature import StandardScaler, VectorAssembler
    from pyspark.ml.regression import LinearRegression
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    vectors, scaler = VectorAssembler(inputCols=["k"], outputCol="f0"), StandardScaler(inputCol="f0", outputCol="f")
    line = LinearRegression(featuresCol="f", labelCol="v", maxIter=1)
    stages = Pipeline(stages=[Pipeline(stages=[vectors, scaler]), line])
    search = CrossValidator(
        estimator=stages, estimatorParamMaps=ParamGridBuilder().addGrid(line.regParam, [0.1, 0.2]).build(),
        evaluator=RegressionEvaluator(labelCol="v"), numFolds=2, parallelism=2,
    )
    for estimator in (stages, search):
        (process,) = recorded.of(lambda spark, folder: estimator.fit(spark.read.parquet(f"{folder}/in")))  # noqa: B023
        assert {access.dataset.kind for access in process.reads} - {"cache"} == {"files"}  # a search caches its folds
        assert {edge.used for edge in process.columns} == {"k", "v"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the pool that a search leaves behind
def test_a_search_reads_what_its_evaluator_and_its_folds_do(recorded: Recorded) -> None:
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    frame = recorded.spark.range(20).selectExpr("id % 5 as k", "cast(id as double) as v", "v + 1 as y2", "1.0 as w", "cast(id % 2 as int) as Fold", "2.0d as more")
    frame.coalesce(1).write.parquet(f"{recorded.folder}/searched")
    for evaluator, folds, used in (
        (RegressionEvaluator(labelCol="y2", weightCol="w"), "", {"k", "v", "y2", "w"}), (RegressionEvaluator(labelCol="v"), "Fold", {"k", "v", "Fold"}),
        (RegressionEvaluator(labelCol="v", predictionCol="more"), "", {"k", "v", "more"}), (Liking(), "", set(frame.columns)),
    ):
        search = CrossValidator(estimator=_pipeline(), estimatorParamMaps=ParamGridBuilder().build(), evaluator=evaluator, numFolds=2, foldCol=folds)
        (process,) = recorded.of(lambda spark, folder: search.fit(spark.read.parquet(f"{folder}/searched")))  # noqa: B023
        assert {edge.used for edge in process.columns} == used


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the pool that a search leaves behind
def test_a_part_of_a_model_is_made_of_what_the_model_is_made_of(recorded: Recorded) -> None:
    from pyspark.ml.evaluation import RegressionEvaluator
    from pyspark.ml.tuning import ParamGridBuilder, TrainValidationSplit

    search = TrainValidationSplit(estimator=_pipeline(), estimatorParamMaps=ParamGridBuilder().build(), evaluator=RegressionEvaluator(labelCol="v"))
    kept: list[Any] = []
    made: set[str] = set()
    for estimator in (_pipeline(), search):
        (fit,) = recorded.of(lambda spark, folder: kept.append(estimator.fit(spark.read.parquet(f"{folder}/in"))))  # noqa: B023
        made |= {access.dataset.name for access in fit.writes if {edge.used for edge in fit.columns if edge.output == access.dataset} == {"k", "v"}}
    pipeline, found = kept
    parts = {"stage": pipeline.stages[1], "best": found.bestModel, "stage of the best": found.bestModel.stages[1]}
    for name, part in parts.items():
        (process,) = recorded.of(lambda spark, folder: part.save(f"{folder}/{name}"))  # noqa: B023
        (read,) = process.reads
        assert read.dataset.name == part.uid in made


def test_a_batch_without_data_reads_what_the_stream_does(recorded: Recorded) -> None:
    """After the last rows of a stream with a watermark comes a batch of none, to forget old groups."""
    def job(spark: Any, folder: str) -> None:
        for _ in range(2):
            spark.range(5).selectExpr("id as k", "timestamp_seconds(id * 100) as t").coalesce(1).write.mode("append").parquet(f"{folder}/timed")
        stream = spark.readStream.schema("k long, t timestamp").option("maxFilesPerTrigger", 1).parquet(f"{folder}/timed")
        marked = stream.withWatermark("t", "1 second").dropDuplicatesWithinWatermark(["k"])
        _started(marked, folder, "d_marked").format("parquet").start(f"{folder}/marked").awaitTermination(60)

    *_, process = recorded.of(job)
    assert [access.dataset.name for access in process.reads] == [f"{recorded.folder}/timed"]


def test_the_sources_of_a_plan_that_spark_cannot_write_are_known(recorded: Recorded) -> None:
    """A function whose types are known to Scala alone: toJSON fails."""
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.stat import Summarizer

    def ask(spark: Any, folder: str) -> None:
        made = VectorAssembler(inputCols=["k"], outputCol="f").transform(spark.read.parquet(f"{folder}/in"))
        made.select(Summarizer.metrics("mean").summary(made.f).alias("s")).write.parquet(f"{folder}/summed")

    (process,) = recorded.of(ask)
    assert [(access.dataset.name.rpartition("/")[2], access.rows) for access in process.reads] == [("in", 20)]
    assert [(access.dataset.name.rpartition("/")[2], access.rows) for access in process.writes] == [("summed", 1)]
    assert process.opaque == ("a plan that Spark does not write",)
    assert not process.columns


def test_a_fit_that_fails_says_why(recorded: Recorded) -> None:
    from pyspark.ml.regression import LinearRegression

    (process,) = recorded.of(lambda spark, folder: LinearRegression(featuresCol="nothing").fit(spark.read.parquet(f"{folder}/in")))
    assert (process.sort, process.status) == ("fit", "failed")
    assert "nothing" in process.error


def test_pyspark_is_as_it_was_when_nothing_is_recorded_any_more(recorded: Recorded) -> None:
    from pyspark import RDD
    from pyspark.ml.base import Estimator, Transformer
    from pyspark.ml.util import JavaMLReader, JavaMLWriter, MLWriter

    watched = [(RDD, "saveAsTextFile"), (Estimator, "fit"), (Transformer, "transform"), (JavaMLWriter, "save"), (MLWriter, "save"), (JavaMLReader, "load")]
    during = [vars(kind)[name] for kind, name in watched]
    recorded.recording.close()
    after = [vars(kind)[name] for kind, name in watched]
    assert [method.__wrapped__ for method in during] == after
    assert Path(after[1].__code__.co_filename).name == "base.py"
