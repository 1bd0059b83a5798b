"""Names of datasets, as OpenLineage has them: other tools mean the same by them. Pure, from what Spark says of a source or a sink.

What is secret in a URL (who asks, and with which password) is no part of a name: the same data read by two users is one dataset.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from urllib.parse import unquote

from bigdebug.datasets.model import Dataset

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", re.DOTALL)

_SCHEMES = {"s3a": "s3", "s3n": "s3", "wasb": "wasbs", "abfs": "abfss"}
"""Ways of saying the same place."""

_KEYED = frozenset({"s3", "gs", "abfss", "wasbs", "oss", "cos", "obs"})
"""Stores of objects, whose keys begin with no slash."""

_CONTAINED = frozenset({"abfss", "wasbs"})
"""Where what stands before the @ is no user but a container."""

_JDBC = {"postgresql": ("postgres", "5432"), "mysql": ("mysql", "3306"), "mariadb": ("mysql", "3306"), "sqlserver": ("mssql", "1433"),
         "oracle": ("oracle", "1521"), "redshift": ("redshift", "5439"), "db2": ("db2", "50000"), "snowflake": ("snowflake", ""),
         "trino": ("trino", "8080"), "teradata": ("teradata", "1025"), "clickhouse": ("clickhouse", "8123")}
"""OpenLineage's name of a kind of database, and the port where its URLs name none."""

_QUOTED = re.compile(r"""(?:(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\w$]+)(?:\.|$))+""")
"""A table's name in parts, as databases quote them."""

_TABLE = re.compile(r"/[^/]*\.([\w$]+)$")

_NAMED = ("table", "dbtable", "collection", "resource", "es.resource", "path", "topic", "subscribe", "host")
"""Options by which sources that are not known here say what they read."""


def of_path(uri: str, form: str = "", kind: str = "files") -> Dataset:
    """Files at a path or a URI, as Hadoop writes it: ``file:/a/b``, ``s3a://bucket/key``, ``hdfs://host:8020/a``, or a plain ``/a/b``."""
    found = _URI.fullmatch(uri)
    if found is None or len(found[1]) == 1:  # a drive of Windows is no scheme
        return Dataset("file", _cleared(uri), kind, form)
    scheme = _SCHEMES.get(found[1].lower(), found[1].lower())
    path = _cleared((re.split("[?#]", found[3])[0] if scheme.startswith("http") else found[3]) or "/")
    if scheme == "file":
        return Dataset("file", path, kind, form)
    server = (found[2] or "") if scheme in _CONTAINED else _server(found[2] or "")
    if scheme in _KEYED:
        path = path.lstrip("/") or "/"
    return Dataset(f"{scheme}://{server}", path, kind, form)


def of_table(name: str, store: str = "", location: str = "", form: str = "", kind: str = "table") -> Dataset:
    """A table of a catalog: ``name`` with its database, ``spark_catalog`` left out; ``store`` is the URI of the catalog's metastore
    (``thrift://host:9083``), or of the warehouse where there is none; ``location`` is where its files stand.
    """
    found = _URI.fullmatch(store)
    if found is not None and found[1] == "thrift":
        namespace = f"hive://{_server((found[2] or '').split(',')[0])}"
    else:
        namespace = str(of_path(store)) if found is not None or store.startswith("/") else store
    at = str(of_path(location)) if location else ""
    return Dataset(namespace, name.removeprefix("spark_catalog."), kind, form, at)


def of_session(session: str, name: str, kind: str) -> Dataset:
    """What ends with its session: a temporary view, a cache, an RDD, rows that a program made."""
    return Dataset(f"spark:{session}", name, kind)


def of_kafka(servers: str, topic: str) -> Dataset:
    """A topic. Of several servers the first by name is its namespace, in whatever order they are given."""
    first = min((_server(each.strip().rpartition("://")[2]) for each in servers.split(",")), default="")
    return Dataset(f"kafka://{first}", topic, "topic", "kafka")


def of_jdbc(url: str, table: str) -> Dataset:
    """A table of a database, quoted or not, or what a query in its place gives: that is named by its text."""
    sort, rest = _split(url.removeprefix("jdbc:"))
    known, port = _JDBC.get(sort, (sort, ""))
    if sort == "oracle":
        rest = re.sub(r"^(?:thin|oci):[^@]*@/{0,2}([^:/]+:\d+)[:/]?", r"//\1/", rest)
    server, database = _server_and_database(rest)
    words = _words(rest)
    database = words.get("databasename") or words.get("database") or words.get("db") or database
    name = ".".join(filter(None, (database, _unquoted(" ".join(table.split())))))
    if not server:
        return Dataset(known, name, "jdbc", "jdbc")
    return Dataset(f"{known}://{server if ':' in server or not port else f'{server}:{port}'}", name, "jdbc", "jdbc")


def of_source(form: str, options: Mapping[str, str]) -> Dataset:
    """What a format names by its options. Of a format that is not known here: by the option that says most, or by the format alone."""
    given = {name.lower(): value for name, value in options.items()}
    if form == "jdbc" and "url" in given:
        return of_jdbc(given["url"], given.get("dbtable") or given.get("query") or "")
    if form == "kafka":
        topic = given.get("topic") or given.get("subscribe") or given.get("subscribepattern") or given.get("assign") or ""
        return of_kafka(given.get("kafka.bootstrap.servers", ""), topic)
    if "path" in given:
        return of_path(given["path"], form)
    named = next((given[name].rpartition("@")[2] if name == "host" else given[name] for name in _NAMED if given.get(name)), "")
    return Dataset(form, named, "unknown", form)


def last_part(name: str, kind: str = "") -> str:
    """As people call it: the last part of a path, of a table's name without its database, which for some is a path itself."""
    if kind == "jdbc" and (table := _TABLE.search(name)):
        return table[1]
    last = name.rstrip("/").rpartition("/")[2]
    return last if "/" in name else last.rpartition(".")[2] or last


def _cleared(path: str) -> str:
    """A path without what says nothing: doubled and last slashes, dots."""
    normal = posixpath.normpath(path.replace("\\", "/"))
    return "/" + normal.lstrip("/") if path.startswith("/") else normal


def _server(authority: str) -> str:
    return authority.rpartition("@")[2].lower()


def _split(rest: str) -> tuple[str, str]:
    sort, _, rest = rest.partition(":")
    return sort.lower(), rest


def _server_and_database(rest: str) -> tuple[str, str]:
    """Of ``//user:password@host:port/database?...``, or ``memory:name;...`` as embedded databases have it."""
    place = re.split(r"[;?]", rest, maxsplit=1)[0]
    if not place.startswith("//"):
        server, _, service = place.partition("@")[2].rpartition(":") if "@" in place else ("", "", place)
        return _server(server), service
    server, _, database = place[2:].partition("/")
    return _server(server.split(",")[0]), unquote(database)


def _unquoted(table: str) -> str:
    """A table's name without the quotes that change nothing in it; a query as it is."""
    return re.sub(r'["`\[\]]', "", table) if _QUOTED.fullmatch(table) else table


def _words(rest: str) -> dict[str, str]:
    """``;name=value;name=value`` and ``?name=value&name=value``."""
    found = [each.partition("=") for each in re.split(r"[;?&]", rest)[1:]]
    return {name.strip().lower(): value for name, _, value in found}
