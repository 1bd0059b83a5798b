"""Names of datasets: the same data has one name, however it is said, and nothing of who asks for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.datasets import naming
from bigdebug.datasets.databases import of_jdbc
from bigdebug.datasets.model import Dataset
from bigdebug.datasets.secrets import without_secrets

PATHS = {
    "file:///a//b/": ("file", "/a/b"),
    "file:/a/b": ("file", "/a/b"),
    "/a/./c/../b": ("file", "/a/b"),
    "file:/a/what?#is": ("file", "/a/what?#is"),
    "s3a://KEY:SECRET@bucket/x/y": ("s3://bucket", "x/y"),
    "s3://bucket": ("s3://bucket", "/"),
    "gs://bucket/x": ("gs://bucket", "x"),
    "hdfs://NN:8020/a": ("hdfs://nn:8020", "/a"),
    "abfss://c@acc.dfs.core.windows.net/p": ("abfss://c@acc.dfs.core.windows.net", "p"),
    "dbfs:/mnt/x": ("dbfs://", "/mnt/x"),
    "https://u:p@host/x.csv?token=t": ("https://host", "/x.csv"),
    "C:\\data\\x": ("file", "C:/data/x"),
}

JDBC = {
    ("jdbc:postgresql://u:p@Host/db?user=a&password=b", "s.t"): ("postgres://host:5432", "db.s.t"),
    ("jdbc:mysql://h1:3307,h2:3307/shop", "t"): ("mysql://h1:3307", "shop.t"),
    ("jdbc:oracle:thin:scott/tiger@h:1521:ORCL", "s.t"): ("oracle://h:1521", "ORCL.s.t"),
    ("jdbc:oracle:thin:scott/tiger@//h:1521/svc", "s.t"): ("oracle://h:1521", "svc.s.t"),
    ("jdbc:sqlserver://h;databaseName=d;password=x", "dbo.t"): ("mssql://h:1433", "d.dbo.t"),
    ("jdbc:derby:memory:shop;create=true", "t"): ("derby", "memory:shop.t"),
    ("jdbc:derby:/data/db;create=true", '"APP"."T1"'): ("derby", "/data/db.APP.T1"),
    ("jdbc:mysql://h/shop", "`my``t`"): ("mysql://h:3306", "shop.`my``t`"),
    ("jdbc:sqlserver://h;databaseName=d", "[dbo].[t]"): ("mssql://h:1433", "d.dbo.t"),
    ("jdbc:odd://h/d", "(select  1\n x) q"): ("odd://h", "d.(select 1 x) q"),
    ("jdbc:teradata://h/DATABASE=d,USER=u,PASSWORD=p", "t"): ("teradata://h:1025", "d.t"),
    ("jdbc:db2://h:50000/d:user=u;password=p;", "t"): ("db2://h:50000", "d.t"),
    ("jdbc:informix-sqli://h:1533/d:INFORMIXSERVER=s;user=u", "t"): ("informix-sqli://h:1533", "d.t"),
    ("jdbc:mysql://address=(host=H)(port=3307)(user=u)(password=p)/d", "t"): ("mysql://h:3307", "d.t"),
    ("jdbc:mysql://(host=h,port=3307,user=u,password=p)/d", "t"): ("mysql://h:3307", "d.t"),
    ("jdbc:mysql:replication://h,i/d", "t"): ("mysql://h:3306", "d.t"),
    ("jdbc:sqlserver://;serverName=H;databaseName=d", "t"): ("mssql://h:1433", "d.t"),
    ("jdbc:oracle:thin:u/p@tcps://h:2484/svc", "t"): ("oracle://h:2484", "svc.t"),
    ("jdbc:bigquery://https://www.googleapis.com:443;ProjectId=p", "d.t"): ("bigquery://www.googleapis.com:443", "p.d.t"),
    ("jdbc:postgresql://h/d?currentSchema=s", "t"): ("postgres://h:5432", "d.s.t"),
    ("jdbc:postgresql://h/d?currentSchema=s,public", "t"): ("postgres://h:5432", "d.t"),
    ("jdbc:postgresql://h/d?currentSchema=s%2Cpublic", "t"): ("postgres://h:5432", "d.t"),
    ("jdbc:sqlserver://h;instanceName=A;databaseName=d", "t"): ("mssql://h\\a:1433", "d.t"),
    ("jdbc:sqlserver://h\\A;databaseName=d", "t"): ("mssql://h\\a:1433", "d.t"),
    ("jdbc:sqlserver://h:1444;instanceName=A;databaseName=d", "t"): ("mssql://h:1444", "d.t"),
    ("jdbc:postgresql://bob:Q7p/ss9zword@h:5432/db", "t"): ("postgres://h:5432", "db.t"),
    ("jdbc:postgresql://bob:Q7p@s/s@h:5432/db?x=a@b", "t"): ("postgres://h:5432", "db.t"),
    ("jdbc:postgresql://bob:Q7?p@h/db", "t"): ("postgres://h:5432", "db.t"),
    ("jdbc:postgresql://h:5432,i:5433/db?user=a@b.org", "t"): ("postgres://h:5432", "db.t"),
    ("jdbc:postgresql://[::1]:5432/db?user=a@b.org", "t"): ("postgres://[::1]:5432", "db.t"),
    ("jdbc:mysql://bob:p@h:1,eve:q@i:2/d", "t"): ("mysql://h:1", "d.t"),
    ("jdbc:mysql://bob:p@h/d?password=x@y", "t"): ("mysql://h:3306", "d.t"),
    ("jdbc:mysql://h:3307?user=a@b:c", "t"): ("mysql://h:3307", "t"),
    ("jdbc:hive2://h:2181,i:2181/;principal=hive/_HOST@REALM", "t"): ("hive2://h:2181", "t"),
    ("jdbc:bigquery://https://h:443;ProjectId=p;OAuthServiceAcctEmail=a@b.org", "t"): ("bigquery://h:443", "p.t"),
    ("jdbc:postgresql://h/d?currentSchema=s", '"other"."t.u"'): ("postgres://h:5432", "d.other.t.u"),
    ("jdbc:snowflake://a.snowflakecomputing.com/?db=D&schema=S", "T"): ("snowflake://a.snowflakecomputing.com", "D.S.T"),
    ("jdbc:sqlite:/data/year=2020/d:x=1/y.db", "t"): ("sqlite", "/data/year=2020/d:x=1/y.db.t"),
}

ASKED = (
    "postgresql://h/d?user=%u&password=%p", "postgresql://%u:%p@h/d", "postgresql://%u:%p/@?s@h:5432/d", "mysql://(host=h,user=%u,password=%p)/d", "mysql://address=(host=h)(user=%u)(password=%p)/d",
    "db2://h:50000/d:password=%p;user=%u;", "teradata://h/USER=%u,PASSWORD=%p", "teradata://h/PASSWORD=%p,USER=%u,DATABASE=d", "oracle:thin:%u/%p@h:1521:d",
    "oracle:thin:%u/%p@(DESCRIPTION=(ADDRESS=(HOST=h)))", "oracle:oci8:%u/%p@d", "sqlserver://h;user=%u;password={%p}", "redshift:iam://h:5439/d?AccessKeyID=%u&SecretAccessKey=%p",
    "awsathena://AwsRegion=r;User=%u;Password=%p", "databricks://h:443/d;UID=%u;PWD=%p", "h2:tcp://h/~/d;USER=%u;PASSWORD=%p", "derby:d;user=%u;password=%p",
)


@pytest.mark.parametrize("uri", PATHS)
def test_files_have_one_name(uri: str) -> None:
    found = naming.of_path(uri)
    assert (found.namespace, found.name) == PATHS[uri]


@pytest.mark.parametrize(("url", "table"), JDBC)
def test_tables_of_databases_have_one_name(url: str, table: str) -> None:
    found = of_jdbc(url, table)
    assert (found.namespace, found.name) == JDBC[url, table]


@pytest.mark.parametrize("url", ASKED)
def test_who_asks_is_no_part_of_a_table_and_two_tables_are_two(url: str) -> None:
    """Also when what is secret has been taken out of their names."""
    def named(user: str, password: str, table: str) -> str:
        return without_secrets(str(of_jdbc(f"jdbc:{url}".replace("%u", user).replace("%p", password), table)))

    assert named("bob", "hunter22", "s.t") == named("eve", "pass+word1", "s.t")
    assert named("bob", "hunter22", "s.t") != named("bob", "hunter22", "s.u")


def test_a_table_knows_where_its_files_are() -> None:
    table = naming.of_table("spark_catalog.default.orders", "file:/w", "file:/w/orders", "parquet")
    assert (str(table), table.location) == ("file:/w/default.orders", str(naming.of_path("/w/orders")))
    assert str(naming.of_table("db.t", "thrift://m:9083,n:9083")) == "hive://m:9083/db.t"


def test_each_topic_is_a_dataset() -> None:
    """And so is what nobody knows the topics of: another one for each cluster."""
    def named(**options: str) -> list[tuple[str, str]]:
        return [(each.name, each.kind) for each in naming.of_sources("kafka", {"kafka.bootstrap.servers": "a:9092", **options})]

    assert named(subscribe="orders, payments") == [("orders", "topic"), ("payments", "topic")]
    assert named(assign='{"orders": [0, 1], "payments": [0]}') == [("orders", "topic"), ("payments", "topic")]
    for odd in ("no JSON", "[0, 1]", "3"):
        assert named(assign=odd) == [(f"topics of {odd}", "unknown")]
    assert named(subscribePattern="ord.*") == [("topics like ord.*", "unknown")]
    assert named() == [("topics of a column", "unknown")]


def test_topics_and_what_is_not_known() -> None:
    assert naming.of_sources("kafka", {"kafka.bootstrap.servers": "b:9092,A:9092", "subscribe": "t"}) == (Dataset("kafka://a:9092", "t"),)
    assert naming.of_sources("kafka", {"kafka.bootstrap.servers": "PLAINTEXT://a:9092", "topic": "t"}) == (Dataset("kafka://a:9092", "t"),)
    assert naming.of_source("rate", {}) == Dataset("rate", "")
    assert naming.of_source("mongodb", {"collection": "c"}) == Dataset("mongodb", "c")
    assert naming.of_source("odd", {"host": "bob:hunter2@h:9200"}) == Dataset("odd", "h:9200")
    assert naming.of_source("mongo", {"connection.uri": "mongodb://u:p@h/?x=1", "database": "d", "collection": "c"}) == Dataset("mongo", "h/d.c")
    assert naming.of_source("snowflake", {"sfURL": "a.b.com", "sfDatabase": "D", "sfSchema": "S", "dbtable": "T", "sfPassword": "p"}) == Dataset("snowflake", "a.b.com/D.S.T")
    assert naming.of_source("redshift", {"url": "jdbc:redshift://h/d?user=u", "dbtable": "t"}) == of_jdbc("jdbc:redshift://h/d", "t")
    assert naming.of_source("socket", {"host": "h", "port": "9999"}) == Dataset("socket", "h:9999")
    assert naming.of_source("socket", {"host": "bob:hunter2@h", "port": "9999"}) == Dataset("socket", "h:9999")
    assert naming.of_source("es", {"es.nodes": "h:9200", "es.port": "9300", "es.resource": "i"}) == Dataset("es", "h:9200/i")
    assert naming.of_source("es", {"es.nodes": "h", "es.net.proxy.http.port": "3128", "es.resource": "i"}) == Dataset("es", "h/i")
    assert naming.of_source("odd", {"endpoint": "https://h/path", "port": "9"}) == Dataset("odd", "h/path")
    assert naming.of_source("csv", {"PATH": "/a"}) == naming.of_path("/a")
    assert str(naming.of_source("rate", {})) == "rate"


@given(st.text(), st.text(), st.text())
def test_any_text_has_a_name(uri: str, table: str, servers: str) -> None:
    for found in (naming.of_path(uri), of_jdbc(uri, table), naming.of_table(table, uri, uri), naming.of_kafka(servers, table)):
        assert isinstance(str(found), str)


@pytest.mark.parametrize(("name", "last"), [
    ("/a/b.parquet", "b.parquet"), ("default.orders", "orders"), ("orders", "orders"), ("/", ""), ("x/y/", "y"), ("db.s.t", "t"), ("a.", "a."),
])
def test_people_call_it_by_its_last_part(name: str, last: str) -> None:
    assert naming.last_part(name) == last


def test_people_call_a_table_by_its_name_also_where_its_database_is_a_file() -> None:
    assert naming.last_part("/data/db.APP.T1", "jdbc") == "T1"
    assert naming.last_part("/data/shop.db.orders", "jdbc") == "orders"
    assert naming.last_part("/data/db.(select a from T) q", "jdbc") == naming.last_part("/data/db.(select a from T) q")
    assert naming.last_part("shop.public.orders", "jdbc") == "orders"
