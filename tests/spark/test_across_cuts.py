"""Records begin and end where Spark's own readers have them: as many, and the same ones, for options and texts of all kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bigdebug.errors import UntraceableError
from bigdebug.spark.across.leaffiles import cutting
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.across.units import Units

QUOTED = {"multiLine": "true"}
RFC = {**QUOTED, "escape": '"'}

CASES: list[tuple[str, str, dict[str, str]]] = [
    ("csv", "a,b\n\nc,d\n   \n\t\ne,f", {}),
    ("csv", "a,b\rc,d\r\ne,f\n\r\n", {}),
    ("csv", '"a\nb",c\n"d",e\n', {}),
    ("csv", "\n \nid,x\n1,a\n\n2,b\n", {"header": "true"}),
    ("csv", "#no\nid,x\n1,a\n #2,b\n#3\n4,d\n", {"header": "true", "comment": "#"}),
    ("csv", "\ufeffid,x\n1,a\n", {"header": "true"}),
    ("csv", "\ufeff\nid,x\n1,a\n", {"header": "true"}),
    ("csv", 'id,x\n1,"a\nb"\n\n2,"c ""d"" e"\n3,\n', {**RFC, "header": "true"}),
    ("csv", 'id,x\r\n1,"a\r\nb"\r\n2,"c"\r\n', {**RFC, "header": "true"}),
    ("csv", 'id,x\n1,"a\\"\nb"\n2,"c\\\\"\n3,d', {**QUOTED, "header": "true"}),
    ("csv", '\ufeff"id",x\n1,"a\nb"\n', RFC),
    ("csv", 'id;x\n1;"a;\nb"\n', {**RFC, "sep": ";"}),
    ("csv", "'id',x\n1,'a\nb'\n2,\"c\n", {"multiLine": "true", "quote": "'", "escape": "'"}),
    ("csv", '"a,1\nb",2\nc,3\n', {**QUOTED, "quote": ""}),
    ("csv", 'a,"1\\\\"\nb,"2\n3"\n', {**QUOTED, "escape": ""}),
    ("csv", "a,b\nc,d\n\n", {"lineSep": "\n"}),
    ("csv", "é,ß\n\nü,x\n", {"encoding": "ISO-8859-1"}),
    ("csv", 'a,"Ċ\nਊ"\nb,ソ\n', {**RFC, "encoding": "UTF-16BE"}),
    ("csv", 'a,"表\n表"\nb,c\n', {**RFC, "encoding": "UTF-16LE"}),
    ("json", '{"a":1}\n\n  \n  {"a":2}\r\n{"a":3}\rnot json\n{"a":"\\n["}', {}),
    ("text", "a\n\nb\r\nc\rd\n\n", {}),
    ("text", "a\rb\nc\n", {"lineSep": "\n"}),
    ("text", "\ufeff", {}),
    ("text", "", {}),
]


@pytest.mark.parametrize(("form", "text", "options"), CASES)
def test_there_are_as_many_rows_as_spark_reads(spark: SparkSession, tmp_path: Path, form: str, text: str, options: dict[str, str]) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(text.encode(options.get("encoding", "utf-8")))
    reader: Any = spark.read.options(**options)
    rows = (reader.schema("a string") if form != "text" else reader).format(form).load(str(path)).collect()
    extent = Extent(str(path), Unit.ROW, form, tuple(cutting(options, form).items()))
    count = Units().count(extent)
    assert count == len(rows), rows
    if form == "text":
        assert Units().records(Located.of(str(path), Unit.ROW, range(count)), extent) == [row.value for row in rows]


@pytest.mark.parametrize(
    ("text", "options"), [('a,"b""c"\nd"\n', QUOTED), ('a,"b\n', RFC), ('a, "b\nc"\n', RFC), ("a\n \nb\n", RFC), ("a,b\n", {"mode": "DROPMALFORMED"})],
)
def test_what_spark_reads_in_ways_of_its_own_is_refused(tmp_path: Path, text: str, options: dict[str, str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(UntraceableError):
        Units().count(Extent(str(path), Unit.ROW, "csv", tuple(options.items())))
