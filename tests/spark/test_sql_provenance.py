"""Why, how, and of which columns (Smoke, appendix E)."""

from __future__ import annotations

from typing import Any

import pytest

from bigdebug.errors import UnknownColumnError, UnknownRecordError


@pytest.fixture
def purchases(dbg: Any, spark: Any) -> Any:
    spark.createDataFrame([(1, "Bob"), (2, "Alice")], "cid int, cname string").coalesce(1).createOrReplaceTempView("a")
    spark.createDataFrame([(1, 1, "iPhone"), (2, 1, "iPhone"), (3, 2, "XBox")], "oid int, cid int, pname string").coalesce(
        1).createOrReplaceTempView("b")
    frame = spark.sql("select count(*) n, a.cname, b.pname from a join b on a.cid = b.cid group by a.cname, b.pname")
    with dbg.capture():
        frame.collect()
    return frame


def test_the_example_of_the_paper(dbg: Any, purchases: Any) -> None:
    row = dbg.lineage(purchases).where("cname = 'Bob'")
    how = row.how()
    (bob,), phones = row.goBackAll()["a"].rids().tolist(), row.goBackAll()["b"].rids().tolist()
    assert str(how) == f"a[{bob}]·b[{phones[0]}] + a[{bob}]·b[{phones[1]}]"
    assert {frozenset(v.rid for v in witness if v.source == "b") for witness in row.why()} == {frozenset([p]) for p in phones}
    assert how.evaluate(lambda v: 1, lambda x, y: x + y, lambda x, y: x * y, 0, 1) == 2


def test_each_record_of_the_lineage_is_in_the_polynomial(dbg: Any, purchases: Any) -> None:
    row = dbg.lineage(purchases).where("cname = 'Bob'")
    back = row.goBackAll()
    assert {(v.source, v.rid) for v in row.how().variables} == {
        (name, rid) for name in back.inputs for rid in back[name].rids().tolist()
    }


def test_columns_and_cells(dbg: Any, purchases: Any) -> None:
    trace = dbg.lineage(purchases).where("cname = 'Bob'")
    assert trace.columns == {"n": (), "cname": ("a.cname",), "pname": ("b.pname",)}
    assert {name: cells.collect() for name, cells in trace.cells("pname").items()} == {"b": [("iPhone",), ("iPhone",)]}


def test_columns_through_everything(dbg: Any, spark: Any, purchases: Any) -> None:
    frame = spark.sql("""
        with c as (select cid, max(oid) m, count(*) n from b group by cid)
        select cname || '!' as who, m + 1 as next, (select min(oid) from b) as first,
               sum(n) over (partition by cname) as total, x.y
        from a join c on a.cid = c.cid lateral view explode(array(m, n)) x as y
        union all select 'nobody', 0, 0, 0, cid from a""")
    assert dbg.lineage(frame).columns == {
        "who": ("a.cname",), "next": ("b.oid",), "first": ("b#2.oid",), "total": (), "y": ("a#2.cid", "b.oid"),
    }


def test_wrong_questions(dbg: Any, purchases: Any) -> None:
    with pytest.raises(UnknownRecordError, match="about one row, and this trace names 2"):
        dbg.lineage(purchases).how()
    with pytest.raises(UnknownColumnError, match="cname"):
        dbg.lineage(purchases).cells("cnam")
