"""Databases: names of tables by the URLs of JDBC, as each kind of database writes them. Pure.

Who asks, and how, is no part of a name; what tells one table from another is: server, database, schema, wherever the URL says them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from bigdebug.datasets.model import Dataset

_KINDS = {"postgresql": ("postgres", "5432"), "mysql": ("mysql", "3306"), "mariadb": ("mysql", "3306"), "sqlserver": ("mssql", "1433"),
          "oracle": ("oracle", "1521"), "redshift": ("redshift", "5439"), "db2": ("db2", "50000"), "snowflake": ("snowflake", ""),
          "trino": ("trino", "8080"), "teradata": ("teradata", "1025"), "clickhouse": ("clickhouse", "8123")}
"""OpenLineage's name of a kind of database, and the port where its URLs name none."""

_QUOTED = re.compile(r"""(?:(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\w$]+)(?:\.|$))+""")
"""A table's name in parts, as databases quote them."""

_PART = re.compile(r"""(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\w$]+)""")

_VARIANT = re.compile(r"^[\w-]+:(?=//)")
"""How a driver finds its server (``mysql:loadbalance://``): the same data either way."""

_USER = re.compile(r"(?<=//)[^\s:/@?#;,(\[]{0,200}:(?!\d{1,5}(?:[/;?,:]|$))(?:[^\s?;,]*@|[^\s@]*@)")
"""Who asks, with a password in which stands what should be escaped; a host with a port is none."""

_ORACLE = re.compile(r"(?:thin|oci\d?):[^@]*@(?:tcps?:)?/{0,2}([^:/]+:\d+)[:/]?")

_LISTED = re.compile(r"//(?:address=)?\((?P<words>.*)\)(?P<database>/[^/]*)?", re.DOTALL)
"""MySQL's ``//(host=h,port=3306,user=u)/db`` and ``//address=(host=h)(port=3306)/db``."""

_PROPERTIES = {"db2": "[;?]|:(?=[A-Za-z]+=)", "informix-sqli": "[;?]|:(?=[A-Za-z]+=)", "teradata": "[;?]|(?<!/)/(?=[A-Za-z_]+=)"}
"""Where properties begin, if not behind a semicolon or a question mark alone."""

_SERVERS, _PORTS = ("servername",), ("portnumber",)
_DATABASES, _SCHEMAS = ("databasename", "database", "db", "projectid", "conncatalog"), ("currentschema", "schema", "connschema")
"""Properties that say where a table is."""


def of_jdbc(url: str, table: str) -> Dataset:
    """A table of a database, quoted or not, or what a query in its place gives: that is named by its text."""
    sort, rest = _sort(url.removeprefix("jdbc:"))
    known, port = _KINDS.get(sort, (sort, ""))
    server, database, words = _place(sort, rest)
    server = server or ":".join(filter(None, (_first(words, _SERVERS).lower(), _first(words, _PORTS))))
    if instance := words.get("instancename") if sort == "sqlserver" and ":" not in server else "":
        server = f"{server}\\{instance.lower()}"
    name = ".".join(filter(None, (_first(words, _DATABASES) or database, *_within(table, _schema(words)))))
    if not server:
        return Dataset(known, name, "jdbc", "jdbc")
    return Dataset(f"{known}://{server if ':' in server or not port else f'{server}:{port}'}", name, "jdbc", "jdbc")


def server_of(authority: str) -> str:
    """Host and port, without who asks."""
    return authority.rpartition("@")[2].lower()


def _sort(rest: str) -> tuple[str, str]:
    sort, _, rest = rest.partition(":")
    return sort.lower(), rest


def _place(sort: str, rest: str) -> tuple[str, str, Mapping[str, str]]:
    """Server and database, as far as they stand in their places, and what the URL says by words."""
    if sort == "oracle":
        rest = _ORACLE.sub(r"//\1/", rest, count=1)
    if sort in _KINDS:
        rest = _VARIANT.sub("", rest, count=1)
    rest = _USER.sub("", re.sub(r"^//https?://", "//", rest), count=1)
    place, said = _parted(rest, _PROPERTIES.get(sort, "[;?]"))
    words = _words(said, "[;?&,]" if sort == "teradata" else "[;?&]")
    listed = _LISTED.match(place)
    if listed is None:
        return (*_server_and_database(place), words)
    first = _words(listed["words"], r"[,()]+")
    server = ":".join(filter(None, (first.get("host", "").lower(), first.get("port", ""))))
    return server, unquote((listed["database"] or "")[1:]), words


def _parted(rest: str, behind: str) -> tuple[str, str]:
    found = re.search(behind, rest)
    return (rest, "") if found is None else (rest[: found.start()], rest[found.end() :])


def _server_and_database(place: str) -> tuple[str, str]:
    """Of ``//user:password@host:port/database``, or ``memory:name`` as embedded databases have it."""
    if not place.startswith("//"):
        server, _, service = place.partition("@")[2].rpartition(":") if "@" in place else ("", "", place)
        return server_of(server), service
    server, _, database = place[2:].partition("/")
    return server_of(server.split(",")[0]), unquote(database)


def _words(said: str, between: str) -> dict[str, str]:
    """``name=value;name=value``, ``name=value&name=value``."""
    found = [each.partition("=") for each in re.split(between, said)]
    return {name.strip().lower(): value for name, _, value in found}


def _first(words: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((words[name] for name in names if words.get(name)), "")


def _schema(words: Mapping[str, str]) -> str:
    """The schema that the URL names; none where it names several: in which of these a table is, it does not say."""
    found = unquote(_first(words, _SCHEMAS))
    return "" if "," in found else found


def _within(table: str, schema: str) -> tuple[str, str]:
    """The schema that the URL names, where the table's name has none, and the table's name without the quotes that change nothing in it; a query as it is."""
    table = " ".join(table.split())
    if not _QUOTED.fullmatch(table):
        return schema, table
    return "" if len(_PART.findall(table)) > 1 else schema, re.sub(r'["`\[\]]', "", table)
