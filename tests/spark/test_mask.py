"""Secrets: what the user calls secret is shown nowhere (A4 in spirit, for records)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug import read_letters
from bigdebug.cli import main

SECRET = "sk-12345"


@pytest.fixture(autouse=True)
def _masked(dbg: Any) -> Iterator[None]:
    dbg.mask = r"sk-\w+"
    yield
    dbg.mask = None


def everything_shown(*shown: Any) -> str:
    return "".join(repr(each) + "".join(each._repr_mimebundle_().values() if hasattr(each, "_repr_mimebundle_") else ()) for each in shown)


def crash(record: dict[str, str]) -> int:
    token = record["token"]
    held = [token, "x" * 1_990 + token]  # would be cut in its middle
    raise ValueError(f"cannot use {held[0]}, like sk-99 of this line")


def test_a_culprit_shows_no_secret(dbg: Any) -> None:
    records = dbg.context.parallelize([{"token": SECRET}, {"token": SECRET * 2}], 1)
    with pytest.raises(Exception, match="cannot use"), dbg.capture() as run:
        records.map(crash).collect()
    culprits = run.culprits
    assert len(culprits) == 2
    text = everything_shown(culprits, *culprits, *culprits[0].sources, culprits.table(), dbg.step(culprits[0])[0]) + culprits.summary()
    assert "sk-" not in text
    assert "***" in text
    assert culprits[0].record == {"token": SECRET}
    assert "sk-" not in "".join(culprits[0].locals.values()) + culprits[0].message  # made into text by a worker
    assert "sk-" not in culprits[0].traceback


def test_letters_and_watches_show_none(dbg: Any, tmp_path: Path) -> None:
    records = dbg.context.parallelize([SECRET, "open"], 1).map(lambda text: text)
    crashing = records.map(lambda text: {"open": 1}[text])
    with dbg.watch(records, lambda text: text.missing) as failing, dbg.watch(records, bool) as watch, dbg.watch(timeout=9, slow=3.0) as calls, \
            dbg.capture(on_crash="skip", letters=tmp_path) as run:
        assert crashing.collect() == [1]
    (letter,) = read_letters(tmp_path)
    trace = watch.goBackAll()
    text = everything_shown(letter, failing, *failing.errors, watch, *watch.records, calls, run.culprits, trace)
    assert "sk-" not in text
    assert "***" in text
    assert letter.record == SECRET
    (file,) = tmp_path.glob("*.jsonl")
    assert '"record": "\'***\'"' in file.read_text()


def test_rows_of_a_dataframe(dbg: Any, spark: Any) -> None:
    frame = spark.createDataFrame([(1, SECRET), (2, "7")], "id INT, token STRING").selectExpr("id", "CAST(token AS INT) number")
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"), dbg.capture() as run:
        frame.collect()
    assert "***" in everything_shown(run.culprits, *run.culprits)
    assert "sk-" not in everything_shown(run.culprits, *run.culprits) + run.culprits[0].message


def test_a_directory_that_is_handed_on_has_none(dbg: Any, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = spark.createDataFrame([("a",)], "token STRING").where("token <> 'sk-frame'")  # a line of the program, and what the query does
    with dbg.capture("run of sk-name") as run:
        frame.collect()
    lines = dbg.context.parallelize(["a"], 1).map(lambda record: record + "sk-line")
    with dbg.capture("lines") as other:
        lines.collect()
    (tmp_path / "lines.txt").write_text("7")
    columns = spark.read.schema("`sk-line` string").text(str(tmp_path / "lines.txt")).selectExpr("'sk-literal'", "1 AS `sk-alias`", "struct(1 AS `sk-field`) AS s")
    with dbg.capture("columns") as called:
        columns.collect()
    with pytest.raises(Exception, match="KeyError"), dbg.capture("crashed") as crashed:
        dbg.context.parallelize([{"sk-key": "sk-value"}], 1).map(lambda record: record["lacking"]).collect()
    assert len(crashed.culprits) == 1
    runs = [run.latest, other.latest, called.latest, crashed.latest]
    shown = everything_shown(dbg.runs, *runs, *(operator for known in runs for operator in known.graph))
    assert "***" in shown
    assert "sk-" not in shown
    saved = dbg.save(tmp_path / "saved", runs, lineage=True)
    dbg.mask = None  # who opens it knows of no secret
    assert [path.name for path in saved.rglob("*") if path.is_file() and b"sk-" in path.read_bytes()] == []
    assert "token#" in (saved / "session.json").read_text()
    opened = bigdebug.open(saved)
    assert [known.name for known in opened.runs] == ["run of ***", "lines", "columns", "crashed"]
    assert opened.runs[2].outputs.names == ("***", "***", "s")
    assert "sk-" not in repr([opened.lineage("columns").collect(), opened.lineage("columns").goBackAll().collect(), [*opened.runs[3].culprits]])
    assert opened.lineage("lines").goBackAll().count() == 1
    dbg.mask = r"to\w+"
    main(["show", str(saved), run.latest.id, "--json"])
    assert "token" not in capsys.readouterr().out


def test_what_is_no_pattern(dbg: Any) -> None:
    with pytest.raises(TypeError, match="text of a regular expression"):
        dbg.mask = 3
    with pytest.raises(re.error):
        dbg.mask = "("
    assert dbg.mask == r"sk-\w+"
    dbg.mask = None
    assert dbg.mask is None
    assert "BIGDEBUG_MASK" not in dbg.context.environment


def test_workers_know_it_while_bigdebug_is_attached(dbg: Any, spark: Any) -> None:
    assert dbg.context.environment["BIGDEBUG_MASK"] == r"sk-\w+"
    dbg.detach()
    assert "BIGDEBUG_MASK" not in spark.sparkContext.environment
    bigdebug.attach(spark)
    assert dbg.context.environment["BIGDEBUG_MASK"] == r"sk-\w+"


def test_columns_of_files_are_read_by_the_names_that_they_have_there(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.range(1).withColumnRenamed("id", "sk-id").coalesce(1).write.parquet(str(tmp_path / "rows"))
    with dbg.capture("read") as run:
        spark.read.parquet(str(tmp_path / "rows")).where("`sk-id` < 9").collect()
    opened = bigdebug.open(dbg.save(tmp_path / "saved", run.latest, lineage=True))
    assert opened.runs[0].outputs.names == ("***",)
    assert opened.lineage("read").goBackAll().collect() == [(0,)]
