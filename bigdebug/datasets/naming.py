"""Names of datasets, as OpenLineage has them: other tools mean the same by them. Pure, from what Spark says of a source or a sink.

What is secret in a URL (who asks, and with which password) is no part of a name: the same data read by two users is one dataset.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from bigdebug.datasets.databases import of_jdbc, server_of
from bigdebug.datasets.model import Dataset

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", re.DOTALL)

_SCHEMES = {"s3a": "s3", "s3n": "s3", "wasb": "wasbs", "abfs": "abfss"}
"""Ways of saying the same place."""

_KEYED = frozenset({"s3", "gs", "abfss", "wasbs", "oss", "cos", "obs"})
"""Stores of objects, whose keys begin with no slash."""

_CONTAINED = frozenset({"abfss", "wasbs"})
"""Where what stands before the @ is no user but a container."""

_TABLE = re.compile(r"/[^/]*\.([\w$]+)$")

_SAID = (
    ("uri", "url", "sfurl", "nodes", "host", "master", "endpoint", "accountendpoint"), ("project", "catalog", "database", "sfdatabase", "db", "keyspace"),
    ("schema", "sfschema", "dataset"), ("table", "dbtable", "tablename", "collection", "container", "resource", "topic", "subscribe", "stream", "streamname", "index", "query"),
)
"""Options by which sources that are not known here say what they read, from where to which table: by the last word of their names (``es.nodes``)."""


def of_path(uri: str, form: str = "", kind: str = "files") -> Dataset:
    """Files at a path or a URI, as Hadoop writes it: ``file:/a/b``, ``s3a://bucket/key``, ``hdfs://host:8020/a``, or a plain ``/a/b``."""
    found = _URI.fullmatch(uri)
    if found is None or len(found[1]) == 1:  # a drive of Windows is no scheme
        return Dataset("file", _cleared(uri), kind, form)
    scheme = _SCHEMES.get(found[1].lower(), found[1].lower())
    path = _cleared((re.split("[?#]", found[3])[0] if scheme.startswith("http") else found[3]) or "/")
    if scheme == "file":
        return Dataset("file", path, kind, form)
    server = (found[2] or "") if scheme in _CONTAINED else server_of(found[2] or "")
    if scheme in _KEYED:
        path = path.lstrip("/") or "/"
    return Dataset(f"{scheme}://{server}", path, kind, form)


def of_table(name: str, store: str = "", location: str = "", form: str = "", kind: str = "table") -> Dataset:
    """A table of a catalog: ``name`` with its database, ``spark_catalog`` left out; ``store`` is the URI of the catalog's metastore
    (``thrift://host:9083``), or of the warehouse where there is none; ``location`` is where its files stand.
    """
    found = _URI.fullmatch(store)
    if found is not None and found[1] == "thrift":
        namespace = f"hive://{server_of((found[2] or '').split(',')[0])}"
    else:
        namespace = str(of_path(store)) if found is not None or store.startswith("/") else store
    at = str(of_path(location)) if location else ""
    return Dataset(namespace, name.removeprefix("spark_catalog."), kind, form, at)


def of_session(session: str, name: str, kind: str) -> Dataset:
    """What ends with its session: a temporary view, a cache, an RDD, rows that a program made."""
    return Dataset(f"spark:{session}", name, kind)


def of_kafka(servers: str, topic: str) -> Dataset:
    """A topic. Of several servers the first by name is its namespace, in whatever order they are given."""
    first = min((server_of(each.strip().rpartition("://")[2]) for each in servers.split(",")), default="")
    return Dataset(f"kafka://{first}", topic, "topic", "kafka")


def of_sources(form: str, options: Mapping[str, str]) -> tuple[Dataset, ...]:
    """What a format names by its options: of Kafka each of the topics, which may be several."""
    if form != "kafka":
        return (of_source(form, options),)
    given = {name.lower(): value for name, value in options.items()}
    servers = given.get("kafka.bootstrap.servers", "")
    topics, unknown = _topics(given)
    return tuple(of_kafka(servers, topic) for topic in topics) or (replace(of_kafka(servers, unknown), kind="unknown"),)


def _topics(given: Mapping[str, str]) -> tuple[list[str], str]:
    """The topics that options name; or none, and what those are called that are known only when they are read or written."""
    if pattern := given.get("subscribepattern"):
        return [], f"topics like {pattern}"
    if parts := given.get("assign"):  # each topic, with its partitions
        with suppress(ValueError, RecursionError):
            if isinstance(assigned := json.loads(parts), dict):
                return list(assigned), ""
        return [], f"topics of {parts}"
    topics = list(filter(None, map(str.strip, (given.get("topic") or given.get("subscribe") or "").split(","))))
    return topics, "topics of a column"


def of_source(form: str, options: Mapping[str, str]) -> Dataset:
    """The dataset that a format names by its options. Of a format that is not known here: by the options that say where
    it is, or by the format alone.
    """
    given = {name.lower(): value for name, value in options.items()}
    if form == "jdbc" or given.get("url", "").startswith("jdbc:"):
        return of_jdbc(given.get("url", ""), given.get("dbtable") or given.get("query") or "")
    if "path" in given:
        return of_path(given["path"], form)
    words = {name.rpartition(".")[2]: value for name, value in given.items() if value}
    server, *table = (next((words[name] for name in names if name in words), "") for names in _SAID)
    found = _URI.fullmatch(server)
    place = "".join((found[2] or "", re.split("[?#]", found[3])[0])) if found is not None and found[2] is not None else server
    place = place.rpartition("@")[2].rstrip("/")
    if form == "socket" and "port" in given:  # what other formats call so may be a proxy's
        place += f":{given['port']}"
    return Dataset(form, "/".join(filter(None, (place, ".".join(filter(None, table))))), "unknown", form)


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
