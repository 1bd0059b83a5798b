"""A watch in a real notebook: its output grows while the cells behind it run."""

from __future__ import annotations

from pathlib import Path

import pytest
from ipykernel.kernelspec import write_kernel_spec

from tests.kernel.test_notebook import rows_of, running

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NOTEBOOK = {
    "spark": """%load_ext bigdebug
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")""",
    "define": """import time
numbers = sc.parallelize(range(30), 1).map(lambda n: (time.sleep(0.05), n)[1])
w = dbg.watch(numbers, lambda n: n == 3 or n == "<b>")""",
    "live": "%lineage watch w",
    "look": """from IPython.display import DisplayHandle
updates, update = [], DisplayHandle.update
def noted(self, now, **how):
    update(self, now, **how)
    updates.append((time.time(), now))
DisplayHandle.update = noted""",
    "run": "began = time.time()\ncounted = numbers.count()\nended = time.time()",
    "seen": "[began < at < ended for at, now in updates][:1], 'map#' in updates[0][1]['text/plain'], counted",
    "stop": "w.stop()",
    "wait": "time.sleep(1)",
}


def test_the_output_of_an_earlier_cell_grows_while_a_job_runs(tmp_path: Path) -> None:
    write_kernel_spec(tmp_path / "specs" / "python3")
    with running(NOTEBOOK, tmp_path / "specs", "python3", tmp_path) as run_all:
        outputs = run_all()
    (shown,) = outputs["live"]
    assert shown.output_type == "display_data"
    assert [row[0] for row in rows_of(shown.data)] == ["3"]
    assert ": off, 1 record matched, 1 record here>" in shown.data["text/plain"]
    (seen,) = [output.data["text/plain"] for output in outputs["seen"]]
    assert seen == "([True], True, 30)"
