"""The examples from top to bottom, on data that they make for themselves: what they find is what their text says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

FINDINGS = [
    "GERMANY 32.1 31.5 73.9 29.0",
    "('lineitem.l_discount', 'lineitem.l_extendedprice')",
    *("lineitem 989", "orders 259", "customer 180", "nation 1"),
    *("lineitem.6.parquet 180 6.6 36,436", "lineitem.7.parquet 9 39.7 4,411,799"),
    *("|list price|980|257|", "|100 times that|9|2|"),
    "lineitem.7.parquet[104] order 599941, 31 of part 14109 for 3,171,610.00",
    *("|lineitem.6.parquet|100127|100127|0|", "|lineitem.7.parquet|154|0|154|"),
    "14 of its lines are in the report, in 4 rows:",
    *("GERMANY Q3 73.9 millions, number 1 of 100", "UNITED STATES Q4 41.0 millions, number 2 of 100"),
    *("EGYPT Q4 37.7 millions, number 5 of 100", "JORDAN Q3 36.3 millions, number 8 of 100"),
    "customer[135]·lineitem[2199023325092]·nation[7]·orders[67465], and 988 ways like it",
    *("as read 73,870,309.8679", "cents as dollars 34,561,176.9466"),
    "GERMANY Q3 73,870,310 34,164,115 34,561,177",
    *("changed = touched by the file: True", "Germany, Q3, mended: 34,561,176.9466"),
]
"""Lines of the printed story; blanks stand for any number of them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example by itself: without data that an earlier run has left beside it."""
    folder = tmp_path_factory.mktemp("examples")
    for name in ("orders_sql.ipynb", "orders_data.py"):
        shutil.copy(EXAMPLES / name, folder)
    return folder


@pytest.fixture(scope="module")
def executed(folder: Path) -> tuple[list[str], dict[str, Any]]:
    """The lines that the demo prints of the notebook, and the executed cells by their ids."""
    command = [sys.executable, EXAMPLES / "run_demo.py", folder / "orders_sql.ipynb", "--output", folder / "executed.ipynb"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()).replace("| ", "|") for line in done.stdout.split("\n")]
    return lines, {cell.id: cell for cell in nbformat.read(folder / "executed.ipynb", as_version=4).cells}


def test_the_notebook_finds_the_file_in_cents_and_all_that_it_touched(executed: tuple[list[str], dict[str, Any]]) -> None:
    story, cells = executed
    assert [finding for finding in FINDINGS if finding not in story] == []
    [shown] = [output for output in cells["magic"].outputs if output.output_type == "execute_result"]
    assert "<td style='text-align:left'>lineitem</td><td style='text-align:left'>989</td>" in shown.data["text/html"]


def test_the_text_says_what_was_printed(executed: tuple[list[str], dict[str, Any]]) -> None:
    story, cells = executed
    said = " ".join(cell.source for cell in cells.values() if cell.cell_type == "markdown")
    first = story.index("nation") + 1
    revenues = sorted(float(number) for line in story[first : first + 25] for number in line.split()[-4:])
    assert f"99 of them lie between {revenues[0]} and {revenues[-2]}. Germany's third quarter is {revenues[-1]}" in said
    printed = "".join(output.text for output in cells["data"].outputs)
    rows = {words[0]: words[1] for words in map(str.split, printed.splitlines())}
    assert f"{rows['lineitem']} lines of {rows['orders']} orders" in said


def test_the_data_are_made_once_and_with_one_mistake(executed: Any, folder: Path) -> None:
    data = folder / "data" / "tpch"
    assert [path.name for path in data.parent.iterdir()] == ["tpch"]  # nothing half-made is left
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    again = subprocess.run([sys.executable, folder / "orders_data.py"], capture_output=True, text=True, check=True)
    assert Path(again.stdout.strip()) == data
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == before
    orders = [set(pq.read_table(file, columns=["l_orderkey"])["l_orderkey"].to_pylist()) for file in sorted(data.glob("lineitem/*"))]
    assert len(orders) == 7
    assert len(orders[-1]) == 40
    assert len(set.union(*orders)) == sum(map(len, orders)) == 150_000  # no order is in two files


def story_of(name: str, folder: Path) -> str:
    """What the demo prints of an example by itself, with its data; blanks stand for any number of them."""
    for each in (name, "flights_data.py"):
        shutil.copy(EXAMPLES / each, folder)
    command = [sys.executable, EXAMPLES / "run_demo.py", folder / name, "--output", folder / "executed.ipynb"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return "\n".join(" ".join(line.split()) for line in done.stdout.splitlines())


def test_the_notebook_of_the_storm_finds_its_line_and_what_it_feeds(tmp_path: Path) -> None:
    story = story_of("flights.ipynb", tmp_path)
    for finding in (
        "one row of the report comes from 331 lines of flights.csv and 24 of weather.csv", "331 departures from EWR on 2013-02-12", "weather.csv:1011 EWR,2013,2,12,3,",
        "911.000 knots", "weather.csv:1011 feeds\n331 joined departures\n10 sums by airline\n1 row of the report",
        "report with the line mended = report without the line: True", "15 days at an airport", "328,521 departures, 327,761 of them in the report, 760 are not:",
    ):
        assert finding in story


def test_the_notebook_of_crashes_ends_with_what_a_clean_run_gives(tmp_path: Path) -> None:
    story = story_of("crash.ipynb", tmp_path)
    assert story.count("resumed = a clean run: True") == 2
    for finding in ("9,431 lines crash", "8,255 never left", "1 header", "F9 21.9 min", "606 rows", "text = 'NA'"):
        assert finding in story.split("\n")


def test_the_notebook_of_wrong_results_finds_midnight_and_the_storm(tmp_path: Path) -> None:
    story = story_of("localize.ipynb", tmp_path)
    for finding in (
        "23 of 312 are below 0", "the 20 that were looked at of 23 wrong outputs are right", "flights.csv:98745 '2013,12,17,2304,2229,35,3,2319,44,UA,471",
        "length of arr_time < 4 99.8% 2.53%", "209 changed, 0 added, 0 removed", "without 1 record, all 10 wrong outputs are right",
        "weather.csv[1009] Row(origin='EWR', year=2013, month=2, day=12, hour=3", "1 -> 0 -56.4 -> -30.1", "localization (culprit)",
    ):
        assert finding in story


def test_the_notebook_of_datasets_knows_what_feeds_what(tmp_path: Path) -> None:
    story = story_of("datasets.ipynb", tmp_path)
    for finding in (
        "1 predictions files", "2 default.features table", "3 weather.csv files", "1 flights.csv dep_delay value filter, transformation",
        "1 weather.csv wind_speed decides filter", "fails flights.create_data_source_table_as_select.default.features", "stale expected 3",
        "339 records at Relation#1 features, the first 3 shown", "flights.csv dep_delay ['TRANSFORMATION']",
    ):
        assert finding in story
    assert "succeeded 326,915" not in story
    [failed] = [line for line in story.split("\n") if "means" in line and " write failed " in line]
    assert "default.features" in failed


def test_the_notebook_of_pipelines_finds_the_order_in_cents_behind_four_tools(tmp_path: Path) -> None:
    story = story_of("pipeline.ipynb", tmp_path).split("\n")
    for finding in (
        "daily (Spark job) -> in_euros (pandas) -> write euros.csv (pandas) -> sort (program) -> month (Spark job)", "3 orders, exact: True",
        "orders.csv[426] 426,c3,2024-03-23,30874.00,paid", "sorted.csv FR,2024-03-23,31286.32", "report FR,48036.12",
        "sorted.csv was changed between 'sort' and 'again'.",
        "['daily', 'in_euros', 'write euros.csv', 'sort', 'month']", "90 orders, ['426,c3,2024-03-23,30874.00,paid']",
    ):
        assert finding in story
    assert any(line.endswith("FR,48036.12") and line.startswith("part-") for line in story)
