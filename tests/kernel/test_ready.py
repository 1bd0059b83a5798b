"""The names of the kernel of ours: Spark starts with the first cell that uses one, and with no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bigdebug_kernel.ready import used
from tests.kernel.shells import Shell
from tests.kernel.test_notebook import KERNELSPEC, running, value


@pytest.mark.parametrize(("code", "names"), [
    ("spark.range(3)", {"spark"}),
    ("sc, dbg", {"sc", "dbg"}),
    ("def job():\n    return spark.sql('select 1')", {"spark"}),
    ("[sc.parallelize([n]) for n in range(2)]", {"sc"}),
    ("lambda: dbg.runs", {"dbg"}),
    ("await spark.x", {"spark"}),
    ("spark = make()\nspark.range(3)", set()),
    ("from mine import spark\nspark.range(3)", set()),
    ("import spark", set()),
    ("for sc in (): sc.stop()", set()),
    ("with make() as spark: spark.range(3)", set()),
    ("def job(spark):\n    return spark.range(3)", set()),
    ("spark = SparkSession(sc)", {"sc"}),
    ("other.spark, 'spark'", set()),
    ("spark. is no Python", set()),
    ("", set()),
    ("\0spark", set()),
])
def test_what_a_cell_uses_and_does_not_make(code: str, names: set[str]) -> None:
    assert used(code) == names


@pytest.mark.spark
def test_a_session_that_runs_is_named_where_it_is_used(bare: Shell, spark: Any) -> None:
    del bare.user_ns["spark"]
    try:
        bare.cell("%load_ext bigdebug_kernel.ready\n%load_ext bigdebug_kernel.ready")
        bare.cell("number = 6 * 7")
        assert "spark" not in bare.user_ns
        assert bare.cell("%%lineage used\nspark is not None and sc.parallelize([1, 2], 1).map(str).collect()") == ["1", "2"]
        assert bare.user_ns["spark"] is spark
        assert bare.cell("[run.name for run in dbg.runs]") == ["used"]
        bare.cell("%unload_ext bigdebug")
        del bare.user_ns["spark"]
        assert isinstance(bare.failure("spark"), NameError)
    finally:
        bare.cell("%unload_ext bigdebug_kernel.ready")
        bare.user_ns["spark"] = spark
    assert not hasattr(bare, "_bigdebug_ready")


@pytest.mark.spark
@pytest.mark.slow
def test_spark_starts_as_its_defaults_say_with_the_first_cell_that_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[1]\nspark.ui.enabled false\nspark.app.name of the defaults\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    notebook = {
        "before": "import pyspark; pyspark.SparkContext._active_spark_context is None",
        "captured": "%%lineage first\nsc.parallelize(range(4), 2).map(lambda n: n * n).sum()",
        "named": "spark.sparkContext.master, spark.sparkContext.appName, sc is dbg.context, [run.name for run in dbg.runs]",
    }
    with running(notebook, KERNELSPEC.parent, KERNELSPEC.name, tmp_path) as run_all:
        outputs = run_all()
    assert value(outputs["before"]) == {"text/plain": "True"}
    assert value(outputs["captured"]) == {"text/plain": "14"}
    assert value(outputs["named"]) == {"text/plain": "('local[1]', 'of the defaults', True, ['first'])"}
